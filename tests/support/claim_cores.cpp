// A library for LD_PRELOAD: the process sees CLAIM_CORES cores, whatever the machine has. The cores that it may run on
// do not change.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

namespace {

int Claimed() {
  const char* const text = std::getenv("CLAIM_CORES");
  const int cores = text != nullptr ? std::atoi(text) : 0;
  return cores > 0 ? cores : 1;
}

}  // namespace

extern "C" {

int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* set) noexcept {
  CPU_ZERO_S(bytes, set);
  for (int core = 0; core < Claimed(); ++core) CPU_SET_S(core, bytes, set);
  return 0;
}

int get_nprocs() noexcept { return Claimed(); }

long sysconf(int name) noexcept {
  if (name == _SC_NPROCESSORS_ONLN) return Claimed();
  static const auto real = reinterpret_cast<decltype(&sysconf)>(dlsym(RTLD_NEXT, "sysconf"));
  return real(name);
}

}  // extern "C"
