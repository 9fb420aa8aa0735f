/* 64-bit integers that doubles do not hold. Their bits are a plane beside the numbers. */
#include <stdlib.h>
#include <string.h>

#include "lib/support/scalar.h"
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"

static bool has_integers(tile_scalar scalar) {
    return !tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) == 64;
}

void evaluation_create_integers(evaluation *e, tile_value value) {
    if (e->data[value.id] && has_integers(evaluation_scalar(e, value)))
        evaluation_create_plane(e, PLANE_INTEGER, value);
}

tile_number evaluation_number(const evaluation *e, tile_value value, tile_scalar scalar, size_t i) {
    double real = e->data[value.id][i];
    const double *plane = e->planes[PLANE_INTEGER][value.id];
    if (!plane) return tile_element_number(scalar, real);
    tile_number number = {real, 0};
    memcpy(&number.integer, &plane[i], sizeof number.integer);
    return number;
}

void evaluation_set_number(evaluation *e, tile_value value, size_t i, tile_number number) {
    double *plane = e->planes[PLANE_INTEGER][value.id];
    e->data[value.id][i] = number.real;
    if (plane) memcpy(&plane[i], &number.integer, sizeof number.integer);
}

void evaluation_drop_integers(evaluation *e, tile_value value) {
    double *plane = e->planes[PLANE_INTEGER][value.id];
    tile_scalar scalar = evaluation_scalar(e, value);
    bool exact = plane != NULL;
    for (size_t i = 0; exact && i < e->counts[value.id]; i++)
        exact = evaluation_number(e, value, scalar, i).integer ==
                tile_element_number(scalar, e->data[value.id][i]).integer;
    if (!exact) return;
    free(plane);
    e->planes[PLANE_INTEGER][value.id] = NULL;
}

double *evaluation_integers(const evaluation *e, tile_value value) {
    size_t count = e->counts[value.id];
    tile_scalar scalar = evaluation_scalar(e, value);
    double *bits = malloc(sizeof *bits * (count + 1));
    for (size_t i = 0; bits && i < count; i++) {
        int64_t integer = tile_element_number(scalar, e->data[value.id][i]).integer;
        memcpy(&bits[i], &integer, sizeof integer);
    }
    return bits;
}
