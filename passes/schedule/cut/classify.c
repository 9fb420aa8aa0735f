/* Determines which reductions and products along one axis can be computed in one online loop.
 *
 * A reduction that depends on another one along the same axis would have to wait for it, and its
 * source would be computed twice or stored. Some sums can instead be corrected:
 *
 *   exp(x - r), r the maximum of the x so far, becomes that of the next maximum t by the factor
 *   exp(r - t), which is constant per row, so it can be applied to sums and sums of products;
 *   p * r and p / r, r constant per row, may be summed without r, which is applied after the sum.
 *
 * Each operand of a carried reduction therefore has a sched_form. Rescaled values are computed from
 * the block's elements and the maxima so far, without the deferred factors of whole rows. A select
 * with 0 may hide elements only, not NaN from factors applied after the sum. An exponential may be
 * only one factor of a product, once.
 *
 * A cast stays in place, but rounds its operand without the factors of the row that the compute
 * applies before it. Without these, the largest exponential of a row is 1 (`near`). If the loop
 * subtracts only the maximum, nothing overflows and nothing significant underflows. A reference
 * that may be far above the maximum, such as an attention sink, becomes one more factor of the row.
 * Products of two exponentials, and values whose largest element a select may hide, may all be
 * small. They are rounded only if the compute has not scaled them up (`enlarged`), which a division
 * by the exponential's own sum does not do. */
#include <math.h>

#include "passes/schedule/cut/classify.h"

#include "lib/ops/kinds.h"

/* Values --------------------------------------------------------------------------------------- */

tile_value sched_narrow(schedule *s, tile_value value) {
    tile_value from = sched_strip_cast(s, value);
    bool widens =
        sched_is_half(sched_element(s, from)) && sched_element(s, value)->scalar == TILE_f32;
    return widens ? from : value;
}

bool online_is_supported(const tile_type *element) {
    return sched_is_half(element) || element->scalar == TILE_f32;
}

static bool depends_on(const sched_map *map, unsigned rank, unsigned dim) {
    bool found = false;
    for (unsigned d = 0; d < rank; d++) found |= sched_depends(&map->at[d], dim);
    return found;
}

static bool has_flag(const schedule *s, tile_op op, tile_attr_id id) {
    return tile_op_has_attr(s->compute, op, id);
}

/* Inner products ------------------------------------------------------------------------------- */

const sched_inner_product *sched_find_inner(const sched_online *o, tile_op op) {
    for (unsigned i = 0; i < o->inner_count; i++)
        if (o->inner[i].op.id == op.id) return &o->inner[i];
    return NULL;
}

static bool is_dim(const sched_coordinate *at, unsigned dim, bool one) {
    return !at->index && !at->offset && (at->dim == (int)dim || (one && at->dim < 0));
}

static bool add_inner(online_classifier *f, tile_op op, const sched_map *map) {
    schedule *s = f->s;
    sched_online *o = f->o;
    tile_value result = tile_op_result(s->compute, op, 0);
    const tile_type *type = sched_type(s, result);
    unsigned rank = type->rank;
    bool one = tile_expr_is(f->domain->extents[o->m], 1);
    for (unsigned i = 0; i < o->inner_count; i++)
        if (o->inner[i].op.id == op.id) return sched_same_map(&o->inner[i].map, map, rank);
    if (o->inner_count == SCHED_MAX_INNER_PRODUCTS ||
        !online_is_supported(sched_element(s, result)) ||
        !is_dim(&map->at[rank - 1], o->n, false) || !is_dim(&map->at[rank - 2], o->m, one))
        return false;
    sched_inner_product *inner = &o->inner[o->inner_count];
    *inner = (sched_inner_product){.op = op, .map = *map};
    bool lhs = has_flag(s, op, TILE_ATTR_trans_lhs), rhs = has_flag(s, op, TILE_ATTR_trans_rhs);
    inner->sides[0].row = o->m, inner->sides[0].column = o->depth;
    inner->sides[1].row = o->depth, inner->sides[1].column = o->n;
    if (!online_place_operand(f, &inner->sides[0], tile_operand_lhs(s->compute, op), map, rank,
                              lhs ? o->depth : o->m, lhs ? o->m : o->depth) ||
        !online_place_operand(f, &inner->sides[1], tile_operand_rhs(s->compute, op), map, rank,
                              rhs ? o->n : o->depth, rhs ? o->depth : o->n))
        return false;
    o->inner_count++;
    return true;
}

/* Carried reductions --------------------------------------------------------------------------- */

const sched_carried_reduction *sched_find_carried_reduction(const sched_online *o, tile_op op) {
    for (unsigned i = 0; i < o->fold_count; i++)
        if (o->folds[i].op.id == op.id) return &o->folds[i];
    return NULL;
}

static bool can_carry(const schedule *s, tile_op op, bool rescaled) {
    static const tile_attr_id attr_ids[] = {TILE_ATTR_nan, TILE_ATTR_tile, TILE_ATTR_warps,
                                            TILE_ATTR_split, TILE_ATTR_strategy};
    tile_word kind = tile_op_word(s->compute, op, TILE_ATTR_kind);
    for (unsigned i = 0; i < sizeof attr_ids / sizeof *attr_ids; i++)
        if (has_flag(s, op, attr_ids[i])) return false;
    return kind == TILE_WORD_kind_add || (!rescaled && kind == TILE_WORD_kind_max);
}

/* Discards everything found since `before`. */
static void rollback(online_classifier *f, const sched_online *before) {
    sched_online *o = f->o;
    for (size_t i = o->form_count; i-- > before->form_count;)
        *sched_last_entry_of(f->s->arena, o->latest, o->forms[i].at.value) = o->forms[i].before;
    *o = *before;
}

bool online_add_reduction(online_classifier *f, tile_op op, const sched_map *map) {
    schedule *s = f->s;
    sched_online *o = f->o;
    tile_value source = tile_operand_src(s->compute, op);
    const tile_type *type = sched_type(s, source);
    const sched_carried_reduction *there = sched_find_carried_reduction(o, op);
    int64_t axis = sched_axis(s, op);
    if (there) return sched_same_map(&there->map, map, type->rank);
    if (axis < 0 || axis >= type->rank || sched_dim(s, type, (unsigned)axis) != o->extent ||
        depends_on(map, type->rank, o->n) || !online_is_supported(sched_element(s, source)))
        return false;
    if (!tile_expr_is(f->domain->extents[o->m], 1) && !depends_on(map, type->rank, o->m))
        return false;
    sched_carried_reduction fold = {.op = op, .map = *map, .source = {source, *map}};
    fold.map.at[axis] = sched_zero_coordinate();
    fold.source.map.at[axis] = sched_dim_coordinate(o->n);
    const sched_online before = *o;
    sched_classified_value form = online_classify(f, source, &fold.source.map);
    fold.rescaled = form.form == SCHED_RESCALED;
    if (o->fold_count == SCHED_MAX_CARRIED || (!fold.rescaled && form.form != SCHED_PER_ELEMENT) ||
        !can_carry(s, op, fold.rescaled)) {
        rollback(f, &before);
        return false;
    }
    o->folds[o->fold_count++] = fold;
    return true;
}

/* Exponentials --------------------------------------------------------------------------------- */

int sched_find_exp(const sched_online *o, tile_op op) {
    for (unsigned i = 0; i < o->exp_count; i++)
        if (o->exps[i].op.id == op.id) return (int)i;
    return -1;
}

static tile_op def_of(const online_classifier *f, tile_value value, tile_opcode opcode) {
    tile_op op = tile_value_def(f->s->compute, value), none = {0};
    return op.id && tile_op_opcode(f->s->compute, op) == opcode ? op : none;
}

/* Returns whether the row's value is a maximum of x, or larger; *top: the maximum. */
static bool is_upper_bound(online_classifier *f, sched_mapped_value row, tile_value x,
                           sched_mapped_value *top) {
    tile_op op;
    row = sched_skip_broadcasts(f->s, row);
    if ((op = def_of(f, row.value, TILE_OP_max)).id) {
        sched_mapped_value a = sched_mapped_operand(f->s, op, 0, &row.map),
                           b = sched_mapped_operand(f->s, op, 1, &row.map);
        bool first = online_classify(f, a.value, &a.map).form == SCHED_PER_ROW;
        sched_form other =
            online_classify(f, first ? b.value : a.value, first ? &b.map : &a.map).form;
        return other == SCHED_INVARIANT && is_upper_bound(f, first ? a : b, x, top);
    }
    *top = row;
    op = def_of(f, row.value, TILE_OP_reduce);
    return op.id && tile_op_word(f->s->compute, op, TILE_ATTR_kind) == TILE_WORD_kind_max &&
           tile_operand_src(f->s->compute, op).id == x.id;
}

/* Matches x - rho, or a positive multiple of it. */
static bool find_exponent(online_classifier *f, sched_mapped_value at, sched_exponential *out) {
    tile_op op;
    if ((op = def_of(f, at.value, TILE_OP_mul)).id && !out->by.value.id) {
        for (unsigned i = 0; i < 2; i++) {
            sched_mapped_value by = sched_mapped_operand(f->s, op, i, &at.map);
            if (online_classify(f, by.value, &by.map).form != SCHED_INVARIANT ||
                !sched_is_positive(f->s, by.value, 8))
                continue;
            out->by = by;
            return find_exponent(f, sched_mapped_operand(f->s, op, 1 - i, &at.map), out);
        }
        return false;
    }
    if (!(op = def_of(f, at.value, TILE_OP_sub)).id) return false;
    out->x = sched_skip_broadcasts(f->s, sched_mapped_operand(f->s, op, 0, &at.map));
    out->rho = sched_skip_broadcasts(f->s, sched_mapped_operand(f->s, op, 1, &at.map));
    return online_classify(f, out->x.value, &out->x.map).form == SCHED_PER_ELEMENT &&
           online_classify(f, out->rho.value, &out->rho.map).form == SCHED_PER_ROW &&
           is_upper_bound(f, out->rho, out->x.value, &out->top);
}

static bool add_exp(online_classifier *f, tile_op op, const sched_map *map) {
    sched_exponential out = {.op = op, .map = *map};
    int there = sched_find_exp(f->o, op);
    unsigned rank = sched_type(f->s, tile_op_result(f->s->compute, op, 0))->rank;
    if (there >= 0) return sched_same_map(&f->o->exps[there].map, map, rank);
    if (f->o->exp_count == SCHED_MAX_EXPONENTIALS ||
        !find_exponent(f, sched_mapped_operand(f->s, op, 0, map), &out))
        return false;
    out.fused =
        has_flag(f->s, op, TILE_ATTR_fast) && !sched_has_large_number(f->s, out.x.value, 12);
    out.scaled_after_loop = !sched_is_row_maximum(f->s, out.rho.value);
    if (!out.scaled_after_loop) out.top = out.rho;
    f->o->exps[f->o->exp_count++] = out;
    return true;
}

/* Forms ---------------------------------------------------------------------------------------- */

static sched_classified_value plain(sched_form form) {
    return (sched_classified_value){.form = form};
}

static sched_classified_value classify_exp(const online_classifier *f, unsigned index) {
    return (sched_classified_value){.form = SCHED_RESCALED,
                                    .bounded = true,
                                    .near = true,
                                    .lossy = !sched_has_floor(f->s, f->o->exps[index].rho.value),
                                    .exps = 1u << index};
}

static bool is_exp(const online_classifier *f, tile_value value) {
    return def_of(f, value, TILE_OP_exp).id || def_of(f, value, TILE_OP_exp2).id;
}

/* Returns the set of exponentials whose largest element is a term of the row's value, a sum or a
 * larger value; 0: none. */
static unsigned sum_of_exps(online_classifier *f, sched_mapped_value row) {
    schedule *s = f->s;
    tile_op op;
    row = sched_skip_broadcasts(f->s, row);
    if ((op = def_of(f, row.value, TILE_OP_max)).id ||
        (op = def_of(f, row.value, TILE_OP_add)).id) {
        bool adds = tile_op_opcode(s->compute, op) == TILE_OP_add;
        for (unsigned i = 0; i < 2; i++) {
            sched_mapped_value other =
                sched_skip_broadcasts(f->s, sched_mapped_operand(s, op, 1 - i, &row.map));
            unsigned exps = sum_of_exps(f, sched_mapped_operand(s, op, i, &row.map));
            bool positive = is_exp(f, other.value) || sched_is_positive(s, other.value, 8);
            if (exps && (!adds || positive)) return exps;
        }
        return 0;
    }
    const sched_carried_reduction *fold = (op = def_of(f, row.value, TILE_OP_reduce)).id
                                              ? sched_find_carried_reduction(f->o, op)
                                              : NULL;
    if (!fold || !fold->rescaled) return 0;
    sched_classified_value terms = online_classify(f, fold->source.value, &fold->source.map);
    return terms.near && !terms.negative && !terms.enlarged && !terms.divided_by ? terms.exps : 0;
}

/* If the row's value, a factor of an element, is c / %r with 0 < c <= 1, returns %r. *divides:
 * there is such a divisor. */
static sched_mapped_value divisor_of(online_classifier *f, sched_mapped_value row, bool *divides) {
    double number;
    sched_mapped_value inner = sched_skip_broadcasts(f->s, row);
    tile_op op = *divides ? TILE_NO_OP : def_of(f, inner.value, TILE_OP_div);
    if (!op.id || !sched_is_number(f->s, tile_operand_lhs(f->s->compute, op), &number) ||
        !(number > 0 && number <= 1))
        return row;
    *divides = true;
    return sched_mapped_operand(f->s, op, 1, &inner.map);
}

/* A product with a value of the row, or a quotient. Dividing by a sum that contains an
 * exponential's largest element makes no element larger; this holds once per exponential. */
static sched_classified_value classify_row_product(online_classifier *f,
                                                   const sched_classified_value *of,
                                                   sched_mapped_value row, bool divides) {
    sched_classified_value out = *of;
    bool by = divides;
    sched_mapped_value divisor = divisor_of(f, row, &by);
    unsigned exps = by ? sum_of_exps(f, divisor) : 0;
    out.enlarged |= !exps || (exps & ~out.exps) || (exps & out.divided_by);
    out.divided_by |= exps;
    out.lossy |= !(divides && sched_is_positive(f->s, row.value, 8));
    return out;
}

/* A number close to 1. */
static bool is_moderate(online_classifier *f, tile_value value) {
    const double far = 256;
    double number;
    return sched_is_number(f->s, value, &number) && fabs(number) <= far && fabs(number) >= 1 / far;
}

static sched_classified_value classify_negation(const sched_classified_value *of) {
    sched_classified_value out = *of;
    out.negative = true;
    return out;
}

/* A product or quotient with a row's value, or with another value per element. */
static sched_classified_value classify_product(online_classifier *f, tile_op op,
                                               const sched_map *map,
                                               const sched_classified_value *of) {
    schedule *s = f->s;
    bool divides = tile_op_opcode(s->compute, op) == TILE_OP_div;
    unsigned own = of[0].form == SCHED_RESCALED ? 0 : 1;
    sched_mapped_value other = sched_mapped_operand(s, op, 1 - own, map);
    if (divides && of[1].form == SCHED_RESCALED) return plain(SCHED_UNSUPPORTED);
    if (of[1 - own].form == SCHED_PER_ROW) return classify_row_product(f, &of[own], other, divides);
    sched_classified_value out = sched_multiplied_form(f->o, &of[0], &of[1]);
    out.near = out.form == SCHED_RESCALED && of[own].near && is_moderate(f, other.value);
    return out;
}

static tile_value condition_of(online_classifier *f, tile_op choice) {
    return sched_strip_broadcasts(f->s, tile_operand_condition(f->s->compute, choice));
}

/* A select with 0: elements hidden by it must also be hidden from the maximum. */
static sched_classified_value classify_select(online_classifier *f, tile_op op,
                                              const sched_classified_value *of) {
    sched_classified_value out = *of;
    for (unsigned i = 0; i < f->o->exp_count; i++) {
        sched_exponential *e = &f->o->exps[i];
        tile_op masks = def_of(f, e->x.value, TILE_OP_select);
        if (!(out.exps & 1u << i) ||
            (masks.id && condition_of(f, masks).id == condition_of(f, op).id))
            continue;
        out.near = false;
        e->chosen = true;
    }
    if (out.lossy) f->guard = op;
    return out.lossy ? plain(SCHED_UNSUPPORTED) : out;
}

static sched_classified_value classify_rescaled(online_classifier *f, tile_op op,
                                                const sched_map *map,
                                                const sched_classified_value *of) {
    schedule *s = f->s;
    double number;
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_mul:
    case TILE_OP_div: return classify_product(f, op, map, of);
    case TILE_OP_cast:
        if (sched_may_cast(s, f->o, op, &of[0])) return of[0];
        f->uncast = op;
        return plain(SCHED_UNSUPPORTED);
    case TILE_OP_neg: return classify_negation(&of[0]);
    case TILE_OP_select:
        if (of[0].form > SCHED_PER_ELEMENT || of[1].form != SCHED_RESCALED ||
            !sched_is_number(s, tile_operand_no(s->compute, op), &number) || number != 0)
            return plain(SCHED_UNSUPPORTED);
        return classify_select(f, op, &of[1]);
    default: return plain(SCHED_UNSUPPORTED);
    }
}

static sched_classified_value classify_elements(online_classifier *f, tile_op op, unsigned result,
                                                const sched_map *map) {
    schedule *s = f->s;
    unsigned count = tile_op_operand_count(s->compute, op), seen[SCHED_UNSUPPORTED + 1] = {0};
    sched_classified_value *of = TILE_NEW_ARRAY(s->arena, sched_classified_value, count + 1);
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    for (unsigned i = 0; i < count; i++) {
        sched_map at = sched_operand_map(s, op, result, i, map);
        of[i] = online_classify(f, tile_op_operand(s->compute, op, i), &at);
        seen[of[i].form]++;
    }
    bool early = seen[SCHED_INVARIANT] + seen[SCHED_PER_ELEMENT] == count;
    if (opcode == TILE_OP_window || (opcode == TILE_OP_gather && !early))
        return plain(SCHED_UNSUPPORTED);
    if (opcode == TILE_OP_iota) {
        bool along = sched_depends(&map->at[sched_axis(s, op)], f->o->n);
        return plain(along ? SCHED_PER_ELEMENT : SCHED_INVARIANT);
    }
    if ((opcode == TILE_OP_exp || opcode == TILE_OP_exp2) && seen[SCHED_UNSUPPORTED] &&
        add_exp(f, op, map))
        return classify_exp(f, (unsigned)sched_find_exp(f->o, op));
    if (seen[SCHED_UNSUPPORTED]) return plain(SCHED_UNSUPPORTED);
    if (!seen[SCHED_PER_ROW] && !seen[SCHED_RESCALED])
        return plain(seen[SCHED_PER_ELEMENT] ? SCHED_PER_ELEMENT : SCHED_INVARIANT);
    if (!seen[SCHED_PER_ELEMENT] && !seen[SCHED_RESCALED]) return plain(SCHED_PER_ROW);
    if (sched_only_moves(s, op)) return of[0];
    bool multiplies =
        opcode == TILE_OP_mul || (opcode == TILE_OP_div && of[1].form == SCHED_PER_ROW);
    if (!seen[SCHED_RESCALED] && !multiplies) return plain(SCHED_UNSUPPORTED);
    return classify_rescaled(f, op, map, of);
}

/* A value that is, or will be, in memory. */
static sched_form classify_array(online_classifier *f, tile_value value, const sched_map *map) {
    return depends_on(map, sched_type(f->s, value)->rank, f->o->n) ? SCHED_PER_ELEMENT
                                                                   : SCHED_INVARIANT;
}

static sched_classified_value find_form(online_classifier *f, tile_value value,
                                        const sched_map *map) {
    schedule *s = f->s;
    tile_op op = tile_value_def(s->compute, value);
    if (!op.id) return plain(classify_array(f, value, map));
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (opcode == TILE_OP_reduce && online_add_reduction(f, op, map)) return plain(SCHED_PER_ROW);
    if (online_is_read(f, value)) return plain(classify_array(f, value, map));
    if (opcode == TILE_OP_matmul && depends_on(map, sched_type(s, value)->rank, f->o->n))
        return plain(add_inner(f, op, map) ? SCHED_PER_ELEMENT : SCHED_UNSUPPORTED);
    if (!sched_is_inline(s, op)) return plain(classify_array(f, value, map));
    return classify_elements(f, op, value.id - tile_op_result(s->compute, op, 0).id, map);
}

/* places: number of other maps with a known form; NULL: not needed. */
static const sched_classified_value *find_known(schedule *s, const sched_online *o,
                                                tile_value value, const sched_map *map,
                                                unsigned *places) {
    unsigned rank = sched_type(s, value)->rank, others = 0;
    uint32_t i = *sched_last_entry_of(s->arena, o->latest, value);
    for (; i; i = o->forms[i - 1].before, others++)
        if (sched_same_map(&o->forms[i - 1].at.map, map, rank)) return &o->forms[i - 1];
    if (places) *places = others;
    return NULL;
}

static void record_form(schedule *s, sched_online *o, sched_classified_value form) {
    uint32_t *latest = sched_last_entry_of(s->arena, o->latest, form.at.value);
    form.before = *latest;
    o->forms =
        tile_arena_grow(s->arena, o->forms, o->form_count, &o->form_capacity, sizeof *o->forms);
    o->forms[o->form_count++] = form;
    *latest = (uint32_t)o->form_count;
}

/* A value whose form is needed. */
typedef struct pending_value {
    sched_mapped_value at;
    bool opened; /* its operands have been pushed */
} pending_value;

/* Returns whether find_form passes the value to classify_elements. */
static bool is_of_elements(const online_classifier *f, tile_value value) {
    tile_op op = tile_value_def(f->s->compute, value);
    return op.id && !online_is_read(f, value) && sched_is_inline(f->s, op) &&
           tile_op_opcode(f->s->compute, op) != TILE_OP_reduce &&
           tile_op_opcode(f->s->compute, op) != TILE_OP_matmul;
}

/* Classifies operands first, in the order of online_classify, but with an explicit stack for long
 * chains. */
static void classify_before(online_classifier *f, tile_value value, const sched_map *map) {
    schedule *s = f->s;
    pending_value *pending_values = NULL;
    size_t count = 0, capacity = 0;
    unsigned depth = f->depth;
    f->depth = 0;
    pending_values =
        tile_arena_grow(s->arena, pending_values, count, &capacity, sizeof *pending_values);
    pending_values[count++] = (pending_value){{value, *map}, false};
    while (count) {
        pending_value next = pending_values[count - 1];
        tile_op op = tile_value_def(s->compute, next.at.value);
        unsigned result = next.at.value.id - tile_op_result(s->compute, op, 0).id;
        pending_values[count - 1].opened = true;
        if (next.opened && --count) online_classify(f, next.at.value, &next.at.map);
        for (unsigned i = next.opened ? 0 : tile_op_operand_count(s->compute, op); i-- > 0;) {
            tile_value operand = tile_op_operand(s->compute, op, i);
            sched_map at = sched_operand_map(s, op, result, i, &next.at.map);
            unsigned places = 0;
            if (!sched_is_tensor(s, operand) || !is_of_elements(f, operand) ||
                find_known(s, f->o, operand, &at, &places) || places >= SCHED_MAX_PLACES)
                continue;
            pending_values =
                tile_arena_grow(s->arena, pending_values, count, &capacity, sizeof *pending_values);
            pending_values[count++] = (pending_value){{operand, at}, false};
        }
    }
    f->depth = depth;
}

sched_classified_value online_classify(online_classifier *f, tile_value value,
                                       const sched_map *map) {
    enum { DEEP = 64 };
    sched_online *o = f->o;
    if (!sched_is_tensor(f->s, value)) return plain(SCHED_INVARIANT);
    unsigned places = 0;
    const sched_classified_value *known = find_known(f->s, o, value, map, &places);
    if (known) return *known;
    if (places >= SCHED_MAX_PLACES) return plain(SCHED_UNSUPPORTED);
    if (++f->depth % DEEP == 0 && is_of_elements(f, value)) classify_before(f, value, map);
    sched_classified_value form = find_form(f, value, map);
    f->depth--;
    form.at = (sched_mapped_value){value, *map};
    record_form(f->s, o, form);
    return form;
}

sched_form sched_form_of(schedule *s, const sched_online *o, tile_value value,
                         const sched_map *map) {
    if (!sched_is_tensor(s, value)) return SCHED_INVARIANT;
    const sched_classified_value *known = find_known(s, o, value, map, NULL);
    return known ? known->form : SCHED_UNSUPPORTED;
}
