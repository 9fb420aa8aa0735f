# Defines what `cmake --install` copies to a prefix: the library, headers, tools, kernels, examples, documents, and
# files for pkg-config and CMake. All paths in it are relative, so the installed tree may be moved.
set(tile_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tile)
set(tile_data_folder ${CMAKE_INSTALL_DATADIR}/tile)

install(TARGETS tile EXPORT tile_shared RUNTIME LIBRARY ARCHIVE INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS tile_static EXPORT tile_static ARCHIVE INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${tile_programs} RUNTIME)
install(DIRECTORY include/tile DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# ---- Kernels, examples and documents ----------------------------------------------------------------
install(DIRECTORY tools/kernels DESTINATION ${tile_data_folder})
install(FILES tools/tile-bench/attention/attention_peers.py tools/tile-bench/rows/rows_peers.py
              tools/tile-bench/program/program_peers.py DESTINATION ${tile_data_folder})
install(FILES ${examples} tools/examples/CMakeLists.txt DESTINATION ${tile_data_folder}/examples)
# The manual is generated from the compiler's tables.
set(manual ${CMAKE_BINARY_DIR}/manual.txt)
add_custom_command(OUTPUT ${manual} COMMAND tile-opt --manual=all -o ${manual} DEPENDS tile-opt tile VERBATIM
                   COMMENT "Printing the manual")
add_custom_target(tile_manual ALL DEPENDS ${manual})
install(FILES README.md tools/tile-opt/tutorial.md ${manual} DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The documents keep their folders, so that links between them work.
foreach(about include/tile lib passes runtime test tools tools/kernels tools/tile-bench)
  install(FILES ${about}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${about})
endforeach()

# ---- pkg-config -------------------------------------------------------------------------------------
set(TILE_STATIC_LIBS "-L${llvm_libdir} ${llvm_libs} -lsqlite3 -lstdc++ -lz -lzstd -ldl -lm -lpthread -Wl,--build-id")
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tools/package/tile.pc.in lib/tile.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/lib/tile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- CMake: find_package(tile) ----------------------------------------------------------------------
include(CMakePackageConfigHelpers)
string(REGEX REPLACE "-l(LLVM[A-Za-z0-9]+)" "\\1" tile_llvm_archives "${llvm_libs}")
set(package ${CMAKE_BINARY_DIR}/package)
set(tile_kernels_folder ${tile_data_folder}/kernels)
configure_package_config_file(tools/package/tileConfig.cmake.in ${package}/tileConfig.cmake
                              INSTALL_DESTINATION ${tile_package_folder} PATH_VARS tile_kernels_folder NO_SET_AND_CHECK_MACRO
                              NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${package}/tileConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${package}/tileConfig.cmake ${package}/tileConfigVersion.cmake DESTINATION ${tile_package_folder})
foreach(kind shared static)
  install(EXPORT tile_${kind} NAMESPACE tile:: FILE tile_${kind}.cmake DESTINATION ${tile_package_folder})
endforeach()
