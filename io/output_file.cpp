#include "io/output_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <tuple>

#include "io/path.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

// The names that RemoveHiddenOutput removes. An entry's name is written before its directory is set, and does not
// change until the directory is reset. A job has at most 256 parts and their manifest, and one thread makes all
// entries.
struct HiddenOutput {
  std::atomic<int> directory{-1};
  std::array<char, 32> name{};
};
std::array<HiddenOutput, 257> hidden_outputs;

/// Returns true for a directory in which no name can be changed or removed (chattr +a).
bool TakesOnlyAdditions(int directory, const std::string& path) {
  struct statx facts {};
  return ::statx(directory, path.c_str(), AT_EMPTY_PATH, STATX_BASIC_STATS, &facts) == 0 &&
         (facts.stx_attributes & STATX_ATTR_APPEND) != 0;
}

}  // namespace

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

/// Sets the names and the facts of the old file.
void OutputFile::FindOld() {
  namespace fs = std::filesystem;
  // The target of a link is replaced, not the link. The kernel follows links in the directory part of the path.
  fs::path target = given_;
  int links = 0;
  for (; detail::IsLink(target); ++links) {
    if (links == detail::kMaxLinks) Refuse("too many symbolic links", ELOOP);
    if (!FollowsLinksOfOthers() && PlantedByOther(target)) {
      Refuse("another user's link in a folder that all can write is not followed", EACCES);
    }
    std::error_code failure;
    target = detail::TargetOf(target, failure);
    if (failure) Refuse(detail::ErrnoText(failure.value()), failure.value());
  }
  path_ = target.string();
  directory_ = detail::DirectoryOf(target);
  name_ = target.filename().string();

  struct stat st;
  int error = 0;
  if (links > 0 || TakesOnlyAdditions(AT_FDCWD, directory_)) {
    // The kernel decides where the links lead. It may refuse links of other users (fs.protected_symlinks), and another
    // process could change links during the walk above. The kernel also creates a missing target.
    detail::Fd end(detail::OpenPath(calls_, AT_FDCWD, given_.c_str(), O_PATH | O_CLOEXEC, 0));
    if (!end.open() && errno == ENOENT && on_old_ != OldFile::kKeep) {
      end = detail::Fd(
          detail::OpenPath(calls_, AT_FDCWD, given_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
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
      Refuse(
          "it is another user's in a folder that all can write: nothing is written for them to read; choose another "
          "name or folder",
          EACCES);
    }
    old_ = FileFacts::From(st);
  } else if (error != ENOENT || links > 0) {
    if (error == ENOTDIR && given_.ends_with('/')) error = EISDIR;  // the error of open for "FILE/"
    Refuse(detail::ErrnoText(error), error);
  }
  if (name_.empty() || name_ == "." || name_ == "..") Refuse("it names a directory", given_.empty() ? ENOENT : EISDIR);
}

/// Refuses an old file whose name a new file cannot take.
void OutputFile::RefuseIfNotReplaceable() const {
  struct stat st;
  const int found = ::fstatat(directory_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW);
  if (found != 0 && errno != ENOENT) Refuse(detail::ErrnoText(errno), errno);
  if (found != 0 || !FileFacts::From(st).same_file(*old_)) {
    Refuse("it has no name that a new file could take");
  }
  if (::faccessat(directory_fd_.get(), name_.c_str(), W_OK, AT_EACCESS) != 0) Refuse(detail::ErrnoText(errno));
  struct statx facts {};
  ::statx(directory_fd_.get(), name_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &facts);
  if ((facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) Refuse("it is mounted there");
  if ((facts.stx_attributes & STATX_ATTR_APPEND) != 0) Refuse("it can only be appended to");
  if (on_old_ == OldFile::kRewriteIfSeen) RefuseIfSeen(st.st_nlink, st.st_mode);
}

void OutputFile::CreateNew(bool direct) {
  const std::string what = "output directory ";
  directory_fd_ =
      detail::Fd(detail::OpenPath(calls_, AT_FDCWD, directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!directory_fd_.open()) detail::FailOpen(what, directory_, errno);
  if (old_) RefuseIfNotReplaceable();
  if (::faccessat(directory_fd_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) detail::FailOpen(what, directory_, errno);
  if (TakesOnlyAdditions(directory_fd_.get(), "")) Refuse("its directory takes only additions");
  struct stat dir;
  if (::fstat(directory_fd_.get(), &dir) != 0) detail::FailOpen(what, directory_, errno);
  const uid_t self = ::geteuid();
  if (old_ && (dir.st_mode & S_ISVTX) != 0 && self != 0 && old_->uid != self && dir.st_uid != self) {
    Refuse("another user's file in a sticky directory cannot be replaced");
  }

  detail::Fd fd(detail::OpenPath(calls_, directory_fd_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.open() && !detail::IsTmpfileUnsupported(errno))
    detail::FailOpen("create a file in " + what, directory_, errno);
  // A nameless file can only get a name if there is a /proc.
  if (!fd.open() || ::access(detail::ProcPath(fd.get()).c_str(), F_OK) != 0) {
    const SignalBlock until_it_can_be_removed;
    std::string name;
    std::tie(fd, name) = detail::CreateHidden(calls_, directory_fd_.get(), what, directory_);
    SetHidden(std::move(name));
  }
  file_.reset(new File(calls_, std::move(fd), path_, directory_, direct));
  rights_ = ReadRights();
  if (!rights_) return;
  // Sets the rights now, so that a refusal comes before hours of work. Then takes them back, because the file is
  // private until Publish.
  const FileFacts mine = file_->Facts();
  if (!rights_->GiveAccess(*file_, lost_)) Refuse("a new file would lose its owner, group or ACL");
  FileRights::RemoveAcl(*file_);
  std::ignore = ::fchown(file_->fd_.get(), mine.uid, static_cast<gid_t>(-1));
  std::ignore = ::fchmod(file_->fd_.get(), 0600);
}

void OutputFile::OpenOld() {
  detail::Fd fd;
  for (const int mode : {O_RDWR, O_WRONLY}) {
    fd = detail::Fd(detail::OpenPath(calls_, AT_FDCWD, given_.c_str(), mode | O_CLOEXEC | O_NOCTTY, 0));
    if (fd.open() || errno != EACCES) break;
  }
  if (!fd.open()) Refuse(detail::ErrnoText(errno), errno);
  file_.reset(new File(calls_, std::move(fd), path_, directory_, false));
  if (!file_->Facts().regular) Refuse("it is not a regular file");
}

OutputFile::~OutputFile() {
  if (published_) return;
  if (taken_up_ && kept_ > 0) {
    calls_.Truncate(file_->fd_.get(), kept_);  // frees the space after the bytes that are kept
  } else {
    RemoveHidden();
  }
  struct stat st;
  if (made_ && directory_fd_.open() && ::fstatat(directory_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
      FileFacts::From(st).same_file(*old_)) {
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

/// Refuses a file if a user could tell a new file from it: by its other names, owner or attributes, or by an open
/// descriptor.
void OutputFile::RefuseIfSeen(std::uint64_t names, unsigned mode) const {
  if (names != 1) Refuse("it has several names");
  if ((mode & (S_ISUID | S_ISGID | S_ISVTX)) != 0) Refuse("it has mode bits that a new file does not get");
  if (old_->uid != ::geteuid()) Refuse("it is another user's");
  if (::llistxattr(ByDirectory().c_str(), nullptr, 0) > 0) Refuse("it has attributes");
  struct stat stream;
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fstat(fd, &stream) == 0 && FileFacts::From(stream).same_file(*old_)) Refuse("it is a standard stream, too");
  }
}

/// Returns the path of the file through the open directory, which may have been moved. Without /proc, returns the path
/// by the directory's old name.
std::string OutputFile::ByDirectory() const {
  const std::string directory = detail::ProcPath(directory_fd_.get());
  return (::access(directory.c_str(), F_OK) == 0 ? directory : directory_) + "/" + name_;
}

std::optional<FileRights> OutputFile::ReadRights() const {
  return FileRights::Of(directory_fd_.get(), name_, ByDirectory(), path_);
}

/// Gives the file the present rights of the old file. Returns false if the file has them already.
bool OutputFile::FollowOld() {
  if (private_) return false;
  const std::optional<FileRights> now = ReadRights();
  if (!now || now == rights_ || (!FollowsLinksOfOthers() && PlantedByOther(ByDirectory()))) return false;
  rights_ = now;
  now->GiveAll(*file_, lost_);
  return true;
}

void OutputFile::WriteAt(std::uint64_t offset, std::span<const std::byte> data) {
  if (!in_place_.empty()) std::call_once(emptied_, [this] { file_->Truncate(0); });
  file_->WriteAt(offset, data);
  if (sums_ != nullptr) sums_->Add(offset, data);
  // The smallest write that starts writing to the device. The device would get small pieces as small writes.
  constexpr std::size_t kWorthIt = std::size_t{256} << 10;
  if (writes_back_ && data.size() >= kWorthIt) file_->WriteBack(offset, data.size());
}

void OutputFile::Allocate(std::uint64_t size) {
  if (in_place_.empty()) {
    file_->Allocate(size);
    return;
  }
  // The first write frees the space of the old bytes.
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
  detail::Fd fd(detail::OpenPath(calls_, directory_fd_.get(), name.c_str(), kFlags, 0));
  if (!fd.open() && errno == ENOENT) {
    fd = detail::Fd(detail::OpenPath(calls_, directory_fd_.get(), name.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  }
  const std::string path = directory_ + "/" + name;
  if (!fd.open()) detail::FailOpen("", path, errno);
  std::unique_ptr<File> file(new File(calls_, std::move(fd), path_, directory_, false));
  const FileFacts facts = file->Facts();
  // If the earlier process was killed just before the rename, the file may have the owner of the old output.
  const bool mine = facts.uid == ::geteuid() || (rights_ && facts.uid == rights_->uid);
  struct stat st;
  if (::fstat(file->fd_.get(), &st) != 0) detail::FailOpen("", path, errno);
  if (!facts.regular || !mine || st.st_nlink != 1) {
    throw Error(ErrorCode::kUsage, path + ": it is no file of this job");
  }
  if (::flock(file->fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw Error(ErrorCode::kUsage, path + ": another job writes it");
  }
  FileRights::RemoveAcl(*file);
  if (facts.uid != ::geteuid()) std::ignore = ::fchown(file->fd_.get(), ::geteuid(), static_cast<gid_t>(-1));
  file->SetMode(0600);
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
  if (kept_ == 0 && !detail::SyncDirectory(calls_, directory_fd_.get())) {
    throw Error(ErrorCode::kIo, "sync " + directory_ + ": " + detail::ErrnoText(errno));
  }
  kept_ = bytes;
}

void OutputFile::LinkHidden() {
  for (int attempt = 0; attempt < detail::kNameAttempts; ++attempt) {
    std::string name = detail::HiddenName();
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
  // Writes through a mapping of a tmpfs do not change the mtime.
  if (mapped && ::futimens(file_->fd_.get(), nullptr) != 0) file_->Fail("set the times of", 0, 0, errno);
  if (in_place_.empty()) {
    if (private_) {
      FileRights::RemoveAcl(*file_);
    } else if (rights_) {
      rights_->GiveAll(*file_, lost_);
    } else {
      FileRights::GiveDefault(*file_, directory_fd_.get(), directory_);
    }
  }
  if (sync) file_->Sync();
  // Network file systems report some write errors only at close. The close of a copy reports them while the old output
  // can still be kept, and the file stays open for reading.
  const int copy = ::fcntl(file_->fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) file_->Fail("close", 0, 0, errno);
  completed_ = true;
}

void OutputFile::Publish(std::uint64_t total_bytes, bool sync) {
  if (published_) throw Error(ErrorCode::kInternal, "output " + path_ + " is published twice");
  Complete(total_bytes, sync);
  if (!in_place_.empty()) {
    struct stat st;
    if (::stat(given_.c_str(), &st) != 0 || !FileFacts::From(st).same_file(file_->Facts())) {
      throw Error(ErrorCode::kIo, "output " + path_ + ": it was removed or renamed while it was written in place");
    }
  }
  sigset_t before;
  // From the rename on, no signal may end the finished job.
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
  if (sync && !detail::SyncDirectory(calls_, directory_fd_.get())) {
    throw Error(ErrorCode::kIo, "sync output directory " + directory_ + ": " + detail::ErrnoText(errno) +
                                    "; the new output is in place, but a crash of the system may undo that");
  }
}

bool OutputFile::RemoveOld() {
  if (!in_place_.empty() || on_old_ == OldFile::kKeep) return false;
  if (calls_.Unlink(directory_fd_.get(), name_.c_str()) == 0) return true;
  if (errno != ENOENT) file_->Fail("remove", 0, 0, errno);
  return false;
}

void RemoveHiddenOutput() noexcept {
  for (const HiddenOutput& entry : hidden_outputs) {
    const int directory = entry.directory;
    if (directory >= 0) ::unlinkat(directory, entry.name.data(), 0);
  }
}

std::unique_ptr<OutputFile> FileSystem::CreateOutput(const std::string& path, bool direct, OldFile old) {
  std::unique_ptr<OutputFile> output(new OutputFile(*calls_, path, old));
  output->Open(direct);
  return output;
}

}  // namespace gpusort
