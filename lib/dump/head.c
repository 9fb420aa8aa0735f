/* The comments at the beginning of a dump: the kernel's properties and its launch requirements. */
#include <inttypes.h>

#include "lib/dump/dump.h"
#include "lib/ir/describe.h"
#include "lib/ir/print_names.h"
#include "lib/launch/data.h"

typedef struct head {
    const tile_function *f;
    const tile_abi *abi;
    const tile_target *target;
    const char *mark;
    tile_text *to;
    tile_arena *arena;
    const tile_dump_role *roles;
    unsigned role_count;
} head;

/* Separates the parts of a line; empty before the first one. */
static const char *comma(unsigned index) {
    return index ? ", " : "";
}

static void begin_line(const head *h, const char *title) {
    tile_text_format(h->to, "\n%s %-14s ", h->mark, title);
}

/* Begins a list of lines under a title. */
static void begin_table(const head *h, const char *title) {
    tile_text_format(h->to, "\n%s\n%s %s", h->mark, h->mark, title);
}

static void put_kernel(const head *h) {
    tile_loc loc = h->f->loc;
    tile_text_format(h->to, "%s %-14s @%s", h->mark, "kernel", h->abi->entry);
    if (loc.line)
        tile_text_format(h->to, ", %s:%u", tile_context_source_name(h->abi->context, loc.file),
                         loc.line);
    if (h->f->reference) tile_text_format(h->to, ", of @%s", h->f->reference);
}

static void put_point(const head *h) {
    if (!h->f->point) return;
    begin_line(h, "point");
    tile_text_format(h->to, "%s", h->f->point);
}

static void put_condition(const head *h, const tile_condition *condition) {
    const char *name =
        condition->kind == TILE_CONDITION_grid ? NULL : h->abi->args[condition->arg].name;
    switch (condition->kind) {
    case TILE_CONDITION_divisible:
        tile_text_format(h->to, "%%%s is divisible by %" PRId64, name, condition->value);
        break;
    case TILE_CONDITION_value:
        tile_text_format(h->to, "%%%s is %" PRId64, name, condition->value);
        break;
    case TILE_CONDITION_tensor_map:
        tile_text_format(h->to, "a tensor map can describe %%%s", name);
        break;
    case TILE_CONDITION_grid:
        tile_text_format(h->to, "the grid has at most %" PRId64 " blocks along y and z",
                         condition->value);
        break;
    }
}

static void put_variant(const head *h) {
    const tile_abi_variant_conditions *needs = &h->abi->variants[h->abi->variant];
    begin_line(h, "variant");
    tile_text_format(h->to, "%u of %u%s", h->abi->variant, h->abi->variant_count,
                     needs->count ? ", for launches where " : ", for all launches");
    for (unsigned i = 0; i < needs->count; i++) {
        tile_text_format(h->to, "%s", comma(i));
        put_condition(h, &needs->list[i]);
    }
}

static void put_extents(const head *h, const tile_abi_extents *extents) {
    for (unsigned d = 0; d < 3; d++)
        tile_text_format(h->to, "%s%s", d ? ", " : "[", extents->text[d]);
    tile_text_format(h->to, "]");
}

static void put_launch(const head *h) {
    const int64_t *cluster = h->abi->cluster;
    begin_line(h, "target");
    tile_text_format(h->to, "%s", h->target->name);
    begin_line(h, "grid");
    put_extents(h, &h->abi->grid);
    if (h->abi->unfolded.rank) {
        tile_text_format(h->to, " for the tiles ");
        put_extents(h, &h->abi->unfolded);
    }
    begin_line(h, "cluster");
    tile_text_format(h->to, "[%" PRId64 ", %" PRId64 ", %" PRId64 "] blocks", cluster[0],
                     cluster[1], cluster[2]);
    begin_line(h, "block");
    tile_text_format(h->to, "%u threads, %u bytes of dynamic shared memory", 32 * h->abi->warps,
                     h->abi->shared_bytes);
}

/* Parameters ----------------------------------------------------------------------------------- */

static bool is_asked(const head *h, tile_condition_kind kind, unsigned arg) {
    const tile_abi_variant_conditions *needs = &h->abi->variants[h->abi->variant];
    for (unsigned i = 0; i < needs->count; i++)
        if (needs->list[i].kind == kind && needs->list[i].arg == arg) return true;
    return false;
}

static void put_argument(const head *h, unsigned index) {
    const tile_abi_arg *arg = &h->abi->args[index];
    const tile_arg_decl *decl = &h->f->args[index];
    uint64_t alignment =
        tile_type_is_address(arg->type) ? tile_address_alignment(arg->type, arg->divisible) : 0;
    unsigned facts = 0;
    int64_t known;
    if (decl->known && tile_expr_is_int(decl->known, &known))
        tile_text_format(h->to, "%s= %" PRId64, comma(facts++), known);
    else if (alignment)
        tile_text_format(h->to, "%saligned to %" PRIu64 " bytes", comma(facts++), alignment);
    if (arg->divisible > 1 && arg->divisible > alignment && !decl->known)
        tile_text_format(h->to, "%sdivisible by %u", comma(facts++), arg->divisible);
    if (is_asked(h, TILE_CONDITION_tensor_map, index))
        tile_text_format(h->to, "%sa tensor map describes it", comma(facts++));
    if (decl->noalias) tile_text_format(h->to, "%snoalias", comma(facts++));
}

static void put_map(const head *h, unsigned index) {
    const abi_json_map *map = &h->abi->map_texts[index];
    tile_text_format(h->to, "of %%%s, box [", map->argument);
    for (unsigned d = 0; d < map->box_count; d++)
        tile_text_format(h->to, "%s%" PRId64, comma(d), map->box[d]);
    tile_text_format(h->to, "], swizzle %u bytes", map->swizzle);
}

static void put_scratch(const head *h, bool clean) {
    unsigned listed = 0;
    tile_text_format(h->to, "aligned to %d bytes%s; bytes: ", TILE_SCRATCH_ALIGNMENT,
                     clean ? ", zero before and after a launch" : "");
    for (unsigned i = 0; i < h->abi->scratch_count; i++)
        if (h->abi->scratch[i].clean == clean)
            tile_text_format(h->to, "%s%s", comma(listed++), h->abi->scratch_texts[i].bytes);
}

static void put_relied_on(const head *h, const tile_abi_parameter *parameter) {
    switch (parameter->kind) {
    case TILE_PARAMETER_argument: put_argument(h, parameter->index); break;
    case TILE_PARAMETER_clean_scratch: put_scratch(h, true); break;
    case TILE_PARAMETER_scratch: put_scratch(h, false); break;
    case TILE_PARAMETER_table:
        tile_text_format(h->to, "aligned to %d bytes, the tiles of each block",
                         TILE_TABLE_ALIGNMENT);
        break;
    case TILE_PARAMETER_tensor_map: put_map(h, parameter->index); break;
    }
}

static void put_parameters(const head *h) {
    if (h->abi->parameter_count) begin_table(h, "parameters, and what the code relies on");
    for (unsigned i = 0; i < h->abi->parameter_count; i++) {
        const abi_json_parameter *text = &h->abi->parameter_texts[i];
        tile_text_format(h->to, "\n%s   %-12s %-28s ", h->mark, text->name, text->type);
        put_relied_on(h, &h->abi->parameters[i]);
        while (h->to->data[h->to->length - 1] == ' ') h->to->length--;
    }
}

/* Shared memory -------------------------------------------------------------------------------- */

/* Lists the roles whose operations have this effect on the buffer's barriers, as ", NAMES WORD". */
static void put_users(const head *h, tile_value buffer, tile_effect effect, const char *word) {
    unsigned listed = 0;
    for (unsigned i = 0; i < h->role_count; i++) {
        bool uses = false;
        TILE_FOR_EACH_OP_INSIDE (h->f, op, h->roles[i].region)
            uses |= tile_op_effects(h->f, op) & effect && tile_op_uses(h->f, op, buffer);
        if (uses) tile_text_format(h->to, "%s%s", listed++ ? " and " : ", ", h->roles[i].name);
    }
    if (listed) tile_text_format(h->to, " %s", word);
}

static void put_barriers(const head *h, tile_value buffer) {
    TILE_FOR_EACH_OP_INSIDE (h->f, op, h->f->body) {
        int64_t arrivals;
        if (tile_op_opcode(h->f, op) != TILE_OP_mbarrier_init ||
            tile_operand_bar(h->f, op).id != buffer.id ||
            !tile_value_is_int(h->f, tile_operand_count(h->f, op), &arrivals))
            continue;
        tile_text_format(h->to, ", %" PRId64 " arrival%s a phase", arrivals,
                         arrivals == 1 ? "" : "s");
        break;
    }
    put_users(h, buffer, TILE_EFFECT_RELEASE, "arrives");
    put_users(h, buffer, TILE_EFFECT_ACQUIRE, "waits");
}

static int64_t offset_of(const head *h, tile_op alloc) {
    return tile_op_attr_int(h->f, alloc, TILE_ATTR_offset, 0);
}

static void put_buffer(const head *h, tile_op alloc, const char *name) {
    const tile_function *f = h->f;
    tile_value buffer = tile_op_result(f, alloc, 0);
    const tile_type *type = tile_value_type(f, buffer);
    int64_t stride, bytes = tile_alloc_bytes(f, alloc, &stride);
    tile_text_format(h->to, "\n%s   %7" PRId64 " %7" PRId64 "  %%%-10s %s", h->mark,
                     offset_of(h, alloc), bytes, name ? name : "",
                     tile_type_text(f, type, NULL, h->arena));
    if (stride) tile_text_format(h->to, ", one for each group, %" PRId64 " bytes apart", stride);
    if (type->scalar == TILE_barrier) put_barriers(h, buffer);
}

static void put_shared(const head *h) {
    unsigned count;
    tile_op *allocs = tile_find_ops(h->f, TILE_OP_alloc_shared, h->arena, &count);
    const char **names = tile_print_names(h->f, h->arena);
    for (unsigned i = 1; i < count; i++) /* insertion sort: few, and nearly in order */
        for (unsigned j = i; j && offset_of(h, allocs[j]) < offset_of(h, allocs[j - 1]); j--) {
            tile_op later = allocs[j];
            allocs[j] = allocs[j - 1];
            allocs[j - 1] = later;
        }
    if (count) begin_table(h, "shared memory: offset and size in bytes");
    for (unsigned i = 0; i < count; i++)
        put_buffer(h, allocs[i], names[tile_op_result(h->f, allocs[i], 0).id]);
}

/* Warps ---------------------------------------------------------------------------------------- */

static void put_warps(const head *h) {
    bool sets = tile_target_has(h->target, TILE_FEATURE_setmaxnreg);
    if (h->role_count) begin_table(h, "warps");
    for (unsigned i = 0; i < h->role_count; i++) {
        const tile_dump_role *role = &h->roles[i];
        const tile_executors *who = &role->who;
        unsigned last = who->first + who->warps * who->groups - 1;
        begin_line(h, last > who->first
                          ? tile_arena_format(h->arena, "  %u to %u", who->first, last)
                          : tile_arena_format(h->arena, "  %u", last));
        tile_text_format(h->to, "%s", role->name);
        if (who->groups > 1) tile_text_format(h->to, ", %u groups of %u", who->groups, who->warps);
        if (role->registers && sets)
            tile_text_format(h->to, ", %u registers a thread", role->registers);
    }
}

void tile_dump_head(const tile_function *f, const tile_abi *abi, const tile_target *target,
                    const char *mark, tile_text *to) {
    static void (*const parts[])(const head *h) = {
        put_kernel, put_point, put_variant, put_launch, put_parameters, put_shared, put_warps};
    head h = {f, abi, target, mark, to, to->arena, NULL, 0};
    h.roles = tile_dump_roles(f, h.arena, &h.role_count);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) parts[i](&h);
    tile_text_format(to, "\n\n");
}
