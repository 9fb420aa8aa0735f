/* Shapes by name, from files, and from the command line. */
#include "tools/tile-bench/measure/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"

static const bench_shape_list product_lists[] = {
#define SHAPES(name, shapes, meaning) {#name, shapes, meaning},
#include "tools/tile-bench/measure/shapes.def"
#undef SHAPES
    {0},
};

static const bench_shape_list attention_lists[] = {
#define SHAPES(name, shapes, meaning) {#name, shapes, meaning},
#include "tools/tile-bench/attention/shapes.def"
#undef SHAPES
    {0},
};

const bench_shape_form bench_product_shapes = {
    .count = 3,
    .words = "m,n,k are three numbers",
    .sample = "16,4096,14336",
    .lists = product_lists,
};

const bench_shape_form bench_attention_shapes = {
    .count = 6,
    .flag = "causal",
    .words = "batch,heads,groups,m,n,d[,causal] begin with six numbers",
    .sample = "1,16,16,4096,4096,128,causal",
    .lists = attention_lists,
};

static const bench_shape_list no_lists[] = {{0}};

const bench_shape_form bench_rows_shapes = {
    .count = 2,
    .words = "m,n are two numbers",
    .sample = "8192,4096",
    .lists = no_lists,
};

/* Larger arrays than 2^40 elements do not fit a machine, and no product below overflows. */
enum { LARGEST_EXTENT = 1 << 20 };

static bool refuse(const bench_shapes *to, const char *text, size_t length) {
    fprintf(stderr, "error: '%.*s' is no shape: %s from 1 to %d, as in %s\n", (int)length, text,
            to->form->words, LARGEST_EXTENT, to->form->sample);
    return false;
}

static void append(bench_shapes *to, const int64_t shape[BENCH_MAX_EXTENTS]) {
    to->shapes = realloc(to->shapes, (to->count + 1) * sizeof *to->shapes);
    if (!to->shapes) abort();
    memcpy(to->shapes[to->count++], shape, sizeof *to->shapes);
}

static bool add(bench_shapes *to, const char *text, size_t length) {
    int64_t shape[BENCH_MAX_EXTENTS] = {0};
    const bench_shape_form *form = to->form;
    const char *at = text, *end = text + length;
    for (unsigned d = 0; d < form->count; d++) {
        char *behind;
        shape[d] = strtoll(at, &behind, 10);
        bool last = d + 1 == form->count;
        bool flagged = last && form->flag && behind < end && *behind == ',' &&
                       (size_t)(end - behind - 1) == strlen(form->flag) &&
                       strncmp(behind + 1, form->flag, strlen(form->flag)) == 0;
        bool ended =
            last ? behind == end || flagged : behind < end && strchr(",x", *behind) != NULL;
        if (behind == at || !ended || shape[d] < 1 || shape[d] > LARGEST_EXTENT)
            return refuse(to, text, length);
        if (flagged) shape[d + 1] = 1;
        at = behind + 1;
    }
    append(to, shape);
    return true;
}

void bench_shapes_repeat(bench_shapes *to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t shape[BENCH_MAX_EXTENTS];
        memcpy(shape, to->shapes[i], sizeof shape);
        append(to, shape);
    }
}

bool bench_shapes_add(bench_shapes *to, const char *text) {
    return add(to, text, strlen(text));
}

static bool add_words(bench_shapes *to, const char *text) {
    static const char blanks[] = " \t\r\n";
    while (*(text += strspn(text, blanks))) {
        size_t length = strcspn(text, *text == '#' ? "\n" : " \t\r\n#");
        if (*text != '#' && !add(to, text, length)) return false;
        text += length;
    }
    return true;
}

bool bench_shapes_add_list(bench_shapes *to, const char *name) {
    for (const bench_shape_list *list = to->form->lists; list->name; list++)
        if (strcmp(list->name, name) == 0) return add_words(to, list->shapes);
    size_t size, before = to->count;
    char *text = tool_read_file(name, &size);
    bool ok = text && add_words(to, text);
    free(text);
    if (ok && to->count == before) {
        fprintf(stderr, "error: %s: there are no shapes in it\n", name);
        return false;
    }
    return ok;
}

void bench_shapes_describe(const bench_shape_form *form) {
    for (const bench_shape_list *list = form->lists; list->name; list++)
        printf("                          %-8s %s\n", list->name, list->meaning);
}
