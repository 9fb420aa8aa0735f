#include "lib/analysis/reduced_sums.h"

#include "lib/ir/syntax.h"
#include "lib/layout/wgmma.h"

enum { ANY = 2 };

static int64_t known_extent(const void *user, const tile_type *type, unsigned d) {
    (void)user;
    return tile_type_dim(type, d);
}

/* The row dim for a reduction of the tile; ANY: it has other extents than m x n. */
static unsigned row_dim_of(const tile_type *type, int64_t axis, int64_t m, int64_t n,
                           tile_extent_of *extent_of, const void *user) {
    int64_t rows = 1, columns = 1;
    unsigned d = 0, first_column;
    if (type->kind != TILE_TYPE_TILE) return ANY;
    for (; d < type->rank && rows < m; d++) rows *= extent_of(user, type, d);
    first_column = d;
    for (; d < type->rank && columns <= n; d++) columns *= extent_of(user, type, d);
    if (rows != m || columns != n) return ANY;
    return axis >= (int64_t)first_column ? TILE_WGMMA_PLAIN : TILE_WGMMA_SWAPPED;
}

unsigned tile_row_dim_of_reductions(const tile_function *f, tile_op dot, const tile_type *sums,
                                    tile_extent_of *extent_of, const void *user) {
    const tile_region own = tile_op_at(f, dot)->parent;
    if (!extent_of) extent_of = known_extent;
    const int64_t m = extent_of(user, sums, 0), n = extent_of(user, sums, 1);
    unsigned found = ANY;
    for (uint32_t id = 1; id < f->op_count; id++) {
        const tile_op op = {id};
        if (f->ops[id].opcode != TILE_OP_reduce || f->ops[id].parent.id == own.id) continue;
        const unsigned row_dim =
            row_dim_of(tile_value_type(f, tile_operand_src(f, op)),
                       tile_op_attr_int(f, op, TILE_ATTR_axis, -1), m, n, extent_of, user);
        if (row_dim == ANY) continue;
        if (found != ANY && found != row_dim) return ANY;
        found = row_dim;
    }
    return found;
}
