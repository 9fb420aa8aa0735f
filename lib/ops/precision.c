/* The parts of an f32. */
#include "lib/ops/precision.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/support/float16.h"
#include "lib/support/scalar.h"

const tile_precision *tile_precision_of(tile_word precision) {
    static const tile_precision whole = {1, 1, {{0, 0}}}, two = {2, 3, {{0, 1}, {1, 0}, {0, 0}}},
                                three = {3, 6, {{0, 2}, {1, 1}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}};
    static_assert(TILE_WORDS_precision == 4, "a word has no row");
    switch (precision) {
    case TILE_WORD_precision_bf16x3: return &two;
    case TILE_WORD_precision_bf16x6: return &three;
    default: return &whole; /* ieee, tf32, or no word */
    }
}

static double without_low_bits(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return isnan(value) ? value : tile_tf32_to_float(bits);
}

void tile_split_parts(tile_word precision, double value, double parts[TILE_MAX_PARTS]) {
    unsigned count = tile_precision_of(precision)->part_count;
    for (unsigned i = 0; i < TILE_MAX_PARTS; i++) parts[i] = 0;
    parts[0] = precision == TILE_WORD_precision_tf32 ? without_low_bits(value) : value;
    for (unsigned i = 0; count > 1 && i < count; i++) {
        parts[i] = tile_scalar_round(TILE_bf16, value);
        if (!isfinite(parts[i])) return;
        value -= parts[i];
    }
}
