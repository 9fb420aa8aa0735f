/* Divergence propagates from operands to results, from a condition to the values that its regions
 * yield, and around loops until a fixed point. */
#include "lib/analysis/uniform.h"

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"

typedef struct spread {
    tile_function *f;
    bool *divergent;
    bool groups;    /* also between the groups of a region of roles */
    int64_t blocks; /* not 0: between the blocks of a cluster with this extent along dim */
    unsigned dim;
    bool changed;
} spread;

static void mark(spread *s, tile_value value, bool divergent) {
    if (divergent && value.id && !s->divergent[value.id]) {
        s->divergent[value.id] = true;
        s->changed = true;
    }
}

static bool any_operand(const spread *s, tile_op op) {
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        found |= s->divergent[tile_op_operand(s->f, op, i).id];
    return found;
}

static bool decides_separately(const tile_function *f, const bool *divergent, tile_op op) {
    bool found = false;
    for (unsigned i = 0; i < tile_control_operand_count(f, op); i++)
        found |= divergent[tile_control_operand(f, op, i).id];
    return found;
}

/* A carried value is divergent if a value that flows to it is, or if threads arrive separately. */
static void visit_regions(spread *s, tile_op op) {
    bool apart = decides_separately(s->f, s->divergent, op);
    bool own = apart || (s->groups && tile_op_opcode(s->f, op) == TILE_OP_roles);
    for (unsigned r = 0; r < tile_op_at(s->f, op)->region_count; r++) {
        tile_region region = tile_op_region(s->f, op, r);
        for (unsigned i = 0; i < tile_region_own_args(s->f, region); i++)
            mark(s, tile_region_arg(s->f, region, i), own);
    }
    for (unsigned i = 0; i < tile_carried_count(s->f, op); i++)
        TILE_FOR_EACH_BRANCH_POINT (s->f, op, to) {
            bool found = apart;
            TILE_FOR_EACH_BRANCH_POINT (s->f, op, from)
                if (tile_control_flows(s->f, op, from, to))
                    found |= s->divergent[tile_carried_sent(s->f, op, from, i).id];
            mark(s, tile_carried_received(s->f, op, to, i), found);
        }
}

/* Returns whether all threads read global memory at the same address, which nothing in the kernel
 * may write: then they read the same value. */
static bool reads_constant(const spread *s, tile_op op) {
    tile_access reads[TILE_MAX_ACCESSES], writes[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(s->f, op, reads);
    if (count != 1 || reads[0].shared || reads[0].write || any_operand(s, op)) return false;
    for (uint32_t id = 1; id < s->f->op_count; id++) {
        if (!s->f->ops[id].opcode) continue;
        unsigned others = tile_op_accesses(s->f, (tile_op){id}, writes);
        for (unsigned i = 0; i < others; i++)
            if (writes[i].write && !writes[i].shared &&
                tile_may_alias(s->f, reads[0].memory, writes[i].memory))
                return false;
    }
    return true;
}

/* Returns whether the value counts whole clusters: block_id divided by a multiple of their
 * extent. */
static bool counts_clusters(const spread *s, tile_op op) {
    int64_t by;
    tile_opcode opcode = tile_op_opcode(s->f, op);
    if (opcode != TILE_OP_div && opcode != TILE_OP_shr) return false;
    tile_op id = tile_value_def(s->f, tile_operand_lhs(s->f, op));
    if (!id.id || tile_op_opcode(s->f, id) != TILE_OP_block_id ||
        !tile_value_is_int(s->f, tile_operand_rhs(s->f, op), &by))
        return false;
    if (opcode == TILE_OP_shr) by = by >= 0 && by < 31 ? INT64_C(1) << by : 0;
    return by > 0 && by % s->blocks == 0;
}

static bool differs_in_cluster(const spread *s, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    tile_opcode opcode = tile_op_opcode(s->f, op);
    if (opcode == TILE_OP_block_id || counts_clusters(s, op)) return false;
    if (opcode == TILE_OP_cluster_rank || opcode == TILE_OP_map_shared) return true;
    if (tile_op_get_info(opcode)->effects & TILE_EFFECT_ATOMIC) return true;
    if (tile_op_accesses(s->f, op, accesses)) return !reads_constant(s, op);
    return any_operand(s, op);
}

static bool gives_divergent(const spread *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    if (s->blocks) return differs_in_cluster(s, op);
    bool by_groups =
        s->groups && tile_executors_of(s->f, op).role.id; /* each group has its own value */
    if (tile_op_has_trait(opcode, TILE_TRAIT_UNIFORM) && !by_groups) return false;
    if (by_groups && tile_op_get_info(opcode)->effects & TILE_EFFECT_ATOMIC) return true;
    if (tile_op_has_trait(opcode, TILE_TRAIT_DIVERGES)) return !reads_constant(s, op);
    return any_operand(s, op);
}

static void visit(spread *s, tile_op op) {
    const tile_function *f = s->f;
    if (tile_shape_of(f, op) != TILE_SHAPE_NONE) {
        visit_regions(s, op);
        return;
    }
    bool found = gives_divergent(s, op);
    bool place = s->blocks && tile_op_opcode(f, op) == TILE_OP_block_id;
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        mark(s, tile_op_result(f, op, i), found || (place && i == s->dim));
}

static bool *find_divergent(spread s, tile_arena *arena) {
    s.divergent = TILE_NEW_ARRAY(arena, bool, s.f->value_count);
    s.changed = true;
    while (s.changed) {
        s.changed = false;
        TILE_FOR_EACH_OP_INSIDE (s.f, op, s.f->body) visit(&s, op);
    }
    return s.divergent;
}

bool *tile_divergent_values(tile_function *f, tile_arena *arena) {
    return find_divergent((spread){.f = f}, arena);
}

bool *tile_group_varying_values(tile_function *f, tile_arena *arena) {
    return find_divergent((spread){.f = f, .groups = true}, arena);
}

bool *tile_cluster_varying_values(tile_function *f, unsigned dim, int64_t blocks,
                                  tile_arena *arena) {
    return find_divergent((spread){.f = f, .blocks = blocks, .dim = dim}, arena);
}

tile_op tile_divergence_source(const tile_function *f, const bool *divergent, tile_value value) {
    for (;;) {
        const tile_value_data *data = tile_value_at(f, value);
        if (data->kind == TILE_VALUE_REGION)
            return tile_region_at(f, (tile_region){data->owner})->parent;
        tile_op def = tile_value_def(f, value);
        if (!def.id || tile_shape_of(f, def) != TILE_SHAPE_NONE) return def;
        unsigned next = 0;
        while (next < tile_op_operand_count(f, def) && !divergent[tile_op_operand(f, def, next).id])
            next++;
        if (next == tile_op_operand_count(f, def)) return def;
        value = tile_op_operand(f, def, next);
    }
}

tile_op tile_divergent_control(const tile_function *f, const bool *divergent, tile_op op) {
    do op = tile_op_parent(f, op);
    while (op.id && !decides_separately(f, divergent, op));
    return op;
}
