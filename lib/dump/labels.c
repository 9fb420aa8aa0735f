/* Labels for the instructions of an operation: their role and pipeline stage, and the barrier at
 * which warps synchronize there.
 *
 * Level 3 does not record which operations a pass has moved out of a loop, but their source
 * locations do. The prologue of a loop begins at the first asynchronous copy or wait before it
 * whose location is inside the loop; the epilogue ends with the last one after it. A loop that only
 * starts copies, before another loop with the same location, is part of the prologue of that loop.
 */
#include "lib/dump/dump.h"
#include "lib/ir/print_names.h"
#include "lib/ir/regions.h"

typedef enum loop_stage { OUTSIDE, PROLOGUE, LOOP, EPILOGUE } loop_stage;

typedef struct labeler {
    const tile_function *f;
    tile_arena *arena;
    const char **names;
    tile_dump_role *roles;
    unsigned role_count;
    loop_stage *stages; /* by operation id, like the next one */
    tile_op *loops;     /* the loop of that stage */
    const char **sections;
    size_t section_count, section_capacity;
} labeler;

/* Stages --------------------------------------------------------------------------------------- */

enum {
    WAITS = TILE_EFFECT_WAIT | TILE_EFFECT_ACQUIRE | TILE_EFFECT_BARRIER,
    SYNCS = WAITS | TILE_EFFECT_RELEASE | TILE_EFFECT_CLUSTER,
};

static bool is_flow(const tile_function *f, tile_op op) {
    return tile_op_effects(f, op) & (TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR);
}

/* Returns whether the operation starts or awaits asynchronous work. */
static bool is_pipelined(const tile_function *f, tile_op op) {
    bool now = tile_op_get_info(tile_op_opcode(f, op))->completion == TILE_COMPLETION_NOW;
    return !is_flow(f, op) && (!now || tile_op_effects(f, op) & SYNCS);
}

static bool is_wait(const tile_function *f, tile_op op) {
    return !is_flow(f, op) && tile_op_effects(f, op) & WAITS;
}

static bool same_place(const tile_function *f, tile_op a, tile_op b) {
    tile_loc x = tile_op_loc(f, a), y = tile_op_loc(f, b);
    return x.line && x.file == y.file && x.line == y.line && x.column == y.column;
}

/* Returns whether the operation, or one in its regions, is pipelined and its source location is
 * between the first and the last line of the loop (inside), or elsewhere. */
static bool has_pipelined(const tile_function *f, tile_op op, tile_loc first, uint32_t last,
                          bool inside) {
    tile_loc loc = tile_op_loc(f, op);
    bool is_inside = loc.file == first.file && loc.line >= first.line && loc.line <= last;
    if (is_pipelined(f, op) && is_inside == inside) return true;
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, op, r))
            if (has_pipelined(f, inner, first, last, inside)) return true;
    return false;
}

static uint32_t last_line(const tile_function *f, tile_op loop) {
    tile_loc loc = tile_op_loc(f, loop);
    uint32_t last = loc.line;
    TILE_FOR_EACH_NESTED_OP (f, op, loop) {
        tile_loc inner = tile_op_loc(f, op);
        if (inner.file == loc.file && inner.line > last) last = inner.line;
    }
    return last;
}

static bool waits_inside(const tile_function *f, tile_op loop) {
    TILE_FOR_EACH_NESTED_OP (f, op, loop)
        if (is_wait(f, op)) return true;
    return false;
}

/* A loop before another one with the same location, whose copies it starts. */
static bool fills(const tile_function *f, tile_op loop) {
    if (waits_inside(f, loop)) return false;
    for (tile_op op = tile_op_next(f, loop); op.id; op = tile_op_next(f, op))
        if (tile_repeats(f, op) && same_place(f, loop, op)) return true;
    return false;
}

static void mark(labeler *l, tile_op op, tile_op loop, loop_stage stage) {
    l->stages[op.id] = stage;
    l->loops[op.id] = loop;
    TILE_FOR_EACH_NESTED_OP (l->f, inner, op) {
        l->stages[inner.id] = stage;
        l->loops[inner.id] = loop;
    }
}

/* From `at` to one end of the region: marks everything up to the last operation that belongs to the
 * loop. Stops at another part of the same loop. After the loop, also stops at waits for anything
 * else. */
static void mark_side(labeler *l, tile_op at, tile_op loop, loop_stage stage, uint32_t last) {
    const tile_function *f = l->f;
    tile_op end = TILE_NO_OP, op = at;
    tile_loc first = tile_op_loc(f, loop);
    for (;;) {
        op = stage == PROLOGUE ? tile_op_at(f, op)->prev : tile_op_next(f, op);
        if (!op.id || (tile_repeats(f, op) && same_place(f, op, loop) && !fills(f, op))) break;
        if (stage == EPILOGUE && has_pipelined(f, op, first, last, false)) break;
        if (has_pipelined(f, op, first, last, true)) end = op;
    }
    for (op = at; end.id && op.id != end.id;) {
        op = stage == PROLOGUE ? tile_op_at(f, op)->prev : tile_op_next(f, op);
        mark(l, op, loop, stage);
    }
}

static void mark_loop(labeler *l, tile_op loop) {
    const tile_function *f = l->f;
    uint32_t last = last_line(f, loop);
    for (tile_op at = loop; at.id && tile_op_loc(f, loop).line; at = tile_op_parent(f, at)) {
        if (at.id != loop.id && tile_op_get_info(tile_op_opcode(f, at))->shape != TILE_SHAPE_BRANCH)
            break;
        mark_side(l, at, loop, PROLOGUE, last);
        mark_side(l, at, loop, EPILOGUE, last);
    }
    mark(l, loop, loop, LOOP);
}

/* Sections ------------------------------------------------------------------------------------- */

static const char *keep(labeler *l, const char *text) {
    for (size_t i = 0; i < l->section_count; i++)
        if (strcmp(l->sections[i], text) == 0) return l->sections[i];
    l->sections = tile_arena_grow(l->arena, l->sections, l->section_count, &l->section_capacity,
                                  sizeof *l->sections);
    return l->sections[l->section_count++] = text;
}

static const tile_dump_role *role_of(const labeler *l, tile_op op) {
    tile_region region = tile_executors_of(l->f, op).role;
    for (unsigned i = 0; i < l->role_count; i++)
        if (l->roles[i].region.id == region.id) return &l->roles[i];
    return NULL;
}

static const char *section_of(labeler *l, tile_op op) {
    static const char *const words[] = {"", "prologue of the ", "", "epilogue of the "};
    const tile_function *f = l->f;
    const tile_dump_role *role = op.id ? role_of(l, op) : NULL;
    tile_op loop = l->loops[op.id];
    const char *name = NULL, *stage = "", *who = role ? role->name : "all warps";
    if (loop.id) {
        tile_loc loc = tile_op_loc(f, loop);
        if (tile_op_opcode(f, loop) == TILE_OP_for)
            name = l->names[tile_region_arg(f, tile_op_region(f, loop, 0), 0).id];
        stage = tile_arena_format(l->arena, ", %sloop%s%s", words[l->stages[op.id]],
                                  name ? " over %" : "", name ? name : "");
        if (loc.line) stage = tile_arena_format(l->arena, "%s at line %u", stage, loc.line);
    }
    return keep(l, tile_arena_format(l->arena, "%s%s", who, stage));
}

/* Synchronization ------------------------------------------------------------------------------ */

static const char *barrier_text(labeler *l, tile_op op) {
    const tile_function *f = l->f;
    const tile_dump_role *role = role_of(l, op);
    bool named = tile_op_operand_count(f, op) > 0;
    unsigned groups = named ? 1 : tile_executors_of(f, op).groups;
    tile_barrier barrier = tile_barrier_of(f, op, 0);
    if (barrier.number == TILE_WARP_BARRIER) return "the threads of the warp";
    const char *text = tile_arena_format(l->arena, "barrier %u", barrier.number);
    for (unsigned g = 1; g < groups; g++)
        text = tile_arena_format(l->arena, "%s or %u", text, tile_barrier_of(f, op, g).number);
    return tile_arena_format(l->arena, "%s of %s%s, %u threads", text,
                             role ? role->name : "all warps",
                             groups > 1 ? ", one for each group" : "", 32 * barrier.warps);
}

/* The operation with the names of its shared buffers. */
static const char *sync_of(labeler *l, tile_op op) {
    const tile_function *f = l->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    const char *text = tile_op_name(f, op), *separator = " ";
    bool starts = tile_op_get_info(opcode)->completion == TILE_COMPLETION_STARTS;
    if (!is_pipelined(f, op)) return NULL;
    if (opcode == TILE_OP_sync || opcode == TILE_OP_sync_arrive)
        return tile_arena_format(l->arena, "%s: %s", text, barrier_text(l, op));
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value value = tile_op_operand(f, op, i);
        const char *name = l->names[value.id];
        if (tile_value_type(f, value)->kind != TILE_TYPE_SHARED || !name) continue;
        text = tile_arena_format(l->arena, "%s%s%%%s", text, separator, name);
        separator = ", ";
    }
    return starts && *separator == ' ' ? NULL : text;
}

tile_dump_label *tile_dump_labels(const tile_function *f, tile_arena *arena) {
    labeler l = {.f = f,
                 .arena = arena,
                 .names = tile_print_names(f, arena),
                 .stages = TILE_NEW_ARRAY(arena, loop_stage, f->op_count),
                 .loops = TILE_NEW_ARRAY(arena, tile_op, f->op_count)};
    tile_dump_label *labels = TILE_NEW_ARRAY(arena, tile_dump_label, f->op_count);
    l.roles = tile_dump_roles(f, arena, &l.role_count);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_repeats(f, op) && !fills(f, op)) mark_loop(&l, op);
    labels[0].section = section_of(&l, TILE_NO_OP);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        labels[op.id] = (tile_dump_label){section_of(&l, op), sync_of(&l, op)};
    return labels;
}
