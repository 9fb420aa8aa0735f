/* The SVG is self-contained: colors are CSS classes, and only system fonts are used. */
#include "tools/common/svg.h"

#include <stdio.h>
#include <string.h>

void svg_vprint(tile_writer writer, void *user, const char *format, va_list arguments) {
    char text[1200];
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length > 0)
        writer(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1, user);
}

void svg_escape(const char *text, tile_writer writer, void *user) {
    for (; *text; text++) {
        const char *entity = NULL;
        if (*text == '&') entity = "&amp;";
        if (*text == '<') entity = "&lt;";
        if (*text == '>') entity = "&gt;";
        if (*text == '"') entity = "&quot;";
        if (*text == '\'') entity = "&#39;";
        if ((unsigned char)*text < 0x20) entity = " ";
        if (entity)
            writer(entity, strlen(entity), user);
        else
            writer(text, 1, user);
    }
}

/* The light colors come first: a viewer without media queries shows those. */
static const char style[] =
    "<style>\n"
    "text { font-family: ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, "
    "sans-serif; font-size: 12px; fill: #1b2330; font-variant-numeric: tabular-nums }\n"
    ".title { font-size: 21px; font-weight: 650; letter-spacing: -0.2px }\n"
    ".panel { font-size: 14px; font-weight: 620 }\n"
    ".product { font-weight: 560 }\n"
    ".soft { fill: #66707f }\n"
    ".small { font-size: 11px }\n"
    ".bad { fill: #c2333f }\n"
    ".best { font-weight: 650 }\n"
    ".paper { fill: #ffffff }\n"
    ".grid { stroke: #e7eaef; stroke-width: 1; fill: none }\n"
    ".axis { stroke: #9aa4b2; stroke-width: 1; fill: none }\n"
    ".one { stroke: #66707f; stroke-width: 1.2; fill: none }\n"
    ".roof { stroke: #1b2330; stroke-width: 1.8; fill: none; stroke-linejoin: round }\n"
    ".under { fill: #f5f7fa }\n"
    ".floor { stroke: #1b2330; stroke-width: 1.2; stroke-dasharray: 2 2.5; fill: none }\n"
    ".stem { stroke: #c3cad4; stroke-width: 1.2; fill: none }\n"
    ".dot { stroke: #ffffff; stroke-width: 1.5 }\n"
    ".peer { fill: #aab3c0 }\n"
    ".s0 { fill: #2f6fde } .s1 { fill: #e2762b } .s2 { fill: #159a83 } .s3 { fill: #8a56c9 }\n"
    ".s4 { fill: #cf3f75 } .s5 { fill: #7a8b1f } .s6 { fill: #1795b8 } .s7 { fill: #a8682f }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6eaf0 } .soft { fill: #95a0b0 } .bad { fill: #ff7b84 }\n"
    ".paper { fill: #12161d } .grid { stroke: #242b36 } .axis { stroke: #566171 }\n"
    ".one { stroke: #95a0b0 } .roof { stroke: #e6eaf0 } .under { fill: #181e27 }\n"
    ".floor { stroke: #e6eaf0 } .stem { stroke: #3a4452 } .dot { stroke: #12161d }\n"
    ".peer { fill: #66717f }\n"
    ".s0 { fill: #6ea1ff } .s1 { fill: #f79a5c } .s2 { fill: #43c7ae } .s3 { fill: #b58cf0 }\n"
    ".s4 { fill: #f2739f } .s5 { fill: #b3c64a } .s6 { fill: #4fc3e3 } .s7 { fill: #d39a63 }\n"
    "}\n"
    "</style>\n";

void svg_write_style(tile_writer writer, void *user) {
    writer(style, sizeof style - 1, user);
}
