/* Large arrays repeat a pattern whose length is a prime number of elements: generating each element
 * of a matrix at random takes longer than tuning. No extent is a multiple of that prime, so rows
 * differ. */
#include "runtime/tune/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/integer.h"

enum { PERIOD = 1000003, ALIGNMENT = 256, POISON = 0xff };

/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled").
 */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static double next_unit(uint64_t *state) {
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* -1, 0 or 1 if density is above 0; otherwise uniform in (-1/2, 1/2). */
static double next_value(uint64_t *state, double density) {
    if (density <= 0) return next_unit(state) - 0.5;
    if (next_unit(state) >= density) return 0;
    return next_random(state) >> 63 ? 1 : -1;
}

static void fill_pattern(unsigned char *data, size_t bytes, tile_scalar scalar, uint64_t seed,
                         double density) {
    size_t size = tile_scalar_bytes(scalar), count = bytes / size;
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    size_t made = count < PERIOD ? count : PERIOD;
    for (size_t i = 0; i < made; i++)
        tile_scalar_write(scalar, data + i * size, next_value(&state, density));
    for (size_t done = made * size, piece; done < count * size; done += piece) {
        piece = count * size - done < done ? count * size - done : done;
        memcpy(data + done, data, piece);
    }
}

/* A sum of n products of -1, 0, 1 with density q has the standard deviation q sqrt(n). Eight
 * standard deviations must stay below the limit. */
static double exact_sum_density(double depth, double limit) {
    double density = limit / (8 * sqrt(depth));
    return density < 2.0 / 3 ? density : 2.0 / 3;
}

static tile_status measure_array(tune_array *a, const tile_abi *abi, unsigned index,
                                 const int64_t *sizes, int64_t elements, double *depth) {
    const tile_abi_arg *arg = tile_abi_arg_at(abi, index);
    int64_t before = 0, behind = elements, extents[TILE_MAX_RANK], strides[TILE_MAX_RANK];
    tile_status status = TILE_OK;
    a->scalar = arg->type->scalar;
    if (arg->type->kind == TILE_TYPE_PTR) {
        behind *= tile_scalar_bytes(a->scalar);
        if ((double)elements > *depth) *depth = (double)elements;
    } else {
        status = tile_abi_view_bytes(abi, index, sizes, &before, &behind);
        if (status == TILE_OK) status = tile_abi_view_shape(abi, index, sizes, extents, strides);
        for (unsigned d = 0; d < arg->type->rank && status == TILE_OK; d++)
            if ((double)extents[d] > *depth) *depth = (double)extents[d];
    }
    if (status != TILE_OK) return status;
    a->offset = (size_t)tile_round_up(before, ALIGNMENT);
    a->bytes = a->offset + (size_t)(behind > 0 ? behind : 0);
    if (!a->bytes) a->bytes = tile_scalar_bytes(a->scalar);
    return TILE_OK;
}

/* Copies the caller's contents, or fills in random integers. */
static void fill_host(tune_array *a, const tile_tune_argument *given, uint64_t seed, double density,
                      bool tuned) {
    a->host = tile_malloc(a->bytes);
    memset(a->host, 0, a->bytes);
    if (tuned && given->data && given->bytes)
        memcpy(a->host, given->data, given->bytes < a->bytes ? given->bytes : a->bytes);
    else if (a->role & TUNE_READ)
        fill_pattern(a->host, a->bytes, a->scalar, seed, density);
}

/* Timed launches use random floats unless the caller gave the contents: at its power limit a GPU is
 * faster on numbers with few bits set. */
static tile_status make_random(tune_array *a, tile_device *device, const tile_tune_argument *given,
                               uint64_t seed) {
    if (a->role != TUNE_READ || given->data || !tile_scalar_is_floating(a->scalar)) return TILE_OK;
    tile_status status = tile_buffer_create(device, a->bytes, &a->random);
    if (status != TILE_OK) return status;
    unsigned char *data = tile_malloc(a->bytes);
    fill_pattern(data, a->bytes, a->scalar, seed, 0);
    status = tile_buffer_write(a->random, 0, data, a->bytes);
    free(data);
    return status;
}

static tile_status make_array(tune_shape *s, unsigned i, tile_device *device, double density,
                              bool tuned) {
    tune_array *a = &s->arrays[i];
    const tile_tune_argument *given = &s->task->arguments[i];
    uint64_t seed = s->task->seed * TILE_MAX_ARGUMENTS + i;
    tile_status status = tile_buffer_create(device, a->bytes, &a->buffer);
    if (status != TILE_OK) return status;
    if (a->role != TUNE_WRITTEN) {
        fill_host(a, given, seed, density, tuned);
        status = tile_buffer_write(a->buffer, 0, a->host, a->bytes);
    }
    if (status == TILE_OK && tuned) status = make_random(a, device, given, seed + 1);
    s->arguments[i].buffer = a->buffer;
    s->timed[i].buffer = a->random ? a->random : a->buffer;
    s->arguments[i].offset = s->timed[i].offset = a->offset;
    return status;
}

tile_status tune_shape_open(tune_shape *s, tile_device *device, const tune_task *task,
                            const tile_abi *abi, const int64_t *sizes, const unsigned *roles,
                            double limit, bool tuned) {
    double depth = 1;
    tile_status status = TILE_OK;
    *s = (tune_shape){.task = task};
    memcpy(s->sizes, sizes, sizeof *sizes * task->argument_count);
    for (unsigned i = 0; i < task->argument_count && status == TILE_OK; i++) {
        s->arguments[i] = (tile_argument){.integer = sizes[i], .number = task->arguments[i].number};
        s->timed[i] = s->arguments[i];
        s->arrays[i].role = roles[i];
        if (tile_type_is_address(tile_abi_arg_at(abi, i)->type))
            status =
                measure_array(&s->arrays[i], abi, i, sizes, task->arguments[i].elements, &depth);
    }
    for (unsigned i = 0; i < task->argument_count && status == TILE_OK; i++)
        if (s->arrays[i].scalar)
            status = make_array(s, i, device, exact_sum_density(depth, limit), tuned);
    return status;
}

void tune_shape_close(tune_shape *s) {
    for (unsigned i = 0; s->task && i < s->task->argument_count; i++) {
        tile_buffer_destroy(s->arrays[i].buffer);
        tile_buffer_destroy(s->arrays[i].random);
        free(s->arrays[i].host);
    }
    *s = (tune_shape){.task = NULL};
}

static tile_status poison(const tune_array *a) {
    tile_device *device = a->buffer->device;
    return device->ops->fill(device, a->buffer->address, POISON, a->bytes);
}

tile_status tune_shape_reset(tune_shape *s) {
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < s->task->argument_count && status == TILE_OK; i++) {
        const tune_array *a = &s->arrays[i];
        if (!a->scalar || a->role == TUNE_READ) continue;
        status = a->role == TUNE_WRITTEN ? poison(a)
                                         : tile_buffer_write(a->buffer, 0, a->host, a->bytes);
    }
    return status;
}
