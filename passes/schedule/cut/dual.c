/* Two products of the same left operand in one kernel, as of gated linear units:
 *
 *     %y = silu(matmul(%x, %w)) * matmul(%x, %v)
 *
 * As two kernels, the second one reads the result of the first one from memory, in f32, and %x is
 * read twice. In one kernel, a block has a tile of both results at the same place. It takes as long
 * as one product with the columns of both: each step copies a tile of %x and of both right operands
 * (products/matmul.c).
 *
 * Two such products that are results, of which another kernel would read both, become one group
 * after all others are cut. */
#include "passes/schedule/cut/cut.h"

#include "lib/ir/effects.h"
#include "passes/schedule/kernel/packed.h"
#include "passes/schedule/kernel/scaled.h"

enum { LHS, RHS }; /* operands of a product */

/* Returns whether the value is an array, or a view of one. */
static bool is_from_array(schedule *s, tile_value value) {
    tile_op op;
    while (sched_array_of(s, value) < 0 && (op = tile_value_def(s->compute, value)).id) {
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        if (opcode != TILE_OP_reshape && opcode != TILE_OP_transpose && opcode != TILE_OP_slice)
            return false;
        value = tile_operand_src(s->compute, op);
    }
    return true;
}

/* Returns whether tensor cores multiply the elements as they are. Other sums have more registers
 * for each element. */
static bool is_by_tensor_cores(schedule *s, tile_op op) {
    tile_word precision = tile_op_word(s->compute, op, TILE_ATTR_precision);
    tile_scalar element = sched_element(s, sched_multiplied(s, op, LHS))->scalar;
    if (element == TILE_f32) return precision == TILE_WORD_precision_tf32;
    return tile_scalar_bits(element) <= 16 || element == TILE_tf32;
}

/* Returns whether the product can be one of two. */
static bool is_candidate(schedule *s, tile_op op) {
    static const tile_attr_id own[] = {TILE_ATTR_tile,  TILE_ATTR_stages,   TILE_ATTR_warps,
                                       TILE_ATTR_split, TILE_ATTR_strategy, TILE_ATTR_raster};
    tile_value lhs = tile_operand_lhs(s->compute, op);
    bool fits = is_by_tensor_cores(s, op) && !s->expands[lhs.id] &&
                is_from_array(s, sched_multiplied(s, op, RHS)) && !sched_scaled_of(s, op) &&
                !sched_packed_of(s, op);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        fits &= !tile_op_has_attr(s->compute, op, own[i]);
    return fits;
}

/* Bytes that are not contiguous along k are read in pairs of rows, which the sums then have, too.
 */
static bool are_alike(schedule *s, tile_op a, tile_op b) {
    const tile_function *f = s->compute;
    bool bytes = tile_scalar_bits(sched_element(s, sched_multiplied(s, a, RHS))->scalar) == 8,
         same_order = tile_op_has_attr(f, a, TILE_ATTR_trans_rhs) ==
                      tile_op_has_attr(f, b, TILE_ATTR_trans_rhs);
    return (!bytes || same_order) && tile_operand_lhs(f, a).id == tile_operand_lhs(f, b).id &&
           tile_op_has_attr(f, a, TILE_ATTR_trans_lhs) ==
               tile_op_has_attr(f, b, TILE_ATTR_trans_lhs) &&
           tile_op_word(f, a, TILE_ATTR_precision) == tile_op_word(f, b, TILE_ATTR_precision) &&
           sched_multiplied(s, a, LHS).id == sched_multiplied(s, b, LHS).id &&
           sched_element(s, sched_multiplied(s, a, RHS)) ==
               sched_element(s, sched_multiplied(s, b, RHS)) &&
           sched_element(s, tile_op_result(f, a, 0)) == sched_element(s, tile_op_result(f, b, 0));
}

/* Returns whether every use of the stopped value is at the domain's own coordinates. */
static bool is_in_place(const sched_traversal *w, tile_value value, const sched_domain *domain) {
    for (size_t i = 0; i < w->stop_count; i++)
        if (w->stops[i].value.id == value.id &&
            (w->stops[i].own_domain || !sched_is_all(w->s, &w->stops[i], domain)))
            return false;
    return true;
}

tile_op sched_find_dual(const sched_traversal *w, tile_op op, const sched_domain *domain) {
    schedule *s = w->s;
    if (!is_candidate(s, op)) return TILE_NO_OP;
    for (size_t i = 0; i < w->stop_count; i++) {
        const tile_value value = w->stops[i].value;
        tile_op other = tile_value_def(s->compute, value);
        if (!other.id || other.id == op.id || sched_is_planned(s, value) ||
            tile_op_opcode(s->compute, other) != TILE_OP_matmul || !is_candidate(s, other) ||
            !are_alike(s, op, other) || !sched_is_latest(w, i))
            continue;
        if (is_in_place(w, value, domain)) return other;
    }
    return TILE_NO_OP;
}

static bool has_product(const sched_group *g, tile_op op) {
    return !op.id || g->root.id == op.id || g->dual.id == op.id;
}

bool sched_shares_products(const sched_group *a, const sched_group *b) {
    return (has_product(a, b->root) && has_product(a, b->dual)) ||
           (has_product(b, a->root) && has_product(b, a->dual));
}

static bool is_alone(const sched_group *g) {
    return g->kind == SCHED_MATMUL && !g->dual.id && !g->has_rows && !g->moves && !g->passed;
}

static bool become_dual(schedule *s, const sched_group *a, const sched_group *b) {
    return is_alone(a) && is_alone(b) && a->root.id != b->root.id &&
           sched_same_domain(&a->domain, &b->domain) && is_candidate(s, a->root) &&
           is_candidate(s, b->root) && are_alike(s, a->root, b->root);
}

static bool reads(const sched_group *reader, const sched_group *writer) {
    for (size_t i = 0; i < reader->input_count; i++)
        if (sched_is_output(writer, (int)reader->inputs[i].array)) return true;
    return false;
}

/* Returns whether an element-wise group reads results of both. */
static bool have_common_reader(const schedule *s, size_t one, size_t other) {
    for (size_t i = other + 1; i < s->group_count; i++)
        if (s->groups[i]->kind == SCHED_ELEMENTWISE && reads(s->groups[i], s->groups[one]) &&
            reads(s->groups[i], s->groups[other]))
            return true;
    return false;
}

/* Joins element-wise groups that read what the group at the index has. */
static void join_readers(schedule *s, size_t index) {
    for (size_t i = index + 1; i < s->group_count;) {
        if (s->groups[i]->kind != SCHED_ELEMENTWISE || !sched_can_join(s, index, s->groups[i])) {
            i++;
            continue;
        }
        sched_join_groups(s, index, s->groups[i]);
        sched_remove_group(s, i);
    }
}

void sched_unite_products(schedule *s) {
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t j = i + 1; j < s->group_count; j++) {
            const sched_group *to = s->groups[i], *from = s->groups[j];
            if (!become_dual(s, to, from)) continue;
            sched_group both = *from;
            both.dual = to->root;
            if ((!reads(from, to) && !have_common_reader(s, i, j)) || !sched_can_join(s, i, &both))
                continue;
            sched_join_groups(s, i, &both);
            sched_remove_group(s, j);
            join_readers(s, i);
        }
}
