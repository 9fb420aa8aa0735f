/* The launch interface as JSON, for programs that load the PTX without this library. tile_abi_read
 * reads the same fields: a missing, unknown or repeated one is an error.
 *
 *   {
 *     "format"        TILE_ABI_FORMAT, the version of these fields and of their words: a text with
 *                     another version is ignored, with a remark
 *     "entry"         name of the .entry
 *     "parameters"    the PTX parameters in order, each with
 *       "name"
 *       "kind"          "argument", or another row of tile/parameters.def
 *       "type"          in the IR; a view's with its extents, and its strides if it declares any
 *       "ptx"           of the .param
 *       "divisible"     the divisor of the value that this variant assumes; of a pointer: of its
 *                       address in bytes
 *       "extents"       views only: expressions over the arguments before it, whose values must be
 *                       from 0 to 2^31 - 1
 *       "strides"       views only: likewise, in elements; all memory between its smallest and
 *                       its largest coordinates may be touched
 *     "grid"          blocks along x, y, z: expressions over the arguments (%name) and num_sms, the
 *                     number of multiprocessors, with C's operators and precedence; neg min max
 *                     ceildiv mod select are written as calls
 *     "flat"          only if blocks along y or z are launched along x: three expressions for
 *                     the grid that the kernel sees. A launch has at most 2^31 - 1 blocks along x,
 *                     and 65535 along y and z
 *     "cluster"       blocks of a cluster along x, y, z; each extent of the grid must be a multiple
 *                     of the cluster's
 *     "block"         threads of a block, all along x
 *     "shared_bytes"  dynamic shared memory of a block
 *     "scratch"       the buffers of the two scratch parameters in order, each with
 *       "clean"         true: zero before a launch; the launch leaves it zero
 *       "bytes"         an expression; the buffer's size is its value, rounded up to 256
 *     "tables"        the arrays of the "table" parameters, in order. An array of i32 lists the
 *                     tiles of each of min(tiles, num_sms) blocks. Entry b is the index in the
 *                     array where the tiles of block b begin, entry b + 1 where they end. The array
 *                     has 2 * tiles + 1 entries. A tile is given by its number, x + extents[0] *
 *                     (y + extents[1] * z). Tiles are assigned in the order of their numbers, each
 *                     to the block with the lowest total cost so far, the first one of several; a
 *                     cost below 1 counts as 1. Each has
 *       "extents"       of the grid: three expressions over the arguments, at least 1
 *       "tile_cost"     an expression over the arguments and block_id(0), block_id(1), block_id(2),
 *                       the tile's x, y and z
 *     "tensor_maps"   the contents of the parameters of kind "tensor_map", in order: 128 bytes
 *                     each, made by cuTensorMapEncodeTiled (its dims in reverse order, strides in
 *                     bytes), without interleaving; out-of-bounds elements are zero. Maps with
 *                     corners are made by cuTensorMapEncodeIm2col. Each has
 *       "argument"      the name of the pointer or view to the start of the array
 *       "element"       the elements' type
 *       "box"           elements per copy in each dim
 *       "extents"       expressions over the arguments, each at least 1
 *       "strides"       likewise, in elements; the last one is 1, the others are multiples of 16
 *                       bytes
 *       "swizzle"       0, 32, 64 or 128 bytes
 *       "lower_corner"  im2col mode only: the corners and element strides of the spatial dims,
 *                       outermost first. The last two numbers of "box" are pixelsPerColumn and
 *                       channelsPerPixel
 *       "upper_corner"
 *       "element_strides"
 *     "variants"      the kernel is compiled once for each of these lists of conditions on a
 *                     launch's arguments. Launch the first variant whose conditions all hold; the
 *                     last one's always do (a kernel written at level 3 has only one variant:
 *                     reject the launch if they do not). Each condition has
 *       "condition"     "divisible": the argument (a pointer's address, in bytes) is a multiple of
 *                       the value; "value": it equals the value; "tensor_map": a view's address
 *                       and strides except the last one are positive multiples of 16 bytes, strides
 *                       below 2^40, the last stride is 1, extents are at least 1; "grid": the
 *                       extents of the grid along y and z, or those of "flat" if there is one, are
 *                       at most the value
 *       "argument"      name of the argument; absent for "grid"
 *       "value"
 *     "variant"       index of this variant, from 0
 *   } */
#include "lib/launch/data.h"

const tile_field abi_json_box_item = {
    .kind = TILE_KIND_INT64, .size = sizeof(int64_t), .min = 1, .max = 256};
static const tile_field abi_json_variant_item; /* the records that it contains come first */
#define abi_json_text_item tile_text_item
#define abi_json_integer_item tile_int64_item

#define RECORD(record) static const tile_field record##_fields[] = {
#define FIELD(record, kind, field, ...) {TILE_FIELD(#field, abi_json_##record, field), __VA_ARGS__},
#define LIST(record, item_, field, ...) \
    {TILE_LIST(#field, abi_json_##record, field, field##_count), .item = &abi_json_##item_##_item, \
     __VA_ARGS__},
#define END(record_, line_, ...) \
    } \
    ; \
    const tile_record abi_json_##record_##_record = { \
        TILE_RECORD(abi_json_##record_, record_##_fields), __VA_ARGS__}; \
    const tile_field abi_json_##record_##_item = { \
        .kind = TILE_KIND_RECORD, .record = &abi_json_##record_##_record, .line = line_};
#include "lib/launch/abi.def"

static const tile_field abi_json_variant_item = {
    TILE_LIST("", abi_json_variant, list, count), .size = sizeof(abi_json_variant),
    .item = &abi_json_condition_item, .line = "\n    "};

static abi_json_variant variant_text(const tile_abi *abi, unsigned index, tile_arena *arena) {
    const tile_abi_variant_conditions *from = &abi->variants[index];
    abi_json_condition *list = TILE_NEW_ARRAY(arena, abi_json_condition, from->count + 1u);
    for (unsigned i = 0; i < from->count; i++) {
        const tile_condition *condition = &from->list[i];
        bool has_argument = condition->kind != TILE_CONDITION_grid;
        list[i] = (abi_json_condition){tile_condition_name(condition->kind),
                                       has_argument ? abi->args[condition->arg].name : NULL,
                                       condition->value};
    }
    return (abi_json_variant){list, from->count};
}

void tile_abi_print(const tile_abi *abi, tile_writer writer, void *user) {
    TILE_GUARD(abi ? abi->context : NULL, )
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    if (!abi || !writer) return;
    abi_json_root all = {.format = TILE_ABI_FORMAT,
                         .entry = abi->entry,
                         .parameters = abi->parameter_texts,
                         .parameters_count = abi->parameter_count,
                         .grid = (const char **)abi->grid.text,
                         .grid_count = 3,
                         .flat = abi->unfolded.rank ? (const char **)abi->unfolded.text : NULL,
                         .flat_count = 3,
                         .cluster = (int64_t *)abi->cluster,
                         .cluster_count = 3,
                         .block = 32 * abi->warps,
                         .shared_bytes = abi->shared_bytes,
                         .scratch = abi->scratch_texts,
                         .scratch_count = abi->scratch_count,
                         .tables = abi->table_texts,
                         .tables_count = abi->table_count,
                         .tensor_maps = abi->map_texts,
                         .tensor_maps_count = abi->map_count,
                         .variants =
                             TILE_NEW_ARRAY(&arena, abi_json_variant, abi->variant_count + 1u),
                         .variants_count = abi->variant_count,
                         .variant = abi->variant};
    for (unsigned i = 0; i < all.variants_count; i++)
        all.variants[i] = variant_text(abi, i, &arena);
    tile_record_print(&abi_json_root_record, &all, &text);
    tile_text_append("\n", 1, &text);
    writer(text.data, text.length, user);
    tile_arena_reset(&arena);
}
