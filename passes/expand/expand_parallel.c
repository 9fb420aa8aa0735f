/* expand-parallel: rewrites `parallel` as operations on tiles.
 *
 * The region describes the computation of one element. Each value becomes a tile over the
 * coordinates that it depends on, so `%j / 8` is computed once per row. Elements of tiles at
 * matching coordinates stay in registers; others are gathered. Memory accesses become tile accesses
 * if the coordinates advance along dims of the space, otherwise accesses with index tiles. `if`
 * becomes selects and predicates. All optimizations of tiles, layouts and access widths then apply.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: expand-parallel
 * before:
 *   kernel @nibbles(%x: view<i32[16, 4]>, %y: view<i32[16, 32]>) grid [1] warps 1 {
 *     %t = load %x[0, 0] : tile<i32[16, 4]>
 *     %n = parallel (%i, %j) in [16, 32] {
 *       %w = element %t, [%i, %j / 8] : i32
 *       yield %w + %j
 *     }
 *     store %n, %y[0, 0]
 *   }
 * after:
 *   kernel @nibbles(%x: view<i32[16, 4]>, %y: view<i32[16, 32]>) grid [1] warps 1 {
 *     %t = load %x[0, 0] : tile<i32[16, 4]>
 *     %i = iota {axis = 0} : tile<i32[16, 1]>
 *     %j = iota {axis = 1} : tile<i32[1, 32]>
 *     %0 = splat 8 : tile<i32[1, 32]>
 *     %1 = div %j, %0 : tile<i32[1, 32]>
 *     %2 = reshape %t : tile<i32[16, 4, 1]>
 *     %3 = broadcast %2 : tile<i32[16, 4, 8]>
 *     %w = reshape %3 : tile<i32[16, 32]>
 *     %4 = broadcast %j : tile<i32[16, 32]>
 *     %n = add %w, %4 : tile<i32[16, 32]>
 *     store %n, %y[0, 0]
 *   } */
#include "lib/ir/regions.h"
#include "lib/ir/arith.h"
#include "lib/ops/atomic.h"
#include "passes/expand/expand_parallel.h"

static void expand_region(expansion *e, tile_region region);

expanded expand_value(const expansion *e, tile_value value) {
    expanded s = e->known[value.id];
    return s.value.id ? s : (expanded){value, 0};
}

void expand_set(expansion *e, tile_value value, expanded s) {
    tile_value_data *made = tile_value_at(e->f, s.value);
    e->known[value.id] = s;
    if (!made->name && made->kind == TILE_VALUE_RESULT)
        made->name = tile_value_at(e->f, value)->name;
}

/* Operations ---------------------------------------------------------------------------------- */

static void copy_attrs(expansion *e, tile_op from, tile_op to) {
    const tile_op_data *data = tile_op_at(e->f, from);
    if (!to.id) return;
    tile_op_at(e->f, to)->attrs = data->attrs;
    tile_op_at(e->f, to)->attr_count = data->attr_count;
}

tile_op expand_rebuild(expansion *e, tile_op op, const tile_segment *segments,
                       const tile_type *given) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(e->f, op));
    const tile_op_data data = *tile_op_at(e->f, op);
    tile_op made =
        tile_build_op_of(&e->x.b, (tile_opcode)data.opcode, segments, info->operand_count,
                         info->type_given ? given : NULL, data.attrs, data.attr_count);
    e->failed |= !made.id;
    copy_attrs(e, op, made);
    return made;
}

static void set_result(expansion *e, tile_op op, tile_op made, uint32_t dims) {
    if (!made.id) return;
    for (unsigned i = 0; i < tile_op_result_count(e->f, op); i++)
        expand_set(e, tile_op_result(e->f, op, i), (expanded){tile_op_result(e->f, made, i), dims});
}

/* Integer division also executes for inactive elements, so the divisor is replaced by 1. A
 * per-element predicate would turn scalars into tiles; in that case only a divisor of 0 is
 * replaced. */
static tile_value divisor_of(expansion *e, tile_value divisor) {
    const expanded *p = &e->predicate;
    const tile_type *type = tile_value_type(e->f, divisor);
    tile_value one = tile_build_constant(&e->x.b, type, tile_expr_int(e->x.context, 1));
    tile_value used = p->value;
    if (p->dims) used = tile_build_ne(&e->x.b, divisor, tile_build_zero(&e->x.b, type));
    return tile_build_select(&e->x.b, used, divisor, one);
}

/* Broadcasts the operands to the union of their dims. */
static void expand_elementwise(expansion *e, tile_op op) {
    tile_segment segments[TILE_MAX_OPERANDS] = {{{0}, NULL, 0}};
    unsigned count = tile_op_operand_count(e->f, op);
    uint32_t dims = 0;
    for (unsigned i = 0; i < count; i++) dims |= expand_value(e, tile_op_operand(e->f, op, i)).dims;
    for (unsigned i = 0; i < count; i++)
        segments[i].head =
            expanded_broadcast(&e->x, expand_value(e, tile_op_operand(e->f, op, i)), dims);
    const tile_type *type =
        tile_op_result_count(e->f, op) ? tile_value_type(e->f, tile_op_result(e->f, op, 0)) : NULL;
    if (!dims && e->predicate.value.id && tile_may_divide_by_zero(e->f, op) &&
        !tile_scalar_is_floating(type->scalar))
        segments[1].head = divisor_of(e, segments[1].head);
    if (type && dims) type = expanded_type(&e->x, type, dims);
    set_result(e, op, expand_rebuild(e, op, segments, type), dims);
}

expanded expand_and(expansion *e, expanded a, expanded b) {
    if (!a.value.id) return b;
    expanded s = {.dims = a.dims | b.dims};
    s.value = tile_build_and(&e->x.b, expanded_broadcast(&e->x, a, s.dims),
                             expanded_broadcast(&e->x, b, s.dims));
    return s;
}

static expanded inverse(expansion *e, expanded a) {
    return (expanded){tile_build_not(&e->x.b, a.value), a.dims};
}

/* A check applies to active elements only. An `assume` that does not apply to all elements is
 * dropped. */
static void expand_check(expansion *e, tile_op op) {
    expanded condition = expand_value(e, tile_operand_condition(e->f, op));
    if (tile_op_opcode(e->f, op) == TILE_OP_assume && (condition.dims || e->predicate.value.id))
        return;
    if (e->predicate.value.id) {
        expanded not = inverse(e, e->predicate);
        uint32_t dims = condition.dims | not .dims;
        condition.value = tile_build_or(&e->x.b, expanded_broadcast(&e->x, condition, dims),
                                        expanded_broadcast(&e->x, not, dims));
        condition.dims = dims;
    }
    const tile_segment segment = {condition.value, NULL, 0};
    expand_rebuild(e, op, &segment, NULL);
}

bool expand_reject_varying(expansion *e, tile_op op, const char *what) {
    tile_error_at(e->f, op,
                  "%s in `parallel` must be the same for all elements; for others write `while`, "
                  "or a loop with the largest bound and an `if` in it",
                  what);
    e->failed = true;
    return false;
}

/* Elements of tiles --------------------------------------------------------------------------- */

static void expand_element(expansion *e, tile_op op) {
    expanded_index places[TILE_MAX_RANK];
    const tile_values at = tile_operands_at(e->f, op);
    for (unsigned d = 0; d < at.count; d++) places[d] = expand_place(e, at.at[d]);
    expanded taken = expanded_extract(&e->x, tile_operand_src(e->f, op), places, e->predicate);
    e->failed |= !taken.value.id;
    if (!e->failed) expand_set(e, tile_op_result(e->f, op, 0), taken);
}

/* Control ------------------------------------------------------------------------------------- */

/* Both regions run, each with the predicate of its elements. */
static void expand_if(expansion *e, tile_op op) {
    expanded condition = expand_value(e, tile_operand_condition(e->f, op)), outer = e->predicate;
    tile_region regions[] = {tile_op_region(e->f, op, 0), tile_op_region(e->f, op, 1)};
    e->predicate = expand_and(e, outer, condition);
    expand_region(e, regions[0]);
    bool otherwise =
        tile_region_at(e->f, regions[1])->first.id != tile_region_yield(e->f, regions[1]).id;
    if (otherwise) e->predicate = expand_and(e, outer, inverse(e, condition));
    expand_region(e, regions[1]);
    e->predicate = outer;
    for (unsigned i = 0; i < tile_op_result_count(e->f, op); i++) {
        expanded yes = expand_value(e, tile_carried_sent(e->f, op, 0, i)),
                 no = expand_value(e, tile_carried_sent(e->f, op, 1, i));
        expanded chosen = {.dims = condition.dims | yes.dims | no.dims};
        chosen.value = tile_build_select(&e->x.b, expanded_broadcast(&e->x, condition, chosen.dims),
                                         expanded_broadcast(&e->x, yes, chosen.dims),
                                         expanded_broadcast(&e->x, no, chosen.dims));
        expand_set(e, tile_op_result(e->f, op, i), chosen);
    }
}

/* Each carried value becomes a tile with a value per element. */
static void expand_for(expansion *e, tile_op op) {
    enum { BOUNDS = 3 };
    unsigned carried = tile_carried_count(e->f, op);
    tile_value bounds[BOUNDS];
    tile_value *values = TILE_NEW_ARRAY(e->pass->scratch, tile_value, carried + 1u);
    for (unsigned i = 0; i < BOUNDS; i++) {
        expanded bound = expand_value(e, tile_op_operand(e->f, op, i));
        bounds[i] = bound.value;
        if (bound.dims && !expand_reject_varying(e, op, "the bounds of a loop")) return;
    }
    for (unsigned i = 0; i < carried; i++)
        values[i] = expanded_broadcast(
            &e->x, expand_value(e, tile_carried_sent(e->f, op, TILE_PARENT_OP, i)), e->x.full);
    tile_op loop = tile_build_for_loop(&e->x.b, bounds[0], bounds[1], bounds[2], values, carried);
    if (!loop.id) {
        e->failed = true;
        return;
    }
    copy_attrs(e, op, loop);
    tile_region from = tile_op_region(e->f, op, 0), to = tile_op_region(e->f, loop, 0);
    tile_builder outer = e->x.b;
    for (unsigned i = 0; i <= carried; i++)
        e->known[tile_region_arg(e->f, from, i).id] =
            (expanded){tile_region_arg(e->f, to, i), i ? e->x.full : 0};
    e->x.b.region = to;
    e->x.b.before = TILE_NO_OP;
    expand_region(e, from);
    for (unsigned i = 0; i < carried; i++)
        values[i] = expanded_broadcast(&e->x, expand_value(e, tile_carried_sent(e->f, op, 0, i)),
                                       e->x.full);
    tile_build_yield(&e->x.b, values, carried);
    e->x.b = outer;
    for (unsigned i = 0; i < carried; i++)
        expand_set(e, tile_op_result(e->f, op, i),
                   (expanded){tile_op_result(e->f, loop, i), e->x.full});
}

/* Region arguments of a `while`: a tile per carried value, then a tile of i1 that marks the active
 * elements. This tile becomes the predicate of the region. */
static void enter_while(expansion *e, tile_region from, tile_region to, unsigned carried) {
    for (unsigned i = 0; i < carried; i++)
        e->known[tile_region_arg(e->f, from, i).id] =
            (expanded){tile_region_arg(e->f, to, i), e->x.full};
    e->predicate = (expanded){tile_region_arg(e->f, to, carried), e->x.full};
    e->x.b.region = to;
    e->x.b.before = TILE_NO_OP;
    expand_region(e, from);
}

/* Selects the values sent by region r for active elements; inactive elements keep their values. */
static void keep_done(expansion *e, tile_op op, int r, tile_region to, tile_value *values) {
    for (unsigned i = 0; i < tile_carried_count(e->f, op); i++) {
        expanded sent = expand_value(e, tile_carried_sent(e->f, op, r, i));
        values[i] = tile_build_select(&e->x.b, e->predicate.value,
                                      expanded_broadcast(&e->x, sent, e->x.full),
                                      tile_region_arg(e->f, to, i));
    }
}

/* Each element iterates as long as its own condition holds. The loop runs while any element is
 * active; inactive elements have no effects. */
static void expand_while(expansion *e, tile_op op) {
    unsigned carried = tile_carried_count(e->f, op);
    tile_value *values = TILE_NEW_ARRAY(e->pass->scratch, tile_value, carried + 2u);
    const tile_type *i1 = tile_type_scalar(e->x.context, TILE_i1);
    expanded outer = e->predicate,
             all = {tile_function_constant(e->f, i1, tile_expr_int(e->x.context, 1)), 0};
    for (unsigned i = 0; i < carried; i++)
        values[i] = expanded_broadcast(
            &e->x, expand_value(e, tile_carried_sent(e->f, op, TILE_PARENT_OP, i)), e->x.full);
    values[carried] = expanded_broadcast(&e->x, outer.value.id ? outer : all, e->x.full);
    tile_op loop = tile_build_while_loop(&e->x.b, values, carried + 1);
    if (!loop.id) {
        e->failed = true;
        return;
    }
    tile_region test = tile_op_region(e->f, loop, 0), body = tile_op_region(e->f, loop, 1);
    tile_builder around = e->x.b;
    enter_while(e, tile_op_region(e->f, op, 0), test, carried);
    if (e->failed) return;
    keep_done(e, op, 0, test, values + 1);
    expanded keep_going =
        expand_and(e, e->predicate, expand_value(e, tile_control_operand(e->f, op, 0)));
    values[carried + 1] = keep_going.value;
    values[0] = expanded_any(&e->x, keep_going.value);
    tile_build_yield(&e->x.b, values, carried + 2);
    enter_while(e, tile_op_region(e->f, op, 1), body, carried);
    if (e->failed) return;
    keep_done(e, op, 1, body, values);
    values[carried] = e->predicate.value;
    tile_build_yield(&e->x.b, values, carried + 1);
    e->x.b = around;
    e->predicate = outer;
    for (unsigned i = 0; i < carried; i++)
        expand_set(e, tile_op_result(e->f, op, i),
                   (expanded){tile_op_result(e->f, loop, i), e->x.full});
}

static void expand_op(expansion *e, tile_op op) {
    e->x.b.loc = tile_op_loc(e->f, op);
    switch (tile_op_opcode(e->f, op)) {
    case TILE_OP_element: expand_element(e, op); break;
    case TILE_OP_load:
    case TILE_OP_inside: expand_load(e, op); break;
    case TILE_OP_store:
    case TILE_OP_atomic:
    case TILE_OP_atomic_cas: expand_store(e, op); break;
    case TILE_OP_if: expand_if(e, op); break;
    case TILE_OP_for: expand_for(e, op); break;
    case TILE_OP_while: expand_while(e, op); break;
    case TILE_OP_assert:
    case TILE_OP_assume: expand_check(e, op); break;
    case TILE_OP_yield: break; /* handled by the enclosing operation */
    case TILE_OP_uniform:
        if (expand_value(e, tile_operand_src(e->f, op)).dims) {
            expand_reject_varying(e, op, "the operand of `uniform`");
            break;
        }
        expand_elementwise(e, op);
        break;
    default: expand_elementwise(e, op); break;
    }
}

static void expand_region(expansion *e, tile_region region) {
    for (tile_op op = tile_region_at(e->f, region)->first; op.id && !e->failed;
         op = tile_op_at(e->f, op)->next)
        expand_op(e, op);
}

static void find_space(expansion *e) {
    e->x.rank = tile_op_operand_count(e->f, e->op);
    e->x.full = EXPANDED_TILE;
    for (unsigned d = 0; d < e->x.rank; d++) {
        e->x.extent[d] = 1;
        tile_value_is_int(e->f, tile_op_operand(e->f, e->op, d), &e->x.extent[d]);
        if (e->x.extent[d] > 1) e->x.full |= UINT32_C(1) << d;
    }
}

static bool expand(tile_pass *pass, tile_function *f, tile_op op) {
    expansion e = {.x = {.b = tile_builder_before(f, op), .context = pass->context},
                   .pass = pass,
                   .f = f,
                   .op = op};
    tile_region body = tile_op_region(f, op, 0);
    unsigned results = tile_op_result_count(f, op);
    e.known = TILE_NEW_ARRAY(pass->scratch, expanded, f->value_count);
    find_space(&e);
    for (unsigned d = 0; d < e.x.rank; d++) {
        tile_value arg = tile_region_arg(f, body, d);
        if (e.x.extent[d] == 1 || tile_value_is_used(f, arg))
            expand_set(&e, arg, expanded_coordinate(&e.x, d));
    }
    expand_region(&e, body);
    if (e.failed) return false;
    tile_value *made = TILE_NEW_ARRAY(pass->scratch, tile_value, results + 1u);
    for (unsigned i = 0; i < results; i++) {
        tile_value old = tile_op_result(f, op, i);
        made[i] =
            expanded_broadcast(&e.x, expand_value(&e, tile_carried_sent(f, op, 0, i)), e.x.full);
        if (!tile_value_at(f, made[i])->name)
            tile_value_at(f, made[i])->name = tile_value_at(f, old)->name;
    }
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    for (unsigned i = 0; i < results; i++) map[tile_op_result(f, op, i).id] = made[i];
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
    return true;
}

tile_status tile_pass_expand_parallel(tile_pass *pass, tile_function *f) {
    unsigned count;
    bool ok = true;
    const tile_op *ops = tile_find_ops(f, TILE_OP_parallel, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) ok &= expand(pass, f, ops[i]);
    tile_pass_count(pass, "expanded", count);
    return ok ? TILE_OK : TILE_INVALID;
}
