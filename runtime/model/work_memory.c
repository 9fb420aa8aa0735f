/* What products and copies at a point read and bring. */
#include "runtime/model/work_scan.h"

#include <math.h>
#include <string.h>

#include "lib/analysis/pipeline_plan.h"
#include "lib/layout/wgmma.h"
#include "lib/ops/gather.h"
#include "lib/support/integer.h"

/* Products ------------------------------------------------------------------------------------- */

/* Which operands warps read from shared memory: the others they have in registers. */
typedef struct operands_read {
    double lhs, rhs; /* 1, or 0 */
} operands_read;

/* Elements: warps split rows and columns, as the policy says or as it takes least, and each reads
 * its rows and its columns. policy: NULL where the product says none. */
static double reads_of_warps(operands_read of, double m, double n, double k, unsigned warps,
                             const char *policy) {
    bool free = !policy || strcmp(policy, "square") == 0;
    unsigned first = !free && strcmp(policy, "rows") == 0 ? warps : 1;
    double reads = INFINITY;
    for (unsigned rows = first; rows <= (free ? warps : first); rows *= 2)
        reads = least(reads, k * (of.lhs * m * ((double)warps / rows) + of.rhs * n * rows));
    return reads;
}

bool scan_is_tile(int64_t m, int64_t n) {
    return m > 0 && n > 0 && m <= TILE_MAX_TILE_ELEMENTS / n;
}

bool scan_take_third(uint32_t dims[2]) {
    for (unsigned d = 0; d < 2; d++) {
        uint32_t third[2] = {dims[0], dims[1]};
        third[d] /= SCAN_THIRDS;
        if (dims[d] % SCAN_THIRDS || !tile_wgmma_admits(third, d, TILE_WARPGROUP)) continue;
        dims[d] = third[d];
        return true;
    }
    return false;
}

static bool takes_wgmma(const scan *s, const tile_mma_query *types, int64_t m, int64_t n) {
    const uint32_t dims[2] = {(uint32_t)m, (uint32_t)n};
    return tile_target_has(s->target, TILE_FEATURE_wgmma) && m > TILE_WGMMA_FEW_ROWS &&
           scan_is_tile(m, n) && tile_wgmma_multiplies(types) &&
           (tile_wgmma_admits(dims, TILE_WGMMA_PLAIN, s->w->warps / s->groups) ||
            tile_wgmma_admits(dims, TILE_WGMMA_EXCHANGED, s->w->warps / s->groups));
}

/* Both operands of an instruction's 64 rows, and the second one again for the next 64. Exchanged
 * products read less, of narrow tiles that are slower than that makes them: their rows of rhs are
 * short. */
static double reads_of_warpgroups(operands_read of, double m, double n, double k) {
    return k * (of.lhs * m + of.rhs * n * ceil(m / TILE_WGMMA_ROWS));
}

/* Memory --------------------------------------------------------------------------------------- */

/* More than any target has, and far from where sums would end. */
static const double endless = 1e15;

int64_t scan_whole_bytes(double bytes) {
    return bytes < endless ? (int64_t)bytes : (int64_t)endless;
}

void scan_take_shared(scan *s, double bytes) {
    if ((double)s->alive < endless) s->alive += scan_whole_bytes(bytes);
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
    double bytes = scan_width_of(s, tile);
    for (unsigned d = 0; d < tile->rank; d++) {
        int64_t extent = scan_dim_of(s, tile, d), whole = extent;
        if (array && array->type->rank == tile->rank)
            whole = scan_eval_or(s, array->extents[d], extent);
        bytes *= (double)(whole > 0 && whole < extent ? whole : extent);
    }
    return bytes;
}

/* The dim along which elements lie side by side. */
static unsigned row_dim_of(const scan *s, const tile_arg_decl *array) {
    unsigned last = array->type->rank - 1;
    for (unsigned d = last + 1; array->type->has_strides && d-- > 0;)
        if (scan_eval_or(s, array->strides[d], 0) == 1) return d;
    return last;
}

/* The share of the tile's rows that lie in one line more than they would fill. */
static double crossing_of(const scan *s, const tile_arg_decl *array, const tile_type *tile) {
    if (!array || array->type->rank != tile->rank || tile->rank < 2) return 0;
    unsigned last = tile->rank - 1, along = row_dim_of(s, array);
    int64_t width = (int64_t)scan_width_of(s, tile), elements = scan_dim_of(s, tile, along);
    int64_t row = elements < LINE ? elements * width : LINE;
    int64_t pitch = array->type->has_strides
                        ? scan_eval_or(s, array->strides[along == last ? last - 1 : last], 0)
                        : scan_eval_or(s, array->extents[last], 0);
    return pitch > 0 ? straddling(row, pitch % LINE * width) : 0;
}

/* Of how many blocks of the cluster each needs what this copy reads. */
static int64_t sharers_of(const scan *s, const tile_value *element, unsigned count) {
    uint8_t depends = 0;
    for (unsigned i = 0; i < count; i++) depends |= s->places[element[i].id];
    for (unsigned d = 0; s->piped && d < s->f->cluster_rank; d++) {
        int64_t extent = scan_eval_or(s, s->f->cluster[d], 1);
        if (extent > 1 && !(depends >> d & 1)) return extent;
    }
    return 1;
}

/* The word, also where a parameter says it. */
const char *scan_attr_word(const tile_function *f, const tile_bound_params *point, tile_op op,
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
    const char *word = scan_attr_word(s->f, s->point, id, TILE_ATTR_cache);
    uint8_t depends = 0;
    double readers = 1;
    if (!word || strcmp(word, "evict_first") != 0 || s->f->raster) return;
    for (unsigned i = 1; i < op->segment[0]; i++) depends |= s->places[op->operands[i].id];
    for (unsigned d = 1; d < s->f->grid_rank; d++)
        if (!(depends >> d & 1)) readers *= (double)s->w->grid[d];
    s->cost->again += bytes * (1 - 1 / readers);
}

void scan_add_load(scan *s, tile_op id, const tile_op_data *op, const tile_type *tile,
                   double times) {
    const tile_arg_decl *array = array_of(s, op->operands[0]);
    if (tile_value_type(s->f, op->operands[0])->kind != TILE_TYPE_VIEW) return;
    if (s->cost == &s->w->loop) scan_add_indexing(s, id, tile, times);
    double bytes = times * bytes_inside(s, array, tile);
    note_hint(s, id, op, bytes);
    s->cost->loaded += bytes;
    s->cost->outside += times * scan_bytes_of(s, tile) - bytes;
    s->cost->crossing += bytes * crossing_of(s, array, tile);
}

/* A loop has warps that only copy where all of its copies are boxes. */
static void note_copy(scan *s, tile_op copy) {
    s->piped = s->piped && tile_is_plain_access(s->f, copy);
}

/* What a product takes of a load in a pipelined loop comes through a ring that the compiler makes.
 */
static void note_ring(scan *s, tile_value operand) {
    const tile_value_data *data = tile_value_at(s->f, operand);
    const tile_op_data *op = &s->f->ops[data->kind == TILE_VALUE_RESULT ? data->owner : 0];
    if (s->stages < 2 || data->kind != TILE_VALUE_RESULT || op->opcode != TILE_OP_load ||
        tile_value_type(s->f, op->operands[0])->kind != TILE_TYPE_VIEW)
        return;
    note_copy(s, (tile_op){data->owner});
    s->copied += bytes_inside(s, array_of(s, op->operands[0]), data->type);
    s->w->depth = most(s->w->depth, (double)s->stages);
    scan_take_shared(s, scan_bytes_of(s, data->type) * (double)s->stages * s->groups);
}

/* Whether warps read the operand from shared memory: it lies there, or is made of what does. */
static bool is_read(const scan *s, tile_value operand) {
    const tile_value_data *data = tile_value_at(s->f, operand);
    while (data->kind == TILE_VALUE_RESULT && data->type->kind == TILE_TYPE_TILE) {
        const tile_op_data *op = &s->f->ops[data->owner];
        if (!tile_op_has_trait((tile_opcode)op->opcode, TILE_TRAIT_ELEMENTWISE))
            return op->opcode == TILE_OP_load || op->opcode == TILE_OP_load_shared;
        data = tile_value_at(s->f, op->operands[0]);
    }
    return data->type->kind == TILE_TYPE_SHARED;
}

void scan_add_dot(scan *s, tile_op id, const tile_op_data *op, double times) {
    const tile_type *lhs = tile_value_type(s->f, op->operands[0]);
    const tile_type *rhs = tile_value_type(s->f, op->operands[op->segment[0]]);
    const tile_type *acc = tile_value_type(s->f, op->first_result);
    if (acc->rank != 2 || !lhs->rank) return;
    note_ring(s, op->operands[0]);
    note_ring(s, op->operands[op->segment[0]]);
    const tile_mma_query types = {.lhs = scan_scalar_of(s, lhs),
                                  .rhs = scan_scalar_of(s, rhs),
                                  .acc = scan_scalar_of(s, acc)};
    int64_t m = scan_dim_of(s, acc, 0), n = scan_dim_of(s, acc, 1);
    double k = (double)scan_dim_of(s, lhs, lhs->rank - 1), width = scan_width_of(s, lhs);
    /* mma.sync takes 16 rows and 8 columns at least. */
    double rows = ceil((double)m / 16) * 16, columns = ceil((double)n / 8) * 8;
    double operations = times * 2 * rows * columns * k * width / 2;
    const operands_read of = {.lhs = is_read(s, op->operands[0]),
                              .rhs = is_read(s, op->operands[op->segment[0]])};
    s->cost->operations += operations;
    if (takes_wgmma(s, &types, m, n)) {
        s->cost->wgmma += operations;
        s->cost->reads += times * width * reads_of_warpgroups(of, (double)m, (double)n, k);
        s->w->may_have_roles |= s->piped;
        uint32_t dims[2] = {(uint32_t)m, (uint32_t)n};
        s->w->thirds = s->w->thirds && scan_take_third(dims);
        s->w->promotes |= tile_scalar_bits(types.lhs) == 8 && tile_scalar_is_floating(types.lhs) &&
                          types.acc == TILE_f32 && !tile_op_has_attr(s->f, id, TILE_ATTR_fast);
    } else {
        bool wgmma = tile_target_has(s->target, TILE_FEATURE_wgmma);
        s->w->may_have_roles |= s->piped && !wgmma && tile_specializes_warps(s->target);
        s->cost->reads += times * width *
                          reads_of_warps(of, rows, columns, k, s->w->warps / s->groups,
                                         scan_attr_word(s->f, s->point, id, TILE_ATTR_policy));
    }
    s->w->accumulator = most(s->w->accumulator, scan_bytes_of(s, acc) * s->groups);
}

/* A copy into a buffer without stages, in a loop that gives it some, and each group its own. */
void scan_add_copy(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages) {
    const tile_type *from = tile_value_type(s->f, op->operands[0]);
    const tile_type *to = tile_value_type(s->f, op->operands[op->segment[0]]);
    if (from->kind != TILE_TYPE_VIEW) {
        s->cost->stored += times * scan_bytes_of(s, from);
        return;
    }
    tune_cost before = *s->cost;
    note_copy(s, id);
    scan_add_load(s, id, op, to, times);
    double others = 1 - 1 / (double)sharers_of(s, op->operands, op->segment[0]);
    s->cost->shared += others * (s->cost->loaded - before.loaded);
    s->cost->shared_crossing += others * (s->cost->crossing - before.crossing);
    double depth = (double)(to->stages ? scan_stages_of(s, to) : stages);
    s->copied += bytes_inside(s, array_of(s, op->operands[0]), to);
    s->w->depth = most(s->w->depth, depth);
    double own = (double)(to->stages ? 1 : stages) * s->groups;
    if (own > 1)
        scan_take_shared(s, scan_bytes_of(s, to) * (double)scan_stages_of(s, to) * (own - 1));
}
