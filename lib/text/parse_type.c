/* Types and layout aliases. */
#include <string.h>

#include "lib/ir/accumulator.h"
#include "lib/layout/layout.h"
#include "lib/ir/named.h"
#include "lib/support/intern.h"
#include "lib/text/parser.h"

/* Layout aliases ------------------------------------------------------------------------------ */

static const char *const list_names[TILE_ALIAS_LISTS] = {"reg", "lane", "warp", "block", "offset"};
static const unsigned list_limits[TILE_ALIAS_LISTS] = {
    TILE_LAYOUT_MAX_BITS, TILE_LANE_BITS, TILE_LAYOUT_MAX_WARP_BITS, TILE_LAYOUT_MAX_BLOCK_BITS,
    TILE_LAYOUT_MAX_BITS};

/* [8, 0]: one number for each dim; noun is their name in diagnostics. */
static bool parse_numbers(tile_parser *p, tile_alias *alias, const char *noun, int64_t *numbers) {
    tile_loc loc = p->token.loc;
    unsigned rank = 0;
    if (!tile_parse_expect(p, "[")) return false;
    do {
        if (p->token.kind != TILE_TOKEN_INT)
            return tile_parse_expected(p, tile_arena_format(&p->arena, "a %s", noun));
        if (rank == TILE_MAX_RANK)
            return tile_parse_error(p, loc, "a layout has at most %d dims", TILE_MAX_RANK);
        numbers[rank++] = (int64_t)(p->token.integer & INT64_MAX);
        tile_parse_advance(p);
    } while (tile_parse_take(p, ","));
    if (alias->rank && alias->rank != rank)
        return tile_parse_error(p, loc, "this entry has %u %ss, the entries before it have %u",
                                rank, noun, alias->rank);
    alias->rank = rank;
    return tile_parse_expect(p, "]");
}

static bool parse_counts(tile_parser *p, tile_alias *alias) {
    tile_loc loc = p->token.loc;
    if (alias->counted_dims) return tile_parse_error(p, loc, "'count' is given twice");
    tile_parse_advance(p);
    if (!tile_parse_expect(p, "=") || !parse_numbers(p, alias, "count", alias->counts))
        return false;
    alias->counted_dims = alias->rank;
    for (unsigned d = 0; d < alias->rank; d++)
        if (alias->counts[d] % 2 == 0 || alias->counts[d] > TILE_LAYOUT_MAX_COUNT)
            return tile_parse_error(p, loc, "a count must be odd, from 1 to %d",
                                    TILE_LAYOUT_MAX_COUNT);
    return true;
}

static bool parse_alias_list(tile_parser *p, tile_alias *alias) {
    tile_token name = p->token;
    unsigned list = 0;
    if (tile_parse_at_word(p, "count")) return parse_counts(p, alias);
    while (list < TILE_ALIAS_LISTS && !tile_parse_at_word(p, list_names[list])) list++;
    if (list == TILE_ALIAS_LISTS)
        return tile_parse_expected(p, "'reg', 'lane', 'warp', 'block', 'offset' or 'count'");
    if (alias->present[list])
        return tile_parse_error(p, name.loc, "'%s' is given twice", list_names[list]);
    alias->present[list] = true;
    tile_parse_advance(p);
    if (!tile_parse_expect(p, "=") || !tile_parse_expect(p, "[")) return false;
    while (!tile_parse_at(p, "]")) {
        if (alias->count[list] == list_limits[list])
            return tile_parse_error(p, p->token.loc, "'%s' has at most %u entries",
                                    list_names[list], list_limits[list]);
        if (!parse_numbers(p, alias, "coordinate", alias->coordinates[list][alias->count[list]]))
            return false;
        alias->count[list]++;
        if (!tile_parse_take(p, ",")) break;
    }
    return tile_parse_expect(p, "]");
}

static bool check_alias_lists(tile_parser *p, const tile_alias *alias) {
    bool registers = alias->present[TILE_ALIAS_REG] || alias->present[TILE_ALIAS_LANE] ||
                     alias->present[TILE_ALIAS_WARP] || alias->present[TILE_ALIAS_BLOCK];
    if (alias->present[TILE_ALIAS_OFFSET] == registers)
        return tile_parse_error(p, alias->loc,
                                "a layout has either 'reg', 'lane' and 'warp', or 'offset'");
    if (registers && alias->count[TILE_ALIAS_LANE] != TILE_LANE_BITS)
        return tile_parse_error(p, alias->loc, "'lane' has %d entries, not %u", TILE_LANE_BITS,
                                alias->count[TILE_ALIAS_LANE]);
    return true;
}

static tile_alias *find_alias(const tile_parser *p, const tile_token *token) {
    for (tile_alias *alias = p->aliases; alias; alias = alias->next)
        if (tile_text_is(alias->name, token->text, token->length)) return alias;
    return NULL;
}

bool tile_parse_layout_alias(tile_parser *p) {
    tile_alias *alias = TILE_NEW(&p->arena, tile_alias), *old = find_alias(p, &p->token);
    alias->loc = p->token.loc;
    alias->name = tile_intern_name(p->context, p->token.text, p->token.length);
    tile_parse_advance(p);
    if (tile_layout_find_name(alias->name, strlen(alias->name)) < TILE_LAYOUT_NAMES)
        return tile_parse_error(p, alias->loc, "#%s is built in; take another name", alias->name);
    if (old) {
        tile_parse_error(p, alias->loc, "#%s is defined twice", alias->name);
        tile_report(p->context, TILE_NOTE, old->loc, "previous definition is here");
        return false;
    }
    if (!tile_parse_expect(p, "=") || !tile_parse_expect_word(p, "layout") ||
        !tile_parse_expect(p, "{"))
        return false;
    while (!tile_parse_at(p, "}")) {
        if (!parse_alias_list(p, alias)) return false;
        if (!tile_parse_take(p, ",")) break;
    }
    if (!tile_parse_expect(p, "}") || !check_alias_lists(p, alias)) return false;
    alias->next = p->aliases;
    p->aliases = alias;
    return true;
}

/* The index in a part for each entry of a list; false if a coordinate is outside the part. */
static bool flatten_list(const tile_alias *alias, unsigned list, const tile_layout *layout,
                         uint32_t *flat) {
    for (unsigned i = 0; i < alias->count[list]; i++) {
        flat[i] = 0;
        for (unsigned d = 0; d < alias->rank; d++) {
            int64_t coordinate = alias->coordinates[list][i][d];
            if (coordinate >> layout->dim_bits[d]) return false;
            flat[i] = flat[i] << layout->dim_bits[d] | (uint32_t)coordinate;
        }
    }
    return true;
}

/* Splits an extent into its count and bits. */
static bool resolve_dim(tile_parser *p, const tile_token *at, const tile_alias *alias, unsigned d,
                        int64_t extent, tile_layout *layout) {
    int64_t count = alias->counted_dims ? alias->counts[d] : 1, part = extent;
    if (extent < 0)
        return tile_parse_error(p, at->loc, "a type with a layout needs constant extents");
    if (!tile_layout_admits_extent(extent))
        return tile_parse_error(p, at->loc,
                                "a type with a layout needs extents that are odd numbers up to %d "
                                "times powers of two, not %lld",
                                TILE_LAYOUT_MAX_COUNT, (long long)extent);
    while (part % 2 == 0) part /= 2;
    if (part != count)
        return tile_parse_error(
            p, at->loc,
            "the odd factor of dim %u of the type is %lld, and #%s has a count of %lld there", d,
            (long long)part, alias->name, (long long)count);
    layout->count[d] = (uint8_t)count;
    while (count << layout->dim_bits[d] < extent) layout->dim_bits[d]++;
    return true;
}

/* A built-in layout. */
static bool name_layout(tile_parser *p, const tile_token *at, const tile_type *draft,
                        tile_layout_name name, tile_layout *layout) {
    bool shared = draft->kind == TILE_TYPE_SHARED;
    *layout = tile_layout_of_name(name);
    if (draft->kind == TILE_TYPE_VIEW)
        return tile_parse_error(p, at->loc, "a view needs a layout with 'offset'");
    if (name == TILE_LAYOUT_NAME_plain || (name == TILE_LAYOUT_NAME_swizzle128) == shared)
        return true;
    return tile_parse_error(p, at->loc,
                            shared ? "#%s is a layout of tiles; a shared buffer takes #plain, "
                                     "#swizzle128 or one with 'offset'"
                                   : "#%s is a layout of shared buffers; a tile takes #plain, "
                                     "#mma_acc, #wgmma_acc, #mma_lhs, #mma_rhs, #wgmma_lhs, "
                                     "#thread_rows or one with 'lane'",
                            tile_layout_name_text(name));
}

static bool resolve_layout(tile_parser *p, const tile_token *at, tile_type *draft,
                           tile_layout *layout) {
    const tile_alias *alias = find_alias(p, at);
    tile_layout_name name = tile_layout_find_name(at->text, at->length);
    if (name < TILE_LAYOUT_NAMES) return name_layout(p, at, draft, name, layout);
    bool view = draft->kind == TILE_TYPE_VIEW, shared = view || draft->kind == TILE_TYPE_SHARED;
    if (!alias)
        return tile_parse_error(
            p, at->loc,
            "there is no layout #%.*s; write one of #plain, #mma_acc, #wgmma_acc, "
            "#mma_lhs, #mma_rhs, #wgmma_lhs, #thread_rows and #swizzle128, or define it before "
            "the kernel: `#%.*s = layout {..}`",
            (int)at->length, at->text, (int)at->length, at->text);
    if (alias->present[TILE_ALIAS_OFFSET] != shared)
        return tile_parse_error(p, at->loc,
                                view     ? "a view needs a layout with 'offset'"
                                : shared ? "a shared buffer needs a layout with 'offset'"
                                         : "a tile needs a layout with 'lane'");
    /* A view's layout is of its last dims. */
    unsigned rank = view && alias->rank && alias->rank < draft->rank ? alias->rank : draft->rank;
    if (alias->rank && alias->rank != rank)
        return tile_parse_error(p, at->loc, "#%s has %u dims, the type has %u", alias->name,
                                alias->rank, draft->rank);
    int64_t elements = 1;
    for (unsigned d = 0; d < rank; d++) {
        int64_t extent = tile_type_dim(draft, draft->rank - rank + d);
        if (!resolve_dim(p, at, alias, d, extent, layout)) return false;
        elements *= extent;
        if (elements > INT64_C(1) << TILE_LAYOUT_MAX_BITS)
            return tile_parse_error(p, at->loc, "a tile has at most 2^%d elements",
                                    TILE_LAYOUT_MAX_BITS);
    }
    unsigned registers = shared ? TILE_ALIAS_OFFSET : TILE_ALIAS_REG;
    layout->kind = shared ? TILE_LAYOUT_SHARED : TILE_LAYOUT_REGISTER;
    layout->rank = (uint8_t)rank;
    layout->reg_bits = (uint8_t)alias->count[registers];
    layout->warp_bits = (uint8_t)alias->count[TILE_ALIAS_WARP];
    layout->block_bits = (uint8_t)alias->count[TILE_ALIAS_BLOCK];
    return (flatten_list(alias, registers, layout, layout->reg) &&
            flatten_list(alias, TILE_ALIAS_LANE, layout, layout->lane) &&
            flatten_list(alias, TILE_ALIAS_WARP, layout, layout->warp) &&
            flatten_list(alias, TILE_ALIAS_BLOCK, layout, layout->block)) ||
           tile_parse_error(p, at->loc, "#%s has a coordinate outside the type's extents",
                            alias->name);
}

/* Types --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    tile_type_kind kind;
} composite_types[] = {
    {"ptr", TILE_TYPE_PTR},        {"tensor", TILE_TYPE_TENSOR},
    {"view", TILE_TYPE_VIEW},      {"tile", TILE_TYPE_TILE},
    {"vector", TILE_TYPE_VECTOR},  {"shared", TILE_TYPE_SHARED},
    {"tensor_map", TILE_TYPE_MAP}, {"descriptor", TILE_TYPE_DESCRIPTOR},
};

enum { COMPOSITE_COUNT = sizeof composite_types / sizeof *composite_types };

const tile_type *tile_parse_find_scalar(tile_parser *p, const char *text, size_t length) {
    tile_scalar scalar = tile_scalar_from_name(text, length);
    if (scalar) return tile_type_scalar(p->context, scalar);
    const tile_param_decl *param =
        p->function ? tile_function_find_param(p->function, text, length) : NULL;
    if (!param || param->kind != TILE_PARAM_type) return NULL;
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .param = param->name};
    return tile_type_get(p->context, &draft);
}

static bool unknown_type(tile_parser *p) {
    tile_guess guess = tile_guess_start(p->token.text, p->token.length);
    if (tile_parse_foreign(p, TILE_FOREIGN_TYPE)) return false;
    if (p->token.kind == TILE_TOKEN_INT || tile_parse_at(p, "("))
        return tile_parse_error(p, p->token.loc, "extents are in brackets, [128] or [64, 32]");
    if (p->token.kind != TILE_TOKEN_WORD) return tile_parse_expected(p, "a type");
    for (unsigned i = 1; i < TILE_SCALAR_COUNT; i++)
        tile_guess_try(&guess, tile_scalar_name((tile_scalar)i));
    for (unsigned i = 0; i < COMPOSITE_COUNT; i++) tile_guess_try(&guess, composite_types[i].name);
    const char *advice = tile_guess_text(p, &guess, "");
    if (!*advice && p->function)
        advice = tile_arena_format(
            &p->arena, "; a type parameter is declared after the name of the %s: <%.*s: type>",
            tile_function_kind_name(p->function->kind), (int)p->token.length, p->token.text);
    return tile_parse_error(p, p->token.loc, "unknown type '%.*s'%s", (int)p->token.length,
                            p->token.text, advice);
}

/* acc(T) or acc(f16): the type of a dot's accumulator. */
static const tile_type *parse_accumulator(tile_parser *p) {
    tile_parse_advance(p);
    tile_parse_advance(p);
    const tile_type *element = p->token.kind == TILE_TOKEN_WORD
                                   ? tile_parse_find_scalar(p, p->token.text, p->token.length)
                                   : NULL;
    if (!element) {
        tile_parse_expected(p, "the element type of a dot's operands, such as acc(f16)");
        return NULL;
    }
    tile_parse_advance(p);
    if (!tile_parse_expect(p, ")")) return NULL;
    return tile_accumulator_type(p->context, element);
}

bool tile_parse_at_accumulator(const tile_parser *p) {
    return tile_parse_at_word(p, TILE_ACCUMULATOR_WORD) && p->next.kind == TILE_TOKEN_PUNCT &&
           *p->next.text == '(';
}

const tile_type *tile_parse_scalar(tile_parser *p, bool *failed) {
    *failed = false;
    if (p->token.kind != TILE_TOKEN_WORD) return NULL;
    if (tile_parse_at_accumulator(p)) {
        const tile_type *type = parse_accumulator(p);
        *failed = !type;
        return type;
    }
    const tile_type *type = tile_parse_find_scalar(p, p->token.text, p->token.length);
    if (type) tile_parse_advance(p);
    return type;
}

static bool parse_element_type(tile_parser *p, tile_type *draft) {
    bool failed;
    const tile_type *scalar = tile_parse_scalar(p, &failed);
    if (failed) return false;
    if (!scalar && p->token.kind == TILE_TOKEN_WORD) return unknown_type(p);
    if (!scalar && p->token.kind != TILE_TOKEN_INT)
        return tile_parse_expected(p, "an element type such as f16");
    if (!scalar)
        return tile_parse_error(p, p->token.loc,
                                "the element type comes first, and the extents follow it in "
                                "brackets: f32[64, 64]");
    draft->scalar = scalar->scalar;
    draft->param = scalar->param;
    return true;
}

/* An extent or stride of a view argument: kept is the expression, known the part that is known
 * without arguments. */
static bool parse_shape_expr(tile_parser *p, const tile_expr **kept, const tile_expr **known) {
    if (tile_parse_at(p, "?"))
        return tile_parse_error(p, p->token.loc,
                                "a view argument needs its extents and strides: write numbers, "
                                "parameters or integer arguments that come before it");
    tile_loc loc = p->token.loc;
    *kept = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, true);
    *known = tile_expr_has_arg(*kept) ? NULL : *kept;
    return *kept && tile_parse_refuse_num_sms(p, loc, *kept);
}

/* "[" (expr | "?"),+ "]"; kept: receives a view argument's expressions, else NULL. */
static bool parse_extents(tile_parser *p, const tile_expr **extents, const tile_expr **kept,
                          unsigned *rank) {
    *rank = 0;
    if (!tile_parse_expect(p, "[")) return false;
    do {
        if (*rank == TILE_MAX_RANK)
            return tile_parse_error(
                p, p->token.loc,
                "a type has at most %d dims; reshape to fewer, or combine several into one",
                TILE_MAX_RANK);
        extents[*rank] = NULL;
        if (kept) {
            if (!parse_shape_expr(p, &kept[*rank], &extents[*rank])) return false;
        } else if (!tile_parse_take(p, "?")) {
            extents[*rank] = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
            if (!extents[*rank]) return false;
        }
        ++*rank;
    } while (tile_parse_take(p, ","));
    return tile_parse_expect(p, "]");
}

/* The strides of a tensor that is an argument or a result belong to its declaration: a value has
 * none. */
static bool parse_tensor_strides(tile_parser *p, const tile_type *draft) {
    const tile_loc loc = p->token.loc;
    const tile_expr *strides[TILE_MAX_RANK] = {NULL};
    unsigned rank;
    tile_parse_advance(p);
    if (!p->shape || !p->function || p->function->kind != TILE_COMPUTE)
        return tile_parse_error(p, loc,
                                "strides say how an argument or a result of a compute is stored; "
                                "a value in a body is not in memory: remove them here");
    if (p->shape->strides[0])
        return tile_parse_error(p, loc, "the strides are given twice; remove one of the lists");
    if (!parse_extents(p, strides, NULL, &rank)) return false;
    if (rank != draft->rank)
        return tile_parse_error(p, loc,
                                "the tensor has %u dims and %u strides; write one stride for each "
                                "dim, in elements",
                                draft->rank, rank);
    for (unsigned d = 0; d < rank; d++) {
        if (!strides[d])
            return tile_parse_error(
                p, loc, "stride %u is '?'; write a number, or an expression of dims", d);
        p->shape->strides[d] = strides[d];
    }
    return true;
}

/* "," "strides" "[" ... "]", "," "#"ID and "," "cluster" */
static bool parse_type_suffixes(tile_parser *p, tile_type *draft, tile_layout *layout) {
    while (tile_parse_take(p, ",")) {
        tile_token token = p->token;
        unsigned rank;
        bool laid_out = draft->kind == TILE_TYPE_TILE || draft->kind == TILE_TYPE_SHARED ||
                        draft->kind == TILE_TYPE_VIEW;
        if (token.kind == TILE_TOKEN_ALIAS && !draft->layout && laid_out) {
            tile_parse_advance(p);
            if (!resolve_layout(p, &token, draft, layout)) return false;
            draft->layout = layout;
        } else if (draft->kind == TILE_TYPE_VIEW && !draft->has_strides &&
                   tile_parse_take_word(p, "strides")) {
            const tile_expr **kept = p->shape ? p->shape->strides : NULL;
            if (!parse_extents(p, draft->strides, kept, &rank)) return false;
            if (rank != draft->rank)
                return tile_parse_error(p, token.loc, "the type has %u dims and %u strides",
                                        draft->rank, rank);
            draft->has_strides = true;
        } else if (draft->kind == TILE_TYPE_TENSOR && tile_parse_at_word(p, "strides")) {
            if (!parse_tensor_strides(p, draft)) return false;
        } else if (draft->kind == TILE_TYPE_SHARED && !draft->cluster &&
                   tile_parse_take_word(p, "cluster")) {
            draft->cluster = true;
        } else {
            bool strided = draft->kind == TILE_TYPE_VIEW || draft->kind == TILE_TYPE_TENSOR;
            return tile_parse_expected(p, strided ? "'strides'" : "a layout such as #a");
        }
    }
    return true;
}

static bool parse_shape(tile_parser *p, tile_type *draft, tile_layout *layout) {
    tile_loc loc = p->token.loc;
    bool is_view_arg = p->shape && draft->kind == TILE_TYPE_VIEW;
    const tile_expr **kept = is_view_arg ? p->shape->extents : NULL;
    if (!tile_parse_at(p, "["))
        return tile_parse_expected(p, "extents in brackets after the element type, f32[64, 64]");
    if (!parse_extents(p, draft->dims, kept, &draft->rank)) return false;
    if (draft->kind == TILE_TYPE_SHARED && tile_parse_at(p, "[")) {
        if (draft->rank != 1 || !draft->dims[0])
            return tile_parse_error(p, loc, "the first brackets hold the number of stages");
        draft->stages = draft->dims[0];
        if (!parse_extents(p, draft->dims, NULL, &draft->rank)) return false;
    }
    if (draft->kind == TILE_TYPE_VECTOR && draft->rank != 1)
        return tile_parse_error(p, loc, "a vector has one dim");
    for (unsigned d = 0; d < draft->rank; d++)
        if (!draft->dims[d] && draft->kind != TILE_TYPE_VIEW)
            return tile_parse_error(p, loc, "only a view may have an extent '?'");
    return parse_type_suffixes(p, draft, layout);
}

/* "," ("k" | "mn") */
static bool parse_major(tile_parser *p, tile_type *draft) {
    if (!tile_parse_expect(p, ",")) return false;
    draft->mn_major = tile_parse_take_word(p, "mn");
    return draft->mn_major || tile_parse_take_word(p, "k") ||
           tile_parse_expected(p, "'k' or 'mn', along which elements follow each other");
}

const tile_type *tile_parse_type(tile_parser *p) {
    tile_type draft;
    memset(&draft, 0, sizeof draft);
    tile_layout layout;
    memset(&layout, 0, sizeof layout); /* types are interned by their bytes */
    unsigned i = 0;
    bool failed;
    const tile_type *scalar = tile_parse_scalar(p, &failed);
    if (scalar || failed) return scalar;
    while (i < COMPOSITE_COUNT && !tile_parse_at_word(p, composite_types[i].name)) i++;
    if (i == COMPOSITE_COUNT) {
        unknown_type(p);
        return NULL;
    }
    draft.kind = composite_types[i].kind;
    tile_parse_advance(p);
    if (!tile_parse_at(p, "<")) tile_parse_expected(p, "'<', as in view<f32[64]>");
    if (!tile_parse_take(p, "<") || !parse_element_type(p, &draft)) return NULL;
    bool sound = draft.kind == TILE_TYPE_PTR          ? true
                 : draft.kind == TILE_TYPE_DESCRIPTOR ? parse_major(p, &draft)
                                                      : parse_shape(p, &draft, &layout);
    if (!sound) return NULL;
    return tile_parse_expect(p, ">") ? tile_type_get(p->context, &draft) : NULL;
}

const tile_type *tile_parse_declared_type(tile_parser *p, tile_shape *shape) {
    *shape = (tile_shape){{NULL}, {NULL}};
    p->shape = shape;
    const tile_type *type = tile_parse_type(p);
    p->shape = NULL;
    return type;
}

const tile_type *tile_parse_result_type(tile_parser *p) {
    tile_loc loc = p->token.loc;
    tile_type draft = {.kind = TILE_TYPE_TILE};
    if (!tile_parse_at(p, "[")) return tile_parse_type(p);
    if (!parse_extents(p, draft.dims, NULL, &draft.rank)) return NULL;
    for (unsigned d = 0; d < draft.rank; d++)
        if (!draft.dims[d]) {
            tile_parse_error(p, loc, "only a view may have an extent '?'");
            return NULL;
        }
    return tile_type_get(p->context, &draft);
}
