// A library for LD_PRELOAD: O_TMPFILE is refused, as by a file system that does not know it.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace {

int Open(int directory, const char* path, int flags, unsigned mode) {
  if ((flags & O_TMPFILE) != O_TMPFILE) return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
  errno = EOPNOTSUPP;
  return -1;
}

/// Returns the mode argument, which exists only if a file may be created.
unsigned Mode(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = Mode(flags, arguments);
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}

extern "C" int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = Mode(flags, arguments);
  va_end(arguments);
  return Open(directory, path, flags, mode);
}

extern "C" int open64(const char*, int, ...) __attribute__((alias("open")));
extern "C" int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
