/* The manual that the tools print: the grammar, what the tables know, and a glossary, as Markdown.
 */
#include <string.h>

#include "lib/ir/cost.h"
#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "lib/manual/text.h"
#include "lib/ops/error.h"
#include "lib/support/out.h"
#include "lib/support/target.h"
#include "tile/compile.h"

static void print_infix(const tile_out *out) {
    tile_out_print(out, "\nINFIX, from weak to strong, all left associative:");
    for (int precedence = TILE_PRECEDENCE_LOWEST; precedence < TILE_PRECEDENCE_UNARY; precedence++)
        for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
            const tile_infix *infix = tile_infix_from_opcode((tile_opcode)i);
            if (infix && infix->precedence == precedence)
                tile_out_print(out, " `%s` %s;", infix->symbol,
                               tile_op_get_info(infix->opcode)->name);
        }
    tile_out_print(out, "\n`-` is neg, `~` is not.\n\nCALL:");
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
    tile_out_print(out, "\n## Scalars\n\n| name | bits | meaning |\n|---|---|---|\n");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        tile_out_print(out, "| `%s` | %u | %s |\n", rows[i].name, rows[i].bits, rows[i].meaning);
}

static const char *class_word(tile_operand_class class) {
    switch (class) {
    case TILE_CLASS_any: return "any";
    case TILE_CLASS_number: return "number";
    case TILE_CLASS_integer: return "integer";
    case TILE_CLASS_floating: return "float";
    case TILE_CLASS_boolean: return "i1";
    case TILE_CLASS_scalar: return "scalar";
    case TILE_CLASS_index: return "i32";
    case TILE_CLASS_long_index: return "i32 or i64";
    case TILE_CLASS_constant: return "constant i32";
    case TILE_CLASS_pointer: return "pointer";
    case TILE_CLASS_tensor: return "tensor";
    case TILE_CLASS_view: return "view";
    case TILE_CLASS_shared: return "shared";
    case TILE_CLASS_any_shared: return "shared, of the cluster too";
    case TILE_CLASS_barrier: return "barriers";
    case TILE_CLASS_any_barrier: return "barriers, of the cluster too";
    case TILE_CLASS_memory: return "view or shared";
    case TILE_CLASS_global: return "pointer or view";
    case TILE_CLASS_location: return "pointer, view or shared";
    case TILE_CLASS_tile: return "tile";
    case TILE_CLASS_tile_or_shared: return "tile or shared";
    case TILE_CLASS_vector: return "vector";
    case TILE_CLASS_tensor_map: return "tensor map";
    case TILE_CLASS_descriptor: return "descriptor";
    case TILE_CLASS_vector_or_descriptor: return "vector or descriptor";
    }
    return NULL;
}

static void print_operand(const tile_out *out, const tile_op_info *info, unsigned i) {
    static const struct {
        const char *before, *after;
    } shapes[] = {
        [TILE_FORM_value] = {"", ""},
        [TILE_FORM_optional] = {"", "?"},
        [TILE_FORM_element] = {"", "[...]"},
        [TILE_FORM_address] = {"", "[...]"},
        [TILE_FORM_optaddress] = {"", "[...]?"},
        [TILE_FORM_part] = {"", "[...]"},
        [TILE_FORM_whole] = {"", "?"},
        [TILE_FORM_list] = {"[", ", ...]"},
        [TILE_FORM_optlist] = {"[", ", ...]?"},
        [TILE_FORM_variadic] = {"", ", ..."},
    };
    tile_operand_form form = info->operands[i].form;
    tile_out_print(out, "%s%s%%%s%s", i ? ", " : " ", shapes[form].before, info->operands[i].name,
                   shapes[form].after);
}

/* What the operands must be: lhs number, rhs number. */
static void print_classes(const tile_out *out, const tile_op_info *info) {
    for (unsigned i = 0; i < info->operand_count; i++)
        tile_out_print(out, "%s%s %s", i ? ", " : "", info->operands[i].name,
                       class_word(info->operands[i].class_));
}

static void print_op_row(const tile_out *out, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    tile_out_print(out, "| `%s", info->name);
    for (unsigned i = 0; i < info->operand_count; i++) print_operand(out, info, i);
    tile_out_print(out, "` | ");
    print_classes(out, info);
    tile_out_print(out, " | ");
    for (unsigned level = 0; level <= 3; level++)
        if (info->levels >> level & 1) tile_out_print(out, "%u ", level);
    tile_out_print(out, "|");
    for (unsigned i = 0; i < info->attr_count; i++)
        tile_out_print(out, " `%s`%s", tile_attr_keyword(info->attrs[i].id),
                       info->attrs[i].required ? " (needed)" : "");
    tile_out_print(out, " | ");
    tile_out_print(out, "%s", info->meaning);
    tile_op_error_print(opcode, out);
    tile_out_print(out, " |\n");
}

static void print_ops(const tile_out *out) {
    tile_out_print(
        out, "\n## Operations\n\n`?` marks an operand that may be left out.\n\n"
             "| operation | operands | levels | attributes | meaning |\n|---|---|---|---|---|\n");
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->name) print_op_row(out, (tile_opcode)i);
}

static void print_costs(const tile_out *out) {
    tile_out_print(out,
                   "\n## Costs\n\nOf one element, where it costs more than an addition of "
                   "1 instruction: how many instructions' worth of time it takes on a GPU, after "
                   "how many cycles the result is there (an estimate), and in how many "
                   "additions' time it is compiled.\n\n"
                   "| operation | instructions | cycles | compiled |\n|---|---|---|---|\n");
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
    tile_out_print(
        out,
        "\n## Conditions\n\nA kernel has up to %d variants. Each relies on conditions on "
        "the arguments or the grid, and a launch takes the first one whose conditions "
        "hold.\n\n| condition | reads | holds if |\n|---|---|---|\n",
        TILE_MAX_VARIANTS);
#define CONDITION(number, name, reads, meaning) \
    tile_out_print(out, "| `%s` | %s | %s |\n", #name, reads, meaning);
#include "tile/conditions.def"
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
    tile_out_print(out, "\n## Attributes\n\n| attribute | meaning |\n|---|---|\n");
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)i);
        if (!info->name) continue;
        tile_out_print(out, "| `%s%s` | %s", tile_attr_keyword((tile_attr_id)i), kinds[info->kind],
                       info->meaning);
        print_words(out, (tile_attr_id)i);
        tile_out_print(out, " |\n");
    }
}

/* Names separated by blanks, as `a`, `b`; what is part of the meaning is in no table of this. */
static void print_names(const tile_out *out, const char *names) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, " ");
        tile_out_print(out, "%s%.*s", at == names ? "" : ", ", (int)length, at);
        at += length + strspn(at + length, " ");
    }
    tile_out_print(out, " | ");
}

static void print_contracts(const tile_out *out) {
    tile_out_text(out, tile_manual_contracts);
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)i);
        if (!info->name || strstr(info->by, "any")) continue;
        tile_out_print(out, "| `%s` | ", tile_attr_keyword((tile_attr_id)i));
        print_names(out, info->by);
        print_names(out, info->read_by);
        tile_out_print(out, "%s |\n", info->until);
    }
}

static void print_products(const tile_out *out) {
    char targets[TILE_TARGETS_TEXT];
    tile_out_print(out, "\n## Products\n\n");
    tile_out_text(out, tile_manual_products);
    for (unsigned i = 0; tile_mma_at(i); i++) {
        const tile_mma *row = tile_mma_at(i);
        tile_out_print(out, "| `%s` | %s%s | %s%s | %s | %s |\n", row->shape,
                       row->unsigned_lhs ? "unsigned " : "", tile_scalar_name(row->lhs),
                       row->unsigned_rhs ? "unsigned " : "", tile_scalar_name(row->rhs),
                       tile_scalar_name(row->acc),
                       tile_feature_targets(row->feature, targets, sizeof targets));
    }
#define WGMMA(lhs, rhs, acc, k, elements) \
    tile_out_print(out, "| `wgmma m64nNk%d`%s | " #lhs " | " #rhs " | " #acc " | %s |\n", k, \
                   TILE_WGMMA_##elements == TILE_WGMMA_bits ? ", of bits, at level 3 alone" : "", \
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

static void print_limits(const tile_out *out) {
    static const struct {
        int number;
        const char *subject;
    } rows[] = {
#define LIMIT(name, number, subject) {number, subject},
#include "tile/limits.def"
#undef LIMIT
    };
    tile_out_print(out,
                   "\n## Limits\n\nOne more than this is refused with a message. The "
                   "limits of the GPU, such as threads, registers and shared memory, depend on "
                   "the target.\n\n| at most | |\n|---|---|\n");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        print_limit(out, rows[i].number, rows[i].subject);
    tile_out_print(out,
                   "\nThe memory of the host alone limits the length of names and programs, and "
                   "how many functions, statements, parameters, results of a compute, `tune` "
                   "clauses and steps of a plan there are. An integer is a number of 64 bits, "
                   "with its sign.\n");
}

static void print_glossary(const tile_out *out) {
    static const struct {
        const char *name, *meaning;
    } words[] = {
#define WORD(name, meaning) {name, meaning},
#include "lib/manual/glossary.def"
#undef WORD
    };
    tile_out_print(out, "\n## Glossary\n\n| word | meaning |\n|---|---|\n");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        tile_out_print(out, "| %s | %s |\n", words[i].name, words[i].meaning);
}

static void print_grammar(const tile_out *out) {
    tile_out_print(out, "# Tile IR\n\n## Grammar\n\n```\n%s```\n\n", tile_manual_grammar);
}

/* In order: a file of chapters/, or what is printed of tables. */
static const struct {
    const char *text;
    void (*print)(const tile_out *out);
} chapters[] = {
    {.print = print_grammar},
    {.text = tile_manual_notes},
    {.text = tile_manual_statements},
    {.print = print_infix},
    {.text = tile_manual_parallel},
    {.text = tile_manual_levels},
    {.text = tile_manual_walk},
    {.text = tile_manual_pipelines},
    {.text = tile_manual_splits},
    {.text = tile_manual_points},
    {.text = tile_manual_executors},
    {.text = tile_manual_clusters},
    {.text = tile_manual_barriers},
    {.text = tile_manual_plans},
    {.text = tile_manual_computes},
    {.text = tile_manual_walks},
    {.text = tile_manual_sums},
    {.text = tile_manual_weights},
    {.text = tile_manual_given},
    {.text = tile_manual_check},
    {.print = print_scalars},
    {.print = print_ops},
    {.print = print_costs},
    {.print = print_attrs},
    {.print = print_contracts},
    {.print = print_conditions},
    {.print = print_products},
    {.print = print_limits},
    {.print = tile_manual_print_launch},
    {.print = print_glossary},
};

void tile_manual_print(tile_writer writer, void *user) {
    TILE_GUARD(NULL, )
    tile_out out = {writer, user};
    if (!writer) return;
    for (unsigned i = 0; i < sizeof chapters / sizeof *chapters; i++)
        if (chapters[i].print)
            chapters[i].print(&out);
        else
            tile_out_text(&out, chapters[i].text);
}
