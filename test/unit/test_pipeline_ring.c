/* Interprets the rings of a matmul loop after the pipeline pass: which iteration's data is in which
 * stage, and whether it has arrived when a dot reads it, for all small depths and trip counts. */
#include "pass_fixture.h"

enum { MAX_STAGES = 8, MAX_VALUES = 512, STEP = 32 };

typedef struct cell {
    int64_t k;     /* which columns of a, rows of b */
    int64_t group; /* the group that covers the copy */
    bool landed;
} cell;

typedef struct machine {
    const tile_function *f;
    int64_t values[MAX_VALUES];
    cell cells[MAX_VALUES][MAX_STAGES]; /* per buffer */
    int64_t committed, waited;
    int64_t n;    /* the argument */
    int64_t next; /* the k that the next dot must read */
    unsigned dots, faults;
} machine;

static int64_t value_of(const machine *m, tile_value value) {
    int64_t number;
    return tile_value_is_int(m->f, value, &number) ? number : m->values[value.id];
}

static int64_t operand(const machine *m, tile_op op, unsigned index) {
    return value_of(m, tile_op_operand(m->f, op, index));
}

/* Interprets copy_async %view[%i, %j], %buffer[%stage], where one of %i, %j is 0 and the other
 * k. */
static void run_copy(machine *m, tile_op op) {
    int64_t i = operand(m, op, 1), j = operand(m, op, 2), stage = operand(m, op, 4);
    m->faults += stage < 0 || stage >= MAX_STAGES || i + j >= m->n;
    m->cells[tile_op_operand(m->f, op, 3).id][stage & 7] = (cell){i + j, m->committed, false};
}

static void run_dot(machine *m, tile_op op) {
    for (unsigned side = 0; side < 2; side++) {
        int64_t stage = operand(m, op, 2 * side + 1);
        cell c = m->cells[tile_op_operand(m->f, op, 2 * side).id][stage & 7];
        m->faults += stage < 0 || stage >= MAX_STAGES || c.k != m->next || c.group >= m->waited;
    }
    m->next += STEP;
    m->dots++;
}

static void run_region(machine *m, tile_region region);

static void set_values(machine *m, tile_value first, const int64_t *values, unsigned count) {
    for (unsigned i = 0; i < count; i++) m->values[first.id + i] = values[i];
}

static void run_for(machine *m, tile_op op) {
    tile_region body = tile_op_region(m->f, op, 0);
    unsigned carried = tile_op_result_count(m->f, op);
    int64_t values[8];
    for (unsigned i = 0; i < carried; i++) values[i] = operand(m, op, 3 + i);
    for (int64_t iv = operand(m, op, 0); iv < operand(m, op, 1); iv += operand(m, op, 2)) {
        m->values[tile_region_arg(m->f, body, 0).id] = iv;
        set_values(m, tile_region_arg(m->f, body, 1), values, carried);
        run_region(m, body);
        for (unsigned i = 0; i < carried; i++)
            values[i] = operand(m, tile_region_at(m->f, body)->last, i);
    }
    set_values(m, tile_op_result(m->f, op, 0), values, carried);
}

static void run_op(machine *m, tile_op op) {
    tile_opcode opcode = tile_op_opcode(m->f, op);
    int64_t result;
    switch (opcode) {
    case TILE_OP_for: run_for(m, op); break;
    case TILE_OP_if: run_region(m, tile_op_region(m->f, op, operand(m, op, 0) ? 0 : 1)); break;
    case TILE_OP_copy_async: run_copy(m, op); break;
    case TILE_OP_commit_group: m->committed++; break;
    case TILE_OP_wait_group:
        if (m->committed - operand(m, op, 0) > m->waited)
            m->waited = m->committed - operand(m, op, 0);
        break;
    case TILE_OP_dot: run_dot(m, op); break;
    default:
        if (tile_op_operand_count(m->f, op) == 2 &&
            tile_fold_int(opcode, operand(m, op, 0), operand(m, op, 1), 0, &result))
            m->values[tile_op_result(m->f, op, 0).id] = result;
    }
}

static void run_region(machine *m, tile_region region) {
    TILE_FOR_EACH_OP (m->f, op, region) run_op(m, op);
}

/* Builds for %i = 0 to %n step 32 with loads of a and b, at k = %i, pipelined and converted to a
 * ring. */
static tile_value build_matmul(pass_fixture *x, int64_t stages, bool copies_last) {
    fixture_open(x);
    tile_value a = fixture_view(x, "a", TILE_f16, 16, 1024, false);
    tile_value b = fixture_view(x, "b", TILE_f16, 1024, 16, false);
    tile_value n = fixture_arg(x, "n", TILE_i32, false), null = tile_build_int(&x->b, 0);
    tile_value zero =
        tile_build_splat(&x->b, tile_build_float(&x->b, 0.0), fixture_tile(x, TILE_f32, 16, 16));
    tile_op loop = tile_build_for_loop(&x->b, null, n, tile_build_int(&x->b, STEP), &zero, 1);
    tile_op_set_int(x->kernel, loop, TILE_ATTR_pipelined, stages);
    if (copies_last)
        tile_op_set_list(x->kernel, loop, TILE_ATTR_order, (const int64_t[]){1, 2, 0}, 3);
    tile_region region = tile_op_region(x->kernel, loop, 0);
    tile_builder body = tile_builder_at_end(x->kernel, region);
    tile_value iv = tile_build_add(&body, tile_region_arg(x->kernel, region, 0), null);
    const tile_value at_a[] = {null, iv}, at_b[] = {iv, null};
    tile_value ta =
        tile_build_load(&body, a, at_a, 2, TILE_NO_VALUE, fixture_tile(x, TILE_f16, 16, STEP));
    tile_value tb =
        tile_build_load(&body, b, at_b, 2, TILE_NO_VALUE, fixture_tile(x, TILE_f16, STEP, 16));
    tile_value sum =
        tile_build_dot(&body, ta, NULL, 0, tb, NULL, 0, tile_region_arg(x->kernel, region, 1));
    tile_build_yield(&body, &sum, 1);
    cr_assert_eq(fixture_run(x, tile_pass_pipeline), TILE_OK, "%s", x->messages);
    cr_assert_lt(x->kernel->value_count, (size_t)MAX_VALUES);
    return n;
}

static machine run_machine(const pass_fixture *x, tile_value n, int64_t value) {
    machine m = {.f = x->kernel, .n = value};
    m.values[n.id] = value;
    run_region(&m, x->kernel->body);
    return m;
}

Test(pipeline_ring, every_dot_sees_its_own_iteration) {
    for (int64_t stages = 2; stages <= 6; stages++)
        for (int last = 0; last < 2; last++) {
            pass_fixture x;
            tile_value n = build_matmul(&x, stages, last);
            for (int64_t trips = 0; trips <= 9; trips++) {
                machine m = run_machine(&x, n, trips * STEP);
                cr_expect_eq(m.dots, trips);
                cr_expect_eq(m.faults, 0, "%d stages, %d iterations", (int)stages, (int)trips);
                cr_expect_eq(m.waited, m.committed);
            }
            fixture_close(&x);
        }
}

/* The interpreter detects a wait that leaves one group too many in flight. */
Test(pipeline_ring, a_planted_fault_is_seen) {
    pass_fixture x;
    tile_value n = build_matmul(&x, 3, false);
    tile_value one = tile_build_int(&x.b, 1), two = tile_build_int(&x.b, 2);
    for (uint32_t id = 1; id < x.kernel->op_count; id++)
        if (x.kernel->ops[id].opcode == TILE_OP_wait_group &&
            x.kernel->ops[id].operands[0].id == one.id)
            x.kernel->ops[id].operands[0] = two;
    cr_expect_gt(run_machine(&x, n, 5 * STEP).faults, 0u);
    fixture_close(&x);
}
