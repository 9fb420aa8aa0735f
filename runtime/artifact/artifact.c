/* Artifacts and their serialized form:
 *
 *   tile artifact 2                            version of the format
 *   compiler 62                                each part: its name, its size in bytes, a line
 *   tile 2.0.0, LLVM 22.1.8, build 5f0c...     break, the data, a line break
 *   plan 310                                   if it is a plan: its text and its kernels' heads
 *   ...
 *   abi 480                                    begins a kernel
 *   {...}
 *   ptx 10311
 *   ...
 *   cubin 0
 *
 *   end 0123456789abcdef0123456789abcdef       digest of everything before this line */
#include "runtime/artifact/artifact.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/identity.h"
#include "lib/support/text.h"
#include "runtime/artifact/plan.h"

static const char head[] = "tile artifact 2\n";
enum { HEAD = sizeof head - 1, END = sizeof "end " - 1 + TILE_DIGEST_TEXT }; /* with line breaks */

tile_artifact *tile_artifact_create(tile_context *context) {
    tile_artifact *artifact = tile_malloc(sizeof *artifact);
    *artifact = (tile_artifact){.context = context};
    return artifact;
}

artifact_kernel *tile_artifact_add(tile_artifact *artifact) {
    size_t bytes = sizeof *artifact->kernels * (artifact->count + 1u);
    artifact->kernels = tile_realloc(artifact->kernels, bytes);
    artifact_kernel *added = &artifact->kernels[artifact->count++];
    *added = (artifact_kernel){.abi = NULL};
    return added;
}

void tile_artifact_destroy(tile_artifact *artifact) {
    if (!artifact) return;
    for (unsigned i = 0; i < artifact->count; i++) {
        tile_abi_destroy(artifact->kernels[i].abi);
        tile_blob_destroy(&artifact->kernels[i].parts.ptx);
        tile_blob_destroy(&artifact->kernels[i].parts.cubin);
    }
    tile_module_destroy(artifact->module);
    free(artifact->kernels);
    free(artifact);
}

unsigned tile_artifact_kernel_count(const tile_artifact *artifact) {
    return artifact ? artifact->count : 0;
}

const tile_artifact_kernel *tile_artifact_kernel_at(const tile_artifact *artifact, unsigned index) {
    return artifact && index < artifact->count ? &artifact->kernels[index].parts : NULL;
}

const tile_function *tile_artifact_plan(const tile_artifact *artifact) {
    return artifact ? artifact->plan : NULL;
}

/* Writing -------------------------------------------------------------------------------------- */

static void put_part(tile_text *text, const char *name, const void *data, size_t size) {
    tile_text_format(text, "%s %zu\n", name, size);
    tile_text_append(data, size, text);
    tile_text_append("\n", 1, text);
}

static void put_kernel(tile_text *text, const artifact_kernel *kernel) {
    tile_text abi = {.arena = text->arena};
    tile_abi_print(kernel->abi, tile_text_append, &abi);
    put_part(text, "abi", abi.data, abi.length);
    put_part(text, "ptx", kernel->parts.ptx.data, kernel->parts.ptx.size);
    put_part(text, "cubin", kernel->parts.cubin.data, kernel->parts.cubin.size);
}

static void put_plan(tile_text *text, const tile_module *module) {
    tile_text plan = {.arena = text->arena};
    tile_module_print(module, tile_text_append, &plan);
    put_part(text, "plan", plan.data, plan.length);
}

void tile_artifact_write(const tile_artifact *artifact, tile_writer writer, void *user) {
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    char digest[TILE_DIGEST_TEXT];
    if (!artifact || !writer) return;
    const char *compiler = tile_compiler_identity(&arena);
    tile_text_append(head, HEAD, &text);
    put_part(&text, "compiler", compiler, strlen(compiler));
    if (artifact->plan) put_plan(&text, artifact->module);
    for (unsigned i = 0; i < artifact->count; i++) put_kernel(&text, &artifact->kernels[i]);
    tile_digest(text.data, text.length, digest);
    writer(text.data, text.length, user);
    writer("end ", 4, user);
    writer(digest, strlen(digest), user);
    writer("\n", 1, user);
    tile_arena_reset(&arena);
}

/* Reading -------------------------------------------------------------------------------------- */

typedef struct reader {
    tile_artifact *artifact;
    const char *at, *end;
} reader;

static tile_status fail(tile_context *context, const char *what) {
    tile_report(context, TILE_ERROR, (tile_loc){0}, "this is not an artifact: %s", what);
    return TILE_INVALID;
}

/* Reads the next part if it has this name. */
static bool take_part(reader *r, const char *name, const char **data, size_t *size) {
    size_t length = strlen(name), left = (size_t)(r->end - r->at), bytes = 0;
    const char *line = left ? memchr(r->at, '\n', left) : NULL;
    if (!line || (size_t)(line - r->at) < length + 2 || memcmp(r->at, name, length) != 0 ||
        r->at[length] != ' ')
        return false;
    for (const char *digit = r->at + length + 1; digit < line; digit++) {
        if (*digit < '0' || *digit > '9' || bytes > left) return false;
        bytes = 10 * bytes + (size_t)(*digit - '0');
    }
    left = (size_t)(r->end - ++line);
    if (bytes >= left || line[bytes] != '\n') return false;
    *data = line;
    *size = bytes;
    r->at = line + bytes + 1;
    return true;
}

static bool take_blob(reader *r, const char *name, tile_blob *blob) {
    const char *data;
    size_t size;
    if (!take_part(r, name, &data, &size)) return false;
    if (!size) return true;
    blob->data = tile_malloc(size + 1);
    memcpy(blob->data, data, size);
    blob->data[size] = 0;
    blob->size = size;
    return true;
}

static bool take_kernel(reader *r) {
    const char *abi;
    size_t size;
    if (!take_part(r, "abi", &abi, &size)) return false;
    artifact_kernel *kernel = tile_artifact_add(r->artifact);
    kernel->parts.abi = kernel->abi = tile_abi_read(r->artifact->context, abi, size);
    return kernel->abi && take_blob(r, "ptx", &kernel->parts.ptx) &&
           take_blob(r, "cubin", &kernel->parts.cubin);
}

/* Reads the plan, if there is one. The number of kernels must then be that of its launches. */
static bool take_plan(reader *r) {
    const char *text;
    size_t size;
    return !take_part(r, "plan", &text, &size) || tile_artifact_read_plan(r->artifact, text, size);
}

/* The digest detects files that a crash or a full disk has truncated. */
static bool is_whole(const char *data, size_t size) {
    char digest[TILE_DIGEST_TEXT];
    const char *end = data + size - END;
    tile_digest(data, size - END, digest);
    return memcmp(end, "end ", 4) == 0 && memcmp(end + 4, digest, TILE_DIGEST_TEXT - 1) == 0 &&
           data[size - 1] == '\n';
}

tile_status tile_artifact_read(tile_context *context, const void *data, size_t size,
                               tile_artifact **out) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    const char *compiler;
    size_t length;
    *out = NULL;
    if (!context) return TILE_INVALID;
    if (!data || size < HEAD + END || memcmp(data, head, HEAD - 2) != 0)
        return fail(context, "its first line is not that of an artifact");
    if (memcmp(data, head, HEAD) != 0) return fail(context, "its format has another version");
    if (!is_whole(data, size)) return fail(context, "it is truncated or damaged");
    reader r = {tile_artifact_create(context), (const char *)data + HEAD,
                (const char *)data + size - END};
    bool ok = take_part(&r, "compiler", &compiler, &length) && take_plan(&r);
    while (ok && r.at < r.end) ok = take_kernel(&r);
    if (ok && tile_artifact_has_kernels(r.artifact)) {
        *out = r.artifact;
        return TILE_OK;
    }
    tile_artifact_destroy(r.artifact);
    return fail(context, "its parts are incomplete or not in the order of the format");
}
