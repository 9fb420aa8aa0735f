/* Parsing of texts that include other texts.
 *
 * The line `include "NAME"` of a text asks a resolver for another text, whose functions and layouts
 * become part of the module. There is no resolver unless the caller passes one, so that a text from
 * an untrusted source reads nothing: without a resolver an `include` is an error.
 *
 *   const char *folders[] = {"/usr/share/tile/kernels"};
 *   tile_include_path path = {.size = sizeof path, .folders = folders, .folder_count = 1};
 *   tile_parse_options options = {.size = sizeof options, .resolve = tile_resolve_file,
 *                                 .release = tile_release_file, .user = &path};
 *   tile_module *module = tile_module_parse_with(context, "k.tile", text, length, &options);
 *
 * Each text is included once in a module: if a resolver returns an identity that the module has
 * already, the parser skips the line. A text that includes itself, also through others, is an
 * error. tile/limits.def limits the number, the nesting and the total size of included texts.
 *
 * Threads: the parser calls the resolver and `release` on the thread that called it, before it
 * returns. They must not call functions of this library. */
#ifndef TILE_PARSE_H
#define TILE_PARSE_H

#include "tile/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An `include` that the parser has read. Valid during the call of the resolver. */
typedef struct tile_include {
    const char *spelling; /* the text in quotation marks, as written; it is not empty and has no
                             control characters */
    const char *from;     /* the name of the text that contains the `include` */
} tile_include;

/* The text that an `include` names. The resolver fills it; all fields are 0 before. */
typedef struct tile_included {
    const char *identity; /* the canonical name: the same for each spelling of the same text */
    const char *name;     /* the name in diagnostics, and `from` of its own includes; NULL: the
                             identity */
    const char *text;     /* may be NULL if length is 0 */
    size_t length;        /* in bytes */
    const char *problem;  /* if the resolver fails: the cause, and what to do, for the diagnostic;
                             may be NULL */
    void *memory;         /* for `release`; the parser does not use it */
} tile_included;

/* Finds the text. The resolver owns all that *found points to, and must keep it until the parser
 * has called `release`. The parser copies what it keeps. A status other than TILE_OK is a failure:
 * the parser reports it at the `include`, with `problem`. */
typedef tile_status (*tile_resolver)(const tile_include *include, tile_included *found, void *user);

typedef struct tile_parse_options {
    size_t size;           /* sizeof(tile_parse_options) */
    tile_resolver resolve; /* NULL: an `include` is an error */
    /* Called once after each call of `resolve`, even if it failed. NULL: nothing to release. */
    void (*release)(tile_included *found, void *user);
    void *user; /* passed to both */
    /* The identity that the resolver returns for the text that is parsed, to detect that it
     * includes itself; NULL: its name. */
    const char *identity;
} tile_parse_options;

/* Like tile_module_parse, which is the same with options NULL. */
TILE_API tile_module *tile_module_parse_with(tile_context *context, const char *name,
                                             const char *text, size_t length,
                                             const tile_parse_options *options);

/* A resolver for files, for callers that trust the text: it may name any file that the process can
 * read and whose name ends in `.tile`. A relative name is looked up in the folder of the including
 * text, whose name must be its path, then in the folders of the tile_include_path that `user`
 * points to (NULL: no others), in this order. Only regular files are read. Use it together with
 * tile_release_file. */
typedef struct tile_include_path {
    size_t size;                /* sizeof(tile_include_path) */
    const char *const *folders; /* folder_count paths */
    unsigned folder_count;
} tile_include_path;

TILE_API tile_status tile_resolve_file(const tile_include *include, tile_included *found,
                                       void *user);
TILE_API void tile_release_file(tile_included *found, void *user);

/* The identity that tile_resolve_file returns for a file, as a text in *identity. Returns false if
 * there is no such file; *identity is then empty. */
enum { TILE_FILE_IDENTITY = 64 };
TILE_API bool tile_file_identity(const char *path, char identity[TILE_FILE_IDENTITY]);

#ifdef __cplusplus
}
#endif

#endif
