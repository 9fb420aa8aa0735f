/* Tensor maps: a launch encodes them from a kernel's arguments, and the kernel's copies use them.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/analysis/tensor_map.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/launch/data.h"

/* Returns NULL if the launch cannot compute it. */
static const tile_expr *expr_of(const tile_function *f, tile_value value) {
    const tile_expr *expr = tile_value_as_expr(f, value);
    return expr && tile_expr_is_of_arguments(expr) ? expr : NULL;
}

static void set_row_major(const tile_function *f, tile_map *map) {
    tile_context *context = tile_function_context(f);
    unsigned last = map->type->rank - 1;
    map->strides[last] = tile_expr_int(context, 1);
    if (last) map->strides[last - 1] = map->extents[last];
    for (unsigned d = last; d-- > 1;)
        map->strides[d - 1] =
            tile_expr_op(context, TILE_OP_mul, map->extents[d], map->strides[d], NULL);
}

static tile_map map_of(const tile_function *f, tile_op op) {
    tile_map map = {.op = op,
                    .arg = (unsigned)f->arg_count,
                    .type = tile_value_type(f, tile_op_result(f, op, 0)),
                    .swizzle = (unsigned)tile_op_attr_int(f, op, TILE_ATTR_swizzle, 0)};
    tile_value base = tile_pointer_source(f, tile_operand_base(f, op));
    if (tile_value_at(f, base)->kind == TILE_VALUE_ARG) map.arg = tile_value_at(f, base)->index;
    const tile_values extent = tile_operands_extents(f, op);
    const tile_values stride = tile_operands_strides(f, op);
    for (unsigned d = 0; d < map.type->rank; d++) map.extents[d] = expr_of(f, extent.at[d]);
    for (unsigned d = 0; d < stride.count; d++) map.strides[d] = expr_of(f, stride.at[d]);
    if (!stride.count) set_row_major(f, &map);
    const tile_im2col windows = tile_im2col_of(f, op);
    map.spatial = windows.spatial;
    for (unsigned i = 0; i < windows.spatial; i++) {
        map.lower[i] = tile_im2col_lower(&windows, i);
        map.upper[i] = tile_im2col_upper(&windows, i);
        map.steps[i] = windows.strides[i];
    }
    return map;
}

static bool is_same(const tile_map *a, const tile_map *b) {
    bool same = a->arg == b->arg && a->type == b->type && a->swizzle == b->swizzle &&
                a->spatial == b->spatial;
    for (unsigned i = 0; i < a->spatial && same; i++)
        same =
            a->lower[i] == b->lower[i] && a->upper[i] == b->upper[i] && a->steps[i] == b->steps[i];
    for (unsigned d = 0; d < a->type->rank && same; d++)
        same = a->extents[d] == b->extents[d] && a->strides[d] == b->strides[d];
    return same;
}

unsigned tile_map_index(const tile_function *kernel, tile_op op, const tile_map *list,
                        unsigned count) {
    const tile_map wanted = map_of(kernel, op);
    unsigned i = 0;
    while (i < count && !is_same(&list[i], &wanted)) i++;
    return i;
}

tile_map *tile_map_list(const tile_function *kernel, tile_arena *arena, unsigned *count) {
    unsigned makers;
    const tile_op *ops = tile_find_ops(kernel, TILE_OP_tensor_map, arena, &makers);
    tile_map *list = TILE_NEW_ARRAY(arena, tile_map, makers + 1u);
    *count = 0;
    for (unsigned i = 0; i < makers; i++)
        if (tile_map_index(kernel, ops[i], list, *count) == *count)
            list[(*count)++] = map_of(kernel, ops[i]);
    return list;
}

/* Windows with these corners: of one position. */
static void set_windows(unsigned spatial, tile_map_facts *facts) {
    facts->windows.spatial = spatial;
    for (unsigned i = 0; i < spatial; i++)
        facts->windows.filter[i] = facts->windows.dilations[i] = 1;
}

/* Checks the rules that depend only on the map itself: no launch can change these. */
static bool check_rules(const tile_function *f, const tile_map *map) {
    tile_map_facts facts = {
        .scalar = map->type->scalar, .rank = map->type->rank, .swizzle = map->swizzle};
    const tile_map_rule *broken;
    facts.windows = tile_im2col_of(f, map->op);
    facts.address = tile_number_unknown(1);
    for (unsigned d = 0; d < facts.rank; d++) {
        int64_t value;
        facts.box[d] = tile_type_dim(map->type, d);
        facts.extents[d] = tile_expr_is_int(map->extents[d], &value) ? tile_number_of(value)
                                                                     : tile_number_unknown(1);
        facts.strides[d] = tile_expr_is_int(map->strides[d], &value) ? tile_number_of(value)
                                                                     : tile_number_unknown(1);
        if (d + 1 < facts.rank)
            facts.strides[d] = tile_map_stride(facts.scalar, facts.extents[d], facts.strides[d]);
    }
    if (tile_map_rule_holds(&facts, &broken) != TILE_NO) return true;
    return tile_error_at(f, map->op, "tensor_map: the hardware has no such tensor map; it needs %s",
                         broken->words);
}

static bool is_known(const tile_function *f, const tile_map *map) {
    bool known = map->arg < f->arg_count;
    for (unsigned d = 0; d < map->type->rank; d++)
        known = known && map->extents[d] && map->strides[d];
    return known;
}

bool tile_map_check(const tile_function *f, const tile_map *list, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (!is_known(f, &list[i])) {
            return tile_error_at(
                f, list[i].op,
                "tensor_map: it must begin where a pointer or view argument does, and its "
                "extents and strides must be computable from the kernel's arguments alone");
        }
        if (!check_rules(f, &list[i])) return false;
    }
    if (count <= TILE_MAX_TENSOR_MAPS) return true;
    return tile_error_at(f, list[TILE_MAX_TENSOR_MAPS].op,
                         "tensor_map: a kernel has at most %d tensor maps", TILE_MAX_TENSOR_MAPS);
}

/* In the launch interface ---------------------------------------------------------------------- */

static void set_texts(tile_abi *abi, unsigned index, const tile_function *f) {
    const tile_map *map = &abi->maps[index];
    tile_arena *arena = &abi->arena;
    unsigned rank = map->type->rank;
    abi_json_map *text = &abi->map_texts[index];
    *text = (abi_json_map){.argument = abi->args[map->arg].name,
                           .element = tile_scalar_name(map->type->scalar),
                           .box = TILE_NEW_ARRAY(arena, int64_t, rank),
                           .box_count = rank,
                           .extents = TILE_NEW_ARRAY(arena, const char *, rank),
                           .strides = TILE_NEW_ARRAY(arena, const char *, rank),
                           .extents_count = rank,
                           .strides_count = rank,
                           .swizzle = map->swizzle};
    if (map->spatial) {
        const int64_t *lists[] = {map->lower, map->upper, map->steps};
        int64_t **texts[] = {&text->lower_corner, &text->upper_corner, &text->element_strides};
        for (unsigned i = 0; i < 3; i++) {
            *texts[i] = TILE_NEW_ARRAY(arena, int64_t, map->spatial);
            memcpy(*texts[i], lists[i], sizeof **texts[i] * map->spatial);
        }
        text->lower_corner_count = text->upper_corner_count = text->element_strides_count =
            map->spatial;
    }
    for (unsigned d = 0; d < rank; d++) {
        text->box[d] = tile_type_dim(map->type, d);
        text->extents[d] = tile_expr_text(f, map->extents[d], arena);
        text->strides[d] = tile_expr_text(f, map->strides[d], arena);
    }
}

bool tile_abi_fill_maps(tile_abi *abi, const tile_function *f) {
    abi->maps = tile_map_list(f, &abi->arena, &abi->map_count);
    abi->map_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_map, abi->map_count + 1u);
    if (!tile_map_check(f, abi->maps, abi->map_count)) return false;
    for (unsigned i = 0; i < abi->map_count; i++) set_texts(abi, i, f);
    return true;
}

void tile_abi_set_map(tile_abi *abi, unsigned index, const tile_map *map, const tile_function *f) {
    abi->maps[index] = *map;
    set_texts(abi, index, f);
}

unsigned tile_abi_tensor_map_count(const tile_abi *abi) {
    return abi ? abi->map_count : 0;
}

static tile_status fail(const tile_abi *abi, unsigned index, bool is_stride, unsigned d) {
    const abi_json_map *text = &abi->map_texts[index];
    tile_report(abi->context, TILE_ERROR, abi->loc,
                "@%s: with these arguments the tensor map of %%%s has no %s %u: '%s' divides by "
                "zero",
                abi->entry, abi->args[abi->maps[index].arg].name, is_stride ? "stride" : "extent",
                d + 1, is_stride ? text->strides[d] : text->extents[d]);
    return TILE_INVALID;
}

tile_status tile_abi_tensor_map(const tile_abi *abi, unsigned index, const int64_t *args,
                                tile_tensor_map *out) {
    TILE_GUARD(abi ? abi->context : NULL, TILE_OUT_OF_MEMORY)
    if (!out) return TILE_INVALID;
    *out = (tile_tensor_map){0};
    if (!abi || !args || index >= abi->map_count) return TILE_INVALID;
    const tile_map *map = &abi->maps[index];
    int64_t bytes = tile_scalar_bytes(map->type->scalar), stride;
    *out = (tile_tensor_map){.argument = map->arg,
                             .scalar = map->type->scalar,
                             .rank = map->type->rank,
                             .swizzle = map->swizzle,
                             .spatial = map->spatial,
                             .address = (uint64_t)args[map->arg]};
    for (unsigned i = 0; i < map->spatial; i++) {
        out->lower_corner[i] = (int)map->lower[i];
        out->upper_corner[i] = (int)map->upper[i];
        out->element_strides[i] = (unsigned)map->steps[i];
    }
    for (unsigned d = 0; d < out->rank; d++) {
        out->box[d] = (unsigned)tile_type_dim(map->type, d);
        if (!tile_abi_evaluate(abi, map->extents[d], args, NULL, &out->extents[d]))
            return fail(abi, index, false, d);
        if (!tile_abi_evaluate(abi, map->strides[d], args, NULL, &stride))
            return fail(abi, index, true, d);
        if (d + 1 < out->rank)
            stride = tile_map_stride(out->scalar, tile_number_of(out->extents[d]),
                                     tile_number_of(stride))
                         .value;
        if (__builtin_mul_overflow(stride, bytes, &out->strides[d])) out->strides[d] = INT64_MAX;
    }
    return TILE_OK;
}

const char *tile_tensor_map_fault(const tile_tensor_map *map) {
    tile_map_facts facts = {.scalar = map->scalar, .rank = map->rank, .swizzle = map->swizzle};
    const tile_map_rule *broken;
    bool is_scalar = (unsigned)map->scalar < TILE_SCALAR_COUNT;
    int64_t bytes = is_scalar ? tile_scalar_bytes(map->scalar) : 0;
    if (bytes < 1) return "an element type of whole bytes";
    if (map->rank > TILE_MAX_MAP_RANK) return "1 to 5 dims";
    if (map->spatial && (map->spatial > TILE_MAX_SPATIAL || map->spatial + 2 != map->rank))
        return "in im2col mode, 1 to 3 spatial dims, and two more";
    set_windows(map->spatial, &facts);
    for (unsigned i = 0; i < map->spatial; i++) {
        facts.windows.pads[i][0] = -(int64_t)map->lower_corner[i];
        facts.windows.pads[i][1] = map->upper_corner[i];
        facts.windows.strides[i] = map->element_strides[i];
    }
    facts.address = tile_number_of((int64_t)(map->address % 16));
    for (unsigned d = 0; d < map->rank && d < TILE_MAX_MAP_RANK; d++) {
        facts.box[d] = map->box[d];
        facts.extents[d] = tile_number_of(map->extents[d]);
        facts.strides[d] = tile_number_of(map->strides[d] % bytes ? 0 : map->strides[d] / bytes);
    }
    return tile_map_rule_holds(&facts, &broken) == TILE_YES ? NULL : broken->words;
}
