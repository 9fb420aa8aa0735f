#include "passes/pack/parts.h"

#include "lib/analysis/memory.h"
#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "passes/common/f32_parts.h"

/* Buffers and tiles that hold elements of the arrays are replaced by one for each part, in the
 * order of the text: where a buffer is allocated, where elements are read, and where they are
 * multiplied. The operations on the elements are erased at the end, when nothing uses their
 * results. */

/* A kernel whose arrays are read as parts. */
typedef struct splitter {
    tile_function *f;
    tile_arena *arena;
    const pack_rows **of;                /* by value: a view of such an array */
    const tile_value *copies;            /* by packed argument */
    const pack_rows *rows;               /* of packed arguments */
    tile_word *precision;                /* by value: a buffer or tile that the views fill */
    tile_value (*parts)[TILE_MAX_PARTS]; /* by value: what takes its place */
    uint32_t room;                       /* size of these arrays */
} splitter;

static tile_word precision_of(const pack_rows *rows) {
    return pack_how_of(rows->how)->precision;
}

static bool has_parts(const pack_rows *rows, unsigned count) {
    bool has = false;
    for (unsigned i = 0; i < count; i++) has |= precision_of(&rows[i]) != TILE_WORD_NONE;
    return has;
}

static const pack_rows *rows_of(const splitter *s, tile_value value) {
    return value.id < s->room ? s->of[value.id] : NULL;
}

static bool is_split(const splitter *s, tile_value value) {
    return value.id < s->room && s->precision[value.id] != TILE_WORD_NONE;
}

static unsigned count_parts(const splitter *s, tile_value value) {
    return tile_precision_of(s->precision[value.id])->part_count;
}

/* The view that the operation reads; 0: none of these arrays. */
static tile_value read_view(const splitter *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    tile_value none = TILE_NO_VALUE;
    if (opcode != TILE_OP_load && opcode != TILE_OP_copy) return none;
    tile_value view = tile_operand_src(s->f, op);
    return rows_of(s, view) ? view : none;
}

static splitter make_splitter(tile_function *f, const pack_rows *rows, unsigned count) {
    tile_arena *arena = &f->module->arena;
    splitter s = {.f = f, .arena = arena, .rows = rows, .room = f->value_count};
    s.of = TILE_NEW_ARRAY(arena, const pack_rows *, s.room);
    s.precision = TILE_NEW_ARRAY(arena, tile_word, s.room);
    s.parts = tile_arena_alloc(arena, sizeof *s.parts * s.room);
    for (unsigned i = 0; i < count; i++) {
        tile_value view =
            rows[i].view.id ? tile_op_result(f, rows[i].view, 0) : f->args[rows[i].arg].value;
        if (precision_of(&rows[i])) s.of[view.id] = &rows[i];
    }
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        tile_value view = read_view(&s, op);
        if (!view.id) continue;
        tile_value to = tile_op_opcode(f, op) == TILE_OP_load ? tile_op_result(f, op, 0)
                                                              : tile_operand_dst(f, op);
        s.precision[to.id] = precision_of(rows_of(&s, view));
    }
    return s;
}

/* Faults --------------------------------------------------------------------------------------- */

/* Whether the dot multiplies two values that are read as parts, by their precision. */
static bool multiplies_parts(const splitter *s, tile_op dot) {
    const tile_word precision = tile_op_word(s->f, dot, TILE_ATTR_precision);
    for (unsigned operand = 0; operand < 2; operand++) {
        const tile_values element = tile_op_segment(s->f, dot, operand);
        if (element.count != 1 || !is_split(s, element.at[0]) ||
            s->precision[element.at[0].id] != precision)
            return false;
    }
    return true;
}

/* Whether the operation may use the buffer or tile that a view fills. */
static bool admits(const splitter *s, tile_op op, tile_value value) {
    switch (tile_op_opcode(s->f, op)) {
    case TILE_OP_copy: {
        const tile_values to = tile_operands_dst(s->f, op);
        tile_value view = read_view(s, op);
        return view.id && to.count == 1 && precision_of(rows_of(s, view)) == s->precision[value.id];
    }
    case TILE_OP_free_shared: return true;
    case TILE_OP_dot: {
        const tile_values acc = tile_op_segment(s->f, op, TILE_MMA_ACC);
        return multiplies_parts(s, op) && acc.count == 1 && acc.at[0].id != value.id;
    }
    default: return false;
    }
}

static bool is_only_multiplied(const splitter *s, tile_value value) {
    tile_op def = tile_value_def(s->f, value);
    tile_opcode opcode = def.id ? tile_op_opcode(s->f, def) : TILE_OP_NONE;
    if (opcode != TILE_OP_load && opcode != TILE_OP_alloc_shared) return false;
    TILE_FOR_EACH_OP_INSIDE (s->f, op, s->f->body)
        if (tile_op_uses(s->f, op, value) && !admits(s, op, value)) return false;
    return true;
}

const char *pack_find_parts_fault(const tile_function *f, const pack_rows *rows, unsigned count,
                                  unsigned *which) {
    tile_function *read = (tile_function *)(uintptr_t)f; /* only read here */
    if (!has_parts(rows, count)) return NULL;
    const splitter s = make_splitter(read, rows, count);
    for (*which = 0; *which < count; ++*which) {
        const pack_rows *own = &rows[*which];
        const tile_type *type = f->args[own->arg].type;
        if (!precision_of(own)) continue;
        if (type->param || type->scalar != TILE_f32) return "has elements of another type than f32";
        if (type->rank == TILE_MAX_RANK || own->rank == TILE_MAX_RANK)
            return "has the largest rank, without a dim for the parts";
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
            tile_value view = read_view(&s, op);
            if (!view.id || rows_of(&s, view) != own) continue;
            tile_value to = tile_op_opcode(f, op) == TILE_OP_load ? tile_op_result(f, op, 0)
                                                                  : tile_operand_dst(f, op);
            if (!is_only_multiplied(&s, to))
                return "is not only an operand of a `dot` of this precision whose other operand is "
                       "packed likewise";
        }
    }
    return NULL;
}

/* Rewriting ------------------------------------------------------------------------------------ */

static const tile_type *half_of(const splitter *s, tile_value value) {
    return tile_type_with_scalar(tile_function_context(s->f), tile_value_type(s->f, value),
                                 TILE_bf16);
}

static void copy_attributes(tile_function *f, tile_op from, tile_op to) {
    const tile_op_data *old = tile_op_at(f, from);
    tile_op_data *made = tile_op_at(f, to);
    made->attrs = TILE_NEW_ARRAY(&f->module->arena, tile_attr, old->attr_count + 1u);
    made->attr_count = old->attr_count;
    for (unsigned i = 0; i < old->attr_count; i++) made->attrs[i] = old->attrs[i];
}

/* Reads each part where the operation reads the array. */
static void read_parts(splitter *s, tile_op op, tile_value view) {
    tile_function *f = s->f;
    const bool loads = tile_op_opcode(f, op) == TILE_OP_load;
    const tile_values src = tile_operands_src(f, op);
    const tile_value to = loads ? tile_op_result(f, op, 0) : tile_operand_dst(f, op),
                     copy = s->copies[rows_of(s, view) - s->rows],
                     predicate = tile_operand_predicate(f, op);
    const tile_type *type = half_of(s, to);
    const unsigned rank = src.count;
    tile_value at[TILE_MAX_RANK];
    for (unsigned i = 1; i < rank; i++) at[i] = src.at[i];
    for (unsigned p = 0; p < count_parts(s, to); p++) {
        tile_builder b = tile_builder_before(f, op);
        b.loc = tile_op_loc(f, op);
        at[0] = tile_build_int(&b, p);
        if (loads)
            s->parts[to.id][p] = tile_build_load(&b, copy, at, rank, predicate, type);
        else
            tile_build_copy(&b, copy, at, rank, s->parts[to.id][p], NULL, 0, predicate);
        copy_attributes(f, op, tile_op_at(f, op)->prev);
    }
}

static void allocate_parts(splitter *s, tile_op op, tile_value buffer) {
    tile_builder b = tile_builder_before(s->f, op);
    b.loc = tile_op_loc(s->f, op);
    for (unsigned p = 0; p < count_parts(s, buffer); p++)
        s->parts[buffer.id][p] = tile_build_alloc_shared(&b, half_of(s, buffer));
}

static void free_parts(splitter *s, tile_op op, tile_value buffer) {
    tile_builder b = tile_builder_before(s->f, op);
    for (unsigned p = 0; p < count_parts(s, buffer); p++)
        tile_build_free_shared(&b, s->parts[buffer.id][p]);
}

/* Returns whether the operation was rewritten: what it did is done by others. *sum: the new result
 * of a dot. */
static bool rewrite(splitter *s, tile_op op, tile_value *sum) {
    tile_function *f = s->f;
    tile_value view = read_view(s, op);
    if (view.id) return read_parts(s, op, view), true;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_alloc_shared: {
        tile_value buffer = tile_op_result(f, op, 0);
        return is_split(s, buffer) && (allocate_parts(s, op, buffer), true);
    }
    case TILE_OP_free_shared: {
        tile_value buffer = tile_operand_buffer(f, op);
        return is_split(s, buffer) && (free_parts(s, op, buffer), true);
    }
    case TILE_OP_dot: {
        const tile_value lhs = tile_op_segment(f, op, TILE_MMA_LHS).at[0],
                         rhs = tile_op_segment(f, op, TILE_MMA_RHS).at[0];
        if (!is_split(s, lhs)) return false;
        *sum = f32_parts_multiply(f, op, tile_precision_of(s->precision[lhs.id]), s->parts[lhs.id],
                                  s->parts[rhs.id]);
        return true;
    }
    default: return false;
    }
}

void pack_read_parts(tile_function *f, const pack_rows *rows, const tile_value *copies,
                     unsigned count) {
    if (!has_parts(rows, count)) return;
    splitter s = make_splitter(f, rows, count);
    uint32_t found = 0;
    s.copies = copies;
    tile_op *ops = TILE_NEW_ARRAY(s.arena, tile_op, f->op_count);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) ops[found++] = op;
    tile_value *sums = TILE_NEW_ARRAY(s.arena, tile_value, found + 1);
    bool *done = TILE_NEW_ARRAY(s.arena, bool, found + 1);
    for (uint32_t i = 0; i < found; i++) done[i] = rewrite(&s, ops[i], &sums[i]);
    tile_value *map = TILE_NEW_ARRAY(s.arena, tile_value, f->value_count);
    for (uint32_t i = 0; i < found; i++)
        if (sums[i].id) map[tile_op_result(f, ops[i], 0).id] = sums[i];
    tile_replace_values(f, f->body, map);
    for (uint32_t i = found; i-- > 0;)
        if (done[i]) tile_erase_op(f, ops[i]);
}
