#include "job/check_sorted.hpp"

#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "formats/registry.hpp"
#include "job/find_facts.hpp"
#include "job/open_job.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "plan/make_plan.hpp"
#include "runs/batch_feeder.hpp"
#include "runs/key_stage.hpp"

namespace gpusort {
namespace {

void CheckOrder(const JobSpec& spec, CancelFlag& cancel) {
  FileSystem files;
  OpenJob job(spec, cancel, files);
  if (!job.memory_choice.warning.empty()) LogWarn(job.memory_choice.warning);
  HostMemory& memory = job.memory;
  const Ordered& ordered = job.ordered;
  Inputs& inputs = job.inputs;
  const RecordLayout layout = ordered.comparable();
  ordered.ReadHeader(inputs.header());
  StageClock clock("check");
  clock.LogPhases();
  Progress progress(spec.reports.progress, clock);
  progress.SetPhase("check", inputs.stored_bytes());
  PlanFacts facts;
  facts.asked.limit = memory.limit();
  facts.asked.max_record = spec.source.max_record;
  facts.asked.header = MayHaveHeader(spec);
  facts.asked.checks = true;
  facts.input = FindInput(spec, ordered, inputs);
  facts.input.sorted.clear();
  facts.input.keys = ordered.table ? KeysWhen::kAlways : KeysWhen::kNever;
  if (ordered.table) facts.input.key_cost = KeyCostOf(*ordered.keyed);
  facts.machine.threads = 4;
  facts.machine.cores = CoresFor(spec.limits).cores;
  const MemoryShares shares = ShareMemory(facts);
  const Ring ring = MakeRing(facts, shares);
  memory.Reserve(shares.beside - shares.keys.bytes() - memory.used());
  // The feeder checks the order of records with columns, because it knows their places in the input.
  const NeededOrder rows = spec.order.unique ? NeededOrder::kCheckUnique : NeededOrder::kCheck;
  BatchFeeder feeder(cancel, memory, inputs, ring, inputs.Ranges(), ordered.plain, clock, ordered.column_keys(),
                     shares.keys, ordered.table ? rows : NeededOrder::kNone);
  Pipeline waiter(cancel);
  OrderCheck order(layout, spec.order.unique);
  bool any = false;
  try {
    while (const std::unique_ptr<BatchFeeder::Batch> batch =
               feeder.Next(waiter, ring.piece_bytes, ring.piece_bytes, false, &progress)) {
      while (const std::unique_ptr<InputBlock> block = batch->Next()) {
        any = true;
        if (ordered.table) continue;
        if (std::optional<OrderCheck::Disorder> disorder = order.Add(block->bytes())) {
          disorder->offset += inputs.begin(0);
          if (!inputs.header().empty()) disorder->record += CountRecords(inputs.header(), layout);
          inputs.VerifyUnchanged();
          throw Error(ErrorCode::kNotSorted,
                      NotSorted(spec.source.inputs.front(), PlaceOf(*disorder, layout), spec.order.unique));
        }
      }
    }
  } catch (const Error& error) {
    inputs.BlameChange(error);
    if (error.code() == ErrorCode::kCancelled) feeder.RethrowIfFailed();
    throw;
  }
  inputs.VerifyUnchanged();
  if (!any && !spec.reports.quiet && IsAllHeader(spec, inputs)) LogWarn(kAllHeader);
  if (!ordered.table) return;
  const KeyTally& tally = feeder.keys()->tally();
  if (!spec.source.force_format) RefuseNoValues(spec, tally);
  for (const std::string& line : DescribeTally(spec, tally)) LogWarn(line);
}

}  // namespace

void CheckSorted(const JobSpec& spec, CancelFlag& cancel) {
  try {
    CheckOrder(spec, cancel);
  } catch (const Error& error) {
    if (!spec.reports.quiet) WarnOfTimes(spec, error);
    throw;
  }
}

void WarnOfTimes(const JobSpec& spec, const Error& error) {
  const auto* const disorder = dynamic_cast<const NotInOrder*>(&error);
  // A range of a file is a part of a run, which is in order unless it is damaged.
  if (disorder == nullptr || !spec.source.table || !spec.source.ranges.empty()) return;
  for (const std::string& line : DescribeAssumedTimes(spec, disorder->tally())) LogWarn(line);
}

bool IsAllHeader(const JobSpec& spec, const Inputs& inputs) {
  const bool has = spec.source.table
                       ? RowOf(*spec.source.table).names != ColumnNames::kNumbers && spec.source.table->header > 0
                       : spec.source.header > 0;
  // The header of other files than text has no lines that the user could take for records.
  return has && inputs.format().newlines() && spec.source.ranges.empty() && !inputs.header().empty();
}

std::optional<OrderCheck::Disorder> CheckAsRead(const JobSpec& spec, const CancelFlag& cancel) {
  const Ordered ordered(spec, true);
  OrderCheck order(ordered.plain, spec.order.unique);
  PipeReader input(spec.source.inputs[0], cancel);
  std::vector<std::byte> buffer(std::size_t{256} << 10);
  const auto delimiter = static_cast<std::byte>(spec.order.layout.delimiter);
  std::byte last = delimiter;
  while (const std::uint64_t got = input.ReadSome(buffer)) {
    last = buffer[got - 1];
    if (auto disorder = order.Add({buffer.data(), got})) return disorder;
  }
  return last == delimiter ? std::nullopt : order.Add({&delimiter, 1});
}

}  // namespace gpusort
