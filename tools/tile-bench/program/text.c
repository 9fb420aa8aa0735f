#include "tools/tile-bench/program/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"

/* Copies the piece without blanks. False if it is empty or too long. */
static bool copy_dense(const char *from, size_t length, char *to, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if (isspace((unsigned char)from[i])) continue;
        if (at + 1 == size) return false;
        to[at++] = from[i];
    }
    to[at] = 0;
    return at > 0;
}

static bool add(bench_settings *s, const char *text, size_t length) {
    const char *equal = memchr(text, '=', length);
    bench_setting made;
    if (!equal || !copy_dense(text, (size_t)(equal - text), made.name, sizeof made.name) ||
        !copy_dense(equal + 1, length - (size_t)(equal + 1 - text), made.value, sizeof made.value))
        return false;
    unsigned i = 0;
    while (i < s->count && strcmp(s->list[i].name, made.name) != 0) i++;
    if (i == BENCH_MAX_WORDS_OF_PROGRAM) return false;
    s->list[i] = made;
    s->count += i == s->count;
    return true;
}

bool bench_settings_add(bench_settings *settings, const char *text) {
    return add(settings, text, strlen(text));
}

const char *bench_settings_find(const bench_settings *settings, const char *name) {
    for (unsigned i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].name, name) == 0) return settings->list[i].value;
    return NULL;
}

/* Commas inside of parentheses do not separate. */
static size_t piece_length(const char *at) {
    size_t length = 0;
    for (int depth = 0; at[length] && at[length] != '\n'; length++) {
        depth += at[length] == '(';
        depth -= at[length] == ')';
        if (at[length] == ',' && depth == 0) break;
    }
    return length;
}

static bool add_list(bench_settings *s, const char *at) {
    for (;;) {
        size_t length = piece_length(at);
        if (!add(s, at, length)) return false;
        if (at[length] != ',') return true;
        at += length + 1;
    }
}

static bool take_line(const char *line, bench_text_facts *facts) {
    static const char small[] = "// small:", fill[] = "// fill:", precision[] = "// precision:";
    if (strncmp(line, small, sizeof small - 1) == 0)
        return add_list(&facts->small, line + sizeof small - 1);
    if (strncmp(line, fill, sizeof fill - 1) == 0)
        return add_list(&facts->fills, line + sizeof fill - 1);
    if (strncmp(line, precision, sizeof precision - 1) == 0) {
        line += sizeof precision - 1;
        line += strspn(line, " ");
        facts->allows_tf32 = strncmp(line, "tf32\n", 5) == 0;
        return facts->allows_tf32;
    }
    return true;
}

bool bench_text_read(const char *path, bench_text_facts *facts) {
    size_t size;
    unsigned number = 1;
    char *text = tool_read_file(path, &size);
    *facts = (bench_text_facts){.allows_tf32 = false};
    bool ok = text != NULL;
    for (const char *line = text; ok && *line; number++) {
        const char *end = strchr(line, '\n');
        ok = take_line(line, facts);
        if (!ok)
            fprintf(stderr,
                    "error: %s:%u: the comment has another form; write `// small: NAME = NUMBER, "
                    "..`, `// fill: NAME = KIND, ..` or `// precision: tf32`\n",
                    path, number);
        if (!end) break;
        line = end + 1;
    }
    free(text);
    return ok;
}

void bench_text_stem(const char *path, char *stem, unsigned size) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(stem, size, "%.*s", (int)strcspn(name, "."), name);
}

void bench_text_class(const char *path, char *name, unsigned size) {
    const char *slash = strrchr(path, '/'), *begin = slash;
    while (begin && begin > path && begin[-1] != '/') begin--;
    snprintf(name, size, "%.*s", slash ? (int)(slash - begin) : 0, slash ? begin : "");
}
