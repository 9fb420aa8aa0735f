/* Reading a kernel's text at a point: what work.c, work_values.c and work_memory.c share. */
#ifndef TILE_RUNTIME_MODEL_WORK_SCAN_H
#define TILE_RUNTIME_MODEL_WORK_SCAN_H

#include "lib/analysis/decisions.h"
#include "lib/ir/syntax.h"
#include "runtime/model/work.h"

enum { LINE = 128 /* bytes of the L2's, and of the widest row that TMA brings */ };

/* The `pipelined` loop around. */
typedef struct pipelined_scan {
    tile_loop_facts facts; /* without a target: there is none */
    bool roles;            /* nothing so far is in the way of warps that only copy */
    unsigned dots, copies;
    unsigned row_dim; /* of the last dot's sums, which have these extents */
    uint32_t sums[2];
} pipelined_scan;

typedef struct scan {
    const tile_function *f;
    const tile_bound_params *point;
    const int64_t *sizes;
    const tile_target *target;
    tile_arena *arena;
    tile_bindings bindings;
    int64_t *values; /* by value id */
    bool *known;
    uint8_t *places; /* by value: a set of dims of block_id that it depends on */
    uint8_t *along;  /* by buffer: 1 + the dim in which what is copied to it is contiguous */
    bool *rounded;   /* by buffer: f32 that is rounded where it is read */
    bool *feeds_dot; /* by value */
    tile_arg_set used;
    tune_work *w;
    tune_cost *cost;           /* where it is counted now */
    int64_t alive;             /* bytes of shared memory */
    int64_t beside;            /* bytes that are copied before the `pipelined` loop */
    double copied;             /* by the body of the innermost loop so far */
    pipelined_scan loop, last; /* the one that this is in, and the last one that ended */
    unsigned loops;            /* `pipelined` ones so far */
    bool waits;                /* the innermost loop, for loads */
    int64_t stages;            /* of the innermost loop */
    unsigned groups;           /* of warps, that share the iterations of the loop around it; 1 */
    bool ping_pong_fits;       /* semaphores */
    uint32_t *counted;         /* by value: the last gathered copy whose instructions it is among */
    uint32_t gathered;         /* such copies so far */
    int64_t least_scratch;
} scan;

/* work_values.c: numbers and types, as far as the point and the sizes tell. */

/* What names stand for in bindings whose user is the scan. */
bool scan_param_of(const char *name, int64_t *value, void *user);
bool scan_size_of(unsigned index, int64_t *value, void *user);

/* False: it is not known. */
bool scan_value_of(const scan *s, tile_value value, int64_t *integer);
void scan_set_value(scan *s, tile_value value, int64_t integer);
/* Of an operation on integers whose operands are known. */
void scan_fold(scan *s, const tile_op_data *op);
int64_t scan_eval_or(const scan *s, const tile_expr *expr, int64_t otherwise);
/* Not negative, and no more than INT32_MAX: nobody has verified the text yet. */
int64_t scan_count_of(const scan *s, const tile_expr *expr, int64_t otherwise);
tile_scalar scan_scalar_of(const scan *s, const tile_type *type);
double scan_width_of(const scan *s, const tile_type *type);
int64_t scan_dim_of(const scan *s, const tile_type *type, unsigned d);
double scan_bytes_of(const scan *s, const tile_type *type);
int64_t scan_stages_of(const scan *s, const tile_type *type);

/* work_memory.c: what copies do, added to the scan's cost. */

bool scan_is_tile(int64_t m, int64_t n);
/* As much as sums of bytes may be. */
int64_t scan_whole_bytes(double bytes);
void scan_take_shared(scan *s, double bytes);
/* Also where a parameter says it. */
const char *scan_attr_word(const tile_function *f, const tile_bound_params *point, tile_op op,
                           tile_attr_id id);
void scan_add_load(scan *s, tile_op id, const tile_op_data *op, const tile_type *tile,
                   double times);
void scan_add_copy(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages);

void scan_note_ring(scan *s, tile_op load, const tile_op_data *op);
/* 1 + the dim of a tile of this rank in which the view's elements follow each other; 0: none. */
unsigned scan_along(const scan *s, tile_value view, unsigned rank);

/* work_dots.c: what products do, likewise. */
void scan_add_dot(scan *s, tile_op id, const tile_op_data *op, double times);

/* work_index.c: what threads compute for a gathered access in a loop. */
void scan_add_indexing(scan *s, tile_op id, const tile_type *moved, double times);

#endif
