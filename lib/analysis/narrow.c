/* Finds where wide accesses are lost because no divisor is declared for an integer argument.
 *
 * The loss does not affect results, only the time. To find the divisor that an argument needs, the
 * search declares it temporarily and repeats the range analysis that code generation uses. So it
 * takes everything into account that code generation does. */
#include "lib/analysis/narrow.h"

#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/ir/describe.h"
#include "lib/layout/layout.h"
#include "lib/ops/atomic.h"

enum {
    WIDEST = 16,            /* bytes */
    ASK_LIMIT = 256,        /* analyses of the function */
    MAX_DECLARED = 1 << 26, /* no multiples of larger divisors are tried */
};

typedef struct finding {
    unsigned divisor; /* 0: none */
    unsigned bytes;   /* width of the accesses without it */
    const char *operand;
} finding;

typedef struct search {
    tile_function *f;
    tile_arena arena;
    bool *indices;     /* by value: used as an index of other accesses */
    finding *findings; /* one for each argument */
    const tile_range *ranges;
    unsigned asked_values;
} search;

/* Returns whether no thread has that many elements of the tile along the dim. any: at no point of
 * the space. */
static bool is_too_wide(const search *s, tile_op op, const tile_type *tile, unsigned dim,
                        unsigned width, bool any) {
    int64_t elements = 1, warps = tile_executors_of(s->f, op).warps;
    for (unsigned d = 0; d < tile->rank; d++) elements *= tile_type_dim(tile, d);
    bool here = width <= tile_type_dim(tile, dim) &&
                (tile->kind != TILE_TYPE_TILE || width * 32 * warps <= elements);
    bool elsewhere =
        any && s->f->widest && op.id < s->f->widest_count && width <= s->f->widest[op.id][dim];
    return !here && !elsewhere;
}

/* The width of a thread's accesses to the tile along the view's dim of stride 1; 0 if the operand
 * moves no tile. any: the widest at any point of the space. */
static unsigned find_width(const search *s, const tile_range *ranges, tile_op op,
                           const tile_value *element, bool any) {
    const tile_function *f = s->f;
    const tile_op_data *data = tile_op_at(f, op);
    const tile_type *tile = NULL;
    if (data->result_count) tile = tile_value_type(f, data->first_result);
    for (uint32_t i = 0; i < data->operand_count; i++) {
        const tile_type *type = tile_value_type(f, data->operands[i]);
        if (type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_SHARED) tile = type;
    }
    if (!tile || (tile->kind != TILE_TYPE_TILE && tile->kind != TILE_TYPE_SHARED)) return 0;
    tile_access_facts facts = tile_view_access(f, ranges, element);
    unsigned rank = tile_value_type(f, element[0])->rank, width = facts.width;
    if (facts.unit_dim == rank || tile->rank > rank + facts.points) return 0;
    unsigned unit = tile_unit_dim(&facts, rank, tile->rank);
    if (unit == tile->rank) return 0;
    while (width > 1 && is_too_wide(s, op, tile, unit, width, any)) width /= 2;
    return width;
}

static unsigned common_multiple(unsigned declared, unsigned power_of_two) {
    unsigned multiple = declared ? declared : 1;
    if (multiple > MAX_DECLARED) return declared;
    while (multiple % power_of_two) multiple *= 2;
    return multiple;
}

/* Returns the width if the arguments in `uses` were also divisible by `most`, except `arg`, which
 * is divisible by `divisor` instead. */
static unsigned width_with_divisor(search *s, tile_op op, const tile_value *element,
                                   const bool *uses, unsigned most, unsigned arg, unsigned divisor,
                                   bool any) {
    tile_function *f = s->f;
    unsigned *declared = TILE_NEW_ARRAY(&s->arena, unsigned, f->arg_count + 1);
    for (unsigned i = 0; i < f->arg_count; i++) {
        declared[i] = f->args[i].divisible;
        if (uses[i]) f->args[i].divisible = common_multiple(declared[i], i == arg ? divisor : most);
    }
    unsigned width = find_width(s, tile_range_analyse(f, &s->arena), op, element, any);
    for (unsigned i = 0; i < f->arg_count; i++) f->args[i].divisible = declared[i];
    s->asked_values++;
    return width;
}

static void check_access(search *s, tile_op op, const tile_value *element) {
    tile_function *f = s->f;
    unsigned bytes = tile_scalar_bytes(tile_value_type(f, element[0])->scalar);
    unsigned width = find_width(s, s->ranges, op, element, false), most = WIDEST / bytes;
    size_t operand = tile_view_operand(f, element[0]);
    if (tile_op_effects(f, op) & TILE_EFFECT_ATOMIC && !tile_atomic_allows_vectors(f, op)) return;
    if (!width || width >= most || operand == f->arg_count || s->asked_values > ASK_LIMIT) return;
    bool *uses = TILE_NEW_ARRAY(&s->arena, bool, f->arg_count + 1);
    tile_mark_view_integers(f, element[0], uses);
    unsigned here = width_with_divisor(s, op, element, uses, most, 0, most, false);
    unsigned possible = width_with_divisor(s, op, element, uses, most, 0, most, true);
    for (unsigned arg = 0; arg < f->arg_count && here > width; arg++) {
        const tile_arg_decl *decl = &f->args[arg];
        unsigned divisor = 1;
        if (!uses[arg] || decl->is_const) continue;
        while (divisor < most &&
               width_with_divisor(s, op, element, uses, most, arg, divisor, true) < possible)
            divisor *= 2;
        if (divisor == 1) continue; /* this argument does not limit the width */
        divisor = common_multiple(decl->divisible, divisor);
        if (divisor > s->findings[arg].divisor)
            s->findings[arg] = (finding){divisor, width * bytes, f->args[operand].name};
    }
}

/* Index lists are small compared to the data that they index, so wider loads of them do not
 * matter. */
static bool loads_indices(const search *s, tile_op op) {
    const tile_op_data *data = tile_op_at(s->f, op);
    return data->result_count == 1 && s->indices[data->first_result.id];
}

static void visit(search *s, tile_op op) {
    const tile_function *f = s->f;
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    if (loads_indices(s, op)) return;
    for (unsigned o = 0; o < TILE_MAX_OPERANDS && o < info->operand_count; o++) {
        if (!tile_form_has_brackets(info->operands[o].form)) continue;
        const tile_values element = tile_op_segment(f, op, o);
        if (element.count > 1 && tile_value_type(f, element.at[0])->kind == TILE_TYPE_VIEW)
            check_access(s, op, element.at);
    }
}

static void mark_index(search *s, tile_value value) {
    tile_op op = tile_value_def(s->f, value);
    if (s->indices[value.id]) return;
    s->indices[value.id] = true;
    if (!op.id || tile_op_at(s->f, op)->region_count ||
        tile_op_get_info(tile_op_opcode(s->f, op))->effects)
        return;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        mark_index(s, tile_op_operand(s->f, op, i));
}

/* Index tiles among the coordinates of an access. */
static void visit_indices(search *s, tile_op op) {
    const tile_function *f = s->f;
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned o = 0; o < TILE_MAX_OPERANDS && o < info->operand_count; o++) {
        if (!tile_form_has_brackets(info->operands[o].form)) continue;
        const tile_values element = tile_op_segment(f, op, o);
        for (unsigned i = 1; i < element.count; i++)
            if (tile_value_type(f, element.at[i])->kind == TILE_TYPE_TILE)
                mark_index(s, element.at[i]);
    }
}

static void report(search *s, const tile_arg_decl *arg, const finding *found) {
    const char *type = tile_type_text(s->f, arg->type, NULL, &s->arena);
    const char *known =
        arg->divisible ? tile_arena_format(&s->arena, "%%%s is only known to be {divisible = %u}",
                                           arg->name, arg->divisible)
                       : tile_arena_format(&s->arena, "no divisor of %%%s is known", arg->name);
    tile_remark_at(
        s->f, TILE_NO_OP,
        "@%s: accesses to %%%s are %u bytes wide, because %s: write '%%%s: %s {divisible = %u}'",
        s->f->name, found->operand, found->bytes, known, arg->name, type, found->divisor);
}

void tile_remark_narrow(tile_function *f) {
    search s = {.f = f};
    if (tile_function_level(f) != 2 || f->only_copies) return;
    s.findings = TILE_NEW_ARRAY(&s.arena, finding, f->arg_count + 1);
    s.indices = TILE_NEW_ARRAY(&s.arena, bool, f->value_count + 1);
    s.ranges = tile_range_analyse(f, &s.arena);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_indices(&s, op);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit(&s, op);
    for (unsigned i = 0; i < f->arg_count; i++)
        if (s.findings[i].divisor) report(&s, &f->args[i], &s.findings[i]);
    tile_arena_reset(&s.arena);
}
