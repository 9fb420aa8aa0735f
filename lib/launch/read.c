/* Reads the launch interface from its JSON (json.c describes the fields).
 *
 * Types and expressions use the IR's syntax, so the IR's parser reads them. The interface is
 * written as kernel headers: one with the arguments and the grid; one for each scratch buffer, with
 * its size as the grid; one for each table, which visits the tiles of a grid by cost; and one for
 * each tensor map, with a view of its array as an additional last argument. */
#include <inttypes.h>
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/launch/data.h"

typedef struct reader {
    tile_context *context;
    tile_arena arena;
    abi_json_root json;
    const char *args;     /* "%n: i32, %x: ptr<f16> {divisible = 16}" */
    const char *last_arg; /* an additional last argument, for the next header only */
    unsigned arg_count;
    const char *heads; /* the kernel headers */
} reader;

static bool fail(reader *r, const char *what) {
    tile_report(r->context, TILE_ERROR, (tile_loc){0},
                "this is not the launch interface of a kernel: %s", what);
    return false;
}

/* Contents of the JSON ------------------------------------------------------------------------- */

static void add_arg(reader *r, const abi_json_parameter *parameter) {
    if (strcmp(parameter->kind, "argument") != 0) return; /* scratch: derived from the buffers */
    r->args = tile_arena_format(&r->arena, "%s%s%%%s: %s", r->args, r->arg_count ? ", " : "",
                                parameter->name, parameter->type);
    if (parameter->divisible > 1)
        r->args =
            tile_arena_format(&r->arena, "%s {divisible = %u}", r->args, parameter->divisible);
    r->arg_count++;
}

/* name is the entry's, with a suffix for buffers, tables and tensor maps. */
static void add_head(reader *r, const char *suffix, const char *clause, const char *grid,
                     unsigned warps) {
    r->heads =
        tile_arena_format(&r->arena, "%skernel @%s%s(%s%s) grid [%s]%s warps %u {}\n", r->heads,
                          r->json.entry, suffix, r->args, r->last_arg, grid, clause, warps);
}

static const char *join(reader *r, const char *const *texts, unsigned count) {
    const char *text = count ? texts[0] : "";
    for (unsigned i = 1; i < count; i++)
        text = tile_arena_format(&r->arena, "%s, %s", text, texts[i]);
    return text;
}

static void add_grid(reader *r) {
    const abi_json_root *j = &r->json;
    const char *flat = "";
    if (j->flat) flat = tile_arena_format(&r->arena, " flat [%s]", join(r, j->flat, 3));
    const char *clauses =
        tile_arena_format(&r->arena, "%s cluster [%" PRId64 ", %" PRId64 ", %" PRId64 "]", flat,
                          j->cluster[0], j->cluster[1], j->cluster[2]);
    add_head(r, "", clauses, join(r, j->grid, 3), j->block / 32);
}

static void add_table(reader *r, unsigned index) {
    const abi_json_table *table = &r->json.tables[index];
    add_head(r, tile_arena_format(&r->arena, "_table_%u", index),
             tile_arena_format(&r->arena, " persistent balanced by %s", table->tile_cost),
             join(r, table->extents, 3), 1);
}

static bool has_argument(const reader *r, const char *name) {
    for (unsigned i = 0; i < r->json.parameters_count; i++)
        if (strcmp(r->json.parameters[i].name, name) == 0) return true;
    return false;
}

static void add_map(reader *r, unsigned index) {
    const abi_json_map *map = &r->json.tensor_maps[index];
    const char *name = "array";
    while (has_argument(r, name)) name = tile_arena_format(&r->arena, "%s_", name);
    r->last_arg =
        tile_arena_format(&r->arena, "%s%%%s: view<%s[%s], strides [%s]>", r->arg_count ? ", " : "",
                          name, map->element, join(r, map->extents, map->extents_count),
                          join(r, map->strides, map->strides_count));
    add_head(r, tile_arena_format(&r->arena, "_tensor_map_%u", index), "", "1", 1);
    r->last_arg = "";
}

static bool read_json(reader *r, const char *text, size_t length) {
    abi_json_root *j = &r->json;
    const char *other =
        tile_record_other_format("format", TILE_ABI_FORMAT, text, length, &r->arena);
    if (other) {
        tile_report(r->context, TILE_REMARK, (tile_loc){0},
                    "the launch interface is ignored: %s; compile the kernel again", other);
        return false;
    }
    const char *wrong = tile_record_read(&abi_json_root_record, text, length, &r->arena, j);
    if (wrong) return fail(r, wrong);
    if (j->block % 32) return fail(r, "a block has 32 to 1024 threads, in warps of 32");
    for (unsigned i = 0; i < j->parameters_count; i++) add_arg(r, &j->parameters[i]);
    add_grid(r);
    for (unsigned i = 0; i < j->scratch_count; i++)
        add_head(r, tile_arena_format(&r->arena, "_scratch_%u", i), "", j->scratch[i].bytes, 1);
    for (unsigned i = 0; i < j->tables_count; i++) add_table(r, i);
    for (unsigned i = 0; i < j->tensor_maps_count; i++) add_map(r, i);
    return true;
}

/* Results of the parser ------------------------------------------------------------------------ */

/* Checks the number of functions: a text might contain more than one expression or type. */
static bool check_heads(reader *r, const tile_module *module) {
    unsigned count = 0, scratch = r->json.scratch_count, tables = r->json.tables_count;
    for (const tile_function *f = module->first; f; f = f->next, count++) {
        bool is_scratch = count > 0 && count <= scratch;
        bool is_map = count > scratch + tables;
        if (f->arg_count != r->arg_count + is_map || f->param_count ||
            f->grid_rank != (is_scratch || is_map ? 1u : 3u) ||
            (f->cost != NULL) != (count > scratch && !is_map))
            return fail(r, "it has unexpected contents");
    }
    return count == 1 + scratch + tables + r->json.tensor_maps_count ||
           fail(r, "it has unexpected contents");
}

/* Returns the header after those of the scratch buffers. */
static const tile_function *fill_scratch(const reader *r, tile_abi *abi, const tile_function *f) {
    abi->scratch_count = r->json.scratch_count;
    abi->scratch = TILE_NEW_ARRAY(&abi->arena, tile_scratch, abi->scratch_count + 1u);
    abi->scratch_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_scratch, abi->scratch_count + 1u);
    for (unsigned i = 0; i < abi->scratch_count; i++, f = f->next) {
        abi->scratch[i].clean = r->json.scratch[i].clean;
        abi->scratch[i].bytes = f->grid[0];
        tile_abi_set_scratch_text(abi, i, f);
    }
    return f;
}

/* Returns the header after those of the tables. */
static const tile_function *fill_tables(const reader *r, tile_abi *abi, const tile_function *f) {
    abi->table_count = r->json.tables_count;
    abi->tables = TILE_NEW_ARRAY(&abi->arena, tile_table, abi->table_count + 1u);
    abi->table_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_table, abi->table_count + 1u);
    for (unsigned i = 0; i < abi->table_count; i++, f = f->next) tile_abi_set_table(abi, i, f);
    return f;
}

/* Returns abi->arg_count if there is none. */
static unsigned find_arg(const tile_abi *abi, const char *name) {
    unsigned arg = 0;
    while (arg < abi->arg_count && strcmp(abi->args[arg].name, name) != 0) arg++;
    return arg;
}

/* Returns false if the JSON describes no valid map. */
static bool read_map(const reader *r, const abi_json_map *json, const tile_abi *abi,
                     const tile_function *f, tile_map *map) {
    const tile_arg_decl *array = &f->args[f->arg_count - 1];
    tile_type type = {.kind = TILE_TYPE_MAP, .scalar = array->type->scalar};
    map->arg = find_arg(abi, json->argument);
    if (array->type->kind != TILE_TYPE_VIEW || array->type->rank != json->box_count ||
        map->arg == abi->arg_count || !tile_type_is_address(abi->args[map->arg].type))
        return false;
    for (unsigned d = 0; d < json->box_count; d++) {
        type.dims[type.rank++] = tile_expr_int(r->context, json->box[d]);
        map->extents[d] = tile_function_arg_extent(f, (unsigned)f->arg_count - 1, d);
        map->strides[d] = tile_function_arg_stride(f, (unsigned)f->arg_count - 1, d);
    }
    map->swizzle = json->swizzle;
    map->spatial = json->lower_corner_count;
    if (json->upper_corner_count != map->spatial || json->element_strides_count != map->spatial ||
        (map->spatial && map->spatial + 2 != json->box_count))
        return false;
    for (unsigned i = 0; i < map->spatial; i++) {
        map->lower[i] = json->lower_corner[i];
        map->upper[i] = json->upper_corner[i];
        map->steps[i] = json->element_strides[i];
        if (map->steps[i] < 1) return false;
    }
    map->type = tile_type_get(r->context, &type);
    return true;
}

static bool fill_maps(reader *r, tile_abi *abi, const tile_function *f) {
    abi->map_count = r->json.tensor_maps_count;
    abi->maps = TILE_NEW_ARRAY(&abi->arena, tile_map, abi->map_count + 1u);
    abi->map_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_map, abi->map_count + 1u);
    for (unsigned i = 0; i < abi->map_count; i++, f = f->next) {
        tile_map map = {.arg = 0};
        if (!read_map(r, &r->json.tensor_maps[i], abi, f, &map))
            return fail(r, "a tensor map is invalid");
        tile_abi_set_map(abi, i, &map, f);
    }
    return true;
}

static bool is_same(reader *r, const abi_json_parameter *a, const abi_json_parameter *b) {
    tile_text texts[2] = {{.arena = &r->arena}, {.arena = &r->arena}};
    tile_record_print(&abi_json_parameter_record, a, &texts[0]);
    tile_record_print(&abi_json_parameter_record, b, &texts[1]);
    return texts[0].length == texts[1].length &&
           memcmp(texts[0].data, texts[1].data, texts[0].length) == 0;
}

/* Checks the parameters, which all follow from the types of the arguments, the scratch buffers, the
 * tables and the tensor maps. */
static bool check_parameters(reader *r, const tile_abi *abi) {
    unsigned i = 0;
    while (i < abi->parameter_count && i < r->json.parameters_count &&
           is_same(r, &r->json.parameters[i], &abi->parameter_texts[i]))
        i++;
    return (i == abi->parameter_count && i == r->json.parameters_count) ||
           fail(r, tile_arena_format(&r->arena,
                                     "parameters[%u] does not follow from the types of arguments, "
                                     "scratch buffers, tables and tensor maps",
                                     i));
}

/* Variants ------------------------------------------------------------------------------------- */

static bool find_kind(const char *name, tile_condition_kind *kind) {
    const tile_condition_info *info;
    for (unsigned i = 0; (info = tile_condition_info_at(i)); i++)
        if (strcmp(info->name, name) == 0) {
            *kind = info->kind;
            return true;
        }
    return false;
}

static bool read_condition(const abi_json_condition *json, const tile_abi *abi,
                           tile_condition *condition) {
    *condition = (tile_condition){.arg = abi->arg_count, .value = json->value};
    if (!find_kind(json->condition, &condition->kind) ||
        (condition->kind == TILE_CONDITION_divisible && condition->value < 1))
        return false;
    if (condition->kind == TILE_CONDITION_grid) return condition->value == TILE_MAX_GRID_YZ;
    if (json->argument) condition->arg = find_arg(abi, json->argument);
    return condition->arg < abi->arg_count &&
           (condition->kind != TILE_CONDITION_tensor_map ||
            (condition->value == 1 && abi->args[condition->arg].type->kind == TILE_TYPE_VIEW));
}

static bool read_variant(const abi_json_variant *json, tile_abi *abi,
                         tile_abi_variant_conditions *out) {
    tile_condition *list = TILE_NEW_ARRAY(&abi->arena, tile_condition, json->count + 1u);
    *out = (tile_abi_variant_conditions){list, json->count};
    for (unsigned i = 0; i < json->count; i++)
        if (!read_condition(&json->list[i], abi, &list[i])) return false;
    return true;
}

static bool asks_for_grid(const tile_abi *abi, unsigned variant) {
    const tile_abi_variant_conditions *needs = &abi->variants[variant];
    return needs->count && needs->list[needs->count - 1].kind == TILE_CONDITION_grid;
}

/* Variants that require a grid that fits come first. */
static void find_flat(tile_abi *abi) {
    abi->flat_from = 0;
    while (abi->flat_from < abi->variant_count && asks_for_grid(abi, abi->flat_from))
        abi->flat_from++;
    if (!abi->flat_from && !abi->unfolded.rank) abi->flat_from = abi->variant_count;
}

static bool read_variants(reader *r, tile_abi *abi) {
    abi->variant_count = r->json.variants_count;
    abi->variant = r->json.variant;
    for (unsigned i = 0; i < abi->variant_count; i++)
        if (!read_variant(&r->json.variants[i], abi, &abi->variants[i]))
            return fail(r, "its variants are not lists of conditions on its arguments");
    if (abi->variant >= abi->variant_count) return fail(r, "it does not name its variant");
    find_flat(abi);
    return true;
}

static bool fill(reader *r, tile_abi *abi, const tile_module *module) {
    abi->loc = (tile_loc){0}; /* the location is not in the user's text */
    abi->shared_bytes = r->json.shared_bytes;
    const tile_function *tables = fill_scratch(r, abi, module->first->next);
    const tile_function *maps = fill_tables(r, abi, tables);
    if (!fill_maps(r, abi, maps)) return false;
    tile_abi_list_parameters(abi);
    return check_parameters(r, abi) && read_variants(r, abi);
}

static tile_abi *read_heads(reader *r) {
    tile_module *module =
        tile_module_parse(r->context, "launch interface", r->heads, strlen(r->heads));
    tile_abi *abi = NULL;
    if (!module)
        fail(r, "its types or expressions are invalid");
    else if (check_heads(r, module))
        abi = tile_abi_create(module->first);
    if (abi && !fill(r, abi, module)) {
        tile_abi_destroy(abi);
        abi = NULL;
    }
    tile_module_destroy(module);
    return abi;
}

tile_abi *tile_abi_read(tile_context *context, const char *text, size_t length) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!context) return NULL;
    reader r = {.context = context, .args = "", .last_arg = "", .heads = ""};
    tile_abi *abi = read_json(&r, text ? text : "", text ? length : 0) ? read_heads(&r) : NULL;
    tile_arena_reset(&r.arena);
    return abi;
}
