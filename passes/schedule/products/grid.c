/* The grid of a product's kernel. x: phases, which are fastest, and the tile's row; y: its column;
 * z: the batch, with the last batch dim fastest. */
#include "passes/schedule/products/product.h"

#include "lib/ir/syntax.h"

static const tile_expr *tiles_along(const product *p, unsigned d, const tile_expr *block) {
    schedule *s = p->k.s;
    return tile_expr_op(s->context, TILE_OP_ceildiv, sched_expr(s, p->k.g->domain.extents[d]),
                        block, NULL);
}

/* Returns whether the batch dim is a phase: a result that is stored interleaved has it, and one
 * operand does not, so that its tiles are read from L2 if the phases run side by side. */
static bool is_phase(const product *p, unsigned d) {
    enum { MOST_PHASES = 8 };
    bool repeated = false;
    int64_t extent = sched_constant(p->k.g->domain.extents[d]);
    for (unsigned i = 0; i < p->side_count; i++) {
        bool depends = false;
        for (unsigned n = 0; n < sched_type(p->k.s, p->sides[i].value)->rank; n++)
            depends |= sched_depends(&p->sides[i].map.at[n], d);
        repeated |= !depends;
    }
    return (p->k.g->moves || p->k.g->passed) && repeated && extent > 1 && extent <= MOST_PHASES;
}

/* The coordinates of a block along batch dims, the last of which is fastest; returns the rest. */
static tile_value split_batch(product *p, const unsigned *dims, unsigned count, bool all,
                              tile_value number) {
    sched_kernel *k = &p->k;
    for (unsigned i = 0; i < count; i++) {
        k->start[dims[i]] = number;
        if (all && i + 1 == count) break;
        tile_value extent = sched_number(k, sched_expr(k->s, k->g->domain.extents[dims[i]]));
        k->start[dims[i]] = tile_build_rem(&k->b, number, extent);
        number = tile_build_div(&k->b, number, extent);
    }
    return number;
}

void product_set_grid(product *p) {
    sched_kernel *k = &p->k;
    tile_context *context = k->s->context;
    const tile_expr *batches = tile_expr_int(context, 1), *phases = batches;
    unsigned dims[TILE_MAX_RANK], phase_dims[TILE_MAX_RANK], count = 0, phase_count = 0;
    for (unsigned d = p->m; d-- > 0;) {
        const tile_expr *extent = k->g->domain.extents[d];
        k->start[d] = tile_build_int(&k->b, 0);
        if (tile_expr_is(extent, 1)) continue;
        if (is_phase(p, d)) {
            phase_dims[phase_count++] = d;
            phases = tile_expr_multiply(context, sched_expr(k->s, extent), phases);
        } else {
            dims[count++] = d;
            batches = tile_expr_multiply(context, sched_expr(k->s, extent), batches);
        }
    }
    const tile_expr *block_m = tile_expr_param(context, "block_m"), *block_n = product_columns(p);
    const tile_expr *rows = tiles_along(p, p->m, block_m);
    const tile_expr *grid[] = {phase_count ? tile_expr_multiply(context, phases, rows) : rows,
                               tiles_along(p, p->n, block_n), batches};
    tile_function_set_grid(k->f, count ? 3 : 2, grid);
    tile_value x = tile_build_block_id(&k->b), y = {x.id + 1}, z = {x.id + 2};
    x = split_batch(p, phase_dims, phase_count, false, x);
    split_batch(p, dims, count, true, z);
    k->start[p->m] = tile_build_mul(&k->b, x, sched_number(k, block_m));
    k->start[p->n] = tile_build_mul(&k->b, y, sched_number(k, block_n));
}
