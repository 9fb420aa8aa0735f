/* What variant.c, point.c and kernel.c share about kernels. Functions that return a status have
 * reported the error, unless it is TILE_OK. */
#ifndef TILE_RUNTIME_LAUNCH_KERNEL_H
#define TILE_RUNTIME_LAUNCH_KERNEL_H

#include "runtime/launch/plan.h"

/* A kernel with its parameters bound. Points and variants are only added, under the context's lock,
 * and published when they are complete. Launches find them without a lock. */
typedef struct kernel_point {
    struct kernel_point *next; /* older */
    const tile_binding *bindings;
    unsigned binding_count;
    const tile_binding *params; /* the values of all parameters, then the other bindings */
    unsigned param_count;
    const tile_expr **wheres; /* of arguments; each launch checks them */
    size_t where_count;
    bool has_loop_wheres; /* a kernel that the plan launches in a loop has conditions */
    tile_plan *plan;      /* set if the kernel takes several launches; there are no variants then */
    /* Indexed as in the abi. NULL: not compiled yet; the first one is always compiled. */
    tile_variant *_Atomic variants[TILE_MAX_VARIANTS];
} kernel_point;

/* The point of the arguments in a bucket, or of the arguments with exactly these sizes. */
typedef struct kernel_bucket {
    struct kernel_bucket *next;   /* older: the newest bucket with a key applies */
    kernel_point *_Atomic point;  /* NULL: a tuned point that is not compiled yet */
    const tile_binding *bindings; /* of a tuned point */
    unsigned binding_count;
    bool is_set;   /* set by tile_kernel_set_point: it precedes points of the exact sizes */
    bool is_exact; /* the key has exact sizes, not rounded ones */
    int64_t key[];
} kernel_bucket;

enum { TILE_BUCKET_HEAD_BITS = 6 };

struct tile_kernel {
    tile_device *device;
    tile_module *module; /* not instantiated: variants are cloned from it */
    const char *name;
    tile_arena arena;
    tile_abi *head;         /* the abi of an empty kernel with the same arguments */
    bool has_open_tune;     /* its bindings leave some `tune` parameters open */
    bool has_bucket_points; /* `has_open_tune`, or it has tuned splits: each launch uses its
                               bucket's point */
    bool needs_sizes; /* has_open_tune, and the set of points depends on sizes (tile_needs_sizes) */
    const tile_binding *bindings; /* the bindings that it was created with */
    unsigned binding_count;
    kernel_point *points;
    /* A set of arguments: those {const} arguments whose values no binding sets. Each launch uses
     * the point that was made for their values. */
    tile_arg_set constants;
    /* The point of these bindings. If has_bucket_points is set: the point of all buckets that
     * have no own point. NULL: not compiled yet, if each bucket may have its own (tile_take_first).
     */
    kernel_point *_Atomic first;
    kernel_bucket *_Atomic buckets[1 << TILE_BUCKET_HEAD_BITS];
    _Atomic bool has_exact; /* some buckets have is_exact */
};

/* variant.c */

/* Compiles a variant of the point. It takes over the module, in which the variant is instantiated,
 * even if it fails. Call it under the context's lock. */
tile_status tile_add_variant(tile_kernel *kernel, kernel_point *point, unsigned index,
                             tile_module *module, tile_variant **out);
void tile_destroy_variant(tile_device *device, tile_variant *variant);
/* NULL if it is not compiled yet. */
tile_variant *tile_find_variant(const kernel_point *point, unsigned index);
/* The variant that assumes what the kernel declares; NULL only if the point has a plan. */
tile_variant *tile_first_variant(const kernel_point *point);
/* Finds the first variant, from `first` on, whose conditions hold for these arguments (numbers: as
 * tile_abi_pick_variant takes them). It compiles the variant if needed, unless the stream is being
 * captured. */
tile_status tile_take_variant(tile_kernel *kernel, kernel_point *point, const int64_t *numbers,
                              unsigned first, void *stream, tile_variant **out);

/* point.c */

/* A copy that lives as long as the kernel. */
const tile_binding *tile_keep_bindings(tile_kernel *kernel, const tile_binding *bindings,
                                       unsigned count);
/* Call it under the context's lock. */
void tile_destroy_point(tile_device *device, kernel_point *point);
/* The kernel's first point. It is compiled if needed. */
tile_status tile_take_first(tile_kernel *kernel, kernel_point **first);
/* Returns whether a launch first looks up its bucket's point: a tuned one, or the model's
 * choice. */
bool tile_kernel_looks_up(const tile_kernel *kernel);
/* NULL if no launch has used the bucket of these arguments and it may have its own point, or if
 * their point is not compiled yet. The point may not allow the arguments. */
kernel_point *tile_find_point(tile_kernel *kernel, const tile_argument *arguments, unsigned count);
/* Finds or compiles the point of arguments for which tile_find_point returned NULL or a point that
 * does not allow them. Fails while the stream is being captured. */
tile_status tile_visit_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                              void *stream, kernel_point **out);
/* From now on launches in these arguments' bucket use the point of these bindings. Call it under
 * the context's lock. */
tile_status tile_set_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                            const tile_binding *bindings, unsigned binding_count);
/* Computes tile_kernel.constants for these bindings, which have been checked. */
tile_arg_set tile_find_constants(const tile_function *f, const tile_binding *bindings,
                                 unsigned binding_count);

/* where.c */

/* Sets the point's params and wheres from the instantiated function. Call it under the context's
 * lock. */
void tile_describe_point(tile_kernel *kernel, kernel_point *point, const tile_function *f);
/* Returns whether all conditions of the point are true for the arguments: its own ones, and those
 * of kernels that it launches in loops. */
bool tile_own_wheres_hold(const kernel_point *point, const tile_argument *arguments);
bool tile_wheres_hold(const kernel_point *point, const tile_argument *arguments);
static inline bool tile_point_allows(const kernel_point *point, const tile_argument *arguments) {
    return (!point->where_count && !point->has_loop_wheres) || tile_wheres_hold(point, arguments);
}
/* Reports that the kernel has no point for the arguments. Returns TILE_INVALID. */
tile_status tile_refuse_sizes(const tile_kernel *kernel, const tile_argument *arguments);
/* Reports that the arguments' only point does not allow them. Returns TILE_INVALID. */
tile_status tile_refuse_point(const tile_kernel *kernel, const kernel_point *point,
                              const tile_argument *arguments);

#endif
