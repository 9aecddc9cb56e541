// RunStore owns the temp files that contain sorted runs, and compresses the blocks in them. If the job can be resumed,
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

/// Stores the blocks of sorted runs in temp files. Any thread may write, read and free blocks.
class RunStore {
 public:
  /// Makes no files yet. `directories` are the directories for temp files, from the options or by default. `warn`
  /// receives warnings. `journal`, the log of the finished work, is null unless the job can be resumed. With a journal,
  /// the temp files are in its directories, and Journal::Begin() must be called before Open().
  RunStore(const JobSpec& spec, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
           std::vector<std::string> directories, const std::function<void(const std::string&)>& warn,
           Journal* journal = nullptr);
  ~RunStore();

  /// Checks that the temp directories that the options name can be used, even if the plan needs no temp files. Throws
  /// an error if not. Under the name `sort` this does nothing: as with GNU sort, only the first write to a directory
  /// then fails.
  void CheckDirectories(const Plan& plan) const;
  /// Makes the temp files, if `plan` needs them and they do not exist yet. Checks the directories and their free space.
  void Open(const Plan& plan, unsigned threads);
  bool open() const { return spill_ != nullptr; }
  /// Removes the temp files, and with them all blocks.
  void Close();

  /// Writes block `number` of the run with the id `run` to a temp file. Sets in `block` the place in the file and the
  /// forecast, the first bytes of the last record's sort key. The forecast tells ReadAhead when the next block is
  /// needed. The function read(at, out) must fill `out` with the bytes of the block from offset `at` on. `buffer` is
  /// memory for the call, of the plan's block size.
  void Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
             const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read);
  /// Reads a block of a run into `buffer` and returns its records. `buffer` must have LoadBytes() bytes.
  std::span<const std::byte> Load(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer,
                                  const RunBlock& block);
  /// Frees the space of a block in a temp file. Does nothing for a block that is in the input.
  void Free(const RunBlock& block);
  /// Frees the space of all blocks of `run` in temp files.
  void Free(const Run& run);

  /// Returns true if complete sorted runs stay on the disk for a later process. The blocks of a run may then be freed
  /// only after Keep() has recorded the merged run that replaces this run.
  bool keeps() const { return journal_ != nullptr; }
  /// Makes a complete run permanent for a later process: syncs its temp files, and records the run in the journal (the
  /// log of the finished work). `replaces` has the runs from which `run` was merged, if there are any; the journal
  /// forgets these runs. `buffer` must have the plan's block size. After an error, it is unknown whether `run` was
  /// recorded. Call this only if keeps() is true.
  void Keep(const Run& run, const RecordLayout& layout, std::span<std::byte> buffer,
            std::span<const Run> replaces = {});
  /// Reads the lists of the blocks of `runs` from the temp files. `runs` must come from KeptRuns(), which returns the
  /// runs of an earlier process. Call this once, after Open() and before other functions. Throws Error(kIntegrity) if
  /// the blocks on the disk do not match.
  void FindBlocks(std::vector<Run>& runs, const RecordLayout& layout);
  void Drop(std::vector<Run>& runs);

  /// Returns how many bytes of memory the compression of temp files has allocated.
  std::uint64_t taken_bytes() const;
  std::uint64_t bytes_in_use() const { return spill_ ? spill_->bytes_in_use() : 0; }
  std::uint64_t peak_bytes() const { return spill_ ? spill_->peak_bytes() : 0; }
  std::uint64_t written_bytes() const { return spill_ ? spill_->written_bytes() : 0; }
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
  std::unique_ptr<TempCodec> codec_;
  std::mutex mutex_;
  /// For each sorted run that is kept for a later process, by run id: the places in temp files of the list of its
  /// blocks.
  std::map<std::uint64_t, std::vector<SpillExtent>> indexes_;
};

/// Returns the sorted runs that a manifest (the log file of a resumable job) lists, in the order of the input. The
/// lists of their blocks are empty; RunStore::FindBlocks() fills them.
std::vector<Run> KeptRuns(const Manifest& manifest);

}  // namespace gpusort
