/* The operations in the manual: their list, and a page for each. The text of a page comes from
 * ops.def, rules.def and the grammar; its example is a section of operations/<group>.md. */
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/manual/text.h"
#include "lib/ops/error.h"
#include "lib/ops/kinds.h"
#include "lib/support/guess.h"
#include "lib/support/memory.h"
#include "lib/support/text.h"
#include "tile/manual.h"

/* In the order of ops.def. A row with a group begins that group. */
typedef struct row {
    const char *group;
    unsigned opcode;
} row;

static const row rows[] = {
#define OP_GROUP(name) {#name, 0},
#define OP(number, ...) {NULL, number},
#include "tile/ops.def"
};

enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    const char *name, *title, *examples;
} groups[] = {
#define GROUP(name, title) {#name, title, tile_manual_examples_##name},
#include "lib/manual/groups.def"
#undef GROUP
};

enum { GROUPS = sizeof groups / sizeof *groups };

typedef struct rule_text {
    const char *results, *types, *errors;
} rule_text;

/* A rule that is missing in rules.def is an undeclared name here. */
#define RULE(name, results, types, errors) \
    static const rule_text rule_##name = {results, types, errors};
#include "lib/manual/rules.def"
#undef RULE

/* Levels of the text form beside those of ops.def; NULL: none. */
static const char *const shorthands[TILE_OPCODE_LIMIT] = {
#define RULE(name, results, types, errors)
#define SHORTHAND(operation, levels) [TILE_OP_##operation] = levels,
#include "lib/manual/rules.def"
#undef RULE
};

static const rule_text *const rules[TILE_OPCODE_LIMIT] = {
#define OP(number, name, levels, operands, attributes, typing, rule, ...) [number] = &rule_##rule,
#include "tile/ops.def"
};

static const char *class_word(tile_operand_class class) {
    static const char *const words[] = {
#define OPERAND_CLASS(name, word, phrase) [TILE_CLASS_##name] = word,
#include "tile/classes.def"
#undef OPERAND_CLASS
    };
    return words[class];
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

/* Prints the classes of the operands: lhs number, rhs number. */
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
                       info->attrs[i].required ? " (required)" : "");
    tile_out_print(out, " | ");
    tile_out_print(out, "%s", info->meaning);
    tile_op_error_print(opcode, out);
    tile_out_print(out, " |\n");
}

void tile_manual_print_operations(const tile_out *out) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->name) print_op_row(out, (tile_opcode)i);
}

/* The list ------------------------------------------------------------------------------------ */

static bool is_full_stop(const char *text, const char *at) {
    return at > text && at[-1] != '.' && strncmp(at, ". ", 2) == 0;
}

/* The meaning up to its first full stop, semicolon or example. */
static void print_summary(const tile_out *out, const tile_op_info *info) {
    const char *end = info->meaning;
    while (*end && *end != ';' && *end != ':' && !is_full_stop(info->meaning, end)) end++;
    tile_out_print(out, "  %-18s %.*s\n", info->name, (int)(end - info->meaning), info->meaning);
}

static void print_group(const tile_out *out, const char *name) {
    bool inside = false;
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i].group)
            inside = strcmp(rows[i].group, name) == 0;
        else if (inside)
            print_summary(out, tile_op_get_info((tile_opcode)rows[i].opcode));
}

static void print_list(const tile_out *out) {
    tile_out_print(out, "All operations. `tile-opt --ops=NAME` prints the page of one, with an "
                        "example that runs.\n");
    for (unsigned i = 0; i < GROUPS; i++) {
        tile_out_print(out, "\n%s\n", groups[i].title);
        print_group(out, groups[i].name);
    }
}

/* Prose --------------------------------------------------------------------------------------- */

/* Breaks lines between words; the continuation lines of a list item are indented. */
typedef struct prose {
    const tile_out *out;
    size_t column, indent, length;
    char word[256];
} prose;

enum { PROSE_COLUMNS = 100 };

static void end_word(prose *p) {
    if (p->column && p->column + 1 + p->length > PROSE_COLUMNS) {
        tile_out_print(p->out, "\n%*s", (int)p->indent, "");
        p->column = p->indent;
    } else if (p->column && p->length) {
        tile_out_print(p->out, " ");
        p->column++;
    } else {
        p->indent = p->length == 1 && *p->word == '-' ? 2 : 0;
    }
    tile_out_print(p->out, "%.*s", (int)p->length, p->word);
    p->column += p->length;
    p->length = 0;
}

/* Is a tile_writer. */
static void append_prose(const char *text, size_t length, void *user) {
    prose *p = user;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\n') p->word[p->length++] = text[i];
        if (p->length == sizeof p->word || (p->length && (text[i] == ' ' || text[i] == '\n')))
            end_word(p);
        if (text[i] == '\n') {
            tile_out_print(p->out, "\n");
            p->column = p->indent = 0;
        }
    }
}

/* A page -------------------------------------------------------------------------------------- */

static void print_attr_names(const tile_out *out, const tile_op_info *info, bool required) {
    bool any = false;
    for (unsigned i = 0; i < info->attr_count; i++)
        if (info->attrs[i].required == required) {
            const char *name = tile_attr_keyword(info->attrs[i].id);
            tile_out_print(out, "%s%s", any ? ", " : required ? " {" : " [{", name);
            any = true;
        }
    if (any) tile_out_print(out, required ? "}" : "}]");
}

static void print_syntax(const tile_out *out, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    const tile_infix *infix = tile_infix_from_opcode(opcode);
    if (tile_manual_print_production(info->name, out)) return;
    tile_out_print(out, "    %s%s%s", rules[opcode]->results, *rules[opcode]->results ? " = " : "",
                   info->name);
    for (unsigned i = 0; i < info->operand_count; i++) print_operand(out, info, i);
    print_attr_names(out, info, true);
    print_attr_names(out, info, false);
    tile_out_print(out, info->type_given ? " : type\n" : "\n");
    if (infix && info->operand_count == 2)
        tile_out_print(out, "    %%lhs %s %%rhs\n", infix->symbol);
    else if (tile_opcode_is_callable(opcode))
        tile_out_print(out, "    inside an expression: %s(...)\n", info->name);
}

static void print_levels(const tile_out *out, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    static const char *const levels[] = {"0 (plans)", "1 (computes)", "2 (tiles)", "3 (threads)"};
    const char *comma = "";
    tile_out_print(out, "\n**Levels:** ");
    for (unsigned level = 0; level <= 3; level++)
        if (info->levels >> level & 1) {
            tile_out_print(out, "%s%s", comma, levels[level]);
            comma = ", ";
        }
    if (shorthands[opcode]) tile_out_print(out, "%s%s", comma, shorthands[opcode]);
    tile_out_print(out, ".\n");
}

static void print_operands(const tile_out *out, const tile_op_info *info) {
    static const char *const accesses[] = {"", "; the memory is read", "; the memory is written",
                                           "; the memory is read and written"};
    for (unsigned i = 0; i < info->operand_count; i++) {
        tile_operand_form form = info->operands[i].form;
        bool optional = form == TILE_FORM_optional || form == TILE_FORM_optaddress ||
                        form == TILE_FORM_whole || form == TILE_FORM_optlist;
        tile_out_print(out, "%s- `%s`: %s%s%s\n", i ? "" : "\n**Operands:**\n\n",
                       info->operands[i].name, class_word(info->operands[i].class_),
                       accesses[info->operands[i].access], optional ? "; optional" : "");
    }
}

/* The operation that a part "round: .." of a meaning is about; 0: all of them. */
static tile_opcode part_opcode(const char *part) {
    size_t length = strcspn(part, ":; ");
    return part[length] == ':' ? tile_opcode_from_name(part, length) : TILE_OP_NONE;
}

/* The part after this one; NULL after the last one. */
static const char *next_part(const char *part) {
    const char *end = strstr(part, "; ");
    return end ? end + 2 : NULL;
}

/* Prints what a meaning says of the operation: its own parts if there are some, else those that
 * are about all operations. A part without a name continues the part before it. */
static void print_meaning(const tile_out *out, const char *meaning, tile_opcode opcode) {
    bool own = false;
    const char *before = "";
    for (const char *part = meaning; part; part = next_part(part))
        own |= part_opcode(part) == opcode;
    tile_opcode wanted = own ? opcode : TILE_OP_NONE, current = TILE_OP_NONE;
    for (const char *part = meaning; part; part = next_part(part)) {
        const char *end = strstr(part, "; ");
        size_t length = end ? (size_t)(end - part) : strlen(part), skipped = 0;
        if (part_opcode(part)) {
            current = part_opcode(part);
            skipped = strcspn(part, ":") + 2;
        }
        if (current != wanted) continue;
        tile_out_print(out, "%s%.*s", before, (int)(length - skipped), part + skipped);
        before = "; ";
    }
}

/* Prints the words that the attribute of this operation may be. */
static void print_words(const tile_out *out, tile_opcode opcode, tile_attr_id id) {
    const char *word, *before = ": ";
    for (unsigned w = 0; (word = tile_attr_word(id, w)); w++) {
        if (id == TILE_ATTR_kind && !tile_opcode_takes_kind(opcode, word)) continue;
        tile_out_print(out, "%s`%s`", before, word);
        before = ", ";
    }
}

static void print_attributes(const tile_out *out, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    for (unsigned i = 0; i < info->attr_count; i++) {
        tile_attr_id id = info->attrs[i].id;
        tile_out_print(out, "%s- `%s`%s: ", i ? "" : "\n**Attributes:**\n\n", tile_attr_keyword(id),
                       info->attrs[i].required ? " (required)" : "");
        print_meaning(out, tile_attr_get_info(id)->meaning, opcode);
        print_words(out, opcode, id);
        tile_out_print(out, "\n");
    }
}

typedef struct bit_text {
    unsigned bit;
    const char *text;
} bit_text;

/* Prints the texts of the set bits, `before` before the first one. Returns the text to print before
 * the next one. */
static const char *print_bits(const tile_out *out, const char *before, const bit_text *texts,
                              size_t count, unsigned bits) {
    for (size_t i = 0; i < count; i++)
        if (bits & texts[i].bit) {
            tile_out_print(out, "%s%s", before, texts[i].text);
            before = "; ";
        }
    return before;
}

/* Prints who executes it, and what it orders: from the columns traits, effects and completion. */
static void print_effects(const tile_out *out, const tile_op_info *info) {
    static const bit_text traits[] = {
        {TILE_TRAIT_WHOLE_SET, "all threads that share the tile execute it together"},
        {TILE_TRAIT_ONE_THREAD, "one thread accesses the memory for all"},
        {TILE_TRAIT_UNIFORM, "the result is the same in all threads"},
        {TILE_TRAIT_DIVERGES, "results differ between threads"},
    };
    static const bit_text effects[] = {
        {TILE_EFFECT_READ_GLOBAL, "reads global memory"},
        {TILE_EFFECT_WRITE_GLOBAL, "writes global memory"},
        {TILE_EFFECT_READ_SHARED, "reads shared memory"},
        {TILE_EFFECT_WRITE_SHARED, "writes shared memory"},
        {TILE_EFFECT_BARRIER, "barrier of the threads that execute it"},
        {TILE_EFFECT_ACQUIRE, "acquires: later accesses stay after it"},
        {TILE_EFFECT_RELEASE, "releases: earlier accesses stay before it"},
        {TILE_EFFECT_COLLECTIVE, "all threads of a warp execute it together"},
        {TILE_EFFECT_REGION, "its effects are those of its regions"},
        {TILE_EFFECT_TERMINATOR, "ends its region"},
        {TILE_EFFECT_ALLOC, "begins or ends the lifetime of a shared buffer"},
        {TILE_EFFECT_CLUSTER, "involves all blocks of the cluster"},
        {TILE_EFFECT_ATOMIC, "atomic"},
        {TILE_EFFECT_REPORT, "reports to the host, or gives the caches a hint"},
        {TILE_EFFECT_WARPGROUP, "a whole warpgroup executes it"},
    };
    static const char *const completions[] = {
        [TILE_COMPLETION_STARTS] = "asynchronous: its accesses are complete after a later wait",
        [TILE_COMPLETION_COMMITS] = "closes a group of asynchronous operations",
        [TILE_COMPLETION_WAITS] = "waits for asynchronous operations"};
    const char *before = "\n**Effects:** ";
    before = print_bits(out, before, traits, sizeof traits / sizeof *traits, info->traits);
    before = print_bits(out, before, effects, sizeof effects / sizeof *effects, info->effects);
    if (completions[info->completion])
        tile_out_print(out, "%s%s", before, completions[info->completion]);
    else if (before[0] == '\n')
        tile_out_print(out, "%snone", before);
    tile_out_print(out, ".\n");
}

/* Examples ------------------------------------------------------------------------------------ */

/* The text after the line that consists of `mark` and the name; NULL if there is none. */
static const char *find_section(const char *text, const char *mark, const char *name,
                                size_t length) {
    size_t start = strlen(mark);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, mark, start) == 0 && strncmp(line + start, name, length) == 0 &&
            line[start + length] == '\n')
            return line + start + length + 1;
    }
    return NULL;
}

/* Parameter `number` of a line `@NAME | 1 | 2 ..`; "" if there are fewer. */
static const char *find_parameter(const char *line, unsigned number, size_t *length) {
    *length = 0;
    for (; number; number--) {
        line += strcspn(line, "|\n");
        if (*line != '|') return "";
        line += strspn(line, "| ");
    }
    while (line[*length] && !strchr("|\n", line[*length])) ++*length;
    while (*length && line[*length - 1] == ' ') --*length;
    return line;
}

/* Prints a template's section: $0 is the operation, $1 and following are the parameters. */
static void print_template(const tile_out *out, const char *text, const char *line,
                           const char *name) {
    size_t length;
    for (; *text && strncmp(text, "# ", 2) != 0 && strncmp(text, "## ", 3) != 0;) {
        size_t size = strcspn(text, "$\n");
        tile_out_print(out, "%.*s", (int)size, text);
        text += size;
        if (*text == '$' && text[1] >= '0' && text[1] <= '9') {
            const char *parameter = find_parameter(line, (unsigned)(text[1] - '0'), &length);
            if (text[1] == '0') parameter = name, length = strlen(name);
            tile_out_print(out, "%.*s", (int)length, parameter);
            text += 2;
        } else if (*text) {
            tile_out_print(out, "%c", *text++);
        }
    }
}

/* Prints the operation's section, or the template NAME if the section is a line `@NAME | ..`. */
static void print_example(const tile_out *out, const char *examples, const char *name) {
    const char *line = find_section(examples, "## ", name, strlen(name));
    if (!line) return;
    tile_out_print(out, "\n**Example:**\n");
    for (; *line && strncmp(line, "# ", 2) != 0 && strncmp(line, "## ", 3) != 0;) {
        size_t size = strcspn(line, "\n");
        const char *text =
            *line == '@' ? find_section(examples, "# ", line + 1, strcspn(line + 1, " \n")) : NULL;
        size += line[size] == '\n';
        if (text)
            print_template(out, text, line, name);
        else
            tile_out_print(out, "%.*s", (int)size, line);
        line += size;
    }
}

static const char *find_examples(tile_opcode opcode) {
    const char *group = "";
    for (unsigned i = 0; i < ROWS && rows[i].opcode != opcode; i++)
        if (rows[i].group) group = rows[i].group;
    for (unsigned i = 0; i < GROUPS; i++)
        if (strcmp(groups[i].name, group) == 0) return groups[i].examples;
    return "";
}

static void print_page(const tile_out *out, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    const rule_text *rule = rules[opcode];
    prose lines = {.out = out};
    tile_out text = {append_prose, &lines};
    tile_out_print(&text, "# %s\n\n%s", info->name, info->meaning);
    tile_op_error_print(opcode, &text);
    tile_out_print(&text, ".\n\n");
    print_syntax(out, opcode);
    print_levels(&text, opcode);
    print_operands(&text, info);
    tile_out_print(&text, "\n**Types:** %s\n", rule->types);
    print_attributes(&text, opcode);
    print_effects(&text, info);
    if (*rule->errors) tile_out_print(&text, "\n**Errors:** %s\n", rule->errors);
    print_example(out, find_examples(opcode), info->name);
}

bool tile_manual_print_operation(const char *name, const char **nearest, tile_writer writer,
                                 void *user) {
    TILE_GUARD(NULL, false)
    tile_out out = {writer, user};
    size_t length = name ? strlen(name) : 0;
    tile_guess guess = tile_guess_start(name ? name : "", length);
    if (nearest) *nearest = NULL;
    if (!writer) return false;
    if (!name) return print_list(&out), true;
    tile_opcode opcode = tile_opcode_from_name(name, length);
    if (opcode) return print_page(&out, opcode), true;
    for (unsigned i = 0; i < ROWS; i++)
        if (!rows[i].group)
            tile_guess_try(&guess, tile_op_get_info((tile_opcode)rows[i].opcode)->name);
    if (nearest) *nearest = guess.best;
    return false;
}
