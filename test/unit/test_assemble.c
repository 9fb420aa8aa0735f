/* tile_assemble: what becomes of the assembler's output and its failures. The assemblers here are
 * small shell programs; the lit tests use the real one. */
#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/codegen_fixture.h"

typedef struct assembler {
    codegen_fixture x;
    char path[64];
    tile_blob cubin;
    tile_status status;
} assembler;

/* Assembles "hello" with a program whose text is `script`. */
static void run(assembler *a, const char *script) {
    static char hello[] = "hello\n";
    const tile_blob ptx = {hello, sizeof hello - 1};
    codegen_open(&a->x, "kernel @k() grid [1] warps 1 {\n}\n");
    strcpy(a->path, "/tmp/tile-assembler-XXXXXX");
    int file = mkstemp(a->path);
    cr_assert(file >= 0);
    cr_assert_eq(write(file, script, strlen(script)), (ssize_t)strlen(script));
    fchmod(file, 0700);
    close(file);
    a->status = tile_assemble(a->x.context, &ptx, tile_target_find("sm_90a"), a->path, &a->cubin);
    unlink(a->path);
}

static void finish(assembler *a) {
    tile_blob_destroy(&a->cubin);
    codegen_close(&a->x);
}

Test(assemble, output_is_the_cubin) {
    assembler a;
    run(&a, "#!/bin/sh\necho \"$@\"\ncat\n");
    cr_assert_eq(a.status, TILE_OK, "%s", a.x.messages);
    cr_assert_str_eq(a.cubin.data, "-arch=sm_90a - -o /dev/stdout\nhello\n");
    cr_assert_eq(a.cubin.size, strlen(a.cubin.data));
    finish(&a);
}

/* The files are its standard input, output and error, and nothing else that it could hold open:
 * what one thread's assembler inherits of another's would stay as long as it runs. */
Test(assemble, files_are_inherited_once) {
    assembler a;
    run(&a, "#!/bin/sh\nls -l /proc/$$/fd | grep -c 'memfd:ptxas'\n");
    cr_assert_eq(a.status, TILE_OK, "%s", a.x.messages);
    cr_assert_str_eq(a.cubin.data, "3\n");
    finish(&a);
}

Test(assemble, failures) {
    static const struct {
        const char *script, *message;
    } cases[] = {
        {"#!/bin/sh\necho 'ptxas fatal : line 3' >&2\nexit 255\n",
         "ptxas failed:\nptxas fatal : line 3"},
        {"#!/bin/sh\nexit 1\n", "ptxas failed:\nno message"},
        {"#!/bin/sh\nkill -9 $$\n", "killed by a signal"},
        {"#!/bin/sh\nexit 0\n", "ptxas wrote no cubin"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assembler a;
        run(&a, cases[i].script);
        cr_expect_eq(a.status, TILE_FAILED, "case %u", i);
        cr_expect(strstr(a.x.messages, cases[i].message), "case %u: %s", i, a.x.messages);
        cr_expect_null(a.cubin.data);
        finish(&a);
    }
}

Test(assemble, no_such_program) {
    codegen_fixture x;
    char nothing[] = "";
    const tile_blob ptx = {nothing, 0};
    tile_blob cubin;
    codegen_open(&x, "kernel @k() grid [1] warps 1 {\n}\n");
    cr_assert_eq(
        tile_assemble(x.context, &ptx, tile_target_find("sm_80"), "/no/such/ptxas", &cubin),
        TILE_UNAVAILABLE);
    cr_assert(strstr(x.messages, "/no/such/ptxas: No such file or directory"), "%s", x.messages);
    codegen_close(&x);
}
