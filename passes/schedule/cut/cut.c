/* Cuts a compute into groups: see the head of schedule.c. */
#include "passes/schedule/cut/moved.h"

#include <string.h>

/* Arrays -------------------------------------------------------------------------------------- */

tile_value sched_skip_reshapes(schedule *s, tile_value value, tile_value made) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           tile_op_opcode(s->compute, op) == TILE_OP_reshape &&
           (sched_array_of(s, value) < 0 || value.id == made.id))
        value = tile_operand_src(s->compute, op);
    return value;
}

/* Choosing a kind ----------------------------------------------------------------------------- */

bool sched_is_latest(const sched_traversal *w, size_t index) {
    for (size_t i = 0; i < w->stop_count; i++)
        if (w->stops[i].value.id != w->stops[index].value.id &&
            sched_is_computed_from(w->s, w->stops[i].value, w->stops[index].value))
            return false;
    return true;
}

bool sched_is_all(schedule *s, const sched_mapped_stop *stop, const sched_domain *domain) {
    sched_domain own = sched_domain_of(s, stop->value);
    sched_map identity = sched_identity(domain);
    return sched_same_domain(&own, domain) && sched_same_map(&identity, &stop->map, domain->rank);
}

bool sched_take_matmul(schedule *s, sched_group *g, const sched_traversal *w, size_t index,
                       const sched_domain *domain) {
    const tile_value value = w->stops[index].value;
    tile_op op = tile_value_def(s->compute, value);
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_matmul) return false;
    for (size_t i = 0; i < w->stop_count; i++)
        if (w->stops[i].value.id == value.id && !w->stops[i].own_domain &&
            !sched_is_all(s, &w->stops[i], domain))
            return false;
    g->kind = SCHED_MATMUL;
    g->root = op;
    g->dual = sched_find_dual(w, op, domain);
    g->domain = *domain;
    return true;
}

/* *map: the value's dims in the domain of the reduced rows. The reduction must be needed at the
 * value's coordinates. */
static bool place_in_rows(schedule *s, const sched_group *g, const sched_mapped_stop *stop,
                          tile_value value, sched_map *map) {
    sched_domain own = sched_domain_of(s, value);
    for (unsigned i = 0; i < own.rank; i++) {
        int found = -1;
        for (unsigned d = 0; d < g->domain.rank; d++)
            if (d != g->axis && stop->map.at[d].dim == (int)i && !stop->map.at[d].offset)
                found = (int)d;
        if (found < 0 && own.extents[i] == g->domain.extents[g->axis]) found = (int)g->axis;
        bool one = tile_expr_is(own.extents[i], 1);
        if (!one && (found < 0 || own.extents[i] != g->domain.extents[found])) return false;
        for (unsigned before = 0; before < i && !one; before++)
            if (map->at[before].dim == found) return false;
        map->at[i] = one ? sched_zero_coordinate() : sched_dim_coordinate((unsigned)found);
    }
    return true;
}

/* Returns whether the value needs each element of the row at the element's own coordinate. */
static bool is_in_place(const sched_group *g, const sched_mapped_stop *stop, const sched_map *map) {
    if (tile_expr_is(g->domain.extents[g->axis], 1)) return true;
    const sched_coordinate *at = &stop->map.at[g->axis];
    return at->dim >= 0 && !at->offset && !at->index && map->at[at->dim].dim == (int)g->axis;
}

/* Returns whether clusters can hold the rows of all reductions of the compute. */
static bool fits_clusters(schedule *s, const sched_domain *domain, unsigned axis) {
    const int64_t extent = sched_constant(domain->extents[axis]);
    bool fits = true;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        if (sched_is_reduction(s, op)) fits &= sched_fits_cluster(s, op, extent);
    return fits && axis + 1 == domain->rank;
}

bool sched_is_few_and_long(const sched_domain *domain, unsigned axis) {
    enum { FEW = 64, LONG = 1 << 16 };
    int64_t rows = 1;
    for (unsigned d = 0; d < domain->rank; d++) {
        int64_t extent = sched_constant(domain->extents[d]);
        if (d != axis && (extent < 0 || extent > FEW)) return false;
        if (d != axis) rows *= extent;
        if (rows > FEW) return false;
    }
    return sched_constant(domain->extents[axis]) >= LONG;
}

static bool has_dim(const schedule *s, tile_value value, const sched_map *map, unsigned dim) {
    bool found = false;
    for (unsigned d = 0; d < sched_type(s, value)->rank; d++)
        found |= sched_depends(&map->at[d], dim);
    return found;
}

void sched_set_rows(schedule *s, sched_group *g, tile_op op) {
    g->axis = (unsigned)sched_axis(s, op);
    g->own_domain = sched_is_few_and_long(&g->domain, g->axis) && !sched_is_along(s, op) &&
                    !fits_clusters(s, &g->domain, g->axis);
    g->chains = sched_is_chunked_scan(s, op);
    if (g->chains) g->root = op;
}

static bool take_rows(schedule *s, sched_group *g, const sched_mapped_stop *stop, tile_value value,
                      sched_map *map) {
    tile_op op = tile_value_def(s->compute, stop->value);
    if (!op.id || !sched_is_reduction(s, op)) return false;
    int64_t axis = sched_axis(s, op);
    g->kind = SCHED_ROWS;
    g->axis = (unsigned)axis;
    g->domain = sched_domain_of(s, tile_operand_src(s->compute, op));
    if (axis < 0 || axis >= g->domain.rank || !place_in_rows(s, g, stop, value, map)) return false;
    /* Each reduced row must correspond to exactly one element of the value. */
    for (unsigned d = 0; d < g->domain.rank; d++) {
        bool covered = d == g->axis || tile_expr_is(g->domain.extents[d], 1);
        for (unsigned i = 0; i < sched_type(s, value)->rank; i++)
            covered |= map->at[i].dim == (int)d;
        if (!covered) return false;
    }
    if (sched_is_along(s, op) && !is_in_place(g, stop, map)) return false;
    /* Elements that are stored one by one take longer than reading the reduced rows. */
    if (!is_in_place(g, stop, map) && has_dim(s, value, map, g->axis) &&
        !sched_stores_runs(s, value, map, &g->domain, false))
        return false;
    sched_set_rows(s, g, op);
    return !g->own_domain || !has_dim(s, value, map, g->axis);
}

/* Rows of which only a reduced value is needed, not their elements. */
static bool take_online_rows(schedule *s, sched_group *g, const sched_mapped_stop *stop,
                             tile_value value, sched_map *map) {
    sched_map at = {{{0, NULL, NULL}}};
    if (!take_rows(s, g, stop, value, &at)) return false;
    for (unsigned d = 0; d < sched_type(s, value)->rank; d++)
        if (at.at[d].dim == (int)g->axis) return false;
    sched_domain domain = sched_domain_of(s, stop->value);
    *map = at;
    return sched_fuse_online(s, g, tile_value_def(s->compute, stop->value), &domain, value, map);
}

/* A product or reduction together with all reductions along its axis that it depends on. */
static bool take_online(schedule *s, sched_group *g, sched_traversal *w, tile_value value,
                        sched_map *map) {
    sched_domain own = sched_domain_of(s, value);
    for (unsigned kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < w->stop_count; i++) {
            const sched_mapped_stop *stop = &w->stops[i];
            if (stop->own_domain || sched_is_planned(s, stop->value) || !sched_is_latest(w, i))
                continue;
            *map = sched_identity(&own);
            if (kind ? take_online_rows(s, g, stop, value, map)
                     : sched_take_matmul(s, g, w, i, &own) &&
                           sched_fuse_online(s, g, g->root, &own, value, map))
                return true;
        }
    return sched_take_moved(s, g, value, true, map);
}

bool sched_is_only(const sched_traversal *w, size_t index) {
    for (size_t i = 0; i < w->stop_count; i++)
        if (w->stops[i].value.id != w->stops[index].value.id &&
            !sched_is_planned(w->s, w->stops[i].value))
            return false;
    return true;
}

void sched_choose(schedule *s, sched_group *g, tile_value value, sched_map *map) {
    sched_traversal w = {.s = s};
    sched_domain own = sched_domain_of(s, value);
    sched_map identity = sched_identity(&own);
    if (sched_take_windowed(s, g, value, map)) return;
    sched_traverse_value(&w, value, &identity, true);
    if (take_online(s, g, &w, value, map)) return;
    for (size_t i = 0; i < w.stop_count; i++) {
        if (w.stops[i].own_domain || sched_is_planned(s, w.stops[i].value) ||
            !sched_is_latest(&w, i))
            continue;
        *map = identity;
        if (sched_take_matmul(s, g, &w, i, &own)) return;
        sched_map rows = {{{0, NULL, NULL}}};
        *map = rows;
        if (take_rows(s, g, &w.stops[i], value, map) && (!g->own_domain || sched_is_only(&w, i)))
            return;
    }
    if (sched_take_moved(s, g, value, false, map) || sched_take_beside(s, g, value, map)) return;
    *g = (sched_group){.kind = SCHED_ELEMENTWISE, .domain = own};
    *map = identity;
}

/* Groups --------------------------------------------------------------------------------------- */

void sched_add_input(schedule *s, sched_group *g, const sched_input *input) {
    unsigned rank = sched_type(s, s->arrays[input->array].value)->rank;
    for (size_t i = 0; i < g->input_count; i++) {
        sched_input *other = &g->inputs[i];
        if (other->array != input->array) continue;
        if (other->reshape.id != input->reshape.id) other->reshape = TILE_NO_VALUE;
        other->same &= input->same && sched_same_map(&other->map, &input->map, rank);
        return;
    }
    g->inputs =
        tile_arena_grow(s->arena, g->inputs, g->input_count, &g->input_capacity, sizeof *g->inputs);
    g->inputs[g->input_count++] = *input;
}

static void add_output(schedule *s, sched_group *g, const sched_output *output) {
    g->outputs = tile_arena_grow(s->arena, g->outputs, g->output_count, &g->output_capacity,
                                 sizeof *g->outputs);
    g->outputs[g->output_count++] = *output;
}

/* Reports an operation that no kind of group computes. */
static void refuse(schedule *s, tile_op op) {
    const char *name = tile_opcode_spelling(tile_op_opcode(s->compute, op));
    SCHED_FAIL(s, op,
               "%s is not scheduled yet: write a kernel for it (`of @%s`), or run the compute at "
               "level 1",
               name, s->compute->name);
}

static bool can_compute(const schedule *s, tile_op op) {
    return sched_is_reduction(s, op) || tile_op_opcode(s->compute, op) == TILE_OP_matmul ||
           tile_op_opcode(s->compute, op) == TILE_OP_reshape;
}

/* Returns whether the other group has the array's value in registers, at the same coordinates. */
static bool is_available(const schedule *s, const sched_group *other, const sched_input *input) {
    unsigned rank = sched_type(s, s->arrays[input->array].value)->rank;
    for (size_t o = 0; o < other->output_count; o++)
        if (other->outputs[o].array == input->array)
            return input->same && sched_same_map(&other->outputs[o].map, &input->map, rank);
    return false;
}

/* A row that is longer than a tile is read again for each dependent reduction, and everything
 * before it is recomputed. After this many reductions in a chain, the next source is stored, so
 * that code size grows only linearly. */
enum { MAX_IN_A_CHAIN = 16 };

/* Returns whether an existing group can compute the new one: all inputs must be available by
 * then. */
bool sched_can_join(schedule *s, size_t index, const sched_group *g) {
    sched_group *other = s->groups[index];
    bool fits = other->kind == g->kind || g->kind == SCHED_ELEMENTWISE, at_hand = false;
    bool online = g->kind == SCHED_ONLINE;
    if (!fits || (!online && !sched_same_domain(&other->domain, &g->domain))) return false;
    if (g->kind == SCHED_MATMUL && !sched_shares_products(other, g)) return false;
    if (g->kind == SCHED_ROWS && (other->axis != g->axis || other->own_domain != g->own_domain))
        return false;
    if (g->kind == SCHED_ROWS && (other->chains != g->chains || other->root.id != g->root.id))
        return false;
    for (size_t i = 0; i < g->input_count; i++) {
        int writer = sched_writer_of(s, g->inputs[i].array);
        if (writer > (int)index ||
            (writer == (int)index && (online || !is_available(s, other, &g->inputs[i]))))
            return false;
        at_hand |= writer == (int)index;
    }
    bool many = other->reduction_count + g->reduction_count > MAX_IN_A_CHAIN;
    if (at_hand && (other->own_domain || (many && g->reduction_count))) return false;
    return online ? sched_merge_online(s, other, g) : other->kind == g->kind || at_hand;
}

void sched_join_groups(schedule *s, size_t index, const sched_group *from) {
    sched_group *to = s->groups[index];
    if (from->kind == SCHED_MATMUL && from->dual.id) {
        to->root = from->root;
        to->dual = from->dual;
    }
    for (size_t i = 0; i < from->input_count; i++)
        if (sched_writer_of(s, from->inputs[i].array) != (int)index)
            sched_add_input(s, to, &from->inputs[i]);
    for (size_t i = 0; i < from->reduction_count; i++)
        sched_add_reduction(s, to, from->reductions[i]);
    for (size_t i = 0; i < from->output_count; i++) add_output(s, to, &from->outputs[i]);
}

static void add_group(schedule *s, sched_group *g) {
    for (size_t i = 0; i < s->group_count; i++)
        if (sched_can_join(s, i, g)) {
            sched_join_groups(s, i, g);
            return;
        }
    sched_group *kept = TILE_NEW_ARRAY(s->arena, sched_group, 1);
    *kept = *g;
    s->groups = tile_arena_grow(s->arena, s->groups, s->group_count, &s->group_capacity,
                                sizeof(sched_group *));
    s->groups[s->group_count++] = kept;
}

tile_op sched_only_user(const schedule *s, tile_value value) {
    const tile_function *f = s->compute;
    tile_op found = TILE_NO_OP;
    for (size_t i = 0; i < f->result_count; i++)
        if (f->results[i].value.id == value.id) return TILE_NO_OP;
    TILE_FOR_EACH_OP (f, op, f->body)
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            if (tile_op_operand(f, op, i).id != value.id) continue;
            if (found.id && found.id != op.id) return TILE_NO_OP;
            found = op;
        }
    return found;
}

/* Stores the group's inputs first. The group is then traversed again, because values that have an
 * array by then are read, not computed. */
static void plan_inputs(schedule *s, sched_group *g, tile_value value, const sched_map *map) {
    sched_traversal w = {.s = s, .g = g, .passed = g->passed};
    if (g->moves) w.through = g->root;
    sched_plan_narrowed(s, g, value, map);
    sched_plan_row_values(s, g, value, map);
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < w.stop_count && !s->failed; i++) {
        tile_value read = sched_skip_reshapes(s, w.stops[i].value, value);
        tile_op op = tile_value_def(s->compute, read);
        bool itself = read.id == value.id;
        if (op.id && (itself || (sched_array_of(s, read) < 0 && !sched_is_inline(s, op) &&
                                 !can_compute(s, op))))
            refuse(s, op);
        else
            sched_plan_value(s, read);
        if (s->failed) return;
        const bool is_reshape = read.id != w.stops[i].value.id, own = w.stops[i].own_domain;
        const sched_input input = {
            .array = (unsigned)sched_array_of(s, read),
            .same = !is_reshape && !own,
            .map = w.stops[i].map,
            .reshape = is_reshape && !own ? w.stops[i].value : TILE_NO_VALUE,
        };
        sched_add_input(s, g, &input);
    }
}

void sched_plan_value(schedule *s, tile_value value) {
    sched_group g = {.kind = SCHED_ELEMENTWISE};
    sched_map map;
    if (s->failed || sched_is_planned(s, value)) return;
    if (sched_array_of(s, value) < 0) {
        const char *name = tile_arena_format(s->arena, "part%zu", s->array_count);
        sched_add_array(s, name, value, SCHED_SCRATCH);
    }
    sched_choose(s, &g, value, &map);
    if (g.kind == SCHED_ELEMENTWISE && sched_plan_behind_reshapes(s, value)) {
        g = (sched_group){.kind = SCHED_ELEMENTWISE};
        sched_choose(s, &g, value, &map);
    }
    plan_inputs(s, &g, value, &map);
    for (unsigned i = 0; i < s->array_count; i++)
        if (s->arrays[i].value.id == value.id && s->arrays[i].place != SCHED_ARGUMENT)
            add_output(s, &g, &(sched_output){.array = i, .map = map});
    if (!s->failed) add_group(s, &g);
}

/* Parts of results ----------------------------------------------------------------------------- */

/* uses: by value (tile_count_uses). Returns whether a group of its own can store the part.
 * *product: it computes a product. */
static bool can_store_part(schedule *s, tile_value part, const uint32_t *uses, bool *product) {
    sched_group g = {.kind = SCHED_ELEMENTWISE};
    sched_map map;
    sched_choose(s, &g, part, &map);
    bool matmul = g.kind == SCHED_MATMUL;
    *product |= matmul;
    return (g.kind == SCHED_ELEMENTWISE || (matmul && uses[part.id] == 1 &&
                                            uses[tile_op_result(s->compute, g.root, 0).id] == 1)) &&
           !sched_is_computed(sched_type(s, part)->rank, &map);
}

/* Returns whether a result that is a concat of products is stored part by part: a kernel with all
 * of it would read each product from memory. */
static bool is_stored_in_parts(schedule *s, unsigned array, tile_op op, const uint32_t *uses) {
    const sched_array *a = &s->arrays[array];
    bool product = false;
    if (a->place != SCHED_RESULT || !op.id || tile_op_opcode(s->compute, op) != TILE_OP_concat ||
        uses[a->value.id] != 1)
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (!can_store_part(s, tile_op_operand(s->compute, op, i), uses, &product)) return false;
    return product;
}

static void plan_parts(schedule *s, unsigned array) {
    const uint32_t *uses = tile_count_uses(s->compute, s->arena);
    tile_op op = tile_value_def(s->compute, s->arrays[array].value);
    if (!is_stored_in_parts(s, array, op, uses)) return;
    unsigned axis = (unsigned)sched_axis(s, op);
    const tile_expr *first = tile_expr_int(s->context, 0);
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op) && !s->failed; i++) {
        tile_value part = tile_op_operand(s->compute, op, i);
        sched_group g = {.kind = SCHED_ELEMENTWISE};
        sched_output output = {.array = array, .part = part, .axis = axis, .first = first};
        sched_choose(s, &g, part, &output.map);
        plan_inputs(s, &g, part, &output.map);
        add_output(s, &g, &output);
        if (!s->failed) add_group(s, &g);
        first = tile_expr_op(s->context, TILE_OP_add, first,
                             sched_dim(s, sched_type(s, part), axis), NULL);
    }
}

/* A result that is an unmodified argument is copied. */
static void plan_copies(schedule *s) {
    for (unsigned i = 0; i < s->array_count && !s->failed; i++) {
        const sched_array *array = &s->arrays[i];
        if (array->place != SCHED_RESULT || sched_writer_of(s, i) >= 0) continue;
        sched_group g = {.kind = SCHED_ELEMENTWISE, .domain = sched_domain_of(s, array->value)};
        sched_map map = sched_identity(&g.domain);
        const sched_input input = {.array = (unsigned)sched_array_of(s, array->value), .map = map};
        sched_add_input(s, &g, &input);
        add_output(s, &g, &(sched_output){.array = i, .map = map});
        add_group(s, &g);
    }
}

static bool is_read(const schedule *s, unsigned array) {
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t n = 0; n < s->groups[i]->input_count; n++)
            if (s->groups[i]->inputs[n].array == array) return true;
    return false;
}

/* Removes scratch that only its own writer would have read. */
static void drop_unread(schedule *s) {
    for (size_t i = 0; i < s->group_count; i++) {
        sched_group *g = s->groups[i];
        size_t kept = 0;
        for (size_t o = 0; o < g->output_count; o++)
            if (s->arrays[g->outputs[o].array].place == SCHED_RESULT ||
                is_read(s, g->outputs[o].array))
                g->outputs[kept++] = g->outputs[o];
        g->output_count = kept;
    }
}

/* By operation: the results depend on it. */
static bool *find_wanted(const schedule *s) {
    const tile_function *f = s->compute;
    bool *values = TILE_NEW_ARRAY(s->arena, bool, f->value_count);
    bool *ops = TILE_NEW_ARRAY(s->arena, bool, f->op_count);
    for (size_t i = 0; i < f->result_count; i++) values[f->results[i].value.id] = true;
    for (tile_op op = tile_region_at(f, f->body)->last; op.id; op = tile_op_at(f, op)->prev) {
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            ops[op.id] |= values[tile_op_result(f, op, i).id];
        for (unsigned i = 0; ops[op.id] && i < tile_op_operand_count(f, op); i++)
            values[tile_op_operand(f, op, i).id] = true;
    }
    return ops;
}

/* The source of a window is recomputed for each window that contains an element. If that is too
 * expensive, it is stored, starting with the first such value, so that later ones begin there. */
static void plan_windowed(schedule *s, tile_op op) {
    if (tile_op_opcode(s->compute, op) != TILE_OP_window) return;
    tile_value src = tile_operand_src(s->compute, op);
    if (sched_reads_folded_windows(s, op)) sched_plan_value(s, src);
    if (sched_is_expensive_to_repeat(s, src))
        sched_plan_value(s, sched_skip_reshapes(s, src, TILE_NO_VALUE));
}

/* The source of operations that move elements, if one of them is a slice; else no value. */
static tile_value sliced_source(const schedule *s, tile_value value) {
    bool sliced = false;
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id && sched_only_moves(s, op)) {
        sliced |= tile_op_opcode(s->compute, op) == TILE_OP_slice;
        value = tile_operand_src(s->compute, op);
    }
    return sliced ? value : TILE_NO_VALUE;
}

/* Stores the computed value of which a product reads slices, as their views, instead of each
 * slice. */
static void plan_sliced(schedule *s, tile_op op) {
    if (tile_op_opcode(s->compute, op) != TILE_OP_matmul) return;
    for (unsigned i = 0; i < 2; i++) {
        tile_value source = sliced_source(s, sched_multiplied(s, op, i));
        if (source.id && tile_value_def(s->compute, source).id && !sched_may_repeat(s, source))
            sched_plan_value(s, source);
    }
}

/* Stores sources of reductions after each MAX_IN_A_CHAIN dependent reductions. */
static void plan_long_chains(schedule *s) {
    const tile_function *f = s->compute;
    const bool *wanted = find_wanted(s);
    unsigned *chain_length = TILE_NEW_ARRAY(s->arena, unsigned, f->value_count);
    TILE_FOR_EACH_OP (f, op, f->body) {
        unsigned most = 0;
        bool reduces = sched_is_reduction(s, op);
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            unsigned own = chain_length[tile_op_operand(f, op, i).id];
            most = own > most ? own : most;
        }
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            chain_length[tile_op_result(f, op, i).id] = most + reduces;
        if (wanted[op.id] && reduces && most && most % MAX_IN_A_CHAIN == 0)
            sched_plan_value(s, tile_operand_src(f, op));
        if (wanted[op.id]) plan_windowed(s, op);
        if (wanted[op.id]) plan_sliced(s, op);
        if (wanted[op.id]) sched_plan_phases(s, op);
        if (wanted[op.id]) sched_plan_scattered(s, op);
        if (wanted[op.id]) sched_plan_interleaved(s, op);
        if (wanted[op.id]) sched_plan_rounded(s, op);
    }
}

void sched_list_interface(schedule *s) {
    const tile_function *f = s->compute;
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_TENSOR)
            sched_add_array(s, f->args[i].name, f->args[i].value, SCHED_ARGUMENT);
    for (size_t i = 0; i < f->result_count; i++) {
        if (!sched_is_tensor(s, f->results[i].value))
            SCHED_FAIL(s, TILE_NO_OP,
                       "@%s: the result %%%s is a scalar, which a kernel cannot return: make it a "
                       "tensor of one element",
                       f->name, f->results[i].name);
        else
            sched_add_array(s, f->results[i].name, f->results[i].value, SCHED_RESULT);
    }
}

bool sched_cut(schedule *s) {
    const tile_function *f = s->compute;
    sched_mark_expanded(s);
    sched_list_interface(s);
    plan_long_chains(s);
    for (unsigned i = 0; i < s->array_count && !s->failed; i++) plan_parts(s, i);
    for (size_t i = 0; i < f->result_count && !s->failed; i++)
        sched_plan_value(s, f->results[i].value);
    sched_absorb_rows(s);
    sched_unite_products(s);
    plan_copies(s);
    drop_unread(s);
    return !s->failed;
}
