// Files that are read and written by position: inputs and temporary files. Outputs are in output_file.hpp.
// A transfer moves all bytes or throws. EINTR and short transfers are handled here. An error is never taken for the end
// of the file. main() ignores SIGXFSZ. Hence a file-size limit arrives here as EFBIG. Start at FileSystem, which makes
// all files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/system_calls.hpp"

struct stat;

namespace gpusort {

/// The facts that stat reports about a file. Two equal values mean: the same file, and nothing wrote to it in between.
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

  static FileFacts From(const struct stat& st);
  bool same_file(const FileFacts& other) const { return dev == other.dev && ino == other.ino; }
  /// Returns true if the ctime differs from `then` for a reason other than mode, owner and number of names. `then` must
  /// have the same size and mtime. Something wrote to the file and set its mtime back, or set attributes or times.
  bool hides_change(const FileFacts& then) const {
    return ctime_ns != then.ctime_ns && mode == then.mode && uid == then.uid && gid == then.gid && links == then.links;
  }
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

/// An open regular file, read and written by position. Any number of threads may use it at once.
/// If direct(), offsets, lengths and addresses must be multiples of alignment(); a read may ask for bytes after the
/// end. Must not outlive its FileSystem.
class File {
 public:
  /// Fills `out` from `offset` on. Returns the bytes read, less than asked only at the end of the file. Error(kIo).
  std::uint64_t ReadAt(std::uint64_t offset, std::span<std::byte> out);
  /// Writes all of `data`. Error(kNoSpace), which names the directory and its free space, or Error(kIo).
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);
  /// Forces the data to the device. Do not repeat it after an error: the kernel reports a lost write only once.
  void Sync();
  /// Starts to write these bytes to the device, so that a later Sync takes less time. Does not wait.
  void WriteBack(std::uint64_t offset, std::uint64_t bytes);
  void Truncate(std::uint64_t size);
  /// Reserves the blocks of [0, size) and makes the file at least that long. Does nothing if the file system cannot.
  /// On a tmpfs this takes as long as writing. Later WriteAt calls copy on any number of threads at once, while write()
  /// lets only one thread at a time into a file. Only one thread at a time may call this; others may write.
  void Allocate(std::uint64_t size);
  /// Allocates on a tmpfs, where this makes writing faster. Use it for a file whose size is not known in advance.
  void AllocateToWrite(std::uint64_t size);
  /// Frees the space of these bytes, which then read as zeros. Returns false if the file system cannot.
  bool Deallocate(std::uint64_t offset, std::uint64_t bytes);
  /// Writes dirty pages to the device and drops the cached pages, so that the next ReadAt reads from the device.
  void DropCache();
  bool direct() const { return direct_; }
  /// 1 if the file is buffered.
  std::uint64_t alignment() const { return alignment_; }
  FileFacts Facts() const;
  /// The path for messages. For a temporary file, a text that names its directory.
  const std::string& path() const { return path_; }

 private:
  friend class FileSystem;
  friend class OutputFile;
  friend struct FileRights;
  File(SystemCalls& calls, detail::Fd fd, std::string path, std::string directory, bool direct);
  bool OnlyInMemory() const;
  void CheckAligned(const char* verb, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const;
  [[noreturn]] void Fail(const char* verb, std::uint64_t offset, std::uint64_t bytes, int error) const;
  [[noreturn]] void Stalled(const char* verb, std::uint64_t offset) const;
  void SetMode(unsigned mode);
  void MakeDirect();
  void MakeBuffered();

  SystemCalls& calls_;
  detail::Fd fd_;
  std::string path_;
  std::string directory_;
  bool direct_ = false;
  std::uint64_t alignment_ = 1;
  std::atomic<std::uint64_t> page_bytes_{0};  ///< [0, page_bytes_) are pages that no other process can take away
};

class OutputFile;

/// The treatment of an old file that has the output's name.
enum class OldFile {
  kReplace,
  kReplaceOrRewrite,  ///< written in place if it cannot be replaced
  kRewriteIfSeen,     ///< also written in place if a user could tell the difference, as `sort` does
  kKeep,              ///< the output is refused, at the start and at the end
};

/// Makes files. If the file system refuses O_DIRECT or lies in memory, files are buffered even if `direct` is asked
/// for: see File::direct(). Must outlive everything that it made. Any thread may call any member.
class FileSystem {
 public:
  FileSystem() : FileSystem(std::make_shared<SystemCalls>()) {}
  explicit FileSystem(std::shared_ptr<SystemCalls> calls) : calls_(std::move(calls)) {}
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// Opens a regular file for reading. Error(kUsage) if it is missing, unreadable or not a regular file.
  std::unique_ptr<File> OpenInput(const std::string& path, bool direct);
  /// Creates a nameless file in `directory` that only this process can open. The file disappears with the returned
  /// object, and also if the process is killed. Error(kUsage) if the directory is missing or not writable.
  std::unique_ptr<File> OpenTemp(const std::string& directory, bool direct);
  /// Opens a file of mode 0600 that belongs to this user and stays. If there is no file of that name, creates one if
  /// `create`, and returns null otherwise. Links are not followed. Error(kUsage) if the name leads to anything else.
  std::unique_ptr<File> OpenNamed(const std::string& path, bool direct, bool create);
  /// Returns once names that were made in or removed from the directory are on the disk. Error(kIo).
  void SyncDirectory(const std::string& directory);
  /// Starts a new version of the file `path`. Follows a symbolic link to its target, if the kernel allows it; a target
  /// that does not exist is created at once, empty. Error(kUsage) if `path` is not a regular file, exists and is not
  /// writable (with kKeep: exists), or its directory is missing or not writable. With kReplace also if the file cannot
  /// be replaced by one of the same owner, group and ACL.
  std::unique_ptr<OutputFile> CreateOutput(const std::string& path, bool direct, OldFile old = OldFile::kReplace);
  /// Returns the bytes that this user can still write below `directory`, or kUnknownSpace.
  std::uint64_t FreeSpace(const std::string& directory);
  /// Returns the facts of the file that the path leads to, links followed, or std::nullopt if there is none.
  std::optional<FileFacts> Identify(const std::string& path);
  /// Returns true if files in `directory` lie in memory (tmpfs, ramfs).
  bool IsTmpfs(const std::string& directory);
  /// Returns the share of the file, sampled, that lies in the page cache, 0 to 1; 0 if the kernel cannot tell.
  double CachedShare(const File& file);

 private:
  std::shared_ptr<SystemCalls> calls_;
};

/// Returns the facts of the file that a descriptor is open on. Error(kIo).
FileFacts FactsOf(int fd);

}  // namespace gpusort
