// A C++17 program of twenty lines: a kernel from the builder, as text.
#include <iostream>
#include <memory>
#include <string>
#include <tile/tile.h>

template <auto destroy> struct by {
    template <class T> void operator()(T *object) const { destroy(object); }
};

int main() {
    std::unique_ptr<tile_context, by<tile_context_destroy>> context{tile_context_create()};
    std::unique_ptr<tile_module, by<tile_module_destroy>> module{tile_module_create(context.get())};
    auto *kernel = tile_function_create(module.get(), TILE_KERNEL, "adds", {});
    auto x = tile_function_add_arg(kernel, "x", tile_type_scalar(context.get(), TILE_i32));
    tile_builder at = tile_builder_at_end(kernel, tile_function_body(kernel));
    tile_build_add(&at, tile_build_block_id(&at), x);
    std::string text;
    auto append = [](const char *more, size_t length, void *to) {
        static_cast<std::string *>(to)->append(more, length);
    };
    tile_module_print(module.get(), append, &text);
    std::cout << tile_version_string() << "\n" << text;
    return tile_context_error_count(context.get());
}
