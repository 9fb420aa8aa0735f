/* Checks which warps execute an operation: roles, and the numbers and counts of barriers. */
#include "lib/analysis/executors.h"
#include "lib/analysis/uniform.h"
#include "lib/check/verify.h"

typedef struct checker {
    tile_function *f;
    tile_context *context;
    tile_arena scratch;
    const bool *divergent; /* by value, between threads of a set; NULL: not computed yet */
    const bool *varying;   /* the same between the threads of all groups of a role */
    bool ok;
} checker;

/* Sets ----------------------------------------------------------------------------------------- */

/* Scalar accesses work with any number of warps: one thread updates a scalar or stores it in shared
 * memory, and each thread loads its own copy. */
static bool is_one_element(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_load)
        return tile_value_type(f, tile_op_result(f, op, 0))->kind == TILE_TYPE_SCALAR;
    return (opcode == TILE_OP_atomic || opcode == TILE_OP_atomic_cas || opcode == TILE_OP_store) &&
           tile_value_type(f, tile_moved_operand(f, op))->kind == TILE_TYPE_SCALAR;
}

bool tile_verify_set(tile_function *f, tile_op op) {
    tile_executors executors = tile_executors_of(f, op);
    bool tile = false;
    if (is_one_element(f, op)) return true;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        tile |= tile_op_handles_tile(f, op, tile_op_operand(f, op, i));
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        tile |= tile_op_handles_tile(f, op, tile_op_result(f, op, i));
    if (!tile || !(executors.warps & (executors.warps - 1))) return true;
    tile_error_at(f, op,
                  "%s works on a tile, for which the number of warps must be 1, 2, 4, 8, 16 or "
                  "32; %u warps execute it",
                  tile_op_name(f, op), executors.warps);
    if (!executors.role.id)
        tile_note_at(f, TILE_NO_OP,
                     "@%s has `warps %u`; write another number, or give the tiles to some of the "
                     "warps in a region of `roles`",
                     f->name, executors.warps);
    return false;
}

/* The operation around op in which threads of one set diverge; 0: none. */
static tile_op divergent_control(checker *c, tile_op op) {
    if (!c->divergent) c->divergent = tile_divergent_values(c->f, &c->scratch);
    return tile_divergent_control(c->f, c->divergent, op);
}

/* Barriers ------------------------------------------------------------------------------------- */

/* Unknown numbers are checked once they are known. In divergent control flow, the number of warps
 * that arrive is not known. */
static void check_named_barrier(checker *c, tile_op op) {
    int64_t number, warps;
    tile_executors executors = tile_executors_of(c->f, op), block = tile_executors_of_block(c->f);
    const char *name = tile_op_name(c->f, op);
    if (tile_op_has_attr(c->f, op, TILE_ATTR_all))
        c->ok = tile_error_at(
            c->f, op, "%s: `all` and a number cannot be combined; remove one of them", name);
    if (tile_value_is_int(c->f, tile_operand_number(c->f, op), &number) &&
        (number < 1 || number >= TILE_MAX_BARRIERS))
        c->ok = tile_error_at(c->f, op,
                              "%s: a barrier's number must be from 1 to %d, not %lld; 0 is the "
                              "barrier of the whole block",
                              name, TILE_MAX_BARRIERS - 1, (long long)number);
    if (!tile_value_is_int(c->f, tile_operand_warps(c->f, op), &warps)) return;
    if (block.warps && (warps < 1 || warps > block.warps))
        c->ok = tile_error_at(c->f, op, "%s: %lld warps cannot participate, the block has %u", name,
                              (long long)warps, block.warps);
    else if (warps < executors.warps && !divergent_control(c, op).id)
        c->ok = tile_error_at(
            c->f, op, "%s: %u warps arrive here together, more than the %lld of the barrier", name,
            executors.warps, (long long)warps);
}

/* All groups of the region must reach it equally often. */
static void check_cluster_barrier(checker *c, tile_op op) {
    tile_executors executors = tile_executors_of(c->f, op);
    if (!executors.role.id) return;
    if (!c->varying) c->varying = tile_group_varying_values(c->f, &c->scratch);
    tile_op control = tile_divergent_control(c->f, c->varying, op);
    if (!control.id) return;
    c->ok = tile_error_at(
        c->f, op,
        "%s all: not every group of the region reaches it; move it to where all groups do",
        tile_op_name(c->f, op));
    tile_note_at(c->f, control, "this %s differs between groups", tile_op_name(c->f, control));
}

/* Roles ---------------------------------------------------------------------------------------- */

enum {
    MIN_REGISTERS = 24, /* PTX ISA, setmaxnreg */
    REGISTER_UNIT = 8,
    WARPGROUP = 4, /* warps */
    LANES = 1 << TILE_LANE_BITS,
};

/* Reads entry r of a list, if it is known. */
static bool number_of(const checker *c, tile_values list, unsigned r, int64_t *integer) {
    return tile_value_is_int(c->f, list.at[r], integer);
}

/* Adds the warps of the region to *warps; returns false if they are not known. */
static bool check_role_warps(checker *c, tile_op op, unsigned r, int64_t *warps) {
    int64_t each, groups;
    if (!number_of(c, tile_operands_warps(c->f, op), r, &each) ||
        !number_of(c, tile_operands_groups(c->f, op), r, &groups))
        return false;
    if (each < 1 || each > TILE_MAX_WARPS || groups < 1 || groups > TILE_MAX_WARPS) {
        c->ok = tile_error_at(
            c->f, op,
            "roles: region %u cannot have %lld groups of %lld warps; a block has up to %d", r + 1,
            (long long)groups, (long long)each, TILE_MAX_WARPS);
        return false;
    }
    *warps += each * groups;
    return true;
}

/* Register counts requested for the warps of the block, 0: unchanged. */
typedef struct shares {
    int64_t of[TILE_MAX_WARPS];
} shares;

/* Returns whether each warpgroup that contains warps first to end - 1 has a single register
 * count. */
static bool are_whole(const shares *s, unsigned first, unsigned end) {
    for (unsigned w = first / WARPGROUP * WARPGROUP; w < end || w % WARPGROUP; w++)
        if (w >= TILE_MAX_WARPS || s->of[w] != s->of[w / WARPGROUP * WARPGROUP]) return false;
    return true;
}

/* setmaxnreg applies to whole warpgroups, which several regions may share. */
static void check_registers(checker *c, tile_op op, unsigned r, shares *s) {
    int64_t registers;
    if (!number_of(c, tile_operands_registers(c->f, op), r, &registers) || !registers) return;
    tile_executors executors = tile_executors_of_role(c->f, op, r);
    if (registers < MIN_REGISTERS || registers > TILE_MAX_REGISTERS || registers % REGISTER_UNIT)
        c->ok = tile_error_at(
            c->f, op, "roles: region %u: registers takes a multiple of %d from %d to %d, not %lld",
            r + 1, REGISTER_UNIT, MIN_REGISTERS, TILE_MAX_REGISTERS, (long long)registers);
    else if (!are_whole(s, executors.first, executors.first + executors.warps * executors.groups))
        c->ok = tile_error_at(
            c->f, op,
            "roles: region %u: registers are set for whole warpgroups, 4 warps from a multiple of "
            "4 on, not for %u from warp %u on; the regions that share a warpgroup take the same",
            r + 1, executors.warps, executors.first);
}

/* The block keeps its initial number of registers: a warp that requests more waits until others
 * release theirs. */
static void check_sum(checker *c, tile_op op, const shares *s, unsigned warps) {
    unsigned entry = tile_entry_registers(warps);
    int64_t sum = 0;
    bool any = false;
    for (unsigned w = 0; w < warps; w++) {
        any |= s->of[w] > 0;
        sum += LANES * (s->of[w] ? s->of[w] : entry);
    }
    if (any && sum > LANES * warps * entry)
        c->ok = tile_error_at(c->f, op,
                              "roles: the regions take %lld registers in total, and a block of %u "
                              "warps has %u; a region without `registers` takes %u for each thread",
                              (long long)sum, warps, LANES * warps * entry, entry);
}

static void check_role_numbers(checker *c, tile_op op) {
    int64_t warps = 0;
    shares s = {{0}};
    bool known = true;
    unsigned block = tile_executors_of_block(c->f).warps;
    for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++)
        known &= check_role_warps(c, op, r, &warps);
    if (!known || !c->ok) return;
    if (block && warps != block) {
        c->ok = tile_error_at(c->f, op,
                              "roles: the regions have %lld warps together, the kernel has %u",
                              (long long)warps, block);
        return;
    }
    for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++) {
        tile_executors executors = tile_executors_of_role(c->f, op, r);
        for (unsigned w = 0;
             w < executors.warps * executors.groups && executors.first + w < TILE_MAX_WARPS; w++)
            s.of[executors.first + w] = tile_role_registers(c->f, op, r);
    }
    for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++) check_registers(c, op, r, &s);
    if (c->ok && block) check_sum(c, op, &s, block);
}

static void check_role_region(checker *c, tile_op op, unsigned r) {
    const tile_region_data *region = tile_region_at(c->f, tile_op_region(c->f, op, r));
    const tile_type *i32 = tile_type_scalar(c->context, TILE_i32);
    if (region->arg_count != 1 || tile_value_type(c->f, region->first_arg) != i32)
        c->ok = tile_error_at(c->f, op,
                              "a region of roles has one argument, its group's number, an i32");
}

static void check_roles(checker *c, tile_op op) {
    bool before = c->ok;
    unsigned count = tile_op_at(c->f, op)->region_count;
    unsigned numbers = tile_operands_warps(c->f, op).count;
    if (numbers != count) {
        c->ok =
            tile_error_at(c->f, op, "roles has %u regions, and warps, groups and registers for %u",
                          count, numbers);
        return;
    }
    c->ok = true;
    for (unsigned r = 0; r < count; r++) check_role_region(c, op, r);
    if (tile_executors_of(c->f, op).role.id)
        c->ok = tile_error_at(c->f, op, "roles cannot be nested");
    tile_op control = divergent_control(c, op);
    if (control.id) {
        c->ok = tile_error_at(
            c->f, op, "roles is in divergent control flow: all warps of the block must reach it");
        tile_note_at(c->f, control, "threads diverge at this %s", tile_op_name(c->f, control));
    }
    if (c->ok) check_role_numbers(c, op);
    c->ok &= before;
}

/* Groups --------------------------------------------------------------------------------------- */

/* Checks a loop whose iterations are distributed over groups of the block's warps. */
static void check_groups(checker *c, tile_op op) {
    int64_t groups = tile_op_attr_int(c->f, op, TILE_ATTR_groups, 1);
    unsigned block = tile_executors_of_block(c->f).warps;
    if (tile_op_opcode(c->f, op) == TILE_OP_convolve) return; /* groups of channels */
    if (groups < 1 || groups > TILE_MAX_WARPS) {
        c->ok = tile_error_at(c->f, op, "groups takes 1 to %d groups, not %lld", TILE_MAX_WARPS,
                              (long long)groups);
        return;
    }
    if (!tile_is_grouped(c->f, op)) return;
    if (tile_executors_of(c->f, op).role.id)
        c->ok = tile_error_at(c->f, op,
                              "groups: only some of the block's warps execute this loop; a loop "
                              "with `groups` must be executed by all warps");
    if (block && block % groups)
        c->ok = tile_error_at(c->f, op, "groups: %u warps cannot be divided into %lld equal groups",
                              block, (long long)groups);
    tile_op control = divergent_control(c, op);
    if (!control.id) return;
    c->ok = tile_error_at(
        c->f, op,
        "groups: the loop is in divergent control flow: all warps of the block must reach it");
    tile_note_at(c->f, control, "threads diverge at this %s", tile_op_name(c->f, control));
}

/* Layouts, and therefore tiles, belong to a set of warps. */
static void check_tiles(checker *c, tile_op op) {
    tile_region role = tile_executors_of(c->f, op).role;
    for (unsigned i = 0; role.id && i < tile_op_operand_count(c->f, op); i++) {
        tile_value value = tile_op_operand(c->f, op, i);
        const tile_value_data *data = tile_value_at(c->f, value);
        if (data->type->kind != TILE_TYPE_TILE ||
            tile_executors_of_value(c->f, value).role.id == role.id)
            continue;
        tile_op of = tile_region_at(c->f, role)->parent;
        c->ok = tile_error_of(c->f, op,
                              "the tile %s%s is distributed over all warps of the block, and a %s "
                              "has only some of them",
                              data->name ? "%" : "", data->name ? data->name : "",
                              tile_is_grouped(c->f, of) ? "group of those that share the loop"
                                                        : "role");
        tile_op def = tile_value_def(c->f, value);
        if (def.id) tile_note_at(c->f, def, "it is defined here; pass it through shared memory");
    }
}

/* A kernel without a `cluster` clause has no clusters. */
static void check_cluster(checker *c, tile_op op) {
    if (c->f->kind == TILE_KERNEL && !c->f->cluster_rank)
        c->ok = tile_error_of(c->f, op, "@%s has no clusters; write `cluster [2]` after its `grid`",
                              c->f->name);
}

static void check_op(checker *c, tile_op op) {
    const tile_function *f = c->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    check_tiles(c, op);
    if (tile_op_needs_cluster(opcode) || tile_op_has_attr(f, op, TILE_ATTR_multicast))
        check_cluster(c, op);
    if (opcode == TILE_OP_roles) check_roles(c, op);
    if (tile_op_has_attr(f, op, TILE_ATTR_groups)) check_groups(c, op);
    if (opcode != TILE_OP_sync && opcode != TILE_OP_sync_arrive) return;
    if (tile_op_operand_count(f, op)) check_named_barrier(c, op);
    if (tile_op_has_attr(f, op, TILE_ATTR_all)) check_cluster_barrier(c, op);
}

bool tile_verify_executors(tile_function *f) {
    checker c = {.f = f, .context = tile_function_context(f), .ok = true};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) check_op(&c, op);
    tile_arena_reset(&c.scratch);
    return c.ok && tile_check_barriers(f);
}
