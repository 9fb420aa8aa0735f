/* Splits a compute with loops into sections.
 *
 * A section is the part of a region between two loops. What a section computes for others is
 * stored in buffers of the plan:
 *
 *   - results of the compute, in their arrays;
 *   - values that loops carry, in scratch of twice the size: iteration i reads one copy and writes
 *     the other, so that no kernel writes what another thread still reads;
 *   - a carried tensor that an iteration only inserts a contiguous part into, once: each
 *     iteration writes the part in place, and nothing else is copied;
 *   - other values that several sections use. Scalars, casts, iota and operations that move
 *     elements are computed again instead.
 *
 * The demand for values is found from the last section to the first, because a value is used only
 * by its own section and later ones. */
#include "passes/schedule/sections/sections.h"

#include <string.h>

#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"

typedef struct splitter {
    schedule *s;
    const tile_function *f;
    sched_sections *out;
    size_t variable_capacity;
    sched_location *at;      /* by value */
    sched_location *written; /* by value: memory that a store of its own section writes anyway */
    const tile_expr **exprs; /* by value */
    unsigned *nodes;         /* of exprs, as trees */
    uint32_t *uses;          /* by value */
    sched_section **home;    /* by operation: the section that it is written in */
    bool *stored_result;     /* by result of the compute */
    tile_op *order;          /* all operations in program order */
    size_t order_count;
    sched_section **sections;
    size_t section_count, section_capacity;
    bool **needed; /* by section, by operation */
} splitter;

static bool has_loose_part(const tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) != TILE_OP_slice) return false;
    const tile_values first = tile_operands_first(f, op);
    for (unsigned d = 0; d < first.count; d++)
        if (tile_value_at(f, first.at[d])->kind != TILE_VALUE_CONSTANT) return true;
    return false;
}

bool sched_has_sections(const tile_function *f) {
    TILE_FOR_EACH_OP (f, op, f->body) {
        tile_opcode opcode = tile_op_opcode(f, op);
        if (opcode == TILE_OP_for || opcode == TILE_OP_insert_slice || has_loose_part(f, op))
            return true;
    }
    return false;
}

static bool is_tensor(const splitter *p, tile_value value) {
    return tile_value_type(p->f, value)->kind == TILE_TYPE_TENSOR;
}

/* Host expressions ----------------------------------------------------------------------------- */

static bool is_name_taken(const splitter *p, const char *name) {
    bool taken = tile_function_find_param(p->f, name, strlen(name)) != NULL;
    for (unsigned i = 0; i < p->s->pass->option_count; i++)
        taken |= strcmp(p->s->pass->options[i].key, name) == 0;
    for (size_t i = 0; i < p->out->variable_count; i++)
        taken |= strcmp(p->out->variables[i].name, name) == 0;
    return taken;
}

/* Makes an i32 of the compute a parameter of the sections. */
static const tile_expr *add_variable(splitter *p, tile_value value) {
    const char *stem = tile_value_at(p->f, value)->name, *name = stem ? stem : "i";
    for (unsigned i = 1; is_name_taken(p, name); i++)
        name = tile_arena_format(p->s->arena, "%s_%u", stem ? stem : "i", i);
    p->out->variables = tile_arena_grow(p->s->arena, p->out->variables, p->out->variable_count,
                                        &p->variable_capacity, sizeof *p->out->variables);
    p->out->variables[p->out->variable_count++] = (sched_variable){name, value, TILE_NO_VALUE};
    return p->exprs[value.id] = tile_expr_param(p->s->context, name);
}

/* The host expression of a constant or an operation; NULL: it is not known to the host. */
static const tile_expr *expr_of(splitter *p, tile_value value) {
    const tile_value_data *data = tile_value_at(p->f, value);
    bool integer = data->type->kind == TILE_TYPE_SCALAR && data->type->scalar == TILE_i32;
    if (data->kind == TILE_VALUE_CONSTANT && integer) return data->expr;
    return p->exprs[value.id];
}

/* Expressions are traversed as trees, which may be much larger than the operations. */
static void find_expr(splitter *p, tile_op op) {
    enum { MOST_NODES = 1000 };
    unsigned nodes = 1;
    const tile_op_data *data = tile_op_at(p->f, op);
    const tile_expr *args[3] = {NULL, NULL, NULL};
    const tile_type *type = tile_value_type(p->f, data->first_result);
    if (data->result_count != 1 || data->operand_count > 3 || data->region_count ||
        data->attr_count || type->kind != TILE_TYPE_SCALAR || type->scalar != TILE_i32)
        return;
    for (unsigned i = 0; i < data->operand_count; i++) {
        if (!(args[i] = expr_of(p, data->operands[i]))) return;
        nodes += p->nodes[data->operands[i].id] + 1;
    }
    if (nodes > MOST_NODES) return;
    p->nodes[data->first_result.id] = nodes;
    p->exprs[data->first_result.id] =
        tile_expr_op(p->s->context, (tile_opcode)data->opcode, args[0], args[1], args[2]);
}

/* A host expression, or NULL after a report. */
static const tile_expr *host_expr(splitter *p, tile_op op, tile_value value, const char *what) {
    const tile_expr *expr = expr_of(p, value);
    if (!expr && !p->s->failed)
        SCHED_FAIL(p->s, op,
                   "%s: %s is not known to the host; compute it from dims, i32 arguments and "
                   "variables of loops, or run the compute at level 1",
                   tile_opcode_spelling(tile_op_opcode(p->f, op)), what);
    return expr;
}

/* Buffers -------------------------------------------------------------------------------------- */

static sched_buffer *add_buffer(splitter *p, const char *name, tile_value value) {
    sched_buffer *buffer = TILE_NEW(p->s->arena, sched_buffer);
    *buffer = (sched_buffer){
        .name = name ? name : "value", .value = value, .result = -1, .next = p->out->buffers};
    return p->out->buffers = buffer;
}

static const char *name_of(const splitter *p, tile_value value) {
    return tile_value_at(p->f, value)->name;
}

/* The compute's result whose array can be the value's memory; -1: none. */
/* The result whose memory a loop may use for the value; parts of it are row-major. */
static int find_result(const splitter *p, tile_value value) {
    for (size_t i = 0; i < p->f->result_count; i++)
        if (p->f->results[i].value.id == value.id && !p->f->results[i].strides[0]) return (int)i;
    return -1;
}

static void add_store(splitter *p, sched_section *section, tile_value value,
                      const sched_location *to, const char *name) {
    section->stores = tile_arena_grow(p->s->arena, section->stores, section->store_count,
                                      &section->store_capacity, sizeof *section->stores);
    section->stores[section->store_count++] = (sched_section_store){value, *to, name};
}

/* Stores a value in a section, or in an earlier one of the same region that computes it. Returns
 * whether it is the earlier one. */
static bool store_value(splitter *p, sched_section *section, tile_value value,
                        const sched_location *to, const char *name) {
    tile_op op = tile_value_def(p->f, value);
    sched_section *own = op.id ? p->home[op.id] : NULL;
    bool computed = own && own->region.id == section->region.id && !p->at[value.id].buffer;
    add_store(p, computed ? own : section, value, to, name);
    return computed;
}

/* The same for memory that is not overwritten while the value is used: sections can read it there.
 */
static void store_final(splitter *p, sched_section *last, tile_value value,
                        const sched_location *to, const char *name) {
    if (store_value(p, last, value, to, name) && !p->written[value.id].buffer)
        p->written[value.id] = *to;
}

/* Loops ---------------------------------------------------------------------------------------- */

/* Returns whether the elements of the part are contiguous in the whole. */
static bool is_contiguous(const splitter *p, tile_op insert) {
    const tile_type *part = tile_value_type(p->f, tile_operand_src(p->f, insert));
    const tile_type *whole = tile_value_type(p->f, tile_operand_dst(p->f, insert));
    const tile_values first = tile_operands_first(p->f, insert);
    unsigned d = 0;
    while (d < part->rank && tile_type_dim(part, d) == 1) d++;
    for (d++; d < part->rank; d++)
        if (part->dims[d] != whole->dims[d] || !tile_value_is(p->f, first.at[d], 0)) return false;
    return true;
}

/* The only operation in the loop that uses a value; none if there are several. */
static tile_op find_user(const splitter *p, tile_op loop, tile_value value) {
    tile_op user = TILE_NO_OP;
    if (p->uses[value.id] != 1) return user;
    TILE_FOR_EACH_NESTED_OP (p->f, op, loop) {
        for (unsigned i = 0; i < tile_op_operand_count(p->f, op); i++)
            if (tile_op_operand(p->f, op, i).id == value.id) user = op;
    }
    return user;
}

/* The carried value of a nested loop that begins as this value; the number of them if there is
 * none. */
static unsigned find_carried(const splitter *p, tile_op loop, tile_value value) {
    unsigned i = 0;
    while (i < tile_carried_count(p->f, loop) &&
           tile_carried_sent(p->f, loop, TILE_PARENT_OP, i).id != value.id)
        i++;
    return i;
}

/* If iterations only insert a part into carried value i: the insertion, or the nested loop that
 * does so. strided: also a part that is not contiguous, which only a resident loop can store. */
static tile_op find_insertion(const splitter *p, tile_op loop, unsigned i, bool strided) {
    tile_value value = tile_carried_received(p->f, loop, 0, i);
    tile_value next = tile_carried_sent(p->f, loop, 0, i);
    tile_op user = find_user(p, loop, value);
    if (!user.id || p->uses[next.id] != 1) return TILE_NO_OP;
    switch (tile_op_opcode(p->f, user)) {
    case TILE_OP_insert_slice:
        return tile_op_result(p->f, user, 0).id == next.id &&
                       tile_operand_dst(p->f, user).id == value.id &&
                       (strided || is_contiguous(p, user))
                   ? user
                   : TILE_NO_OP;
    case TILE_OP_for: {
        unsigned inner = find_carried(p, user, value);
        return inner < tile_carried_count(p->f, user) &&
                       tile_op_result(p->f, user, inner).id == next.id &&
                       find_insertion(p, user, inner, false).id
                   ? user
                   : TILE_NO_OP;
    }
    default: return TILE_NO_OP;
    }
}

/* The same without nested loops. */
static tile_op find_own_insertion(const splitter *p, tile_op loop, unsigned i, bool strided) {
    tile_op insert = find_insertion(p, loop, i, strided);
    return tile_op_opcode(p->f, insert) == TILE_OP_insert_slice ? insert : TILE_NO_OP;
}

/* Returns whether the loop inserts into a value that the loop around it keeps in place. */
static bool inherits_memory(const splitter *p, tile_op loop, tile_value init) {
    tile_op outer = tile_op_parent(p->f, loop);
    for (unsigned i = 0; outer.id && i < tile_carried_count(p->f, outer); i++)
        if (tile_carried_received(p->f, outer, 0, i).id == init.id)
            return find_insertion(p, outer, i, false).id == loop.id;
    return false;
}

static void remark_copies(const splitter *p, tile_op loop, unsigned i) {
    tile_op insert = tile_value_def(p->f, tile_carried_sent(p->f, loop, 0, i));
    if (!insert.id || tile_op_opcode(p->f, insert) != TILE_OP_insert_slice) return;
    if (find_insertion(p, loop, i, true).id)
        tile_missed_at(p->f, insert, "not in place",
                       "make the dim along which the part has the extent 1 the first one",
                       "the part is not contiguous, so that each iteration copies all of dst");
    else
        tile_missed_at(p->f, insert, "not in place", NULL,
                       "the iteration also reads dst, so that it copies all of it");
}

/* Returns whether the iterations insert all elements, so that the initial value does not matter. */
static bool inserts_all(const splitter *p, const sched_loop *loop, unsigned i) {
    tile_op insert = find_own_insertion(p, loop->op, i, true);
    if (!insert.id) return false;
    const tile_type *part = tile_value_type(p->f, tile_operand_src(p->f, insert)),
                    *whole = tile_value_type(p->f, tile_operand_dst(p->f, insert));
    const tile_values first = tile_operands_first(p->f, insert);
    bool all = tile_expr_is(loop->begin, 0) && tile_expr_is(loop->step, 1), counted = false;
    for (unsigned d = 0; d < part->rank && all; d++) {
        bool here = p->exprs[first.at[d].id] == loop->variable &&
                    tile_extents_equal(tile_function_context(p->f), loop->end, whole->dims[d]) &&
                    tile_expr_is(part->dims[d], 1) && !counted;
        all = here || (part->dims[d] == whole->dims[d] && tile_value_is(p->f, first.at[d], 0));
        counted |= here;
    }
    return all && counted;
}

/* Decides where the loop keeps carried value i, and stores its initial value. before: the section
 * before the loop. */
static void place_carried(splitter *p, sched_loop *loop, unsigned i, sched_section *before) {
    const tile_function *f = p->f;
    tile_value init = tile_carried_sent(f, loop->op, TILE_PARENT_OP, i),
               value = tile_carried_received(f, loop->op, 0, i),
               result = tile_op_result(f, loop->op, i);
    bool in_place = find_insertion(p, loop->op, i, false).id != 0;
    sched_location at = {.loop = loop};
    if (!is_tensor(p, init)) {
        SCHED_FAIL(p->s, loop->op,
                   "the loop carries the scalar %%%s, and kernels pass only arrays to each other; "
                   "carry a tensor of one element instead",
                   name_of(p, value) ? name_of(p, value) : "");
        return;
    }
    if (inherits_memory(p, loop->op, init)) {
        p->at[value.id] = p->at[result.id] = p->at[init.id];
        return;
    }
    at.buffer = add_buffer(p, name_of(p, value), value);
    at.buffer->alternates = !in_place;
    if (!in_place) remark_copies(p, loop->op, i);
    if (in_place && !loop->outer) at.buffer->result = find_result(p, result);
    if (at.buffer->result >= 0) p->stored_result[at.buffer->result] = true;
    at.copy = in_place ? SCHED_COPY_ONLY : SCHED_COPY_INITIAL;
    if (!in_place || !inserts_all(p, loop, i)) store_value(p, before, init, &at, at.buffer->name);
    at.copy = in_place ? SCHED_COPY_ONLY : SCHED_COPY_CURRENT;
    p->at[value.id] = at;
    at.copy = in_place ? SCHED_COPY_ONLY : SCHED_COPY_FINAL;
    p->at[result.id] = at;
}

/* A reshape keeps the elements in order. */
static tile_value strip_reshapes(const splitter *p, tile_value value) {
    tile_op op;
    while ((op = tile_value_def(p->f, value)).id && tile_op_opcode(p->f, op) == TILE_OP_reshape)
        value = tile_operand_src(p->f, op);
    return value;
}

/* Stores what the last section of the body sends to the next iteration. */
static void store_carried(splitter *p, sched_loop *loop, unsigned i, sched_section *last) {
    const tile_function *f = p->f;
    tile_value sent = tile_carried_sent(f, loop->op, 0, i);
    sched_location to = p->at[tile_carried_received(f, loop->op, 0, i).id];
    if (to.copy == SCHED_COPY_CURRENT) {
        to.copy = SCHED_COPY_NEXT;
        store_final(p, last, sent, &to, tile_arena_format(p->s->arena, "next_%s", to.buffer->name));
        return;
    }
    tile_op insert = tile_value_def(f, sent);
    if (tile_op_opcode(f, insert) != TILE_OP_insert_slice) return; /* a nested loop stores it */
    const tile_values first = tile_operands_first(f, insert);
    tile_value part = strip_reshapes(p, tile_operand_src(f, insert));
    to.part = tile_value_type(f, part);
    for (unsigned d = 0; d < first.count; d++)
        to.first[d] = host_expr(p, insert, first.at[d], "a coordinate of the part");
    store_value(p, last, part, &to, to.buffer->name);
}

/* Regions -------------------------------------------------------------------------------------- */

static sched_step *append_step(splitter *p, sched_step ***end) {
    sched_step *step = TILE_NEW(p->s->arena, sched_step);
    *step = (sched_step){.next = NULL};
    **end = step;
    *end = &step->next;
    return step;
}

static sched_section *add_section(splitter *p, tile_region region, const sched_loop *loop,
                                  sched_step ***end) {
    sched_section *section = TILE_NEW(p->s->arena, sched_section);
    *section = (sched_section){.loop = loop, .region = region, .index = (unsigned)p->section_count};
    p->sections = tile_arena_grow(p->s->arena, p->sections, p->section_count, &p->section_capacity,
                                  sizeof(sched_section *));
    p->sections[p->section_count++] = section;
    return append_step(p, end)->section = section;
}

static sched_section *split_region(splitter *p, tile_region region, const sched_loop *loop,
                                   sched_step **steps);

static sched_loop *add_loop(splitter *p, tile_op op, const sched_loop *outer) {
    sched_loop *loop = TILE_NEW(p->s->arena, sched_loop);
    *loop = (sched_loop){.op = op, .loc = tile_op_loc(p->f, op), .outer = outer};
    loop->begin = host_expr(p, op, tile_operand_begin(p->f, op), "where it begins");
    loop->end = host_expr(p, op, tile_operand_end(p->f, op), "where it ends");
    loop->step = host_expr(p, op, tile_operand_step(p->f, op), "its step");
    loop->variable = add_variable(p, tile_region_arg(p->f, tile_op_region(p->f, op, 0), 0));
    return loop;
}

/* A loop over the launches of its sections. before: the section before it. */
static void split_loop(splitter *p, sched_loop *loop, sched_section *before) {
    unsigned count = tile_carried_count(p->f, loop->op);
    if (!p->s->failed && tile_loop_depth(p->f, loop->op) == TILE_MAX_PLAN_LOOPS)
        SCHED_FAIL(
            p->s, loop->op,
            "at most %d nested loops can become a plan's, and this is one more; merge two of "
            "them, or run the compute at level 1",
            TILE_MAX_PLAN_LOOPS);
    for (unsigned i = 0; i < count && !p->s->failed; i++) place_carried(p, loop, i, before);
    if (p->s->failed) return;
    sched_section *last = split_region(p, tile_op_region(p->f, loop->op, 0), loop, &loop->steps);
    for (unsigned i = 0; i < count && !p->s->failed; i++) store_carried(p, loop, i, last);
}

/* Resident loops ------------------------------------------------------------------------------- */

/* Returns what the loop is as a resident loop; NULL if one kernel cannot run it. */
static sched_resident *find_resident(splitter *p, const sched_loop *loop) {
    tile_region body = tile_op_region(p->f, loop->op, 0);
    unsigned count = tile_carried_count(p->f, loop->op);
    TILE_FOR_EACH_OP (p->f, op, body) find_expr(p, op);
    schedule *own = TILE_NEW(p->s->arena, schedule);
    *own = *p->s;
    own->compute = sched_clone_with_numbers(p->s, p->exprs);
    own->expands = TILE_NEW_ARRAY(p->s->arena, bool, own->compute->value_count);
    sched_resident *r = TILE_NEW(p->s->arena, sched_resident);
    *r = (sched_resident){.loop = loop, .count = count};
    r->carried = TILE_NEW_ARRAY(p->s->arena, sched_resident_value, count);
    for (unsigned i = 0; i < count; i++) {
        tile_op insert = find_own_insertion(p, loop->op, i, true);
        tile_value sent = tile_carried_sent(p->f, loop->op, 0, i);
        r->carried[i] = (sched_resident_value){
            .value = tile_carried_received(p->f, loop->op, 0, i),
            .init = tile_carried_sent(p->f, loop->op, TILE_PARENT_OP, i),
            .sent = insert.id ? strip_reshapes(p, tile_operand_src(p->f, insert)) : sent,
            .in_place = insert.id != 0};
        if (!is_tensor(p, sent)) return NULL;
    }
    bool found = sched_find_resident(own, loop->op, r);
    return found ? r : NULL;
}

/* Where a resident loop stores carried value i; no buffer if nothing uses the result. */
static sched_location place_result(splitter *p, const sched_resident *r, unsigned i,
                                   sched_section *before) {
    tile_op op = r->loop->op;
    tile_value result = tile_op_result(p->f, op, i), init = r->carried[i].init;
    sched_location at = {.loop = r->loop};
    if (r->carried[i].in_place && inherits_memory(p, op, init))
        return p->at[result.id] = p->at[init.id];
    if (!p->uses[result.id]) return at;
    at.buffer = add_buffer(p, name_of(p, r->carried[i].value), result);
    if (!r->loop->outer) at.buffer->result = find_result(p, result);
    if (at.buffer->result >= 0) p->stored_result[at.buffer->result] = true;
    if (r->carried[i].in_place && !inserts_all(p, r->loop, i))
        store_value(p, before, init, &at, at.buffer->name);
    return p->at[result.id] = at;
}

/* The loop becomes a section of its own. */
static void add_resident(splitter *p, sched_resident *r, sched_section *section,
                         sched_section *before) {
    section->resident = r;
    TILE_FOR_EACH_OP (p->f, op, section->region) {
        p->order[p->order_count++] = op;
        p->home[op.id] = section;
    }
    for (unsigned i = 0; i < r->count; i++) {
        sched_location at = place_result(p, r, i, before);
        const char *name = name_of(p, r->carried[i].value);
        add_store(p, section, r->carried[i].sent, &at, name ? name : "carried");
    }
}

/* Regions, continued --------------------------------------------------------------------------- */

/* Returns the last section of the region. */
static sched_section *split_region(splitter *p, tile_region region, const sched_loop *loop,
                                   sched_step **steps) {
    sched_section *section = add_section(p, region, loop, &steps);
    TILE_FOR_EACH_OP (p->f, op, region) {
        p->order[p->order_count++] = op;
        if (p->s->failed) return section;
        find_expr(p, op);
        p->home[op.id] = section;
        if (tile_op_opcode(p->f, op) != TILE_OP_for) continue;
        sched_loop *inner = add_loop(p, op, loop);
        sched_resident *resident = p->s->failed ? NULL : find_resident(p, inner);
        if (resident) {
            sched_section *own = add_section(p, tile_op_region(p->f, op, 0), loop, &steps);
            add_resident(p, resident, own, section);
        } else {
            append_step(p, &steps)->loop = inner;
            split_loop(p, inner, section);
        }
        section = add_section(p, region, loop, &steps);
    }
    return section;
}

static void store_results(splitter *p, sched_section *last) {
    for (size_t i = 0; i < p->f->result_count && !p->s->failed; i++) {
        const tile_result_decl *result = &p->f->results[i];
        if (p->stored_result[i]) continue;
        sched_location at = {.buffer = add_buffer(p, result->name, result->value)};
        at.buffer->result = (int)i;
        if (!is_tensor(p, result->value))
            SCHED_FAIL(p->s, TILE_NO_OP,
                       "@%s: the result %%%s is a scalar, which a kernel cannot return: make it a "
                       "tensor of one element",
                       p->f->name, result->name);
        else
            store_final(p, last, result->value, &at, result->name);
    }
}

/* Demand --------------------------------------------------------------------------------------- */

/* Returns whether a section computes the operation of another section again. */
static bool is_repeated(const splitter *p, tile_op op) {
    tile_opcode opcode = tile_op_opcode(p->f, op);
    tile_dims dims = tile_op_dims(opcode);
    return opcode == TILE_OP_cast || opcode == TILE_OP_splat || dims == TILE_DIMS_counted ||
           (tile_opcode_moves(opcode) && dims != TILE_DIMS_taken && dims != TILE_DIMS_windowed) ||
           !is_tensor(p, tile_op_result(p->f, op, 0));
}

static void need(splitter *p, const sched_section *section, tile_value value) {
    tile_op op = tile_value_def(p->f, value);
    if (p->at[value.id].buffer || expr_of(p, value) || !op.id) return;
    sched_section *own = p->home[op.id];
    bool here = own == section || is_repeated(p, op);
    p->needed[here ? section->index : own->index][op.id] = true;
    if (here) return;
    if (p->written[value.id].buffer) {
        p->at[value.id] = p->written[value.id];
        return;
    }
    sched_location at = {.buffer = add_buffer(p, name_of(p, value), value)};
    add_store(p, own, value, &at, at.buffer->name);
    p->at[value.id] = at;
}

/* Marks the operations of a section. All later sections have been visited. */
static void need_operands(splitter *p, const sched_section *section) {
    bool *needed = p->needed[section->index];
    for (size_t i = 0; i < section->store_count; i++) {
        tile_op op = tile_value_def(p->f, section->stores[i].value);
        if (op.id && p->home[op.id] == section && tile_op_opcode(p->f, op) != TILE_OP_for)
            needed[op.id] = true;
        else
            need(p, section, section->stores[i].value);
    }
    for (unsigned i = 0; section->resident && i < section->resident->count; i++)
        if (!section->resident->carried[i].in_place)
            need(p, section, section->resident->carried[i].init);
    for (size_t i = p->order_count; i-- > 0;) {
        tile_op op = p->order[i];
        for (unsigned o = 0; needed[op.id] && o < tile_op_operand_count(p->f, op); o++)
            need(p, section, tile_op_operand(p->f, op, o));
    }
}

static splitter begin_split(schedule *s, sched_sections *out) {
    const tile_function *f = s->compute;
    splitter p = {.s = s, .f = f, .out = out};
    p.at = TILE_NEW_ARRAY(s->arena, sched_location, f->value_count);
    p.written = TILE_NEW_ARRAY(s->arena, sched_location, f->value_count);
    p.exprs = TILE_NEW_ARRAY(s->arena, const tile_expr *, f->value_count);
    p.nodes = TILE_NEW_ARRAY(s->arena, unsigned, f->value_count);
    p.uses = tile_count_uses(f, s->arena);
    p.home = TILE_NEW_ARRAY(s->arena, sched_section *, f->op_count);
    p.stored_result = TILE_NEW_ARRAY(s->arena, bool, f->result_count + 1);
    p.order = TILE_NEW_ARRAY(s->arena, tile_op, f->op_count);
    return p;
}

static void place_arguments(splitter *p) {
    for (size_t i = 0; i < p->f->arg_count; i++) {
        const tile_arg_decl *arg = &p->f->args[i];
        if (arg->type->kind == TILE_TYPE_TENSOR) {
            sched_buffer *buffer = add_buffer(p, arg->name, arg->value);
            buffer->is_argument = true;
            p->at[arg->value.id] = (sched_location){.buffer = buffer};
        } else if (arg->type->scalar == TILE_i32) {
            add_variable(p, arg->value);
        }
    }
}

bool sched_split(schedule *s, sched_sections *out) {
    *out = (sched_sections){.steps = NULL};
    splitter p = begin_split(s, out);
    place_arguments(&p);
    sched_section *last = split_region(&p, s->compute->body, NULL, &out->steps);
    store_results(&p, last);
    if (s->failed) return false;
    p.needed = TILE_NEW_ARRAY(s->arena, bool *, p.section_count);
    for (size_t i = 0; i < p.section_count; i++)
        p.needed[i] = TILE_NEW_ARRAY(s->arena, bool, p.f->op_count);
    for (size_t i = p.section_count; i-- > 0;) need_operands(&p, p.sections[i]);
    for (size_t i = 0; i < p.section_count && !s->failed; i++) {
        const sched_section_values values = {p.at, p.exprs, p.needed[i], out->variables,
                                             out->variable_count};
        if (p.sections[i]->store_count) sched_make_section(s, p.sections[i], &values);
    }
    return !s->failed;
}
