/* All of Tile's interface: what a program of your own includes. Each of these headers also stands
 * alone.
 *
 * A first program needs device.h (kernels on a GPU or on the CPU), compile.h (text to PTX) and ir.h
 * (modules and what is in them); build.h makes a module without text, tune.h finds the fastest
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
#include "tile/pass.h"
#include "tile/rename.h"
#include "tile/split.h"
#include "tile/target.h"
#include "tile/tune.h"
#include "tile/tuned.h"

#endif
