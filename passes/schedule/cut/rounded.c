/* Operands of products that are rounded to tf32 once, in a kernel of their own.
 *
 * wgmma reads the bits of f32 elements as tf32 from shared memory, but a cast rounds, and elements
 * in registers can be the first operand only. So that a product
 *
 *     matmul(tf32(%a), tf32(%b))
 *
 * of f32 arrays is not left to mma.sync, a kernel writes the rounded elements of one operand or of
 * both, with k contiguous, because wgmma reads operands of 32 bits in no other way. */
#include "lib/analysis/tensor_map.h"
#include "lib/builder/builder.h"
#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"
#include "lib/support/scalar.h"
#include "passes/schedule/cut/cut.h"

enum {
    /* A product that takes mma.sync less time than the first kernel, some 5 us. */
    FEW_OPERATIONS = 1 << 30,
    /* An operand that is multiplied by at most as many columns is rounded in registers: that takes
     * about 4 % of the time of the product, and a first kernel that rounds takes more. */
    FEW_COLUMNS = 8192,
    /* The same of an operand that is computed before it is rounded. */
    FEW_COLUMNS_COMPUTED = 2048,
};

/* An operand of a product. */
typedef struct rounded {
    tile_value cast; /* whose result is tf32; none: it is not rounded, or cannot be stored */
    tile_op window;  /* elements are in several windows; none: in one */
    bool direct;     /* the cast's source is an argument, perhaps moved */
    bool k_major;    /* k is the last dim */
    bool contiguous; /* and that of the argument whose elements it has */
    double elements; /* of the cast; -1: not known */
    double columns;  /* by which each element is multiplied, in all windows; -1: not known */
} rounded;

static bool is_k_last(const schedule *s, tile_op matmul, unsigned side) {
    return side ? tile_op_has_attr(s->compute, matmul, TILE_ATTR_trans_rhs)
                : !tile_op_has_attr(s->compute, matmul, TILE_ATTR_trans_lhs);
}

static double count_of(schedule *s, const tile_type *type) {
    double count = 1;
    for (unsigned d = 0; d < type->rank && count >= 0; d++) {
        int64_t extent = sched_constant(sched_dim(s, type, d));
        count = extent < 0 ? -1 : count * (double)extent;
    }
    return count;
}

/* Returns whether the value is computed of arguments without products, reductions and scans. */
static bool is_of_arguments(schedule *s, bool *seen, tile_value value) {
    const tile_function *f = s->compute;
    const tile_op op = tile_value_def(f, value);
    if (!op.id || seen[value.id]) return true;
    seen[value.id] = true;
    if (!tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_ELEMENTWISE) &&
        !sched_moved_operands(s, op))
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (!is_of_arguments(s, seen, tile_op_operand(f, op, i))) return false;
    return true;
}

/* Returns whether elements along dim k of the operand are contiguous in the argument whose elements
 * it has, moved; also if it is computed otherwise. */
static bool is_contiguous(schedule *s, tile_value value, unsigned k) {
    const sched_domain domain = sched_domain_of(s, value);
    sched_map map = sched_identity(&domain);
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id) {
        if (tile_op_opcode(s->compute, op) != TILE_OP_cast && !sched_only_moves(s, op)) return true;
        map = sched_operand_map(s, op, 0, 0, &map);
        value = tile_operand_src(s->compute, op);
    }
    return sched_depends(&map.at[sched_type(s, value)->rank - 1u], k);
}

/* Sets the number that operand `i` of a window's list is. */
static bool read_number(const tile_function *f, tile_values list, unsigned i, int64_t otherwise,
                        int64_t *number) {
    *number = otherwise;
    return i >= list.count || tile_expr_is_int(tile_value_at(f, list.at[i])->expr, number);
}

/* Reads the windows of all spatial dims of an array [n, spatial dims, channels]. */
static bool read_windows(schedule *s, tile_op window, tile_im2col *w) {
    const tile_function *f = s->compute;
    const tile_type *type = sched_type(s, tile_operand_src(f, window)),
                    *windows = sched_type(s, tile_op_result(f, window, 0));
    *w = (tile_im2col){.spatial = type->rank - 2u};
    if (type->rank < 3 || w->spatial > TILE_MAX_SPATIAL || sched_axis(s, window) != 1 ||
        tile_operands_strides(f, window).count != w->spatial || tile_op_pads(f, window) ||
        tile_op_has_attr(f, window, TILE_ATTR_input_dilations))
        return false;
    for (unsigned i = 0; i < w->spatial; i++) {
        const int64_t extent = sched_constant(sched_dim(s, type, 1 + i)),
                      places = sched_constant(sched_dim(s, windows, 1 + i));
        w->filter[i] = sched_constant(sched_dim(s, windows, 1 + w->spatial + i));
        if (extent < 1 || places < 1 || w->filter[i] < 1 ||
            !read_number(f, tile_operands_strides(f, window), i, 1, &w->strides[i]) ||
            !read_number(f, tile_operands_dilations(f, window), i, 1, &w->dilations[i]) ||
            !read_number(f, tile_operands_pads(f, window), i, 0, &w->pads[i][0]))
            return false;
        w->pads[i][1] = (places - 1) * w->strides[i] + (w->filter[i] - 1) * w->dilations[i] + 1 -
                        extent - w->pads[i][0];
    }
    return true;
}

/* Returns whether k is positions and then channels, which are dim d of the array. */
static bool has_whole_channels(schedule *s, tile_op matmul, unsigned side, tile_op window,
                               unsigned d) {
    const tile_function *f = s->compute;
    tile_value value = tile_op_operand(f, matmul, side);
    const tile_value src = tile_operand_src(f, window);
    const unsigned k = sched_type(s, value)->rank - (is_k_last(s, matmul, side) ? 1u : 2u);
    const sched_domain domain = sched_domain_of(s, value);
    sched_map map = sched_identity(&domain);
    while (value.id != src.id) {
        const tile_op op = tile_value_def(f, value);
        map = sched_operand_map(s, op, 0, 0, &map);
        value = tile_operand_src(f, op);
    }
    const sched_coordinate *at = &map.at[d], depth = sched_dim_coordinate(k);
    return at->index && !at->offset && at->index->kind == SCHED_REM &&
           sched_same_coordinate(&at->index->a, &depth) && at->index->by.expr &&
           sched_same_extent(s, at->index->by.expr, sched_dim(s, sched_type(s, src), d));
}

/* Returns whether the product's kernel copies these windows by tensor maps in im2col mode, so that
 * they are in shared memory as their array has them (products/windows.c). */
static bool is_copied_by_im2col(schedule *s, tile_op matmul, unsigned side, tile_op window) {
    enum { UNIT = 16 /* bytes */, SHORT = 1024 /* bytes of a row: phases are copied otherwise */ };
    const tile_function *f = s->compute;
    const tile_op cast = tile_value_def(f, tile_operand_src(f, window));
    const tile_type *type = sched_type(s, tile_operand_src(f, window));
    tile_value value = tile_op_operand(f, matmul, side);
    const tile_type *own = sched_type(s, value);
    const unsigned k = own->rank - (is_k_last(s, matmul, side) ? 1u : 2u);
    const int64_t channels = sched_constant(sched_dim(s, type, type->rank - 1u)),
                  terms = sched_constant(sched_dim(s, own, k));
    tile_im2col w;
    if (!cast.id || tile_op_opcode(f, cast) != TILE_OP_cast ||
        tile_value_def(f, tile_operand_src(f, cast)).id || channels < 1 ||
        channels * tile_scalar_bytes(TILE_f32) % UNIT != 0 ||
        (own->rank > 2 && terms * tile_scalar_bytes(TILE_f32) <= SHORT) ||
        !read_windows(s, window, &w) || tile_im2col_broken_rule(&w))
        return false;
    return has_whole_channels(s, matmul, side, window, type->rank - 1u);
}

/* Returns whether the product's kernel copies these windows as shifted rows [terms, places] of an
 * array [n, channels, places], and multiplies the elements from registers, as it does those of a
 * transposed operand. */
static bool is_copied_shifted(schedule *s, tile_op matmul, unsigned side, tile_op window) {
    const tile_function *f = s->compute;
    const tile_value src = tile_operand_src(f, window);
    const tile_op cast = tile_value_def(f, src);
    int64_t stride;
    return side == 1 && !is_k_last(s, matmul, side) && cast.id &&
           tile_op_opcode(f, cast) == TILE_OP_cast &&
           !tile_value_def(f, tile_operand_src(f, cast)).id && sched_type(s, src)->rank == 3 &&
           sched_axis(s, window) == 2 && tile_operands_strides(f, window).count == 1 &&
           read_number(f, tile_operands_strides(f, window), 0, 1, &stride) && stride == 1 &&
           !tile_op_has_attr(f, window, TILE_ATTR_input_dilations) && !tile_op_pads(f, window) &&
           has_whole_channels(s, matmul, side, window, 1);
}

/* The cast from f32 whose elements the operand has, moved. */
static rounded find_rounded(schedule *s, tile_op matmul, unsigned side) {
    const tile_function *f = s->compute;
    const tile_type *result = sched_type(s, tile_op_result(f, matmul, 0));
    tile_value value = tile_op_operand(f, matmul, side);
    rounded r = {.k_major = is_k_last(s, matmul, side)};
    tile_op op;
    if (sched_element(s, value)->param || sched_element(s, value)->scalar != TILE_tf32) return r;
    while ((op = tile_value_def(f, value)).id && tile_op_opcode(f, op) != TILE_OP_cast) {
        if (tile_op_opcode(f, op) == TILE_OP_window) r.window = op;
        if (tile_op_opcode(f, op) != TILE_OP_window && !sched_only_moves(s, op)) return r;
        value = tile_operand_src(f, op);
    }
    bool *seen = TILE_NEW_ARRAY(s->arena, bool, f->value_count);
    if (!op.id || sched_element(s, tile_operand_src(f, op))->scalar != TILE_f32 ||
        !is_of_arguments(s, seen, value))
        return r;
    const unsigned rank = sched_type(s, tile_op_operand(f, matmul, side))->rank;
    r.contiguous = r.window.id ||
                   is_contiguous(s, tile_op_operand(f, matmul, side), rank - (r.k_major ? 1u : 2u));
    r.cast = value;
    for (value = tile_operand_src(f, op); (op = tile_value_def(f, value)).id &&
                                          tile_op_opcode(f, op) != TILE_OP_window &&
                                          sched_only_moves(s, op);)
        value = tile_operand_src(f, op);
    r.direct = !op.id;
    r.elements = count_of(s, sched_type(s, r.cast));
    r.columns = (double)sched_constant(sched_dim(s, result, result->rank - 1u - (side == 1)));
    if (!r.window.id || r.columns < 0) return r;
    if (r.elements > 0 && (is_copied_by_im2col(s, matmul, side, r.window) ||
                           is_copied_shifted(s, matmul, side, r.window)))
        r.columns *= count_of(s, sched_type(s, tile_op_operand(f, matmul, side))) / r.elements;
    else
        r.columns = -1;
    return r;
}

/* The number of multiplications and additions; -1: not known. */
static double count_operations(schedule *s, tile_op matmul) {
    const tile_type *lhs = sched_type(s, tile_operand_lhs(s->compute, matmul));
    const unsigned k = lhs->rank - (is_k_last(s, matmul, 0) ? 1u : 2u);
    const int64_t terms = sched_constant(sched_dim(s, lhs, k));
    const double results = count_of(s, sched_type(s, tile_op_result(s->compute, matmul, 0)));
    return terms < 0 || results < 0 ? -1 : 2 * results * (double)terms;
}

/* Returns whether the operand can be rounded in registers, which wgmma reads. */
static bool may_stay(const rounded *own) {
    const double few = own->direct ? FEW_COLUMNS : FEW_COLUMNS_COMPUTED;
    return (own->direct || (own->contiguous && !own->window.id)) && own->columns >= 0 &&
           own->columns <= few;
}

/* The operand that is rounded in registers: the larger one. 2: none. */
static unsigned find_staying(const rounded sides[2]) {
    const rounded *l = &sides[0], *r = &sides[1];
    const bool lhs = may_stay(l), rhs = may_stay(r);
    if (!lhs || !rhs) {
        const unsigned only = lhs ? 0 : 1;
        const double own = sides[only].elements, other = sides[1 - only].elements;
        return (lhs || rhs) && (own < 0 || (other >= 0 && own >= other)) ? only : 2;
    }
    if (l->elements != r->elements && l->elements >= 0 && r->elements >= 0)
        return l->elements > r->elements ? 0 : 1;
    return !l->contiguous && r->contiguous ? 1 : 0;
}

/* Which operands are stored. */
static void choose_stored(schedule *s, tile_op matmul, rounded sides[2], bool stored[2]) {
    const tile_target *target = s->pass->has_target ? s->pass->target : NULL;
    stored[0] = stored[1] = false;
    if (tile_op_opcode(s->compute, matmul) != TILE_OP_matmul ||
        (target && !tile_target_has(target, TILE_FEATURE_wgmma)))
        return;
    const double operations = count_operations(s, matmul);
    for (unsigned i = 0; i < 2; i++) sides[i] = find_rounded(s, matmul, i);
    if (operations >= 0 && operations < FEW_OPERATIONS) return;
    if (!sides[0].cast.id || !sides[1].cast.id) return;
    const unsigned staying = find_staying(sides);
    for (unsigned i = 0; i < 2; i++) stored[i] = i != staying;
}

/* K-major operands ----------------------------------------------------------------------------- */

/* The operand, cast after its last two dims have changed places. */
static tile_value transpose_cast(schedule *s, tile_builder *b, tile_value value) {
    const tile_type *type = sched_type(s, value);
    const tile_op cast = tile_value_def(s->compute, value);
    const tile_value src = tile_operand_src(s->compute, cast);
    tile_type draft = *sched_type(s, src);
    int64_t list[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank; d++) list[d] = d;
    list[type->rank - 2u] = type->rank - 1u;
    list[type->rank - 1u] = type->rank - 2u;
    for (unsigned d = 0; d < type->rank; d++) draft.dims[d] = type->dims[list[d]];
    tile_value turned = tile_build_transpose(b, src, tile_type_get(s->context, &draft));
    tile_op_set_list(s->compute, tile_value_def(s->compute, turned), TILE_ATTR_order, list,
                     type->rank);
    return tile_build_cast(b, turned, sched_element(s, value));
}

/* Returns whether the operand is a cast that is stored, and k is not its last dim. */
static bool is_turned(schedule *s, tile_op matmul, unsigned side) {
    rounded sides[2];
    bool stored[2];
    choose_stored(s, matmul, sides, stored);
    return stored[side] && !sides[side].k_major &&
           sides[side].cast.id == tile_op_operand(s->compute, matmul, side).id;
}

void sched_turn_rounded(schedule *s) {
    static const tile_attr_id trans[] = {TILE_ATTR_trans_lhs, TILE_ATTR_trans_rhs};
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        for (unsigned i = 0; i < 2; i++) found |= is_turned(s, op, i);
    if (!found) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    const uint32_t count = (uint32_t)f->op_count;
    tile_value *turned = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
    for (uint32_t id = 1; id < count; id++) {
        const tile_op op = {id};
        for (unsigned i = 0; f->ops[id].opcode && i < 2; i++) {
            if (!is_turned(s, op, i)) continue;
            const tile_value value = tile_op_operand(f, op, i);
            tile_builder b = tile_builder_before(f, tile_value_def(f, value));
            b.loc = tile_op_loc(f, op);
            if (!turned[value.id].id) turned[value.id] = transpose_cast(s, &b, value);
            tile_op_at(f, op)->operands[i] = turned[value.id];
            if (tile_op_has_attr(f, op, trans[i]))
                tile_op_remove_attr(f, op, trans[i]);
            else
                tile_op_set_flag(f, op, trans[i]);
        }
    }
}

void sched_plan_rounded(schedule *s, tile_op op) {
    rounded sides[2];
    bool stored[2];
    choose_stored(s, op, sides, stored);
    for (unsigned i = 0; i < 2 && !s->failed; i++)
        if (stored[i]) sched_plan_value(s, sides[i].cast);
}
