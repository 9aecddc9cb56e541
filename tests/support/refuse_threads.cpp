// A library for LD_PRELOAD: the pthread_create calls number REFUSE_FIRST to REFUSE_LAST of the process fail, as under a
// limit on threads.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
  using Create = decltype(&pthread_create);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  static std::atomic<int> calls{0};
  const int call = ++calls;
  const auto number = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? std::atoi(value) : 0;
  };
  if (call >= number("REFUSE_FIRST") && call <= number("REFUSE_LAST")) return EAGAIN;
  return real(thread, attributes, body, argument);
}
