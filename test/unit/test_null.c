/* NULL and invalid ids passed to every function of the interface (see tile/base.h, "Misuse").
 * test/api/null.test compares the names here with those in the headers. */
#include <criterion/criterion.h>
#include <string.h>

#include "tile/inspect.h"
#include "tile/artifact.h"
#include "tile/build.h"
#include "tile/cache.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/manual.h"
#include "tile/measure.h"
#include "tile/parse.h"
#include "tile/rename.h"
#include "tile/pack.h"
#include "tile/split.h"
#include "tile/strides.h"
#include "tile/tune.h"
#include "tile/tuned.h"

static void drop(const char *text, size_t length, void *user) {
    (void)text;
    *(size_t *)user += length;
}

Test(null, context) {
    tile_report(NULL, TILE_ERROR, (tile_loc){0}, "nobody hears %d", 1);
    tile_context_set_sink(NULL, NULL, NULL);
    tile_context_set_remarks(NULL, true);
    tile_context_destroy(NULL);
    tile_diagnostic_print(NULL, drop, NULL);
    cr_expect_eq(tile_context_error_count(NULL), 0);
    cr_expect_eq(tile_context_add_source(NULL, "a", "b", 1), 0);
    cr_expect_str_eq(tile_context_source_name(NULL, 0), "");
    tile_context *context = tile_context_create();
    cr_expect_str_eq(
        tile_context_source_name(context, tile_context_add_source(context, NULL, NULL, 7)), "");
    cr_expect_str_eq(tile_context_source_name(context, 99), "");
    cr_expect_null(tile_module_parse(NULL, "a", "b", 1));
    cr_expect_null(tile_module_parse_with(NULL, "a", "b", 1, NULL));
    cr_expect_eq(tile_resolve_file(NULL, NULL, NULL), TILE_INVALID);
    tile_release_file(NULL, NULL);
    cr_expect_not(tile_file_identity(NULL, NULL));
    size_t written = 0;
    cr_expect_null(tile_pass_renamed(NULL));
    cr_expect_eq(tile_migrate(NULL, "a", "b", 1, drop, &written), TILE_INVALID);
    cr_expect_eq(tile_migrate(context, "a", "b", 1, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_migrate(context, NULL, NULL, 7, drop, &written), TILE_OK);
    tile_module *module = tile_module_parse(context, NULL, NULL, 7); /* there is no text */
    cr_expect_not_null(module);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

Test(null, expressions_and_types) {
    tile_context *context = tile_context_create();
    const tile_expr *one = tile_expr_int(context, 1);
    const int64_t dim = 8;
    int64_t value = 5;
    cr_expect_null(tile_expr_int(NULL, 1));
    cr_expect_null(tile_expr_float(NULL, 1));
    cr_expect_null(tile_expr_param(NULL, "a"));
    cr_expect_null(tile_expr_word(NULL, "a"));
    cr_expect_null(tile_expr_arg(NULL, 1));
    cr_expect_null(tile_expr_num_sms(NULL));
    cr_expect_null(tile_expr_block_id(NULL, 0));
    cr_expect_null(tile_expr_block_id(context, 3));
    cr_expect_not(tile_expr_eval(tile_expr_block_id(context, 2), NULL, &value));
    cr_expect_not(tile_expr_eval(tile_expr_num_sms(context), NULL, &value));
    cr_expect_null(tile_expr_op(NULL, TILE_OP_add, one, one, NULL));
    cr_expect_null(tile_expr_op(context, TILE_OP_add, one, NULL, NULL));
    cr_expect_not_null(tile_expr_param(context, NULL));
    cr_expect_not_null(tile_expr_word(context, NULL));
    cr_expect_not(tile_expr_is_int(NULL, &value));
    cr_expect_not(tile_expr_eval(NULL, NULL, &value));
    cr_expect_not(tile_expr_eval(tile_expr_arg(context, 0), NULL, &value));
    cr_expect_null(tile_expr_substitute(context, NULL, NULL));
    cr_expect_eq(tile_expr_substitute(context, one, NULL), one);
    cr_expect_null(tile_type_get(NULL, NULL));
    cr_expect_null(tile_type_get(context, NULL));
    cr_expect_null(tile_type_scalar(NULL, TILE_f32));
    cr_expect_null(tile_type_ptr(NULL, TILE_f32));
    cr_expect_null(tile_type_vector(NULL, TILE_f32, 4));
    cr_expect_null(tile_type_tensor(NULL, TILE_f32, 1, &dim));
    cr_expect_null(tile_type_tensor(context, TILE_f32, 1, NULL));
    cr_expect_null(tile_type_view(NULL, TILE_f32, 1, &dim));
    cr_expect_null(tile_type_tile(NULL, TILE_f32, 1, &dim));
    cr_expect_null(tile_type_shared(NULL, TILE_f32, 2, 1, &dim));
    cr_expect_null(tile_type_descriptor(NULL, TILE_f16, false));
    cr_expect_null(tile_type_in_cluster(context, NULL));
    cr_expect_null(tile_type_in_cluster(
        context, tile_type_tile(context, TILE_f32, 1, &dim))); /* not a shared buffer */
    cr_expect_null(tile_type_with_layout(context, NULL, NULL));
    cr_expect_null(tile_type_with_scalar(context, NULL, TILE_f32));
    cr_expect_eq(tile_type_dim(NULL, 0), -1);
    cr_expect_eq(tile_type_dim(tile_type_tile(context, TILE_f32, 1, &dim), 7), -1);
    cr_expect_eq(tile_type_elements(NULL), -1);
    cr_expect_eq(tile_type_stage_count(NULL), -1);
    cr_expect_eq(tile_type_registers(NULL), 0);
    tile_context_destroy(context);
}

Test(null, tables) {
    int64_t integer;
    double number = 0;
    cr_expect_null(tile_op_get_info((tile_opcode)-1)->name);
    cr_expect_null(tile_attr_get_info((tile_attr_id)-1)->name);
    cr_expect_null(tile_attr_word((tile_attr_id)-1, 0));
    cr_expect_eq(tile_opcode_from_name(NULL, 3), TILE_OP_NONE);
    cr_expect_null(tile_kind_from_name(NULL, 3));
    cr_expect_eq(tile_attr_from_name(NULL, 3), TILE_ATTR_NONE);
    cr_expect_eq(tile_scalar_from_name(NULL, 3), TILE_SCALAR_NONE);
    cr_expect_not_null(tile_scalar_name((tile_scalar)-1));
    cr_expect_eq(tile_scalar_bits((tile_scalar)-1), 0);
    cr_expect_eq(tile_scalar_bytes((tile_scalar)-1), 0);
    cr_expect_eq(tile_scalar_mantissa((tile_scalar)-1), 0);
    cr_expect_leq(tile_scalar_whole_limit((tile_scalar)-1), 1);
    cr_expect_not(tile_scalar_is_floating((tile_scalar)-1));
    cr_expect_not(tile_scalar_is_unsigned((tile_scalar)-1));
    cr_expect_not(tile_scalar_has_arithmetic((tile_scalar)-1));
    cr_expect_eq(tile_scalar_read((tile_scalar)-1, &number), 0);
    tile_scalar_write((tile_scalar)-1, &number, 1);
    cr_expect_not(tile_op_has_trait((tile_opcode)-1, TILE_TRAIT_ELEMENTWISE));
    cr_expect_not(tile_fold_int((tile_opcode)-1, 1, 1, 1, &integer));
    cr_expect_not(tile_fold_float((tile_opcode)-1, TILE_f32, 1, 1, 1, &number));
    cr_expect_str_eq(tile_status_name((tile_status)-1), "unknown");
    cr_expect_null(tile_target_find(NULL));
    cr_expect_null(tile_target_at(1000));
    cr_expect_null(tile_pass_at(1000));
    cr_expect_not_null(tile_default_pipeline(1000));
    cr_expect_eq(tile_api_version(), TILE_API_VERSION);
    cr_expect_str_eq(tile_version_string(), TILE_VERSION_STRING);
    tile_manual_print(NULL, NULL);
    cr_expect_not(tile_manual_print_chapter("types", NULL, NULL, NULL));
    cr_expect_not(tile_manual_print_operation("add", NULL, NULL, NULL));
}

Test(null, modules) {
    size_t printed = 0;
    cr_expect_null(tile_module_create(NULL));
    cr_expect_null(tile_module_context(NULL));
    cr_expect_null(tile_module_function(NULL, 0));
    cr_expect_null(tile_module_find(NULL, "k"));
    cr_expect_null(tile_module_clone(NULL));
    tile_module_remove(NULL, NULL);
    tile_module_destroy(NULL);
    tile_module_print(NULL, drop, &printed);
    tile_function_print(NULL, drop, &printed);
    cr_expect_eq(printed, 0);
    cr_expect_eq(tile_module_verify(NULL), TILE_INVALID);
    cr_expect_eq(tile_function_verify(NULL), TILE_INVALID);
    cr_expect_null(tile_function_create(NULL, TILE_KERNEL, "k", (tile_loc){0}));
}

/* Without a function, and for a function that does not have the id. */
static void read_nothing(const tile_function *f) {
    const tile_op op = {123456789};
    const tile_value value = {123456789};
    const tile_region region = {123456789};
    cr_expect_eq(tile_function_arg(f, 99).id, 0);
    cr_expect_null(tile_function_arg_name(f, 99));
    cr_expect_null(tile_function_arg_type(f, 99));
    cr_expect_eq(tile_function_arg_divisible(f, 99), 0);
    cr_expect_null(tile_function_arg_extent(f, 99, 0));
    cr_expect_null(tile_function_arg_stride(f, 99, 0));
    cr_expect_null(tile_function_result_name(f, 99));
    cr_expect_eq(tile_region_first(f, region).id, 0);
    cr_expect_eq(tile_region_arg(f, region, 0).id, 0);
    cr_expect_eq(tile_op_next(f, op).id, 0);
    cr_expect_eq(tile_op_opcode(f, op), TILE_OP_NONE);
    cr_expect_eq(tile_op_loc(f, op).line, 0);
    cr_expect_eq(tile_op_operand_count(f, op), 0);
    cr_expect_eq(tile_op_operand(f, op, 0).id, 0);
    cr_expect_eq(tile_op_result_count(f, op), 0);
    cr_expect_eq(tile_op_result(f, op, 0).id, 0);
    cr_expect_eq(tile_op_region(f, op, 0).id, 0);
    cr_expect_eq(tile_function_result(f, 99).id, 0);
    cr_expect_eq(tile_value_op(f, value).id, 0);
    cr_expect_null(tile_value_type(f, value));
    cr_expect_null(tile_value_type(f, (tile_value){0}));
}

static void change_nothing(tile_function *f) {
    const int64_t list[] = {1};
    const tile_op op = {123456789};
    tile_function_set_arg_divisible(f, 99, 8);
    tile_function_set_arg_noalias(f, 99, true);
    tile_function_set_arg_const(f, 99, true);
    tile_function_set_arg_value(f, 99, 4);
    tile_function_set_result(f, 99, (tile_value){1});
    tile_function_set_arg_strides(f, 99, NULL);
    tile_function_set_result_strides(f, 99, NULL);
    cr_expect_null(tile_function_result_stride(f, 99, 0));
    tile_op_set_flag(f, op, TILE_ATTR_fast);
    tile_op_set_int(f, op, TILE_ATTR_unroll, 2);
    tile_op_set_expr(f, op, TILE_ATTR_unroll, NULL);
    tile_op_set_list(f, op, TILE_ATTR_order, list, 1);
    tile_op_set_text(f, op, TILE_ATTR_text, "said");
    tile_op_set_values(f, op, TILE_ATTR_values, NULL, 1);
    tile_op_set_constant(f, op, TILE_ATTR_pad, NULL, NULL);
    tile_value_set_name(f, (tile_value){123456789}, "a");
    tile_value_set_name(f, (tile_value){0}, "a");
}

Test(null, no_function) {
    read_nothing(NULL);
    change_nothing(NULL);
    cr_expect_null(tile_function_name(NULL));
    cr_expect_eq(tile_function_get_kind(NULL), 0);
    cr_expect_eq(tile_function_level(NULL), 0);
    cr_expect_not(tile_function_has_number(NULL, NULL));
    tile_function_set_level(NULL, 3);
    cr_expect_eq(tile_function_arg_count(NULL), 0);
    cr_expect_eq(tile_function_result_count(NULL), 0);
    cr_expect_eq(tile_function_body(NULL).id, 0);
    cr_expect_eq(tile_function_add_arg(NULL, "x", NULL).id, 0);
    cr_expect_eq(tile_function_add_view_arg(NULL, "x", NULL, 1, NULL, NULL).id, 0);
    tile_function_add_param(NULL, "x", TILE_PARAM_int, NULL, NULL);
    tile_function_add_result(NULL, "x", NULL);
    tile_function_set_grid(NULL, 0, NULL);
    tile_function_set_cluster(NULL, 0, NULL);
    tile_function_set_flat(NULL, true);
    tile_function_set_warps(NULL, NULL);
    tile_function_set_raster(NULL, TILE_RASTER_ROWS, NULL);
    tile_function_set_persistent(NULL, true, NULL);
    tile_function_set_persistent_if(NULL, NULL);
    tile_function_set_sync_explicit(NULL, true);
    tile_function_set_reference(NULL, "x", NULL, 1);
    cr_expect_null(tile_function_reference(NULL));
    tile_function_set_raster_auto(NULL);
    tile_function_set_persistent_auto(NULL);
    tile_function_set_tune_auto(NULL, true);
    tile_function_add_where(NULL, NULL);
    tile_function_add_tune(NULL, 0, NULL, 0, NULL);
}

static void build_nothing(tile_builder *b) {
    const tile_segment segments[] = {{{1}, NULL, 0}, {{1}, NULL, 0}};
    cr_expect_eq(tile_build_op(b, TILE_OP_add, segments, 2, NULL).id, 0);
    cr_expect_eq(tile_build_op_value(b, TILE_OP_add, segments, 2, NULL).id, 0);
    cr_expect_eq(tile_build_constant(b, NULL, NULL).id, 0);
    cr_expect_eq(
        tile_build_for_loop(b, (tile_value){1}, (tile_value){1}, (tile_value){1}, NULL, 0).id, 0);
    cr_expect_eq(tile_build_while_loop(b, NULL, 0).id, 0);
    cr_expect_eq(tile_build_role_regions(b, NULL, NULL, NULL, 2).id, 0);
    cr_expect_eq(tile_build_if_else(b, (tile_value){1}, NULL, 0).id, 0);
    cr_expect_eq(tile_build_sync_explicit(b, NULL, 0).id, 0);
    cr_expect_eq(tile_build_parallel(b, NULL, 1, NULL, 0).id, 0);
    cr_expect_eq(tile_build_launch(b, NULL, NULL, 1, NULL, 1).id, 0);
    cr_expect_eq(tile_build_call(b, NULL, NULL, 1, NULL, 1).id, 0);
    tile_build_sync(b, (tile_value){0}, (tile_value){0});
}

Test(null, builders) {
    tile_builder at_end = tile_builder_at_end(NULL, (tile_region){1});
    tile_builder before = tile_builder_before(NULL, (tile_op){1});
    build_nothing(NULL);
    build_nothing(&at_end);
    build_nothing(&before);
    cr_expect_eq(tile_build_int(NULL, 1).id, 0);
    cr_expect_eq(tile_build_float(NULL, 1).id, 0);
    cr_expect_eq(tile_build_int(&at_end, 1).id, 0);
    cr_expect_eq(tile_build_float(&at_end, 1).id, 0);
}

typedef struct seen {
    char last[256];
} seen;

static void keep(const tile_diagnostic *diagnostic, void *user) {
    strncpy(((seen *)user)->last, diagnostic->message, 255);
}

/* A kernel with one loop: invalid ids are reported or ignored, and it does not change. */
Test(null, ids_of_a_function) {
    static const char text[] = "kernel @k(%n: i32) grid [1] warps 1 {\n"
                               "  for %i = 0 to %n step 1 { sync }\n}\n";
    seen last = {{0}};
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, keep, &last);
    tile_module *module = tile_module_parse(context, "k.tile", text, strlen(text));
    tile_function *f = tile_module_function(module, 0);
    tile_op loop = tile_region_first(f, tile_function_body(f));
    tile_op sync = tile_region_first(f, tile_op_region(f, loop, 0));
    read_nothing(f);
    change_nothing(f);
    cr_expect_eq(tile_context_error_count(context), 0);

    tile_builder b = tile_builder_before(f, (tile_op){123456789});
    tile_build_sync(&b, (tile_value){0}, (tile_value){0});
    cr_expect_str_eq(last.last, "this place does not belong to @k");
    b = tile_builder_at_end(f, (tile_region){123456789});
    tile_build_sync(&b, (tile_value){0}, (tile_value){0});
    cr_expect_str_eq(last.last, "this region does not belong to @k");
    b = tile_builder_at_end(f, tile_function_body(f)); /* and before an operation in the loop */
    b.before = sync;
    last.last[0] = 0;
    tile_build_sync(&b, (tile_value){0}, (tile_value){0});
    cr_expect_str_eq(last.last, "this place does not belong to @k");
    tile_op_set_flag(f, loop, (tile_attr_id)99);
    cr_expect_str_eq(last.last, "there is no attribute of number 99");
    cr_expect_eq(tile_function_verify(f), TILE_OK);
    size_t printed = 0;
    tile_function_print(f, drop, &printed);
    tile_module_print(module, NULL, NULL);
    cr_expect_gt(printed, 0);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

/* Declarations without names and expressions are refused by the verifier. */
Test(null, declarations) {
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_create(context);
    tile_function *f = tile_function_create(module, TILE_KERNEL, NULL, (tile_loc){0});
    cr_assert(f);
    cr_expect_str_eq(tile_function_name(f), "");
    tile_function_set_grid(f, 3, NULL);
    tile_function_set_cluster(f, 3, NULL);
    tile_function_add_where(f, NULL);
    tile_function_add_param(f, NULL, TILE_PARAM_int, NULL, NULL);
    cr_expect_eq(tile_function_verify(f), TILE_INVALID);
    size_t printed = 0;
    tile_module_print(module, drop, &printed);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

Test(null, compiling) {
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_create(context);
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_80")};
    tile_blob blob;
    tile_abi *abi;
    tile_function *f;
    int64_t grid[3], bytes[2], shape[TILE_MAX_RANK];
    size_t printed = 0;
    cr_expect_eq(tile_emit(NULL, TILE_EMIT_PTX, &options, &blob), TILE_INVALID);
    cr_expect_eq(tile_annotate(NULL, &blob, &blob), TILE_INVALID);
    cr_expect_eq(tile_annotate(&(tile_dump_options){0}, NULL, &blob), TILE_INVALID);
    cr_expect_eq(tile_inspect_spills(NULL, &blob, NULL), TILE_INVALID);
    cr_expect_eq(tile_inspect_spills(&(tile_dump_options){0}, NULL, NULL), TILE_INVALID);
    tile_resources_destroy(NULL);
    cr_expect_eq(tile_instantiate(NULL, "k", NULL, 0), TILE_INVALID);
    tile_note_fitting_point(NULL, NULL, NULL, 0, NULL);
    cr_expect_eq(tile_run_passes(NULL, "dce", NULL), TILE_INVALID);
    cr_expect_eq(tile_lower(NULL, "k", NULL, 0, NULL, NULL, &f), TILE_INVALID);
    cr_expect_null(f);
    cr_expect_eq(tile_lower(module, NULL, NULL, 0, NULL, NULL, NULL), TILE_INVALID);
    const char *made = "";
    unsigned left = 0;
    cr_expect_eq(tile_schedule(NULL, "k", NULL, NULL, &left, &made), TILE_INVALID);
    cr_expect_null(made);
    cr_expect_eq(tile_schedule(module, NULL, NULL, NULL, &left, &made), TILE_INVALID);
    cr_expect_eq(tile_schedule(module, "k", NULL, NULL, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_compile(NULL, "k", NULL, 0, &options, &blob, &abi), TILE_INVALID);
    cr_expect_null(abi);
    cr_expect_eq(tile_assemble(NULL, &blob, options.target, NULL, &blob), TILE_INVALID);
    cr_expect_eq(tile_assemble(context, NULL, options.target, NULL, &blob), TILE_INVALID);
    tile_resources resources;
    const uint32_t nowhere[TILE_MAX_RANK] = {0};
    cr_expect_eq(tile_inspect_layouts(NULL, NULL, NULL, NULL, NULL, NULL), 0);
    tile_module_list(NULL, NULL, NULL, NULL);
    tile_module_list_json(NULL, NULL, NULL, NULL);
    cr_expect_eq(tile_layout_registers(NULL), 0);
    cr_expect_eq(tile_layout_extent(NULL, 0), 0);
    cr_expect_eq(tile_layout_index(NULL, nowhere), 0);
    cr_expect_eq(tile_layout_apply(NULL, 0, 0, 0), 0);
    cr_expect_eq(tile_disassemble(NULL, &blob, options.target, NULL, "x", &blob), TILE_INVALID);
    cr_expect_eq(tile_disassemble(context, NULL, options.target, NULL, "x", &blob), TILE_INVALID);
    cr_expect_eq(tile_inspect_resources(NULL, NULL, NULL, options.target, "x", &resources),
                 TILE_INVALID);
    tile_resources_print(NULL, false, drop, &printed);
    tile_resources_print(&resources, false, NULL, NULL);
    cr_expect_eq(printed, 0);
    tile_blob_destroy(NULL);
    cr_expect_null(tile_abi_create(NULL));
    cr_expect_null(tile_abi_read(NULL, "{}", 2));
    cr_expect_null(tile_abi_read(context, NULL, 2));
    cr_expect_null(tile_abi_entry(NULL));
    cr_expect_null(tile_abi_arg_at(NULL, 0));
    cr_expect_eq(tile_abi_arg_count(NULL), 0);
    cr_expect_eq(tile_abi_warps(NULL), 0);
    cr_expect_eq(tile_abi_shared_bytes(NULL), 0);
    cr_expect_eq(tile_abi_variant_count(NULL), 0);
    cr_expect_eq(tile_abi_variant(NULL), 0);
    cr_expect_null(tile_abi_condition_at(NULL, 0, 0));
    cr_expect_eq(tile_abi_pick_variant(NULL, NULL), 0);
    cr_expect_null(tile_condition_name((tile_condition_kind)0));
    cr_expect_eq(tile_abi_grid(NULL, NULL, NULL, grid), TILE_INVALID);
    cr_expect_eq(tile_abi_scratch(NULL, NULL, NULL, &bytes[0], &bytes[1]), TILE_INVALID);
    cr_expect_eq(tile_abi_view_shape(NULL, 0, NULL, shape, shape), TILE_INVALID);
    cr_expect_eq(tile_abi_view_bytes(NULL, 0, NULL, &bytes[0], &bytes[1]), TILE_INVALID);
    cr_expect_eq(tile_abi_table_extents(NULL, 0, NULL, grid), TILE_INVALID);
    cr_expect_eq(tile_abi_table_entries(NULL, 0, NULL, grid), TILE_INVALID);
    cr_expect_eq(tile_abi_make_table(NULL, 0, NULL, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_abi_tensor_map_count(NULL), 0);
    cr_expect_eq(tile_abi_tensor_map(NULL, 0, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_abi_parameter_count(NULL), 0);
    cr_expect_null(tile_abi_parameter_at(NULL, 0));
    cr_expect_null(tile_parameter_kind_name((tile_parameter_kind)-1));
    tile_abi_print(NULL, drop, &printed);
    tile_abi_destroy(NULL);
    tile_artifact_key key;
    tile_artifact *artifact;
    const tile_build_options build = {.size = sizeof build, .target = options.target};
    cr_expect_eq(tile_artifact_make_key(NULL, "k", &build, &key), TILE_INVALID);
    cr_expect_str_eq(key.text, "");
    cr_expect_eq(tile_artifact_build(NULL, "k", &build, &artifact), TILE_INVALID);
    cr_expect_null(artifact);
    cr_expect_eq(tile_artifact_read(NULL, "", 0, &artifact), TILE_INVALID);
    cr_expect_eq(tile_artifact_read(context, NULL, 99, &artifact), TILE_INVALID);
    cr_expect_null(artifact);
    cr_expect_eq(tile_artifact_kernel_count(NULL), 0);
    cr_expect_null(tile_artifact_plan(NULL));
    cr_expect_null(tile_artifact_kernel_at(NULL, 0));
    tile_artifact_write(NULL, drop, &printed);
    tile_artifact_destroy(NULL);
    cr_expect_eq(printed, 0);
    cr_expect_eq(tile_compute_shapes(NULL, NULL, 0, NULL, 0), TILE_INVALID);
    cr_expect_eq(tile_compute_run(NULL, NULL, 0, NULL, 0), TILE_INVALID);
    cr_expect_eq(tile_compute_shapes_with(NULL, NULL, 0, NULL, 0, NULL, 0), TILE_INVALID);
    cr_expect_eq(tile_compute_run_with(NULL, NULL, 0, NULL, 0, NULL, 0), TILE_INVALID);
    cr_expect_eq(tile_reference_values(NULL, NULL, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_compute_run_intervals(NULL, NULL, 0, NULL, 0, NULL, NULL, 0, TILE_f64),
                 TILE_INVALID);
    cr_expect_not(tile_interval_holds((tile_interval){1, 2}, 3)); /* takes no pointers */
    cr_expect_not(tile_compute_rounds(NULL));
    tile_product_inputs inputs;
    cr_expect_not(tile_compute_find_product(NULL, &inputs));
    tile_product_vectors(NULL, NULL, 1, NULL);
    cr_expect_eq(tile_product_wrong_rows(NULL, NULL, NULL), 0);
    cr_expect_eq(tile_plan_print(NULL, drop, NULL), TILE_INVALID);
    cr_expect_eq(tile_plan_take_points(NULL), TILE_INVALID);
    cr_expect_eq(tile_reference_shapes(NULL, NULL, NULL, NULL, NULL, NULL, 0), TILE_INVALID);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

static void visit_point(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    (void)key, (void)point;
    *(size_t *)user += 1;
}

Test(null, caches) {
    tile_context *context = tile_context_create();
    tile_cache *cache;
    size_t points = 0;
    tile_artifact_key key = {"0123"};
    const tile_point_key point_key = {.kernel = NULL};
    tile_tuned_point point;
    cr_expect_eq(tile_cache_create(NULL, "/tmp", NULL, &cache), TILE_INVALID);
    cr_expect_null(cache);
    cr_expect_eq(tile_cache_create(context, NULL, NULL, &cache), TILE_INVALID);
    cr_expect_null(cache);
    tile_cache_destroy(NULL);
    cr_expect_not(tile_cache_get_statistics(NULL).usable);
    cr_expect_eq(tile_cache_clear(NULL, TILE_CACHE_ARTIFACTS), TILE_INVALID);
    cr_expect_eq(tile_cache_trim(NULL, 0), TILE_INVALID);
    cr_expect_null(tile_cache_find_artifact(NULL, &key));
    cr_expect_not(tile_cache_keep_artifact(NULL, &key, NULL));
    cr_expect_not(tile_cache_find_point(NULL, &point_key, &point));
    cr_expect_not(tile_cache_keep_point(NULL, &point_key, &point));
    tile_cache_list_points(NULL, visit_point, &points);
    tile_cache_list_bucket(NULL, NULL, NULL, NULL);
    cr_expect_eq(points, 0);
    tile_context_destroy(context);
}

Test(null, devices) {
    tile_device *device = (tile_device *)1;
    tile_buffer *buffer;
    tile_kernel *kernel;
    tile_kernel_attributes attributes;
    double time;
    cr_expect_eq(tile_device_create_cpu(NULL, NULL, &device), TILE_INVALID);
    cr_expect_null(device);
    cr_expect_eq(tile_device_create_cuda(NULL, NULL, &device), TILE_INVALID);
    cr_expect_null(device);
    tile_device_destroy(NULL);
    cr_expect_null(tile_device_name(NULL));
    cr_expect_not(tile_device_is_cuda(NULL));
    cr_expect_null(tile_device_target(NULL));
    cr_expect_eq(tile_device_num_sms(NULL), 0);
    cr_expect_eq(tile_device_counts(NULL).operations, 0);
    cr_expect_eq(tile_device_synchronize(NULL), TILE_INVALID);
    cr_expect_eq(tile_encode_tensor_map(NULL, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_buffer_create(NULL, 8, &buffer), TILE_INVALID);
    cr_expect_eq(tile_buffer_wrap(NULL, 8, 8, &buffer), TILE_INVALID);
    cr_expect_eq(tile_buffer_write(NULL, 0, "a", 1), TILE_INVALID);
    cr_expect_eq(tile_buffer_read(NULL, 0, &time, 1), TILE_INVALID);
    cr_expect_eq(tile_buffer_size(NULL), 0);
    tile_buffer_forget(NULL);
    tile_buffer_destroy(NULL);
    cr_expect_eq(tile_kernel_create(NULL, NULL, "k", NULL, 0, &kernel), TILE_INVALID);
    cr_expect_null(kernel);
    cr_expect_null(tile_kernel_abi(NULL));
    cr_expect_null(tile_kernel_ptx(NULL));
    cr_expect_eq(tile_kernel_get_attributes(NULL, &attributes), TILE_INVALID);
    cr_expect_eq(tile_kernel_launch(NULL, NULL, 0, NULL), TILE_INVALID);
    cr_expect_eq(tile_kernel_prepare(NULL, NULL, 0, NULL), TILE_INVALID);
    cr_expect_eq(tile_kernel_set_point(NULL, NULL, 0, NULL, 0), TILE_INVALID);
    const tile_binding *bindings;
    unsigned binding_count;
    cr_expect_eq(tile_kernel_point(NULL, NULL, 0, &bindings, &binding_count), TILE_INVALID);
    cr_expect_eq(tile_kernel_rank_points(NULL, NULL, 0, NULL, NULL), TILE_INVALID);
    cr_expect(!bindings && !binding_count);
    const tile_abi *variant;
    cr_expect_eq(tile_kernel_variant(NULL, NULL, 0, &variant), TILE_INVALID);
    cr_expect_null(variant);
    cr_expect_eq(tile_kernel_time(NULL, NULL, 0, 1, 1, false, &time), TILE_INVALID);
    tile_measurement measured;
    cr_expect_eq(tile_measure(NULL, NULL, 0, NULL, NULL, &measured), TILE_INVALID);
    cr_expect_eq(tile_measure_works(NULL, NULL, 0, NULL, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_measure_steps(NULL, NULL, 0, NULL, NULL, NULL, NULL), TILE_INVALID);
    tile_kernel_destroy(NULL);
    tile_context *context = tile_context_create();
    cr_assert_eq(tile_device_create_cpu(context, NULL, &device), TILE_OK);
    cr_expect_eq(tile_kernel_create(device, NULL, "k", NULL, 0, &kernel), TILE_INVALID);
    tile_device_destroy(device);
    tile_context_destroy(context);
}

Test(null, split) {
    tile_split_point points[TILE_MAX_SPLIT_POINTS];
    const tile_split_point point = {2, NULL};
    cr_expect_eq(tile_split_space(NULL, NULL, points), 0);
    cr_expect_eq(tile_split_write(NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_split_write(NULL, &point), TILE_INVALID);
    cr_expect_eq(tile_pack_arguments(NULL, "a"), TILE_INVALID);
    cr_expect_eq(tile_pack_arguments(NULL, NULL), TILE_INVALID);
}

Test(null, tunings) {
    tile_tuning *tuning;
    cr_expect_eq(tile_tune(NULL, NULL, "k", NULL, 0, NULL, &tuning), TILE_INVALID);
    cr_expect_null(tuning);
    cr_expect_null(tile_tuning_best(NULL));
    cr_expect_null(tile_tuning_candidate_at(NULL, 0));
    cr_expect_eq(tile_tuning_candidate_count(NULL), 0);
    cr_expect_null(tile_tuning_get_facts(NULL).name);
    cr_expect_null(tile_candidate_state_name((tile_candidate_state)99));
    cr_expect_eq(tile_tune_serve(-1, -1), 1);
    cr_expect_eq(tile_list_points(NULL, NULL, NULL, 0, NULL, NULL), TILE_INVALID);
    cr_expect_eq(tile_explain_points(NULL, NULL, NULL, NULL), TILE_INVALID);
    tile_tuning_print(NULL, TILE_TUNING_TEXT, NULL, NULL);
    tile_tuning_destroy(NULL);
}

Test(null, tuned_tables) {
    tile_tuned_table *table;
    cr_expect_eq(tile_tuned_table_read(NULL, NULL, 0, &table), TILE_INVALID);
    cr_expect_null(table);
    table = tile_tuned_table_create();
    cr_expect_eq(tile_tuned_table_take(table, NULL, NULL), 0);
    cr_expect_eq(tile_tuned_table_keep(table, NULL), 0);
    tile_tuned_table_write(table, TILE_TABLE_TEXT, NULL, NULL, NULL);
    tile_tuned_table_destroy(table);
    cr_expect_eq(tile_tuned_table_take(NULL, NULL, NULL), 0);
    cr_expect_eq(tile_tuned_table_keep(NULL, NULL), 0);
    cr_expect_eq(tile_tuned_table_count(NULL), 0);
    cr_expect(!tile_tuned_table_at(NULL, 0, NULL, NULL));
    tile_tuned_table_write(NULL, TILE_TABLE_TEXT, NULL, NULL, NULL);
    tile_tuned_table_destroy(NULL);
}
