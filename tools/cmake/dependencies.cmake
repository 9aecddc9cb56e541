# Libraries of other projects.
if(GPUSORT_QUICK_START)
  set(Boost_USE_STATIC_LIBS ON)
endif()
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 OLD)  # CMake's own FindBoost, with every version of CMake
endif()
find_package(Boost 1.71 REQUIRED COMPONENTS program_options)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
find_package(LibLZMA REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.4)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4>=1.9)
pkg_check_modules(HWY_CONTRIB REQUIRED IMPORTED_TARGET libhwy-contrib)
# The libraries that end up in programs and modules, for the SPDX files of the packages: tools/packaging/spdx. Each has a
# part that links it, a name, a version, a licence and the Debian package that it is built from.
set(used "")
function(gpusort_uses part name version licence package)
  string(APPEND used "${part}\t${name}\t${version}\t${licence}\t${package}\n")
  set(used "${used}" PARENT_SCOPE)
endfunction()
# The package without a version does not have the licence.
string(REGEX MATCH "^[0-9]+[.][0-9]+" boost "${Boost_VERSION_STRING}")
gpusort_uses(program Boost "${Boost_VERSION_STRING}" BSL-1.0 libboost-program-options${boost}-dev)
gpusort_uses(program fmt "${fmt_VERSION}" MIT libfmt-dev)
gpusort_uses(program spdlog "${spdlog_VERSION}" MIT libspdlog-dev)
gpusort_uses(program nlohmann-json "${nlohmann_json_VERSION}" MIT nlohmann-json3-dev)
gpusort_uses(program xxHash "${XXHASH_VERSION}" BSD-2-Clause libxxhash-dev)
gpusort_uses(program Highway "${HWY_CONTRIB_VERSION}" Apache-2.0 libhwy-dev)
gpusort_uses(program Abseil "" Apache-2.0 libabsl-dev)
gpusort_uses(program RE2 "" BSD-3-Clause libre2-dev)
gpusort_uses(program libstdc++ "${CMAKE_CXX_COMPILER_VERSION}" "GPL-3.0-or-later WITH GCC-exception-3.1" libstdc++6)
gpusort_uses(program libm "" LGPL-2.1-or-later libc6-dev)
gpusort_uses(codec zlib "${ZLIB_VERSION_STRING}" Zlib zlib1g)
gpusort_uses(codec bzip2 "${BZIP2_VERSION_STRING}" bzip2-1.0.6 libbz2-1.0)
gpusort_uses(codec liblzma "${LIBLZMA_VERSION_STRING}" LicenseRef-public-domain liblzma5)
gpusort_uses(codec zstd "${ZSTD_VERSION}" "BSD-3-Clause OR GPL-2.0-only" libzstd1)
gpusort_uses(codec lz4 "${LZ4_VERSION}" BSD-2-Clause liblz4-1)
if(GPUSORT_CUDA)
  gpusort_uses(cuda "CUDA run-time library" "${CUDAToolkit_VERSION}" LicenseRef-NVIDIA-CUDA-EULA "")
endif()
gpusort_uses(tests GoogleTest "" BSD-3-Clause libgtest-dev)
gpusort_uses(tests RapidCheck "" BSD-2-Clause librapidcheck-dev)
file(CONFIGURE OUTPUT generated/libraries.tsv CONTENT "${used}" @ONLY)

# vqsort.cpp uses internals of this version, which Debian 12 has. Other versions are linked as a library.
string(COMPARE EQUAL "${HWY_CONTRIB_VERSION}" 1.0.3 own_vqsort_here)
option(GPUSORT_OWN_VQSORT "Compile vqsort from the headers of Highway, for a faster start" ${own_vqsort_here})

# fmt: include <fmt/core.h>, which compiles fast, and call fmt::format. Debian has fmt as a shared library only. A
# library that the program loads at its start costs time, so GPUSORT_QUICK_START makes a static one from fmt's headers.
if(GPUSORT_QUICK_START)
  file(CONFIGURE OUTPUT generated/fmt.cpp @ONLY CONTENT "#define FMT_HEADER_ONLY
#include <fmt/format.h>
[[gnu::used]] std::string (*const emitted)(fmt::string_view, fmt::format_args) = fmt::vformat;
")
  add_library(gpusort_fmt STATIC ${CMAKE_CURRENT_BINARY_DIR}/generated/fmt.cpp)
  target_include_directories(gpusort_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  add_library(gpusort_fmt INTERFACE)
  target_link_libraries(gpusort_fmt INTERFACE fmt::fmt)
endif()

# Links `target` with a library of pkg-config and the libraries that it needs. Debian's CMake packages have the shared
# libraries only, and each of them would cost time at the start.
function(gpusort_link_package target name)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${name})
  if(NOT GPUSORT_QUICK_START)
    target_link_libraries(${target} INTERFACE PkgConfig::${name})
    return()
  endif()
  foreach(library IN LISTS ${name}_STATIC_LIBRARIES)
    if(library MATCHES "^(absl_.*|re2)$")
      find_library(GPUSORT_STATIC_${library} lib${library}.a REQUIRED)
      mark_as_advanced(GPUSORT_STATIC_${library})
      target_link_libraries(${target} INTERFACE ${GPUSORT_STATIC_${library}})
    endif()
  endforeach()
endfunction()
add_library(gpusort_zones INTERFACE)
gpusort_link_package(gpusort_zones absl_time)
add_library(gpusort_expressions INTERFACE)
gpusort_link_package(gpusort_expressions re2)
if(GPUSORT_QUICK_START)
  # Abseil calls functions that libm and the C library both have. The C library is needed anyway, so it comes first. g++
  # would move a plain -lc to the end.
  target_link_libraries(gpusort_zones INTERFACE -Wl,-lc)
endif()
