// Owns the temp files that contain sorted runs, and compresses the blocks in them. If the job can be resumed, complete
// runs are kept for a later process. Start at RunStore.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/spill.hpp"
#include "plan/plan.hpp"
#include "runs/journal.hpp"
#include "runs/program_codec.hpp"
#include "runs/run.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class TempCodec;

/// Stores the blocks of sorted runs in temp files. Any thread may write, read and free blocks.
class RunStore {
 public:
  /// Makes a store without temp files. Open() makes the files.
  /// - `directories`: the directories for temp files. Not used with a journal, which has its own directories.
  /// - `warn`: receives warnings.
  /// - `journal`: null unless the job can be resumed. Call Journal::Begin() before Open().
  RunStore(const JobSpec& spec, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
           std::vector<std::string> directories, const std::function<void(const std::string&)>& warn,
           Journal* journal = nullptr);
  ~RunStore();

  /// Throws an error if a temp directory that the options name cannot be used, even if the plan needs no temp files.
  /// Does nothing if the program runs under the name `sort`: as with GNU sort, the first write to the directory then
  /// fails.
  void CheckDirectories(const Plan& plan) const;
  /// Makes the temp files, if `plan` needs them and they do not exist yet. Checks the directories and their free space.
  void Open(const Plan& plan, unsigned threads);
  bool open() const { return spill_ != nullptr; }
  /// Removes the temp files and all blocks in them.
  void Close();

  /// Writes block `number` of the sorted run with the id `run` to a temp file, and sets all other members of `block`.
  /// The caller must set `block.begin` and `block.bytes`.
  /// - read(at, out) must fill `out` with the bytes of the block from offset `at` on.
  /// - `buffer` is memory for the call. Its size must be the size of a block in temp files (Plan::block_bytes).
  void Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
             const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read);
  /// Reads a block of a sorted run into `buffer`, which must have LoadBytes() bytes. Returns the records of the block.
  std::span<const std::byte> Load(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer,
                                  const RunBlock& block);
  /// Frees the space of a block in a temp file. Does nothing for a block that is in the input.
  void Free(const RunBlock& block);
  /// Frees the space of all blocks of `run` in temp files.
  void Free(const Run& run);

  /// Returns true if complete sorted runs stay on the disk for a later process. If true, a merge must not free the
  /// blocks of a run before Keep() has recorded the merged run that replaces it.
  bool keeps() const { return journal_ != nullptr; }
  /// Stores a complete sorted run for a later process. Call this only if keeps() is true.
  /// - `buffer`: memory of Plan::block_bytes bytes.
  /// - `replaces`: the runs from which `run` was merged. The journal forgets them.
  /// - After an error, it is unknown whether the journal has `run`.
  void Keep(const Run& run, const RecordLayout& layout, std::span<std::byte> buffer,
            std::span<const Run> replaces = {});
  /// Sets Run::blocks of each of the sorted `runs`, a result of KeptRuns(), from the temp files. Call this once, after
  /// Open() and before other functions. Throws Error(kIntegrity) if the temp files are damaged.
  void FindBlocks(std::vector<Run>& runs, const RecordLayout& layout);
  /// Frees the space of all `runs`, which must be all runs of the store, and empties `runs`. Without a journal this
  /// closes the store.
  void Drop(std::vector<Run>& runs);

  /// Returns how many bytes of memory the compression of temp files has allocated.
  std::uint64_t taken_bytes() const;
  std::uint64_t bytes_in_use() const { return spill_ ? spill_->bytes_in_use() : 0; }
  std::uint64_t peak_bytes() const { return std::max(closed_peak_, spill_ ? spill_->peak_bytes() : 0); }
  std::uint64_t written_bytes() const { return closed_written_ + (spill_ ? spill_->written_bytes() : 0); }
  /// Returns the codec with which new blocks of temp files are compressed.
  Codec codec() const;

 private:
  const JobSpec& spec_;
  FileSystem& files_;
  HostMemory& memory_;
  const std::vector<std::string> directories_;
  ProgramCodec program_;
  Journal* const journal_;
  std::unique_ptr<SpillStore> spill_;
  std::uint64_t closed_written_ = 0, closed_peak_ = 0;  ///< of temp files that Close() has removed
  std::unique_ptr<TempCodec> codec_;
  std::mutex mutex_;
  /// The places where the list of blocks of each sorted run is stored in temp files. Only for runs that are kept for a
  /// later process. The key is the id of the run.
  std::map<std::uint64_t, std::vector<SpillExtent>> indexes_;
};

/// Returns the sorted runs that a manifest (the log file of a resumable job) lists, in the order of the input. Their
/// lists of blocks are empty until RunStore::FindBlocks() sets them.
std::vector<Run> KeptRuns(const Manifest& manifest);

}  // namespace gpusort
