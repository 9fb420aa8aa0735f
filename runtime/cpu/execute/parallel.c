/* Level 2: `parallel`, whose region runs element by element in row-major order. It is checked that
 * the order does not matter: no element loads or stores what another one stores. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/regions.h"
#include "lib/support/integer.h"
#include "runtime/cpu/execute/poison.h"
#include "runtime/cpu/execute/decoding.h"

/* Accesses by element -------------------------------------------------------------------------- */

typedef struct cpu_claim {
    uint64_t address; /* address + 1; 0: the entry is free */
    uint32_t element;
    bool stored;
    bool shared; /* other elements also load it */
} cpu_claim;

/* A hash table of the addresses that elements have accessed. */
struct cpu_claims {
    cpu_claim *places;
    size_t count, capacity; /* capacity is a power of two */
};

void cpu_claims_destroy(cpu_claims *claims) {
    if (!claims) return;
    free(claims->places);
    free(claims);
}

static cpu_claim *find_claim(const cpu_claims *claims, uint64_t address) {
    size_t mask = claims->capacity - 1, at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    while (claims->places[at & mask].address && claims->places[at & mask].address != address + 1)
        at++;
    return &claims->places[at & mask];
}

static void grow(cpu_claims *claims) {
    cpu_claims old = *claims;
    claims->capacity = old.capacity ? old.capacity * 2 : 1024;
    claims->places = tile_malloc(claims->capacity * sizeof *claims->places);
    memset(claims->places, 0, claims->capacity * sizeof *claims->places);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.places[i].address) *find_claim(claims, old.places[i].address - 1) = old.places[i];
    free(old.places);
}

static void forget_claims(cpu_claims *claims) {
    if (claims && claims->count)
        memset(claims->places, 0, sizeof *claims->places * claims->capacity);
    if (claims) claims->count = 0;
}

static void write_element(const cpu_insn *insn, uint32_t element, char *text, size_t size) {
    int64_t at[TILE_MAX_RANK];
    size_t used = 0;
    for (unsigned d = insn->second_count; d-- > 0;) {
        at[d] = element % insn->order[d];
        element /= (uint32_t)insn->order[d];
    }
    for (unsigned d = 0; d < insn->second_count; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, d ? ", " : "[", at[d]);
    snprintf(text + used, size - used, "]");
}

static cpu_outcome report_conflict(cpu_run *run, cpu_agent *agent, const cpu_insn *insn,
                                   const cpu_claim *other) {
    char now[128], before[128];
    write_element(insn, agent->element, now, sizeof now);
    write_element(insn, other->element, before, sizeof before);
    cpu_fault(run, agent, insn, -1,
              "element %s of `parallel` %s what element %s has %s %%%s: they run in no order, so "
              "only one of them may access a location",
              now, insn->flag ? "stores" : "loads", before,
              other->stored ? "stored in" : "loaded from", insn->name);
    return CPU_STOP;
}

/* Shared memory has no addresses. Offsets from this value cannot be addresses of global memory. */
#define SHARED_ADDRESS (UINT64_C(1) << 62)

/* The element of a shared buffer at insn->index, that is, at [stage,] coordinates; false if it is
 * outside. */
static bool find_offset(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                        uint64_t *address) {
    const tile_type *buffer = insn->memory;
    unsigned stages = buffer->stages != NULL;
    uint64_t element = 0;
    for (unsigned i = 0; i < insn->index_count; i++) {
        int64_t at = *(const int32_t *)cpu_at(run, agent, insn->index[i]);
        int64_t extent =
            i < stages ? tile_type_stage_count(buffer) : tile_type_dim(buffer, i - stages);
        if (at < 0 || at >= extent) return false;
        element = element * (uint64_t)extent + (uint64_t)at;
    }
    uint32_t base = *(const uint32_t *)cpu_at(run, agent, insn->operand[0]);
    *address = SHARED_ADDRESS + cpu_buffer_offset(insn, base) + element * insn->size;
    return true;
}

/* The element of a view at insn->index; false if it is outside. */
static bool find_address(const cpu_run *run, const cpu_agent *agent, const cpu_insn *insn,
                         uint64_t *address) {
    const cpu_view *view = cpu_at(run, agent, insn->operand[0]);
    uint64_t element = 0;
    for (unsigned d = 0; d < insn->index_count; d++) {
        int64_t at = *(const int32_t *)cpu_at(run, agent, insn->index[d]);
        if (at < 0 || at >= view->extent[d]) return false;
        element += (uint64_t)at * (uint64_t)view->stride[d];
    }
    *address = view->base + element * insn->size;
    return true;
}

static CPU_HANDLER(run_claim) {
    uint64_t address;
    uint32_t predicate = insn->operand[1];
    if (predicate != CPU_NO_PLACE && !*(const uint8_t *)cpu_at(run, agent, predicate))
        return CPU_NEXT;
    bool found = insn->memory->kind == TILE_TYPE_SHARED ? find_offset(run, agent, insn, &address)
                                                        : find_address(run, agent, insn, &address);
    if (!found) return CPU_NEXT;
    if (!agent->claims) {
        agent->claims = tile_malloc(sizeof *agent->claims);
        *agent->claims = (cpu_claims){.count = 0};
    }
    cpu_claims *claims = agent->claims;
    if (claims->count * 2 >= claims->capacity) grow(claims);
    cpu_claim *claim = find_claim(claims, address);
    bool others = claim->address && (claim->shared || claim->element != agent->element);
    if (others && (claim->stored || insn->flag)) return report_conflict(run, agent, insn, claim);
    if (!claim->address) {
        *claim = (cpu_claim){.address = address + 1, .element = agent->element};
        claims->count++;
    }
    claim->stored |= insn->flag;
    claim->shared |= others;
    return CPU_NEXT;
}

/* Running ------------------------------------------------------------------------------------- */

CPU_HANDLER(cpu_run_parallel_enter) {
    for (unsigned d = 0; d < insn->second_count; d++)
        *(int32_t *)cpu_at(run, agent, insn->index[d]) = 0;
    agent->element = 0;
    forget_claims(agent->claims);
    return CPU_NEXT;
}

CPU_HANDLER(cpu_run_parallel_next) {
    agent->element++;
    for (unsigned d = insn->second_count; d-- > 0;) {
        int32_t *at = cpu_at(run, agent, insn->index[d]);
        if (++*at < insn->order[d]) {
            agent->pc = insn->target;
            return CPU_JUMP;
        }
        *at = 0;
    }
    return CPU_NEXT;
}

static CPU_HANDLER(run_put) {
    char *to = cpu_at(run, agent, insn->result);
    memcpy(to + (size_t)agent->element * insn->size, cpu_at(run, agent, insn->operand[0]),
           insn->size);
    return CPU_NEXT;
}

static CPU_HANDLER(run_element) {
    const char *from = cpu_at(run, agent, insn->operand[0]);
    size_t place = 0;
    for (unsigned d = 0; d < insn->index_count; d++) {
        int64_t at = *(const int32_t *)cpu_at(run, agent, insn->index[d]);
        int64_t extent = tile_type_dim(insn->type, d);
        if (at < 0 || at >= extent) {
            cpu_fault(run, agent, insn, -1,
                      "out of bounds: along dim %u the coordinate is %" PRId64
                      ", and the tile has %" PRId64 " elements there",
                      d, at, extent);
            return CPU_STOP;
        }
        place = place * (size_t)extent + (size_t)at;
    }
    memcpy(cpu_at(run, agent, insn->result), from + place * insn->size, insn->size);
    return CPU_NEXT;
}

/* Decoding ------------------------------------------------------------------------------------ */

static void set_coordinates(cpu_decoder *d, cpu_insn *insn) {
    insn->order = d->parallel_extents;
    insn->second_count = d->parallel_rank;
}

void cpu_enter_parallel(cpu_decoder *d, tile_op op, cpu_insn *insn) {
    tile_region body = tile_op_region(d->f, op, 0);
    uint32_t *places = TILE_NEW_ARRAY(&d->program->arena, uint32_t, d->parallel_rank);
    for (unsigned i = 0; i < d->parallel_rank; i++)
        places[i] = cpu_place_of(d, tile_region_arg(d->f, body, i));
    insn->index = places;
    insn->index_count = d->parallel_rank;
    set_coordinates(d, insn);
}

/* The extents, or NULL after a report. */
const int64_t *cpu_parallel_extents(cpu_decoder *d, tile_op op) {
    unsigned rank = tile_op_operand_count(d->f, op);
    int64_t *extents = TILE_NEW_ARRAY(&d->program->arena, int64_t, rank);
    for (unsigned i = 0; i < rank; i++)
        if (!tile_value_is_int(d->f, tile_op_operand(d->f, op, i), &extents[i])) {
            CPU_FAIL(d, tile_op_loc(d->f, op),
                     "parallel: its extents are not known yet: instantiate the kernel first");
            return NULL;
        }
    return extents;
}

void cpu_put_elements(cpu_decoder *d, tile_op yield, tile_op parallel) {
    for (unsigned i = 0; i < tile_op_operand_count(d->f, yield); i++) {
        tile_value value = tile_op_operand(d->f, yield, i);
        cpu_insn *insn = cpu_add_insn(d, yield, run_put);
        cpu_set_elements(d, insn, tile_value_type(d->f, value));
        insn->operand[0] = cpu_place_of(d, value);
        insn->result = cpu_place_of(d, tile_op_result(d->f, parallel, i));
        cpu_propagate_poison_move(d, yield, value);
    }
}

void cpu_decode_element(cpu_decoder *d, tile_op op) {
    cpu_insn *insn = cpu_add_op(d, op, run_element);
    cpu_set_elements(d, insn, cpu_result_type(d, op));
    insn->type = cpu_operand_type(d, op, TILE_OPERAND_src);
}

void cpu_claim_element(cpu_decoder *d, tile_op op, tile_operand_name memory) {
    if (!d->parallel_rank) return;
    const tile_values element = tile_named_operands(d->f, op, memory);
    const tile_values predicate = tile_operands_predicate(d->f, op);
    const tile_value_data *view = tile_value_at(d->f, element.at[0]);
    cpu_insn *insn = cpu_add_insn(d, op, run_claim);
    insn->operand[0] = cpu_place_of(d, element.at[0]);
    insn->operand[1] = predicate.count ? cpu_place_of(d, predicate.at[0]) : CPU_NO_PLACE;
    insn->index = cpu_places_of(d, element.at + 1, element.count - 1);
    insn->index_count = element.count - 1;
    insn->size = tile_scalar_bytes(view->type->scalar);
    insn->memory = view->type;
    insn->name = view->name ? view->name : "";
    insn->flag = memory == TILE_OPERAND_dst;
    set_coordinates(d, insn);
}
