/* Artifacts: results of a build, keys that distinguish results, and the serialized form. */
#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/support/identity.h"
#include "runtime/artifact/artifact.h"
#include "test/unit/codegen_fixture.h"

static const char kernel[] =
    "kernel @k<b: int = 64>(%n: i32 {divisible = 8}, %p: ptr<f32> {divisible = 16})\n"
    "    grid [ceildiv(%n, b)]  warps 2\n"
    "{\n"
    "  %s = scratch [%n] {clean} : view<i32[?]>\n"
    "  %g = view %p, [%n] : view<f32[?]>\n"
    "  %x, %y, %z = block_id : i32\n"
    "  %t = load %g[%x * b] : tile<f32[b]>\n"
    "  store %t, %g[%x * b]\n"
    "  release_semaphore %s[%x], 0\n"
    "}\n";

static tile_build_options options_for(unsigned wants) {
    return (tile_build_options){
        .size = sizeof(tile_build_options), .target = tile_target_find("sm_80"), .wants = wants};
}

static void open_instance(codegen_fixture *x, const char *text) {
    codegen_open(x, text);
    cr_assert_eq(tile_instantiate(x->module, "k", NULL, 0), TILE_OK, "%s", x->messages);
}

static tile_artifact *build(codegen_fixture *x, unsigned wants) {
    const tile_build_options options = options_for(wants);
    tile_artifact *artifact;
    cr_assert_eq(tile_artifact_build(x->module, "k", &options, &artifact), TILE_OK, "%s",
                 x->messages);
    return artifact;
}

/* Creates a program that prints its input after a word with a zero byte in it: a fake cubin. */
static void make_assembler(char path[64]) {
    static const char script[] = "#!/bin/sh\nprintf 'cu\\000bin'\ncat\n";
    strcpy(path, "/tmp/tile-artifact-XXXXXX");
    int file = mkstemp(path);
    cr_assert(file >= 0);
    cr_assert_eq(write(file, script, sizeof script - 1), (ssize_t)sizeof script - 1);
    fchmod(file, 0700);
    close(file);
}

Test(artifact, holds_what_is_wanted) {
    codegen_fixture x;
    open_instance(&x, kernel);
    tile_artifact *artifact = build(&x, TILE_WANT_PTX);
    cr_expect_eq(tile_function_level(x.kernel), 3);
    cr_expect_eq(tile_artifact_kernel_count(artifact), 1);
    cr_expect_null(tile_artifact_kernel_at(artifact, 1));
    const tile_artifact_kernel *made = tile_artifact_kernel_at(artifact, 0);
    cr_expect_str_eq(tile_abi_entry(made->abi), "k");
    cr_expect(strstr(made->ptx.data, ".entry k("), "%s", made->ptx.data);
    cr_expect_eq(made->cubin.size, 0);

    codegen_fixture y;
    tile_blob ptx;
    tile_emit_options emit = {.size = sizeof emit, .target = tile_target_find("sm_80")};
    codegen_open(&y, kernel);
    cr_assert_eq(tile_compile(y.module, NULL, NULL, 0, &emit, &ptx, NULL), TILE_OK);
    cr_expect_str_eq(ptx.data, made->ptx.data, "tile_compile gives something else");
    tile_blob_destroy(&ptx);
    codegen_close(&y);
    tile_artifact_destroy(artifact);
    codegen_close(&x);
}

Test(artifact, without_code_at_level_2) {
    codegen_fixture x;
    open_instance(&x, kernel);
    tile_build_options options = options_for(0);
    tile_artifact *artifact;
    options.level = 2;
    cr_assert_eq(tile_artifact_build(x.module, NULL, &options, &artifact), TILE_OK, "%s",
                 x.messages);
    cr_expect_eq(tile_function_level(x.kernel), 2);
    cr_expect_eq(tile_abi_arg_count(tile_artifact_kernel_at(artifact, 0)->abi), 2);
    cr_expect_eq(tile_artifact_kernel_at(artifact, 0)->ptx.size, 0);
    tile_artifact_destroy(artifact);
    codegen_close(&x);
}

Test(artifact, refusals) {
    static const struct {
        bool no_target, not_instantiated;
        const char *kernel;
        unsigned level, wants, ptx_version;
        const char *message;
        tile_status status;
    } cases[] = {
        {true, false, "k", 3, 0, 0, "target", TILE_INVALID},
        {false, true, "k", 3, 0, 0, "@k has the parameter 'b': instantiate it first", TILE_INVALID},
        {false, false, "j", 3, 0, 0, "there is no kernel @j", TILE_INVALID},
        {false, false, "k", 1, 0, 0, "kernels are lowered to level 2 or 3, not 1", TILE_INVALID},
        {false, false, "k", 2, TILE_WANT_PTX, 0, "is not an operation of level 3", TILE_INVALID},
        {false, false, "k", 3, TILE_WANT_PTX, 10, "PTX version 1.0 is not supported", TILE_INVALID},
        {false, false, "k", 3, TILE_WANT_CUBIN, 0, "/no/such/ptxas", TILE_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        tile_artifact *artifact;
        tile_build_options options = options_for(cases[i].wants);
        if (cases[i].not_instantiated)
            codegen_open(&x, kernel);
        else
            open_instance(&x, kernel);
        options.level = cases[i].level;
        options.ptx_version = cases[i].ptx_version;
        options.ptxas = "/no/such/ptxas";
        if (cases[i].no_target) options.target = NULL;
        cr_expect_eq(tile_artifact_build(x.module, cases[i].kernel, &options, &artifact),
                     cases[i].status, "case %zu", i);
        cr_expect(strstr(x.messages, cases[i].message), "case %zu: %s", i, x.messages);
        cr_expect_null(artifact);
        codegen_close(&x);
    }
}

/* Keys ----------------------------------------------------------------------------------------- */

static tile_artifact_key key_of(const char *text, const tile_build_options *options) {
    codegen_fixture x;
    tile_artifact_key key;
    open_instance(&x, text);
    cr_assert_eq(tile_artifact_make_key(x.module, "k", options, &key), TILE_OK, "%s", x.messages);
    cr_expect_eq(strspn(key.text, "0123456789abcdef"), 32, "%s", key.text);
    cr_expect_neq(tile_function_level(x.kernel), 3, "nothing has been lowered");
    codegen_close(&x);
    return key;
}

/* Returns `kernel` with one edit. */
static char *edited(const char *from, const char *to) {
    const char *at = strstr(kernel, from);
    cr_assert(at, "%s", from);
    char *text = calloc(sizeof kernel + strlen(to), 1);
    memcpy(text, kernel, (size_t)(at - kernel));
    strcat(text, to);
    return strcat(text, at + strlen(from));
}

static void expect_key(const char *from, const char *to, const tile_build_options *options,
                       const tile_build_options *base, bool equal) {
    char *text = edited(from, to);
    tile_artifact_key key = key_of(text, options), other = key_of(kernel, base);
    cr_expect_eq(strcmp(key.text, other.text) == 0, equal, "%s -> %s", from, to);
    free(text);
}

Test(artifact, keys_tell_texts_apart) {
    const tile_build_options lines = options_for(TILE_WANT_PTX);
    tile_build_options plain = lines;
    plain.no_line_info = true;
    expect_key("", "", &lines, &lines, true);
    expect_key("%y", "%why", &plain, &plain, false); /* names are text, too */
    expect_key("= 64", "= 128", &plain, &plain, false);
    expect_key("divisible = 8", "divisible = 4", &plain, &plain, false);
    expect_key("  store", "  sync\n  store", &plain, &plain, false);
    expect_key("warps 2", "warps 2 level 2", &plain, &plain, true);
    expect_key("}\n", "}\nkernel @other() grid [1] warps 1 {\n}\n", &lines, &lines, true);
    /* Another line changes the .loc directives. */
    expect_key("{\n", "\n{\n", &plain, &plain, true);
    expect_key("{\n", "\n{\n", &lines, &lines, false);
    expect_key("", "", &plain, &lines, false);
}

Test(artifact, keys_tell_options_apart) {
    const tile_build_options base = options_for(TILE_WANT_PTX);
    tile_build_options other[8];
    for (unsigned i = 0; i < 8; i++) other[i] = base;
    other[0].target = tile_target_find("sm_90");
    other[1].target = tile_target_find("sm_90a");
    other[2].wants = 0;
    other[3].level = 2;
    other[4].pipeline = "canonicalize";
    other[5].ptx_version = 85;
    other[6].level = 3; /* the default level */
    other[7].pipeline = tile_default_pipeline(3);
    for (unsigned i = 0; i < 8; i++) expect_key("", "", &other[i], &base, i >= 6);
}

Test(artifact, keys_of_cubins_name_the_assembler) {
    codegen_fixture x;
    char path[64];
    tile_artifact_key key[3];
    tile_build_options options = options_for(TILE_WANT_CUBIN);
    open_instance(&x, kernel);
    make_assembler(path);
    options.ptxas = path;
    for (unsigned i = 0; i < 3; i++) {
        if (i == 2) cr_assert_eq(truncate(path, 4), 0);
        cr_assert_eq(tile_artifact_make_key(x.module, "k", &options, &key[i]), TILE_OK);
    }
    cr_expect_str_eq(key[0].text, key[1].text);
    cr_expect_str_neq(key[0].text, key[2].text);
    unlink(path);
    cr_expect_eq(tile_artifact_make_key(x.module, "k", &options, &key[0]), TILE_UNAVAILABLE);
    cr_expect_str_eq(key[0].text, "");
    cr_expect(strstr(x.messages, path), "%s", x.messages);
    codegen_close(&x);
}

/* Returns the key of a cubin by an assembler with this --version output, file name and time. */
static tile_artifact_key key_by(const char *folder, const char *name, const char *version) {
    codegen_fixture x;
    char path[96];
    tile_artifact_key key;
    const struct timespec times[2] = {{1700000000, 5}, {1700000000, 5}};
    tile_build_options options = options_for(TILE_WANT_CUBIN);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    fprintf(file, "#!/bin/sh\necho '%s'\n", version);
    fclose(file);
    chmod(path, 0700);
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    options.ptxas = strcmp(name, "on-path-ptxas") ? path : name;
    open_instance(&x, kernel);
    cr_assert_eq(tile_artifact_make_key(x.module, "k", &options, &key), TILE_OK, "%s", x.messages);
    codegen_close(&x);
    unlink(path);
    return key;
}

/* Another version gives another key even if the file looks the same or only its name is known. A
 * moved file keeps its key. */
Test(artifact, keys_of_cubins_name_the_version) {
    char folder[] = "/tmp/tile-artifact-XXXXXX", elsewhere[64];
    cr_assert(mkdtemp(folder));
    snprintf(elsewhere, sizeof elsewhere, "%s/a", folder);
    mkdir(elsewhere, 0700);
    setenv("PATH", folder, 1);
    tile_artifact_key first = key_by(folder, "ptxas", "V1.0"), other;
    other = key_by(folder, "ptxas", "V1.1");
    cr_expect_str_neq(first.text, other.text);
    other = key_by(elsewhere, "ptxas", "V1.0");
    cr_expect_str_eq(first.text, other.text);
    first = key_by(folder, "on-path-ptxas", "V1.0");
    other = key_by(folder, "on-path-ptxas", "V1.1");
    cr_expect_str_neq(first.text, other.text);
    rmdir(elsewhere);
    rmdir(folder);
}

/* The serialized form -------------------------------------------------------------------------- */

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

static void append(const char *text, size_t length, void *user) {
    bytes *b = user;
    b->data = realloc(b->data, b->size + length + 1);
    memcpy(b->data + b->size, text, length);
    b->size += length;
    b->data[b->size] = 0;
}

/* Writes two kernels, the first one with a cubin. */
static bytes write_two(void) {
    codegen_fixture x, y;
    char path[64];
    bytes out = {NULL, 0};
    tile_artifact *artifact;
    tile_build_options options = options_for(TILE_WANT_CUBIN);
    make_assembler(path);
    options.ptxas = path;
    open_instance(&x, kernel);
    cr_assert_eq(tile_artifact_build(x.module, "k", &options, &artifact), TILE_OK, "%s",
                 x.messages);
    unlink(path);
    codegen_open(&y, "kernel @second(%e: i64) grid [%e, 2] warps 32 {\n}\n");
    tile_abi *abi = tile_abi_create(y.kernel);
    artifact_kernel *second = tile_artifact_add(artifact);
    second->parts.abi = second->abi = abi;
    tile_artifact_write(artifact, append, &out);
    tile_artifact_destroy(artifact);
    codegen_close(&x);
    codegen_close(&y);
    return out;
}

Test(artifact, round_trip) {
    bytes out = write_two(), again = {NULL, 0};
    codegen_fixture x;
    tile_artifact *artifact;
    codegen_open(&x, "kernel @other() grid [1] warps 1 {\n}\n");
    cr_assert_eq(tile_artifact_read(x.context, out.data, out.size, &artifact), TILE_OK, "%s",
                 x.messages);
    cr_assert_eq(tile_artifact_kernel_count(artifact), 2);
    const tile_artifact_kernel *first = tile_artifact_kernel_at(artifact, 0);
    const tile_artifact_kernel *second = tile_artifact_kernel_at(artifact, 1);
    cr_expect_str_eq(tile_abi_entry(first->abi), "k");
    unsigned last = tile_abi_parameter_count(first->abi) - 1;
    cr_expect_eq(tile_abi_parameter_at(first->abi, last)->kind, TILE_PARAMETER_clean_scratch);
    cr_expect_eq(tile_abi_arg_at(first->abi, 1)->divisible, 16);
    cr_expect(strstr(first->ptx.data, ".entry k("));
    cr_expect_eq(first->ptx.data[first->ptx.size], 0);
    cr_expect_eq(first->cubin.size, first->ptx.size + 6);
    cr_expect_arr_eq(first->cubin.data, "cu\0bin", 6);
    cr_expect_str_eq(first->cubin.data + 6, first->ptx.data);
    cr_expect_eq(tile_abi_warps(second->abi), 32);
    cr_expect_null(second->ptx.data);
    tile_artifact_write(artifact, append, &again);
    cr_expect_eq(again.size, out.size);
    cr_expect_arr_eq(again.data, out.data, out.size);
    tile_artifact_destroy(artifact);
    free(out.data);
    free(again.data);
    codegen_close(&x);
}

/* Reads a copy of the bytes in separate memory, so that a sanitizer detects reads past the end. */
static tile_status read_copy(codegen_fixture *x, const char *data, size_t size) {
    tile_artifact *artifact;
    char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    *x->messages = 0;
    tile_status status = tile_artifact_read(x->context, copy, size, &artifact);
    cr_expect_eq(status == TILE_OK, artifact != NULL);
    cr_expect_eq(status == TILE_OK, !*x->messages, "%s", x->messages);
    tile_artifact_destroy(artifact);
    free(copy);
    return status;
}

Test(artifact, what_is_damaged_is_refused) {
    bytes out = write_two();
    codegen_fixture x;
    codegen_open(&x, "kernel @other() grid [1] warps 1 {\n}\n");
    for (size_t size = 0; size < out.size; size += size < 100 ? 1 : 37)
        cr_assert_eq(read_copy(&x, out.data, size), TILE_INVALID, "%zu bytes", size);
    for (size_t i = 0; i < out.size; i += i < 100 ? 1 : 31) {
        out.data[i] ^= 1;
        cr_assert_eq(read_copy(&x, out.data, out.size), TILE_INVALID, "byte %zu", i);
        out.data[i] ^= 1;
    }
    for (unsigned form = 1; form <= 3; form += 2) {
        *x.messages = 0;
        out.data[sizeof "tile artifact " - 1] = (char)('0' + form);
        cr_expect_eq(read_copy(&x, out.data, out.size), TILE_INVALID);
        cr_expect(strstr(x.messages, "another version"), "form %u: %s", form, x.messages);
    }
    free(out.data);
    codegen_close(&x);
}

/* Even with a valid digest the contents are checked. */
Test(artifact, what_is_signed_wrongly_does_no_harm) {
    bytes out = write_two();
    codegen_fixture x;
    unsigned refused = 0;
    codegen_open(&x, "kernel @other() grid [1] warps 1 {\n}\n");
    for (size_t i = 16; i < out.size - 38; i += i < 1200 ? 1 : 61) {
        static const char changes[] = {'0', '9', '\n', '}', '\0'};
        char was = out.data[i];
        out.data[i] = changes[i % sizeof changes];
        tile_digest(out.data, out.size - 37, out.data + out.size - 33);
        out.data[out.size - 1] = '\n';
        refused += read_copy(&x, out.data, out.size) != TILE_OK;
        out.data[i] = was;
    }
    cr_expect_gt(refused, 100);
    free(out.data);
    codegen_close(&x);
}

/* Plans --------------------------------------------------------------------------------------- */

static const char plan_text[] =
    "plan @p<b: int = 32>(%n: i32, %x: view<f32[%n]>, %y: ptr<f32>) of @same {\n"
    "  %w = scratch [%n] : view<f32[?]>\n"
    "  launch @copy<b = b>(%n, %x, %w)\n"
    "  launch @copy<b = b * 2>(%n, %w, %y) {pdl}\n"
    "  launch @copy<b = b>(%n, %w, %x)\n"
    "}\n"
    "kernel @copy<b: int>(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>)\n"
    "    grid [ceildiv(%n, b)]  warps 1\n"
    "{\n"
    "  %i = block_id\n"
    "  pdl_wait\n"
    "  %t = load %x[%i * b] : [b]\n"
    "  store %t, %y[%i * b]\n"
    "}\n"
    "compute @same<n: dim>(%x: tensor<f32[n]>) -> (%y: tensor<f32[n]>) { %y = %x + 0.0 }\n"
    "kernel @other(%n: i32) grid [1] warps 1 { }\n";

static void append_text(const char *text, size_t length, void *user) {
    strncat(user, text, length);
}

/* Builds @p and checks the result, also after it was written and read back. */
static void check_build(codegen_fixture *x, const tile_build_options *options,
                        void (*check)(const tile_artifact *artifact)) {
    tile_artifact *artifact, *again;
    char *data = calloc(1, 1 << 16);
    cr_assert_eq(tile_artifact_build(x->module, "p", options, &artifact), TILE_OK, "%s",
                 x->messages);
    check(artifact);
    tile_artifact_write(artifact, append_text, data);
    tile_artifact_destroy(artifact);
    cr_assert_eq(tile_artifact_read(x->context, data, strlen(data), &again), TILE_OK, "%s",
                 x->messages);
    check(again);
    tile_artifact_destroy(again);
    free(data);
}

static void check_plan(const tile_artifact *artifact) {
    char text[4096] = "";
    cr_assert_eq(tile_artifact_kernel_count(artifact), 2);
    for (unsigned i = 0; i < 2; i++) {
        const tile_artifact_kernel *made = tile_artifact_kernel_at(artifact, i);
        const char *entry = tile_abi_entry(made->abi);
        cr_expect_str_eq(entry, i ? "p_copy_2" : "p_copy");
        cr_expect(strstr(made->ptx.data, i ? ".entry p_copy_2(" : ".entry p_copy("));
    }
    cr_assert_eq(tile_plan_print(tile_artifact_plan(artifact), append_text, text), TILE_OK);
    cr_expect(strstr(text, "\"kernels\": [\"p_copy\", \"p_copy_2\"]"), "%s", text);
    cr_expect(strstr(text, "\"kernel\": \"p_copy_2\", \"arguments\": [\"%n\", \"@w\", \"%y\"], "
                           "\"pdl\": true"),
              "%s", text);
}

static const char loop_text[] = "plan @p(%n: i32, %x: view<f32[%n]>) {\n"
                                "  %w = scratch [2, %n] : f32\n"
                                "  for %i = 0 to %n step 2 {\n"
                                "    launch @k(%i, subview(%w[rem(%i, 2), 0], [%n]))\n"
                                "  }\n"
                                "}\n"
                                "kernel @k(%n: i32, %x: view<f32[%n]>) grid [%n] warps 1 { }\n";

static void check_loop(const tile_artifact *artifact) {
    char text[4096] = "";
    cr_assert_eq(tile_plan_print(tile_artifact_plan(artifact), append_text, text), TILE_OK);
    cr_expect(
        strstr(text, "\"for\", \"loop\": 0, \"begin\": \"0\", \"end\": \"%n\", \"by\": \"2\""),
        "%s", text);
    cr_expect(strstr(text, "[\"loop(0)\", \"@w + rem(loop(0), 2) * %n * 4\"]"), "%s", text);
}

Test(artifact, of_a_plan_keeps_its_loops) {
    codegen_fixture x;
    tile_build_options options = options_for(TILE_WANT_PTX);
    codegen_open(&x, loop_text);
    check_build(&x, &options, check_loop);
    codegen_close(&x);
}

static const char resident_text[] =
    "plan @p(%n: i32, %x: view<f32[%n]>) { launch @k(%n, %x) {resident, otherwise = @j} }\n"
    "kernel @k(%n: i32, %x: view<f32[%n]>) grid [%n] warps 1 { }\n"
    "kernel @j(%n: i32, %x: view<f32[%n]>) grid [%n] warps 2 { }\n";

static void check_resident(const tile_artifact *artifact) {
    cr_expect_eq(tile_artifact_kernel_count(artifact), 2);
}

static void check_without_other(const tile_artifact *artifact) {
    cr_assert_eq(tile_artifact_kernel_count(artifact), 1);
    cr_expect_str_eq(tile_abi_entry(tile_artifact_kernel_at(artifact, 0)->abi), "k");
    cr_expect(tile_artifact_plan(artifact));
}

Test(artifact, of_a_plan_without_what_takes_the_place_of_others) {
    codegen_fixture x;
    tile_build_options options = options_for(TILE_WANT_PTX);
    tile_artifact *other;
    tile_artifact_key all, fewer;
    codegen_open(&x, resident_text);
    cr_assert_eq(tile_artifact_make_key(x.module, "p", &options, &all), TILE_OK);
    check_build(&x, &options, check_resident);
    options.no_otherwise = true;
    cr_assert_eq(tile_artifact_make_key(x.module, "p", &options, &fewer), TILE_OK);
    cr_expect_str_neq(all.text, fewer.text);
    check_build(&x, &options, check_without_other);
    cr_assert_eq(tile_artifact_build(x.module, "j", &options, &other), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_artifact_kernel_count(other), 1);
    cr_expect_str_eq(tile_abi_entry(tile_artifact_kernel_at(other, 0)->abi), "j");
    tile_artifact_destroy(other);
    codegen_close(&x);
}

Test(artifact, of_a_plan_holds_its_kernels) {
    codegen_fixture x;
    tile_build_options options = options_for(TILE_WANT_PTX);
    tile_artifact *none;
    tile_artifact_key key, other;
    codegen_open(&x, plan_text);
    cr_expect_eq(tile_artifact_build(x.module, "p", &options, &none), TILE_INVALID);
    cr_expect(strstr(x.messages, "@p has the parameter 'b': instantiate it first"), "%s",
              x.messages);
    cr_assert_eq(tile_instantiate(x.module, "p", NULL, 0), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_artifact_make_key(x.module, "p", &options, &key), TILE_OK);
    check_build(&x, &options, check_plan);
    options.ptx_version = 78;
    tile_module *fresh = tile_module_parse(x.context, "again", plan_text, strlen(plan_text));
    tile_instantiate(fresh, "p", NULL, 0);
    cr_expect_eq(tile_artifact_make_key(fresh, "p", &options, &other), TILE_OK);
    cr_expect_str_neq(key.text, other.text);
    tile_module_destroy(fresh);
    codegen_close(&x);
}
