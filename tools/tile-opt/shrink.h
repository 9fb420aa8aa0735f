/* Shrinks cases while they still pass a test: delta debugging on the text of the IR, of the
 * pipeline and of the arguments. The test decides whether a text is valid. The steps treat it as
 * lines, names and numbers, so they need no table of operations. */
#ifndef TILE_TOOLS_TILE_OPT_SHRINK_H
#define TILE_TOOLS_TILE_OPT_SHRINK_H

#include "tools/tile-opt/case.h"

/* Owns all its strings. */
typedef struct shrink_case {
    char *text, *pipeline;
    char *arguments[CASE_MAX_ARGUMENTS];
    unsigned argument_count;
} shrink_case;

typedef struct shrinker {
    shrink_case best; /* the smallest case that passed */
    bool (*test)(const shrink_case *candidate, void *user);
    bool (*is_over)(void *user); /* true if the time is used up */
    void *user;
    unsigned shrunk; /* how often the case became smaller */
} shrinker;

/* Shrinks until no step makes progress or the time is used up. The best case is printed IR. */
void shrink(shrinker *s);

shrink_case shrink_copy(const shrink_case *from);
void shrink_free(shrink_case *c);
/* Takes the candidate: keeps it as the best case if it differs and passes, else frees it. */
bool shrink_try(shrinker *s, shrink_case candidate);

/* shrink_lines.c: statements, loops, branches, values, attributes. */
bool shrink_lines(shrinker *s);
/* shrink_rest.c: functions and their arguments, passes, numbers. */
bool shrink_functions(shrinker *s);
bool shrink_arguments(shrinker *s);
bool shrink_passes(shrinker *s);
bool shrink_numbers(shrinker *s);

/* Text helpers of both ------------------------------------------------------------------------- */

typedef struct shrink_names {
    char **names, **values; /* %name, and its replacement; NULL: none */
    size_t count;
} shrink_names;

void shrink_add_name(shrink_names *to, const char *name, size_t length, const char *value,
                     size_t value_length);
void shrink_free_names(shrink_names *names);
/* Returns the length of the %name at `at`; 0 if there is none. */
size_t shrink_name_length(const char *at);
/* Returns the index of a name in the list; its count if it is missing. */
size_t shrink_find_name(const shrink_names *names, const char *name, size_t length);
/* Appends a text in which names are replaced by their values. */
void shrink_append(tool_text *to, const char *at, const char *end, const shrink_names *names);
/* Returns the text without the lines between `from` and `to` and without all lines that use a name
 * defined there. */
char *shrink_without(const char *text, const char *from, const char *to, shrink_names *gone);
/* Returns the position after the lines of the operation that begins in this line. */
const char *shrink_unit_end(const char *line);
const char *shrink_line_end(const char *line); /* after its newline */

#endif
