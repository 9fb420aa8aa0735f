/* Comments of the form `expected-error@+1 {{text}}`, and their comparison with what is reported. */
#include "tools/tile-opt/expect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"

static const char *const words[] = {"error", "warning", "remark", "note"};

static const char marker[] = "expected-";

static const char *line_end(const char *at) {
    return at + strcspn(at, "\n");
}

static const char *find_marker(const char *from, const char *to) {
    for (const char *at = from; (at = strstr(at, marker)) && at < to; at += sizeof marker - 1)
        for (unsigned s = 0; s < sizeof words / sizeof *words; s++)
            if (strncmp(at + sizeof marker - 1, words[s], strlen(words[s])) == 0) return at;
    return NULL;
}

static bool has_marker(const char *text, uint32_t line) {
    for (; line > 1 && *text; line--) {
        text = line_end(text);
        text += *text == '\n';
    }
    return find_marker(text, line_end(text)) != NULL;
}

static bool fail(expectations *e, uint32_t line, const char *message) {
    fprintf(stderr, "%s:%u: error: %s\n", e->file, line, message);
    e->failures++;
    return false;
}

/* Parses @+N, @-N, @above, @below, @unknown. Above and below skip lines that contain
 * expectations. */
static bool read_place(expectations *e, const char *text, const char **at, uint32_t line,
                       expectation *item) {
    item->line = line;
    if (**at != '@') return true;
    ++*at;
    if (**at == '+' || **at == '-') {
        char *end;
        long lines = strtol(*at, &end, 10);
        bool fits = end > *at + 1 && lines > -(long)line && lines < 1000000;
        *at = end;
        item->line = (uint32_t)((long)line + lines);
        return fits || fail(e, line, "a number of lines is expected after '@+' or '@-'");
    }
    if (strncmp(*at, "above", 5) == 0) {
        while (item->line > 1 && has_marker(text, --item->line)) {
        }
        *at += 5;
    } else if (strncmp(*at, "below", 5) == 0) {
        while (has_marker(text, ++item->line)) {
        }
        *at += 5;
    } else if (strncmp(*at, "unknown", 7) == 0) {
        item->line = 0;
        *at += 7;
    } else {
        return fail(e, line, "'@' takes +N, -N, above, below or unknown");
    }
    return true;
}

/* `at` points after "expected-" and is moved past the expectation. */
static bool read_one(expectations *e, const char *text, const char **at, uint32_t line) {
    expectation item = {.written = line};
    unsigned s = 0;
    while (strncmp(*at, words[s], strlen(words[s])) != 0) s++;
    item.severity = (tile_severity)s;
    *at += strlen(words[s]);
    if (!read_place(e, text, at, line, &item)) return false;
    while (**at == ' ') ++*at;
    const char *end = strncmp(*at, "{{", 2) == 0 ? strstr(*at, "}}") : NULL;
    if (!end || end > line_end(*at))
        return fail(e, line, "an expectation needs its text in {{...}} on the same line");
    item.text = *at + 2;
    item.length = (size_t)(end - item.text);
    *at = end + 2;
    if (e->count == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 16;
        e->items = realloc(e->items, e->capacity * sizeof *e->items);
        if (!e->items) exit(1);
    }
    e->items[e->count++] = item;
    return true;
}

expectations expect_read(const char *file, const char *text) {
    expectations e = {.file = file};
    uint32_t line = 1;
    for (const char *start = text; *start; line++) {
        const char *end = line_end(start), *at = start;
        while (at < end && (at = find_marker(at, end))) {
            at += sizeof marker - 1;
            read_one(&e, text, &at, line);
        }
        start = end + (*end == '\n');
    }
    return e;
}

static bool contains(const char *text, const char *part, size_t length) {
    for (; strlen(text) >= length; text++)
        if (memcmp(text, part, length) == 0) return true;
    return false;
}

void expect_diagnostic(const tile_diagnostic *d, void *user) {
    expectations *e = user;
    uint32_t line = strcmp(d->file, e->file) == 0 ? d->line : 0;
    for (size_t i = 0; i < e->count; i++) {
        expectation *item = &e->items[i];
        if (item->met || item->severity != d->severity || item->line != line ||
            !contains(d->message, item->text, item->length))
            continue;
        item->met = true;
        return;
    }
    fprintf(stderr, "unexpected: ");
    tile_diagnostic_print(d, tool_write, stderr);
    e->failures++;
}

bool expect_finish(expectations *e) {
    for (size_t i = 0; i < e->count; i++) {
        const expectation *item = &e->items[i];
        if (item->met) continue;
        fprintf(stderr, "%s:%u: error: expected %s \"%.*s\" was not reported\n", e->file,
                item->written, words[item->severity], (int)item->length, item->text);
        e->failures++;
    }
    free(e->items);
    e->items = NULL;
    return e->failures == 0;
}
