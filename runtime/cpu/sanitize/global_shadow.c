#include "runtime/cpu/sanitize/global_shadow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/arena.h"
#include "runtime/cpu/sanitize/check.h"
#include "runtime/cpu/sanitize/overlap.h"
#include "runtime/cpu/sanitize/pages.h"

/* Accesses ------------------------------------------------------------------------------------- */

/* An access that is being checked cell by cell. */
typedef struct walk {
    cpu_run *run;
    cpu_agent *agent;
    const cpu_insn *insn;
    int lane;
    const uint64_t *addresses; /* by lane, if the access combines several lanes; otherwise NULL */
    uint32_t mask, lane_bytes;
    cpu_lanes lanes;
    cpu_access access;
    size_t range;
    uint32_t event;
    /* The contents of preceding cells, with the result of their checks. */
    uint32_t write_is_ordered, ordered_readers, old_readers, new_readers;
    uint32_t ordered_updates, old_updates, new_updates;
    uint64_t cell_bytes;
} walk;

/* Lanes of one agent --------------------------------------------------------------------------- */

/* Returns whether the event belongs to this agent and follows the last synchronization of its
 * lanes. */
static bool is_of_lanes(const walk *w, uint32_t event) {
    const cpu_event *other = &w->run->global->log.events[event];
    return event && other->agent == w->agent->clock.agent && w->run->program->lanes > 1 &&
           other->time >= w->agent->last_sync_time && other->time > w->agent->block->settled;
}

static unsigned lane_of(cpu_lanes lanes, uint64_t address) {
    return lanes.bits == CPU_ONE_LANE ? lanes.turn
                                      : ((address >> lanes.bits) + lanes.turn) % CPU_LANES;
}

/* The first of the cell's bytes that a lane accesses other than the event's; the cell's end:
 * none. */
static uint64_t first_conflicting_byte(const walk *w, uint32_t event, uint64_t address) {
    cpu_lanes mine = w->lanes, its = w->run->global->log.events[event].lanes;
    uint64_t end = address + w->cell_bytes;
    if (mine.bits == CPU_ANY_LANES || its.bits == CPU_ANY_LANES) return end;
    if (mine.bits == CPU_ALL_LANES || its.bits == CPU_ALL_LANES) return address;
    unsigned bits = mine.bits < its.bits ? mine.bits : its.bits;
    if (mine.bits == its.bits) return mine.turn == its.turn ? end : address;
    while (address < end && lane_of(mine, address) == lane_of(its, address))
        address += UINT64_C(1) << bits;
    return address;
}

/* Reports -------------------------------------------------------------------------------------- */

/* The first lane, other than `but`, that accesses this byte. */
static int other_lane_at(const walk *w, uint64_t address, int but) {
    for (int lane = 0; w->addresses && lane < CPU_LANES; lane++)
        if (lane != but && w->mask >> lane & 1 && address >= w->addresses[lane] &&
            address - w->addresses[lane] < w->lane_bytes)
            return lane;
    return w->lane;
}

static int lane_at(const walk *w, uint64_t address) {
    return other_lane_at(w, address, -1);
}

static const char *describe_agent(tile_arena *arena, const walk *w, uint64_t agent) {
    const cpu_run *run = w->run;
    unsigned agents = run->program->agents, index = (unsigned)(agent % agents);
    uint64_t number = agent / agents;
    int64_t id[3];
    cpu_find_block(run, number, id);
    const char *block = tile_arena_format(arena, "block (%" PRId64 ", %" PRId64 ", %" PRId64 ")",
                                          id[0], id[1], id[2]);
    if (run->program->lanes > 1) return tile_arena_format(arena, "%s, warp %u", block, index);
    bool same_block = number == w->agent->clock.agent / agents;
    if (index == 0 || !same_block) return block;
    return tile_arena_format(arena, "%s, %s", block,
                             cpu_agent_name(arena, run, &w->agent->block->agents[index]));
}

/* Describes why two atomic accesses race: a scope that does not include the other agent. */
static const char *describe_scope(tile_arena *arena, const walk *w, const cpu_insn *insn) {
    const cpu_insn *narrow =
        cpu_reach_of(insn->scope) < cpu_reach_of(w->insn->scope) ? insn : w->insn;
    return tile_arena_format(arena, "; scope %s of %s does not reach from one to the other",
                             cpu_reach_of(narrow->scope) == CPU_REACH_BLOCK ? "cta" : "cluster",
                             narrow == w->insn ? "this access" : "the other access");
}

static bool fault_race(walk *w, uint64_t address, uint32_t event, bool other_writes) {
    cpu_run *run = w->run;
    const cpu_event *other = &run->global->log.events[event];
    const cpu_insn *insn = &run->program->insns[other->insn];
    const cpu_range *range = &run->ranges[w->range];
    unsigned agents = run->program->agents;
    bool same_block = other->agent / agents == w->agent->clock.agent / agents;
    agents *= run->program->cluster_blocks;
    bool same_cluster = other->agent / agents == w->agent->clock.agent / agents;
    tile_arena scratch = {0};
    bool own = is_of_lanes(w, event);
    if (own) address = first_conflicting_byte(w, event, address);
    const char *agent =
        !own ? describe_agent(&scratch, w, other->agent)
        : other->lanes.bits == CPU_ALL_LANES
            ? "several lanes of its warp"
            : tile_arena_format(&scratch, "lane %u of its warp", lane_of(other->lanes, address));
    const char *order = own          ? "; no sync_warp or barrier orders the two"
                        : same_block ? "; no barrier orders the two"
                        : other->atomic && w->access & CPU_ATOMIC
                            ? describe_scope(&scratch, w, insn)
                        : same_cluster ? "; no cluster barrier orders the two"
                                       : "; no release and acquire orders the two";
    bool one = own && other->lanes.bits != CPU_ALL_LANES;
    int but = one ? (int)lane_of(other->lanes, address) : -1;
    cpu_fault(run, w->agent, w->insn, other_lane_at(w, address, but),
              "data race: %s offset %" PRIu64 " of %s%s, %s by %s%s",
              w->access & CPU_WRITE ? "writes" : "reads", address - range->begin,
              *range->name ? "%" : "",
              *range->name   ? range->name
              : range->plain ? "scratch"
                             : "a buffer",
              other_writes ? "written" : "read", agent, order);
    tile_report(run->context, TILE_NOTE, insn->loc, "the other access: %s, in %s",
                tile_opcode_spelling(insn->opcode), agent);
    const cpu_insn *narrow = w->agent->order.narrow;
    if (narrow && !same_block)
        tile_report(run->context, TILE_NOTE, narrow->loc,
                    "this %s read what another block released, and the scopes of the two do not "
                    "include each other's threads",
                    tile_opcode_spelling(narrow->opcode));
    tile_arena_reset(&scratch);
    return false;
}

static bool fault_undefined(walk *w, uint64_t address, tile_loc loc, const char *why) {
    const cpu_range *range = &w->run->ranges[w->range];
    if (range->is_scratch)
        cpu_fault(w->run, w->agent, w->insn, lane_at(w, address),
                  "read of uninitialized scratch memory, at offset %" PRIu64,
                  address - range->begin);
    else
        cpu_fault(w->run, w->agent, w->insn, lane_at(w, address),
                  "read of uninitialized memory, at offset %" PRIu64 " of %s%s",
                  address - range->begin, *range->name ? "%" : "a buffer", range->name);
    tile_report(w->run->context, TILE_NOTE, loc, "%s", why);
    return false;
}

static bool fault_unwritten(walk *w, uint64_t address, const cpu_scratch *plain) {
    return fault_undefined(w, address, plain->loc,
                           "it is undefined at the start of a launch; {clean} makes it zero");
}

/* For whole buffers: checks that the host or a launch has written what is read. */
static bool check_written(walk *w, uint64_t address, uint64_t bytes) {
    const cpu_range *range = &w->run->ranges[w->range];
    const tile_buffer *buffer = range->tracked;
    if (!buffer) return true;
    uint8_t *written = buffer->written + (address - range->begin);
    if (w->access & CPU_WRITE && !(w->access & CPU_MODIFY)) {
        memset(written, 1, (size_t)bytes);
        return true;
    }
    const uint8_t *hole = memchr(written, 0, (size_t)bytes);
    if (!hole) return true;
    return fault_undefined(
        w, address + (uint64_t)(hole - written),
        range->is_scratch ? buffer->scratch_loc : w->insn->loc,
        range->is_scratch
            ? "no step has written it; `fill` makes it defined"
            : "neither the host nor an earlier launch has written it, nor has this launch so far");
}

/* Cells ---------------------------------------------------------------------------------------- */

/* Returns whether both accesses are atomic, with scopes that include the other agent. */
static bool are_atomic_together(const walk *w, const cpu_event *other) {
    if (!other->atomic || !(w->access & CPU_ATOMIC)) return false;
    cpu_reach mine = cpu_reach_of(w->insn->scope);
    cpu_reach its = cpu_reach_of(w->run->program->insns[other->insn].scope);
    if (mine == CPU_REACH_ALL && its == CPU_REACH_ALL) return true;
    cpu_reach needed = cpu_distance(w->run, w->agent->clock.agent, other->agent);
    return needed <= mine && needed <= its;
}

/* Returns whether the event is ordered before the agent's next access. */
static bool knows_event(const cpu_agent *agent, const cpu_event *other) {
    return cpu_clock_knows(&agent->clock, other->agent, other->time) ||
           cpu_clock_knows(&agent->clock, cpu_warp_key(other->agent), other->time);
}

/* Returns whether both are stores of the same tile's element to the same address. */
static bool are_one_store(const walk *w, const cpu_event *other) {
    const cpu_insn *insn = &w->run->program->insns[other->insn];
    uint64_t agent = other->agent;
    if (!insn->any_stays || cpu_distance(w->run, w->agent->clock.agent, agent) != CPU_REACH_BLOCK)
        return false;
    return cpu_is_same_tile_store(w->agent, w->insn,
                                  &w->agent->block->agents[agent % w->run->program->agents], insn);
}

/* Returns whether this access does not race with the event. */
static bool is_ordered(const walk *w, uint32_t event, uint64_t address) {
    const cpu_event *other = &w->run->global->log.events[event];
    if (!event || are_atomic_together(w, other)) return true;
    bool ordered = is_of_lanes(w, event)
                       ? first_conflicting_byte(w, event, address) == address + w->cell_bytes
                       : knows_event(w->agent, other);
    return ordered || are_one_store(w, other);
}

/* The member of a set with which this access races, or 0. fine: set to this set if it races with no
 * member at any address. */
static uint32_t find_racing(const walk *w, uint32_t set, uint64_t address, uint32_t *fine) {
    const cpu_log *log = &w->run->global->log;
    bool everywhere = true;
    for (uint32_t rest = set; rest; rest = log->readers[rest].rest) {
        uint32_t event = log->readers[rest].event;
        if (!is_ordered(w, event, address)) return event;
        everywhere &= !is_of_lanes(w, event);
    }
    if (everywhere) *fine = set;
    return 0;
}

/* Checks atomic and non-atomic writes. */
static bool check_writes(walk *w, const cpu_cell *c, uint64_t address) {
    if (c->write != w->write_is_ordered) {
        if (!is_ordered(w, c->write, address)) return fault_race(w, address, c->write, true);
        if (!is_of_lanes(w, c->write)) w->write_is_ordered = c->write;
    }
    if (c->updates == w->ordered_updates) return true;
    uint32_t racing = find_racing(w, c->updates, address, &w->ordered_updates);
    return !racing || fault_race(w, address, racing, true);
}

/* The async proxy --------------------------------------------------------------------------------
 *
 * Bulk copies access global memory through it. No fence makes writes of this launch's threads
 * visible to it; only the end of a launch does. */

static bool is_bulk(const cpu_insn *insn) {
    return insn->opcode == TILE_OP_tma_load || insn->opcode == TILE_OP_bulk_load ||
           insn->opcode == TILE_OP_tma_store || insn->opcode == TILE_OP_bulk_store;
}

static bool fault_proxy(walk *w, uint64_t address, const cpu_event *event) {
    const cpu_insn *insn = &w->run->program->insns[event->insn];
    const cpu_range *range = &w->run->ranges[w->range];
    tile_arena scratch = {0};
    cpu_fault(
        w->run, w->agent, w->insn, lane_at(w, address),
        "reads offset %" PRIu64 " of %s%s through the async proxy, and threads of this launch "
        "have written it",
        address - range->begin, *range->name ? "%" : "", *range->name ? range->name : "memory");
    tile_report(w->run->context, TILE_NOTE, insn->loc,
                "written here: %s, in %s; load it with ordinary loads, or in a later launch",
                tile_opcode_spelling(insn->opcode), describe_agent(&scratch, w, event->agent));
    tile_arena_reset(&scratch);
    return false;
}

static bool check_proxy(walk *w, const cpu_cell *c, uint64_t address) {
    const cpu_log *log = &w->run->global->log;
    if (w->run->program->lanes == 1 || !is_bulk(w->insn)) return true;
    uint32_t event = c->updates ? log->readers[c->updates].event : c->write;
    if (!event || is_bulk(&w->run->program->insns[log->events[event].insn])) return true;
    return fault_proxy(w, address, &log->events[event]);
}

static bool is_written(const cpu_cell *c) {
    return c->write || c->updates;
}

static bool read_cell(walk *w, cpu_cell *c, uint64_t address, const cpu_scratch *plain) {
    if (plain && !is_written(c)) return fault_unwritten(w, address, plain);
    if (!check_writes(w, c, address) || !check_proxy(w, c, address)) return false;
    if (c->readers != w->old_readers || !w->new_readers) {
        w->old_readers = c->readers;
        w->new_readers = cpu_log_add_reader(&w->run->global->log, &w->agent->clock,
                                            w->agent->last_sync_time, c->readers, w->event);
    }
    c->readers = w->new_readers;
    return true;
}

static void add_update(walk *w, cpu_cell *c) {
    if (c->updates != w->old_updates || !w->new_updates) {
        w->old_updates = c->updates;
        w->new_updates = cpu_log_add_reader(&w->run->global->log, &w->agent->clock,
                                            w->agent->last_sync_time, c->updates, w->event);
    }
    c->updates = w->new_updates;
}

static bool write_cell(walk *w, cpu_cell *c, uint64_t address, const cpu_scratch *plain) {
    if (plain && w->access & CPU_MODIFY && !is_written(c))
        return fault_unwritten(w, address, plain);
    if (!check_writes(w, c, address)) return false;
    if (c->readers != w->ordered_readers) {
        uint32_t racing = find_racing(w, c->readers, address, &w->ordered_readers);
        if (racing) return fault_race(w, address, racing, false);
    }
    if (w->access & CPU_ATOMIC)
        add_update(w, c);
    else
        *c = (cpu_cell){.write = w->event};
    return true;
}

/* Checks the cells of these bytes, which are in one page. */
static bool walk_page(walk *w, cpu_region *r, uint64_t address, uint64_t bytes) {
    cpu_page *p = cpu_find_page(r, address, cpu_fitting_bits(address, bytes));
    unsigned bits = p->cell_bits;
    w->cell_bytes = UINT64_C(1) << bits;
    size_t first = (size_t)(address % CPU_PAGE_BYTES) >> bits;
    size_t count = (size_t)bytes >> bits;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = address + (i << bits);
        bool fine = w->access & CPU_WRITE ? write_cell(w, &p->cells[first + i], at, r->plain)
                                          : read_cell(w, &p->cells[first + i], at, r->plain);
        if (!fine) return false;
    }
    return true;
}

static bool walk_bytes(walk *w, uint64_t address, uint64_t bytes) {
    cpu_global *global = w->run->global;
    if (cpu_log_is_full(&global->log)) cpu_sweep(global);
    uint32_t lanes = w->addresses ? w->mask : w->lane < 0 ? w->agent->mask : UINT32_C(1) << w->lane;
    if (w->run->launch_log && !cpu_overlap_allows(w->run, w->agent, w->insn, lanes, address, bytes,
                                                  w->access & CPU_WRITE, w->range))
        return false;
    if (w->run->bulks && !cpu_bulks_allow(w->run, w->agent, w->insn, lane_at(w, address), address,
                                          bytes, w->access, &w->run->ranges[w->range]))
        return false;
    if (!check_written(w, address, bytes)) return false;
    /* async.c finds writes to a source that is being copied. */
    tile_opcode opcode = w->insn->opcode;
    bool copies = opcode == TILE_OP_cp_async || opcode == TILE_OP_cp_async_part;
    cpu_lanes kept = copies ? (cpu_lanes){CPU_ANY_LANES, 0} : w->lanes;
    w->event =
        cpu_log_event(&global->log, &w->agent->clock, w->agent->recent,
                      (uint32_t)(w->insn - w->run->program->insns), w->access & CPU_ATOMIC, kept);
    w->write_is_ordered = w->ordered_readers = w->old_readers = w->new_readers = 0;
    w->ordered_updates = w->old_updates = w->new_updates = 0;
    cpu_region *r = &global->regions[w->run->ranges[w->range].region];
    while (bytes) {
        uint64_t part = CPU_PAGE_BYTES - address % CPU_PAGE_BYTES;
        if (part > bytes) part = bytes;
        if (!walk_page(w, r, address, part)) return false;
        address += part;
        bytes -= part;
    }
    return true;
}

/* Accesses ------------------------------------------------------------------------------------- */

bool cpu_global_access(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                       uint64_t address, uint64_t bytes, cpu_access access) {
    walk w = {.run = run, .agent = agent, .insn = insn, .lane = lane, .access = access};
    w.range = run->last_range;
    w.lanes.bits = lane < 0 ? CPU_ANY_LANES : CPU_ONE_LANE;
    w.lanes.turn = (uint8_t)(lane < 0 ? 0 : lane);
    return walk_bytes(&w, address, bytes);
}

/* Lanes with contiguous bytes form a single access of the warp. If it is not inside of one buffer,
 * some lane is out of bounds, unless buffers are adjacent. */
static bool walk_lanes(walk *w, uint64_t begin, uint64_t end) {
    bool fine = cpu_find_global(w->run, begin, end - begin) && begin % w->lane_bytes == 0;
    for (int lane = 0; !fine && lane < CPU_LANES; lane++)
        if (w->mask >> lane & 1 &&
            !cpu_check_global(w->run, w->agent, w->insn, lane, w->addresses[lane], w->lane_bytes,
                              w->lane_bytes))
            return false;
    if (!fine) cpu_find_global(w->run, begin, w->lane_bytes);
    w->range = w->run->last_range;
    return walk_bytes(w, begin, end - begin);
}

/* An element that some lanes of the warp access. */
typedef struct lane_element {
    uint64_t at;
    uint8_t turn;  /* of the first of these lanes (cpu_lanes) */
    uint8_t lanes; /* the number of these lanes */
} lane_element;

/* The lanes of the element. If all lanes store the same element, any one lane's value remains, and
 * that is no race. */
static cpu_lanes lanes_of(const walk *w, const lane_element *e) {
    bool plain = w->access & CPU_WRITE && !(w->access & CPU_ATOMIC);
    bool all = e->lanes == __builtin_popcount(w->agent->mask);
    if (e->lanes == 1) return (cpu_lanes){(uint8_t)__builtin_ctz(w->lane_bytes), e->turn};
    return (cpu_lanes){plain && (all || w->insn->any_stays) ? CPU_ANY_LANES : CPU_ALL_LANES, 0};
}

bool cpu_global_lanes(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, uint32_t mask,
                      const uint64_t addresses[CPU_LANES], uint32_t bytes, cpu_access access) {
    walk w = {.run = run, .agent = agent, .insn = insn, .lane = -1, .access = access};
    lane_element elements[CPU_LANES];
    unsigned count = 0;
    w.addresses = addresses;
    w.mask = mask;
    w.lane_bytes = bytes;
    for (unsigned lane = 0; lane < CPU_LANES; lane++) {
        uint64_t at = addresses[lane];
        if (!(mask >> lane & 1)) continue;
        if (count && at == elements[count - 1].at)
            elements[count - 1].lanes++;
        else
            elements[count++] =
                (lane_element){at, (uint8_t)((unsigned)(lane - at / bytes) % CPU_LANES), 1};
    }
    for (unsigned first = 0, next; first < count; first = next) {
        w.lanes = lanes_of(&w, &elements[first]);
        for (next = first + 1; next < count; next++) {
            cpu_lanes lanes = lanes_of(&w, &elements[next]);
            if (elements[next].at != elements[next - 1].at + bytes || lanes.bits != w.lanes.bits ||
                lanes.turn != w.lanes.turn)
                break;
        }
        if (!walk_lanes(&w, elements[first].at, elements[next - 1].at + bytes)) return false;
    }
    return true;
}

/* Words ---------------------------------------------------------------------------------------- */

static const cpu_cell *find_cell(cpu_region *r, uint64_t address) {
    cpu_page *p = cpu_find_page(r, address, cpu_fitting_bits(address, sizeof(int32_t)));
    return &p->cells[(address % CPU_PAGE_BYTES) >> p->cell_bits];
}

/* Returns whether some agent's write of the word is ordered before this agent. */
static bool is_written_before(cpu_run *run, const cpu_agent *agent, cpu_region *r,
                              uint64_t address) {
    const cpu_log *log = &run->global->log;
    const cpu_cell *c = find_cell(r, address);
    if (cpu_knows_word(run, agent, address)) return true;
    if (c->write && knows_event(agent, &log->events[c->write])) return true;
    for (uint32_t set = c->updates; set; set = log->readers[set].rest)
        if (knows_event(agent, &log->events[log->readers[set].event])) return true;
    return false;
}

/* If the last write of the word was not atomic, its value carries no knowledge. */
bool cpu_global_acquire(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        uint64_t address, bool met) {
    cpu_global *global = run->global;
    cpu_region *r = &global->regions[run->ranges[run->last_range].region];
    if (r->plain && !is_written_before(run, agent, r, address)) {
        walk w = {.run = run, .agent = agent, .insn = insn, .lane = lane};
        w.range = run->last_range;
        return fault_unwritten(&w, address, r->plain);
    }
    if (!met) return true;
    if (!cpu_global_access(run, agent, insn, lane, address, sizeof(int32_t), CPU_ATOMIC_READ))
        return false;
    if (find_cell(r, address)->updates) cpu_acquire_word(run, agent, insn, address);
    return true;
}

bool cpu_global_release(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, int lane,
                        uint64_t address) {
    if (!cpu_global_access(run, agent, insn, lane, address, sizeof(int32_t), CPU_ATOMIC_WRITE))
        return false;
    cpu_release_word(run, agent, insn, address);
    return true;
}
