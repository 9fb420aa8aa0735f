/* Element-wise groups: each block computes one tile of all outputs, which have equal extents. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/ir/cost.h"
#include "lib/ir/syntax.h"

/* The order of the domain's dims in memory: that of an output with strides. */
static void order_domain(schedule *s, const sched_group *g, unsigned order[TILE_MAX_RANK]) {
    const sched_output *output = &g->outputs[0];
    const sched_shape shape = sched_shape_of(s, output->array, s->arrays[output->array].value);
    for (unsigned d = 0; d < g->domain.rank; d++) order[d] = d;
    if (!shape.strides[0] || shape.type->rank != g->domain.rank || output->part.id) return;
    sched_domain own = g->domain;
    const sched_map identity = sched_identity(&own);
    if (sched_same_map(&identity, &output->map, own.rank)) sched_memory_order(s, &shape, order);
}

/* The domain's dims that are not known to be 1, last one first. */
static unsigned long_dims(schedule *s, const sched_group *g, unsigned dims[TILE_MAX_RANK]) {
    unsigned order[TILE_MAX_RANK], count = 0;
    order_domain(s, g, order);
    for (unsigned i = g->domain.rank; i-- > 0;)
        if (!tile_expr_is(g->domain.extents[order[i]], 1)) dims[count++] = order[i];
    return count;
}

/* If an input is transposed, returns the dim along which its elements are contiguous. Tiles extend
 * along this dim as well, so that loads and stores both access whole sectors. An input without the
 * last dim, such as a number for each channel, is read by few lanes anyway. */
static int crossed_dim(schedule *s, const sched_group *g, unsigned last) {
    for (size_t i = 0; i < g->input_count; i++) {
        const sched_input *input = &g->inputs[i];
        if (!input->same && !input->reshape.id) continue;
        const tile_value value = input->same ? s->arrays[input->array].value : input->reshape;
        const unsigned rank = sched_type(s, value)->rank;
        const int inner =
            input->map.at[input->same ? sched_contiguous_dim(s, input->array) : rank - 1u].dim;
        bool has_last = false;
        for (unsigned d = 0; d < rank; d++) has_last |= sched_depends(&input->map.at[d], last);
        if (has_last && inner >= 0 && inner != (int)last &&
            !tile_expr_is(g->domain.extents[inner], 1))
            return inner;
    }
    return -1;
}

/* A power of two of at least the extent if it is known, and at most `most`. */
static int block_for(const tile_expr *extent, int most) {
    int64_t known = sched_constant(extent);
    int block = 1;
    while (block < most && (known < 0 || block < known)) block *= 2;
    return block;
}

/* Adds the instructions for an element of the value, as far as it is computed here. */
static void add_instructions(schedule *s, const sched_group *g, tile_value value, bool *seen,
                             unsigned *count) {
    tile_op op = tile_value_def(s->compute, value);
    if (seen[value.id] || !op.id || sched_find_input(s, g, value) >= 0) return;
    seen[value.id] = true;
    *count += tile_op_cost(tile_op_opcode(s->compute, op)).code;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        add_instructions(s, g, tile_op_operand(s->compute, op, i), seen, count);
}

/* Returns whether many elements of the array are read several times, which tiles of several rows
 * load once. */
static bool is_repeated(schedule *s, const sched_group *g, unsigned array) {
    enum { FEW = 64 << 10 /* bytes: they stay in the L1 */ };
    const int64_t bytes = sched_count_bytes(s, array);
    int64_t elements = tile_scalar_bytes(sched_element(s, s->arrays[array].value)->scalar);
    for (unsigned d = 0; d < g->domain.rank; d++) elements *= sched_constant(g->domain.extents[d]);
    return bytes > FEW && bytes != elements;
}

/* Elements of a vector of 16 bytes if each thread should have one only; else 0. Memory is fastest
 * if few bytes are requested at a time (H200, relu of 402653184 f32: 752 us with one vector, 766
 * with four), but each thread also computes addresses: that is for large arrays, and functions that
 * take less time than the memory. */
static int find_vector(const sched_kernel *k) {
    enum { LARGE = 128 << 20 /* bytes */, INSTRUCTIONS = 4 /* of a byte, in half of the time */ };
    schedule *s = k->s;
    const sched_group *g = k->g;
    bool *seen = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    unsigned instructions = 0, bytes = 0, widest = 1;
    for (size_t i = 0; i < g->output_count; i++) {
        const tile_value value = sched_output_value(s, &g->outputs[i]);
        unsigned own = tile_scalar_bytes(sched_element(s, value)->scalar);
        if (sched_count_bytes(s, g->outputs[i].array) < LARGE) return 0;
        add_instructions(s, g, value, seen, &instructions);
        bytes += own;
        widest = own > widest ? own : widest;
    }
    for (size_t i = 0; i < g->input_count; i++) {
        tile_value value = s->arrays[g->inputs[i].array].value;
        unsigned own = tile_scalar_bytes(sched_element(s, value)->scalar);
        if (is_repeated(s, g, g->inputs[i].array)) return 0;
        bytes += own;
        widest = own > widest ? own : widest;
    }
    return instructions > INSTRUCTIONS * bytes || widest > 8 ? 0 : (int)(16 / widest);
}

/* By how much tiles must be smaller, so that there are several blocks for each multiprocessor of
 * the largest targets: 1, 2 or 4. */
static int find_shrink(const sched_kernel *k, int elements) {
    enum { BLOCKS = 1024, LEAST = 128 * 16 /* bytes: 16 of each thread */ };
    const tile_value value = k->s->arrays[k->g->outputs[0].array].value;
    const int bytes = (int)tile_scalar_bytes(sched_element(k->s, value)->scalar);
    int64_t count = 1;
    int shrink = 1;
    for (unsigned d = 0; d < k->g->domain.rank; d++) {
        int64_t extent = sched_constant(k->g->domain.extents[d]);
        if (extent <= 0 || count > INT32_MAX / extent) return 1;
        count *= extent;
    }
    while (elements / shrink * bytes > LEAST && count / (elements / shrink) < BLOCKS) shrink *= 2;
    return shrink;
}

static void set_flat_tiles(sched_kernel *k, unsigned dim) {
    static const int all[][8] = {{1024, 4, 2048, 4, 4096, 8, 512, 4},
                                 {512, 4, 1024, 8, 1024, 4, 2048, 4}};
    const int *points = all[find_shrink(k, 1024) > 1];
    const tile_expr *params[] = {sched_add_param(k, "block"), sched_add_param(k, "num_warps")};
    int only[] = {block_for(k->g->domain.extents[dim], 1024), 4};
    bool small = only[0] < 1024;
    sched_set_tile(k, dim, 0, params[0]);
    sched_add_tune(k, params, 2, small ? only : points, small ? 1 : 4);
    sched_set_warps(k, params[1]);
}

static void set_points(sched_kernel *k, unsigned row, unsigned column, const int *points,
                       unsigned count) {
    const tile_expr *params[] = {sched_add_param(k, "rows"), sched_add_param(k, "columns"),
                                 sched_add_param(k, "num_warps")};
    sched_set_tile(k, row, 0, params[0]);
    sched_set_tile(k, column, 1, params[1]);
    sched_add_tune(k, params, 3, points, count);
    sched_set_warps(k, params[2]);
}

/* Tiles of one vector for each thread. */
static void set_vector_tiles(sched_kernel *k, unsigned row, unsigned column, int vector) {
    enum { THREADS = 128, WARPS = 4 };
    int width = block_for(k->g->domain.extents[column], vector * THREADS);
    int height = vector * THREADS / width;
    const int points[] = {height, width, WARPS, 2 * height, width, 2 * WARPS};
    set_points(k, row, column, points, 2);
}

/* Chooses tiles of about 2048 elements, fewer for small arrays, and narrower if rows are known to
 * be shorter. */
static void set_tiles(sched_kernel *k, unsigned row, unsigned column, bool crossed) {
    enum { POINTS = 4 };
    static const int shapes[2][POINTS][2] = {{{4, 512}, {16, 128}, {1, 2048}, {64, 32}},
                                             {{64, 64}, {64, 128}, {128, 64}, {32, 32}}};
    int points[POINTS * 3];
    unsigned count = 0;
    for (unsigned i = 0; i < POINTS; i++) {
        int high = shapes[crossed][i][0], wide = shapes[crossed][i][1];
        for (int shrink = crossed ? 1 : find_shrink(k, high * wide); shrink > 1; shrink /= 2)
            *(high > 1 ? &high : &wide) /= 2;
        int width = block_for(k->g->domain.extents[column], wide);
        int height = high * (wide / width);
        int *at = points + 3 * count;
        at[0] = block_for(k->g->domain.extents[row], height);
        at[1] = width;
        at[2] = 4;
        bool there = false;
        for (unsigned before = 0; before < count; before++)
            there |= points[3 * before] == at[0] && points[3 * before + 1] == at[1];
        count += !there;
    }
    set_points(k, row, column, points, count);
}

static void choose_tiles(sched_kernel *k) {
    unsigned dims[TILE_MAX_RANK], count = long_dims(k->s, k->g, dims);
    if (count < 2) {
        set_flat_tiles(k, count ? dims[0] : k->g->domain.rank - 1);
        return;
    }
    int crossed = crossed_dim(k->s, k->g, dims[0]), vector = crossed >= 0 ? 0 : find_vector(k);
    if (vector) {
        set_vector_tiles(k, dims[1], dims[0], vector);
        return;
    }
    set_tiles(k, crossed >= 0 ? (unsigned)crossed : dims[1], dims[0], crossed >= 0);
}

static void build_outputs(sched_kernel *k) {
    for (size_t i = 0; i < k->g->output_count && !k->s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = sched_output_value(k->s, output);
        tile_value tile = sched_value(k, value, &output->map, sched_element(k->s, value));
        if (tile.id) sched_store_output(k, output, &output->map, tile);
    }
}

/* The elements from `first` on, in a tile of its own, which the first block computes. */
static void build_last(sched_kernel *k, int64_t first, int64_t count) {
    const tile_builder outside = k->b;
    int block = block_for(tile_expr_int(k->s->context, count), 16);
    tile_value is_first =
        tile_build_eq(&k->b, tile_build_block_id(&k->b), tile_build_int(&k->b, 0));
    tile_op branch = tile_build_if_else(&k->b, is_first, NULL, 0);
    k->b = tile_builder_at_end(k->f, tile_op_region(k->f, branch, 1));
    tile_build_yield(&k->b, NULL, 0);
    k->b = tile_builder_at_end(k->f, tile_op_region(k->f, branch, 0));
    size_t mark = sched_enter(k);
    k->end = NULL;
    k->block[0] = tile_expr_int(k->s->context, block);
    k->start[0] = tile_build_int(&k->b, first);
    build_outputs(k);
    tile_build_yield(&k->b, NULL, 0);
    sched_leave(k, mark);
    k->b = outside;
}

void sched_make_elementwise(schedule *s, sched_group *g, const char *name) {
    sched_kernel k;
    int64_t whole = 0;
    bool flat = sched_flatten(s, g, &whole);
    int64_t count = flat ? sched_constant(g->domain.extents[0]) : 0;
    sched_kernel_open(&k, s, g, name);
    choose_tiles(&k);
    sched_set_grid(&k, -1);
    if (flat && whole > 0 && whole < count) k.end = tile_expr_int(s->context, whole);
    size_t mark = sched_enter(&k);
    build_outputs(&k);
    sched_leave(&k, mark);
    if (k.end) build_last(&k, whole, count - whole);
}
