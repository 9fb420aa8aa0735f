/* The launch interface back from its JSON (json.c says what that holds).
 *
 * Types and expressions are in the IR's own words, so the IR's parser reads them: the interface is
 * written as the head of a kernel, the size of each scratch buffer as the grid of one more, each
 * table as one that visits the tiles of a grid by their cost, and each tensor map as one that has a
 * view of its array behind the arguments. */
#include <inttypes.h>
#include <string.h>

#include "lib/launch/data.h"
#include "lib/support/json.h"

typedef struct reader {
    tile_context *context;
    tile_arena arena;
    const tile_json *json, *parameters, *scratch, *tables, *maps;
    const char *entry, *args; /* args: "%n: i32, %x: ptr<f16> {divisible = 16}" */
    const char *last_arg;     /* behind these, of the next head alone */
    unsigned arg_count, scratch_count, table_count, map_count;
    int64_t warps, shared_bytes;
    const char *heads; /* the kernels */
} reader;

static bool fail(reader *r, const char *what) {
    tile_report(r->context, TILE_ERROR, (tile_loc){0},
                "this is not the launch interface of a kernel: %s", what);
    return false;
}

/* What the JSON must hold ---------------------------------------------------------------------- */

static bool add_arg(reader *r, const tile_json *parameter) {
    const char *kind = tile_json_find_text(parameter, "kind");
    const char *name = tile_json_find_text(parameter, "name");
    const char *type = tile_json_find_text(parameter, "type");
    int64_t divisor;
    if (!kind || !name || !type ||
        !tile_json_find_int(parameter, "divisible", 1, 1 << 30, &divisor))
        return fail(r, "a parameter needs a name, a kind, a type and a divisor");
    if (strcmp(kind, "argument") != 0) return true; /* scratch: follows from the buffers */
    r->args =
        tile_arena_format(&r->arena, "%s%s%%%s: %s", r->args, r->arg_count ? ", " : "", name, type);
    if (divisor > 1)
        r->args = tile_arena_format(&r->arena, "%s {divisible = %" PRId64 "}", r->args, divisor);
    r->arg_count++;
    return true;
}

/* name is the entry's, with a suffix for buffers, tables and tensor maps. */
static void add_head(reader *r, const char *suffix, const char *clause, const char *grid,
                     int64_t warps) {
    r->heads =
        tile_arena_format(&r->arena, "%skernel @%s%s(%s%s) grid [%s]%s warps %" PRId64 " {}\n",
                          r->heads, r->entry, suffix, r->args, r->last_arg, grid, clause, warps);
}

/* NULL if they are not three expressions. */
static const char *three_extents(reader *r, const tile_json *from, const char *name) {
    const tile_json *list = tile_json_find(from, name, TILE_JSON_ARRAY);
    const char *text = "";
    unsigned rank = 0;
    for (const tile_json *extent = list ? list->first : NULL; extent; extent = extent->next) {
        if (extent->kind != TILE_JSON_STRING) break;
        text = tile_arena_format(&r->arena, "%s%s%s", text, rank ? ", " : "", extent->text);
        rank++;
    }
    return rank == 3 ? text : NULL;
}

/* NULL if it is not three numbers. */
static const char *cluster_clause(reader *r) {
    const tile_json *list = tile_json_find(r->json, "cluster", TILE_JSON_ARRAY);
    const char *text = "";
    unsigned rank = 0;
    for (const tile_json *extent = list ? list->first : NULL; extent; extent = extent->next) {
        if (extent->kind != TILE_JSON_NUMBER) return NULL;
        text = tile_arena_format(&r->arena, "%s%s%s", text, rank ? ", " : "", extent->text);
        rank++;
    }
    return rank == 3 ? tile_arena_format(&r->arena, " cluster [%s]", text) : NULL;
}

static bool add_grid(reader *r) {
    const char *text = three_extents(r, r->json, "grid"), *cluster = cluster_clause(r);
    const tile_json *flat = tile_json_find(r->json, "flat", TILE_JSON_ARRAY);
    const char *unfolded = flat ? three_extents(r, r->json, "flat") : "";
    if (!text || !unfolded) return fail(r, "a grid needs three expressions");
    if (!cluster) return fail(r, "a cluster needs three whole numbers");
    const char *clauses =
        flat ? tile_arena_format(&r->arena, " flat [%s]%s", unfolded, cluster) : cluster;
    add_head(r, "", clauses, text, r->warps);
    return true;
}

static bool add_table(reader *r, const tile_json *table) {
    const char *extents = three_extents(r, table, "extents");
    const char *cost = tile_json_find_text(table, "tile_cost");
    if (!extents || !cost) return fail(r, "a table needs three extents and a tile_cost");
    add_head(r, tile_arena_format(&r->arena, "_table_%u", r->table_count++),
             tile_arena_format(&r->arena, " persistent dealt by %s", cost), extents, 1);
    return true;
}

/* NULL if they are no expressions. */
static const char *expressions(reader *r, const tile_json *from, const char *name) {
    const tile_json *list = tile_json_find(from, name, TILE_JSON_ARRAY);
    const char *text = "";
    for (const tile_json *at = list ? list->first : NULL; at; at = at->next) {
        if (at->kind != TILE_JSON_STRING) return NULL;
        text = tile_arena_format(&r->arena, "%s%s%s", text, *text ? ", " : "", at->text);
    }
    return list ? text : NULL;
}

static bool has_argument(const reader *r, const char *name) {
    for (const tile_json *at = r->parameters->first; at; at = at->next)
        if (strcmp(tile_json_find_text(at, "name"), name) == 0) return true;
    return false;
}

static bool add_map(reader *r, const tile_json *map) {
    const char *extents = expressions(r, map, "extents"), *strides = expressions(r, map, "strides");
    const char *element = tile_json_find_text(map, "element"), *name = "array";
    if (!extents || !strides || !element)
        return fail(r, "a tensor map needs an element type, extents and strides");
    while (has_argument(r, name)) name = tile_arena_format(&r->arena, "%s_", name);
    r->last_arg = tile_arena_format(&r->arena, "%s%%%s: view<%s[%s], strides [%s]>",
                                    r->arg_count ? ", " : "", name, element, extents, strides);
    add_head(r, tile_arena_format(&r->arena, "_tensor_map_%u", r->map_count++), "", "1", 1);
    r->last_arg = "";
    return true;
}

static bool add_scratch(reader *r, const tile_json *buffer) {
    const char *bytes = tile_json_find_text(buffer, "bytes");
    if (!bytes || !tile_json_find(buffer, "clean", TILE_JSON_BOOL))
        return fail(r, "a scratch buffer needs \"clean\" and \"bytes\"");
    add_head(r, tile_arena_format(&r->arena, "_scratch_%u", r->scratch_count++), "", bytes, 1);
    return true;
}

static bool read_json(reader *r, const char *text, size_t length) {
    int64_t threads;
    r->json = tile_json_read(&r->arena, text, length);
    r->entry = tile_json_find_text(r->json, "entry");
    r->parameters = tile_json_find(r->json, "parameters", TILE_JSON_ARRAY);
    r->scratch = tile_json_find(r->json, "scratch", TILE_JSON_ARRAY);
    r->tables = tile_json_find(r->json, "tables", TILE_JSON_ARRAY);
    r->maps = tile_json_find(r->json, "tensor_maps", TILE_JSON_ARRAY);
    if (!r->json) return fail(r, "it is not JSON");
    if (!r->entry || !r->parameters || !r->scratch || !r->tables || !r->maps)
        return fail(r, "it has no entry, parameters, scratch, tables or tensor maps");
    if (!tile_json_find_int(r->json, "block", 32, 1024, &threads) || threads % 32)
        return fail(r, "a block has 32 to 1024 threads, in warps of 32");
    if (!tile_json_find_int(r->json, "shared_bytes", 0, INT32_MAX, &r->shared_bytes))
        return fail(r, "\"shared_bytes\" is missing or out of range");
    r->warps = threads / 32;
    for (const tile_json *at = r->parameters->first; at; at = at->next)
        if (!add_arg(r, at)) return false;
    if (!add_grid(r)) return false;
    for (const tile_json *at = r->scratch->first; at; at = at->next)
        if (!add_scratch(r, at)) return false;
    for (const tile_json *at = r->tables->first; at; at = at->next)
        if (!add_table(r, at)) return false;
    for (const tile_json *at = r->maps->first; at; at = at->next)
        if (!add_map(r, at)) return false;
    return true;
}

/* What the parser makes of it ------------------------------------------------------------------ */

/* Texts could hold more than one expression or type: then there is more than was asked for. */
static bool check_heads(reader *r, const tile_module *module) {
    unsigned count = 0;
    for (const tile_function *f = module->first; f; f = f->next, count++) {
        bool is_scratch = count > 0 && count <= r->scratch_count;
        bool is_map = count > r->scratch_count + r->table_count;
        if (f->arg_count != r->arg_count + is_map || f->param_count ||
            f->grid_rank != (is_scratch || is_map ? 1u : 3u) ||
            (f->cost != NULL) != (count > r->scratch_count && !is_map))
            return fail(r, "it has unexpected contents");
    }
    return count == 1 + r->scratch_count + r->table_count + r->map_count ||
           fail(r, "it has unexpected contents");
}

static void fill_scratch(const reader *r, tile_abi *abi, const tile_module *module) {
    const tile_function *f = module->first->next;
    const tile_json *buffer = r->scratch->first;
    abi->scratch_count = r->scratch_count;
    abi->scratch = TILE_NEW_ARRAY(&abi->arena, tile_scratch, r->scratch_count + 1u);
    abi->scratch_text = TILE_NEW_ARRAY(&abi->arena, const char *, r->scratch_count + 1u);
    for (unsigned i = 0; i < r->scratch_count; i++, f = f->next, buffer = buffer->next) {
        const char *text = tile_json_find_text(buffer, "bytes");
        abi->scratch[i].clean = tile_json_find(buffer, "clean", TILE_JSON_BOOL)->truth;
        abi->scratch[i].bytes = f->grid[0];
        abi->scratch_text[i] = tile_arena_string(&abi->arena, text, strlen(text));
    }
}

static void fill_tables(const reader *r, tile_abi *abi, const tile_module *module) {
    const tile_function *f = module->first->next;
    for (unsigned i = 0; i < r->scratch_count; i++) f = f->next;
    abi->table_count = r->table_count;
    abi->tables = TILE_NEW_ARRAY(&abi->arena, tile_table, r->table_count + 1u);
    abi->table_texts = TILE_NEW_ARRAY(&abi->arena, tile_table_text, r->table_count + 1u);
    for (unsigned i = 0; i < r->table_count; i++, f = f->next) tile_abi_set_table(abi, i, f);
}

/* False if the JSON says no such map. */
static bool read_map(const reader *r, const tile_json *json, const tile_abi *abi,
                     const tile_function *f, tile_map *map) {
    const char *name = tile_json_find_text(json, "argument");
    const tile_json *box = tile_json_find(json, "box", TILE_JSON_ARRAY);
    const tile_arg_decl *array = &f->args[f->arg_count - 1];
    tile_type type = {.kind = TILE_TYPE_MAP, .scalar = array->type->scalar};
    int64_t swizzle, extent;
    if (!name || !box || !tile_json_find_int(json, "swizzle", 0, 128, &swizzle) ||
        array->type->kind != TILE_TYPE_VIEW || array->type->rank > TILE_MAX_MAP_RANK)
        return false;
    while (map->arg < abi->arg_count && strcmp(abi->args[map->arg].name, name) != 0) map->arg++;
    for (const tile_json *at = box->first; at; at = at->next) {
        if (type.rank == TILE_MAX_MAP_RANK || !tile_json_is_int(at, 1, 256, &extent)) return false;
        type.dims[type.rank++] = tile_expr_int(r->context, extent);
    }
    for (unsigned d = 0; d < type.rank; d++) {
        map->extents[d] = tile_function_arg_extent(f, (unsigned)f->arg_count - 1, d);
        map->strides[d] = tile_function_arg_stride(f, (unsigned)f->arg_count - 1, d);
    }
    map->swizzle = (unsigned)swizzle;
    map->type = tile_type_get(r->context, &type);
    return map->arg < abi->arg_count && tile_type_is_address(abi->args[map->arg].type) &&
           type.rank == array->type->rank;
}

static bool fill_maps(reader *r, tile_abi *abi, const tile_module *module) {
    const tile_function *f = module->first->next;
    const tile_json *at = r->maps->first;
    for (unsigned i = 0; i < r->scratch_count + r->table_count; i++) f = f->next;
    abi->map_count = r->map_count;
    abi->maps = TILE_NEW_ARRAY(&abi->arena, tile_map, r->map_count + 1u);
    abi->map_texts = TILE_NEW_ARRAY(&abi->arena, tile_abi_shape_text, r->map_count + 1u);
    if (r->map_count > TILE_MAX_TENSOR_MAPS) return fail(r, "it has too many tensor maps");
    for (unsigned i = 0; i < r->map_count; i++, f = f->next, at = at->next) {
        tile_map map = {.arg = 0};
        if (!read_map(r, at, abi, f, &map)) return fail(r, "a tensor map is invalid");
        tile_abi_set_map(abi, i, &map, f);
    }
    return true;
}

static bool is_list(const tile_json *list, const char *const *texts, unsigned count) {
    unsigned i = 0;
    for (const tile_json *at = list ? list->first : NULL; at; at = at->next, i++)
        if (i == count || at->kind != TILE_JSON_STRING || strcmp(at->text, texts[i]) != 0)
            return false;
    return i == count;
}

/* A view's extents stand in its type as well. */
static bool check_shapes(reader *r, const tile_abi *abi) {
    const tile_json *at = r->parameters->first;
    for (unsigned i = 0; i < abi->arg_count; i++, at = at->next) {
        unsigned rank = abi->args[i].type->kind == TILE_TYPE_VIEW ? abi->args[i].type->rank : 0;
        if (!is_list(tile_json_find(at, "extents", TILE_JSON_ARRAY), abi->shapes[i].extents,
                     rank) ||
            !is_list(tile_json_find(at, "strides", TILE_JSON_ARRAY), abi->shapes[i].strides, rank))
            return fail(r, "a view's extents and strides are not those of its type");
    }
    return true;
}

/* They follow from the arguments, the scratch buffers, the tables and the tensor maps. */
static bool check_parameters(reader *r, const tile_abi *abi) {
    const tile_json *at = r->parameters->first;
    for (unsigned i = 0; i < abi->parameter_count; i++, at = at->next)
        if (!at || strcmp(tile_json_find_text(at, "kind"),
                          tile_parameter_kind_name(abi->parameters[i].kind)) != 0)
            return fail(
                r,
                "its parameters are not those of its arguments, scratch buffers, tables and tensor "
                "maps");
    return !at ||
           fail(r,
                "its parameters are not those of its arguments, scratch buffers, tables and tensor "
                "maps");
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

static bool read_condition(const tile_json *json, const tile_abi *abi, tile_condition *condition) {
    const char *kind = tile_json_find_text(json, "condition");
    const char *name = tile_json_find_text(json, "argument");
    if (!kind || !find_kind(kind, &condition->kind) ||
        !tile_json_find_int(json, "value", INT64_MIN, INT64_MAX, &condition->value) ||
        (condition->kind == TILE_CONDITION_divisible && condition->value < 1))
        return false;
    condition->arg = abi->arg_count;
    if (condition->kind == TILE_CONDITION_grid) return condition->value == TILE_MAX_GRID_YZ;
    if (!name) return false;
    condition->arg = 0;
    while (condition->arg < abi->arg_count && strcmp(abi->args[condition->arg].name, name) != 0)
        condition->arg++;
    return condition->arg < abi->arg_count &&
           (condition->kind != TILE_CONDITION_tensor_map ||
            (condition->value == 1 && abi->args[condition->arg].type->kind == TILE_TYPE_VIEW));
}

static bool read_variant(const tile_json *json, tile_abi *abi, tile_abi_variant_conditions *out) {
    unsigned count = 0;
    if (json->kind != TILE_JSON_ARRAY) return false;
    for (const tile_json *at = json->first; at; at = at->next) count++;
    tile_condition *list = TILE_NEW_ARRAY(&abi->arena, tile_condition, count + 1u);
    *out = (tile_abi_variant_conditions){list, count};
    for (const tile_json *at = json->first; at; at = at->next)
        if (!read_condition(at, abi, list++)) return false;
    return true;
}

static bool asks_for_grid(const tile_abi *abi, unsigned variant) {
    const tile_abi_variant_conditions *needs = &abi->variants[variant];
    return needs->count && needs->list[needs->count - 1].kind == TILE_CONDITION_grid;
}

/* Those that ask for a grid that fits come first. */
static void find_flat(tile_abi *abi) {
    abi->flat_from = 0;
    while (abi->flat_from < abi->variant_count && asks_for_grid(abi, abi->flat_from))
        abi->flat_from++;
    if (!abi->flat_from && !abi->unfolded.rank) abi->flat_from = abi->variant_count;
}

static bool read_variants(reader *r, tile_abi *abi) {
    const tile_json *list = tile_json_find(r->json, "variants", TILE_JSON_ARRAY);
    int64_t variant;
    abi->variant_count = 0;
    for (const tile_json *at = list ? list->first : NULL; at; at = at->next)
        if (abi->variant_count == TILE_MAX_VARIANTS ||
            !read_variant(at, abi, &abi->variants[abi->variant_count++]))
            return fail(r, "its variants are not lists of conditions on its arguments");
    if (!tile_json_find_int(r->json, "variant", 0, (int64_t)abi->variant_count - 1, &variant))
        return fail(r, "it does not say which of its variants it is");
    abi->variant = (unsigned)variant;
    find_flat(abi);
    return true;
}

static tile_abi *read_heads(reader *r) {
    tile_module *module =
        tile_module_parse(r->context, "launch interface", r->heads, strlen(r->heads));
    tile_abi *abi = NULL;
    if (!module)
        fail(r, "its types or expressions are invalid");
    else if (check_heads(r, module))
        abi = tile_abi_create(module->first);
    if (abi && !check_shapes(r, abi)) {
        tile_abi_destroy(abi);
        abi = NULL;
    }
    if (abi) {
        abi->loc = (tile_loc){0}; /* not in the user's text */
        abi->shared_bytes = (unsigned)r->shared_bytes;
        fill_scratch(r, abi, module);
        fill_tables(r, abi, module);
    }
    if (abi && !fill_maps(r, abi, module)) {
        tile_abi_destroy(abi);
        abi = NULL;
    }
    if (abi) tile_abi_list_parameters(abi);
    if (abi && (!check_parameters(r, abi) || !read_variants(r, abi))) {
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
