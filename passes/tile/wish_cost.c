/* Which of several layouts that loads and stores want for one class costs least: each access counts
 * as often as the loops around it say, by its sectors, lines and instructions under a layout, and a
 * store at most what a conversion before it and a wide access take.
 *
 * Stronger wishes, of dots, reductions and rings, are not weighed: without their layouts there is
 * no instruction, or everything goes through a buffer. Each class looks at its own accesses under
 * at most MAX_CANDIDATES layouts, so it takes as long as the kernel has accesses. */
#include "lib/analysis/access.h"
#include "lib/analysis/conversion.h"
#include "lib/ir/gather.h"
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "lib/layout/traffic.h"
#include "passes/tile/assign_layouts.h"
#include "passes/tile/wishes.h"

struct layout_use {
    tile_op op;
    tile_value tile;
    unsigned dim, width; /* neighbours that it moves along a dim, at most */
    uint64_t weight;     /* how often it is done, about */
    layout_use *next;
};

enum { MAX_CANDIDATES = 4 };

void wish_note_candidate(assignment *a, uint32_t class, const tile_layout *layout) {
    layout_candidate *list = a->candidates[class];
    unsigned count = 0;
    for (layout_candidate *at = list; at; at = at->next, count++)
        if (tile_layout_equal(&at->layout, layout)) return;
    if (count == MAX_CANDIDATES) return;
    layout_candidate *more = TILE_NEW(a->pass->scratch, layout_candidate);
    *more = (layout_candidate){*layout, list};
    a->candidates[class] = more;
}

static bool has_choice(const assignment *a, uint32_t class) {
    return a->wish[class] <= WISH_LOAD && a->candidates[class] && a->candidates[class]->next;
}

/* A loop counts as so many turns. */
static uint64_t weight_of(const assignment *a, tile_op op) {
    enum { TURNS = 8, DEEPEST = 6 };
    uint64_t weight = 1;
    unsigned depth = 0;
    for (; op.id && depth < DEEPEST; op = tile_op_parent(a->f, op))
        if (tile_repeats(a->f, op)) weight *= TURNS, depth++;
    return weight;
}

static void note_use(tile_function *f, tile_op op, void *user) {
    assignment *a = user;
    tile_value tile;
    const tile_value *element = wish_transfer(f, op, &tile);
    if (!element) return;
    uint32_t class = wish_class(a, tile);
    if (tile_value_type(f, element[0])->layout) { /* in its order alone are there whole accesses */
        a->candidates[class] = NULL;
        a->uses[class] = NULL;
    }
    if (!has_choice(a, class)) return;
    tile_access_facts facts = tile_view_access(f, a->ranges, element);
    unsigned rank = tile_value_type(f, tile)->rank;
    layout_use *use = TILE_NEW(a->pass->scratch, layout_use);
    *use = (layout_use){.op = op,
                        .tile = tile,
                        .dim = tile_unit_dim(&facts, tile_value_type(f, element[0])->rank, rank),
                        .width = facts.width,
                        .weight = weight_of(a, op),
                        .next = a->uses[class]};
    a->uses[class] = use;
}

static unsigned access_cost(const layout_use *use, const tile_layout *layout, unsigned bytes) {
    tile_traffic t = tile_traffic_global(layout, use->dim, use->width, bytes);
    return tile_traffic_cost_global(&t);
}

static uint64_t use_cost(assignment *a, const layout_use *use, const tile_layout *layout) {
    tile_type draft = *tile_value_type(a->f, use->tile);
    unsigned conversion, ignored, bytes = tile_scalar_bytes(draft.scalar);
    unsigned cost = access_cost(use, layout, bytes);
    if (tile_op_opcode(a->f, use->op) == TILE_OP_store) {
        const tile_value *element = tile_op_segment(a->f, use->op, 1, &ignored);
        tile_layout wide =
            tile_access_layout(a->f, a->ranges, element, &draft, wish_warps_at(a, use->op));
        draft.layout = layout;
        tile_conversion_of(&draft, &wide, &conversion);
        unsigned apart = conversion + access_cost(use, &wide, bytes);
        if (apart < cost) cost = apart;
    }
    return use->weight * cost;
}

static uint64_t class_cost(assignment *a, uint32_t class, const tile_layout *layout) {
    uint64_t cost = 0;
    for (const layout_use *use = a->uses[class]; use; use = use->next)
        cost += use_cost(a, use, layout);
    return cost;
}

void wish_cheapest(assignment *a) {
    tile_walk(a->f, a->f->body, note_use, a);
    for (uint32_t id = 1; id < a->value_count; id++) {
        if (!a->uses[id]) continue;
        uint64_t least = class_cost(a, id, &a->wanted[id]);
        for (const layout_candidate *at = a->candidates[id]; at; at = at->next) {
            uint64_t cost = class_cost(a, id, &at->layout);
            if (cost < least) a->wanted[id] = at->layout;
            if (cost < least) least = cost;
        }
    }
}
