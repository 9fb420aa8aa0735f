/* Status codes, diagnostics and the context, on which all other headers of Tile build.
 *
 * Ownership: the caller owns the objects that functions named create, parse, clone or take return,
 * and releases them with the matching destroy function (destroy(NULL) is allowed). All other
 * pointers are borrowed. Threads: a context and all objects that depend on it may be used by one
 * thread at a time; different contexts are independent of each other. The library never prints,
 * exits, or reads an environment variable. If the host runs out of memory, a call that returns a
 * status returns TILE_OUT_OF_MEMORY, and one that creates something returns NULL or the id 0. Only
 * a call that returns neither, such as tile_report, may abort the process.
 *
 * Misuse: a call is safe if a required object (context, module, function, builder, type,
 * expression, device, buffer, kernel, interface) is NULL, or if a function does not have the id
 * passed to it:
 *
 * - A call that returns a status returns TILE_INVALID.
 * - A call that creates something returns NULL or the id 0.
 * - A query returns an empty value: 0, NULL, false or the id 0 (-1 for extents and counts that may
 *   be unknown).
 * - A call that changes, prints or destroys something does nothing.
 *
 * The first two kinds report the error if there is a context to report it to. A NULL name is
 * treated as an empty one. The caller must guarantee the following: pointers to results are valid,
 * unless their contract allows NULL; arrays hold as many elements as the count says; no pointer is
 * used after its object is destroyed. */
#ifndef TILE_BASE_H
#define TILE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of this header: 10000 * major + 100 * minor + patch, and the same as text. CMakeLists.txt
 * reads the text. A program that was built with one minor version runs with later ones of the same
 * major version; the major version is also the number in the library's name, libtile.so.2. */
#define TILE_VERSION 20000
#define TILE_VERSION_STRING "2.0.0"
#define TILE_API_VERSION 2 /* the major version */

#if defined(__GNUC__)
#define TILE_API __attribute__((visibility("default")))
#define TILE_PRINTF(text, rest) __attribute__((__format__(__printf__, text, rest)))
#else
#define TILE_API
#define TILE_PRINTF(text, rest)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Result of a call. Any status other than TILE_OK has been reported to the context's sink. The
 * report has the position in the user's source if there is one, or the original error message of
 * LLVM, the driver or the system. */
typedef enum tile_status {
    TILE_OK = 0,
    TILE_INVALID = 1,       /* the user's program or arguments are wrong */
    TILE_UNSUPPORTED = 2,   /* valid, but not for this target or device */
    TILE_UNAVAILABLE = 3,   /* no such device, driver, file or tool on this machine */
    TILE_FAILED = 4,        /* LLVM, the driver or the system refused */
    TILE_FAULT = 5,         /* the kernel performed an illegal operation while it ran */
    TILE_OUT_OF_MEMORY = 6, /* the host has no memory left for the call. Objects passed to it can
                               still be destroyed, and the library can be called again */
} tile_status;

typedef enum tile_severity {
    TILE_ERROR,
    TILE_WARNING,
    TILE_REMARK,
    TILE_NOTE, /* belongs to the diagnostic reported just before */
} tile_severity;

/* A position in a source text. Lines and columns count from 1 and line 0 means "no position". file
 * is an index returned by tile_context_add_source. */
typedef struct tile_loc {
    uint32_t file;
    uint32_t line;
    uint32_t column;
} tile_loc;

/* One diagnostic, valid only during the call of the sink. text is the source line that line and
 * column refer to, or NULL. */
typedef struct tile_diagnostic {
    tile_severity severity;
    const char *file; /* "" if there is no position */
    uint32_t line;
    uint32_t column;
    const char *message;
    const char *text;
    size_t text_length;
} tile_diagnostic;

typedef void (*tile_sink)(const tile_diagnostic *diagnostic, void *user);

/* Receives pieces of text in order. */
typedef void (*tile_writer)(const char *text, size_t length, void *user);

typedef struct tile_context tile_context;

/* TILE_API_VERSION of the library in use; the macro gives the version of the header. */
TILE_API unsigned tile_api_version(void);
/* TILE_VERSION_STRING of the library in use. */
TILE_API const char *tile_version_string(void);

/* Returns a short name for a status: "ok", "invalid", ... */
TILE_API const char *tile_status_name(tile_status status);

/* Returns NULL if there is no memory. */
TILE_API tile_context *tile_context_create(void);
/* Destroy all modules, devices, interfaces (tile_abi), artifacts and caches of the context
 * first. */
TILE_API void tile_context_destroy(tile_context *context);

/* Sends all further diagnostics to sink. Without a sink they are only counted. */
TILE_API void tile_context_set_sink(tile_context *context, tile_sink sink, void *user);

/* Enables remarks on missed optimizations. Each TILE_REMARK names what the compiler could not do to
 * an operation, the reason, and what to change in the source ("no wgmma: ..."), at the operation's
 * position. When a launch needs a variant that relies on less than the kernel's first variant, a
 * remark also says which conditions its arguments do not meet. Off by default. Remarks on requests
 * in the source that could not be satisfied are always reported. The setting does not affect the
 * generated code. */
TILE_API void tile_context_set_remarks(tile_context *context, bool wanted);

/* Number of errors reported so far. */
TILE_API unsigned tile_context_error_count(const tile_context *context);

/* Keeps a copy of a source text under a name, so that diagnostics can quote it; returns its index.
 */
TILE_API uint32_t tile_context_add_source(tile_context *context, const char *name, const char *text,
                                          size_t length);

/* Name of a source, "" if there is no such index. Valid as long as the context. */
TILE_API const char *tile_context_source_name(const tile_context *context, uint32_t file);

/* Reports a diagnostic. The format is that of printf and gives one sentence without a full stop. */
TILE_API void tile_report(tile_context *context, tile_severity severity, tile_loc loc,
                          const char *format, ...) TILE_PRINTF(4, 5);

/* Writes a diagnostic in the format of C compilers: file:line:col: error: message, the source line,
 * and a caret. */
TILE_API void tile_diagnostic_print(const tile_diagnostic *diagnostic, tile_writer writer,
                                    void *user);

#ifdef __cplusplus
}
#endif

#endif
