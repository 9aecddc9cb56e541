#include "runs/merge_runs.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "plan/merge_levels.hpp"
#include "runs/window_merge.hpp"

namespace gpusort {
namespace {

/// Returns the number of runs that are merged at once. A run with a line that is longer than a block needs larger
/// buffers.
std::uint64_t FanIn(const Job& job, const std::vector<Run>& runs) {
  // A line that is longer than planned is merged in separate memory.
  if (job.layout.fixed() || job.plan.ring.grows) return job.plan.fan_in;
  std::uint64_t buffer = 0;
  for (const Run& run : runs) buffer = std::max(buffer, RunBufferBytes(run, job.plan));
  return job.plan.FanIn(buffer);
}

/// Merges the neighbours `sources` into one run in the spill.
Run MergeNeighbours(Job& job, std::span<Run> sources, RunOrder order) {
  Run merged;
  merged.id = job.next_run_id++;
  merged.blocks = RunBlocks(job.layout);
  std::size_t blocks = 0;
  for (const Run& run : sources) blocks += run.blocks.size();
  merged.blocks.reserve(blocks);
  // The sources are read again if a GPU is lost, and by a job that goes on after a kill.
  const SpillSpace space = job.plan.gpu || job.store->keeps() ? SpillSpace::kKept : SpillSpace::kFreedAsRead;
  try {
    WindowMerge(job, sources, order, space, [&](Pipeline& pipeline, std::uint64_t) {
      return MakeSpillSink(job, pipeline, merged);
    }).Run();
  } catch (...) {
    job.store->Free(merged);
    throw;
  }
  for (const Run& run : sources) {
    merged.sum += run.sum;
    merged.level = std::max(merged.level, run.level + 1);
    merged.origin.insert(merged.origin.end(), run.origin.begin(), run.origin.end());
    merged.stored += run.stored;
  }
  if (job.store->keeps()) {
    const HostBuffer buffer(job.memory, job.plan.block_bytes);
    job.store->Keep(merged, job.layout, {buffer.data(), buffer.size()}, sources);
  }
  if (space == SpillSpace::kKept) {
    for (Run& run : sources) job.store->Free(run);
  }
  return merged;
}

/// Merges all runs into the output. With a journal, goes on where an earlier process was, and makes checkpoints.
std::uint64_t MergeIntoOutput(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order) {
  std::uint64_t written = 0;
  std::optional<KeptOutputSoFar> kept;
  if (job.checkpoints != nullptr) {
    kept.emplace(KeptOutputSoFar{output, proof, std::vector<std::uint64_t>(runs.size())});
    if (const std::optional<KeptMerge>& merge = job.checkpoints->manifest().merge) {
      written = merge->output_bytes;
      proof.GoOnFrom(merge->front);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        kept->taken[i] = merge->taken.at(runs[i].id);
        job.progress.Skip(kept->taken[i]);
      }
      LogInfo("the output goes on at " + FormatBytes(written));
    }
  }
  const auto make_sink = [&](Pipeline& pipeline, std::uint64_t bytes) {
    return MakeOutputSink(job, pipeline, output, proof, bytes, written);
  };
  return WindowMerge(job, runs, order, SpillSpace::kKept, make_sink, kept ? &*kept : nullptr).Run();
}

std::vector<std::uint64_t> SizesOf(const std::vector<Run>& runs) {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(runs.size());
  for (const Run& run : runs) sizes.push_back(run.records ? kResident : run.bytes);
  return sizes;
}

}  // namespace

std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, Output& output, OutputProof& proof, RunOrder order) {
  std::uint64_t total =
      LookAhead(SizesOf(runs), std::vector<std::uint64_t>(runs.size()), FanIn(job, runs), true, [](std::uint64_t) {
        return 0;
      }).bytes;
  for (const Run& run : runs) total += run.bytes;
  job.progress.SetPhase("merge runs", total);
  while (const std::optional<MergeGroup> group = NextMerge(SizesOf(runs), FanIn(job, runs))) {
    const auto first = runs.begin() + static_cast<std::ptrdiff_t>(group->first);
    const auto end = first + static_cast<std::ptrdiff_t>(group->count);
    *first = MergeNeighbours(job, {first, end}, order);
    runs.erase(first + 1, end);
  }
  const std::uint64_t bytes = MergeIntoOutput(job, runs, output, proof, order);
  if (output.parts() != nullptr || output.trailer().empty()) return bytes;
  output.Write(bytes, output.trailer());
  return bytes + output.trailer().size();
}

}  // namespace gpusort
