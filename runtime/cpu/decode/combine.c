/* Reductions and scans by a function. Its operations are decoded aside from the program, as
 * instructions on one element of every row. */
#include "runtime/cpu/execute/combine.h"

#include "lib/builder/combine_func.h"
#include "lib/support/scalar.h"
#include "runtime/cpu/decode/decode.h"

/* A place in the frame, after all others, for an element of every row. */
static uint32_t new_place(cpu_decoder *d, tile_scalar scalar, size_t rows) {
    uint32_t place = (d->program->frame_bytes + CPU_PLACE_ALIGN - 1u) & ~(CPU_PLACE_ALIGN - 1u);
    d->program->frame_bytes = place + (uint32_t)(rows * tile_scalar_bytes(scalar));
    return place;
}

/* Places for the values of the function; its constants are repeated for each row. */
static void place_values(cpu_decoder *d, const tile_function *f, size_t rows) {
    for (uint32_t id = 1; id < f->value_count; id++) {
        const tile_value_data *data = &f->values[id];
        tile_scalar scalar = data->type->scalar;
        d->places[id] = new_place(d, scalar, rows);
    }
    for (uint32_t id = 1; id < f->value_count; id++) {
        const tile_value_data *data = &f->values[id];
        if (data->kind != TILE_VALUE_CONSTANT) continue;
        tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = data->type->scalar, .rank = 1};
        draft.dims[0] = tile_expr_int(tile_function_context(f), (int64_t)rows);
        uint32_t place = cpu_add_constant(d, tile_type_get(tile_function_context(f), &draft));
        uint8_t *at = d->program->constants + (place & ~CPU_CONSTANT_PLACE);
        unsigned size = tile_scalar_bytes(draft.scalar);
        d->places[id] = place;
        for (size_t i = 0; i < rows; i++)
            if (data->expr->kind == TILE_EXPR_FLOAT)
                tile_scalar_write(draft.scalar, at + i * size, data->expr->number);
            else
                tile_integer_write(draft.scalar, at + i * size, data->expr->integer);
    }
}

/* Decodes the function's operations aside from the program. */
static void decode_function(cpu_decoder *d, struct cpu_combine *c) {
    const tile_function *own = d->f, *f = c->with.function;
    uint32_t *places = d->places, first = d->program->insn_count;
    d->f = f;
    d->places = TILE_NEW_ARRAY(&d->scratch, uint32_t, f->value_count);
    place_values(d, f, c->rows);
    TILE_FOR_EACH_OP (f, op, f->body)
        if (!d->failed) cpu_decode_elementwise(d, op);
    c->insn_count = d->program->insn_count - first;
    if (c->insn_count)
        c->insns = tile_arena_copy(&d->program->arena, d->program->insns + first,
                                   sizeof *c->insns * c->insn_count);
    for (uint32_t i = 0; i < c->insn_count; i++) {
        c->insns[i].count = (uint32_t)c->rows;
        c->insns[i].flag = false; /* a condition for each row */
    }
    for (unsigned i = 0; i < c->with.count; i++) {
        c->operands[i].left = d->places[tile_function_arg(f, i).id];
        c->operands[i].right = d->places[tile_function_arg(f, c->with.count + i).id];
        c->operands[i].out = d->places[f->results[i].value.id];
    }
    d->program->insn_count = first;
    d->places = places;
    d->f = own;
}

static void decode_combine(cpu_decoder *d, tile_op op) {
    int64_t dims[TILE_MAX_RANK];
    const tile_values src = tile_operands_src(d->f, op), none = tile_operands_identity(d->f, op);
    struct cpu_combine *c = TILE_NEW(&d->program->arena, struct cpu_combine);
    if (!tile_combine_of(d->f, op, &c->with)) {
        CPU_FAIL(d, tile_op_loc(d->f, op), "%s: its axis is not known yet: instantiate the kernel",
                 tile_op_name(d->f, op));
        return;
    }
    if (!tile_func_is_plain(c->with.function)) {
        CPU_FAIL(d, tile_op_loc(d->f, op),
                 "%s: the parameters or calls of @%s are not resolved yet: instantiate the kernel",
                 tile_op_name(d->f, op), c->with.function->name);
        return;
    }
    const tile_type *type = tile_value_type(d->f, src.at[0]);
    for (unsigned k = 0; k < type->rank; k++) dims[k] = tile_type_dim(type, k);
    tile_rows rows = tile_rows_along(dims, type->rank, c->with.axis);
    c->rows = rows.outer * rows.inner;
    c->operands = TILE_NEW_ARRAY(&d->program->arena, cpu_combined, c->with.count);
    for (unsigned i = 0; i < c->with.count; i++) {
        tile_scalar scalar = tile_value_type(d->f, src.at[i])->scalar;
        c->operands[i] =
            (cpu_combined){.scalar = scalar,
                           .size = tile_scalar_bytes(scalar),
                           .from = cpu_place_of(d, src.at[i]),
                           .poison = cpu_poison_place(d, src.at[i], cpu_place_of(d, src.at[i])),
                           .to = cpu_place_of(d, tile_op_result(d->f, op, i)),
                           .identity = none.count ? cpu_place_of(d, none.at[i]) : CPU_NO_PLACE};
    }
    decode_function(d, c);
    cpu_insn *insn = cpu_add_op(d, op, cpu_run_combine);
    insn->type = type;
    insn->integer = c->with.axis;
    insn->reverse = c->with.reverse;
    insn->exclusive = c->with.exclusive;
    insn->combine = c;
    cpu_set_elements(d, insn, type);
}

void cpu_decode_reduce_with(cpu_decoder *d, tile_op op) {
    decode_combine(d, op);
}

void cpu_decode_scan_with(cpu_decoder *d, tile_op op) {
    decode_combine(d, op);
}
