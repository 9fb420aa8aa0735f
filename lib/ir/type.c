/* Types: interned, compared by pointer. */
#include <string.h>

#include "lib/ir/function.h"
#include "lib/layout/layout.h"
#include "lib/ir/named.h"
#include "lib/support/integer.h"
#include "lib/support/intern.h"

/* The properties of a kind of type. */
typedef struct kind_rule {
    unsigned least_rank, most_rank;
    bool strides, stages, cluster, mn_major, layout;
    bool spelled; /* extents stay as they are written, except for those that are numbers */
} kind_rule;

static const kind_rule rules[] = {
    [TILE_TYPE_SCALAR] = {.most_rank = 0},
    [TILE_TYPE_PTR] = {.most_rank = 0},
    [TILE_TYPE_TENSOR] = {.least_rank = 1, .most_rank = TILE_MAX_RANK, .spelled = true},
    [TILE_TYPE_VIEW] = {.least_rank = 1,
                        .most_rank = TILE_MAX_RANK,
                        .strides = true,
                        .layout = true,
                        .spelled = true},
    [TILE_TYPE_SHARED] = {.least_rank = 1,
                          .most_rank = TILE_MAX_RANK,
                          .stages = true,
                          .cluster = true,
                          .layout = true},
    [TILE_TYPE_TILE] = {.least_rank = 1, .most_rank = TILE_MAX_RANK, .layout = true},
    [TILE_TYPE_VECTOR] = {.least_rank = 1, .most_rank = 1},
    [TILE_TYPE_MAP] = {.least_rank = 1,
                       .most_rank = TILE_MAX_RANK,
                       .spelled = true}, /* the verifier reports TILE_MAX_MAP_RANK */
    [TILE_TYPE_DESCRIPTOR] = {.mn_major = true},
};

/* Rejects drafts that no text can express; the verifier checks everything else. */
static bool is_sound(const tile_type *draft) {
    if ((unsigned)draft->kind >= sizeof rules / sizeof *rules) return false;
    const kind_rule *rule = &rules[draft->kind];
    return (unsigned)draft->scalar < TILE_SCALAR_COUNT && draft->rank >= rule->least_rank &&
           draft->rank <= rule->most_rank && (rule->strides || !draft->has_strides) &&
           (rule->stages || !draft->stages) && (rule->cluster || !draft->cluster) &&
           (rule->mn_major || !draft->mn_major) &&
           (!draft->layout || (rule->layout && tile_layout_fits_limits(draft->layout)));
}

const tile_type *tile_type_get(tile_context *context, const tile_type *draft) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!draft || !is_sound(draft)) {
        tile_report(
            context, TILE_ERROR, (tile_loc){0},
            "there is no such type: its kind, element type, rank or layout is out of range");
        return NULL;
    }
    bool spelled = rules[draft->kind].spelled || tile_type_is_extents(draft); /* of any kind */
    int64_t number;
    tile_type clean;
    memset(&clean, 0, sizeof clean); /* types are interned by their bytes, including the padding */
    clean.kind = draft->kind;
    clean.scalar = draft->scalar;
    clean.param =
        draft->param ? tile_intern_name(context, draft->param, strlen(draft->param)) : NULL;
    clean.rank = draft->rank;
    clean.has_strides = draft->has_strides;
    clean.stages = draft->stages;
    clean.cluster = draft->cluster;
    clean.mn_major = draft->mn_major;
    for (unsigned d = 0; d < draft->rank; d++) {
        const tile_expr *canonical = tile_extent_canonical(context, draft->dims[d]);
        bool keeps = spelled && !tile_expr_is_int(canonical, &number);
        clean.dims[d] = keeps ? draft->dims[d] : canonical;
        clean.strides[d] = draft->has_strides ? draft->strides[d] : NULL;
    }
    if (draft->layout) {
        tile_layout layout;
        tile_layout_copy(&layout, draft->layout);
        clean.layout = tile_intern(context, TILE_INTERN_LAYOUT, &layout, sizeof layout);
    }
    return tile_intern(context, TILE_INTERN_TYPE, &clean, sizeof clean);
}

static const tile_type *make(tile_context *context, tile_type_kind kind, tile_scalar scalar,
                             unsigned stages, unsigned rank, const int64_t *dims) {
    tile_type draft = {.kind = kind, .scalar = scalar, .rank = rank};
    if (rank && !dims) return tile_type_get(context, NULL);
    for (unsigned d = 0; d < rank && d < TILE_MAX_RANK; d++)
        draft.dims[d] = dims[d] < 0 ? NULL : tile_expr_int(context, dims[d]);
    draft.stages = stages ? tile_expr_int(context, stages) : NULL;
    return tile_type_get(context, &draft);
}

const tile_type *tile_type_scalar(tile_context *context, tile_scalar scalar) {
    TILE_GUARD_OUTSIDE(context, NULL)
    return make(context, TILE_TYPE_SCALAR, scalar, 0, 0, NULL);
}

const tile_type *tile_type_ptr(tile_context *context, tile_scalar scalar) {
    TILE_GUARD_OUTSIDE(context, NULL)
    return make(context, TILE_TYPE_PTR, scalar, 0, 0, NULL);
}

const tile_type *tile_type_vector(tile_context *context, tile_scalar scalar, unsigned count) {
    TILE_GUARD_OUTSIDE(context, NULL)
    int64_t dim = count;
    return make(context, TILE_TYPE_VECTOR, scalar, 0, 1, &dim);
}

const tile_type *tile_type_tensor(tile_context *context, tile_scalar scalar, unsigned rank,
                                  const int64_t *dims) {
    TILE_GUARD_OUTSIDE(context, NULL)
    return make(context, TILE_TYPE_TENSOR, scalar, 0, rank, dims);
}

const tile_type *tile_type_view(tile_context *context, tile_scalar scalar, unsigned rank,
                                const int64_t *dims) {
    TILE_GUARD_OUTSIDE(context, NULL)
    return make(context, TILE_TYPE_VIEW, scalar, 0, rank, dims);
}

const tile_type *tile_view_arg_type(tile_context *context, const tile_type *element, unsigned rank,
                                    const tile_expr *const *extents,
                                    const tile_expr *const *strides) {
    tile_type draft = {.kind = TILE_TYPE_VIEW,
                       .scalar = element->scalar,
                       .param = element->param,
                       .rank = rank,
                       .has_strides = strides != NULL};
    for (unsigned d = 0; d < rank && d < TILE_MAX_RANK; d++) {
        draft.dims[d] = tile_expr_has_arg(extents[d]) ? NULL : extents[d];
        if (strides) draft.strides[d] = tile_expr_has_arg(strides[d]) ? NULL : strides[d];
    }
    return tile_type_get(context, &draft);
}

const tile_type *tile_type_tile(tile_context *context, tile_scalar scalar, unsigned rank,
                                const int64_t *dims) {
    TILE_GUARD_OUTSIDE(context, NULL)
    return make(context, TILE_TYPE_TILE, scalar, 0, rank, dims);
}

const tile_type *tile_type_shared(tile_context *context, tile_scalar scalar, unsigned stages,
                                  unsigned rank, const int64_t *dims) {
    TILE_GUARD_OUTSIDE(context, NULL)
    return make(context, TILE_TYPE_SHARED, scalar, stages, rank, dims);
}

const tile_type *tile_type_descriptor(tile_context *context, tile_scalar scalar, bool mn_major) {
    TILE_GUARD_OUTSIDE(context, NULL)
    tile_type draft = {.kind = TILE_TYPE_DESCRIPTOR, .scalar = scalar, .mn_major = mn_major};
    return tile_type_get(context, &draft);
}

const tile_type *tile_type_in_cluster(tile_context *context, const tile_type *shared) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!shared) return NULL;
    tile_type draft = *shared;
    draft.cluster = true;
    return tile_type_get(context, &draft);
}

const tile_type *tile_type_with_layout(tile_context *context, const tile_type *type,
                                       const tile_layout *layout) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!type) return NULL;
    tile_type draft = *type;
    draft.layout = layout;
    return tile_type_get(context, &draft);
}

const tile_layout *tile_layout_for_scalar(const tile_layout *layout, tile_scalar from,
                                          tile_scalar to) {
    if (!tile_layout_is_named(layout) || from == to) return layout;
    tile_layout_name name = tile_layout_name_of(layout);
    bool acc = name == TILE_LAYOUT_NAME_mma_acc;
    if (!from || !to) return NULL;
    bool same = acc ? (from == TILE_f64) == (to == TILE_f64)
                    : tile_scalar_bits(from) == tile_scalar_bits(to);
    return same ? layout : NULL;
}

const tile_type *tile_type_with_scalar(tile_context *context, const tile_type *type,
                                       tile_scalar scalar) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!type) return NULL;
    tile_type draft = *type;
    draft.scalar = scalar;
    draft.param = NULL;
    draft.layout = tile_layout_for_scalar(type->layout, type->scalar, scalar);
    return tile_type_get(context, &draft);
}

int64_t tile_type_dim(const tile_type *type, unsigned d) {
    int64_t extent;
    return type && d < type->rank && tile_expr_is_int(type->dims[d], &extent) ? extent : -1;
}

int64_t tile_type_elements(const tile_type *type) {
    const int64_t most = INT64_C(1) << 40;
    int64_t elements = 1;
    if (!type) return -1;
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t extent = tile_type_dim(type, d);
        if (extent < 0) return -1;
        elements = extent && elements > most / extent ? most : elements * extent;
    }
    return elements;
}

const char *tile_type_excess(const tile_type *type) {
    int64_t elements = tile_type_elements(type);
    bool tile = type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SHARED;
    _Static_assert(TILE_MAX_TILE_ELEMENTS == 1048576 && TILE_MAX_VECTOR_ELEMENTS == 32768, "texts");
    if (tile && elements > TILE_MAX_TILE_ELEMENTS)
        return "more than the 1048576 elements a tile may have";
    if (type->kind == TILE_TYPE_VECTOR && elements > TILE_MAX_VECTOR_ELEMENTS)
        return "more than the 32768 elements one thread may hold";
    if (type->layout && type->layout->kind == TILE_LAYOUT_REGISTER &&
        tile_type_registers(type) > TILE_MAX_VECTOR_ELEMENTS)
        return "a layout that gives one thread more than the 32768 elements it may hold";
    return NULL;
}

int64_t tile_type_stage_count(const tile_type *type) {
    int64_t stages;
    if (!type) return -1;
    if (!type->stages) return 1;
    return tile_expr_is_int(type->stages, &stages) ? stages : -1;
}

int64_t tile_type_shared_bytes(const tile_type *type) {
    enum { WIDEST_ACCESS = 16 };
    int64_t elements = tile_type_elements(type), stages = tile_type_stage_count(type);
    if (elements <= 0 || stages <= 0) return -1;
    if (elements > INT32_MAX / stages) return INT32_MAX;
    int64_t stage = tile_round_up(elements * tile_scalar_bytes(type->scalar), WIDEST_ACCESS);
    return stages > INT32_MAX / stage ? INT32_MAX : stages * stage;
}

unsigned tile_type_registers(const tile_type *type) {
    bool held = type && type->layout && type->layout->kind == TILE_LAYOUT_REGISTER;
    return held ? tile_layout_registers(type->layout) : 0;
}
