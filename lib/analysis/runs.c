/* Derives runs from the operations that make coordinates: iota, and sums with values that are
 * constant along the dim. */
#include "lib/analysis/runs.h"

#include "lib/ops/gather.h"
#include "lib/ops/shape.h"

static unsigned smaller(unsigned a, unsigned b) {
    return a < b ? a : b;
}

static unsigned power_of_two_part(int64_t divisor) {
    unsigned part = 1;
    while (part < TILE_LONGEST_RUN && divisor % (part * 2) == 0)
        part *= 2; /* 0 is divisible by any number */
    return part;
}

static unsigned run_of_iota(const tile_function *f, tile_op op, unsigned d) {
    tile_iota iota;
    bool counts = tile_iota_of(f, op, &iota) && iota.axis == d && iota.step == 1;
    return counts ? power_of_two_part(iota.start) : 1;
}

/* One operand counts, the other one adds a multiple of the run's length. */
static unsigned run_of_sum(const tile_function *f, const tile_range *ranges, tile_value counting,
                           tile_value added, unsigned d) {
    if (!tile_is_repeated(f, added, d)) return 1;
    unsigned most = power_of_two_part(ranges[added.id].divisor);
    return most == 1 ? 1 : smaller(most, tile_counting_run(f, ranges, counting, d));
}

unsigned tile_counting_run(const tile_function *f, const tile_range *ranges, tile_value value,
                           unsigned d) {
    const tile_type *type = tile_value_type(f, value);
    tile_op def = tile_value_def(f, value);
    if (!def.id || type->kind != TILE_TYPE_TILE || tile_scalar_is_floating(type->scalar) ||
        tile_scalar_bits(type->scalar) < 8)
        return 1;
    tile_opcode opcode = tile_op_opcode(f, def);
    if (opcode == TILE_OP_iota) return run_of_iota(f, def, d);
    if (opcode == TILE_OP_add || opcode == TILE_OP_sub) {
        tile_value lhs = tile_operand_lhs(f, def), rhs = tile_operand_rhs(f, def);
        unsigned run = run_of_sum(f, ranges, lhs, rhs, d);
        bool turns = run == 1 && opcode == TILE_OP_add;
        return turns ? run_of_sum(f, ranges, rhs, lhs, d) : run;
    }
    if (opcode != TILE_OP_cast && tile_op_dims(opcode) != TILE_DIMS_stretched) return 1;
    unsigned own = tile_dim_in_operand(f, def, tile_place_of(opcode, TILE_OPERAND_src), d);
    return own == TILE_NO_DIM ? 1 : tile_counting_run(f, ranges, tile_operand_src(f, def), own);
}

/* e + c < n holds for all c < R or for none, because e and n are multiples of R. */
unsigned tile_compare_run(const tile_function *f, const tile_range *ranges, tile_op op,
                          unsigned d) {
    tile_opcode opcode = tile_op_opcode(f, op);
    bool turned = opcode == TILE_OP_gt || opcode == TILE_OP_le;
    if (!turned && opcode != TILE_OP_lt && opcode != TILE_OP_ge && opcode != TILE_OP_ult) return 1;
    tile_value counting = tile_op_operand(f, op, turned), limit = tile_op_operand(f, op, !turned);
    return run_of_sum(f, ranges, counting, limit, d);
}
