/* The blocks of a kernel at a point: how many there are, the share of the loop's iterations that
 * each has, and how many run at the same time. */
#include <math.h>
#include <stdarg.h>

#include "lib/support/target.h"
#include "runtime/model/estimate.h"

enum {
    SM_REGISTERS = 65536,
    MAX_REGISTERS = 255,
    OTHER_REGISTERS = 40, /* of a thread, besides accumulators: fragments, addresses */
};

/* The blocks of a cluster must be in one GPC. Some GPCs have 14 or 18 multiprocessors, so clusters
 * of 4 can use only 120 of an H200's 132. */
double point_places(const point_estimate *s) {
    double sms = s->m->sms, share = s->w->cluster <= 2   ? 1
                                    : s->w->cluster <= 4 ? 30.0 / 33
                                    : s->w->cluster <= 8 ? 28.0 / 33
                                                         : 24.0 / 33;
    return s->w->cluster > 1 ? most(floor(share * sms), (double)s->w->cluster) : sms;
}

/* Iterations ----------------------------------------------------------------------------------- */

/* stream_k: the tiles of each multiprocessor: whole tiles and a share of the last one
 * (passes/split/stream_k.c). */
static double share_tiles(point_estimate *s) {
    double cluster = (double)s->w->cluster, steps = s->w->trips;
    double units = most(floor(point_places(s) * s->factor / cluster), 1),
           tiles = s->tiles / cluster;
    double whole = floor(tiles / units), left = tiles - whole * units;
    s->blocks = least(units, tiles * most(steps, 1)) * cluster;
    s->last = s->members = 1;
    if (!(left > 0)) return whole;
    double members = least(floor(units / left), floor(sqrt(steps / 2)));
    bool pairs = 2 * left > units && 3 * ceil(left / 2) <= units && steps >= 8;
    s->members = pairs ? 2 : most(members, 1);
    s->last = pairs ? 2.0 / 3 : 1 / s->members;
    return whole + s->last;
}

void point_distribute(point_estimate *s) {
    const tune_work *w = s->w;
    const tune_cost *once = &w->once, *loop = &w->loop;
    double share = 1; /* of a tile's iterations */
    s->tiles = (double)w->grid[0] * (double)w->grid[1] * (double)w->grid[2];
    s->blocks = s->tiles * s->factor;
    if (s->strategy == TILE_STRATEGY_stream_k) {
        share = s->each = share_tiles(s);
    } else if (w->trips > 0) {
        share = ceil(w->trips / s->factor) / w->trips;
    }
    s->steps = share * w->trips;
    s->rounds = share * w->rounds;
#define SUM(cost) .cost = s->each * once->cost + share * loop->cost
    s->cost = (tune_cost){SUM(operations), SUM(wgmma),   SUM(reads),           SUM(loaded),
                          SUM(crossing),   SUM(shared),  SUM(shared_crossing), SUM(reloaded_bytes),
                          SUM(outside),    SUM(stored),  SUM(unaligned),       SUM(arithmetic),
                          SUM(elements),   SUM(shifted), SUM(chunks),          SUM(chunk_rows),
                          SUM(words),      SUM(indexing)};
#undef SUM
}

/* Resources ------------------------------------------------------------------------------------ */

unsigned point_warps(const point_estimate *s) {
    return s->made.cooperative_3 ? 3 * PRODUCER_WARPS : s->w->warps;
}

double point_registers(const point_estimate *s) {
    return s->w->accumulator / 4 / (32.0 * point_warps(s));
}

/* The text in the arena; without one, the format says enough. */
static TILE_PRINTF(2, 3) const char *explain(tile_arena *arena, const char *format, ...) {
    va_list args;
    if (!arena) return format;
    va_start(args, format);
    const char *text = tile_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

const char *point_find_obstacle(const point_estimate *s, tile_arena *arena) {
    const tile_target *target = s->m->target;
    unsigned threads = 32 * point_warps(s);
    if (threads > 1024) return explain(arena, "%u threads, a block has at most 1024", threads);
    if (s->w->cluster > 1 && !tile_target_has(target, TILE_FEATURE_cluster))
        return explain(arena, "%s has no clusters", target->name);
    if (s->made.shared > (int64_t)target->max_shared_bytes)
        return explain(arena, "%lld bytes of shared memory, %s has %u", (long long)s->made.shared,
                       target->name, target->max_shared_bytes);
    if (point_registers(s) > MAX_REGISTERS)
        return tile_arena_format(arena,
                                 "its accumulators take %.0f registers of a thread, which has %d",
                                 point_registers(s), MAX_REGISTERS);
    if (s->w->asks_cooperative_3 && !s->made.cooperative_3)
        return "no three groups share its tiles: it is the same with consumers = cooperative";
    /* Clusters never use ping-pong (turns.c), and a space may not have a cooperative point
     * instead. */
    if (s->w->ping_pong && !s->made.ping_pong_fits && s->w->cluster == 1)
        return "no groups take turns at its tiles: it is the same with consumers = cooperative";
    return NULL;
}

double point_count_resident(const point_estimate *s, double tile_registers) {
    const tile_target *target = s->m->target;
    if (s->made.persistent) return 1;
    unsigned warps = point_warps(s) + (s->made.roles ? PRODUCER_WARPS : 0);
    double threads = 32.0 * warps;
    double registers = least(MAX_REGISTERS + 1, ceil((tile_registers + OTHER_REGISTERS) / 8) * 8);
    double blocks = least(target->sm_blocks, target->sm_warps / warps);
    blocks = least(blocks, floor(SM_REGISTERS / (registers * threads)));
    double shared = (double)s->made.shared + TILE_SHARED_RESERVED;
    blocks = least(blocks, floor(target->sm_shared_bytes / shared));
    return most(blocks, 1);
}
