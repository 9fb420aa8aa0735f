/* Views of windows, whose elements threads address one by one.
 *
 * A place (i, y, x) of the window and a position (r, s) of the filter have the element
 *
 *     src[i, y * stride - pad + r * dilation, x * stride - pad + s * dilation, c]
 *
 * The offset is the sum of the place's, the position's and the channel's. Places are those of the
 * tile's rows and do not change in a loop over positions and channels, so that only one addition
 * and one comparison for each padded dim remain there. */
#include "lib/layout/layout.h"
#include "lib/ops/im2col.h"
#include "passes/lower/lower.h"

struct lower_windows {
    tile_im2col numbers;
    const lower_view *src;
    tile_value places[TILE_MAX_SPATIAL]; /* i32, at least 1 */
};

/* What one place or position contributes. */
typedef struct part {
    int64_t coordinate; /* the register's */
    tile_value offset;  /* i64 */
    tile_value at[TILE_MAX_SPATIAL];
    tile_value inside; /* of a place: the batch is one of src's */
} part;

enum { MAX_PARTS = 64 };

struct lower_places {
    tile_value index[TILE_IM2COL_RANK];
    part parts[2][MAX_PARTS]; /* of positions and of places */
    unsigned count[2];
};

void lower_im2col(lowering *l, tile_op op) {
    struct lower_windows *w = TILE_NEW(l->pass->scratch, struct lower_windows);
    lower_view *view = TILE_NEW(l->pass->scratch, lower_view);
    w->numbers = tile_im2col_of(&l->old, op);
    w->src = l->views[tile_operand_src(&l->old, op).id];
    unsigned last = w->numbers.spatial + 1;
    tile_value count = w->src->extents[0];
    for (unsigned i = 0; i < w->numbers.spatial; i++) {
        int64_t slack = tile_im2col_slack(&w->numbers, i), known;
        tile_value extent = w->src->extents[1 + i], one = lower_int(l, 1);
        tile_value steps = lower_add(l, extent, lower_int(l, slack));
        if (tile_value_is_int(l->f, extent, &known)) {
            known = tile_im2col_places(&w->numbers, i, known);
            w->places[i] = lower_int(l, known > 1 ? known : 1);
        } else {
            steps = tile_build_max(&l->builder, steps, lower_int(l, 0));
            steps = tile_build_div(&l->builder, steps, lower_int(l, w->numbers.strides[i]));
            w->places[i] = lower_add(l, steps, one);
        }
        count = lower_mul(l, count, w->places[i]);
    }
    *view = (lower_view){.base = w->src->base, .windows = w};
    view->extents[TILE_IM2COL_POSITION] = lower_int(l, tile_im2col_positions(&w->numbers));
    view->extents[TILE_IM2COL_PLACE] = count;
    view->extents[TILE_IM2COL_CHANNEL] = w->src->extents[last];
    for (unsigned d = 0; d < TILE_IM2COL_RANK; d++) {
        view->limits[d] = d == TILE_IM2COL_CHANNEL ? w->src->limits[last] : view->extents[d];
        view->strides[d] = lower_long(l, 1);
    }
    l->views[tile_op_result(&l->old, op, 0).id] = view;
}

const lower_view *lower_windowed_view(const lower_view *view) {
    return view->windows->src;
}

void lower_split_place(lowering *l, const lower_view *view, tile_value place,
                       tile_value at[1 + TILE_MAX_SPATIAL]) {
    const struct lower_windows *w = view->windows;
    for (unsigned i = w->numbers.spatial; i-- > 0;) {
        tile_value own = tile_build_rem(&l->builder, place, w->places[i]);
        place = tile_build_div(&l->builder, place, w->places[i]);
        own = lower_mul(l, own, lower_int(l, w->numbers.strides[i]));
        at[1 + i] = lower_add(l, own, lower_int(l, -w->numbers.pads[i][0]));
    }
    at[0] = place;
}

void lower_split_position(lowering *l, const lower_view *view, tile_value position,
                          tile_value at[TILE_MAX_SPATIAL]) {
    const tile_im2col *n = &view->windows->numbers;
    for (unsigned i = n->spatial; i-- > 0;) {
        tile_value filter = lower_int(l, n->filter[i]), own = position;
        if (i) own = tile_build_rem(&l->builder, position, filter);
        if (i) position = tile_build_div(&l->builder, position, filter);
        if (n->filter[i] == 1) own = lower_int(l, 0);
        at[i] = lower_mul(l, own, lower_int(l, n->dilations[i]));
    }
}

/* Accesses ------------------------------------------------------------------------------------- */

void lower_start_windows(lowering *l, lower_view_access *a, const tile_value *element) {
    a->places = TILE_NEW(l->pass->scratch, struct lower_places);
    for (unsigned d = 0; d < TILE_IM2COL_RANK; d++)
        a->places->index[d] = lower_mapped(l, element[1 + d]);
}

/* The coordinate along dim d of the view, of an element that the register holds. */
static tile_value coordinate_of(lowering *l, const lower_view_access *a, unsigned d,
                                unsigned register_, int64_t *own) {
    *own = 0;
    if (d < a->first_dim) return a->places->index[d];
    unsigned t = d - a->first_dim;
    *own = lower_register_coordinate(a->layout, register_, t);
    tile_value overlapping = a->overlapping[t];
    if (!overlapping.id) return lower_add(l, a->start[t], lower_int(l, *own));
    if (*own) overlapping = tile_build_xor(&l->builder, overlapping, lower_int(l, *own));
    return lower_add(l, a->start[t], overlapping);
}

static part make_part(lowering *l, const lower_view *view, unsigned d, tile_value coordinate) {
    const struct lower_windows *w = view->windows;
    part p = {.offset = lower_long(l, 0)};
    if (d == TILE_IM2COL_PLACE) {
        tile_value at[1 + TILE_MAX_SPATIAL];
        lower_split_place(l, view, coordinate, at);
        p.inside = tile_build_ult(&l->builder, at[0], w->src->limits[0]);
        p.offset = lower_mul(l, lower_to_long(l, at[0]), w->src->strides[0]);
        for (unsigned i = 0; i < w->numbers.spatial; i++) p.at[i] = at[1 + i];
    } else {
        lower_split_position(l, view, coordinate, p.at);
    }
    for (unsigned i = 0; i < w->numbers.spatial; i++)
        p.offset =
            lower_add(l, p.offset, lower_mul(l, lower_to_long(l, p.at[i]), w->src->strides[1 + i]));
    return p;
}

static part find_part(lowering *l, lower_view_access *a, unsigned d, unsigned register_) {
    struct lower_places *places = a->places;
    int64_t own;
    tile_value coordinate = coordinate_of(l, a, d, register_, &own);
    for (unsigned i = 0; i < places->count[d]; i++)
        if (places->parts[d][i].coordinate == own) return places->parts[d][i];
    part p = make_part(l, a->view, d, coordinate);
    p.coordinate = own;
    if (places->count[d] < MAX_PARTS) places->parts[d][places->count[d]++] = p;
    return p;
}

tile_value lower_window_offset(lowering *l, lower_view_access *a, unsigned register_,
                               tile_value *inside) {
    const struct lower_windows *w = a->view->windows;
    part place = find_part(l, a, TILE_IM2COL_PLACE, register_);
    part position = find_part(l, a, TILE_IM2COL_POSITION, register_);
    *inside = place.inside;
    for (unsigned i = 0; i < w->numbers.spatial; i++) {
        if (w->numbers.pads[i][0] <= 0 && w->numbers.pads[i][1] <= 0) continue;
        tile_value at = lower_add(l, place.at[i], position.at[i]);
        *inside = lower_and(l, *inside, tile_build_ult(&l->builder, at, w->src->limits[1 + i]));
    }
    return lower_add(l, place.offset, position.offset);
}
