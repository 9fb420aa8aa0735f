#include "lib/tuning/space.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"

/* The tables ----------------------------------------------------------------------------------- */

enum {
    HALF = 1,
    INT8 = 2,
    FLOAT8 = 4,
    TF32 = 8,
    FMA = 16,
    COMPUTED = 32,
    GATHERED = 64,
    SCATTERED = 128,
    SCALED = 256,
    PARTS = 512,
    PACKED = 1024,
    ALL_CLASSES = 2047,
    WINDOWS = 2048, /* beside TF32 */
    INDEXED = 4096  /* no class: FMA with an operand that is copied by index */
};
enum { CORE = 1, FULL = 0, MOST_ROLES = 5 };
#define FEATURE(name, text, needs) FEATURE_##name = TILE_FEATURE_##name,
enum {
#include "tile/features.def"
};

typedef struct row {
    int numbers[MOST_ROLES];
    const char *word; /* of the last role */
    unsigned classes, needs;
    bool is_core;
} row;

#define TILE(m, n, warps, cm, cn, classes, needs, scope) \
    {{m, n, warps, cm, cn}, NULL, classes, FEATURE_##needs, scope},
static const row tile_rows[] = {
#include "lib/tuning/space.def"
};
#define DEPTH(bytes, stages, classes, needs, scope) \
    {{bytes, stages}, NULL, classes, FEATURE_##needs, scope},
static const row depth_rows[] = {
#include "lib/tuning/space.def"
};
#define SPLIT(split, strategy, classes, needs, scope) \
    {{split, -1}, #strategy, classes, FEATURE_##needs, scope},
static const row split_rows[] = {
#include "lib/tuning/space.def"
};
#define CONSUMERS(word, classes, needs, scope) {{-1}, #word, classes, FEATURE_##needs, scope},
static const row consumers_rows[] = {
#include "lib/tuning/space.def"
};

/* A table, whose rows become the points of a clause. */
typedef struct table {
    tile_role roles[MOST_ROLES];
    unsigned role_count, row_count;
    const row *rows;
} table;

#define ROWS(rows) sizeof rows / sizeof *rows, rows
static const table tables[] = {
    {{TILE_ROLE_m, TILE_ROLE_n, TILE_ROLE_warps, TILE_ROLE_cluster_m, TILE_ROLE_cluster_n},
     5,
     ROWS(tile_rows)},
    {{TILE_ROLE_k, TILE_ROLE_stages}, 2, ROWS(depth_rows)},
    {{TILE_ROLE_split, TILE_ROLE_strategy}, 2, ROWS(split_rows)},
    {{TILE_ROLE_consumers}, 1, ROWS(consumers_rows)},
};
enum { TABLES = sizeof tables / sizeof *tables };

void tile_space_visit_rows(void (*visit)(const tile_space_row *row, void *user), void *user) {
    for (unsigned t = 0; t < TABLES; t++)
        for (unsigned i = 0; i < tables[t].row_count; i++) {
            const row *r = &tables[t].rows[i];
            const tile_space_row shown = {tables[t].roles, tables[t].role_count, r->numbers,
                                          r->word,         r->classes,           r->needs,
                                          r->is_core};
            visit(&shown, user);
        }
}

/* Elements ------------------------------------------------------------------------------------- */

/* Matrix instructions have sums of few types. */
static bool has_sums(const tile_product_space *q, tile_scalar first, tile_scalar other) {
    return !q->sum || q->sum == first || q->sum == other;
}

static unsigned class_of_plain(tile_scalar scalar, const tile_product_space *q) {
    unsigned class = FMA;
    if (scalar == TILE_f16 && has_sums(q, TILE_f32, TILE_f16)) class = HALF;
    if (scalar == TILE_bf16 && has_sums(q, TILE_f32, TILE_f32)) class = HALF;
    if (tile_scalar_as_signed(scalar) == TILE_i8 && has_sums(q, TILE_i32, TILE_i32)) class = INT8;
    if ((scalar == TILE_e4m3 || scalar == TILE_e5m2) && has_sums(q, TILE_f32, TILE_f16))
        class = FLOAT8;
    if ((scalar == TILE_tf32 || (scalar == TILE_f32 && q->is_tf32)) &&
        has_sums(q, TILE_f32, TILE_f32))
        class = TF32;
    return class;
}

static unsigned class_of(tile_scalar scalar, const tile_product_space *q) {
    const unsigned plain = class_of_plain(scalar, q);
    switch (q->operands) {
    case TILE_OPERANDS_plain: break;
    case TILE_OPERANDS_computed: return plain == HALF ? COMPUTED : plain;
    case TILE_OPERANDS_gathered: return plain == HALF || plain == TF32 ? GATHERED : plain;
    case TILE_OPERANDS_scattered: return plain == HALF ? SCATTERED : plain;
    case TILE_OPERANDS_scaled: return plain == FLOAT8 ? SCALED : plain;
    case TILE_OPERANDS_parts: return PARTS;
    case TILE_OPERANDS_packed: return plain == HALF ? PACKED : plain;
    }
    return plain;
}

/* The classes that the product can have: one, unless its element type is open. */
static unsigned classes_of(const tile_product_space *q) {
    unsigned classes = 0;
    if (q->element) return class_of(q->element, q);
    for (tile_scalar s = TILE_SCALAR_NONE + 1; s < TILE_SCALAR_COUNT; s++)
        if (tile_scalar_is_data(s)) classes |= class_of(s, q);
    return classes;
}

typedef struct builder {
    tile_context *context;
    tile_function *f;
    const tile_product_space *q;
    const tile_function *text;             /* rules and values, in terms of roles */
    const tile_expr *size;                 /* bytes of an element */
    const tile_expr *own[TILE_ROLE_COUNT]; /* what stands for each role in conditions */
} builder;

static const tile_expr *make(const builder *b, tile_opcode opcode, const tile_expr *x,
                             const tile_expr *y) {
    return tile_expr_op(b->context, opcode, x, y, NULL);
}

static const tile_expr *number(const builder *b, int64_t value) {
    return tile_expr_int(b->context, value);
}

/* Whether the elements are of one of the classes: 0 or 1, or a comparison of the parameter. */
static const tile_expr *is_of_class(const builder *b, unsigned classes) {
    const unsigned possible = classes_of(b->q);
    const tile_expr *any = NULL;
    if (!(possible & classes) || !(possible & ~classes)) return number(b, !(possible & ~classes));
    const bool but_these = classes & FMA; /* names those of the other classes */
    const tile_expr *param = tile_expr_param(b->context, b->q->element_param);
    for (tile_scalar s = TILE_SCALAR_NONE + 1; s < TILE_SCALAR_COUNT; s++) {
        unsigned own = class_of(s, b->q);
        if (own == FMA || !tile_scalar_is_data(s) || ((own & classes) != 0) == but_these) continue;
        const tile_expr *same = make(b, but_these ? TILE_OP_ne : TILE_OP_eq, param,
                                     tile_expr_word(b->context, tile_scalar_name(s)));
        any = !any ? same : make(b, but_these ? TILE_OP_and : TILE_OP_or, any, same);
    }
    return any;
}

/* Whether the open element type has this many bytes. */
static const tile_expr *has_bytes(const builder *b, unsigned bytes) {
    const tile_expr *any = NULL, *param = tile_expr_param(b->context, b->q->element_param);
    for (tile_scalar s = TILE_SCALAR_NONE + 1; s < TILE_SCALAR_COUNT; s++) {
        if (!tile_scalar_is_data(s) || tile_scalar_bytes(s) != bytes) continue;
        const tile_expr *same =
            make(b, TILE_OP_eq, param, tile_expr_word(b->context, tile_scalar_name(s)));
        any = any ? make(b, TILE_OP_or, any, same) : same;
    }
    return any;
}

static const tile_expr *size_of_element(const builder *b) {
    if (b->q->element) {
        unsigned bytes = tile_scalar_bytes(b->q->element);
        return number(b, bytes ? bytes : 1);
    }
    const tile_expr *size = number(b, 4);
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2)
        if (bytes != 4)
            size = tile_expr_op(b->context, TILE_OP_select, has_bytes(b, bytes), number(b, bytes),
                                size);
    return size;
}

/* Conditions ----------------------------------------------------------------------------------- */

#define PARAM(name) #name ": int, "
#define WORD_PARAM(name) #name ": word, "
/* Rules and values as a kernel: roles, and numbers about elements and target, are parameters. */
static const char text[] =
    "kernel @space<"
#define ROLE(name, kind, without, use) #name ": " #kind ", "
#include "lib/tuning/roles.def"
    "size: int, shared: int, chunks: int, has_wgmma: bool, is_half: bool, is_int8: bool, "
    "is_float8: bool, is_tf32: bool, is_fma: bool, is_scaled: bool>()\n"
#define RULE(kind, scope, condition) "where " condition "\n"
#include "lib/tuning/space.def"
    "grid [1, 1]\n"
#define VALUE(name, expression) "  " VALUE_##name(expression) "\n"
#define VALUE_raster(expression) "raster rows(" expression ")"
#define VALUE_persistent(expression) "persistent if " expression
#include "lib/tuning/space.def"
    "warps 4 {}\n";

/* By condition: whether it must hold for a user's own points, too, and whether it restricts the
 * small space. */
enum { LEGAL = true, WORTH = false };
static const struct {
    bool is_legal, is_core;
} rules[] = {
#define RULE(kind, scope, condition) {kind, scope == CORE},
#include "lib/tuning/space.def"
};

static const tile_expr *fact(const builder *b, const char *name) {
    static const struct {
        const char *name;
        unsigned classes;
    } classes[] = {{"is_half", HALF}, {"is_int8", INT8}, {"is_float8", FLOAT8},
                   {"is_tf32", TF32}, {"is_fma", FMA},   {"is_scaled", SCALED}};
    if (strcmp(name, "size") == 0) return b->size;
    if (strcmp(name, "shared") == 0) return number(b, b->q->target->max_shared_bytes);
    if (strcmp(name, "chunks") == 0) return number(b, b->q->chunks ? b->q->chunks : 1);
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(name, classes[i].name) == 0) return is_of_class(b, classes[i].classes);
    return number(b, tile_target_has(b->q->target, TILE_FEATURE_wgmma)); /* "has_wgmma" */
}

static tile_role role_of(const char *name) {
    tile_role role = 0;
    while (role < TILE_ROLE_COUNT && strcmp(tile_role_name(role), name) != 0) role++;
    return role;
}

/* The expression of the kernel. */
static const tile_expr *express(const builder *b, const tile_expr *expr) {
    const tile_expr *args[3] = {NULL};
    if (expr->kind == TILE_EXPR_PARAM) {
        tile_role role = role_of(expr->name);
        return role < TILE_ROLE_COUNT ? b->own[role] : fact(b, expr->name);
    }
    if (expr->kind != TILE_EXPR_OP) return expr;
    for (unsigned i = 0; i < 3 && expr->args[i]; i++) args[i] = express(b, expr->args[i]);
    if (expr->opcode == TILE_OP_mul) return tile_expr_multiply(b->context, args[0], args[1]);
    return tile_expr_op(b->context, expr->opcode, args[0], args[1], args[2]);
}

/* Whether a role in the condition has a value, but none of the space. */
static bool names_others(const builder *b, const tile_expr *rule) {
    for (tile_role role = 0; role < TILE_ROLE_COUNT; role++)
        if (b->q->at[role] && !(b->q->covered >> role & 1) &&
            tile_expr_names_param(rule, tile_role_name(role)))
            return true;
    return false;
}

/* Whether a user gives values to all covered roles in the condition. */
static bool is_given(const builder *b, const tile_expr *rule) {
    uint32_t named = 0;
    for (tile_role role = 0; role < TILE_ROLE_COUNT; role++)
        if (b->q->covered >> role & 1 && tile_expr_names_param(rule, tile_role_name(role)))
            named |= (uint32_t)1 << role;
    return named && !(named & ~b->q->given);
}

static void add_rules(const builder *b) {
    for (size_t i = 0; i < b->text->where_count && !b->q->is_free; i++) {
        const tile_expr *rule = b->text->wheres[i];
        /* The rows of the small space obey the other rules, with one kind of consumers all. */
        if (b->q->is_core && !rules[i].is_core) continue;
        if (b->q->is_core && rules[i].is_legal && !b->q->at[TILE_ROLE_consumers]) continue;
        if (!rules[i].is_legal && (is_given(b, rule) || names_others(b, rule))) continue;
        const tile_expr *where = tile_simplify_where(b->f, express(b, rule));
        if (!tile_expr_is(where, 1)) tile_function_add_where(b->f, where);
    }
}

/* Points --------------------------------------------------------------------------------------- */

static bool is_covered(const builder *b, tile_role role) {
    return b->q->covered >> role & 1;
}

static const tile_expr *value_of(const builder *b, const table *t, const row *r, unsigned i) {
    if (r->numbers[i] < 0) return tile_expr_word(b->context, r->word);
    const tile_expr *value = number(b, r->numbers[i]);
    return t->roles[i] == TILE_ROLE_k ? make(b, TILE_OP_div, value, b->size) : value;
}

/* The number or word that a role which is not covered has; NULL: it is not known. */
static const tile_expr *known_value(const builder *b, tile_role role) {
    const tile_expr *own = b->q->at[role];
    if (!own) return tile_role_without(b->context, role);
    if (own->kind == TILE_EXPR_PARAM) {
        const tile_param_decl *param = tile_function_find_param(b->f, own->name, strlen(own->name));
        own = param ? param->default_expr : NULL;
    }
    bool known = own && (own->kind == TILE_EXPR_INT || own->kind == TILE_EXPR_WORD);
    return known ? own : NULL;
}

static unsigned classes_of_row(const builder *b, const row *r) {
    const tile_operands operands = b->q->operands;
    bool by_index = operands == TILE_OPERANDS_gathered || operands == TILE_OPERANDS_scattered;
    return (r->classes & ~(unsigned)INDEXED) | (r->classes & INDEXED && by_index ? FMA : 0);
}

static bool exists(const builder *b, const row *r) {
    const unsigned classes = classes_of(b->q) | (b->q->has_windows ? WINDOWS : 0);
    return (classes_of_row(b, r) & classes) && tile_target_has(b->q->target, r->needs) &&
           (r->is_core || !b->q->is_core);
}

/* Whether the row has the values that are known. */
static bool agrees(const builder *b, const table *t, const row *r) {
    for (unsigned i = 0; i < t->role_count; i++) {
        if (is_covered(b, t->roles[i])) continue;
        const tile_expr *known = known_value(b, t->roles[i]);
        if (known && known != value_of(b, t, r, i)) return false;
    }
    return true;
}

/* The points of a clause. */
typedef struct points {
    const char *names[MOST_ROLES];
    unsigned places[MOST_ROLES]; /* of the names, in the table's roles */
    unsigned name_count, count;
    const tile_expr **values;
    unsigned *classes; /* by point */
} points;

static void add_point(const builder *b, const table *t, const row *r, points *p) {
    const tile_expr **to = p->values + (size_t)p->count * p->name_count;
    for (unsigned n = 0; n < p->name_count; n++) to[n] = value_of(b, t, r, p->places[n]);
    for (unsigned i = 0; i < p->count; i++) {
        const tile_expr **other = p->values + (size_t)i * p->name_count;
        if (memcmp(other, to, sizeof *to * p->name_count) != 0) continue;
        p->classes[i] |= classes_of_row(b, r);
        return;
    }
    p->classes[p->count++] = classes_of_row(b, r);
}

static void list_points(const builder *b, const table *t, points *p) {
    bool any = false;
    for (unsigned i = 0; i < t->row_count; i++)
        any |= agrees(b, t, &t->rows[i]) && exists(b, &t->rows[i]);
    for (unsigned i = 0; i < t->row_count; i++)
        if (exists(b, &t->rows[i]) && (!any || agrees(b, t, &t->rows[i])))
            add_point(b, t, &t->rows[i], p);
}

/* Excludes points from the classes that do not have them, while the class is not known. */
static void restrict_classes(const builder *b, const points *p) {
    for (unsigned class = 1; class < ALL_CLASSES && !b->q->element; class *= 2) {
        const tile_expr *where = NULL;
        if (!(classes_of(b->q) & class)) continue;
        for (unsigned i = 0; i < p->count; i++) {
            const tile_expr *differs = NULL;
            if (p->classes[i] & class) continue;
            for (unsigned n = 0; n < p->name_count; n++) {
                const tile_expr *other =
                    make(b, TILE_OP_ne, tile_expr_param(b->context, p->names[n]),
                         p->values[(size_t)i * p->name_count + n]);
                differs = differs ? make(b, TILE_OP_or, differs, other) : other;
            }
            where = where ? make(b, TILE_OP_and, where, differs) : differs;
        }
        if (!where) continue;
        const tile_expr *another = is_of_class(b, ALL_CLASSES & ~class);
        tile_function_add_where(b->f, make(b, TILE_OP_or, another, where));
    }
}

static void add_clause(const builder *b, const table *t) {
    points p = {.name_count = 0};
    tile_arena arena = {0};
    for (unsigned i = 0; i < t->role_count; i++) {
        if (!is_covered(b, t->roles[i])) continue;
        p.places[p.name_count] = i;
        p.names[p.name_count++] = b->q->at[t->roles[i]]->name;
    }
    if (!p.name_count) return;
    p.values = TILE_NEW_ARRAY(&arena, const tile_expr *, (size_t)t->row_count *p.name_count);
    p.classes = TILE_NEW_ARRAY(&arena, unsigned, t->row_count);
    list_points(b, t, &p);
    tile_function_add_tune(b->f, p.name_count, p.names, p.count, p.values);
    restrict_classes(b, &p);
    tile_arena_reset(&arena);
}

/* Entry points --------------------------------------------------------------------------------- */

/* The builder, with the module of rules and values; NULL after a diagnostic. */
static tile_module *open_builder(builder *b, const tile_function *f, const tile_product_space *q) {
    *b = (builder){.context = tile_function_context(f), .f = (tile_function *)(uintptr_t)f, .q = q};
    tile_module *module = tile_module_parse(b->context, "space", text, sizeof text - 1);
    if (!module) return NULL;
    b->text = tile_module_find(module, "space");
    b->size = size_of_element(b);
    for (tile_role role = 0; role < TILE_ROLE_COUNT; role++) {
        b->own[role] = q->at[role] ? q->at[role] : tile_role_without(b->context, role);
        if (!b->own[role]) b->own[role] = number(b, 1);
    }
    return module;
}

static void swap_sides(builder *b) {
    static const tile_role sides[][2] = {{TILE_ROLE_m, TILE_ROLE_n},
                                         {TILE_ROLE_cluster_m, TILE_ROLE_cluster_n}};
    for (unsigned i = 0; i < 2 && b->q->columns_first; i++) {
        const tile_expr *own = b->own[sides[i][0]];
        b->own[sides[i][0]] = b->own[sides[i][1]];
        b->own[sides[i][1]] = own;
    }
}

bool tile_space_add(tile_function *f, const tile_product_space *q) {
    builder b;
    tile_module *module = open_builder(&b, f, q);
    if (!module) return false;
    for (unsigned t = 0; t < TABLES; t++) add_clause(&b, &tables[t]);
    add_rules(&b);
    tile_module_destroy(module);
    return true;
}

const tile_expr *tile_space_raster(const tile_function *f, const tile_product_space *q) {
    builder b;
    tile_module *module = open_builder(&b, f, q);
    if (!module) return NULL;
    swap_sides(&b);
    const tile_expr *group = express(&b, b.text->raster_group);
    tile_module_destroy(module);
    return group;
}

const tile_expr *tile_space_persistent(const tile_function *f, const tile_product_space *q) {
    builder b;
    tile_module *module = open_builder(&b, f, q);
    if (!module) return NULL;
    const tile_expr *condition = tile_simplify_where(f, express(&b, b.text->persistent_if));
    tile_module_destroy(module);
    return condition;
}
