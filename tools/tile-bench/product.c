/* Shapes, types and sizes of products. */
#include "tools/tile-bench/product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types --------------------------------------------------------------------------------------- */

static const bench_type types[] = {
#define TYPE(name, operand, result, a, c, compute, scale, p80, p86, p89, p90) \
    {#name, TILE_##operand, TILE_##result, a, c, compute, scale, {p80, p86, p89, p90}},
#include "tools/tile-bench/types.def"
#undef TYPE
};

const bench_type *bench_type_at(unsigned index) {
    return index < sizeof types / sizeof *types ? &types[index] : NULL;
}

const bench_type *bench_type_find(const char *name) {
    for (unsigned i = 0; bench_type_at(i); i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

unsigned bench_type_peak(const bench_type *type, unsigned capability) {
    switch (capability) {
    case 80: return type->peak[0];
    case 86: return type->peak[1];
    case 89: return type->peak[2];
    case 90: return type->peak[3];
    default: return 0;
    }
}

static const char *const trans_names[2][2] = {{"NN", "NT"}, {"TN", "TT"}};

bool bench_read_trans(const char *text, bench_product *product) {
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            if (strcmp(text, trans_names[a][b]) == 0) {
                product->transposed_a = a;
                product->transposed_b = b;
                return true;
            }
    return false;
}

const char *bench_trans_name(const bench_product *product) {
    return trans_names[product->transposed_a][product->transposed_b];
}

/* What products of this type are summed in. */
static const char *sum_name(const bench_type *type) {
    tile_scalar sum = type->operand == TILE_f64                ? TILE_f64
                      : tile_scalar_is_floating(type->operand) ? TILE_f32
                                                               : TILE_i32;
    return tile_scalar_name(sum);
}

static bool put(char **to, size_t *room, const char *text, size_t length) {
    if (length >= *room) return false;
    memcpy(*to, text, length);
    *to += length;
    *room -= length;
    **to = 0;
    return true;
}

bool bench_product_fill(const bench_product *p, const char *text, char *filled, size_t size) {
    char depth[8];
    snprintf(depth, sizeof depth, "%u", 128 / tile_scalar_bytes(p->type->operand));
    static const char *const small[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
    const struct {
        const char *word, *value;
    } words[] = {{"{type}", tile_scalar_name(p->type->operand)},
                 {"{result}", tile_scalar_name(p->type->result)},
                 {"{sum}", sum_name(p->type)},
                 {"{depth}", depth},
                 {"{trans}", small[p->transposed_a][p->transposed_b]}};
    bool fits = put(&filled, &size, "", 0);
    while (fits && *text) {
        size_t w = 0, count = sizeof words / sizeof *words;
        while (w < count && strncmp(text, words[w].word, strlen(words[w].word)) != 0) w++;
        const char *value = w < count ? words[w].value : text;
        fits = put(&filled, &size, value, w < count ? strlen(value) : 1);
        text += w < count ? strlen(words[w].word) : 1;
    }
    return fits;
}

double bench_product_flop(const bench_product *product) {
    return 2.0 * (double)product->m * (double)product->n * (double)product->k;
}

double bench_product_read_bytes(const bench_product *product) {
    return (double)tile_scalar_bytes(product->type->operand) * (double)product->k *
           ((double)product->m + (double)product->n);
}

double bench_product_budget(const bench_product *p, double asked) {
    if (asked >= 0) return asked;
    double elements =
        (double)p->m * (double)p->k + (double)p->k * (double)p->n + (double)p->m * (double)p->n;
    return 4 + 5e-8 * elements;
}

/* Shapes -------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *shapes, *meaning;
} lists[] = {
#define SHAPES(name, shapes, meaning) {#name, shapes, meaning},
#include "tools/tile-bench/shapes.def"
#undef SHAPES
};

/* Arrays of 2^40 elements are for other machines, and no product below overflows. */
enum { LARGEST_EXTENT = 1 << 20 };

static bool add(bench_shapes *to, const char *text, size_t length) {
    int64_t shape[3];
    const char *at = text, *end = text + length;
    for (int d = 0; d < 3; d++) {
        char *behind;
        shape[d] = strtoll(at, &behind, 10);
        bool ended = d == 2 ? behind == end : behind < end && strchr(",x", *behind);
        if (behind == at || !ended || shape[d] < 1 || shape[d] > LARGEST_EXTENT) {
            fprintf(stderr,
                    "error: '%.*s' is no shape: m,n,k are three numbers from 1 to %d, as in "
                    "16,4096,14336\n",
                    (int)length, text, LARGEST_EXTENT);
            return false;
        }
        at = behind + 1;
    }
    to->shapes = realloc(to->shapes, (to->count + 1) * sizeof *to->shapes);
    if (!to->shapes) abort();
    memcpy(to->shapes[to->count++], shape, sizeof shape);
    return true;
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
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].name, name) == 0) return add_words(to, lists[i].shapes);
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

void bench_shapes_describe(void) {
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        printf("                          %-8s %s\n", lists[i].name, lists[i].meaning);
}
