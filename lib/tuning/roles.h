/* The roles of a kernel's parameters (roles.def). Threads: any. */
#ifndef TILE_LIB_TUNING_ROLES_H
#define TILE_LIB_TUNING_ROLES_H

#include "lib/ir/function.h"

typedef enum tile_role {
#define ROLE(name, kind, without, use) TILE_ROLE_##name,
#include "lib/tuning/roles.def"
    TILE_ROLE_COUNT
} tile_role;

/* Where a product's operands come from, as far as other tiles pay for it. */
typedef enum tile_operands {
    TILE_OPERANDS_plain,     /* they are copied from arrays */
    TILE_OPERANDS_computed,  /* one of them is computed in registers */
    TILE_OPERANDS_gathered,  /* rows of one of them are selected by index tiles */
    TILE_OPERANDS_scattered, /* single elements are, whose indices need registers */
    TILE_OPERANDS_scaled,    /* the sums of each step are computed from zero, and scaled */
    TILE_OPERANDS_parts,     /* f32 is multiplied as several bf16 */
    TILE_OPERANDS_packed     /* one of them has elements of 4 bits in memory */
} tile_operands;

/* What a kernel multiplies, and with which tiles. */
typedef struct tile_roles {
    const tile_expr *at[TILE_ROLE_COUNT]; /* a number, a word, a parameter; NULL: it has none */
    tile_op dot;                          /* the first one; TILE_NO_OP: there is none */
    const tile_type *element;             /* of its lhs */
    const tile_type *sum;                 /* of its sums */
    tile_operands operands;
    unsigned chunks;    /* products of a step, each with `k` elements along k */
    bool is_tf32;       /* f32 is multiplied as tf32 */
    bool columns_first; /* the first dim of the grid counts columns of tiles */
} tile_roles;

const char *tile_role_name(tile_role role);
/* How a parameter with this role is used, for diagnostics and the manual. */
const char *tile_role_use(tile_role role);
/* The value without the role, in expressions; NULL: there is none. */
const tile_expr *tile_role_without(tile_context *context, tile_role role);

/* Finds the roles of the kernel, whose operations must have valid types. */
tile_roles tile_find_roles(const tile_function *kernel);

/* The role whose value is the parameter; TILE_ROLE_COUNT: it has none. */
tile_role tile_role_of_param(const tile_roles *roles, const char *param);

/* Whether a `tune` of the kernel's text names the parameter. */
bool tile_has_own_tune(const tile_function *kernel, const char *param);
/* Whether `tune auto` gives the parameter its values: it has neither a default nor a `tune` of its
 * own, and is no type. */
bool tile_is_covered_by_auto(const tile_function *kernel, const tile_param_decl *param);

/* Returns false after a diagnostic for each parameter that `tune auto` covers and that has no role,
 * or has several, and for `raster auto` and `persistent auto` of a kernel without a product. */
bool tile_check_auto(const tile_function *kernel);

#endif
