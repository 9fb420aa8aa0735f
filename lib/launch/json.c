/* The launch interface as JSON, for whoever loads the PTX without this library:
 *
 *   {
 *     "entry"         name of the .entry
 *     "parameters"    the PTX parameters in order, each with
 *       "name"
 *       "kind"          "argument", or another row of tile/parameters.def
 *       "type"          in the IR; a view's with its extents, and its strides if it says any
 *       "ptx"           of the .param
 *       "divisible"     what this variant relies on that the value is divisible by; a pointer:
 *                       its address in bytes
 *       "extents"       of a view only: expressions over the arguments before it, whose values must
 *                       be from 0 to 2^31 - 1
 *       "strides"       of a view only: likewise, in elements; all memory between its smallest and
 *                       its largest coordinates may be touched
 *     "grid"          blocks along x, y, z: expressions over the arguments (%name) and num_sms, the
 *                     device's multiprocessors, with C's operators and precedence; neg min max
 *                     ceildiv mod select are written as calls
 *     "flat"          only where blocks along y or z are launched along x: three expressions for
 *                     the grid that the kernel sees. A launch has at most 2^31 - 1 blocks along x,
 *                     and 65535 along y and z
 *     "cluster"       blocks of a cluster along x, y, z: of the grid's extents each must be a
 *                     multiple of its own
 *     "block"         threads of a block, all along x
 *     "shared_bytes"  dynamic shared memory of a block
 *     "scratch"       the buffers behind the two scratch parameters in order, each with
 *       "clean"         true: zero before a launch, and left so by it
 *       "bytes"         an expression; the buffer takes that, rounded up to 256
 *     "tables"        what the "table" parameters point to, in order: arrays of i32 that say which
 *                     tiles each of min(tiles, num_sms) blocks gets: entry b is where those of
 *                     block b begin in the array, entry b + 1 where they end; it has twice as many
 *                     entries as there are tiles, and one. A tile is its number, x + extents[0] *
 *                     (y + extents[1] * z). Tiles go in the order of their numbers to the block
 *                     whose tiles cost least so far, of several to the first one; a cost below 1
 *                     is 1. Each has
 *       "extents"       of the grid: three expressions over the arguments, at least 1
 *       "tile_cost"     an expression over the arguments and block_id(0), block_id(1), block_id(2),
 *                       which are x, y and z
 *     "tensor_maps"   what the parameters of kind "tensor_map" hold, in order: 128 bytes each that
 *                     cuTensorMapEncodeTiled makes (its dims in the opposite order, strides in
 *                     bytes), without interleaving, zeros outside of the array. Each has
 *       "argument"      the name of the pointer or view where the array begins
 *       "element"       the elements' type
 *       "box"           elements that one copy moves in each dim
 *       "extents"       expressions over the arguments, each at least 1
 *       "strides"       likewise, in elements; the last one is 1, the others are multiples of 16
 *                       bytes
 *       "swizzle"       0, 32, 64 or 128 bytes
 *     "variants"      the kernel is compiled once for each of these lists of conditions on a
 *                     launch's arguments; launch the first variant whose conditions all hold, as
 *                     the last one's do (a kernel written at level 3 has but one: refuse the launch
 *                     where they do not). Each condition has
 *       "condition"     "divisible": the argument (a pointer's address, in bytes) is a multiple of
 *                       the value; "value": it is the value; "tensor_map": a view's address
 *                       and strides but the last one are positive multiples of 16 bytes, strides
 *                       below 2^40, the last stride is 1, extents are at least 1; "grid": the
 *                       extents of the grid along y and z, or those of "flat" where there is one,
 *                       are at most the value
 *       "argument"      its name; "grid" has none
 *       "value"
 *     "variant"       which of them this is, from 0
 *   } */
#include <inttypes.h>
#include <string.h>

#include "lib/launch/data.h"

typedef struct out {
    tile_writer writer;
    void *user;
    tile_arena arena;
} out;

static void put(out *o, const char *format, ...) TILE_PRINTF(2, 3);

static void put(out *o, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tile_arena_vformat(&o->arena, format, args);
    va_end(args);
    o->writer(text, strlen(text), o->user);
}

/* Names and expressions hold nothing that JSON would have to escape but quotes and backslashes. */
static const char *quoted(out *o, const char *text) {
    char *copy = tile_arena_alloc(&o->arena, 2 * strlen(text) + 3), *at = copy;
    *at++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') *at++ = '\\';
        *at++ = *text;
    }
    *at = '"';
    return copy;
}

static const char *ptx_type(const tile_type *type) {
    if (tile_type_is_address(type)) return ".u64";
    switch (type->scalar) {
    case TILE_i16: return ".u16";
    case TILE_i32: return ".u32";
    case TILE_i64: return ".u64";
    case TILE_f16:
    case TILE_bf16: return ".b16";
    case TILE_f32:
    case TILE_tf32: return ".f32";
    case TILE_f64: return ".f64";
    case TILE_i1:
    case TILE_i8:
    case TILE_e4m3:
    case TILE_e5m2: return ".u8";
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
    return "";
}

static void put_list(out *o, const char *name, const char *const *texts, unsigned count) {
    put(o, ",\n     \"%s\": [", name);
    for (unsigned d = 0; d < count; d++) put(o, "%s%s", d ? ", " : "", quoted(o, texts[d]));
    put(o, "]");
}

static void put_argument(out *o, const tile_abi *abi, unsigned index) {
    const tile_abi_arg *arg = &abi->args[index];
    put(o, "\"type\": %s, \"ptx\": \"%s\", \"divisible\": %u", quoted(o, abi->shapes[index].type),
        ptx_type(arg->type), arg->divisible);
    if (arg->type->kind == TILE_TYPE_VIEW) {
        put_list(o, "extents", abi->shapes[index].extents, arg->type->rank);
        put_list(o, "strides", abi->shapes[index].strides, arg->type->rank);
    }
}

static void put_parameters(out *o, const tile_abi *abi) {
    for (unsigned i = 0; i < abi->parameter_count; i++) {
        const tile_abi_parameter *parameter = &abi->parameters[i];
        const char *kind = tile_parameter_kind_name(parameter->kind), *name = kind;
        bool is_argument = parameter->kind == TILE_PARAMETER_argument;
        bool is_table = parameter->kind == TILE_PARAMETER_table;
        bool is_map = parameter->kind == TILE_PARAMETER_tensor_map;
        if (is_argument) name = abi->args[parameter->index].name;
        if (is_map) name = tile_arena_format(&o->arena, "tensor_map_%u", parameter->index);
        if (is_table) name = tile_arena_format(&o->arena, "table_%u", parameter->index);
        put(o, "%s\n    {\"name\": %s, \"kind\": \"%s\", ", i ? "," : "", quoted(o, name), kind);
        if (is_argument)
            put_argument(o, abi, parameter->index);
        else if (is_map)
            put(o, "\"type\": %s, \"ptx\": \".align %d .b8[%d]\", \"divisible\": 1",
                quoted(o, abi->map_texts[parameter->index].type), TILE_TENSOR_MAP_ALIGNMENT,
                TILE_TENSOR_MAP_BYTES);
        else
            put(o, "\"type\": \"ptr<%s>\", \"ptx\": \".u64\", \"divisible\": %d",
                is_table ? "i32" : "i8", is_table ? 4 : TILE_SCRATCH_ALIGNMENT);
        put(o, "}");
    }
}

static void put_grid(out *o, const char *name, const tile_abi_extents *grid) {
    put(o, ",\n  \"%s\": [", name);
    for (unsigned d = 0; d < 3; d++)
        put(o, "%s%s", d ? ", " : "", quoted(o, d < grid->rank ? grid->text[d] : "1"));
    put(o, "]");
}

static void put_tables(out *o, const tile_abi *abi) {
    put(o, ",\n  \"tables\": [");
    for (unsigned i = 0; i < abi->table_count; i++) {
        const tile_table_text *table = &abi->table_texts[i];
        put(o, "%s\n    {\"extents\": [", i ? "," : "");
        for (unsigned d = 0; d < 3; d++)
            put(o, "%s%s", d ? ", " : "", quoted(o, table->extents[d]));
        put(o, "], \"tile_cost\": %s}", quoted(o, table->cost));
    }
    put(o, "%s]", abi->table_count ? "\n  " : "");
}

static void put_maps(out *o, const tile_abi *abi) {
    put(o, ",\n  \"tensor_maps\": [");
    for (unsigned i = 0; i < abi->map_count; i++) {
        const tile_map *map = &abi->maps[i];
        put(o, "%s\n    {\"argument\": %s, \"element\": \"%s\", \"box\": [", i ? "," : "",
            quoted(o, abi->args[map->arg].name), tile_scalar_name(map->type->scalar));
        for (unsigned d = 0; d < map->type->rank; d++)
            put(o, "%s%" PRId64, d ? ", " : "", tile_type_dim(map->type, d));
        put(o, "]");
        put_list(o, "extents", abi->map_texts[i].extents, map->type->rank);
        put_list(o, "strides", abi->map_texts[i].strides, map->type->rank);
        put(o, ",\n     \"swizzle\": %u}", map->swizzle);
    }
    put(o, "%s]", abi->map_count ? "\n  " : "");
}

static void put_variants(out *o, const tile_abi *abi) {
    put(o, ",\n  \"variants\": [");
    for (unsigned v = 0; v < abi->variant_count; v++) {
        put(o, "%s\n    [", v ? "," : "");
        for (unsigned i = 0; i < abi->variants[v].count; i++) {
            const tile_condition *condition = &abi->variants[v].list[i];
            put(o, "%s\n      {\"condition\": \"%s\", ", i ? "," : "",
                tile_condition_name(condition->kind));
            if (condition->kind != TILE_CONDITION_grid)
                put(o, "\"argument\": %s, ", quoted(o, abi->args[condition->arg].name));
            put(o, "\"value\": %" PRId64 "}", condition->value);
        }
        put(o, "]");
    }
    put(o, "\n  ],\n  \"variant\": %u", abi->variant);
}

void tile_abi_print(const tile_abi *abi, tile_writer writer, void *user) {
    TILE_GUARD(abi ? abi->context : NULL, )
    out o = {writer, user, {0}};
    if (!abi || !writer) return;
    put(&o, "{\n  \"entry\": %s,\n  \"parameters\": [", quoted(&o, abi->entry));
    put_parameters(&o, abi);
    put(&o, "\n  ]");
    put_grid(&o, "grid", &abi->grid);
    if (abi->unfolded.rank) put_grid(&o, "flat", &abi->unfolded);
    put(&o, ",\n  \"cluster\": [%" PRId64 ", %" PRId64 ", %" PRId64 "]", abi->cluster[0],
        abi->cluster[1], abi->cluster[2]);
    put(&o, ",\n  \"block\": %u,\n  \"shared_bytes\": %u,\n  \"scratch\": [", 32 * abi->warps,
        abi->shared_bytes);
    for (unsigned i = 0; i < abi->scratch_count; i++)
        put(&o, "%s\n    {\"clean\": %s, \"bytes\": %s}", i ? "," : "",
            abi->scratch[i].clean ? "true" : "false", quoted(&o, abi->scratch_text[i]));
    put(&o, "%s]", abi->scratch_count ? "\n  " : "");
    put_tables(&o, abi);
    put_maps(&o, abi);
    put_variants(&o, abi);
    put(&o, "\n}\n");
    tile_arena_reset(&o.arena);
}
