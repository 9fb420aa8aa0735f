/* Pictures of the tools: what those of reports and those of layouts share. Lengths are pixels. */
#ifndef TILE_TOOLS_COMMON_SVG_H
#define TILE_TOOLS_COMMON_SVG_H

#include <stdarg.h>

#include "tile/base.h"

enum { SVG_COLOURS = 8 /* classes s0 to s7 */ };

/* At most 1200 characters. */
void svg_vprint(tile_writer writer, void *user, const char *format, va_list arguments);
/* Text as character data or as an attribute's value; control characters, which XML cannot hold,
 * become spaces. */
void svg_escape(const char *text, tile_writer writer, void *user);
/* The element <style>: fonts that the system has, colours by classes, those of a dark scheme in a
 * media query. */
void svg_write_style(tile_writer writer, void *user);

#endif
