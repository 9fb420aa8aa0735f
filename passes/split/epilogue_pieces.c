/* Pieces of the epilogue: runs the code after the loop for some rows of a tile.
 *
 * With one block per tile, few multiprocessors would add the parts of few tiles. If every stored
 * element only depends on the same element of the sums and on memory, the tile can be cut along a
 * dim, and each block can compute some of the pieces:
 *
 *     %r = load %bias[%x * 64] : [64, 1]         %r = load %bias[%x * 64 + first] : [8, 1]
 *     %t = %acc + %r                             %t = %piece + %r
 *     store %t, %c[%x * 64, %y * 64]             store %t, %c[%x * 64 + first, %y * 64]
 *
 * 1. Backward from the last operation: find the values that are needed by pieces, and check that
 *    they can be cut.
 * 2. Forward: clone each such operation with the types of pieces. */
#include <assert.h>

#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/support/integer.h"
#include "passes/common/slice.h"
#include "passes/split/split.h"

typedef struct cutter {
    split *s;
    tile_function *f;
    const split_pieces *pieces;
    bool *wanted;     /* by value: needed by pieces */
    bool *needed;     /* by value: needed at all */
    bool *tainted;    /* by value: depends on the sums */
    tile_value *made; /* by value: its piece */
    size_t count;     /* number of values at the start */
    unsigned rank;    /* of the sums */
} cutter;

/* Types ---------------------------------------------------------------------------------------- */

static int64_t extent_of(const split *s, unsigned axis) {
    return tile_type_dim(tile_value_type(s->f, tile_op_result(s->f, s->loop, 0)), axis);
}

/* Whether the value has the axis, with the same extent as the sums. */
static bool has_axis(const cutter *c, tile_value value) {
    const tile_type *type = tile_value_type(c->f, value);
    return type->kind == TILE_TYPE_TILE && type->rank == c->rank &&
           tile_type_dim(type, c->pieces->axis) == extent_of(c->s, c->pieces->axis);
}

const tile_type *split_piece_type(const split *s, const split_pieces *pieces,
                                  const tile_type *type) {
    return pieces->count > 1 ? slice_type(s->context, type, pieces->axis, pieces->count) : type;
}

/* What can be cut ---------------------------------------------------------------------------- */

/* Marks the operands that are needed by pieces if the result is; false if op cannot be cut. */
static bool need_operands(cutter *c, tile_op op) {
    tile_opcode opcode = tile_op_opcode(c->f, op);
    tile_dims dims = tile_op_dims(opcode);
    bool stores = opcode == TILE_OP_store, accesses = stores || opcode == TILE_OP_load;
    if (!accesses && dims != TILE_DIMS_counted && dims != TILE_DIMS_stretched &&
        !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE))
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++) {
        tile_value operand = tile_op_operand(c->f, op, i);
        bool moved = stores && i == 0, along = has_axis(c, operand);
        bool is_tile = tile_value_type(c->f, operand)->kind == TILE_TYPE_TILE;
        bool has = tile_dim_in_operand(c->f, op, i, c->pieces->axis) != TILE_NO_DIM;
        if ((accesses && is_tile && !moved) || has != along) return false;
        if (!along && (moved || c->tainted[operand.id])) return false;
        c->wanted[operand.id] |= along;
    }
    return true;
}

static bool is_in(const tile_function *f, tile_op op, const bool *set) {
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
        if (set[tile_op_result(f, op, i).id]) return true;
    return false;
}

static void taint(cutter *c, tile_op op) {
    bool tainted = op.id == c->s->loop.id;
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++)
        tainted |= c->tainted[tile_op_operand(c->f, op, i).id];
    for (unsigned i = 0; i < tile_op_result_count(c->f, op); i++)
        c->tainted[tile_op_result(c->f, op, i).id] = tainted;
}

static void need(cutter *c, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++)
        c->needed[tile_op_operand(c->f, op, i).id] = true;
}

enum { HARMLESS = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_COLLECTIVE };

/* Whether op, which comes after the loop, is cloned. */
static bool is_copied(const cutter *c, tile_op op) {
    return is_in(c->f, op, c->needed) || tile_op_effects(c->f, op) & ~(unsigned)HARMLESS;
}

static bool has_side_effect(const tile_function *f, tile_op op) {
    enum {
        NO_SIDE_EFFECT =
            HARMLESS | TILE_EFFECT_READ_SHARED | TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR
    };
    return tile_op_effects(f, op) & ~(unsigned)NO_SIDE_EFFECT;
}

/* Whether each piece may repeat the operation: it and its regions only read and compute. */
static bool is_repeatable(const cutter *c, tile_op op) {
    bool done = has_side_effect(c->f, op);
    TILE_FOR_EACH_NESTED_OP (c->f, inner, op) done |= has_side_effect(c->f, inner);
    return !done;
}

/* Whether op can be cut: stores are cut, and values are needed by pieces or equal for all
 * pieces. */
static bool is_cut(cutter *c, tile_op op) {
    tile_opcode opcode = tile_op_opcode(c->f, op);
    if (!is_copied(c, op)) return true;
    need(c, op);
    if (opcode == TILE_OP_store || is_in(c->f, op, c->wanted)) return need_operands(c, op);
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++)
        if (c->tainted[tile_op_operand(c->f, op, i).id]) return false;
    return opcode == TILE_OP_pdl_trigger || (is_in(c->f, op, c->needed) && is_repeatable(c, op));
}

/* Whether values that are needed by pieces are only used by cut operations. */
static bool is_consistent(const cutter *c, tile_op op) {
    bool cut = tile_op_opcode(c->f, op) == TILE_OP_store || is_in(c->f, op, c->wanted);
    for (unsigned i = 0; i < tile_op_operand_count(c->f, op); i++)
        if (c->wanted[tile_op_operand(c->f, op, i).id] && !cut) return false;
    return true;
}

/* Whether two integers are provably equal: the same value, the same number, or the same
 * computation. */
static bool are_same(const tile_function *f, tile_value a, tile_value b, unsigned depth) {
    enum { DEPTH = 8 };
    int64_t x, y;
    if (a.id == b.id) return true;
    if (tile_value_is_int(f, a, &x) && tile_value_is_int(f, b, &y)) return x == y;
    tile_op p = tile_value_def(f, a), q = tile_value_def(f, b);
    if (!p.id || !q.id || depth == DEPTH || tile_op_opcode(f, p) != tile_op_opcode(f, q) ||
        !tile_op_has_trait(tile_op_opcode(f, p), TILE_TRAIT_ELEMENTWISE) ||
        tile_value_type(f, a) != tile_value_type(f, b))
        return false;
    unsigned count = tile_op_operand_count(f, p);
    for (unsigned i = 0; i < count; i++)
        if (!are_same(f, tile_op_operand(f, p, i), tile_op_operand(f, q, i), depth + 1))
            return false;
    return true;
}

/* Whether pieces of op and the store may access the same elements for different pieces, of which
 * one writes. Different arguments are assumed not to alias. */
static bool may_alias_store(const cutter *c, tile_op op, tile_op store) {
    const tile_function *f = c->f;
    tile_access one[TILE_MAX_ACCESSES], other[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, one), stores = tile_op_accesses(f, store, other);
    bool cut = tile_op_opcode(f, op) == TILE_OP_store || is_in(f, op, c->wanted);
    for (unsigned i = 0; i < count; i++) {
        if (one[i].shared) continue;
        for (unsigned j = 0; j < stores; j++) {
            if (!tile_same_memory(f, one[i].memory, other[j].memory)) continue;
            bool same = cut && one[i].memory.id == other[j].memory.id &&
                        one[i].index_count == other[j].index_count;
            for (unsigned d = 0; d < one[i].index_count && same; d++)
                same = are_same(f, one[i].index[d], other[j].index[d], 0);
            if (!same) return true;
        }
    }
    return false;
}

/* Tests op, without its regions, against all stores of the epilogue. */
static bool conflicts_with_store(const cutter *c, tile_op op, const tile_op *epilogue,
                                 unsigned count) {
    bool meets = false;
    for (unsigned i = 0; i < count; i++)
        meets |= tile_op_opcode(c->f, epilogue[i]) == TILE_OP_store &&
                 may_alias_store(c, op, epilogue[i]);
    return meets;
}

static bool conflicts_with_any(const cutter *c, tile_op op, const tile_op *epilogue,
                               unsigned count) {
    bool meets = conflicts_with_store(c, op, epilogue, count);
    TILE_FOR_EACH_NESTED_OP (c->f, inner, op)
        meets |= conflicts_with_store(c, inner, epilogue, count);
    return meets;
}

/* Pieces run in any order and concurrently; the code before the loop runs before all of them. */
static bool are_independent(const cutter *c, const tile_op *epilogue, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (conflicts_with_any(c, epilogue[i], epilogue, count)) return false;
    for (tile_op op = tile_op_at(c->f, c->s->loop)->prev; op.id; op = tile_op_at(c->f, op)->prev)
        if (conflicts_with_any(c, op, epilogue, count)) return false;
    return true;
}

static bool can_cut(cutter *c, const tile_op *epilogue, unsigned count) {
    for (unsigned i = 0; i < c->s->count; i++)
        if (!has_axis(c, tile_op_result(c->f, c->s->loop, i))) return false;
    taint(c, c->s->loop);
    for (unsigned i = 0; i < count; i++) taint(c, epilogue[i]);
    for (unsigned i = count; i-- > 0;)
        if (!is_cut(c, epilogue[i])) return false;
    for (unsigned i = 0; i < count; i++)
        if (is_copied(c, epilogue[i]) && !is_consistent(c, epilogue[i])) return false;
    for (tile_op op = tile_op_at(c->f, c->s->loop)->prev; op.id; op = tile_op_at(c->f, op)->prev)
        if (is_in(c->f, op, c->wanted) && !need_operands(c, op)) return false;
    return are_independent(c, epilogue, count);
}

static cutter make_cutter(split *s, const split_pieces *pieces) {
    tile_arena *arena = s->pass->scratch;
    cutter c = {.s = s, .f = s->f, .pieces = pieces};
    size_t count = c.count = s->f->value_count;
    c.rank = s->count ? tile_value_type(s->f, tile_op_result(s->f, s->loop, 0))->rank : 0;
    c.needed = TILE_NEW_ARRAY(arena, bool, count);
    c.wanted = TILE_NEW_ARRAY(arena, bool, count);
    c.tainted = TILE_NEW_ARRAY(arena, bool, count);
    c.made = TILE_NEW_ARRAY(arena, tile_value, count);
    return c;
}

/* Parts of shared buffers need extents that are powers of two. */
static bool is_part(int64_t extent) {
    return (extent & (extent - 1)) == 0;
}

/* The first dim that allows the wanted number of pieces, else the one with the most. */
split_pieces split_choose_pieces(split *s, const tile_op *epilogue, unsigned count,
                                 int64_t wanted) {
    split_pieces best = {.axis = 0, .count = 1};
    unsigned rank = s->count ? tile_value_type(s->f, tile_op_result(s->f, s->loop, 0))->rank : 0;
    for (unsigned axis = 0; axis < rank; axis++) {
        split_pieces pieces = {.axis = axis, .count = 1};
        int64_t extent = extent_of(s, axis);
        while (pieces.count < wanted && extent % (2 * pieces.count) == 0) pieces.count *= 2;
        cutter c = make_cutter(s, &pieces);
        if (s->strategy->parts_are_adjacent && !is_part(extent / pieces.count)) continue;
        if (pieces.count > best.count && can_cut(&c, epilogue, count)) best = pieces;
    }
    return best;
}

/* Copies --------------------------------------------------------------------------------------- */

static void copy_op(cutter *c, tile_builder *b, tile_op op, tile_value first) {
    tile_function *f = c->f;
    tile_iota iota;
    tile_opcode opcode = tile_op_opcode(f, op);
    unsigned axis = c->pieces->axis;
    bool cut = c->pieces->count > 1, wanted = cut && is_in(f, op, c->wanted);
    if (wanted && opcode == TILE_OP_iota && tile_iota_of(f, op, &iota) && iota.axis == axis) {
        tile_value all = tile_op_result(f, op, 0);
        const tile_type *type = split_piece_type(c->s, c->pieces, tile_value_type(f, all));
        c->made[all.id] = slice_numbers(b, b, op, type, first, 1);
        return;
    }
    tile_op copy = tile_clone_op(b, op, c->made, c->count);
    bool stores = opcode == TILE_OP_store;
    unsigned memory = stores                   ? tile_place_of(opcode, TILE_OPERAND_dst)
                      : opcode == TILE_OP_load ? tile_place_of(opcode, TILE_OPERAND_src)
                                               : TILE_MAX_OPERANDS;
    if (cut && (stores || wanted) && memory < TILE_MAX_OPERANDS)
        slice_move(f, copy, memory, c->rank, axis, first);
    for (unsigned i = 0; i < tile_op_result_count(f, op); i++) {
        tile_value old = tile_op_result(f, op, i), value = tile_op_result(f, copy, i);
        if (c->wanted[old.id])
            tile_value_at(f, value)->type =
                split_piece_type(c->s, c->pieces, tile_value_type(f, old));
    }
}

void split_copy_pieces(split *s, const split_pieces *pieces, tile_builder *b,
                       const tile_op *epilogue, unsigned count, tile_value first,
                       const tile_value *sums) {
    cutter c = make_cutter(s, pieces);
    bool possible = pieces->count == 1 || can_cut(&c, epilogue, count);
    assert(possible && "the pieces have been chosen");
    tile_op loop = s->loop;
    for (unsigned i = 0; i < s->count; i++) c.made[tile_op_result(s->f, loop, i).id] = sums[i];
    for (tile_op op = tile_region_first(s->f, s->f->body); op.id && op.id != loop.id;
         op = tile_op_next(s->f, op))
        if (is_in(s->f, op, c.wanted)) copy_op(&c, b, op, first);
    for (unsigned i = 0; i < count; i++)
        if (pieces->count == 1 || is_copied(&c, epilogue[i])) copy_op(&c, b, epilogue[i], first);
}

/* Sums ----------------------------------------------------------------------------------------- */

tile_value split_piece_begin(const split *s, const split_pieces *pieces, tile_builder *b,
                             tile_value piece) {
    int64_t length = extent_of(s, pieces->axis) / pieces->count;
    if (pieces->count == 1) return tile_build_int(b, 0);
    return length == 1 ? piece : tile_build_mul(b, piece, tile_build_int(b, length));
}

tile_builder split_open_pieces(const split *s, const split_pieces *pieces, tile_builder *b,
                               tile_value part, tile_value *first) {
    tile_function *f = s->f;
    tile_op loop = tile_build_for_loop(b, part, tile_build_int(b, pieces->count),
                                       tile_build_int(b, s->factor), NULL, 0);
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    body.loc = b->loc;
    tile_value piece = tile_region_arg(f, body.region, 0);
    tile_value_set_name(f, piece, "piece");
    *first = split_piece_begin(s, pieces, &body, piece);
    return body;
}

/* Loads all parts of a group before it adds the first one, so that as many loads are in flight. The
 * sums continue from part to part. */
static void add_group(const split_part_loader *a, tile_builder *b, tile_value from, int64_t length,
                      tile_value *sums) {
    const split *s = a->s;
    tile_arena *arena = s->pass->scratch;
    tile_value *loaded = TILE_NEW_ARRAY(arena, tile_value, (size_t)length * s->count + 1);
    int64_t known;
    bool constant = tile_value_is_int(b->function, from, &known);
    for (int64_t u = 0; u < length; u++) {
        tile_value part = constant ? tile_build_int(b, known + u)
                          : u      ? tile_build_add(b, from, tile_build_int(b, u))
                                   : from;
        a->load(a, b, part, loaded + u * s->count);
    }
    for (int64_t u = 0; u < length; u++)
        for (unsigned i = 0; i < s->count; i++)
            sums[i] = split_combine(s, b, i, sums[i], loaded[u * s->count + i]);
}

int64_t split_count_at_once(const split *s, const tile_type *const *types) {
    enum { REGISTERS = 128, VECTOR = 4, MOST = 32 };
    int64_t warps = 1, registers = 0;
    tile_expr_is_int(s->f->warps, &warps);
    for (unsigned i = 0; i < s->count; i++) {
        int64_t bytes = tile_type_elements(types[i]) * tile_scalar_bytes(types[i]->scalar);
        registers += tile_round_up(bytes / (128 * warps) + 1, VECTOR);
    }
    int64_t count = registers ? REGISTERS / registers : 1;
    return count > MOST ? MOST : count < 1 ? 1 : count;
}

void split_add_loop(const split_part_loader *a, tile_builder *b, tile_value from, tile_value to,
                    int64_t length, tile_value *sums) {
    tile_function *f = b->function;
    const split *s = a->s;
    tile_op loop = tile_build_for_loop(b, from, to, tile_build_int(b, length), sums, s->count);
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    body.loc = b->loc;
    for (unsigned i = 0; i < s->count; i++) sums[i] = tile_region_arg(f, body.region, i + 1);
    add_group(a, &body, tile_region_arg(f, body.region, 0), length, sums);
    tile_build_yield(&body, sums, s->count);
    for (unsigned i = 0; i < s->count; i++) sums[i] = tile_op_result(f, loop, i);
}

void split_add_parts(const split_part_loader *a, tile_builder *b, const tile_type *const *types,
                     tile_value *sums) {
    const split *s = a->s;
    int64_t length = split_count_at_once(s, types), done = 0;
    if (split_only_adds(s))
        for (unsigned i = 0; i < s->count; i++) sums[i] = tile_build_zero(b, types[i]);
    else
        a->load(a, b, tile_build_int(b, done++), sums);
    if (s->factor - done >= 2 * length) {
        int64_t end = done + (s->factor - done) / length * length;
        split_add_loop(a, b, tile_build_int(b, done), tile_build_int(b, end), length, sums);
        done = end;
    }
    for (int64_t group; done < s->factor; done += group) {
        group = s->factor - done < length ? s->factor - done : length;
        add_group(a, b, tile_build_int(b, done), group, sums);
    }
}

/* Loads pieces of parts from memory. */
typedef struct piece_adder {
    split_part_loader base; /* must be the first member */
    const split_pieces *pieces;
    tile_value first, tile, tiles;
    const tile_value *parts;
    const tile_type **types;
} piece_adder;

static void load_pieces(const split_part_loader *adder, tile_builder *b, tile_value part,
                        tile_value *loaded) {
    const piece_adder *a = (const piece_adder *)(const void *)adder;
    for (unsigned i = 0; i < adder->s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_indices_of_part(b, a->types[i], part, a->tile, a->tiles, place);
        unsigned last = rank - a->types[i]->rank;
        if (a->pieces->count > 1) place[last + a->pieces->axis] = a->first;
        loaded[i] = tile_build_load(b, a->parts[i], place, rank, TILE_NO_VALUE, a->types[i]);
    }
}

/* If a piece is one row and there are many parts, a single row keeps few threads busy, each with
 * all parts. Then `group` parts are loaded as one tile with that many rows,
 *
 *     [part 0 .. 7, row]  +  [part 8 .. 15, row]  +  ..
 *
 * whose rows are added through shared memory. Returns 1 if this does not apply. */
static int64_t choose_group(const split *s, const split_pieces *pieces) {
    enum { VECTOR = 16, MANY = 16 };
    int64_t warps = 1, group = 1;
    tile_expr_is_int(s->f->warps, &warps);
    if (s->count != 1 || s->factor < MANY || pieces->count == 1 || pieces->axis) return 1;
    if (!split_only_adds(s)) return 1; /* rows after the last part are read as 0 */
    const tile_type *type = split_piece_type(s, pieces, split_part_type(s, 0));
    if (type->rank != 2 || tile_type_dim(type, 0) != 1) return 1;
    int64_t row = tile_type_dim(type, 1) * tile_scalar_bytes(type->scalar);
    while (2 * group * row <= 32 * warps * VECTOR && 2 * group <= s->factor) group *= 2;
    return group;
}

static int64_t round_up_to_power(int64_t count) {
    int64_t power = 1;
    while (power < count) power *= 2;
    return power;
}

/* Whether the parts have so few elements that one thread would add all parts of one or two
 * elements. All threads then load some of them as rows of one tile, which is reduced. Rows after
 * the last part are read as 0, so other reductions need a power of two of parts. */
static bool are_few_parts(const split *s, const split_pieces *pieces) {
    enum { FEW = 4, MANY = 16, MOST = 8192 };
    if (pieces->count > 1 || s->factor < MANY || s->factor > MOST / FEW) return false;
    for (unsigned i = 0; i < s->count; i++)
        if (tile_type_elements(split_part_type(s, i)) > FEW) return false;
    return split_only_adds(s) || s->factor == round_up_to_power(s->factor);
}

bool split_adds_rows(const split *s, const split_pieces *pieces) {
    return are_few_parts(s, pieces) || choose_group(s, pieces) > 1;
}

static const tile_type *rows_of(const split *s, const tile_type *row, int64_t rows) {
    const int64_t dims[] = {rows, tile_type_dim(row, 1)};
    return tile_type_tile(s->context, row->scalar, 2, dims);
}

/* Loads parts as rows of a matrix: [factor, elements of all tiles]. */
typedef struct row_adder {
    split_part_loader base; /* must be the first member */
    int64_t group;
    tile_value matrix, column;
    const tile_type *type;
} row_adder;

static void load_rows(const split_part_loader *adder, tile_builder *b, tile_value number,
                      tile_value *loaded) {
    const row_adder *a = (const row_adder *)(const void *)adder;
    tile_value place[] = {tile_build_mul(b, number, tile_build_int(b, a->group)), a->column};
    loaded[0] = tile_build_load(b, a->matrix, place, 2, TILE_NO_VALUE, a->type);
}

static tile_value sum_rows(split *s, tile_builder *b, const split_pieces *pieces, int64_t group,
                           tile_value first, tile_value tile, tile_value tiles, tile_value parts) {
    const tile_type *whole = split_part_type(s, 0), *row = split_piece_type(s, pieces, whole);
    tile_value elements = tile_build_int(b, tile_type_elements(whole)), sum;
    tile_value extents[] = {tile_build_int(b, s->factor), tile_build_mul(b, tiles, elements)};
    tile_value shift = tile_build_mul(b, first, tile_build_int(b, tile_type_dim(row, 1)));
    tile_value column = tile_build_add(b, tile_build_mul(b, tile, elements), shift);
    split groups = *s; /* with the number of groups as the factor */
    groups.factor = (s->factor + group - 1) / group;
    row_adder a = {{&groups, load_rows}, group, TILE_NO_VALUE, column, rows_of(s, row, group)};
    a.matrix = tile_build_view(b, tile_build_base(b, parts), extents, 2, NULL, 0, NULL);
    split_add_parts(&a.base, b, &a.type, &sum);
    tile_type draft = *a.type;
    draft.kind = TILE_TYPE_SHARED;
    tile_value buffer = tile_build_alloc_shared(b, tile_type_get(s->context, &draft));
    tile_build_store_shared(b, sum, buffer, NULL, 0);
    for (int64_t g = 0; g < group; g++) {
        tile_value place[] = {tile_build_int(b, g), tile_build_int(b, 0)};
        tile_value next = tile_build_load_shared(b, buffer, place, 2, row);
        sum = g ? tile_build_add(b, sum, next) : next;
    }
    tile_build_free_shared(b, buffer);
    return sum;
}

static tile_value reduce_rows(const split *s, tile_builder *b, unsigned i, tile_value rows) {
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(s->context, 0)};
    const tile_segment segments[] = {{rows, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    tile_op op = tile_build_op_of(b, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    tile_op_set_text(b->function, op, TILE_ATTR_kind, tile_op_get_info(s->combine[i])->name);
    tile_op_set_int(b->function, op, TILE_ATTR_axis, 0);
    if (s->nan[i]) tile_op_set_flag(b->function, op, TILE_ATTR_nan);
    return tile_op_result(b->function, op, 0);
}

/* Reduces all parts of carried value i, which has few elements. */
static tile_value reduce_few(const split *s, tile_builder *b, unsigned i, tile_value tile,
                             tile_value tiles, tile_value parts) {
    const tile_type *type = split_part_type(s, i);
    const int64_t dims[] = {round_up_to_power(s->factor), tile_type_elements(type)};
    tile_value elements = tile_build_int(b, dims[1]);
    tile_value extents[] = {tile_build_int(b, s->factor), tile_build_mul(b, tiles, elements)};
    tile_value place[] = {tile_build_int(b, 0), tile_build_mul(b, tile, elements)};
    tile_value matrix = tile_build_view(b, tile_build_base(b, parts), extents, 2, NULL, 0, NULL);
    tile_value rows = tile_build_load(b, matrix, place, 2, TILE_NO_VALUE,
                                      tile_type_tile(s->context, type->scalar, 2, dims));
    return tile_build_reshape(b, reduce_rows(s, b, i, rows), TILE_NO_VALUE, type);
}

void split_sum_pieces(split *s, tile_builder *b, const split_pieces *pieces, tile_value first,
                      tile_value tile, tile_value tiles, const tile_value *parts,
                      tile_value *sums) {
    tile_function *f = s->f;
    int64_t group = choose_group(s, pieces);
    for (unsigned i = 0; i < s->count && are_few_parts(s, pieces); i++) {
        const tile_type *own = tile_value_type(f, tile_op_result(f, s->loop, i));
        sums[i] = split_as_type(b, reduce_few(s, b, i, tile, tiles, parts[i]), own);
    }
    if (are_few_parts(s, pieces)) return;
    if (group > 1) {
        const tile_type *own = tile_value_type(f, tile_op_result(f, s->loop, 0));
        sums[0] = sum_rows(s, b, pieces, group, first, tile, tiles, parts[0]);
        sums[0] = split_as_type(b, sums[0], split_piece_type(s, pieces, own));
        return;
    }
    piece_adder a = {{s, load_pieces}, pieces, first, tile, tiles, parts, NULL};
    a.types = TILE_NEW_ARRAY(s->pass->scratch, const tile_type *, s->count + 1);
    for (unsigned i = 0; i < s->count; i++)
        a.types[i] = split_piece_type(s, pieces, split_part_type(s, i));
    split_add_parts(&a.base, b, a.types, sums);
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *own = tile_value_type(f, tile_op_result(f, s->loop, i));
        sums[i] = split_as_type(b, sums[i], split_piece_type(s, pieces, own));
    }
}
