/* tile_assemble: handling of the assembler's output and failures. The assemblers here are small
 * shell programs; the lit tests use the real one. */
#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/support/target.h"
#include "runtime/compile/assemble.h"
#include "test/unit/codegen_fixture.h"
#include "tile/inspect.h"

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

/* The child inherits only its standard input, output and error. Otherwise files of one thread's
 * assembler would stay open as long as another thread's assembler runs. */
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

/* ptxas's messages on slow code ---------------------------------------------------------------- */

/* Creates a program that accepts any input and prints these messages; returns its path, which must
 * be unlinked. */
static void write_assembler(char path[64], const char *messages) {
    char script[2048];
    snprintf(script, sizeof script, "#!/bin/sh\ncat <<'END' >&2\n%s\nEND\necho cubin\n", messages);
    strcpy(path, "/tmp/tile-assembler-XXXXXX");
    int file = mkstemp(path);
    cr_assert(file >= 0);
    cr_assert_eq(write(file, script, strlen(script)), (ssize_t)strlen(script));
    fchmod(file, 0700);
    close(file);
}

static char said[4096]; /* "severity line:column message" lines */

static void keep(const tile_diagnostic *d, void *user) {
    size_t length = strlen(said);
    (void)user;
    snprintf(said + length, sizeof said - length, "%d %u:%u %s\n", (int)d->severity, d->line,
             d->column, d->message);
}

static void assemble_saying(const char *messages, bool remarks) {
    static char ptx[] = ".version 8.0\n.file 1 \"/here/k.tile\"\n.loc 1 3 5\nwgmma;\nadd;\n";
    const tile_blob blob = {ptx, sizeof ptx - 1};
    tile_blob cubin;
    char path[64];
    tile_context *context = tile_context_create();
    *said = 0;
    tile_context_set_sink(context, keep, NULL);
    tile_context_set_remarks(context, remarks);
    tile_context_add_source(context, "other.tile", "", 0);
    tile_context_add_source(context, "k.tile", "a\nb\nc\n", 6);
    write_assembler(path, messages);
    cr_expect_eq(tile_assemble(context, &blob, tile_target_find("sm_90a"), path, &cubin), TILE_OK,
                 "%s", said);
    unlink(path);
    tile_blob_destroy(&cubin);
    tile_context_destroy(context);
}

Test(assemble, slow_code_is_a_warning) {
    assemble_saying(
        "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions "
        "are serialized due to insufficient register resources for the wgmma pipeline in "
        "the function 'k'\n"
        "ptxas info    : Used 30 registers, used 0 barriers\n"
        "ptxas warning : something else",
        false);
    cr_expect_str_eq(
        said, "1 0:0 ptxas: (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
              "serialized "
              "due to insufficient register resources for the wgmma pipeline in the function 'k'\n"
              "3 0:0 each wgmma waits for the one before: the accumulators and operands in flight "
              "need more "
              "registers than a thread may have; a smaller tile, more consumer warps, or more "
              "`registers` "
              "for their role\n"
              "1 0:0 ptxas: something else\n");
}

/* The message names a line of the PTX. The instruction there originates from line 3 of the
 * kernel. */
Test(assemble, slow_code_has_its_place) {
    assemble_saying(
        "ptxas info    : (C7519) warpgroup.arrive is injected in around line 4 by compiler "
        "to allow use of registers in GMMA in function 'k'\n"
        "ptxas info    : (C7519) warpgroup.arrive is injected in around line 5 by compiler "
        "to allow use of registers in GMMA in function 'k'\n"
        "ptxas info    : (C7517) warpgroup.wait is injected in around line 2 by compiler",
        false);
    cr_expect_str_eq(
        said,
        "1 3:5 ptxas: (C7519) warpgroup.arrive is injected by compiler to allow use of registers "
        "in "
        "GMMA in function 'k'\n"
        "3 3:5 wgmma.fence is missing before a product whose registers were written; ptxas adds "
        "one\n"
        "1 0:0 ptxas: (C7517) warpgroup.wait is injected in around line 2 by compiler\n"
        "3 0:0 a result of wgmma is used without a wait that ends it; ptxas adds one, which ends "
        "everything in flight\n");
}

static void keep_file(const tile_diagnostic *d, void *user) {
    char *files = user;
    if (d->severity != TILE_NOTE) strcat(strcat(files, d->file), " ");
}

/* A text may include another one of the same name in a folder, with code at the same line. */
Test(assemble, slow_code_has_its_file) {
    static char ptx[] = ".loc 1 3 5\n mov\n.loc 2 3 5\n mov\n"
                        ".file 1 \"/a/k.tile\"\n.file 2 \"/a/sub/k.tile\"\n";
    static char messages[] = "ptxas info : (C7519) slow in around line 2\n"
                             "ptxas info : (C7519) slow in around line 4\n";
    static const char *const names[] = {"k.tile", "sub/k.tile"};
    const tile_blob blob = {.data = ptx, .size = sizeof ptx - 1};
    for (unsigned order = 0; order < 2; order++) {
        char files[64] = "";
        tile_context *context = tile_context_create();
        tile_context_set_sink(context, keep_file, files);
        for (unsigned i = 0; i < 2; i++)
            tile_context_add_source(context, names[i ^ order], "1\n2\n3     x\n", 11);
        FILE *file = fmemopen(messages, sizeof messages - 1, "r");
        tile_report_ptxas(context, file, &blob);
        cr_expect_str_eq(files, "k.tile sub/k.tile ");
        fclose(file);
        tile_context_destroy(context);
    }
}

Test(assemble, messages_without_sense_are_nothing) {
    assemble_saying("(C75\nptxas\nptxas info : (C) x\nptxas (C75\nwarning : no\nptxas warning",
                    false);
    cr_expect_str_eq(said, "");
    assemble_saying("ptxas info : (C7519) in around line 99999999999999999999\n", false);
    cr_expect(strstr(said, "(C7519) in around line"), "%s", said);
}

/* ptxas is run with options to report spills if remarks are requested. */
Test(assemble, spills_are_remarks) {
    assemble_saying(
        "ptxas warning : Registers are spilled to local memory in function 'k', 8 bytes "
        "spill stores, 8 bytes spill loads",
        true);
    cr_expect_eq(strncmp(said, "2 0:0 ptxas: Registers are spilled to local memory", 50), 0, "%s",
                 said);
}

/* Resources ------------------------------------------------------------------------------------ */

Test(assemble, resources_are_what_ptxas_says) {
    codegen_fixture x;
    char path[64];
    static char ptx[] = "hello\n";
    const tile_blob blob = {ptx, sizeof ptx - 1};
    tile_resources r;
    codegen_open(&x, "kernel @k() grid [1] warps 8 {\n}\n");
    tile_abi *abi = tile_abi_create(tile_module_function(x.module, 0));
    const tile_target *target = tile_target_find("sm_90a");
    write_assembler(path, "ptxas info    : 0 bytes gmem\n"
                          "ptxas info    : Function properties for k\n"
                          "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
                          "ptxas info    : Used 168 registers, used 3 barriers, 1040 bytes smem");
    cr_assert_eq(tile_inspect_resources(x.context, &blob, abi, target, path, &r), TILE_OK, "%s",
                 x.messages);
    cr_expect_eq(r.registers, 168);
    cr_expect_eq(r.stack_bytes, 16);
    cr_expect_eq(r.spill_store_bytes, 12);
    cr_expect_eq(r.spill_load_bytes, 8);
    cr_expect_eq(r.static_shared_bytes, 1040);
    cr_expect_eq(r.dynamic_shared_bytes, 0);
    cr_expect_eq(r.barriers, 3);
    cr_expect_eq(r.threads, 256);
    cr_expect_eq(r.sm_blocks, 1);
    cr_expect_str_eq(r.limit, "registers");
    unlink(path);
    write_assembler(path, "nothing of the kind");
    cr_expect_eq(tile_inspect_resources(x.context, &blob, abi, target, path, &r), TILE_FAILED);
    cr_expect(strstr(x.messages, "-v reports no registers"), "%s", x.messages);
    unlink(path);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

/* Numbers from CUDA's occupancy calculator. */
Test(assemble, blocks_of_a_multiprocessor) {
    static const struct {
        const char *target;
        unsigned warps, registers, shared, blocks;
        const char *limit;
    } cases[] = {
        {"sm_90a", 4, 32, 0, 16, "warps"},
        {"sm_90a", 4, 128, 0, 4, "registers"},
        {"sm_90a", 4, 249, 65536, 2, "registers"},
        {"sm_90a", 12, 168, 1024, 1, "registers"},
        {"sm_90a", 8, 64, 101376, 2, "shared memory"},
        {"sm_90a", 1, 0, 0, 32, "blocks"},
        {"sm_86", 4, 40, 0, 12, "warps"},
        {"sm_90a", 32, 255, 0, 0, "registers"},
        {"sm_80", 1, 0, 4096, 32, "shared memory"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *limit;
        unsigned blocks = tile_target_residency(tile_target_find(cases[i].target), cases[i].warps,
                                                cases[i].registers, cases[i].shared, &limit);
        cr_expect_eq(blocks, cases[i].blocks, "case %u: %u", i, blocks);
        cr_expect_str_eq(limit, cases[i].limit, "case %u: %s", i, limit);
    }
}
