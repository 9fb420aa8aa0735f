/* dce: erases operations whose results are unused, and unused values of loops and branches.
 *
 * Other passes leave the operations that they replaced. An unused carried value costs a register in
 * every thread, an unused load costs bandwidth.
 *
 * level: any
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * before:
 *   kernel @unused(%n: i32, %p: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %g = view %p, [%n] : view<f32[?]>
 *     %s = alloc_shared : shared<f32[128]>
 *     %t = load %g[0] : tile<f32[128]>
 *     %zero = splat 0.0 : tile<f32[128]>
 *     %sum, %count = for %i = 0 to %n step 128 iter (%a = %zero, %c = 0) {
 *       %next = add %c, 1 : i32
 *       %more = load %g[%i] : tile<f32[128]>
 *       %b = add %a, %more : tile<f32[128]>
 *       yield %b, %next
 *     }
 *     free_shared %s
 *     store %sum, %g[0]
 *   }
 *
 * after:
 *   kernel @unused(%n: i32, %p: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %g = view %p, [%n] : view<f32[?]>
 *     %zero = splat 0.0 : tile<f32[128]>
 *     %sum = for %i = 0 to %n step 128 iter (%a = %zero) {
 *       %more = load %g[%i] : tile<f32[128]>
 *       %b = add %a, %more : tile<f32[128]>
 *       yield %b
 *     }
 *     store %sum, %g[0]
 *   }
 *
 * The usual algorithm, "erase operations without uses until a fixed point", keeps a carried value
 * that is only used to compute its own next value. Instead:
 *
 * 1. Mark from the operations that must stay, through operands, loops and enclosing regions.
 * 2. Erase operations that are not marked.
 * 3. Shrink loops and branches that lost values. */
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "passes/pass.h"
#include "passes/simplify/fold.h"

typedef struct sweep {
    tile_function *f;
    tile_arena *arena;
    bool *live_op;
    bool *live_value;
    tile_value *work; /* values whose definition has to be visited */
    size_t work_count;
    tile_value *map;                   /* from old to new values, of operations that carry fewer */
    bool starts[TILE_MECHANISM_COUNT]; /* by mechanism: whether some operation starts a copy with it
                                        */
    long removed;
} sweep;

/* Marking ------------------------------------------------------------------------------------ */

enum {
    HARMLESS = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED | TILE_EFFECT_COLLECTIVE,
};

/* Whether the operation commits or waits for a group of copies that no operation in the function
 * starts, because lowering has found another way to copy. */
static bool has_no_effect(const sweep *s, tile_op op) {
    tile_completion completion = tile_op_get_info(tile_op_opcode(s->f, op))->completion;
    if (completion != TILE_COMPLETION_COMMITS && completion != TILE_COMPLETION_WAITS) return false;
    tile_mechanism by = tile_op_mechanism(s->f, op);
    return s->f->level == 3 && !s->starts[by] &&
           (by == TILE_MECHANISM_GROUP || by == TILE_MECHANISM_BULK_GROUP);
}

static bool must_stay(const sweep *s, tile_op op) {
    const tile_function *f = s->f;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (has_no_effect(s, op)) return false;
    unsigned effects = tile_op_get_info(opcode)->effects;
    if (effects & (TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR | TILE_EFFECT_ALLOC)) return false;
    tile_op parent = tile_op_parent(f, op);
    if (effects && tile_is_numbered_loop(f, parent)) return true;
    return !tile_op_has_trait(opcode, TILE_TRAIT_OWN_BUFFER) && (effects & ~(unsigned)HARMLESS);
}

static void mark_value(sweep *s, tile_value value) {
    if (!value.id || s->live_value[value.id]) return;
    s->live_value[value.id] = true;
    s->work[s->work_count++] = value;
}

/* An operation that stays keeps its enclosing operations. Operands that control a region are marked
 * with it; carried operands are marked only when their value is used. */
static void mark_op(sweep *s, tile_op op) {
    while (op.id && !s->live_op[op.id]) {
        s->live_op[op.id] = true;
        const tile_op_data *data = tile_op_at(s->f, op);
        bool carries = data->region_count || tile_op_effects(s->f, op) & TILE_EFFECT_TERMINATOR;
        for (uint32_t i = 0; !carries && i < data->operand_count; i++)
            mark_value(s, data->operands[i]);
        for (unsigned i = 0; i < tile_control_operand_count(s->f, op); i++)
            mark_value(s, tile_control_operand(s->f, op, i));
        for (unsigned r = 0; r < data->region_count; r++)
            mark_op(s, tile_region_yield(s->f, data->regions[r]));
        op = tile_op_parent(s->f, op);
    }
}

static void mark_carried(sweep *s, tile_op op, unsigned index) {
    mark_op(s, op);
    TILE_FOR_EACH_BRANCH_POINT (s->f, op, at) {
        mark_value(s, tile_carried_sent(s->f, op, at, index));
        mark_value(s, tile_carried_received(s->f, op, at, index));
    }
}

static void mark_definition(sweep *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_RESULT) {
        tile_op op = {data->owner};
        if (tile_op_at(s->f, op)->region_count)
            mark_carried(s, op, data->index);
        else
            mark_op(s, op);
    } else if (data->kind == TILE_VALUE_REGION) {
        tile_op op = s->f->regions[data->owner].parent;
        unsigned own = tile_region_own_args(s->f, (tile_region){data->owner});
        mark_op(s, op);
        if (data->index >= own) mark_carried(s, op, data->index - own);
    }
}

static void mark_all(sweep *s) {
    tile_function *f = s->f;
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode && must_stay(s, (tile_op){id})) mark_op(s, (tile_op){id});
    for (size_t r = 0; r < f->result_count; r++) mark_value(s, f->results[r].value);
    bool progress;
    do {
        while (s->work_count) mark_definition(s, s->work[--s->work_count]);
        progress = false;
        for (uint32_t id = 1; id < f->op_count; id++) /* a live buffer is still freed */
            if (f->ops[id].opcode == TILE_OP_free_shared && !s->live_op[id] &&
                s->live_value[tile_operand_buffer(f, (tile_op){id}).id]) {
                mark_op(s, (tile_op){id});
                progress = true;
            }
    } while (progress || s->work_count);
}

/* Sweeping ----------------------------------------------------------------------------------- */

static void drop_values(sweep *s, tile_op op) {
    unsigned count = tile_carried_count(s->f, op), lost = 0;
    bool *kept = TILE_NEW_ARRAY(s->arena, bool, count + 1u);
    for (unsigned i = 0; i < count; i++) {
        kept[i] = s->live_value[tile_op_result(s->f, op, i).id];
        lost += !kept[i];
    }
    if (lost) tile_carry(s->f, op, kept, NULL, 0, s->map);
    s->removed += lost;
}

static void sweep_region(sweep *s, tile_region region) {
    tile_function *f = s->f;
    for (tile_op op = tile_region_at(f, region)->first, next; op.id; op = next) {
        next = tile_op_at(f, op)->next;
        if (!s->live_op[op.id]) {
            tile_erase_op(f, op);
            s->removed++;
            continue;
        }
        drop_values(s, op);
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
            sweep_region(s, tile_op_at(f, op)->regions[r]);
    }
}

tile_status tile_pass_dce(tile_pass *pass, tile_function *f) {
    sweep s = {.f = f, .arena = pass->scratch};
    s.live_op = TILE_NEW_ARRAY(pass->scratch, bool, f->op_count);
    s.live_value = TILE_NEW_ARRAY(pass->scratch, bool, f->value_count);
    s.work = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    /* Shrinking makes at most one new value for each old one. */
    s.map = TILE_NEW_ARRAY(pass->scratch, tile_value, 2 * f->value_count);
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode) s.starts[tile_op_starts(f, (tile_op){id})] = true;
    mark_all(&s);
    sweep_region(&s, f->body);
    tile_replace_values(f, f->body, s.map);
    tile_pass_count(pass, "removed", s.removed);
    return TILE_OK;
}
