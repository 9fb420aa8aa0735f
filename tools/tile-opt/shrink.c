/* Helpers of the shrinking steps, and the order of the steps. */
#include "tools/tile-opt/shrink.h"

#include <stdlib.h>
#include <string.h>

shrink_case shrink_copy(const shrink_case *from) {
    shrink_case copy = {.text = tool_copy(from->text, strlen(from->text)),
                        .pipeline = tool_copy(from->pipeline, strlen(from->pipeline)),
                        .argument_count = from->argument_count};
    for (unsigned i = 0; i < copy.argument_count; i++)
        copy.arguments[i] = tool_copy(from->arguments[i], strlen(from->arguments[i]));
    return copy;
}

void shrink_free(shrink_case *c) {
    free(c->text);
    free(c->pipeline);
    for (unsigned i = 0; i < c->argument_count; i++) free(c->arguments[i]);
    *c = (shrink_case){0};
}

static bool is_same(const shrink_case *a, const shrink_case *b) {
    bool same = strcmp(a->text, b->text) == 0 && strcmp(a->pipeline, b->pipeline) == 0 &&
                a->argument_count == b->argument_count;
    for (unsigned i = 0; same && i < a->argument_count; i++)
        same = strcmp(a->arguments[i], b->arguments[i]) == 0;
    return same;
}

bool shrink_try(shrinker *s, shrink_case candidate) {
    bool kept =
        !s->is_over(s->user) && !is_same(&s->best, &candidate) && s->test(&candidate, s->user);
    shrink_case gone = kept ? s->best : candidate;
    if (kept) s->best = candidate;
    s->shrunk += kept;
    shrink_free(&gone);
    return kept;
}

void shrink(shrinker *s) {
    bool smaller = true;
    while (smaller && !s->is_over(s->user)) {
        smaller = shrink_passes(s);
        smaller |= shrink_functions(s);
        smaller |= shrink_lines(s);
        smaller |= shrink_arguments(s);
        smaller |= shrink_numbers(s);
    }
}

/* Names --------------------------------------------------------------------------------------- */

static bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t shrink_name_length(const char *at) {
    size_t length = 1;
    if (*at != '%') return 0;
    while (is_name_character(at[length])) length++;
    return length > 1 ? length : 0;
}

void shrink_add_name(shrink_names *to, const char *name, size_t length, const char *value,
                     size_t value_length) {
    to->names = realloc(to->names, (to->count + 1) * sizeof *to->names);
    to->values = realloc(to->values, (to->count + 1) * sizeof *to->values);
    if (!to->names || !to->values) exit(1);
    to->names[to->count] = tool_copy(name, length);
    to->values[to->count++] = value ? tool_copy(value, value_length) : NULL;
}

void shrink_free_names(shrink_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->names[i]);
        free(names->values[i]);
    }
    free(names->names);
    free(names->values);
    *names = (shrink_names){0};
}

size_t shrink_find_name(const shrink_names *names, const char *name, size_t length) {
    size_t i = 0;
    while (i < names->count &&
           (strlen(names->names[i]) != length || memcmp(names->names[i], name, length) != 0))
        i++;
    return i;
}

/* True if one of the names occurs before `end`. */
static bool mentions(const char *at, const char *end, const shrink_names *names) {
    for (; at < end; at++) {
        size_t length = shrink_name_length(at);
        if (length && shrink_find_name(names, at, length) < names->count) return true;
        if (length) at += length - 1;
    }
    return false;
}

void shrink_append(tool_text *to, const char *at, const char *end, const shrink_names *names) {
    while (at < end) {
        size_t length = shrink_name_length(at);
        size_t i = length ? shrink_find_name(names, at, length) : names->count;
        if (i < names->count && names->values[i])
            tool_append(names->values[i], strlen(names->values[i]), to);
        else
            tool_append(at, length ? length : 1, to);
        at += length ? length : 1;
    }
}

/* Lines --------------------------------------------------------------------------------------- */

const char *shrink_line_end(const char *line) {
    line += strcspn(line, "\n");
    return line + (*line != 0);
}

static int depth_of(const char *line, const char *end) {
    int depth = 0;
    for (; line < end; line++) depth += (*line == '{') - (*line == '}');
    return depth;
}

const char *shrink_unit_end(const char *line) {
    const char *end = shrink_line_end(line);
    for (int depth = depth_of(line, end); depth > 0 && *end;) {
        const char *next = shrink_line_end(end);
        depth += depth_of(end, next);
        end = next;
    }
    return end;
}

/* Adds the names to the left of ` = ` at the start of a line. */
static void add_defined(const char *line, shrink_names *to) {
    const char *at = line + strspn(line, " ");
    size_t length;
    while ((length = shrink_name_length(at))) {
        if (shrink_find_name(to, at, length) == to->count) shrink_add_name(to, at, length, NULL, 0);
        at += length;
        at += strspn(at, ", ");
    }
}

char *shrink_without(const char *text, const char *from, const char *to, shrink_names *gone) {
    tool_text kept = {NULL, 0, 0};
    for (const char *line = from; line < to; line = shrink_line_end(line)) add_defined(line, gone);
    for (size_t before = 0; before != gone->count || !kept.data;) {
        before = gone->count;
        kept.size = 0;
        tool_append("", 0, &kept);
        for (const char *line = text; *line;) {
            const char *end = shrink_line_end(line), *at = line + strspn(line, " ");
            bool inside = line >= from && line < to;
            bool statement = *line == ' ' && *at != '}' && strncmp(at, "yield", 5) != 0;
            if (!inside && statement && gone->count && mentions(line, end, gone)) {
                end = shrink_unit_end(line);
                for (const char *in = line; in < end; in = shrink_line_end(in))
                    add_defined(in, gone);
            } else if (!inside) {
                tool_append(line, (size_t)(end - line), &kept);
            }
            line = end;
        }
    }
    return kept.data;
}
