/* How operations use tiles and buffers that have layouts, for display. */
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/conversion.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/tensor_map.h"
#include "lib/ir/print_names.h"
#include "lib/layout/layout.h"
#include "lib/layout/rearrange.h"
#include "lib/layout/traffic.h"
#include "lib/ops/atomic.h"
#include "lib/ops/gather.h"
#include "lib/support/scalar.h"
#include "tile/inspect.h"

/* Uses of one value. */
typedef struct use_list {
    tile_layout_use *uses;
    unsigned count;
} use_list;

typedef struct collecting {
    tile_function *f;
    tile_arena arena;
    const tile_range *ranges;
    const tile_target *target;
    const char **names;
    use_list *lists; /* by value */
} collecting;

static void add_use(collecting *c, tile_value value, tile_op op, tile_layout_use use) {
    use_list *list = &c->lists[value.id];
    if ((list->count & (list->count + 1)) == 0) { /* grow at 1, 3, 7, .. */
        tile_layout_use *more = TILE_NEW_ARRAY(&c->arena, tile_layout_use, 2 * list->count + 1);
        if (list->count) memcpy(more, list->uses, sizeof *more * list->count);
        list->uses = more;
    }
    use.operation = tile_op_name(c->f, op);
    use.line = tile_op_loc(c->f, op).line;
    list->uses[list->count++] = use;
}

static tile_layout_use global_use(const char *way, tile_traffic t) {
    return (tile_layout_use){.way = way,
                             .access_bytes = t.bytes,
                             .requests = t.accesses,
                             .sectors = t.wavefronts,
                             .needless = t.conflicts};
}

static tile_layout_use shared_use(bool load, tile_traffic t) {
    const char *way = t.matrices ? load ? "ldmatrix" : "stmatrix"
                      : load     ? "ld.shared"
                                 : "st.shared";
    return (tile_layout_use){.way = way,
                             .access_bytes = t.bytes,
                             .requests = t.accesses,
                             .wavefronts = t.wavefronts,
                             .needless = t.conflicts};
}

static bool has_layout(const tile_type *type, tile_type_kind kind) {
    return type->kind == kind && type->layout;
}

/* Global memory -------------------------------------------------------------------------------- */

static void visit_view(collecting *c, tile_op op, const tile_gather *g) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(c->f, op));
    const tile_values element = tile_op_segment(c->f, op, g->operand);
    bool loads = info->operands[0].form != TILE_FORM_value;
    tile_value tile = loads ? tile_op_result(c->f, op, 0) : tile_operand_src(c->f, op);
    const tile_type *type = tile_value_type(c->f, tile),
                    *view = tile_value_type(c->f, element.at[0]);
    if (!has_layout(type, TILE_TYPE_TILE) || view->kind != TILE_TYPE_VIEW || view->layout) return;
    tile_access_facts facts = tile_view_access(c->f, c->ranges, element.at);
    unsigned d = tile_unit_dim(&facts, view->rank, type->rank);
    unsigned width = facts.width;
    if (tile_is_whole_access(c->f, op))
        width = loads ? facts.unaligned : tile_store_width(&facts, type->layout, d);
    tile_traffic t = tile_traffic_global(type->layout, d, width, tile_scalar_bytes(type->scalar));
    add_use(c, tile, op, global_use(loads ? "ld.global" : "st.global", t));
}

/* Copies by threads: they load from the view and store to the buffer. */
static void visit_copy(collecting *c, tile_op op) {
    const char *remedy;
    const tile_values from = tile_operands_src(c->f, op), to = tile_operands_dst(c->f, op);
    bool in = tile_value_type(c->f, from.at[0])->kind == TILE_TYPE_VIEW;
    const tile_value *view = in ? from.at : to.at, *buffer = in ? to.at : from.at;
    const tile_type *type = tile_value_type(c->f, buffer[0]);
    if (tile_value_type(c->f, view[0])->kind != TILE_TYPE_VIEW ||
        !has_layout(type, TILE_TYPE_SHARED))
        return;
    tile_value source = tile_shared_source(c->f, buffer[0]);
    if (tile_target_has(c->target, TILE_FEATURE_tma) &&
        !tile_view_cannot_have_map(c->f, view[0], &c->arena, &remedy)) {
        add_use(c, source, op,
                (tile_layout_use){.way = "the bulk tensor copy (TMA), if it is possible"});
        return;
    }
    unsigned bytes = tile_scalar_bytes(type->scalar);
    tile_access_facts facts = tile_view_access(c->f, c->ranges, view);
    unsigned width = in && tile_is_plain_access(c->f, op) ? facts.unaligned : facts.width;
    tile_layout layout =
        tile_copy_layout(c->f, c->ranges, view, type, tile_executors_of(c->f, op).warps);
    unsigned d = tile_unit_dim(&facts, tile_value_type(c->f, view[0])->rank, type->rank);
    add_use(c, source, op,
            global_use(in ? "reads of the view" : "writes to the view",
                       tile_traffic_global(&layout, d, width, bytes)));
    add_use(c, source, op,
            shared_use(!in, tile_traffic_shared(&layout, type->layout, bytes, false)));
}

/* Shared memory -------------------------------------------------------------------------------- */

static void visit_shared(collecting *c, tile_op op, bool loads) {
    tile_value tile = loads ? tile_op_result(c->f, op, 0) : tile_operand_src(c->f, op);
    tile_value buffer = (loads ? tile_operand_src(c->f, op) : tile_operand_dst(c->f, op));
    const tile_type *type = tile_value_type(c->f, tile), *memory = tile_value_type(c->f, buffer);
    if (!has_layout(type, TILE_TYPE_TILE) || !has_layout(memory, TILE_TYPE_SHARED) ||
        type->rank != memory->rank)
        return;
    bool matrices = loads || (tile_target_has(c->target, TILE_FEATURE_stmatrix) &&
                              !tile_layout_redundant_threads(type->layout));
    tile_layout_use use =
        shared_use(loads, tile_traffic_shared(type->layout, memory->layout,
                                              tile_scalar_bytes(type->scalar), matrices));
    add_use(c, tile, op, use);
    add_use(c, tile_shared_source(c->f, buffer), op, use);
}

/* Fragments that mma loads from a buffer. */
static void visit_dot(collecting *c, tile_op op) {
    bool warpgroup = tile_op_word(c->f, op, TILE_ATTR_via) == TILE_WORD_via_wgmma;
    const tile_type *acc = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    tile_mma_query query = tile_product_query(c->f, op);
    query.features = c->target->features;
    const tile_mma *row = acc->layout && !warpgroup ? tile_mma_find(&query) : NULL;
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value value = tile_op_segment(c->f, op, operand).at[0];
        const tile_type *type = tile_value_type(c->f, value);
        if (!has_layout(type, TILE_TYPE_SHARED)) continue;
        tile_value source = tile_shared_source(c->f, value);
        if (warpgroup) add_use(c, source, op, (tile_layout_use){.way = "wgmma"});
        if (!row) continue;
        tile_layout fragment = tile_product_fragment(row, acc->layout, operand, type);
        add_use(c, source, op,
                shared_use(true, tile_traffic_shared(&fragment, type->layout,
                                                     tile_scalar_bytes(type->scalar), true)));
    }
}

/* Conversions ---------------------------------------------------------------------------------- */

static void visit_conversion(collecting *c, tile_op op) {
    tile_shuffle_plan plan;
    tile_value source = tile_operand_src(c->f, op), result = tile_op_result(c->f, op, 0);
    const tile_type *from = tile_value_type(c->f, source), *to = tile_value_type(c->f, result);
    const tile_values buffer = tile_operands_buffer(c->f, op);
    if (!from->layout || !to->layout) return;
    tile_layout_use use = {.way = "registers"};
    unsigned bytes = tile_scalar_bytes(from->scalar);
    if (buffer.count && tile_value_type(c->f, buffer.at[0])->layout) {
        const tile_layout *between = tile_value_type(c->f, buffer.at[0])->layout;
        tile_traffic stores = tile_traffic_shared(from->layout, between, bytes, false),
                     loads = tile_traffic_shared(to->layout, between, bytes, true);
        use = shared_use(true, loads);
        use.way = "shared memory";
        use.requests += stores.accesses;
        use.wavefronts += stores.wavefronts;
        use.needless += stores.conflicts;
    } else if (!tile_layout_same_threads(from->layout, to->layout) &&
               tile_conversion_shuffles(from, to->layout, &plan)) {
        use.way = "shuffles";
        use.requests = tile_shuffle_count(&plan, to->layout, bytes);
    }
    add_use(c, source, op, use);
    add_use(c, result, op, use);
}

static void visit(collecting *c, tile_op op) {
    tile_function *f = c->f;
    tile_gather g;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_load || opcode == TILE_OP_store) {
        if (tile_gather_of(f, op, &g)) visit_view(c, op, &g);
    }
    if (opcode == TILE_OP_copy || opcode == TILE_OP_copy_async) visit_copy(c, op);
    if (opcode == TILE_OP_load_shared || opcode == TILE_OP_store_shared)
        visit_shared(c, op, opcode == TILE_OP_load_shared);
    if (opcode == TILE_OP_dot) visit_dot(c, op);
    if (opcode == TILE_OP_convert_layout) visit_conversion(c, op);
}

/* Values in the order of the text -------------------------------------------------------------- */

static bool is_wanted(const collecting *c, uint32_t id, const char *name) {
    const tile_type *type = tile_value_type(c->f, (tile_value){id});
    return c->names[id] &&
           (has_layout(type, TILE_TYPE_TILE) || has_layout(type, TILE_TYPE_SHARED)) &&
           (!name || strcmp(c->names[id], name) == 0);
}

static unsigned inspect(tile_function *f, const char *name, const tile_target *target,
                        tile_layout_found found, void *user) {
    collecting c = {.f = f, .target = target};
    unsigned count = 0;
    c.names = tile_print_names(f, &c.arena);
    c.lists = TILE_NEW_ARRAY(&c.arena, use_list, f->value_count);
    if (f->kind == TILE_KERNEL && f->level == 2) {
        c.ranges = tile_range_analyse(f, &c.arena);
        TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit(&c, op);
    }
    for (uint32_t id = 1; id < f->value_count; id++) {
        if (!is_wanted(&c, id, name)) continue;
        const tile_laid_out value = {f->name, c.names[id], tile_value_type(f, (tile_value){id}),
                                     c.lists[id].uses, c.lists[id].count};
        found(&value, user);
        count++;
    }
    tile_arena_reset(&c.arena);
    return count;
}

/* Whether the function is a plan of this name that launches the kernel. */
static bool launches(const tile_function *plan, const char *name, const char *kernel) {
    bool any = false;
    if (plan->kind != TILE_PLAN || strcmp(plan->name, name) != 0) return false;
    TILE_FOR_EACH_OP_INSIDE (plan, op, plan->body) {
        const char *callee = tile_op_attr_text(plan, op, TILE_ATTR_callee);
        any |= tile_op_opcode(plan, op) == TILE_OP_launch && callee && strcmp(callee, kernel) == 0;
    }
    return any;
}

/* Passes may have replaced a kernel by a plan of its name. */
static bool is_of(const tile_module *module, const tile_function *f, const char *name) {
    bool own = !name || strcmp(f->name, name) == 0;
    for (const tile_function *plan = module->first; plan && !own; plan = plan->next)
        own = launches(plan, name, f->name);
    return own;
}

unsigned tile_inspect_layouts(tile_module *module, const char *kernel, const char *name,
                              const tile_target *target, tile_layout_found found, void *user) {
    TILE_GUARD(tile_module_context(module), 0)
    unsigned count = 0;
    tile_function *f;
    if (!target) target = tile_target_find("sm_80");
    for (unsigned i = 0; module && (f = tile_module_function(module, i)); i++)
        if (is_of(module, f, kernel)) count += inspect(f, name, target, found, user);
    return count;
}
