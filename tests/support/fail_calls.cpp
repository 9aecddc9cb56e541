// A library for LD_PRELOAD: the n-th call of chosen kinds that the program makes to libc fails, once or from then on.
//
//   FAIL_CALLS    kinds, separated by commas: memory map thread open read write sync ... (kNames)
//   FAIL_NTH      1: the first call of these kinds fails; 0 or unset: no call fails
//   FAIL_FOREVER  1: all later calls of these kinds fail as well
//   FAIL_ERRNO    the number of the error (default: EIO)
//   FAIL_REPORT   a file that gets, at exit, the number of calls of each kind and of failures
//
// Only calls inside main count. Calls that libc makes within itself (the open of fopen, for example) are not seen, and
// writes to standard error do not fail. Nothing is synced, because there is no power failure here, and the disk would
// take most of the time. In gdb, `break fault_injected` shows the caller. Child processes do not get this library.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Kind {
  kMemory,
  kMap,
  kThread,
  kOpen,
  kRead,
  kWrite,
  kSync,
  kTruncate,
  kAllocate,
  kRename,
  kUnlink,
  kMkdir,
  kLock,
  kStat,
  kStatfs,
  kSeek,
  kClose,
  kDirectory,
  kOwner,
  kFcntl,
  kAccess,
  kPoll,
  kProcess,
  kAdvise,
  kRandom,
  kKinds
};
constexpr const char* kNames[kKinds] = {"memory",   "map",      "thread", "open",      "read",  "write", "sync",
                                        "truncate", "allocate", "rename", "unlink",    "mkdir", "lock",  "stat",
                                        "statfs",   "seek",     "close",  "directory", "owner", "fcntl", "access",
                                        "poll",     "process",  "advise", "random"};

std::atomic<bool> in_main{false};
std::atomic<long> counts[kKinds], chosen_calls{0}, failures{0};
bool chosen[kKinds];
long nth = 0;
bool for_ever = false;
int error_number = EIO;
char report[4096];
thread_local bool spared __attribute__((tls_model("initial-exec"))) = false;

long Number(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::atol(value) : 0;
}

__attribute__((constructor)) void ReadEnvironment() {
  const char* const kinds = std::getenv("FAIL_CALLS");
  for (const char* word = kinds; word != nullptr && *word != '\0';) {
    const std::size_t length = std::strcspn(word, ",");
    for (int kind = 0; kind < kKinds; ++kind) {
      if (std::strlen(kNames[kind]) == length && std::memcmp(kNames[kind], word, length) == 0) chosen[kind] = true;
    }
    word += length + (word[length] != '\0' ? 1 : 0);
  }
  nth = Number("FAIL_NTH");
  for_ever = Number("FAIL_FOREVER") != 0;
  if (const long given = Number("FAIL_ERRNO"); given != 0) error_number = static_cast<int>(given);
  if (const char* const path = std::getenv("FAIL_REPORT")) std::snprintf(report, sizeof report, "%s", path);
  unsetenv("LD_PRELOAD");
}

/// Uses system calls directly, which are not counted.
__attribute__((destructor)) void WriteReport() {
  if (report[0] == '\0') return;
  char text[1024];
  int length = std::snprintf(text, sizeof text, "failures %ld\n", failures.load());
  for (int kind = 0; kind < kKinds; ++kind) {
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "%s %ld\n", kNames[kind],
                            counts[kind].load());
  }
  const long file = syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || syscall(SYS_write, file, text, length) != length) _exit(99);
  syscall(SYS_close, file);
}

extern "C" __attribute__((noinline, visibility("default"))) void fault_injected() { ++failures; }

/// Counts the call. Returns true if the call must fail, with errno set.
bool Fails(Kind kind) {
  if (!in_main || spared) return false;
  ++counts[kind];
  if (!chosen[kind]) return false;
  const long call = ++chosen_calls;
  if (nth == 0 || (for_ever ? call < nth : call != nth)) return false;
  fault_injected();
  errno = error_number;
  return true;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Defines a function that replaces one of libc. It has its own name in C++, because libc's headers have declared libc's
// name already.
#define REPLACE(result, name, ...)                           \
  extern "C" result fail_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" __attribute__((visibility("default"))) result fail_##name(__VA_ARGS__)
#define REAL(name) static const auto real = Next<decltype(&fail_##name)>(#name)

#define FAIL_1(kind, result, name, A)  \
  REPLACE(result, name, A a) {         \
    REAL(name);                        \
    return Fails(kind) ? -1 : real(a); \
  }
#define FAIL_2(kind, result, name, A, B)  \
  REPLACE(result, name, A a, B b) {       \
    REAL(name);                           \
    return Fails(kind) ? -1 : real(a, b); \
  }
#define FAIL_3(kind, result, name, A, B, C)  \
  REPLACE(result, name, A a, B b, C c) {     \
    REAL(name);                              \
    return Fails(kind) ? -1 : real(a, b, c); \
  }
#define FAIL_4(kind, result, name, A, B, C, D)  \
  REPLACE(result, name, A a, B b, C c, D d) {   \
    REAL(name);                                 \
    return Fails(kind) ? -1 : real(a, b, c, d); \
  }
#define FAIL_5(kind, result, name, A, B, C, D, E)  \
  REPLACE(result, name, A a, B b, C c, D d, E e) { \
    REAL(name);                                    \
    return Fails(kind) ? -1 : real(a, b, c, d, e); \
  }

// libc has other names for these functions, so that they can be called before a symbol can be looked up. A sanitizer's
// functions come first, and then these are not called.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}
REPLACE(void*, malloc, std::size_t bytes) { return Fails(kMemory) ? nullptr : __libc_malloc(bytes); }
REPLACE(void*, calloc, std::size_t count, std::size_t bytes) {
  return Fails(kMemory) ? nullptr : __libc_calloc(count, bytes);
}
REPLACE(void*, realloc, void* old, std::size_t bytes) { return Fails(kMemory) ? nullptr : __libc_realloc(old, bytes); }
REPLACE(void*, memalign, std::size_t alignment, std::size_t bytes) {
  return Fails(kMemory) ? nullptr : __libc_memalign(alignment, bytes);
}
REPLACE(void*, aligned_alloc, std::size_t alignment, std::size_t bytes) {
  return Fails(kMemory) ? nullptr : __libc_memalign(alignment, bytes);
}
REPLACE(int, posix_memalign, void** out, std::size_t alignment, std::size_t bytes) {
  void* const data = Fails(kMemory) ? nullptr : __libc_memalign(alignment, bytes);
  if (data != nullptr) *out = data;
  return data != nullptr ? 0 : ENOMEM;
}

REPLACE(void*, mmap, void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  REAL(mmap);
  return Fails(kMap) ? MAP_FAILED : real(at, bytes, protection, flags, fd, offset);
}
REPLACE(void*, mmap64, void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  REAL(mmap64);
  return Fails(kMap) ? MAP_FAILED : real(at, bytes, protection, flags, fd, offset);
}
REPLACE(void*, mremap, void* at, std::size_t bytes, std::size_t new_bytes, int flags) {
  REAL(mremap);
  return Fails(kMap) ? MAP_FAILED : real(at, bytes, new_bytes, flags);
}
REPLACE(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
        void* argument) {
  REAL(pthread_create);
  return Fails(kThread) ? EAGAIN : real(thread, attributes, body, argument);
}

#define FAIL_OPEN(name)                                  \
  REPLACE(int, name, const char* path, int flags, ...) { \
    REAL(name);                                          \
    std::va_list rest;                                   \
    va_start(rest, flags);                               \
    const mode_t mode = va_arg(rest, mode_t);            \
    va_end(rest);                                        \
    return Fails(kOpen) ? -1 : real(path, flags, mode);  \
  }
#define FAIL_OPENAT(name)                                               \
  REPLACE(int, name, int directory, const char* path, int flags, ...) { \
    REAL(name);                                                         \
    std::va_list rest;                                                  \
    va_start(rest, flags);                                              \
    const mode_t mode = va_arg(rest, mode_t);                           \
    va_end(rest);                                                       \
    return Fails(kOpen) ? -1 : real(directory, path, flags, mode);      \
  }
FAIL_OPEN(open)
FAIL_OPEN(open64)
FAIL_OPENAT(openat)
FAIL_OPENAT(openat64)
// These calls do not fail with EINTR, because no caller uses them where a signal may end a wait.
REPLACE(std::FILE*, fopen, const char* path, const char* mode) {
  REAL(fopen);
  return Fails(kOpen) && errno != EINTR ? nullptr : real(path, mode);
}
REPLACE(std::FILE*, fopen64, const char* path, const char* mode) {
  REAL(fopen64);
  return Fails(kOpen) && errno != EINTR ? nullptr : real(path, mode);
}

FAIL_3(kRead, ssize_t, read, int, void*, std::size_t)
FAIL_4(kRead, ssize_t, pread, int, void*, std::size_t, off_t)
FAIL_4(kRead, ssize_t, pread64, int, void*, std::size_t, off_t)
FAIL_5(kRead, ssize_t, preadv2, int, const struct iovec*, int, off_t, int)
FAIL_3(kRead, ssize_t, readlink, const char*, char*, std::size_t)
REPLACE(ssize_t, getrandom, void* out, std::size_t bytes, unsigned flags) {
  REAL(getrandom);
  return Fails(kRandom) ? -1 : real(out, bytes, flags);
}

// Writes to standard error are neither counted nor failed.
REPLACE(ssize_t, write, int fd, const void* data, std::size_t bytes) {
  REAL(write);
  return fd != STDERR_FILENO && Fails(kWrite) ? -1 : real(fd, data, bytes);
}
FAIL_4(kWrite, ssize_t, pwrite, int, const void*, std::size_t, off_t)
FAIL_4(kWrite, ssize_t, pwrite64, int, const void*, std::size_t, off_t)
REPLACE(int, fsync, int) { return Fails(kSync) ? -1 : 0; }
REPLACE(int, fdatasync, int) { return Fails(kSync) ? -1 : 0; }
FAIL_2(kTruncate, int, ftruncate, int, off_t)
FAIL_2(kTruncate, int, ftruncate64, int, off_t)
FAIL_4(kAllocate, int, fallocate, int, int, off_t, off_t)
FAIL_4(kAllocate, int, fallocate64, int, int, off_t, off_t)

FAIL_4(kRename, int, renameat, int, const char*, int, const char*)
FAIL_5(kRename, int, renameat2, int, const char*, int, const char*, unsigned)
FAIL_5(kRename, int, linkat, int, const char*, int, const char*, int)
FAIL_1(kUnlink, int, unlink, const char*)
FAIL_3(kUnlink, int, unlinkat, int, const char*, int)
FAIL_1(kUnlink, int, rmdir, const char*)
FAIL_1(kUnlink, int, remove, const char*)
FAIL_2(kMkdir, int, mkdir, const char*, mode_t)
FAIL_2(kLock, int, flock, int, int)

FAIL_2(kStat, int, stat, const char*, struct stat*)
FAIL_2(kStat, int, stat64, const char*, struct stat64*)
FAIL_2(kStat, int, lstat, const char*, struct stat*)
FAIL_2(kStat, int, lstat64, const char*, struct stat64*)
FAIL_2(kStat, int, fstat, int, struct stat*)
FAIL_2(kStat, int, fstat64, int, struct stat64*)
FAIL_4(kStat, int, fstatat, int, const char*, struct stat*, int)
FAIL_5(kStat, int, statx, int, const char*, int, unsigned, struct statx*)
FAIL_2(kStatfs, int, statfs, const char*, struct statfs*)
FAIL_2(kStatfs, int, fstatfs, int, struct statfs*)
FAIL_2(kStatfs, int, statvfs, const char*, struct statvfs*)
FAIL_3(kSeek, off_t, lseek, int, off_t, int)
FAIL_3(kSeek, off_t, lseek64, int, off_t, int)
REPLACE(int, close, int fd) {
  REAL(close);
  const int closed = real(fd);
  return Fails(kClose) ? -1 : closed;
}
REPLACE(DIR*, opendir, const char* path) {
  REAL(opendir);
  return Fails(kDirectory) ? nullptr : real(path);
}
REPLACE(struct dirent*, readdir, DIR* directory) {
  REAL(readdir);
  return Fails(kDirectory) ? nullptr : real(directory);
}

FAIL_2(kOwner, int, fchmod, int, mode_t)
FAIL_3(kOwner, int, fchown, int, uid_t, gid_t)
FAIL_2(kOwner, int, futimens, int, const struct timespec*)
FAIL_5(kOwner, int, fsetxattr, int, const char*, const void*, std::size_t, int)
FAIL_2(kOwner, int, fremovexattr, int, const char*)
FAIL_4(kOwner, ssize_t, lgetxattr, const char*, const char*, void*, std::size_t)
FAIL_3(kOwner, ssize_t, llistxattr, const char*, char*, std::size_t)
#define FAIL_FCNTL(name)                                                                                 \
  REPLACE(int, name, int fd, int command, ...) {                                                         \
    REAL(name);                                                                                          \
    std::va_list rest;                                                                                   \
    va_start(rest, command);                                                                             \
    void* const argument = va_arg(rest, void*);                                                          \
    va_end(rest);                                                                                        \
    return command != F_GETFD && command != F_GETFL && Fails(kFcntl) ? -1 : real(fd, command, argument); \
  }
FAIL_FCNTL(fcntl)
FAIL_FCNTL(fcntl64)
FAIL_2(kAccess, int, access, const char*, int)
FAIL_4(kAccess, int, faccessat, int, const char*, int, int)

FAIL_3(kPoll, int, poll, struct pollfd*, nfds_t, int)
FAIL_2(kProcess, int, pipe2, int*, int)
REPLACE(int, posix_spawnp, pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
        const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  REAL(posix_spawnp);
  return Fails(kProcess) ? error_number : real(pid, file, actions, attributes, arguments, environment);
}
FAIL_3(kAdvise, int, madvise, void*, std::size_t, int)
REPLACE(int, posix_fadvise, int fd, off_t offset, off_t bytes, int advice) {
  REAL(posix_fadvise);
  return Fails(kAdvise) ? error_number : real(fd, offset, bytes, advice);
}

// Registers the destructor of a thread_local variable. It does not fail, because libc aborts if the registration fails.
REPLACE(int, __cxa_thread_atexit_impl, void (*destroy)(void*), void* object, void* library) {
  REAL(__cxa_thread_atexit_impl);
  spared = true;
  const int registered = real(destroy, object, library);
  spared = false;
  return registered;
}

// Replaces main, so that counting begins and ends with it.
namespace {
int (*program)(int, char**, char**) = nullptr;
int CountedMain(int count, char** words, char** environment) {
  in_main = true;
  const int code = program(count, words, environment);
  in_main = false;
  return code;
}
}  // namespace
REPLACE(int, __libc_start_main, int (*main)(int, char**, char**), int count, char** words, void (*init)(),
        void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  REAL(__libc_start_main);
  program = main;
  return real(CountedMain, count, words, init, fini, rtld_fini, stack_end);
}
