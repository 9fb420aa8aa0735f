/* A worker that imitates faulty candidates: a binding of the parameter `fault` selects the fault. A
 * binding of `speed` sets the milliseconds of each launch, measured by a fake clock that advances
 * by this much at every read. So tests know which candidate is the fastest. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "runtime/tune/serve.h"

enum { FAR_TOO_MUCH = 1 << 30 };

static double now, step; /* seconds */

static double read_clock(void) {
    return now += step;
}

static void misbehave(const char *bindings, void *user) {
    const char *speed = strstr(bindings, "speed=");
    (void)user;
    if (speed) {
        step = 1e-3 * strtod(speed + strlen("speed="), NULL);
        tile_clock_replace(read_clock);
    }
    if (strstr(bindings, "fault=1")) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would end the process differently */
        raise(SIGSEGV);
    }
    if (strstr(bindings, "fault=2"))
        for (;;) pause();
    if (strstr(bindings, "fault=3")) {
        char *memory = malloc(FAR_TOO_MUCH);
        for (size_t i = 0; memory && i < FAR_TOO_MUCH; i += 4096) memory[i] = 1;
        for (;;) pause();
    }
    if (strstr(bindings, "fault=4")) _exit(3);
}

int main(void) {
    return tile_tune_serve_with(0, 1, misbehave, NULL);
}
