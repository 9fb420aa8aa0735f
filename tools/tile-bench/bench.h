/* The interface that all commands of tile-bench share. */
#ifndef TILE_TOOLS_TILE_BENCH_BENCH_H
#define TILE_TOOLS_TILE_BENCH_BENCH_H

#include "tools/common/tool.h"

/* A command takes the words after its name and returns the exit status, by tool_finish. */
#define COMMAND(name, meaning) int tile_bench_##name(tool_arguments *words);
#include "tools/tile-bench/commands.def"
#undef COMMAND

#endif
