/* All of Tile's interface in one header. Each of these headers can also be included alone.
 *
 * A first program needs device.h (kernels on a GPU or on the CPU), compile.h (text to PTX) and ir.h
 * (modules and their contents). build.h creates modules without text, and tune.h finds the fastest
 * point of a kernel. */
#ifndef TILE_TILE_H
#define TILE_TILE_H

#include "tile/artifact.h"
#include "tile/base.h"
#include "tile/build.h"
#include "tile/cache.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/device.h"
#include "tile/inspect.h"
#include "tile/ir.h"
#include "tile/launch_limits.h"
#include "tile/layout.h"
#include "tile/limits.h"
#include "tile/manual.h"
#include "tile/measure.h"
#include "tile/ops_macros.h"
#include "tile/parse.h"
#include "tile/pass.h"
#include "tile/rename.h"
#include "tile/pack.h"
#include "tile/split.h"
#include "tile/strides.h"
#include "tile/target.h"
#include "tile/tune.h"
#include "tile/tuned.h"

#endif
