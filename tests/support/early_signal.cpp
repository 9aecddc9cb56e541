// A module for LD_PRELOAD: the process gets SIGUSR1 while its libraries are initialised, before its main and before the
// constructors of its own objects.
#include <csignal>

namespace {
[[gnu::constructor]] void Raise() { std::raise(SIGUSR1); }
}  // namespace
