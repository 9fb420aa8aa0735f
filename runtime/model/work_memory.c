/* The bytes that copies move at a point. */
#include "runtime/model/work_scan.h"

#include <math.h>
#include <string.h>

#include "lib/analysis/pipeline_plan.h"
#include "lib/ops/gather.h"
#include "lib/support/integer.h"

enum { TMA_PITCH = 16, ASYNCHRONOUS = 4 /* bytes of the smallest cp.async */ };

bool scan_is_tile(int64_t m, int64_t n) {
    return m > 0 && n > 0 && m <= TILE_MAX_TILE_ELEMENTS / n;
}

/* More than any target has, and far below the overflow of sums. */
static const double endless = 1e15;

int64_t scan_whole_bytes(double bytes) {
    return bytes < endless ? (int64_t)bytes : (int64_t)endless;
}

void scan_take_shared(scan *s, double bytes) {
    if ((double)s->alive < endless) s->alive += scan_whole_bytes(bytes);
    if (s->alive > s->w->shared) s->w->shared = s->alive;
}

/* The share of rows that cross an L2 line. Rows begin `pitch` bytes apart, that is, at multiples of
 * the common divisor of pitch and line. */
static double straddling(int64_t row, int64_t pitch) {
    int64_t step = (int64_t)tile_gcd((uint64_t)pitch, LINE), starts = LINE / step;
    int64_t part = row >= LINE || row <= 0 ? LINE : row;
    return (double)(starts - 1 - (LINE - part) / step) / (double)starts;
}

bool scan_is_plain(const scan *s, tile_op op) {
    if (!s->plain[op.id]) s->plain[op.id] = tile_is_plain_access(s->f, op) ? SCAN_YES : SCAN_NO;
    return s->plain[op.id] == SCAN_YES;
}

/* Shapes of views, which are arguments or made by the body ---------------------------------------
 */

static const tile_arg_decl *argument_of(const scan *s, tile_value view) {
    const tile_value_data *data = tile_value_at(s->f, view);
    return data->kind == TILE_VALUE_ARG ? &s->f->args[data->index] : NULL;
}

/* The operation that makes the view of a pointer; no operation if there is none. */
static tile_op maker_of(const scan *s, tile_value view) {
    tile_op op = tile_value_def(s->f, view);
    return op.id && tile_op_opcode(s->f, op) == TILE_OP_view ? op : TILE_NO_OP;
}

/* Whether the value is a view of the windows of an array. */
static bool is_windows(const scan *s, tile_value view) {
    tile_op op = tile_value_def(s->f, view);
    return op.id && tile_op_opcode(s->f, op) == TILE_OP_im2col;
}

/* The extent of a view's dim; `otherwise` if it is unknown. */
static int64_t extent_of(const scan *s, tile_value view, unsigned d, int64_t otherwise) {
    const tile_arg_decl *argument = argument_of(s, view);
    const tile_op op = maker_of(s, view);
    int64_t extent;
    if (argument) return scan_eval_or(s, argument->extents[d], otherwise);
    if (is_windows(s, view))
        return scan_eval_or(s, tile_value_type(s->f, view)->dims[d], otherwise);
    return op.id && scan_value_of(s, tile_operands_extents(s->f, op).at[d], &extent) ? extent
                                                                                     : otherwise;
}

/* The stride of a view's dim in elements; 0: unknown. */
static int64_t stride_of(const scan *s, tile_value view, unsigned d) {
    const tile_value_data *data = tile_value_at(s->f, view);
    if (data->kind == TILE_VALUE_ARG) {
        const tile_expr **known = &s->strides[data->index][d];
        if (!*known) *known = tile_function_arg_stride(s->f, data->index, d);
        return scan_eval_or(s, *known, 0);
    }
    tile_op op = maker_of(s, view);
    if (!op.id) return 0;
    const tile_values strides = tile_operands_strides(s->f, op);
    int64_t stride = 1;
    if (strides.count) return scan_value_of(s, strides.at[d], &stride) ? stride : 0;
    for (unsigned i = d + 1; i < data->type->rank; i++) {
        int64_t extent = extent_of(s, view, i, -1);
        if (extent < 0 || __builtin_mul_overflow(stride, extent, &stride)) return 0;
    }
    return stride;
}

/* Whether the view is an array whose dims are those of the tile. */
static bool has_dims_of(const scan *s, tile_value view, const tile_type *tile) {
    const tile_type *type = tile_value_type(s->f, view);
    return type->kind == TILE_TYPE_VIEW && type->rank == tile->rank;
}

/* Bytes of a tile that are inside the array, for its first block. Elements outside are not loaded.
 * The dims of a tile with fewer dims are the last ones of the array. */
static double bytes_inside(const scan *s, tile_value view, const tile_type *tile) {
    double bytes = scan_width_of(s, tile);
    const tile_type *type = tile_value_type(s->f, view);
    bool is_view = type->kind == TILE_TYPE_VIEW && type->rank >= tile->rank;
    for (unsigned d = 0; d < tile->rank; d++) {
        int64_t extent = scan_dim_of(s, tile, d), whole = extent;
        if (is_view) whole = extent_of(s, view, type->rank - tile->rank + d, extent);
        bytes *= (double)(whole > 0 && whole < extent ? whole : extent);
    }
    return bytes;
}

unsigned scan_along(const scan *s, tile_value view, unsigned rank) {
    const tile_type *type = tile_value_type(s->f, view);
    unsigned unit = type->has_strides ? 0 : type->rank;
    for (unsigned d = 0; d < type->rank && type->has_strides; d++)
        if (stride_of(s, view, d) == 1) unit = d + 1;
    return unit + rank > type->rank ? unit + rank - type->rank : 0;
}

bool scan_has_whole_rows(const scan *s, tile_value view, const tile_type *tile) {
    const unsigned known = scan_along(s, view, tile->rank);
    if (!has_dims_of(s, view, tile) || !known) return false;
    const int64_t extent = scan_dim_of(s, tile, known - 1),
                  whole = extent_of(s, view, known - 1, extent + 1);
    int64_t next = 0; /* the smallest other stride: from a row to the next one */
    for (unsigned d = 0; d < tile->rank; d++) {
        int64_t stride = stride_of(s, view, d);
        if (d != known - 1 && (stride < next || !next)) next = stride;
    }
    return whole <= extent && next == whole;
}

/* The share of the tile's rows that are in one line more than their size requires. */
static double crossing_of(const scan *s, tile_value view, const tile_type *tile) {
    if (!has_dims_of(s, view, tile) || tile->rank < 2) return 0;
    unsigned last = tile->rank - 1, known = scan_along(s, view, tile->rank);
    unsigned along = known ? known - 1 : last;
    int64_t width = (int64_t)scan_width_of(s, tile), elements = scan_dim_of(s, tile, along);
    int64_t row = elements < LINE ? elements * width : LINE;
    int64_t pitch = stride_of(s, view, along == last ? last - 1 : last);
    return pitch > 0 ? straddling(row, pitch % LINE * width) : 0;
}

/* The largest access in bytes, up to 16, to which all rows of the view are aligned. */
static unsigned access_of(const scan *s, tile_value view) {
    enum { WIDEST = 16 };
    const tile_type *type = tile_value_type(s->f, view);
    const int64_t width = (int64_t)scan_width_of(s, type);
    uint64_t common = WIDEST;
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t stride = stride_of(s, view, d);
        if (stride > 1) common = tile_gcd(common, (uint64_t)(stride % WIDEST * width));
    }
    return (unsigned)(common ? common : WIDEST);
}

bool scan_is_unaligned(const scan *s, tile_value view) {
    return access_of(s, view) < TMA_PITCH;
}

/* The number of blocks in the cluster that each need what this copy reads. */
static int64_t sharers_of(const scan *s, const tile_value *element, unsigned count) {
    uint8_t depends = 0;
    for (unsigned i = 0; i < count; i++) depends |= s->places[element[i].id];
    for (unsigned d = 0; s->loop.roles && d < s->f->cluster_rank; d++) {
        int64_t extent = scan_eval_or(s, s->f->cluster[d], 1);
        if (extent > 1 && !(depends >> d & 1)) return extent;
    }
    return 1;
}

const char *scan_attr_word(const tile_function *f, const tile_bound_params *point, tile_op op,
                           tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    if (!attr || !attr->expr || attr->expr->kind != TILE_EXPR_PARAM)
        return attr ? attr->text : NULL;
    const tile_bound_param *param = point ? tile_find_bound(point, attr->expr->name) : NULL;
    return param ? param->word : NULL;
}

/* Data with evict_first is loaded from memory again for blocks that read it at another time. These
 * blocks differ in a dim of the grid other than the first, unless the kernel has a raster. The
 * hints of choose-cache are not seen here; it sets none that cause this. */
static void note_hint(scan *s, tile_op id, const tile_op_data *op, double bytes) {
    const char *word = scan_attr_word(s->f, s->point, id, TILE_ATTR_cache);
    uint8_t depends = 0;
    double readers = 1;
    if (!word || strcmp(word, "evict_first") != 0 || s->f->raster) return;
    for (unsigned i = 1; i < op->segment[0]; i++) depends |= s->places[op->operands[i].id];
    for (unsigned d = 1; d < s->f->grid_rank; d++)
        if (!(depends >> d & 1)) readers *= (double)s->w->grid[d];
    s->cost->reloaded_bytes += bytes * (1 - 1 / readers);
}

/* Whether a load becomes a ring buffer: that of a product's operand in a pipelined loop. */
static bool becomes_ring(const scan *s, tile_op load, const tile_op_data *op) {
    return s->stages >= 2 && op->result_count && s->feeds_dot[op->first_result.id] &&
           tile_value_type(s->f, op->first_result)->kind == TILE_TYPE_TILE &&
           tile_pipelined_around(s->f, load).id;
}

/* Pieces of rows that begin at no multiple of 4 bytes, which threads load and shift, if they are
 * stored to a shared buffer or to an aligned copy of the array. Other tiles are loaded element by
 * element. */
static bool loads_pieces(const scan *s, tile_op id, const tile_op_data *op) {
    bool copies = op->opcode == TILE_OP_copy || op->opcode == TILE_OP_copy_async;
    return (copies || s->f->only_copies || becomes_ring(s, id, op)) && scan_is_plain(s, id);
}

static tile_op copy_to(const scan *s, tile_region body, tile_value buffer) {
    TILE_FOR_EACH_OP_INSIDE (s->f, op, body) {
        const tile_op_data *data = tile_op_at(s->f, op);
        if ((data->opcode == TILE_OP_copy || data->opcode == TILE_OP_copy_async) &&
            data->operands[data->segment[0]].id == buffer.id)
            return op;
    }
    return TILE_NO_OP;
}

/* As `pays` in passes/warps/misaligned_rows.c. */
static bool chunks_pay(const scan *s, tile_value view, tile_value buffer, bool is_lhs) {
    enum { REGISTER = 4, WIDE = 8 };
    const tile_type *type = tile_value_type(s->f, buffer);
    const unsigned k = is_lhs ? 1 : 0, access = access_of(s, view);
    if (scan_width_of(s, type) != 1) return scan_width_of(s, type) == 2 && access < WIDE;
    return scan_along(s, view, type->rank) == 1 + k && access >= REGISTER;
}

/* The extent of a view's dim if it does not depend on the launch; 0: unknown. */
static int64_t fixed_extent(const scan *s, tile_value view, unsigned d) {
    const tile_arg_decl *argument = argument_of(s, view);
    const tile_op op = maker_of(s, view);
    int64_t extent = 0;
    if (argument) return tile_expr_is_int(argument->extents[d], &extent) ? extent : 0;
    if (op.id) tile_value_is_int(s->f, tile_operands_extents(s->f, op).at[d], &extent);
    return extent;
}

/* As interleave-rows does: blocks for whole tiles of the rows that begin at the same offset in
 * segments of memory. dim: of the grid, along which blocks have other rows. */
static bool interleaves(scan *s, tile_value view, unsigned dim, int64_t tile, bool is_lhs) {
    const unsigned rank = tile_value_type(s->f, view)->rank, row = rank - (is_lhs ? 2 : 1),
                   k = rank - (is_lhs ? 1 : 2), access = access_of(s, view);
    const int64_t rows = fixed_extent(s, view, row);
    const double width = scan_width_of(s, tile_value_type(s->f, view));
    if (scan_along(s, view, rank) != 1 + k ||
        fixed_extent(s, view, k) < TILE_INTERLEAVE_LEAST_DEPTH ||
        !tile_interleaving_pays((unsigned)width, access, rows, tile))
        return false;
    const int64_t period = TILE_INTERLEAVE_SEGMENT / access, own = (rows + period - 1) / period;
    s->w->grid[dim] = period * ((own + tile - 1) / tile);
    return true;
}

bool scan_copies_chunks(scan *s, tile_region body, int64_t stages) {
    enum { FEW_ROWS = 64, LEAST_STAGES = 3 };
    tile_op dot = TILE_NO_OP;
    if (stages < LEAST_STAGES || !tile_target_has(s->target, TILE_FEATURE_cp_async)) return false;
    TILE_FOR_EACH_OP (s->f, op, body)
        if (tile_op_opcode(s->f, op) == TILE_OP_dot) dot = op;
    if (!dot.id) return false;
    const tile_op_data *data = tile_op_at(s->f, dot);
    const tile_type *acc = tile_value_type(s->f, data->first_result);
    if (acc->rank != 2) return false;
    const int64_t m = scan_dim_of(s, acc, 0), n = scan_dim_of(s, acc, 1);
    tile_value buffer = data->operands[m > n ? 0 : data->segment[0]];
    tile_op load = tile_value_def(s->f, buffer), copy;
    if (least((double)m, (double)n) > FEW_ROWS) return false;
    if (load.id && tile_op_opcode(s->f, load) == TILE_OP_load_shared)
        buffer = tile_operands_src(s->f, load).at[0];
    copy = copy_to(s, body, buffer);
    TILE_FOR_EACH_OP (s->f, op, body) scan_fold(s, tile_op_at(s->f, op)); /* strides of views */
    if (!copy.id || tile_value_type(s->f, buffer)->rank != 2 || !scan_is_plain(s, copy))
        return false;
    const tile_value view = tile_op_operand(s->f, copy, 0);
    if (tile_value_type(s->f, view)->kind != TILE_TYPE_VIEW || access_of(s, view) >= TMA_PITCH ||
        scan_width_of(s, tile_value_type(s->f, buffer)) > 2)
        return false;
    s->loop.interleaved = interleaves(s, view, m > n ? 0 : 1, m > n ? m : n, m > n);
    /* Other tiles of few rows of a larger product are not measured, and estimated as without
     * chunks. */
    return s->loop.interleaved || (s->w->grid[m > n] <= 1 && chunks_pay(s, view, buffer, m > n));
}

/* Aligned chunks of interleaved rows take fewer instructions: 179 instead of 290 for an iteration
 * of 16 x 64 x 128 halves. */
static void add_chunks(scan *s, tile_value view, const tile_type *tile, double bytes) {
    const double share = s->loop.interleaved ? 0.6 : 1;
    const unsigned along = scan_along(s, view, tile->rank);
    if (!along) return;
    s->cost->chunks += share * bytes;
    s->cost->chunk_rows +=
        share * bytes / ((double)scan_dim_of(s, tile, along - 1) * scan_width_of(s, tile));
}

void scan_add_load(scan *s, tile_op id, const tile_op_data *op, const tile_type *tile,
                   double times) {
    if (tile_value_type(s->f, op->operands[0])->kind != TILE_TYPE_VIEW) return;
    if (s->cost == &s->w->loop) scan_add_indexing(s, id, tile, times);
    double bytes = times * bytes_inside(s, op->operands[0], tile);
    unsigned access = access_of(s, op->operands[0]);
    if (s->loop.chunked && s->loop.facts.target && access < TMA_PITCH && tile->rank == 2)
        add_chunks(s, op->operands[0], tile, bytes);
    else if (access < ASYNCHRONOUS && loads_pieces(s, id, op))
        s->cost->shifted += bytes;
    else if (access < ASYNCHRONOUS)
        s->cost->elements += bytes / access;
    else if (access < TMA_PITCH)
        s->cost->words += bytes / access;
    note_hint(s, id, op, bytes);
    s->cost->loaded += bytes;
    s->cost->outside += times * scan_bytes_of(s, tile) - bytes;
    if (!s->loop.facts.target || !s->loop.chunked)
        s->cost->crossing += bytes * crossing_of(s, op->operands[0], tile);
}

/* A loop can have producer warps only if all of its copies are TMA boxes. */
static void note_copy(scan *s, tile_op copy) {
    bool aligned = access_of(s, tile_op_operand(s->f, copy, 0)) >= TMA_PITCH;
    s->loop.roles = s->loop.roles && aligned && scan_is_plain(s, copy);
    s->loop.copies++;
}

/* In a pipelined loop, the load of a product's operand becomes a ring buffer. */
void scan_note_ring(scan *s, tile_op load, const tile_op_data *op) {
    const tile_type *type = tile_value_type(s->f, op->first_result);
    if (!becomes_ring(s, load, op) ||
        tile_value_type(s->f, op->operands[0])->kind != TILE_TYPE_VIEW)
        return;
    note_copy(s, load);
    s->copied += bytes_inside(s, op->operands[0], type);
    s->w->depth = most(s->w->depth, (double)s->stages);
    scan_take_shared(s, scan_bytes_of(s, type) * (double)s->stages * s->groups);
}

/* Rows that keep their offsets are 16 bytes longer, and each eight of them. */
static void take_longer_rows(scan *s, tile_value view, const tile_type *buffer, double stages) {
    enum { CHUNK = 16, ROWS = 8 };
    const unsigned along = scan_along(s, view, buffer->rank);
    if (!along || access_of(s, view) >= TMA_PITCH) return;
    const double rows = (double)scan_dim_of(s, buffer, along == 1 ? 1 : 0);
    scan_take_shared(s, (rows + ceil(rows / ROWS)) * CHUNK * stages);
}

/* Counts a copy. In a pipelined loop, each group of warps gets the loop's stages of a buffer that
 * declares none. */
void scan_add_copy(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages) {
    const tile_type *from = tile_value_type(s->f, op->operands[0]);
    const tile_type *to = tile_value_type(s->f, op->operands[op->segment[0]]);
    if (from->kind != TILE_TYPE_VIEW) {
        s->cost->stored += times * scan_bytes_of(s, from);
        return;
    }
    tune_cost before = *s->cost;
    tile_value buffer = op->operands[op->segment[0]];
    bool ahead = op->opcode == TILE_OP_copy_async || tile_pipelined_around(s->f, id).id;
    s->along[buffer.id] = (uint8_t)scan_along(s, op->operands[0], to->rank);
    s->rounded[buffer.id] |=
        ahead && scan_scalar_of(s, from) == TILE_f32 && scan_scalar_of(s, to) == TILE_tf32;
    if (tile_precedes_pipelined(s->f, id))
        s->prologue_bytes += scan_whole_bytes(scan_bytes_of(s, to));
    note_copy(s, id);
    scan_add_load(s, id, op, to, times);
    double others = 1 - 1 / (double)sharers_of(s, op->operands, op->segment[0]);
    s->cost->shared += others * (s->cost->loaded - before.loaded);
    s->cost->shared_crossing += others * (s->cost->crossing - before.crossing);
    double depth = (double)(to->stages ? scan_stages_of(s, to) : stages);
    s->copied += bytes_inside(s, op->operands[0], to);
    s->w->depth = most(s->w->depth, depth);
    double own = (double)(to->stages ? 1 : stages) * s->groups;
    if (s->loop.facts.target && s->loop.chunked) take_longer_rows(s, op->operands[0], to, own);
    if (own > 1)
        scan_take_shared(s, scan_bytes_of(s, to) * (double)scan_stages_of(s, to) * (own - 1));
}
