"""A recipe for Spack 1.0 or newer: copy this folder to packages/gpusort of a repository of packages.

tools/packaging/README.md says where the archive of the sources comes from.
"""
import os

from spack_repo.builtin.build_systems.cmake import CMakeBuilder, CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Gpusort(CMakePackage, CudaPackage):
    """Sorts files that are larger than memory: lines, CSV, JSON Lines, dumps and records, on a GPU or without one."""

    manual_download = True  # from the folder in which spack runs, or from a mirror

    version("0.1.0")

    generator("ninja")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.71:+program_options+iostreams")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("nlohmann-json@3.11:")
    depends_on("xxhash@0.8:")
    depends_on("highway@1.0.3:")
    depends_on("abseil-cpp@20220623:")
    depends_on("re2")
    depends_on("zlib-api")
    depends_on("libdeflate")
    depends_on("bzip2")
    depends_on("xz")
    depends_on("zstd@1.4:")
    depends_on("lz4@1.9:")
    depends_on("python@3.9:", type="run")  # gpusort-slurm
    depends_on("cuda@12.4:", when="+cuda")
    with default_args(type="test"):
        depends_on("googletest+gmock")
        depends_on("rapidcheck")

    conflicts("%gcc@:11", msg="gpusort needs C++20 as GCC 12 has it")
    # Without a choice, the module has code for capability 9.0, and PTX for 7.5 and newer.
    for old in [value for value in CudaPackage.cuda_arch_values if int(value.rstrip("af")) < 75]:
        conflicts(f"cuda_arch={old}", msg="gpusort needs a GPU of capability 7.5 or newer")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/gpusort-{version}.tar.gz"

    def cmake_args(self):
        args = [
            self.define_from_variant("GPUSORT_CUDA", "cuda"),
            self.define("GPUSORT_TESTS", self.run_tests),
            self.define("GPUSORT_BENCH", False),
            self.define("GPUSORT_QUICK_START", False),  # the libraries of Spack are shared
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            args.append(CMakeBuilder.define_cuda_architectures(self))
        return args

    def test_sort(self):
        """sort two lines"""
        gpusort = which(self.prefix.bin.gpusort, required=True)
        with open("lines", "w") as lines:
            lines.write("b\na\n")
        gpusort("--device", "cpu", "lines", "sorted")
        with open("sorted") as lines:
            assert lines.read() == "a\nb\n"
