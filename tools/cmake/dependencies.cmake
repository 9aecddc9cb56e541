# Libraries of other projects.
if(GPUSORT_QUICK_START)
  set(Boost_USE_STATIC_LIBS ON)
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
