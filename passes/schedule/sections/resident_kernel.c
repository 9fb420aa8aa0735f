/* Makes the kernel of a resident loop: each block runs all iterations for its part of the state. */
#include "passes/schedule/sections/resident.h"

#include <math.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/layout/layout.h"
#include "lib/ops/kinds.h"
#include "lib/support/scalar.h"

/* A value of the whole compute in the section's compute. */
static tile_value own_value(const resident_writer *w, tile_value value) {
    return w->section->map[value.id].id ? w->section->map[value.id] : value;
}

/* Interface ------------------------------------------------------------------------------------ */

static bool is_bound(const sched_section *section, const char *name) {
    for (size_t i = 0; i < section->array_count; i++)
        if (strcmp(section->arrays[i].name, name) == 0) return true;
    return false;
}

/* The group reads the section's arguments and writes its results. */
static sched_group *make_group(schedule *s, const sched_section *section) {
    const tile_function *f = s->compute;
    sched_group *g = TILE_NEW(s->arena, sched_group);
    *g = (sched_group){.kind = SCHED_ELEMENTWISE, .domain = section->resident->domain};
    g->inputs = TILE_NEW_ARRAY(s->arena, sched_input, f->arg_count + 1);
    g->outputs = TILE_NEW_ARRAY(s->arena, sched_output, f->result_count + 1);
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_TENSOR && is_bound(section, f->args[i].name))
            g->inputs[g->input_count++].array =
                sched_add_array(s, f->args[i].name, f->args[i].value, SCHED_ARGUMENT);
    for (size_t i = 0; i < f->result_count; i++) {
        const sched_resident_value *carried = &section->resident->carried[i];
        if (!section->stores[i].to.buffer) continue;
        tile_value value = carried->in_place ? carried->value : f->results[i].value;
        g->outputs[g->output_count].map = carried->in_place ? carried->whole : carried->map;
        g->outputs[g->output_count++].array =
            sched_add_array(s, f->results[i].name, value, SCHED_RESULT);
    }
    s->groups = TILE_NEW_ARRAY(s->arena, sched_group *, 1);
    s->groups[s->group_count++] = g;
    return g;
}

/* Tiles ---------------------------------------------------------------------------------------- */

/* The smallest extent of a tile that holds all elements. */
int resident_whole_block(const tile_expr *extent) {
    int64_t block = sched_constant(extent);
    while (!tile_layout_admits_extent(block)) block++;
    return (int)block;
}

/* The domain's dim of which a block has a part; -1: none. */
static int split_dim(const sched_resident *r) {
    int split = -1;
    if (r->rows) return __builtin_ctz(r->rows);
    if (__builtin_popcount(r->whole) == SCHED_MAX_TILE) return -1;
    for (unsigned d = 0; d < r->domain.rank; d++)
        if (!(r->whole >> d & 1) && !tile_expr_is(r->domain.extents[d], 1)) split = (int)d;
    return split < 0 && !r->whole ? (int)r->domain.rank - 1 : split;
}

static void set_points(resident_writer *w, const tile_expr *const *params, int64_t whole,
                       bool splits) {
    enum { POINTS = 4, LEAST_WARP = 32 };
    static const int elements[POINTS][2] = {{128, 4}, {256, 4}, {64, 2}, {512, 4}};
    int points[2 * POINTS];
    unsigned count = 0;
    for (unsigned i = 0; i < POINTS; i++) {
        int block = 1, warps = elements[i][1];
        while (splits && block * whole < elements[i][0] * (whole > 1 ? 4 : 1)) block *= 2;
        while (warps < 16 && block * whole > 1024 * warps) warps *= 2;
        bool there = false;
        for (unsigned before = 0; before < count; before++)
            there |= points[2 * before] == block && points[2 * before + 1] == warps;
        points[2 * count] = block;
        points[2 * count + 1] = warps;
        count += !there;
    }
    sched_add_tune(&w->k, params, 2, points, count);
}

/* Blocks have all elements along reduced dims, and a part of the last other dim. */
static void choose_tiles(resident_writer *w) {
    const sched_domain *domain = &w->r->domain;
    int64_t whole = 1;
    int split = split_dim(w->r);
    unsigned tile = 0;
    const tile_expr *params[] = {sched_add_param(&w->k, "block"),
                                 sched_add_param(&w->k, "num_warps")};
    for (unsigned d = 0; d < domain->rank; d++) {
        if (w->r->whole >> d & 1) {
            int block = resident_whole_block(domain->extents[d]);
            sched_set_tile(&w->k, d, tile++, tile_expr_int(w->k.s->context, block));
            whole *= block;
        } else if ((int)d == split) {
            sched_set_tile(&w->k, d, tile++, params[0]);
        }
    }
    if (w->r->rows)
        resident_set_points(w, params);
    else
        set_points(w, params, whole, split >= 0);
    sched_set_warps(&w->k, params[1]);
}

/* The type of a value's tile at map: extents of 1 along the dims that the map does not have. */
const tile_type *resident_tile_at(const resident_writer *w, const sched_map *map, unsigned rank,
                                  const tile_type *element) {
    const tile_expr *dims[SCHED_MAX_TILE];
    for (unsigned t = 0; t < w->k.tile_rank; t++) dims[t] = tile_expr_int(w->k.s->context, 1);
    for (unsigned d = 0; d < rank; d++) {
        int t = sched_along(&w->k, &map->at[d]);
        if (t >= 0) dims[t] = w->k.block[t];
    }
    return sched_tile_type(&w->k, element, dims);
}

/* Reductions ----------------------------------------------------------------------------------- */

static tile_value identity_of(resident_writer *w, tile_op op, const tile_type *type) {
    schedule *s = w->k.s;
    tile_word kind = tile_op_word(s->compute, op, TILE_ATTR_kind);
    bool orders = kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max;
    bool ignores_nan = orders && !tile_op_has_attr(s->compute, op, TILE_ATTR_nan);
    if (tile_scalar_is_floating(type->scalar))
        return tile_build_constant(
            &w->k.b, type,
            tile_expr_float(s->context, ignores_nan ? NAN : tile_kind_identity(kind)));
    return tile_build_constant(
        &w->k.b, type, tile_expr_int(s->context, tile_kind_integer_identity(kind, type->scalar)));
}

/* Elements of the tile outside of the tensor must not change the result. */
static tile_value mask(resident_writer *w, const sched_resident_reduction *reduction,
                       tile_value tile, const tile_type *element) {
    sched_kernel *k = &w->k;
    const tile_expr *extent = k->g->domain.extents[reduction->dim];
    const sched_coordinate at = sched_dim_coordinate(reduction->dim);
    if (tile_expr_is(extent, resident_whole_block(extent))) return tile;
    tile_value inside = tile_build_lt(&k->b, sched_coordinate_tile(k, &at),
                                      sched_number(k, sched_expr(k->s, extent)));
    return tile_build_select(&k->b, inside, tile, identity_of(w, reduction->op, element));
}

static void reduce(resident_writer *w, const sched_resident_reduction *reduction) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    static const tile_attr_id kept[] = {TILE_ATTR_kind, TILE_ATTR_nan, TILE_ATTR_fast};
    enum { KEPT = sizeof kept / sizeof *kept };
    tile_value source = tile_operand_src(s->compute, reduction->op);
    unsigned rank = sched_type(s, source)->rank, count = 1;
    int t = k->tile_of[reduction->dim];
    const tile_type *element = sched_compute_type(s, sched_element(s, source));
    tile_value tile = sched_value(k, source, &reduction->source, element);
    tile = sched_broadcast_to(k, tile, resident_tile_at(w, &reduction->source, rank, element));
    tile_attr attrs[KEPT + 1] = {{.id = TILE_ATTR_axis, .expr = tile_expr_int(s->context, t)}};
    if (!tile.id) return;
    for (unsigned i = 0; i < KEPT; i++) {
        const tile_attr *attr = tile_op_attr(s->compute, reduction->op, kept[i]);
        if (attr) attrs[count++] = *attr;
    }
    const tile_segment segments[] = {{mask(w, reduction, tile, element), NULL, 0},
                                     {TILE_NO_VALUE, NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_reduce, segments, 2, NULL, attrs, count);
    if (!op.id) return;
    for (unsigned i = 0; i < KEPT; i++)
        tile_op_take_attr(k->f, op, s->compute, reduction->op, kept[i]);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, t);
    sched_remember(k, tile_op_result(s->compute, reduction->op, 0), &reduction->map, element,
                   tile_op_result(k->f, op, 0));
}

/* The loop ------------------------------------------------------------------------------------- */

bool resident_depends_on_variable(const sched_resident *r, const tile_expr *expr) {
    if (!expr) return false;
    if (expr->kind == TILE_EXPR_PARAM) return expr == r->loop->variable;
    bool found = false;
    for (unsigned i = 0; i < 3 && expr->kind == TILE_EXPR_OP; i++)
        found |= resident_depends_on_variable(r, expr->args[i]);
    return found;
}

/* Values from outside that every iteration uses are loaded before the loop. */
static void load_inputs(resident_writer *w) {
    for (size_t i = 0; i < w->r->input_count; i++) {
        const sched_resident_input *input = &w->r->inputs[i];
        tile_value value = own_value(w, input->value);
        bool fixed = true;
        for (unsigned d = 0; d < sched_type(w->k.s, value)->rank; d++)
            fixed &= !input->map.at[d].index &&
                     !resident_depends_on_variable(w->r, input->map.at[d].offset);
        if (fixed) sched_value(&w->k, value, &input->map, sched_element(w->k.s, value));
    }
}

static void remember(resident_writer *w, tile_value value, const sched_map *map, tile_value tile) {
    sched_kernel *k = &w->k;
    const tile_type *own = sched_element(k->s, value), *working = sched_compute_type(k->s, own);
    sched_remember(k, value, map, own, tile);
    if (working != own) sched_remember(k, value, map, working, sched_convert(k, tile, working));
}

tile_value resident_permute(sched_kernel *k, tile_value tile, const int64_t *order, unsigned rank) {
    const tile_attr attr = {.id = TILE_ATTR_order, .list = order, .count = rank};
    const tile_segment segments[] = {{tile, NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_transpose, segments, 1, NULL, &attr, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_set_list(k->f, op, TILE_ATTR_order, order, rank);
    return tile_op_result(k->f, op, 0);
}

/* The tile of a carried value with its dims along other dims of the tile. */
static tile_value exchange(resident_writer *w, tile_value tile, const sched_map *from,
                           const sched_map *to, unsigned rank) {
    sched_kernel *k = &w->k;
    int64_t order[SCHED_MAX_TILE];
    bool used[SCHED_MAX_TILE] = {false};
    for (unsigned t = 0; t < k->tile_rank; t++) order[t] = -1;
    for (unsigned d = 0; d < rank; d++) {
        int t = from->at[d].dim < 0 ? -1 : k->tile_of[from->at[d].dim];
        if (t < 0) continue;
        order[k->tile_of[to->at[d].dim]] = t;
        used[t] = true;
    }
    for (unsigned t = 0, next = 0; t < k->tile_rank; t++) {
        if (order[t] >= 0) continue;
        while (used[next]) next++;
        order[t] = next++;
    }
    return resident_permute(k, tile, order, k->tile_rank);
}

static void remember_carried(resident_writer *w, const sched_resident_value *carried,
                             tile_value tile) {
    unsigned rank = sched_type(w->k.s, carried->value)->rank;
    remember(w, carried->value, &carried->map, tile);
    for (unsigned i = 0; i < carried->other_count; i++)
        remember(w, carried->value, &carried->others[i],
                 exchange(w, tile, &carried->map, &carried->others[i], rank));
}

/* The output of carried value i; NULL if nothing uses the result. */
static const sched_output *output_of(const resident_writer *w, unsigned i) {
    unsigned at = 0;
    for (unsigned before = 0; before < i; before++)
        at += w->section->stores[before].to.buffer != NULL;
    return w->section->stores[i].to.buffer ? &w->k.g->outputs[at] : NULL;
}

static void write_body(resident_writer *w) {
    sched_kernel *k = &w->k;
    unsigned yielded = 0;
    for (size_t i = 0; i < w->r->reduction_count && !k->s->failed; i++)
        if (!resident_multiply(w, i)) reduce(w, &w->r->reductions[i]);
    for (unsigned i = 0; i < w->r->count && !k->s->failed; i++) {
        const sched_resident_value *carried = &w->r->carried[i];
        tile_value value = k->s->compute->results[i].value;
        tile_value tile = sched_value(k, value, &carried->map, sched_element(k->s, value));
        if (!carried->in_place)
            w->sent[yielded++] = sched_broadcast_to(k, tile, w->types[i]);
        else if (tile.id && output_of(w, i))
            sched_store(k, output_of(w, i)->array, &carried->whole, tile);
    }
    tile_build_yield(&k->b, w->sent, yielded);
}

static tile_op open_loop(resident_writer *w) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    tile_value *inits = TILE_NEW_ARRAY(s->arena, tile_value, w->r->count + 1);
    unsigned count = 0;
    for (unsigned i = 0; i < w->r->count && !s->failed; i++) {
        const sched_resident_value *carried = &w->r->carried[i];
        const tile_type *element = sched_element(s, carried->value);
        if (carried->in_place) continue;
        w->types[i] =
            resident_tile_at(w, &carried->map, sched_type(s, carried->value)->rank, element);
        inits[count++] = sched_broadcast_to(
            k, sched_value(k, own_value(w, carried->init), &carried->map, element), w->types[i]);
    }
    load_inputs(w);
    resident_copy_weights(w);
    const tile_expr *bounds[] = {w->r->loop->begin, w->r->loop->end, w->r->loop->step};
    tile_value numbers[3];
    for (unsigned i = 0; i < 3; i++) numbers[i] = sched_number(k, sched_expr(s, bounds[i]));
    if (s->failed) return TILE_NO_OP;
    k->b.loc = w->r->loop->loc;
    return tile_build_for_loop(&k->b, numbers[0], numbers[1], numbers[2], inits, count);
}

static void write_loop(resident_writer *w) {
    sched_kernel *k = &w->k;
    tile_builder outer = k->b;
    tile_op loop = open_loop(w);
    size_t mark = sched_enter(k);
    if (!loop.id) return;
    tile_region body = tile_op_region(k->f, loop, 0);
    outer = k->b;
    k->b = tile_builder_at_end(k->f, body);
    k->variable = tile_region_arg(k->f, body, 0);
    tile_value_set_name(k->f, k->variable, w->r->loop->variable->name);
    for (unsigned i = 0, at = 1; i < w->r->count; i++)
        if (!w->r->carried[i].in_place)
            remember_carried(w, &w->r->carried[i], tile_region_arg(k->f, body, at++));
    sched_check_parts(k);
    write_body(w);
    sched_leave(k, mark);
    k->b = outer;
    for (unsigned i = 0, at = 0; i < w->r->count && !k->s->failed; i++) {
        if (w->r->carried[i].in_place) continue;
        tile_value result = tile_op_result(k->f, loop, at++);
        if (output_of(w, i)) sched_store(k, output_of(w, i)->array, &w->r->carried[i].map, result);
    }
}

void sched_make_resident(schedule *s, const sched_section *section, const char *name) {
    resident_writer w = {.section = section, .r = section->resident};
    sched_mark_expanded(s);
    sched_group *g = make_group(s, section);
    w.types = TILE_NEW_ARRAY(s->arena, const tile_type *, w.r->count + 1);
    w.sent = TILE_NEW_ARRAY(s->arena, tile_value, w.r->count + 1);
    sched_kernel_open(&w.k, s, g, name);
    choose_tiles(&w);
    sched_set_grid(&w.k, -1);
    write_loop(&w);
}
