/* Drops statements, replaces loops and branches by their regions, and values by other values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-opt/shrink.h"

/* Tries a candidate that differs from the best case only in its text. */
static bool try_text(shrinker *s, char *text) {
    shrink_case candidate = shrink_copy(&s->best);
    free(candidate.text);
    candidate.text = text;
    return shrink_try(s, candidate);
}

/* Statements ---------------------------------------------------------------------------------- */

static bool is_statement(const char *line) {
    const char *at = line + strspn(line, " ");
    return *line == ' ' && *at != '}' && strncmp(at, "yield", 5) != 0 &&
           strncmp(line, "    grid", 8) != 0 && strncmp(line, "    warps", 9) != 0;
}

/* Returns the starts of all statements of the text, outer ones before the ones inside. The caller
 * frees the list. */
static const char **find_statements(const char *text, size_t *count) {
    size_t capacity = 16;
    const char **found = malloc(capacity * sizeof *found);
    *count = 0;
    for (const char *line = text; found && *line; line = shrink_line_end(line)) {
        if (!is_statement(line)) continue;
        if (*count == capacity) found = realloc(found, (capacity *= 2) * sizeof *found);
        if (found) found[(*count)++] = line;
    }
    if (!found) exit(1);
    return found;
}

/* Starts with the last statements, whose values are unused. */
static bool drop_statements(shrinker *s) {
    bool smaller = false;
    size_t count;
    const char **starts = find_statements(s->best.text, &count);
    for (size_t chunk = count / 2 ? count / 2 : 1; chunk; chunk /= 2) {
        for (size_t end = count; end > 0;) {
            size_t begin = end > chunk ? end - chunk : 0;
            shrink_names gone = {0};
            const char *to = shrink_unit_end(starts[end - 1]);
            bool dropped = try_text(s, shrink_without(s->best.text, starts[begin], to, &gone));
            shrink_free_names(&gone);
            end = begin;
            if (!dropped) continue;
            smaller = true;
            free(starts);
            starts = find_statements(s->best.text, &count);
            if (end > count) end = count;
        }
    }
    free(starts);
    return smaller;
}

/* Regions ------------------------------------------------------------------------------------- */

/* Binds the comma-separated names or numbers starting at `at` to the names in `of`. */
static void match(const char *of, const char *of_end, const char *at, const char *end,
                  shrink_names *to) {
    while (of < of_end && at < end) {
        of += strspn(of, ", ");
        at += strspn(at, ", ");
        size_t name = shrink_name_length(of), value = strcspn(at, ", \n)");
        if (!name || !value || at >= end) return;
        shrink_add_name(to, of, name, at, value);
        of += name;
        at += value;
    }
}

/* Matches %i = begin and iter (%x = init, ..) in a loop's first line. */
static void match_loop(const char *line, const char *end, shrink_names *to) {
    const char *at = strstr(line, "for %"), *iter = strstr(line, "iter (");
    if (at && at < end) {
        at += 4;
        size_t name = shrink_name_length(at);
        const char *value = at + name + strspn(at + name, " =");
        shrink_add_name(to, at, name, value, strcspn(value, " "));
    }
    if (!iter || iter > end) return;
    for (at = iter + 6; at < end && *at != ')';) {
        size_t name = shrink_name_length(at);
        const char *value = at + name + strspn(at + name, " =");
        size_t length = strcspn(value, ",)");
        if (!name) return;
        shrink_add_name(to, at, name, value, length);
        at = value + length;
        at += strspn(at, ", ");
    }
}

/* Resolves values that are themselves names in the list. */
static void resolve(shrink_names *names) {
    for (size_t i = 0; i < names->count; i++)
        for (unsigned round = 0; round < 8; round++) {
            size_t k = shrink_find_name(names, names->values[i], strlen(names->values[i]));
            if (k == names->count || k == i) break;
            char *value = tool_copy(names->values[k], strlen(names->values[k]));
            free(names->values[i]);
            names->values[i] = value;
        }
}

/* Returns the text with the unit at `line` replaced by its region that starts at `begin`. */
static char *unwrap(const char *text, const char *line, const char *begin) {
    shrink_names names = {0};
    tool_text out = {NULL, 0, 0};
    const char *unit_end = shrink_unit_end(line), *at = begin, *yield = NULL;
    match_loop(line, shrink_line_end(line), &names);
    while (at < unit_end) { /* up to the closing brace of this region */
        const char *word = at + strspn(at, " ");
        if (*word == '}') break;
        yield = strncmp(word, "yield", 5) == 0 ? word : NULL;
        at = shrink_unit_end(at);
    }
    const char *equals = strstr(line, " = "), *results = line + strspn(line, " ");
    if (yield && *results == '%' && equals && equals < shrink_line_end(line))
        match(results, equals, yield + 5, shrink_line_end(yield), &names);
    resolve(&names);
    tool_append(text, (size_t)(line - text), &out);
    const char *stop = yield ? yield : at;
    while (yield && stop > begin && stop[-1] == ' ') stop--;
    shrink_append(&out, begin, stop, &names);
    shrink_append(&out, unit_end, unit_end + strlen(unit_end), &names);
    shrink_free_names(&names);
    return out.data;
}

static bool unwrap_regions(shrinker *s) {
    bool smaller = false;
    for (size_t line = 0; s->best.text[line];) {
        const char *text = s->best.text, *at = text + line;
        const char *end = shrink_unit_end(at), *next = shrink_line_end(at);
        bool unwrapped = false;
        if (is_statement(at) && end > next) {
            unwrapped = try_text(s, unwrap(text, at, next));
            /* The other regions begin after `} else {` and the like. */
            for (const char *in = next; !unwrapped && in < end;) {
                const char *word = in + strspn(in, " ");
                const char *behind = *word == '}' ? shrink_line_end(in) : shrink_unit_end(in);
                if (*word == '}' && behind < end) unwrapped = try_text(s, unwrap(text, at, behind));
                in = behind;
            }
        }
        smaller |= unwrapped;
        if (!unwrapped) line = (size_t)(next - text);
    }
    return smaller;
}

/* Values -------------------------------------------------------------------------------------- */

/* Returns the type after the last " : " of a line, up to its end; NULL: there is none. */
static const char *type_of(const char *line, size_t *length) {
    const char *end = shrink_line_end(line), *found = NULL;
    if (end > line && end[-1] == '\n') end--;
    for (const char *at = line; at + 3 < end; at++)
        if (memcmp(at, " : ", 3) == 0) found = at + 3;
    *length = found ? (size_t)(end - found) : 0;
    return found;
}

static char *replace_value(const char *text, const char *line, const char *name, size_t length,
                           const char *value, size_t value_length) {
    shrink_names names = {0};
    tool_text out = {NULL, 0, 0};
    const char *end = shrink_line_end(line), *comma = name + length;
    shrink_add_name(&names, name, length, value, value_length);
    bool alone = strncmp(comma, " = ", 3) == 0;
    tool_append(text, (size_t)(line - text), &out);
    if (!alone) tool_append(line, (size_t)(end - line), &out);
    shrink_append(&out, end, end + strlen(end), &names);
    shrink_free_names(&names);
    return out.data;
}

/* Replaces a value by an operand whose type is the same, according to the line that defines it. */
static bool replace_by_operand(shrinker *s, const char *line, const char *name, size_t length) {
    const char *text = s->best.text, *end = shrink_line_end(line);
    size_t type_length, own_length;
    const char *type = type_of(line, &type_length);
    for (const char *at = strstr(line, " = "); type && at && at < end; at++) {
        size_t operand = shrink_name_length(at);
        if (!operand) continue;
        for (const char *def = text; def < line; def = shrink_line_end(def)) {
            const char *own = type_of(def, &own_length), *first = def + strspn(def, " ");
            if (own && own_length == type_length && memcmp(own, type, own_length) == 0 &&
                shrink_name_length(first) == operand && memcmp(first, at, operand) == 0)
                return try_text(s, replace_value(text, line, name, length, at, operand));
        }
        at += operand - 1;
    }
    return false;
}

/* Replaces a scalar by 0 or 1, a tile by zeros. */
static bool replace_by_constant(shrinker *s, const char *line, const char *name, size_t length) {
    size_t type_length;
    const char *text = s->best.text, *type = type_of(line, &type_length);
    if (!type || strstr(line, " = splat ") == name + length) return false;
    if (tile_scalar_from_name(type, type_length) != TILE_SCALAR_NONE) {
        tile_scalar scalar = tile_scalar_from_name(type, type_length);
        const char *zero = tile_scalar_is_floating(scalar) ? "0.0" : "0";
        const char *one = tile_scalar_is_floating(scalar) ? "1.0" : "1";
        return try_text(s, replace_value(text, line, name, length, zero, strlen(zero))) ||
               try_text(s, replace_value(text, line, name, length, one, strlen(one)));
    }
    if (strncmp(type, "tile<", 5) != 0 || strncmp(name + length, " = ", 3) != 0) return false;
    size_t scalar = strcspn(type + 5, "[");
    bool floating = tile_scalar_is_floating(tile_scalar_from_name(type + 5, scalar));
    tool_text out = {NULL, 0, 0};
    tool_append(text, (size_t)(name + length - text), &out);
    tool_append(" = splat ", 9, &out);
    tool_append(type + 5, scalar, &out);
    tool_append(floating ? "(0.0) : " : "(0) : ", floating ? 8 : 6, &out);
    tool_append(type, strlen(type), &out);
    return try_text(s, out.data);
}

static bool replace_values(shrinker *s) {
    bool smaller = false;
    for (size_t line = 0; s->best.text[line];) {
        const char *at = s->best.text + line, *name = at + strspn(at, " ");
        bool replaced = false;
        while (is_statement(at)) {
            size_t length = shrink_name_length(name);
            if (!length) break;
            replaced =
                replace_by_operand(s, at, name, length) || replace_by_constant(s, at, name, length);
            if (replaced) break; /* the text has changed; nothing left to look at */
            name += length;
            if (strncmp(name, ", ", 2) != 0) break;
            name += 2;
        }
        smaller |= replaced;
        line = (size_t)(shrink_line_end(s->best.text + line) - s->best.text);
    }
    return smaller;
}

/* Optional parts of a line --------------------------------------------------------------------- */

/* Drops {..} within a line. */
static bool drop_attributes(shrinker *s) {
    bool smaller = false;
    for (size_t at = 0; s->best.text[at]; at++) {
        const char *text = s->best.text, *open = text + at;
        size_t length = strcspn(open, "}\n");
        if (*open != '{' || open[length] != '}' || length < 2) continue;
        size_t begin = at && text[at - 1] == ' ' ? at - 1 : at;
        tool_text out = {NULL, 0, 0};
        tool_append(text, begin, &out);
        tool_append(open + length + 1, strlen(open + length + 1), &out);
        smaller |= try_text(s, out.data);
    }
    return smaller;
}

/* Drops lines of the head, except for the grid and the warps, which a kernel needs. */
static bool drop_clauses(shrinker *s) {
    bool smaller = false;
    for (size_t line = 0; s->best.text[line];) {
        const char *text = s->best.text, *at = text + line, *end = shrink_line_end(at);
        tool_text out = {NULL, 0, 0};
        bool dropped = false;
        if (*at == ' ' && at[2] == ' ') {
            tool_append(text, line, &out);
            tool_append(end, strlen(end), &out);
            dropped = try_text(s, out.data);
        }
        smaller |= dropped;
        if (!dropped) line = (size_t)(end - text);
        if (*s->best.text && strncmp(s->best.text + line, "{\n", 2) == 0) break;
    }
    return smaller;
}

bool shrink_lines(shrinker *s) {
    bool smaller = drop_statements(s);
    smaller |= unwrap_regions(s);
    smaller |= replace_values(s);
    smaller |= drop_attributes(s);
    return drop_clauses(s) || smaller;
}
