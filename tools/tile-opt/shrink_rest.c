/* Shrinks passes, functions, arguments and numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-opt/shrink.h"
#include "tools/tile-opt/steps.h"

/* Passes -------------------------------------------------------------------------------------- */

bool shrink_passes(shrinker *s) {
    bool smaller = false;
    for (size_t at = 0; s->best.pipeline[at];) {
        const char *pipeline = s->best.pipeline, *end = opt_next_step(pipeline + at);
        shrink_case candidate = shrink_copy(&s->best);
        memmove(candidate.pipeline + at, end, strlen(end) + 1);
        size_t length = strlen(candidate.pipeline);
        if (length && candidate.pipeline[length - 1] == ',') candidate.pipeline[length - 1] = 0;
        size_t next = (size_t)(end - pipeline);
        if (shrink_try(s, candidate))
            smaller = true;
        else
            at = next;
    }
    return smaller;
}

/* Functions ----------------------------------------------------------------------------------- */

static bool is_function(const char *line) {
    return strncmp(line, "kernel ", 7) == 0 || strncmp(line, "compute ", 8) == 0 ||
           strncmp(line, "plan ", 5) == 0 || strncmp(line, "func ", 5) == 0;
}

bool shrink_functions(shrinker *s) {
    bool smaller = false;
    for (size_t line = 0; s->best.text[line];) {
        const char *text = s->best.text, *end = shrink_line_end(text + line);
        bool dropped = false;
        if (is_function(text + line)) {
            while (*end && strncmp(end, "}\n", 2) != 0) end = shrink_line_end(end);
            end = shrink_line_end(end);
            shrink_case candidate = shrink_copy(&s->best);
            memmove(candidate.text + line, end, strlen(end) + 1);
            dropped = shrink_try(s, candidate);
        }
        smaller |= dropped;
        if (!dropped) line = (size_t)(end - text);
    }
    return smaller;
}

/* Arguments ----------------------------------------------------------------------------------- */

/* Finds the argument list of the first function, excluding the parentheses. */
static bool find_list(const char *text, const char **begin, const char **end) {
    *begin = strstr(text, "kernel @");
    if (!*begin || !(*begin = strchr(*begin, '('))) return false;
    int depth = 1;
    for (*end = ++*begin; **end && depth; ++*end) depth += (**end == '(') - (**end == ')');
    --*end;
    return depth == 0;
}

/* Returns the position after the argument at `at` and its comma. */
static const char *next_argument(const char *at, const char *end) {
    int depth = 0;
    for (; at < end && (*at != ',' || depth); at++)
        depth +=
            (*at != 0 && strchr("([{<", *at) != NULL) - (*at != 0 && strchr(")]}>", *at) != NULL);
    return at < end ? at + 1 + strspn(at + 1, " ") : end;
}

static char *given_value(const shrink_case *c, const char *name, size_t length, unsigned *which) {
    for (*which = 0; *which < c->argument_count; ++*which) {
        char *text = c->arguments[*which];
        if (strncmp(text, name + 1, length - 1) == 0 && text[length - 1] == '=')
            return text + length;
    }
    return NULL;
}

/* Drops the argument: replaces its uses by its value (a number), or drops everything that uses
 * it. */
static bool drop_argument(shrinker *s, const char *at, const char *next, bool by_value) {
    const char *text = s->best.text, *begin, *end;
    size_t length = shrink_name_length(at);
    unsigned which;
    find_list(text, &begin, &end);
    const char *value = given_value(&s->best, at, length, &which);
    if (by_value && (!value || strspn(value, "-0123456789") != strlen(value))) return false;
    shrink_names names = {0};
    shrink_add_name(&names, at, length, by_value ? value : NULL, by_value ? strlen(value) : 0);
    shrink_case candidate = shrink_copy(&s->best);
    tool_text out = {NULL, 0, 0};
    const char *from = next == end && at > begin ? at - 2 : at; /* the comma before the last one */
    tool_append(text, (size_t)(from - text), &out);
    tool_append(next, strlen(next), &out);
    free(candidate.text);
    if (by_value) {
        tool_text replaced = {NULL, 0, 0};
        shrink_append(&replaced, out.data, out.data + out.size, &names);
        candidate.text = replaced.data;
    } else {
        candidate.text = shrink_without(out.data, out.data, out.data, &names);
    }
    free(out.data);
    if (value) {
        free(candidate.arguments[which]);
        candidate.arguments[which] = candidate.arguments[--candidate.argument_count];
    }
    shrink_free_names(&names);
    return shrink_try(s, candidate);
}

bool shrink_arguments(shrinker *s) {
    const char *begin, *end;
    bool smaller = false;
    for (unsigned index = 0; find_list(s->best.text, &begin, &end);) {
        const char *at = begin;
        for (unsigned i = 0; i < index && at < end; i++) at = next_argument(at, end);
        if (at >= end || !shrink_name_length(at)) break;
        const char *next = next_argument(at, end);
        if (drop_argument(s, at, next, true) || drop_argument(s, at, next, false))
            smaller = true;
        else
            index++;
    }
    return smaller;
}

/* Numbers ------------------------------------------------------------------------------------- */

/* Returns the length of an integer that is not part of a name, a type or a fraction. */
static size_t number_length(const char *text, const char *at) {
    size_t length = strspn(at, "0123456789");
    char before = at > text ? at[-1] : ' ', behind = at[length];
    bool part = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
                (before >= '0' && before <= '9') || strchr("_%.", before) || behind == '.' ||
                (behind >= 'a' && behind <= 'z') || behind == '_';
    return part || length > 9 ? 0 : length;
}

static void replace_numbers(const char *text, int64_t old, int64_t new, size_t only,
                            tool_text *out) {
    tool_append("", 0, out);
    for (const char *at = text; *at;) {
        size_t length = number_length(text, at);
        char number[32];
        if (length && strtoll(at, NULL, 10) == old &&
            (only == SIZE_MAX || only == (size_t)(at - text))) {
            int written = snprintf(number, sizeof number, "%" PRId64, new);
            tool_append(number, (size_t)written, out);
        } else {
            tool_append(at, length ? length : 1, out);
        }
        at += length ? length : 1;
    }
}

/* Replaces a number everywhere, including the arguments, or only at one position of the text. */
static bool try_number(shrinker *s, int64_t old, int64_t new, size_t only) {
    shrink_case candidate = shrink_copy(&s->best);
    tool_text out = {NULL, 0, 0};
    replace_numbers(candidate.text, old, new, only, &out);
    free(candidate.text);
    candidate.text = out.data;
    for (unsigned i = 0; i < candidate.argument_count && only == SIZE_MAX; i++) {
        out = (tool_text){NULL, 0, 0};
        replace_numbers(candidate.arguments[i], old, new, SIZE_MAX, &out);
        free(candidate.arguments[i]);
        candidate.arguments[i] = out.data;
    }
    return shrink_try(s, candidate);
}

static bool lower(shrinker *s, int64_t number, size_t only) {
    return number > 1 &&
           (try_number(s, number, 1, only) || try_number(s, number, number / 2, only) ||
            (number < 8 && try_number(s, number, number - 1, only)));
}

/* Returns the largest number below `limit` that occurs; 0 if there is none. */
static int64_t largest_below(const shrink_case *c, int64_t limit) {
    int64_t largest = 0;
    for (unsigned i = 0; i <= c->argument_count; i++) {
        const char *text = i ? c->arguments[i - 1] : c->text;
        for (const char *at = text; *at;) {
            size_t length = number_length(text, at);
            int64_t number = length ? strtoll(at, NULL, 10) : 0;
            if (number < limit && number > largest) largest = number;
            at += length ? length : 1;
        }
    }
    return largest;
}

static bool lower_arguments(shrinker *s) {
    bool smaller = false;
    for (unsigned i = 0; i < s->best.argument_count; i++) {
        const char *equals = strchr(s->best.arguments[i], '=');
        int64_t number = equals ? strtoll(equals + 1, NULL, 10) : 0;
        for (int64_t to = 1; number > 1 && to < number;
             to = to < number / 2 ? number / 2 : number) {
            char text[128];
            shrink_case candidate = shrink_copy(&s->best);
            snprintf(text, sizeof text, "%.*s=%" PRId64, (int)(equals - s->best.arguments[i]),
                     s->best.arguments[i], to);
            free(candidate.arguments[i]);
            candidate.arguments[i] = tool_copy(text, strlen(text));
            if (!shrink_try(s, candidate)) continue;
            smaller = true;
            break;
        }
    }
    return smaller;
}

bool shrink_numbers(shrinker *s) {
    bool smaller = false;
    for (int64_t number = largest_below(&s->best, INT64_MAX); number > 1;
         number = largest_below(&s->best, number))
        smaller |= lower(s, number, SIZE_MAX);
    smaller |= lower_arguments(s);
    for (size_t at = 0; s->best.text[at];) {
        size_t length = number_length(s->best.text, s->best.text + at);
        int64_t number = length ? strtoll(s->best.text + at, NULL, 10) : 0;
        if (lower(s, number, at))
            smaller = true;
        else
            at += length ? length : 1;
    }
    return smaller;
}
