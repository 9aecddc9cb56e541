// Reads a regular file that is an input, and finds out if another process changes the file. Start at InputFile.
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

/// A direct read bypasses the page cache and reads whole pages. Its buffer must be this many bytes larger than the
/// data.
inline constexpr std::uint64_t kReadSlack = 8192;

/// A regular file that is an input. Several threads may call const members at the same time. The FileSystem must
/// outlive this object.
class InputFile {
 public:
  /// Opens the file. Throws Error(kUsage) if the file is missing, unreadable or not a regular file.
  InputFile(FileSystem& files, std::string path);

  const std::string& path() const { return path_; }
  /// Returns the attributes that the file had when it was opened.
  const FileFacts& facts() const { return facts_; }
  std::uint64_t size() const { return facts_.size; }
  /// Returns the last bytes of the file. RecordFormat::Ending looks at them.
  std::span<const std::byte> tail() const { return tail_; }
  bool direct() const { return direct_; }

  /// Lets later reads bypass the page cache if this is faster for a job that reads `bytes` bytes of the file. It is
  /// faster if the file is large and mostly not in the cache. Does nothing if the file system refuses such reads.
  void PreferDirect(std::uint64_t bytes);
  /// Closes the file, to save a file descriptor. Each later read opens the file again.
  void Close() { file_.reset(); }

  /// Returns the open file. Throws Error(kBadInput) if the file was closed and cannot be opened again.
  std::shared_ptr<File> Open() const;
  /// Opens the file once more, for reads through the page cache.
  std::unique_ptr<File> OpenBuffered() const { return files_.OpenInput(path_, false); }
  /// Reads bytes of `file` from `offset` on into `out`. `file` must be open for buffered reads. Returns the number of
  /// bytes, which is less than out.size() only at the end of the file. Throws Error(kBadInput) if the file has become
  /// shorter.
  std::uint64_t ReadSome(File& file, std::uint64_t offset, std::span<std::byte> out) const;
  /// Reads the bytes [offset, offset + bytes) of the file, and returns the part of `buffer` that holds them. `buffer`
  /// must be 4096-aligned and have `bytes` + kReadSlack bytes. Throws Error(kBadInput) if the file has become shorter.
  std::span<std::byte> Read(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> buffer) const;

  /// Throws Error(kBadInput) if the file was truncated or rewritten since it was opened. Only warns if it has grown.
  void VerifyUnchanged() const;
  /// Call this after an operation has failed with `error`, because a changed file can cause such an error. If the file
  /// was changed in any way since it was opened, throws Error(kBadInput) with the message of `error`.
  void BlameChange(const Error& error) const;

 private:
  enum class Change {
    kNone,
    kContent,
    /// The ctime of the file changed and its mtime did not: a process wrote to it, or set its attributes or times.
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
