/* Cases made smaller while they still pass a test: delta debugging on the text of the IR, of the
 * pipeline and of the arguments. Who reads the text decides what is a program; here it is lines,
 * names and numbers, so that operations need not be known. */
#ifndef TILE_TOOLS_TILE_OPT_SHRINK_H
#define TILE_TOOLS_TILE_OPT_SHRINK_H

#include "tools/tile-opt/case.h"

/* All strings are its own. */
typedef struct shrink_case {
    char *text, *pipeline;
    char *arguments[CASE_MAX_ARGUMENTS];
    unsigned argument_count;
} shrink_case;

typedef struct shrinker {
    shrink_case best; /* the smallest that passed */
    bool (*test)(const shrink_case *candidate, void *user);
    bool (*is_over)(void *user); /* its time */
    void *user;
    unsigned shrunk; /* how often it became smaller */
} shrinker;

/* Until nothing gets smaller, or the time is over. The best is printed IR. */
void shrink(shrinker *s);

shrink_case shrink_copy(const shrink_case *from);
void shrink_free(shrink_case *c);
/* Takes the candidate: keeps it as the best if it is another one and passes, else frees it. */
bool shrink_try(shrinker *s, shrink_case candidate);

/* shrink_lines.c: statements, loops, branches, values, attributes. */
bool shrink_lines(shrinker *s);
/* shrink_rest.c: functions and their arguments, passes, numbers. */
bool shrink_functions(shrinker *s);
bool shrink_arguments(shrinker *s);
bool shrink_passes(shrinker *s);
bool shrink_numbers(shrinker *s);

/* What both know of texts ---------------------------------------------------------------------- */

typedef struct shrink_names {
    char **names, **values; /* %name, and what stands for it; NULL: nothing does */
    size_t count;
} shrink_names;

void shrink_add_name(shrink_names *to, const char *name, size_t length, const char *value,
                     size_t value_length);
void shrink_free_names(shrink_names *names);
/* The length of the %name at `at`, 0 if there is none. */
size_t shrink_name_length(const char *at);
/* The index of a name in the list; its count if it is not there. */
size_t shrink_find_name(const shrink_names *names, const char *name, size_t length);
/* Appends a text with values instead of names. */
void shrink_append(tool_text *to, const char *at, const char *end, const shrink_names *names);
/* The text without the lines between `from` and `to` and all that mentions what they define. */
char *shrink_without(const char *text, const char *from, const char *to, shrink_names *gone);
/* Behind the lines of the operation that begins in this line. */
const char *shrink_unit_end(const char *line);
const char *shrink_line_end(const char *line); /* behind its newline */

#endif
