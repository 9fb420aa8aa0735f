/* Scans of few long rows: each chunk of a row has a block, and the blocks pass sums to each other
 * in one launch, so that each element is read and written once.
 *
 * A row that a single block scans in a loop uses one of the many SMs. Here a block takes a chunk,
 * publishes the chunk's total, scans it, and looks back: it combines the totals of the chunks
 * before it. Chunks form groups of GROUP, so that a block reads at most GROUP totals, in parallel,
 * and the prefix of its group, which the last block of the group before it has published:
 *
 *     chunk      0    1   ..  127 | 128  129  ..  255 | 256 ..
 *     publishes  total            | total             |
 *     reads      totals before it | prefix of group 1, totals of its group before it
 *                              |______^           |______^
 *                 chunk 127 publishes the prefix of group 1, chunk 255 that of group 2
 *
 * Usual decoupled look-back (Merrill and Garland, 2016) adds whatever its predecessors have
 * published at that moment, so that floats depend on timing. Here the order of additions is fixed,
 * and results are bitwise reproducible. The chain of groups is short: it passes on once for GROUP
 * chunks, which take longer to read and write than one message.
 *
 * Blocks take chunks by ticket, because the hardware may start blocks in any order: a block waits
 * only for chunks with lower tickets, whose blocks run already. Neighboring tickets are different
 * rows at the same place. To wait for up to GROUP flags, all threads read them together; if one is
 * missing, the block waits for the last one that is, and reads again.
 *
 *     %t = atomic_add 1, %tickets[0]
 *     %own = reduce_add(load %x[..])
 *     store %own, %totals[%t]
 *     release_semaphore %flags[%t], 1
 *     while (atomic_or 0, %flags[group] lacks one) { wait_value %flags[the last missing one], 1 }
 *     wait_value %turns[%group - 1], 1
 *     %before = load %befores[%group - 1] + reduce_add(load %totals[group])
 *     if last of the group { store %before + %own, %befores[%group]; release %turns[%group] }
 *     store %before + scan_add(..), %y[..]
 *
 * The last block of a group that has read its words sets them to zero for the next launch. Scratch
 * takes two numbers for each chunk of thousands of elements. */
#include "passes/schedule/rows/look_back.h"

#include "lib/ir/syntax.h"

enum {
    FEW_CHUNKS = 4, /* a block scans as many in the time that blocks need to exchange sums */
};

/* Is it worthwhile? ---------------------------------------------------------------------------- */

/* The extents decide later, if the kernel is the only one: kernels of plans take no parameters. */
rows_look_back_choice rows_choose_look_back(rows *r, int64_t length, int64_t strips, int few) {
    r->few_strips = few;
    const bool only = r->k.s->group_count == 1 && !r->k.s->is_section;
    if (tile_op_opcode(r->k.s->compute, rows_op(r, 0)) == TILE_OP_reduce_with)
        return ROWS_LOOK_BACK_NEVER;
    if (strips >= few || (r->known >= 0 && r->known <= FEW_CHUNKS * length))
        return ROWS_LOOK_BACK_NEVER;
    if (strips >= 0 && r->known >= 0) return ROWS_LOOK_BACK_ALWAYS;
    return only ? ROWS_LOOK_BACK_IF : ROWS_LOOK_BACK_NEVER;
}

static const tile_expr *expr(const rows *r, tile_opcode opcode, const tile_expr *a,
                             const tile_expr *b) {
    return tile_expr_op(r->k.s->context, opcode, a, b, NULL);
}

static const tile_expr *constant(const rows *r, int value) {
    return tile_expr_int(r->k.s->context, value);
}

typedef struct two_sided {
    const tile_expr *holds, *fails; /* NULL: always holds */
} two_sided;

/* Adds the condition `a opcode number`, whose opposite is `a opposite number`. */
static void add_condition(const rows *r, two_sided *all, const tile_expr *a, tile_opcode opcode,
                          tile_opcode opposite, const tile_expr *limit) {
    if (sched_constant(a) >= 0 && sched_constant(limit) >= 0) return; /* decided before */
    const tile_expr *holds = expr(r, opcode, a, limit), *fails = expr(r, opposite, a, limit);
    all->holds = all->holds ? expr(r, TILE_OP_and, all->holds, holds) : holds;
    all->fails = all->fails ? expr(r, TILE_OP_or, all->fails, fails) : fails;
}

/* Adds a parameter that is 1 where each chunk has a block:
 *
 *     where look_back == 1 & (%n > 4 * block & %m < 128) | look_back == 0 & (%n <= 4 * block | ..)
 *
 * Chunks of columns are low in a loop and high otherwise. */
static void add_look_back(rows *r) {
    enum { HIGH = 64 };
    static const int values[] = {0, 1};
    const tile_expr *param = sched_add_param(&r->k, "look_back");
    const tile_expr *block = r->k.block[r->t], *one = constant(r, 1);
    two_sided few = {NULL, NULL};
    add_condition(r, &few, sched_expr(r->k.s, r->extent), TILE_OP_gt, TILE_OP_le,
                  expr(r, TILE_OP_mul, block, constant(r, FEW_CHUNKS)));
    add_condition(r, &few, sched_count_tiles(&r->k, (int)r->axis), TILE_OP_lt, TILE_OP_ge,
                  constant(r, r->few_strips));
    if (r->short_rows) add_condition(r, &few, r->short_rows, TILE_OP_eq, TILE_OP_gt, one);
    if (r->k.tile_rank > 1 && r->t == 0 && sched_constant(block) < 0)
        few.holds = expr(r, TILE_OP_and, few.holds, expr(r, TILE_OP_ge, block, constant(r, HIGH)));
    sched_add_tune(&r->k, &param, 1, values, 2);
    tile_function_add_where(
        r->k.f,
        expr(r, TILE_OP_or, expr(r, TILE_OP_and, expr(r, TILE_OP_eq, param, one), few.holds),
             expr(r, TILE_OP_and, expr(r, TILE_OP_eq, param, constant(r, 0)), few.fails)));
    r->looks_back = param;
}

void rows_set_scan_grid(rows *r) {
    const tile_expr *end = sched_expr(r->k.s, r->extent);
    sched_set_grid(&r->k, (int)r->axis);
    if (r->look_back == ROWS_LOOK_BACK_NEVER) return;
    const tile_expr *chunks = expr(r, TILE_OP_ceildiv, end, r->k.block[r->t]);
    if (r->look_back == ROWS_LOOK_BACK_IF) {
        add_look_back(r);
        const tile_expr *more = expr(r, TILE_OP_sub, chunks, constant(r, 1));
        chunks = expr(r, TILE_OP_add, expr(r, TILE_OP_mul, r->looks_back, more), constant(r, 1));
    }
    const tile_expr *grid =
        tile_expr_multiply(r->k.s->context, sched_count_tiles(&r->k, (int)r->axis), chunks);
    tile_function_set_grid(r->k.f, 1, &grid);
}

/* Words in scratch ----------------------------------------------------------------------------- */

static tile_builder *at(const rows_look_back *w) {
    return &w->r->k.b;
}

static tile_value number(const rows_look_back *w, int64_t value) {
    return tile_build_int(at(w), value);
}

static tile_value make_words(const rows_look_back *w, const char *name, tile_value strips,
                             tile_value count) {
    tile_function *f = w->r->k.f;
    const tile_value extents[] = {strips, count};
    tile_value words =
        tile_build_scratch(at(w), extents, 2, tile_type_scalar(w->r->k.s->context, TILE_i32));
    tile_op_set_flag(f, tile_value_def(f, words), TILE_ATTR_clean);
    tile_value_set_name(f, words, name);
    return words;
}

static tile_value build_atomic(const rows_look_back *w, const char *kind, const char *ordering,
                               tile_value value, tile_value words, tile_value row,
                               tile_value column, tile_value predicate) {
    tile_function *f = w->r->k.f;
    const tile_value index[] = {row, column};
    tile_value old = tile_build_atomic(at(w), value, words, index, 2, predicate, TILE_NO_VALUE);
    tile_op op = tile_value_def(f, old);
    if (!old.id) return old;
    tile_op_set_text(f, op, TILE_ATTR_kind, kind);
    if (ordering) tile_op_set_text(f, op, TILE_ATTR_ordering, ordering);
    return old;
}

static tile_value add_one(const rows_look_back *w, const char *ordering, tile_value words,
                          tile_value row, tile_value column) {
    return build_atomic(w, "add", ordering, number(w, 1), words, row, column, TILE_NO_VALUE);
}

static void set_zero(const rows_look_back *w, tile_value words, tile_value row, tile_value column) {
    build_atomic(w, "exch", NULL, number(w, 0), words, row, column, TILE_NO_VALUE);
}

/* if condition { .. }; the caller builds the body and calls leave. */
static tile_builder enter(const rows_look_back *w, tile_value condition) {
    tile_op op = tile_build_if_else(at(w), condition, NULL, 0);
    tile_builder outside = *at(w);
    *at(w) = tile_builder_at_end(w->r->k.f, tile_op_region(w->r->k.f, op, 1));
    tile_build_yield(at(w), NULL, 0);
    *at(w) = tile_builder_at_end(w->r->k.f, tile_op_region(w->r->k.f, op, 0));
    return outside;
}

static void leave(const rows_look_back *w, tile_builder outside) {
    if (!w->r->k.s->failed) tile_build_yield(at(w), NULL, 0);
    *at(w) = outside;
}

/* Sums in scratch ------------------------------------------------------------------------------ */

/* The extent of a tile beside the axis. */
static const tile_expr *extent_beside(const rows *r) {
    const tile_expr *beside = constant(r, 1);
    for (unsigned t = 0; t < r->k.tile_rank; t++)
        if (t != r->t) beside = r->k.block[t];
    return beside;
}

/* The type of `along` sums beside each other along the axis, of all rows of a tile. */
static const tile_type *type_along(const rows *r, const tile_type *element, int along) {
    const tile_expr *dims[SCHED_MAX_TILE];
    for (unsigned t = 0; t < r->k.tile_rank; t++)
        dims[t] = t == r->t ? constant(r, along) : r->k.block[t];
    return sched_tile_type(&r->k, element, dims);
}

/* Sums are in an array [strips, chunks, beside] or, where the axis is the tile's last dim,
 * [strips, beside, chunks]: in the order of the tile's dims. Returns the dim of the chunks. */
static unsigned chunk_dim(const rows *r) {
    return r->t == 0 ? 1 : 2;
}

/* A part of that array; beside: its extent there. */
static const tile_type *part_type(const rows *r, const tile_type *element, int along,
                                  const tile_expr *beside) {
    tile_type draft = {.kind = TILE_TYPE_TILE,
                       .scalar = element->scalar,
                       .param = element->param,
                       .rank = 3,
                       .dims = {constant(r, 1), beside, beside}};
    draft.dims[chunk_dim(r)] = constant(r, along);
    return tile_type_get(r->k.s->context, &draft);
}

static tile_value make_sums(const rows_look_back *w, const char *name, tile_value strips,
                            tile_value count, unsigned i) {
    tile_function *f = w->r->k.f;
    tile_value beside = sched_number(&w->r->k, extent_beside(w->r));
    tile_value extents[] = {strips, beside, beside};
    extents[chunk_dim(w->r)] = count;
    tile_value sums = tile_build_scratch(at(w), extents, 3, w->prefix->elements[i]);
    tile_value_set_name(f, sums, tile_arena_format(w->r->k.s->arena, "%s%u", name, i + 1));
    return sums;
}

static void find_place(const rows_look_back *w, tile_value place, tile_value index[3]) {
    index[0] = w->strip;
    index[1] = index[2] = number(w, 0);
    index[chunk_dim(w->r)] = place;
}

static void store_sums(const rows_look_back *w, const tile_value *values, const tile_value *sums,
                       tile_value place) {
    tile_value index[3];
    find_place(w, place, index);
    for (unsigned i = 0; i < w->prefix->count && !w->r->k.s->failed; i++) {
        const tile_type *type = part_type(w->r, w->prefix->elements[i], 1, extent_beside(w->r));
        tile_value part = tile_build_reshape(at(w), values[i], TILE_NO_VALUE, type);
        tile_build_store(at(w), part, sums[i], index, 3, TILE_NO_VALUE);
    }
}

/* shown: an i1 for each of the sums along the axis, [1, along]; others are 0. None: all. */
static tile_value load_sums(const rows_look_back *w, unsigned i, tile_value sums, tile_value place,
                            int along, tile_value shown) {
    rows *r = w->r;
    const tile_type *element = w->prefix->elements[i],
                    *bit = tile_type_scalar(r->k.s->context, TILE_i1);
    tile_value index[3];
    find_place(w, place, index);
    if (shown.id) {
        shown = tile_build_reshape(at(w), shown, TILE_NO_VALUE,
                                   part_type(r, bit, along, constant(r, 1)));
        shown = sched_broadcast_to(&r->k, shown, part_type(r, bit, along, extent_beside(r)));
    }
    tile_value part = tile_build_load(at(w), sums, index, 3, shown,
                                      part_type(r, element, along, extent_beside(r)));
    return tile_build_reshape(at(w), part, TILE_NO_VALUE, type_along(r, element, along));
}

/* Chunks --------------------------------------------------------------------------------------- */

/* The number of chunks of a group. The totals of columns are as wide as the tile, which may be wide
 * if a user gives it. */
static int members_of(const rows *r) {
    enum { MEMBERS = 128, OF_WIDE = 32 };
    return r->tile && r->k.tile_rank > 1 && r->t == 0 ? OF_WIDE : MEMBERS;
}

void rows_take_chunk(rows *r, const rows_prefix *prefix, bool reverse, rows_look_back *w) {
    sched_kernel *k = &r->k;
    *w = (rows_look_back){.r = r, .prefix = prefix, .members = members_of(r)};
    w->chunks = rows_count_chunks(r);
    tile_value strips = sched_number(k, sched_count_tiles(k, (int)r->axis));
    tile_value zero = number(w, 0), one = number(w, 1), group = number(w, w->members);
    tile_value groups = tile_build_ceildiv(&k->b, w->chunks.count, group);
    tile_value tickets = make_words(w, "tickets", one, one);
    w->flags = make_words(w, "flags", strips, w->chunks.count);
    w->turns = make_words(w, "turns", strips, groups);
    w->left = make_words(w, "left", strips, groups);
    for (unsigned i = 0; i < prefix->count; i++) {
        w->totals[i] = make_sums(w, "totals", strips, w->chunks.count, i);
        w->befores[i] = make_sums(w, "befores", strips, groups, i);
    }
    tile_value ticket = add_one(w, NULL, tickets, zero, zero);
    tile_value all = tile_build_mul(&k->b, strips, w->chunks.count);
    tile_builder outside = enter(w, tile_build_eq(&k->b, ticket, tile_build_sub(&k->b, all, one)));
    set_zero(w, tickets, zero, zero);
    leave(w, outside);
    w->number = tile_build_div(&k->b, ticket, strips);
    w->strip = tile_build_rem(&k->b, ticket, strips);
    w->group = tile_build_div(&k->b, w->number, group);
    w->first = tile_build_mul(&k->b, w->group, group);
    w->in_group = tile_build_sub(&k->b, w->number, w->first);
    sched_place_tiles(k, (int)r->axis, w->strip);
    tile_value place = reverse ? tile_build_sub(&k->b, w->chunks.last, w->number) : w->number;
    k->start[r->axis] = tile_build_mul(&k->b, place, w->chunks.block);
}

void rows_publish_total(rows_look_back *w, const tile_value *own) {
    const tile_value index[] = {w->strip, w->number};
    store_sums(w, own, w->totals, w->number);
    tile_build_release_semaphore(at(w), w->flags, index, 2, number(w, 1));
}

static const tile_type *words_type(const rows_look_back *w) {
    tile_context *context = w->r->k.s->context;
    tile_type draft = {.kind = TILE_TYPE_TILE,
                       .scalar = TILE_i32,
                       .rank = 2,
                       .dims = {constant(w->r, 1), constant(w->r, w->members)}};
    return tile_type_get(context, &draft);
}

static void set_axis(const rows_look_back *w, tile_op op) {
    tile_op_set_int(w->r->k.f, op, TILE_ATTR_axis, 1);
}

/* The numbers 0 to members - 1. */
static tile_value count_words(const rows_look_back *w) {
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = constant(w->r, 1)};
    tile_op op = tile_build_op_of(at(w), TILE_OP_iota, NULL, 0, words_type(w), &axis, 1);
    set_axis(w, op);
    return tile_op_result(w->r->k.f, op, 0);
}

static tile_value largest(const rows_look_back *w, tile_value words) {
    const tile_segment segments[] = {{words, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = constant(w->r, 1)};
    tile_op op = tile_build_op_of(at(w), TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    tile_op_set_text(w->r->k.f, op, TILE_ATTR_kind, "max");
    set_axis(w, op);
    return tile_build_scalar(at(w), tile_op_result(w->r->k.f, op, 0));
}

/* Waits until all chunks of the group before this one have published their totals. */
static void wait_for_group(const rows_look_back *w, tile_value places, tile_value before) {
    tile_function *f = w->r->k.f;
    tile_value zero = number(w, 0), one = number(w, 1), none = zero;
    tile_op loop = tile_build_while_loop(at(w), &none, 1);
    tile_builder outside = *at(w);
    *at(w) = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    tile_value zeros = tile_build_splat(at(w), zero, words_type(w));
    tile_value seen = build_atomic(w, "or", NULL, zeros, w->flags, w->strip, w->first, before);
    tile_value missing = tile_build_and(at(w), before, tile_build_eq(at(w), seen, zeros));
    tile_value after = tile_build_add(at(w), places, one);
    tile_value last = largest(w, tile_build_select(at(w), missing, after, zeros));
    const tile_value found[] = {tile_build_gt(at(w), last, zero), last};
    tile_build_yield(at(w), found, 2);
    tile_region body = tile_op_region(f, loop, 1);
    *at(w) = tile_builder_at_end(f, body);
    last = tile_region_arg(f, body, 0);
    tile_value place = tile_build_sub(at(w), tile_build_add(at(w), w->first, last), one);
    const tile_value index[] = {w->strip, place};
    tile_build_wait_value(at(w), w->flags, index, 2, one);
    tile_build_yield(at(w), &last, 1);
    *at(w) = outside;
    tile_build_fence(at(w));
}

/* Combines the totals of the chunks of the group before this one. */
static bool combine_group(const rows_look_back *w, tile_value before, tile_value *to) {
    rows *r = w->r;
    tile_value tiles[ROWS_MAX_PREFIX];
    const tile_type *flags = type_along(r, tile_type_scalar(r->k.s->context, TILE_i1), w->members);
    tile_type draft = *flags;
    for (unsigned t = 0; t < draft.rank; t++)
        if (t != r->t) draft.dims[t] = constant(r, 1);
    tile_value shown =
        tile_build_reshape(at(w), before, TILE_NO_VALUE, tile_type_get(r->k.s->context, &draft));
    shown = sched_broadcast_to(&r->k, shown, flags);
    for (unsigned i = 0; i < w->prefix->count && !r->k.s->failed; i++) {
        tile_value sums = load_sums(w, i, w->totals[i], w->first, w->members, before);
        tile_value nothing = w->prefix->nothing(r, w->prefix->user, i);
        if (!sums.id || !nothing.id) return false;
        tiles[i] = tile_build_select(at(w), shown, sums, nothing);
    }
    return !r->k.s->failed && w->prefix->total(r, w->prefix->user, tiles, to);
}

/* The prefix of the group, combined with that of its chunks. */
static bool add_groups_before(const rows_look_back *w, tile_value *prefix) {
    sched_kernel *k = &w->r->k;
    unsigned count = w->prefix->count;
    const tile_type *types[ROWS_MAX_PREFIX];
    tile_value sums[ROWS_MAX_PREFIX], all[ROWS_MAX_PREFIX];
    for (unsigned i = 0; i < count; i++) types[i] = tile_value_type(k->f, prefix[i]);
    tile_value some = tile_build_gt(at(w), w->group, number(w, 0));
    tile_op choice = tile_build_if_else(at(w), some, types, count);
    tile_builder outside = *at(w);
    *at(w) = tile_builder_at_end(k->f, tile_op_region(k->f, choice, 1));
    tile_build_yield(at(w), prefix, count);
    *at(w) = tile_builder_at_end(k->f, tile_op_region(k->f, choice, 0));
    tile_value place = tile_build_sub(at(w), w->group, number(w, 1));
    const tile_value index[] = {w->strip, place};
    tile_build_wait_value(at(w), w->turns, index, 2, number(w, 1));
    for (unsigned i = 0; i < count; i++)
        sums[i] = load_sums(w, i, w->befores[i], place, 1, TILE_NO_VALUE);
    if (k->s->failed || !w->prefix->combine(w->r, w->prefix->user, sums, prefix, all)) return false;
    tile_build_yield(at(w), all, count);
    *at(w) = outside;
    for (unsigned i = 0; i < count; i++) prefix[i] = tile_op_result(k->f, choice, i);
    return true;
}

/* The last chunk of a group passes the prefix on, if there are more. */
static bool pass_on(const rows_look_back *w, const tile_value *own, const tile_value *before) {
    tile_value all[ROWS_MAX_PREFIX];
    const tile_value index[] = {w->strip, w->group};
    tile_value is_last = tile_build_eq(at(w), w->in_group, number(w, w->members - 1));
    tile_value more = tile_build_lt(at(w), w->number, w->chunks.last);
    tile_builder outside = enter(w, tile_build_and(at(w), is_last, more));
    if (!w->prefix->combine(w->r, w->prefix->user, before, own, all)) return false;
    store_sums(w, all, w->befores, w->group);
    tile_build_release_semaphore(at(w), w->turns, index, 2, number(w, 1));
    leave(w, outside);
    return true;
}

bool rows_wait_for_prefix(rows_look_back *w, const tile_value *own, tile_value *before) {
    tile_value places = count_words(w);
    tile_value earlier = tile_build_lt(
        at(w), places, tile_build_splat(at(w), w->in_group, tile_value_type(w->r->k.f, places)));
    wait_for_group(w, places, earlier);
    return combine_group(w, earlier, before) && add_groups_before(w, before) &&
           pass_on(w, own, before);
}

void rows_end_chunk(rows_look_back *w) {
    tile_value zero = number(w, 0), one = number(w, 1);
    tile_value rest = tile_build_sub(at(w), w->chunks.count, w->first);
    tile_value members = tile_build_min(at(w), rest, number(w, w->members));
    tile_value before = add_one(w, "acq_rel", w->left, w->strip, w->group);
    tile_value done = tile_build_eq(at(w), before, tile_build_sub(at(w), members, one));
    tile_builder outside = enter(w, done);
    const tile_value index[] = {w->strip, w->first};
    tile_value zeros = tile_build_splat(at(w), zero, words_type(w));
    tile_build_store(at(w), zeros, w->flags, index, 2, TILE_NO_VALUE);
    set_zero(w, w->left, w->strip, w->group);
    tile_builder inside = enter(w, tile_build_gt(at(w), w->group, zero));
    set_zero(w, w->turns, w->strip, tile_build_sub(at(w), w->group, one));
    leave(w, inside);
    leave(w, outside);
}
