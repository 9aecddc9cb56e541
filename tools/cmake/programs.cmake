# Programs, their manual pages and completions, the benchmarks and the tuner.
add_executable(gpusort src/main.cpp src/sort.cpp)
target_link_libraries(gpusort PRIVATE gpusort_core)
if(GPUSORT_QUICK_START)
  # Modules link the C++ library as a shared library. Exceptions pass between both, so modules use the program's types.
  set(runtime ${CMAKE_SOURCE_DIR}/kernels/shared_runtime.list)
  set_target_properties(gpusort PROPERTIES LINK_DEPENDS ${runtime})
  target_link_options(gpusort PRIVATE -static-libstdc++ LINKER:--dynamic-list=${runtime} LINKER:--as-needed LINKER:-O1)
  # Links three small functions of libm. The C++ library needs two of them, and is linked after libm.
  target_link_libraries(gpusort PRIVATE ${GPUSORT_STATIC_LIBM})
  target_link_options(gpusort PRIVATE LINKER:--undefined=fegetround LINKER:--undefined=fesetround)
endif()
# A target that needs the program needs its modules, too.
add_dependencies(gpusort ${codec_modules} ${parquet_module})
if(GPUSORT_CUDA)
  add_dependencies(gpusort gpusort_cuda)
endif()
add_executable(gpusort_task src/task.cpp)
target_link_libraries(gpusort_task PRIVATE gpusort_tasks)
add_dependencies(gpusort_task ${codec_modules} ${parquet_module})
if(GPUSORT_QUICK_START)
  target_link_options(gpusort_task PRIVATE -static-libstdc++ LINKER:--dynamic-list=${runtime} LINKER:--as-needed)
endif()

add_custom_command(TARGET gpusort_task POST_BUILD
                   COMMAND gpusort_task --help=man > ${CMAKE_CURRENT_BINARY_DIR}/gpusort_task.1
                   BYPRODUCTS gpusort_task.1 VERBATIM)

# Makes the manual page and the completions by calling the program.
add_custom_command(TARGET gpusort POST_BUILD COMMAND gpusort --help=man > ${CMAKE_CURRENT_BINARY_DIR}/gpusort.1
                   COMMAND gpusort --completion bash > ${CMAKE_CURRENT_BINARY_DIR}/gpusort.bash
                   COMMAND gpusort --completion zsh > ${CMAKE_CURRENT_BINARY_DIR}/_gpusort
                   COMMAND gpusort --completion fish > ${CMAKE_CURRENT_BINARY_DIR}/gpusort.fish
                   BYPRODUCTS gpusort.1 gpusort.bash _gpusort gpusort.fish VERBATIM)

# The checker shares no code with the program, so that it is an independent witness.
foreach(tool gpusort_gen gpusort_check)
  add_executable(${tool} tools/${tool}.cpp src/cli/shell_words.cpp)
  target_include_directories(${tool} PRIVATE ${CMAKE_SOURCE_DIR} tools src ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(${tool} PRIVATE gpusort_kernels Boost::program_options Threads::Threads)
  add_custom_command(TARGET ${tool} POST_BUILD COMMAND ${tool} --help=man > ${CMAKE_CURRENT_BINARY_DIR}/${tool}.1
                     BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/${tool}.1 VERBATIM)
endforeach()
target_sources(gpusort_gen PRIVATE tools/gen/logs.cpp)
target_sources(gpusort_check PRIVATE tools/check/borders.cpp tools/check/logs.cpp tools/check/parquet.cpp
               tools/check/sequence.cpp tools/check/table.cpp tools/check/value.cpp tools/check/written_values.cpp
               tools/check/zone_file.cpp)
# Puts the Python program that checks Parquet into gpusort_check, as a string.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/check/parquet.py)
file(READ tools/check/parquet.py parquet_script)
file(CONFIGURE OUTPUT generated/parquet_script.hpp @ONLY CONTENT
     "inline constexpr char kParquetScript[] = R\"script(@parquet_script@)script\";\n")
# This file defines names that other files also define, so it cannot be part of a unity build.
set_source_files_properties(tools/check/logs.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

if(GPUSORT_BENCH)
  add_executable(gpusort_bench tools/gpusort_bench.cpp tools/bench/report.cpp tools/bench/cmp.cpp src/cli/shell_words.cpp)
  target_include_directories(gpusort_bench PRIVATE ${CMAKE_SOURCE_DIR} tools src ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_compile_definitions(gpusort_bench PRIVATE GPUSORT_CUDA=$<BOOL:${GPUSORT_CUDA}>)
  target_link_libraries(gpusort_bench PRIVATE gpusort_kernels Boost::program_options nlohmann_json::nlohmann_json
                                              Threads::Threads)
  if(GPUSORT_CUDA)
    file(GLOB bench_sources CONFIGURE_DEPENDS tools/bench/*.cu)
    target_sources(gpusort_bench PRIVATE ${bench_sources})
    target_compile_options(gpusort_bench PRIVATE ${compress_kernels})
    target_link_libraries(gpusort_bench PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  endif()
endif()

# The tuner is not in the default build, as its kernels take half an hour to compile: ninja gpusort_tune.
if(GPUSORT_CUDA)
  add_executable(gpusort_tune EXCLUDE_FROM_ALL tools/tune/main.cpp)
  target_include_directories(gpusort_tune PRIVATE ${CMAKE_SOURCE_DIR} tools/tune)
  target_link_libraries(gpusort_tune PRIVATE gpusort_kernels CUDA::cudart_static)
  foreach(bytes 4 8 16)
    foreach(kind RANGE 5)
      foreach(threads 128 256 512)
        set(part tune_${bytes}_${kind}_${threads})
        add_library(${part} OBJECT EXCLUDE_FROM_ALL tools/tune/kernels.cu)
        target_compile_definitions(${part} PRIVATE GPUSORT_TUNE_BYTES=${bytes} GPUSORT_TUNE_KIND=${kind}
                                                   GPUSORT_TUNE_THREADS=${threads})
        target_include_directories(${part} PRIVATE ${CMAKE_SOURCE_DIR} tools/tune)
        target_link_libraries(${part} PRIVATE gpusort_kernels)
        target_link_libraries(gpusort_tune PRIVATE ${part})
      endforeach()
    endforeach()
  endforeach()
endif()
