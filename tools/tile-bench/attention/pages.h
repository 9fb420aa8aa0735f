/* Keys in pages: key i of batch b is in page table[b, i / page], at i modulo the page's length.
 * Pages lie in an order that has nothing to do with the keys'. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_PAGES_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_PAGES_H

#include "tools/tile-bench/attention/inputs.h"

/* Of one batch, and in all; the attention's page is not 0. */
int64_t bench_pages_each(const bench_attention *attention);
int64_t bench_pages_count(const bench_attention *attention);
/* [batch, each] page numbers; the caller frees them. */
int32_t *bench_pages_table(const bench_attention *attention);

/* Writes pages of k or v (array 1 or 2), [pages, page, groups, d], from number `first` on, on all
 * cores. Behind the last key of a batch there are NaN. */
void bench_pages_fill(const bench_attention *attention, const bench_pattern *pattern,
                      bench_inputs inputs, unsigned array, int64_t first, int64_t count, void *out);

#endif
