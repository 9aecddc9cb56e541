// Temporary files for sorted records that do not fit in memory (the spill): one file in each temporary directory.
// Records are written in blocks, each with a header and a checksum. FORMAT.md describes the bytes. Start at SpillStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/codec/codec.hpp"
#include "io/file.hpp"

namespace gpusort {

/// The size in bytes of the header of a block. The records of the block (its payload) follow directly.
inline constexpr std::uint64_t kSpillHeaderBytes = 64;
/// The alignment in bytes of all offsets, lengths and addresses of blocks in temporary files, because of O_DIRECT.
inline constexpr std::uint64_t kSpillAlignment = 4096;

/// The place of a block of records in the temporary files.
struct SpillExtent {
  std::uint32_t file = 0;           ///< the index of the directory
  std::uint64_t payload_bytes = 0;  ///< the size of the payload, compressed with `codec`
  std::uint64_t offset = 0;
  Codec codec = Codec::kNone;  ///< the codec of the payload

  friend bool operator==(const SpillExtent&, const SpillExtent&) = default;
};

/// Describes temporary files that stay when the process ends, so that another process can continue the job.
struct NamedSpill {
  std::string name;       ///< the name of the file in each directory
  std::uint64_t job = 0;  ///< the number of the job; all processes of a job write the same number
};

/// All temporary files of a job. Any number of threads may call Write, Read and Free at once.
class SpillStore {
 public:
  /// Creates no file before the first Write.
  /// - directories: the directories for the files, which are used alternately
  /// - block_bytes: the largest size of a block with its header, a multiple of kSpillAlignment
  /// - before_use: called before the first file is created. Write throws its exceptions.
  /// - named: if set, the files have names, and files of an earlier process are used again (see Claim).
  /// - files_each: the number of files in each directory. There is only one with `named`, and if the process may open
  /// no
  ///   more.
  SpillStore(FileSystem& files, std::vector<std::string> directories, std::uint64_t block_bytes, bool direct,
             std::function<void()> before_use = {}, std::optional<NamedSpill> named = {}, std::size_t files_each = 1);
  ~SpillStore();
  SpillStore(const SpillStore&) = delete;
  SpillStore& operator=(const SpillStore&) = delete;

  std::uint64_t payload_capacity() const { return block_bytes_ - kSpillHeaderBytes; }

  /// Writes block `number` of the sorted run number `run` to a temporary file. Throws Error(kNoSpace) if all
  /// directories are full.
  /// - block: aligned to kSpillAlignment, with room for header, payload, and padding to a multiple of kSpillAlignment
  /// - payload_bytes: the size of the payload (the records) at block[kSpillHeaderBytes], at most payload_capacity()
  /// - codec: the codec with which the caller has compressed the payload
  SpillExtent Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> block, std::uint64_t payload_bytes,
                    Codec codec = Codec::kNone);

  /// Reads a block. Returns the size of its payload (the records), which begins at block[kSpillHeaderBytes]. Throws
  /// Error(kIntegrity) if the block is damaged, and Error(kIo) if it cannot be read. `block` must be as for Write.
  std::uint64_t Read(const SpillExtent& extent, std::uint64_t run, std::uint64_t number, std::span<std::byte> block);

  /// Gives the disk space of a block back to the file system. If the file system cannot free parts of files, later
  /// blocks use the space. Call this once for each result of Write, when no Read of the block is running.
  void Free(const SpillExtent& extent);

  /// Claim and FreeUnclaimed are for files of an earlier process (see NamedSpill). One thread must call Claim for each
  /// block to keep, and then FreeUnclaimed once, which frees all other blocks. Claim throws Error(kIntegrity) if the
  /// block at `extent` is outside its file or was claimed before.
  void Claim(const SpillExtent& extent);
  void FreeUnclaimed();
  /// Returns once all written blocks are on the disk and the files have their names. After an error every later call
  /// fails, because the kernel reports a lost write only once.
  void Sync();

  /// Returns the number of bytes of all blocks that were written and not freed, with headers and padding.
  std::uint64_t bytes_in_use() const;
  /// Returns the largest disk space in bytes that the files have taken. Parts of files that were never written take no
  /// space.
  std::uint64_t peak_bytes() const;
  /// Returns the number of bytes of all writes so far, with headers and padding.
  std::uint64_t written_bytes() const;

 private:
  struct Directory {
    std::string path;
    /// Created at the first write. The blocks are dealt out to the files in turn. An offset counts all files together
    /// (see Where).
    std::vector<std::unique_ptr<File>> files;
    std::vector<std::uint64_t> free;  ///< the offsets of places (slots) for one block that are free again
    std::vector<std::uint64_t> most;  ///< for each slot: its longest block since its space was last freed, in bytes
    std::uint64_t end = 0;            ///< the first offset that no block has used
    bool holes = true;                ///< whether the file system can free parts of a file
    bool named = false;               ///< whether the name of the file is on the disk
    std::string full;                 ///< the reason why the files cannot grow; empty if they can
  };
  /// An offset in one of the files of a directory.
  struct Place {
    File* file = nullptr;
    std::uint64_t offset = 0;
  };
  struct Slot {
    std::uint32_t directory;
    std::uint64_t offset;
    Place place;
  };

  /// Returns the place of the block at `offset` of `directory`. Returns no file if the directory has none.
  Place Where(const Directory& directory, std::uint64_t offset) const;

  bool TakeSlot(std::vector<bool>& tried, Slot* slot);
  void OpenFiles(Directory& directory);
  bool OpenNamed(Directory& directory, bool create);
  [[noreturn]] void FailNoSpace(std::uint64_t bytes) const;
  [[noreturn]] void FailIntegrity(const SpillExtent& extent, const std::string& why) const;

  FileSystem& files_;
  const std::uint64_t block_bytes_;
  const bool direct_;
  const std::optional<NamedSpill> named_;
  const std::size_t files_each_;
  const std::uint64_t job_;
  std::function<void()> before_use_;
  mutable std::mutex mutex_;
  std::vector<Directory> directories_;
  std::uint32_t next_ = 0;
  std::uint64_t in_use_ = 0;
  std::uint64_t taken_ = 0, peak_ = 0;
  std::uint64_t written_ = 0;
  std::mutex sync_mutex_;
  std::exception_ptr sync_failure_;
};

/// Returns the directories for temporary files. They are the first of these choices that is possible:
/// - `asked`, the directories that the user names, if it is not empty
/// - TMPDIR, if this environment variable is set
/// - the directory of `output`, if `output` is not null and its directory is writable
/// - /var/tmp
std::vector<std::string> TempDirectories(const std::vector<std::string>& asked, const OutputFile* output);

/// Throws Error(kUsage) if `directory` is not an existing, writable directory.
void CheckTempDirectory(const std::string& directory);

/// Throws Error(kNoSpace) if the directories together have less than `needed_bytes` of free space. The message names
/// each directory, the bytes needed for `what`, and the free bytes. Directories on the same file system count once.
void RequireSpace(FileSystem& files, const std::vector<std::string>& directories, std::uint64_t needed_bytes,
                  std::string_view what);

}  // namespace gpusort
