#include "runtime/model/work.h"

#include <math.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/product.h"
#include "lib/analysis/store_ring.h"
#include "lib/ir/accumulator.h"
#include "lib/ir/cost.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/layout/wgmma.h"
#include "lib/support/integer.h"
#include "runtime/model/work_scan.h"

/* Operations ----------------------------------------------------------------------------------- */

static void scan_region(scan *s, tile_region region, double times, int64_t stages);

static double count_trips(const scan *s, const tile_op_data *op) {
    int64_t begin, end, step;
    if (!scan_value_of(s, op->operands[0], &begin) || !scan_value_of(s, op->operands[1], &end) ||
        !scan_value_of(s, op->operands[2], &step) || step <= 0)
        return 1;
    return end > begin ? ceil(((double)end - (double)begin) / (double)step) : 0;
}

static int64_t attr_int(const scan *s, tile_op op, tile_attr_id id, int64_t otherwise) {
    const tile_attr *attr = tile_op_attr(s->f, op, id);
    return attr ? scan_count_of(s, attr->expr, otherwise) : otherwise;
}

/* Elements count at least 4 bytes. */
static double bytes_carried(const scan *s, const tile_op_data *op) {
    double bytes = 0;
    for (uint32_t i = 0; i < op->result_count; i++) {
        const tile_type *type = tile_value_type(s->f, (tile_value){op->first_result.id + i});
        if (type->kind == TILE_TYPE_TILE)
            bytes +=
                scan_bytes_of(s, type) / scan_width_of(s, type) * most(4, scan_width_of(s, type));
    }
    return bytes;
}

/* The `groups` of the loop. Invalid numbers of groups are rejected later. */
static unsigned groups_of(const scan *s, tile_op id) {
    int64_t groups = attr_int(s, id, TILE_ATTR_groups, 1);
    return groups > 1 && groups <= s->warps ? (unsigned)groups : 1;
}

/* As specialize-warps does. `ordered` uses cooperative_3 if the products are chained and can be
 * divided like that. */
static void note_consumers(scan *s, tile_op loop, bool chained) {
    const char *word = scan_attr_word(s->f, s->point, loop, TILE_ATTR_consumers);
    if (!word) word = "";
    s->w->ping_pong = strcmp(word, "ping_pong") == 0;
    s->w->ping_pong_fits = s->w->ping_pong && !tile_loop_rejects_ping_pong(&s->loop.facts).why;
    s->w->asks_cooperative_3 = strcmp(word, "cooperative_3") == 0;
    s->w->cooperative_3 = s->w->asks_cooperative_3 || (chained && strcmp(word, "ordered") == 0);
}

/* Returns whether groups can alternate between a block's tiles. A block is known to advance by at
 * least one tile, unless the launched grid is divided by a cluster's extent. */
static bool counts_tiles(const scan *s) {
    return s->w->persistent && (!s->f->cluster_rank || scan_eval_or(s, s->f->cluster[0], 1) == 1);
}

static void begin_pipelined(scan *s, tile_op id, tile_region body, int64_t stages) {
    if (!s->chained[id.id])
        s->chained[id.id] = tile_dots_are_chained(s->f, body, s->arena) ? SCAN_YES : SCAN_NO;
    const bool chained = s->chained[id.id] == SCAN_YES;
    s->loop = (pipelined_scan){.facts = {.target = s->target,
                                         .stages = stages,
                                         .warps = s->warps,
                                         .ordered = tile_op_has_attr(s->f, id, TILE_ATTR_order) ||
                                                    tile_op_has_attr(s->f, id, TILE_ATTR_stage),
                                         .is_explicit = s->f->sync_explicit,
                                         .over_tiles = counts_tiles(s)}};
    const tile_loop_facts *facts = &s->loop.facts;
    s->loop.chunked = scan_copies_chunks(s, body, stages);
    s->loop.roles = s->loops++ == 0 && s->groups == 1 && tile_specializes_warps(s->target) &&
                    !tile_loop_rejects_roles(facts).why &&
                    !(chained && tile_loop_rejects_chain(facts).why);
    note_consumers(s, id, chained);
}

static unsigned consumer_warps(const scan *s) {
    return s->w->cooperative_3 ? TILE_COOPERATIVE_3 * TILE_WARPGROUP : s->w->warps;
}

static void end_pipelined(scan *s) {
    const tile_outer_ring_facts copies = {.target = s->target,
                                          .warps = consumer_warps(s),
                                          .alone = true,
                                          .bytes = s->alive,
                                          .stage = s->prologue_bytes};
    s->w->may_have_roles = s->loop.roles && s->loop.dots && s->loop.copies;
    s->last = s->loop;
    if (s->w->may_have_roles && s->w->persistent && !s->w->ping_pong_fits &&
        tile_choose_outer_ring_stages(&copies) > 1)
        scan_take_shared(s, (double)s->prologue_bytes);
}

static void scan_loop(scan *s, tile_op id, const tile_op_data *op, double times) {
    int64_t stages = attr_int(s, id, TILE_ATTR_pipelined, 1), outer = s->stages, begin;
    unsigned around = s->groups, warps = s->warps, groups = groups_of(s, id);
    const tile_region_data *body = tile_region_at(s->f, op->regions[0]);
    double trips = count_trips(s, op), before = s->copied;
    bool waits = s->waits, pipelined = tile_op_has_attr(s->f, id, TILE_ATTR_pipelined);
    const pipelined_scan loop = s->loop;
    tune_cost *outside = s->cost;
    if (body->arg_count && scan_value_of(s, op->operands[0], &begin))
        scan_set_value(s, body->first_arg, begin);
    if (times == 1 && s->cost == &s->w->once && op->result_count && !s->w->trips) {
        s->cost = &s->w->loop; /* the loop that can be split */
        s->w->trips = ceil(trips / groups);
        s->w->sums = bytes_carried(s, op);
    }
    s->copied = 0;
    s->waits = false;
    s->stages = stages;
    s->warps = warps / groups;
    s->groups = around * groups;
    if (pipelined) begin_pipelined(s, id, op->regions[0], stages);
    scan_region(s, op->regions[0], times * trips, stages);
    if (pipelined) {
        end_pipelined(s);
        s->loop = loop;
    }
    if (trips > 0) s->w->in_flight = most(s->w->in_flight, s->copied * s->groups);
    if (s->waits && stages < 2) s->w->rounds += times * trips / s->groups;
    s->copied = before;
    s->waits = waits;
    s->stages = outer;
    s->groups = around;
    s->warps = warps;
    s->cost = outside;
}

static void scan_branch(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages) {
    int64_t condition;
    bool known = scan_value_of(s, op->operands[0], &condition);
    bool same = known && !s->places[op->operands[0].id]; /* for all blocks */
    for (uint32_t r = 0; r < op->region_count; r++)
        if (!same || (condition != 0) == (r == 0)) scan_region(s, op->regions[r], times, stages);
    for (uint32_t i = 0; i < op->result_count && known; i++) {
        tile_value sent = tile_carried_sent(s->f, id, condition ? 0 : 1, i);
        int64_t value;
        if (scan_value_of(s, sent, &value)) scan_set_value(s, tile_op_result(s->f, id, i), value);
    }
}

/* Each region has its own warps. */
static void scan_roles(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages) {
    const tile_values warps = tile_operands_warps(s->f, id);
    const unsigned around = s->warps;
    for (uint32_t r = 0; r < op->region_count; r++) {
        int64_t own;
        bool known = r < warps.count && scan_value_of(s, warps.at[r], &own);
        s->warps = known && own > 0 && own <= around ? (unsigned)own : around;
        scan_region(s, op->regions[r], times, stages);
    }
    s->warps = around;
}

/* A kernel of a plan may get arrays that it does not use. */
static void note_arguments(scan *s, const tile_op_data *op) {
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tile_value_data *value = tile_value_at(s->f, op->operands[i]);
        if (value->kind == TILE_VALUE_ARG) tile_arg_set_add(&s->used, value->index);
    }
}

static void add_atomic(scan *s, const tile_op_data *op, double times) {
    if (op->result_count)
        scan_set_value(s, op->first_result, 0); /* the value of the first ticket */
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tile_type *type = tile_value_type(s->f, op->operands[i]);
        if (type->kind != TILE_TYPE_TILE) continue;
        s->w->rendezvous_count = 3;                            /* the last block waits for all */
        s->cost->stored += 2 * times * scan_bytes_of(s, type); /* read and written */
    }
}

/* The smallest scratch contains the semaphores on which blocks wait in order. */
static void note_scratch(scan *s, const tile_op_data *op) {
    int64_t count = 1, extent;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (scan_value_of(s, op->operands[i], &extent) && extent > 0 && extent <= INT32_MAX / count)
            count *= extent;
    if (!s->least_scratch || count < s->least_scratch) s->least_scratch = count;
    if (s->w->rendezvous_count < 2) s->w->rendezvous_count = 2;
}

/* The cuts of a tile. */
typedef struct known_cuts {
    struct known_cuts *next;
    tile_store_query query;
    unsigned count;
    tile_store_cut cuts[TILE_MAX_STORE_CUTS];
} known_cuts;

static const known_cuts *find_cuts(const scan *s, const tile_store_query *q) {
    for (const known_cuts *known = *s->cuts; known; known = known->next) {
        const tile_store_query *own = &known->query;
        if (own->dims[0] == q->dims[0] && own->dims[1] == q->dims[1] &&
            own->row_dim == q->row_dim && own->element_bytes == q->element_bytes &&
            own->warps == q->warps)
            return known;
    }
    known_cuts *added = TILE_NEW(s->arena, known_cuts);
    *added = (known_cuts){.next = *s->cuts, .query = *q};
    added->count = tile_list_store_cuts(q, added->cuts);
    return *s->cuts = added;
}

/* Estimates the ring through which specialize-warps stores tiles of a persistent kernel, where the
 * shared memory of the products is never free. All stores share one ring. */
static void add_store(scan *s, const tile_op_data *op, double times) {
    enum { PRODUCER = 4 /* warps */, BARRIERS = 256 /* bytes */ };
    const tile_type *tile = tile_value_type(s->f, op->operands[0]);
    unsigned sets = s->w->cooperative_3    ? TILE_COOPERATIVE_3
                    : s->w->ping_pong_fits ? TILE_PING_PONG
                                           : 1;
    unsigned warps = consumer_warps(s);
    tile_store_ring ring;
    tile_store_query query = {.element_bytes = (unsigned)scan_width_of(s, tile),
                              .warps = warps / sets,
                              .sets = sets,
                              .block_warps = warps + PRODUCER,
                              .others = BARRIERS + s->alive,
                              .alone = true};
    if (tile_value_type(s->f, op->operands[1])->kind != TILE_TYPE_VIEW) return;
    s->cost->stored += times * scan_bytes_of(s, tile);
    if (scan_is_unaligned(s, op->operands[1])) s->cost->unaligned += times * scan_bytes_of(s, tile);
    if (warps > PRODUCER) query.registers = tile_entry_registers(query.block_warps);
    if (!s->w->may_have_roles || tile->rank != 2 || !query.element_bytes ||
        !scan_is_tile(scan_dim_of(s, tile, 0), scan_dim_of(s, tile, 1)))
        return;
    for (unsigned d = 0; d < 2; d++) query.dims[d] = (uint32_t)scan_dim_of(s, tile, d);
    if (query.dims[0] == s->last.sums[0] && query.dims[1] == s->last.sums[1])
        query.row_dim = s->last.row_dim;
    if (s->w->cooperative_3) query.dims[query.row_dim] /= TILE_COOPERATIVE_3;
    const known_cuts *known = find_cuts(s, &query);
    if (tile_choose_store_ring_of(s->target, &query, known->cuts, known->count, &ring) &&
        ring.bytes > s->w->store_ring_bytes)
        s->w->store_ring_bytes = ring.bytes;
}

static void add_load(scan *s, tile_op id, const tile_op_data *op, double times) {
    const tile_type *type = tile_value_type(s->f, op->first_result);
    double width = scan_width_of(s, type);
    double bytes = scan_bytes_of(s, type);
    if (type->kind == TILE_TYPE_TILE && bytes / width * most(4, width) > s->w->widest) {
        unsigned along = scan_along(s, op->operands[0], type->rank);
        double row = width * (double)scan_dim_of(s, type, along ? along - 1u : type->rank - 1u);
        s->w->widest = bytes / width * most(4, width);
        bool apart = row < bytes && !scan_has_whole_rows(s, op->operands[0], type);
        s->w->lines = apart ? most(1, LINE / row) : 1;
    }
    s->waits = true;
    scan_add_load(s, id, op, type, times);
    scan_note_ring(s, id, op);
}

/* The elements of the value in a block. Each thread has its own vector. */
static double count_elements(const scan *s, tile_value value) {
    const tile_type *type = tile_value_type(s->f, value);
    double each = type->kind == TILE_TYPE_VECTOR ? 32.0 * s->warps : 1;
    bool many = type->kind == TILE_TYPE_VECTOR || type->kind == TILE_TYPE_TILE;
    return many ? each * scan_bytes_of(s, type) / scan_width_of(s, type) : 0;
}

/* Counts elementwise operations on tiles or on threads' vectors. 16-bit floats are computed in
 * pairs. */
static void add_arithmetic(scan *s, const tile_op_data *op, double times) {
    const tile_opcode opcode = (tile_opcode)op->opcode;
    double elements = 0;
    bool computes = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) || opcode == TILE_OP_reduce ||
                    opcode == TILE_OP_asm;
    if (!computes || !op->result_count) return;
    for (uint32_t i = 0; i < op->operand_count; i++)
        elements = most(elements, count_elements(s, op->operands[i]));
    const tile_type *type = tile_value_type(s->f, op->first_result);
    bool packed = scan_width_of(s, type) == 2 && tile_scalar_is_floating(scan_scalar_of(s, type));
    double each = tile_op_is_costly(opcode) ? tile_op_cost(opcode).issue : packed ? 0.5 : 1;
    *(s->cost == &s->w->loop ? &s->cost->arithmetic : &s->cost->epilogue) +=
        times * each * elements;
    if (opcode == TILE_OP_reduce) s->cost->reduced += times * elements;
}

static void scan_op(scan *s, tile_op id, double times, int64_t stages) {
    const tile_op_data *op = tile_op_at(s->f, id);
    note_arguments(s, op);
    switch (op->opcode) {
    case TILE_OP_for: scan_loop(s, id, op, times); return;
    case TILE_OP_if: scan_branch(s, id, op, times, stages); return;
    case TILE_OP_roles: scan_roles(s, id, op, times, stages); return;
    case TILE_OP_block_id:
    case TILE_OP_grid_dim:
        for (uint32_t i = 0; i < op->result_count; i++)
            scan_set_value(s, tile_op_result(s->f, id, i),
                           op->opcode == TILE_OP_block_id ? 0 : s->w->grid[i]);
        return;
    case TILE_OP_atomic: add_atomic(s, op, times); return;
    case TILE_OP_dot: scan_add_dot(s, id, op, times); return;
    case TILE_OP_load: add_load(s, id, op, times); return;
    case TILE_OP_store: add_store(s, op, times); return;
    case TILE_OP_copy:
    case TILE_OP_copy_async: scan_add_copy(s, id, op, times, stages); return;
    case TILE_OP_alloc_shared: {
        const tile_type *type = tile_value_type(s->f, op->first_result);
        scan_take_shared(s, scan_bytes_of(s, type) * (double)scan_stages_of(s, type));
        return;
    }
    case TILE_OP_free_shared: {
        const tile_type *type = tile_value_type(s->f, op->operands[0]);
        s->alive -= scan_whole_bytes(scan_bytes_of(s, type) * (double)scan_stages_of(s, type));
        return;
    }
    case TILE_OP_scratch: note_scratch(s, op); return;
    case TILE_OP_lock_semaphore: s->ping_pong_fits = true; return;
    default: break; /* other operations have no cost of their own; integers are evaluated */
    }
    scan_fold(s, op);
    add_arithmetic(s, op, times);
    for (uint32_t r = 0; r < op->region_count; r++) scan_region(s, op->regions[r], times, stages);
}

static void scan_region(scan *s, tile_region region, double times, int64_t stages) {
    for (tile_op op = tile_region_first(s->f, region); op.id; op = tile_op_next(s->f, op))
        scan_op(s, op, times, stages);
}

/* The kernel ----------------------------------------------------------------------------------- */

static double array_bytes(const scan *s) {
    double bytes = 0;
    for (size_t i = 0; i < s->f->arg_count; i++) {
        const tile_type *type = s->f->args[i].type;
        double elements = 1;
        if (type->kind != TILE_TYPE_VIEW || !tile_arg_set_has(&s->used, i)) continue;
        for (unsigned d = 0; d < type->rank; d++)
            elements *= (double)scan_eval_or(s, s->f->args[i].extents[d], 1);
        bytes += elements * scan_width_of(s, type);
    }
    return bytes;
}

enum { ALL_PLACES = 7 };

static void note_places(const tile_function *f, tile_op op, uint8_t *places) {
    uint8_t from = 0;
    const tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) from |= places[data->operands[i].id];
    bool any = data->region_count || data->opcode == TILE_OP_atomic;
    for (unsigned i = 0; i < data->result_count; i++)
        places[data->first_result.id + i] = data->opcode == TILE_OP_block_id ? (uint8_t)(1u << i)
                                            : any                            ? ALL_PLACES
                                                                             : from;
    for (unsigned r = 0; r < data->region_count; r++) {
        const tile_region_data *region = tile_region_at(f, data->regions[r]);
        for (unsigned i = 0; i < region->arg_count; i++)
            places[region->first_arg.id + i] =
                data->opcode == TILE_OP_for && i == 0 ? from : ALL_PLACES;
    }
}

static void find_places(scan *s, tile_arena *arena) {
    s->places = TILE_NEW_ARRAY(arena, uint8_t, s->f->value_count + 1);
    TILE_FOR_EACH_OP_INSIDE (s->f, op, s->f->body) note_places(s->f, op, s->places);
}

/* The grid's extent, rounded up to whole clusters. */
static int64_t round_up_to_clusters(const scan *s, unsigned d, int64_t extent) {
    int64_t cluster = d < s->f->cluster_rank ? scan_eval_or(s, s->f->cluster[d], 1) : 1;
    return cluster > 1 ? tile_round_up(extent, cluster) : extent;
}

static void read_launch(scan *s) {
    const tile_function *f = s->f;
    tune_work *w = s->w;
    int64_t warps = scan_eval_or(s, f->warps, 1);
    for (unsigned i = 0; i < 3; i++) {
        w->grid[i] = i < f->grid_rank ? scan_eval_or(s, f->grid[i], 1) : 1;
        if (w->grid[i] < 1) w->grid[i] = 1;
        w->grid[i] = round_up_to_clusters(s, i, w->grid[i]);
        w->uses_num_sms |= i < f->grid_rank && tile_expr_holds(f->grid[i], TILE_EXPR_NUM_SMS);
    }
    w->cluster = 1;
    for (unsigned i = 0; i < f->cluster_rank; i++) {
        int64_t extent = scan_eval_or(s, f->cluster[i], 1);
        if (extent > 0 && extent <= INT32_MAX / w->cluster) w->cluster *= extent;
    }
    w->warps = warps > 0 && warps < 1 << 16 ? (unsigned)warps : 1;
    w->fills_clusters = w->cluster > 1 && !tile_shares_copies(s->target);
    w->persistent = f->is_persistent && scan_eval_or(s, f->persistent_if, 1) != 0;
}

enum { OF_POINT = 1 /* level of expressions that depend on parameters */ };

struct tune_reader {
    scan scan; /* at no point yet */
    unsigned num_sms;
    tile_formulas formulas;
    tile_bound_param *unbound; /* parameters without a point */
    tile_op split;             /* the loop with `split`; NONE: there is no such loop */
    size_t factor, strategy;   /* of it: parameters; param_count: they have another form */
    struct known_cuts *cuts;
    struct known_dot *dots;
};

static void clear(scan *s) {
    const size_t count = s->f->value_count + 1;
    memset(s->known, 0, sizeof *s->known * count);
    memset(s->counted, 0, sizeof *s->counted * count);
    memset(s->along, 0, sizeof *s->along * count);
    memset(s->rounded, 0, sizeof *s->rounded * count);
}

static tile_op find_split(const tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_for && tile_op_has_attr(f, (tile_op){id}, TILE_ATTR_split))
            return (tile_op){id};
    return TILE_NO_OP;
}

/* The parameter that is the attribute's value; param_count: there is none. */
static size_t param_of_attr(const tile_function *f, tile_op op, tile_attr_id id) {
    const tile_attr *attr = op.id ? tile_op_attr(f, op, id) : NULL;
    size_t i = 0;
    if (!attr || !attr->expr || attr->expr->kind != TILE_EXPR_PARAM) return f->param_count;
    while (i < f->param_count && strcmp(f->params[i].name, attr->expr->name) != 0) i++;
    return i;
}

tune_reader *tune_reader_create(const tile_function *f, const int64_t *sizes,
                                const tile_target *target, unsigned num_sms, tile_arena *arena) {
    const size_t values = f->value_count + 1;
    tune_reader *r = TILE_NEW(arena, tune_reader);
    scan *s = &r->scan;
    r->num_sms = num_sms;
    r->unbound = TILE_NEW_ARRAY(arena, tile_bound_param, f->param_count + 1);
    r->split = find_split(f);
    r->factor = param_of_attr(f, r->split, TILE_ATTR_split);
    r->strategy = param_of_attr(f, r->split, TILE_ATTR_strategy);
    size_t *levels = TILE_NEW_ARRAY(arena, size_t, f->param_count + 1);
    for (size_t i = 0; i < f->param_count; i++) levels[i] = OF_POINT;
    tile_formulas_open(&r->formulas, f, levels, arena);
    *s = (scan){.f = f, .sizes = sizes, .target = target, .groups = 1, .arena = arena};
    s->formulas = &r->formulas;
    s->cuts = &r->cuts;
    s->dots = &r->dots;
    s->strides = tile_arena_alloc(arena, sizeof *s->strides * (f->arg_count + 1));
    s->plain = TILE_NEW_ARRAY(arena, uint8_t, f->op_count + 1);
    s->chained = TILE_NEW_ARRAY(arena, uint8_t, f->op_count + 1);
    s->values = TILE_NEW_ARRAY(arena, int64_t, values);
    s->known = TILE_NEW_ARRAY(arena, bool, values);
    s->counted = TILE_NEW_ARRAY(arena, uint32_t, values);
    s->along = TILE_NEW_ARRAY(arena, uint8_t, values);
    s->rounded = TILE_NEW_ARRAY(arena, bool, values);
    s->feeds_dot = TILE_NEW_ARRAY(arena, bool, values);
    tile_mark_dot_operands(f, f->body, s->feeds_dot);
    find_places(s, arena);
    return r;
}

static tile_formula_inputs inputs_of(const tune_reader *r, const tile_bound_params *point) {
    return (tile_formula_inputs){.params = point ? point->params : r->unbound,
                                 .sizes = r->scan.sizes,
                                 .num_sms = (int64_t)r->num_sms};
}

void tune_reader_read(tune_reader *r, const tile_bound_params *point, tune_work *work) {
    const tile_function *f = r->scan.f;
    scan s = r->scan;
    *work = (tune_work){0};
    s.point = point;
    s.inputs = inputs_of(r, point);
    s.w = work;
    s.cost = &work->once;
    clear(&s);
    tile_formulas_evaluate(s.formulas, OF_POINT, &s.inputs);
    read_launch(&s);
    s.warps = work->warps;
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_SCALAR)
            scan_set_value(&s, f->args[i].value, s.sizes[i]);
    scan_region(&s, f->body, 1, 1);
    work->arrays = array_bytes(&s);
    if (s.ping_pong_fits) work->semaphores = s.least_scratch;
}

void tune_read_work(const tile_function *f, const tile_bound_params *point, const int64_t *sizes,
                    const tile_target *target, unsigned num_sms, tile_arena *arena,
                    tune_work *work) {
    tune_reader_read(tune_reader_create(f, sizes, target, num_sms, arena), point, work);
}

/* Passes --------------------------------------------------------------------------------------- */

tune_passes tune_expect_passes(const tune_work *w, tile_strategy strategy) {
    tune_passes made = {.roles = w->may_have_roles && (!w->fills_clusters || strategy),
                        .persistent = w->persistent && !strategy,
                        .shared = w->shared};
    made.ping_pong_fits = w->ping_pong_fits && made.roles && made.persistent;
    made.cooperative_3 = w->cooperative_3 && made.roles && !strategy;
    /* The ring cannot reuse other shared memory. */
    if (made.roles && (made.persistent || strategy == TILE_STRATEGY_stream_k))
        made.shared += w->store_ring_bytes;
    return made;
}

/* Splits --------------------------------------------------------------------------------------- */

static bool param_of(const char *name, int64_t *value, void *user) {
    const tile_bound_param *param = user ? tile_find_bound(user, name) : NULL;
    if (!param || !param->bound) return false;
    *value = param->value;
    return true;
}

static void read_split(const tile_function *f, tile_op loop, const tile_bound_params *point,
                       int64_t *factor, const char **strategy) {
    const tile_bindings bindings = {.param = param_of, .user = (void *)(uintptr_t)point};
    int64_t value;
    *factor = 1;
    *strategy = NULL;
    if (!loop.id) return;
    if (tile_expr_eval(tile_op_attr(f, loop, TILE_ATTR_split)->expr, &bindings, &value))
        *factor = scan_clamp(value);
    *strategy = scan_attr_word(f, point, loop, TILE_ATTR_strategy);
}

void tune_reader_read_split(const tune_reader *r, const tile_bound_params *point, int64_t *factor,
                            const char **strategy) {
    const size_t none = r->scan.f->param_count;
    if (!point || r->factor == none || r->strategy == none || !point->params[r->factor].bound) {
        read_split(r->scan.f, r->split, point, factor, strategy);
    } else {
        *factor = scan_clamp(point->params[r->factor].value);
        *strategy = point->params[r->strategy].word;
    }
}

void tune_read_split(const tile_function *f, const tile_bound_params *point, int64_t *factor,
                     const char **strategy) {
    read_split(f, find_split(f), point, factor, strategy);
}

static void mark(const tile_function *f, const tile_expr *expr, bool *own) {
    if (!expr) return;
    if (expr->kind == TILE_EXPR_PARAM)
        for (size_t i = 0; i < f->param_count; i++)
            own[i] |= strcmp(f->params[i].name, expr->name) == 0;
    for (unsigned a = 0; a < 3 && expr->args[a]; a++) mark(f, expr->args[a], own);
}

static void mark_type(const tile_function *f, const tile_type *type, bool *own) {
    const char *param = NULL;
    size_t length = 0;
    if (type->param) tile_is_accumulator(type->param, &param, &length);
    for (size_t i = 0; param && i < f->param_count; i++)
        own[i] |=
            strlen(f->params[i].name) == length && memcmp(f->params[i].name, param, length) == 0;
    for (unsigned d = 0; d < type->rank; d++) mark(f, type->dims[d], own);
    mark(f, type->stages, own);
}

void tune_find_own(const tile_function *f, bool *own) {
    for (unsigned d = 0; d < 3; d++) {
        mark(f, d < f->grid_rank ? f->grid[d] : NULL, own);
        mark(f, d < f->cluster_rank ? f->cluster[d] : NULL, own);
    }
    mark(f, f->warps, own);
    mark(f, f->persistent_if, own);
    for (size_t i = 0; i < f->arg_count; i++)
        for (unsigned d = 0; d < TILE_MAX_RANK && f->args[i].type->kind == TILE_TYPE_VIEW; d++) {
            mark(f, f->args[i].extents[d], own);
            mark(f, f->args[i].strides[d], own);
        }
    for (uint32_t id = 1; id < f->value_count; id++) {
        mark_type(f, f->values[id].type, own);
        mark(f, f->values[id].expr, own);
    }
    for (uint32_t id = 1; id < f->op_count; id++)
        for (unsigned a = 0; a < f->ops[id].attr_count; a++) {
            const tile_attr *attr = &f->ops[id].attrs[a];
            if (attr->id != TILE_ATTR_split && attr->id != TILE_ATTR_strategy)
                mark(f, attr->expr, own);
        }
}
