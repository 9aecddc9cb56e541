// Temporary space for sorted runs: blocks of records in unlinked files, one file a directory, made at the first write;
// or in files with names, so that another process can go on with them.
// Every block carries its run, number, length, place, job and an XXH3-64 checksum, and is verified before use, so that
// a lost, misdirected, torn or foreign block is kIntegrity and never a wrong result. Space goes back to the file system
// as soon as it is freed. The bytes are described in FORMAT.md. Start at SpillStore.
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

/// In front of the payload, in the same buffer and the same write.
inline constexpr std::uint64_t kSpillHeaderBytes = 64;
/// What offsets, lengths and buffers of a spill are multiples of, so that direct I/O works.
inline constexpr std::uint64_t kSpillAlignment = 4096;

/// Where a block lies in its store.
struct SpillExtent {
  std::uint32_t file = 0;           ///< index of the directory
  std::uint64_t payload_bytes = 0;  ///< as stored
  std::uint64_t offset = 0;
  Codec codec = Codec::kNone;  ///< what the payload is compressed with

  friend bool operator==(const SpillExtent&, const SpillExtent&) = default;
};

/// Of files that stay when the process ends.
struct NamedSpill {
  std::string name;       ///< of the file in each directory
  std::uint64_t job = 0;  ///< that blocks belong to, whichever process wrote them
};

/// All temporary space of a job. Any number of threads may write, read and free at once.
class SpillStore {
 public:
  /// Blocks have at most `block_bytes` (a multiple of kSpillAlignment), header included; directories are used in turn.
  /// `before_use` is called once, before the first file is made; what it throws ends that Write. `named`: files that
  /// are there already are taken, all of their blocks being free until Claim says otherwise.
  SpillStore(FileSystem& files, std::vector<std::string> directories, std::uint64_t block_bytes, bool direct,
             std::function<void()> before_use = {}, std::optional<NamedSpill> named = {});
  SpillStore(const SpillStore&) = delete;
  SpillStore& operator=(const SpillStore&) = delete;

  std::uint64_t payload_capacity() const { return block_bytes_ - kSpillHeaderBytes; }

  /// Writes block `number` of `run`, whose payload (records, compressed with `codec` by the caller) of `payload_bytes`
  /// (at most payload_capacity()) begins at block[kSpillHeaderBytes]. The header and the padding up to a multiple of
  /// kSpillAlignment are filled in, so `block` must be aligned and have room for both. A directory that is full hands
  /// over to the next; kNoSpace if all are full.
  SpillExtent Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> block, std::uint64_t payload_bytes,
                    Codec codec = Codec::kNone);

  /// Reads a block into `block` (aligned, with room for header, payload and padding) and returns its payload bytes,
  /// which begin at block[kSpillHeaderBytes]. kIntegrity if these are not the bytes that were written; an error of the
  /// device is answered by one more try, then kIo.
  std::uint64_t Read(const SpillExtent& extent, std::uint64_t run, std::uint64_t number, std::span<std::byte> block);

  /// Gives the block's space back: to the file system, or where that makes no holes, to later blocks. Once for each
  /// extent that Write gave, with no Read of it under way.
  void Free(const SpillExtent& extent);

  // Of named files. First Claim what is kept, in one thread, then FreeUnclaimed, then all else.
  /// A block that a process before wrote is in use. kIntegrity if it does not lie in its file, or was claimed before.
  void Claim(const SpillExtent& extent);
  void FreeUnclaimed();
  /// All blocks that were written are on the disk, and the files have their names. After an error it fails for good:
  /// the kernel tells of a lost write once.
  void Sync();

  /// Bytes of the blocks that were written and not freed, with headers and padding.
  std::uint64_t bytes_in_use() const;
  /// The most that the files have taken from their directories. Pages of a slot that were never written are holes and
  /// take nothing.
  std::uint64_t peak_bytes() const;
  /// Bytes of all writes so far, with headers and padding.
  std::uint64_t written_bytes() const;

 private:
  struct Directory {
    std::string path;
    std::unique_ptr<File> file;       ///< made at the first write; then it stays
    std::vector<std::uint64_t> free;  ///< offsets of freed slots
    std::vector<std::uint64_t> most;  ///< by slot: the longest block that it has held since it was a hole
    std::uint64_t end = 0;            ///< first offset that was never handed out
    bool holes = true;                ///< the file system makes them
    bool named = false;               ///< the file's name is on the disk
    std::string full;                 ///< why not to ask for more space, if so; freed slots are still good
  };
  struct Slot {
    std::uint32_t directory;
    std::uint64_t offset;
    File* file;
  };

  bool TakeSlot(std::vector<bool>& tried, Slot* slot);
  void OpenFile(Directory& directory);
  bool OpenNamed(Directory& directory, bool create);
  [[noreturn]] void FailNoSpace(std::uint64_t bytes) const;
  [[noreturn]] void FailIntegrity(const SpillExtent& extent, const std::string& why) const;

  FileSystem& files_;
  const std::uint64_t block_bytes_;
  const bool direct_;
  const std::optional<NamedSpill> named_;
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

/// Where to spill: the directories asked for, else TMPDIR, else the one that the output will lie in, or /var/tmp if it
/// is no file (null) or that directory is not writable (the output is then written in place).
std::vector<std::string> TempDirectories(const std::vector<std::string>& asked, const OutputFile* output);

/// Error(kUsage) if `directory` is not an existing, writable directory.
void CheckTempDirectory(const std::string& directory);

/// Error(kNoSpace), naming each directory, the bytes needed for `what` and the bytes free, if the directories together
/// have less than `needed_bytes`. Directories on the same file system count once.
void RequireSpace(FileSystem& files, const std::vector<std::string>& directories, std::uint64_t needed_bytes,
                  std::string_view what);

}  // namespace gpusort
