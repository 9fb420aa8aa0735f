/* The time, for reports of how long something took. */
#ifndef TILE_LIB_SUPPORT_CLOCK_H
#define TILE_LIB_SUPPORT_CLOCK_H

/* Seconds since some moment in the past; setting the host's clock does not change it. */
double tile_seconds_now(void);

/* For tests: what tile_seconds_now returns from now on, for all threads; NULL: the time. */
void tile_clock_replace(double (*clock)(void));

#endif
