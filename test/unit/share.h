/* Sweeps of unit tests: the part of a test's cases that this run checks, as in test/shares.py. */
#ifndef TILE_TEST_UNIT_SHARE_H
#define TILE_TEST_UNIT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* True if case `number`, counted from 0, belongs to the share I/N given by TILE_TEST_SHARE. Without
 * that variable every case does. */
bool is_in_share(uint64_t number);

#endif
