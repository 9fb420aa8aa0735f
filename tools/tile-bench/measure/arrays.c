/* Allocates, fills and frees the arrays of a problem. */
#include "tools/tile-bench/measure/arrays.h"

#include <stdlib.h>

#include "tools/tile-bench/attention/pages.h"

void bench_arrays_free(bench_lab *lab, bench_arrays *a) {
    for (unsigned i = 0; i < a->count; i++) bench_memory_destroy(lab, &a->memory[i]);
    a->count = 0;
    a->is_filled = false;
}

void bench_arrays_destroy(bench_lab *lab, bench_arrays *a) {
    bench_arrays_free(lab, a);
    bench_operands_free(&a->operands);
    bench_pattern_destroy(a->pattern);
    a->pattern = NULL;
}

static size_t bytes_of(const bench_array *array) {
    return (size_t)bench_array_elements(array) * tile_scalar_bytes(array->scalar);
}

static tile_status fill_constant(const bench_array *array, tile_buffer *buffer) {
    size_t width = tile_scalar_bytes(array->scalar), bytes = bytes_of(array);
    char *data = malloc(bytes);
    if (!data) return TILE_FAILED;
    const size_t last = array->role == BENCH_SCALES ? (size_t)array->extents[array->rank - 1] : 1;
    for (size_t i = 0; i * width < bytes; i++)
        tile_scalar_write(array->scalar, data + i * width,
                          array->role == BENCH_SCALES && i % last % 2 == 0 ? 1 : array->value);
    tile_status status = tile_buffer_write(buffer, 0, data, bytes);
    free(data);
    return status;
}

static tile_status write_table(const bench_attention *a, tile_buffer *buffer) {
    int32_t *table = bench_pages_table(a);
    size_t bytes = (size_t)bench_pages_count(a) * sizeof *table;
    tile_status status = tile_buffer_write(buffer, 0, table, bytes);
    free(table);
    return status;
}

tile_status bench_arrays_allocate(bench_lab *lab, bench_arrays *a) {
    unsigned count = bench_problem_arrays(&a->problem, a->arrays);
    tile_status status = TILE_OK;
    while (status == TILE_OK && a->count < count) {
        unsigned i = a->count;
        status = bench_memory_create(lab, bytes_of(&a->arrays[i]), &a->memory[i]);
        if (status != TILE_OK) return status;
        a->count++;
        if (a->arrays[i].role == BENCH_CONSTANT || a->arrays[i].role == BENCH_SCALES)
            status = fill_constant(&a->arrays[i], a->memory[i].buffer);
        if (a->arrays[i].role == BENCH_TABLE)
            status = write_table(&a->problem.attention, a->memory[i].buffer);
    }
    return status;
}

tile_status bench_arrays_reserve_only(bench_lab *lab, bench_arrays *a) {
    unsigned count = bench_problem_arrays(&a->problem, a->arrays);
    tile_status status = TILE_OK;
    for (; status == TILE_OK && a->count < count; a->count += status == TILE_OK)
        status =
            bench_memory_reserve_only(lab, bytes_of(&a->arrays[a->count]), &a->memory[a->count]);
    return status;
}

tile_buffer *bench_arrays_result(const bench_arrays *a) {
    return a->memory[bench_problem_result(&a->problem)].buffer;
}

tile_status bench_arrays_poison(bench_lab *lab, bench_arrays *a) {
    unsigned result = bench_problem_result(&a->problem);
    return bench_memory_fill(lab, &a->memory[result], bench_poison(a->arrays[result].scalar));
}

/* Fills an array in pieces: whole pages if it is paged, else of any size. */
static tile_status fill_array(bench_arrays *a, bench_inputs inputs, unsigned array) {
    enum { PIECE = 1 << 25 };
    const bench_attention *attention = &a->problem.attention;
    const bool paged = attention->page && array > 0;
    size_t page = paged ? (size_t)(attention->page * attention->groups * attention->d) : 1;
    size_t width = tile_scalar_bytes(a->arrays[array].scalar), piece = PIECE / page + 1;
    size_t count = (size_t)bench_array_elements(&a->arrays[array]) / page;
    char *data = malloc((count < piece ? count : piece) * page * width);
    tile_status status = data ? TILE_OK : TILE_FAILED;
    for (size_t at = 0; at < count && status == TILE_OK; at += piece) {
        size_t now = count - at < piece ? count - at : piece;
        if (paged)
            bench_pages_fill(attention, a->pattern, inputs, array, (int64_t)at, (int64_t)now, data);
        else
            bench_attention_fill(attention, a->pattern, inputs, array, (int64_t)at, now, data);
        status =
            tile_buffer_write(a->memory[array].buffer, at * page * width, data, now * page * width);
    }
    free(data);
    return status;
}

tile_status bench_arrays_fill(bench_lab *lab, bench_arrays *a, unsigned fill) {
    const bool was_filled = a->is_filled;
    tile_status status = TILE_OK;
    if (was_filled && a->fill == fill) return TILE_OK;
    a->is_filled = false;
    if (a->problem.is_rows) {
        status = bench_rows_fill(&a->problem.rows, (bench_fill)fill, a->memory[0].buffer,
                                 a->memory[1].buffer, a->memory[2].buffer);
    } else if (!a->problem.is_attention) {
        status = bench_fill_operands(&a->operands, &a->problem.product, (bench_fill)fill, lab,
                                     &a->memory[0], &a->memory[1]);
    } else {
        const bench_type *type = a->problem.attention.type;
        if (!a->pattern || bench_pattern_type(a->pattern) != type) {
            bench_pattern_destroy(a->pattern);
            a->pattern = bench_pattern_create(type);
        }
        for (unsigned i = 0; a->arrays[i].role == BENCH_OPERAND && status == TILE_OK; i++)
            if (!was_filled || bench_attention_changes((bench_inputs)a->fill, i) ||
                bench_attention_changes((bench_inputs)fill, i))
                status = fill_array(a, (bench_inputs)fill, i);
    }
    a->is_filled = status == TILE_OK;
    a->fill = fill;
    return status;
}

/* Fills the operands with the values that are used in measurements. */
tile_status bench_arrays_fill_random(bench_lab *lab, bench_arrays *a) {
    return bench_arrays_fill(
        lab, a, a->problem.is_attention ? (unsigned)BENCH_INPUTS_random : (unsigned)BENCH_RANDOM);
}
