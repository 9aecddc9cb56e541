// Files by position: inputs, unlinked temporary files and the safe output, which replaces its name only when complete.
// Reads and writes are whole or throw: EINTR and short transfers are handled here, an error is never the end of file.
// FileSystem makes everything; the system calls behind it are virtual (SystemCalls), so that tests can make the n-th
// one fail. main ignores SIGXFSZ, so that a file-size limit arrives here as EFBIG. Start at FileSystem, then File.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/piece_sums.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// A system call on a file failed with the error `number`.
class SystemError : public Error {
 public:
  /// What was being done when it happened.
  enum class Verb { kOpen, kRead, kWrite, kMakeTemp };

  SystemError(ErrorCode code, const std::string& message, int number, Verb verb, std::string path,
              std::optional<std::uint64_t> offset = std::nullopt)
      : Error(code, message), number_(number), verb_(verb), path_(std::move(path)), offset_(offset) {}
  int number() const noexcept { return number_; }
  Verb verb() const noexcept { return verb_; }
  /// What it was done to; of a temporary file, its directory.
  const std::string& path() const noexcept { return path_; }
  /// Where in it, if bytes were to be moved.
  std::optional<std::uint64_t> offset() const noexcept { return offset_; }

 private:
  int number_;
  Verb verb_;
  std::string path_;
  std::optional<std::uint64_t> offset_;
};

/// Whether what is there, links not followed, is another user's who could have put it there to be followed or written:
/// the folder can be written by all, and is another's, too. For a file, only where others cannot take it away (/tmp);
/// elsewhere it tells nothing.
bool PlantedByOther(const std::string& path);

/// What stat says about a file. Two equal values mean: the same file, not written to in between.
struct FileFacts {
  std::uint64_t size = 0;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t links = 0;  ///< hard links, which are the file's names
  bool regular = false;
  unsigned mode = 0;  ///< permission bits only
  unsigned uid = 0;
  unsigned gid = 0;

  bool same_file(const FileFacts& other) const { return dev == other.dev && ino == other.ino; }
  /// Whether the file, of the same size and mtime as `then`, has another ctime that its rights, owner and number of
  /// names do not explain: it was written and its mtime set back, or only attributes or times were set.
  bool hides_change(const FileFacts& then) const {
    return ctime_ns != then.ctime_ns && mode == then.mode && uid == then.uid && gid == then.gid && links == then.links;
  }
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

/// The system calls that can fail for reasons outside this program, as the kernel answers them: -1 and errno, or a
/// count that may be short. The seam for tests; any thread may call any member.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int Open(int directory, const char* path, int flags, unsigned mode);
  /// Turns O_DIRECT on for an open file.
  virtual int SetDirect(int fd);
  virtual ssize_t Read(int fd, std::byte* data, std::size_t bytes, std::uint64_t offset);
  virtual ssize_t Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset);
  /// Writes through a mapping that it makes for this call, to pages that are allocated. False if nothing was done.
  virtual bool CopyToPages(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset);
  virtual int Sync(int fd);
  /// Begins to write the dirty pages of these bytes back, so that Sync finds little to do. A hint: no error.
  virtual void WriteBack(int fd, std::uint64_t offset, std::uint64_t bytes);
  virtual int Truncate(int fd, std::uint64_t size);
  virtual int Allocate(int fd, std::uint64_t begin, std::uint64_t end);
  /// Makes a hole of these bytes.
  virtual int Deallocate(int fd, std::uint64_t begin, std::uint64_t end);
  /// Gives the unnamed file `fd` a name; EEXIST if it is taken.
  virtual int Link(int fd, int directory, const char* name);
  virtual int Rename(int directory, const char* from, const char* to);
  /// The same, but EEXIST if there is a `to`.
  virtual int RenameNew(int directory, const char* from, const char* to);
  virtual int Unlink(int directory, const char* name);
  /// An extended attribute.
  virtual int SetAttribute(int fd, const char* name, const std::string& value);
  virtual int FreeSpace(const char* directory, std::uint64_t* bytes);
};

/// The free space of a file system that does not say how large it is (ramfs): no file is refused for it.
inline constexpr std::uint64_t kUnknownSpace = UINT64_MAX;

namespace detail {

/// "ENOSPC".
std::string ErrnoName(int error);
/// "ENOSPC (No space left on device)".
std::string ErrnoText(int error);
/// What is full, and what helps: for a message about ENOSPC, EDQUOT or EFBIG.
std::string NoSpaceHint(int error);
/// Behind a message about another error: where to look, or nothing.
std::string DiskHint(int error);
/// "12345 bytes", or "unknown".
std::string SpaceText(std::uint64_t free_bytes);
/// Of an open that failed: kUsage if the path is wrong, kNoSpace, or kIo.
ErrorCode OpenErrorCode(int error);
/// open(), begun again when a signal ends it.
int OpenPath(const char* path, int flags, unsigned mode = 0);
/// A number that other processes cannot guess.
std::uint64_t RandomNumber();

/// An open file descriptor and its owner.
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

}  // namespace detail

/// An open regular file, read and written by position. Any number of threads may use it at once.
/// With direct(), offsets, lengths and addresses must be multiples of alignment(); a read may ask past the end.
/// Must not outlive its FileSystem.
class File {
 public:
  /// Fills `out` from `offset` on. Returns the bytes read, less than asked only at the end of the file. Error(kIo).
  std::uint64_t ReadAt(std::uint64_t offset, std::span<std::byte> out);
  /// Writes all of `data` or throws: kNoSpace (full, quota, file-size limit) names the directory and its free space.
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);
  /// Forces the data to the device. Never repeat it after an error: the kernel reports a lost write once.
  void Sync();
  /// Of bytes that were written, for a Sync soon: the device begins with them now, and nobody waits.
  void WriteBack(std::uint64_t offset, std::uint64_t bytes);
  void Truncate(std::uint64_t size);
  /// Reserves the blocks of [0, size) and makes the file at least that long. Does nothing where the file system cannot.
  /// On a tmpfs that takes as long as writing (0.09 s/GiB), and WriteAt then copies on any number of threads at once:
  /// write() lets one at a time into a file. Others may write meanwhile; one thread at a time allocates.
  void Allocate(std::uint64_t size);
  /// The same where it makes writing faster: on a tmpfs. For a file whose size is not known in advance.
  void AllocateToWrite(std::uint64_t size);
  /// Gives the space of these bytes back; they read as zeros then. False where the file system cannot.
  bool Deallocate(std::uint64_t offset, std::uint64_t bytes);
  /// Writes dirty pages back and drops the cached ones, so that the next ReadAt asks the device.
  void DropCache();
  bool direct() const { return direct_; }
  /// 1 when buffered.
  std::uint64_t alignment() const { return alignment_; }
  FileFacts Facts() const;
  /// For messages; a temporary file has no path, so this says where it is.
  const std::string& path() const { return path_; }

 private:
  friend class FileSystem;
  friend class OutputFile;
  File(SystemCalls& calls, detail::Fd fd, std::string path, std::string directory, bool direct);
  bool OnlyInMemory() const;
  void CheckAligned(const char* verb, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const;
  [[noreturn]] void Fail(const char* verb, std::uint64_t offset, std::uint64_t bytes, int error) const;
  [[noreturn]] void Stalled(const char* verb, std::uint64_t offset) const;
  void MakeDirect();
  void MakeBuffered();

  SystemCalls& calls_;
  detail::Fd fd_;
  std::string path_;
  std::string directory_;
  bool direct_ = false;
  std::uint64_t alignment_ = 1;
  std::atomic<std::uint64_t> page_bytes_{0};  ///< [0, here) are pages of memory that no other process can take away
};

/// What becomes of a file that has the output's name.
enum class OldFile {
  kReplace,
  kReplaceOrRewrite,  ///< where it cannot be replaced, it is written in place
  kRewriteIfSeen,     ///< also where somebody could tell a new file from the old one rewritten, as by `sort`
  kKeep,              ///< the output is refused, at the end, too
};

/// A new version of a file, invisible (and mode 0600) until Publish puts it in place of the old one. Dropped without
/// Publish it leaves nothing behind, and the old file untouched. Hard links of the old file keep the old content. Of
/// extended attributes, ACLs and what begins with user. or security. go over to the new file.
/// In place, the first write empties the old file: then there is neither old nor new until Publish returns. That is for
/// what cannot be replaced (a mount point, a folder that cannot be written, another's file) or would lose its owner,
/// group or ACL.
class OutputFile {
 public:
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// As File's; what was written can be read back before and after Publish.
  std::uint64_t ReadAt(std::uint64_t offset, std::span<std::byte> out) { return file_->ReadAt(offset, out); }
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);
  /// From here on the device begins to write what WriteAt was given, so that a sync waits for little.
  void WriteBackEarly() { writes_back_ = true; }
  /// The published file has mode 0600, and nothing of the old file's rights. Call this before Complete.
  void KeepPrivate() { private_ = true; }
  /// From here on WriteAt adds what is written to `sums`, which must outlive the last WriteAt.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// All bytes will be written again, and other bytes perhaps. Call this while nothing is written.
  void ForgetPieces() {
    if (sums_ != nullptr) sums_->Clear();
  }
  /// Complete writes `bytes` after the end that it is given. Call this before Complete.
  void Append(std::span<const std::byte> bytes) { appended_.assign(bytes.begin(), bytes.end()); }
  void DropCache() { file_->DropCache(); }
  /// As File's; kNoSpace if the bytes cannot be reserved. In place: if they would not fit now.
  void Allocate(std::uint64_t size);
  void AllocateToWrite(std::uint64_t size) { file_->AllocateToWrite(size); }
  /// Direct from now on, if it can be: before the first write.
  void MakeDirect();
  /// Before all else, if it is no output in place: the file is one that has `name` in the output's folder, the one that
  /// a process before has left, or a new one, and is cut to `bytes`. Dropped, it stays with what Keep said. False if it
  /// was shorter: then it is empty. kUsage if that is no file of this user.
  bool TakeUp(const std::string& name, std::uint64_t bytes);
  /// The first `bytes` are on the disk, and stay.
  void Keep(std::uint64_t bytes);
  /// Gives all space back; what was written is gone, kept or not.
  void Release() {
    file_->Truncate(0);
    kept_ = 0;
  }
  /// Cuts the file to `total_bytes`, gives it the owner, mode, ACL and attributes that the old file has by now (else
  /// those of any new file there), and syncs it if asked: what of Publish takes long or fails, for who publishes
  /// several files.
  void Complete(std::uint64_t total_bytes, bool sync);
  /// Completes the file if that was not done, renames it over the name and, if asked, syncs the directory. Call once.
  /// On success, and when only the last step failed (kIo; the message says that the new output is in place), signals
  /// stay blocked in the calling thread: a job that is done must not end by a signal. On any other error the old file
  /// is as it was, if it was not written in place. With kKeep a file that has come meanwhile is kept, too (kIo).
  void Publish(std::uint64_t total_bytes, bool sync);
  /// What the published file has not got of the old one, and why: "user.origin: ENOSPC (No space left on device)".
  const std::vector<std::string>& lost() const { return lost_; }
  bool direct() const { return file_->direct(); }
  std::uint64_t alignment() const { return file_->alignment(); }
  /// The name that will be replaced, links resolved.
  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }
  /// Why the old file is written in place; empty if it is replaced.
  const std::string& in_place() const { return in_place_; }
  /// False of a file written in place that this user may only write.
  bool readable() const;
  /// About the file that is written.
  FileFacts Facts() const { return file_->Facts(); }

 private:
  friend class FileSystem;
  /// What a file may be used for by whom.
  struct Access {
    unsigned uid = 0, gid = 0, mode = 0;
    std::string acl;  ///< as the kernel stores it; empty if mode says it all
    std::map<std::string, std::string> attributes = {};  ///< all others but system's
    std::vector<std::string> unread = {};                ///< those of them that cannot be read, and why
    friend bool operator==(const Access&, const Access&) = default;
  };
  OutputFile(SystemCalls& calls, const std::string& path, OldFile old)
      : calls_(calls), given_(path), on_old_(old), path_(path) {}
  void Open(bool direct);
  void FindOld();
  void CreateNew(bool direct);
  void OpenOld();
  void RefuseIfSeen(std::uint64_t names, unsigned mode) const;
  std::string ByDirectory() const;
  std::optional<Access> ReadAccess() const;
  bool GiveRights(const Access& access);
  void GiveAttributes(const std::map<std::string, std::string>& attributes);
  void Give(const Access& access);
  void GiveUsual();
  bool FollowOld();
  bool FollowsLinksOfOthers() const { return on_old_ == OldFile::kRewriteIfSeen; }
  void LinkHidden();
  void SetHidden(std::string name);
  void ForgetHidden() noexcept;
  void RemoveHidden() noexcept;
  /// Error(kUsage) about the output, or, if there is an error number, a SystemError with its OpenErrorCode.
  [[noreturn]] void Refuse(const std::string& why, int error = 0) const;

  SystemCalls& calls_;
  const std::string given_;
  const OldFile on_old_;
  std::string path_;
  std::string directory_;
  std::string name_;
  std::string hidden_;  ///< the file's name in the directory until it is renamed; empty while it has none
  std::string in_place_;
  std::optional<FileFacts> old_;
  std::optional<Access> access_;  ///< of the old file
  std::vector<std::string> lost_;
  bool made_ = false;             ///< the old file is an empty one that was made here
  detail::Fd directory_fd_;
  std::unique_ptr<File> file_;
  std::once_flag emptied_;
  bool writes_back_ = false;
  bool private_ = false;
  PieceSums* sums_ = nullptr;
  std::vector<std::byte> appended_;
  bool completed_ = false;
  bool published_ = false;
  bool taken_up_ = false;
  std::uint64_t kept_ = 0;  ///< if so, bytes that stay
};

/// Removes the names of OutputFiles that are being made: for a signal handler, when destructors will not run. Where the
/// output has no name (O_TMPFILE), and once it is published, this does nothing.
void RemoveHiddenOutput() noexcept;

/// Makes files. Where `direct` is asked for and the file system refuses O_DIRECT, or lies in memory, files are
/// buffered: see direct(). Must outlive everything that it made. Any thread may call any member.
class FileSystem {
 public:
  FileSystem() : FileSystem(std::make_shared<SystemCalls>()) {}
  explicit FileSystem(std::shared_ptr<SystemCalls> calls) : calls_(std::move(calls)) {}
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// Opens a regular file for reading. kUsage if it is missing, unreadable or not a regular file.
  std::unique_ptr<File> OpenInput(const std::string& path, bool direct);
  /// A nameless file in `directory` that only this process can open; gone when it is dropped, also by SIGKILL.
  /// kUsage if the directory is missing or not writable.
  std::unique_ptr<File> OpenTemp(const std::string& directory, bool direct);
  /// A file of this user's alone (mode 0600) that stays: the one that has the name, or, with `create`, a new one under
  /// it; null if there is none. Links are not followed. kUsage if what has the name is anything else.
  std::unique_ptr<File> OpenNamed(const std::string& path, bool direct, bool create);
  /// Makes sure that names made in or removed from the directory are so on the disk. Error(kIo).
  void SyncDirectory(const std::string& directory);
  /// Starts a new version of `path`. A symbolic link is followed to its target, if the kernel lets it; one that does
  /// not exist is made at once, empty. kUsage if path is no regular file, exists and is not writable (with kKeep:
  /// exists), or its directory is missing or not writable; and, with kReplace, if the file cannot be replaced by one of
  /// the same owner, group and ACL.
  std::unique_ptr<OutputFile> CreateOutput(const std::string& path, bool direct, OldFile old = OldFile::kReplace);
  /// Bytes that this user can still write below `directory`, or kUnknownSpace.
  std::uint64_t FreeSpace(const std::string& directory);
  /// Facts about what the path leads to, links followed; nothing if it does not exist.
  std::optional<FileFacts> Identify(const std::string& path);
  /// True if files in `directory` lie in memory (tmpfs, ramfs).
  bool IsTmpfs(const std::string& directory);
  /// Share of the file, sampled, that lies in the page cache, 0 to 1; 0 if the kernel cannot tell.
  double CachedShare(const File& file);

 private:
  std::shared_ptr<SystemCalls> calls_;
};

/// About what a descriptor is open on. Error(kIo).
FileFacts FactsOf(int fd);
/// The descriptor of this process that a path names: /dev/stdout, /dev/fd/3, /proc/self/fd/3, or a link to one.
std::optional<int> DescriptorOf(const std::string& path);
/// True if an output is streamed because it cannot be replaced: "-", an open descriptor, a FIFO or a character device,
/// also behind links.
bool IsStreamTarget(const std::string& path);
/// True if an input must be streamed: "-", or whatever is no regular file and no directory, or a file that says that it
/// is empty and is not (as in /proc).
bool IsStreamSource(const std::string& path);

}  // namespace gpusort
