/* Status codes, diagnostics and the context: what every other header of Tile builds on.
 *
 * Ownership: the caller owns what a function named create, parse, clone or take returns and gives
 * it back to the matching destroy (destroy(NULL) is fine); everything else is borrowed. Threads: a
 * context and all that depends on it belong to one thread at a time; different contexts are
 * independent of each other.
 * The library never prints, exits, or reads an environment variable. It stops the process in one
 * case only: the host has no memory left.
 *
 * Misuse: a NULL where an object is needed (context, module, function, builder, type, expression,
 * device, buffer, kernel, interface), and an id that its function does not have, reach no memory. A
 * call that returns a status answers TILE_INVALID; one that makes something returns NULL or the id
 * 0; one that reads returns what stands for nothing: 0, NULL, false or the id 0 (-1 for extents and
 * counts that may be unknown); one that changes, prints or destroys does nothing. The first two
 * kinds report it where there is a context to report to. A NULL name is an empty one. What must be
 * right: places for results are there unless their contract lets them be NULL, arrays hold as many
 * elements as are counted, and no pointer outlives its object. */
#ifndef TILE_BASE_H
#define TILE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header: 10000 * major + 100 * minor + patch, and the same as text.
 * CMakeLists.txt reads the text. A program that was built with one minor version runs with later
 * ones of the same major version; the major version is also the number in the library's name,
 * libtile.so.2. */
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

/* What became of a call. Anything but TILE_OK has been reported to the context's sink, with the
 * place in the user's text where there is one, or with the original words of the system that
 * refused. */
typedef enum tile_status {
    TILE_OK = 0,
    TILE_INVALID = 1,       /* the user's program or arguments are wrong */
    TILE_UNSUPPORTED = 2,   /* right, but not for this target or device */
    TILE_UNAVAILABLE = 3,   /* no such device, driver, file or tool on this machine */
    TILE_FAILED = 4,        /* LLVM, the driver or the system refused */
    TILE_FAULT = 5,         /* the kernel did something forbidden while it ran */
    TILE_OUT_OF_MEMORY = 6, /* the host has no memory left for the call; what it was given is still
                               valid to destroy, and the library can be called again */
} tile_status;

typedef enum tile_severity {
    TILE_ERROR,
    TILE_WARNING,
    TILE_REMARK,
    TILE_NOTE, /* belongs to the diagnostic reported just before */
} tile_severity;

/* A place in a source text; line and column count from 1, line 0 means "no place". file is an index
 * given by tile_context_add_source. */
typedef struct tile_loc {
    uint32_t file;
    uint32_t line;
    uint32_t column;
} tile_loc;

/* One diagnostic; valid only while the sink runs. text is the line of source that line and column
 * point into, or NULL. */
typedef struct tile_diagnostic {
    tile_severity severity;
    const char *file; /* "" where there is no place */
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

/* TILE_API_VERSION of the library that runs; the macro is that of the header. */
TILE_API unsigned tile_api_version(void);
/* TILE_VERSION_STRING of the library that runs. */
TILE_API const char *tile_version_string(void);

/* A short word for a status: "ok", "invalid", ... */
TILE_API const char *tile_status_name(tile_status status);

/* NULL where there is no memory. */
TILE_API tile_context *tile_context_create(void);
/* Modules, devices, interfaces (tile_abi), artifacts and caches made in it must be gone by then. */
TILE_API void tile_context_destroy(tile_context *context);

/* Sends diagnostics to sink from now on. Without a sink they are only counted. */
TILE_API void tile_context_set_sink(tile_context *context, tile_sink sink, void *user);

/* Whether the compiler also reports what it could not do to an operation, why, and what to write so
 * that it can ("no wgmma: ..."): as TILE_REMARK at the operation's place. And a launch for which
 * code is made that relies on less than the kernel's first variant, what its arguments lack. Off at
 * first; remarks on what the text asks for and does not get are reported in any case. Code is the
 * same either way. */
TILE_API void tile_context_set_remarks(tile_context *context, bool wanted);

/* How many errors have been reported so far. */
TILE_API unsigned tile_context_error_count(const tile_context *context);

/* Keeps a copy of a source text under a name, so that diagnostics can quote it; returns its index.
 */
TILE_API uint32_t tile_context_add_source(tile_context *context, const char *name, const char *text,
                                          size_t length);

/* A source's name, "" if there is no such index; lives as long as the context. */
TILE_API const char *tile_context_source_name(const tile_context *context, uint32_t file);

/* Reports a diagnostic: printf's format, one sentence without a full stop. */
TILE_API void tile_report(tile_context *context, tile_severity severity, tile_loc loc,
                          const char *format, ...) TILE_PRINTF(4, 5);

/* Writes a diagnostic the way compilers do: file:line:col: error: message, the source line, a
 * caret. */
TILE_API void tile_diagnostic_print(const tile_diagnostic *diagnostic, tile_writer writer,
                                    void *user);

#ifdef __cplusplus
}
#endif

#endif
