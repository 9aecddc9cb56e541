#include "io/file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
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

#include "kernels/thread.hpp"

namespace gpusort {
namespace {

bool IsNoSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

namespace detail {

std::string ErrnoName(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : "error " + std::to_string(error);
}

std::string ErrnoText(int error) {
  const char* text = strerrordesc_np(error);
  return ErrnoName(error) + " (" + (text != nullptr ? text : "unknown") + ")";
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

int OpenPath(const char* path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path, flags, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
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

[[noreturn]] void FailOpen(const std::string& what, const std::string& path, int error,
                           SystemError::Verb verb = SystemError::Verb::kOpen) {
  throw SystemError(detail::OpenErrorCode(error), what + path + ": " + detail::ErrnoText(error), error, verb, path);
}

FileFacts FactsFrom(const struct stat& st) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  FileFacts facts;
  facts.size = static_cast<std::uint64_t>(st.st_size);
  facts.dev = st.st_dev;
  facts.ino = st.st_ino;
  facts.mtime_ns = st.st_mtim.tv_sec * kSecond + st.st_mtim.tv_nsec;
  facts.ctime_ns = st.st_ctim.tv_sec * kSecond + st.st_ctim.tv_nsec;
  facts.links = st.st_nlink;
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

/// False with errno if what changed in a directory may not be on the disk.
bool SyncRetrying(SystemCalls& calls, int directory) {
  while (calls.Sync(directory) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

/// A new file of mode 0600 under a hidden name that did not exist. Gives back the name.
std::pair<detail::Fd, std::string> CreateHidden(SystemCalls& calls, int directory, const std::string& what,
                                                const std::string& path) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = HiddenName();
    const int fd =
        OpenRetrying(calls, directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) return {detail::Fd(fd), std::move(name)};
    if (errno != EEXIST) FailOpen("create a file in " + what, path, errno, SystemError::Verb::kMakeTemp);
  }
  throw Error(ErrorCode::kIo, "create a file in " + what + path + ": every random name is taken");
}

// What RemoveHiddenOutput removes: signal handlers have no other way to find it. The name is written before the
// descriptor of its directory is set, and stands until that is taken back. The most that a job has are 256 parts and
// their manifest; one thread makes them.
struct HiddenOutput {
  std::atomic<int> directory{-1};
  std::array<char, 32> name{};
};
std::array<HiddenOutput, 257> hidden_outputs;

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

constexpr char kAcl[] = "system.posix_acl_access";

/// An ACL as the kernel stores it; empty if there is none, also because the file system, or a sandbox, does not know them.
/// `named`: for the message.
std::string ReadAcl(const std::string& path, const char* which, const std::string& named) {
  std::string acl(std::size_t{1} << 16, '\0');
  const ssize_t got = ::lgetxattr(path.c_str(), which, acl.data(), acl.size());
  if (got < 0 && (errno == EIO || errno == ENOMEM || errno == ESTALE)) FailOpen("the ACL of ", named, errno);
  acl.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return acl;
}

/// The extended attributes but those of the system (ACLs), and in `unread`, if given, why some cannot be read. `list` and
/// `get` are listxattr and getxattr of a file.
template <typename List, typename Get>
std::map<std::string, std::string> ReadAttributes(List list, Get get, std::vector<std::string>* unread = nullptr) {
  constexpr std::size_t kMost = std::size_t{1} << 16;  // XATTR_LIST_MAX and XATTR_SIZE_MAX
  std::map<std::string, std::string> attributes;
  std::string names(kMost, '\0');
  const ssize_t bytes = list(names.data(), names.size());
  names.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    const char* const name = names.c_str() + at;
    if (std::string_view(name).starts_with("system.")) continue;
    std::string value(kMost, '\0');
    const ssize_t got = get(name, value.data(), value.size());
    if (got < 0) {
      // ENODATA: removed meanwhile.
      if (errno != ENODATA && unread != nullptr) unread->push_back(name + (": " + detail::ErrnoText(errno)));
      continue;
    }
    value.resize(static_cast<std::size_t>(got));
    attributes.emplace(name, std::move(value));
  }
  return attributes;
}

/// Links are not followed.
std::map<std::string, std::string> AttributesOf(const std::string& path, std::vector<std::string>& unread) {
  return ReadAttributes(
      [&](char* names, std::size_t size) { return ::llistxattr(path.c_str(), names, size); },
      [&](const char* name, char* value, std::size_t size) { return ::lgetxattr(path.c_str(), name, value, size); },
      &unread);
}
std::map<std::string, std::string> AttributesOf(int fd) {
  return ReadAttributes(
      [&](char* names, std::size_t size) { return ::flistxattr(fd, names, size); },
      [&](const char* name, char* value, std::size_t size) { return ::fgetxattr(fd, name, value, size); });
}

/// Why an attribute stays with the old file; null if it goes over.
const char* WhyNotKept(std::string_view name) {
  if (name == "security.capability" || name == "security.ima" || name == "security.evm") {
    return "it vouches for the old content";
  }
  return name.starts_with("user.") || name.starts_with("security.") ? nullptr : "only user.* and security.* are kept";
}

/// Of what a directory passes on, what a file gets that is created with mode 0666, as the kernel does it: owner, others
/// and the mask, or the group where there is no mask, are limited by the mode.
void KeepReadAndWrite(std::string& acl) {
  // linux/posix_acl_xattr.h: a version of 4 bytes, then entries of tag, permissions and id.
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  constexpr std::size_t kHeader = 4;
  constexpr std::uint16_t kOwner = 0x01, kGroup = 0x04, kMask = 0x10, kOthers = 0x20;
  const auto limit = [&](std::uint16_t tag) {
    bool found = false;
    for (std::size_t at = kHeader; at + sizeof(Entry) <= acl.size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, acl.data() + at, sizeof entry);
      if (entry.tag != tag) continue;
      entry.permissions &= 06;
      std::memcpy(acl.data() + at, &entry, sizeof entry);
      found = true;
    }
    return found;
  };
  limit(kOwner);
  limit(kOthers);
  if (!limit(kMask)) limit(kGroup);
}

std::string Octal(unsigned mode) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

bool IsLink(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, failure);
  // Taken for something else, a link would be replaced, and not what it leads to.
  if (failure == std::errc::io_error || failure == std::errc::not_enough_memory) {
    FailOpen("", path.string(), failure.value());
  }
  return std::filesystem::is_symlink(status);
}

/// Where a link leads, one step.
std::filesystem::path TargetOf(const std::filesystem::path& link, std::error_code& failure) {
  const std::filesystem::path next = std::filesystem::read_symlink(link, failure);
  return next.is_absolute() ? next : link.parent_path() / next;
}

/// True of a directory in which nothing can be renamed or removed (chattr +a).
bool TakesOnlyAdditions(int directory, const std::string& path) {
  struct statx facts {};
  return ::statx(directory, path.c_str(), AT_EMPTY_PATH, STATX_BASIC_STATS, &facts) == 0 &&
         (facts.stx_attributes & STATX_ATTR_APPEND) != 0;
}

// Newer kernels take O_DIRECT for it, and copy all the same.
bool IsOnTmpfs(int fd) {
  struct statfs fs;
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

}  // namespace

// What the kernel does itself if fs.protected_symlinks, _regular and _fifos are set; links also where the folder is not
// sticky, so that anybody may put one in place of a file.
bool PlantedByOther(const std::string& path) {
  struct stat entry, folder;
  if (::lstat(path.c_str(), &entry) != 0 || ::stat(DirectoryOf(path).c_str(), &folder) != 0) return false;
  const bool sticky = (folder.st_mode & S_ISVTX) != 0;
  return (folder.st_mode & S_IWOTH) != 0 && (sticky || S_ISLNK(entry.st_mode)) && entry.st_uid != ::geteuid() &&
         entry.st_uid != folder.st_uid;
}

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

void SystemCalls::WriteBack(int fd, std::uint64_t offset, std::uint64_t bytes) {
  ::sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
}

int SystemCalls::Truncate(int fd, std::uint64_t size) { return ::ftruncate(fd, static_cast<off_t>(size)); }

// Not posix_fallocate: where the file system cannot reserve, the C library would write a byte into every block.
int SystemCalls::Allocate(int fd, std::uint64_t begin, std::uint64_t end) {
  return ::fallocate(fd, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
}

int SystemCalls::Deallocate(int fd, std::uint64_t begin, std::uint64_t end) {
  return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                     static_cast<off_t>(end - begin));
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

int SystemCalls::SetAttribute(int fd, const char* name, const std::string& value) {
  return ::fsetxattr(fd, name, value.data(), value.size(), 0);
}

int SystemCalls::FreeSpace(const char* directory, std::uint64_t* bytes) {
  struct statvfs fs;
  if (::statvfs(directory, &fs) != 0) return -1;
  *bytes = fs.f_blocks == 0 ? kUnknownSpace : static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
  return 0;
}

File::File(SystemCalls& calls, detail::Fd fd, std::string path, std::string directory, bool direct)
    : calls_(calls), fd_(std::move(fd)), path_(std::move(path)), directory_(std::move(directory)) {
  if (direct) MakeDirect();
}

// After the open: open(O_CREAT | O_DIRECT) on a file system without it creates the file and then fails.
void File::MakeDirect() {
  direct_ = !IsOnTmpfs(fd_.get()) && calls_.SetDirect(fd_.get()) == 0;
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

/// What was written directly is on its way: a buffered write of other bytes does not disturb it.
void File::MakeBuffered() {
  if (!direct_) return;
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags & ~O_DIRECT) != 0) Fail("make buffered", 0, 0, errno);
  direct_ = false;
  alignment_ = 1;
}

void File::CheckAligned(const char* verb, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const {
  if ((offset | bytes | reinterpret_cast<std::uintptr_t>(data)) % alignment_ == 0) return;
  throw Error(ErrorCode::kInternal, std::string(verb) + " " + path_ + " at " + std::to_string(offset) + ", " +
                                        std::to_string(bytes) + " bytes: not aligned to " + std::to_string(alignment_));
}

void File::Fail(const char* verb, std::uint64_t offset, std::uint64_t bytes, int error) const {
  std::string message =
      std::string(verb) + " " + path_ + " at " + std::to_string(offset) + ": " + detail::ErrnoText(error);
  const bool reads = std::string_view(verb) == "read" || std::string_view(verb) == "stat";
  const SystemError::Verb done = reads ? SystemError::Verb::kRead : SystemError::Verb::kWrite;
  const auto at = bytes > 0 ? std::optional(offset) : std::nullopt;
  if (!IsNoSpace(error)) throw SystemError(ErrorCode::kIo, message + detail::DiskHint(error), error, done, path_, at);
  message += "; needed " + std::to_string(bytes) + " bytes more";
  std::uint64_t free = kUnknownSpace;
  if (error == ENOSPC && calls_.FreeSpace(directory_.c_str(), &free) == 0) {
    message += ", free in " + directory_ + ": " + detail::SpaceText(free);
  }
  throw SystemError(ErrorCode::kNoSpace, message + "; " + detail::NoSpaceHint(error), error, done, path_, at);
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

bool File::Deallocate(std::uint64_t offset, std::uint64_t bytes) {
  return calls_.Deallocate(fd_.get(), offset, offset + bytes) == 0;
}

void File::WriteBack(std::uint64_t offset, std::uint64_t bytes) {
  if (!direct_) calls_.WriteBack(fd_.get(), offset, bytes);
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

void OutputFile::Open(bool direct) {
  FindOld();
  try {
    CreateNew(direct);
  } catch (const Error& error) {
    const bool rewrites = on_old_ == OldFile::kReplaceOrRewrite || on_old_ == OldFile::kRewriteIfSeen;
    if (!rewrites || !old_ || error.code() != ErrorCode::kUsage) throw;
    in_place_ = error.what();
    lost_.clear();
    file_.reset();
    RemoveHidden();
    OpenOld();
  }
}

/// Sets the names and what they lead to.
void OutputFile::FindOld() {
  namespace fs = std::filesystem;
  // The target of the link is replaced, not the link. Only the last part of the path is read here: the kernel follows
  // links in the directory part.
  constexpr int kMaxLinks = 40;
  fs::path target = given_;
  int links = 0;
  for (; IsLink(target); ++links) {
    if (links == kMaxLinks) Refuse("too many symbolic links", ELOOP);
    if (!FollowsLinksOfOthers() && PlantedByOther(target)) {
      Refuse("another user's link in a folder that all can write is not followed", EACCES);
    }
    std::error_code failure;
    target = TargetOf(target, failure);
    if (failure) Refuse(detail::ErrnoText(failure.value()), failure.value());
  }
  path_ = target.string();
  directory_ = DirectoryOf(target);
  name_ = target.filename().string();

  struct stat st;
  int error = 0;
  if (links > 0 || TakesOnlyAdditions(AT_FDCWD, directory_)) {
    // What these links lead to says the kernel, which does not follow those of other users everywhere
    // (fs.protected_symlinks); the walk above could be led astray meanwhile. So it also makes a target that is missing.
    detail::Fd end(OpenRetrying(calls_, AT_FDCWD, given_.c_str(), O_PATH | O_CLOEXEC, 0));
    if (!end.open() && errno == ENOENT && on_old_ != OldFile::kKeep) {
      end = detail::Fd(OpenRetrying(calls_, AT_FDCWD, given_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
      made_ = end.open();
    }
    if (!end.open() || ::fstat(end.get(), &st) != 0) error = errno;
  } else if (::stat(path_.c_str(), &st) != 0) {
    error = errno;
  }
  if (error == 0) {
    if (S_ISDIR(st.st_mode)) Refuse("it is a directory", EISDIR);
    if (!S_ISREG(st.st_mode)) Refuse("it is not a regular file", ENXIO);
    if (on_old_ == OldFile::kKeep) Refuse("it exists, and --no-clobber keeps it");
    if (!FollowsLinksOfOthers() && PlantedByOther(path_)) {
      Refuse("it is another user's in a folder that all can write: nothing is written for them to read; choose another name or folder",
             EACCES);
    }
    old_ = FactsFrom(st);
  } else if (error != ENOENT || links > 0) {
    if (error == ENOTDIR && given_.ends_with('/')) error = EISDIR;  // as open says it of "FILE/"
    Refuse(detail::ErrnoText(error), error);
  }
  if (name_.empty() || name_ == "." || name_ == "..") Refuse("it names a directory", given_.empty() ? ENOENT : EISDIR);
}

void OutputFile::CreateNew(bool direct) {
  const std::string what = "output directory ";
  directory_fd_ = detail::Fd(OpenRetrying(calls_, AT_FDCWD, directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!directory_fd_.open()) FailOpen(what, directory_, errno);
  if (old_) {
    struct stat st;
    const int found = ::fstatat(directory_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW);
    if (found != 0 && errno != ENOENT) Refuse(detail::ErrnoText(errno), errno);
    if (found != 0 || !FactsFrom(st).same_file(*old_)) {
      Refuse("it has no name that a new file could take");
    }
    if (::faccessat(directory_fd_.get(), name_.c_str(), W_OK, AT_EACCESS) != 0) Refuse(detail::ErrnoText(errno));
    struct statx facts {};
    ::statx(directory_fd_.get(), name_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &facts);
    if ((facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) Refuse("it is mounted there");
    if ((facts.stx_attributes & STATX_ATTR_APPEND) != 0) Refuse("it can only be appended to");
    if (on_old_ == OldFile::kRewriteIfSeen) RefuseIfSeen(st.st_nlink, st.st_mode);
  }
  if (::faccessat(directory_fd_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) FailOpen(what, directory_, errno);
  if (TakesOnlyAdditions(directory_fd_.get(), "")) Refuse("its directory takes only additions");
  struct stat dir;
  if (::fstat(directory_fd_.get(), &dir) != 0) FailOpen(what, directory_, errno);
  const uid_t self = ::geteuid();
  if (old_ && (dir.st_mode & S_ISVTX) != 0 && self != 0 && old_->uid != self && dir.st_uid != self) {
    Refuse("another user's file in a sticky directory cannot be replaced");
  }

  detail::Fd fd(OpenRetrying(calls_, directory_fd_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open() && !IsTmpfileUnsupported(errno)) FailOpen("create a file in " + what, directory_, errno);
  // A nameless file gets its name through /proc, which may not be there.
  if (!fd.open() || ::access(ProcPath(fd.get()).c_str(), F_OK) != 0) {
    const SignalBlock until_it_can_be_removed;
    std::string name;
    std::tie(fd, name) = CreateHidden(calls_, directory_fd_.get(), what, directory_);
    SetHidden(std::move(name));
  }
  file_.reset(new File(calls_, std::move(fd), path_, directory_, direct));
  access_ = ReadAccess();
  if (!access_) return;
  // Tried now, not after hours, and taken back: until Publish nobody else may touch the file.
  const FileFacts mine = file_->Facts();
  if (!GiveRights(*access_)) Refuse("a new file would lose its owner, group or ACL");
  ::fremovexattr(file_->fd_.get(), kAcl);
  std::ignore = ::fchown(file_->fd_.get(), mine.uid, static_cast<gid_t>(-1));
  std::ignore = ::fchmod(file_->fd_.get(), 0600);
}

void OutputFile::OpenOld() {
  detail::Fd fd;
  for (const int mode : {O_RDWR, O_WRONLY}) {
    fd = detail::Fd(OpenRetrying(calls_, AT_FDCWD, given_.c_str(), mode | O_CLOEXEC | O_NOCTTY, 0));
    if (fd.open() || errno != EACCES) break;
  }
  if (!fd.open()) Refuse(detail::ErrnoText(errno), errno);
  file_.reset(new File(calls_, std::move(fd), path_, directory_, false));
  if (!file_->Facts().regular) Refuse("it is not a regular file");
}

OutputFile::~OutputFile() {
  if (published_) return;
  if (taken_up_ && kept_ > 0) {
    calls_.Truncate(file_->fd_.get(), kept_);  // what is behind takes space
  } else {
    RemoveHidden();
  }
  struct stat st;
  if (made_ && directory_fd_.open() && ::fstatat(directory_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      FactsFrom(st).same_file(*old_)) {
    calls_.Unlink(directory_fd_.get(), name_.c_str());
  }
}

void OutputFile::SetHidden(std::string name) {
  hidden_ = std::move(name);
  const auto free = std::find_if(hidden_outputs.begin(), hidden_outputs.end(),
                                 [](const HiddenOutput& output) { return output.directory < 0; });
  if (free == hidden_outputs.end()) return;
  free->name.fill('\0');
  hidden_.copy(free->name.data(), free->name.size() - 1);
  free->directory = directory_fd_.get();
}

void OutputFile::ForgetHidden() noexcept {
  for (HiddenOutput& output : hidden_outputs) {
    if (output.directory == directory_fd_.get()) output.directory = -1;
  }
}

void OutputFile::RemoveHidden() noexcept {
  if (hidden_.empty()) return;
  calls_.Unlink(directory_fd_.get(), hidden_.c_str());
  ForgetHidden();
  hidden_.clear();
}

void OutputFile::Refuse(const std::string& why, int error) const {
  const std::string message = "output " + path_ + ": " + why;
  if (error == 0) throw Error(ErrorCode::kUsage, message);
  throw SystemError(detail::OpenErrorCode(error), message, error, SystemError::Verb::kOpen, path_);
}

/// Other names, another owner, attributes, or a descriptor that somebody shares.
void OutputFile::RefuseIfSeen(std::uint64_t names, unsigned mode) const {
  if (names != 1) Refuse("it has several names");
  if ((mode & (S_ISUID | S_ISGID | S_ISVTX)) != 0) Refuse("it has mode bits that a new file does not get");
  if (old_->uid != ::geteuid()) Refuse("it is another user's");
  if (::llistxattr(ByDirectory().c_str(), nullptr, 0) > 0) Refuse("it has attributes");
  struct stat stream;
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fstat(fd, &stream) == 0 && FactsFrom(stream).same_file(*old_)) Refuse("it is a standard stream, too");
  }
}

/// The name through the open directory, wherever that is by now; without /proc, where it was.
std::string OutputFile::ByDirectory() const {
  const std::string directory = ProcPath(directory_fd_.get());
  return (::access(directory.c_str(), F_OK) == 0 ? directory : directory_) + "/" + name_;
}

/// Of the file that has the name now; nothing if there is none, or no regular one.
std::optional<OutputFile::Access> OutputFile::ReadAccess() const {
  struct stat st;
  const int found = ::fstatat(directory_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW);
  // Taken for missing, a file that only its owner may read would be replaced by one that all may.
  if (found != 0 && errno != ENOENT) FailOpen("the access to ", path_, errno);
  if (found != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  const std::string path = ByDirectory();
  Access access{st.st_uid, st.st_gid, st.st_mode & 07777, ReadAcl(path, kAcl, path_), {}, {}};
  access.attributes = AttributesOf(path, access.unread);
  return access;
}

/// Gives the new file that owner, group, mode and ACL. False if some of it could not be given: then nobody can do more
/// than before.
bool OutputFile::GiveRights(const Access& access) {
  const int fd = file_->fd_.get();
  const FileFacts now = file_->Facts();
  unsigned mode = access.mode;
  bool all = true;
  // Only root can give a file away, and others only to their own groups.
  if (now.uid != access.uid && ::fchown(fd, access.uid, static_cast<gid_t>(-1)) != 0) {
    all = false;
    lost_.push_back("owner: " + detail::ErrnoText(errno));
    mode &= ~static_cast<unsigned>(S_ISUID);
  }
  if (now.gid != access.gid && ::fchown(fd, static_cast<uid_t>(-1), access.gid) != 0) {
    all = false;
    lost_.push_back("group: " + detail::ErrnoText(errno));
    mode &= ~static_cast<unsigned>(S_ISGID) & (~070u | ((mode & 07u) << 3));
  }
  // What the directory passes on to new files goes in any case.
  ::fremovexattr(fd, kAcl);
  if (!access.acl.empty() && (!all || ::fsetxattr(fd, kAcl, access.acl.data(), access.acl.size(), 0) != 0)) {
    lost_.push_back("ACL: " + (all ? detail::ErrnoText(errno) : "it goes with owner and group"));
    all = false;
    mode &= 0700u;
  }
  if (::fchmod(fd, mode) != 0) file_->Fail("chmod", 0, 0, errno);
  // The kernel keeps it from who is not in the group.
  if (const unsigned kept = file_->Facts().mode; ((access.mode & ~kept) & (S_ISUID | S_ISGID)) != 0) {
    lost_.push_back("set-user-ID or set-group-ID: the new mode is " + Octal(kept));
  }
  return all;
}

/// While the mode is 0600: what the old file's may forbid to change them.
void OutputFile::GiveAttributes(const std::map<std::string, std::string>& attributes) {
  const int fd = file_->fd_.get();
  const std::map<std::string, std::string> mine = AttributesOf(fd);
  for (const auto& [name, value] : mine) {
    if (name.starts_with("user.") && !attributes.contains(name)) ::fremovexattr(fd, name.c_str());
  }
  for (const auto& [name, value] : attributes) {
    const auto same = mine.find(name);
    if (same != mine.end() && same->second == value) continue;  // what the directory gives, as SELinux's label
    if (const char* const why = WhyNotKept(name)) {
      lost_.push_back(name + ": " + why);
    } else if (calls_.SetAttribute(fd, name.c_str(), value) != 0) {
      lost_.push_back(name + ": " + detail::ErrnoText(errno));
    }
  }
}

void OutputFile::Give(const Access& access) {
  lost_.clear();
  if (::fchmod(file_->fd_.get(), 0600) != 0) file_->Fail("chmod", 0, 0, errno);
  GiveAttributes(access.attributes);
  lost_.insert(lost_.end(), access.unread.begin(), access.unread.end());
  GiveRights(access);
}

/// What the kernel gives a new file of mode 0666 in the directory.
void OutputFile::GiveUsual() {
  const int fd = file_->fd_.get();
  std::string acl = ReadAcl(ProcPath(directory_fd_.get()) + "/.", "system.posix_acl_default", directory_);
  if (acl.empty()) {
    if (::fchmod(fd, DefaultMode()) != 0) file_->Fail("chmod", 0, 0, errno);
    return;
  }
  KeepReadAndWrite(acl);
  if (::fsetxattr(fd, kAcl, acl.data(), acl.size(), 0) != 0) file_->Fail("set the ACL of", 0, 0, errno);
}

/// Gives the file what the old one has by now. False if it had that already.
bool OutputFile::FollowOld() {
  if (private_) return false;
  const std::optional<Access> now = ReadAccess();
  if (!now || now == access_ || (!FollowsLinksOfOthers() && PlantedByOther(ByDirectory()))) return false;
  access_ = now;
  Give(*now);
  return true;
}

void OutputFile::WriteAt(std::uint64_t offset, std::span<const std::byte> data) {
  if (!in_place_.empty()) std::call_once(emptied_, [this] { file_->Truncate(0); });
  file_->WriteAt(offset, data);
  if (sums_ != nullptr) sums_->Add(offset, data);
  // Small pieces would be written as small ones.
  constexpr std::size_t kWorthIt = std::size_t{256} << 10;
  if (writes_back_ && data.size() >= kWorthIt) file_->WriteBack(offset, data.size());
}

void OutputFile::Allocate(std::uint64_t size) {
  if (in_place_.empty()) {
    file_->Allocate(size);
    return;
  }
  // The old bytes are needed until the first write, which frees them.
  struct stat st;
  std::uint64_t free = 0;
  if (::fstat(file_->fd_.get(), &st) != 0 || calls_.FreeSpace(path_.c_str(), &free) != 0) return;
  if (free != kUnknownSpace) free += static_cast<std::uint64_t>(st.st_blocks) * 512;
  if (free < size) {
    throw Error(ErrorCode::kNoSpace, "write " + path_ + ": needed " + std::to_string(size) +
                                         " bytes, free there: " + std::to_string(free) + " bytes");
  }
}

bool OutputFile::readable() const { return (::fcntl(file_->fd_.get(), F_GETFL) & O_ACCMODE) == O_RDWR; }

void OutputFile::MakeDirect() {
  if (in_place_.empty()) file_->MakeDirect();
}

bool OutputFile::TakeUp(const std::string& name, std::uint64_t bytes) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  detail::Fd fd(OpenRetrying(calls_, directory_fd_.get(), name.c_str(), kFlags, 0));
  if (!fd.open() && errno == ENOENT) {
    fd = detail::Fd(OpenRetrying(calls_, directory_fd_.get(), name.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  }
  const std::string path = directory_ + "/" + name;
  if (!fd.open()) FailOpen("", path, errno);
  std::unique_ptr<File> file(new File(calls_, std::move(fd), path_, directory_, false));
  const FileFacts facts = file->Facts();
  // Killed just before it was renamed, it may have the old output's owner already.
  const bool mine = facts.uid == ::geteuid() || (access_ && facts.uid == access_->uid);
  struct stat st;
  if (::fstat(file->fd_.get(), &st) != 0) FailOpen("", path, errno);
  if (!facts.regular || !mine || st.st_nlink != 1) {
    throw Error(ErrorCode::kUsage, path + ": it is no file of this job");
  }
  if (::flock(file->fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(ErrorCode::kUsage, path + ": another job writes it");
  }
  ::fremovexattr(file->fd_.get(), kAcl);
  if (facts.uid != ::geteuid()) std::ignore = ::fchown(file->fd_.get(), ::geteuid(), static_cast<gid_t>(-1));
  if (::fchmod(file->fd_.get(), 0600) != 0) file->Fail("chmod", 0, 0, errno);
  kept_ = facts.size >= bytes ? bytes : 0;
  file->Truncate(kept_);
  RemoveHidden();
  file_ = std::move(file);
  hidden_ = name;
  taken_up_ = true;
  return kept_ == bytes;
}

void OutputFile::Keep(std::uint64_t bytes) {
  file_->Sync();
  if (kept_ == 0 && !SyncRetrying(calls_, directory_fd_.get())) {
    throw Error(ErrorCode::kIo, "sync " + directory_ + ": " + detail::ErrnoText(errno));
  }
  kept_ = bytes;
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

void OutputFile::Complete(std::uint64_t total_bytes, bool sync) {
  if (completed_) return;
  const bool mapped = file_->page_bytes_ > 0;
  file_->Truncate(total_bytes);
  if (!appended_.empty()) {
    file_->MakeBuffered();
    file_->WriteAt(total_bytes, appended_);
  }
  // Writes through a mapping of a tmpfs leave the time of the last change as it was.
  if (mapped && ::futimens(file_->fd_.get(), nullptr) != 0) file_->Fail("set the times of", 0, 0, errno);
  if (in_place_.empty() && private_) ::fremovexattr(file_->fd_.get(), kAcl);
  if (in_place_.empty() && !private_ && !access_) GiveUsual();
  if (in_place_.empty() && !private_ && access_) Give(*access_);
  if (sync) file_->Sync();
  // Network file systems report some write errors at close only. Closing a copy asks for them while the old output can
  // still be kept, and the file stays open for reading back.
  const int copy = ::fcntl(file_->fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) file_->Fail("close", 0, 0, errno);
  completed_ = true;
}

void OutputFile::Publish(std::uint64_t total_bytes, bool sync) {
  if (published_) throw Error(ErrorCode::kInternal, "output " + path_ + " is published twice");
  Complete(total_bytes, sync);
  if (!in_place_.empty()) {
    struct stat st;
    if (::stat(given_.c_str(), &st) != 0 || !FactsFrom(st).same_file(file_->Facts())) {
      throw Error(ErrorCode::kIo, "output " + path_ + ": it was removed or renamed while it was written in place");
    }
  }
  sigset_t before;
  const sigset_t all = AllSignals();
  const int blocked = pthread_sigmask(SIG_BLOCK, &all, &before);
  if (blocked != 0) throw Error(ErrorCode::kInternal, "pthread_sigmask: " + detail::ErrnoText(blocked));
  if (!in_place_.empty()) {
    published_ = true;
    return;
  }
  try {
    if (FollowOld() && sync) file_->Sync();
    if (hidden_.empty()) LinkHidden();
    const bool keep = on_old_ == OldFile::kKeep;
    const int renamed = keep ? calls_.RenameNew(directory_fd_.get(), hidden_.c_str(), name_.c_str())
                             : calls_.Rename(directory_fd_.get(), hidden_.c_str(), name_.c_str());
    if (renamed != 0 && keep && errno == EEXIST) {
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
  ForgetHidden();
  if (sync && !SyncRetrying(calls_, directory_fd_.get())) {
    throw Error(ErrorCode::kIo, "sync output directory " + directory_ + ": " + detail::ErrnoText(errno) +
                                    "; the new output is in place, but a crash of the system may undo that");
  }
}

void RemoveHiddenOutput() noexcept {
  for (const HiddenOutput& entry : hidden_outputs) {
    const int directory = entry.directory;
    if (directory >= 0) ::unlinkat(directory, entry.name.data(), 0);
  }
}

std::unique_ptr<File> FileSystem::OpenInput(const std::string& path, bool direct) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) FailOpen("input ", path, errno);
  // Asked before the open, which would wait for the other end of a FIFO.
  if (S_ISDIR(st.st_mode)) throw Error(ErrorCode::kUsage, "input " + path + " is a directory");
  if (!S_ISREG(st.st_mode)) throw Error(ErrorCode::kUsage, "input " + path + " is not a regular file");
  detail::Fd fd(OpenRetrying(*calls_, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY, 0));
  if (!fd.open()) FailOpen("input ", path, errno);
  return std::unique_ptr<File>(new File(*calls_, std::move(fd), path, DirectoryOf(path), direct));
}

std::unique_ptr<File> FileSystem::OpenTemp(const std::string& directory, bool direct) {
  const std::string what = "temporary directory ";
  detail::Fd fd(OpenRetrying(*calls_, AT_FDCWD, directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open()) {
    if (!IsTmpfileUnsupported(errno)) {
      FailOpen("create a file in " + what, directory, errno, SystemError::Verb::kMakeTemp);
    }
    const detail::Fd parent(OpenRetrying(*calls_, AT_FDCWD, directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (!parent.open()) FailOpen(what, directory, errno, SystemError::Verb::kMakeTemp);
    const SignalBlock until_it_is_removed;
    std::string name;
    std::tie(fd, name) = CreateHidden(*calls_, parent.get(), what, directory);
    if (calls_->Unlink(parent.get(), name.c_str()) != 0) {
      FailOpen("unlink " + name + " in " + what, directory, errno, SystemError::Verb::kMakeTemp);
    }
  }
  return std::unique_ptr<File>(new File(*calls_, std::move(fd), "a temporary file in " + directory, directory, direct));
}

std::unique_ptr<File> FileSystem::OpenNamed(const std::string& path, bool direct, bool create) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  detail::Fd fd(OpenRetrying(*calls_, AT_FDCWD, path.c_str(), kFlags, 0));
  if (!fd.open() && errno == ENOENT) {
    if (!create) return nullptr;
    fd = detail::Fd(OpenRetrying(*calls_, AT_FDCWD, path.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  }
  if (!fd.open()) FailOpen("", path, errno);
  std::unique_ptr<File> file(new File(*calls_, std::move(fd), path, DirectoryOf(path), direct));
  const FileFacts facts = file->Facts();
  if (facts.regular && facts.uid == ::geteuid() && (facts.mode & 022) == 0) return file;
  throw Error(ErrorCode::kUsage, path + ": it is no file that only this user can write");
}

void FileSystem::SyncDirectory(const std::string& directory) {
  const detail::Fd fd(OpenRetrying(*calls_, AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!fd.open()) FailOpen("directory ", directory, errno);
  if (!SyncRetrying(*calls_, fd.get())) {
    throw Error(ErrorCode::kIo, "sync directory " + directory + ": " + detail::ErrnoText(errno));
  }
}

std::unique_ptr<OutputFile> FileSystem::CreateOutput(const std::string& path, bool direct, OldFile old) {
  std::unique_ptr<OutputFile> output(new OutputFile(*calls_, path, old));
  output->Open(direct);
  return output;
}

std::uint64_t FileSystem::FreeSpace(const std::string& directory) {
  std::uint64_t bytes = 0;
  while (calls_->FreeSpace(directory.c_str(), &bytes) != 0) {
    if (errno != EINTR) FailOpen("free space of ", directory, errno);
  }
  return bytes;
}

std::optional<FileFacts> FileSystem::Identify(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0) return FactsFrom(st);
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  FailOpen("", path, errno);
}

bool FileSystem::IsTmpfs(const std::string& directory) {
  struct statfs fs;
  while (::statfs(directory.c_str(), &fs) != 0) {
    if (errno != EINTR) FailOpen("file system of ", directory, errno);
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

FileFacts FactsOf(int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) throw Error(ErrorCode::kIo, "stat: " + detail::ErrnoText(errno));
  return FactsFrom(st);
}

std::optional<int> DescriptorOf(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMaxLinks = 40;
  std::error_code none, failure;
  const fs::path mine = fs::canonical("/proc/self/fd", none);
  fs::path target = path;
  for (int links = 0; links < kMaxLinks && !mine.empty() && !failure; ++links) {
    const std::string name = target.filename().string();
    if (!name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos &&
        fs::canonical(DirectoryOf(target), none) == mine) {
      return std::stoi(name);
    }
    if (!IsLink(target)) break;
    target = TargetOf(target, failure);
  }
  return std::nullopt;
}

bool IsStreamTarget(const std::string& path) {
  if (path == "-" || DescriptorOf(path)) return true;
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

bool IsStreamSource(const std::string& path) {
  if (path == "-") return true;
  struct stat st;
  if (::stat(path.c_str(), &st) != 0 || S_ISDIR(st.st_mode)) return false;
  if (!S_ISREG(st.st_mode)) return true;
  constexpr off_t kMostInvented = off_t{64} << 10;  // files of /sys say that they have a page, or several
  if (st.st_size > kMostInvented) return false;
  const detail::Fd fd(detail::OpenPath(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return false;
  char byte = 0;
  // An error is for who reads it to the end.
  const off_t last = st.st_size == 0 ? 0 : st.st_size - 1;
  return (::pread(fd.get(), &byte, 1, last) == 0) == (st.st_size > 0);
}

}  // namespace gpusort
