#include "lib/analysis/executors.h"

#include <assert.h>

#include "lib/support/integer.h"

/* The integer of a constant between 1 and limit, otherwise 0. */
static unsigned small_constant(const tile_function *f, tile_value value, int64_t limit) {
    int64_t integer;
    bool known = tile_value_is_int(f, value, &integer);
    return known && integer > 0 && integer <= limit ? (unsigned)integer : 0;
}

/* Sets ----------------------------------------------------------------------------------------- */

tile_executors tile_executors_of_block(const tile_function *f) {
    int64_t warps;
    bool known = f->warps && tile_expr_is_int(f->warps, &warps) && warps > 0;
    return (tile_executors){.warps = known && warps <= TILE_MAX_WARPS ? (unsigned)warps : 0,
                            .groups = 1};
}

/* Entry r of a list operand of `roles`; 0 if it is not known. */
static unsigned role_number(const tile_function *f, tile_values values, unsigned r, int64_t limit) {
    return r < values.count ? small_constant(f, values.at[r], limit) : 0;
}

tile_executors tile_executors_of_role(const tile_function *f, tile_op roles, unsigned r) {
    tile_executors executors = {.role = tile_op_region(f, roles, r)};
    for (unsigned i = 0; i <= r; i++) {
        executors.first += executors.warps * executors.groups;
        executors.warps = role_number(f, tile_operands_warps(f, roles), i, TILE_MAX_WARPS);
        executors.groups = role_number(f, tile_operands_groups(f, roles), i, TILE_MAX_WARPS);
        if (!executors.groups) executors.warps = 0;
        if (!executors.warps) break;
    }
    return executors;
}

bool tile_is_grouped(const tile_function *f, tile_op op) {
    const tile_attr *groups =
        tile_op_opcode(f, op) == TILE_OP_for ? tile_op_attr(f, op, TILE_ATTR_groups) : NULL;
    return groups && !tile_expr_is(groups->expr, 1);
}

tile_executors tile_executors_of_loop(const tile_function *f, tile_op loop) {
    unsigned block = tile_executors_of_block(f).warps;
    tile_executors executors = {.role = tile_op_region(f, loop, 0)};
    int64_t groups = tile_op_attr_int(f, loop, TILE_ATTR_groups, 0);
    executors.groups = groups > 0 && groups <= TILE_MAX_WARPS ? (unsigned)groups : 0;
    executors.warps =
        executors.groups && block % executors.groups == 0 ? block / executors.groups : 0;
    return executors;
}

bool tile_op_needs_cluster(tile_opcode opcode) {
    return opcode == TILE_OP_cluster_rank || opcode == TILE_OP_cluster_id ||
           opcode == TILE_OP_cluster_dim || opcode == TILE_OP_map_shared ||
           tile_op_get_info(opcode)->effects & TILE_EFFECT_CLUSTER;
}

bool tile_uses_cluster(const tile_function *f) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_needs_cluster(tile_op_opcode(f, op))) return true;
    return false;
}

unsigned tile_role_registers(const tile_function *f, tile_op roles, unsigned r) {
    return role_number(f, tile_operands_registers(f, roles), r, UINT8_MAX);
}

enum { REGISTERS = 1 << 16 /* per SM */, LANES = 1 << TILE_LANE_BITS };

unsigned tile_entry_registers(unsigned warps) {
    enum { MOST = 248, UNIT = 8 };
    unsigned each = warps ? REGISTERS / (LANES * warps) / UNIT * UNIT : MOST;
    return each > MOST ? MOST : each;
}

bool tile_sets_registers(const tile_function *f) {
    bool any = false;
    for (uint32_t id = 1; id < f->op_count && !any; id++)
        for (unsigned r = 0; f->ops[id].opcode == TILE_OP_roles && r < f->ops[id].region_count; r++)
            any |= tile_role_registers(f, (tile_op){id}, r) > 0;
    return any;
}

bool tile_uses_all_sm_registers(const tile_function *f) {
    unsigned warps = tile_executors_of_block(f).warps;
    return tile_sets_registers(f) && 2 * LANES * warps * tile_entry_registers(warps) > REGISTERS;
}

tile_executors tile_executors_in(const tile_function *f, tile_region region) {
    for (tile_op op; region.id; region = tile_op_at(f, op)->parent) {
        op = tile_region_at(f, region)->parent;
        if (!op.id) break;
        if (tile_is_grouped(f, op)) return tile_executors_of_loop(f, op);
        if (tile_op_opcode(f, op) != TILE_OP_roles) continue;
        unsigned r = 0;
        while (tile_op_region(f, op, r).id != region.id) r++;
        return tile_executors_of_role(f, op, r);
    }
    return tile_executors_of_block(f);
}

tile_executors tile_executors_of(const tile_function *f, tile_op op) {
    return tile_executors_in(f, tile_op_at(f, op)->parent);
}

tile_executors tile_executors_of_value(const tile_function *f, tile_value value) {
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind == TILE_VALUE_RESULT) return tile_executors_of(f, (tile_op){data->owner});
    if (data->kind == TILE_VALUE_REGION) return tile_executors_in(f, (tile_region){data->owner});
    return tile_executors_of_block(f);
}

unsigned tile_warp_bits(tile_executors executors) {
    unsigned bits = 0;
    while (1u << bits < executors.warps) bits++;
    return bits;
}

enum { BUFFER_ALIGNMENT = 128 }; /* a swizzle's bank arithmetic starts at bank 0 */

bool tile_op_is_alloc(tile_opcode opcode) {
    return opcode == TILE_OP_alloc_shared || opcode == TILE_OP_alloc_barrier;
}

/* Rows that keep their offset modulo 16 bytes have 16 bytes more, and each eight rows as well:
 * passes/lower/misaligned.c. */
static int64_t longer_rows(const tile_function *f, tile_op alloc, const tile_type *type) {
    enum { CHUNK = 16, ROWS = 8 };
    int64_t unit = tile_op_attr_int(f, alloc, TILE_ATTR_misaligned, -1);
    if (unit < 0 || unit >= type->rank) return 0;
    int64_t columns = tile_type_dim(type, (unsigned)unit), stages = tile_type_stage_count(type);
    if (columns <= 0 || stages <= 0) return 0;
    int64_t rows = tile_type_elements(type) / columns;
    return (rows + (rows + ROWS - 1) / ROWS) * CHUNK * stages;
}

int64_t tile_alloc_bytes(const tile_function *f, tile_op alloc, int64_t *stride) {
    const tile_type *type = tile_value_type(f, tile_op_result(f, alloc, 0));
    int64_t bytes = tile_type_shared_bytes(type);
    if (bytes > 0 && bytes < INT32_MAX) bytes += longer_rows(f, alloc, type);
    unsigned groups = tile_executors_of(f, alloc).groups;
    *stride = 0;
    if (groups <= 1 || bytes < 0 || bytes == INT32_MAX) return bytes;
    *stride = tile_round_up(bytes, BUFFER_ALIGNMENT);
    bytes += *stride * (groups - 1);
    return bytes < INT32_MAX ? bytes : INT32_MAX;
}

unsigned tile_ordered_warpgroups(tile_executors executors) {
    return executors.warps / TILE_WARPS_PER_ORDERED_GROUP * executors.groups;
}

/* Operations that depend on the number of warps
 * ------------------------------------------------- */

static bool is_ordered_issue(tile_opcode opcode) {
    return opcode == TILE_OP_ordered_wait || opcode == TILE_OP_ordered_arrive;
}

bool tile_numbers_warps(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    bool named = (opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive) &&
                 tile_op_operand_count(f, op) > 0;
    return opcode == TILE_OP_thread_id || opcode == TILE_OP_warp_id || named ||
           opcode == TILE_OP_barrier_arrive || is_ordered_issue(opcode);
}

static bool lays_out_warps(const tile_function *f, tile_value value) {
    const tile_type *type = tile_value_type(f, value);
    return type->kind == TILE_TYPE_TILE && type->layout;
}

bool tile_lays_out_warps(const tile_function *f, tile_op op) {
    bool any = false;
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        any |= lays_out_warps(f, tile_op_result(f, op, i));
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) {
        tile_region region = tile_op_region(f, op, r);
        for (unsigned i = 0; i < tile_region_at(f, region)->arg_count; i++)
            any |= lays_out_warps(f, tile_region_arg(f, region, i));
    }
    return any;
}

/* Barriers ------------------------------------------------------------------------------------- */

/* A set of warps that synchronizes, and the number of its barrier. */
typedef struct set_barrier {
    unsigned first, warps, number;
    tile_op op; /* its first barrier */
} set_barrier;

/* Barrier numbers used by operations, and the sets without a number. */
typedef struct barrier_table {
    uint32_t named; /* bit set */
    tile_op named_by[TILE_MAX_BARRIERS];
    set_barrier sets[2 * TILE_MAX_WARPS]; /* there are fewer distinct sets, because they nest */
    unsigned set_count;
} barrier_table;

static bool is_barrier(tile_opcode opcode) {
    return opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive;
}

static bool is_named(const tile_function *f, tile_op op) {
    return tile_op_operand_count(f, op) > 0;
}

static void add_set(barrier_table *table, unsigned first, unsigned warps, tile_op op) {
    unsigned i = 0;
    while (i < table->set_count &&
           !(table->sets[i].first == first && table->sets[i].warps == warps))
        i++;
    if (i < table->set_count || i == sizeof table->sets / sizeof *table->sets) return;
    table->sets[table->set_count++] = (set_barrier){.first = first, .warps = warps, .op = op};
}

/* The warps that take part in a barrier without a number. */
static void set_of(const tile_function *f, tile_op op, unsigned group, unsigned *first,
                   unsigned *warps) {
    tile_executors executors = tile_executors_of(f, op);
    bool all = tile_op_has_attr(f, op, TILE_ATTR_all);
    *first = executors.first + (all ? 0 : group * executors.warps);
    *warps = executors.warps * (all ? executors.groups : 1);
}

static bool needs_number(const tile_function *f, unsigned warps) {
    return warps > 1 && warps != tile_executors_of_block(f).warps;
}

static void collect_named(const tile_function *f, tile_op op, tile_value number, unsigned count,
                          barrier_table *table) {
    unsigned first = small_constant(f, number, TILE_MAX_BARRIERS - 1);
    for (unsigned i = first; i < first + count && i < TILE_MAX_BARRIERS; i++) {
        if (!(table->named >> i & 1)) table->named_by[i] = op;
        table->named |= 1u << i;
    }
}

static void collect_barrier(const tile_function *f, tile_op op, barrier_table *table) {
    if (is_ordered_issue(tile_op_opcode(f, op)))
        collect_named(f, op, tile_operand_first(f, op),
                      tile_ordered_warpgroups(tile_executors_of(f, op)), table);
    if (!is_barrier(tile_op_opcode(f, op))) return;
    if (is_named(f, op)) {
        collect_named(f, op, tile_operand_number(f, op), 1, table);
        return;
    }
    for (unsigned g = 0; g < tile_executors_of(f, op).groups; g++) {
        unsigned first, warps;
        set_of(f, op, g, &first, &warps);
        if (needs_number(f, warps)) add_set(table, first, warps, op);
    }
}

/* Returns false if there are more sets than numbers. */
static bool number_barriers(const tile_function *f, barrier_table *table) {
    unsigned next = 1;
    *table = (barrier_table){.named = 1};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) collect_barrier(f, op, table);
    for (unsigned i = 0; i < table->set_count; i++) {
        while (next < TILE_MAX_BARRIERS && table->named >> next & 1) next++;
        table->sets[i].number = next < TILE_MAX_BARRIERS ? next++ : 0;
    }
    return !table->set_count || table->sets[table->set_count - 1].number;
}

tile_barrier tile_barrier_of(const tile_function *f, tile_op op, unsigned group) {
    if (is_named(f, op))
        return (tile_barrier){small_constant(f, tile_operand_number(f, op), TILE_MAX_BARRIERS - 1),
                              small_constant(f, tile_operand_warps(f, op), TILE_MAX_WARPS)};
    unsigned first, warps;
    set_of(f, op, group, &first, &warps);
    if (warps == 1 && warps != tile_executors_of_block(f).warps)
        return (tile_barrier){TILE_WARP_BARRIER, 1};
    if (!needs_number(f, warps)) return (tile_barrier){0, warps};
    barrier_table table;
    number_barriers(f, &table);
    for (unsigned i = 0; i < table.set_count; i++)
        if (table.sets[i].first == first && table.sets[i].warps == warps)
            return (tile_barrier){table.sets[i].number, warps};
    return (tile_barrier){0, warps};
}

bool tile_check_barriers(const tile_function *f) {
    barrier_table table;
    if (number_barriers(f, &table)) return true;
    tile_error_at(f, TILE_NO_OP,
                  "@%s needs more than the %d named barriers of a block; use fewer numbered "
                  "barriers, or fewer groups",
                  f->name, TILE_MAX_BARRIERS - 1);
    for (unsigned i = 1; i < TILE_MAX_BARRIERS; i++)
        if (table.named >> i & 1) tile_note_at(f, table.named_by[i], "barrier %u is used here", i);
    for (unsigned i = 0; i < table.set_count; i++)
        tile_note_at(f, table.sets[i].op, "warps %u to %u synchronize here", table.sets[i].first,
                     table.sets[i].first + table.sets[i].warps - 1);
    return false;
}

static void add_roles(barrier_table *table, const tile_function *f, tile_op roles) {
    for (unsigned r = 0; r < tile_op_at(f, roles)->region_count; r++) {
        tile_executors executors = tile_executors_of_role(f, roles, r);
        for (unsigned g = 0; g < executors.groups; g++)
            if (needs_number(f, executors.warps))
                add_set(table, executors.first + g * executors.warps, executors.warps, roles);
    }
}

unsigned tile_find_barriers(const tile_function *f, uint32_t taken, unsigned count) {
    barrier_table table;
    unsigned left = 0, run = 0, first = 0;
    number_barriers(f, &table);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_roles) add_roles(&table, f, op);
    for (unsigned number = 1; number < TILE_MAX_BARRIERS; number++) {
        bool named = (table.named | taken) >> number & 1;
        left += !named;
        run = named ? 0 : run + 1;
        if (run == count && !first) first = number + 1 - count;
    }
    return left >= table.set_count + count ? first : 0;
}

void tile_build_sync_for(tile_builder *builder, tile_executors executors) {
    assert(executors.role.id == tile_executors_in(builder->function, builder->region).role.id);
    (void)executors;
    tile_build_sync(builder, TILE_NO_VALUE, TILE_NO_VALUE);
}
