#include "io/system_calls.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernels/thread.hpp"

namespace gpusort {

int SystemCalls::Open(int directory, const char* path, int flags, unsigned mode) {
  return ::openat(directory, path, flags, mode);
}

int SystemCalls::SetDirect(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags < 0 ? -1 : ::fcntl(fd, F_SETFL, flags | O_DIRECT);
}

ssize_t SystemCalls::Read(int fd, std::byte* data, std::size_t bytes, std::uint64_t offset) {
  return ::pread(fd, data, bytes, static_cast<off_t>(offset));
}

ssize_t SystemCalls::Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) {
  return ::pwrite(fd, data, bytes, static_cast<off_t>(offset));
}

bool SystemCalls::CopyToPages(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) {
  const std::uint64_t front = offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // MAP_POPULATE would be slower: its page faults run on one thread at a time.
  void* const pages =
      ::mmap(nullptr, front + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset - front));
  if (pages == MAP_FAILED) return false;
  std::memcpy(static_cast<std::byte*>(pages) + front, data, bytes);
  ::munmap(pages, front + bytes);
  return true;
}

int SystemCalls::Sync(int fd) { return ::fsync(fd); }

void SystemCalls::WriteBack(int fd, std::uint64_t offset, std::uint64_t bytes) {
  ::sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
}

int SystemCalls::Truncate(int fd, std::uint64_t size) { return ::ftruncate(fd, static_cast<off_t>(size)); }

// If the file system cannot reserve, posix_fallocate would write a byte into every block.
int SystemCalls::Allocate(int fd, std::uint64_t begin, std::uint64_t end) {
  return ::fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
}

int SystemCalls::Deallocate(int fd, std::uint64_t begin, std::uint64_t end) {
  return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                     static_cast<off_t>(end - begin));
}

int SystemCalls::Link(int fd, int directory, const char* name) {
  return ::linkat(AT_FDCWD, detail::ProcPath(fd).c_str(), directory, name, AT_SYMLINK_FOLLOW);
}

int SystemCalls::Rename(int directory, const char* from, const char* to) {
  return ::renameat(directory, from, directory, to);
}

int SystemCalls::RenameNew(int directory, const char* from, const char* to) {
  if (::renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0) return 0;
  // Network file systems do not support RENAME_NOREPLACE. Giving the file a second name for a moment has the same
  // effect.
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (::linkat(directory, from, directory, to, 0) != 0) return -1;
  ::unlinkat(directory, from, 0);  // if it fails, the new file just has one name too many
  return 0;
}

int SystemCalls::Unlink(int directory, const char* name) { return ::unlinkat(directory, name, 0); }

int SystemCalls::SetAttribute(int fd, const char* name, const std::string& value) {
  return ::fsetxattr(fd, name, value.data(), value.size(), 0);
}

int SystemCalls::FreeSpace(const char* directory, std::uint64_t* bytes) {
  struct statvfs fs;
  if (::statvfs(directory, &fs) != 0) return -1;
  *bytes = fs.f_blocks == 0 ? kUnknownSpace : static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
  return 0;
}

namespace detail {

bool IsNoSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string ErrnoName(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : "error " + std::to_string(error);
}

std::string ErrnoText(int error) {
  const char* text = strerrordesc_np(error);
  return ErrnoName(error) + " (" + (text != nullptr ? text : "unknown") + ")";
}

std::uint64_t FileSizeLimit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? kUnknownSpace : limit.rlim_cur;
}

std::string NoSpaceHint(int error) {
  if (error == EDQUOT) return "a disk quota is used up (see quota): remove files that count against it, or raise it";
  if (error != EFBIG) return "the disk is full: make room there, or use another disk";
  const std::uint64_t limit = FileSizeLimit();
  if (limit == kUnknownSpace) return "the file system there takes no file so large: use another";
  return "the file-size limit of " + std::to_string(limit) + " bytes is reached: raise it (ulimit -f)";
}

std::string DiskHint(int error) {
  switch (error) {
    case EIO:
    case ENXIO:
    case ENODEV:
      return "; the disk, or the way to it, failed: see dmesg";
    case EROFS:
      return "; the file system was made read-only, by hand or after an error of its disk: see dmesg";
    case ESTALE:
      return "; the file is gone from the server of the file system";
    case ENOENT:
      return "; the folder was removed meanwhile";
    default:
      return "";
  }
}

std::string SpaceText(std::uint64_t free_bytes) {
  return free_bytes == kUnknownSpace ? "unknown" : std::to_string(free_bytes) + " bytes";
}

std::uint64_t RandomNumber() {
  std::uint64_t number = 0;
  for (;;) {
    const ssize_t got = getrandom(&number, sizeof number, 0);
    if (got == static_cast<ssize_t>(sizeof number)) return number;
    if (got < 0 && errno != EINTR) throw Error(ErrorCode::kIo, "getrandom: " + ErrnoText(errno));
  }
}

ErrorCode OpenErrorCode(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
    case EISDIR:
    case ENXIO:
    case EINVAL:
      return ErrorCode::kUsage;
    default:
      return IsNoSpace(error) ? ErrorCode::kNoSpace : ErrorCode::kIo;
  }
}

void FailOpen(const std::string& what, const std::string& path, int error, SystemError::Verb verb) {
  throw SystemError(OpenErrorCode(error), what + path + ": " + ErrnoText(error), error, verb, path);
}

int OpenPath(const char* path, int flags, unsigned mode) {
  return Uninterrupted([&] { return ::open(path, flags, mode); });
}

int OpenPath(SystemCalls& calls, int directory, const char* path, int flags, unsigned mode) {
  return Uninterrupted([&] { return calls.Open(directory, path, flags, mode); });
}

bool SyncDirectory(SystemCalls& calls, int directory) {
  return Uninterrupted([&] { return calls.Sync(directory); }) == 0;
}

std::string ProcPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

Fd::~Fd() {
  // OutputFile::Complete has already checked the errors of close(). For other files they do not matter.
  if (fd_ >= 0) ::close(fd_);
}

// Old kernels report EISDIR.
bool IsTmpfileUnsupported(int error) { return error == EOPNOTSUPP || error == EISDIR || error == EINVAL; }

std::string HiddenName() {
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), ".gpusort-%016llx", static_cast<unsigned long long>(RandomNumber()));
  return name.data();
}

std::pair<Fd, std::string> CreateHidden(SystemCalls& calls, int directory, const std::string& what,
                                        const std::string& path) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = HiddenName();
    const int fd = OpenPath(calls, directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) return {Fd(fd), std::move(name)};
    if (errno != EEXIST) FailOpen("create a file in " + what, path, errno, SystemError::Verb::kMakeTemp);
  }
  throw Error(ErrorCode::kIo, "create a file in " + what + path + ": every random name is taken");
}

}  // namespace detail
}  // namespace gpusort
