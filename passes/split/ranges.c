/* Contiguous ranges of iterations, for loops that read rows in short pieces along them.
 *
 * Parts take the iterations in turn by default, so that blocks that run at once read neighboring
 * memory. But if an iteration reads at most 256 bytes of each row along the loop, as those of
 * transposed weights do, every block then reads every other piece of all rows, and its parts drift
 * apart. On an H200, 1 x 7552 x 10176 of bf16 with b transposed takes 55 us in 2 parts in turn and
 * 47.6 us in ranges; in 4 parts 59.8 and 47.9 us (reading b takes 45.5 us). The blocks of a cluster
 * run in step: 46.6 us in turn.
 *
 * With a row-major b, of which blocks that run at once read neighboring pieces, parts stay in turn:
 * a loop has ranges only if most of its bytes are read in short pieces along it. */
#include "lib/analysis/access.h"
#include "lib/ir/effects.h"
#include "passes/split/split.h"

enum { SHORT = 256 /* bytes */, MOSTLY = 4 };

/* Bytes of the tiles that an iteration reads from views, in short pieces along the loop and
 * otherwise. */
typedef struct amounts {
    int64_t along, across;
} amounts;

static bool depends_on(const tile_function *f, tile_value value, tile_value counter,
                       unsigned steps) {
    tile_op def = tile_value_def(f, value);
    bool found = value.id == counter.id;
    if (!def.id || !steps || tile_op_at(f, def)->region_count) return found;
    for (unsigned i = 0; i < tile_op_operand_count(f, def) && !found; i++)
        found = depends_on(f, tile_op_operand(f, def, i), counter, steps - 1);
    return found;
}

/* The tile that a copy or load moves from a view; NULL: another operation. */
static const tile_type *moved_from_view(const tile_function *f, tile_op op,
                                        const tile_value **element) {
    tile_opcode opcode = tile_op_opcode(f, op);
    bool loads = opcode == TILE_OP_load;
    if (!loads && opcode != TILE_OP_copy) return NULL;
    *element = tile_operands_src(f, op).at;
    if (tile_value_type(f, (*element)[0])->kind != TILE_TYPE_VIEW) return NULL;
    const tile_type *type =
        tile_value_type(f, loads ? tile_op_result(f, op, 0) : tile_operands_dst(f, op).at[0]);
    return type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SHARED ? type : NULL;
}

static void add_read(const split *s, const tile_range *ranges, tile_value counter, tile_op op,
                     amounts *sum) {
    enum { STEPS = 6 };
    const tile_value *element;
    const tile_type *tile = moved_from_view(s->f, op, &element);
    if (!tile) return;
    unsigned rank = tile_value_type(s->f, element[0])->rank;
    tile_access_facts facts = tile_view_access(s->f, ranges, element);
    unsigned unit = tile_unit_dim(&facts, rank, tile->rank);
    int64_t bytes = tile_scalar_bytes(tile->scalar), all = bytes * tile_type_elements(tile);
    bool along = unit < tile->rank && bytes * tile_type_dim(tile, unit) <= SHORT &&
                 depends_on(s->f, element[1 + facts.unit_dim], counter, STEPS);
    *(along ? &sum->along : &sum->across) += all;
}

bool split_reads_along(const split *s, const tile_range *ranges) {
    amounts sum = {0, 0};
    tile_region body = tile_op_region(s->f, s->loop, 0);
    tile_value counter = tile_region_arg(s->f, body, 0);
    TILE_FOR_EACH_OP_INSIDE (s->f, op, body) add_read(s, ranges, counter, op, &sum);
    return sum.along > MOSTLY * sum.across;
}

/* With n iterations, each part has ceil(n / parts), the last ones fewer or none. A part without
 * iterations has INT32_MIN as its end. Its beginning keeps its divisors, which determine the width
 * of loads, and may wrap around. */
void split_set_range(split *s, tile_value part) {
    tile_function *f = s->f;
    tile_builder builder = tile_builder_before(f, s->loop), *b = &builder;
    tile_value *bounds = tile_op_at(f, s->loop)->operands, end = bounds[1], step = bounds[2];
    tile_value count = tile_build_ceildiv(b, end, step);
    tile_value each = tile_build_ceildiv(b, count, tile_build_int(b, s->factor));
    tile_value first = tile_build_min(b, tile_build_mul(b, part, each), count);
    tile_value next = tile_build_min(b, tile_build_add(b, first, each), count);
    tile_value stop =
        tile_build_select(b, tile_build_lt(b, next, count), tile_build_mul(b, next, step), end);
    stop = tile_build_select(b, tile_build_lt(b, first, count), stop, tile_build_int(b, INT32_MIN));
    tile_value begin = tile_build_mul(b, first, step);
    bounds = tile_op_at(f, s->loop)->operands;
    bounds[0] = begin;
    bounds[1] = stop;
}
