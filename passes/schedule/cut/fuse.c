/* Builds online loops from the results of classify.c: the final reduction or product of a loop,
 * other reductions of the same rows, and merged loops. */
#include "passes/schedule/cut/classify.h"

#include "lib/ir/remark.h"

/* Remarks only if there are exponentials to correct; otherwise several kernels may be as fast. */
static bool reject_online(online_classifier *f, tile_op op, const char *why, const char *remedy) {
    if (f->o->exp_count) tile_missed_at(f->s->compute, op, "not online", remedy, "%s", why);
    return false;
}

static bool is_product(const schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op) == TILE_OP_matmul;
}

/* The values that the loop multiplies: the unmasked ones if its own mask hides the keys. */
static tile_value values_of(online_classifier *f, const sched_carried_reduction *fold,
                            tile_value rhs) {
    tile_value all = sched_original_operand(f->s, rhs);
    return all.id && sched_mask_covers_source(f->s, f->o, fold->source) ? all : rhs;
}

/* Adds the final product, whose result has several columns. */
static bool fuse_product(online_classifier *f, tile_op op) {
    schedule *s = f->s;
    sched_online *o = f->o;
    unsigned rank = f->domain->rank;
    tile_value lhs = tile_operand_lhs(s->compute, op), rhs = tile_operand_rhs(s->compute, op);
    const tile_type *type = sched_type(s, lhs);
    sched_map identity = sched_identity(f->domain);
    sched_carried_reduction fold = {.op = op, .map = identity, .product = true};
    if (tile_op_has_attr(s->compute, op, TILE_ATTR_trans_lhs) || type->rank != rank ||
        tile_expr_is(f->domain->extents[rank - 1], 1) ||
        !online_is_supported(sched_element(s, tile_op_result(s->compute, op, 0))))
        return false;
    o->extent = sched_dim(s, type, rank - 1);
    for (unsigned d = 0; d + 1 < rank; d++)
        if (sched_dim(s, type, d) != f->domain->extents[d]) return false;
    fold.source = (sched_mapped_value){lhs, identity};
    fold.source.map.at[rank - 1] = sched_dim_coordinate(o->n);
    fold.rhs.row = o->n, fold.rhs.column = rank - 1;
    bool transposed = tile_op_has_attr(s->compute, op, TILE_ATTR_trans_rhs);
    sched_form form = online_classify(f, lhs, &fold.source.map).form;
    if ((form != SCHED_PER_ELEMENT && form != SCHED_RESCALED) ||
        !online_is_supported(sched_element(s, lhs)) ||
        !online_place_operand(f, &fold.rhs, values_of(f, &fold, rhs), &identity, rank,
                              transposed ? rank - 1 : o->n, transposed ? o->n : rank - 1) ||
        o->fold_count == SCHED_MAX_CARRIED)
        return false;
    fold.rescaled = form == SCHED_RESCALED;
    o->folds[o->fold_count++] = fold;
    return true;
}

static bool fuse_reduction(online_classifier *f, tile_op op) {
    schedule *s = f->s;
    sched_online *o = f->o;
    const tile_type *type = sched_type(s, tile_operand_src(s->compute, op));
    unsigned rank = f->domain->rank;
    sched_map identity = sched_identity(f->domain);
    if (tile_op_opcode(s->compute, op) != TILE_OP_reduce || sched_axis(s, op) != rank - 1 ||
        tile_expr_is(f->domain->extents[o->m], 1))
        return false;
    o->extent = sched_dim(s, type, rank - 1);
    return online_add_reduction(f, op, &identity);
}

/* Heads of up to 256 elements have tiles whose scores and sums stay in registers. Longer ones need
 * tiles of few rows, so that more of the columns are read again. Products with scores in memory are
 * then faster, as long as there is memory. */
enum { WIDEST = 256, DEEPEST = 1024 };

/* Returns whether the elements of the inner products are known to take more than 4 GiB. An extent
 * that is not known counts as 1. */
static bool are_scores_large(const online_classifier *f) {
    const int64_t most = INT64_C(1) << 32;
    int64_t bytes = 4;
    for (unsigned d = 0; d < f->domain->rank; d++) {
        bool last = d + 1 == f->domain->rank;
        int64_t extent = sched_constant(last ? f->o->extent : f->domain->extents[d]);
        if (extent >= 0 && __builtin_mul_overflow(bytes, extent, &bytes)) return true;
    }
    return bytes > most;
}

/* Returns whether the last product's tile [m, columns, n] has all of its columns, which only an
 * online loop needs. */
static bool is_whole_tile(const online_classifier *f, tile_op op) {
    const tile_attr *tile = tile_op_attr(f->s->compute, op, TILE_ATTR_tile);
    int64_t columns = sched_constant(f->domain->extents[f->domain->rank - 1]);
    return tile && tile->count == 3 && columns > WIDEST && tile->list[1] >= columns;
}

static bool refuse_extent(online_classifier *f, tile_op op, bool known, const char *what,
                          const char *unknown) {
    if (!known)
        return reject_online(f, op, unknown,
                             "give the extent, as in schedule{d=128}, at most 256; otherwise "
                             "several kernels remain");
    return reject_online(f, op, what,
                         "split heads of more than 256 elements, or accept several kernels, which "
                         "are faster while the scores fit memory; for a loop all the same, up to "
                         "1024 elements, give the last product `tile = [16, 1024, 16]`, whose "
                         "second number is its number of columns");
}

/* Checks the extents of which a block needs all elements: those of a head. */
static bool check_extents(online_classifier *f, tile_op op) {
    schedule *s = f->s;
    sched_online *o = f->o;
    bool product = tile_op_opcode(s->compute, op) == TILE_OP_matmul;
    int64_t most = are_scores_large(f) || (product && is_whole_tile(f, op)) ? DEEPEST : WIDEST;
    o->deep = o->wide = 1;
    for (unsigned i = 0; i < o->inner_count; i++) {
        const tile_value lhs = tile_operand_lhs(s->compute, o->inner[i].op);
        const tile_type *type = sched_type(s, lhs);
        bool transposed = tile_op_has_attr(s->compute, o->inner[i].op, TILE_ATTR_trans_lhs);
        int64_t deep = sched_constant(sched_dim(s, type, type->rank - (transposed ? 2 : 1)));
        if (deep < 1 || deep > most)
            return refuse_extent(
                f, o->inner[i].op, deep >= 1,
                "a block must have all of the axis along which this one adds up, "
                "up to 256 elements",
                "the extent of the axis along which this one adds up is not known");
        if (deep > o->deep) o->deep = deep;
    }
    if (!product) return true;
    o->wide = sched_constant(f->domain->extents[f->domain->rank - 1]);
    return (o->wide >= 1 && o->wide <= most) ||
           refuse_extent(f, op, o->wide >= 1, "a block must have all of its columns, up to 256",
                         "its number of columns is not known");
}

/* Returns whether attributes request a separate kernel. */
static bool needs_own_kernel(schedule *s, const sched_online *o, tile_op op) {
    static const tile_attr_id attr_ids[] = {TILE_ATTR_split, TILE_ATTR_strategy, TILE_ATTR_raster};
    bool given = false;
    for (unsigned i = 0; i < sizeof attr_ids / sizeof *attr_ids; i++) {
        given |= tile_op_has_attr(s->compute, op, attr_ids[i]);
        for (unsigned n = 0; n < o->inner_count; n++)
            given |= tile_op_has_attr(s->compute, o->inner[n].op, attr_ids[i]);
    }
    return given;
}

/* Reads the attributes for rows and columns of the loop's tile, stages and warps; NULL: absent. The
 * tile of inner products is [m, n], that of the last product [m, its columns, n]. */
enum { USER_VALUES = 4 };
static void read_user_tile(schedule *s, tile_op op, bool last,
                           const tile_expr *user_values[USER_VALUES]) {
    const tile_attr *tile = tile_op_attr(s->compute, op, TILE_ATTR_tile);
    const tile_attr *stages = tile_op_attr(s->compute, op, TILE_ATTR_stages);
    const tile_attr *warps = tile_op_attr(s->compute, op, TILE_ATTR_warps);
    for (unsigned i = 0; i < 2; i++) {
        unsigned at = last ? 2 * i : i;
        bool given = tile && at < tile->count;
        user_values[i] = given ? tile_expr_int(s->context, tile->list[at]) : NULL;
    }
    user_values[2] = stages ? sched_resolved(s, stages->expr) : NULL;
    user_values[3] = warps ? sched_resolved(s, warps->expr) : NULL;
}

/* Returns whether the products' attributes can hold in one kernel. */
static bool user_tiles_agree(schedule *s, const sched_online *o, tile_op root) {
    const tile_expr *all[USER_VALUES] = {NULL}, *own[USER_VALUES];
    bool agree = true;
    for (unsigned i = 0; i <= o->inner_count; i++) {
        bool last = i == o->inner_count;
        if (last && !is_product(s, root)) break;
        read_user_tile(s, last ? root : o->inner[i].op, last, own);
        for (unsigned n = 0; n < USER_VALUES; n++) {
            agree &= !all[n] || !own[n] || all[n] == own[n];
            if (own[n]) all[n] = own[n];
        }
    }
    return agree;
}

/* Adds other reductions of the same rows that the value depends on. */
static void fuse_siblings(online_classifier *f, const sched_group *g, tile_value value,
                          const sched_map *map) {
    sched_traversal w = {.s = f->s, .passed = g->passed};
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < w.stop_count; i++) {
        tile_op op = tile_value_def(f->s->compute, w.stops[i].value);
        if (op.id && !w.stops[i].own_domain && tile_op_opcode(f->s->compute, op) == TILE_OP_reduce)
            online_add_reduction(f, op, &w.stops[i].map);
    }
}

static bool fuse_root(online_classifier *f, tile_op op) {
    *f->o = (sched_online){.latest = TILE_NEW_ARRAY(f->s->arena, sched_last_entries, 1),
                           .m = f->domain->rank - 2,
                           .n = f->domain->rank,
                           .depth = f->domain->rank + 1};
    return is_product(f->s, op) ? fuse_product(f, op) : fuse_reduction(f, op);
}

/* Explains why there is no loop although exponentials were found. */
static bool explain_root(online_classifier *f) {
    if (f->guard.id)
        return reject_online(
            f, f->guard,
            "where this select chooses 0, the factor that corrects the row may be NaN, such as "
            "exp(-inf - -inf) or 0 / 0",
            "subtract max(.., -1.0e30) of the maximum, divide by max(.., 1.0e-30), or several "
            "kernels remain");
    return f->uncast.id &&
           reject_online(
               f, f->uncast,
               "this type may not hold the value, which is cast before it is divided: it may be "
               "far above the row's largest element, or multiplied by a large factor",
               "subtract the row's maximum alone, add exp(%sink - %top) to the divisor for "
               "all that %top is a maximum of, or multiply as f32 and cast the product");
}

bool sched_fuse_online(schedule *s, sched_group *g, tile_op op, const sched_domain *domain,
                       tile_value value, const sched_map *map) {
    sched_online *o = TILE_NEW_ARRAY(s->arena, sched_online, 1);
    online_classifier f = {.s = s, .o = o, .domain = domain};
    if (domain->rank < 2) return false;
    if (!fuse_root(&f, op)) return explain_root(&f);
    if (!o->inner_count || tile_expr_is(o->extent, 1)) return false;
    if (needs_own_kernel(s, o, op))
        return reject_online(&f, op, "its attributes ask for a separate kernel",
                             "remove `split`, `strategy` and `raster`");
    if (!o->exp_count && !user_tiles_agree(s, o, op)) return false;
    fuse_siblings(&f, g, value, map);
    if (!check_extents(&f, op)) return false;
    sched_find_masked_inputs(s, o);
    sched_find_nan(s, o);
    *g = (sched_group){
        .kind = SCHED_ONLINE, .domain = *domain, .root = op, .online = o, .passed = g->passed};
    g->domain.extents[o->n] = o->extent;
    return true;
}

/* Loops over the same rows --------------------------------------------------------------------- */

static bool has_folds(const sched_online *o, const sched_group *g) {
    for (unsigned i = 0; i < g->online->fold_count; i++)
        if (!sched_find_carried_reduction(o, g->online->folds[i].op)) return false;
    return true;
}

bool sched_merge_online(schedule *s, sched_group *to, const sched_group *from) {
    if (to->kind != SCHED_ONLINE || to->domain.rank != from->domain.rank ||
        to->online->extent != from->online->extent)
        return false;
    for (unsigned d = 0; d + 1 < to->domain.rank; d++)
        if (to->domain.extents[d] != from->domain.extents[d]) return false;
    if (is_product(s, to->root) && is_product(s, from->root) && to->root.id != from->root.id)
        return false;
    const sched_group *wide = is_product(s, from->root) ? from : to, *both[] = {to, from};
    const tile_op root = wide->root;
    const sched_domain domain = wide->domain;
    sched_online *o = TILE_NEW_ARRAY(s->arena, sched_online, 1);
    online_classifier f = {.s = s, .o = o, .domain = &domain, .groups = {to, from}};
    if (!fuse_root(&f, root)) return false;
    for (unsigned g = 0; g < 2; g++)
        for (size_t i = 0; i < both[g]->output_count; i++) {
            const sched_output *output = &both[g]->outputs[i];
            fuse_siblings(&f, both[g], s->arrays[output->array].value, &output->map);
        }
    if (!has_folds(o, to) || !has_folds(o, from) || !check_extents(&f, root) ||
        (!o->exp_count && !user_tiles_agree(s, o, root)))
        return false;
    sched_find_masked_inputs(s, o);
    sched_find_nan(s, o);
    to->domain = domain;
    to->root = root;
    to->online = o;
    return true;
}
