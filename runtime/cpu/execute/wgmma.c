/* Products of a warpgroup: wgmma and its ordering, completed as late as the program permits.
 *
 * Each warp computes its own 16 rows. At issue a descriptor is decoded by the PTX ISA's formula to
 * the bytes that it describes. The async proxy reads them from then until a wait covers the group,
 * so writing them meanwhile is a race. The sums are computed at the wait, from the contents of
 * shared memory at that time. Until then the accumulator's place holds garbage with a mark in it.
 * Copies of the place copy the mark, by which a wgmma or a wait finds the pending sums.
 *
 * The warps of a warpgroup run separately, but must execute the same instructions with the same
 * descriptors in the same order. The first warp that reaches a step records it, and the others are
 * compared with it. source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"; the
 * layouts are those of CUTLASS 4, cute/arch/mma_sm90_desc.hpp. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analysis/product.h"
#include "runtime/cpu/execute/exec.h"
#include "runtime/cpu/execute/products.h"
#include "runtime/cpu/execute/wgmma_matrix.h"
#include "runtime/cpu/execute/decoding.h"

enum { WARPS = 4, PIECE = CPU_WGMMA_PIECE, WARP_ROWS = 16 };

/* Reading ------------------------------------------------------------------------------------- */

/* A read by the async proxy: it begins or ends. */
typedef struct reading {
    cpu_run *run;
    cpu_agent *agent;
    const cpu_insn *insn;
    bool begins;
} reading;

static bool is_inside(const cpu_run *run, uint32_t start, uint32_t at) {
    for (size_t i = 0; i < run->program->buffer_count; i++) {
        const cpu_extent *buffer = &run->program->buffers[i];
        if (start >= buffer->begin && start < buffer->end && at >= buffer->begin &&
            at + PIECE <= buffer->end)
            return true;
    }
    return false;
}

static bool touch_piece(const reading *r, const cpu_matrix *m, uint32_t at) {
    if (!r->begins) {
        cpu_shared_end_read(r->run, r->agent, r->insn, at, PIECE);
        return true;
    }
    if (is_inside(r->run, m->start, at))
        return cpu_shared_start_read(r->run, r->agent, r->insn, at, PIECE);
    cpu_fault(r->run, r->agent, r->insn, -1,
              "out of bounds: 16 bytes at byte %u of the block's shared memory are not in the "
              "buffer in which the matrix begins, at byte %u (leading = %u, stride = %u, swizzle = "
              "%u)",
              at, m->start, m->leading, m->stride, m->swizzle == PIECE ? 0 : m->swizzle);
    return false;
}

static bool touch_matrix(const reading *r, const cpu_matrix *m) {
    uint32_t each = PIECE / m->size;
    for (uint32_t row = 0; row < m->rows; row += m->mn_major ? each : 1)
        for (uint32_t k = 0; k < m->depth; k += m->mn_major ? 1 : each)
            if (!touch_piece(r, m, cpu_matrix_address(m, row, k))) return false;
    return true;
}

/* integer: the descriptor without the address */
static CPU_HANDLER(run_wgmma_descriptor) {
    uint32_t offsets[CPU_LANES] = {0};
    uint64_t *to = cpu_at(run, agent, insn->result);
    if (!cpu_shared_offsets(run, agent, insn, 0, insn->index, agent->mask, PIECE, offsets))
        return CPU_STOP;
    for (unsigned lane = 0; lane < CPU_LANES; lane++)
        to[lane] = (uint64_t)insn->integer | (offsets[lane] & CPU_DESCRIPTOR_MASK) >> 4;
    return CPU_NEXT;
}

void cpu_decode_wgmma_descriptor(cpu_decoder *d, tile_op op) {
    tile_wgmma_matrix m = tile_wgmma_matrix_of(d->f, op);
    uint64_t mode = m.swizzle == 128 ? 1 : m.swizzle == 64 ? 2 : m.swizzle == 32 ? 3 : 0;
    cpu_insn *insn = cpu_add_op(d, op, run_wgmma_descriptor);
    insn->memory = cpu_operand_type(d, op, TILE_OPERAND_src);
    insn->integer =
        (int64_t)(mode << 62 | (uint64_t)m.stride >> 4 << 32 | (uint64_t)m.leading >> 4 << 16);
}

/* Warpgroups ----------------------------------------------------------------------------------- */

/* A step that all four warps must execute. */
typedef struct step {
    const cpu_insn *insn;
    uint64_t lhs, rhs;
    bool keep;
} step;

struct cpu_warpgroup {
    step *steps;
    size_t count, capacity;
    uint32_t first; /* number of the step in steps[0] */
};

/* A product that no wait has covered yet. */
typedef struct product {
    step step;
    char *fragment;  /* lhs, if it is in registers; otherwise NULL */
    uint32_t *picks; /* of a sparse lhs: k of each of its elements, row by row; otherwise NULL */
    uint32_t sums;
    uint32_t group;
} product;

typedef struct sums {
    char *data;    /* laid out as in the frame; NULL: free */
    uint32_t left; /* products that have not been added yet */
} sums;

struct cpu_products {
    product *list;
    size_t count, capacity;
    sums *sums;
    size_t sums_count, sums_capacity;
    uint32_t commits;
    uint32_t steps;
};

static cpu_products *products_of(cpu_agent *agent) {
    if (!agent->products) {
        agent->products = tile_malloc(sizeof *agent->products);
        *agent->products = (cpu_products){.list = NULL};
    }
    return agent->products;
}

static cpu_warpgroup *warpgroup_of(const cpu_run *run, const cpu_agent *agent) {
    cpu_block *block = agent->block;
    size_t bytes = sizeof *block->warpgroups * (run->program->agents / WARPS + 1);
    if (!block->warpgroups) block->warpgroups = memset(tile_malloc(bytes), 0, bytes);
    return &block->warpgroups[agent->index / WARPS];
}

static uint32_t steps_of(const cpu_agent *agent) {
    return agent->products ? agent->products->steps : 0;
}

/* Drops steps that all warps have executed. */
static void forget_steps(cpu_warpgroup *group, const cpu_agent *agent) {
    const cpu_agent *warps = &agent->block->agents[agent->index / WARPS * WARPS];
    uint32_t least = UINT32_MAX;
    for (unsigned w = 0; w < WARPS; w++)
        least = steps_of(&warps[w]) < least ? steps_of(&warps[w]) : least;
    size_t gone = least - group->first;
    if (gone < 64) return;
    group->count -= gone;
    memmove(group->steps, group->steps + gone, sizeof *group->steps * group->count);
    group->first = least;
}

static bool fault_missing(cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                          const cpu_agent *missing) {
    cpu_fault(run, agent, insn, -1,
              "not all 4 warps of the warpgroup execute this: warp %u ends without it",
              missing->index);
    return false;
}

static bool add_step(cpu_run *run, const cpu_agent *agent, cpu_warpgroup *group, const step *now) {
    const cpu_agent *warps = &agent->block->agents[agent->index / WARPS * WARPS];
    for (unsigned w = 0; w < WARPS; w++)
        if (warps[w].state == CPU_DONE) return fault_missing(run, agent, now->insn, &warps[w]);
    if (group->count == group->capacity) {
        group->capacity = group->capacity ? group->capacity * 2 : 64;
        group->steps = tile_realloc(group->steps, sizeof *group->steps * group->capacity);
    }
    group->steps[group->count++] = *now;
    return true;
}

/* Checks that the warp executes the same step as the others. */
static bool agree(cpu_run *run, cpu_agent *agent, const step *now) {
    cpu_warpgroup *group = warpgroup_of(run, agent);
    cpu_products *own = products_of(agent);
    size_t index = own->steps++ - group->first;
    if (!cpu_full_warp_active(run, agent, now->insn)) return false;
    if (index == group->count) {
        if (!add_step(run, agent, group, now)) return false;
    } else {
        const step *then = &group->steps[index];
        bool same = then->insn == now->insn;
        if (!same || then->lhs != now->lhs || then->rhs != now->rhs || then->keep != now->keep) {
            cpu_fault(run, agent, now->insn, -1,
                      same ? "the operands differ from those of another warp of the warpgroup"
                           : "another warp of the warpgroup is at another instruction");
            tile_report(run->context, TILE_NOTE, then->insn->loc,
                        "all 4 warps execute the same; the other one is here");
            return false;
        }
    }
    forget_steps(group, agent);
    return true;
}

bool cpu_end_products(cpu_run *run, cpu_agent *agent) {
    if (!agent->block->warpgroups) return true;
    const cpu_warpgroup *group = warpgroup_of(run, agent);
    const cpu_products *own = agent->products;
    size_t index = steps_of(agent) - group->first;
    if (index < group->count) return fault_missing(run, agent, group->steps[index].insn, agent);
    if (!own || !own->count) return true;
    cpu_fault(run, agent, own->list[0].step.insn, -1,
              "the warp ends, and no wgmma_wait has covered the product");
    return false;
}

/* Sums ----------------------------------------------------------------------------------------- */

/* The mark at the beginning of a place whose value is pending. */
typedef struct mark {
    uint64_t magic;
    uint32_t number, check;
} mark;

static const uint64_t magic = UINT64_C(0xfff76d6d67775aa5);

static mark make_mark(uint32_t number) {
    return (mark){magic, number, ~number};
}

/* The pending sums of the place; NULL if it holds its value. */
static sums *find_sums(const cpu_products *own, const void *place, uint32_t *number) {
    mark found;
    memcpy(&found, place, sizeof found);
    bool is_mark = found.magic == magic && found.check == ~found.number &&
                   found.number < own->sums_count && own->sums[found.number].data;
    *number = found.number;
    return is_mark ? &own->sums[found.number] : NULL;
}

static uint32_t new_sums(cpu_products *own, const void *place, uint32_t bytes) {
    uint32_t number = 0;
    while (number < own->sums_count && own->sums[number].data) number++;
    if (number == own->sums_count) {
        if (own->sums_count == own->sums_capacity) {
            own->sums_capacity = own->sums_capacity ? 2 * own->sums_capacity : 4;
            own->sums = tile_realloc(own->sums, sizeof *own->sums * own->sums_capacity);
        }
        own->sums_count++;
    }
    own->sums[number] = (sums){.data = memcpy(tile_malloc(bytes), place, bytes)};
    return number;
}

static void put_mark(void *place, uint32_t bytes, uint32_t number) {
    const mark put = make_mark(number);
    memset(place, 0xff, bytes);
    memcpy(place, &put, sizeof put);
}

/* Products ------------------------------------------------------------------------------------- */

static bool read_scalar(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, unsigned operand,
                        uint32_t size, uint64_t *value) {
    const char *lanes = cpu_at(run, agent, insn->operand[operand]);
    for (unsigned lane = 1; lane < CPU_LANES; lane++)
        if (memcmp(lanes, lanes + lane * size, size) != 0) {
            cpu_fault(run, agent, insn, (int)lane, "'%s' differs from lane to lane",
                      tile_op_get_info(insn->opcode)->operands[operand].name);
            return false;
        }
    *value = 0;
    memcpy(value, lanes, size);
    return true;
}

static bool touch_operands(const reading *r, const step *s) {
    cpu_matrix rhs = cpu_wgmma_rhs(r->insn, s->rhs);
    if (!cpu_wgmma_takes_fragment(r->insn)) {
        cpu_matrix lhs = cpu_wgmma_lhs(r->insn, s->lhs);
        if (!touch_matrix(r, &lhs)) return false;
    }
    return touch_matrix(r, &rhs);
}

/* The metadata of group g of a row: four bits in a thread's register. */
static unsigned place_bits(const cpu_insn *insn, const uint32_t *places, uint32_t row, uint32_t g) {
    bool bytes = tile_scalar_bytes(insn->type->scalar) == 1;
    uint32_t lane =
        row % 8 * 4 + (bytes ? g / 8 * 2 + row / 8 : (uint32_t)insn->integer * 2 + g / 4);
    return places[lane] >> (bytes ? g % 8 * 4 : row / 8 * 16 + g % 4 * 4) & 15;
}

uint32_t *cpu_wgmma_picks(cpu_run *run, cpu_agent *agent, const cpu_insn *insn) {
    enum { FIRST = 0x4, SECOND = 0xe };
    uint32_t size = tile_scalar_bytes(insn->type->scalar), depth = CPU_WGMMA_BYTES / size;
    uint32_t each = size == 4 ? 1 : 2;
    const uint32_t *places = cpu_at(run, agent, insn->index[0]);
    uint32_t *picks = tile_malloc(sizeof *picks * WARP_ROWS * depth);
    for (uint32_t row = 0; row < WARP_ROWS; row++)
        for (uint32_t k = 0; k < depth; k++) {
            unsigned bits = place_bits(insn, places, row, k / each);
            bool right = each == 1 ? bits == FIRST || bits == SECOND : bits % 4 != bits / 4;
            uint32_t within = each == 1 ? bits == SECOND : bits >> k % 2 * 2 & 3;
            picks[row * depth + k] = k / each * 2 * each + within;
            if (right) continue;
            cpu_fault(run, agent, insn, -1,
                      "'places' selects no valid elements of %u to %u of row %u along k: its bits "
                      "are 0x%x there",
                      k / each * 2 * each, (k / each + 1) * 2 * each - 1,
                      agent->index % WARPS * WARP_ROWS + row, bits);
            free(picks);
            return NULL;
        }
    return picks;
}

static void add_product(cpu_run *run, cpu_agent *agent, const cpu_insn *insn, const step *now,
                        uint32_t *picks) {
    cpu_products *own = agent->products;
    const char *acc = cpu_at(run, agent, insn->operand[2]);
    uint32_t bytes = insn->count * insn->size, number;
    if (!find_sums(own, acc, &number)) number = new_sums(own, acc, bytes);
    if (own->count == own->capacity) {
        own->capacity = own->capacity ? 2 * own->capacity : 16;
        own->list = tile_realloc(own->list, sizeof *own->list * own->capacity);
    }
    product *added = &own->list[own->count++];
    *added = (product){.step = *now, .sums = number, .group = own->commits, .picks = picks};
    if (cpu_wgmma_takes_fragment(insn)) {
        uint32_t size = CPU_LANES * PIECE;
        const char *fragment = cpu_at(run, agent, insn->operand[0]);
        added->fragment = memcpy(tile_malloc(size), fragment, size);
    }
    own->sums[number].left++;
    put_mark(cpu_at(run, agent, insn->result), bytes, number);
}

/* type: of lhs; memory: of rhs */
static CPU_HANDLER(run_wgmma) {
    step now = {.insn = insn};
    uint64_t keep;
    const reading r = {run, agent, insn, true};
    if (!cpu_full_warp_active(run, agent, insn)) return CPU_STOP;
    if ((!cpu_wgmma_takes_fragment(insn) &&
         !read_scalar(run, agent, insn, 0, sizeof now.lhs, &now.lhs)) ||
        !read_scalar(run, agent, insn, 1, sizeof now.rhs, &now.rhs) ||
        !read_scalar(run, agent, insn, 3, 1, &keep))
        return CPU_STOP;
    now.keep = keep != 0;
    if (!agree(run, agent, &now) || !touch_operands(&r, &now)) return CPU_STOP;
    uint32_t *picks = insn->flag ? cpu_wgmma_picks(run, agent, insn) : NULL;
    if (insn->flag && !picks) return CPU_STOP;
    add_product(run, agent, insn, &now, picks);
    return CPU_NEXT;
}

static void finish_product(cpu_run *run, cpu_agent *agent, product *p) {
    const cpu_insn *insn = p->step.insn;
    cpu_matrix rhs = cpu_wgmma_rhs(insn, p->step.rhs);
    sums *s = &agent->products->sums[p->sums];
    const uint8_t *shared = agent->block->shared;
    char *a = p->fragment, *b = cpu_gather_matrix(shared, &rhs, 0, rhs.rows, true);
    if (!a) {
        cpu_matrix lhs = cpu_wgmma_lhs(insn, p->step.lhs);
        a = cpu_gather_matrix(shared, &lhs, agent->index % WARPS * WARP_ROWS, WARP_ROWS, false);
    }
    if (!p->step.keep) memset(s->data, 0, insn->count * insn->size);
    cpu_multiply(insn->product, a, b, p->picks, s->data, s->data);
    s->left--;
    free(p->picks);
    free(a);
    free(b);
    touch_operands(&(reading){run, agent, insn, false}, &p->step);
}

/* Completes all groups except the latest `left`. */
static void finish_products(cpu_run *run, cpu_agent *agent, int64_t left) {
    cpu_products *own = agent->products;
    size_t kept = 0;
    for (size_t i = 0; i < own->count; i++)
        if (own->list[i].group + left < own->commits)
            finish_product(run, agent, &own->list[i]);
        else
            own->list[kept++] = own->list[i];
    own->count = kept;
}

/* Order ---------------------------------------------------------------------------------------- */

static CPU_HANDLER(run_wgmma_fence) {
    return agree(run, agent, &(step){.insn = insn}) ? CPU_NEXT : CPU_STOP;
}

static CPU_HANDLER(run_wgmma_commit) {
    if (!agree(run, agent, &(step){.insn = insn})) return CPU_STOP;
    agent->products->commits++;
    return CPU_NEXT;
}

/* The value of a result: its sums if they are complete, otherwise the mark. */
static char *result_of(cpu_run *run, cpu_agent *agent, uint32_t place, uint32_t bytes) {
    uint32_t number;
    const char *from = cpu_at(run, agent, place);
    sums *s = find_sums(agent->products, from, &number);
    char *copy = memcpy(tile_malloc(bytes), s && !s->left ? s->data : from, bytes);
    if (s && !s->left) {
        free(s->data);
        s->data = NULL;
    }
    return copy;
}

/* Results and operands may share places. */
static CPU_HANDLER(run_wgmma_wait) {
    if (!agree(run, agent, &(step){.insn = insn})) return CPU_STOP;
    finish_products(run, agent, insn->integer);
    char **copies = tile_malloc(sizeof *copies * (insn->index_count + 1));
    for (uint32_t i = 0; i < insn->index_count; i++)
        copies[i] = result_of(run, agent, insn->index[i], (uint32_t)insn->order[i]);
    for (uint32_t i = 0; i < insn->index_count; i++) {
        memcpy(cpu_at(run, agent, insn->second[i]), copies[i], (size_t)insn->order[i]);
        free(copies[i]);
    }
    free(copies);
    return CPU_NEXT;
}

void cpu_clear_products(cpu_agent *agent) {
    cpu_products *own = agent->products;
    if (!own) return;
    for (size_t i = 0; i < own->count; i++) free(own->list[i].fragment);
    for (size_t i = 0; i < own->count; i++) free(own->list[i].picks);
    for (size_t i = 0; i < own->sums_count; i++) free(own->sums[i].data);
    free(own->list);
    free(own->sums);
    free(own);
    agent->products = NULL;
}

void cpu_clear_warpgroups(const cpu_program *program, cpu_block *block) {
    for (unsigned g = 0; block->warpgroups && g < program->agents / WARPS + 1; g++)
        free(block->warpgroups[g].steps);
    free(block->warpgroups);
    block->warpgroups = NULL;
}

/* Decoding ------------------------------------------------------------------------------------- */

static const char *buffer_name(const cpu_decoder *d, tile_value operand) {
    tile_op def = tile_value_def(d->f, operand);
    if (!def.id || tile_op_opcode(d->f, def) != TILE_OP_wgmma_descriptor) return NULL;
    return tile_value_at(d->f, tile_operand_src(d->f, def))->name;
}

const char *cpu_operand_or_buffer_name(cpu_decoder *d, const char *lhs, const char *rhs) {
    if (!lhs || !rhs || strcmp(lhs, rhs) == 0) return rhs ? rhs : lhs ? lhs : "memory";
    return tile_arena_format(&d->program->arena, "%s or %%%s", lhs, rhs);
}

void cpu_decode_wgmma(cpu_decoder *d, tile_op op) {
    const tile_values places = tile_operands_places(d->f, op);
    cpu_insn *insn = cpu_add_op(d, op, run_wgmma);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->type = cpu_operand_type(d, op, TILE_OPERAND_lhs);
    insn->memory = cpu_operand_type(d, op, TILE_OPERAND_rhs);
    insn->product = cpu_product_of_wgmma(d, op);
    insn->flag = tile_product_forms_of(d->f, op).sparse;
    insn->index = cpu_places_of(d, places.at, places.count);
    insn->integer = tile_op_attr_int(d->f, op, TILE_ATTR_selector, 0);
    insn->name = cpu_operand_or_buffer_name(d, buffer_name(d, tile_operand_lhs(d->f, op)),
                                            buffer_name(d, tile_operand_rhs(d->f, op)));
}

void cpu_decode_wgmma_fence(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, run_wgmma_fence);
}

void cpu_decode_wgmma_commit(cpu_decoder *d, tile_op op) {
    cpu_add_op(d, op, run_wgmma_commit);
}

void cpu_decode_wgmma_wait(cpu_decoder *d, tile_op op) {
    const tile_op_data *data = tile_op_at(d->f, op);
    int64_t *sizes = TILE_NEW_ARRAY(&d->program->arena, int64_t, data->result_count + 1u);
    tile_value *results = TILE_NEW_ARRAY(&d->scratch, tile_value, data->result_count + 1u);
    for (unsigned i = 0; i < data->result_count; i++) {
        results[i] = tile_op_result(d->f, op, i);
        sizes[i] = cpu_value_place_bytes(tile_value_type(d->f, results[i]), d->program->lanes);
    }
    uint32_t *places = cpu_places_of(d, results, data->result_count);
    cpu_insn *insn = cpu_add_op(d, op, run_wgmma_wait);
    insn->second = places;
    insn->order = sizes;
    insn->integer = cpu_pending_count(d, op);
}
