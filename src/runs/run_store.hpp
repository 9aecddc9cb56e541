// RunStore owns the temp files of runs, and the codecs that compress the blocks in them. If the job can be resumed,
// complete runs are kept for a later process. Start at RunStore.
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
#include "plan/plan.hpp"
#include "runs/journal.hpp"
#include "runs/program_codec.hpp"
#include "runs/run.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class TempCodec;

/// Stores the blocks of runs in temp files. Any thread may write, load and free blocks.
class RunStore {
 public:
  /// Makes no files yet. `directories` are the temp directories: those of the options, or the default ones. `warn`
  /// receives warnings. `journal` may be null. Otherwise the temp files lie in its directories, and Journal::Begin()
  /// must be called before Open().
  RunStore(const JobSpec& spec, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
           std::vector<std::string> directories, const std::function<void(const std::string&)>& warn,
           Journal* journal = nullptr);
  ~RunStore();

  /// Throws an error if a temp directory that the options name cannot be used, even if the plan needs no temp files.
  /// Does nothing with the options of sort: there only the first write to the directory throws the error.
  void CheckDirectories(const Plan& plan) const;
  /// Makes the temp files, if `plan` needs them and they do not exist yet. Checks the directories and their free space.
  void Open(const Plan& plan, unsigned threads);
  bool open() const { return spill_ != nullptr; }
  /// Removes the temp files, and with them all blocks.
  void Close();

  /// Writes block `number` of the run with the id `run`, and sets the place and the forecast of `block`. `buffer` must
  /// have the plan's block size. read(at, out) must fill `out` with the bytes of the block from offset `at` on.
  void Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
             const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read);
  /// Reads a block into `buffer` and returns its records. `buffer` must have LoadBytes() bytes.
  std::span<const std::byte> Load(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer,
                                  const RunBlock& block);
  /// Frees the space of a block in a temp file. Does nothing for a block in the input.
  void Free(const RunBlock& block);
  /// Frees the space of all blocks of `run` in temp files.
  void Free(const Run& run);

  /// Returns true if complete runs stay on the disk for a later process. If so, free the blocks of a run only after
  /// Keep() has recorded the run that replaces it.
  bool keeps() const { return journal_ != nullptr; }
  /// Syncs a completely written run and records it in the journal. `replaces` has the runs from which `run` was merged,
  /// if there are any; these runs are removed. `buffer` must have the plan's block size. After an error, it is unknown
  /// whether `run` was recorded. Call this only if keeps() is true.
  void Keep(const Run& run, const RecordLayout& layout, std::span<std::byte> buffer,
            std::span<const Run> replaces = {});
  /// Loads the block lists of `runs`, which an earlier process has kept and KeptRuns() has returned. Call it once,
  /// after Open() and before other functions. Throws Error(kIntegrity) if the blocks on the disk do not match.
  void FindBlocks(std::vector<Run>& runs, const RecordLayout& layout);
  void Drop(std::vector<Run>& runs);

  /// Returns how many bytes of memory compression has allocated.
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
  /// For each run that is kept for a later process, by run id: the places of the blocks that contain its block list.
  std::map<std::uint64_t, std::vector<SpillExtent>> indexes_;
};

/// Returns the runs that a manifest lists, in the order of the input. Their block lists are empty.
std::vector<Run> KeptRuns(const Manifest& manifest);

}  // namespace gpusort
