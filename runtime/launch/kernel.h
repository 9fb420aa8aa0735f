/* Kernels as variant.c, point.c and kernel.c share them. What returns a status has reported why,
 * unless it is TILE_OK. */
#ifndef TILE_RUNTIME_LAUNCH_KERNEL_H
#define TILE_RUNTIME_LAUNCH_KERNEL_H

#include "runtime/launch/plan.h"

/* A kernel with its parameters bound. Points and variants are only ever added, under the context's
 * lock, and published when they are whole: launches find them without a lock. */
typedef struct kernel_point {
    struct kernel_point *next; /* older */
    const tile_binding *bindings;
    unsigned binding_count;
    tile_plan *plan; /* of what is launched in several steps, and has no variants; else NULL */
    /* As the abi numbers them; NULL: not compiled yet, which the first one always is. */
    tile_variant *_Atomic variants[TILE_MAX_VARIANTS];
} kernel_point;

/* Which point the arguments of a bucket take, or those of the same sizes. */
typedef struct kernel_bucket {
    struct kernel_bucket *next;   /* older: the newest one of a key holds */
    kernel_point *_Atomic point;  /* NULL: a tuned one, not compiled yet */
    const tile_binding *bindings; /* of a tuned one */
    unsigned binding_count;
    bool is_set;   /* by tile_kernel_set_point: it goes before those of the same sizes */
    bool is_exact; /* the key is of sizes as they are */
    int64_t key[];
} kernel_bucket;

enum { TILE_BUCKET_HEAD_BITS = 6 };

struct tile_kernel {
    tile_device *device;
    tile_module *module; /* not instantiated: variants are cloned from it */
    const char *name;
    tile_arena arena;
    tile_abi *head; /* of an empty kernel that has its arguments */
    bool chooses;   /* its bindings leave `tune` a choice */
    bool picks;     /* that, or it has tuned splits: each launch takes its bucket's point */
    bool asks;      /* it chooses, and sizes decide which points there are (tile_needs_sizes) */
    const tile_binding *bindings; /* that it was made with */
    unsigned binding_count;
    kernel_point *points;
    /* A set of arguments: {const}, and no binding says their values. Each launch takes the point
     * that was made for its values. */
    tile_arg_set constants;
    /* The point of these bindings; where it picks, what every bucket takes that has no point of its
     * own. NULL: not compiled yet, where each bucket has one (tile_take_first). */
    kernel_point *_Atomic first;
    kernel_bucket *_Atomic buckets[1 << TILE_BUCKET_HEAD_BITS];
    _Atomic bool has_exact; /* some of the buckets are */
};

/* variant.c */

/* Compiles a variant of the point; the module, in which it is instantiated, is taken over, also by
 * a call that fails. Under the context's lock. */
tile_status tile_add_variant(tile_kernel *kernel, kernel_point *point, unsigned index,
                             tile_module *module, tile_variant **out);
void tile_destroy_variant(tile_device *device, tile_variant *variant);
/* NULL: not compiled yet. */
tile_variant *tile_find_variant(const kernel_point *point, unsigned index);
/* The one that assumes what the kernel declares; never NULL, but for a point that has a plan. */
tile_variant *tile_first_variant(const kernel_point *point);
/* The first variant, of those from `first` on, whose conditions hold for these arguments (numbers:
 * as tile_abi_pick_variant takes them), compiled if it is not yet, but not while the stream is
 * being captured. */
tile_status tile_take_variant(tile_kernel *kernel, kernel_point *point, const int64_t *numbers,
                              unsigned first, void *stream, tile_variant **out);

/* point.c */

/* A copy that lives as long as the kernel. */
const tile_binding *tile_keep_bindings(tile_kernel *kernel, const tile_binding *bindings,
                                       unsigned count);
/* The point of these bindings, with its first variant. Under the context's lock. */
void tile_destroy_point(tile_device *device, kernel_point *point);
/* The kernel's first point, compiled if it is not yet. */
tile_status tile_take_first(tile_kernel *kernel, kernel_point **first);
/* Whether a launch asks first which point its bucket has: a tuned one, or the model's. */
bool tile_kernel_looks_up(const tile_kernel *kernel);
/* NULL if no launch has been in the bucket of these arguments, and it may have a point of its own,
 * or what they take is not compiled yet. */
kernel_point *tile_find_point(tile_kernel *kernel, const tile_argument *arguments, unsigned count);
/* The point of arguments for which tile_find_point knows none; not while the stream is being
 * captured. */
tile_status tile_visit_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                              void *stream, kernel_point **out);
/* From now on launches in the bucket of these arguments take the point of these bindings. Under the
 * context's lock. */
tile_status tile_set_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                            const tile_binding *bindings, unsigned binding_count);
/* What tile_kernel.constants is for these bindings, which have been found to be right. */
tile_arg_set tile_find_constants(const tile_function *f, const tile_binding *bindings,
                                 unsigned binding_count);

#endif
