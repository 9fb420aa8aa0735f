/* Checks the attributes of compute operations that describe the kernels to make. */
#include <inttypes.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/check/verify.h"
#include "lib/ir/syntax.h"
#include "lib/layout/layout.h"
#include "lib/ops/strategy.h"

static bool check_tile(const tile_function *f, tile_op op) {
    const tile_attr *attr = tile_op_attr(f, op, TILE_ATTR_tile);
    const tile_type *src = tile_value_type(f, tile_first_operand(f, op));
    bool product = tile_op_opcode(f, op) == TILE_OP_matmul;
    int64_t elements = 1, least = 0;
    if (!attr) return true;
    if (product && attr->count != 2 && attr->count != 3)
        return tile_error_at(f, op,
                             "matmul: the tile must be [m, n], or [m, n, k] with the part of the "
                             "sums, not %u numbers",
                             attr->count);
    if (!product && attr->count != src->rank)
        return tile_error_of(f, op,
                             "the tile must have one number for each of the %u dims of src, not %u",
                             src->rank, attr->count);
    for (unsigned i = 0; i < attr->count; i++) {
        if (!tile_layout_admits_extent(attr->list[i]))
            return tile_error_of(
                f, op,
                "a tile's extents must be odd numbers up to %d times powers of two, not %" PRId64,
                TILE_LAYOUT_MAX_COUNT, attr->list[i]);
        least = !least || attr->list[i] < least ? attr->list[i] : least;
        elements *= attr->list[i];
        if (elements / (product && i == 2 ? least : 1) > TILE_MAX_TILE_ELEMENTS)
            return tile_error_of(f, op,
                                 "the tile has more than the %d elements that a tile may have",
                                 TILE_MAX_TILE_ELEMENTS);
    }
    return true;
}

/* Checks that a known number is in range. */
static bool check_number(const tile_function *f, tile_op op, tile_attr_id id, int most) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    int64_t number;
    if (!attr || !tile_expr_is_int(attr->expr, &number) || (number >= 1 && number <= most))
        return true;
    return tile_error_of(f, op, "`%s` must be from 1 to %d, not %" PRId64, tile_attr_keyword(id),
                         most, number);
}

static bool check_warps(const tile_function *f, tile_op op) {
    int64_t warps = tile_op_attr_int(f, op, TILE_ATTR_warps, 1);
    if (!check_number(f, op, TILE_ATTR_warps, TILE_MAX_WARPS)) return false;
    return !(warps & (warps - 1)) ||
           tile_error_of(f, op, "`warps` must be a power of two, not %" PRId64, warps);
}

/* The same rules as for a kernel's clause. */
static bool check_raster(const tile_function *f, tile_op op) {
    bool grouped = tile_op_has_attr(f, op, TILE_ATTR_group);
    if (grouped && !tile_op_has_attr(f, op, TILE_ATTR_raster))
        return tile_error_of(
            f, op,
            "`group` counts rows or columns of tiles: add `raster = rows` or `raster = columns`");
    return check_number(f, op, TILE_ATTR_group, TILE_MAX_RASTER_GROUP);
}

/* Checks that each strategy supports the operation. */
static bool check_strategy(const tile_function *f, tile_op op) {
    tile_strategy strategy = tile_strategy_from_word(tile_op_attr_text(f, op, TILE_ATTR_strategy));
    const char *kind = tile_op_attr_text(f, op, TILE_ATTR_kind);
    int64_t split = tile_op_attr_int(f, op, TILE_ATTR_split, 2);
    if (!strategy || split == 1) return true;
    const tile_strategy_info *info = tile_strategy_get_info(strategy);
    if (kind && strcmp(kind, "add") != 0 && info->only_adds) {
        tile_arena scratch = {0};
        tile_error_of(f, op, "the strategy %s supports only sums; use %s", info->word,
                      tile_strategies_of_any(&scratch));
        tile_arena_reset(&scratch);
        return false;
    }
    return !info->most_factor || split <= info->most_factor ||
           tile_error_of(f, op,
                         "the strategy %s takes factors up to %u, not %" PRId64
                         "; use another one, or a smaller factor",
                         info->word, info->most_factor, split);
}

/* A loop of a compute has no effect besides the values that it carries, and no kernel's clauses. */
static bool check_loop(const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    if (!data->result_count)
        return tile_error_of(f, op,
                             "in a compute, a loop must carry the values that it computes: `%%h = "
                             "for %%i = 0 to n iter (%%h = %%x) {.. yield %%next }`");
    if (data->attr_count)
        return tile_error_of(f, op, "`%s` applies to loops of kernels only; remove it in a compute",
                             tile_attr_keyword(data->attrs[0].id));
    return true;
}

bool tile_verify_schedule(const tile_function *f, tile_op op) {
    static const tile_attr_id ids[] = {TILE_ATTR_tile,  TILE_ATTR_stages,   TILE_ATTR_warps,
                                       TILE_ATTR_split, TILE_ATTR_strategy, TILE_ATTR_raster,
                                       TILE_ATTR_group};
    if (tile_op_opcode(f, op) == TILE_OP_for) /* `split` belongs to a kernel's loop */
        return f->kind != TILE_COMPUTE || check_loop(f, op);
    for (unsigned i = 0; f->kind != TILE_COMPUTE && i < sizeof ids / sizeof *ids; i++)
        if (tile_op_has_attr(f, op, ids[i]))
            return tile_error_of(f, op,
                                 "`%s` applies to operations of a compute only; remove it in a %s",
                                 tile_attr_keyword(ids[i]), tile_function_kind_name(f->kind));
    return check_tile(f, op) && check_warps(f, op) && check_raster(f, op) &&
           check_number(f, op, TILE_ATTR_stages, TILE_MAX_STAGES) &&
           check_number(f, op, TILE_ATTR_split, TILE_MAX_SPLIT) && check_strategy(f, op);
}
