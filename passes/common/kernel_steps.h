/* Kernels that become plans of several launches: the plan's head and its kernels. */
#ifndef TILE_PASSES_COMMON_KERNEL_STEPS_H
#define TILE_PASSES_COMMON_KERNEL_STEPS_H

#include "passes/pass.h"

/* A copy of the kernel in its module, "NAME_suffix", which implements no compute. */
tile_function *steps_copy_kernel(tile_function *f, const char *suffix);

/* Removes everything that says how the kernel's blocks are launched. */
void steps_forget_grid(tile_function *f);

/* Makes the kernel a plan without steps. */
void steps_become_plan(tile_function *f);

#endif
