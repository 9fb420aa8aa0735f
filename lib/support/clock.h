/* The time, to measure durations. */
#ifndef TILE_LIB_SUPPORT_CLOCK_H
#define TILE_LIB_SUPPORT_CLOCK_H

/* Seconds since some moment in the past; unaffected by setting the host's clock. */
double tile_seconds_now(void);

/* For tests: replaces tile_seconds_now for all threads; NULL restores it. */
void tile_clock_replace(double (*clock)(void));

#endif
