/* Host tables: the launch computes them from a kernel's arguments, and the kernel reads them. */
#include <stdlib.h>
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/launch/data.h"
#include "lib/support/options.h"

static bool is_same(const tile_table *a, const tile_table *b) {
    bool same = a->cost == b->cost;
    for (unsigned d = 0; d < 3; d++) same &= a->extents[d] == b->extents[d];
    return same;
}

static tile_table table_of(const tile_function *f, tile_op op) {
    const tile_values extents = tile_operands_extents(f, op);
    tile_table table = {.op = op, .cost = tile_op_attr(f, op, TILE_ATTR_cost)->expr};
    for (unsigned d = 0; d < 3; d++) {
        const tile_expr *extent = d < extents.count ? tile_value_as_expr(f, extents.at[d])
                                                    : tile_expr_int(tile_function_context(f), 1);
        table.extents[d] = extent && tile_expr_is_of_arguments(extent) ? extent : NULL;
    }
    return table;
}

unsigned tile_table_index(const tile_function *kernel, tile_op op, const tile_table *list,
                          unsigned count) {
    const tile_table wanted = table_of(kernel, op);
    unsigned i = 0;
    while (i < count && !is_same(&list[i], &wanted)) i++;
    return i;
}

static void add_args(const tile_expr *expr, tile_arg_set *args) {
    if (expr->kind == TILE_EXPR_ARG) tile_arg_set_add(args, (unsigned)expr->integer);
    for (unsigned i = 0; i < 3 && expr->args[i]; i++) add_args(expr->args[i], args);
}

tile_table *tile_table_list(const tile_function *kernel, tile_arena *arena, unsigned *count) {
    unsigned makers;
    const tile_op *ops = tile_find_ops(kernel, TILE_OP_tile_schedule, arena, &makers);
    tile_table *list = TILE_NEW_ARRAY(arena, tile_table, makers + 1u);
    *count = 0;
    for (unsigned i = 0; i < makers; i++) {
        if (tile_table_index(kernel, ops[i], list, *count) < *count) continue;
        list[*count] = table_of(kernel, ops[i]);
        add_args(list[*count].cost, &list[*count].args);
        (*count)++;
    }
    return list;
}

static bool is_known(const tile_table *table) {
    return table->extents[0] && table->extents[1] && table->extents[2];
}

bool tile_table_check(const tile_function *f, const tile_table *list, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!is_known(&list[i])) {
            return tile_error_at(f, list[i].op,
                                 "tile_schedule: the extents must be computable from the kernel's "
                                 "arguments alone");
        }
    if (count <= TILE_MAX_TABLES) return true;
    return tile_error_at(
        f, list[TILE_MAX_TABLES].op,
        "tile_schedule: a kernel has at most %d tables of tiles, differing in extents or cost",
        TILE_MAX_TABLES);
}

static void set_texts(tile_abi *abi, unsigned index, const tile_function *f) {
    const tile_table *table = &abi->tables[index];
    abi_json_table *text = &abi->table_texts[index];
    text->extents = TILE_NEW_ARRAY(&abi->arena, const char *, 3);
    text->extents_count = 3;
    for (unsigned d = 0; d < 3; d++)
        text->extents[d] = tile_expr_text(f, table->extents[d], &abi->arena);
    text->tile_cost = tile_expr_text(f, table->cost, &abi->arena);
}

bool tile_abi_fill_tables(tile_abi *abi, const tile_function *f) {
    abi->tables = tile_table_list(f, &abi->arena, &abi->table_count);
    abi->table_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_table, abi->table_count + 1u);
    if (!tile_table_check(f, abi->tables, abi->table_count)) return false;
    for (unsigned i = 0; i < abi->table_count; i++) set_texts(abi, i, f);
    return true;
}

void tile_abi_set_table(tile_abi *abi, unsigned index, const tile_function *walker) {
    tile_table *table = &abi->tables[index];
    *table = (tile_table){.cost = walker->cost};
    add_args(walker->cost, &table->args);
    for (unsigned d = 0; d < 3; d++) table->extents[d] = walker->grid[d];
    set_texts(abi, index, walker);
}

/* Creation ------------------------------------------------------------------------------------- */

tile_status tile_abi_table_extents(const tile_abi *abi, unsigned index, const int64_t *args,
                                   int64_t extents[3]) {
    int64_t count = 1;
    if (!abi || index >= abi->table_count) return TILE_INVALID;
    for (unsigned d = 0; d < 3; d++) {
        bool known = tile_abi_evaluate(abi, abi->tables[index].extents[d], args, NULL, &extents[d]);
        if (known && extents[d] >= 1 && extents[d] <= TILE_MAX_TABLE_TILES / count) {
            count *= extents[d];
            continue;
        }
        tile_report(
            abi->context, TILE_ERROR, abi->loc,
            "@%s: tiles cannot be distributed for these arguments: dim %u is %s, and there must be "
            "1 to %d tiles; launch fewer at once, or write `persistent` without `balanced by`",
            abi->entry, d, abi->table_texts[index].extents[d], TILE_MAX_TABLE_TILES);
        return TILE_INVALID;
    }
    return TILE_OK;
}

int64_t tile_table_entries(const int64_t extents[3]) {
    return 2 * extents[0] * extents[1] * extents[2] + 1;
}

tile_status tile_abi_table_entries(const tile_abi *abi, unsigned index, const int64_t *args,
                                   int64_t *entries) {
    int64_t extents[3];
    tile_status status = tile_abi_table_extents(abi, index, args, extents);
    if (status == TILE_OK) *entries = tile_table_entries(extents);
    return status;
}

/* The costs of all tiles, by tile number. */
static bool compute_tile_costs(const tile_abi *abi, unsigned index, const int64_t *args,
                               const int64_t extents[3], int64_t *costs) {
    int64_t at[3];
    int32_t tile = 0;
    for (at[2] = 0; at[2] < extents[2]; at[2]++)
        for (at[1] = 0; at[1] < extents[1]; at[1]++)
            for (at[0] = 0; at[0] < extents[0]; at[0]++) {
                if (tile_abi_evaluate_cost(abi, abi->tables[index].cost, args, at, &costs[tile++]))
                    continue;
                tile_report(abi->context, TILE_ERROR, abi->loc,
                            "@%s: with these arguments the tile %d %d %d has no cost: %s divides "
                            "by zero",
                            abi->entry, (int)at[0], (int)at[1], (int)at[2],
                            abi->table_texts[index].tile_cost);
                return false;
            }
    return true;
}

/* Blocks in a binary heap: the one at (i - 1) / 2 has no more work than the one at i. */
typedef struct share {
    int64_t load;
    int32_t block;
} share;

static bool has_less_load(const share *a, const share *b) {
    return a->load < b->load || (a->load == b->load && a->block < b->block);
}

/* Restores the heap after the first block has got more work. */
static void sift_down(share *block_heap, int32_t count) {
    for (int32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && has_less_load(&block_heap[child + 1], &block_heap[child])) child++;
        if (!has_less_load(&block_heap[child], &block_heap[at])) return;
        const share moved = block_heap[at];
        block_heap[at] = block_heap[child];
        block_heap[child] = moved;
    }
}

/* Writes where each block's tiles begin, where the last block's end, then the tiles; the rest is 0.
 */
static void balance_tiles(const int64_t *costs, int32_t count, int32_t blocks, int32_t *entries) {
    share *block_heap = tile_malloc(sizeof *block_heap * (size_t)blocks);
    int32_t *owner = tile_malloc(sizeof *owner * (size_t)count);
    memset(entries, 0, sizeof *entries * (2 * (size_t)count + 1));
    for (int32_t b = 0; b < blocks; b++) block_heap[b] = (share){0, b};
    for (int32_t i = 0; i < count; i++) {
        int64_t cost = costs[i] > 1 ? costs[i] : 1; /* visiting a tile costs at least 1 */
        owner[i] = block_heap[0].block;
        if (__builtin_add_overflow(block_heap[0].load, cost, &block_heap[0].load))
            block_heap[0].load = INT64_MAX;
        sift_down(block_heap, blocks);
        entries[owner[i] + 1]++;
    }
    entries[0] = blocks + 1;
    for (int32_t b = 0; b < blocks; b++) entries[b + 1] += entries[b];
    for (int32_t b = 0; b < blocks; b++)
        block_heap[b].block = entries[b]; /* position of the block's next tile */
    for (int32_t i = 0; i < count; i++) entries[block_heap[owner[i]].block++] = i;
    free(owner);
    free(block_heap);
}

/* The number of blocks that share the tiles; 0 after a diagnostic. */
static int32_t blocks_of(const tile_abi *abi, const tile_launch_facts *facts, int64_t tiles) {
    tile_launch_facts known;
    if (!TILE_TAKE_OPTIONS(abi->context, tile_launch_facts, &known, facts)) return 0;
    if (known.num_sms > 0) return (int32_t)(known.num_sms < tiles ? known.num_sms : tiles);
    tile_report(abi->context, TILE_ERROR, abi->loc,
                "@%s: num_sms is missing in the launch's facts, and the tile schedule needs it",
                abi->entry);
    return 0;
}

tile_status tile_abi_make_table(const tile_abi *abi, unsigned index, const int64_t *args,
                                const tile_launch_facts *facts, int32_t *entries) {
    TILE_GUARD(abi ? abi->context : NULL, TILE_OUT_OF_MEMORY)
    int64_t extents[3];
    tile_status status = tile_abi_table_extents(abi, index, args, extents);
    if (status != TILE_OK) return status;
    size_t count = (size_t)(extents[0] * extents[1] * extents[2]);
    int32_t blocks = blocks_of(abi, facts, (int64_t)count);
    if (!blocks) return TILE_INVALID;
    int64_t *costs = tile_malloc(sizeof *costs * count);
    bool priced = compute_tile_costs(abi, index, args, extents, costs);
    if (priced) balance_tiles(costs, (int32_t)count, blocks, entries);
    free(costs);
    return priced ? TILE_OK : TILE_INVALID;
}
