/* Finds the values that may be poisoned, and adds instructions on poison. */
#include <string.h>

#include "lib/analysis/range.h"
#include "lib/ir/arith.h"
#include "lib/ir/regions.h"
#include "lib/ops/dims.h"
#include "lib/ops/shape.h"

#include "runtime/cpu/decode/decode.h"

/* Operands with elements
 * ------------------------------------------------------------------------ */

/* Each operation that passes elements on, elementwise or not, has one of these functions. */
typedef void (*propagate_function)(cpu_decoder *d, tile_op op, uint32_t first);
static propagate_function find_propagator(tile_opcode opcode);

/* Value `index` of an operand. The head comes first; coordinates follow. */
static bool is_element_value(tile_opcode opcode, unsigned operand, unsigned index) {
    tile_operand_form form = tile_op_get_info(opcode)->operands[operand].form;
    bool list = form == TILE_FORM_list || form == TILE_FORM_variadic;
    return tile_operand_carries_elements(opcode, operand) && (index == 0 || list);
}

/* Calls visit for all operands. element: the operand carries elements. */
typedef void (*visit_operand)(void *user, tile_value value, bool element);
static void visit_operands(const tile_function *f, tile_op op, visit_operand visit, void *user) {
    tile_opcode opcode = tile_op_opcode(f, op);
    for (unsigned k = 0; k < tile_op_get_info(opcode)->operand_count; k++) {
        const tile_values values = tile_op_segment(f, op, k);
        for (unsigned i = 0; i < values.count; i++)
            visit(user, values.at[i], is_element_value(opcode, k, i));
    }
}

/* Finding -------------------------------------------------------------------------------------- */

static bool never_zero(const tile_function *f, tile_value value) {
    int64_t integer;
    return tile_value_is_int(f, tile_repeated_value(f, value), &integer) && integer != 0;
}

/* Returns whether the operation may divide integers by zero. */
static bool may_divide_by_zero(const cpu_decoder *d, tile_op op) {
    if (!tile_opcode_divides(tile_op_opcode(d->f, op))) return false;
    tile_value divisor = tile_operand_rhs(d->f, op);
    if (tile_scalar_is_floating(tile_value_type(d->f, divisor)->scalar)) return false;
    tile_range range = d->ranges[divisor.id];
    bool zero = range.min <= 0 && range.max >= 0 && !never_zero(d->f, divisor);
    return d->may_poison[divisor.id] || zero;
}

/* Returns whether the operation may shift by a negative amount, or by at least the type's width. */
static bool may_shift_too_far(const cpu_decoder *d, tile_op op) {
    if (!tile_opcode_shifts(tile_op_opcode(d->f, op))) return false;
    tile_value count = tile_operand_rhs(d->f, op);
    tile_range range = d->ranges[count.id];
    unsigned bits = tile_scalar_bits(tile_value_type(d->f, count)->scalar);
    return d->may_poison[count.id] || range.min < 0 || range.max >= (int64_t)bits;
}

static bool may_make_poison(const cpu_decoder *d, tile_op op) {
    return may_divide_by_zero(d, op) || may_shift_too_far(d, op);
}

typedef struct search {
    cpu_decoder *d;
    bool any, shared; /* an operand of the operation may be poisoned; is shared */
    bool changed;
} search;

static void visit_poison_operand(void *user, tile_value value, bool element) {
    search *s = user;
    s->any |= element && s->d->may_poison[value.id];
    tile_type_kind kind = tile_value_type(s->d->f, value)->kind;
    s->shared |= kind == TILE_TYPE_SHARED || kind == TILE_TYPE_DESCRIPTOR;
}

static void mark(search *s, bool *may) {
    s->changed |= !*may;
    *may = true;
}

static void mark_carried(search *s, tile_op op) {
    const tile_function *f = s->d->f;
    for (unsigned i = 0; i < tile_carried_count(f, op); i++) {
        bool any = false;
        TILE_FOR_EACH_BRANCH_POINT (f, op, from)
            any |= s->d->may_poison[tile_carried_sent(f, op, from, i).id];
        if (!any) continue;
        TILE_FOR_EACH_BRANCH_POINT (f, op, to) {
            tile_value value = tile_carried_received(f, op, to, i);
            if (value.id) mark(s, &s->d->may_poison[value.id]);
        }
    }
}

static void search_op(search *s, tile_op op) {
    cpu_decoder *d = s->d;
    tile_opcode opcode = tile_op_opcode(d->f, op);
    s->any = s->shared = false;
    visit_operands(d->f, op, visit_poison_operand, s);
    bool poisons = s->any || may_make_poison(d, op) || (s->shared && d->program->shared_poison);
    mark_carried(s, op);
    if (!poisons || !find_propagator(opcode)) return;
    const tile_op_data *data = tile_op_at(d->f, op);
    for (uint32_t i = 0; i < data->result_count; i++)
        mark(s, &d->may_poison[tile_op_result(d->f, op, i).id]);
    if (s->shared && s->any && !data->result_count) mark(s, &d->program->shared_poison);
}

static void search_region(search *s, tile_region region) {
    TILE_FOR_EACH_OP (s->d->f, op, region) {
        const tile_op_data *data = tile_op_at(s->d->f, op);
        for (unsigned r = 0; r < data->region_count; r++) search_region(s, data->regions[r]);
        search_op(s, op);
    }
}

void cpu_find_poison(cpu_decoder *d) {
    search s = {.d = d, .changed = true};
    d->may_poison = TILE_NEW_ARRAY(&d->scratch, bool, d->f->value_count);
    d->ranges = tile_range_analyse(d->f, &d->scratch);
    while (s.changed) {
        s.changed = false;
        search_region(&s, d->f->body);
        d->program->poison |= s.changed;
    }
}

/* Uses ----------------------------------------------------------------------------------------- */

static void check_use(cpu_decoder *d, tile_op op, tile_value value) {
    if (!cpu_stream_has(d, value)) return;
    cpu_insn *insn = cpu_add_insn(d, op, cpu_run_poison_check);
    cpu_set_elements(d, insn, tile_value_type(d->f, value));
    insn->operand[0] = cpu_place_of(d, value);
}

/* The number of trailing operands that are passed to regions, or by a region's terminator. */
static unsigned count_sent(const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    if (tile_op_get_info(tile_op_opcode(f, op))->effects & TILE_EFFECT_TERMINATOR)
        return tile_carried_count(f, tile_op_parent(f, op));
    return data->region_count && tile_carried_sent(f, op, TILE_PARENT_OP, 0).id
               ? tile_carried_count(f, op)
               : 0;
}

typedef struct use_check {
    cpu_decoder *d;
    tile_op op;
    unsigned left; /* remaining operands that are not passed on */
    bool propagates;
} use_check;

static void check_operand(void *user, tile_value value, bool element) {
    use_check *check = user;
    if (!check->left) return;
    check->left--;
    if (check->d->may_poison[value.id] && !(element && check->propagates))
        check_use(check->d, check->op, value);
}

void cpu_check_poison_uses(cpu_decoder *d, tile_op op) {
    use_check check = {.d = d, .op = op};
    if (!d->program->poison) return;
    check.left = tile_op_at(d->f, op)->operand_count - count_sent(d->f, op);
    check.propagates = find_propagator(tile_op_opcode(d->f, op)) != NULL;
    visit_operands(d->f, op, check_operand, &check);
}

/* Propagation ---------------------------------------------------------------------------------- */

static cpu_poison *new_poison(cpu_decoder *d, tile_op op) {
    cpu_poison *p = TILE_NEW(&d->program->arena, cpu_poison);
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(d->f, op));
    for (unsigned k = 0; k < info->operand_count && k < 3; k++) {
        const tile_values values = tile_op_segment(d->f, op, k);
        if (!values.count) continue;
        const tile_type *type = tile_value_type(d->f, values.at[0]);
        p->may[k] = type->kind == TILE_TYPE_SHARED ? d->program->shared_poison
                                                   : d->may_poison[values.at[0].id];
        p->size[k] = cpu_value_size(type);
        if (type->kind == TILE_TYPE_SHARED) p->size[k] = tile_scalar_bytes(type->scalar);
        p->scalar[k] = type->scalar;
        p->count[k] = cpu_value_elements(type) * d->program->lanes;
    }
    if (tile_op_at(d->f, op)->result_count) p->result_size = cpu_value_size(cpu_result_type(d, op));
    return p;
}

/* Adds an instruction after the operation's only one, like it but with this handler. */
static cpu_insn *add_propagator(cpu_decoder *d, tile_op op, uint32_t first, cpu_handler handler,
                                cpu_poison *p) {
    cpu_insn *insn = cpu_add_insn(d, op, handler);
    *insn = d->program->insns[first];
    p->handler = insn->handler;
    insn->handler = handler;
    insn->poison = p;
    return insn;
}

static bool result_may(const cpu_decoder *d, tile_op op) {
    return tile_op_at(d->f, op)->result_count && d->may_poison[tile_op_result(d->f, op, 0).id];
}

/* The origin number for this instruction; instructions with the same source location share one. */
static uint8_t find_origin(cpu_decoder *d, uint32_t first) {
    cpu_program *p = d->program;
    const cpu_insn *insn = &p->insns[first];
    for (uint8_t i = 1; i < p->origin_count; i++) {
        const cpu_insn *other = &p->insns[p->origins[i]];
        if (other->opcode == insn->opcode && !memcmp(&other->loc, &insn->loc, sizeof insn->loc))
            return i;
    }
    if (!p->origins) {
        p->origins = TILE_NEW_ARRAY(&p->arena, uint32_t, CPU_MANY_ORIGINS);
        p->origin_count = 1;
    }
    if (p->origin_count == CPU_MANY_ORIGINS) return CPU_MANY_ORIGINS;
    p->origins[p->origin_count] = first;
    return (uint8_t)p->origin_count++;
}

typedef struct plain_list {
    cpu_decoder *d;
    cpu_poison *p;
    struct cpu_plain_operand *operands;
} plain_list;

/* Constants are read from their usual place. */
static void add_plain_operand(void *user, tile_value value, bool element) {
    plain_list *list = user;
    uint32_t place = cpu_place_of(list->d, value);
    if (element || place & CPU_CONSTANT_PLACE) return;
    uint32_t bytes =
        cpu_value_place_bytes(tile_value_type(list->d->f, value), list->d->program->lanes);
    list->operands[list->p->plain_count++] = (struct cpu_plain_operand){place, bytes};
    list->p->plain_bytes += bytes;
}

static uint32_t *poison_places(cpu_decoder *d, const tile_value *values, const uint32_t *places,
                               unsigned count) {
    uint32_t *of_poison = TILE_NEW_ARRAY(&d->program->arena, uint32_t, count);
    for (unsigned i = 0; i < count; i++) of_poison[i] = cpu_poison_place(d, values[i], places[i]);
    return of_poison;
}

/* Runs the instruction again, on poison. */
static void propagate_move(cpu_decoder *d, tile_op op, uint32_t first) {
    tile_opcode opcode = tile_op_opcode(d->f, op);
    const tile_op_data *data = tile_op_at(d->f, op);
    if (!result_may(d, op) && (data->result_count || !d->program->shared_poison)) return;
    cpu_poison *p = new_poison(d, op);
    plain_list list = {
        d, p, TILE_NEW_ARRAY(&d->program->arena, struct cpu_plain_operand, data->operand_count)};
    visit_operands(d->f, op, add_plain_operand, &list);
    p->plain = list.operands;
    cpu_insn *insn = add_propagator(d, op, first, cpu_run_poison_again, p);
    for (unsigned k = 0; k < tile_op_get_info(opcode)->operand_count && k < 3; k++) {
        const tile_values values = tile_op_segment(d->f, op, k);
        if (!values.count || !is_element_value(opcode, k, 0)) continue;
        if (tile_op_get_info(opcode)->operands[k].form != TILE_FORM_variadic) {
            insn->operand[k] = cpu_poison_place(d, values.at[0], insn->operand[k]);
            continue;
        }
        insn->index = poison_places(d, values.at, insn->index, values.count);
    }
}

static void propagate_elementwise(cpu_decoder *d, tile_op op, uint32_t first) {
    bool makes = may_make_poison(d, op);
    tile_opcode opcode = tile_op_opcode(d->f, op);
    if (!result_may(d, op)) return;
    cpu_poison *p = new_poison(d, op);
    if (makes) {
        p->origin = find_origin(d, first);
        d->program->insns[first].poison = p; /* prevents the fault of a division or shift */
    }
    add_propagator(d, op, first,
                   makes                      ? cpu_run_poison_make
                   : opcode == TILE_OP_select ? cpu_run_poison_select
                                              : cpu_run_poison_spread,
                   p);
}

static void propagate_mma(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_mma, new_poison(d, op));
}

static void propagate_reduce(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_reduce, new_poison(d, op));
}

static void propagate_rows(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_rows, new_poison(d, op));
}

static void propagate_combine(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_combine, new_poison(d, op));
}

static void propagate_redux(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_redux, new_poison(d, op));
}

static void propagate_dot(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_dot, new_poison(d, op));
}

/* Shared memory has its own poison, global memory has none. */
static void propagate_load(cpu_decoder *d, tile_op op, uint32_t first) {
    if (cpu_operand_type(d, op, TILE_OPERAND_src)->kind == TILE_TYPE_SHARED)
        propagate_move(d, op, first);
}

/* A store checks the poison of its elements itself, because only its handler determines which are
 * in bounds. */
static void propagate_store(cpu_decoder *d, tile_op op, uint32_t first) {
    bool shared = cpu_operand_type(d, op, TILE_OPERAND_dst)->kind == TILE_TYPE_SHARED;
    if (shared && tile_op_opcode(d->f, op) == TILE_OP_store)
        propagate_move(d, op, first);
    else if (d->may_poison[tile_operand_src(d->f, op).id])
        d->program->insns[first].poison = new_poison(d, op);
}

static void propagate_copy(cpu_decoder *d, tile_op op, uint32_t first) {
    if (!d->program->shared_poison) return;
    cpu_poison *p = new_poison(d, op);
    if (cpu_operand_type(d, op, TILE_OPERAND_src)->kind == TILE_TYPE_SHARED)
        d->program->insns[first].poison = p;
    else
        add_propagator(d, op, first, cpu_run_poison_copied, p);
}

static void propagate_wgmma(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op)) add_propagator(d, op, first, cpu_run_poison_wgmma, new_poison(d, op));
}

static void propagate_wgmma_wait(cpu_decoder *d, tile_op op, uint32_t first) {
    const tile_values accs = tile_operands_accs(d->f, op);
    if (!result_may(d, op)) return;
    cpu_insn *insn = add_propagator(d, op, first, cpu_run_poison_wgmma_wait, new_poison(d, op));
    insn->index = poison_places(d, accs.at, insn->index, accs.count);
}

static void propagate_to_fragment(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op))
        add_propagator(d, op, first, cpu_run_poison_to_fragment, new_poison(d, op));
}

static void propagate_from_fragment(cpu_decoder *d, tile_op op, uint32_t first) {
    if (result_may(d, op))
        add_propagator(d, op, first, cpu_run_poison_from_fragment, new_poison(d, op));
}

/* Its moves already propagate poison. */
static void propagate_nothing(cpu_decoder *d, tile_op op, uint32_t first) {
    (void)d;
    (void)op;
    (void)first;
}

static propagate_function find_propagator(tile_opcode opcode) {
    static const propagate_function followers[TILE_OPCODE_LIMIT] = {
#define OP(...)
#define ELEMENTWISE_OP(number, ...) [number] = propagate_elementwise,
#include "tile/ops.def"
    };
    static const struct {
        tile_opcode opcode;
        propagate_function propagate;
    } others[] = {
        {TILE_OP_splat, propagate_move},
        {TILE_OP_element, propagate_move},
        {TILE_OP_scalar, propagate_move},
        {TILE_OP_extract, propagate_move},
        {TILE_OP_permute, propagate_move},
        {TILE_OP_insert, propagate_move},
        {TILE_OP_to_fragment, propagate_to_fragment},
        {TILE_OP_from_fragment, propagate_from_fragment},
        {TILE_OP_load_shared, propagate_move},
        {TILE_OP_store_shared, propagate_move},
        {TILE_OP_ld_shared, propagate_move},
        {TILE_OP_st_shared, propagate_move},
        {TILE_OP_ldmatrix, propagate_move},
        {TILE_OP_stmatrix, propagate_move},
        {TILE_OP_convert_layout, propagate_nothing},
        {TILE_OP_dot_wait, propagate_nothing},
        {TILE_OP_shfl, propagate_move},
        {TILE_OP_reduce, propagate_reduce},
        {TILE_OP_reduce_arg, propagate_rows},
        {TILE_OP_scan, propagate_rows},
        {TILE_OP_sort, propagate_rows},
        {TILE_OP_reduce_with, propagate_combine},
        {TILE_OP_scan_with, propagate_combine},
        {TILE_OP_redux, propagate_redux},
        {TILE_OP_mma, propagate_mma},
        {TILE_OP_dot, propagate_dot},
        {TILE_OP_wgmma, propagate_wgmma},
        {TILE_OP_wgmma_wait, propagate_wgmma_wait},
        {TILE_OP_load, propagate_load},
        {TILE_OP_store, propagate_store},
        {TILE_OP_store_async, propagate_store},
        {TILE_OP_st_global, propagate_store},
        {TILE_OP_atomic, propagate_store},
        {TILE_OP_atomic_thread, propagate_store},
        {TILE_OP_copy, propagate_copy},
        {TILE_OP_copy_async, propagate_copy},
        {TILE_OP_cp_async, propagate_copy},
        {TILE_OP_cp_async_part, propagate_copy},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].opcode == opcode) return others[i].propagate;
    return tile_opcode_moves(opcode) ? propagate_move : followers[opcode];
}

void cpu_propagate_poison(cpu_decoder *d, tile_op op, uint32_t first) {
    propagate_function propagate = find_propagator(tile_op_opcode(d->f, op));
    if (d->program->poison && !d->failed && propagate && first < d->program->insn_count)
        propagate(d, op, first);
}
