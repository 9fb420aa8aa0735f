/* The tables of the manual that are generated from the compiler's own tables. */
#include <string.h>

#include "lib/ir/cost.h"
#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "lib/manual/text.h"
#include "lib/support/target.h"
#include "lib/support/text.h"
#include "tile/compile.h"
#include "tile/launch_limits.h"

static void print_infix(const tile_out *out) {
    for (int precedence = TILE_PRECEDENCE_LOWEST; precedence < TILE_PRECEDENCE_UNARY; precedence++)
        for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
            const tile_infix *infix = tile_infix_from_opcode((tile_opcode)i);
            if (infix && infix->precedence == precedence)
                tile_out_print(out, "| `%s` | `%s` | %d |\n", infix->symbol,
                               tile_op_get_info(infix->opcode)->name, precedence);
        }
}

static void print_calls(const tile_out *out) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_opcode_is_callable((tile_opcode)i))
            tile_out_print(out, " `%s`", tile_op_get_info((tile_opcode)i)->name);
    tile_out_print(out, "\n");
}

static void print_scalars(const tile_out *out) {
    static const struct {
        const char *name, *meaning;
        unsigned bits;
    } rows[] = {
#define SCALAR(number, name, bits, class, exponent, mantissa, pack, use, meaning) \
    {#name, meaning, bits},
#include "tile/scalars.def"
#undef SCALAR
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tile_out_print(out, "| `%s` | %u | %s |\n", rows[i].name, rows[i].bits, rows[i].meaning);
}

static void print_costs(const tile_out *out) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        tile_cost cost = tile_op_cost((tile_opcode)i);
        if (tile_op_is_costly((tile_opcode)i))
            tile_out_print(out, "| `%s` | %u | %u | %u |\n", tile_op_get_info((tile_opcode)i)->name,
                           cost.issue, cost.latency, cost.code);
    }
}

static void print_words(const tile_out *out, tile_attr_id id) {
    const char *word;
    for (unsigned i = 0; (word = tile_attr_word(id, i)); i++)
        tile_out_print(out, "%s`%s`", i ? ", " : ": ", word);
}

static void print_conditions(const tile_out *out) {
#define CONDITION(number, name, reads, meaning) \
    tile_out_print(out, "| `%s` | %s | %s |\n", #name, reads, meaning);
#include "tile/conditions.def"
}

static void print_variant_limit(const tile_out *out) {
    tile_out_print(out, "A kernel has at most %d variants.\n", TILE_MAX_VARIANTS);
}

static void print_attrs(const tile_out *out) {
    static const char *const kinds[] = {[TILE_KIND_flag] = "",
                                        [TILE_KIND_expr] = " = expr",
                                        [TILE_KIND_list] = " = [expr, ...]",
                                        [TILE_KIND_word] = " = WORD",
                                        [TILE_KIND_text] = " = TEXT",
                                        [TILE_KIND_symbol] = " = @ID",
                                        [TILE_KIND_constant] = " = number",
                                        [TILE_KIND_values] = "",
                                        [TILE_KIND_tile] = " = expr"};
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)i);
        if (!info->name) continue;
        tile_out_print(out, "| `%s%s` | %s", tile_attr_keyword((tile_attr_id)i), kinds[info->kind],
                       info->meaning);
        print_words(out, (tile_attr_id)i);
        tile_out_print(out, " |\n");
    }
}

/* Prints names that are separated by blanks as `a`, `b`. */
static void print_names(const tile_out *out, const char *names) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, " ");
        tile_out_print(out, "%s%.*s", at == names ? "" : ", ", (int)length, at);
        at += length + strspn(at + length, " ");
    }
    tile_out_print(out, " | ");
}

static void print_contracts(const tile_out *out) {
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)i);
        if (!info->name || strstr(info->by, "any")) continue;
        tile_out_print(out, "| `%s` | ", tile_attr_keyword((tile_attr_id)i));
        print_names(out, info->by);
        print_names(out, info->read_by);
        tile_out_print(out, "%s |\n", info->until);
    }
}

/* Integer products have an unsigned form of each operand: of i8 only. */
static const char *other_sign(tile_wgmma_elements elements) {
    return elements == TILE_WGMMA_integers ? " or u8" : "";
}

static void print_instructions(const tile_out *out) {
    char targets[TILE_TARGETS_TEXT];
    for (unsigned i = 0; tile_mma_at(i); i++) {
        const tile_mma *row = tile_mma_at(i);
        tile_out_print(out, "| `%s` | %s | %s | %s | %s |\n", row->shape,
                       tile_mma_type_name(row->lhs, row->unsigned_lhs),
                       tile_mma_type_name(row->rhs, row->unsigned_rhs), tile_scalar_name(row->acc),
                       tile_feature_targets(row->feature, targets, sizeof targets));
    }
#define WGMMA(lhs, rhs, acc, k, elements) \
    tile_out_print(out, "| `wgmma m64nNk%d`%s | " #lhs "%s | " #rhs "%s | " #acc " | %s |\n", k, \
                   TILE_WGMMA_##elements == TILE_WGMMA_bits ? ", of bits, at level 3 only" : "", \
                   other_sign(TILE_WGMMA_##elements), other_sign(TILE_WGMMA_##elements), \
                   tile_feature_targets(TILE_FEATURE_wgmma, targets, sizeof targets));
#include "lib/layout/wgmma.def"
}

static void print_limit(const tile_out *out, int64_t number, const char *subject) {
    unsigned bits = 0;
    while ((INT64_C(1) << bits) < number) bits++;
    tile_out_print(out, "| %lld", (long long)number);
    if (number >= 1024 && INT64_C(1) << bits == number) tile_out_print(out, " = 2^%u", bits);
    if (number >= 1024 && (INT64_C(1) << bits) - 1 == number)
        tile_out_print(out, " = 2^%u - 1", bits);
    tile_out_print(out, " | %s |\n", subject);
}

typedef struct limit_row {
    int number;
    const char *subject;
} limit_row;

static void print_limit_rows(const tile_out *out, const limit_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) print_limit(out, rows[i].number, rows[i].subject);
}

static void print_limits(const tile_out *out) {
    static const limit_row rows[] = {
#define LIMIT(name, number, subject) {number, subject},
#include "tile/limits.def"
#undef LIMIT
    };
    print_limit_rows(out, rows, sizeof rows / sizeof *rows);
}

static void print_launch_limits(const tile_out *out) {
    static const limit_row rows[] = {
#define LAUNCH_LIMIT(name, number, subject) {number, subject},
#include "tile/launch_limits.def"
#undef LAUNCH_LIMIT
    };
    print_limit_rows(out, rows, sizeof rows / sizeof *rows);
}

static void print_glossary(const tile_out *out) {
    static const struct {
        const char *name, *meaning;
    } words[] = {
#define WORD(name, meaning) {name, meaning},
#include "lib/manual/glossary.def"
#undef WORD
    };
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        tile_out_print(out, "| %s | %s |\n", words[i].name, words[i].meaning);
}

static void print_targets(const tile_out *out) {
    const tile_target *target;
    for (unsigned i = 0; (target = tile_target_at(i)); i++)
        tile_out_print(out, "| `%s` | %u | %u | %u | %u |\n", target->name,
                       target->max_shared_bytes, target->sm_shared_bytes, target->sm_warps,
                       target->sm_blocks);
}

/* Omits `base`, which every target has. */
static void print_features(const tile_out *out) {
    char targets[TILE_TARGETS_TEXT];
    for (unsigned i = TILE_FEATURE_base + 1; i < TILE_FEATURE_COUNT; i++)
        tile_out_print(out, "| `%s` | %s | %s |\n", tile_feature_name((tile_feature)i),
                       tile_feature_text((tile_feature)i),
                       tile_feature_targets((tile_feature)i, targets, sizeof targets));
}

/* A chapter includes a table by its name in double braces. */
static const struct {
    const char *name;
    void (*print)(const tile_out *out);
} tables[] = {
    {"infix", print_infix},
    {"calls", print_calls},
    {"scalars", print_scalars},
    {"operations", tile_manual_print_operations},
    {"costs", print_costs},
    {"attributes", print_attrs},
    {"contracts", print_contracts},
    {"conditions", print_conditions},
    {"variant_limit", print_variant_limit},
    {"instructions", print_instructions},
    {"limits", print_limits},
    {"launch_limits", print_launch_limits},
    {"targets", print_targets},
    {"features", print_features},
    {"glossary", print_glossary},
};

void tile_manual_print_table(const char *name, size_t length, const tile_out *out) {
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tile_text_is(tables[i].name, name, length)) tables[i].print(out);
}
