/* Bindings that turn a kernel into several launches: packed arguments, and a split loop. */
#ifndef TILE_PASSES_INSTANTIATE_BIND_STEPS_H
#define TILE_PASSES_INSTANTIATE_BIND_STEPS_H

#include "lib/ir/function.h"
#include "tile/compile.h"

/* Whether the binding is one of these, whose name is no parameter's. */
bool tile_binds_no_parameter(const tile_binding *binding);

/* Packs the arguments that the bindings name; false after a diagnostic. */
bool tile_bind_packing(tile_function *f, const tile_binding *bindings, unsigned count);
/* The same for kernels of an instantiated plan, whose launches then become several. */
bool tile_bind_plan_packing(tile_function *plan, const tile_binding *bindings, unsigned count,
                            tile_arena *arena);
/* Writes the `split` clause that the bindings specify; false after a diagnostic. */
bool tile_bind_split(tile_function *f, const tile_binding *bindings, unsigned count);

#endif
