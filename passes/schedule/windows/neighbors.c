/* How many neighboring elements of the result a thread computes. Windows of neighbors overlap, so
 * that an element that a thread loads is used several times. */
#include "passes/schedule/windows/windows.h"

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"

/* Windows -------------------------------------------------------------------------------------- */

/* Records the windows of op, whose elements are needed at map. */
static void add_steps(windows *w, tile_op op, const sched_map *map) {
    schedule *s = w->k.s;
    unsigned axis = (unsigned)sched_axis(s, op);
    const tile_values strides = tile_operands_strides(s->compute, op);
    const tile_type *type = sched_type(s, tile_op_result(s->compute, op, 0));
    sched_map at = sched_operand_map(s, op, 0, 0, map);
    for (unsigned i = 0; i < strides.count; i++) {
        sched_linear sum;
        int64_t positions = sched_constant(sched_dim(s, type, axis + strides.count + i));
        int64_t dilation = sched_window_number(s, tile_operands_dilations(s->compute, op), i);
        if (!sched_find_linear(&at.at[axis + i], &sum) || sum.dim < 0 || sum.scale < 1) continue;
        windows_step *step = &w->steps[sum.dim];
        if (positions > step->positions && dilation > 0)
            *step = (windows_step){positions, sum.scale, dilation};
    }
}

sched_traversal windows_traverse(const windows *w) {
    schedule *s = w->k.s;
    sched_group *again = TILE_NEW(s->arena, sched_group);
    *again = (sched_group){.kind = SCHED_WINDOWED};
    sched_traversal t = {.s = s, .g = again};
    for (size_t i = 0; i < w->g->output_count; i++)
        sched_traverse_value(&t, sched_output_value(s, &w->g->outputs[i]), &w->g->outputs[i].map,
                             true);
    return t;
}

static void find_steps(windows *w) {
    schedule *s = w->k.s;
    const sched_traversal t = windows_traverse(w);
    for (size_t i = 0; i < t.done.count; i++) {
        tile_op op = tile_value_def(s->compute, t.done.items[i].value);
        if (op.id && tile_op_opcode(s->compute, op) == TILE_OP_window)
            add_steps(w, op, &t.done.items[i].map);
    }
}

/* Neighbors ------------------------------------------------------------------------------------ */

/* The number of different elements along a dim that the windows of `neighbors` elements contain. */
static int64_t count_elements(const windows_step *step, int64_t neighbors) {
    int64_t count = 0;
    for (int64_t r = 0; r < neighbors; r++)
        for (int64_t t = 0; t < step->positions; t++) {
            int64_t at = r * step->stride + t * step->dilation;
            bool seen = false;
            for (int64_t before = 0; before < r && !seen; before++) {
                int64_t rest = at - before * step->stride;
                seen = rest % step->dilation == 0 && rest / step->dilation < step->positions;
            }
            count += !seen;
        }
    return count;
}

static bool is_long(const windows *w, unsigned d) {
    return !tile_expr_is(w->g->domain.extents[d], 1);
}

bool windows_overlap(const windows *w, unsigned d) {
    const windows_step *step = &w->steps[d];
    return step->positions > 1 && count_elements(step, 2) < 2 * step->positions;
}

bool windows_have_weights(const windows *w) {
    schedule *s = w->k.s;
    for (size_t i = 0; i < w->g->reduction_count; i++) {
        tile_value src = tile_operand_src(s->compute, w->g->reductions[i]);
        tile_op op = tile_value_def(s->compute, src);
        if (op.id && tile_op_opcode(s->compute, op) == TILE_OP_mul &&
            tile_operand_lhs(s->compute, op).id != tile_operand_rhs(s->compute, op).id)
            return true;
    }
    return false;
}

/* Neighbors that leave enough blocks for all multiprocessors, and no dim mostly empty. */
static bool leaves_blocks(const windows *w, const int64_t *neighbors) {
    enum { THREADS = 1 << 17 };
    int64_t elements = 1;
    for (unsigned d = 0; d < w->g->domain.rank; d++) {
        int64_t extent = sched_constant(w->g->domain.extents[d]);
        if (extent < 0) return true;
        if (neighbors[d] > 1 &&
            (extent + neighbors[d] - 1) / neighbors[d] * neighbors[d] * 3 > extent * 4)
            return false;
        elements *= (extent + neighbors[d] - 1) / neighbors[d];
    }
    return elements >= THREADS;
}

int64_t windows_count_neighbors(const windows *w) {
    int64_t all = 1;
    for (unsigned d = 0; d < w->g->domain.rank; d++) all *= w->neighbors[d];
    return all;
}

/* Returns whether the sums of all neighbors and the weights that they use at a time fit the
 * registers. Neighbors along the inner dim use as many weights; further ones use whole lines. */
static bool fits_registers(const windows *w, const int *dims, int64_t inner, int64_t outer) {
    enum { REGISTERS = 64 };
    int64_t line = outer > 1 || dims[1] < 0 ? w->steps[dims[0]].positions * outer : inner;
    if (w->steps[w->columns].positions) line = w->steps[w->columns].positions * inner * outer;
    return (inner * outer + line) * w->vector <= REGISTERS;
}

/* Loads per element of the result. */
static double count_loads(const windows *w, const int64_t *neighbors, bool weights) {
    double loads = 1, all = 1, positions = 1;
    for (unsigned d = 0; d < w->g->domain.rank; d++) {
        if (!w->steps[d].positions) continue;
        loads *= (double)count_elements(&w->steps[d], neighbors[d]);
        positions *= (double)w->steps[d].positions;
        all *= (double)neighbors[d];
    }
    return (loads + (weights ? positions : 0)) / all;
}

unsigned windows_widest_input(const windows *w) {
    unsigned most = 1;
    for (size_t i = 0; i < w->g->input_count; i++) {
        tile_value value = w->k.s->arrays[w->g->inputs[i].array].value;
        unsigned own = tile_scalar_bytes(sched_element(w->k.s, value)->scalar);
        most = own > most ? own : most;
    }
    return most;
}

/* The number of dims along which windows move. */
static unsigned count_moving(const windows *w) {
    unsigned moving = 0;
    for (unsigned d = 0; d < w->g->domain.rank; d++) moving += w->steps[d].positions > 1;
    return moving;
}

/* Windows along the columns only, or none that overlap: a few neighbors along another dim share
 * bounds checks and addresses. They read other lines, of which each load of a warp takes a few
 * elements: the L1 must hold them until the last one is taken. (Averages of 11 x 11 without
 * overlap: 0.74 of the memory's speed with 4 neighbors on an H200. Maxima of 5 elements with a
 * stride of 2, 1.6 GB: 421 us with 4 neighbors, 635 with 2.) */
static void share_addresses(windows *w) {
    enum {
        FEW = 2,
        MORE = 4,
        WARP = 32,
        MOST = 2048 /* bytes of a warp's loads, of all neighbors */
    };
    const windows_step *step = &w->steps[w->columns];
    bool skips = step->positions > 1 && step->stride > 1 && count_moving(w) == 1;
    const int64_t bytes = (step->positions ? step->stride : 1) * WARP * windows_widest_input(w);
    unsigned d = w->columns;
    while (d > 0 && !is_long(w, d - 1)) d--;
    if (!d) return;
    for (w->neighbors[d - 1] = skips ? MORE : FEW; w->neighbors[d - 1] > 1;
         w->neighbors[d - 1] /= 2)
        if (w->neighbors[d - 1] * bytes <= MOST && leaves_blocks(w, w->neighbors)) return;
}

/* Columns that a thread computes together, of 16 bytes: windows move along them element by element,
 * and all rows begin at a multiple of so many elements. (With a stride of 2 a thread would have two
 * vectors side by side, which loads do not give it without an exchange between threads.) */
static int64_t choose_lanes(const windows *w) {
    enum { BYTES = 16, FEWEST = 4, MOST_VECTORS = 8, LEAST_THREADS = 8 };
    schedule *s = w->k.s;
    const windows_step *step = &w->steps[w->columns];
    const int64_t lanes = BYTES / windows_widest_input(w);
    const int64_t extent = sched_constant(w->g->domain.extents[w->columns]);
    if (step->positions < 2 || step->stride != 1 || windows_have_weights(w) || lanes < FEWEST ||
        extent < lanes * LEAST_THREADS ||
        (step->positions - 1) * step->dilation > MOST_VECTORS * lanes)
        return 1;
    for (size_t i = 0; i < w->g->input_count; i++) {
        const sched_array *array = &s->arrays[w->g->inputs[i].array];
        const tile_type *type = sched_type(s, array->value);
        if (array->strides[0] || tile_scalar_bytes(type->scalar) * lanes != BYTES || !type->rank ||
            sched_constant(sched_dim(s, type, type->rank - 1u)) % lanes)
            return 1;
    }
    return lanes;
}

/* Returns whether rows of results, too, begin at a multiple of so many elements, or can be stored
 * in vectors all the same: elements of 2 bytes. Other rows are stored element by element, which
 * pays if windows move along the columns only (H200: means of 8 f32 take 1273 us instead of 1486,
 * maxima of 4 x 4 would take 1732 instead of 1284). */
static bool may_store_lanes(const windows *w, int64_t lanes) {
    enum { SHIFTED = 2 };
    if (count_moving(w) == 1) return true;
    for (size_t i = 0; i < w->g->output_count; i++) {
        const sched_array *array = &w->k.s->arrays[w->g->outputs[i].array];
        const unsigned bytes = tile_scalar_bytes(sched_element(w->k.s, array->value)->scalar);
        if (bytes > SHIFTED && sched_constant(w->g->domain.extents[w->columns]) % lanes)
            return false;
    }
    return true;
}

/* Tries numbers of neighbors along the two innermost dims with overlapping windows. */
static void choose_neighbors(windows *w, int64_t most) {
    int dims[2] = {-1, -1};
    bool weights = windows_have_weights(w);
    int64_t tried[SCHED_MAX_DIMS];
    double fewest = 0;
    unsigned count = 0;
    for (unsigned d = w->columns; d-- > 0 && count < 2;)
        if (windows_overlap(w, d) || (weights && w->steps[d].positions)) dims[count++] = (int)d;
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) w->neighbors[d] = tried[d] = 1;
    w->neighbors[w->columns] = tried[w->columns] = w->lanes;
    if (!count) {
        if (w->lanes == 1 && !w->lines) share_addresses(w);
        return;
    }
    for (int64_t a = 1; a <= most; a *= 2)
        for (int64_t b = 1; a * b <= most && (count > 1 || b == 1); b *= 2) {
            tried[dims[0]] = a;
            if (count > 1) tried[dims[1]] = b;
            double loads = count_loads(w, tried, weights);
            if (a * b > 1 && (!leaves_blocks(w, tried) || loads >= fewest)) continue;
            if (a * b > 1 && weights && !fits_registers(w, dims, a, b)) continue;
            fewest = loads;
            for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) w->neighbors[d] = tried[d];
        }
}

/* The bytes of the narrowest element that the kernel reads or writes. */
static unsigned narrowest(const windows *w) {
    const sched_group *g = w->g;
    unsigned least = 8;
    for (size_t i = 0; i < g->input_count + g->output_count; i++) {
        unsigned array =
            i < g->input_count ? g->inputs[i].array : g->outputs[i - g->input_count].array;
        const tile_type *type = sched_element(w->k.s, w->k.s->arrays[array].value);
        unsigned own = tile_scalar_bytes(type->scalar);
        if (own && own < least) least = own;
    }
    return least;
}

void windows_choose(windows *w) {
    enum { FEW = 4, MANY = 8, MOST_OF_WEIGHTS = 4, MOST_OF_LANES = 16 };
    unsigned bytes = narrowest(w);
    find_steps(w);
    w->columns = w->g->domain.rank - 1;
    for (unsigned d = 0; d < w->g->domain.rank; d++)
        if (is_long(w, d)) w->columns = d;
    bool contiguous = w->steps[w->columns].positions > 0;
    w->vector = contiguous || bytes >= 16 ? 1 : (int)(16 / bytes);
    if (windows_have_weights(w) && w->vector > MOST_OF_WEIGHTS) w->vector = MOST_OF_WEIGHTS;
    windows_choose_lines(w);
    w->lanes = choose_lanes(w);
    if (!may_store_lanes(w, w->lanes)) w->lanes = 1;
    choose_neighbors(w, w->lanes > 1                            ? MOST_OF_LANES / w->lanes
                        : w->lines                              ? FEW
                        : contiguous || windows_have_weights(w) ? MANY
                                                                : FEW);
}
