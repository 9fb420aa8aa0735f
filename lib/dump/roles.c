/* The names of roles, by the work of a region's warps. */
#include "lib/dump/dump.h"

static bool multiplies(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    return tile_op_opcode(f, op) == TILE_OP_mma ||
           (info->completion == TILE_COMPLETION_STARTS && info->mechanism == TILE_MECHANISM_WGMMA);
}

static bool copies(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    return info->completion == TILE_COMPLETION_STARTS &&
           tile_op_effects(f, op) & TILE_EFFECT_WRITE_SHARED;
}

static bool works(const tile_function *f, tile_op op) {
    return !(tile_op_effects(f, op) & TILE_EFFECT_TERMINATOR);
}

/* The first row for which the region has an example operation. */
static const struct {
    const char *name;
    bool (*has)(const tile_function *f, tile_op op);
} kinds[] = {{"consumer", multiplies}, {"producer", copies}, {"worker", works}};

static const char *kind_of(const tile_function *f, tile_region region) {
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        TILE_FOR_EACH_OP_INSIDE (f, op, region)
            if (kinds[k].has(f, op)) return kinds[k].name;
    return "idle";
}

/* Roles with equal names are numbered. */
static void number_names(tile_dump_role *roles, unsigned count, tile_arena *arena) {
    for (unsigned i = 0; i < count; i++) {
        const char *name = roles[i].name;
        unsigned same = 0;
        for (unsigned j = i + 1; j < count; j++)
            if (roles[j].name == name)
                roles[j].name = tile_arena_format(arena, "%s %u", name, ++same + 1);
        if (same) roles[i].name = tile_arena_format(arena, "%s 1", name);
    }
}

tile_dump_role *tile_dump_roles(const tile_function *f, tile_arena *arena, unsigned *count) {
    tile_dump_role *roles = NULL;
    size_t capacity = 0;
    *count = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_roles) continue;
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++) {
            tile_region region = tile_op_region(f, op, r);
            roles = tile_arena_grow(arena, roles, *count, &capacity, sizeof *roles);
            roles[(*count)++] = (tile_dump_role){region, tile_executors_of_role(f, op, r),
                                                 tile_role_registers(f, op, r), kind_of(f, region)};
        }
    }
    number_names(roles, *count, arena);
    return roles;
}
