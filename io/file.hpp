// Files that are read and written at any position: inputs and temporary files. Outputs are in output_file.hpp. A read
// or write moves all bytes or throws. Start at FileSystem.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "io/system_calls.hpp"

struct stat;

namespace gpusort {

/// The attributes of a file, as stat reports them. If the attributes at two times are equal, nothing was written to the
/// file in between.
struct FileFacts {
  std::uint64_t size = 0;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t links = 0;  ///< the number of hard links
  bool regular = false;
  unsigned mode = 0;  ///< only the permission bits
  unsigned uid = 0;
  unsigned gid = 0;

  static FileFacts From(const struct stat& st);
  bool same_file(const FileFacts& other) const { return dev == other.dev && ino == other.ino; }
  /// Returns true if the ctime differs from `then`, but mode, owner and number of links are equal. A program may then
  /// have written the file and set the mtime back, or changed extended attributes. `then` must be earlier attributes of
  /// this file with the same size and mtime.
  bool hides_change(const FileFacts& then) const {
    return ctime_ns != then.ctime_ns && mode == then.mode && uid == then.uid && gid == then.gid && links == then.links;
  }
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

/// An open regular file, read and written at any position. Any number of threads may use it at once. If direct() is
/// true (O_DIRECT), offsets, lengths and addresses must be multiples of alignment(); a read may extend beyond the end
/// of the file. The FileSystem must outlive the File.
class File {
 public:
  /// Fills `out` with the bytes of the file from `offset` on. Returns the number of bytes, which is smaller than
  /// out.size() only at the end of the file. Throws Error(kIo).
  std::uint64_t ReadAt(std::uint64_t offset, std::span<std::byte> out);
  /// Writes all of `data` at `offset`. Throws Error(kNoSpace), which names the directory and its free space, or
  /// Error(kIo).
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);
  /// Forces the written data to the disk (fsync). Do not call this again after an error: the kernel reports a lost
  /// write only once, so a second call could succeed although data is lost.
  void Sync();
  /// Starts to write a range of the file from the page cache to the disk, so that a later Sync takes less time. Does
  /// not wait.
  void WriteBack(std::uint64_t offset, std::uint64_t bytes);
  void Truncate(std::uint64_t size);
  /// Reserves disk space for the bytes [0, size) and makes the file at least that long. Does nothing if the file system
  /// cannot reserve. On a tmpfs this takes as long as writing, but several threads can then copy into the file at the
  /// same time. Thread-safe.
  void Allocate(std::uint64_t size);
  /// Announces that another thread will call AllocateInSteps(size). WriteAt() waits from now on until the bytes that it
  /// writes are reserved. Returns false, and changes nothing, if Allocate() is better: the file is not on a tmpfs, it
  /// has a name, or there is too little room, which must be known before anything is written.
  bool ExpectAllocation(std::uint64_t size);
  /// Reserves disk space as Allocate() does, but step by step, so that other threads can write the first bytes before
  /// the last bytes are reserved.
  void AllocateInSteps(std::uint64_t size);
  /// Prepares a write if the final size of the file is not known yet. `size` is the size of the file after the write.
  /// If the file is on a tmpfs and has no name, reserves the space, which makes writes faster, and returns true.
  /// Otherwise does nothing and returns false.
  bool AllocateToWrite(std::uint64_t size);
  /// Frees the disk space of `bytes` bytes from `offset` on. Later reads of these bytes return zeros. Returns false if
  /// the file system cannot free parts of a file.
  bool Deallocate(std::uint64_t offset, std::uint64_t bytes);
  /// Writes changed pages to the disk and removes the file from the page cache, so that the next ReadAt reads from the
  /// disk.
  void DropCache();
  bool direct() const { return direct_; }
  /// Returns the alignment in bytes that O_DIRECT requires; 1 if the file is read and written through the page cache.
  std::uint64_t alignment() const { return alignment_; }
  FileFacts Facts() const;
  /// Returns the file descriptor, which this object owns.
  int descriptor() const { return fd_.get(); }
  /// Returns the path for messages. For a temporary file without a name: a string that contains its directory.
  const std::string& path() const { return path_; }

 private:
  friend class FileSystem;
  friend class OutputFile;
  friend struct FileRights;
  File(SystemCalls& calls, detail::Fd fd, std::string path, std::string directory, bool direct);
  bool OnlyInMemory() const;
  void AwaitAllocation(std::uint64_t end);
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
  std::atomic<std::uint64_t> page_bytes_{0};  ///< Allocate() has reserved the pages of [0, page_bytes_)
  std::atomic<std::uint64_t> expected_{0};    ///< AllocateInSteps() is going to reserve [0, expected_); 0: it has ended
  std::mutex allocating_;                     ///< locked while pages are reserved
  std::mutex waiting_;
  std::condition_variable allocated_;  ///< page_bytes_ or expected_ has changed
};

class OutputFile;

/// Tells CreateOutput what to do if a file with the output's name already exists.
enum class OldFile {
  kReplace,
  kReplaceOrRewrite,  ///< rewrites the file in place if it cannot be replaced
  /// Like kReplaceOrRewrite. Also rewrites the file in place if it has, for example, hard links or another owner.
  /// Follows symbolic links of other users, even in shared folders such as /tmp.
  kRewriteIfSeen,
  kKeep,  ///< CreateOutput or Publish throws if the file exists
};

/// Opens and creates files. `direct` asks for O_DIRECT, that is, I/O without the page cache. If the file system refuses
/// O_DIRECT or keeps files in memory, files are buffered even if `direct` is true (see File::direct()). A FileSystem
/// must outlive its files. Thread-safe.
class FileSystem {
 public:
  FileSystem() : FileSystem(std::make_shared<SystemCalls>()) {}
  explicit FileSystem(std::shared_ptr<SystemCalls> calls) : calls_(std::move(calls)) {}
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// Opens a regular file for reading. Throws Error(kUsage) if the file is missing, unreadable or not regular.
  std::unique_ptr<File> OpenInput(const std::string& path, bool direct);
  /// Creates a file without a name in `directory`. Only this process can open the file, and the file disappears with
  /// the returned object or the process. Throws Error(kUsage) if the directory is missing or not writable.
  std::unique_ptr<File> OpenTemp(const std::string& directory, bool direct);
  /// Opens a file that stays when the process ends. Does not follow links. If the file is missing: creates it with mode
  /// 0600, or returns null if `create` is false. Throws Error(kUsage) unless the file is a regular file that only this
  /// user can write.
  std::unique_ptr<File> OpenNamed(const std::string& path, bool direct, bool create);
  /// Returns once all new, changed and removed names in the directory are on the disk. Throws Error(kIo).
  void SyncDirectory(const std::string& directory);
  /// Starts a new version of the file `path`. Follows a symbolic link, and creates a missing target of the link as an
  /// empty file. Throws Error(kUsage) if:
  /// - `path` exists and is not a writable regular file.
  /// - The directory of the file is missing.
  /// - The directory is not writable and the file is not rewritten in place.
  /// - With kKeep: the file exists.
  /// - With kReplace: a new file cannot get the owner, group and ACL of the old file.
  std::unique_ptr<OutputFile> CreateOutput(const std::string& path, bool direct, OldFile old = OldFile::kReplace);
  /// Returns how many bytes this user can still write in `directory`, or kUnknownSpace.
  std::uint64_t FreeSpace(const std::string& directory);
  /// Returns the attributes (size, times, owner and so on) of the file at `path`, also through links, or std::nullopt
  /// if there is no file.
  std::optional<FileFacts> Identify(const std::string& path);
  /// Returns true if files in `directory` are kept in memory (tmpfs, ramfs).
  bool IsTmpfs(const std::string& directory);
  /// Estimates how much of the file is in the page cache, from 0 (nothing) to 1 (all of it), from a sample of its
  /// pages. Returns 0 if the kernel cannot tell.
  double CachedShare(const File& file);

 private:
  std::shared_ptr<SystemCalls> calls_;
};

/// Returns the attributes (size, times, owner and so on) of an open file. Throws Error(kIo).
FileFacts FactsOf(int fd);

}  // namespace gpusort
