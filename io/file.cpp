#include "io/file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <tuple>

#include "io/path.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kDefaultDirectAlignment = 4096;
// A signal or a nearly full disk may cut a transfer short many times. After this many transfers without any progress,
// the call fails.
constexpr int kMaxStalls = 1000;

/// Returns advice on the name of an input that is missing, or "". The name may be a URL, or have characters that a
/// shell replaces only outside of quotes.
std::string AdviceOnMissing(const std::string& path) {
  if (path.find("://") != path.npos) return "; gpusort reads files and pipes: curl URL | gpusort - OUTPUT";
  if (path.starts_with("~")) return "; in quotes the shell does not replace ~ by a home folder";
  if (path.find_first_of("*?") != path.npos) return "; the shell found no file for this pattern, or it is in quotes";
  return "";
}

}  // namespace

bool detail::IsOnTmpfs(int fd) {
  struct statfs fs;
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

FileFacts FileFacts::From(const struct stat& st) {
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

File::File(SystemCalls& calls, detail::Fd fd, std::string path, std::string directory, bool direct)
    : calls_(calls), fd_(std::move(fd)), path_(std::move(path)), directory_(std::move(directory)) {
  if (direct) MakeDirect();
}

// Turns O_DIRECT on for the open file. Opening it with O_CREAT and O_DIRECT would create the file and then fail if the
// file system does not know O_DIRECT.
void File::MakeDirect() {
  // Newer kernels accept O_DIRECT for a tmpfs, without any effect.
  direct_ = !detail::IsOnTmpfs(fd_.get()) && calls_.SetDirect(fd_.get()) == 0;
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

/// Turns O_DIRECT off. All direct writes are complete when this is called, so buffered writes of other bytes do not
/// disturb them.
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
  if (!detail::IsNoSpace(error))
    throw SystemError(ErrorCode::kIo, message + detail::DiskHint(error), error, done, path_, at);
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
    // If a direct read returns a part of a block, the file ends there or the transfer was short. After a short
    // transfer, the read is repeated from the beginning of the block.
    if (progress != taken && offset + done + taken >= Facts().size) return done + taken;
    done += progress;
    stalls = progress > 0 ? 0 : stalls + 1;
    if (stalls > kMaxStalls) Stalled("read", offset + done);
  }
  return done;
}

void File::WriteAt(std::uint64_t offset, std::span<const std::byte> data) {
  CheckAligned("write", offset, data.data(), data.size());
  AwaitAllocation(offset + data.size());
  std::uint64_t done = 0;
  // This is large enough for huge pages. It is not larger, because mapped pages count as resident memory of this
  // process.
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

void File::SetMode(unsigned mode) {
  if (::fchmod(fd_.get(), mode) != 0) Fail("chmod", 0, 0, errno);
}

void File::Sync() {
  if (Uninterrupted([&] { return calls_.Sync(fd_.get()); }) != 0) Fail("sync", 0, 0, errno);
}

void File::Truncate(std::uint64_t size) {
  page_bytes_ = std::min<std::uint64_t>(page_bytes_, size);
  if (Uninterrupted([&] { return calls_.Truncate(fd_.get(), size); }) != 0) Fail("truncate", size, 0, errno);
}

/// Returns true if the file is in memory (tmpfs) and has no name. Another process could truncate a file that has a
/// name. A copy to its mapped pages would then end by SIGBUS.
bool File::OnlyInMemory() const {
  struct stat st;
  return detail::IsOnTmpfs(fd_.get()) && ::fstat(fd_.get(), &st) == 0 && st.st_nlink == 0;
}

void File::Allocate(std::uint64_t size) {
  if (size <= page_bytes_) return;  // another thread may hold the lock for some milliseconds
  const std::lock_guard lock(allocating_);
  // Reserves only new pages, because the kernel would look at each page that is there already.
  const std::uint64_t begin = page_bytes_;
  if (size <= begin) return;
  if (Uninterrupted([&] { return calls_.Allocate(fd_.get(), begin, size); }) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) return;
    Fail("reserve", begin, size - begin, errno);
  }
  if (OnlyInMemory()) page_bytes_ = size;
}

bool File::ExpectAllocation(std::uint64_t size) {
  if (!OnlyInMemory() || size > detail::FileSizeLimit()) return false;
  std::uint64_t free = kUnknownSpace;
  if (calls_.FreeSpace(directory_.c_str(), &free) == 0 && size > free) return false;
  expected_ = size;
  return true;
}

void File::AllocateInSteps(std::uint64_t size) {
  // A step of 32 MiB takes some milliseconds. The kernel would look again at the pages of earlier steps in a file that
  // is not only in memory.
  const std::uint64_t most = OnlyInMemory() ? std::uint64_t{32} << 20 : size;
  const auto notify = [this] {
    { const std::lock_guard lock(waiting_); }
    allocated_.notify_all();
  };
  const auto end = [&] {
    expected_ = 0;
    notify();
  };
  try {
    for (std::uint64_t done = 0; done < size;) {
      done += std::min(most, size - done);
      Allocate(done);
      notify();
    }
  } catch (...) {
    end();
    throw;
  }
  end();
}

/// Waits until the bytes before the offset `end` are reserved, unless no thread is going to reserve them.
void File::AwaitAllocation(std::uint64_t end) {
  const auto done = [&] { return end <= page_bytes_ || end > expected_; };
  if (done()) return;
  std::unique_lock lock(waiting_);
  allocated_.wait(lock, done);
}

bool File::AllocateToWrite(std::uint64_t size) {
  if (!OnlyInMemory()) return false;
  if (size > expected_) Allocate(size);
  return true;
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
  return FileFacts::From(st);
}

std::unique_ptr<File> FileSystem::OpenInput(const std::string& path, bool direct) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) {
    const std::string advice = errno == ENOENT ? AdviceOnMissing(path) : "";
    if (advice.empty()) detail::FailOpen("input ", path, errno);
    throw SystemError(ErrorCode::kUsage, "input " + path + ": " + detail::ErrnoText(ENOENT) + advice, ENOENT,
                      SystemError::Verb::kOpen, path);
  }
  // Finds the kind of the file by stat before open, because the open of a FIFO would wait for a writer.
  if (S_ISDIR(st.st_mode)) throw Error(ErrorCode::kUsage, "input " + path + " is a directory");
  if (!S_ISREG(st.st_mode)) throw Error(ErrorCode::kUsage, "input " + path + " is not a regular file");
  detail::Fd fd(detail::OpenPath(*calls_, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY, 0));
  if (!fd.open()) detail::FailOpen("input ", path, errno);
  return std::unique_ptr<File>(new File(*calls_, std::move(fd), path, detail::DirectoryOf(path), direct));
}

std::unique_ptr<File> FileSystem::OpenTemp(const std::string& directory, bool direct) {
  const std::string what = "temporary directory ";
  detail::Fd fd(detail::OpenPath(*calls_, AT_FDCWD, directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open()) {
    if (!detail::IsTmpfileUnsupported(errno)) {
      detail::FailOpen("create a file in " + what, directory, errno, SystemError::Verb::kMakeTemp);
    }
    const detail::Fd parent(
        detail::OpenPath(*calls_, AT_FDCWD, directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (!parent.open()) detail::FailOpen(what, directory, errno, SystemError::Verb::kMakeTemp);
    const SignalBlock until_it_is_removed;
    std::string name;
    std::tie(fd, name) = detail::CreateHidden(*calls_, parent.get(), what, directory);
    if (calls_->Unlink(parent.get(), name.c_str()) != 0) {
      detail::FailOpen("unlink " + name + " in " + what, directory, errno, SystemError::Verb::kMakeTemp);
    }
  }
  return std::unique_ptr<File>(new File(*calls_, std::move(fd), "a temporary file in " + directory, directory, direct));
}

std::unique_ptr<File> FileSystem::OpenNamed(const std::string& path, bool direct, bool create) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  detail::Fd fd(detail::OpenPath(*calls_, AT_FDCWD, path.c_str(), kFlags, 0));
  if (!fd.open() && errno == ENOENT) {
    if (!create) return nullptr;
    fd = detail::Fd(detail::OpenPath(*calls_, AT_FDCWD, path.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  }
  if (!fd.open()) detail::FailOpen("", path, errno);
  std::unique_ptr<File> file(new File(*calls_, std::move(fd), path, detail::DirectoryOf(path), direct));
  const FileFacts facts = file->Facts();
  if (facts.regular && facts.uid == ::geteuid() && (facts.mode & 022) == 0) return file;
  throw Error(ErrorCode::kUsage, path + ": it is no file that only this user can write");
}

void FileSystem::SyncDirectory(const std::string& directory) {
  const detail::Fd fd(detail::OpenPath(*calls_, AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!fd.open()) detail::FailOpen("directory ", directory, errno);
  if (!detail::SyncDirectory(*calls_, fd.get())) {
    throw Error(ErrorCode::kIo, "sync directory " + directory + ": " + detail::ErrnoText(errno));
  }
}

std::uint64_t FileSystem::FreeSpace(const std::string& directory) {
  std::uint64_t bytes = 0;
  if (Uninterrupted([&] { return calls_->FreeSpace(directory.c_str(), &bytes); }) != 0) {
    detail::FailOpen("free space of ", directory, errno);
  }
  return bytes;
}

std::optional<FileFacts> FileSystem::Identify(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0) return FileFacts::From(st);
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  detail::FailOpen("", path, errno);
}

bool FileSystem::IsTmpfs(const std::string& directory) {
  struct statfs fs;
  if (Uninterrupted([&] { return ::statfs(directory.c_str(), &fs); }) != 0) {
    detail::FailOpen("file system of ", directory, errno);
  }
  return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

double FileSystem::CachedShare(const File& file) {
  constexpr std::uint64_t kSamples = 256;
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t pages = (file.Facts().size + kPage - 1) / kPage;
  if (pages == 0) return 0;
  // Uses a second descriptor, because a direct descriptor bypasses the cache, and because the probe must not start a
  // read-ahead for the reader.
  const detail::Fd probe(::open(detail::ProcPath(file.fd_.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!probe.open() || ::posix_fadvise(probe.get(), 0, 0, POSIX_FADV_RANDOM) != 0) return 0;
  const std::uint64_t samples = std::min(pages, kSamples);
  std::uint64_t cached = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    char byte = 0;
    const struct iovec target = {&byte, 1};
    // This is the middle page of each of `samples` equal ranges of pages.
    const std::uint64_t page = (2 * i + 1) * pages / (2 * samples);
    cached += ::preadv2(probe.get(), &target, 1, static_cast<off_t>(page * kPage), RWF_NOWAIT) == 1 ? 1 : 0;
  }
  return static_cast<double>(cached) / static_cast<double>(samples);
}

FileFacts FactsOf(int fd) {
  struct stat st;
  if (::fstat(fd, &st) != 0) throw Error(ErrorCode::kIo, "stat: " + detail::ErrnoText(errno));
  return FileFacts::From(st);
}

}  // namespace gpusort
