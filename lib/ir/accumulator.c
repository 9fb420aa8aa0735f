/* The type `acc(T)`: see the header. */
#include "lib/ir/accumulator.h"

#include <string.h>

#include "lib/support/scalar.h"

static const char prefix[] = TILE_ACCUMULATOR_WORD "(";

enum { PREFIX = sizeof prefix - 1 };

tile_scalar tile_accumulator_scalar(tile_scalar element) {
    bool wide = tile_scalar_bits(element) == 64 || tile_scalar_bits(element) == 32;
    if (element == TILE_f64 || element == TILE_i64) return element;
    if (tile_scalar_is_unsigned(element) && wide) return element;
    return tile_scalar_is_floating(element) ? TILE_f32 : TILE_i32;
}

bool tile_is_accumulator(const char *name, const char **param, size_t *length) {
    size_t size = strlen(name);
    bool is = size > PREFIX + 1 && strncmp(name, prefix, PREFIX) == 0 && name[size - 1] == ')';
    *param = is ? name + PREFIX : name;
    *length = is ? size - PREFIX - 1 : size;
    return is;
}

static bool is_accumulator(const tile_type *type) {
    const char *param;
    size_t length;
    return type->param && tile_is_accumulator(type->param, &param, &length);
}

/* An accumulator is summed in its own type. */
const tile_type *tile_accumulator_type(tile_context *context, const tile_type *element) {
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .param = element->param};
    tile_arena scratch = {0};
    if (!element->param)
        draft.scalar = tile_accumulator_scalar(element->scalar);
    else if (!is_accumulator(element))
        draft.param = tile_arena_format(&scratch, "%s%s)", prefix, element->param);
    const tile_type *type = tile_type_get(context, &draft);
    tile_arena_reset(&scratch);
    return type;
}

bool tile_elements_may_agree(const tile_type *a, const tile_type *b) {
    if (a->scalar == b->scalar && a->param == b->param) return true;
    const tile_type *known = is_accumulator(a) ? b : a, *open = known == a ? b : a;
    return is_accumulator(open) && !known->param &&
           tile_accumulator_scalar(known->scalar) == known->scalar;
}
