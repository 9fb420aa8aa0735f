#define _POSIX_C_SOURCE 200809L
#include "tools/common/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void put_time(char to[16], double seconds) {
    unsigned whole = seconds > 0 && seconds < 360000 ? (unsigned)(seconds + 0.5) : 0;
    if (whole >= 3600)
        snprintf(to, 16, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(to, 16, "%02u:%02u", whole / 60, whole % 60);
}

/* Formats "[Building] matmul_splitk 4096-4096-d16  26% 49/192 [00:01<00:03, 45.5/s]": the current
 * task, the share done, the elapsed and the remaining time, and the rate per second. */
static void progress_text(const tile_tune_progress *p, char *to, size_t size) {
    char spent[16], left[16] = "?";
    double speed = p->seconds > 0 ? p->done / p->seconds : 0;
    put_time(spent, p->seconds);
    if (speed > 0) put_time(left, (p->total - p->done) / speed);
    snprintf(to, size, "[%s] %s %3u%% %u/%u [%s<%s, %.1f/s]", p->stage, p->name,
             p->total ? 100 * p->done / p->total : 100, p->done, p->total, spent, left, speed);
}

static bool is_drawn;

/* The terminal's width. A longer line would wrap, and the next one would overwrite only its last
 * row. */
static int columns(void) {
    enum { UNKNOWN = 256 };
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? size.ws_col : UNKNOWN;
}

void tool_progress_draw(const tile_tune_progress *progress) {
    char line[256];
    if (!isatty(STDERR_FILENO)) return;
    progress_text(progress, line, sizeof line);
    if (progress->best) {
        size_t length = strlen(line);
        snprintf(line + length, sizeof line - length, "  best %.2f us",
                 1e6 * progress->best->time.median);
    }
    fprintf(stderr, "\r\033[K%.*s", columns() - 1, line);
    fflush(stderr);
    is_drawn = true;
}

void tool_progress_end(void) {
    if (is_drawn) fputs("\r\033[K", stderr);
    is_drawn = false;
}
