// A library for LD_PRELOAD: the process gets SIGUSR1 while its libraries are initialised, before main and before the
// constructors of the program's own objects.
#include <csignal>

namespace {
[[gnu::constructor]] void Raise() { std::raise(SIGUSR1); }
}  // namespace
