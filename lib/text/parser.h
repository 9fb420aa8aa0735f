/* The parser's state, shared by the parse_*.c files.
 *
 * Functions that can fail report first, then return false or NULL. The caller abandons its
 * statement, and tile_parse_recover finds the next one. A name whose definition failed is bound to
 * value 0, which builders accept without another report. */
#ifndef TILE_LIB_TEXT_PARSER_H
#define TILE_LIB_TEXT_PARSER_H

#include "lib/support/text.h"
#include "lib/ir/renames.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"
#include "lib/text/lexer.h"
#include "tile/parse.h"

/* An operand expression, before the types of its literals are known. */
typedef enum tile_node_kind {
    TILE_NODE_HOST,  /* numbers and parameters only: expr */
    TILE_NODE_FLOAT, /* number */
    TILE_NODE_VALUE, /* value */
    TILE_NODE_OP,    /* opcode, args */
    TILE_NODE_CALL,  /* call: an operation with its operands and attributes */
    TILE_NODE_TYPED, /* args[0] with an explicit type: type */
} tile_node_kind;

typedef struct tile_node {
    tile_node_kind kind;
    tile_loc loc;
    unsigned depth;
    const tile_expr *expr;
    const tile_type *type; /* TYPED; also of a typed literal, such as i64(5) */
    bool is_truth;         /* HOST: i1 unless another type is required */
    bool is_large;         /* HOST: a u64 from 2^63, negative in its expr */
    double number;
    tile_value value;
    tile_opcode opcode;
    const struct tile_node *args[3];
    const struct tile_invocation *call;
} tile_node;

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

typedef struct tile_operand {
    tile_loc loc;
    const tile_node *head;        /* NULL: a list */
    const tile_node *const *tail; /* of an element or a list */
    unsigned tail_count;
    bool brackets;
} tile_operand;

typedef struct tile_parsed_attr {
    tile_attr_id id;
    tile_loc loc; /* of the value */
    const tile_expr *expr;
    const int64_t *list;
    unsigned count;
    const char *text;
    const tile_type *type;
    const tile_param_value *values;
} tile_parsed_attr;

/* An operation without regions, as parsed. */
typedef struct tile_invocation {
    tile_loc loc;
    tile_opcode opcode;
    tile_operand *operands;
    unsigned count;
    tile_parsed_attr attrs[TILE_MAX_ATTRS];
    unsigned attr_count;
    const tile_type *given;        /* NULL: not written */
    const tile_type *const *types; /* of all results, if they are written one by one */
    unsigned type_count;
    bool is_element;              /* a load in the form %x[%i] */
    const tile_operand *identity; /* NULL: not written */
} tile_invocation;

typedef struct tile_symbol {
    const char *name;
    tile_value value;
    tile_loc loc;
    bool live;
} tile_symbol;

/* Names of values. Names that are visible at the same place are unique, so each has one entry. */
typedef struct tile_symbol_table {
    tile_symbol **entries; /* hash table */
    size_t capacity, used;
    tile_symbol **stack; /* visible symbols, inner scopes last */
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

/* A layout as parsed: it becomes a tile_layout for a type, which determines the extents. */
typedef struct tile_alias {
    struct tile_alias *next;
    const char *name;
    tile_loc loc;
    unsigned rank; /* 0: no list has an entry */
    bool present[TILE_ALIAS_LISTS];
    unsigned count[TILE_ALIAS_LISTS];
    int64_t coordinates[TILE_ALIAS_LISTS][TILE_LAYOUT_MAX_BITS][TILE_MAX_RANK];
    unsigned counted_dims; /* 0: there is no 'count', all are 1 */
    int64_t counts[TILE_MAX_RANK];
} tile_alias;

/* The expressions in a view argument's type, over arguments as well, and the strides of a compute's
 * tensor. */
typedef struct tile_shape {
    const tile_expr *extents[TILE_MAX_RANK];
    const tile_expr *strides[TILE_MAX_RANK];
} tile_shape;

typedef struct tile_parser {
    tile_context *context;
    tile_module *module;
    tile_arena arena; /* for the parser only */
    tile_lexer lexer;
    tile_token token, next;
    unsigned first_error;        /* the context's error count before parsing */
    bool has_old_words;          /* some value is a word that an attribute had in the past */
    bool stopped;                /* too many errors: the rest of the text is not parsed */
    bool skipping;               /* tile_parse_skip */
    bool abandoned;              /* no more diagnostics for this function */
    bool saw_end_mark, saw_hash; /* reported once: `;`, and a comment that begins with # */
    unsigned regions;            /* number of open regions */
    unsigned depth;              /* nesting of the expression's parentheses, calls and signs */
    tile_alias *aliases;
    tile_parse_options options;
    struct tile_parsed_text *texts;       /* of the module, the last one first */
    struct tile_parsed_text *text;        /* the one that is being parsed */
    struct tile_parsed_include *includes; /* of all texts */
    unsigned include_count;
    size_t included_bytes;
    struct tile_declared_func *funcs; /* of all texts */

    tile_function *function;
    tile_shape *shape; /* of the argument or result whose type is being parsed; NULL elsewhere */
    tile_builder builder;
    tile_symbol_table symbols;
    bool at_operand;   /* the next value may be memory, whose brackets belong to the operand */
    bool has_block_id; /* the current expression contains block_id(0) */
    const tile_type *const *yield_types; /* expected types of this region's yield, if known */
    unsigned yield_count;
} tile_parser;

/* parse_token.c: tokens and errors */
void tile_parse_advance(tile_parser *p);
bool tile_parse_at(const tile_parser *p, const char *punctuation);
bool tile_parse_at_word(const tile_parser *p, const char *word);
/* Reports the `=` at this token, where a condition needs `==` after `left`. Returns false. */
bool tile_parse_equals(tile_parser *p, const char *left);
/* Consumes the token if it matches. */
bool tile_parse_take(tile_parser *p, const char *punctuation);
bool tile_parse_take_word(tile_parser *p, const char *word);
/* The same, but reports an error if it does not match. */
bool tile_parse_expect(tile_parser *p, const char *punctuation);
bool tile_parse_expect_word(tile_parser *p, const char *word);
/* `)` or `]`; if the line ends without it, the error is at the opening mark. */
bool tile_parse_close(tile_parser *p, const char *mark, const tile_token *open);
/* A name of this kind, interned; NULL after an error. what: "a value such as %x". */
const char *tile_parse_name(tile_parser *p, tile_token_kind kind, const char *what);
/* Returns false. */
bool tile_parse_error(tile_parser *p, tile_loc loc, const char *format, ...) TILE_PRINTF(3, 4);
bool tile_parse_expected(tile_parser *p, const char *what);
/* Returns true after an error if the token is an old word of this kind (renames.def). */
bool tile_parse_old_word(tile_parser *p, tile_rename_kind kind, const char *where);
/* A word as the value of a parameter, or compared with one. */
const tile_expr *tile_parse_word_expr(tile_parser *p, const char *word);
bool tile_parse_too_deep(tile_parser *p, tile_loc loc);
/* Advances without parsing, in an abandoned part of the text. */
void tile_parse_skip(tile_parser *p);
/* Abandons the function after an error that would cause further ones. Returns false. */
bool tile_parse_abandon(tile_parser *p);
/* Skips to the next layout or function that begins in the first column, after start. */
void tile_parse_recover_function(tile_parser *p, const char *start);
/* Skips the rest of the statement that began at start. */
void tile_parse_recover(tile_parser *p, const char *start);
bool tile_parse_has_failed(const tile_parser *p);
/* Ends parsing of the text if the limit of errors is reached. */
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
    TILE_FOREIGN_MEMBER, /* after a point */
} tile_foreign_place;
/* Returns true after an error if the token, or the name that follows it and a point, is a word of
 * another language in this place (foreign_words.def). */
bool tile_parse_foreign(tile_parser *p, tile_foreign_place place);
/* Reports a mark that consists of several tokens, such as `**`. */
void tile_parse_foreign_mark(tile_parser *p, tile_loc loc, const char *mark);
/* What to write instead of the token; NULL if it is no word of another language in this place. */
const char *tile_foreign_advice(tile_foreign_place place, const tile_token *token);
/* Returns whether a word of another language stands in place of an operation. */
bool tile_parse_is_foreign(const tile_token *token);

/* parse_scope.c: names of values */
tile_symbol *tile_parse_find(const tile_parser *p, const char *name);
/* The symbol from a region that has ended; NULL if there is none. */
tile_symbol *tile_parse_find_gone(const tile_parser *p, const char *name);
bool tile_parse_define(tile_parser *p, const char *name, tile_loc loc, tile_value value);
void tile_parse_leave_scope(tile_parser *p, size_t depth);
/* Calls tile_guess_phrase with the parser's arena. */
const char *tile_guess_text(tile_parser *p, const tile_guess *guess, const char *mark);

/* parse_expr.c */
const tile_node *tile_parse_node(tile_parser *p, int precedence);
/* An operand of operators. */
const tile_node *tile_parse_primary(tile_parser *p);
/* An expression with an optional type: expr [":" type]. */
const tile_node *tile_parse_typed_node(tile_parser *p);
/* The ":" type after a node that begins at loc. */
const tile_node *tile_parse_type_suffix(tile_parser *p, tile_loc loc, const tile_node *node);
/* The operators that follow a node, which has been parsed. */
const tile_node *tile_parse_infix(tile_parser *p, const tile_node *left, int precedence);
bool tile_parse_at_infix(const tile_parser *p);
tile_node *tile_parse_new_node(tile_parser *p, tile_node_kind kind, tile_loc loc);
/* An operation on nodes, folded if they are numbers and parameters. */
const tile_node *tile_parse_op_node(tile_parser *p, tile_loc loc, tile_opcode opcode,
                                    const tile_node *const *args, unsigned count);
/* An expression over numbers and parameters. allow_args: also over values known at launch, which
 * are arguments and num_sms. */
const tile_expr *tile_parse_host_expr(tile_parser *p, int precedence, bool allow_args);
/* Parses an optional `<name = value, ..>`: values for another function's parameters. */
bool tile_parse_param_values(tile_parser *p, const tile_param_value **values, unsigned *count);
bool tile_node_is_literal(const tile_node *node);
/* Returns whether the last operand is a call that needs a type, and the only such call. */
bool tile_node_ends_in_call(const tile_node *node);
/* The type of a typed literal; NULL if it has none. */
const tile_type *tile_node_literal_type(const tile_node *node);
/* Returns whether a literal contains a float. */
bool tile_node_has_point(const tile_node *node);
/* Reports num_sms in an expression that is needed before the launch, or in the kernel. */
bool tile_parse_refuse_num_sms(tile_parser *p, tile_loc loc, const tile_expr *expr);
bool tile_parse_int_list(tile_parser *p, const int64_t **values, unsigned *count);

/* parse_call.c: operations inside an expression */
/* Returns whether the word begins a call: relu(%x), f16(%acc), max(%a, 0), load %a[%i] : [8],
 * thread_id. */
bool tile_parse_at_call(tile_parser *p);
const tile_node *tile_parse_call(tile_parser *p);
/* Reports the word `call`, which is not written. Returns false. */
bool tile_parse_refuse_call(tile_parser *p);
/* The name of the operation or func, for diagnostics. */
const char *tile_parse_call_name(const tile_invocation *call);
const tile_node *tile_parse_call_node(tile_parser *p, const tile_invocation *call);

/* parse_form.c: the form of an operation. Those named `refuse` return false after an error. */
/* At an operation's name: returns whether the parentheses that follow hold its first operand, and
 * not all operands: `max (%a + 1), 0`, `sort (%t * 2.0) {axis = 0}`. */
bool tile_parse_has_operand_in_parentheses(const tile_parser *p, tile_opcode opcode);
/* At the name of an operation that cannot be called: refuses `store(%t, %y[0])`. */
bool tile_parse_refuse_statement_call(tile_parser *p, const tile_op_info *info);
/* Refuses a name with @ in place of a value. */
bool tile_parse_refuse_symbol(tile_parser *p);
/* Reports a word that is no parameter of the function. Returns false. */
bool tile_parse_refuse_param(tile_parser *p, const tile_token *token);
/* At an operator, which follows `before` (NULL: none): refuses `<>`, `**`, `&&` and `a < b < c`. */
bool tile_parse_refuse_operator(tile_parser *p, const tile_infix *before, const tile_infix *infix);
/* Refuses a text where an operand begins: it is an attribute. */
bool tile_parse_refuse_text(tile_parser *p, const tile_op_info *info);
/* After the operands: refuses another value on the line, `%t %x[0]`. */
bool tile_parse_refuse_adjacent(tile_parser *p);
/* After an operand: refuses `%a rem %b` and `%a if %c`. */
bool tile_parse_refuse_infix_word(tile_parser *p);
/* Returns whether the token begins attributes, and not a region. */
bool tile_parse_at_attrs(const tile_parser *p, tile_attr_set allowed);
/* Refuses attributes after the call that began at start, before operands and after a type. */
bool tile_parse_refuse_call_attrs(tile_parser *p, const char *start, const tile_op_info *info);
bool tile_parse_refuse_early_attrs(tile_parser *p, const tile_token *name,
                                   const tile_op_info *info);
bool tile_parse_refuse_late_attrs(tile_parser *p, const tile_token *name, const tile_op_info *info);

/* Refuses what follows an argument without a comma. */
bool tile_parse_refuse_after_arg(tile_parser *p);
/* A compute has tensors, and a kernel views of memory. False after an error. */
bool tile_parse_check_arg_kind(tile_parser *p, const char *name, const tile_type *type,
                               tile_loc loc);

/* parse_combine.c: reduce(%x, %y, axis = 0, combine = @f), or with the attributes in braces */
/* Returns whether the operation, written without a kind, may be given a function instead. */
bool tile_parse_may_combine(tile_opcode opcode);
/* Takes an attribute of such an operation, or its identity. */
bool tile_parse_combine_attr(tile_parser *p, tile_invocation *call);
/* `{`, attributes, `}` */
bool tile_parse_combine_attrs(tile_parser *p, tile_invocation *call);
/* Makes the call one of an operation with a function, if it has `combine`. */
bool tile_parse_finish_combine(tile_parser *p, tile_invocation *call);

/* parse_lower.c: operand expressions are converted to values */
/* hint: the type of a bare literal. For a tile, tensor or vector type, a scalar literal becomes a
 * splat. NULL: the literal's own type. */
tile_value tile_lower_node(tile_parser *p, const tile_node *node, const tile_type *hint);
/* Builds the parsed operation. expected: the result type if the operation does not specify it, or
 * NULL. Returns op 0 after an error. */
tile_op tile_lower_op(tile_parser *p, const tile_invocation *call, const tile_type *expected);

/* parse_type.c */
const tile_type *tile_parse_type(tile_parser *p);
/* The type of an argument or a result, and what its declaration has beside the type. */
const tile_type *tile_parse_declared_type(tile_parser *p, tile_shape *shape);
/* A result type: extents alone are a type without an element type. */
const tile_type *tile_parse_result_type(tile_parser *p);
/* The scalar or type parameter of that name; NULL, without an error, if there is none. */
const tile_type *tile_parse_find_scalar(tile_parser *p, const char *text, size_t length);
/* f16, T or acc(T). NULL: there is no element type; *failed after a message. */
const tile_type *tile_parse_scalar(tile_parser *p, bool *failed);
bool tile_parse_at_accumulator(const tile_parser *p);
bool tile_parse_layout_alias(tile_parser *p);

/* parse.c: a text of the module, from the start to the end of the lexer's text. */
void tile_parse_text(tile_parser *p);

/* parse_include.c */
/* A text of the module: the one that is passed to the parser, or an included one. */
typedef struct tile_parsed_text {
    struct tile_parsed_text *next;
    struct tile_parsed_text *outer; /* the text that includes it; NULL: none */
    const char *identity, *name;
    uint32_t file;
    unsigned depth; /* of the nesting */
    bool is_open;   /* it is being declared or parsed */
    bool is_parsed; /* once is enough */
} tile_parsed_text;
/* Parses the text, a source of the context. */
void tile_parse_source(tile_parser *p, const char *identity, uint32_t file);
/* Finds the text whose name in quotation marks is the token, and declares its funcs. */
bool tile_parse_declare_include(tile_parser *p);
/* `include "NAME"`, and the text that it names. */
bool tile_parse_include(tile_parser *p);

/* parse_op.c */
/* atomic_add: the token, the operation's name followed by a word of `kind`, sets the kind. */
void tile_parse_take_kind(tile_parser *p, tile_invocation *call);
/* %x, %x[%i, %j], [%i, %j]. */
bool tile_parse_operand(tile_parser *p, tile_operand *operand);
/* Returns whether an operand in memory comes first and all others are optional, as in `load
 * %a[%i]`. */
bool tile_parse_is_prefix(const tile_op_info *info);
/* Resolves the operand for operand `index` of the row: if that takes no brackets, the operand is an
 * element. */
void tile_parse_resolve_operand(tile_parser *p, const tile_op_info *info, size_t index,
                                tile_operand *operand);
/* %x[%i, %j] as an expression: an element of a tile or of memory. */
const tile_node *tile_parse_element_node(tile_parser *p, const tile_operand *operand);
/* "[" expr,* "]" after a head. */
bool tile_parse_brackets(tile_parser *p, tile_operand *operand);
/* %x, %x[%i, %j]; ends at an operator. */
bool tile_parse_memory_operand(tile_parser *p, tile_operand *operand);
/* Returns true after an error if the token is the name of a func: its arguments are missing, or not
 * in parentheses. */
bool tile_parse_bare_func(tile_parser *p, const tile_token *token);
/* Reports the token and returns NULL. */
const tile_node *tile_parse_unknown_op(tile_parser *p);
/* Reports that the token is not `{`. */
bool tile_parse_expected_body(tile_parser *p);
bool tile_parse_region(tile_parser *p, tile_region region, bool needs_yield);
/* parse_attr.c. Parses an optional `{...}`. what: the owner of the attributes. */
bool tile_parse_attrs(tile_parser *p, tile_attr_set allowed, const char *what,
                      tile_parsed_attr *attrs, unsigned *count);
/* Parses one attribute, after those parsed before. */
bool tile_parse_attr(tile_parser *p, tile_attr_set allowed, const char *what,
                     tile_parsed_attr *attrs, unsigned *count);
/* The text in quotation marks, with the escapes removed. NULL after an error: what was expected. */
const char *tile_parse_quoted(tile_parser *p, const char *what);
/* Parses the value of an attribute of kind word. what: the owner of the attribute. */
bool tile_parse_attr_word(tile_parser *p, const char *what, tile_parsed_attr *attr);
/* The attribute of the set that has this keyword; TILE_ATTR_NONE: none has. */
tile_attr_id tile_attr_among(tile_attr_set allowed, const char *text, size_t length);
/* Reports the token and returns false. */
bool tile_parse_unknown_attr(tile_parser *p, tile_attr_set allowed, const char *what);
tile_attr_set tile_parse_allowed_attrs(const tile_op_info *info);
/* parse_combine.c: the attributes of a call of the operation, in both forms if it may be given a
 * function. */
tile_attr_set tile_parse_call_attrs(tile_opcode opcode);
void tile_parse_set_attrs(tile_parser *p, tile_op op, const tile_parsed_attr *attrs,
                          unsigned count);

/* A name in a place that defines a value. */
typedef struct tile_binding {
    const char *name;
    tile_loc loc;
} tile_binding;
/* The part of a statement before the operation: the names of its results. */
typedef struct tile_statement {
    tile_loc loc;
    tile_binding *names;
    unsigned count;
} tile_statement;
bool tile_parse_bind(tile_parser *p, const tile_binding *name, tile_value value);
/* If the operation could not be built, binds the names to value 0, so that uses are not reported.
 */
bool tile_parse_bind_results(tile_parser *p, const tile_statement *s, tile_op op, const char *what);

/* parse_func.c: funcs may be called before they are defined */
/* A func whose header has been parsed, and the state of the parser after it. */
typedef struct tile_declared_func {
    struct tile_declared_func *next;
    const char *start;       /* the token of its name */
    tile_function *function; /* NULL: the header is wrong, which has been reported */
    tile_lexer lexer;
    tile_token token, next_token;
    tile_symbol_table symbols;
} tile_declared_func;
/* Parses the headers of all funcs of the text that the lexer begins and of all texts that it
 * includes, so that calls find them. */
void tile_parse_declare_text(tile_parser *p);
/* A func, from its name on, whose header has been parsed: its body. */
bool tile_parse_func(tile_parser *p);
/* The func that the token, a word before `(` or `<`, calls; NULL: none. */
const tile_function *tile_parse_find_func(const tile_parser *p);

/* parse_plan.c: a step, from the word `launch` on. */
bool tile_parse_launch(tile_parser *p, const tile_statement *s);

/* parse_control.c: an operation with regions, from its word on */
/* `sync explicit`, which begins a region. */
bool tile_parse_at_sync_explicit(const tile_parser *p);
bool tile_parse_control(tile_parser *p, const tile_statement *s, tile_opcode opcode);

#endif
