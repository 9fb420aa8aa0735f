/* cse: computes equal expressions once.
 *
 * The text repeats index arithmetic for every access. Computed once, it takes fewer registers and
 * instructions, and later passes see that two stages or offsets are equal.
 *
 * level: any
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * before:
 *   kernel @twice(%n: i32, %p: ptr<f32>)
 *       grid [ceildiv(%n, 128)]  warps 4
 *   {
 *     %x, %y, %z = block_id : i32
 *     %g = view %p, [%n] : view<f32[?]>
 *     %from = mul %x, 128 : i32
 *     %t = load %g[%from] : tile<f32[128]>
 *     if %x > 0 {
 *       %to = mul 128, %x : i32
 *       store %t, %g[%to]
 *     }
 *   }
 *
 * after:
 *   kernel @twice(%n: i32, %p: ptr<f32>)
 *       grid [ceildiv(%n, 128)]  warps 4
 *   {
 *     %x, %y, %z = block_id : i32
 *     %g = view %p, [%n] : view<f32[?]>
 *     %from = mul %x, 128 : i32
 *     %t = load %g[%from] : tile<f32[128]>
 *     %0 = gt %x, 0 : i1
 *     if %0 {
 *       store %t, %g[%from]
 *     }
 *   }
 *
 * An operation dominates another one exactly if it comes earlier in the same or an enclosing
 * region, so one table with a mark for each open region is sufficient. Loads are not merged,
 * because an operation between them may write. A region of `roles`, or a loop distributed over
 * groups of warps, does not reuse results of equal operations around it. */
#include <string.h>

#include "lib/analysis/executors.h"
#include "passes/pass.h"

typedef struct entry {
    tile_op op;
    uint32_t bucket;
    uint32_t below; /* next entry of the bucket, 0: none */
} entry;

typedef struct table {
    tile_function *f;
    tile_arena *scratch;
    uint32_t *buckets;
    uint32_t mask;
    entry *entries; /* a stack; entry 0 is unused */
    uint32_t count;
    tile_value *map;
    long removed;
} table;

static bool is_commutative(unsigned opcode) {
    return tile_op_has_trait((tile_opcode)opcode, TILE_TRAIT_COMMUTATIVE);
}

static bool can_merge(const tile_function *f, tile_op op) {
    return tile_op_at(f, op)->result_count && !tile_op_effects(f, op) &&
           !tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_FRESH);
}

static uint32_t hash_op(const table *t, const tile_op_data *op) {
    uint32_t hash = op->opcode * 2654435761u, sum = 0;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t mixed = op->operands[i].id * 2246822519u;
        if (is_commutative(op->opcode))
            sum += mixed ^ mixed >> 15;
        else
            hash = (hash ^ mixed) * 16777619u;
    }
    uintptr_t type = (uintptr_t)tile_value_type(t->f, op->first_result);
    hash = (hash ^ sum ^ (uint32_t)(type >> 4)) * 16777619u;
    return hash ^ hash >> 16;
}

static bool same_operands(const tile_op_data *a, const tile_op_data *b) {
    if (a->operand_count != b->operand_count ||
        memcmp(a->segment, b->segment, sizeof a->segment) != 0)
        return false;
    if (a->operand_count == 2 && is_commutative(a->opcode) &&
        a->operands[0].id == b->operands[1].id && a->operands[1].id == b->operands[0].id)
        return true;
    for (uint32_t i = 0; i < a->operand_count; i++)
        if (a->operands[i].id != b->operands[i].id) return false;
    return true;
}

static bool same_attrs(const tile_op_data *a, const tile_op_data *b) {
    if (a->attr_count != b->attr_count) return false;
    for (unsigned i = 0; i < a->attr_count; i++) {
        const tile_attr *x = &a->attrs[i], *y = &b->attrs[i];
        if (x->id != y->id || x->expr != y->expr || x->count != y->count || x->text != y->text ||
            x->type != y->type ||
            (x->count && memcmp(x->list, y->list, sizeof *x->list * x->count) != 0))
            return false;
    }
    return true;
}

static bool same_op(const table *t, const tile_op_data *a, const tile_op_data *b) {
    if (a->opcode != b->opcode || a->result_count != b->result_count || !same_operands(a, b) ||
        !same_attrs(a, b))
        return false;
    for (uint32_t i = 0; i < a->result_count; i++)
        if (t->f->values[a->first_result.id + i].type != t->f->values[b->first_result.id + i].type)
            return false;
    return true;
}

static void replace_results(table *t, const tile_op_data *from, const tile_op_data *to) {
    for (uint32_t i = 0; i < from->result_count; i++) {
        tile_value old = {from->first_result.id + i}, new = {to->first_result.id + i};
        t->map[old.id] = new;
        if (!tile_value_at(t->f, new)->name)
            tile_value_at(t->f, new)->name = tile_value_at(t->f, old)->name;
    }
}

/* True if an equal operation dominates op; later operations then use its results. */
static bool merge(table *t, tile_op op) {
    const tile_op_data *data = tile_op_at(t->f, op);
    uint32_t bucket = hash_op(t, data) & t->mask;
    for (uint32_t i = t->buckets[bucket]; i; i = t->entries[i].below) {
        const tile_op_data *other = tile_op_at(t->f, t->entries[i].op);
        if (same_op(t, data, other)) {
            replace_results(t, data, other);
            return true;
        }
    }
    t->entries[++t->count] = (entry){op, bucket, t->buckets[bucket]};
    t->buckets[bucket] = t->count;
    return false;
}

static void merge_region(table *t, tile_region region);

/* Tiles and thread numbers mean something else to other warps, so a role does not reuse outer
 * values. */
static void merge_role(table *t, tile_region region) {
    uint32_t *outer = t->buckets;
    t->buckets = TILE_NEW_ARRAY(t->scratch, uint32_t, t->mask + 1u);
    merge_region(t, region);
    t->buckets = outer;
}

static void merge_region(table *t, tile_region region) {
    tile_function *f = t->f;
    uint32_t open = t->count;
    for (tile_op op = tile_region_at(f, region)->first, next; op.id; op = next) {
        next = tile_op_at(f, op)->next;
        tile_op_data *data = tile_op_at(f, op);
        for (uint32_t i = 0; i < data->operand_count; i++)
            if (t->map[data->operands[i].id].id) data->operands[i] = t->map[data->operands[i].id];
        if (can_merge(f, op) && merge(t, op)) {
            tile_erase_op(f, op);
            t->removed++;
            continue;
        }
        for (unsigned r = 0; r < data->region_count; r++)
            if (data->opcode == TILE_OP_roles || tile_is_grouped(f, op))
                merge_role(t, data->regions[r]);
            else
                merge_region(t, data->regions[r]);
    }
    for (; t->count > open; t->count--)
        t->buckets[t->entries[t->count].bucket] = t->entries[t->count].below;
}

tile_status tile_pass_cse(tile_pass *pass, tile_function *f) {
    table t = {.f = f, .scratch = pass->scratch, .mask = 63};
    while (t.mask < f->op_count) t.mask = 2 * t.mask + 1;
    t.buckets = TILE_NEW_ARRAY(pass->scratch, uint32_t, t.mask + 1u);
    t.entries = TILE_NEW_ARRAY(pass->scratch, entry, f->op_count + 1);
    t.map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    merge_region(&t, f->body);
    for (size_t i = 0; i < f->result_count; i++)
        if (t.map[f->results[i].value.id].id) f->results[i].value = t.map[f->results[i].value.id];
    tile_pass_count(pass, "removed", t.removed);
    return TILE_OK;
}
