/* A module's functions by name and by index, while they are added and removed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tile/ir.h"

static tile_function *add(tile_module *module, const char *name) {
    return tile_function_create(module, TILE_KERNEL, name, (tile_loc){0});
}

static const char *name_of(unsigned i) {
    static char name[16];
    snprintf(name, sizeof name, "k%u", i);
    return name;
}

/* Every name and every index must find its function, and nothing else may be found. */
static void check(const tile_module *module, unsigned count, unsigned step) {
    for (unsigned i = 0; i < count; i++) {
        tile_function *f = tile_module_find(module, name_of(i * step));
        cr_assert(f, "%s", name_of(i * step));
        cr_assert_str_eq(tile_function_name(f), name_of(i * step));
        cr_assert_eq(tile_module_function(module, i), f);
    }
    cr_assert_null(tile_module_function(module, count));
    cr_assert_null(tile_module_find(module, "nobody"));
    cr_assert_null(tile_module_find(module, NULL));
}

Test(names, come_and_go) {
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_create(context);
    check(module, 0, 1);
    for (unsigned i = 0; i < 100; i++) cr_assert(add(module, name_of(i)));
    check(module, 100, 1);
    cr_assert_null(add(module, "k7"));
    cr_assert_eq(tile_context_error_count(context), 1);
    for (unsigned i = 1; i < 100; i += 2)
        tile_module_remove(module, tile_module_find(module, name_of(i)));
    check(module, 50, 2);
    cr_assert_null(tile_module_find(module, "k1"));
    tile_module *copy = tile_module_clone(module);
    check(copy, 50, 2);
    cr_assert_neq(tile_module_find(copy, "k2"), tile_module_find(module, "k2"));
    tile_module_remove(module, tile_module_find(copy, "k2")); /* none of this module's */
    cr_assert(add(module, "k1"));                             /* free again */
    cr_assert_eq(tile_module_function(module, 50), tile_module_find(module, "k1"));
    tile_module_destroy(copy);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

/* Would take 5 billion comparisons if each new name were compared with all others. */
Test(names, many, .timeout = 20) {
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_create(context);
    const tile_expr *one = tile_expr_int(context, 1);
    for (unsigned i = 0; i < 100000; i++) {
        tile_function *f = add(module, name_of(i));
        tile_function_set_grid(f, 1, &one);
        tile_function_set_warps(f, one);
    }
    check(module, 100000, 1);
    cr_assert_eq(tile_module_verify(module), TILE_OK);
    tile_module_destroy(module);
    tile_context_destroy(context);
}
