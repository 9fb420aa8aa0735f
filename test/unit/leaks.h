/* Leak checking in the process of a test. */
#ifndef TILE_TEST_UNIT_LEAKS_H
#define TILE_TEST_UNIT_LEAKS_H

#include <stdbool.h>

/* From now on the process may leak memory. */
void leaks_are_expected(void);

#endif
