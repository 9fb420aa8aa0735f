/* Host expressions: interned, folded on construction, evaluated in i64. */
#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "lib/support/intern.h"

static const tile_expr *intern_expr(tile_context *context, const tile_expr *draft) {
    return tile_intern(context, TILE_INTERN_EXPR, draft, sizeof *draft);
}

/* memset first: expressions are interned by their bytes, including the padding. */
static tile_expr blank(tile_expr_kind kind) {
    tile_expr draft;
    memset(&draft, 0, sizeof draft);
    draft.kind = kind;
    return draft;
}

const tile_expr *tile_expr_int(tile_context *context, int64_t value) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_INT);
    draft.integer = value;
    return intern_expr(context, &draft);
}

const tile_expr *tile_expr_float(tile_context *context, double value) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_FLOAT);
    draft.number = value;
    return intern_expr(context, &draft);
}

const tile_expr *tile_expr_param(tile_context *context, const char *name) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_PARAM);
    name = name ? name : "";
    draft.name = tile_intern_name(context, name, strlen(name));
    return intern_expr(context, &draft);
}

const tile_expr *tile_expr_word(tile_context *context, const char *word) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_WORD);
    word = word ? word : "";
    draft.name = tile_intern_name(context, word, strlen(word));
    return intern_expr(context, &draft);
}

/* FNV-1a: a 64-bit hash. Two words of one program are assumed not to collide. */
int64_t tile_word_value(const char *word) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *word; word++) hash = (hash ^ (unsigned char)*word) * UINT64_C(0x100000001b3);
    return (int64_t)hash;
}

const tile_expr *tile_expr_arg(tile_context *context, unsigned index) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_ARG);
    draft.integer = index;
    return intern_expr(context, &draft);
}

const tile_expr *tile_expr_num_sms(tile_context *context) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_NUM_SMS);
    return intern_expr(context, &draft);
}

const tile_expr *tile_expr_block_id(tile_context *context, unsigned dim) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_BLOCK_ID);
    draft.integer = dim;
    return dim < 3 ? intern_expr(context, &draft) : NULL;
}

const tile_expr *tile_expr_loop(tile_context *context, unsigned depth) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_expr draft = blank(TILE_EXPR_LOOP);
    draft.integer = depth;
    return depth < TILE_MAX_PLAN_LOOPS ? intern_expr(context, &draft) : NULL;
}

static bool is_constant(const tile_expr *expr, int64_t *value) {
    bool word = expr && expr->kind == TILE_EXPR_WORD;
    if (word) *value = tile_word_value(expr->name);
    return word || tile_expr_is_int(expr, value);
}

static unsigned expr_arity(tile_opcode opcode) {
    int64_t ignored;
    if (!tile_fold_int(opcode, 1, 1, 1, &ignored)) return 0;
    return tile_op_get_info(opcode)->operand_count;
}

const tile_expr *tile_expr_op(tile_context *context, tile_opcode opcode, const tile_expr *a,
                              const tile_expr *b, const tile_expr *c) {
    TILE_GUARD_OUTSIDE(context, NULL)
    const tile_expr *args[3] = {a, b, c};
    unsigned arity = expr_arity(opcode);
    if (!arity) return NULL;
    tile_expr draft = blank(TILE_EXPR_OP);
    draft.opcode = opcode;
    int64_t values[3] = {0}, folded;
    bool constant = true;
    for (unsigned i = 0; i < 3; i++) {
        if ((args[i] != NULL) != (i < arity) || (args[i] && args[i]->kind == TILE_EXPR_FLOAT))
            return NULL;
        draft.args[i] = args[i];
        constant &= i >= arity || is_constant(args[i], &values[i]);
    }
    if (constant && tile_fold_int(opcode, values[0], values[1], values[2], &folded))
        return tile_expr_int(context, folded);
    if (opcode == TILE_OP_select && tile_expr_is_int(args[0], &values[0]))
        return values[0] ? args[1] : args[2];
    return intern_expr(context, &draft);
}

bool tile_expr_is_int(const tile_expr *expr, int64_t *value) {
    if (!expr || expr->kind != TILE_EXPR_INT) return false;
    *value = expr->integer;
    return true;
}

bool tile_expr_has_arg(const tile_expr *expr) {
    if (!expr) return false;
    bool found = expr->kind == TILE_EXPR_ARG;
    for (unsigned i = 0; i < 3 && !found; i++) found = tile_expr_has_arg(expr->args[i]);
    return found;
}

/* Omits a multiplication by 1. */
const tile_expr *tile_expr_multiply(tile_context *context, const tile_expr *a, const tile_expr *b) {
    int64_t value;
    if (tile_expr_is_int(a, &value) && value == 1) return b;
    if (tile_expr_is_int(b, &value) && value == 1) return a;
    return tile_expr_op(context, TILE_OP_mul, a, b, NULL);
}

bool tile_expr_eval(const tile_expr *expr, const tile_bindings *bindings, int64_t *value) {
    static const tile_bindings none = {0};
    int64_t args[3] = {0};
    if (!expr) return false;
    if (!bindings) bindings = &none;
    switch (expr->kind) {
    case TILE_EXPR_INT: *value = expr->integer; return true;
    case TILE_EXPR_FLOAT: return false;
    case TILE_EXPR_WORD: *value = tile_word_value(expr->name); return true;
    case TILE_EXPR_PARAM:
        return bindings->param && bindings->param(expr->name, value, bindings->user);
    case TILE_EXPR_ARG:
        return bindings->arg && bindings->arg((unsigned)expr->integer, value, bindings->user);
    case TILE_EXPR_NUM_SMS:
        *value = bindings->num_sms;
        return bindings->num_sms > 0 && bindings->num_sms <= TILE_MAX_SMS;
    case TILE_EXPR_BLOCK_ID:
        if (bindings->block_id) *value = bindings->block_id[expr->integer];
        return bindings->block_id != NULL;
    case TILE_EXPR_LOOP:
        if ((uint64_t)expr->integer >= bindings->loop_count) return false;
        *value = bindings->loops[expr->integer];
        return true;
    case TILE_EXPR_OP:
        for (unsigned i = 0; i < 3 && expr->args[i]; i++)
            if (!tile_expr_eval(expr->args[i], bindings, &args[i])) return false;
        return tile_fold_int(expr->opcode, args[0], args[1], args[2], value);
    }
    return false;
}

const tile_expr *tile_expr_substitute(tile_context *context, const tile_expr *expr,
                                      const tile_bindings *bindings) {
    TILE_GUARD_OUTSIDE(context, NULL)
    int64_t value;
    if (!expr) return NULL;
    if (expr->kind == TILE_EXPR_PARAM || expr->kind == TILE_EXPR_ARG ||
        expr->kind == TILE_EXPR_NUM_SMS || expr->kind == TILE_EXPR_BLOCK_ID ||
        expr->kind == TILE_EXPR_LOOP)
        return tile_expr_eval(expr, bindings, &value) ? tile_expr_int(context, value) : expr;
    if (expr->kind != TILE_EXPR_OP) return expr;
    return tile_expr_op(context, expr->opcode,
                        tile_expr_substitute(context, expr->args[0], bindings),
                        tile_expr_substitute(context, expr->args[1], bindings),
                        tile_expr_substitute(context, expr->args[2], bindings));
}
