#include "tools/tile-bench/program/arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"
#include "tools/tile-bench/common/statistics.h"

/* The file ---------------------------------------------------------------------------------- */

bool bench_numbers_write(const char *path) {
    float *numbers = malloc(sizeof *numbers * BENCH_NUMBERS);
    uint64_t state = 33;
    if (!numbers) abort();
    for (size_t i = 0; i < BENCH_NUMBERS; i++)
        numbers[i] = (float)((double)bench_random(&state, 1 << 24) * 0x1p-23 - 1);
    bool ok = tool_write_file(path, (const char *)numbers, sizeof *numbers * BENCH_NUMBERS);
    free(numbers);
    return ok;
}

float *bench_numbers_read(const char *path) {
    size_t size;
    char *data = tool_read_file(path, &size);
    float *numbers = data && size == sizeof *numbers * BENCH_NUMBERS ? malloc(size) : NULL;
    if (numbers) memcpy(numbers, data, size);
    if (data && !numbers) fprintf(stderr, "error: %s: the file has %zu bytes\n", path, size);
    free(data);
    return numbers;
}

/* Shapes ------------------------------------------------------------------------------------ */

size_t program_array_count(const program_array *a) {
    size_t count = 1;
    for (unsigned d = 0; d < a->shape.rank; d++) count *= (size_t)a->shape.dims[d];
    return count;
}

size_t program_array_bytes(const program_array *a) {
    return a->elements * tile_scalar_bytes(a->shape.scalar);
}

size_t program_array_place(const program_array *a, size_t element) {
    size_t place = 0;
    for (unsigned d = a->shape.rank; d-- > 0;) {
        size_t extent = (size_t)a->shape.dims[d];
        place += element % extent * (size_t)a->strides[d];
        element /= extent;
    }
    return place;
}

/* Kinds ------------------------------------------------------------------------------------- */

static const char *set_bound(program_array *a, const char *text, const program_array *all,
                             unsigned count) {
    char name[48];
    unsigned dim;
    if (sscanf(text, "(%47[^,],%u)", name, &dim) != 2)
        return "`index` takes an array and a dim, as in index(x, 1)";
    for (unsigned i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0 && dim < all[i].shape.rank) {
            a->bound = all[i].shape.dims[dim];
            return NULL;
        }
    return "`index` names no array of the program, or a dim that it does not have";
}

const char *program_array_set_kind(program_array *a, const bench_settings *fills,
                                   const program_array *all, unsigned count) {
    static const char *const kinds[] = {"uniform", "positive", "mask", "index"};
    const char *text = bench_settings_find(fills, a->name);
    if (!text) text = tile_scalar_is_floating(a->shape.scalar) ? "uniform" : "mask";
    size_t length = strcspn(text, "(*");
    a->factor = 1;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i]) != length || strncmp(text, kinds[i], length) != 0) continue;
        memcpy(a->kind, kinds[i], length + 1);
        const char *star = strchr(text, '*');
        if (star) a->factor = (float)strtod(star + 1, NULL);
        return strcmp(a->kind, "index") == 0 ? set_bound(a, text + length, all, count) : NULL;
    }
    return "`// fill:` takes uniform, positive, mask or index(ARRAY, DIM), and `* NUMBER` after it";
}

/* In f32, one operation at a time, as the peer does it. */
static double number_of(const program_array *a, float u) {
    float half = u * 0.5f, one = half + 1.0f, part = half + 0.5f;
    if (strcmp(a->kind, "mask") == 0) return u < 0 ? 0 : 1;
    if (strcmp(a->kind, "index") == 0) {
        double index = floor((double)part * (double)a->bound);
        return index < (double)a->bound ? index : (double)(a->bound - 1);
    }
    float value = strcmp(a->kind, "positive") == 0 ? one : u;
    return (double)(value * (float)a->factor);
}

void program_array_make(const program_array *a, unsigned index, const float *numbers, size_t count,
                        char *data) {
    const size_t width = tile_scalar_bytes(a->shape.scalar);
    size_t at = (size_t)index * BENCH_SHIFT % BENCH_NUMBERS;
    for (size_t i = 0; i < count; i++) {
        tile_scalar_write(a->shape.scalar, data + i * width, number_of(a, numbers[at]));
        at = at + 1 == BENCH_NUMBERS ? 0 : at + 1;
    }
}
