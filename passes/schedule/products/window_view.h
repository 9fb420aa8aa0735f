/* An operand of a product as elements of windows of another value (window_view.c). */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_WINDOW_VIEW_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_WINDOW_VIEW_H

#include "lib/ops/convolution.h"
#include "passes/schedule/kernel/table.h"

enum { VIEW_ATOMS = 2 * TILE_MAX_RANK, VIEW_AXES = 2 * TILE_MAX_RANK };

/* A dim of the source, or one of the dims that it is reshaped to. */
typedef struct view_atom {
    int64_t extent;
} view_atom;

/* A digit of a dim of the view. */
typedef struct view_axis {
    enum {
        VIEW_WHOLE, /* the elements of an atom */
        VIEW_TABLE, /* known elements of `count` atoms, with one number; -1: zero */
        VIEW_PLACE, /* of a windowed dim */
        VIEW_TAP,
    } kind;
    int64_t extent;
    unsigned at;    /* the first atom; of places and taps, the windowed dim */
    unsigned count; /* of atoms */
    const int32_t *table;
} view_axis;

typedef struct view_dim {
    unsigned count;
    view_axis axes[VIEW_AXES];
} view_dim;

/* A dim with windows. Element e of its atom is at `first + e * between`; zeros are at the other
 * positions. Tap r of place p is at p * stride - pad + r * dilation. */
typedef struct view_windows {
    unsigned atom;
    int64_t first, between, stride, pad, dilation, places, taps;
} view_windows;

typedef struct window_view {
    schedule *s;
    sched_tables *tables;
    tile_value source;     /* the elements belong to it */
    const tile_type *type; /* to which they are cast; NULL: they are not */
    unsigned rank, atom_count, window_count;
    view_dim dims[TILE_MAX_RANK + 1]; /* the last one: while dims are regrouped */
    view_atom atoms[VIEW_ATOMS];
    view_windows windows[TILE_MAX_SPATIAL];
    bool apart; /* several operations made the windows */
    bool failed;
} window_view;

/* Finds the source of a value: behind all windows, and behind zeros between its elements, if there
 * are any. Returns false if the value is no view. without_zeros: elements are taken from the source
 * of the first windows. */
bool product_find_view(schedule *s, sched_tables *tables, tile_value value, bool has_windows,
                       window_view *view);
/* Splits the digits of the value as if it were reshaped to these extents. */
bool product_regroup_view(window_view *view, const int64_t *extents, unsigned rank);
/* Returns whether the axis is a permutation of its only atom: its elements in order or, *reversed,
 * backward. */
bool product_is_whole_axis(const window_view *view, const view_axis *axis, bool *reversed);
/* Makes places with one tap of an axis of one atom. False if it is no such axis. */
bool product_make_places(window_view *view, view_axis *axis);

#endif
