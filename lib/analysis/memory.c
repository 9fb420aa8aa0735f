/* Memory operands are the operands for which the row of ops.def declares an access. */
#include "lib/analysis/memory.h"

#include "lib/ops/gather.h"

/* Access to the array that a tensor map describes. */
static tile_access access_through(const tile_function *f, tile_op op, tile_value map) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    return (tile_access){.op = op,
                         .memory = tile_operand_base(f, tile_value_def(f, map)),
                         .write = info->effects & TILE_EFFECT_WRITE_GLOBAL};
}

unsigned tile_op_accesses(const tile_function *f, tile_op op, tile_access out[TILE_MAX_ACCESSES]) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    unsigned count = 0;
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        tile_access_kind kind = info->operands[i].access;
        if (values.count && info->operands[i].class_ == TILE_CLASS_tensor_map)
            out[count++] = access_through(f, op, values.at[0]);
        if (!values.count || !kind) continue;
        const tile_type *type = tile_value_type(f, values.at[0]);
        if (type->kind == TILE_TYPE_TILE) continue; /* a `dot` of registers */
        bool shared = type->kind == TILE_TYPE_SHARED;
        tile_access access = {.op = op,
                              .memory = values.at[0],
                              .shared = shared,
                              .atomic = info->effects & TILE_EFFECT_ATOMIC &&
                                        info->operands[i].form != TILE_FORM_whole,
                              .index = values.at + 1,
                              .index_count = values.count - 1};
        if (shared && type->stages && values.count > 1 &&
            info->operands[i].form != TILE_FORM_address)
            access.stage = values.at[1];
        if (kind & TILE_ACCESS_read) out[count++] = access;
        access.write = true;
        if (kind & TILE_ACCESS_write) out[count++] = access;
    }
    return count;
}

tile_value tile_shared_source(const tile_function *f, tile_value buffer) {
    tile_op def = tile_value_def(f, buffer);
    bool mapped = def.id && tile_op_opcode(f, def) == TILE_OP_map_shared;
    return mapped ? tile_operand_src(f, def) : buffer;
}

tile_mechanism tile_op_starts(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    const tile_op_info *info = tile_op_get_info(opcode);
    if (opcode == TILE_OP_dot)
        return tile_op_has_attr(f, op, TILE_ATTR_async) ? TILE_MECHANISM_WGMMA
                                                        : TILE_MECHANISM_NONE;
    return info->completion == TILE_COMPLETION_STARTS ? tile_op_mechanism(f, op)
                                                      : TILE_MECHANISM_NONE;
}

bool tile_waits_for_everything(const tile_function *f, tile_op op) {
    unsigned pending = tile_op_opcode(f, op) == TILE_OP_dot_wait ? 1 : 0;
    return tile_op_get_info(tile_op_opcode(f, op))->completion == TILE_COMPLETION_WAITS &&
           tile_value_is(f, tile_op_operand(f, op, pending), 0);
}

tile_value tile_memory_root(const tile_function *f, tile_value memory) {
    for (;;) {
        if (tile_value_at(f, memory)->kind == TILE_VALUE_ARG) return memory;
        tile_op def = tile_value_def(f, memory);
        if (def.id && tile_op_opcode(f, def) == TILE_OP_scratch) return memory;
        tile_opcode opcode = def.id ? tile_op_opcode(f, def) : TILE_OP_NONE;
        if (opcode != TILE_OP_view && opcode != TILE_OP_base && opcode != TILE_OP_im2col)
            return TILE_NO_VALUE;
        memory = opcode == TILE_OP_view ? tile_operand_base(f, def) : tile_operand_src(f, def);
    }
}

bool tile_same_memory(const tile_function *f, tile_value a, tile_value b) {
    tile_value one = tile_memory_root(f, a), other = tile_memory_root(f, b);
    return !one.id || !other.id || one.id == other.id;
}

bool tile_may_alias(const tile_function *f, tile_value a, tile_value b) {
    tile_value roots[2] = {tile_memory_root(f, a), tile_memory_root(f, b)};
    if (!roots[0].id || !roots[1].id || roots[0].id == roots[1].id) return true;
    for (unsigned i = 0; i < 2; i++) {
        const tile_value_data *root = tile_value_at(f, roots[i]);
        if (root->kind != TILE_VALUE_ARG || f->args[root->index].noalias)
            return false; /* scratch does not alias other memory */
    }
    return true;
}

bool tile_may_write(const tile_function *f, tile_op op, tile_value memory) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    bool shared = tile_value_type(f, memory)->kind == TILE_TYPE_SHARED, writes = false;
    for (unsigned i = 0; i < count; i++)
        writes |= accesses[i].write && accesses[i].shared == shared &&
                  (shared ? tile_shared_source(f, accesses[i].memory).id == memory.id
                          : tile_may_alias(f, accesses[i].memory, memory));
    return writes;
}

/* A stage index or coordinate of the form offset, (base + offset), or mod(base + offset,
 * modulus). */
typedef struct stage_form {
    tile_value base;
    int64_t offset;
    int64_t modulus; /* 0: none */
} stage_form;

static stage_form describe_stage(const tile_function *f, tile_value value) {
    stage_form form = {.base = value};
    int64_t number;
    if (tile_value_is_int(f, value, &number)) return (stage_form){.offset = number};
    tile_op def = tile_value_def(f, value);
    if (def.id && tile_op_opcode(f, def) == TILE_OP_mod &&
        tile_value_is_int(f, tile_operand_rhs(f, def), &number) && number > 0) {
        form.base = tile_operand_lhs(f, def);
        form.modulus = number;
        def = tile_value_def(f, form.base);
    }
    if (def.id && tile_op_opcode(f, def) == TILE_OP_add)
        for (unsigned i = 0; i < 2; i++)
            if (tile_value_is_int(f, tile_op_operand(f, def, i), &number)) {
                form.offset = number;
                form.base = tile_op_operand(f, def, 1 - i);
                return form;
            }
    return form;
}

bool tile_stages_may_alias(const tile_function *f, tile_value a, tile_value b) {
    if (!a.id || !b.id || a.id == b.id) return true;
    stage_form x = describe_stage(f, a), y = describe_stage(f, b);
    if (x.base.id != y.base.id) return true;
    if (x.modulus == y.modulus)
        return x.modulus ? (x.offset - y.offset) % x.modulus == 0 : x.offset == y.offset;
    /* One index is below the modulus and congruent to base + offset. The other one equals it only
     * if it is congruent as well. */
    if (x.modulus && y.modulus) return true;
    return (x.offset - y.offset) % (x.modulus + y.modulus) == 0;
}

/* The distance from the first coordinate to the second, if it is known. */
static bool find_distance(const tile_function *f, tile_value a, tile_value b, int64_t *distance) {
    stage_form x = describe_stage(f, a), y = describe_stage(f, b);
    *distance = y.offset - x.offset;
    return x.base.id == y.base.id && !x.modulus && !y.modulus;
}

/* All elements of a coordinate are rest modulo `modulus`, a power of two, so that wrapping does not
 * matter. */
typedef struct residue {
    uint64_t modulus, rest;
} residue;

/* Follows at most `depth` operations. */
static residue find_residue(const tile_function *f, tile_value value, unsigned depth) {
    const residue unknown = {1, 0};
    const uint64_t most = UINT64_C(1) << 31;
    tile_op op = tile_value_def(f, value);
    int64_t number;
    if (tile_value_is_int(f, value, &number)) return (residue){most, (uint64_t)number & (most - 1)};
    if (!op.id || !depth) return unknown;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_splat || opcode == TILE_OP_broadcast || opcode == TILE_OP_convert_layout)
        return find_residue(f, tile_first_operand(f, op), depth - 1);
    if (opcode != TILE_OP_add && opcode != TILE_OP_mul) return unknown;
    residue x = find_residue(f, tile_operand_lhs(f, op), depth - 1);
    residue y = find_residue(f, tile_operand_rhs(f, op), depth - 1);
    uint64_t least = x.modulus < y.modulus ? x.modulus : y.modulus;
    if (opcode == TILE_OP_add) return (residue){least, (x.rest + y.rest) & (least - 1)};
    bool known = x.modulus == most || y.modulus == most;
    uint64_t factor = x.modulus == most ? x.rest : y.rest,
             other = x.modulus == most ? y.rest : x.rest;
    if (!known || !factor) return known ? (residue){most, 0} : unknown;
    while (factor % 2 == 0 && least < most) { /* the other one's modulus times the factor's */
        least *= 2;
        factor /= 2;
        other *= 2;
    }
    return (residue){least, other * factor & (least - 1)};
}

/* The number of dims, the last ones, along which a store has consecutive elements. */
static unsigned dims_of_box(const tile_function *f, tile_op store) {
    const tile_values dst = tile_operands_dst(f, store);
    unsigned rank = tile_value_type(f, tile_operand_src(f, store))->rank;
    for (unsigned i = 1; i < dst.count; i++)
        if (tile_value_type(f, dst.at[i])->kind == TILE_TYPE_TILE)
            return rank - tile_value_type(f, dst.at[i])->rank;
    return rank;
}

/* Returns whether different coordinates within the extents are different elements. */
static bool has_separate_elements(const tile_type *view) {
    int64_t reach = 1; /* of the dims with smaller strides */
    unsigned taken = 0;
    if (!view->has_strides) return true;
    for (unsigned n = 0; n < view->rank; n++) {
        int64_t least = INT64_MAX, extent = 0;
        unsigned next = 0;
        for (unsigned d = 0; d < view->rank; d++) {
            int64_t stride, own;
            if (taken >> d & 1) continue;
            if (!tile_expr_is_int(view->dims[d], &own)) return false;
            if (own == 1)
                stride = 0;
            else if (!view->strides[d] || !tile_expr_is_int(view->strides[d], &stride))
                return false;
            if (stride >= least) continue;
            least = stride;
            extent = own;
            next = d;
        }
        taken |= 1u << next;
        if (extent <= 1) continue;
        if (least < reach || extent > INT64_MAX / least) return false;
        reach = least * extent;
    }
    return true;
}

/* Returns whether a coordinate is never equal, because it has another rest modulo some number. */
static bool has_distinct_coordinates(const tile_function *f, tile_op a, tile_op b) {
    enum { DEPTH = 8 };
    const tile_values x = tile_operands_dst(f, a), y = tile_operands_dst(f, b);
    if (x.count != y.count || x.at[0].id != y.at[0].id ||
        !has_separate_elements(tile_value_type(f, x.at[0])))
        return false;
    unsigned box = dims_of_box(f, a), other = dims_of_box(f, b);
    unsigned dims = box > other ? box : other;
    for (unsigned i = 1; i + dims < x.count; i++) {
        residue p = find_residue(f, x.at[i], DEPTH), q = find_residue(f, y.at[i], DEPTH);
        uint64_t least = p.modulus < q.modulus ? p.modulus : q.modulus;
        if ((p.rest ^ q.rest) & (least - 1)) return true;
    }
    return false;
}

bool tile_stores_may_alias(const tile_function *f, tile_op a, tile_op b) {
    bool stores = tile_op_opcode(f, a) == TILE_OP_store && tile_op_opcode(f, b) == TILE_OP_store;
    if (stores && has_distinct_coordinates(f, a, b)) return false;
    if (!stores || !tile_is_plain_access(f, a) || !tile_is_plain_access(f, b)) return true;
    const tile_values x = tile_operands_dst(f, a), y = tile_operands_dst(f, b);
    const tile_type *first = tile_value_type(f, tile_operand_src(f, a)),
                    *second = tile_value_type(f, tile_operand_src(f, b));
    bool dense = x.at[0].id == y.at[0].id && !tile_value_type(f, x.at[0])->has_strides;
    if (!dense || first->rank != second->rank || x.count != 1u + first->rank) return true;
    for (unsigned d = 0; d < first->rank; d++) {
        int64_t distance;
        if (find_distance(f, x.at[1 + d], y.at[1 + d], &distance) &&
            (distance >= tile_type_dim(first, d) || -distance >= tile_type_dim(second, d)))
            return false;
    }
    return true;
}

tile_op tile_ancestor_in(const tile_function *f, tile_op op, tile_region region) {
    while (op.id && tile_op_at(f, op)->parent.id != region.id) op = tile_op_parent(f, op);
    return op;
}
