/* Copies by the Tensor Memory Accelerator (TMA), which one thread of the set issues as boxes.
 *
 * A shared layout is tiled by boxes (lib/layout/wgmma.h): dense arrays with a swizzle. Each box is
 * one transfer. A tensor map may order its dims freely except the innermost one, along which
 * elements of the array and of the box are contiguous. The other requirements on the array are
 * known only at launch; if they hold, the launch selects a kernel variant whose arguments have
 * `tensor_map`.
 *
 * Blocks of a cluster that copy the same data divide its boxes along one dim. Each block issues its
 * share as multicast to all of them. If no even division exists, each block copies everything for
 * itself. */
#include "lib/analysis/grid_fit.h"
#include "lib/analysis/tensor_map.h"
#include "lib/ir/remark.h"
#include "lib/layout/wgmma.h"
#include "passes/lower/lower.h"

enum { LANES = 1 << TILE_LANE_BITS, BOX_ALIGNMENT = 128, NO_SWIZZLE = 16, MAX_BOXES = 64 };

typedef struct tma_copy {
    const tile_value *view, *buffer, *bar; /* in the old body; bar: NULL without a barrier */
    const tile_type *view_type, *type;     /* type: that of the buffer */
    bool in;
    unsigned leading;             /* number of the view's dims before those of the buffer */
    unsigned rank;                /* of the map */
    unsigned dims[TILE_MAX_RANK]; /* dims of the view, outermost first */
    tile_tma_box box;
    int64_t boxes;
    int64_t sharers;      /* number of blocks that share the copy; 1: not shared */
    unsigned sharing_dim; /* dim of the cluster along which they differ */
    tile_im2col windows;  /* of a view made by `im2col` */
    unsigned cut;         /* dim of the buffer that is divided among the sharers */
    uint32_t distance;    /* between consecutive shares, in the buffer */
} tma_copy;

typedef struct branch {
    tile_builder outer;
    tile_region open[3];
    unsigned depth;
} branch;

struct lower_boxes {
    tma_copy copy;
    tile_value map;
    branch chosen; /* branch on the issuing thread */
};

static void init_from_op(const lowering *l, tile_op op, tma_copy *c) {
    bool ring = tile_op_opcode(&l->old, op) == TILE_OP_store_async;
    const tile_values from =
        ring ? tile_operands_ring(&l->old, op) : tile_operands_src(&l->old, op);
    const tile_values to = tile_operands_dst(&l->old, op);
    const tile_values bar = ring ? (tile_values){NULL, 0} : tile_operands_bar(&l->old, op);
    c->in = tile_value_type(&l->old, from.at[0])->kind == TILE_TYPE_VIEW;
    c->view = c->in ? from.at : to.at;
    c->buffer = c->in ? to.at : from.at;
    c->bar = bar.count ? bar.at : NULL;
    c->view_type = tile_value_type(&l->old, c->view[0]);
    c->type = tile_value_type(&l->old, c->buffer[0]);
    c->leading = c->view_type->rank - c->type->rank;
    c->sharers = 1;
    /* The view may not be lowered yet. */
    const tile_op maker = tile_im2col_maker(&l->old, c->view[0]);
    if (maker.id) c->windows = tile_im2col_of(&l->old, maker);
    if (!tile_op_has_attr(&l->old, op, TILE_ATTR_multicast)) return;
    c->sharing_dim = (unsigned)tile_op_attr_int(&l->old, op, TILE_ATTR_multicast, 0);
    c->sharers = tile_grid_cluster_extent(l->f, c->sharing_dim);
}

/* Conditions ----------------------------------------------------------------------------------- */

static tile_number number_of(const tile_expr *expr, int64_t divisor) {
    int64_t value;
    return tile_expr_is_int(expr, &value) ? tile_number_of(value) : tile_number_unknown(divisor);
}

static tile_number stride_of(const tma_copy *c, unsigned dim) {
    if (c->view_type->has_strides) return number_of(c->view_type->strides[dim], 1);
    return dim + 1 == c->view_type->rank ? tile_number_of(1) : tile_number_unknown(1);
}

/* Orders the map's dims: the view's leading dims, then the box's dims from the outermost
 * inwards. */
static void order_dims(tma_copy *c) {
    for (unsigned d = 0; d < c->leading; d++) c->dims[c->rank++] = d;
    for (unsigned i = c->type->rank; i-- > 0;) c->dims[c->rank++] = c->leading + c->box.order[i];
}

static int64_t box_extent(const tma_copy *c, unsigned dim) {
    return dim < c->leading ? 1 : c->box.extent[dim - c->leading];
}

/* The dims of a map in im2col mode are those of the array. Its box has places and channels. */
static int64_t window_box_extent(const tma_copy *c, unsigned d) {
    unsigned rank = c->windows.spatial + 2;
    return d + 2 < rank ? 1 : c->box.extent[d + 2 - rank];
}

static const char *broken_rule_of_windows(const lowering *l, const tma_copy *c) {
    const tile_op maker = tile_value_def(&l->old, c->view[0]);
    const tile_type *src = tile_value_type(&l->old, tile_operand_src(&l->old, maker));
    tile_map_facts facts = {.scalar = c->type->scalar, .rank = src->rank, .windows = c->windows};
    const tile_map_rule *rule;
    facts.swizzle = c->box.swizzle == NO_SWIZZLE ? 0 : c->box.swizzle;
    facts.address = tile_number_unknown(1);
    for (unsigned d = 0; d < src->rank; d++) {
        facts.box[d] = window_box_extent(c, d);
        facts.extents[d] = number_of(src->dims[d], 1);
        facts.strides[d] = d + 1 == src->rank ? tile_number_of(1) : tile_number_unknown(1);
    }
    return tile_map_rule_holds(&facts, &rule) == TILE_NO ? rule->words : NULL;
}

/* Returns NULL, or the hardware rule that the copy violates as far as is known at compile time. */
static const char *broken_rule(const lowering *l, const tma_copy *c) {
    tile_map_facts facts = {.scalar = c->type->scalar, .rank = c->rank};
    const tile_map_rule *rule;
    if (c->windows.spatial) return broken_rule_of_windows(l, c);
    facts.swizzle = c->box.swizzle == NO_SWIZZLE ? 0 : c->box.swizzle;
    facts.address = tile_number_unknown(1);
    for (unsigned i = 0; i < c->rank && i < TILE_MAX_RANK; i++) {
        facts.box[i] = box_extent(c, c->dims[i]);
        facts.extents[i] = number_of(c->view_type->dims[c->dims[i]], 1);
        facts.strides[i] = stride_of(c, c->dims[i]);
        if (i + 1 < c->rank)
            facts.strides[i] = tile_map_stride(facts.scalar, facts.extents[i], facts.strides[i]);
    }
    return tile_map_rule_holds(&facts, &rule) == TILE_NO ? rule->words : NULL;
}

/* The start along rows must be a multiple of 16 bytes, or the instruction is illegal. */
static bool begins_aligned(const lowering *l, const tma_copy *c) {
    enum { UNIT = 16 };
    tile_range at = l->ranges[c->view[1 + c->dims[c->rank - 1]].id];
    return at.divisor % UNIT * tile_scalar_bytes(c->type->scalar) % UNIT == 0;
}

/* An extent of an array that a tensor map describes: the launch has checked that it is at least 1.
 */
static bool is_map_extent(const tile_function *f, tile_value value) {
    const tile_expr *extent = tile_value_as_expr(f, value);
    bool found = false;
    if (tile_value_at(f, value)->kind != TILE_VALUE_ARG || !extent) return false;
    for (unsigned a = 0; a < f->arg_count; a++)
        for (unsigned d = 0; f->args[a].tensor_map && d < f->args[a].type->rank; d++)
            found |= tile_function_arg_extent(f, a, d) == extent;
    return found;
}

/* Not negative unless it has overflowed i32, in which case it is out of bounds of any view. */
static bool is_natural(const lowering *l, tile_value value, unsigned depth) {
    enum { DEEP = 16 };
    if (l->ranges[value.id].min >= 0 || is_map_extent(&l->old, value)) return true;
    tile_op def = tile_value_def(&l->old, value);
    tile_opcode opcode = def.id && depth < DEEP ? tile_op_opcode(&l->old, def) : TILE_OP_NONE;
    switch (opcode) {
    case TILE_OP_add:
    case TILE_OP_mul:
    case TILE_OP_shl:
    case TILE_OP_div:
        return is_natural(l, tile_operand_lhs(&l->old, def), depth + 1) &&
               is_natural(l, tile_operand_rhs(&l->old, def), depth + 1);
    case TILE_OP_rem: /* it has the sign of the dividend */
        return is_natural(l, tile_operand_lhs(&l->old, def), depth + 1);
    default: return false;
    }
}

bool lower_is_natural(const lowering *l, tile_value value) {
    return is_natural(l, value, 0);
}

/* A stored box must not begin at a negative coordinate, or the instruction is illegal. */
static bool begins_inside(const lowering *l, const tma_copy *c) {
    bool natural = true;
    for (unsigned d = 0; d < c->view_type->rank && !c->in; d++)
        natural = natural && is_natural(l, c->view[1 + d], 0);
    return natural;
}

static bool is_aligned(const tma_copy *c) {
    int64_t box = 1, bytes = tile_scalar_bytes(c->type->scalar);
    for (unsigned d = 0; d < c->type->rank; d++) box *= c->box.extent[d];
    return (c->boxes == 1 || box * bytes % BOX_ALIGNMENT == 0) &&
           (!c->type->stages || tile_type_elements(c->type) * bytes % BOX_ALIGNMENT == 0);
}

/* Shares ------------------------------------------------------------------------------------- */

static int64_t boxes_along(const tma_copy *c, unsigned dim) {
    return tile_type_dim(c->type, dim) / c->box.extent[dim];
}

/* The start of box `number` of share `share`, by dim of the buffer. */
static void find_box(const tma_copy *c, int64_t number, int64_t share,
                     uint32_t begin[TILE_MAX_RANK]) {
    for (unsigned d = c->type->rank; d-- > 0;) {
        int64_t count = boxes_along(c, d) / (d == c->cut ? c->sharers : 1);
        begin[d] = (uint32_t)(number % count) * c->box.extent[d];
        if (d == c->cut) begin[d] += (uint32_t)(share * count) * c->box.extent[d];
        number /= count;
    }
}

static uint32_t offset_of_box(const tma_copy *c, int64_t number, int64_t share) {
    uint32_t begin[TILE_MAX_RANK] = {0};
    find_box(c, number, share, begin);
    return tile_layout_offset_of(c->type->layout, tile_layout_index(c->type->layout, begin));
}

/* Divides whole boxes if their number allows it. Otherwise cuts each box along its outermost dim,
 * which keeps every part a single box. */
static bool choose_cut(tma_copy *c) {
    enum { ATOM_ROWS = 8 };
    unsigned last = c->type->rank;
    for (c->cut = 0; c->cut < c->type->rank; c->cut++)
        if (boxes_along(c, c->cut) % c->sharers == 0) return true;
    while (last > 0 && c->box.extent[c->box.order[last - 1]] == 1) last--;
    if (last < 2) return false;
    c->cut = c->box.order[last - 1];
    uint32_t *extent = &c->box.extent[c->cut], share = *extent / (uint32_t)c->sharers;
    if (*extent % (uint32_t)c->sharers || share % ATOM_ROWS) return false;
    *extent = share;
    c->boxes *= c->sharers;
    return true;
}

/* Shares must be equidistant in the buffer; otherwise each block copies everything. */
static void share_boxes(tma_copy *c) {
    tma_copy own = *c;
    bool equal = c->sharers > 1 && choose_cut(c);
    c->distance = equal ? offset_of_box(c, 0, 1) : 0;
    for (int64_t i = 0; equal && i < c->boxes / c->sharers; i++)
        for (int64_t share = 1; share < c->sharers && equal; share++)
            equal = offset_of_box(c, i, share) ==
                    offset_of_box(c, i, 0) + (uint32_t)share * c->distance;
    if (equal) return;
    *c = own;
    c->sharers = 1;
}

/* Returns NULL, or why TMA cannot be used; *remedy: advice for the user, or NULL. */
static const char *find_plan(const lowering *l, tma_copy *c, const char **remedy) {
    const char *rule;
    *remedy = NULL;
    if (l->pass->target && !tile_target_has(l->pass->target, TILE_FEATURE_tma))
        return "the target has none";
    if (c->type->scalar != c->view_type->scalar) {
        *remedy = "make the buffer's element type that of the view";
        return "a tensor copy does not convert elements";
    }
    if ((rule = tile_view_cannot_have_map(&l->old, c->view[0], l->pass->scratch, remedy)))
        return rule;
    if (!tile_tma_find_box(c->type->layout, tile_scalar_bytes(c->type->scalar), &c->box)) {
        *remedy = "make its rows 16 bytes or longer, and leave the layout to the compiler";
        return "the buffer's layout has no 16 contiguous bytes";
    }
    if (c->windows.spatial && (c->type->rank != 2 || c->box.order[0] != 1))
        return "the buffer is no matrix of places whose channels are contiguous";
    c->boxes = 1;
    for (unsigned d = 0; d < c->type->rank; d++) c->boxes *= boxes_along(c, d);
    share_boxes(c);
    order_dims(c);
    if ((rule = broken_rule(l, c))) {
        *remedy = "`tile-opt --manual=variants` lists what a tensor map needs";
        return tile_arena_format(l->pass->scratch, "a tensor map needs %s", rule);
    }
    if (!begins_aligned(l, c)) {
        *remedy = "make the innermost coordinate a multiple of 16 bytes";
        return "the copy may begin at an offset in a row that is not a multiple of 16 bytes";
    }
    if (!begins_inside(l, c)) {
        *remedy = "use only coordinates that cannot be negative";
        return "a coordinate of the copy may be negative";
    }
    if (c->boxes > MAX_BOXES) {
        *remedy = "copy it in parts, or give the buffer extents that are powers of two";
        return tile_arena_format(l->pass->scratch,
                                 "the buffer consists of %lld boxes, and a copy starts at most %d",
                                 (long long)c->boxes, MAX_BOXES);
    }
    if (!is_aligned(c)) {
        *remedy = "make them multiples of 128 bytes, or copy rows of 128 bytes";
        return "the buffer's stages, or the boxes of which it consists, are not multiples of 128 "
               "bytes";
    }
    return NULL;
}

/* Building ------------------------------------------------------------------------------------- */

static void open_branch(lowering *l, branch *b, tile_value condition) {
    tile_op op = tile_build_if_else(&l->builder, condition, NULL, 0);
    tile_builder other = tile_builder_in(&l->builder, op, 1);
    tile_build_yield(&other, NULL, 0);
    b->open[b->depth++] = tile_op_region(l->f, op, 0);
    l->builder.region = b->open[b->depth - 1];
}

/* Selects one thread: for one warp the elected thread, for which ptxas needs no branch; for several
 * warps the first thread. With an election inside a branch on the thread index, ptxas would treat
 * the warps as diverged on all paths from there, for example in the next tile's loop. It would then
 * keep values for wgmma out of uniform registers. */
static branch open_elected(lowering *l) {
    branch b = {.outer = l->builder};
    open_branch(l, &b,
                l->executors.warps > 1 ? tile_build_eq(&l->builder, l->thread, lower_int(l, 0))
                                       : tile_build_elect(&l->builder));
    return b;
}

static void close_branch(lowering *l, branch *b) {
    while (b->depth-- > 0) {
        l->builder.region = b->open[b->depth];
        tile_build_yield(&l->builder, NULL, 0);
    }
    l->builder = b->outer;
}

/* Guards against coordinates that are negative only if they have overflowed i32, which range
 * analysis cannot exclude. */
static void guard_store(lowering *l, const tma_copy *c, branch *b) {
    tile_value inside = TILE_NO_VALUE;
    for (unsigned d = 0; d < c->view_type->rank; d++)
        if (l->ranges[c->view[1 + d].id].min < 0)
            inside = lower_and(
                l, inside,
                tile_build_ge(&l->builder, lower_mapped(l, c->view[1 + d]), lower_int(l, 0)));
    if (inside.id) open_branch(l, b, inside);
}

static tile_value build_map_of_windows(lowering *l, const tma_copy *c) {
    const lower_view *src = lower_windowed_view(l->views[c->view[0].id]);
    const tile_im2col *w = &c->windows;
    unsigned rank = w->spatial + 2;
    int64_t pads[2 * TILE_MAX_SPATIAL];
    tile_type type = {.kind = TILE_TYPE_MAP, .scalar = c->type->scalar, .rank = rank};
    for (unsigned d = 0; d < rank; d++)
        type.dims[d] = tile_expr_int(tile_function_context(l->f), window_box_extent(c, d));
    tile_value map = tile_build_tensor_map(&l->builder, src->base, src->extents, rank, src->strides,
                                           rank, tile_type_get(tile_function_context(l->f), &type));
    tile_op op = tile_value_def(l->f, map);
    for (unsigned i = 0; i < w->spatial; i++) {
        pads[2 * i] = w->pads[i][0];
        pads[2 * i + 1] = w->pads[i][1];
    }
    tile_op_set_list(l->f, op, TILE_ATTR_filter, w->filter, w->spatial);
    tile_op_set_list(l->f, op, TILE_ATTR_strides, w->strides, w->spatial);
    tile_op_set_list(l->f, op, TILE_ATTR_pads, pads, 2 * w->spatial);
    tile_op_set_list(l->f, op, TILE_ATTR_dilations, w->dilations, w->spatial);
    return map;
}

static tile_value build_map_of_dims(lowering *l, const tma_copy *c) {
    const lower_view *view = l->views[c->view[0].id];
    tile_value extents[TILE_MAX_RANK], strides[TILE_MAX_RANK];
    tile_type type = {.kind = TILE_TYPE_MAP, .scalar = c->type->scalar, .rank = c->rank};
    for (unsigned i = 0; i < c->rank; i++) {
        extents[i] = view->extents[c->dims[i]];
        strides[i] = view->strides[c->dims[i]];
        type.dims[i] = tile_expr_int(tile_function_context(l->f), box_extent(c, c->dims[i]));
    }
    return tile_build_tensor_map(&l->builder, view->base, extents, c->rank, strides, c->rank,
                                 tile_type_get(tile_function_context(l->f), &type));
}

static tile_value build_map(lowering *l, const tma_copy *c) {
    tile_value map = c->windows.spatial ? build_map_of_windows(l, c) : build_map_of_dims(l, c);
    if (c->box.swizzle != NO_SWIZZLE)
        tile_op_set_int(l->f, tile_value_def(l->f, map), TILE_ATTR_swizzle, c->box.swizzle);
    return map;
}

/* The source and destination of a copy's boxes. */
typedef struct placement {
    tile_value map, stage;    /* stage: its start in the buffer */
    const tile_value *ahead;  /* distance of the copy's start from its coordinates, by the buffer's
                                 dims, or NULL */
    tile_value share, blocks; /* this block's index among the sharers, and their mask; 0: not
                                 shared */
} placement;

static void find_share(lowering *l, const tma_copy *c, placement *p) {
    int64_t all = tile_grid_cluster_blocks(l->f, 3), mask = 0;
    int64_t before = tile_grid_cluster_blocks(l->f, c->sharing_dim);
    if (c->sharers == 1) return;
    for (int64_t i = 0; i < c->sharers; i++) mask |= INT64_C(1) << i * before;
    p->share = tile_build_cluster_rank(&l->builder);
    p->blocks = lower_int(l, mask);
    if (all == c->sharers) return;
    tile_value rank = p->share, step = lower_int(l, before);
    p->share = tile_build_rem(&l->builder, tile_build_div(&l->builder, rank, step),
                              lower_int(l, c->sharers));
    tile_value first = tile_build_sub(&l->builder, rank, lower_mul(l, p->share, step));
    p->blocks = tile_build_shl(&l->builder, p->blocks, first);
}

/* Adds share index * length for a block that shares the copy. */
static tile_value add_share(lowering *l, const placement *p, tile_value value, int64_t length) {
    if (!p->share.id) return value;
    return lower_add(l, value, lower_mul(l, p->share, lower_int(l, length)));
}

static void build_box(lowering *l, tile_op op, const tma_copy *c, const placement *p,
                      int64_t number) {
    uint32_t begin[TILE_MAX_RANK] = {0};
    tile_value at[TILE_MAX_RANK], buffer = lower_mapped(l, c->buffer[0]);
    find_box(c, number, 0, begin);
    for (unsigned i = 0; i < c->rank; i++) {
        unsigned dim = c->dims[i];
        at[i] = lower_mapped(l, c->view[1 + dim]);
        if (dim < c->leading) continue;
        if (p->ahead) at[i] = lower_add(l, at[i], p->ahead[dim - c->leading]);
        at[i] = lower_add(l, at[i], lower_int(l, begin[dim - c->leading]));
        if (dim - c->leading == c->cut)
            at[i] = add_share(l, p, at[i], tile_type_dim(c->type, c->cut) / c->sharers);
    }
    tile_value offsets[TILE_MAX_SPATIAL];
    unsigned rank = c->rank;
    if (c->windows.spatial) {
        const lower_view *view = l->views[c->view[0].id];
        tile_value channel = at[TILE_IM2COL_CHANNEL], first = at[TILE_IM2COL_PLACE];
        lower_split_position(l, view, at[TILE_IM2COL_POSITION], offsets);
        lower_split_place(l, view, first, at);
        rank = c->windows.spatial + 2;
        at[rank - 1] = channel;
    }
    tile_value place = lower_add(l, p->stage, lower_int(l, offset_of_box(c, number, 0)));
    place = add_share(l, p, place, c->distance);
    if (c->in) {
        tile_value index = lower_mapped(l, c->bar[1]);
        tile_build_tma_load(&l->builder, p->map, at, rank, offsets, c->windows.spatial, buffer,
                            &place, 1, lower_mapped(l, c->bar[0]), &index, 1, p->blocks);
    } else {
        tile_build_tma_store(&l->builder, buffer, &place, 1, p->map, at, c->rank);
    }
    lower_copy_cache_hints(l, op);
}

/* The bytes copied by TMA; 0 if TMA is not used. */
static int64_t tma_bytes(const lowering *l, tile_op op) {
    tma_copy c = {.rank = 0};
    const char *remedy;
    init_from_op(l, op, &c);
    if (find_plan(l, &c, &remedy)) return 0;
    return tile_type_elements(c.type) * tile_scalar_bytes(c.type->scalar);
}

/* Adjacent loads, separated only by arithmetic, are issued together by one thread at the position
 * of the last one. */
static bool is_load(const lowering *l, tile_op op) {
    return tile_op_opcode(&l->old, op) == TILE_OP_copy_async &&
           tile_op_mechanism(&l->old, op) == TILE_MECHANISM_BARRIER && tma_bytes(l, op) > 0;
}

static bool has_later_neighbour(const lowering *l, tile_op op) {
    do op = tile_op_next(&l->old, op);
    while (op.id && !tile_op_effects(&l->old, op));
    return op.id && is_load(l, op);
}

static tile_op first_neighbour(const lowering *l, tile_op op) {
    tile_op first = op;
    for (op = tile_op_at(&l->old, op)->prev; op.id; op = tile_op_at(&l->old, op)->prev) {
        if (!tile_op_effects(&l->old, op)) continue;
        if (!is_load(l, op)) break;
        first = op;
    }
    return first;
}

/* Runs in the elected thread. */
static void build_copy(lowering *l, tile_op op) {
    tma_copy c = {.rank = 0};
    const char *remedy;
    init_from_op(l, op, &c);
    find_plan(l, &c, &remedy);
    l->builder.loc = tile_op_loc(&l->old, op);
    tile_value stage = c.type->stages ? lower_mul(l, lower_mapped(l, c.buffer[1]),
                                                  lower_int(l, tile_type_elements(c.type)))
                                      : lower_int(l, 0);
    if (c.in && !lower_arrival_of(l, op).id) {
        tile_value index = lower_mapped(l, c.bar[1]);
        tile_build_mbarrier_expect(&l->builder, lower_mapped(l, c.bar[0]), &index, 1,
                                   lower_int(l, tma_bytes(l, op)), TILE_NO_VALUE);
        tile_op last = tile_region_at(l->f, l->builder.region)->last;
        tile_op_set_flag(l->f, last, TILE_ATTR_noarrive);
    }
    placement p = {.map = build_map(l, &c), .stage = stage};
    find_share(l, &c, &p);
    for (int64_t i = 0; i < c.boxes / c.sharers; i++) build_box(l, op, &c, &p, i);
}

/* Pieces --------------------------------------------------------------------------------------- */

lower_boxes *lower_find_boxes(lowering *l, tile_op op) {
    lower_boxes *boxes = TILE_NEW(l->pass->scratch, lower_boxes);
    const char *remedy;
    init_from_op(l, op, &boxes->copy);
    const char *why = find_plan(l, &boxes->copy, &remedy);
    if (why) {
        tile_missed_at(&l->old, op, "no TMA", remedy, "%s", why);
        return NULL;
    }
    boxes->map = build_map(l, &boxes->copy);
    return boxes;
}

bool lower_has_boxes(const lowering *l, tile_op op) {
    tma_copy copy = {.rank = 0};
    const char *remedy;
    init_from_op(l, op, &copy);
    return !find_plan(l, &copy, &remedy);
}

void lower_begin_boxes(lowering *l, lower_boxes *boxes, tile_value starts) {
    boxes->chosen = (branch){.outer = l->builder};
    open_branch(l, &boxes->chosen, starts);
    guard_store(l, &boxes->copy, &boxes->chosen);
}

void lower_store_boxes(lowering *l, tile_op op, const lower_boxes *boxes, tile_value stage,
                       const tile_value *ahead) {
    const placement p = {.map = boxes->map, .stage = stage, .ahead = ahead};
    for (int64_t i = 0; i < boxes->copy.boxes; i++) build_box(l, op, &boxes->copy, &p, i);
}

void lower_end_boxes(lowering *l, lower_boxes *boxes) {
    tile_build_bulk_commit(&l->builder);
    close_branch(l, &boxes->chosen);
}

/* Copies --------------------------------------------------------------------------------------- */

bool lower_tma(lowering *l, tile_op op) {
    tma_copy c = {.rank = 0};
    const char *remedy;
    init_from_op(l, op, &c);
    const char *why = find_plan(l, &c, &remedy);
    if (why) {
        tile_missed_at(&l->old, op, "no TMA", remedy, "%s", why);
        return false;
    }
    if (c.in && has_later_neighbour(l, op)) return true;
    branch elected = open_elected(l);
    if (!c.in) guard_store(l, &c, &elected);
    for (tile_op at = c.in ? first_neighbour(l, op) : op;; at = tile_op_next(&l->old, at)) {
        if (at.id == op.id || is_load(l, at)) build_copy(l, at);
        if (at.id == op.id) break;
    }
    close_branch(l, &elected);
    return true;
}

/* Arrivals ------------------------------------------------------------------------------------- */

static bool same_element(const lowering *l, tile_op a, unsigned i, tile_op b, unsigned k) {
    const tile_values x = tile_op_segment(&l->old, a, i), y = tile_op_segment(&l->old, b, k);
    return x.count == y.count && x.count == 2 && x.at[0].id == y.at[0].id &&
           x.at[1].id == y.at[1].id;
}

/* Only copies and arithmetic may come between the two, because the order of the expected bytes and
 * the copies is then not observable. */
tile_op lower_arrival_of(const lowering *l, tile_op copy) {
    for (tile_op op = tile_op_next(&l->old, copy); op.id; op = tile_op_next(&l->old, op)) {
        tile_opcode opcode = tile_op_opcode(&l->old, op);
        if (opcode == TILE_OP_barrier_arrive && same_element(l, copy, 2, op, 0)) return op;
        if (tile_op_effects(&l->old, op) && opcode != TILE_OP_copy_async) return TILE_NO_OP;
    }
    return TILE_NO_OP;
}

int64_t lower_arriving_bytes(const lowering *l, tile_op arrive) {
    int64_t bytes = 0;
    for (tile_op op = tile_op_at(&l->old, arrive)->prev; op.id; op = tile_op_at(&l->old, op)->prev)
        if (tile_op_opcode(&l->old, op) == TILE_OP_copy_async &&
            tile_op_mechanism(&l->old, op) == TILE_MECHANISM_BARRIER &&
            lower_arrival_of(l, op).id == arrive.id)
            bytes += tma_bytes(l, op);
    return bytes;
}
