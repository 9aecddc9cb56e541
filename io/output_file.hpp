// The output of a job as a file that replaces an old one only when it is complete. Start at OutputFile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "io/file_rights.hpp"
#include "io/piece_sums.hpp"

namespace gpusort {

/// A new version of a file. It is invisible and has mode 0600 until Publish puts it in place of the old file. Without
/// Publish the destructor leaves no new file and the old file untouched. Hard links of the old file keep the old
/// content. The new file gets the ACL and the extended attributes user.* and security.* of the old file.
/// Written in place, the first write empties the old file; until Publish returns there is neither old nor new content.
/// A file is written in place if it cannot be replaced, or if it would lose its owner, group or ACL. Mount points,
/// files in a folder that cannot be written, and files of other users cannot be replaced.
class OutputFile {
 public:
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Reads as File::ReadAt, before and after Publish.
  std::uint64_t ReadAt(std::uint64_t offset, std::span<std::byte> out) { return file_->ReadAt(offset, out); }
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);
  /// From now on WriteAt also tells the device to begin writing, so that a sync waits for little.
  void WriteBackEarly() { writes_back_ = true; }
  /// The published file gets mode 0600 and nothing of the old file's rights. Call this before Complete.
  void KeepPrivate() { private_ = true; }
  /// From now on WriteAt adds the written bytes to `sums`, which must outlive the last WriteAt.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// Clears the sums, because the caller will write all bytes again. No thread may be writing.
  void ForgetPieces() {
    if (sums_ != nullptr) sums_->Clear();
  }
  /// Complete writes `bytes` after the end that it is given. Call this before Complete.
  void Append(std::span<const std::byte> bytes) { appended_.assign(bytes.begin(), bytes.end()); }
  void DropCache() { file_->DropCache(); }
  /// As File::Allocate. Error(kNoSpace) if the bytes cannot be reserved or, in place, would not fit now.
  void Allocate(std::uint64_t size);
  void AllocateToWrite(std::uint64_t size) { file_->AllocateToWrite(size); }
  /// Makes the file direct if that is possible. Call this before the first write.
  void MakeDirect();
  /// Writes to the file `name` in the output's folder: one that an earlier process left, or a new one. The file is cut
  /// to `bytes`; the destructor leaves the bytes that Keep was called with. Returns false, with an empty file, if it
  /// was shorter. Error(kUsage) if it is no file of this user. Call this before anything else, and not in place.
  bool TakeUp(const std::string& name, std::uint64_t bytes);
  /// Returns once the first `bytes` are on the disk. They stay there after the destructor.
  void Keep(std::uint64_t bytes);
  /// Frees all space, also of bytes that Keep was called with.
  void Release() {
    file_->Truncate(0);
    kept_ = 0;
  }
  /// Cuts the file to `total_bytes`, gives it the rights of the old file (or those of any new file there), and syncs it
  /// if asked. This is the part of Publish that takes long or fails; call it for each of several files first.
  void Complete(std::uint64_t total_bytes, bool sync);
  /// Completes the file if Complete was not called, renames it to its name and, if asked, syncs the directory. Call
  /// this once. On success signals stay blocked in the calling thread, because a finished job must not end by a signal.
  /// They also stay blocked if only the sync of the directory failed: Error(kIo) says that the new output is in place.
  /// After any other error the old file is as it was, unless it was written in place. With kKeep an old file that
  /// appeared in the meantime is kept, too (Error(kIo)).
  void Publish(std::uint64_t total_bytes, bool sync);
  /// The rights and attributes that the published file lacks, each with the reason: "user.origin: ENOSPC (No space left
  /// on device)".
  const std::vector<std::string>& lost() const { return lost_; }
  bool direct() const { return file_->direct(); }
  std::uint64_t alignment() const { return file_->alignment(); }
  /// The name that will be replaced, links resolved.
  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }
  /// The reason why the old file is written in place; empty if it is replaced.
  const std::string& in_place() const { return in_place_; }
  /// False if the file is written in place and this user may not read it.
  bool readable() const;
  /// The facts of the file that is being written.
  FileFacts Facts() const { return file_->Facts(); }

 private:
  friend class FileSystem;
  OutputFile(SystemCalls& calls, const std::string& path, OldFile old)
      : calls_(calls), given_(path), on_old_(old), path_(path) {}
  void Open(bool direct);
  void FindOld();
  void CreateNew(bool direct);
  void RefuseIfNotReplaceable() const;
  void OpenOld();
  void RefuseIfSeen(std::uint64_t names, unsigned mode) const;
  std::string ByDirectory() const;
  std::optional<FileRights> ReadRights() const;
  bool FollowOld();
  bool FollowsLinksOfOthers() const { return on_old_ == OldFile::kRewriteIfSeen; }
  void LinkHidden();
  void SetHidden(std::string name);
  void ForgetHidden() noexcept;
  void RemoveHidden() noexcept;
  /// Throws Error(kUsage) about the output or, for an error number, a SystemError with its OpenErrorCode.
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
  std::optional<FileRights> rights_;  ///< of the old file
  std::vector<std::string> lost_;
  bool made_ = false;  ///< the old file is an empty one that FindOld created
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
  std::uint64_t kept_ = 0;  ///< after TakeUp: the bytes that stay
};

/// Removes the hidden names of all unpublished OutputFiles. Safe in a signal handler, after which no destructor runs.
/// Does nothing for an output that has no name (O_TMPFILE) or is published.
void RemoveHiddenOutput() noexcept;

}  // namespace gpusort
