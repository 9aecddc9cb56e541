// Temp space for runs: the only owner of what they take of it, and of what compresses their blocks. With a journal,
// runs that are whole are kept for a process that comes later. Start at RunStore.
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
#include "runs/temp_codec.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Any thread may write, load and free blocks.
class RunStore {
 public:
  /// Takes nothing yet. `directories`: those that the options name, or what stands for them. `warn`: for the log.
  /// `journal`, if given, has begun when the store is opened, and its directories count.
  RunStore(const JobSpec& spec, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
           std::vector<std::string> directories, const std::function<void(const std::string&)>& warn,
           Journal* journal = nullptr);

  /// Asked for by name, a directory that cannot be used is an error even if nothing is spilled. If the options are not
  /// strict, the first block that is written will tell.
  void CheckDirectories(const Plan& plan) const;
  /// For the blocks of `plan`, if it has any; checks directories and space. Once open, it stays as it is.
  void Open(const Plan& plan, unsigned threads);
  bool open() const { return spill_ != nullptr; }
  /// Drops all blocks.
  void Close();

  /// Writes block `number` of a run through `buffer`, which has the plan's size, and sets its place and forecast.
  /// read(at, out) gives the block's bytes from `at` on.
  void Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
             const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read);
  /// Reads a block into `buffer`, which has LoadBytes() bytes, and returns the records.
  std::span<const std::byte> Load(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer,
                                  const RunBlock& block);
  /// Makes the temp space of a block reusable. A block in the input has no temp space.
  void Free(const RunBlock& block);
  /// Frees all blocks of `run` that were written.
  void Free(const Run& run);

  /// Whether runs stay when the process ends. If so, blocks of a run must not be freed before its replacement is kept.
  bool keeps() const { return journal_ != nullptr; }
  /// Syncs the run, whose blocks are written, and records it in the journal instead of the runs that it was merged from.
  /// `buffer` has the plan's size. After an error the run may or may not be kept. Requires keeps().
  void Keep(const Run& run, const RecordLayout& layout, std::span<std::byte> buffer,
            std::span<const Run> replaces = {});
  /// Finds the blocks of runs that an earlier process kept. `runs` come from KeptRuns(). Call it once, before all other
  /// functions. Throws Error(kIntegrity) if the disk has other blocks.
  void FindBlocks(std::vector<Run>& runs, const RecordLayout& layout);
  /// Gives up all runs and frees their blocks.
  void Drop(std::vector<Run>& runs);

  /// The memory that compressing takes now.
  std::uint64_t taken_bytes() const { return codec_ ? codec_->taken_bytes() : 0; }
  std::uint64_t bytes_in_use() const { return spill_ ? spill_->bytes_in_use() : 0; }
  std::uint64_t peak_bytes() const { return spill_ ? spill_->peak_bytes() : 0; }
  std::uint64_t written_bytes() const { return spill_ ? spill_->written_bytes() : 0; }
  /// The codec of new blocks.
  Codec codec() const { return codec_ ? codec_->codec() : Codec::kNone; }

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
  std::map<std::uint64_t, std::vector<SpillExtent>> indexes_;  ///< of runs that are kept, by id
};

/// The runs of a manifest in the order of the input, without their blocks.
std::vector<Run> KeptRuns(const Manifest& manifest);

}  // namespace gpusort
