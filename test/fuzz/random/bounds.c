/* Bounds of loops: unchanged, or moved to the limits of i32, possibly with large steps. The
 * coordinate of the original iterations is then recomputed:
 *
 *     for %k = 0 to 7 step 2 {..}       for %k = 2147483639 to 2147483647 step 2 {
 *                                         %i = (%k -
 *                                         2147483639) / 1 */
#include <stdint.h>

#include "test/fuzz/random/random.h"

static int64_t pick(gen *g, const int64_t *from, unsigned count) {
    return from[gen_below(g, count)];
}

/* A literal, or an argument, whose value the compiler does not know. */
static const char *number(gen *g, int64_t n) {
    bool given = g->argument_count <= MAX_GEN_ARGUMENTS - 12 && gen_chance(g, 50);
    return given ? gen_argument(g, (int)n, 1) : gen_text("%lld", (long long)n);
}

static bounds plain(gen *g, int end, int step) {
    const char *to = gen_chance(g, 50) ? gen_argument(g, end, 1) : gen_text("%d", end);
    return (bounds){"0", to, gen_text("%d", step), NULL, 1};
}

bounds gen_bounds(gen *g, int end, int step) {
    enum { FAR = 30 /* percent */ };
    if (!gen_chance(g, FAR)) return plain(g, end, step);
    int64_t count = end > 0 ? (end + step - 1) / step : 0;
    int64_t most = INT32_MAX / ((count ? count : 1) * (int64_t)step);
    const int64_t scales[] = {1, 1, 1, most, most > 7 ? 7 : 1, (int64_t)1 << gen_below(g, 20)};
    int64_t scale = pick(g, scales, 6);
    if (scale > most) scale = most;
    /* After the last iteration's value, and at most the next one's. */
    int64_t wide = step * scale, last = (count - 1) * wide;
    const int64_t ends[] = {last + 1, last + wide,
                            last + (int64_t)gen_below(g, (uint32_t)wide) + 1};
    int64_t stop = count ? pick(g, ends, 3) : -(int64_t)gen_below(g, 100);
    if (stop > INT32_MAX) stop = INT32_MAX;
    const int64_t begins[] = {0, INT32_MAX - (count ? stop : 0), INT32_MIN + (count ? 0 : 100),
                              -1 - (int64_t)gen_below(g, 100)};
    int64_t begin = pick(g, begins, 4);
    if (begin + stop > INT32_MAX) begin = INT32_MAX - stop;
    const char *from = number(g, begin), *to = number(g, begin + stop);
    const char *by = gen_chance(g, 40) ? number(g, wide) : gen_text("%lld", (long long)wide);
    return (bounds){from, to, by, from, scale};
}

const char *gen_counted(gen *g, const bounds *b, const char *variable) {
    if (!b->from) return variable;
    const char *name = gen_name(g, "i");
    if (b->scale == 1)
        gen_say(g, "%s = %s - %s", name, variable, b->from);
    else
        gen_say(g, "%s = (%s - %s) / %lld", name, variable, b->from, (long long)b->scale);
    return name;
}
