#define _GNU_SOURCE /* memfd_create */
#include "runtime/compile/program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/arena.h"
#include "lib/support/child.h"

static tile_status fail_system(tile_context *context, const char *what, int error) {
    tile_report(context, TILE_ERROR, (tile_loc){0}, "%s: %s", what, strerror(error));
    return error == ENOENT || error == EACCES ? TILE_UNAVAILABLE : TILE_FAILED;
}

/* Uses an unnamed file on disk if memfd_create fails. */
static FILE *open_unnamed(void) {
    int descriptor = memfd_create("ptxas", MFD_CLOEXEC);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w+b");
    if (!file && descriptor >= 0) close(descriptor);
    return file ? file : tmpfile();
}

tile_status tile_program_open(tile_context *context, tile_program *program, const void *data,
                              size_t size) {
    *program = (tile_program){open_unnamed(), open_unnamed(), open_unnamed(), 0};
    if (program->in && program->out && program->messages &&
        (!size || fwrite(data, 1, size, program->in) == size) && fflush(program->in) == 0 &&
        lseek(fileno(program->in), 0, SEEK_SET) == 0)
        return TILE_OK;
    return fail_system(context, "temporary file", errno);
}

void tile_program_close(tile_program *program) {
    FILE *all[] = {program->in, program->out, program->messages};
    for (unsigned i = 0; i < 3; i++)
        if (all[i]) fclose(all[i]);
}

char *tile_program_read(FILE *file, size_t *size) {
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    char *data = tile_malloc((size_t)(end > 0 ? end : 0) + 1);
    rewind(file);
    size_t got = end > 0 ? fread(data, 1, (size_t)end, file) : 0;
    data[got] = 0;
    if (size) *size = got;
    return data;
}

tile_status tile_program_run(tile_context *context, tile_program *program, char **words) {
    const int files[] = {fileno(program->in), fileno(program->out), fileno(program->messages)};
    tile_child child;
    int error = tile_child_start(&child, (const char *const *)words, true, files);
    if (error) return fail_system(context, words[0], error);
    tile_child_wait(&child, HUGE_VAL);
    program->code = WIFEXITED(child.state) ? WEXITSTATUS(child.state) : -1;
    return TILE_OK;
}

/* Reports the program's messages without trailing line breaks. */
tile_status tile_program_refused(tile_context *context, tile_program *program, const char *name) {
    size_t size;
    char *text = tile_program_read(program->messages, &size);
    while (size && (text[size - 1] == '\n' || text[size - 1] == '\r')) text[--size] = 0;
    if (program->code < 0)
        tile_report(context, TILE_ERROR, (tile_loc){0}, "%s was killed by a signal", name);
    else
        tile_report(context, TILE_ERROR, (tile_loc){0}, "%s failed:\n%s", name,
                    size ? text : "no message");
    free(text);
    return TILE_FAILED;
}
