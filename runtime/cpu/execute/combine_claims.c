/* What the author of a combining function claims: it is associative, and its identity changes
 * nothing. A program whose function breaks a claim has another result on each device, so some of
 * the elements that it combines are combined in two orders, and with the identity. */
#include "runtime/cpu/execute/combine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "lib/support/text.h"

static double number_at(const cpu_combining *r, cpu_columns x, unsigned i, size_t row) {
    return tile_scalar_read(r->c->operands[i].scalar, x[i] + row * r->c->operands[i].size);
}

static bool is_float(const cpu_combining *r, unsigned i) {
    return tile_scalar_is_floating(r->c->operands[i].scalar);
}

/* The distance from 1 to the next number of the type. */
static double spacing(tile_scalar scalar) {
    double step = 1;
    while (tile_scalar_round(scalar, 1 + step / 2) > 1) step /= 2;
    return step;
}

/* The largest finite float of a row among some columns. */
static double size_of_row(const cpu_combining *r, cpu_columns *all, unsigned count, size_t row) {
    double size = 0;
    for (unsigned k = 0; k < count; k++)
        for (unsigned i = 0; i < r->c->with.count; i++) {
            double number = is_float(r, i) ? fabs(number_at(r, all[k], i, row)) : 0;
            if (isfinite(number) && number > size) size = number;
        }
    return size;
}

/* Returns whether two results of a row can be the same up to rounding. Rounding may also decide
 * which integers are chosen, so that these must be equal only if all floats are. */
static bool agree(const cpu_combining *r, cpu_columns a, cpu_columns b, double size, size_t row) {
    bool exact = true, integers = true;
    for (unsigned i = 0; i < r->c->with.count; i++) {
        double x = number_at(r, a, i, row), y = number_at(r, b, i, row);
        if (x == y || (isnan(x) && isnan(y))) continue;
        if (!is_float(r, i)) {
            integers = false;
            continue;
        }
        exact = false;
        double allowed = sqrt(spacing(r->c->operands[i].scalar)) * size;
        if (isfinite(x) && isfinite(y) && !(fabs(x - y) <= allowed)) return false;
        if (isnan(x) != isnan(y)) return false;
    }
    return integers || !exact;
}

/* The numbers of a row in parentheses. */
static const char *row_text(const cpu_combining *r, cpu_columns x, size_t row, tile_arena *arena) {
    const char *text = "(";
    for (unsigned i = 0; i < r->c->with.count; i++)
        text = tile_arena_format(arena, "%s%s%.9g", text, i ? ", " : "", number_at(r, x, i, row));
    return tile_arena_format(arena, "%s)", text);
}

static bool fault_identity(const cpu_combining *r, cpu_columns none, cpu_columns x,
                           cpu_columns result, size_t row) {
    tile_arena scratch = {0};
    cpu_fault(r->run, r->agent, r->insn, -1,
              "the identity %s changes an element: @%s(identity, x) is %s for x = %s",
              row_text(r, none, row, &scratch), r->c->with.function->name,
              row_text(r, result, row, &scratch), row_text(r, x, row, &scratch));
    tile_arena_reset(&scratch);
    return false;
}

/* Combines the identity with element k of each row. */
static bool test_identity(const cpu_combining *r, size_t k) {
    cpu_columns none, x, result;
    bool ok = true;
    cpu_new_columns(r, none);
    cpu_new_columns(r, x);
    cpu_new_columns(r, result);
    cpu_load_identity(r, none);
    cpu_load_columns(r, k, x);
    ok = cpu_apply_function(r, none, x, result);
    for (size_t row = 0; row < r->c->rows && ok; row++) {
        double size = size_of_row(r, &x, 1, row);
        if (!agree(r, x, result, size, row)) ok = fault_identity(r, none, x, result, row);
    }
    cpu_free_columns(r, none);
    cpu_free_columns(r, x);
    cpu_free_columns(r, result);
    return ok;
}

/* Elements [k, k + count) combined. */
static bool combine_some(const cpu_combining *r, size_t k, size_t count, cpu_columns to) {
    cpu_columns next;
    bool ok = true;
    cpu_new_columns(r, next);
    cpu_load_columns(r, k, to);
    for (size_t i = 1; i < count && ok; i++) {
        cpu_load_columns(r, k + i, next);
        ok = cpu_apply_function(r, to, next, to);
    }
    cpu_free_columns(r, next);
    return ok;
}

enum { X, Y, Z, XY, YZ, LEFT, RIGHT, COLUMNS };

static bool fault_order(const cpu_combining *r, cpu_columns *all, size_t row) {
    tile_arena scratch = {0};
    const char *f = r->c->with.function->name;
    cpu_fault(r->run, r->agent, r->insn, -1,
              "@%s is not associative: @%s(@%s(x, y), z) is %s and @%s(x, @%s(y, z)) is %s for x = "
              "%s, y = %s, z = %s",
              f, f, f, row_text(r, all[LEFT], row, &scratch), f, f,
              row_text(r, all[RIGHT], row, &scratch), row_text(r, all[X], row, &scratch),
              row_text(r, all[Y], row, &scratch), row_text(r, all[Z], row, &scratch));
    tile_arena_reset(&scratch);
    return false;
}

/* Combines three runs of `count` elements from k on, in both orders. */
static bool test_order(const cpu_combining *r, size_t k, size_t count) {
    cpu_columns all[COLUMNS];
    for (unsigned i = 0; i < COLUMNS; i++) cpu_new_columns(r, all[i]);
    bool ok = combine_some(r, k, count, all[X]) && combine_some(r, k + count, count, all[Y]) &&
              combine_some(r, k + 2 * count, count, all[Z]) &&
              cpu_apply_function(r, all[X], all[Y], all[XY]) &&
              cpu_apply_function(r, all[Y], all[Z], all[YZ]) &&
              cpu_apply_function(r, all[XY], all[Z], all[LEFT]) &&
              cpu_apply_function(r, all[X], all[YZ], all[RIGHT]);
    for (size_t row = 0; row < r->c->rows && ok; row++) {
        double size = size_of_row(r, all, COLUMNS, row);
        if (!agree(r, all[LEFT], all[RIGHT], size, row)) ok = fault_order(r, all, row);
    }
    for (unsigned i = 0; i < COLUMNS; i++) cpu_free_columns(r, all[i]);
    return ok;
}

bool cpu_test_claims(const cpu_combining *r) {
    enum { RUN = 8 };
    size_t extent = r->rows.extent, run = extent / 3 < RUN ? extent / 3 : RUN;
    bool given = r->c->operands[0].identity != CPU_NO_PLACE;
    if (given && !(test_identity(r, 0) && test_identity(r, extent - 1))) return false;
    return !run || (test_order(r, 0, 1) && test_order(r, extent - 3 * run, run));
}
