/* The parameters of a kernel's .entry. */
#include "lib/launch/data.h"

const char *tile_parameter_kind_name(tile_parameter_kind kind) {
    static const char *const names[] = {
#define PARAMETER(name, meaning) #name,
#include "tile/parameters.def"
#undef PARAMETER
    };
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

static bool has_scratch(const tile_scratch *scratch, unsigned count, bool clean) {
    for (unsigned i = 0; i < count; i++)
        if (scratch[i].clean == clean) return true;
    return false;
}

tile_abi_parameter *tile_parameter_list(size_t arg_count, const tile_scratch *scratch,
                                        unsigned scratch_count, unsigned table_count,
                                        unsigned map_count, tile_arena *arena, unsigned *count) {
    enum { SYNTHETIC = 2 }; /* scratch */
    tile_abi_parameter *list =
        TILE_NEW_ARRAY(arena, tile_abi_parameter, arg_count + SYNTHETIC + table_count + map_count);
    *count = 0;
    for (unsigned i = 0; i < arg_count; i++)
        list[(*count)++] = (tile_abi_parameter){TILE_PARAMETER_argument, i};
    if (has_scratch(scratch, scratch_count, true))
        list[(*count)++] = (tile_abi_parameter){TILE_PARAMETER_clean_scratch, 0};
    if (has_scratch(scratch, scratch_count, false))
        list[(*count)++] = (tile_abi_parameter){TILE_PARAMETER_scratch, 0};
    for (unsigned i = 0; i < table_count; i++)
        list[(*count)++] = (tile_abi_parameter){TILE_PARAMETER_table, i};
    for (unsigned i = 0; i < map_count; i++)
        list[(*count)++] = (tile_abi_parameter){TILE_PARAMETER_tensor_map, i};
    return list;
}

void tile_abi_list_parameters(tile_abi *abi) {
    abi->parameters =
        tile_parameter_list(abi->arg_count, abi->scratch, abi->scratch_count, abi->table_count,
                            abi->map_count, &abi->arena, &abi->parameter_count);
}

unsigned tile_abi_parameter_count(const tile_abi *abi) {
    return abi ? abi->parameter_count : 0;
}

const tile_abi_parameter *tile_abi_parameter_at(const tile_abi *abi, unsigned index) {
    return abi && index < abi->parameter_count ? &abi->parameters[index] : NULL;
}
