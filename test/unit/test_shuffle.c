/* Simulates conversions by shuffles for every thread and compares with the expected holders. */
#include "lib/layout/shuffle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/layout/layout.h"
#include "test/unit/layout_fixture.h"

enum { LANES = 32 };

static bool is_odd(uint32_t bits) {
    return __builtin_popcount(bits) & 1;
}

/* One warp's registers, by lane. */
typedef struct warp_registers {
    uint32_t *at;
    uint32_t count;
} warp_registers;

static warp_registers make_registers(uint32_t count) {
    return (warp_registers){calloc((size_t)LANES * count, sizeof(uint32_t)), count};
}

static void step(warp_registers r, const tile_shuffle_step *s, uint32_t warp) {
    for (uint32_t lane = 0; lane < LANES; lane++) {
        if (!is_odd((lane | warp << TILE_LANE_BITS) & s->threads)) continue;
        for (uint32_t i = 0; i < r.count; i++) {
            uint32_t other = i ^ s->exchanged, *own = r.at + lane * r.count;
            cr_assert_lt(other, r.count);
            if (other < i) continue;
            uint32_t kept = own[i];
            own[i] = own[other];
            own[other] = kept;
        }
    }
}

static uint32_t reads_from(const tile_shuffle_plan *p, uint32_t thread, uint32_t round) {
    uint32_t lane = tile_shuffle_offset(p, round);
    for (unsigned i = 0; i < TILE_THREAD_BITS; i++)
        if (thread >> i & 1) lane ^= p->from[i];
    return lane;
}

static void expect_warp(const tile_layout *from, const tile_layout *to, const tile_shuffle_plan *p,
                        uint32_t warp) {
    uint32_t rounds = 1u << p->round_bits;
    warp_registers sent = make_registers(1u << from->reg_bits), taken = make_registers(rounds);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t i = 0; i < sent.count; i++)
            sent.at[lane * sent.count + i] = tile_layout_apply(from, i, lane, warp);
    for (unsigned i = 0; i < p->sends; i++) step(sent, &p->send[i], warp);
    for (uint32_t t = 0; t < rounds; t++)
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint32_t other = reads_from(p, lane | warp << TILE_LANE_BITS, t);
            cr_assert_lt(other, LANES);
            if (p->exchanges) cr_assert_eq(other, lane ^ tile_shuffle_offset(p, t));
            taken.at[lane * rounds + t] = sent.at[other * sent.count + tile_shuffle_sent(p, t)];
        }
    for (unsigned i = 0; i < p->takes; i++) step(taken, &p->take[i], warp);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t t = 0; t < rounds; t++) {
            uint32_t wanted = tile_layout_apply(to, tile_shuffle_result(p, t), lane, warp);
            cr_assert_eq(taken.at[lane * rounds + t], wanted, "warp %u lane %u round %u", warp,
                         lane, t);
        }
    free(sent.at);
    free(taken.at);
}

/* Words are assembled in rounds that each read from one lane. */
static void expect_words(const tile_shuffle_plan *p, unsigned element_bytes) {
    cr_assert_leq(p->word_bits, p->round_bits);
    cr_assert(element_bytes << p->word_bits <= 4 || !p->word_bits);
    for (unsigned i = 0; i < p->word_bits; i++) cr_assert_eq(p->offset[i], 0);
}

static bool converts(const tile_layout *from, const tile_layout *to, unsigned element_bytes) {
    tile_shuffle_plan p;
    if (!tile_shuffle_find(from, to, element_bytes, &p)) return false;
    expect_words(&p, element_bytes);
    for (uint32_t warp = 0; warp < 1u << from->warp_bits; warp++) expect_warp(from, to, &p, warp);
    return true;
}

static void fill(tile_layout *layout, const uint32_t *vectors, unsigned registers, unsigned warps) {
    layout->reg_bits = (uint8_t)registers;
    layout->warp_bits = (uint8_t)warps;
    memcpy(layout->reg, vectors, sizeof *vectors * registers);
    memcpy(layout->lane, vectors + registers, sizeof layout->lane);
    memcpy(layout->warp, vectors + registers + TILE_LANE_BITS, sizeof *vectors * warps);
}

static void next_order(unsigned *order, unsigned count, unsigned number) {
    for (unsigned i = 0; i < count; i++) order[i] = i;
    for (unsigned i = count; i > 1; number /= i--) {
        unsigned k = number % i, kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

/* All permutations of the bits of registers and lanes: 3 + 5 of them. */
Test(shuffle, all_orders_of_bits) {
    enum { REGISTERS = 3, BITS = REGISTERS + TILE_LANE_BITS, ORDERS = 40320 };
    const uint32_t dims[] = {1u << BITS};
    uint32_t plain[BITS], other[BITS];
    for (unsigned i = 0; i < BITS; i++) plain[i] = 1u << i;
    tile_layout from = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 1), to = from;
    fill(&from, plain, REGISTERS, 0);
    for (unsigned number = 0; number < ORDERS; number++) {
        unsigned order[BITS];
        next_order(order, BITS, number);
        for (unsigned i = 0; i < BITS; i++) other[i] = 1u << order[i];
        fill(&to, other, REGISTERS, 0);
        cr_assert(converts(&from, &to, 1u << number % 4), "order %u", number);
    }
}

static uint32_t random_bits(uint32_t *state, unsigned bits) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8 & ((1u << bits) - 1);
}

/* Draws linearly independent basis vectors. */
static void random_basis(uint32_t *state, uint32_t *vectors, unsigned bits) {
    for (unsigned i = 0; i < bits; i++) vectors[i] = 1u << i;
    for (unsigned i = 0; i < 4 * bits; i++) {
        unsigned a = random_bits(state, 16) % bits, b = random_bits(state, 16) % bits;
        if (a == b) continue;
        vectors[a] ^= vectors[b];
        if (random_bits(state, 1)) continue;
        uint32_t kept = vectors[a];
        vectors[a] = vectors[b];
        vectors[b] = kept;
    }
}

/* Any linear layouts. The warp bits of both are equal, except that lane and register bits may be
 * mixed in. */
Test(shuffle, random_layouts) {
    uint32_t state = 12345;
    for (unsigned turn = 0; turn < 4000; turn++) {
        enum { MOST = 6 };
        unsigned registers = random_bits(&state, 8) % 5, warps = random_bits(&state, 8) % 3;
        unsigned inside = registers + TILE_LANE_BITS, bits = inside + warps;
        uint32_t a[16], b[16], mixed[16], dims[] = {1u << bits};
        random_basis(&state, a, bits);
        random_basis(&state, mixed, inside); /* how b's bases are combined from a's */
        for (unsigned i = 0; i < bits; i++) {
            uint32_t of = i < inside ? mixed[i] : random_bits(&state, inside) | 1u << i;
            b[i] = 0;
            for (unsigned k = 0; k < bits; k++)
                if (of >> k & 1) b[i] ^= a[k];
        }
        tile_layout from = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 1), to = from;
        fill(&from, a, registers, warps);
        fill(&to, b, registers, warps);
        cr_assert_null(tile_layout_find_fault(&to));
        cr_assert(converts(&from, &to, 1u << random_bits(&state, 2)), "turn %u", turn);
    }
}

/* Elements that several lanes hold, on either side: the sources that are found are correct, and
 * elements that lanes hold are found. */
Test(shuffle, repeated_elements) {
    uint32_t state = 99;
    unsigned found = 0;
    for (unsigned turn = 0; turn < 4000; turn++) {
        unsigned bits = 3 + random_bits(&state, 8) % 4, warps = random_bits(&state, 8) % 2;
        uint32_t dims[] = {1u << bits};
        tile_layout both[2];
        for (unsigned side = 0; side < 2; side++) {
            uint32_t vectors[16] = {0}, basis[16];
            unsigned own = bits > TILE_LANE_BITS ? bits - TILE_LANE_BITS : 0;
            unsigned registers = own + random_bits(&state, 8) % (bits - own + 1), at = 0;
            both[side] = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 1);
            random_basis(&state, basis, bits);
            for (; at < registers; at++) vectors[at] = basis[at];
            unsigned first = random_bits(&state, 8) % (TILE_LANE_BITS - (bits - registers) + 1);
            for (unsigned i = 0; at < bits; i++) vectors[registers + first + i] = basis[at++];
            fill(&both[side], vectors, registers, warps);
            cr_assert_null(tile_layout_find_fault(&both[side]));
        }
        found += converts(&both[0], &both[1], 1u << random_bits(&state, 2));
    }
    cr_assert_eq(found, 4000);
}

/* Across warps, or between tiles of different extents, there is no such conversion. */
Test(shuffle, none_across_warps) {
    const uint32_t dims[] = {4, 64}, turned[] = {64, 4};
    tile_shuffle_plan p;
    tile_layout from = tile_layout_blocked(dims, 2, 1, 1, 4),
                to = tile_layout_blocked(dims, 2, 1, 0, 4),
                other = tile_layout_blocked(turned, 2, 1, 1, 4);
    cr_assert_not(tile_shuffle_find(&from, &to, 4, &p));
    cr_assert_not(tile_shuffle_find(&from, &other, 4, &p));
    cr_assert(tile_shuffle_find(&from, &from, 4, &p));
    cr_assert(p.exchanges && !p.sends && !p.takes);
    cr_assert_eq(tile_shuffle_cost(&p, &from, &from, 4), 0);
}

/* One lane bit and one register bit are swapped: half of the words are shuffled. */
Test(shuffle, cost_of_an_exchange) {
    const uint32_t dims[] = {256}, a[] = {1, 2, 4, 8, 16, 32, 64, 128},
                   b[] = {1, 8, 4, 2, 16, 32, 64, 128};
    tile_shuffle_plan p;
    tile_layout from = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 1), to = from;
    fill(&from, a, 3, 0);
    fill(&to, b, 3, 0);
    cr_assert(tile_shuffle_find(&from, &to, 4, &p));
    cr_assert(p.exchanges);
    cr_assert_eq(p.sends, 1);
    cr_assert_eq(p.takes, 1);
    cr_assert_eq(tile_shuffle_cost(&p, &from, &to, 4), 2 * 4 + 2 * 8);
    cr_assert(tile_shuffle_find(&from, &to, 2, &p));
    cr_assert_eq(p.word_bits, 1);
    cr_assert_eq(tile_shuffle_cost(&p, &from, &to, 2), 2 * 2 + 2 * 4);
}
