/* The process that measures one program at a time, so that a fault of a kernel costs that program
 * only. It answers each line of standard input with a line:
 *
 *   small FILE FUNCTION SETTINGS       right ELEMENTS | wrong WHY: schedules, compiles and launches
 *                                      with these settings, and compares with level 1
 *   set FILE FUNCTION SETTINGS         ready COMPILE_SECONDS LAUNCHES BYTES POINT ARRAYS
 *   compute PREFIX                     computed: each result is in PREFIX0, PREFIX1, ..
 *   turn FLUSH WARMUP COUNT            times SECONDS ..
 *   steps FLUSH WARMUP COUNT           steps NAME X Y Z SECONDS READ WRITTEN OPERATIONS ..
 *   copy BYTES                         copied SECONDS: a copy in memory that moves so many bytes
 *   facts                              facts SMS CAPABILITY CLOCK TARGET NAME
 *
 * FUNCTION is `-` if the file has only one. SETTINGS are words NAME=VALUE. An array is
 * NAME:in|out:TYPE:KIND:FACTOR:BOUND:EXTENTS:STRIDES with lists of numbers between commas. A failed
 * request is answered with "failed WHY", and arrays that are too large for level 1 or for the CPU
 * device with "large WHY". program_peers.py answers the same requests for peers. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_SERVE_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_SERVE_H

#include "tools/tile-bench/common/lab.h"

/* numbers: the file of arrays.h. Returns the exit status at the end of standard input. */
int bench_program_serve(const bench_lab_options *options, const char *numbers);

#endif
