/* A worker that does what candidates might do to it: a binding of the parameter `fault` says what.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/tune/serve.h"

enum { FAR_TOO_MUCH = 1 << 30 };

static void misbehave(const char *bindings, void *user) {
    (void)user;
    if (strstr(bindings, "fault=1")) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would end the process in its own way */
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
