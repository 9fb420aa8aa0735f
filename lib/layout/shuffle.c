#include "lib/layout/shuffle.h"

#include <string.h>

#include "lib/layout/layout.h"
#include "lib/layout/space.h"

/* Maps an element's index to its holder. */
typedef struct holders {
    const tile_layout *layout;
    vector_space registers; /* sources: register bits */
    vector_space all;       /* sources: register bits, then lane bits above them */
    uint32_t idle;          /* lane bits that only replicate registers' elements */
} holders;

static holders find_holders(const tile_layout *layout) {
    holders h = {.layout = layout, .registers = {.count = 0}};
    for (unsigned i = 0; i < layout->reg_bits; i++)
        space_add(&h.registers, layout->reg[i], UINT32_C(1) << i);
    h.all = h.registers;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) {
        uint32_t ignored = 0;
        space_add(&h.all, layout->lane[i], UINT32_C(1) << (layout->reg_bits + i));
        if (!space_reduce(&h.registers, layout->lane[i], &ignored)) h.idle |= UINT32_C(1) << i;
    }
    return h;
}

static uint32_t sum_of(const uint32_t *vectors, uint32_t bits) {
    uint32_t sum = 0;
    for (unsigned i = 0; bits >> i; i++)
        if (bits >> i & 1) sum ^= vectors[i];
    return sum;
}

/* The lane that holds an index, apart from its registers. Returns false if no lane of the warp
 * does. */
static bool lane_of(const holders *h, uint32_t index, uint32_t *lane) {
    uint32_t source = 0;
    if (space_reduce(&h->all, index, &source)) return false;
    *lane = source >> h->layout->reg_bits;
    return true;
}

/* The register of that lane which holds the index. */
static uint32_t register_in(const holders *h, uint32_t index, uint32_t lane) {
    uint32_t source = 0;
    space_reduce(&h->registers, index ^ sum_of(h->layout->lane, lane), &source);
    return source;
}

typedef struct search {
    holders from, to;
    tile_shuffle_plan *plan;
    uint32_t round[TILE_LAYOUT_MAX_BITS]; /* by bit of the round: the index that it adds */
    uint32_t placed[TILE_LANE_BITS];      /* D: by lane bit, bits of the round */
    uint32_t taken[TILE_THREAD_BITS];     /* by thread bit: source register (M: lane) */
    unsigned warp_bits;
} search;

/* 1. Rounds: first those whose registers are a word. ------------------------------------------- */

static void add_round(search *s, uint32_t index, uint32_t result) {
    tile_shuffle_plan *p = s->plan;
    s->round[p->round_bits] = index;
    p->result[p->round_bits++] = result;
}

/* Register bits of the result that are register bits of the source come first: these rounds read
 * from the same lane, and the first of them form words. */
static void choose_rounds(search *s, unsigned element_bytes) {
    const tile_layout *to = s->to.layout;
    for (unsigned moved = 0; moved < 2; moved++)
        for (unsigned i = 0; i < to->reg_bits; i++) {
            uint32_t ignored = 0;
            bool moves = space_reduce(&s->from.registers, to->reg[i], &ignored) != 0;
            if (moves == (moved != 0)) add_round(s, to->reg[i], UINT32_C(1) << i);
            s->plan->word_bits += !moves && !moved && element_bytes << s->plan->word_bits < 4;
        }
}

static bool place_rounds(search *s) {
    tile_shuffle_plan *p = s->plan;
    for (unsigned i = 0; i < p->round_bits; i++) {
        if (!lane_of(&s->from, s->round[i], &p->offset[i])) return false;
        p->sent[i] = register_in(&s->from, s->round[i], p->offset[i]);
    }
    return true;
}

/* 2. Lanes: M and D. --------------------------------------------------------------------------- */

/* Finds rounds that add up to a lane's difference (modulo the registers'); false if there are none.
 */
static bool find_rounds(const search *s, uint32_t difference, uint32_t *rounds) {
    vector_space lanes = {.count = 0};
    *rounds = 0;
    for (unsigned i = 0; i < s->plan->round_bits; i++)
        space_add(&lanes, s->plan->offset[i], UINT32_C(1) << i);
    return space_reduce(&lanes, difference & ~s->from.idle, rounds) == 0;
}

/* Idle lane bits of the source may be added freely. */
static void set_lane(search *s, unsigned bit, uint32_t lane, uint32_t rounds) {
    uint32_t index = s->to.layout->lane[bit] ^ sum_of(s->round, rounds);
    s->plan->from[bit] = lane;
    s->placed[bit] = rounds;
    s->taken[bit] = register_in(&s->from, index, lane);
}

/* A lane reads from itself if it can. A lane whose elements are replicas reads like the lane that
 * it replicates. */
static bool assign_lane(search *s, unsigned bit, uint32_t lane) {
    uint32_t own = UINT32_C(1) << bit, difference = lane ^ own, rounds = 0;
    if (!(difference & ~s->from.idle)) {
        set_lane(s, bit, own, 0);
        return true;
    }
    if (s->to.idle & own) { /* the registers that compensate it */
        space_reduce(&s->to.registers, s->to.layout->lane[bit], &rounds);
        uint32_t moved = 0;
        for (unsigned i = 0; i < s->plan->round_bits; i++)
            if (s->plan->result[i] & rounds) moved |= UINT32_C(1) << i;
        if (sum_of(s->round, moved) != s->to.layout->lane[bit]) return false;
        set_lane(s, bit, 0, moved);
        return true;
    }
    if (!find_rounds(s, difference, &rounds)) return false;
    set_lane(s, bit, own, rounds);
    return true;
}

static bool is_new(const vector_space *known, uint32_t vector) {
    uint32_t ignored = 0;
    return space_reduce(known, vector, &ignored) != 0;
}

/* Finds another source lane for this lane such that M stays one-to-one: with registers of another
 * round, or a replica. */
static bool assign_other_lane(search *s, unsigned bit, uint32_t lane, vector_space *image) {
    if (is_new(image, lane)) {
        set_lane(s, bit, lane, 0);
        space_add(image, lane, 0);
        return true;
    }
    for (unsigned i = 0; i < s->plan->round_bits + TILE_LANE_BITS; i++) {
        bool round = i < s->plan->round_bits;
        uint32_t idle = round ? 0 : UINT32_C(1) << (i - s->plan->round_bits) & s->from.idle;
        uint32_t other = lane ^ (round ? s->plan->offset[i] : idle);
        if (!is_new(image, other)) continue;
        set_lane(s, bit, other, round ? UINT32_C(1) << i : 0);
        space_add(image, other, 0);
        return true;
    }
    return false;
}

static bool place_lanes(search *s) {
    vector_space image = {.count = 0}, offsets = {.count = 0};
    uint32_t lanes[TILE_LANE_BITS], open = 0;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) {
        if (!lane_of(&s->from, s->to.layout->lane[i], &lanes[i])) return false;
        if (assign_lane(s, i, lanes[i]))
            space_add(&image, s->plan->from[i], 0);
        else
            open |= UINT32_C(1) << i;
    }
    /* first the offsets that no round compensates */
    offsets = image;
    for (unsigned i = 0; i < s->plan->round_bits; i++) space_add(&offsets, s->plan->offset[i], 0);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        if (s->from.idle >> i & 1) space_add(&offsets, UINT32_C(1) << i, 0);
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned i = 0; i < TILE_LANE_BITS; i++) {
            if (!(open >> i & 1) || (!turn && !is_new(&offsets, lanes[i]))) continue;
            if (!assign_other_lane(s, i, lanes[i], &image)) return false;
            space_add(&offsets, lanes[i], 0);
            open &= ~(UINT32_C(1) << i);
        }
    return true;
}

static bool place_warps(search *s) {
    for (unsigned i = 0; i < s->warp_bits; i++) {
        uint32_t index = s->to.layout->warp[i] ^ s->from.layout->warp[i];
        unsigned at = TILE_LANE_BITS + i;
        if (!lane_of(&s->from, index, &s->plan->from[at])) return false;
        s->taken[at] = register_in(&s->from, index, s->plan->from[at]);
    }
    return true;
}

/* 3. What a lane sends: in round t, lane l reads from M l ^ m(t); a lane sends what its reader
 * takes. ----------------------------------------------------------------------------------------
 */

/* The lane that reads from this one: the inverse of M, extended linearly to lanes that no lane
 * reads. */
static uint32_t reader_of(const search *s, uint32_t lane) {
    vector_space image = {.count = 0};
    uint32_t reader = 0;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        space_add(&image, s->plan->from[i], UINT32_C(1) << i);
    space_reduce(&image, lane, &reader);
    return reader;
}

/* Makes steps that exchange registers, by `all` of each thread bit: one step for each different
 * value. */
static unsigned make_steps(const uint32_t *all, unsigned bits, tile_shuffle_step *steps) {
    vector_space known = {.count = 0};
    unsigned count = 0;
    for (unsigned i = 0; i < bits; i++) {
        uint32_t sources = 0;
        if (space_reduce(&known, all[i], &sources)) {
            sources = UINT32_C(1) << count;
            space_add(&known, all[i], sources);
            steps[count++] = (tile_shuffle_step){0, all[i]};
        }
        for (unsigned k = 0; k < count; k++)
            if (sources >> k & 1) steps[k].threads |= UINT32_C(1) << i;
    }
    return count;
}

/* Returns whether all lanes that read from one lane read the same register of it. */
static bool agree(const search *s) {
    bool same = true;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        same &= sum_of(s->taken, reader_of(s, s->plan->from[i])) == s->taken[i];
    return same;
}

static void find_sent(search *s) {
    tile_shuffle_plan *p = s->plan;
    uint32_t sent[TILE_THREAD_BITS] = {0};
    for (unsigned i = 0; i < p->round_bits; i++)
        p->sent[i] ^= sum_of(s->taken, reader_of(s, p->offset[i]));
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        sent[i] = sum_of(s->taken, reader_of(s, UINT32_C(1) << i));
    for (unsigned i = TILE_LANE_BITS; i < TILE_LANE_BITS + s->warp_bits; i++)
        sent[i] = s->taken[i] ^ sum_of(s->taken, reader_of(s, p->from[i]));
    p->sends = make_steps(sent, TILE_LANE_BITS + s->warp_bits, p->send);
    p->takes = make_steps(s->placed, TILE_LANE_BITS, p->take);
}

static bool stays(const tile_shuffle_plan *p, unsigned warp_bits) {
    bool same = true;
    for (unsigned i = 0; i < TILE_LANE_BITS + warp_bits; i++)
        same &= p->from[i] == (i < TILE_LANE_BITS ? UINT32_C(1) << i : 0);
    return same;
}

static bool can_compare(const tile_layout *from, const tile_layout *to) {
    return from->kind == TILE_LAYOUT_REGISTER && to->kind == TILE_LAYOUT_REGISTER &&
           from->warp_bits == to->warp_bits && !from->block_bits && !to->block_bits &&
           from->rank == to->rank &&
           memcmp(from->dim_bits, to->dim_bits, sizeof from->dim_bits) == 0 &&
           memcmp(from->count, to->count, sizeof from->count) == 0;
}

bool tile_shuffle_find(const tile_layout *from, const tile_layout *to, unsigned element_bytes,
                       tile_shuffle_plan *plan) {
    memset(plan, 0, sizeof *plan);
    if (!can_compare(from, to)) return false;
    search s = {find_holders(from), find_holders(to), plan, {0}, {0}, {0}, from->warp_bits};
    choose_rounds(&s, element_bytes);
    if (!place_rounds(&s) || !place_lanes(&s) || !place_warps(&s) || !agree(&s)) return false;
    find_sent(&s);
    plan->exchanges = stays(plan, from->warp_bits);
    return true;
}

uint32_t tile_shuffle_sent(const tile_shuffle_plan *plan, uint32_t round) {
    return sum_of(plan->sent, round);
}

uint32_t tile_shuffle_offset(const tile_shuffle_plan *plan, uint32_t round) {
    return sum_of(plan->offset, round);
}

uint32_t tile_shuffle_result(const tile_shuffle_plan *plan, uint32_t round) {
    return sum_of(plan->result, round);
}

/* Cost ----------------------------------------------------------------------------------------- */

/* The number of 32-bit registers. */
static unsigned words_of(const tile_layout *layout, unsigned word_bits, unsigned element_bytes) {
    unsigned registers = tile_layout_registers(layout) >> word_bits;
    return element_bytes > 4 ? registers * (element_bytes / 4) : registers;
}

unsigned tile_shuffle_count(const tile_shuffle_plan *plan, const tile_layout *to,
                            unsigned element_bytes) {
    unsigned moved = 0, rounds = 1u << plan->round_bits;
    for (unsigned t = 0; t < rounds; t++)
        moved += !plan->exchanges || tile_shuffle_offset(plan, t) != 0;
    unsigned words = words_of(to, plan->word_bits, element_bytes);
    return (unsigned)((uint64_t)words * moved / rounds);
}

unsigned tile_shuffle_cost(const tile_shuffle_plan *plan, const tile_layout *from,
                           const tile_layout *to, unsigned element_bytes) {
    enum { SHUFFLE = 2, SELECT = 1 };
    unsigned selects = plan->sends * words_of(from, plan->word_bits, element_bytes) +
                       plan->takes * words_of(to, plan->word_bits, element_bytes);
    return SHUFFLE * tile_shuffle_count(plan, to, element_bytes) + SELECT * selects;
}
