/* The parser's state, shared by the parse_*.c files.
 *
 * Functions that can fail report first, then return false or NULL; the caller gives up its
 * statement and tile_parse_recover finds the next one. A name whose definition failed is bound to
 * value 0, which builders take without a further report. */
#ifndef TILE_LIB_TEXT_PARSER_H
#define TILE_LIB_TEXT_PARSER_H

#include "lib/support/text.h"
#include "lib/ir/renames.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"
#include "lib/text/lexer.h"

/* An operand expression before it is known which type its literals get. */
typedef enum tile_node_kind {
    TILE_NODE_HOST,  /* made of numbers and parameters only: expr */
    TILE_NODE_FLOAT, /* number */
    TILE_NODE_VALUE, /* value */
    TILE_NODE_OP,    /* opcode, args */
    TILE_NODE_CALL,  /* call: an operation with all that one may be given */
    TILE_NODE_TYPED, /* args[0], whose type is said: type */
} tile_node_kind;

typedef struct tile_node {
    tile_node_kind kind;
    tile_loc loc;
    unsigned depth;
    const tile_expr *expr;
    const tile_type *type; /* TYPED; of a literal that names its type, such as i64(5) */
    bool is_truth;         /* HOST: i1, where nothing else is asked for */
    double number;
    tile_value value;
    tile_opcode opcode;
    const struct tile_node *args[3];
    const struct tile_invocation *call;
} tile_node;

typedef struct tile_operand {
    tile_loc loc;
    const tile_node *head;        /* NULL: a list */
    const tile_node *const *tail; /* of an element or a list */
    unsigned tail_count;
    bool brackets;
} tile_operand;

typedef struct tile_parsed_attr {
    tile_attr_id id;
    const tile_expr *expr;
    const int64_t *list;
    unsigned count;
    const char *text;
    const tile_type *type;
    const tile_param_value *values;
} tile_parsed_attr;

/* An operation without regions as it is written. */
typedef struct tile_invocation {
    tile_loc loc;
    tile_opcode opcode;
    tile_operand *operands;
    unsigned count;
    tile_parsed_attr attrs[TILE_MAX_ATTRS];
    unsigned attr_count;
    const tile_type *given;  /* NULL: none is written */
    const tile_type *second; /* of the second result, where another one is written */
    bool is_element;         /* a load that is written %x[%i] */
} tile_invocation;

typedef struct tile_symbol {
    const char *name;
    tile_value value;
    tile_loc loc;
    bool live;
} tile_symbol;

/* Names of values; no two that are visible at one place are equal, so that each has one entry. */
typedef struct tile_symbol_table {
    tile_symbol **entries; /* hash table */
    size_t capacity, used;
    tile_symbol **stack; /* live ones, inner scopes last */
    size_t depth, stack_capacity;
} tile_symbol_table;

enum {
    TILE_ALIAS_REG,
    TILE_ALIAS_LANE,
    TILE_ALIAS_WARP,
    TILE_ALIAS_BLOCK,
    TILE_ALIAS_OFFSET,
    TILE_ALIAS_LISTS
};

/* A layout as written: it becomes a tile_layout where a type says how large the dims are. */
typedef struct tile_alias {
    struct tile_alias *next;
    const char *name;
    tile_loc loc;
    unsigned rank; /* 0: no list has an entry */
    bool present[TILE_ALIAS_LISTS];
    unsigned count[TILE_ALIAS_LISTS];
    int64_t coordinates[TILE_ALIAS_LISTS][TILE_LAYOUT_MAX_BITS][TILE_MAX_RANK];
    unsigned counted_dims; /* 0: 'count' does not stand here, all are 1 */
    int64_t counts[TILE_MAX_RANK];
} tile_alias;

/* What stands in a view argument's type, arguments too. */
typedef struct tile_shape {
    const tile_expr *extents[TILE_MAX_RANK];
    const tile_expr *strides[TILE_MAX_RANK];
} tile_shape;

typedef struct tile_parser {
    tile_context *context;
    tile_module *module;
    tile_arena arena; /* what only the parser needs */
    tile_lexer lexer;
    tile_token token, next;
    unsigned first_error;        /* the context's count when parsing began */
    bool has_old_words;          /* some value is a word that an attribute had */
    bool stopped;                /* too many errors: the rest of the text is not read */
    bool skipping;               /* tile_parse_skip */
    bool abandoned;              /* nothing more is said of this function */
    bool saw_end_mark, saw_hash; /* reported once: `;`, and a comment that begins with # */
    unsigned regions;            /* how many are open */
    unsigned depth;              /* of the expression's parentheses, calls and signs */
    tile_alias *aliases;

    tile_function *function;
    tile_shape *shape; /* of the argument whose type is read; NULL elsewhere */
    tile_builder builder;
    tile_symbol_table symbols;
    bool at_operand;   /* the next value may be memory, whose brackets belong to the operand */
    bool has_block_id; /* block_id(0) stands in the expression that is being read */
    const tile_type *const *yield_types; /* what this region's yield should give, if known */
    unsigned yield_count;
} tile_parser;

/* parse_token.c: tokens and errors */
void tile_parse_advance(tile_parser *p);
bool tile_parse_at(const tile_parser *p, const char *punctuation);
bool tile_parse_at_word(const tile_parser *p, const char *word);
/* Reports the `=` at this token, which stands where `==` compares with `left`. False. */
bool tile_parse_equals(tile_parser *p, const char *left);
/* Steps over the token if it is there. */
bool tile_parse_take(tile_parser *p, const char *punctuation);
bool tile_parse_take_word(tile_parser *p, const char *word);
/* The same, and an error if it is not there. */
bool tile_parse_expect(tile_parser *p, const char *punctuation);
bool tile_parse_expect_word(tile_parser *p, const char *word);
/* A name of this kind, interned; NULL after an error. what: "a value such as %x". */
const char *tile_parse_name(tile_parser *p, tile_token_kind kind, const char *what);
/* Always false. */
bool tile_parse_error(tile_parser *p, tile_loc loc, const char *format, ...) TILE_PRINTF(3, 4);
bool tile_parse_expected(tile_parser *p, const char *what);
/* True after an error if the token is a word of this kind that the language had (renames.def). */
bool tile_parse_old_word(tile_parser *p, tile_rename_kind kind, const char *where);
/* A word as a value, of a parameter or compared with one. */
const tile_expr *tile_parse_word_expr(tile_parser *p, const char *word);
bool tile_parse_too_deep(tile_parser *p, tile_loc loc);
/* The next token, of a part of the text that is given up. */
void tile_parse_skip(tile_parser *p);
/* Gives up the function, after an error that the rest of it would only repeat. Always false. */
bool tile_parse_abandon(tile_parser *p);
/* To the next layout or function at the margin of the file, behind start. */
void tile_parse_recover_function(tile_parser *p, const char *start);
/* Skips what is left of the statement that began at start. */
void tile_parse_recover(tile_parser *p, const char *start);
bool tile_parse_has_failed(const tile_parser *p);
/* Once the limit of errors is reached, the text ends here for the parser. */
void tile_parse_stop_if_too_many(tile_parser *p, tile_loc loc);

/* foreign_words.c */
typedef enum tile_foreign_place {
    TILE_FOREIGN_OPERATION,
    TILE_FOREIGN_WORD,
    TILE_FOREIGN_TYPE,
    TILE_FOREIGN_CLAUSE,
    TILE_FOREIGN_ATTRIBUTE,
    TILE_FOREIGN_MARK,
    TILE_FOREIGN_TOP,
} tile_foreign_place;
/* True after an error if the token, or the name behind it and a point, is a word of another
 * language in this place (foreign_words.def). */
bool tile_parse_foreign(tile_parser *p, tile_foreign_place place);
/* Reports a mark of several tokens, such as `**`. */
void tile_parse_foreign_mark(tile_parser *p, tile_loc loc, const char *mark);
/* What to write instead of the token; NULL: it is no word of another language in this place. */
const char *tile_foreign_advice(tile_foreign_place place, const tile_token *token);
/* Whether such a word may stand for an operation. */
bool tile_parse_is_foreign(const tile_token *token);

/* parse_scope.c: names of values */
tile_symbol *tile_parse_find(const tile_parser *p, const char *name);
/* The symbol of a region that has ended, NULL: there is none. */
tile_symbol *tile_parse_find_gone(const tile_parser *p, const char *name);
bool tile_parse_define(tile_parser *p, const char *name, tile_loc loc, tile_value value);
void tile_parse_leave_scope(tile_parser *p, size_t depth);
/* tile_guess_phrase in the parser's arena. */
const char *tile_guess_text(tile_parser *p, const tile_guess *guess, const char *mark);

/* parse_expr.c */
const tile_node *tile_parse_node(tile_parser *p, int precedence);
/* What operators stand between. */
const tile_node *tile_parse_primary(tile_parser *p);
/* An expression that may say its type: expr [":" type]. */
const tile_node *tile_parse_typed_node(tile_parser *p);
/* The ":" type that follows a node, which begins at loc. */
const tile_node *tile_parse_type_suffix(tile_parser *p, tile_loc loc, const tile_node *node);
/* The operators that follow a node, which has been read. */
const tile_node *tile_parse_infix(tile_parser *p, const tile_node *left, int precedence);
bool tile_parse_at_infix(const tile_parser *p);
tile_node *tile_parse_new_node(tile_parser *p, tile_node_kind kind, tile_loc loc);
/* An operation on nodes, folded if they are numbers and parameters. */
const tile_node *tile_parse_op_node(tile_parser *p, tile_loc loc, tile_opcode opcode,
                                    const tile_node *const *args, unsigned count);
/* Over numbers and parameters, and what a launch knows where that is allowed: arguments, num_sms.
 */
const tile_expr *tile_parse_host_expr(tile_parser *p, int precedence, bool allow_args);
/* `<name = value, ..>` if it is there: values for another function's parameters. */
bool tile_parse_param_values(tile_parser *p, const tile_param_value **values, unsigned *count);
bool tile_node_is_literal(const tile_node *node);
/* The type that a literal names, NULL: none. */
const tile_type *tile_node_literal_type(const tile_node *node);
/* Whether there is a float in a literal. */
bool tile_node_has_point(const tile_node *node);
/* Reports num_sms in an expression that is needed before the launch, or in the kernel. */
bool tile_parse_refuse_num_sms(tile_parser *p, tile_loc loc, const tile_expr *expr);
bool tile_parse_int_list(tile_parser *p, const int64_t **values, unsigned *count);

/* parse_call.c: operations inside an expression */
/* f16(%acc), max(%a, 0), load %a[%i] : [8], thread_id: whether the word begins one. */
bool tile_parse_at_call(tile_parser *p);
const tile_node *tile_parse_call(tile_parser *p);
const tile_node *tile_parse_call_node(tile_parser *p, const tile_invocation *call);

/* parse_lower.c: operand expressions become values */
/* hint: the type that a bare literal gets; a scalar literal becomes a splat if it is a tile's, a
 * tensor's or a vector's. NULL: its own type. */
tile_value tile_lower_node(tile_parser *p, const tile_node *node, const tile_type *hint);
/* Builds what was written. expected: the type that the result should have where the operation does
 * not say it, or NULL. Op 0 after an error. */
tile_op tile_lower_op(tile_parser *p, const tile_invocation *call, const tile_type *expected);

/* parse_type.c */
const tile_type *tile_parse_type(tile_parser *p);
/* What may stand for a result's type: extents alone give a type without an element type. */
const tile_type *tile_parse_result_type(tile_parser *p);
/* A scalar's name or a type parameter's; NULL, and no error, if it is neither. */
const tile_type *tile_parse_find_scalar(tile_parser *p, const char *text, size_t length);
bool tile_parse_layout_alias(tile_parser *p);

/* parse_op.c */
/* atomic_add: the token, the operation's name with a word of `kind` behind it, says what kind it
 * is. */
void tile_parse_take_kind(tile_parser *p, const tile_op_info *info, tile_invocation *call);
/* %x, %x[%i, %j], [%i, %j]. */
bool tile_parse_operand(tile_parser *p, tile_operand *operand);
/* Whether memory comes first and whatever else may be left out, as in `load %a[%i]`. */
bool tile_parse_is_prefix(const tile_op_info *info);
/* The operand is that of the row with this number: what stands in brackets where the row takes none
 * is an element. */
void tile_parse_resolve_operand(tile_parser *p, const tile_op_info *info, size_t index,
                                tile_operand *operand);
/* %x[%i, %j] as an expression: an element of a tile or of memory. */
const tile_node *tile_parse_element_node(tile_parser *p, const tile_operand *operand);
/* "[" expr,* "]" behind a head. */
bool tile_parse_brackets(tile_parser *p, tile_operand *operand);
/* %x, %x[%i, %j]; an operator ends it. */
bool tile_parse_memory_operand(tile_parser *p, tile_operand *operand);
/* Reports the token; NULL. */
const tile_node *tile_parse_unknown_op(tile_parser *p);
/* Reports that the token is no `{`. */
bool tile_parse_expected_body(tile_parser *p);
bool tile_parse_region(tile_parser *p, tile_region region, bool needs_yield);
/* A set of attributes. */
typedef struct tile_attr_set {
    uint64_t words[TILE_ATTR_LIMIT / 64];
} tile_attr_set;
static inline bool tile_attr_set_has(tile_attr_set set, tile_attr_id id) {
    return set.words[id / 64] >> id % 64 & 1;
}
static inline void tile_attr_set_add(tile_attr_set *set, tile_attr_id id) {
    set->words[id / 64] |= (uint64_t)1 << id % 64;
}
/* parse_attr.c. `{...}` if it is there. what: whose attributes these are. */
bool tile_parse_attrs(tile_parser *p, tile_attr_set allowed, const char *what,
                      tile_parsed_attr *attrs, unsigned *count);
/* One of them, after those that are there already. */
bool tile_parse_attr(tile_parser *p, tile_attr_set allowed, const char *what,
                     tile_parsed_attr *attrs, unsigned *count);
/* The value of an attribute of kind word. what: whose attribute it is. */
bool tile_parse_attr_word(tile_parser *p, const char *what, tile_parsed_attr *attr);
/* Reports the token; false. */
bool tile_parse_unknown_attr(tile_parser *p, tile_attr_set allowed, const char *what);
tile_attr_set tile_parse_allowed_attrs(const tile_op_info *info);
void tile_parse_set_attrs(tile_parser *p, tile_op op, const tile_parsed_attr *attrs,
                          unsigned count);

/* A name that stands where a value is defined. */
typedef struct tile_binding {
    const char *name;
    tile_loc loc;
} tile_binding;
/* What stands before the operation: the names of its results. */
typedef struct tile_statement {
    tile_loc loc;
    tile_binding *names;
    unsigned count;
} tile_statement;
bool tile_parse_bind(tile_parser *p, const tile_binding *name, tile_value value);
/* Also where the operation could not be built: then to value 0, so that uses are not reported. */
bool tile_parse_bind_results(tile_parser *p, const tile_statement *s, tile_op op, const char *what);

/* parse_plan.c: a step, from the word `launch` on. */
bool tile_parse_launch(tile_parser *p, const tile_statement *s);

/* parse_control.c: an operation with regions, from its word on */
/* `sync explicit`, which begins a region. */
bool tile_parse_at_sync_explicit(const tile_parser *p);
bool tile_parse_control(tile_parser *p, const tile_statement *s, tile_opcode opcode);

#endif
