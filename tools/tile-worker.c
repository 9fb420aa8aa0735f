/* tile-worker: runs the candidates of a tuning in a separate process, so that crashes and hangs
 * affect only this process. The library starts it (tile_tune_options.worker) and communicates over
 * its standard input and output. Users do not start it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "tile/tune.h"
#include "tools/common/tool.h"

int main(int argc, char **argv) {
    if (argc > 1) {
        bool help = strcmp(argv[1], "--help") == 0;
        if (strcmp(argv[1], "--version") == 0) return tool_print_version("tile-worker");
        fputs("usage: tile-worker\nRuns candidates of a tuning, which starts it (tile-run --tune, "
              "tile-bench).\nIt is controlled through standard input and output, not by users.\n",
              help ? stdout : stderr);
        return help ? 0 : 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a hanging kernel must not outlive the parent */
    /* If the machine runs out of memory, this process is to be killed first. */
    FILE *score = fopen("/proc/self/oom_score_adj", "w");
    if (score) {
        fputs("1000", score);
        fclose(score);
    }
    return tile_tune_serve(0, 1);
}
