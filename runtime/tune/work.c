#include "runtime/tune/work.h"

#include <math.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/store_ring.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/layout/wgmma.h"
#include "lib/support/integer.h"

enum { LINE = 128 /* bytes of the L2's, and of the widest row that TMA brings */ };

typedef struct scan {
    const tile_function *f;
    const tile_bound_params *point;
    const int64_t *sizes;
    const tile_target *target;
    bool has_wgmma;
    tile_bindings bindings;
    int64_t *values; /* by value id */
    bool *known;
    uint8_t *places; /* by value: a set of dims of block_id that it depends on */
    uint64_t used;   /* a set of arguments */
    tune_work *w;
    tune_cost *cost; /* where it is counted now */
    int64_t alive;   /* bytes of shared memory */
    double copied;   /* by the body of the innermost loop so far */
    bool piped;      /* the innermost loop */
    int64_t stages;  /* of the innermost loop */
    bool turns;      /* semaphores */
    int64_t least_scratch;
} scan;

static double most(double a, double b) {
    return a > b ? a : b;
}

/* Expressions -----------------------------------------------------------------------------------
 */

static bool param_of(const char *name, int64_t *value, void *user) {
    const scan *s = user;
    const tile_bound_param *param = s->point ? tile_find_bound(s->point, name) : NULL;
    if (!param || !param->bound) return false;
    *value = param->value;
    return true;
}

static bool size_of(unsigned index, int64_t *value, void *user) {
    *value = ((const scan *)user)->sizes[index];
    return true;
}

static bool eval(const scan *s, const tile_expr *expr, int64_t *value) {
    if (expr && expr->kind == TILE_EXPR_INT) {
        *value = expr->integer;
        return true;
    }
    return tile_expr_eval(expr, &s->bindings, value);
}

static int64_t eval_or(const scan *s, const tile_expr *expr, int64_t otherwise) {
    int64_t value;
    return eval(s, expr, &value) ? value : otherwise;
}

static bool value_of(const scan *s, tile_value value, int64_t *integer) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_CONSTANT) return eval(s, data->expr, integer);
    *integer = s->values[value.id];
    return s->known[value.id];
}

static void set_value(scan *s, tile_value value, int64_t integer) {
    s->values[value.id] = integer;
    s->known[value.id] = true;
}

static void fold(scan *s, const tile_op_data *op) {
    int64_t in[3] = {0}, out;
    if (op->result_count != 1 || op->operand_count < 1 || op->operand_count > 3) return;
    const tile_type *type = tile_value_type(s->f, op->first_result);
    if (type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(type->scalar)) return;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!value_of(s, op->operands[i], &in[i])) return;
    if (op->opcode == TILE_OP_cast && !op->attr_count)
        set_value(s, op->first_result, in[0]);
    else if (tile_fold_int((tile_opcode)op->opcode, in[0], in[1], in[2], &out))
        set_value(s, op->first_result, out);
}

/* Types -----------------------------------------------------------------------------------------
 */

static tile_scalar scalar_of(const scan *s, const tile_type *type) {
    const tile_bound_param *param =
        type->param && s->point ? tile_find_bound(s->point, type->param) : NULL;
    return param ? param->scalar : type->scalar;
}

static double width_of(const scan *s, const tile_type *type) {
    return tile_scalar_bytes(scalar_of(s, type));
}

/* Nobody has verified the text at this point yet: a number may be any. */
static int64_t count_of(const scan *s, const tile_expr *expr, int64_t otherwise) {
    int64_t count = eval_or(s, expr, otherwise);
    return count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : count;
}

static int64_t dim_of(const scan *s, const tile_type *type, unsigned d) {
    return count_of(s, type->dims[d], 0);
}

static double bytes_of(const scan *s, const tile_type *type) {
    double bytes = width_of(s, type);
    for (unsigned d = 0; d < type->rank; d++) bytes *= (double)dim_of(s, type, d);
    return bytes;
}

static int64_t stages_of(const scan *s, const tile_type *type) {
    int64_t stages = type->stages ? count_of(s, type->stages, 1) : 1;
    return stages > 1 ? stages : 1;
}

/* Products --------------------------------------------------------------------------------------
 */

/* The element count that a warp's part of the product has least of both sides together: warps split
 * rows and columns, and each reads its rows and its columns. */
static double reads_of_warps(double m, double n, double k, unsigned warps) {
    double least = INFINITY;
    for (unsigned rows = 1; rows <= warps; rows *= 2) {
        double columns = (double)warps / rows, reads = k * (m * columns + n * rows);
        if (reads < least) least = reads;
    }
    return least;
}

static bool is_tile(int64_t m, int64_t n) {
    return m > 0 && n > 0 && m <= TILE_MAX_TILE_ELEMENTS / n;
}

static bool takes_wgmma(const scan *s, const tile_mma_query *types, int64_t m, int64_t n) {
    const uint32_t dims[2] = {(uint32_t)m, (uint32_t)n};
    return s->has_wgmma && m > TILE_WGMMA_FEW_ROWS && is_tile(m, n) &&
           tile_wgmma_multiplies(types) &&
           (tile_wgmma_admits(dims, TILE_WGMMA_PLAIN, s->w->warps) ||
            tile_wgmma_admits(dims, TILE_WGMMA_EXCHANGED, s->w->warps));
}

/* Elements for each of k that instructions read as choose-instructions has them lie. Groups that
 * take turns have a tile each. */
static double reads_of_warpgroups(const scan *s, int64_t m, int64_t n, tile_scalar acc) {
    const uint32_t dims[2] = {(uint32_t)m, (uint32_t)n};
    unsigned warps = s->w->ping_pong ? TILE_WARPGROUP : s->w->warps;
    double fewest = INFINITY;
    for (unsigned row_dim = TILE_WGMMA_PLAIN; row_dim <= TILE_WGMMA_EXCHANGED; row_dim++) {
        if (!tile_wgmma_admits(dims, row_dim, warps)) continue;
        double reads = (double)tile_wgmma_reads(dims, row_dim, warps, acc, TILE_WGMMA_MOST_COLUMNS);
        if (reads < fewest) fewest = reads;
    }
    return fewest < INFINITY ? fewest : (double)(m + n);
}

/* Memory ----------------------------------------------------------------------------------------
 */

/* More than any target has, and far from where sums would end. */
static const double endless = 1e15;

static int64_t whole_bytes(double bytes) {
    return bytes < endless ? (int64_t)bytes : (int64_t)endless;
}

static void take_shared(scan *s, double bytes) {
    if ((double)s->alive < endless) s->alive += whole_bytes(bytes);
    if (s->alive > s->w->shared) s->w->shared = s->alive;
}

/* Rows of so many bytes that begin `pitch` bytes apart begin at multiples of what the pitch and a
 * line have in common. */
static double straddling(int64_t row, int64_t pitch) {
    int64_t step = (int64_t)tile_gcd((uint64_t)pitch, LINE), starts = LINE / step;
    int64_t part = row >= LINE || row <= 0 ? LINE : row;
    return (double)(starts - 1 - (LINE - part) / step) / (double)starts;
}

static const tile_arg_decl *array_of(const scan *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, value);
    const tile_arg_decl *arg = data->kind == TILE_VALUE_ARG ? &s->f->args[data->index] : NULL;
    return arg && arg->type->kind == TILE_TYPE_VIEW ? arg : NULL;
}

/* Bytes of a tile that are inside the array, as its first block has it: what is outside is not
 * brought. Tiles of fewer dims are along the last ones. */
static double bytes_inside(const scan *s, const tile_arg_decl *array, const tile_type *tile) {
    double bytes = width_of(s, tile);
    for (unsigned d = 0; d < tile->rank; d++) {
        int64_t extent = dim_of(s, tile, d), whole = extent;
        if (array && array->type->rank == tile->rank) whole = eval_or(s, array->extents[d], extent);
        bytes *= (double)(whole > 0 && whole < extent ? whole : extent);
    }
    return bytes;
}

/* The dim along which elements lie side by side. */
static unsigned row_dim_of(const scan *s, const tile_arg_decl *array) {
    unsigned last = array->type->rank - 1;
    for (unsigned d = last + 1; array->type->has_strides && d-- > 0;)
        if (eval_or(s, array->strides[d], 0) == 1) return d;
    return last;
}

/* The share of the tile's rows that lie in one line more than they would fill. */
static double crossing_of(const scan *s, const tile_arg_decl *array, const tile_type *tile) {
    if (!array || array->type->rank != tile->rank || tile->rank < 2) return 0;
    unsigned last = tile->rank - 1, along = row_dim_of(s, array);
    int64_t width = (int64_t)width_of(s, tile), elements = dim_of(s, tile, along);
    int64_t row = elements < LINE ? elements * width : LINE;
    int64_t pitch = array->type->has_strides
                        ? eval_or(s, array->strides[along == last ? last - 1 : last], 0)
                        : eval_or(s, array->extents[last], 0);
    return pitch > 0 ? straddling(row, pitch % LINE * width) : 0;
}

/* Of how many blocks of the cluster each needs what this copy reads. */
static int64_t sharers_of(const scan *s, const tile_value *element, unsigned count) {
    uint8_t depends = 0;
    for (unsigned i = 0; i < count; i++) depends |= s->places[element[i].id];
    for (unsigned d = 0; s->piped && d < s->f->cluster_rank; d++) {
        int64_t extent = eval_or(s, s->f->cluster[d], 1);
        if (extent > 1 && !(depends >> d & 1)) return extent;
    }
    return 1;
}

/* The word, also where a parameter says it. */
static const char *attr_word(const tile_function *f, const tile_bound_params *point, tile_op op,
                             tile_attr_id id) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    if (!attr || !attr->expr || attr->expr->kind != TILE_EXPR_PARAM)
        return attr ? attr->text : NULL;
    const tile_bound_param *param = point ? tile_find_bound(point, attr->expr->name) : NULL;
    return param ? param->word : NULL;
}

/* What the L2 shall give up first comes from memory again for blocks that read it at another time:
 * those along other dims of the grid than the first, unless tiles are walked in a raster. What
 * choose-cache does is not seen here: it asks that none are. */
static void note_hint(scan *s, tile_op id, const tile_op_data *op, double bytes) {
    const char *word = attr_word(s->f, s->point, id, TILE_ATTR_cache);
    uint8_t depends = 0;
    double readers = 1;
    if (!word || strcmp(word, "evict_first") != 0 || s->f->raster) return;
    for (unsigned i = 1; i < op->segment[0]; i++) depends |= s->places[op->operands[i].id];
    for (unsigned d = 1; d < s->f->grid_rank; d++)
        if (!(depends >> d & 1)) readers *= (double)s->w->grid[d];
    s->cost->again += bytes * (1 - 1 / readers);
}

static void add_load(scan *s, tile_op id, const tile_op_data *op, const tile_type *tile,
                     double times) {
    const tile_arg_decl *array = array_of(s, op->operands[0]);
    double bytes = times * bytes_inside(s, array, tile);
    note_hint(s, id, op, bytes);
    s->cost->loaded += bytes;
    s->cost->outside += times * bytes_of(s, tile) - bytes;
    s->cost->crossing += bytes * crossing_of(s, array, tile);
}

/* What a product takes of a load in a pipelined loop comes through a ring that the compiler makes.
 */
static void note_ring(scan *s, tile_value operand) {
    const tile_value_data *data = tile_value_at(s->f, operand);
    const tile_op_data *op = &s->f->ops[data->kind == TILE_VALUE_RESULT ? data->owner : 0];
    if (s->stages < 2 || data->kind != TILE_VALUE_RESULT || op->opcode != TILE_OP_load) return;
    s->copied += bytes_inside(s, array_of(s, op->operands[0]), data->type);
    s->w->depth = most(s->w->depth, (double)s->stages);
    take_shared(s, bytes_of(s, data->type) * (double)s->stages);
}

static void add_dot(scan *s, tile_op id, const tile_op_data *op, double times) {
    const tile_type *lhs = tile_value_type(s->f, op->operands[0]);
    const tile_type *rhs = tile_value_type(s->f, op->operands[op->segment[0]]);
    const tile_type *acc = tile_value_type(s->f, op->first_result);
    if (acc->rank != 2 || !lhs->rank) return;
    note_ring(s, op->operands[0]);
    note_ring(s, op->operands[op->segment[0]]);
    const tile_mma_query types = {
        .lhs = scalar_of(s, lhs), .rhs = scalar_of(s, rhs), .acc = scalar_of(s, acc)};
    int64_t m = dim_of(s, acc, 0), n = dim_of(s, acc, 1);
    double k = (double)dim_of(s, lhs, lhs->rank - 1), width = width_of(s, lhs);
    /* mma.sync takes 16 rows and 8 columns at least. */
    double rows = ceil((double)m / 16) * 16, columns = ceil((double)n / 8) * 8;
    double operations = times * 2 * rows * columns * k * width / 2;
    s->cost->operations += operations;
    if (takes_wgmma(s, &types, m, n)) {
        s->cost->wgmma += operations;
        s->cost->reads += times * width * k * reads_of_warpgroups(s, m, n, types.acc);
        s->w->may_have_roles |= s->piped;
        s->w->promotes |= tile_scalar_bits(types.lhs) == 8 && tile_scalar_is_floating(types.lhs) &&
                          types.acc == TILE_f32 && !tile_op_has_attr(s->f, id, TILE_ATTR_fast);
    } else {
        s->cost->reads += times * width * reads_of_warps(rows, columns, k, s->w->warps);
    }
    s->w->accumulator = most(s->w->accumulator, bytes_of(s, acc));
}

/* A copy into a buffer without stages, in a loop that gives it some. */
static void add_copy(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages) {
    const tile_type *from = tile_value_type(s->f, op->operands[0]);
    const tile_type *to = tile_value_type(s->f, op->operands[op->segment[0]]);
    if (from->kind != TILE_TYPE_VIEW) {
        s->cost->stored += times * bytes_of(s, from);
        return;
    }
    tune_cost before = *s->cost;
    add_load(s, id, op, to, times);
    double others = 1 - 1 / (double)sharers_of(s, op->operands, op->segment[0]);
    s->cost->shared += others * (s->cost->loaded - before.loaded);
    s->cost->shared_crossing += others * (s->cost->crossing - before.crossing);
    double depth = (double)(to->stages ? stages_of(s, to) : stages);
    s->copied += bytes_inside(s, array_of(s, op->operands[0]), to);
    s->w->depth = most(s->w->depth, depth);
    if (!to->stages && stages > 1) take_shared(s, bytes_of(s, to) * (double)(stages - 1));
}

/* Operations ------------------------------------------------------------------------------------
 */

static void scan_region(scan *s, tile_region region, double times, int64_t stages);

static double count_trips(const scan *s, const tile_op_data *op) {
    int64_t begin, end, step;
    if (!value_of(s, op->operands[0], &begin) || !value_of(s, op->operands[1], &end) ||
        !value_of(s, op->operands[2], &step) || step <= 0)
        return 1;
    return end > begin ? ceil(((double)end - (double)begin) / (double)step) : 0;
}

static int64_t attr_int(const scan *s, tile_op op, tile_attr_id id, int64_t otherwise) {
    const tile_attr *attr = tile_op_attr(s->f, op, id);
    return attr ? count_of(s, attr->expr, otherwise) : otherwise;
}

/* In f32 at least. */
static double bytes_carried(const scan *s, const tile_op_data *op) {
    double bytes = 0;
    for (uint32_t i = 0; i < op->result_count; i++) {
        const tile_type *type = tile_value_type(s->f, (tile_value){op->first_result.id + i});
        if (type->kind == TILE_TYPE_TILE)
            bytes += bytes_of(s, type) / width_of(s, type) * most(4, width_of(s, type));
    }
    return bytes;
}

static void scan_loop(scan *s, tile_op id, const tile_op_data *op, double times) {
    int64_t stages = attr_int(s, id, TILE_ATTR_pipelined, 1), outer = s->stages, begin;
    const tile_region_data *body = tile_region_at(s->f, op->regions[0]);
    double trips = count_trips(s, op), before = s->copied;
    tune_cost *outside = s->cost;
    const char *consumers = attr_word(s->f, s->point, id, TILE_ATTR_consumers);
    s->w->ping_pong |= consumers && strcmp(consumers, "ping_pong") == 0;
    if (body->arg_count && value_of(s, op->operands[0], &begin))
        set_value(s, body->first_arg, begin);
    if (times == 1 && s->cost == &s->w->once && op->result_count && !s->w->trips) {
        s->cost = &s->w->loop; /* the one that can be split */
        s->w->trips = trips;
        s->w->sums = bytes_carried(s, op);
    }
    s->copied = 0;
    s->stages = stages;
    s->piped = stages > 1 && !s->f->sync_explicit && (s->w->warps == 4 || s->w->warps == 8);
    scan_region(s, op->regions[0], times * trips, stages);
    if (trips > 0) s->w->in_flight = most(s->w->in_flight, s->copied);
    s->copied = before;
    s->stages = outer;
    s->piped = false;
    s->cost = outside;
}

static void scan_branch(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages) {
    int64_t condition;
    bool known = value_of(s, op->operands[0], &condition);
    bool same = known && !s->places[op->operands[0].id]; /* for all blocks */
    for (uint32_t r = 0; r < op->region_count; r++)
        if (!same || (condition != 0) == (r == 0)) scan_region(s, op->regions[r], times, stages);
    for (uint32_t i = 0; i < op->result_count && known; i++) {
        tile_value sent = tile_carried_sent(s->f, id, condition ? 0 : 1, i);
        int64_t value;
        if (value_of(s, sent, &value)) set_value(s, tile_op_result(s->f, id, i), value);
    }
}

/* A kernel of a plan may be given arrays that it never looks at. */
static void note_arguments(scan *s, const tile_op_data *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tile_value_data *value = tile_value_at(s->f, op->operands[i]);
        if (value->kind == TILE_VALUE_ARG && value->index < 64)
            s->used |= UINT64_C(1) << value->index;
    }
}

static void add_atomic(scan *s, const tile_op_data *op, double times) {
    if (op->result_count)
        set_value(s, op->first_result, 0); /* a ticket, as the first one draws it */
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tile_type *type = tile_value_type(s->f, op->operands[i]);
        if (type->kind != TILE_TYPE_TILE) continue;
        s->w->meets = 3;                                  /* the last one for all */
        s->cost->stored += 2 * times * bytes_of(s, type); /* read and written */
    }
}

/* The smallest scratch has the semaphores, of which blocks take turns at one. */
static void note_scratch(scan *s, const tile_op_data *op) {
    int64_t count = 1, extent;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (value_of(s, op->operands[i], &extent) && extent > 0 && extent <= INT32_MAX / count)
            count *= extent;
    if (!s->least_scratch || count < s->least_scratch) s->least_scratch = count;
    if (s->w->meets < 2) s->w->meets = 2;
}

/* The ring through which specialize-warps stores tiles of a persistent kernel, where what the
 * products have of shared memory is never free; stores share one. */
static void add_store(scan *s, const tile_op_data *op, double times) {
    enum { PRODUCER = 4 /* warps */, BARRIERS = 256 /* bytes */ };
    const tile_type *tile = tile_value_type(s->f, op->operands[0]);
    unsigned sets = s->w->ping_pong ? 2 : 1;
    tile_store_ring ring;
    tile_store_query query = {.element_bytes = (unsigned)width_of(s, tile),
                              .warps = s->w->warps / sets,
                              .sets = sets,
                              .block_warps = s->w->warps + PRODUCER,
                              .others = BARRIERS + s->alive,
                              .alone = true};
    s->cost->stored += times * bytes_of(s, tile);
    if (s->w->warps > PRODUCER) query.registers = tile_entry_registers(query.block_warps);
    if (!s->w->may_have_roles || tile->rank != 2 || !query.element_bytes ||
        !is_tile(dim_of(s, tile, 0), dim_of(s, tile, 1)))
        return;
    for (unsigned d = 0; d < 2; d++) query.dims[d] = (uint32_t)dim_of(s, tile, d);
    if (!tile_wgmma_admits(query.dims, query.row_dim, query.warps))
        query.row_dim = TILE_WGMMA_EXCHANGED;
    if (tile_choose_store_ring(s->target, &query, &ring) && ring.bytes > s->w->box)
        s->w->box = ring.bytes;
}

static void scan_op(scan *s, tile_op id, double times, int64_t stages) {
    const tile_op_data *op = tile_op_at(s->f, id);
    note_arguments(s, op);
    switch (op->opcode) {
    case TILE_OP_for: scan_loop(s, id, op, times); return;
    case TILE_OP_if: scan_branch(s, id, op, times, stages); return;
    case TILE_OP_block_id:
    case TILE_OP_grid_dim:
        for (uint32_t i = 0; i < op->result_count; i++)
            set_value(s, tile_op_result(s->f, id, i),
                      op->opcode == TILE_OP_block_id ? 0 : s->w->grid[i]);
        return;
    case TILE_OP_atomic: add_atomic(s, op, times); return;
    case TILE_OP_dot: add_dot(s, id, op, times); return;
    case TILE_OP_load: add_load(s, id, op, tile_value_type(s->f, op->first_result), times); return;
    case TILE_OP_store: add_store(s, op, times); return;
    case TILE_OP_copy:
    case TILE_OP_copy_async: add_copy(s, id, op, times, stages); return;
    case TILE_OP_alloc_shared: {
        const tile_type *type = tile_value_type(s->f, op->first_result);
        take_shared(s, bytes_of(s, type) * (double)stages_of(s, type));
        return;
    }
    case TILE_OP_free_shared: {
        const tile_type *type = tile_value_type(s->f, op->operands[0]);
        s->alive -= whole_bytes(bytes_of(s, type) * (double)stages_of(s, type));
        return;
    }
    case TILE_OP_scratch: note_scratch(s, op); return;
    case TILE_OP_lock_semaphore: s->turns = true; return;
    default: break; /* what has no cost of its own is computed, if it is an integer */
    }
    fold(s, op);
    for (uint32_t r = 0; r < op->region_count; r++) scan_region(s, op->regions[r], times, stages);
}

static void scan_region(scan *s, tile_region region, double times, int64_t stages) {
    for (tile_op op = tile_region_first(s->f, region); op.id; op = tile_op_next(s->f, op))
        scan_op(s, op, times, stages);
}

/* The kernel ------------------------------------------------------------------------------------
 */

static double array_bytes(const scan *s) {
    double bytes = 0;
    for (size_t i = 0; i < s->f->arg_count; i++) {
        const tile_type *type = s->f->args[i].type;
        double elements = 1;
        if (type->kind != TILE_TYPE_VIEW || i >= 64 || !(s->used >> i & 1)) continue;
        for (unsigned d = 0; d < type->rank; d++)
            elements *= (double)eval_or(s, s->f->args[i].extents[d], 1);
        bytes += elements * width_of(s, type);
    }
    return bytes;
}

enum { ALL_PLACES = 7 };

static void note_places(tile_function *f, tile_op op, void *user) {
    uint8_t *places = user, from = 0;
    const tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) from |= places[data->operands[i].id];
    bool any = data->region_count || data->opcode == TILE_OP_atomic;
    for (unsigned i = 0; i < data->result_count; i++)
        places[data->first_result.id + i] = data->opcode == TILE_OP_block_id ? (uint8_t)(1u << i)
                                            : any                            ? ALL_PLACES
                                                                             : from;
    for (unsigned r = 0; r < data->region_count; r++) {
        const tile_region_data *region = tile_region_at(f, data->regions[r]);
        for (unsigned i = 0; i < region->arg_count; i++)
            places[region->first_arg.id + i] =
                data->opcode == TILE_OP_for && i == 0 ? from : ALL_PLACES;
    }
}

static void find_places(scan *s, tile_arena *arena) {
    s->places = TILE_NEW_ARRAY(arena, uint8_t, s->f->value_count + 1);
    tile_walk((tile_function *)(uintptr_t)s->f, s->f->body, note_places, s->places); /* reads it */
}

/* The grid in whole clusters. */
static int64_t round_up_to_clusters(const scan *s, unsigned d, int64_t extent) {
    int64_t cluster = d < s->f->cluster_rank ? eval_or(s, s->f->cluster[d], 1) : 1;
    return cluster > 1 ? tile_round_up(extent, cluster) : extent;
}

static void read_launch(scan *s) {
    const tile_function *f = s->f;
    tune_work *w = s->w;
    int64_t warps = eval_or(s, f->warps, 1);
    for (unsigned i = 0; i < 3; i++) {
        w->grid[i] = i < f->grid_rank ? eval_or(s, f->grid[i], 1) : 1;
        if (w->grid[i] < 1) w->grid[i] = 1;
        w->grid[i] = round_up_to_clusters(s, i, w->grid[i]);
        w->uses_num_sms |= i < f->grid_rank && tile_expr_holds(f->grid[i], TILE_EXPR_NUM_SMS);
    }
    w->cluster = 1;
    for (unsigned i = 0; i < f->cluster_rank; i++) {
        int64_t extent = eval_or(s, f->cluster[i], 1);
        if (extent > 0 && extent <= INT32_MAX / w->cluster) w->cluster *= extent;
    }
    w->warps = warps > 0 && warps < 1 << 16 ? (unsigned)warps : 1;
    w->persistent = f->is_persistent && eval_or(s, f->persistent_if, 1) != 0;
}

void tune_read_work(const tile_function *f, const tile_bound_params *point, const int64_t *sizes,
                    const tile_target *target, bool has_wgmma, unsigned num_sms, tile_arena *arena,
                    tune_work *work) {
    scan s = {.f = f,
              .point = point,
              .sizes = sizes,
              .target = target,
              .has_wgmma = has_wgmma,
              .w = work};
    *work = (tune_work){0};
    s.bindings =
        (tile_bindings){.param = param_of, .arg = size_of, .user = &s, .num_sms = (int64_t)num_sms};
    s.cost = &work->once;
    s.values = TILE_NEW_ARRAY(arena, int64_t, f->value_count + 1);
    s.known = TILE_NEW_ARRAY(arena, bool, f->value_count + 1);
    read_launch(&s);
    find_places(&s, arena);
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_SCALAR) set_value(&s, f->args[i].value, sizes[i]);
    scan_region(&s, f->body, 1, 1);
    work->arrays = array_bytes(&s);
    if (s.turns) work->semaphores = s.least_scratch;
}

/* Splits ----------------------------------------------------------------------------------------
 */

static tile_op find_split(const tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_for && tile_op_has_attr(f, (tile_op){id}, TILE_ATTR_split))
            return (tile_op){id};
    return TILE_NO_OP;
}

void tune_read_split(const tile_function *f, const tile_bound_params *point, int64_t *factor,
                     const char **strategy) {
    tile_op loop = find_split(f);
    scan s = {.f = f, .point = point};
    s.bindings = (tile_bindings){.param = param_of, .user = &s};
    *factor = 1;
    *strategy = NULL;
    if (!loop.id) return;
    *factor = attr_int(&s, loop, TILE_ATTR_split, 1);
    *strategy = attr_word(f, point, loop, TILE_ATTR_strategy);
}

static void mark(const tile_function *f, const tile_expr *expr, bool *own) {
    if (!expr) return;
    if (expr->kind == TILE_EXPR_PARAM)
        for (size_t i = 0; i < f->param_count; i++)
            own[i] |= strcmp(f->params[i].name, expr->name) == 0;
    for (unsigned a = 0; a < 3 && expr->args[a]; a++) mark(f, expr->args[a], own);
}

static void mark_type(const tile_function *f, const tile_type *type, bool *own) {
    for (size_t i = 0; type->param && i < f->param_count; i++)
        own[i] |= strcmp(f->params[i].name, type->param) == 0;
    for (unsigned d = 0; d < type->rank; d++) mark(f, type->dims[d], own);
    mark(f, type->stages, own);
}

void tune_find_own(const tile_function *f, bool *own) {
    for (unsigned d = 0; d < 3; d++) {
        mark(f, d < f->grid_rank ? f->grid[d] : NULL, own);
        mark(f, d < f->cluster_rank ? f->cluster[d] : NULL, own);
    }
    mark(f, f->warps, own);
    mark(f, f->persistent_if, own);
    for (size_t i = 0; i < f->arg_count; i++)
        for (unsigned d = 0; d < TILE_MAX_RANK && f->args[i].type->kind == TILE_TYPE_VIEW; d++) {
            mark(f, f->args[i].extents[d], own);
            mark(f, f->args[i].strides[d], own);
        }
    for (uint32_t id = 1; id < f->value_count; id++) {
        mark_type(f, f->values[id].type, own);
        mark(f, f->values[id].expr, own);
    }
    for (uint32_t id = 1; id < f->op_count; id++)
        for (unsigned a = 0; a < f->ops[id].attr_count; a++) {
            const tile_attr *attr = &f->ops[id].attrs[a];
            if (attr->id != TILE_ATTR_split && attr->id != TILE_ATTR_strategy)
                mark(f, attr->expr, own);
        }
}
