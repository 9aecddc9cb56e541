# Options, languages and flags.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(GPUSORT_CUDA "Build the CUDA backend (needs nvcc 12.4 or newer)" ON)
option(GPUSORT_TESTS "Build the tests" ON)
option(GPUSORT_BENCH "Build the benchmarks" ON)
set(GPUSORT_TEST_LABEL "" CACHE STRING "Build only the unit tests and fuzz targets with this label; all if it is empty")
option(GPUSORT_CUDA_UNITY "Compile all CUDA files of a target as one" OFF)
option(GPUSORT_TEST_FUZZ_ONCE "Leave out fuzz targets that tools/test builds with ASan" OFF)
option(GPUSORT_FUZZ "Build the fuzz targets, and everything for them (needs clang)" OFF)

# Links few libraries dynamically, so that the program starts as fast as GNU sort: see src/DESIGN.md, Start.
find_library(GPUSORT_STATIC_OPTIONS libboost_program_options.a)
find_library(GPUSORT_STATIC_LIBM libm.a)
mark_as_advanced(GPUSORT_STATIC_OPTIONS GPUSORT_STATIC_LIBM)
set(quick_start_here OFF)
if(GPUSORT_STATIC_OPTIONS AND GPUSORT_STATIC_LIBM AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64
   AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(quick_start_here ON)
endif()
option(GPUSORT_QUICK_START "Link Boost, spdlog and the C++ library into the program" ${quick_start_here})

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>)
# Two folders give the same programs. Debuggers need the real names of sources.
foreach(language C CXX)
  add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:${language}>>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>)
endforeach()
if(CMAKE_UNITY_BUILD)
  # GCC warns of types with members from an anonymous namespace in every file that another file includes, which a unity
  # build does with all files. GCC 12 takes "text" + std::string for a copy onto itself (GCC bug 105651).
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
  # A tenth of GCC's time is garbage collection. It starts later if the largest units then fit in memory.
  cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR wanted "${cores} * 3000")
  if(megabytes GREATER wanted)
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>)
  endif()
endif()
# GCC 13 warns of any reference that a function with a temporary argument returns, whatever the reference refers to.
add_compile_options("$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>")

if(GPUSORT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "GPUSORT_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link,address>)
  add_link_options(-fsanitize=fuzzer-no-link,address)
endif()

if(GPUSORT_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90-real 75-virtual)
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
    message(FATAL_ERROR "nvcc ${CMAKE_CUDA_COMPILER_VERSION} is older than 12.4: configure with -DGPUSORT_CUDA=OFF")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    # CMake 3.25 does not know that nvcc 13 supports C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  find_package(CUDAToolkit REQUIRED)
  # Compresses machine code as well as PTX. A program with hundreds of kernels is then twenty times smaller.
  set(compress_kernels $<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all>)
  # With GPUSORT_CUDA_UNITY, replaces the CUDA files in the variable `list` by one file that includes them. Most time
  # goes into headers. CMAKE_UNITY_BUILD does not apply to CUDA.
  function(gpusort_cuda_unity name list)
    if(NOT GPUSORT_CUDA_UNITY)
      return()
    endif()
    list(TRANSFORM ${list} REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
    string(JOIN "" includes ${includes})
    file(CONFIGURE OUTPUT generated/${name}.cu CONTENT "${includes}")
    set(${list} ${CMAKE_CURRENT_BINARY_DIR}/generated/${name}.cu PARENT_SCOPE)
  endfunction()
endif()
