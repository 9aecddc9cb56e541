// RunStore owns the temp space of runs and the codecs that compress their blocks. With a journal, complete runs are
// kept for a later process. Start at RunStore.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/spill.hpp"
#include "runs/journal.hpp"
#include "plan/plan.hpp"
#include "runs/program_codec.hpp"
#include "runs/run.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class TempCodec;

/// Stores the blocks of runs in the spill. Any thread may write, load and free blocks.
class RunStore {
 public:
  /// Allocates nothing yet. `directories` are the temp directories of the options or the default ones. `warn` receives
  /// warnings. If `journal` is not null, it must begin before Open(), and its directories are used instead.
  RunStore(const JobSpec& spec, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
           std::vector<std::string> directories, const std::function<void(const std::string&)>& warn,
           Journal* journal = nullptr);
  ~RunStore();

  /// Checks the temp directories that the options name, even if the plan spills nothing, and throws an error if one
  /// cannot be used. Does nothing if the options are not strict. The first write then throws the error.
  void CheckDirectories(const Plan& plan) const;
  /// Opens the spill if `plan` spills and it is not open yet. Checks the directories and the free space.
  void Open(const Plan& plan, unsigned threads);
  bool open() const { return spill_ != nullptr; }
  /// Closes the spill, which drops all its blocks.
  void Close();

  /// Writes block `number` of a run, and sets its place and forecast. `buffer` must have the plan's block size.
  /// read(at, out) must fill `out` with the bytes of the block from offset `at` on.
  void Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
             const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read);
  /// Reads a block into `buffer`, which must have LoadBytes() bytes, and returns the records.
  std::span<const std::byte> Load(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer,
                                  const RunBlock& block);
  /// Makes the temp space of a block reusable. A block in the input has no temp space.
  void Free(const RunBlock& block);
  /// Frees all blocks of `run` that were written.
  void Free(const Run& run);

  /// Returns true if complete runs stay on the disk after the process has ended. In this case, free the blocks of a run
  /// only after Keep() has recorded the run that replaces it.
  bool keeps() const { return journal_ != nullptr; }
  /// Syncs a completely written run and records it in the journal. Removes the runs in `replaces`, from which `run` was
  /// merged. `buffer` must have the plan's block size. After an error, `run` may be kept or not. Requires keeps().
  void Keep(const Run& run, const RecordLayout& layout, std::span<std::byte> buffer,
            std::span<const Run> replaces = {});
  /// Loads the block lists of runs that an earlier process kept. `runs` must come from KeptRuns(). Call it once, after
  /// Open() and before other functions. Throws Error(kIntegrity) if the blocks on the disk do not match.
  void FindBlocks(std::vector<Run>& runs, const RecordLayout& layout);
  void Drop(std::vector<Run>& runs);

  /// Returns the memory that compression takes now, in bytes.
  std::uint64_t taken_bytes() const;
  std::uint64_t bytes_in_use() const { return spill_ ? spill_->bytes_in_use() : 0; }
  std::uint64_t peak_bytes() const { return spill_ ? spill_->peak_bytes() : 0; }
  std::uint64_t written_bytes() const { return spill_ ? spill_->written_bytes() : 0; }
  /// Returns the codec of new blocks.
  Codec codec() const;

 private:
  const JobSpec& spec_;
  FileSystem& files_;
  HostMemory& memory_;
  const std::vector<std::string> directories_;
  ProgramCodec program_;
  Journal* const journal_;
  std::unique_ptr<SpillStore> spill_;
  std::unique_ptr<TempCodec> codec_;
  std::mutex mutex_;
  /// The blocks that contain the indexes of kept runs, by run id.
  std::map<std::uint64_t, std::vector<SpillExtent>> indexes_;
};

/// Returns the runs of a manifest in the order of the input, without their blocks.
std::vector<Run> KeptRuns(const Manifest& manifest);

}  // namespace gpusort
