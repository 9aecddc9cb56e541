#include "file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace gpusort {
namespace detail {

std::string ErrnoText(int error) {
  const char* name = strerrorname_np(error);
  const char* text = strerrordesc_np(error);
  return std::string(name != nullptr ? name : "error " + std::to_string(error)) + " (" +
         (text != nullptr ? text : "unknown") + ")";
}

std::string NoSpaceHint(int error) {
  if (error == EDQUOT) return "a disk quota is used up (see quota): remove files that count against it, or raise it";
  if (error != EFBIG) return "the disk is full: make room there, or use another";
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "the file system there takes no file so large: use another";
  }
  return "the file-size limit of " + std::to_string(limit.rlim_cur) + " bytes is reached: raise it (ulimit -f)";
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

Fd::~Fd() {
  // What could still fail at this close was asked for by Publish, or belongs to a file that nobody will see.
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace detail

namespace {

constexpr std::uint64_t kDefaultDirectAlignment = 4096;
constexpr int kNameAttempts = 100;
// A transfer may be cut short again and again (signals, a nearly full disk), but not for ever without progress.
constexpr int kMaxStalls = 1000;

bool IsNoSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

/// The path is wrong (the user's mistake), the disk is full, or the system is in trouble.
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

[[noreturn]] void FailOpen(const std::string& what, int error) {
  throw Error(OpenErrorCode(error), what + ": " + detail::ErrnoText(error));
}

FileFacts FactsFrom(const struct stat& st) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  FileFacts facts;
  facts.size = static_cast<std::uint64_t>(st.st_size);
  facts.dev = st.st_dev;
  facts.ino = st.st_ino;
  facts.mtime_ns = st.st_mtim.tv_sec * kSecond + st.st_mtim.tv_nsec;
  facts.ctime_ns = st.st_ctim.tv_sec * kSecond + st.st_ctim.tv_nsec;
  facts.regular = S_ISREG(st.st_mode);
  facts.mode = st.st_mode & 07777;
  facts.uid = st.st_uid;
  facts.gid = st.st_gid;
  return facts;
}

std::string DirectoryOf(const std::filesystem::path& path) {
  const std::string parent = path.parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string HiddenName() {
  std::array<char, 32> name;
  std::snprintf(name.data(), name.size(), ".gpusort-%016llx", static_cast<unsigned long long>(detail::RandomNumber()));
  return name.data();
}

/// True if an O_TMPFILE open failed because file system or kernel do not know it. An old kernel says EISDIR.
bool IsTmpfileUnsupported(int error) { return error == EOPNOTSUPP || error == EISDIR || error == EINVAL; }

std::string ProcPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

int OpenRetrying(SystemCalls& calls, int directory, const char* path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = calls.Open(directory, path, flags, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// A new file of mode 0600 under a hidden name that did not exist. Gives back the name.
std::pair<detail::Fd, std::string> CreateHidden(SystemCalls& calls, int directory, const std::string& what) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = HiddenName();
    const int fd =
        OpenRetrying(calls, directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) return {detail::Fd(fd), std::move(name)};
    if (errno != EEXIST) FailOpen("create a file in " + what, errno);
  }
  throw Error(ErrorCode::kIo, "create a file in " + what + ": every random name is taken");
}

// What RemoveHiddenOutput removes: signal handlers have no other way to find it. The name is written before the
// descriptor of its directory is set, and stands until that is taken back.
struct {
  std::atomic<int> directory{-1};
  std::array<char, 32> name{};
} hidden_output;

/// The permission bits that a new file gets.
unsigned DefaultMode() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Umask:", 0) == 0) return 0666u & ~static_cast<unsigned>(std::stoul(line.substr(6), nullptr, 8));
  }
  // Without /proc the mask can only be read by setting it: strict, because other threads may create files meanwhile.
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return 0666u & ~mask;
}

// Newer kernels take O_DIRECT for it, and copy all the same.
bool IsOnTmpfs(int fd) {
  struct statfs fs;
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

}  // namespace

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
  // Not MAP_POPULATE: 4 GiB on 16 threads took 1.9 s, with a fault for each page 0.2.
  void* const pages =
      ::mmap(nullptr, front + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset - front));
  if (pages == MAP_FAILED) return false;
  std::memcpy(static_cast<std::byte*>(pages) + front, data, bytes);
  ::munmap(pages, front + bytes);
  return true;
}

int SystemCalls::Sync(int fd) { return ::fsync(fd); }

int SystemCalls::Truncate(int fd, std::uint64_t size) { return ::ftruncate(fd, static_cast<off_t>(size)); }

// Not posix_fallocate: where the file system cannot reserve, the C library would write a byte into every block.
int SystemCalls::Allocate(int fd, std::uint64_t begin, std::uint64_t end) {
  return ::fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
}

int SystemCalls::Link(int fd, int directory, const char* name) {
  return ::linkat(AT_FDCWD, ProcPath(fd).c_str(), directory, name, AT_SYMLINK_FOLLOW);
}

int SystemCalls::Rename(int directory, const char* from, const char* to) {
  return ::renameat(directory, from, directory, to);
}

int SystemCalls::RenameNew(int directory, const char* from, const char* to) {
  if (::renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0) return 0;
  // Network file systems do not know the flag. Where a file can have two names for a moment, that does it, too.
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (::linkat(directory, from, directory, to, 0) != 0) return -1;
  ::unlinkat(directory, from, 0);  // if it fails, the new file just has one name too many
  return 0;
}

int SystemCalls::Unlink(int directory, const char* name) { return ::unlinkat(directory, name, 0); }

int SystemCalls::FreeSpace(const char* directory, std::uint64_t* bytes) {
  struct statvfs fs;
  if (::statvfs(directory, &fs) != 0) return -1;
  *bytes = fs.f_blocks == 0 ? kUnknownSpace : static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
  return 0;
}

// O_DIRECT is set after the open: open(O_CREAT | O_DIRECT) on a file system without it creates the file and then fails.
File::File(SystemCalls& calls, detail::Fd fd, std::string path, std::string directory, bool direct)
    : calls_(calls),
      fd_(std::move(fd)),
      path_(std::move(path)),
      directory_(std::move(directory)),
      direct_(direct && !IsOnTmpfs(fd_.get()) && calls.SetDirect(fd_.get()) == 0) {
  if (!direct_) return;
  alignment_ = kDefaultDirectAlignment;
#ifdef STATX_DIOALIGN
  struct statx facts;
  if (::statx(fd_.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 && (facts.stx_mask & STATX_DIOALIGN) != 0 &&
      facts.stx_dio_offset_align != 0) {
    alignment_ = std::max<std::uint64_t>(facts.stx_dio_offset_align, facts.stx_dio_mem_align);
  }
#endif
}

void File::CheckAligned(const char* verb, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const {
  if ((offset | bytes | reinterpret_cast<std::uintptr_t>(data)) % alignment_ == 0) return;
  throw Error(ErrorCode::kInternal, std::string(verb) + " " + path_ + " at " + std::to_string(offset) + ", " +
                                        std::to_string(bytes) + " bytes: not aligned to " + std::to_string(alignment_));
}

void File::Fail(const char* verb, std::uint64_t offset, std::uint64_t bytes, int error) const {
  std::string message =
      std::string(verb) + " " + path_ + " at " + std::to_string(offset) + ": " + detail::ErrnoText(error);
  if (!IsNoSpace(error)) throw SystemError(ErrorCode::kIo, message, error);
  message += "; needed " + std::to_string(bytes) + " bytes more";
  std::uint64_t free = kUnknownSpace;
  if (error == ENOSPC && calls_.FreeSpace(directory_.c_str(), &free) == 0) {
    message += ", free in " + directory_ + ": " + detail::SpaceText(free);
  }
  throw SystemError(ErrorCode::kNoSpace, message + "; " + detail::NoSpaceHint(error), error);
}

void File::Stalled(const char* verb, std::uint64_t offset) const {
  throw Error(ErrorCode::kIo, std::string(verb) + " " + path_ + " at " + std::to_string(offset) + ": no progress");
}

std::uint64_t File::ReadAt(std::uint64_t offset, std::span<std::byte> out) {
  CheckAligned("read", offset, out.data(), out.size());
  std::uint64_t done = 0;
  for (int stalls = 0; done < out.size();) {
    const ssize_t got = calls_.Read(fd_.get(), out.data() + done, out.size() - done, offset + done);
    if (got < 0 && errno != EINTR) Fail("read", offset + done, out.size() - done, errno);
    if (got == 0) break;
    const std::uint64_t taken = got < 0 ? 0 : static_cast<std::uint64_t>(got);
    const std::uint64_t progress = taken / alignment_ * alignment_;
    // Direct, and no whole number of blocks: the end of the file, or a short transfer to be taken up at a block.
    if (progress != taken && offset + done + taken >= Facts().size) return done + taken;
    done += progress;
    stalls = progress > 0 ? 0 : stalls + 1;
    if (stalls > kMaxStalls) Stalled("read", offset + done);
  }
  return done;
}

void File::WriteAt(std::uint64_t offset, std::span<const std::byte> data) {
  CheckAligned("write", offset, data.data(), data.size());
  std::uint64_t done = 0;
  // Mapped at once: what a large block is worth, and no more than that in this process's resident memory.
  constexpr std::uint64_t kMapped = std::uint64_t{4} << 20;
  for (std::uint64_t bytes; done < data.size() && offset + data.size() <= page_bytes_; done += bytes) {
    bytes = std::min(kMapped, data.size() - done);
    if (!calls_.CopyToPages(fd_.get(), data.data() + done, bytes, offset + done)) break;
  }
  for (int stalls = 0; done < data.size();) {
    const ssize_t put = calls_.Write(fd_.get(), data.data() + done, data.size() - done, offset + done);
    if (put < 0 && errno != EINTR) Fail("write", offset + done, data.size() - done, errno);
    const std::uint64_t progress = put < 0 ? 0 : static_cast<std::uint64_t>(put) / alignment_ * alignment_;
    done += progress;
    stalls = progress > 0 ? 0 : stalls + 1;
    if (stalls > kMaxStalls) Stalled("write", offset + done);
  }
}

void File::Sync() {
  while (calls_.Sync(fd_.get()) != 0) {
    if (errno != EINTR) Fail("sync", 0, 0, errno);
  }
}

void File::Truncate(std::uint64_t size) {
  page_bytes_ = std::min<std::uint64_t>(page_bytes_, size);
  while (calls_.Truncate(fd_.get(), size) != 0) {
    if (errno != EINTR) Fail("truncate", size, 0, errno);
  }
}

/// A tmpfs, and without a name, or somebody could cut the file and make a copy end by SIGBUS.
bool File::OnlyInMemory() const {
  struct stat st;
  return IsOnTmpfs(fd_.get()) && ::fstat(fd_.get(), &st) == 0 && st.st_nlink == 0;
}

void File::Allocate(std::uint64_t size) {
  // Pages that are there already would be looked at one by one.
  const std::uint64_t begin = page_bytes_;
  if (size <= begin) return;
  while (calls_.Allocate(fd_.get(), begin, size) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
    if (errno != EINTR) Fail("reserve", begin, size - begin, errno);
  }
  if (OnlyInMemory()) page_bytes_ = size;
}

void File::AllocateToWrite(std::uint64_t size) {
  if (OnlyInMemory()) Allocate(size);
}

void File::DropCache() {
  Sync();
  const int error = ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (error != 0) Fail("drop the cache of", 0, 0, error);
}

FileFacts File::Facts() const {
  struct stat st;
  if (::fstat(fd_.get(), &st) != 0) Fail("stat", 0, 0, errno);
  return FactsFrom(st);
}

OutputFile::OutputFile(SystemCalls& calls, const std::string& path, bool direct, bool keep_old)
    : calls_(calls), path_(path), keep_old_(keep_old) {
  namespace fs = std::filesystem;
  // The target of the link is replaced, not the link. Only the last part of the path is read here: the kernel follows
  // links in the directory part.
  constexpr int kMaxLinks = 40;
  fs::path target = path;
  for (int links = 0;; ++links) {
    std::error_code none;
    if (!fs::is_symlink(fs::symlink_status(target, none))) break;
    if (links == kMaxLinks) Refuse("too many symbolic links");
    std::error_code failure;
    const fs::path next = fs::read_symlink(target, failure);
    if (failure) Refuse(detail::ErrnoText(failure.value()));
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  path_ = target.string();
  directory_ = DirectoryOf(target);
  name_ = target.filename().string();

  struct stat st;
  if (::stat(path_.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) Refuse("it is a directory");
    if (!S_ISREG(st.st_mode)) Refuse("it is not a regular file");
    if (keep_old_) Refuse("it exists, and --no-clobber keeps it");
    old_ = FactsFrom(st);
    if (::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) Refuse(detail::ErrnoText(errno));
  } else if (errno != ENOENT) {
    Refuse(detail::ErrnoText(errno));
  }
  if (name_.empty() || name_ == "." || name_ == "..") Refuse("it names a directory");

  directory_fd_ = detail::Fd(OpenRetrying(calls_, AT_FDCWD, directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!directory_fd_.open()) FailOpen("output directory " + directory_, errno);
  if (::faccessat(directory_fd_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    FailOpen("output directory " + directory_, errno);
  }
  struct stat dir;
  if (::fstat(directory_fd_.get(), &dir) != 0) FailOpen("output directory " + directory_, errno);
  const uid_t self = ::geteuid();
  if (old_ && (dir.st_mode & S_ISVTX) != 0 && self != 0 && old_->uid != self && dir.st_uid != self) {
    Refuse("another user's file in a sticky directory cannot be replaced");
  }

  detail::Fd fd(OpenRetrying(calls_, directory_fd_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open() && !IsTmpfileUnsupported(errno)) FailOpen("create a file in output directory " + directory_, errno);
  // A nameless file gets its name through /proc, which may not be there.
  if (!fd.open() || ::access(ProcPath(fd.get()).c_str(), F_OK) != 0) {
    std::string name;
    std::tie(fd, name) = CreateHidden(calls_, directory_fd_.get(), "output directory " + directory_);
    SetHidden(std::move(name));
  }
  try {
    file_.reset(new File(calls_, std::move(fd), path_, directory_, direct));
  } catch (...) {
    RemoveHidden();
    throw;
  }
}

OutputFile::~OutputFile() {
  if (!published_) RemoveHidden();
}

void OutputFile::SetHidden(std::string name) {
  hidden_ = std::move(name);
  hidden_output.name.fill('\0');
  hidden_.copy(hidden_output.name.data(), hidden_output.name.size() - 1);
  hidden_output.directory = directory_fd_.get();
}

void OutputFile::RemoveHidden() noexcept {
  if (hidden_.empty()) return;
  calls_.Unlink(directory_fd_.get(), hidden_.c_str());
  hidden_output.directory = -1;
}

void OutputFile::Refuse(const std::string& why) const {
  throw Error(ErrorCode::kUsage, "output " + path_ + ": " + why);
}

void OutputFile::SetOwnerAndMode() {
  const int fd = file_->fd_.get();
  unsigned mode = old_ ? old_->mode & 0777 : DefaultMode();
  if (old_) {
    const FileFacts now = file_->Facts();
    // Only root can give a file away, and others only to their own groups. If the group is lost, the new one must not
    // gain what the old one could do.
    if (now.uid != old_->uid && ::fchown(fd, old_->uid, static_cast<gid_t>(-1)) != 0 && errno != EPERM) {
      file_->Fail("chown", 0, 0, errno);
    }
    if (now.gid != old_->gid && ::fchown(fd, static_cast<uid_t>(-1), old_->gid) != 0) {
      if (errno != EPERM) file_->Fail("chown", 0, 0, errno);
      mode &= ~070u | ((mode & 07u) << 3);
    }
  }
  if (::fchmod(fd, mode) != 0) file_->Fail("chmod", 0, 0, errno);
}

void OutputFile::LinkHidden() {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = HiddenName();
    if (calls_.Link(file_->fd_.get(), directory_fd_.get(), name.c_str()) == 0) {
      SetHidden(std::move(name));
      return;
    }
    if (errno != EEXIST) file_->Fail("name", 0, 0, errno);
  }
  throw Error(ErrorCode::kIo, "name " + path_ + ": every random name is taken");
}

void OutputFile::Publish(std::uint64_t total_bytes, bool sync) {
  if (published_) throw Error(ErrorCode::kInternal, "output " + path_ + " is published twice");
  const bool mapped = file_->page_bytes_ > 0;
  file_->Truncate(total_bytes);
  // Writes through a mapping of a tmpfs leave the time of the last change as it was.
  if (mapped && ::futimens(file_->fd_.get(), nullptr) != 0) file_->Fail("set the times of", 0, 0, errno);
  SetOwnerAndMode();
  if (sync) file_->Sync();
  // Network file systems report some write errors at close only. Closing a copy asks for them while the old output can
  // still be kept, and the file stays open for reading back.
  const int copy = ::fcntl(file_->fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) file_->Fail("close", 0, 0, errno);

  sigset_t all, before;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  const int blocked = pthread_sigmask(SIG_BLOCK, &all, &before);
  if (blocked != 0) throw Error(ErrorCode::kInternal, "pthread_sigmask: " + detail::ErrnoText(blocked));
  try {
    if (hidden_.empty()) LinkHidden();
    const int renamed = keep_old_ ? calls_.RenameNew(directory_fd_.get(), hidden_.c_str(), name_.c_str())
                                  : calls_.Rename(directory_fd_.get(), hidden_.c_str(), name_.c_str());
    if (renamed != 0 && keep_old_ && errno == EEXIST) {
      throw Error(ErrorCode::kIo, "output " + path_ +
                                      " has come into being meanwhile, and --no-clobber keeps it: what "
                                      "was sorted is dropped");
    }
    if (renamed != 0) file_->Fail("rename to", 0, 0, errno);
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  published_ = true;
  hidden_output.directory = -1;
  while (sync && calls_.Sync(directory_fd_.get()) != 0) {
    if (errno == EINTR) continue;
    throw Error(ErrorCode::kIo, "sync output directory " + directory_ + ": " + detail::ErrnoText(errno) +
                                    "; the new output is in place, but a crash of the system may undo that");
  }
}

void RemoveHiddenOutput() noexcept {
  const int directory = hidden_output.directory;
  if (directory >= 0) ::unlinkat(directory, hidden_output.name.data(), 0);
}

std::unique_ptr<File> FileSystem::OpenInput(const std::string& path, bool direct) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) FailOpen("input " + path, errno);
  // Asked before the open, which would wait for the other end of a FIFO.
  if (S_ISDIR(st.st_mode)) throw Error(ErrorCode::kUsage, "input " + path + " is a directory");
  if (!S_ISREG(st.st_mode)) throw Error(ErrorCode::kUsage, "input " + path + " is not a regular file");
  detail::Fd fd(OpenRetrying(*calls_, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY, 0));
  if (!fd.open()) FailOpen("input " + path, errno);
  return std::unique_ptr<File>(new File(*calls_, std::move(fd), path, DirectoryOf(path), direct));
}

std::unique_ptr<File> FileSystem::OpenTemp(const std::string& directory, bool direct) {
  const std::string what = "temporary directory " + directory;
  detail::Fd fd(OpenRetrying(*calls_, AT_FDCWD, directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open()) {
    if (!IsTmpfileUnsupported(errno)) FailOpen("create a file in " + what, errno);
    const detail::Fd parent(OpenRetrying(*calls_, AT_FDCWD, directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (!parent.open()) FailOpen(what, errno);
    std::string name;
    std::tie(fd, name) = CreateHidden(*calls_, parent.get(), what);
    if (calls_->Unlink(parent.get(), name.c_str()) != 0) FailOpen("unlink " + name + " in " + what, errno);
  }
  return std::unique_ptr<File>(new File(*calls_, std::move(fd), "a temporary file in " + directory, directory, direct));
}

std::unique_ptr<OutputFile> FileSystem::CreateOutput(const std::string& path, bool direct, bool keep_old) {
  return std::unique_ptr<OutputFile>(new OutputFile(*calls_, path, direct, keep_old));
}

std::uint64_t FileSystem::FreeSpace(const std::string& directory) {
  std::uint64_t bytes = 0;
  while (calls_->FreeSpace(directory.c_str(), &bytes) != 0) {
    if (errno != EINTR) FailOpen("free space of " + directory, errno);
  }
  return bytes;
}

std::optional<FileFacts> FileSystem::Identify(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0) return FactsFrom(st);
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  FailOpen(path, errno);
}

bool FileSystem::IsTmpfs(const std::string& directory) {
  struct statfs fs;
  while (::statfs(directory.c_str(), &fs) != 0) {
    if (errno != EINTR) FailOpen("file system of " + directory, errno);
  }
  return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

double FileSystem::CachedShare(const File& file) {
  constexpr std::uint64_t kSamples = 256;
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t pages = (file.Facts().size + kPage - 1) / kPage;
  if (pages == 0) return 0;
  // A second opening: a direct one would go past the cache, and asking must not start a read-ahead in the reader's.
  const detail::Fd probe(::open(ProcPath(file.fd_.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!probe.open() || ::posix_fadvise(probe.get(), 0, 0, POSIX_FADV_RANDOM) != 0) return 0;
  const std::uint64_t samples = std::min(pages, kSamples);
  std::uint64_t cached = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    char byte = 0;
    const struct iovec target = {&byte, 1};
    // The middle of each of `samples` equal ranges of pages.
    const std::uint64_t page = (2 * i + 1) * pages / (2 * samples);
    cached += ::preadv2(probe.get(), &target, 1, static_cast<off_t>(page * kPage), RWF_NOWAIT) == 1 ? 1 : 0;
  }
  return static_cast<double>(cached) / static_cast<double>(samples);
}

bool IsStreamTarget(const std::string& path) {
  if (path == "-") return true;
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

bool IsStreamSource(const std::string& path) {
  if (path == "-") return true;
  struct stat st;
  if (::stat(path.c_str(), &st) != 0 || S_ISDIR(st.st_mode)) return false;
  if (!S_ISREG(st.st_mode)) return true;
  if (st.st_size != 0) return false;
  const detail::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  return fd.open() && ::pread(fd.get(), &byte, 1, 0) == 1;
}

}  // namespace gpusort
