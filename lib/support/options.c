/* Copies of option structs. */
#include "lib/support/options.h"

#include <string.h>

/* True if a byte after the struct's first field, its size, is not 0. */
static bool has_fields(const void *from, size_t size) {
    const unsigned char *bytes = from;
    for (size_t i = sizeof(size_t); i < size; i++)
        if (bytes[i]) return true;
    return false;
}

bool tile_take_options(tile_context *context, const char *type, void *to, size_t size,
                       const void *from) {
    size_t given = 0;
    memset(to, 0, size);
    if (from) memcpy(&given, from, sizeof given);
    if (given) memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    if (!from || given || !has_fields(from, size)) return true;
    tile_report(context, TILE_ERROR, (tile_loc){0}, "%s.size is 0: set it to sizeof(%s)", type,
                type);
    return false;
}
