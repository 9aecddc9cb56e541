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

/// How many bytes a buffer for reading must be larger than the data: a direct read, which bypasses the page cache,
/// reads whole pages at both ends.
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
  /// Returns the last bytes of the file. RecordFormat::Ending finds out from them whether a newline is missing at the
  /// end.
  std::span<const std::byte> tail() const { return tail_; }
  bool direct() const { return direct_; }

  /// Lets later reads bypass the page cache if this is faster for a job that reads `bytes` bytes of the file. It is
  /// faster if the file is large and mostly not in the cache. Does nothing if the file system refuses such reads.
  void PreferDirect(std::uint64_t bytes);
  /// Closes the file, to save a file descriptor. Each later read opens the file again and closes it.
  void Close() { file_.reset(); }

  /// Returns the open file. Throws Error(kBadInput) if the file was closed and cannot be opened again.
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

  /// Throws Error(kBadInput) if the file was truncated or rewritten since it was opened. Only warns if the file has
  /// grown, because the bytes that were read are still valid then.
  void VerifyUnchanged() const;
  /// Finds out whether a change of the file has caused `error`. Call this after an operation has failed. If the file
  /// was changed in any way since it was opened, throws Error(kBadInput) with the message of `error`.
  void BlameChange(const Error& error) const;

 private:
  enum class Change {
    kNone,
    kContent,
    /// The ctime (change of the inode) of the file changed but its mtime did not: a process wrote to the file, or set
    /// its attributes or times.
    kHidden,
  };
  Change FindChange(const FileFacts& now) const;
  [[noreturn]] void Shrank(std::uint64_t end) const;

  FileSystem& files_;
  const std::string path_;
  std::shared_ptr<File> file_;  ///< null after Close()
  FileFacts facts_;
  RecordSum last_bytes_;  ///< a checksum of the last bytes; if they are unchanged, a longer file has only grown
  std::vector<std::byte> tail_;
  bool direct_ = false;
};

}  // namespace gpusort
