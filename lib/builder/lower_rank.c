/* Accesses of parts with fewer dims than what is moved: see the header. */
#include "lib/builder/lower_rank.h"

#include "lib/builder/builder.h"
#include "lib/ir/operands.h"
#include "lib/ir/syntax.h"

static const tile_type *type_of(const tile_builder *b, tile_value value) {
    return tile_value_type(b->function, value);
}

/* What has the shape of the accessed part. */
typedef enum moved_form {
    MOVES_RESULT,  /* the type of the result */
    MOVES_TILE,    /* the tile operands before the view; a result has their shape */
    MOVES_BUFFER,  /* a shared buffer, the other one of src and dst */
    MOVES_EXTENTS, /* a list of constants */
} moved_form;

/* Accesses of a part of a view, at level 2. */
static const struct access {
    tile_opcode opcode;
    moved_form form;
} accesses[] = {
    {TILE_OP_load, MOVES_RESULT},       {TILE_OP_store, MOVES_TILE},
    {TILE_OP_store_async, MOVES_TILE},  {TILE_OP_atomic, MOVES_TILE},
    {TILE_OP_atomic_cas, MOVES_TILE},   {TILE_OP_copy, MOVES_BUFFER},
    {TILE_OP_copy_async, MOVES_BUFFER}, {TILE_OP_prefetch_l2, MOVES_EXTENTS},
};

/* One access. Places are those of segments. */
typedef struct lowering {
    tile_builder *b;
    const struct access *access; /* NULL: it moves no part of a view */
    const tile_segment *segments;
    unsigned view, buffer;
    const tile_type *moved; /* with the shape of the part; of a list: extents */
    unsigned rank;          /* of the accessed part */
    unsigned drops;
} lowering;

static bool is_view(const tile_builder *b, tile_value value) {
    const tile_type *type = value.id ? type_of(b, value) : NULL;
    return type && type->kind == TILE_TYPE_VIEW;
}

static unsigned find_view(const tile_builder *b, tile_opcode opcode, const tile_segment *segments) {
    bool reads = tile_op_takes(opcode, TILE_OPERAND_src) &&
                 is_view(b, segments[tile_place_of(opcode, TILE_OPERAND_src)].head);
    return tile_place_of(opcode, reads || !tile_op_takes(opcode, TILE_OPERAND_dst)
                                     ? TILE_OPERAND_src
                                     : TILE_OPERAND_dst);
}

static unsigned count_part_dims(const tile_builder *b, const tile_segment *view) {
    unsigned scalars = 0, rank = 0;
    for (unsigned i = 0; i < view->tail_count; i++) { /* index tiles */
        const tile_type *type = type_of(b, view->tail[i]);
        scalars += type->kind != TILE_TYPE_TILE;
        if (type->kind == TILE_TYPE_TILE && type->rank > rank) rank = type->rank;
    }
    return scalars < view->tail_count ? rank + scalars : type_of(b, view->head)->rank;
}

/* The dims of a buffer, or the constants of a list, as extents. */
static const tile_type *extents_of(const lowering *l, const tile_segment *segment) {
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = TILE_f32};
    if (l->access->form == MOVES_BUFFER) {
        const tile_type *type = type_of(l->b, segment->head);
        if (type->kind != TILE_TYPE_SHARED) return NULL;
        for (unsigned d = 0; d < type->rank; d++) draft.dims[draft.rank++] = type->dims[d];
    }
    for (unsigned i = 0; l->access->form == MOVES_EXTENTS && i < segment->tail_count; i++)
        if (i == TILE_MAX_RANK ||
            !(draft.dims[draft.rank++] = tile_value_at(l->b->function, segment->tail[i])->expr))
            return NULL;
    return draft.rank ? tile_type_get(tile_function_context(l->b->function), &draft) : NULL;
}

static const tile_type *moved_type(const lowering *l, const tile_type *type) {
    tile_opcode opcode = l->access->opcode;
    switch (l->access->form) {
    case MOVES_RESULT: return type;
    case MOVES_TILE: return type_of(l->b, l->segments[0].head);
    case MOVES_BUFFER: return extents_of(l, &l->segments[l->buffer]);
    case MOVES_EXTENTS:
        return extents_of(l, &l->segments[tile_place_of(opcode, TILE_OPERAND_extents)]);
    }
    return NULL;
}

/* The type without its first `count` extents of 1; false: there are not as many. */
static bool drop_ones(const tile_type *type, unsigned count, tile_type *dropped) {
    *dropped = *type;
    dropped->rank = 0;
    dropped->layout = NULL;
    for (unsigned d = 0; d < type->rank; d++) {
        bool drops = count && tile_expr_is(type->dims[d], 1);
        count -= drops;
        if (!drops) dropped->dims[dropped->rank++] = type->dims[d];
    }
    return count == 0;
}

/* The row-major view argument; NULL: it is none. */
static const tile_arg_decl *arg_of(const tile_function *f, tile_value view) {
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].value.id == view.id)
            return f->args[i].type->has_strides ? NULL : &f->args[i];
    return NULL;
}

/* A buffer keeps its dims, so the view gets more. */
static bool can_raise(const lowering *l) {
    const tile_segment *view = &l->segments[l->view];
    return arg_of(l->b->function, view->head) && view->tail_count == l->rank &&
           l->rank == type_of(l->b, view->head)->rank && l->moved->rank <= TILE_MAX_RANK;
}

/* Fills l; false if there are no dims to drop. */
static bool find_lowering(tile_builder *b, tile_opcode opcode, const tile_segment *segments,
                          const tile_type *type, lowering *l) {
    tile_type dropped;
    *l = (lowering){.b = b, .segments = segments};
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++)
        if (accesses[i].opcode == opcode) l->access = &accesses[i];
    if (!l->access) return false;
    l->view = find_view(b, opcode, segments);
    if (!is_view(b, segments[l->view].head)) return false;
    if (l->access->form == MOVES_BUFFER)
        l->buffer = tile_place_of(opcode, l->view == tile_place_of(opcode, TILE_OPERAND_src)
                                              ? TILE_OPERAND_dst
                                              : TILE_OPERAND_src);
    l->moved = moved_type(l, type);
    l->rank = count_part_dims(b, &segments[l->view]);
    if (!l->moved || l->moved->rank <= l->rank || !l->rank ||
        (l->moved->kind != TILE_TYPE_TILE && !tile_type_is_extents(l->moved)))
        return false;
    l->drops = l->moved->rank - l->rank;
    if (l->access->form == MOVES_BUFFER && !can_raise(l)) return false;
    return drop_ones(l->moved, l->drops, &dropped);
}

bool tile_lowers_rank(const tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                      const tile_type *type) {
    tile_builder b = *builder;
    lowering l;
    return find_lowering(&b, opcode, segments, type, &l);
}

static tile_value reshape(tile_builder *b, tile_value value, const tile_type *like) {
    tile_type draft = *like;
    draft.kind = TILE_TYPE_TILE;
    draft.scalar = type_of(b, value)->scalar;
    draft.param = type_of(b, value)->param;
    return tile_build_reshape(b, value, TILE_NO_VALUE,
                              tile_type_get(tile_function_context(b->function), &draft));
}

/* A predicate with the dims of the tile loses the same ones. */
static tile_value lower_predicate(tile_builder *b, tile_value predicate, const tile_type *moved,
                                  const tile_type *dropped) {
    const tile_type *own = type_of(b, predicate);
    if (own->kind != TILE_TYPE_TILE || own->rank != moved->rank) return predicate;
    tile_type draft = *moved;
    draft.kind = TILE_TYPE_TILE;
    draft.scalar = own->scalar;
    draft.param = own->param;
    draft.layout = NULL;
    const tile_type *whole = tile_type_get(tile_function_context(b->function), &draft);
    if (own != whole) predicate = tile_build_broadcast(b, predicate, whole);
    return predicate.id ? reshape(b, predicate, dropped) : predicate;
}

/* Tile operands before the view get the lower rank. False after a diagnostic. */
static bool lower_tiles(const lowering *l, const tile_type *dropped, tile_segment *own) {
    for (unsigned i = 0; i < l->view; i++)
        if (type_of(l->b, own[i].head)->kind == TILE_TYPE_TILE &&
            !(own[i].head = reshape(l->b, own[i].head, dropped)).id)
            return false;
    return true;
}

static tile_value number(tile_builder *b, const tile_expr *expr) {
    tile_segment segments[3] = {{{0}, NULL, 0}};
    unsigned count = 0;
    if (expr->kind == TILE_EXPR_ARG) return b->function->args[expr->integer].value;
    if (expr->kind != TILE_EXPR_OP || !tile_expr_holds(expr, TILE_EXPR_ARG))
        return tile_build_constant(
            b, tile_type_scalar(tile_function_context(b->function), TILE_i32), expr);
    for (; count < 3 && expr->args[count]; count++)
        segments[count].head = number(b, expr->args[count]);
    return tile_build_op_value(b, expr->opcode, segments, count, NULL);
}

/* The view's array with dims of extent 1 where the buffer has those that are dropped, and
 * coordinates 0 there. */
static bool raise_view(const lowering *l, tile_segment *view, tile_value *tail) {
    tile_builder *b = l->b;
    const tile_arg_decl *arg = arg_of(b->function, view->head);
    tile_value extents[TILE_MAX_RANK];
    unsigned from = 0, left = l->drops;
    for (unsigned d = 0; d < l->moved->rank; d++) {
        bool one = left && tile_expr_is(l->moved->dims[d], 1);
        left -= one;
        extents[d] = one ? tile_build_int(b, 1) : number(b, arg->extents[from]);
        tail[d] = one ? tile_build_int(b, 0) : view->tail[from];
        from += !one;
        if (!extents[d].id || !tail[d].id) return false;
    }
    tile_value base = tile_build_base(b, view->head);
    tile_value whole =
        base.id ? tile_build_view(b, base, extents, l->moved->rank, NULL, 0, NULL) : TILE_NO_VALUE;
    *view = (tile_segment){whole, tail, l->moved->rank};
    return whole.id != 0;
}

/* Removes the first extents of 1 from the list. */
static void lower_extents(const lowering *l, tile_segment *list, tile_value *tail) {
    unsigned kept = 0, left = l->drops;
    for (unsigned d = 0; d < l->moved->rank; d++) {
        bool one = left && tile_expr_is(l->moved->dims[d], 1);
        left -= one;
        if (!one) tail[kept++] = list->tail[d];
    }
    *list = (tile_segment){TILE_NO_VALUE, tail, kept};
}

static bool lower_segments(const lowering *l, const tile_type *dropped, tile_segment *own,
                           tile_value *tail) {
    tile_opcode opcode = l->access->opcode;
    bool predicated =
        tile_op_takes(opcode, TILE_OPERAND_predicate) && l->access->form != MOVES_BUFFER;
    tile_segment *predicate =
        predicated ? &own[tile_place_of(opcode, TILE_OPERAND_predicate)] : NULL;
    if (predicated && predicate->head.id &&
        !(predicate->head = lower_predicate(l->b, predicate->head, l->moved, dropped)).id)
        return false;
    switch (l->access->form) {
    case MOVES_RESULT: return true;
    case MOVES_TILE: return lower_tiles(l, dropped, own);
    case MOVES_BUFFER: return raise_view(l, &own[l->view], tail);
    case MOVES_EXTENTS:
        lower_extents(l, &own[tile_place_of(opcode, TILE_OPERAND_extents)], tail);
        return true;
    }
    return false;
}

tile_op tile_build_lower_rank(tile_builder *builder, tile_opcode opcode,
                              const tile_segment *segments, unsigned count, const tile_type *type,
                              const tile_attr *attrs, unsigned attr_count) {
    tile_context *context = tile_function_context(builder->function);
    tile_segment own[TILE_MAX_OPERANDS];
    tile_value tail[2 * TILE_MAX_RANK];
    tile_type dropped;
    lowering l;
    if (!find_lowering(builder, opcode, segments, type, &l)) return TILE_NO_OP;
    drop_ones(l.moved, l.drops, &dropped);
    for (unsigned i = 0; i < count; i++) own[i] = segments[i];
    if (!lower_segments(&l, &dropped, own, tail)) return TILE_NO_OP;
    bool loads = l.access->form == MOVES_RESULT;
    tile_op op =
        tile_build_op_of(builder, opcode, own, count,
                         loads ? tile_type_get(context, &dropped) : NULL, attrs, attr_count);
    if (!op.id || !tile_op_at(builder->function, op)->result_count) return op;
    tile_value whole = reshape(builder, tile_op_result(builder->function, op, 0), l.moved);
    return whole.id ? tile_value_def(builder->function, whole) : TILE_NO_OP;
}
