/* What passes tell each other by attributes: the order of writers and readers, and what is left. */
#include "passes/attribute_contract.h"

#include <string.h>

#include "lib/ir/syntax.h"

enum { SET_WORDS = (TILE_ATTR_LIMIT + 63) / 64 };

typedef struct attr_set {
    uint64_t bits[SET_WORDS];
    bool filled;
} attr_set;

static void add(attr_set *set, unsigned id) {
    set->bits[id / 64] |= UINT64_C(1) << id % 64;
    set->filled = true;
}

static bool has(const attr_set *set, unsigned id) {
    return set->bits[id / 64] >> id % 64 & 1;
}

/* Columns ------------------------------------------------------------------------------------ */

tile_attr_use tile_attr_used_by(const char *names, const char *pass) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, " ");
        const char *mark = memchr(at, ':', length);
        size_t skipped = mark ? (size_t)(mark + 1 - at) : 0;
        if (strlen(pass) == length - skipped && memcmp(at + skipped, pass, length - skipped) == 0)
            return mark ? TILE_ATTR_USED_ASIDE : TILE_ATTR_USED;
        at += length + strspn(at + length, " ");
    }
    return TILE_ATTR_UNUSED;
}

/* Nothing is to be checked of what belongs to an operation's meaning. */
static const tile_attr_info *info_of(unsigned id) {
    const tile_attr_info *info = tile_attr_get_info((tile_attr_id)id);
    return info->name && !tile_attr_used_by(info->by, "any") ? info : NULL;
}

static bool writes(const tile_pipeline *p, size_t step, const tile_attr_info *info) {
    return tile_attr_used_by(info->by, p->steps[step].row->info.name) == TILE_ATTR_USED;
}

/* Order -------------------------------------------------------------------------------------- */

/* The first step from `from` to before `to` that writes the attribute; to if there is none. */
static size_t find_writer(const tile_pipeline *p, const tile_attr_info *info, size_t from,
                          size_t to) {
    while (from < to && !writes(p, from, info)) from++;
    return from;
}

static bool check_step(tile_pipeline *p, size_t at) {
    const char *name = p->steps[at].row->info.name;
    for (unsigned id = 1; id < TILE_ATTR_LIMIT; id++) {
        const tile_attr_info *info = info_of(id);
        if (!info || tile_attr_used_by(info->read_by, name) != TILE_ATTR_USED) continue;
        if (writes(p, at, info) || find_writer(p, info, 0, at) < at) continue;
        size_t later = find_writer(p, info, at + 1, p->count);
        if (later == p->count) continue;
        const char *writer = p->steps[later].row->info.name;
        return tile_pipeline_error(
            p, p->steps[at].loc,
            "pass '%s' reads the attribute '%s', which '%s' writes after it: move '%s' before '%s'",
            name, tile_attr_keyword((tile_attr_id)id), writer, writer, name);
    }
    return true;
}

bool tile_contract_check_order(tile_pipeline *p) {
    bool ok = true;
    for (size_t i = 0; i < p->count && ok; i++) ok = check_step(p, i);
    return ok;
}

/* Functions ---------------------------------------------------------------------------------- */

/* An operation of the function that has one of these attributes; NO_OP if there is none. */
static tile_op find_op(const tile_function *f, const attr_set *set, tile_attr_id *found) {
    for (uint32_t id = 1; set->filled && id < f->op_count; id++) {
        const tile_op_data *op = tile_op_at(f, (tile_op){id});
        if (!op->opcode) continue;
        for (unsigned i = 0; i < op->attr_count; i++) {
            *found = op->attrs[i].id;
            if (has(set, *found)) return (tile_op){id};
        }
    }
    return TILE_NO_OP;
}

static unsigned level_bit(const tile_function *f) {
    return f->level <= 3 ? 1u << f->level : 0;
}

/* Whether all passes that write the attribute are still to run on the function. */
static bool is_still_to_come(const tile_pipeline *p, const tile_attr_info *info,
                             const tile_function *f) {
    unsigned writers = 0, coming = 0;
    for (unsigned i = 0; i < p->passes->count; i++) {
        const tile_pass_info *pass = &p->passes->rows[i].info;
        if (tile_attr_used_by(info->by, pass->name) != TILE_ATTR_USED) continue;
        writers++;
        bool runs = false;
        for (size_t s = 0; s < p->count; s++) runs |= p->steps[s].row == &p->passes->rows[i];
        coming += runs && pass->level_in & level_bit(f);
    }
    return writers && coming == writers;
}

bool tile_contract_check_input(const tile_pipeline *p, const tile_function *f) {
    attr_set foreign = {{0}, false};
    for (unsigned id = 1; id < TILE_ATTR_LIMIT; id++) {
        const tile_attr_info *info = info_of(id);
        if (!info || tile_attr_used_by(info->by, "user")) continue;
        if (is_still_to_come(p, info, f)) add(&foreign, id);
    }
    tile_attr_id id;
    tile_op op = find_op(f, &foreign, &id);
    if (!op.id) return true;
    const tile_attr_info *info = tile_attr_get_info(id);
    size_t writer = find_writer(p, info, 0, p->count);
    return tile_error_of(f, op,
                         "'%s' is what the pass '%s' writes, which is still to run: leave it out",
                         tile_attr_keyword(id), p->steps[writer].row->info.name);
}

/* Whether a pass of this name is among the first `done` steps. One that changes the level has not
 * worked on a function that is still at the level before. */
static bool is_over(const tile_pipeline *p, size_t done, const char *until,
                    const tile_function *f) {
    for (size_t i = 0; i < done; i++) {
        const tile_pass_info *pass = &p->steps[i].row->info;
        if (pass->level_out & level_bit(f) && strcmp(pass->name, until) == 0) return true;
    }
    return false;
}

bool tile_contract_check_left(const tile_pipeline *p, size_t done, const tile_function *f) {
    attr_set over = {{0}, false};
    for (unsigned id = 1; id < TILE_ATTR_LIMIT; id++) {
        const tile_attr_info *info = info_of(id);
        if (info && is_over(p, done, info->until, f)) add(&over, id);
    }
    tile_attr_id id;
    tile_op op = find_op(f, &over, &id);
    if (!op.id) return true;
    return tile_error_of(f, op, "the attribute '%s' is left over: the pass '%s' must remove it",
                         tile_attr_keyword(id), tile_attr_get_info(id)->until);
}
