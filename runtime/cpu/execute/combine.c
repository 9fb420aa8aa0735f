/* Reductions and scans by a function. Its operations are decoded as instructions on one element of
 * every row, and run for each position along the axis. */
#include "runtime/cpu/execute/combine.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "runtime/cpu/execute/decoding.h"

/* Decoding ------------------------------------------------------------------------------------- */

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
    const tile_type *type = tile_value_type(d->f, src.at[0]);
    for (unsigned k = 0; k < type->rank; k++) dims[k] = tile_type_dim(type, k);
    tile_rows rows = tile_rows_along(dims, type->rank, c->with.axis);
    c->rows = rows.outer * rows.inner;
    c->operands = TILE_NEW_ARRAY(&d->program->arena, cpu_combined, c->with.count);
    for (unsigned i = 0; i < c->with.count; i++) {
        tile_scalar scalar = tile_value_type(d->f, src.at[i])->scalar;
        c->operands[i] = (cpu_combined){.scalar = scalar,
                                   .size = tile_scalar_bytes(scalar),
                                   .from = cpu_place_of(d, src.at[i]),
                                   .to = cpu_place_of(d, tile_op_result(d->f, op, i)),
                                   .identity = none.count ? cpu_place_of(d, none.at[i])
                                                          : CPU_NO_PLACE};
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

/* Running -------------------------------------------------------------------------------------- */

static size_t column_bytes(const cpu_combining *r, unsigned i) {
    return r->c->rows * r->c->operands[i].size;
}

void cpu_new_columns(const cpu_combining *r, cpu_columns x) {
    for (unsigned i = 0; i < r->c->with.count; i++) x[i] = tile_malloc(column_bytes(r, i) + 1);
}

void cpu_free_columns(const cpu_combining *r, cpu_columns x) {
    for (unsigned i = 0; i < r->c->with.count; i++) free(x[i]);
}

static void copy_columns(const cpu_combining *r, cpu_columns to, cpu_columns from) {
    for (unsigned i = 0; i < r->c->with.count; i++) memcpy(to[i], from[i], column_bytes(r, i));
}

/* The position along the axis of the element that is combined at number k. */
static size_t position(const cpu_combining *r, size_t k) {
    return r->c->with.reverse ? r->rows.extent - 1 - k : k;
}

/* Copies the elements at a position to or from the tiles of the operation. */
static void move_column(const cpu_combining *r, bool reads, uint32_t place, size_t at, unsigned i,
                        char *column) {
    uint32_t size = r->c->operands[i].size;
    char *tile = cpu_at(r->run, r->agent, place);
    for (size_t row = 0; row < r->c->rows; row++) {
        char *element = tile + (tile_row_begin(&r->rows, row) + at * r->rows.inner) * size;
        memcpy(reads ? column + row * size : element, reads ? element : column + row * size, size);
    }
}

void cpu_load_columns(const cpu_combining *r, size_t k, cpu_columns to) {
    for (unsigned i = 0; i < r->c->with.count; i++)
        move_column(r, true, r->c->operands[i].from, position(r, k), i, to[i]);
}

static void store_columns(const cpu_combining *r, size_t k, cpu_columns from) {
    for (unsigned i = 0; i < r->c->with.count; i++)
        move_column(r, false, r->c->operands[i].to, position(r, k), i, from[i]);
}

void cpu_load_identity(const cpu_combining *r, cpu_columns to) {
    for (unsigned i = 0; i < r->c->with.count; i++) {
        const cpu_combined *o = &r->c->operands[i];
        const char *number = cpu_at(r->run, r->agent, o->identity);
        for (size_t row = 0; row < r->c->rows; row++)
            memcpy(to[i] + row * o->size, number, o->size);
    }
}

bool cpu_apply_function(const cpu_combining *r, cpu_columns a, cpu_columns b, cpu_columns to) {
    const struct cpu_combine *c = r->c;
    bool ok = true;
    for (unsigned i = 0; i < c->with.count; i++) {
        memcpy(cpu_at(r->run, r->agent, c->operands[i].left), a[i], column_bytes(r, i));
        memcpy(cpu_at(r->run, r->agent, c->operands[i].right), b[i], column_bytes(r, i));
    }
    for (uint32_t k = 0; k < c->insn_count && ok; k++)
        ok = c->insns[k].handler(r->run, r->agent, &c->insns[k]) == CPU_NEXT;
    for (unsigned i = 0; i < c->with.count; i++)
        memcpy(to[i], cpu_at(r->run, r->agent, c->operands[i].out), column_bytes(r, i));
    return ok;
}

static bool combine_all(const cpu_combining *r) {
    cpu_columns sum, next;
    bool ok = true;
    cpu_new_columns(r, sum);
    cpu_new_columns(r, next);
    if (r->c->with.exclusive) cpu_load_identity(r, sum);
    for (size_t k = 0; k < r->rows.extent && ok; k++) {
        cpu_load_columns(r, k, next);
        if (r->c->with.exclusive) store_columns(r, k, sum);
        if (k)
            ok = cpu_apply_function(r, sum, next, sum);
        else
            copy_columns(r, sum, next);
        if (!r->c->with.reduces && !r->c->with.exclusive) store_columns(r, k, sum);
    }
    for (unsigned i = 0; r->c->with.reduces && i < r->c->with.count; i++)
        memcpy(cpu_at(r->run, r->agent, r->c->operands[i].to), sum[i], column_bytes(r, i));
    cpu_free_columns(r, sum);
    cpu_free_columns(r, next);
    return ok;
}

CPU_HANDLER(cpu_run_combine) {
    int64_t dims[TILE_MAX_RANK];
    for (unsigned d = 0; d < insn->type->rank; d++) dims[d] = tile_type_dim(insn->type, d);
    cpu_combining r = {run, agent, insn, insn->combine,
                 tile_rows_along(dims, insn->type->rank, insn->combine->with.axis)};
    return combine_all(&r) && cpu_test_claims(&r) ? CPU_NEXT : CPU_STOP;
}
