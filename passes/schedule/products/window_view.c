/* An operand of a product as elements of windows of another value.
 *
 * The value is followed to its source through operations that move elements: windows, reshapes,
 * transposes, slices, casts, gathers at known positions, and zeros that a known mask or a concat
 * puts beside elements. On the way back, each dim of the value is a list of axes, its digits with
 * the highest first:
 *
 *     %g = gather %x, %i {axis = 2}           [n, c, 16] to [n, c, 64]     n, c, table of (h, w)
 *     %z = select %even, %g, 0.0                                           -1 where it is zero
 *     %r = reshape %z : [n, c, 8, 8]                                       n, c, table of h, of w
 *     %w = window %r, [1, 1], [1, 1] {axis = 2} : [n, c, 8, 8, 3, 3]       places and taps
 *     %t = transpose(%w, order = [0, 1, 4, 5, 2, 3])
 *     %m = reshape %t : [n, c * 9, 64]        (n), (c, taps, taps), (places, places)
 *
 * A table is split where a reshape splits its dim, if each of its parts chooses elements of its own
 * atoms alone. Windows can be of several dims at once, or of one after the other. */
#include "passes/schedule/products/window_view.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"

static int64_t extent_at(window_view *v, tile_value value, unsigned d) {
    return sched_constant(sched_dim(v->s, sched_type(v->s, value), d));
}

/* Axes ------------------------------------------------------------------------------------------
 */

static int64_t extent_of(const view_dim *dim) {
    int64_t extent = 1;
    for (unsigned i = 0; i < dim->count; i++) extent *= dim->axes[i].extent;
    return extent;
}

static int64_t count_elements(const window_view *v, unsigned first, unsigned count) {
    int64_t elements = 1;
    for (unsigned i = 0; i < count; i++) elements *= v->atoms[first + i].extent;
    return elements;
}

/* Number `i` of the axis, within its atoms; -1: zero. */
static int64_t element_of(const view_axis *axis, int64_t i) {
    return axis->table ? axis->table[i] : i;
}

/* Atoms of one element choose nothing. */
static void trim(const window_view *v, view_axis *axis) {
    while (axis->count > 1 && v->atoms[axis->at + axis->count - 1].extent == 1) axis->count--;
    for (; axis->count > 1 && v->atoms[axis->at].extent == 1; axis->count--) axis->at++;
}

/* Makes one table of a dim whose axes choose elements of neighboring atoms. */
static bool unite(window_view *v, view_dim *dim) {
    const int64_t extent = extent_of(dim);
    view_axis out = {.kind = VIEW_TABLE, .extent = extent, .at = VIEW_ATOMS};
    if (dim->count == 1 && dim->axes[0].kind == VIEW_TABLE) return true;
    if (extent > SCHED_MOST_IN_TABLE) return false;
    for (unsigned i = 0; i < dim->count; i++) {
        const view_axis *axis = &dim->axes[i];
        if (axis->kind >= VIEW_PLACE) return false;
        if (!axis->count) continue;
        while (out.count && out.at + out.count < axis->at &&
               v->atoms[out.at + out.count].extent == 1)
            out.count++;
        if (out.count && axis->at != out.at + out.count) return false;
        if (!out.count) out.at = axis->at;
        out.count += axis->count;
    }
    int32_t *table = TILE_NEW_ARRAY(v->s->arena, int32_t, (size_t)extent);
    for (int64_t n = 0; n < extent; n++) {
        int64_t rest = n, number = 0, weight = 1;
        for (unsigned i = dim->count; i-- > 0;) {
            const view_axis *axis = &dim->axes[i];
            int64_t own = element_of(axis, rest % axis->extent);
            rest /= axis->extent;
            number = own < 0 || number < 0 ? -1 : number + own * weight;
            weight *= count_elements(v, axis->at, axis->count);
        }
        table[n] = (int32_t)number;
    }
    out.table = table;
    trim(v, &out);
    *dim = (view_dim){1, {out}};
    return true;
}

/* Makes two atoms of one. The axes are of whole atoms; one of them is this one. */
static bool split_atom(window_view *v, unsigned atom, int64_t low) {
    if (v->atom_count == VIEW_ATOMS) return false;
    memmove(&v->atoms[atom + 1], &v->atoms[atom], (v->atom_count++ - atom) * sizeof *v->atoms);
    v->atoms[atom].extent /= low;
    v->atoms[atom + 1].extent = low;
    for (unsigned d = 0; d <= TILE_MAX_RANK; d++)
        for (unsigned i = 0; i < v->dims[d].count; i++) {
            view_axis *axis = &v->dims[d].axes[i];
            if (axis->kind < VIEW_PLACE && axis->at > atom) axis->at++;
        }
    for (unsigned i = 0; i < v->window_count; i++) v->windows[i].atom += v->windows[i].atom > atom;
    return true;
}

/* Splits a table so that its high part chooses of the first `atoms` ones. */
static bool split_table(window_view *v, const view_axis *axis, int64_t low, unsigned atoms,
                        view_axis parts[2]) {
    const int64_t high = axis->extent / low,
                  weight = count_elements(v, axis->at + atoms, axis->count - atoms);
    int32_t *table[2];
    parts[0] = (view_axis){VIEW_TABLE, high, axis->at, atoms, NULL};
    parts[1] = (view_axis){VIEW_TABLE, low, axis->at + atoms, axis->count - atoms, NULL};
    for (unsigned i = 0; i < 2; i++) {
        parts[i].table = table[i] = TILE_NEW_ARRAY(v->s->arena, int32_t, (size_t)parts[i].extent);
        for (int64_t n = 0; n < parts[i].extent; n++) table[i][n] = -1;
    }
    for (int64_t n = 0; n < axis->extent; n++) {
        if (axis->table[n] < 0) continue;
        table[0][n / low] = (int32_t)(axis->table[n] / weight);
        table[1][n % low] = (int32_t)(axis->table[n] % weight);
    }
    for (int64_t n = 0; n < axis->extent; n++) {
        int64_t a = table[0][n / low], b = table[1][n % low];
        if (axis->table[n] != (a < 0 || b < 0 ? -1 : a * weight + b)) return false;
    }
    trim(v, &parts[0]);
    trim(v, &parts[1]);
    return true;
}

/* Splits an axis in two, of which the second one has this extent. */
static bool split_axis(window_view *v, view_dim *dim, unsigned at, int64_t low) {
    view_axis parts[2], axis = dim->axes[at];
    bool split = false;
    if (dim->count == VIEW_AXES || axis.extent % low) return false;
    if (axis.kind == VIEW_WHOLE) {
        if (!split_atom(v, axis.at, low)) return false;
        parts[0] = (view_axis){VIEW_WHOLE, axis.extent / low, axis.at, 1, NULL};
        parts[1] = (view_axis){VIEW_WHOLE, low, axis.at + 1, 1, NULL};
        split = true;
    }
    for (unsigned i = 0; i <= axis.count && axis.kind == VIEW_TABLE && !split; i++)
        split = split_table(v, &axis, low, i, parts);
    if (!split) return false;
    memmove(&dim->axes[at + 1], &dim->axes[at], (dim->count++ - at) * sizeof *dim->axes);
    dim->axes[at] = parts[0];
    dim->axes[at + 1] = parts[1];
    return true;
}

/* Moves ---------------------------------------------------------------------------------------- */

/* Takes axes from the end of the last dim until they have this extent. */
static bool take_axes(window_view *v, view_dim *all, int64_t extent, view_dim *to) {
    *to = (view_dim){0};
    while (extent > 1) {
        if (!all->count || to->count == VIEW_AXES) return false;
        if (all->axes[all->count - 1].extent > extent &&
            !split_axis(v, all, all->count - 1, extent))
            return false;
        const view_axis last = all->axes[--all->count];
        if (extent % last.extent) return false;
        extent /= last.extent;
        memmove(&to->axes[1], to->axes, to->count++ * sizeof *to->axes);
        to->axes[0] = last;
    }
    return true;
}

bool product_regroup_view(window_view *v, const int64_t *extents, unsigned rank) {
    view_dim *all = &v->dims[TILE_MAX_RANK], joined = {0};
    for (unsigned d = 0; d < v->rank; d++)
        for (unsigned i = 0; i < v->dims[d].count; i++) {
            if (v->dims[d].axes[i].extent == 1) continue;
            if (joined.count == VIEW_AXES) return false;
            joined.axes[joined.count++] = v->dims[d].axes[i];
        }
    for (unsigned d = 0; d < rank; d++) v->dims[d] = (view_dim){0};
    *all = joined;
    v->rank = rank;
    for (unsigned d = rank; d-- > 0;)
        if (!take_axes(v, all, extents[d], &v->dims[d])) return false;
    return !all->count;
}

static bool reshape_to(window_view *v, const tile_type *type) {
    int64_t extents[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank; d++) extents[d] = sched_constant(sched_dim(v->s, type, d));
    return product_regroup_view(v, extents, type->rank);
}

static bool permute(window_view *v, tile_op op) {
    view_dim dims[TILE_MAX_RANK];
    memcpy(dims, v->dims, sizeof dims);
    for (unsigned d = 0; d < v->rank; d++) v->dims[d] = dims[sched_transposed_dim(v->s, op, d)];
    return true;
}

/* Takes elements of a dim. elements -1: zeros. */
static bool choose(window_view *v, unsigned d, const int32_t *elements, int64_t count) {
    view_dim *dim = &v->dims[d];
    if (count > SCHED_MOST_IN_TABLE || !unite(v, dim)) return false;
    view_axis *axis = &dim->axes[0];
    int32_t *table = TILE_NEW_ARRAY(v->s->arena, int32_t, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        if (elements[i] >= axis->extent) return false;
        table[i] = elements[i] < 0 ? -1 : axis->table[elements[i]];
    }
    axis->table = table;
    axis->extent = count;
    return true;
}

/* Takes `count` elements from `first` on; those outside are zeros. */
static bool choose_range(window_view *v, unsigned d, int64_t first, int64_t count) {
    const int64_t extent = extent_of(&v->dims[d]);
    if (!first && count == extent) return true;
    if (count > SCHED_MOST_IN_TABLE) return false;
    int32_t *elements = TILE_NEW_ARRAY(v->s->arena, int32_t, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        bool inside = first + i >= 0 && first + i < extent;
        elements[i] = inside ? (int32_t)(first + i) : -1;
    }
    return choose(v, d, elements, count);
}

static bool gather(window_view *v, tile_op op) {
    const unsigned axis = (unsigned)sched_axis(v->s, op);
    const tile_value at = tile_operand_at(v->s->compute, op);
    const int32_t *elements = sched_table_along(v->tables, at, axis);
    const int64_t count = extent_at(v, at, axis);
    for (int64_t i = 0; elements && i < count; i++)
        if (elements[i] < 0) return false;
    return elements && choose(v, axis, elements, count);
}

static bool slice(window_view *v, tile_op op) {
    const tile_function *f = v->s->compute;
    const tile_values first = tile_operands_first(f, op);
    for (unsigned d = 0; d < v->rank; d++) {
        int64_t begin, count = extent_at(v, tile_op_result(f, op, 0), d);
        if (!tile_value_is_int(f, first.at[d], &begin) || begin < 0 ||
            begin + count > extent_of(&v->dims[d]) || !choose_range(v, d, begin, count))
            return false;
    }
    return true;
}

/* The mask shows rows of each of its dims: it is true where all of them are shown. */
static bool mask_dim(window_view *v, const sched_table *mask, unsigned d, bool shown) {
    const int64_t stride = mask->strides[d], extent = mask->extents[d];
    int64_t positions = 1;
    if (!stride) return true;
    for (unsigned o = 0; o < mask->rank; o++)
        positions *= mask->strides[o] && o != d ? mask->extents[o] : 1;
    int32_t *elements = TILE_NEW_ARRAY(v->s->arena, int32_t, (size_t)extent);
    for (int64_t i = 0; i < extent; i++) elements[i] = -1;
    for (int64_t n = 0; n < positions * extent; n++) {
        int64_t i = n / stride % extent;
        if ((mask->at[n] != 0) == shown) elements[i] = (int32_t)i;
    }
    return choose(v, d, elements, extent);
}

/* Returns whether an element is shown wherever all of its rows are, of which each is shown
 * somewhere. */
static bool is_product_of_rows(window_view *v, const sched_table *mask, bool shown) {
    int64_t all = 1, of_rows = 1, elements = 0;
    for (unsigned d = 0; d < mask->rank; d++) all *= mask->strides[d] ? mask->extents[d] : 1;
    for (unsigned d = 0; d < mask->rank; d++) {
        const int64_t stride = mask->strides[d], extent = mask->extents[d];
        int64_t count = 0;
        if (!stride) continue;
        bool *row = TILE_NEW_ARRAY(v->s->arena, bool, (size_t)extent);
        for (int64_t n = 0; n < all; n++) row[n / stride % extent] |= (mask->at[n] != 0) == shown;
        for (int64_t i = 0; i < extent; i++) count += row[i];
        of_rows *= count;
    }
    for (int64_t n = 0; n < all; n++) elements += (mask->at[n] != 0) == shown;
    return elements == of_rows;
}

/* Puts zeros where a known mask hides elements. */
static bool mask_elements(window_view *v, tile_op op, bool shown) {
    const sched_table *mask =
        sched_find_table(v->tables, tile_operand_condition(v->s->compute, op));
    const unsigned missing = mask ? v->rank - mask->rank : 0;
    if (!mask || mask->rank > v->rank) return false;
    /* A mask of one dim may be a table of several atoms. */
    unsigned dims = 0;
    int64_t stride = 1;
    for (unsigned d = mask->rank; d-- > 0;) {
        if (!mask->strides[d]) continue;
        if (mask->strides[d] != stride) return false; /* a transpose of it */
        stride *= mask->extents[d];
        dims++;
    }
    if (dims > 1 && !is_product_of_rows(v, mask, shown)) return false;
    sched_table own = *mask;
    own.rank = v->rank;
    for (unsigned d = v->rank; d-- > 0;) {
        own.extents[d] = d < missing ? 1 : mask->extents[d - missing];
        own.strides[d] = d < missing ? 0 : mask->strides[d - missing];
    }
    for (unsigned d = 0; d < v->rank; d++)
        if (!mask_dim(v, &own, d, shown)) return false;
    return dims > 0;
}

/* Windows --------------------------------------------------------------------------------------
 */

static bool read_number(const window_view *v, tile_values values, unsigned i, int64_t *number) {
    *number = 1;
    if (!values.count) return true;
    const tile_value_data *value = tile_value_at(v->s->compute, values.at[i]);
    return value->kind == TILE_VALUE_CONSTANT && tile_expr_is_int(value->expr, number);
}

/* Finds where the elements of the table's atom are, in order and `between` apart. */
static bool find_spread(const window_view *v, const view_axis *axis, view_windows *w) {
    const int64_t elements = v->atoms[axis->at].extent;
    int64_t begin = -1, second = -1;
    *w = (view_windows){.atom = axis->at, .first = 0, .between = 1};
    if (axis->kind == VIEW_WHOLE) return true;
    if (axis->kind != VIEW_TABLE || axis->count != 1) return false;
    for (int64_t i = 0; i < axis->extent && second < 0; i++) {
        if (axis->table[i] < 0) continue;
        if (begin >= 0) second = i;
        if (begin < 0) begin = i;
    }
    if (begin < 0) return false;
    if (second >= 0 && axis->table[second] != axis->table[begin] + 1) return false;
    if (second >= 0) w->between = second - begin;
    w->first = begin - axis->table[begin] * w->between;
    for (int64_t i = 0; i < axis->extent; i++) {
        int64_t own = i - w->first;
        bool is_element = own >= 0 && own % w->between == 0 && own / w->between < elements;
        if (axis->table[i] != (is_element ? own / w->between : -1)) return false;
    }
    return true;
}

/* Returns whether no window reaches an element that the axis has cut off. */
static bool stays_inside(const window_view *v, const view_windows *w, int64_t extent) {
    const int64_t end = w->first + (v->atoms[w->atom].extent - 1) * w->between + 1,
                  reach = (w->taps - 1) * w->dilation, steps = (w->places - 1) * w->stride;
    const int64_t least = -w->pad + (reach < 0 ? reach : 0),
                  most = steps - w->pad + (reach > 0 ? reach : 0);
    return (w->first >= 0 || least >= 0) && (end <= extent || most < extent);
}

/* Places with one tap become a table of elements, so that windows can be made of them. */
static bool forget_places(window_view *v, view_dim *dim) {
    view_axis *axis = &dim->axes[0];
    if (dim->count != 1 || axis->kind != VIEW_PLACE) return true;
    const unsigned index = axis->at;
    const view_windows w = v->windows[index];
    if (w.taps != 1 || w.places > SCHED_MOST_IN_TABLE) return false;
    int32_t *table = TILE_NEW_ARRAY(v->s->arena, int32_t, (size_t)w.places);
    for (int64_t p = 0; p < w.places; p++) {
        int64_t own = p * w.stride - w.pad - w.first;
        bool inside = own >= 0 && own % w.between == 0 && own / w.between < v->atoms[w.atom].extent;
        table[p] = inside ? (int32_t)(own / w.between) : -1;
    }
    *axis = (view_axis){VIEW_TABLE, w.places, w.atom, 1, table};
    memmove(&v->windows[index], &v->windows[index + 1],
            (--v->window_count - index) * sizeof *v->windows);
    for (unsigned d = 0; d < v->rank; d++)
        for (unsigned i = 0; i < v->dims[d].count; i++) {
            view_axis *other = &v->dims[d].axes[i];
            if (other->kind < VIEW_PLACE) continue;
            if (other->at == index) v->dims[d].count = 0; /* the only tap */
            if (other->at > index) other->at--;
        }
    return true;
}

/* A dim of extent 1 has no axis after a reshape. */
static bool is_single_axis(window_view *v, view_dim *dim) {
    if (!forget_places(v, dim)) return false;
    return dim->count == 1 ? dim->axes[0].kind < VIEW_PLACE : dim->count && unite(v, dim);
}

static bool take_windows(window_view *v, tile_op op) {
    const tile_function *f = v->s->compute;
    const tile_value result = tile_op_result(f, op, 0);
    const unsigned axis = (unsigned)sched_axis(v->s, op), rank = sched_type(v->s, result)->rank,
                   count = tile_operands_strides(f, op).count;
    const tile_attr *between = tile_op_attr(f, op, TILE_ATTR_input_dilations);
    if (tile_op_pads(f, op)) return false;
    v->apart = v->window_count > 0;
    for (unsigned i = 0; i < count; i++) {
        view_dim *dim = &v->dims[axis + i];
        view_windows w;
        int64_t stride, own_pad, dilation, spread = between ? between->list[i] : 1;
        if (!is_single_axis(v, dim)) return false;
        const int64_t extent = dim->axes[0].extent;
        if (v->window_count == TILE_MAX_SPATIAL || !find_spread(v, &dim->axes[0], &w) ||
            !read_number(v, tile_operands_strides(f, op), i, &stride) ||
            !read_number(v, tile_operands_pads(f, op), i, &own_pad) ||
            !read_number(v, tile_operands_dilations(f, op), i, &dilation) || !dilation)
            return false;
        w.first *= spread;
        w.between *= spread;
        w.stride = stride;
        w.pad = own_pad;
        w.dilation = dilation;
        w.places = extent_at(v, result, axis + i);
        w.taps = extent_at(v, result, axis + count + i);
        if (!stays_inside(v, &w, (extent - 1) * spread + 1)) return false;
        *dim = (view_dim){1, {{VIEW_PLACE, w.places, v->window_count, 0, NULL}}};
        v->windows[v->window_count++] = w;
    }
    memmove(&v->dims[axis + 2 * count], &v->dims[axis + count],
            (v->rank - axis - count) * sizeof *v->dims);
    for (unsigned i = 0; i < count; i++) {
        const unsigned index = v->dims[axis + i].axes[0].at;
        v->dims[axis + count + i] =
            (view_dim){1, {{VIEW_TAP, v->windows[index].taps, index, 0, NULL}}};
    }
    v->rank = rank;
    return true;
}

/* Sources --------------------------------------------------------------------------------------
 */

static bool is_zero(schedule *s, tile_value value) {
    int64_t integer;
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           (tile_op_opcode(s->compute, op) == TILE_OP_reshape ||
            tile_op_opcode(s->compute, op) == TILE_OP_cast))
        value = tile_operand_src(s->compute, op);
    const tile_value_data *data = tile_value_at(s->compute, tile_repeated_value(s->compute, value));
    if (data->kind != TILE_VALUE_CONSTANT || !data->expr) return false;
    const tile_expr *expr = sched_resolved(s, data->expr);
    if (expr->kind == TILE_EXPR_FLOAT) return expr->number == 0;
    return tile_expr_is_int(expr, &integer) && integer == 0;
}

/* The operand whose elements the operation moves, beside zeros; -1: none. */
static int moved_operand(schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    int moved = -1;
    if (!op.id) return -1;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_reshape:
    case TILE_OP_transpose:
    case TILE_OP_window:
    case TILE_OP_gather:
    case TILE_OP_slice: return 0;
    case TILE_OP_cast: return tile_op_at(f, op)->attr_count ? -1 : 0;
    case TILE_OP_select: {
        bool zero = is_zero(s, tile_operand_no(f, op));
        return zero || is_zero(s, tile_operand_yes(f, op)) ? (zero ? 1 : 2) : -1;
    }
    case TILE_OP_concat:
    case TILE_OP_join:
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            if (is_zero(s, tile_op_operand(f, op, i))) continue;
            if (moved >= 0) return -1;
            moved = (int)i;
        }
        return moved;
    default: return -1;
    }
}

static void begin(window_view *v, tile_value source) {
    const tile_type *type = sched_type(v->s, source);
    v->source = source;
    v->rank = v->atom_count = type->rank;
    for (unsigned d = 0; d < type->rank; d++) {
        v->atoms[d].extent = extent_at(v, source, d);
        v->dims[d] = (view_dim){1, {{VIEW_WHOLE, v->atoms[d].extent, d, 1, NULL}}};
        v->failed |= v->atoms[d].extent < 1;
    }
}

/* The other operands of a concat are zeros. */
static bool surround(window_view *v, tile_op op, unsigned moved) {
    const unsigned axis = (unsigned)sched_axis(v->s, op);
    int64_t before = 0;
    for (unsigned i = 0; i < moved; i++)
        before += extent_at(v, tile_op_operand(v->s->compute, op, i), axis);
    return choose_range(v, axis, -before, extent_at(v, tile_op_result(v->s->compute, op, 0), axis));
}

/* A last dim of 2, of which one half is zero. */
static bool interleave(window_view *v, unsigned moved) {
    int32_t *table = TILE_NEW_ARRAY(v->s->arena, int32_t, 2);
    if (v->rank == TILE_MAX_RANK) return false;
    table[!moved] = -1;
    v->dims[v->rank++] = (view_dim){1, {{VIEW_TABLE, 2, 0, 0, table}}};
    return true;
}

static bool take_cast(window_view *v, tile_op op) {
    if (v->type) return false;
    v->type = sched_type(v->s, tile_op_result(v->s->compute, op, 0));
    return true;
}

static bool apply(window_view *v, tile_op op, unsigned moved) {
    const tile_function *f = v->s->compute;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_reshape: return reshape_to(v, sched_type(v->s, tile_op_result(f, op, 0)));
    case TILE_OP_transpose: return permute(v, op);
    case TILE_OP_window: return take_windows(v, op);
    case TILE_OP_gather: return gather(v, op);
    case TILE_OP_slice: return slice(v, op);
    case TILE_OP_cast: return take_cast(v, op);
    case TILE_OP_select: return mask_elements(v, op, moved == 1);
    case TILE_OP_concat: return surround(v, op, moved);
    case TILE_OP_join: return interleave(v, moved);
    default: return false;
    }
}

/* From the source, after the operations of this list, the last of which is applied first. */
static bool follow(window_view *v, const tile_op *ops, unsigned count, tile_value source) {
    begin(v, source);
    for (unsigned i = count; i-- > 0 && !v->failed;)
        v->failed = !apply(v, ops[i], (unsigned)moved_operand(v->s, ops[i]));
    return !v->failed;
}

bool product_find_view(schedule *s, sched_tables *tables, tile_value value, bool has_windows,
                       window_view *view) {
    enum { MOST = 64 /* operations */ };
    const tile_function *f = s->compute;
    tile_op ops[MOST];
    tile_value sources[MOST + 1] = {value};
    unsigned count = 0, windows = 0;
    bool has_zeros = false;
    for (int moved; count < MOST; count++) {
        const tile_op op = tile_value_def(f, sources[count]);
        if ((moved = moved_operand(s, op)) < 0) break;
        ops[count] = op;
        sources[count + 1] = tile_op_operand(f, op, (unsigned)moved);
        if (tile_op_opcode(f, op) == TILE_OP_window) {
            windows = count + 1;
            has_zeros = false;
        }
        has_zeros |= tile_op_opcode(f, op) == TILE_OP_select ||
                     tile_op_opcode(f, op) == TILE_OP_concat ||
                     tile_op_opcode(f, op) == TILE_OP_join;
    }
    if (has_windows && !windows) return false;
    *view = (window_view){.s = s, .tables = tables};
    if ((!has_windows || has_zeros) && follow(view, ops, count, sources[count])) return true;
    *view = (window_view){.s = s, .tables = tables};
    return has_windows && follow(view, ops, windows, sources[windows]);
}

bool product_is_whole_axis(const window_view *v, const view_axis *axis, bool *reversed) {
    *reversed = false;
    if (axis->kind == VIEW_WHOLE) return true;
    if (axis->kind != VIEW_TABLE || axis->count != 1 || axis->extent != v->atoms[axis->at].extent)
        return false;
    *reversed = axis->table[0] != 0;
    for (int64_t i = 0; i < axis->extent; i++)
        if (axis->table[i] != (*reversed ? axis->extent - 1 - i : i)) return false;
    return true;
}

bool product_make_places(window_view *v, view_axis *axis) {
    view_windows w;
    if (v->window_count == TILE_MAX_SPATIAL || axis->count != 1 || !find_spread(v, axis, &w))
        return false;
    w.stride = w.dilation = w.taps = 1;
    w.pad = 0;
    w.places = axis->extent;
    axis->at = v->window_count;
    axis->kind = VIEW_PLACE;
    axis->table = NULL;
    axis->count = 0;
    v->windows[v->window_count++] = w;
    return true;
}
