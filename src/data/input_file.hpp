// Reads an input that is a regular file, and finds out whether another process changes the file meanwhile. Start at
// InputFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/proof.hpp"
#include "io/file.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// The number of bytes by which a buffer for Read() must be larger than the data. A direct read, which bypasses the
/// page cache, also reads some bytes before and after the data.
inline constexpr std::uint64_t kReadSlack = 8192;

/// An input that is a regular file. Several threads may call const members at the same time. The FileSystem must
/// outlive this object.
class InputFile {
 public:
  /// Opens the file. Throws Error(kUsage) if the file is missing, unreadable or not a regular file.
  InputFile(FileSystem& files, std::string path);

  const std::string& path() const { return path_; }
  /// Returns the attributes (size, times, inode) that the file had when it was opened.
  const FileFacts& facts() const { return facts_; }
  std::uint64_t size() const { return facts_.size; }
  /// Returns the last bytes of the file. RecordFormat::Ending checks them to find out whether the last newline is
  /// missing.
  std::span<const std::byte> tail() const { return tail_; }
  bool direct() const { return direct_; }

  /// Lets later reads bypass the page cache if such reads are faster: the job reads many bytes of the file, and most of
  /// the file is not in the cache. `bytes` is the number of bytes that the job reads. Does nothing if the file system
  /// refuses such reads.
  void PreferDirect(std::uint64_t bytes);
  /// Closes the file, to save a file descriptor. After this, each read opens the file and closes it again.
  void Close() { file_.reset(); }

  /// Returns the open file. If Close() was called, opens the file again. Throws Error(kBadInput) if it cannot be
  /// opened.
  std::shared_ptr<File> Open() const;
  /// Opens the file once more, for reads through the page cache.
  std::unique_ptr<File> OpenBuffered() const { return files_.OpenInput(path_, false); }
  /// Reads bytes of `file` from `offset` on into `out`. `file` must come from OpenBuffered(). Returns the number of
  /// bytes, which is less than out.size() only at the end of the file. Throws Error(kBadInput) if the file has become
  /// shorter.
  std::uint64_t ReadSome(File& file, std::uint64_t offset, std::span<std::byte> out) const;
  /// Reads the bytes [offset, offset + bytes) of the file, and returns the part of `buffer` that holds them. The
  /// address of `buffer` must be a multiple of 4096, and its size `bytes` + kReadSlack. Throws Error(kBadInput) if the
  /// file has become shorter.
  std::span<std::byte> Read(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> buffer) const;

  /// Throws Error(kBadInput) if the file was truncated or rewritten after it was opened. If the file has only grown,
  /// logs a warning instead, because the bytes that were read are still valid.
  void VerifyUnchanged() const;
  /// Call this after an operation on the file has failed with `error`. If the file has changed since it was opened,
  /// throws Error(kBadInput) with a message that blames the change and contains the message of `error`. Otherwise
  /// returns.
  void BlameChange(const Error& error) const;

 private:
  enum class Change {
    kNone,
    kContent,
    /// The ctime (time of the last change of the inode) has changed, but the mtime (time of the last write) has not.
    /// Either a process wrote to the file and set back its mtime, or a process set only attributes.
    kHidden,
  };
  Change FindChange(const FileFacts& now) const;
  [[noreturn]] void Shrank(std::uint64_t end) const;

  FileSystem& files_;
  const std::string path_;
  std::shared_ptr<File> file_;  ///< null after Close()
  FileFacts facts_;
  /// The checksum of the last bytes of the file when it was opened.
  RecordSum last_bytes_;
  std::vector<std::byte> tail_;
  bool direct_ = false;
};

}  // namespace gpusort
