/* Integers of tensors that are known when a compute is scheduled.
 *
 * Tracers write zeros between elements, flips and strides as gathers at positions that they compute
 * of `iota`:
 *
 *     %i = div(iota(axis = 0) : [512, 1], 2) * 256 + div(iota(axis = 1) : [1, 512], 2)
 *     %g = gather %x, (reshape(%i) : [262144]) {axis = 0}
 *
 * Such positions and masks are computed here, as level 1 does. Tensors are not stored along dims of
 * which they do not depend, so that the work is in proportion to the positions of a gather. */
#include "passes/schedule/kernel/table.h"

#include "lib/ir/syntax.h"

/* Elementwise functions. False if the result is not known, or no int32. */
static bool apply(tile_opcode opcode, bool boolean, const int64_t v[3], int64_t *out) {
    const int64_t a = v[0], b = v[1];
    switch (opcode) {
    case TILE_OP_add: *out = a + b; break;
    case TILE_OP_sub: *out = a - b; break;
    case TILE_OP_mul: *out = a * b; break;
    case TILE_OP_div:
        if (!b) return false;
        *out = a / b;
        break;
    case TILE_OP_rem:
        if (!b) return false;
        *out = a % b;
        break;
    case TILE_OP_mod:
        if (b <= 0) return false;
        *out = (a % b + b) % b;
        break;
    case TILE_OP_ceildiv:
        if (b <= 0 || a < 0) return false;
        *out = (a + b - 1) / b;
        break;
    case TILE_OP_min: *out = a < b ? a : b; break;
    case TILE_OP_max: *out = a > b ? a : b; break;
    case TILE_OP_and: *out = a & b; break;
    case TILE_OP_or: *out = a | b; break;
    case TILE_OP_xor: *out = a ^ b; break;
    case TILE_OP_shl:
        if (a < 0 || b < 0 || b > 30) return false;
        *out = a << b;
        break;
    case TILE_OP_shr:
        if (a < 0 || b < 0 || b > 30) return false;
        *out = a >> b;
        break;
    case TILE_OP_eq: *out = a == b; break;
    case TILE_OP_ne: *out = a != b; break;
    case TILE_OP_lt: *out = a < b; break;
    case TILE_OP_le: *out = a <= b; break;
    case TILE_OP_gt: *out = a > b; break;
    case TILE_OP_ge: *out = a >= b; break;
    case TILE_OP_neg: *out = -a; break;
    case TILE_OP_not: *out = boolean ? !a : ~a; break;
    case TILE_OP_abs: *out = a < 0 ? -a : a; break;
    case TILE_OP_select: *out = a ? b : v[2]; break;
    case TILE_OP_clamp: *out = a < b ? b : a > v[2] ? v[2] : a; break;
    case TILE_OP_cast: *out = a; break;
    default: return false;
    }
    return *out >= INT32_MIN && *out <= INT32_MAX;
}

static int64_t count_positions(const sched_table *k) {
    int64_t count = 1;
    for (unsigned d = 0; d < k->rank; d++) {
        if (!k->extents[d]) return 0;
        if (!k->strides[d]) continue;
        if (k->extents[d] > SCHED_MOST_IN_TABLE / count) return SCHED_MOST_IN_TABLE + 1;
        count *= k->extents[d];
    }
    return count;
}

/* Sets row-major strides of the dims along which the elements differ. */
static bool allocate(sched_tables *all, sched_table *out, const bool *differs, int32_t **at) {
    int64_t stride = 1;
    for (unsigned d = out->rank; d-- > 0;) {
        out->strides[d] = differs[d] && out->extents[d] > 1 ? stride : 0;
        if (!out->strides[d]) continue;
        if (out->extents[d] > SCHED_MOST_IN_TABLE / stride) return false;
        stride *= out->extents[d];
    }
    *at = TILE_NEW_ARRAY(all->s->arena, int32_t, (size_t)stride);
    out->at = *at;
    return true;
}

/* The next position, of the last dim first, among those that are stored. */
static void step(const sched_table *out, int64_t position[TILE_MAX_RANK]) {
    for (unsigned d = out->rank; d-- > 0;) {
        if (!out->strides[d]) continue;
        if (++position[d] < out->extents[d]) return;
        position[d] = 0;
    }
}

static int32_t element(const sched_table *k, const int64_t position[TILE_MAX_RANK]) {
    int64_t at = 0;
    for (unsigned d = 0; d < k->rank; d++) at += position[d] * k->strides[d];
    return k->at[at];
}

/* Scalars and operands of fewer dims apply to each element. */
static bool take_operand(sched_tables *all, tile_value value, const sched_table *shape,
                         sched_table *out) {
    const sched_table *own = sched_find_table(all, value);
    if (!own || own->rank > shape->rank) return false;
    *out = *shape;
    out->at = own->at;
    for (unsigned d = 0, missing = shape->rank - own->rank; d < shape->rank; d++) {
        out->strides[d] = d < missing ? 0 : own->strides[d - missing];
        if (d >= missing && own->extents[d - missing] == 1) out->strides[d] = 0;
    }
    return true;
}

static bool compute_elements(sched_tables *all, tile_op op, sched_table *out) {
    const tile_function *f = all->s->compute;
    const tile_opcode opcode = tile_op_opcode(f, op);
    const unsigned count = tile_op_operand_count(f, op);
    const bool boolean = sched_type(all->s, tile_op_result(f, op, 0))->scalar == TILE_i1;
    sched_table operands[3];
    bool differs[TILE_MAX_RANK] = {false}, ok = true;
    int64_t position[TILE_MAX_RANK] = {0}, v[3] = {0};
    int32_t *at;
    if (!count || count > 3) return false;
    for (unsigned i = 0; i < count; i++) {
        if (!take_operand(all, tile_op_operand(f, op, i), out, &operands[i])) return false;
        for (unsigned d = 0; d < out->rank; d++) differs[d] |= operands[i].strides[d] != 0;
    }
    if (!allocate(all, out, differs, &at)) return false;
    const int64_t positions = count_positions(out);
    for (int64_t n = 0, result = 0; n < positions && ok; n++, step(out, position)) {
        for (unsigned i = 0; i < count; i++) v[i] = element(&operands[i], position);
        ok = apply(opcode, boolean, v, &result);
        at[n] = (int32_t)result;
    }
    return ok;
}

static bool count_up(sched_tables *all, tile_op op, sched_table *out) {
    const tile_function *f = all->s->compute;
    static const tile_attr_id ids[] = {TILE_ATTR_start, TILE_ATTR_step};
    const unsigned axis = (unsigned)sched_axis(all->s, op);
    int64_t numbers[] = {0, 1};
    bool differs[TILE_MAX_RANK] = {false};
    int32_t *at;
    for (unsigned i = 0; i < 2; i++) {
        const tile_attr *attr = tile_op_attr(f, op, ids[i]);
        if (attr &&
            (!attr->expr || !tile_expr_is_int(sched_resolved(all->s, attr->expr), &numbers[i])))
            return false;
    }
    differs[axis] = true;
    if (!allocate(all, out, differs, &at)) return false;
    for (int64_t i = 0; i < out->extents[axis]; i++) {
        int64_t number = numbers[0] + i * numbers[1];
        if (number < INT32_MIN || number > INT32_MAX) return false;
        at[i] = (int32_t)number;
    }
    return true;
}

/* The next dims of both types with equally many elements, from *a and *b on. */
static bool next_group(const sched_table *from, const sched_table *to, unsigned *a, unsigned *b) {
    int64_t left = 1, right = 1;
    bool began = false;
    while (!began || left != right) {
        if (left <= right && *a < from->rank)
            left *= from->extents[(*a)++];
        else if (*b < to->rank)
            right *= to->extents[(*b)++];
        else
            return false;
        began = true;
    }
    while (*a < from->rank && from->extents[*a] == 1) (*a)++;
    while (*b < to->rank && to->extents[*b] == 1) (*b)++;
    return true;
}

/* Elements are stored along all dims of a group of which any differs. */
static bool regroup(sched_tables *all, tile_op op, sched_table *out) {
    const sched_table *from = sched_find_table(all, tile_operand_src(all->s->compute, op));
    bool differs[TILE_MAX_RANK] = {false}, all_of[TILE_MAX_RANK] = {false};
    int64_t position[TILE_MAX_RANK] = {0};
    int32_t *at;
    if (!from) return false;
    for (unsigned d = 0; d < from->rank; d++)
        if (!from->extents[d]) return false;
    for (unsigned a = 0, b = 0; a < from->rank && b < out->rank;) {
        unsigned first_a = a, first_b = b;
        bool any = false;
        if (!next_group(from, out, &a, &b)) return false;
        for (unsigned d = first_a; d < a; d++) any |= from->strides[d] != 0;
        for (unsigned d = first_a; d < a; d++) all_of[d] = any;
        for (unsigned d = first_b; d < b; d++) differs[d] = any;
    }
    sched_table source = *from;
    for (unsigned d = 0; d < from->rank; d++) source.strides[d] = all_of[d];
    if (!allocate(all, out, differs, &at) || count_positions(&source) != count_positions(out))
        return false;
    const int64_t positions = count_positions(out);
    for (int64_t n = 0; n < positions; n++, step(&source, position))
        at[n] = element(from, position);
    return true;
}

static bool permute(sched_tables *all, tile_op op, sched_table *out) {
    const sched_table *from = sched_find_table(all, tile_operand_src(all->s->compute, op));
    if (!from) return false;
    out->at = from->at;
    for (unsigned d = 0; d < out->rank; d++)
        out->strides[d] = from->strides[sched_transposed_dim(all->s, op, d)];
    return true;
}

static bool take_part(sched_tables *all, tile_op op, sched_table *out) {
    const tile_function *f = all->s->compute;
    const sched_table *from = sched_find_table(all, tile_operand_src(f, op));
    const tile_values first = tile_operands_first(f, op);
    if (!from || first.count != out->rank) return false;
    out->at = from->at;
    for (unsigned d = 0; d < out->rank; d++) {
        int64_t begin;
        if (!tile_value_is_int(f, first.at[d], &begin) || begin < 0 ||
            begin + out->extents[d] > from->extents[d])
            return false;
        out->strides[d] = from->strides[d];
        out->at += begin * from->strides[d];
    }
    return true;
}

static bool take_constant(sched_tables *all, tile_value value, sched_table *out) {
    int64_t number;
    int32_t *at = TILE_NEW(all->s->arena, int32_t);
    const tile_value_data *data = tile_value_at(all->s->compute, value);
    if (data->kind != TILE_VALUE_CONSTANT || !data->expr ||
        !tile_expr_is_int(sched_resolved(all->s, data->expr), &number) || number < INT32_MIN ||
        number > INT32_MAX)
        return false;
    *at = (int32_t)number;
    out->at = at;
    return true;
}

static bool find(sched_tables *all, tile_value value, sched_table *out) {
    schedule *s = all->s;
    const tile_type *type = sched_type(s, value);
    const tile_op op = tile_value_def(s->compute, value);
    *out = (sched_table){.rank = type->rank};
    if (type->param ||
        (type->scalar != TILE_i1 && type->scalar != TILE_i32 && type->scalar != TILE_i64))
        return false;
    for (unsigned d = 0; d < type->rank; d++) {
        out->extents[d] = sched_constant(sched_dim(s, type, d));
        if (out->extents[d] < 0) return false;
    }
    if (!op.id) return take_constant(all, value, out);
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_iota: return count_up(all, op, out);
    case TILE_OP_reshape: return regroup(all, op, out);
    case TILE_OP_transpose: return permute(all, op, out);
    case TILE_OP_slice: return take_part(all, op, out);
    case TILE_OP_splat:
    case TILE_OP_broadcast: {
        const sched_table shape = *out;
        return take_operand(all, tile_operand_src(s->compute, op), &shape, out);
    }
    default:
        return tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE) &&
               compute_elements(all, op, out);
    }
}

const sched_table *sched_find_table(sched_tables *all, tile_value value) {
    const size_t count = all->s->compute->value_count;
    if (!all->found) {
        all->found = TILE_NEW_ARRAY(all->s->arena, unsigned char, count);
        all->results = TILE_NEW_ARRAY(all->s->arena, const sched_table *, count);
    }
    if (!all->found[value.id]) {
        sched_table *out = TILE_NEW(all->s->arena, sched_table);
        all->found[value.id] = 1;
        if (find(all, value, out)) all->results[value.id] = out;
    }
    return all->results[value.id];
}

const int32_t *sched_table_along(sched_tables *all, tile_value value, unsigned dim) {
    const sched_table *known = sched_find_table(all, value);
    if (!known || dim >= known->rank) return NULL;
    for (unsigned d = 0; d < known->rank; d++)
        if (d != dim && known->strides[d]) return NULL;
    if (known->strides[dim] == 1) return known->at;
    int32_t *out = TILE_NEW_ARRAY(all->s->arena, int32_t, (size_t)known->extents[dim]);
    for (int64_t i = 0; i < known->extents[dim]; i++) out[i] = known->at[i * known->strides[dim]];
    return out;
}
