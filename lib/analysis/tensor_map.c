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

/* Dim `inner` becomes the innermost dim of the map, because a map uses the order of dims of the
 * copy. */
static const tile_map_rule *broken_along(const tile_arg_decl *arg, unsigned inner) {
    const tile_type *type = arg->type;
    tile_map_facts facts = {.scalar = type->scalar, .rank = type->rank};
    tile_number step = tile_number_of(1); /* row-major */
    const tile_map_rule *broken;
    facts.address = tile_number_unknown(1);
    for (unsigned d = type->rank; d-- > 0;) {
        unsigned at = d == inner ? type->rank - 1 : d - (d > inner);
        facts.box[at] = d == inner ? UNIT : 1; /* any box that satisfies the rules */
        facts.extents[at] = number_of(arg->extents[d]);
        facts.strides[at] = type->has_strides ? number_of(arg->strides[d]) : step;
        step.known &= facts.extents[at].known &&
                      !__builtin_mul_overflow(step.value, facts.extents[at].value, &step.value);
    }
    return tile_map_rule_holds(&facts, &broken) == TILE_NO ? broken : NULL;
}

const tile_map_rule *tile_view_broken_rule(const tile_arg_decl *arg) {
    const tile_map_rule *broken = &rules[0];
    const tile_map_rule *worst = NULL;
    for (unsigned d = arg->type->rank; d-- > 0 && arg->type->rank <= TILE_MAX_MAP_RANK;) {
        broken = broken_along(arg, d);
        if (!broken) return NULL;
        /* Reports the rule that fails last, from the dim that comes closest to a valid map. */
        if (!worst || broken > worst) worst = broken;
    }
    return worst ? worst : broken;
}

const char *tile_view_cannot_have_map(const tile_function *f, tile_value view, tile_arena *arena,
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
    if (broken)
        return tile_arena_format(arena, "no tensor map describes the view's array: it needs %s",
                                 broken->words);
    if (arg->tensor_map) return NULL;
    *remedy =
        "add {tensor_map} to the argument, or launch with arrays that a tensor map can describe";
    return "a tensor map may not be able to describe the view's array";
}
