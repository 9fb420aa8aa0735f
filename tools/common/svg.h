/* Helpers that report pictures and layout pictures share. Lengths are in pixels. */
#ifndef TILE_TOOLS_COMMON_SVG_H
#define TILE_TOOLS_COMMON_SVG_H

#include <stdarg.h>

#include "tile/base.h"

enum { SVG_COLOURS = 8 /* classes s0 to s7 */ };

/* At most 1200 characters. */
void svg_vprint(tile_writer writer, void *user, const char *format, va_list arguments);
/* Escapes text as character data or as an attribute's value. Control characters, which XML cannot
 * hold, become spaces. */
void svg_escape(const char *text, tile_writer writer, void *user);
/* Writes the <style> element: system fonts, and classes for the colors, with dark ones in a media
 * query. */
void svg_write_style(tile_writer writer, void *user);

#endif
