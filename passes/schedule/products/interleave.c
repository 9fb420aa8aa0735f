/* Results whose rows are interleaved from several rows of the product, such as those of transposed
 * convolutions, whose phases alternate along a row of the result (lib/builder/expand_convolve.c):
 *
 *     product   [k * d + b, q]     row k * d + b has phase b of channel k
 *     result    [k, q * d + b]
 *
 * A block computes all d rows, so it can store whole rows of the result. Otherwise threads store
 * single elements with holes between them, which other threads fill. The tile
 *
 *     [block_m, block_n]   becomes [block_m / d, d, block_n], then [block_m / d, block_n, d], then
 *     [block_m / d, block_n * d]
 *
 * and is stored as a tile of a domain with M / d rows and N * d columns: m of the product is
 * m * d + n % d, and n is n / d.
 *
 * If the epilogue reads an array of the result's extents, such as a residual, the sums are
 * interleaved before it. So its loads are contiguous as well. */
#include "passes/schedule/products/product.h"

/* The number by which the coordinate takes the lowest digit of the dim; 0: it takes none. */
static int64_t find_digit(const sched_coordinate *at, unsigned dim) {
    const sched_index *index = at->index;
    if (!index || index->rank) return 0;
    bool bare = !index->a.index && !index->a.offset && index->a.dim == (int)dim;
    if (index->kind == SCHED_REM && bare && index->by.expr) return sched_constant(index->by.expr);
    int64_t found = find_digit(&index->a, dim);
    return found ? found : find_digit(&index->b, dim);
}

/* Replaces the product's m and n by those of the interleaved rows. */
static sched_map interleave(const product *p, const sched_map *map, unsigned rank, int64_t count) {
    schedule *s = p->k.s;
    const tile_expr *by = tile_expr_int(s->context, count);
    const sched_coordinate m = sched_dim_coordinate(p->m), n = sched_dim_coordinate(p->n);
    const sched_coordinate low = sched_computed(s, SCHED_REM, &n, NULL, by);
    sched_map dims = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < p->k.g->domain.rank && d < TILE_MAX_RANK; d++)
        dims.at[d] = sched_dim_coordinate(d);
    dims.at[p->m] = sched_computed(s, SCHED_PAIR, &m, &low, by);
    dims.at[p->n] = sched_computed(s, SCHED_DIV, &n, NULL, by);
    return sched_substitute(s, map, rank, &dims);
}

bool product_find_interleaved(const product *p, const sched_output *output,
                              product_interleaved *out) {
    schedule *s = p->k.s;
    const tile_value value = s->arrays[output->array].value;
    const unsigned rank = sched_type(s, value)->rank;
    unsigned order[TILE_MAX_RANK];
    const sched_shape shape = sched_shape_of(s, output->array, value);
    if (output->part.id || p->k.g->domain.rank > TILE_MAX_RANK) return false;
    sched_memory_order(s, &shape, order);
    const sched_coordinate *last = &output->map.at[order[rank - 1]];
    if (!sched_depends(last, p->n)) return false;
    out->count = find_digit(last, p->m);
    const int64_t rows = sched_constant(p->k.g->domain.extents[p->m]);
    if (out->count < 2 || (out->count & (out->count - 1)) || rows % out->count) return false;
    out->map = interleave(p, &output->map, rank, out->count);
    return !sched_depends(&out->map.at[order[rank - 1]], p->m);
}

/* ---------------------------------------------------------------------------------------------- */

static tile_value turn(product *p, tile_value tile, const tile_expr *rows, const tile_expr *columns,
                       const tile_expr *count) {
    static const int64_t order[] = {0, 2, 1};
    sched_kernel *k = &p->k;
    tile_context *context = k->s->context;
    const tile_attr attr = {.id = TILE_ATTR_order, .list = order, .count = 3};
    tile_type draft = *tile_value_type(k->f, tile);
    draft.rank = 3;
    draft.dims[0] = rows;
    draft.dims[1] = count;
    draft.dims[2] = columns;
    tile = tile_build_reshape(&k->b, tile, TILE_NO_VALUE, tile_type_get(context, &draft));
    const tile_segment segments[] = {{tile, NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_transpose, segments, 1, NULL, &attr, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_set_list(k->f, op, TILE_ATTR_order, order, 3);
    draft.rank = 2;
    draft.dims[1] = tile_expr_multiply(context, columns, count);
    return tile_build_reshape(&k->b, tile_op_result(k->f, op, 0), TILE_NO_VALUE,
                              tile_type_get(context, &draft));
}

/* What the kernel has of the product's rows, while it computes interleaved rows. */
typedef struct product_rows {
    sched_domain domain;
    tile_value start_m, start_n;
} product_rows;

/* Returns the product's tile as one of interleaved rows, which become those of the kernel. */
static tile_value enter_rows(product *p, const product_interleaved *rows, tile_value tile,
                             product_rows *before) {
    sched_kernel *k = &p->k;
    tile_context *context = k->s->context;
    const tile_expr *count = tile_expr_int(context, rows->count),
                    *block_m = product_param(p, "block_m"), *block_n = product_param(p, "block_n");
    const tile_expr *whole =
        tile_expr_op(context, TILE_OP_eq, tile_expr_op(context, TILE_OP_rem, block_m, count, NULL),
                     tile_expr_int(context, 0), NULL);
    const tile_expr *height = tile_expr_op(context, TILE_OP_div, block_m, count, NULL);
    sched_domain *domain = &k->g->domain;
    tile_value by = tile_build_int(&k->b, rows->count);
    *before = (product_rows){*domain, k->start[p->m], k->start[p->n]};
    tile_function_add_where(k->f, whole);
    tile = turn(p, tile, height, block_n, count);
    domain->extents[p->m] = tile_expr_op(context, TILE_OP_div, domain->extents[p->m], count, NULL);
    domain->extents[p->n] = tile_expr_multiply(context, domain->extents[p->n], count);
    k->start[p->m] = tile_build_div(&k->b, k->start[p->m], by);
    k->start[p->n] = tile_build_mul(&k->b, k->start[p->n], by);
    sched_set_tile(k, p->m, 0, height);
    sched_set_tile(k, p->n, 1, tile_expr_multiply(context, block_n, count));
    return tile;
}

static void leave_rows(product *p, const product_rows *before) {
    sched_kernel *k = &p->k;
    k->g->domain = before->domain;
    k->start[p->m] = before->start_m;
    k->start[p->n] = before->start_n;
    product_set_sums(p);
}

void product_store_interleaved(product *p, const sched_output *output,
                               const product_interleaved *rows, tile_value tile) {
    product_rows before;
    tile = enter_rows(p, rows, tile, &before);
    if (tile.id) sched_store_output(&p->k, output, &rows->map, tile);
    leave_rows(p, &before);
}

/* Epilogues of interleaved rows ---------------------------------------------------------------- */

/* A search for the elements of the product that a value is computed from. */
typedef struct sums_search {
    product *p;
    const sched_map *sums; /* where they must be */
    sched_visited_values visits;
    unsigned depth;
} sums_search;

/* Returns whether the value at the map is computed from arrays, and from the elements of the
 * product at `sums` alone. */
static bool reads_sums(sums_search *search, tile_value value, const sched_map *map) {
    enum { DEEP = 256 };
    schedule *s = search->p->k.s;
    const tile_op op = tile_value_def(s->compute, value);
    const tile_type *type = sched_type(s, value);
    bool fits = search->depth++ < DEEP;
    if (op.id && op.id == search->p->op.id) {
        fits &= sched_same_map(map, search->sums, type->rank);
    } else if (op.id && type->kind == TILE_TYPE_TENSOR &&
               sched_find_input(s, search->p->k.g, value) < 0 &&
               sched_visit_first(s, &search->visits, value, map)) {
        fits &= tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE) ||
                sched_only_moves(s, op);
        for (unsigned i = 0; fits && i < tile_op_operand_count(s->compute, op); i++) {
            const sched_map at = sched_operand_map(s, op, 0, i, map);
            fits = reads_sums(search, tile_op_operand(s->compute, op, i), &at);
        }
    }
    search->depth--;
    return fits && !s->failed;
}

/* The sums in a buffer, from which threads can take contiguous elements of interleaved rows. */
static tile_value reload(product *p, tile_value sums) {
    sched_kernel *k = &p->k;
    tile_type draft = *tile_value_type(k->f, sums);
    draft.kind = TILE_TYPE_SHARED;
    tile_value buffer = tile_build_alloc_shared(&k->b, tile_type_get(k->s->context, &draft));
    tile_build_store_shared(&k->b, sums, buffer, NULL, 0);
    return tile_build_load_shared(&k->b, buffer, NULL, 0, NULL);
}

bool product_build_interleaved(product *p, tile_value sums) {
    sched_kernel *k = &p->k;
    schedule *s = k->s;
    const sched_output *output = &k->g->outputs[0];
    sched_domain domain = {.rank = p->depth};
    product_interleaved rows;
    product_rows before;
    memcpy(domain.extents, k->g->domain.extents, sizeof domain.extents);
    if (k->g->output_count != 1 || p->dual.id || p->groups.count || !product_reads_tile(p) ||
        !product_find_interleaved(p, output, &rows))
        return false;
    const sched_map identity = sched_identity(&domain),
                    at = interleave(p, &identity, domain.rank, rows.count);
    const tile_value value = sched_output_value(s, output),
                     result = tile_op_result(s->compute, p->op, 0);
    const tile_type *working = sched_compute_type(s, sched_element(s, result));
    sums_search search = {.p = p, .sums = &at};
    if (!reads_sums(&search, value, &rows.map)) return false;
    tile_value tile = enter_rows(p, &rows, reload(p, sums), &before);
    if (tile.id) {
        sched_remember(k, result, &at, working, sched_convert(k, tile, working));
        tile =
            sched_broadcast_to_tile(k, sched_value(k, value, &rows.map, sched_element(s, value)));
    }
    if (tile.id) sched_store_output(k, output, &rows.map, tile);
    leave_rows(p, &before);
    return true;
}
