/* Scans of rows that are longer than a tile, or of unknown length: chunk by chunk.
 *
 * A block has a row, or several columns, and loops along it from the start of the scan. Each chunk
 * is a tile, which is scanned separately; the result of the previous chunks is carried:
 *
 *     %all = for %i = 0 to %n step block iter (%before = 0.0 : tile<f32[1, 1]>) {
 *       %t = load %x[%row, %i] : [1, block]
 *       store %before + scan_add(%t, axis = 1), %y[%row, %i]
 *       yield %before + reduce_add(%t, axis = 1)
 *     }
 *
 * The carried sum of a float consists of two: of the most recent chunks, and of all earlier ones,
 * as in other long sums (kernel/long.c). Its error grows with the square root of the number of
 * chunks.
 *
 * Element-wise functions of a long scan are computed in the same loop. Every other scan or
 * reduction becomes a separate kernel (sched_is_chunked_scan): a scan in the other direction cannot
 * share the loop, and neither can one that is needed first. */
#include "passes/schedule/rows/rows.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/ops/combine.h"
#include "passes/schedule/kernel/long.h"
#include "passes/schedule/rows/look_back.h"

bool rows_combines(const rows *r) {
    return tile_combines_by_function(tile_op_opcode(r->k.s->compute, rows_op(r, 0)));
}

bool rows_can_scan_chunks(const rows *r) {
    bool scans = tile_op_opcode(r->k.s->compute, rows_op(r, 0)) == TILE_OP_scan;
    return r->k.g->reduction_count == 1 && (scans || rows_combines(r));
}

/* Values carried from chunk to chunk ----------------------------------------------------------- */

enum { NEAR, FAR, MAX_CARRIED };

typedef struct chain {
    rows *r;
    const tile_type *row; /* the type of a tile reduced along the axis */
    unsigned carried;
    tile_value at[MAX_CARRIED];
    tile_value mask; /* chunks per NEAR sum, minus 1: a mask of the chunk number */
} chain;

static bool is_sum_of_floats(const rows *r) {
    return rows_kind(r, 0) == TILE_WORD_kind_add &&
           tile_scalar_is_floating(rows_type(r, 0)->scalar);
}

static chain begin_chain(rows *r, tile_value chunks) {
    chain c = {.r = r, .row = rows_row_type(r, rows_type(r, 0))};
    c.carried = is_sum_of_floats(r) ? MAX_CARRIED : 1;
    for (unsigned i = 0; i < c.carried; i++)
        c.at[i] = tile_build_splat(&r->k.b, rows_identity_of(r, 0), c.row);
    if (c.carried > 1)
        c.mask = tile_build_sub(&r->k.b, sched_chunk(&r->k, chunks), tile_build_int(&r->k.b, 1));
    return c;
}

/* The result of all previous chunks. */
static tile_value before_chunk(chain *c) {
    return c->carried == 1 ? c->at[NEAR] : rows_combine(c->r, 0, c->at[FAR], c->at[NEAR]);
}

/* Adds the chunk to the previous ones. number: its position in loop order. */
static void add_chunk(chain *c, tile_value elements, tile_value number) {
    tile_builder *b = &c->r->k.b;
    const char *kind = tile_op_attr_text(c->r->k.s->compute, rows_op(c->r, 0), TILE_ATTR_kind);
    tile_value own = rows_reduce(c->r, elements, kind);
    if (!own.id) return;
    tile_value near_sum = rows_combine(c->r, 0, c->at[NEAR], own);
    if (c->carried == 1) {
        c->at[NEAR] = near_sum;
        return;
    }
    tile_value full = tile_build_eq(b, tile_build_and(b, number, c->mask), c->mask);
    tile_value zero = tile_build_splat(b, rows_identity_of(c->r, 0), c->row);
    tile_value far = rows_combine(c->r, 0, c->at[FAR], near_sum);
    c->at[FAR] = tile_build_select(b, full, far, c->at[FAR]);
    c->at[NEAR] = tile_build_select(b, full, zero, near_sum);
}

/* The kernel ----------------------------------------------------------------------------------- */

static bool is_reverse(const rows *r) {
    return tile_op_has_attr(r->k.s->compute, rows_op(r, 0), TILE_ATTR_reverse);
}

/* Elements of the chunk after the end of the row have no effect: a forward scan reaches them last;
 * for a reverse scan they are masked. */
static void build_chunk(rows *r, void *user, tile_value number, tile_value *carried) {
    chain *c = user; /* its values are the carried ones */
    sched_kernel *k = &r->k;
    (void)carried;
    tile_value elements = rows_elements_of(r, 0);
    if (!elements.id) return;
    tile_op scan = rows_build_along(r, TILE_OP_scan, elements, rows_op(r, 0));
    if (!scan.id) return;
    tile_value before = sched_broadcast_to_tile(k, before_chunk(c));
    tile_value all = rows_combine(r, 0, before, tile_op_result(k->f, scan, 0));
    rows_remember_results(r, 0, all, TILE_NO_VALUE);
    rows_store_outputs(r, false);
    add_chunk(c, elements, number);
}

rows_chunks rows_count_chunks(rows *r) {
    sched_kernel *k = &r->k;
    tile_builder *b = &k->b;
    rows_chunks chunks = {.zero = tile_build_int(b, 0), .one = tile_build_int(b, 1)};
    chunks.block = sched_number(k, k->block[r->t]);
    chunks.count =
        tile_build_ceildiv(b, sched_number(k, sched_expr(k->s, r->extent)), chunks.block);
    chunks.last = tile_build_sub(b, chunks.count, chunks.one);
    return chunks;
}

void rows_loop_over_chunks(rows *r, const rows_chunks *chunks, bool reverse, tile_value *carried,
                           unsigned count, rows_chunk_body *build_body, void *user) {
    sched_kernel *k = &r->k;
    tile_op loop =
        tile_build_for_loop(&k->b, chunks->zero, chunks->count, chunks->one, carried, count);
    tile_builder outside = k->b;
    tile_region body = tile_op_region(k->f, loop, 0);
    k->b = tile_builder_at_end(k->f, body);
    tile_value number = tile_region_arg(k->f, body, 0);
    for (unsigned i = 0; i < count; i++) carried[i] = tile_region_arg(k->f, body, i + 1);
    tile_value place = reverse ? tile_build_sub(&k->b, chunks->last, number) : number;
    k->start[r->axis] = tile_build_mul(&k->b, place, chunks->block);
    build_body(r, user, number, carried);
    tile_build_yield(&k->b, carried, count);
    if (r->loads_ahead && !k->s->failed) rows_load_ahead(r, loop);
    for (unsigned i = 0; i < count; i++) carried[i] = tile_op_result(k->f, loop, i);
    k->b = outside;
}

static void build_chunks(rows *r) {
    size_t mark = sched_enter(&r->k);
    rows_chunks chunks = rows_count_chunks(r);
    chain c = begin_chain(r, chunks.count);
    rows_loop_over_chunks(r, &chunks, is_reverse(r), c.at, c.carried, build_chunk, &c);
    sched_leave(&r->k, mark);
}

/* Chunks of several blocks ----------------------------------------------------------------------
 */

static bool combine_prefixes(rows *r, void *user, const tile_value *before, const tile_value *own,
                             tile_value *to) {
    (void)user;
    *to = rows_combine(r, 0, *before, *own);
    return to->id != 0;
}

static bool reduce_tile(rows *r, void *user, const tile_value *tiles, tile_value *to) {
    (void)user;
    *to = rows_reduce(r, *tiles, tile_op_attr_text(r->k.s->compute, rows_op(r, 0), TILE_ATTR_kind));
    return to->id != 0;
}

static tile_value identity(rows *r, void *user, unsigned index) {
    (void)user;
    return rows_identity_of(r, index);
}

/* A block has a chunk. */
static void build_own_chunk(rows *r) {
    sched_kernel *k = &r->k;
    const rows_prefix prefix = {.count = 1,
                                .elements = {rows_type(r, 0)},
                                .combine = combine_prefixes,
                                .total = reduce_tile,
                                .nothing = identity};
    rows_look_back w;
    tile_value own, before;
    size_t mark = sched_enter(k);
    rows_take_chunk(r, &prefix, is_reverse(r), &w);
    tile_value elements = rows_elements_of(r, 0);
    if (!elements.id || !reduce_tile(r, NULL, &elements, &own)) return;
    rows_publish_total(&w, &own);
    tile_op scan = rows_build_along(r, TILE_OP_scan, elements, rows_op(r, 0));
    if (!scan.id || !rows_wait_for_prefix(&w, &own, &before)) return;
    rows_end_chunk(&w);
    before = sched_broadcast_to_tile(k, before);
    tile_value all = rows_combine(r, 0, before, tile_op_result(k->f, scan, 0));
    rows_remember_results(r, 0, all, TILE_NO_VALUE);
    rows_store_outputs(r, false);
    sched_leave(k, mark);
}

/* A block for each row, or for each chunk of few rows. */
void rows_build_scan(rows *r) {
    sched_kernel *k = &r->k;
    void (*const build[])(rows *) = {rows_combines(r) ? rows_build_combined_chunk : build_own_chunk,
                                     rows_combines(r) ? rows_build_combined : build_chunks};
    if (r->look_back != ROWS_LOOK_BACK_IF) {
        build[r->look_back == ROWS_LOOK_BACK_NEVER](r);
        return;
    }
    tile_value separate =
        tile_build_eq(&k->b, sched_number(k, r->looks_back), tile_build_int(&k->b, 1));
    tile_op choice = tile_build_if_else(&k->b, separate, NULL, 0);
    const tile_builder outside = k->b;
    for (unsigned i = 0; i < 2 && !k->s->failed; i++) {
        tile_value start[SCHED_MAX_DIMS];
        memcpy(start, k->start, sizeof start);
        k->b = tile_builder_at_end(k->f, tile_op_region(k->f, choice, i));
        build[i](r);
        if (!k->s->failed) tile_build_yield(&k->b, NULL, 0);
        memcpy(k->start, start, sizeof start);
    }
    k->b = outside;
}
