#include "lib/analysis/tensor_map.h"

#include "lib/analysis/part_view.h"
#include "lib/ir/function.h"

enum { UNIT = 16, MAX_BOX = 256 };
static const int64_t max_stride = INT64_C(1) << 40;

static tile_tristate truth(bool holds) {
    return holds ? TILE_YES : TILE_NO;
}

static tile_tristate both(tile_tristate a, tile_tristate b) {
    return a < b ? a : b;
}

/* bytes: size of the unit in which the number counts */
static tile_tristate is_multiple(tile_number number, int64_t bytes) {
    if (number.known) return truth(number.value % UNIT * bytes % UNIT == 0);
    return number.divisor % UNIT * bytes % UNIT == 0 ? TILE_YES : TILE_AT_LAUNCH;
}

static tile_tristate is_from(tile_number number, int64_t low, int64_t high) {
    return number.known ? truth(number.value >= low && number.value <= high) : TILE_AT_LAUNCH;
}

tile_number tile_map_stride(tile_scalar scalar, tile_number extent, tile_number stride) {
    const int64_t bytes = tile_scalar_bytes(scalar);
    bool is_unit = extent.known && extent.value == 1 && bytes > 0;
    return is_unit ? tile_number_of(bytes < UNIT ? UNIT / bytes : 1) : stride;
}

static int64_t row_bytes(const tile_map_facts *m) {
    return m->box[m->rank - 1] * tile_scalar_bytes(m->scalar);
}

static tile_tristate rule_rank(const tile_map_facts *m) {
    return truth(m->rank >= 1 && m->rank <= TILE_MAX_MAP_RANK);
}

static tile_tristate rule_element(const tile_map_facts *m) {
    unsigned bits = tile_scalar_bits(m->scalar);
    return truth(bits == 8 || bits == 16 || bits == 32 || bits == 64);
}

static tile_tristate rule_box_extents(const tile_map_facts *m) {
    bool fits = true;
    for (unsigned d = 0; d < m->rank; d++) fits &= m->box[d] >= 1 && m->box[d] <= MAX_BOX;
    return truth(fits);
}

static tile_tristate rule_box_rows(const tile_map_facts *m) {
    return truth(row_bytes(m) % UNIT == 0);
}

static tile_tristate rule_swizzle(const tile_map_facts *m) {
    return truth(!m->swizzle || row_bytes(m) == m->swizzle);
}

/* CUDA Driver API, cuTensorMapEncodeIm2col: the limits of a map with this number of spatial dims.
 */
static const int64_t max_corner[] = {0, INT64_C(1) << 15, INT64_C(1) << 7, INT64_C(1) << 4};
static const int64_t max_offset[] = {0, (INT64_C(1) << 16) - 1, (INT64_C(1) << 8) - 1,
                                     (INT64_C(1) << 5) - 1};

static tile_tristate rule_corners(const tile_map_facts *m) {
    const tile_im2col *w = &m->windows;
    bool fits = true;
    for (unsigned i = 0; i < w->spatial; i++) {
        int64_t corners[] = {tile_im2col_lower(w, i), tile_im2col_upper(w, i)};
        for (unsigned k = 0; k < 2; k++)
            fits &= corners[k] >= -max_corner[w->spatial] && corners[k] < max_corner[w->spatial];
    }
    return truth(fits);
}

static tile_tristate rule_offsets(const tile_map_facts *m) {
    const tile_im2col *w = &m->windows;
    bool fits = true;
    for (unsigned i = 0; i < w->spatial; i++)
        fits &= (w->filter[i] - 1) * w->dilations[i] <= max_offset[w->spatial];
    return truth(fits);
}

static tile_tristate rule_steps(const tile_map_facts *m) {
    enum { MAX_STEP = 8 };
    bool fits = true;
    for (unsigned i = 0; i < m->windows.spatial; i++) fits &= m->windows.strides[i] <= MAX_STEP;
    return truth(fits);
}

static tile_tristate rule_inner_stride(const tile_map_facts *m) {
    return is_from(m->strides[m->rank - 1], 1, 1);
}

static tile_tristate rule_address(const tile_map_facts *m) {
    return is_multiple(m->address, 1);
}

static tile_tristate rule_extents(const tile_map_facts *m) {
    tile_tristate all = TILE_YES;
    for (unsigned d = 0; d < m->rank; d++)
        all = both(all, is_from(m->extents[d], 1, INT64_C(1) << 32));
    return all;
}

static tile_tristate rule_strides(const tile_map_facts *m) {
    int64_t bytes = tile_scalar_bytes(m->scalar);
    tile_tristate all = TILE_YES;
    for (unsigned d = 0; d + 1 < m->rank; d++)
        all = both(all, both(is_multiple(m->strides[d], bytes),
                             is_from(m->strides[d], 1, (max_stride - 1) / bytes)));
    return all;
}

static const tile_map_rule rules[] = {
#define MAP_RULE(name, words) {#name, words, rule_##name},
#include "lib/analysis/tensor_map.def"
};

/* A rule may rely on the rules before it. */
tile_tristate tile_map_rule_holds(const tile_map_facts *facts, const tile_map_rule **broken) {
    const tile_map_rule *worst = NULL;
    tile_tristate all = TILE_YES;
    for (unsigned i = 0; i < sizeof rules / sizeof *rules && all != TILE_NO; i++) {
        tile_tristate here = rules[i].holds(facts);
        if (here >= all) continue;
        all = here;
        worst = &rules[i];
    }
    if (broken) *broken = worst;
    return all;
}

const tile_map_rule *tile_im2col_broken_rule(const tile_im2col *windows) {
    const tile_map_facts facts = {.windows = *windows};
    for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((rules[i].holds == rule_corners || rules[i].holds == rule_offsets ||
             rules[i].holds == rule_steps) &&
            rules[i].holds(&facts) != TILE_YES)
            return &rules[i];
    return NULL;
}

/* Views ---------------------------------------------------------------------------------------- */

static tile_number number_of(const tile_expr *expr) {
    int64_t value;
    return tile_expr_is_int(expr, &value) ? tile_number_of(value) : tile_number_unknown(1);
}

/* An array's dims. */
typedef struct map_dims {
    tile_scalar scalar;
    unsigned rank;
    tile_number extents[TILE_MAX_RANK], strides[TILE_MAX_RANK];
} map_dims;

/* Dim `inner` becomes the innermost dim of the map, because a map uses the order of dims of the
 * copy. */
static const tile_map_rule *broken_along(const map_dims *dims, unsigned inner) {
    tile_map_facts facts = {.scalar = dims->scalar, .rank = dims->rank};
    const tile_map_rule *broken;
    facts.address = tile_number_unknown(1);
    for (unsigned d = 0; d < dims->rank; d++) {
        unsigned at = d == inner ? dims->rank - 1 : d - (d > inner);
        facts.box[at] = d == inner ? UNIT : 1; /* any box that satisfies the rules */
        facts.extents[at] = dims->extents[d];
        facts.strides[at] = d == inner
                                ? dims->strides[d]
                                : tile_map_stride(dims->scalar, dims->extents[d], dims->strides[d]);
    }
    return tile_map_rule_holds(&facts, &broken) == TILE_NO ? broken : NULL;
}

/* The rule of the dim that comes closest to a valid map; NULL: there may be one. */
static const tile_map_rule *find_broken(const map_dims *dims) {
    const tile_map_rule *broken = &rules[0];
    const tile_map_rule *worst = NULL;
    for (unsigned d = dims->rank; d-- > 0 && dims->rank <= TILE_MAX_MAP_RANK;) {
        broken = broken_along(dims, d);
        if (!broken) return NULL;
        if (!worst || broken > worst) worst = broken;
    }
    return worst ? worst : broken;
}

static void set_row_major(map_dims *dims) {
    tile_number step = tile_number_of(1);
    for (unsigned d = dims->rank; d-- > 0;) {
        dims->strides[d] = step;
        step.known &= dims->extents[d].known &&
                      !__builtin_mul_overflow(step.value, dims->extents[d].value, &step.value);
    }
}

const tile_map_rule *tile_view_broken_rule(const tile_arg_decl *arg) {
    const tile_type *type = arg->type;
    map_dims dims = {.scalar = type->scalar, .rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) {
        dims.extents[d] = number_of(arg->extents[d]);
        if (type->has_strides) dims.strides[d] = number_of(arg->strides[d]);
    }
    if (!type->has_strides) set_row_major(&dims);
    return find_broken(&dims);
}

/* The innermost dim of a map is that of the copies' rows: the last one of stride 1. */
bool tile_view_has_rows(const tile_type *view) {
    for (unsigned d = view->rank; d-- > 0;)
        if (!view->has_strides || tile_expr_is(view->strides[d], 1))
            return !tile_expr_is(view->dims[d], 1);
    return true;
}

static tile_number number_of_value(const tile_function *f, tile_value value) {
    int64_t number;
    return tile_value_is_int(f, value, &number) ? tile_number_of(number) : tile_number_unknown(1);
}

tile_value tile_view_fixed_argument(const tile_function *f, tile_value view) {
    tile_op op = tile_value_def(f, view);
    const tile_value whole = tile_viewed_argument(f, op);
    const tile_type *type = tile_value_type(f, view);
    map_dims dims = {.scalar = type->scalar, .rank = type->rank};
    bool known = true;
    if (!whole.id || tile_value_type(f, whole)->kind != TILE_TYPE_VIEW || !tile_view_has_rows(type))
        return TILE_NO_VALUE;
    const tile_values extents = tile_operands_extents(f, op),
                      strides = tile_operands_strides(f, op);
    for (unsigned d = 0; d < dims.rank; d++) {
        dims.extents[d] = number_of_value(f, extents.at[d]);
        if (strides.count) dims.strides[d] = number_of_value(f, strides.at[d]);
    }
    if (!strides.count) set_row_major(&dims);
    for (unsigned d = 0; d < dims.rank; d++)
        known &= dims.extents[d].known && dims.strides[d].known;
    return known && !find_broken(&dims) ? whole : TILE_NO_VALUE;
}

/* Returns NULL if the view's argument makes a map possible, or the reason. */
static const char *argument_has_no_map(const tile_function *f, tile_value view, tile_arena *arena,
                                       const char **remedy) {
    tile_value whole = tile_view_mapped_argument(f, view);
    if (!whole.id) {
        *remedy = "make the view an argument";
        return "the view is made in the kernel, and its launch cannot encode a tensor map of it";
    }
    const tile_arg_decl *arg = &f->args[tile_value_at(f, whole)->index];
    const tile_map_rule *broken = tile_view_broken_rule(arg);
    const tile_op maker = tile_im2col_maker(f, view);
    *remedy = NULL;
    if (!broken && maker.id) {
        const tile_im2col windows = tile_im2col_of(f, maker);
        broken = tile_im2col_broken_rule(&windows);
    }
    if (!broken && !tile_view_has_rows(tile_value_type(f, view)))
        return "a row of the view has one element";
    if (broken)
        return tile_arena_format(arena, "no tensor map describes the view's array: it needs %s",
                                 broken->words);
    if (arg->tensor_map) return NULL;
    *remedy =
        "add {tensor_map} to the argument, or launch with arrays that a tensor map can describe";
    return "a tensor map may not be able to describe the view's array";
}

const char *tile_view_cannot_have_map(const tile_function *f, tile_value view, tile_arena *arena,
                                      const char **remedy) {
    const char *why = argument_has_no_map(f, view, arena, remedy);
    const tile_value fixed = why ? tile_view_fixed_argument(f, view) : TILE_NO_VALUE;
    unsigned divisor = fixed.id ? f->args[tile_value_at(f, fixed)->index].divisible : 0;
    return divisor && divisor % UNIT == 0 ? NULL : why;
}
