# The libraries of the programs, and their modules: the CUDA backend and the codecs.
# Makes the target a module that the program loads. The module exports one name.
function(gpusort_module name)
  set(exports ${CMAKE_SOURCE_DIR}/kernels/module_exports.map)
  set_target_properties(${name} PROPERTIES PREFIX "" LINK_DEPENDS ${exports})
  target_link_options(${name} PRIVATE LINKER:--version-script=${exports})
endfunction()

# Sets `result` to the version of a module: the release, and a checksum of the headers that the program and the module
# share.
function(gpusort_module_version result)
  set(interface)
  foreach(header ${ARGN})
    file(SHA256 ${CMAKE_SOURCE_DIR}/${header} sum)
    string(APPEND interface ${sum})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  endforeach()
  string(SHA256 interface "${interface}")
  string(SUBSTRING ${interface} 0 8 interface)
  set(${result} "${PROJECT_VERSION}+${interface}" PARENT_SCOPE)
endfunction()

# Finds and loads modules. The program looks in its own folder, in lib/gpusort of a prefix or a bundle, and in the folder
# of the installation. It refuses a module of another release or of other headers.
set(GPUSORT_MODULE_FOLDER lib/gpusort CACHE STRING "Where the modules are installed, below the prefix")
add_library(gpusort_modules STATIC kernels/module.cpp)
target_include_directories(gpusort_modules PUBLIC ${CMAKE_SOURCE_DIR})
target_compile_definitions(gpusort_modules PRIVATE
                           GPUSORT_MODULE_DIR="${CMAKE_INSTALL_PREFIX}/${GPUSORT_MODULE_FOLDER}")
target_link_libraries(gpusort_modules PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(gpusort_modules PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)

add_library(gpusort_backends STATIC kernels/backend.cpp kernels/backend_module.cpp kernels/gpu_group.cpp
                                    kernels/cpu/cpu_backend.cpp kernels/cpu/vqsort.cpp)
target_include_directories(gpusort_backends PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(gpusort_backends PUBLIC gpusort_kernels PRIVATE gpusort_modules Threads::Threads)
target_include_directories(gpusort_backends SYSTEM PRIVATE ${HWY_CONTRIB_INCLUDE_DIRS})
target_compile_definitions(gpusort_backends PRIVATE GPUSORT_OWN_VQSORT=$<BOOL:${GPUSORT_OWN_VQSORT}>)
if(NOT GPUSORT_OWN_VQSORT)
  target_link_libraries(gpusort_backends PRIVATE PkgConfig::HWY_CONTRIB)
endif()
# GCC copies constants that are not merged to the stack in the innermost loop, which takes five times as long.
set_source_files_properties(kernels/cpu/vqsort.cpp PROPERTIES
                            COMPILE_OPTIONS "-O2;-fmerge-all-constants;-fno-sanitize=all")
# A test makes a module of this library. Names are hidden, so that the code is the same as in a program.
set_target_properties(gpusort_backends PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)

gpusort_module_version(version kernels/backend.hpp kernels/backend_module.hpp kernels/error.hpp
                       kernels/records/key.hpp kernels/records/record.hpp kernels/lines/line_key.hpp
                       kernels/lines/line_order.hpp)
set(module_version ${version})
target_include_directories(gpusort_backends PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
if(GPUSORT_CUDA)
  # The tests of the backend, which use its internals, link the objects, too.
  file(GLOB cuda_sources CONFIGURE_DEPENDS kernels/cuda/*.cu)
  gpusort_cuda_unity(cuda_backend cuda_sources)
  add_library(gpusort_cuda_backend OBJECT ${cuda_sources})
  target_link_libraries(gpusort_cuda_backend PUBLIC gpusort_kernels CUDA::cudart_static)
  target_include_directories(gpusort_cuda_backend PUBLIC ${CMAKE_SOURCE_DIR})
  target_include_directories(gpusort_cuda_backend PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_compile_options(gpusort_cuda_backend PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda> ${compress_kernels})
  # Keeps the messages of ptxas about each kernel, which a test compares.
  set(record_resources ${CMAKE_SOURCE_DIR}/tools/kernel-resources --record ${CMAKE_BINARY_DIR}/kernel-resources
                       ${CMAKE_CUDA_COMPILER_LAUNCHER})
  set_target_properties(gpusort_cuda_backend PROPERTIES CUDA_COMPILER_LAUNCHER "${record_resources}"
                                                        POSITION_INDEPENDENT_CODE ON)
  add_library(gpusort_cuda MODULE kernels/backend.cpp)
  target_link_libraries(gpusort_cuda PRIVATE gpusort_cuda_backend)
  gpusort_module(gpusort_cuda)
endif()

file(GLOB io_sources CONFIGURE_DEPENDS io/*.cpp io/codec/*.cpp)
add_library(gpusort_io STATIC ${io_sources})
target_include_directories(gpusort_io PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(gpusort_io PUBLIC gpusort_kernels gpusort_fmt
                                 PRIVATE gpusort_modules PkgConfig::XXHASH Threads::Threads)
# Each codec is a module, so that the program starts without the libraries and a missing library affects one codec only.
# Tests link the objects of all codecs: gpusort_codecs.
gpusort_module_version(version io/codec/codec_module.hpp kernels/error.hpp)
set(codec_version ${version})
gpusort_module_version(version io/codec/codec_module.hpp io/codec/row_marks.hpp io/codec/row_module.hpp
                       io/codec/row_schema.hpp kernels/error.hpp)
set(rows_version ${version})
target_include_directories(gpusort_io PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
# A new version compiles again only the files that include this header.
file(CONFIGURE OUTPUT generated/version.hpp @ONLY CONTENT "#pragma once
#define GPUSORT_VERSION \"@PROJECT_VERSION@\"
#define GPUSORT_MODULE_VERSION \"@module_version@\"
#define GPUSORT_CODEC_VERSION \"@codec_version@\"
#define GPUSORT_ROWS_VERSION \"@rows_version@\"
")
add_library(gpusort_codecs INTERFACE)
add_library(gz_libraries INTERFACE)
target_link_libraries(gz_libraries INTERFACE ZLIB::ZLIB PkgConfig::DEFLATE)
set(codecs gz bz2 xz zst lz4)
set(codec_libraries gz_libraries BZip2::BZip2 LibLZMA::LibLZMA PkgConfig::ZSTD PkgConfig::LZ4)
foreach(codec library IN ZIP_LISTS codecs codec_libraries)
  add_library(gpusort_codec_${codec} OBJECT io/codec/modules/${codec}.cpp)
  target_include_directories(gpusort_codec_${codec} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(gpusort_codec_${codec} PRIVATE ${library} Boost::headers)
  set_target_properties(gpusort_codec_${codec} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_sources(gpusort_codecs INTERFACE $<TARGET_OBJECTS:gpusort_codec_${codec}>)
  target_link_libraries(gpusort_codecs INTERFACE ${library})
  add_library(gpusort_${codec} MODULE $<TARGET_OBJECTS:gpusort_codec_${codec}>)
  target_link_libraries(gpusort_${codec} PRIVATE ${library})
  set_target_properties(gpusort_${codec} PROPERTIES LINKER_LANGUAGE CXX)
  gpusort_module(gpusort_${codec})
endforeach()
list(TRANSFORM codecs PREPEND gpusort_ OUTPUT_VARIABLE codec_modules)
# The module for Parquet is built if Apache Arrow is there.
if(TARGET gpusort_arrow)
  add_library(gpusort_parquet MODULE io/codec/modules/arrow_decoder.cpp io/codec/modules/arrow_encoder.cpp
                                     io/codec/modules/arrow_tables.cpp io/codec/modules/kept_rows.cpp
                                     io/codec/modules/parquet.cpp io/codec/modules/parquet_decoder.cpp
                                     io/codec/modules/parquet_encoder.cpp io/codec/modules/parquet_footer.cpp
                                     io/codec/modules/parquet_group.cpp
                                     io/codec/modules/parquet_memory.cpp
                                     io/codec/modules/parquet_queue.cpp io/codec/modules/parquet_rows.cpp
                                     io/codec/row_schema.cpp)
  target_include_directories(gpusort_parquet PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(gpusort_parquet PRIVATE gpusort_arrow Threads::Threads)
  set_target_properties(gpusort_parquet PROPERTIES CXX_VISIBILITY_PRESET hidden)
  gpusort_module(gpusort_parquet)
  if(GPUSORT_PACK_ARROW AND arrow_folder)
    set_target_properties(gpusort_parquet PROPERTIES INSTALL_RPATH "$ORIGIN")
  else()
    # CMake itself keeps only folders outside the sources.
    set_target_properties(gpusort_parquet PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "${arrow_folder}")
  endif()
  set(parquet_module gpusort_parquet)
endif()

file(GLOB core_sources CONFIGURE_DEPENDS src/*/*.cpp src/runs/sinks/*.cpp)
list(FILTER core_sources EXCLUDE REGEX "/src/task/")
add_library(gpusort_core STATIC ${core_sources})
# process.cpp holds a signal from the start of every program that it is linked into, so tests must not get it with another
# file.
set_source_files_properties(src/cli/process.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_include_directories(gpusort_core PUBLIC src)
# Puts the page of --report into the program, as a string.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/watch/report.html.in)
file(READ src/watch/report.html.in report_page)
file(CONFIGURE OUTPUT generated/report_template.hpp @ONLY CONTENT
     "inline constexpr char kReportTemplate[] = R\"page(@report_page@)page\";\n")
# Puts the long texts of --help into the program, as strings. The page of keys is also installed unchanged.
foreach(page gpusort.1 gpusort-keys.7 gpusort-instead.7)
  configure_file(src/cli/${page}.in generated/${page} @ONLY)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/cli/examples.txt
             src/cli/gpusort_task.txt)
file(READ ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort.1 manual_page)
file(READ ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-keys.7 keys_page)
file(READ src/cli/examples.txt examples)
file(READ src/cli/gpusort_task.txt task_help)
file(CONFIGURE OUTPUT generated/help_texts.hpp @ONLY CONTENT
     "inline constexpr char kManualPage[] = R\"page(@manual_page@)page\";
inline constexpr char kKeysPage[] = R\"page(@keys_page@)page\";
inline constexpr char kExamples[] = R\"page(@examples@)page\";
inline constexpr char kTaskHelp[] = R\"page(@task_help@)page\";
")
target_include_directories(gpusort_core PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
target_link_libraries(gpusort_core PUBLIC gpusort_io gpusort_backends Threads::Threads
                                   PRIVATE Boost::program_options nlohmann_json::nlohmann_json PkgConfig::XXHASH gpusort_expressions
                                           gpusort_zones)
if(GPUSORT_QUICK_START)
  target_include_directories(gpusort_core SYSTEM PRIVATE
    $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
  set_source_files_properties(src/base/log.cpp PROPERTIES COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL;FMT_HEADER_ONLY")
else()
  target_link_libraries(gpusort_core PRIVATE spdlog::spdlog)
endif()

# The pieces of a job for many processes and machines. Only gpusort_task has them.
file(GLOB task_sources CONFIGURE_DEPENDS src/task/*.cpp)
add_library(gpusort_tasks STATIC ${task_sources})
target_include_directories(gpusort_tasks PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
target_link_libraries(gpusort_tasks PUBLIC gpusort_core PRIVATE nlohmann_json::nlohmann_json PkgConfig::XXHASH)
