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
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "gpusort-cuda, gpusort-cluster")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "sort files larger than memory, on a GPU or without one
gpusort sorts lines of text, CSV, JSON Lines, database dumps and binary
records, checks order and content of what it writes, and puts the output
under its name only when it is complete. Under the name sort it takes GNU
sort's options. gpusort_gen makes test data, gpusort_check checks results;
gpusort-cluster sorts on many machines.
.
GPUs are used where gpusort-cuda is installed.")

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

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libgpusort-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_DESCRIPTION "stable sorts and merges on threads and NVIDIA GPUs: header library
SortKeys, SortPairs, MergeKeys, MergePairs and MergeRuns for any key type and
order, in C++20 on host threads and, compiled by nvcc, in device memory. With
files for CMake's find_package and for pkg-config.")

set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "gpusort (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLUSTER_PACKAGE_DEPENDS "gpusort (= ${PROJECT_VERSION}), python3 (>= 3.9)")
# Earlier versions of gpusort contained the drivers.
set(CPACK_DEBIAN_CLUSTER_PACKAGE_BREAKS "gpusort (<< ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLUSTER_PACKAGE_REPLACES "gpusort (<< ${PROJECT_VERSION})")
set(CPACK_GPUSORT_BUILD ${PROJECT_BINARY_DIR})  # for package-files.cmake
get_cmake_property(CPACK_COMPONENTS_ALL COMPONENTS)
list(FILTER CPACK_COMPONENTS_ALL INCLUDE REGEX "^(program|cuda|cluster|dev)$")
include(CPack)
