// A regular file that a job reads, and that nothing else may change meanwhile. Start at InputFile.
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

/// The additional bytes of a buffer that direct reads at any offset need.
inline constexpr std::uint64_t kReadSlack = 8192;

/// Any number of threads may call the const members at once. Must not outlive its FileSystem.
class InputFile {
 public:
  /// Opens the file. Error(kUsage) if it is missing, unreadable or not a regular file. Error(kIo).
  InputFile(FileSystem& files, std::string path);

  const std::string& path() const { return path_; }
  /// The facts of the file when it was opened.
  const FileFacts& facts() const { return facts_; }
  std::uint64_t size() const { return facts_.size; }
  /// The last bytes of the file, as RecordFormat::Ending takes them.
  std::span<const std::byte> tail() const { return tail_; }
  bool direct() const { return direct_; }

  /// Makes reads bypass the page cache if that pays for a job that reads `bytes` bytes of the file. It pays if most of
  /// the file is not in the cache. The file system may refuse it.
  void PreferDirect(std::uint64_t bytes);
  /// Closes the file. Each use opens it again, because the process has more inputs than file descriptors.
  void Close() { file_.reset(); }

  /// Returns a handle for ReadSome. Error(kBadInput) if the file was closed and cannot be opened again.
  std::shared_ptr<File> Open() const;
  /// Returns another handle, which is buffered.
  std::unique_ptr<File> OpenBuffered() const { return files_.OpenInput(path_, false); }
  /// Reads up to out.size() bytes from `offset` on through a buffered handle, and returns how many: fewer only at the
  /// end of the file. Error(kBadInput) if the file has shrunk.
  std::uint64_t ReadSome(File& file, std::uint64_t offset, std::span<std::byte> out) const;
  /// Reads [offset, offset + bytes), which must lie in the file, into `buffer`. Returns the place of the bytes in
  /// `buffer`, which must be 4096-aligned and have kReadSlack bytes more. Error(kBadInput) if the file has shrunk.
  std::span<std::byte> Read(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> buffer) const;

  /// Error(kBadInput) if the file was truncated or rewritten since it was opened. Only warns if the file has grown and
  /// its old end is as it was.
  void VerifyUnchanged() const;
  /// Error(kBadInput) with the text of `error` if the file was changed since it was opened, also if it has grown.
  void BlameChange(const Error& error) const;

 private:
  enum class Change {
    kNone,
    kContent,
    kHidden,  ///< something wrote to the file or set its attributes or times, and its mtime is as before
  };
  Change FindChange(const FileFacts& now) const;
  [[noreturn]] void Shrank(std::uint64_t end) const;

  FileSystem& files_;
  const std::string path_;
  std::shared_ptr<File> file_;  ///< null after Close
  FileFacts facts_;
  RecordSum last_bytes_;  ///< of the last bytes, to recognise a file that has grown
  std::vector<std::byte> tail_;
  bool direct_ = false;
};

}  // namespace gpusort
