/* The kernel's header: arguments, parameters, grid, and the start of its tile. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/ops/dims.h"

/* Arguments ------------------------------------------------------------------------------------ */

static bool takes_array(const sched_kernel *k, unsigned array) {
    const sched_group *g = k->g;
    /* The only kernel has the compute's interface. */
    bool only = k->s->group_count == 1 && !k->s->is_section;
    bool taken = only && k->s->arrays[array].place != SCHED_SCRATCH;
    for (size_t i = 0; i < g->input_count; i++) taken |= g->inputs[i].array == array;
    for (size_t i = 0; i < g->output_count; i++) taken |= g->outputs[i].array == array;
    return taken;
}

/* The number by which the extent or coordinate multiplies the dim: 3 of `dim * 3`, or of a sum that
 * contains it; 0 for other expressions. */
static int64_t factor_of(const tile_expr *expr, const char *dim) {
    int64_t number;
    if (expr->kind == TILE_EXPR_PARAM) return strcmp(expr->name, dim) == 0;
    if (expr->kind != TILE_EXPR_OP) return 0;
    if (expr->opcode == TILE_OP_add || expr->opcode == TILE_OP_sub) {
        number = factor_of(expr->args[0], dim);
        return number ? number : factor_of(expr->args[1], dim);
    }
    if (expr->opcode != TILE_OP_mul) return 0;
    for (unsigned i = 0; i < 2; i++)
        if (tile_expr_is_int(expr->args[i], &number) && number > 0)
            return number * factor_of(expr->args[1 - i], dim);
    return 0;
}

/* The divisor of the dim with which factor * dim is a multiple of 16 bytes; 1 if it needs none. */
static unsigned divisor_by(int64_t factor, unsigned bytes) {
    unsigned divisor = factor && bytes && bytes < 16 ? 16 / bytes : 1;
    while (divisor > 1 && factor % 2 == 0) {
        divisor /= 2;
        factor /= 2;
    }
    return divisor;
}

static void raise_divisor(unsigned *divisor, const tile_expr *number, const char *dim,
                          const tile_type *element) {
    unsigned own = divisor_by(factor_of(number, dim), tile_scalar_bytes(element->scalar));
    if (own > *divisor) *divisor = own;
}

/* The dim whose elements are contiguous in the array of which the value has the elements. */
static unsigned contiguous_dim(schedule *s, tile_value value) {
    unsigned last = sched_type(s, value)->rank - 1u;
    tile_op op = tile_value_def(s->compute, value);
    for (unsigned a = 0; a < s->array_count && !op.id; a++)
        if (s->arrays[a].value.id == value.id) return sched_contiguous_dim(s, a);
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_transpose) return last;
    const tile_attr *order = tile_op_attr(s->compute, op, TILE_ATTR_order);
    unsigned own = contiguous_dim(s, tile_operand_src(s->compute, op));
    for (unsigned d = 0; d <= last; d++)
        if (own == (order ? (unsigned)order->list[d] : last - d)) return d;
    return last;
}

/* The operation that the value's elements come from, past others that move or cast them, up to
 * `end`. */
static tile_op source_of(const schedule *s, tile_value value, tile_op end) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id && op.id != end.id &&
           (sched_only_moves(s, op) || tile_op_opcode(s->compute, op) == TILE_OP_cast))
        value = tile_operand_src(s->compute, op);
    return op;
}

/* Returns whether the operation moves elements of an operand or of the result of a product. */
static bool is_of_product(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    tile_op from = source_of(s, tile_operand_src(f, op), TILE_NO_OP);
    bool found = from.id && tile_op_opcode(f, from) == TILE_OP_matmul;
    TILE_FOR_EACH_OP (f, at, f->body) {
        if (tile_op_opcode(f, at) != TILE_OP_matmul) continue;
        found |= source_of(s, tile_operand_lhs(f, at), op).id == op.id ||
                 source_of(s, tile_operand_rhs(f, at), op).id == op.id;
    }
    return found;
}

/* Rows of views: of reshaped arrays, and of slices, which begin and end where rows do. */
static void raise_by_view(const sched_kernel *k, unsigned *divisor, tile_op op, const char *dim) {
    schedule *s = k->s;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if ((opcode != TILE_OP_reshape && opcode != TILE_OP_slice) || !is_of_product(s, op)) return;
    tile_value src = tile_operand_src(s->compute, op), result = tile_op_result(s->compute, op, 0);
    const tile_type *type = sched_type(s, result), *from = sched_type(s, src);
    const tile_type *element = sched_element(k->s, result);
    if (opcode == TILE_OP_reshape) {
        raise_divisor(divisor, type->dims[type->rank - 1], dim, element);
        raise_divisor(divisor, from->dims[from->rank - 1], dim, element);
        return;
    }
    unsigned d = contiguous_dim(s, src);
    const tile_expr *first =
        tile_value_at(s->compute, tile_operands_first(s->compute, op).at[d])->expr;
    raise_divisor(divisor, type->dims[d], dim, element);
    if (first) raise_divisor(divisor, first, dim, element);
}

/* The divisor of an extent in the first variant of the kernel, chosen so that rows that are
 * multiples of 16 bytes are loaded by wide accesses. Other variants cover arguments without that
 * divisor. */
static unsigned divisor_of(const sched_kernel *k, const char *dim) {
    unsigned divisor = 0;
    for (unsigned a = 0; a < k->s->array_count; a++) {
        const sched_array *array = &k->s->arrays[a];
        const tile_type *type = sched_type(k->s, array->value);
        const tile_type *element = sched_element(k->s, array->value);
        if (takes_array(k, a))
            raise_divisor(&divisor, type->dims[sched_contiguous_dim(k->s, a)], dim, element);
        for (unsigned d = 0; takes_array(k, a) && array->strides[0] && d < type->rank; d++)
            raise_divisor(&divisor, array->strides[d], dim, element);
    }
    if (k->g->kind == SCHED_MATMUL || k->g->kind == SCHED_ONLINE)
        TILE_FOR_EACH_OP (k->s->compute, op, k->s->compute->body)
            raise_by_view(k, &divisor, op, dim);
    return divisor;
}

static void add_dims(sched_kernel *k) {
    const tile_type *type = tile_type_scalar(k->s->context, TILE_i32);
    for (unsigned i = 0; i < k->s->dim_count - k->s->has_variable; i++) {
        unsigned divisor = divisor_of(k, k->s->dims[i]->name);
        tile_function_add_arg(k->f, k->s->dim_names[i], type);
        if (divisor > 1) tile_function_set_arg_divisible(k->f, i, divisor);
    }
}

static void add_array(sched_kernel *k, unsigned array) {
    k->arrays[array] = sched_add_view(k->s, k->f, array);
}

/* Adds arguments in the compute's order; scratch follows, before the results. */
static void add_arguments(sched_kernel *k) {
    schedule *s = k->s;
    for (size_t i = 0; i < s->compute->arg_count; i++) {
        const tile_arg_decl *arg = &s->compute->args[i];
        if (arg->type->kind != TILE_TYPE_TENSOR)
            k->scalars[i] = tile_function_add_arg(k->f, arg->name, sched_element(s, arg->value));
        for (unsigned a = 0; a < s->array_count; a++)
            if (s->arrays[a].value.id == arg->value.id && s->arrays[a].place == SCHED_ARGUMENT &&
                takes_array(k, a))
                add_array(k, a);
    }
    for (unsigned a = 0; a < s->array_count; a++)
        if (s->arrays[a].place == SCHED_SCRATCH && takes_array(k, a)) add_array(k, a);
    for (unsigned a = 0; a < s->array_count; a++)
        if (s->arrays[a].place == SCHED_RESULT && takes_array(k, a)) add_array(k, a);
}

void sched_check_parts(sched_kernel *k) {
    schedule *s = k->s;
    const tile_loc loc = k->b.loc;
    for (size_t i = 0; i < s->part_count; i++) {
        const sched_part *part = &s->parts[i];
        k->b.loc = part->loc;
        tile_value first = sched_number(k, sched_expr(s, part->first));
        tile_value size = sched_number(k, sched_expr(s, part->size));
        tile_value whole = sched_number(k, sched_expr(s, part->whole));
        tile_value inside =
            tile_build_and(&k->b, tile_build_ge(&k->b, first, tile_build_int(&k->b, 0)),
                           tile_build_le(&k->b, first, tile_build_sub(&k->b, whole, size)));
        const tile_segment condition = {inside, NULL, 0};
        tile_op op = tile_build_op(&k->b, TILE_OP_assert, &condition, 1, NULL);
        if (op.id)
            tile_op_set_text(
                k->f, op, TILE_ATTR_text,
                tile_arena_format(s->arena, "%s: the part must begin and end inside of the tensor",
                                  part->name));
    }
    k->b.loc = loc;
}

void sched_kernel_open(sched_kernel *k, schedule *s, sched_group *g, const char *name) {
    *k = (sched_kernel){.s = s, .g = g};
    k->f = g->kernel = tile_function_create(s->compute->module, TILE_KERNEL, name, s->compute->loc);
    k->arrays = TILE_NEW_ARRAY(s->arena, tile_value, s->array_count + 1);
    k->scalars = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->arg_count + 1);
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) k->tile_of[d] = -1;
    add_dims(k);
    add_arguments(k);
    k->b = tile_builder_at_end(k->f, k->f->body);
    /* An assert in a product's kernel would exclude wgmma. */
    if (!s->has_variable && g->kind != SCHED_MATMUL && g->kind != SCHED_ONLINE)
        sched_check_parts(k);
}

/* Parameters ----------------------------------------------------------------------------------- */

const tile_expr *sched_add_param(sched_kernel *k, const char *name) {
    tile_function_add_param(k->f, name, TILE_PARAM_int, NULL, NULL);
    return tile_expr_param(k->s->context, name);
}

void sched_add_tune(sched_kernel *k, const tile_expr *const *params, unsigned param_count,
                    const int *points, unsigned point_count) {
    schedule *s = k->s;
    const char **names = TILE_NEW_ARRAY(s->arena, const char *, param_count);
    const tile_expr **values =
        TILE_NEW_ARRAY(s->arena, const tile_expr *, (size_t)param_count *point_count);
    for (unsigned i = 0; i < param_count; i++) names[i] = params[i]->name;
    for (unsigned i = 0; i < param_count * point_count; i++)
        values[i] = tile_expr_int(s->context, points[i]);
    tile_function_add_tune(k->f, param_count, names, point_count, values);
}

void sched_set_warps(sched_kernel *k, const tile_expr *warps) {
    tile_function_set_warps(k->f, warps);
}

/* Tiles ---------------------------------------------------------------------------------------- */

void sched_set_tile(sched_kernel *k, unsigned dim, unsigned t, const tile_expr *block) {
    k->tile_of[dim] = (int)t;
    k->block[t] = block;
    if (t >= k->tile_rank) k->tile_rank = t + 1;
}

tile_value sched_number(sched_kernel *k, const tile_expr *expr) {
    if (!tile_expr_has_arg(expr))
        return tile_build_constant(&k->b, tile_type_scalar(k->s->context, TILE_i32), expr);
    bool variable = k->s->has_variable && expr->integer == k->s->dim_count - 1;
    if (expr->kind == TILE_EXPR_ARG)
        return variable ? k->variable : k->f->args[expr->integer].value;
    tile_segment segments[3] = {{{0}, NULL, 0}};
    unsigned count = 0;
    for (; count < 3 && expr->args[count]; count++)
        segments[count].head = sched_number(k, expr->args[count]);
    return tile_build_op_value(&k->b, expr->opcode, segments, count, NULL);
}

/* The number of tiles along a dim of the domain. */
static const tile_expr *count_of(const sched_kernel *k, unsigned d) {
    const tile_expr *extent = sched_expr(k->s, k->g->domain.extents[d]);
    if (k->tile_of[d] < 0 || tile_expr_is(k->block[k->tile_of[d]], 1)) return extent;
    return tile_expr_op(k->s->context, TILE_OP_ceildiv, extent, k->block[k->tile_of[d]], NULL);
}

static tile_value start_of(sched_kernel *k, unsigned d, tile_value tile) {
    if (k->tile_of[d] < 0 || tile_expr_is(k->block[k->tile_of[d]], 1)) return tile;
    return tile_build_mul(&k->b, tile, sched_number(k, k->block[k->tile_of[d]]));
}

/* Returns whether the tiles are distributed over blocks along this dim. */
static bool is_of_grid(const sched_kernel *k, unsigned d, int whole) {
    return (int)d != whole && !tile_expr_is(count_of(k, d), 1);
}

const tile_expr *sched_count_tiles(const sched_kernel *k, int whole) {
    const tile_expr *grid = tile_expr_int(k->s->context, 1);
    for (unsigned d = k->g->domain.rank; d-- > 0;)
        if (is_of_grid(k, d, whole)) grid = tile_expr_multiply(k->s->context, count_of(k, d), grid);
    return grid;
}

void sched_place_tiles(sched_kernel *k, int whole, tile_value number) {
    unsigned dims[TILE_MAX_RANK], count = 0;
    for (unsigned d = k->g->domain.rank; d-- > 0;) {
        k->start[d] = tile_build_int(&k->b, 0);
        if (is_of_grid(k, d, whole)) dims[count++] = d;
    }
    if (!count) return;
    tile_value rest = number.id ? number : tile_build_block_id(&k->b);
    for (unsigned i = 0; i < count; i++) {
        tile_value here = rest;
        if (i + 1 < count) {
            tile_value tiles = sched_number(k, count_of(k, dims[i]));
            here = tile_build_rem(&k->b, rest, tiles);
            rest = tile_build_div(&k->b, rest, tiles);
        }
        k->start[dims[i]] = start_of(k, dims[i], here);
    }
}

int64_t sched_count_bytes(schedule *s, unsigned array) {
    const tile_type *type = sched_type(s, s->arrays[array].value);
    int64_t bytes = tile_scalar_bytes(sched_element(s, s->arrays[array].value)->scalar);
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t extent = sched_constant(sched_dim(s, type, d));
        if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return -1;
    }
    return bytes;
}

/* Returns whether the array is larger than what the L2 keeps of it. */
static bool is_large(const sched_kernel *k, unsigned array) {
    enum { LARGE = 32 << 20 };
    return sched_count_bytes(k->s, array) > LARGE;
}

static bool has_large_array(const sched_kernel *k, const sched_group *g) {
    bool found = false;
    for (size_t i = 0; i < g->input_count; i++) found |= is_large(k, g->inputs[i].array);
    for (size_t o = 0; o < g->output_count; o++) found |= is_large(k, g->outputs[o].array);
    return found;
}

/* Returns whether the last elements of the array that the group touches are those that it writes or
 * reads last. */
static bool ends_with(const sched_group *g, unsigned array) {
    bool in_order = g->kind == SCHED_ELEMENTWISE || g->kind == SCHED_ROWS;
    for (size_t o = 0; o < g->output_count; o++)
        if (g->outputs[o].array == array) return !g->reversed;
    for (size_t i = 0; i < g->input_count && in_order && !g->chains && !g->own_domain; i++)
        if (g->inputs[i].array == array) return !g->reversed;
    return false;
}

/* Returns whether the kernel's blocks begin with the last elements of a large array that the last
 * kernel before it with large arrays wrote or read last: these are still in the L2. 8192 x 4096 of
 * f32 that a product wrote are normalized in 46 us instead of 50 (H200). */
static bool begins_at_end(const sched_kernel *k) {
    const schedule *s = k->s;
    sched_group *g = k->g;
    size_t own = 0;
    while (own < s->group_count && s->groups[own] != g) own++;
    bool plain = (g->kind == SCHED_ELEMENTWISE || g->kind == SCHED_ROWS) && !g->chains &&
                 !g->own_domain && !g->repeated && !s->is_section;
    if (!plain || !own || own == s->group_count) return false;
    size_t before = own - 1;
    while (before && !has_large_array(k, s->groups[before])) before--;
    for (size_t i = 0; i < g->input_count && !g->reversed; i++)
        g->reversed |=
            is_large(k, g->inputs[i].array) && ends_with(s->groups[before], g->inputs[i].array);
    return g->reversed;
}

void sched_set_grid(sched_kernel *k, int whole) {
    const tile_expr *grid = sched_count_tiles(k, whole);
    tile_value number = TILE_NO_VALUE;
    tile_function_set_grid(k->f, 1, &grid);
    if (begins_at_end(k)) {
        tile_value last = tile_build_sub(&k->b, sched_number(k, grid), tile_build_int(&k->b, 1));
        number = tile_build_sub(&k->b, last, tile_build_block_id(&k->b));
    }
    sched_place_tiles(k, whole, number);
}

const tile_type *sched_tile_type(const sched_kernel *k, const tile_type *element,
                                 const tile_expr *const *dims) {
    tile_type draft = {.kind = TILE_TYPE_TILE,
                       .scalar = element->scalar,
                       .param = element->param,
                       .rank = k->tile_rank};
    for (unsigned t = 0; t < k->tile_rank; t++) draft.dims[t] = dims[t];
    return tile_type_get(k->s->context, &draft);
}

const tile_type *sched_full_type(const sched_kernel *k, const tile_type *element) {
    return sched_tile_type(k, element, k->block);
}
