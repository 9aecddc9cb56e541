// The system calls on files that can fail, as members of a class, so that tests can replace them. Also the errors that
// are thrown if a call fails.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kernels/error.hpp"

namespace gpusort {

/// The error of a failed system call on a file. number() is the errno.
class SystemError : public Error {
 public:
  /// The operation that failed.
  enum class Verb { kOpen, kRead, kWrite, kMakeTemp };

  SystemError(ErrorCode code, const std::string& message, int number, Verb verb, std::string path,
              std::optional<std::uint64_t> offset = std::nullopt)
      : Error(code, message), number_(number), verb_(verb), path_(std::move(path)), offset_(offset) {}
  int number() const noexcept { return number_; }
  Verb verb() const noexcept { return verb_; }
  /// Returns the path of the file that the call failed on. For a temporary file without a name: the path of its
  /// directory.
  const std::string& path() const noexcept { return path_; }
  /// Returns the offset in the file if the failed call was a read or a write, otherwise std::nullopt.
  std::optional<std::uint64_t> offset() const noexcept { return offset_; }

 private:
  int number_;
  Verb verb_;
  std::string path_;
  std::optional<std::uint64_t> offset_;
};

/// The system calls that can fail for reasons outside this program. Each returns the result of the kernel: -1 with
/// errno, or a number of bytes that may be smaller than requested. Tests replace members to make calls fail. Any thread
/// may call any member.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int Open(int directory, const char* path, int flags, unsigned mode);
  /// Turns O_DIRECT on for an open file: reads and writes then bypass the page cache.
  virtual int SetDirect(int fd);
  virtual ssize_t Read(int fd, std::byte* data, std::size_t bytes, std::uint64_t offset);
  virtual ssize_t Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset);
  /// Copies `data` into the file at `offset` through a temporary memory mapping. Space must be allocated there, because
  /// a write to a page without space would end the process (SIGBUS). Returns false if the mapping fails.
  virtual bool CopyToPages(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset);
  virtual int Sync(int fd);
  /// Starts to write a range of the file from the page cache to the disk, so that Sync takes less time. Reports no
  /// error.
  virtual void WriteBack(int fd, std::uint64_t offset, std::uint64_t bytes);
  virtual int Truncate(int fd, std::uint64_t size);
  virtual int Allocate(int fd, std::uint64_t begin, std::uint64_t end);
  /// Frees the bytes [begin, end) of the file, which then read as zeros.
  virtual int Deallocate(int fd, std::uint64_t begin, std::uint64_t end);
  /// Gives the file `fd`, which was opened without a name, the name `name` in a directory. Fails with EEXIST if the
  /// name is taken.
  virtual int Link(int fd, int directory, const char* name);
  virtual int Rename(int directory, const char* from, const char* to);
  /// Renames `from` to `to`. Fails with EEXIST if `to` exists.
  virtual int RenameNew(int directory, const char* from, const char* to);
  virtual int Unlink(int directory, const char* name);
  virtual int SetAttribute(int fd, const char* name, const std::string& value);
  virtual int FreeSpace(const char* directory, std::uint64_t* bytes);
};

/// The result of FreeSpace for a file system that does not report its size (ramfs). Counts as enough for any file.
inline constexpr std::uint64_t kUnknownSpace = UINT64_MAX;

namespace detail {

/// Returns the name of an errno, such as "ENOSPC".
std::string ErrnoName(int error);
/// Returns the name and the text of an errno, such as "ENOSPC (No space left on device)".
std::string ErrnoText(int error);
/// Returns true for the errors ENOSPC, EDQUOT and EFBIG: a full disk, quota or file-size limit.
bool IsNoSpace(int error);
/// Returns the file-size limit of this process (ulimit -f) in bytes, or kUnknownSpace if there is no limit.
std::uint64_t FileSizeLimit();
/// Returns the last part of a message about a full disk, quota or file-size limit: what is full and what helps.
std::string NoSpaceHint(int error);
/// Returns an explanation of `error` for messages, such as "; the folder was removed meanwhile", or an empty string.
/// `error` is an errno for which IsNoSpace returns false.
std::string DiskHint(int error);
/// Returns a number of free bytes as text, "12345 bytes", or "unknown" for kUnknownSpace.
std::string SpaceText(std::uint64_t free_bytes);
/// Returns the code of the Error for a failed open(): kUsage if the path is wrong, kNoSpace if the disk is full,
/// otherwise kIo.
ErrorCode OpenErrorCode(int error);
/// Throws a SystemError with the code OpenErrorCode(error). The message is made of `what`, the path and the error.
[[noreturn]] void FailOpen(const std::string& what, const std::string& path, int error,
                           SystemError::Verb verb = SystemError::Verb::kOpen);
/// Calls open(), and repeats the call while a signal interrupts it. Returns -1 and sets errno on an error.
int OpenPath(const char* path, int flags, unsigned mode = 0);
int OpenPath(SystemCalls& calls, int directory, const char* path, int flags, unsigned mode = 0);
/// Writes the changed names in an open directory to the disk (fsync). On an error returns false and sets errno.
bool SyncDirectory(SystemCalls& calls, int directory);
/// Returns a number that other processes cannot guess.
std::uint64_t RandomNumber();
/// Returns the path of an open file descriptor in /proc.
std::string ProcPath(int fd);
/// Returns true if an open file is on a tmpfs, a file system that keeps files in memory.
bool IsOnTmpfs(int fd);

/// Owns an open file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// How many random names CreateHidden and similar functions try before they give up.
inline constexpr int kNameAttempts = 100;
/// Returns a random file name that begins with a dot.
std::string HiddenName();
/// Returns true if an open with O_TMPFILE failed because the file system or the kernel does not support the flag.
bool IsTmpfileUnsupported(int error);
/// Creates a file of mode 0600 in an open directory, with a random name that begins with a dot. Returns its descriptor
/// and its name.
/// - what, path: end the error message "create a file in <what><path>"
std::pair<Fd, std::string> CreateHidden(SystemCalls& calls, int directory, const std::string& what,
                                        const std::string& path);

}  // namespace detail
}  // namespace gpusort
