// The output file of a job. The output replaces an old file only when it is complete. Start at OutputFile.
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

/// A new file that replaces an old file when Publish is called. Without Publish, the destructor removes the new file.
/// - The new file has mode 0600 until Complete, and no visible name until Publish.
/// - It gets the owner, mode and ACL of the old file, and the extended attributes user.* and security.*.
/// - Hard links of the old file keep the old content.
/// - If in_place() is not empty, the first write destroys the old content.
class OutputFile {
 public:
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Reads bytes of the new file as File::ReadAt does. May be called before and after Publish.
  std::uint64_t ReadAt(std::uint64_t offset, std::span<std::byte> out) { return file_->ReadAt(offset, out); }
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);
  /// From now on WriteAt also starts to write the bytes from the page cache to the disk, so that the final sync takes
  /// less time.
  void WriteBackEarly() { writes_back_ = true; }
  /// Lets the published file keep mode 0600. Otherwise Complete gives it the rights of the file that it replaces, or
  /// those of a new file. Call this before Complete.
  void KeepPrivate() { private_ = true; }
  /// From now on WriteAt also adds the checksums of the written bytes to `sums`, which must outlive the last WriteAt.
  void SumPieces(PieceSums* sums) { sums_ = sums; }
  /// Clears the checksums (see SumPieces), because the caller will write all bytes again. No thread may be writing.
  void ForgetPieces() {
    if (sums_ != nullptr) sums_->Clear();
  }
  /// Stores a copy of `bytes`, which Complete writes at the end of the file. Call this before Complete.
  void Append(std::span<const std::byte> bytes) { appended_.assign(bytes.begin(), bytes.end()); }
  void DropCache() { file_->DropCache(); }
  /// Reserves disk space as File::Allocate does. If the output is written into an existing file (see in_place()), only
  /// checks that the free space is enough. Throws Error(kNoSpace) if space is missing.
  void Allocate(std::uint64_t size);
  /// Announces a call of AllocateInSteps(size), as File::ExpectAllocation does. Returns false if the caller must call
  /// Allocate() instead, as for an output that is written in place.
  bool ExpectAllocation(std::uint64_t size) { return in_place_.empty() && file_->ExpectAllocation(size); }
  void AllocateInSteps(std::uint64_t size) { file_->AllocateInSteps(size); }
  bool AllocateToWrite(std::uint64_t size) { return file_->AllocateToWrite(size); }
  /// Uses O_DIRECT (I/O without the page cache) from now on if that is possible. Call this before the first write.
  void MakeDirect();
  /// Makes the file `name` in the output's folder the file to write, and keeps its first `bytes` bytes.
  /// - Returns false if the file has fewer bytes. The file is then empty.
  /// - Creates the file if it does not exist.
  /// - The destructor does not remove the first `bytes` bytes.
  /// - Throws Error(kUsage) if `name` is not a regular file of this user.
  /// - Throws Error(kUsage) if another job writes the file.
  /// - Call this before all other functions, and only if in_place() is empty.
  bool TakeUp(const std::string& name, std::uint64_t bytes);
  /// Returns once the file is on the disk. If TakeUp was called before, the destructor will keep the first `bytes`
  /// bytes.
  void Keep(std::uint64_t bytes);
  /// Empties the file, frees its disk space, and cancels the effect of Keep.
  void Release() {
    file_->Truncate(0);
    kept_ = 0;
  }
  /// Finishes the new file: cuts it to `total_bytes`, and sets its final owner, mode and ACL. Syncs it if `sync` is
  /// true. With several outputs, call Complete for all of them before the first Publish.
  void Complete(std::uint64_t total_bytes, bool sync);
  /// Replaces the file path() by the new file, after Complete. Call this once.
  /// - sync: true to return once the new name is on the disk
  /// - With OldFile::kKeep, throws Error(kIo) if the file path() exists.
  /// - If the sync of the new name fails, throws Error(kIo), but the file is replaced.
  /// - After any other error, the old file is unchanged, unless it was written in place.
  /// - After success, all signals stay blocked in the calling thread.
  void Publish(std::uint64_t total_bytes, bool sync);
  /// Removes the file that Publish would replace, so that Publish makes a new name. Does nothing for an output that is
  /// written in place (see in_place()) or with OldFile::kKeep. Returns true if a file was removed. Call Complete before
  /// this.
  bool RemoveOld();
  /// Returns the rights and attributes of the replaced file that the new file could not get, each with the reason:
  /// "user.origin: EPERM (...)".
  const std::vector<std::string>& lost() const { return lost_; }
  bool direct() const { return file_->direct(); }
  std::uint64_t alignment() const { return file_->alignment(); }
  /// Returns the path of the file that will be replaced, with links resolved.
  const std::string& path() const { return path_; }
  const std::string& directory() const { return directory_; }
  /// Returns the reason why the output is written into the existing file (in place). Returns an empty string if a new
  /// file replaces the existing file.
  const std::string& in_place() const { return in_place_; }
  /// Returns false if ReadAt cannot work, because the output is written into an existing file (see in_place()) for
  /// which this user has no read permission.
  bool readable() const;
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
  /// Throws Error(kUsage) with the path of the output and the reason `why`. If `error` is not 0, it is an errno, and
  /// the exception is a SystemError with the code OpenErrorCode(error).
  [[noreturn]] void Refuse(const std::string& why, int error = 0) const;

  SystemCalls& calls_;
  const std::string given_;
  const OldFile on_old_;
  std::string path_;
  std::string directory_;
  std::string name_;
  std::string hidden_;  ///< the temporary name in the directory; empty while the file has no name
  std::string in_place_;
  std::optional<FileFacts> old_;
  std::optional<FileRights> rights_;  ///< the rights of the old file
  std::vector<std::string> lost_;
  bool made_ = false;  ///< true if FindOld created the old file, which is empty
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
  std::uint64_t kept_ = 0;  ///< after TakeUp: the number of bytes that the destructor keeps
};

/// Removes the temporary names of all unpublished OutputFiles. Safe in a signal handler, where no destructor would
/// remove the names. Does nothing for an output without a name (O_TMPFILE) or after Publish.
void RemoveHiddenOutput() noexcept;

}  // namespace gpusort
