#include "tools/tile-bench/random/draw.h"

#include <math.h>

#include "tools/tile-bench/common/statistics.h"

/* A launch takes at most some milliseconds on a data center GPU. */
static const double max_flop = 4e12;

enum { LEAST_EXTENT = 32, LEAST_LENGTH = 16, TRIALS = 10000 };

int64_t bench_draw_log(uint64_t *state, int64_t least, int64_t most) {
    double share = (double)bench_random(state, UINT64_C(1) << 53) * 0x1p-53;
    double low = log((double)least), high = log((double)most + 1);
    int64_t drawn = (int64_t)exp(low + share * (high - low));
    return drawn < least ? least : drawn > most ? most : drawn;
}

/* Each problem has a sequence of random numbers of its own. */
static uint64_t state_of(const bench_draw *draw, unsigned index) {
    return draw->seed * UINT64_C(0xD1342543DE82EF95) + index * UINT64_C(0xAF251AF3B0F025B5);
}

unsigned bench_draw_one(const bench_draw *draw, unsigned index, unsigned what, unsigned count) {
    uint64_t state = state_of(draw, index) ^ (what + UINT64_C(1)) * UINT64_C(0x9FB21C651E98DF25);
    return (unsigned)bench_random(&state, count);
}

static int64_t draw_multiple(uint64_t *state, int64_t multiple, int64_t least, int64_t most) {
    int64_t units = (least + multiple - 1) / multiple, last = most / multiple;
    return multiple * bench_draw_log(state, units, last > units ? last : units);
}

static bool fits(const bench_draw *draw, double bytes, double flop) {
    return bytes >= draw->min_bytes && bytes <= draw->max_bytes && flop <= max_flop;
}

bool bench_draw_product(const bench_draw *draw, unsigned index, bench_product *p) {
    uint64_t state = state_of(draw, index);
    int64_t multiple = draw->classes[index % draw->class_count];
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        bool aligned = bench_random(&state, 2) || p->transposed_a; /* m is then its pitch */
        p->m = draw_multiple(&state, aligned ? multiple : 1, 1,
                             draw->max_m ? draw->max_m : BENCH_LARGEST_RANDOM);
        p->n = draw_multiple(&state, multiple, LEAST_EXTENT, BENCH_LARGEST_RANDOM);
        p->k = draw_multiple(&state, multiple, LEAST_EXTENT, BENCH_LARGEST_RANDOM);
        if (fits(draw, bench_product_read_bytes(p) + bench_product_write_bytes(p),
                 bench_product_flop(p)))
            return true;
    }
    return false;
}

bool bench_draw_attention(const bench_draw *draw, unsigned index, bench_attention *a) {
    static const int64_t shared[] = {1, 1, 4, 8}, depths[] = {64, 96, 128, 256};
    uint64_t state = state_of(draw, index);
    int64_t multiple = draw->classes[index % draw->class_count];
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        a->m = draw_multiple(&state, multiple, LEAST_LENGTH, BENCH_LARGEST_RANDOM);
        a->n = draw_multiple(&state, multiple, LEAST_LENGTH, BENCH_LARGEST_RANDOM);
        if (a->n < a->m || bench_random(&state, 3)) a->n = a->m;
        a->batch = bench_draw_log(&state, 1, 32);
        a->groups = bench_draw_log(&state, 1, 32);
        a->heads = a->groups * shared[bench_random(&state, 4)];
        a->d = depths[bench_random(&state, 4)];
        a->causal = bench_random(&state, 2);
        if (a->heads <= 64 &&
            fits(draw, bench_attention_read_bytes(a) + bench_attention_write_bytes(a),
                 bench_attention_flop(a)))
            return true;
    }
    return false;
}

bool bench_draw_rows(const bench_draw *draw, unsigned index, bench_rows *r) {
    uint64_t state = state_of(draw, index);
    int64_t multiple = draw->classes[index % draw->class_count];
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        r->n = draw_multiple(&state, multiple, LEAST_LENGTH, BENCH_LARGEST_RANDOM);
        r->m = bench_draw_log(&state, 1, 1 << 20);
        /* As for x and a result of its shape, so that all operations get the same shape. */
        if (fits(draw, 2.0 * tile_scalar_bytes(r->type->operand) * (double)r->m * (double)r->n, 0))
            return true;
    }
    return false;
}
