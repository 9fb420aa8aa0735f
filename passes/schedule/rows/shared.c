/* Long rows that are reduced together with a vector, as in a product of a matrix and a vector. A
 * block of one row would read the vector once for each row, as many bytes as of the matrix. Tiles
 * of several rows read it once for all of them. */
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/schedule/rows/rows.h"

typedef struct search {
    rows *r;
    int beside;
    bool found;
    sched_visited_values visits;
} search;

/* Finds an array that the value reads along the axis, at the same place for all rows. */
static void find_shared(search *f, tile_value value, const sched_map *map) {
    schedule *s = f->r->k.s;
    const tile_type *type = sched_type(s, value);
    tile_op op = tile_value_def(s->compute, value);
    if (type->kind != TILE_TYPE_TENSOR || !sched_visit_first(s, &f->visits, value, map)) return;
    if (sched_find_input(s, f->r->k.g, value) >= 0) {
        bool along = false, beside = false;
        for (unsigned d = 0; d < type->rank; d++) {
            along |= sched_depends(&map->at[d], f->r->axis);
            beside |= sched_depends(&map->at[d], (unsigned)f->beside);
        }
        f->found |= along && !beside;
        return;
    }
    if (!op.id || !sched_is_inline(s, op)) return;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        sched_map at = sched_operand_map(s, op, 0, i, map);
        find_shared(f, tile_op_operand(s->compute, op, i), &at);
    }
}

static bool is_sum_of_floats(const rows *r, size_t index) {
    return tile_op_opcode(r->k.s->compute, rows_op(r, index)) == TILE_OP_reduce &&
           rows_kind(r, index) == TILE_WORD_kind_add &&
           tile_scalar_is_floating(rows_type(r, index)->scalar);
}

static bool share_vector(rows *r, int beside) {
    if (beside < 0 || r->last != 1 || rows_has_long_output(r) || r->online_sum_count) return false;
    search f = {.r = r, .beside = beside};
    sched_map map = sched_identity(&r->k.g->domain);
    for (size_t i = 0; i < r->k.g->reduction_count; i++) {
        if (!is_sum_of_floats(r, i)) return false;
        find_shared(&f, rows_source(r, i), &map);
    }
    return f.found;
}

/* The points whose tiles have no more rows than there are. */
static unsigned list_points(int64_t most, int *points) {
    static const int all[][3] = {{4, 2048, 8}, {4, 1024, 4}, {8, 1024, 8}, {2, 2048, 4},
                                 {2, 4096, 8}, {1, 8192, 8}, {1, 4096, 4}, {1, 1024, 4}};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (most < 0 || all[i][0] <= most || all[i][0] == 1)
            for (unsigned j = 0; j < 3; j++) points[count++] = all[i][j];
    return count / 3;
}

bool rows_build_with_vector(rows *r, int beside) {
    enum { POINTS = 8 };
    int points[POINTS * 3];
    if (!share_vector(r, beside)) return false;
    const tile_expr *params[] = {sched_add_param(&r->k, "rows"), sched_add_param(&r->k, "block"),
                                 sched_add_param(&r->k, "num_warps")};
    const tile_expr *parts[2];
    unsigned count = list_points(sched_constant(r->k.g->domain.extents[beside]), points);
    int64_t blocks = rows_count_others(r, beside, points[0]);
    bool splits = rows_may_split(r, points[1], blocks);
    rows_set_tiles(r, beside, params[0], params[1]);
    sched_add_tune(&r->k, params, 3, points, count);
    if (splits) rows_add_splits(r, points[1], blocks, 1, parts);
    sched_set_warps(&r->k, params[2]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    if (splits)
        rows_build_split(r, parts[0], parts[1]);
    else
        rows_build_tile_by_tile(r);
    return true;
}
