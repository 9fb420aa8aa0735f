/* The variants of a kernel, and their selection at a launch. */
#include "lib/analysis/tensor_map.h"
#include "lib/launch/data.h"

static const tile_condition_info conditions[] = {
#define CONDITION(number, name, reads, meaning) {TILE_CONDITION_##name, #name},
#include "tile/conditions.def"
};

const tile_condition_info *tile_condition_info_at(unsigned index) {
    return index < sizeof conditions / sizeof *conditions ? &conditions[index] : NULL;
}

const char *tile_condition_name(tile_condition_kind kind) {
    const tile_condition_info *info;
    for (unsigned i = 0; (info = tile_condition_info_at(i)); i++)
        if (info->kind == kind) return info->name;
    return NULL;
}

static bool *declared_maps(const tile_function *f, tile_arena *arena) {
    bool *maps = TILE_NEW_ARRAY(arena, bool, f->arg_count + 1);
    for (unsigned i = 0; i < f->arg_count; i++) maps[i] = f->args[i].tensor_map;
    return maps;
}

static unsigned *declared_divisors(const tile_function *f, tile_arena *arena) {
    unsigned *divisors = TILE_NEW_ARRAY(arena, unsigned, f->arg_count + 1);
    for (unsigned i = 0; i < f->arg_count; i++) divisors[i] = f->args[i].divisible;
    return divisors;
}

void tile_abi_set_variants(tile_abi *abi, const tile_function *f, const tile_variants *variants,
                           unsigned variant) {
    const tile_variants one = {
        1, {declared_divisors(f, &abi->arena)}, {declared_maps(f, &abi->arena)}, 1};
    if (!variants) variants = &one;
    abi->variant_count = variants->count;
    abi->variant = variant;
    abi->flat_from = variants->flat_from;
    for (unsigned i = 0; i < variants->count; i++) {
        bool grid_fits = i < variants->flat_from && variants->flat_from < variants->count;
        abi->variants[i].list =
            tile_list_conditions(f, variants->divisors[i], variants->maps[i], grid_fits,
                                 &abi->arena, &abi->variants[i].count);
    }
}

/* The dim of a map's rows: the last dim whose elements are provably contiguous, of more than one
 * element if there is such a dim. */
static unsigned find_row_dim(const tile_abi_arg *arg) {
    unsigned found = arg->type->rank;
    for (unsigned d = arg->type->rank; d-- > 0;) {
        if (!tile_expr_is(arg->strides[d], 1)) continue;
        if (!tile_expr_is(arg->extents[d], 1)) return d;
        if (found == arg->type->rank) found = d;
    }
    return found < arg->type->rank ? found : arg->type->rank - 1u;
}

/* Checks the smallest possible box, so that the result depends on the array only. */
const char *tile_abi_map_fault(const tile_abi *abi, unsigned index, const int64_t *args) {
    const tile_abi_arg *arg = &abi->args[index];
    tile_tensor_map map = {.argument = index,
                           .address = (uint64_t)args[index],
                           .scalar = arg->type->scalar,
                           .rank = arg->type->rank};
    static const char overflows[] = "extents and strides that are integers of 64 bits";
    int64_t bytes = tile_scalar_bytes(map.scalar), stride;
    unsigned row = find_row_dim(arg);
    for (unsigned i = 0; i < map.rank; i++) { /* the other dims in any order, then the rows */
        unsigned d = i + 1 == map.rank ? row : i + (i >= row);
        map.box[i] = d == row ? (unsigned)(16 / bytes) : 1;
        if (!tile_abi_evaluate(abi, arg->extents[d], args, NULL, &map.extents[i]) ||
            !tile_abi_evaluate(abi, arg->strides[d], args, NULL, &stride))
            return overflows;
        /* Accesses that do not use the map rely on the strides of all dims that may be longer. */
        if (d != row && tile_expr_is(arg->extents[d], 1))
            stride =
                tile_map_stride(map.scalar, tile_number_of(map.extents[i]), tile_number_of(stride))
                    .value;
        if (__builtin_mul_overflow(stride, bytes, &map.strides[i])) return overflows;
    }
    return tile_tensor_map_fault(&map);
}

bool tile_condition_holds(const tile_abi *abi, const tile_condition *condition,
                          const int64_t *args) {
    int64_t value = condition->value, number = 0;
    if (condition->kind != TILE_CONDITION_grid) number = args[condition->arg];
    switch (condition->kind) {
    case TILE_CONDITION_grid: return tile_abi_fits_condition(abi, value, args);
    case TILE_CONDITION_divisible:
        return (value & (value - 1)) ? number % value == 0 : (number & (value - 1)) == 0;
    case TILE_CONDITION_value: return number == value;
    case TILE_CONDITION_tensor_map: return !tile_abi_map_fault(abi, condition->arg, args);
    }
    return false;
}

unsigned tile_abi_variant_count(const tile_abi *abi) {
    return abi ? abi->variant_count : 0;
}

unsigned tile_abi_variant(const tile_abi *abi) {
    return abi ? abi->variant : 0;
}

const tile_condition *tile_abi_condition_at(const tile_abi *abi, unsigned variant, unsigned index) {
    bool exists = abi && variant < abi->variant_count && index < abi->variants[variant].count;
    return exists ? &abi->variants[variant].list[index] : NULL;
}

/* Returns whether the condition is on arguments, which a launch checks first. The grid is checked
 * when it is known (tile_abi_find_grid). */
static bool asks_arguments(const tile_condition *condition) {
    return condition->kind != TILE_CONDITION_grid;
}

unsigned tile_abi_pick_variant_from(const tile_abi *abi, unsigned first, const int64_t *args) {
    if (!abi) return 0;
    unsigned end = first < abi->flat_from ? abi->flat_from : abi->variant_count;
    for (unsigned variant = first; variant < end; variant++) {
        const tile_abi_variant_conditions *needs = &abi->variants[variant];
        unsigned i = 0;
        while (
            i < needs->count && args &&
            (!asks_arguments(&needs->list[i]) || tile_condition_holds(abi, &needs->list[i], args)))
            i++;
        if (i == needs->count) return variant;
    }
    return abi->variant_count;
}

unsigned tile_abi_pick_variant(const tile_abi *abi, const int64_t *args) {
    if (!abi) return 0;
    bool both = abi->flat_from < abi->variant_count && abi->flat_from;
    bool flat = both && (!args || !tile_abi_fits_condition(abi, TILE_MAX_GRID_YZ, args));
    return tile_abi_pick_variant_from(abi, flat ? abi->flat_from : 0, args);
}
