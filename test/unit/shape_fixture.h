/* Checks an operation that moves or generates elements. Uses axis_fixture.h with one result; the
 * text names the kind of its type. */
#ifndef TILE_TEST_SHAPE_FIXTURE_H
#define TILE_TEST_SHAPE_FIXTURE_H

#include "lib/layout/layout.h"
#include "test/unit/axis_fixture.h"

enum { SHAPE_BYTES = 1 << 20 };

/* One operation from %a (if `from` is set) to the result. */
typedef struct shape_sample {
    const char *steps;     /* lines before it; NULL: none */
    const char *statement; /* with %s for the result's kind: tensor or tile */
    const axis_shape *from, *to;
    tile_scalar scalar; /* of operand and result */
    unsigned warps;
    const void *input;
} shape_sample;

static inline axis_sample shape_as_axis(text_fixture *x, const shape_sample *s) {
    axis_sample all = {.op = tile_arena_format(&x->arena, s->statement, "tile"),
                       .compute = tile_arena_format(&x->arena, s->statement, "tensor"),
                       .steps = s->steps,
                       .to = *s->to,
                       .scalar = s->scalar,
                       .results = 1,
                       .scalars = {s->scalar},
                       .warps = s->warps,
                       .input = s->input};
    if (s->from) all.from = *s->from;
    return all;
}

/* wanted: the elements by definition. */
static inline void shape_check(text_fixture *x, const shape_sample *s, void *wanted) {
    const axis_sample all = shape_as_axis(x, s);
    axis_check(x, &all, 1, &wanted);
}

static inline void shape_emit_ptx(text_fixture *x, const shape_sample *s) {
    const axis_sample all = shape_as_axis(x, s);
    axis_emit_ptx(x, &all);
}

#endif
