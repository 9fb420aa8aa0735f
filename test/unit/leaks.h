/* What leaks.c decides for the process of a test. */
#ifndef TILE_TEST_UNIT_LEAKS_H
#define TILE_TEST_UNIT_LEAKS_H

#include <stdbool.h>

/* From here on the process may lose memory. */
void leaks_are_expected(void);

#endif
