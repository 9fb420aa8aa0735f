#include "passes/schedule/products/window_letters.h"

#include <ctype.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"

static int64_t extent_at(const schedule *s, tile_value value, unsigned d) {
    return sched_constant(sched_dim((schedule *)(uintptr_t)s, sched_type(s, value), d));
}

bool window_letters_of(const schedule *s, tile_value array, window_letters *l) {
    *l = (window_letters){.rank = sched_type(s, array)->rank};
    for (unsigned d = 0; d < l->rank; d++) {
        char letter = (char)('a' + (int)d);
        l->dims[d][0] = letter;
        l->extents[(unsigned char)letter] = extent_at(s, array, d);
        if (l->extents[(unsigned char)letter] <= 0) return false;
    }
    return true;
}

void window_letters_join(const window_letters *l, bool without_units, char *all) {
    for (unsigned d = 0; d < l->rank; d++)
        for (const char *at = l->dims[d]; *at; at++)
            if (!without_units || l->extents[(unsigned char)*at] > 1) *all++ = *at;
    *all = 0;
}

static bool is_unit(const window_letters *l, char letter) {
    return l->extents[(unsigned char)letter] == 1;
}

/* Letters of extent 1 from `next` on that the dims of extent 1 after dim d leave for it. */
static unsigned count_spare_units(const schedule *s, tile_value result, const window_letters *l,
                                  unsigned d, const char *next) {
    unsigned letters = 0, dims = 0;
    while (next[letters] && is_unit(l, next[letters])) letters++;
    while (d + 1 + dims < l->rank && extent_at(s, result, d + 1 + dims) == 1) dims++;
    return letters > dims ? letters - dims : 0;
}

/* Distributes the letters over the dims of the result, of which each is a product of extents. */
static bool follow_reshape(const schedule *s, tile_value result, window_letters *l) {
    char all[4 * TILE_MAX_RANK * TILE_MAX_RANK], *next = all;
    window_letters_join(l, false, all);
    l->rank = sched_type(s, result)->rank;
    for (unsigned d = 0; d < l->rank; d++) {
        int64_t left = extent_at(s, result, d);
        char *end = l->dims[d];
        if (left <= 0) return false;
        while (*next && (left > 1 || count_spare_units(s, result, l, d, next))) {
            int64_t extent = l->extents[(unsigned char)*next];
            if (left % extent || end == l->dims[d] + 2 * TILE_MAX_RANK) return false;
            left /= extent;
            *end++ = *next++;
        }
        *end = 0;
        if (left != 1) return false;
    }
    return !*next;
}

static bool follow_transpose(const schedule *s, tile_op op, window_letters *l) {
    const tile_attr *order = tile_op_attr(s->compute, op, TILE_ATTR_order);
    const window_letters from = *l;
    if (l->rank < 2) return false;
    for (unsigned d = 0; d < l->rank; d++) {
        unsigned exchanged = d + 2 < l->rank ? d : 2 * l->rank - 3 - d;
        memcpy(l->dims[d], from.dims[order ? (unsigned)order->list[d] : exchanged],
               sizeof l->dims[d]);
    }
    return true;
}

static bool follow_window(const schedule *s, tile_op op, window_letters *l) {
    const tile_value result = tile_op_result(s->compute, op, 0);
    const unsigned count = tile_operands_strides(s->compute, op).count;
    const unsigned axis = (unsigned)sched_axis(s, op), rank = l->rank + count;
    if (tile_op_pads(s->compute, op) || rank > TILE_MAX_RANK) return false;
    for (unsigned d = l->rank; d-- > axis + count;)
        memcpy(l->dims[d + count], l->dims[d], sizeof l->dims[d]);
    for (unsigned i = 0; i < count; i++) {
        char letter = l->dims[axis + i][0], position = (char)toupper(letter);
        if (!islower(letter) || l->dims[axis + i][1] || l->windows[letter - 'a'].id) return false;
        l->windows[letter - 'a'] = op;
        l->number_of[letter - 'a'] = i;
        l->dims[axis + count + i][0] = position;
        l->dims[axis + count + i][1] = 0;
        l->extents[(unsigned char)letter] = extent_at(s, result, axis + i);
        l->extents[(unsigned char)position] = extent_at(s, result, axis + count + i);
        if (l->extents[(unsigned char)letter] <= 0 || l->extents[(unsigned char)position] <= 0)
            return false;
    }
    l->rank = rank;
    return true;
}

bool window_letters_follow(const schedule *s, tile_op op, window_letters *l) {
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_reshape: return follow_reshape(s, tile_op_result(s->compute, op, 0), l);
    case TILE_OP_transpose: return follow_transpose(s, op, l);
    case TILE_OP_window: return follow_window(s, op, l);
    default: return false;
    }
}
