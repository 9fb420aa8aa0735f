/* Long sums in f32, computed in chunks.
 *
 * A sequential sum of n terms has an error of up to n rounding units. Chunks of c terms, each
 * summed from 0 and then added to the previous ones, have an error of c + n / c. With c near the
 * square root of n, the error grows as the square root. Powers of four are close enough:
 *
 *     terms up to      2^18   2^22   2^26   2^31
 *     chunk             256   1024   4096   16384
 *     max. error       1280   5120  20480  147456   (rounding units)
 *
 * One extra addition per 256 terms has no measurable cost. The alternatives cost more: several
 * accumulators per thread need registers in the loop for the same bound, and a compensated sum
 * needs four instructions per term. The sum of previous chunks is not used in the loop. For
 * products, whose accumulators fill the registers, it is kept in shared memory. */
#include "passes/schedule/kernel/long.h"

#include "lib/ir/syntax.h"

enum { MIN_CHUNK = 256 };

bool sched_needs_chunks(int64_t terms) {
    return terms < 0 || terms > 2 * MIN_CHUNK;
}

tile_value sched_chunk(sched_kernel *k, tile_value terms) {
    static const int most[][2] = {
        {1 << 26, 4096}, {1 << 22, 1024}, {1 << 18, MIN_CHUNK}}; /* terms, chunk */
    tile_value chunk = tile_build_int(&k->b, 16384);
    for (unsigned i = 0; i < sizeof most / sizeof *most; i++)
        chunk =
            tile_build_select(&k->b, tile_build_le(&k->b, terms, tile_build_int(&k->b, most[i][0])),
                              tile_build_int(&k->b, most[i][1]), chunk);
    return chunk;
}

/* Products ------------------------------------------------------------------------------------- */

tile_value sched_alloc_chunked(sched_kernel *k, const tile_type *type) {
    tile_type draft = *type;
    draft.kind = TILE_TYPE_SHARED;
    return tile_build_alloc_shared(&k->b, tile_type_get(k->s->context, &draft));
}

/* The length of a chunk is a power of two, so a mask identifies its last step. */
sched_chunked_sum sched_begin_chunked(sched_kernel *k, tile_value buffer, const tile_type *type,
                                      const tile_expr *terms, const tile_expr *each,
                                      const tile_expr *unit) {
    tile_builder *b = &k->b;
    sched_chunked_sum sum = {.kept = buffer};
    tile_build_store_shared(b, tile_build_zero(b, type), sum.kept, NULL, 0);
    tile_value chunk = sched_chunk(k, sched_number(k, terms)), by = sched_number(k, unit);
    tile_value steps =
        tile_build_max(b, tile_build_div(b, chunk, sched_number(k, each)), tile_build_int(b, 1));
    sum.last = tile_build_sub(b, tile_build_mul(b, steps, by), by);
    return sum;
}

/* Adds the sum of a chunk to those before it. The last one, too: a thread's own sums and as many
 * elements of the buffer would need more registers than the loop.
 *
 * A sum that begins at 0 is never -0, so that adding 0 does not change it. Without this addition,
 * ptxas keeps a thread's sums in the registers from which they are stored, four adjacent ones each.
 * In the loop they then share banks with the operands (passes/lower/fma.c). */
static void keep_chunk(sched_kernel *k, const sched_chunked_sum *sum, tile_value own) {
    const tile_type *type = tile_value_type(k->f, own);
    tile_value all =
        tile_build_add(&k->b, tile_build_load_shared(&k->b, sum->kept, NULL, 0, type), own);
    all = tile_build_add(&k->b, all, tile_build_zero(&k->b, type));
    tile_build_store_shared(&k->b, all, sum->kept, NULL, 0);
}

tile_value sched_step_chunked(sched_kernel *k, const sched_chunked_sum *sum, tile_value step,
                              tile_value own) {
    const tile_type *type = tile_value_type(k->f, own);
    tile_value place = tile_build_and(&k->b, step, sum->last);
    tile_op full = tile_build_if_else(&k->b, tile_build_eq(&k->b, place, sum->last), &type, 1);
    tile_builder outside = k->b;
    k->b = tile_builder_at_end(k->f, tile_op_region(k->f, full, 0));
    keep_chunk(k, sum, own);
    tile_value zero = tile_build_zero(&k->b, type);
    tile_build_yield(&k->b, &zero, 1);
    k->b = tile_builder_at_end(k->f, tile_op_region(k->f, full, 1));
    tile_build_yield(&k->b, &own, 1);
    k->b = outside;
    return tile_op_result(k->f, full, 0);
}

tile_value sched_end_chunked(sched_kernel *k, const sched_chunked_sum *sum, tile_value own) {
    const tile_type *type = tile_value_type(k->f, own);
    keep_chunk(k, sum, own);
    return tile_build_load_shared(&k->b, sum->kept, NULL, 0, type);
}
