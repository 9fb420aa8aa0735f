/* Reading a kernel's text at a point: shared by work.c, work_values.c and work_memory.c. */
#ifndef TILE_RUNTIME_MODEL_WORK_SCAN_H
#define TILE_RUNTIME_MODEL_WORK_SCAN_H

#include "lib/analysis/decisions.h"
#include "lib/ops/formula.h"
#include "lib/ir/syntax.h"
#include "runtime/model/work.h"

enum { LINE = 128 /* bytes of an L2 line, and of the widest row of a TMA box */ };

/* A `pipelined` loop. */
typedef struct pipelined_scan {
    tile_loop_facts facts; /* facts.target is NULL if there is no such loop */
    bool roles;            /* so far, producer warps that only copy are possible */
    bool chunked;          /* rows that begin anywhere are copied in chunks of 16 bytes */
    bool interleaved;      /* each block has rows that begin at the same offset */
    unsigned dots, copies;
    unsigned row_dim; /* row dim of the last dot's sums, of extents `sums` */
    uint32_t sums[2];
} pipelined_scan;

typedef struct scan {
    const tile_function *f;
    const tile_bound_params *point;
    const int64_t *sizes;
    const tile_target *target;
    tile_arena *arena;
    tile_formulas *formulas; /* of all expressions that were read */
    tile_formula_inputs inputs;
    const tile_expr *(*strides)[TILE_MAX_RANK]; /* by argument, as far as they were asked for */
    uint8_t *plain, *chained;                   /* by operation: scan_answer */
    struct known_cuts **cuts;                   /* of stored tiles */
    struct known_dot **dots;                    /* products, and how they are computed */
    int64_t *values;                            /* by value id */
    bool *known;
    uint8_t *places; /* by value: the set of dims of block_id that it depends on */
    uint8_t *along;  /* by buffer: 1 + the dim in which its source is contiguous */
    bool *rounded;   /* by buffer: f32 that is rounded when it is read */
    bool *feeds_dot; /* by value */
    tile_arg_set used;
    tune_work *w;
    tune_cost *cost;           /* where costs are added now */
    int64_t alive;             /* bytes of shared memory that are live */
    int64_t prologue_bytes;    /* bytes that are copied before the `pipelined` loop */
    double copied;             /* bytes that the body of the innermost loop has copied so far */
    pipelined_scan loop, last; /* the current one, and the last one that ended */
    unsigned loops;            /* number of `pipelined` loops so far */
    bool waits;                /* the innermost loop waits for loads */
    int64_t stages;            /* of the innermost loop */
    unsigned warps;      /* that execute: those of a group of a loop, or of a region of `roles` */
    unsigned groups;     /* groups of warps that share the iterations of enclosing loops; or 1 */
    bool ping_pong_fits; /* block tiles can alternate between groups, with semaphores */
    uint32_t *counted;   /* by value: the last gathered copy that counted its instructions */
    uint32_t gathered;   /* number of such copies so far */
    int64_t least_scratch;
} scan;

/* What is known about an operation, whatever the point. */
typedef enum scan_answer { SCAN_NOT_ASKED = 0, SCAN_NO, SCAN_YES } scan_answer;

/* work_values.c: numbers and types, as far as the point and the sizes determine them. */

/* False if the value is unknown. */
bool scan_value_of(const scan *s, tile_value value, int64_t *integer);
void scan_set_value(scan *s, tile_value value, int64_t integer);
/* Evaluates an operation on integers if its operands are known. */
void scan_fold(scan *s, const tile_op_data *op);
int64_t scan_eval_or(const scan *s, const tile_expr *expr, int64_t otherwise);
/* The text has not been verified at this point: moves a count into 0 to INT32_MAX. */
int64_t scan_clamp(int64_t count);
/* A count from 0 to INT32_MAX; `otherwise` if it is outside, as the text has not been verified. */
int64_t scan_count_of(const scan *s, const tile_expr *expr, int64_t otherwise);
tile_scalar scan_scalar_of(const scan *s, const tile_type *type);
double scan_width_of(const scan *s, const tile_type *type);
int64_t scan_dim_of(const scan *s, const tile_type *type, unsigned d);
double scan_bytes_of(const scan *s, const tile_type *type);
int64_t scan_stages_of(const scan *s, const tile_type *type);

/* work_memory.c: adds the cost of copies to the scan. */

bool scan_is_tile(int64_t m, int64_t n);
/* Clamps a number of bytes, so that sums of them cannot overflow. */
int64_t scan_whole_bytes(double bytes);
void scan_take_shared(scan *s, double bytes);
/* tile_is_plain_access. */
bool scan_is_plain(const scan *s, tile_op op);
/* The word of an attribute, also if a parameter holds it. */
const char *scan_attr_word(const tile_function *f, const tile_bound_params *point, tile_op op,
                           tile_attr_id id);
void scan_add_load(scan *s, tile_op id, const tile_op_data *op, const tile_type *tile,
                   double times);
void scan_add_copy(scan *s, tile_op id, const tile_op_data *op, double times, int64_t stages);

/* Whether choose-instructions copies the operands of the loop's product in chunks of 16 bytes,
 * because it has few rows and those of its large operand begin anywhere
 * (passes/warps/misaligned_rows.h). */
bool scan_copies_chunks(scan *s, tile_region body, int64_t stages);
void scan_note_ring(scan *s, tile_op load, const tile_op_data *op);
/* 1 + the dim of a tile of this rank in which the view is contiguous; 0: none. */
unsigned scan_along(const scan *s, tile_value view, unsigned rank);
/* True if the tile has whole rows of an array, which are one block of memory. */
bool scan_has_whole_rows(const scan *s, tile_value view, const tile_type *tile);
/* Whether rows of the view do not begin at multiples of 16 bytes. */
bool scan_is_unaligned(const scan *s, tile_value view);

/* work_dots.c: adds the cost of products. */
void scan_add_dot(scan *s, tile_op id, const tile_op_data *op, double times);

/* work_index.c: adds the index arithmetic of a gathered access in a loop. */
void scan_add_indexing(scan *s, tile_op id, const tile_type *moved, double times);

#endif
