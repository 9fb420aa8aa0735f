/* A compute with loops as sections: parts without loops, each a compute of its own that becomes
 * kernels, and loops around sections (split.c). Sections pass tensors to each other in buffers of
 * the plan. */
#ifndef TILE_PASSES_SCHEDULE_SECTIONS_SECTIONS_H
#define TILE_PASSES_SCHEDULE_SECTIONS_SECTIONS_H

#include "passes/schedule/kernel/schedule.h"

/* Memory of the plan for one tensor: an array of an argument or result, or scratch. */
typedef struct sched_buffer {
    const char *name;
    tile_value value; /* the tensor, or one of the same type */
    bool is_argument;
    bool alternates; /* scratch for two copies: iterations of a loop read one and write the other */
    int result;      /* -1: none */
    tile_value view; /* in the plan; 0: not created yet */
    struct sched_buffer *next;
} sched_buffer;

typedef struct sched_loop sched_loop;

/* Which of two copies. */
typedef enum sched_copy {
    SCHED_COPY_ONLY,    /* there is only one */
    SCHED_COPY_INITIAL, /* before the loop */
    SCHED_COPY_CURRENT, /* the one that an iteration reads */
    SCHED_COPY_NEXT,    /* the one that it writes */
    SCHED_COPY_FINAL,   /* after the loop */
} sched_copy;

/* The memory of a tensor: all of a buffer, or a contiguous part of it. */
typedef struct sched_location {
    sched_buffer *buffer; /* NULL: not in memory */
    sched_copy copy;
    const sched_loop *loop;                /* of the copies */
    const tile_type *part;                 /* the shape of the part; NULL: all */
    const tile_expr *first[TILE_MAX_RANK]; /* where it begins, as host expressions */
} sched_location;

/* Host expressions here are over the compute's parameters, its i32 arguments and the variables of
 * loops. The latter two are parameters of sections with unique names. */
typedef struct sched_variable {
    const char *name;
    tile_value value;  /* of the compute */
    tile_value number; /* in the plan */
} sched_variable;

/* An argument or result of a section's compute. */
typedef struct sched_section_array {
    const char *name;
    sched_location at;
} sched_section_array;

/* A tensor that a section writes. */
typedef struct sched_section_store {
    tile_value value;
    sched_location to;
    const char *name;
} sched_section_store;

enum { SCHED_MAX_EXCHANGES = 4 };

/* A value that a resident loop carries. Maps are over the domain of the loop. */
typedef struct sched_resident_value {
    tile_value value, init, sent; /* in place: sent is the part that is inserted */
    sched_map map;                /* of sent, and of value if it is not in place */
    sched_map whole;              /* in place: of the part's elements in the whole tensor */
    sched_map others[SCHED_MAX_EXCHANGES]; /* at which an iteration uses it, too: its dims are other
                                            * dims of the domain, so that threads exchange it */
    unsigned other_count;
    bool in_place, placed, visited;
} sched_resident_value;

/* A reduction, or a product of the state with weights (resident_product.c). */
typedef struct sched_resident_reduction {
    tile_op op;
    unsigned dim;          /* of the domain: reduced */
    sched_map map, source; /* source: of the reduced value, or of the product's state */
    unsigned state, other; /* product: the operand that is the state; the domain's dim of the
                              result that the state does not have */
    bool fixed;            /* product: the weights are the same in all iterations */
} sched_resident_reduction;

/* A value from outside of the loop that its iterations use. */
typedef struct sched_resident_input {
    tile_value value;
    sched_map map;
} sched_resident_input;

/* A loop that one kernel runs: it keeps carried values in registers (resident.c). */
typedef struct sched_resident {
    const sched_loop *loop;
    sched_domain domain;
    unsigned whole;     /* set of the domain's dims: a block has all elements along these */
    unsigned rows;      /* set of those of which a block has the rows of a product's state */
    bool keeps_weights; /* the weights of all products fit shared memory */
    unsigned count;
    sched_resident_value *carried;
    sched_resident_reduction *reductions; /* in order of their dependencies */
    size_t reduction_count, reduction_capacity;
    sched_resident_input *inputs;
    size_t input_count, input_capacity;
} sched_resident;

typedef struct sched_section {
    const sched_loop *loop; /* the innermost one around it; NULL: none */
    tile_region region;
    unsigned index;           /* in program order */
    sched_resident *resident; /* the section is this loop; NULL: it has none */
    sched_section_store *stores;
    size_t store_count, store_capacity;
    tile_function *compute; /* NULL: it writes nothing */
    const tile_value *map;  /* by value of the whole compute: that of `compute`; 0: the same */
    sched_section_array *arrays;
    size_t array_count, array_capacity;
    schedule *scheduled; /* the kernels of compute */
    size_t first_group;  /* of the whole schedule's groups */
    tile_value *views;   /* in the plan, by array of `scheduled` */
    sched_part *parts;   /* that may be outside of their tensors (bounds.c) */
    size_t part_count, part_capacity;
} sched_section;

typedef struct sched_step {
    sched_section *section; /* or */
    sched_loop *loop;
    struct sched_step *next;
} sched_step;

struct sched_loop {
    tile_op op;
    tile_loc loc;
    const sched_loop *outer;
    const tile_expr *variable, *begin, *end, *step; /* host expressions */
    sched_step *steps;
};

typedef struct sched_sections {
    sched_step *steps;
    sched_buffer *buffers;
    sched_variable *variables;
    size_t variable_count;
} sched_sections;

/* split.c: returns whether the compute has loops, or parts at positions that are not known. */
bool sched_has_sections(const tile_function *compute);
/* Splits the schedule's compute. False after a diagnostic. */
bool sched_split(schedule *s, sched_sections *sections);

/* section.c */

/* How values of the compute become those of a section's compute. */
typedef struct sched_section_values {
    const sched_location *at;      /* by value: the memory of tensors that sections share */
    const tile_expr *const *exprs; /* by value: scalars that are host expressions */
    const bool *needed;            /* by operation: the section computes it */
    const sched_variable *variables;
    size_t variable_count;
} sched_section_values;

/* A copy of the compute, not part of the module, in which scalars are their host expressions. */
tile_function *sched_clone_with_numbers(schedule *s, const tile_expr *const *exprs);
/* Makes the section's compute, which is not part of the module. */
void sched_make_section(schedule *s, sched_section *section, const sched_section_values *values);

/* resident.c: fills r if one kernel can run the loop, whose carried values are listed in r. s: of a
 * compute in which scalars are host expressions. */
bool sched_find_resident(schedule *s, tile_op loop, sched_resident *r);
/* resident_kernel.c: makes the kernel of a section that is a resident loop. */
void sched_make_resident(schedule *s, const sched_section *section, const char *name);

/* bounds.c: fills section->parts. */
void sched_find_parts(schedule *s, sched_section *section, const sched_section_values *values);

/* resident_product.c: returns whether an attribute transposes the operand of a product. */
bool sched_is_transposed(const schedule *s, tile_op op, unsigned operand);

/* insert.c: replaces insert_slice by concats of parts of its operands. */
void sched_expand_inserts(schedule *s, tile_function *f);

#endif
