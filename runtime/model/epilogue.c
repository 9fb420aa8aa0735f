/* What follows the loop of a product: threads compute the results from the sums while no products
 * run, unless other groups of warps or other blocks compute theirs meanwhile. */
#include "runtime/model/estimate.h"

/* Instructions' worth of a block's threads, and of one warpgroup, per cycle. (H200: a group norm
 * and two sigmoids after 1024 x 8192 x 8192 take 187 us if two groups alternate between tiles of
 * 128 x 128, and 191 if they share tiles of 256 x 128, of which a plain product takes less.) */
enum { PER_CYCLE = 120, OF_GROUP = 150 };

enum {
    PLAIN = 4, /* instructions for each sum, which the time of storing a tile contains */
    BYTES_OF_SUM = 4,
};

double point_time_epilogue(const point_estimate *s, double each, double resident, double loop) {
    const double sums = s->w->accumulator / BYTES_OF_SUM;
    const double cycles = most(s->w->once.epilogue - PLAIN * sums, 0);
    /* Not for sums that another product multiplies. Epilogues without reductions were not measured:
     * the time of storing a tile contains theirs. */
    if (s->w->dots != 1 || s->w->once.reduced < sums) return 0;
    if (s->strategy == TILE_STRATEGY_stream_k) each = s->each;
    if (s->made.ping_pong_fits) {
        /* While one group computes, the other one's products run. */
        const double own = cycles / (OF_GROUP * s->m->clock);
        return own + (each - 1) * most(own - loop, 0) / 2;
    }
    return (resident < 2 ? each : 1) * cycles / (PER_CYCLE * s->m->clock);
}
