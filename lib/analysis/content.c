/* Follows aliases back to the operation that computes the elements, and from there to all other
 * aliases. */
#include "lib/analysis/content.h"

#include "lib/ir/regions.h"

struct tile_content {
    const tile_function *f;
    uint32_t *begin; /* by op: its position in the text, outer ones before inner ones */
    uint32_t *first; /* by value, with one extra entry: index of its first reader */
    tile_op *readers;
    uint32_t *length; /* by value: number of elements of a vector, otherwise 1 */
};

/* A query while it follows the aliases. */
typedef struct query {
    const tile_content *c;
    tile_op at;
    tile_moment moment;
    tile_region source; /* the region in which the elements are computed */
    unsigned own_reads; /* number of reads by `at` itself */
} query;

tile_content *tile_content_find(const tile_function *f, tile_arena *arena) {
    tile_content *c = TILE_NEW(arena, tile_content);
    uint32_t *end;
    c->f = f;
    c->begin = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    c->first = TILE_NEW_ARRAY(arena, uint32_t, f->value_count + 1);
    end = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    uint32_t next = 1;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) c->begin[op.id] = next++;
    for (size_t i = 1; i < f->op_count; i++)
        for (uint32_t o = 0; f->ops[i].opcode && o < f->ops[i].operand_count; o++)
            c->first[f->ops[i].operands[o].id + 1]++;
    for (size_t v = 0; v < f->value_count; v++) {
        end[v] = c->first[v];
        c->first[v + 1] += c->first[v];
    }
    c->length = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    for (uint32_t v = 1; v < f->value_count; v++) {
        const tile_type *type = f->values[v].type;
        c->length[v] = type->kind == TILE_TYPE_VECTOR ? (uint32_t)tile_type_elements(type) : 1;
    }
    c->readers = TILE_NEW_ARRAY(arena, tile_op, c->first[f->value_count] + 1u);
    for (uint32_t i = 1; i < f->op_count; i++)
        for (uint32_t o = 0; f->ops[i].opcode && o < f->ops[i].operand_count; o++)
            c->readers[end[f->ops[i].operands[o].id]++] = (tile_op){i};
    return c;
}

const tile_op *tile_content_readers(const tile_content *content, tile_value value,
                                    uint32_t *count) {
    *count = content->first[value.id + 1] - content->first[value.id];
    return content->readers + content->first[value.id];
}

/* Control -------------------------------------------------------------------------------------- */

static tile_region region_of(const tile_content *c, tile_op op) {
    return tile_op_at(c->f, op)->parent;
}

static tile_op around(const tile_content *c, tile_region region) {
    return tile_region_at(c->f, region)->parent;
}

static bool is_inside(const tile_content *c, tile_region inner, tile_op outer) {
    for (tile_op at = around(c, inner); at.id; at = tile_op_parent(c->f, at))
        if (at.id == outer.id) return true;
    return false;
}

/* Returns whether a loop around the region executes it again with the same contents. */
static bool repeats(const query *q, tile_region region) {
    for (tile_op at = around(q->c, region); at.id; at = tile_op_parent(q->c->f, at))
        if (tile_repeats(q->c->f, at) && !is_inside(q->c, q->source, at)) return true;
    return false;
}

/* Returns whether the reader can run after the query's moment. */
static bool is_reached(const query *q, tile_op reader) {
    const tile_content *c = q->c;
    for (tile_op x = q->at; x.id; x = tile_op_parent(c->f, x))
        for (tile_op y = reader; y.id; y = tile_op_parent(c->f, y)) {
            if (region_of(c, x).id != region_of(c, y).id) continue;
            if (repeats(q, region_of(c, x))) return true;
            if (x.id != y.id) return c->begin[y.id] > c->begin[x.id];
            if (x.id == q->at.id) return q->moment == TILE_MOMENT_AT && y.id != reader.id;
            return tile_repeats(c->f, x); /* from one of its regions to another */
        }
    return true; /* not in the same function */
}

/* Elements ------------------------------------------------------------------------------------- */

enum { WORD_BITS = 64 };

typedef struct elements {
    int64_t low, high; /* the first element and one past the last; both 0: empty */
    uint64_t words[TILE_CONTENT_LIMIT / WORD_BITS];
} elements;

static bool has(const elements *set, int64_t i) {
    return i >= set->low && i < set->high && set->words[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}

static void add(elements *set, int64_t i) {
    if (!set->high || i < set->low) set->low = i;
    if (i >= set->high) set->high = i + 1;
    set->words[i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
}

static int64_t lower(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Names ---------------------------------------------------------------------------------------- */

/* An operation whose result aliases elements of an operand. */
typedef struct naming {
    const tile_content *c;
    tile_op op;
    unsigned operand; /* index among the aliased operands */
    unsigned at;      /* concat: first element of the operand in the result */
} naming;

/* The operands that op's results alias; none if it does something else. */
static tile_values aliased_operands(const tile_content *c, tile_op op) {
    const tile_values none = {NULL, 0};
    if (!op.id) return none;
    if (tile_op_opcode(c->f, op) == TILE_OP_extract && !tile_extract_is_name(c->f, op)) return none;
    switch (tile_op_opcode(c->f, op)) {
    case TILE_OP_extract:
    case TILE_OP_permute:
    case TILE_OP_concat: return tile_operands_src(c->f, op);
    case TILE_OP_wgmma_wait: return tile_operands_accs(c->f, op);
    default: return none;
    }
}

/* Translates a set of elements of the operand into elements of result r, or back if `forth` is
 * false. Returns false if the set is empty. */
static bool rename(const naming *n, unsigned r, bool forth, const elements *from, elements *to) {
    const tile_function *f = n->c->f;
    const int64_t *order = NULL;
    int64_t first = 0, begin = 0, end = n->c->length[tile_op_result(f, n->op, r).id];
    switch (tile_op_opcode(f, n->op)) {
    case TILE_OP_extract: tile_value_is_int(f, tile_operand_first(f, n->op), &first); break;
    case TILE_OP_permute: order = tile_op_attr(f, n->op, TILE_ATTR_order)->list; break;
    case TILE_OP_concat:
        begin = n->at;
        end = begin + n->c->length[tile_op_operand(f, n->op, n->operand).id];
        first = -begin;
        break;
    default: /* wgmma_wait: result i is operand i */
        if (r != n->operand) return false;
        break;
    }
    if (!order) {
        begin = higher(begin, from->low - (forth ? first : 0));
        end = lower(end, from->high - (forth ? first : 0));
    }
    *to = (elements){0};
    for (int64_t j = begin; j < end; j++) {
        int64_t i = order ? order[j] : first + j;
        if (has(from, forth ? i : j)) add(to, forth ? j : i);
    }
    return to->high > 0;
}

/* Returns whether these elements are read, through this value or an alias made from it. */
static bool are_read(query *q, tile_value value, const elements *set) {
    uint32_t count;
    elements named;
    const tile_op *readers = tile_content_readers(q->c, value, &count);
    for (uint32_t i = 0; i < count; i++) {
        const tile_values operands = aliased_operands(q->c, readers[i]);
        naming n = {.c = q->c, .op = readers[i]};
        for (; n.operand < operands.count; n.at += q->c->length[operands.at[n.operand++].id]) {
            if (operands.at[n.operand].id != value.id) continue;
            for (unsigned r = 0; r < tile_op_result_count(q->c->f, n.op); r++)
                if (rename(&n, r, true, set, &named) &&
                    are_read(q, tile_op_result(q->c->f, n.op, r), &named))
                    return true;
        }
        bool own = readers[i].id == q->at.id && q->moment == TILE_MOMENT_AT;
        if (!operands.count && ((own && q->own_reads++) || is_reached(q, readers[i]))) return true;
    }
    return false;
}

static tile_region source_of(const tile_content *c, tile_value value) {
    const tile_value_data *data = tile_value_at(c->f, value);
    switch ((tile_value_kind)data->kind) {
    case TILE_VALUE_RESULT: return region_of(c, (tile_op){data->owner});
    case TILE_VALUE_REGION: return (tile_region){data->owner};
    case TILE_VALUE_ARG:
    case TILE_VALUE_CONSTANT: break;
    }
    return c->f->body;
}

/* Follows aliases to the operation that computes the elements. */
static bool is_reached_read(query *q, tile_value value, const elements *set) {
    elements named;
    naming n = {.c = q->c, .op = tile_value_def(q->c->f, value)};
    const tile_values operands = aliased_operands(q->c, n.op);
    if (!operands.count) {
        q->source = source_of(q->c, value);
        q->own_reads = 0;
        return are_read(q, value, set);
    }
    unsigned r = value.id - tile_op_result(q->c->f, n.op, 0).id;
    for (; n.operand < operands.count; n.at += q->c->length[operands.at[n.operand++].id])
        if (rename(&n, r, false, set, &named) && is_reached_read(q, operands.at[n.operand], &named))
            return true;
    return false;
}

bool tile_content_is_read(const tile_content *content, tile_value value, tile_op op,
                          tile_moment moment) {
    query q = {.c = content, .at = op, .moment = moment};
    elements all = {0};
    unsigned length = content->length[value.id];
    if (length > TILE_CONTENT_LIMIT) return true;
    for (unsigned i = 0; i < length; i++) add(&all, i);
    return is_reached_read(&q, value, &all);
}
