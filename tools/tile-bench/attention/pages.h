/* Paged keys and values: key i of batch b is in page table[b, i / page], at index i modulo the
 * page's length. The order of the pages in memory is unrelated to that of the keys. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_PAGES_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_PAGES_H

#include "tools/tile-bench/attention/inputs.h"

/* Pages of one batch, and in total; the attention's page must not be 0. */
int64_t bench_pages_each(const bench_attention *attention);
int64_t bench_pages_count(const bench_attention *attention);
/* Returns the [batch, each] page numbers; the caller frees them. */
int32_t *bench_pages_table(const bench_attention *attention);

/* Writes pages of k or v (array 1 or 2), [pages, page, groups, d], starting at number `first`, on
 * all cores. Elements after the last key of a batch are NaN. */
void bench_pages_fill(const bench_attention *attention, const bench_pattern *pattern,
                      bench_inputs inputs, unsigned array, int64_t first, int64_t count, void *out);

#endif
