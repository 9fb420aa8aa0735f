/* Conversions between layouts: within the registers of each thread, by shuffles within each warp,
 * or through shared memory. */
#include "lib/analysis/conversion.h"
#include "lib/layout/layout.h"
#include "lib/layout/rearrange.h"
#include "passes/lower/lower.h"

typedef struct moving {
    lowering *l;
    tile_shuffle_plan plan;
    unsigned parts;
    unsigned from_bits, to_bits; /* log2 of the registers per part */
} moving;

static int64_t *new_order(const moving *m, unsigned bits) {
    return TILE_NEW_ARRAY(m->l->pass->scratch, int64_t, (size_t)m->parts << bits);
}

/* i1: whether an odd number of the thread's bits `threads` is set. */
static tile_value is_odd(const moving *m, uint32_t threads) {
    uint32_t bases[TILE_THREAD_BITS] = {0};
    for (unsigned i = 0; i < TILE_THREAD_BITS; i++) bases[i] = threads >> i & 1;
    unsigned count = TILE_LANE_BITS + m->l->warp_bits;
    return tile_build_ne(&m->l->builder, lower_thread_map(m->l, bases, count), lower_int(m->l, 0));
}

static tile_value take_steps(const moving *m, tile_value vector, unsigned bits,
                             const tile_shuffle_step *steps, unsigned count) {
    for (unsigned s = 0; s < count; s++) {
        int64_t *order = new_order(m, bits);
        for (unsigned i = 0; i < m->parts << bits; i++) order[i] = i ^ steps[s].exchanged;
        tile_value other = lower_permute(m->l, vector, order, m->parts << bits);
        vector = tile_build_select(&m->l->builder, is_odd(m, steps[s].threads), other, vector);
    }
    return vector;
}

/* The source lane of round 0, computed from the lane and warp numbers; no value if it is the
 * thread's own lane. */
static tile_value find_source(const moving *m) {
    unsigned count = TILE_LANE_BITS + m->l->warp_bits;
    if (m->plan.exchanges) return TILE_NO_VALUE;
    return lower_thread_map(m->l, m->plan.from, count);
}

/* Shuffles the registers of all rounds that read from the lane at this offset. */
static tile_value shuffle(const moving *m, tile_value source, tile_value registers,
                          uint32_t offset) {
    tile_value at = lower_int(m->l, offset);
    if (!source.id) return offset ? lower_shfl(m->l, registers, at, "xor") : registers;
    if (offset) source = tile_build_xor(&m->l->builder, source, at);
    return lower_shfl(m->l, registers, source, "idx");
}

/* Lists the rounds with the same offset as round `first`, unless an earlier round has it. *from and
 * *to: the source and destination registers, part by part. */
static unsigned list_rounds(const moving *m, uint32_t first, int64_t *from, int64_t *to,
                            unsigned before) {
    const tile_shuffle_plan *p = &m->plan;
    uint32_t offset = tile_shuffle_offset(p, first), rounds = 1u << p->round_bits;
    unsigned count = 0;
    for (uint32_t t = 0; t < first; t++)
        if (tile_shuffle_offset(p, t) == offset) return 0;
    for (unsigned part = 0; part < m->parts; part++)
        for (uint32_t t = first; t < rounds; t++) {
            if (tile_shuffle_offset(p, t) != offset) continue;
            to[part << p->round_bits | t] = before + count;
            from[count++] = part << m->from_bits | tile_shuffle_sent(p, t);
        }
    return count;
}

/* Builds all rounds in order. */
static tile_value run_rounds(const moving *m, tile_value sent) {
    const tile_shuffle_plan *p = &m->plan;
    unsigned all = m->parts << p->round_bits, groups = 0, before = 0;
    int64_t *from = new_order(m, p->round_bits), *to = new_order(m, p->round_bits);
    tile_value groups_of[1u << TILE_LANE_BITS], source = find_source(m);
    for (uint32_t t = 0; before < all; t++) {
        unsigned count = list_rounds(m, t, from, to, before);
        if (!count) continue;
        groups_of[groups++] =
            shuffle(m, source, lower_permute(m->l, sent, from, count), tile_shuffle_offset(p, t));
        before += count;
    }
    tile_value taken =
        groups == 1 ? groups_of[0] : tile_build_concat(&m->l->builder, groups_of, groups);
    return lower_permute(m->l, taken, to, all);
}

static tile_value put_in_order(const moving *m, tile_value taken) {
    const tile_shuffle_plan *p = &m->plan;
    int64_t *order = new_order(m, p->round_bits);
    for (unsigned part = 0; part < m->parts; part++)
        for (uint32_t t = 0; t < 1u << p->round_bits; t++)
            order[part << m->to_bits | tile_shuffle_result(p, t)] = part << p->round_bits | t;
    return lower_permute(m->l, taken, order, m->parts << m->to_bits);
}

static tile_value shuffle_all(lowering *l, tile_value value, const tile_type *from,
                              const tile_type *to) {
    moving m = {.l = l,
                .parts = tile_layout_parts(from->layout),
                .from_bits = from->layout->reg_bits,
                .to_bits = to->layout->reg_bits};
    /* lower_check has checked this */
    tile_conversion_shuffles(from, to->layout, &m.plan);
    const tile_shuffle_plan *p = &m.plan;
    tile_value sent = take_steps(&m, value, m.from_bits, p->send, p->sends);
    return put_in_order(&m, take_steps(&m, run_rounds(&m, sent), p->round_bits, p->take, p->takes));
}

/* Shuffles predicates as bytes, four per register. */
static tile_value shuffle_bits(lowering *l, tile_value value, const tile_type *from,
                               const tile_type *to) {
    tile_context *context = tile_function_context(l->f);
    const tile_type *bytes = tile_type_vector(context, TILE_i8, tile_type_registers(from));
    tile_value moved = shuffle_all(l, tile_build_cast(&l->builder, value, bytes), from, to);
    tile_value zero =
        tile_build_zero(&l->builder, tile_type_vector(context, TILE_i8, tile_type_registers(to)));
    return tile_build_ne(&l->builder, moved, zero);
}

tile_value lower_convert(lowering *l, tile_op op) {
    const tile_values source = tile_operands_src(&l->old, op);
    const tile_values buffer = tile_operands_buffer(&l->old, op);
    const tile_type *from = tile_value_type(&l->old, source.at[0]);
    const tile_type *to = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    tile_value value = lower_mapped(l, source.at[0]);
    if (!buffer.count && tile_layout_same_threads(from->layout, to->layout))
        return lower_reorder(l, value, from, to);
    if (!buffer.count)
        return from->scalar == TILE_i1 ? shuffle_bits(l, value, from, to)
                                       : shuffle_all(l, value, from, to);
    if (tile_sync_is_explicit(&l->old, op)) lower_end_with_sync(l);
    lower_store_shared(l, value, from, buffer.at, 1);
    tile_build_sync_for(&l->builder, l->executors);
    return lower_load_shared(l, buffer.at, 1, to, true);
}
