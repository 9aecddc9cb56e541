# Installation and packages.
# Components are packages: tools/package.
include(GNUInstallDirs)
set(GPUSORT_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")
install(TARGETS gpusort gpusort_task gpusort_gen gpusort_check COMPONENT program)
install(TARGETS ${codec_modules} DESTINATION ${GPUSORT_MODULE_FOLDER} COMPONENT program)
if(TARGET gpusort_parquet)
  # The package has the libraries of Apache Arrow that the module needs. An installation without packages finds the
  # libraries where the build has found them.
  install(TARGETS gpusort_parquet DESTINATION ${GPUSORT_MODULE_FOLDER} COMPONENT parquet)
  if(GPUSORT_PACK_ARROW AND arrow_folder)
    install(FILES ${arrow_libraries} DESTINATION ${GPUSORT_MODULE_FOLDER} COMPONENT parquet)
  endif()
endif()
if(GPUSORT_CUDA)
  install(TARGETS gpusort_cuda DESTINATION ${GPUSORT_MODULE_FOLDER} COMPONENT cuda)
endif()
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.1 ${CMAKE_CURRENT_BINARY_DIR}/gpusort_task.1
              ${CMAKE_CURRENT_BINARY_DIR}/gpusort_gen.1 ${CMAKE_CURRENT_BINARY_DIR}/gpusort_check.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
configure_file(tools/packaging/python/gpusort-python.7.in generated/gpusort-python.7 @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-keys.7
              ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-instead.7
              ${CMAKE_CURRENT_BINARY_DIR}/generated/gpusort-python.7
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT program)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_gpusort DESTINATION ${GPUSORT_ZSH_COMPLETIONS} COMPONENT program)
# bash and fish look for a file of the program's name.
foreach(program gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm)
  if(program MATCHES "-")
    set(component cluster)
  else()
    set(component program)
  endif()
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.bash RENAME ${program}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT ${component})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.fish RENAME ${program}.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ${component})
endforeach()
# The drivers for many machines are scripts in one folder. Their manual pages are the text at their top, and a file of
# further sections.
file(STRINGS tools/cluster/gpusort-ray ray_version REGEX "^RAY = ")
string(REGEX REPLACE ".*\"(.*)\"" "\\1" ray_version "${ray_version}")
set(folder ${CMAKE_INSTALL_DATADIR}/gpusort)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
foreach(driver gpusort-ray gpusort-slurm gpusort-sim)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/cluster/${driver})
  file(READ tools/cluster/${driver} text)
  string(FIND "${text}" "\"\"\"" begin)
  math(EXPR begin "${begin} + 3")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\"\"\"" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REPLACE "'" "\\(aq" text "${text}")
  string(FIND "${text}" ".\n" end)
  string(SUBSTRING "${text}" 0 ${end} purpose)
  string(TOUPPER ${driver} title)
  set(sections "")
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tools/cluster/${driver}.1.in)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/cluster/${driver}.1.in)
    file(READ tools/cluster/${driver}.1.in sections)
    string(CONFIGURE "${sections}" sections @ONLY)
  endif()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${driver}.1
       ".TH ${title} 1 \"\" \"gpusort ${PROJECT_VERSION}\" \"User Commands\"\n"
       ".SH NAME\n${driver} \\- ${purpose}\n.SH DESCRIPTION\n.nf\n"
       "${text}.fi\n${sections}.SH SEE ALSO\n.BR gpusort (1),\n.BR gpusort_task (1)\n")
  file(CREATE_LINK ../${folder}/${driver} ${CMAKE_CURRENT_BINARY_DIR}/bin/${driver} SYMBOLIC)
  install(PROGRAMS tools/cluster/${driver} DESTINATION ${folder} COMPONENT cluster)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/bin/${driver} TYPE BIN COMPONENT cluster)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${driver}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cluster)
endforeach()
install(FILES tools/cluster/gpusort_cluster.py data/bench/cluster-rates-h200.json
        DESTINATION ${folder} COMPONENT cluster)
# The header library, for find_package(gpusort) and pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/gpusort)
configure_package_config_file(tools/cmake/gpusortConfig.cmake.in gpusortConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(gpusortConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(tools/cmake/gpusort.pc.in gpusort.pc @ONLY)
install(DIRECTORY kernels/gpusort TYPE INCLUDE COMPONENT dev)
install(TARGETS gpusort_kernels EXPORT gpusortTargets COMPONENT dev)
install(EXPORT gpusortTargets NAMESPACE gpusort:: DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusortConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/gpusortConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpusort.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig COMPONENT dev)

# The Debian packages that tools/package makes with CPack. Each component of the installation becomes one package.
# package-files.cmake adds copyright and changelog, and everything that must be compressed.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gpusort)
set(CPACK_PACKAGE_VENDOR gpusort)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE ${PROJECT_HOMEPAGE_URL})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/cmake/package-files.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The gpusort developers <gpusort@users.noreply.github.com>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gpusort)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "gpusort-cuda, gpusort-parquet, gpusort-cluster")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "sort files larger than memory, on a GPU or without one
gpusort sorts lines of text, CSV, JSON Lines, database dumps and binary
records, checks order and content of what it writes, and puts the output
under its name only when it is complete. Under the name sort it takes GNU
sort's options. gpusort_gen makes test data, gpusort_check checks results;
gpusort-cluster sorts on many machines.
.
GPUs are used where gpusort-cuda is installed. Parquet files need
gpusort-parquet.")

set(CPACK_DEBIAN_CLUSTER_PACKAGE_NAME gpusort-cluster)
set(CPACK_DEBIAN_CLUSTER_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_CLUSTER_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_CLUSTER_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_CLUSTER_PACKAGE_SUGGESTS slurm-client)
set(CPACK_DEBIAN_CLUSTER_DESCRIPTION "sort files larger than memory: the part for many machines
gpusort-slurm gives the pieces of a sort to Slurm, gpusort-ray to a cluster of
Ray, and both give them again if a node fails. gpusort-sim predicts how long a
job takes. Ray itself is not in Debian: see gpusort-ray(1).")

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME gpusort-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS libcuda1)
set(CPACK_DEBIAN_CUDA_PACKAGE_ENHANCES gpusort)
set(CPACK_DEBIAN_CUDA_DESCRIPTION "sort files larger than memory: the part for NVIDIA GPUs
gpusort loads this module when a GPU is wanted. It needs NVIDIA's driver, and
nothing else of CUDA.")

set(CPACK_DEBIAN_PARQUET_PACKAGE_NAME gpusort-parquet)
set(CPACK_DEBIAN_PARQUET_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PARQUET_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PARQUET_PACKAGE_ENHANCES gpusort)
set(CPACK_DEBIAN_PARQUET_DESCRIPTION "sort files larger than memory: the part for Parquet
gpusort loads this module for Parquet files. The package has the libraries of
Apache Arrow that the module needs.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libgpusort-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_DESCRIPTION "stable sorts and merges on threads and NVIDIA GPUs: header library
SortKeys, SortPairs, MergeKeys, MergePairs and MergeRuns for any key type and
order, in C++20 on host threads and, compiled by nvcc, in device memory. With
files for CMake's find_package and for pkg-config.")

set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "gpusort (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PARQUET_PACKAGE_DEPENDS "gpusort (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLUSTER_PACKAGE_DEPENDS "gpusort (= ${PROJECT_VERSION}), python3 (>= 3.9)")
# Earlier versions of gpusort contained the drivers.
set(CPACK_DEBIAN_CLUSTER_PACKAGE_BREAKS "gpusort (<< ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLUSTER_PACKAGE_REPLACES "gpusort (<< ${PROJECT_VERSION})")
set(CPACK_GPUSORT_BUILD ${PROJECT_BINARY_DIR})  # for package-files.cmake
get_cmake_property(CPACK_COMPONENTS_ALL COMPONENTS)
set(packed program cuda cluster dev)
if(GPUSORT_PACK_ARROW OR NOT arrow_folder)
  list(APPEND packed parquet)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${arrow_folder})
endif()
list(JOIN packed "|" packed)
list(FILTER CPACK_COMPONENTS_ALL INCLUDE REGEX "^(${packed})$")
include(CPack)
