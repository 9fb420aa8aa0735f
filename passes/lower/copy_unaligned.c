/* Copies of rows that begin anywhere, from views to shared buffers: unaligned loads.
 *
 * The rows of an f16 array with 1001 columns begin at multiples of 2 bytes. cp.async moves at least
 * 4 aligned bytes, so registers are between. A load of each element would take eight loads and
 * eight stores for 16 bytes. ld_global_unaligned takes two loads, about 20 shifts and selects, and
 * one store, and all of the thread's loads are in flight together.
 *
 * It reads the aligned 16 bytes around what it needs. After the end of the array these may belong
 * to another array, or to no array. They are on the same page, but a memory checker would report
 * them. So the tile that contains the array's last 16 bytes is loaded element by element:
 *
 *     if the last element of the tile is at least 16 bytes before the end of the array {
 *       unaligned loads
 *     } else {
 *       loads of single elements
 *     }
 *
 * Nothing of the kind is needed before the array: a whole allocation begins at a multiple of 16
 * bytes. */
#include "lib/analysis/access.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "passes/lower/lower.h"

/* The elements of one copy. */
typedef struct row_copy {
    tile_op op;
    tile_scalar scalar; /* of the view */
    lower_shared_access to;
    lower_view_access from; /* with the cut of `to` */
} row_copy;

static const tile_type *part_of(lowering *l, const row_copy *c, tile_scalar scalar) {
    return lower_part_type(l, scalar, 1u << c->to.cut.width_bits);
}

/* Element `element` of an access, loaded alone. single: the cut into single elements. */
static tile_value load_element(lowering *l, row_copy *c, lower_view_access *single,
                               unsigned register_) {
    unsigned index = 0;
    while (tile_access_split_register(&single->cut, index, 0) != register_) index++;
    tile_value predicate, source = lower_view_access_offset(l, single, index, &predicate);
    tile_value loaded = tile_build_ld_global(&l->builder, c->from.view->base, &source, 1, predicate,
                                             lower_part_type(l, c->scalar, 1));
    lower_copy_cache_hints(l, c->op);
    return loaded;
}

static tile_value load_elements(lowering *l, row_copy *c, lower_view_access *single,
                                unsigned index) {
    tile_value parts[16];
    unsigned width = 1u << c->to.cut.width_bits;
    for (unsigned i = 0; i < width; i++)
        parts[i] = load_element(l, c, single, tile_access_split_register(&c->to.cut, index, i));
    return tile_build_concat(&l->builder, parts, width);
}

static tile_value load_unaligned(lowering *l, row_copy *c, unsigned index) {
    tile_value predicate, source = lower_view_access_offset(l, &c->from, index, &predicate);
    tile_value count = lower_view_access_count(l, &c->from, index);
    tile_value loaded = tile_build_ld_global_unaligned(&l->builder, c->from.view->base, &source, 1,
                                                       count, predicate, part_of(l, c, c->scalar));
    lower_copy_cache_hints(l, c->op);
    return loaded;
}

/* All loads precede the stores, so that they are in flight together. single: NULL for unaligned
 * loads. */
static void move(lowering *l, row_copy *c, lower_view_access *single) {
    unsigned accesses = c->to.cut.count;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, accesses);
    for (unsigned i = 0; i < accesses; i++)
        parts[i] = single ? load_elements(l, c, single, i) : load_unaligned(l, c, i);
    for (unsigned i = 0; i < accesses; i++) {
        tile_value target =
            lower_shared_access_offset(l, &c->to, tile_access_split_register(&c->to.cut, i, 0));
        tile_build_st_shared(&l->builder, parts[i], c->to.map.buffer, &target, 1, TILE_NO_VALUE);
    }
}

/* i1: no chunk that holds an element of the tile ends after the array. Elements of a tile that is
 * cut off do not count. `last` is the largest offset if no stride is negative. */
static tile_value is_before_end(lowering *l, const tile_value *element, const lower_view_access *a,
                                const tile_type *tile, int64_t chunk) {
    tile_builder *b = &l->builder;
    const tile_type *view = tile_value_type(&l->old, element[0]);
    tile_value last = lower_long(l, 0), size = lower_long(l, 1), all = TILE_NO_VALUE;
    tile_value less = lower_long(l, -1);
    for (unsigned d = 0; d < a->view_rank; d++) {
        int64_t known;
        tile_value stride = a->view->strides[d], limit = lower_to_long(l, a->view->limits[d]);
        tile_value at = lower_to_long(l, lower_mapped(l, element[1 + d]));
        if (d >= a->first_dim) {
            int64_t extent = tile_type_dim(tile, d - a->first_dim);
            at = tile_build_min(b, lower_add(l, at, lower_long(l, extent)), limit);
            at = lower_add(l, at, less);
        }
        last = lower_add(l, last, lower_mul(l, at, stride));
        size = lower_add(l, size, lower_mul(l, lower_add(l, limit, less), stride));
        if (view->has_strides && !tile_value_is_int(l->f, stride, &known))
            all = lower_and(l, all, tile_build_ge(b, stride, lower_long(l, 0)));
    }
    tile_value end = lower_add(l, last, lower_long(l, chunk));
    return lower_and(l, all, tile_build_le(b, end, size));
}

/* Whether unaligned loads suit, which then are prepared. */
static bool start(lowering *l, tile_op op, const tile_value *view, const tile_value *buffer,
                  unsigned buffer_count, const tile_layout *layout, const tile_type *tile,
                  row_copy *c) {
    enum { WORD = 4 };
    const tile_type *memory = tile_value_type(&l->old, view[0]);
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, view);
    unsigned unit = tile_unit_dim(&facts, memory->rank, tile->rank);
    unsigned bytes = tile_scalar_bytes(memory->scalar);
    if (facts.unaligned == facts.width || unit == tile->rank || memory->scalar != tile->scalar ||
        !tile_is_plain_access(&l->old, op) || lower_bits_overlap(layout, unit))
        return false;
    tile_access_split cut = tile_split_accesses_along(layout, unit, facts.unaligned);
    lower_shared_map map = lower_map_shared(l, buffer, buffer_count, layout);
    *c = (row_copy){.op = op, .scalar = memory->scalar};
    c->to = lower_start_shared(l, &map, layout, 1u << cut.width_bits);
    unsigned width = lower_common_width(&cut, &c->to.cut);
    if (width * bytes < WORD) return false;
    c->to.cut = tile_split_fragment_accesses(layout, map.reg, c->to.thread_bits, width);
    c->from = lower_start_view(l, view, layout, tile->rank, lower_widest(tile->scalar));
    c->from.cut = c->to.cut;
    return true;
}

bool lower_copy_unaligned(lowering *l, tile_op op, const tile_value *view, const tile_value *buffer,
                          unsigned buffer_count, const tile_layout *layout, const tile_type *tile) {
    row_copy c;
    if (!start(l, op, view, buffer, buffer_count, layout, tile, &c)) return false;
    int64_t chunk = (int64_t)1 << c.to.cut.width_bits;
    tile_value before = is_before_end(l, view, &c.from, tile, chunk);
    tile_op branch = tile_build_if_else(&l->builder, before, NULL, 0);
    tile_builder outer = l->builder;
    row_copy whole = c; /* what one branch computes is not there in the other one */
    l->builder.region = tile_op_region(l->f, branch, 0);
    move(l, &whole, NULL);
    tile_build_yield(&l->builder, NULL, 0);
    lower_view_access single = c.from;
    single.cut = tile_split_accesses_along(layout, 0, 1);
    l->builder.region = tile_op_region(l->f, branch, 1);
    move(l, &c, &single);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
    return true;
}
