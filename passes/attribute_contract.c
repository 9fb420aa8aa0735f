/* Attributes that carry information from one pass to another: checks their writers, readers and
 * removal. */
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

/* Advances to the next word of a column and sets its length. NULL at the end. */
static const char *next_word(const char *at, size_t *length) {
    at += *length;
    at += strspn(at, " ");
    *length = strcspn(at, " ");
    return *length ? at : NULL;
}

static bool is_word(const char *at, size_t length, const char *word) {
    return *at == *word && strncmp(at, word, length) == 0 && !word[length];
}

bool tile_attr_used_by(const char *names, const char *word) {
    size_t length = 0;
    for (const char *at = names; (at = next_word(at, &length));)
        if (is_word(at, length, word)) return true;
    return false;
}

static uint64_t set_of(const tile_pass_table *passes, const char *names) {
    uint64_t set = 0;
    size_t length = 0;
    for (const char *at = names; (at = next_word(at, &length));)
        for (unsigned i = 0; i < passes->count; i++)
            if (is_word(at, length, passes->rows[i].info.name)) set |= UINT64_C(1) << i;
    return set;
}

/* Skips attributes that belong to an operation's meaning: any pass may write them. */
void tile_contract_resolve(tile_pipeline *p, tile_arena *arena) {
    tile_attr_contract *all = TILE_NEW_ARRAY(arena, tile_attr_contract, TILE_ATTR_LIMIT);
    p->contracts = all;
    for (unsigned id = 1; id < TILE_ATTR_LIMIT; id++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)id);
        if (!info->name || tile_attr_used_by(info->by, "any")) continue;
        all[p->contract_count++] = (tile_attr_contract){
            .id = (tile_attr_id)id,
            .by_users = tile_attr_used_by(info->by, "user"),
            .writers = set_of(p->passes, info->by),
            .readers = set_of(p->passes, info->read_by),
            .until = set_of(p->passes, info->until),
        };
    }
}

static uint64_t bit_of(const tile_pipeline *p, size_t step) {
    return UINT64_C(1) << (p->steps[step].row - p->passes->rows);
}

static const char *name_of(const tile_pipeline *p, size_t step) {
    return p->steps[step].row->info.name;
}

/* Order -------------------------------------------------------------------------------------- */

/* Returns the first step at or after `from` that is in the set, or the step count if there is
 * none. */
static size_t find_step(const tile_pipeline *p, uint64_t set, size_t from) {
    while (from < p->count && !(bit_of(p, from) & set)) from++;
    return from;
}

/* Returns the first step that reads the attribute before its first writer, or the step count if
 * there is none. */
static size_t find_early_reader(const tile_pipeline *p, const tile_attr_contract *c) {
    size_t writer = find_step(p, c->writers, 0);
    size_t reader = find_step(p, c->readers, 0);
    return reader < writer && writer < p->count ? reader : p->count;
}

bool tile_contract_check_order(tile_pipeline *p) {
    const tile_attr_contract *broken = NULL;
    size_t first = p->count;
    for (unsigned i = 0; i < p->contract_count; i++) {
        size_t reader = find_early_reader(p, &p->contracts[i]);
        if (reader >= first) continue;
        first = reader;
        broken = &p->contracts[i];
    }
    if (!broken) return true;
    const char *name = name_of(p, first),
               *writer = name_of(p, find_step(p, broken->writers, first));
    return tile_pipeline_error(
        p, p->steps[first].loc,
        "pass '%s' reads the attribute '%s', which '%s' writes after it: move '%s' before '%s'",
        name, tile_attr_keyword(broken->id), writer, writer, name);
}

/* Functions ---------------------------------------------------------------------------------- */

/* Finds an operation of the function that has one of these attributes, or TILE_NO_OP. */
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

/* Among the first `count` steps, returns those that run at the function's level. done: those that
 * may have produced this level instead. */
static uint64_t steps_at_level(const tile_pipeline *p, size_t count, const tile_function *f,
                               bool done) {
    uint64_t set = 0;
    for (size_t i = 0; i < count; i++) {
        const tile_pass_info *pass = &p->steps[i].row->info;
        if ((done ? pass->level_out : pass->level_in) & level_bit(f)) set |= bit_of(p, i);
    }
    return set;
}

/* An attribute is still unwritten if all passes that write it are yet to run. */
bool tile_contract_check_input(const tile_pipeline *p, const tile_function *f) {
    attr_set foreign = {{0}, false};
    uint64_t coming = steps_at_level(p, p->count, f, false);
    for (unsigned i = 0; i < p->contract_count; i++) {
        const tile_attr_contract *c = &p->contracts[i];
        if (!c->by_users && c->writers && !(c->writers & ~coming)) add(&foreign, c->id);
    }
    tile_attr_id id;
    tile_op op = find_op(f, &foreign, &id);
    if (!op.id) return true;
    const tile_attr_contract *c = p->contracts;
    while (c->id != id) c++;
    return tile_error_of(f, op, "'%s' is set by the pass '%s', which runs later; leave it out",
                         tile_attr_keyword(id), name_of(p, find_step(p, c->writers, 0)));
}

/* A pass that changes the level has not run on a function that is still at the earlier level. */
bool tile_contract_check_left(const tile_pipeline *p, size_t done, const tile_function *f) {
    attr_set over = {{0}, false};
    uint64_t run = steps_at_level(p, done, f, true);
    for (unsigned i = 0; i < p->contract_count; i++)
        if (p->contracts[i].until & run) add(&over, p->contracts[i].id);
    tile_attr_id id;
    tile_op op = find_op(f, &over, &id);
    if (!op.id) return true;
    return tile_error_of(f, op, "the attribute '%s' is left over: the pass '%s' must remove it",
                         tile_attr_keyword(id), tile_attr_get_info(id)->until);
}
