/* dce: drops operations that nothing depends on, and the values of loops and branches that nobody
 * reads.
 *
 * Other passes leave what they replaced; a carried value that is not read costs a register in every
 * thread, a load that is not read costs bandwidth.
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
 * The usual way, "erase what has no uses until nothing changes", keeps a carried value that only
 * computes its own next one. So: 1. mark from the operations that must stay, through operands,
 * loops and enclosing regions; 2. erase what is not marked; 3. rebuild loops and branches that lost
 * values. */
#include <string.h>

#include "passes/common/fold.h"
#include "passes/pass.h"

typedef struct sweep {
    tile_function *f;
    tile_arena *arena;
    bool *live_op;
    bool *live_value;
    tile_value *work; /* values whose definition has to be looked at */
    size_t work_count;
    tile_value *map; /* values of rebuilt operations */
    long removed;
} sweep;

/* Marking ------------------------------------------------------------------------------------ */

enum {
    HARMLESS = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED | TILE_EFFECT_COLLECTIVE,
};

static bool must_stay(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
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

/* An operation that stays keeps what encloses it. A loop's bounds and a branch's condition stay
 * with it, the other operands of region operations only with their values. */
static void mark_op(sweep *s, tile_op op) {
    while (op.id && !s->live_op[op.id]) {
        s->live_op[op.id] = true;
        const tile_op_data *data = tile_op_at(s->f, op);
        uint32_t count = data->operand_count;
        if (data->opcode == TILE_OP_for) count = 3;
        if (data->opcode == TILE_OP_yield) count = 0;
        for (uint32_t i = 0; i < count; i++) mark_value(s, data->operands[i]);
        for (unsigned r = 0; r < data->region_count; r++)
            mark_op(s, tile_region_at(s->f, data->regions[r])->last);
        op = tile_op_parent(s->f, op);
    }
}

static void mark_yielded(sweep *s, tile_region region, uint32_t index) {
    mark_value(s, tile_op_operand(s->f, tile_region_at(s->f, region)->last, index));
}

/* Value `index` that a loop carries, or result `index` of a branch. */
static void mark_carried(sweep *s, tile_op op, uint32_t index) {
    const tile_op_data *data = tile_op_at(s->f, op);
    mark_op(s, op);
    if (data->opcode == TILE_OP_for) {
        mark_value(s, data->operands[3 + index]);
        mark_value(s, tile_region_arg(s->f, data->regions[0], index + 1));
        mark_value(s, tile_op_result(s->f, op, index));
    }
    for (unsigned r = 0; r < data->region_count; r++) mark_yielded(s, data->regions[r], index);
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
        mark_op(s, op);
        if (data->index > 0) mark_carried(s, op, data->index - 1);
    }
}

static void mark_all(sweep *s) {
    tile_function *f = s->f;
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode && must_stay(f, (tile_op){id})) mark_op(s, (tile_op){id});
    for (size_t r = 0; r < f->result_count; r++) mark_value(s, f->results[r].value);
    bool progress;
    do {
        while (s->work_count) mark_definition(s, s->work[--s->work_count]);
        progress = false;
        for (uint32_t id = 1; id < f->op_count; id++) /* a buffer that stays is still freed */
            if (f->ops[id].opcode == TILE_OP_free_shared && !s->live_op[id] &&
                s->live_value[f->ops[id].operands[0].id]) {
                mark_op(s, (tile_op){id});
                progress = true;
            }
    } while (progress || s->work_count);
}

/* Sweeping ----------------------------------------------------------------------------------- */

static void move_region(sweep *s, tile_region from, tile_region to) {
    tile_op op;
    while ((op = tile_region_at(s->f, from)->first).id) tile_move_op(s->f, op, to, TILE_NO_OP);
}

static void keep_name(sweep *s, tile_value from, tile_value to) {
    tile_value_at(s->f, to)->name = tile_value_at(s->f, from)->name;
    s->map[from.id] = to;
}

/* Only the values in kept remain: operands of the region's yield. */
static void shrink_yield(sweep *s, tile_region region, const bool *kept, uint32_t count) {
    tile_op_data *yield = tile_op_at(s->f, tile_region_at(s->f, region)->last);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++)
        if (kept[i]) yield->operands[at++] = yield->operands[i];
    yield->operand_count = at;
    yield->segment[0] = (uint16_t)at;
}

/* The same loop or branch with the kept results only. */
static tile_op rebuild(sweep *s, tile_op op, const bool *kept) {
    tile_function *f = s->f;
    const tile_op_data data = *tile_op_at(f, op);
    bool loop = data.opcode == TILE_OP_for;
    tile_value *operands = TILE_NEW_ARRAY(s->arena, tile_value, data.operand_count + 1u);
    const tile_type **types = TILE_NEW_ARRAY(s->arena, const tile_type *, data.result_count + 2u);
    const tile_type **results = types + 1; /* a loop's region begins with the induction variable */
    uint32_t operand_count = loop ? 3 : data.operand_count, count = 0;
    memcpy(operands, data.operands, sizeof *operands * operand_count);
    types[0] = loop ? tile_value_type(f, data.operands[0]) : NULL;
    for (uint32_t i = 0; i < data.result_count; i++) {
        if (!kept[i]) continue;
        results[count++] = tile_value_type(f, tile_op_result(f, op, i));
        if (loop) operands[operand_count++] = data.operands[3 + i];
    }
    uint16_t segment[TILE_MAX_OPERANDS];
    memcpy(segment, data.segment, sizeof segment);
    if (loop) segment[3] = (uint16_t)count;
    tile_builder b = tile_builder_before(f, op);
    tile_op built =
        tile_add_op(&b, (tile_opcode)data.opcode, operands, operand_count, segment, results, count);
    tile_op_at(f, built)->attrs = data.attrs;
    tile_op_at(f, built)->attr_count = data.attr_count;
    for (unsigned r = 0; r < data.region_count; r++) {
        tile_region region = tile_add_region(f, built, loop ? types : NULL, loop ? count + 1 : 0);
        shrink_yield(s, data.regions[r], kept, data.result_count);
        move_region(s, data.regions[r], region);
    }
    return built;
}

static tile_op drop_values(sweep *s, tile_op op) {
    tile_function *f = s->f;
    const tile_op_data data = *tile_op_at(f, op);
    bool *kept = TILE_NEW_ARRAY(s->arena, bool, data.result_count + 1u);
    uint32_t lost = 0;
    for (uint32_t i = 0; i < data.result_count; i++) {
        kept[i] = s->live_value[data.first_result.id + i];
        lost += !kept[i];
    }
    if (!lost) return op;
    s->removed += lost;
    tile_op built = rebuild(s, op, kept);
    bool loop = data.opcode == TILE_OP_for;
    tile_region old = data.regions[0], new = tile_op_region(f, built, 0);
    if (loop) keep_name(s, tile_region_arg(f, old, 0), tile_region_arg(f, new, 0));
    for (uint32_t i = 0, at = 0; i < data.result_count; i++) {
        if (!kept[i]) continue;
        keep_name(s, tile_op_result(f, op, i), tile_op_result(f, built, at));
        if (loop) keep_name(s, tile_region_arg(f, old, i + 1), tile_region_arg(f, new, at + 1));
        at++;
    }
    tile_erase_op(f, op);
    return built;
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
        if (!tile_op_at(f, op)->region_count) continue;
        tile_op kept = drop_values(s, op);
        for (unsigned r = 0; r < tile_op_at(f, kept)->region_count; r++)
            sweep_region(s, tile_op_at(f, kept)->regions[r]);
    }
}

tile_status tile_pass_dce(tile_pass *pass, tile_function *f) {
    sweep s = {.f = f, .arena = pass->scratch};
    s.live_op = TILE_NEW_ARRAY(pass->scratch, bool, f->op_count);
    s.live_value = TILE_NEW_ARRAY(pass->scratch, bool, f->value_count);
    s.work = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    /* Rebuilding makes at most one new value for each old one. */
    s.map = TILE_NEW_ARRAY(pass->scratch, tile_value, 2 * f->value_count);
    mark_all(&s);
    sweep_region(&s, f->body);
    tile_replace_values(f, f->body, s.map);
    tile_pass_count(pass, "removed", s.removed);
    return TILE_OK;
}
