/* The parameters of a kernel's .entry. */
#include "lib/ir/describe.h"
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

uint64_t tile_address_alignment(const tile_type *type, unsigned divisible) {
    uint64_t element = tile_scalar_bytes(type->scalar), known = divisible & -divisible;
    return known > element ? known : element;
}

static const char *ptx_type(const tile_type *type) {
    if (tile_type_is_address(type)) return ".u64";
    switch (type->scalar) {
    case TILE_i16:
    case TILE_u16: return ".u16";
    case TILE_i32:
    case TILE_u32: return ".u32";
    case TILE_i64:
    case TILE_u64: return ".u64";
    case TILE_f16:
    case TILE_bf16: return ".b16";
    case TILE_f32:
    case TILE_tf32: return ".f32";
    case TILE_f64: return ".f64";
    case TILE_i1:
    case TILE_i8:
    case TILE_u8:
    case TILE_e4m3:
    case TILE_e5m2: return ".u8";
    case TILE_barrier:
    case TILE_SCALAR_NONE:
    case TILE_SCALAR_COUNT: break;
    }
    return "";
}

static void set_text(tile_abi *abi, unsigned index) {
    const tile_abi_parameter *parameter = &abi->parameters[index];
    tile_arena *arena = &abi->arena;
    abi_json_parameter *text = &abi->parameter_texts[index];
    text->kind = text->name = tile_parameter_kind_name(parameter->kind);
    switch (parameter->kind) {
    case TILE_PARAMETER_argument:
        text->name = abi->args[parameter->index].name;
        text->ptx = ptx_type(abi->args[parameter->index].type);
        text->divisible = abi->args[parameter->index].divisible;
        return;
    case TILE_PARAMETER_clean_scratch:
    case TILE_PARAMETER_scratch:
        text->type = "ptr<i8>";
        text->divisible = TILE_SCRATCH_ALIGNMENT;
        break;
    case TILE_PARAMETER_table:
        text->name = tile_arena_format(arena, "table_%u", parameter->index);
        text->type = "ptr<i32>";
        text->divisible = TILE_TABLE_ALIGNMENT;
        break;
    case TILE_PARAMETER_tensor_map:
        text->name = tile_arena_format(arena, "tensor_map_%u", parameter->index);
        text->type = tile_type_text(NULL, abi->maps[parameter->index].type, NULL, arena);
        text->ptx = tile_arena_format(arena, ".align %d .b8[%d]", TILE_TENSOR_MAP_ALIGNMENT,
                                      TILE_TENSOR_MAP_BYTES);
        text->divisible = 1;
        return;
    }
    text->ptx = ".u64";
}

void tile_abi_list_parameters(tile_abi *abi) {
    abi->parameters =
        tile_parameter_list(abi->arg_count, abi->scratch, abi->scratch_count, abi->table_count,
                            abi->map_count, &abi->arena, &abi->parameter_count);
    for (unsigned i = 0; i < abi->parameter_count; i++) set_text(abi, i);
}

unsigned tile_abi_parameter_count(const tile_abi *abi) {
    return abi ? abi->parameter_count : 0;
}

const tile_abi_parameter *tile_abi_parameter_at(const tile_abi *abi, unsigned index) {
    return abi && index < abi->parameter_count ? &abi->parameters[index] : NULL;
}
