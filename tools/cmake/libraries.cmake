# The libraries of the programs, and the module with the CUDA backend.
# Makes the target a module that the program loads. The module exports one name.
function(gpusort_module name)
  set(exports ${CMAKE_SOURCE_DIR}/kernels/module_exports.map)
  set_target_properties(${name} PROPERTIES PREFIX "" LINK_DEPENDS ${exports})
  target_link_options(${name} PRIVATE LINKER:--version-script=${exports})
endfunction()

add_library(gpusort_backends STATIC kernels/backend.cpp kernels/backend_module.cpp kernels/gpu_group.cpp
                                    kernels/cpu/cpu_backend.cpp kernels/cpu/vqsort.cpp)
target_include_directories(gpusort_backends PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(gpusort_backends PUBLIC gpusort_kernels PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(gpusort_backends SYSTEM PRIVATE ${HWY_CONTRIB_INCLUDE_DIRS})
target_compile_definitions(gpusort_backends PRIVATE GPUSORT_OWN_VQSORT=$<BOOL:${GPUSORT_OWN_VQSORT}>)
if(NOT GPUSORT_OWN_VQSORT)
  target_link_libraries(gpusort_backends PRIVATE PkgConfig::HWY_CONTRIB)
endif()
# GCC copies constants that are not merged to the stack in the innermost loop, which takes five times as long.
set_source_files_properties(kernels/cpu/vqsort.cpp PROPERTIES
                            COMPILE_OPTIONS "-O2;-fmerge-all-constants;-fno-sanitize=all")
# A test makes a module of this library. The names are hidden, so that the code is the same as in a program.
set_target_properties(gpusort_backends PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)

# The CUDA backend is a module. The program looks for the module in its own folder, in lib/gpusort of a prefix or a
# bundle, and in the folder of the installation. The program refuses a module of another release or of other headers.
foreach(header backend.hpp backend_module.hpp error.hpp stuck_driver.hpp records/key.hpp records/record.hpp
               lines/line_key.hpp lines/line_order.hpp)
  file(SHA256 ${CMAKE_SOURCE_DIR}/kernels/${header} sum)
  string(APPEND interface ${sum})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS kernels/${header})
endforeach()
string(SHA256 interface "${interface}")
string(SUBSTRING ${interface} 0 8 interface)
set(module_version GPUSORT_MODULE_VERSION="${PROJECT_VERSION}+${interface}")
set(GPUSORT_MODULE_FOLDER lib/gpusort CACHE STRING "Where the CUDA backend is installed, below the prefix")
target_compile_definitions(gpusort_backends PRIVATE
  ${module_version} GPUSORT_MODULE_DIR="${CMAKE_INSTALL_PREFIX}/${GPUSORT_MODULE_FOLDER}")
if(GPUSORT_CUDA)
  # The tests of the backend, which use its internals, link the objects, too.
  file(GLOB cuda_sources CONFIGURE_DEPENDS kernels/cuda/*.cu)
  add_library(gpusort_cuda_backend OBJECT ${cuda_sources})
  target_link_libraries(gpusort_cuda_backend PUBLIC gpusort_kernels CUDA::cudart_static)
  target_include_directories(gpusort_cuda_backend PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_definitions(gpusort_cuda_backend PRIVATE ${module_version})
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
                                 PRIVATE Boost::iostreams PkgConfig::XXHASH Threads::Threads)
set(codec_libraries ZLIB::ZLIB BZip2::BZip2 LibLZMA::LibLZMA PkgConfig::ZSTD PkgConfig::LZ4)
if(GPUSORT_QUICK_START)
  foreach(library ${codec_libraries})
    target_include_directories(gpusort_io SYSTEM PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  set_source_files_properties(io/codec/codec.cpp io/codec/late_libraries.cpp PROPERTIES
                              COMPILE_DEFINITIONS GPUSORT_LATE_CODECS)
  target_link_libraries(gpusort_io PRIVATE ${CMAKE_DL_LIBS})
else()
  target_link_libraries(gpusort_io PRIVATE ${codec_libraries})
endif()

file(GLOB core_sources CONFIGURE_DEPENDS src/*/*.cpp)
list(FILTER core_sources EXCLUDE REGEX "/src/task/")
add_library(gpusort_core STATIC ${core_sources})
target_include_directories(gpusort_core PUBLIC src)
# The page of --report, as a string.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/watch/report.html.in)
file(READ src/watch/report.html.in report_page)
file(CONFIGURE OUTPUT generated/report_template.hpp @ONLY CONTENT
     "inline constexpr char kReportTemplate[] = R\"page(@report_page@)page\";\n")
# The long texts of --help, as strings. The page of keys is also installed as it is.
foreach(page gpusort.1 gpusort-keys.7)
  configure_file(src/cli/${page}.in generated/${page} @ONLY)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/cli/examples.txt)
file(READ ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort.1 manual_page)
file(READ ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-keys.7 keys_page)
file(READ src/cli/examples.txt examples)
file(CONFIGURE OUTPUT generated/help_texts.hpp @ONLY CONTENT
     "inline constexpr char kManualPage[] = R\"page(@manual_page@)page\";
inline constexpr char kKeysPage[] = R\"page(@keys_page@)page\";
inline constexpr char kExamples[] = R\"page(@examples@)page\";
")
target_include_directories(gpusort_core PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
target_compile_definitions(gpusort_core PRIVATE GPUSORT_VERSION="${PROJECT_VERSION}")
target_link_libraries(gpusort_core PUBLIC gpusort_io gpusort_backends Threads::Threads
                                   PRIVATE Boost::program_options nlohmann_json::nlohmann_json PkgConfig::XXHASH)
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
target_compile_definitions(gpusort_tasks PRIVATE GPUSORT_VERSION="${PROJECT_VERSION}")
target_link_libraries(gpusort_tasks PUBLIC gpusort_core PRIVATE nlohmann_json::nlohmann_json PkgConfig::XXHASH)
