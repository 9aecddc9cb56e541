// Collects the facts about a job (its options, inputs and sort keys) from which its plan is made. Start at FindFacts.
#pragma once

#include <cstdint>

#include "data/inputs.hpp"
#include "job/open_job.hpp"
#include "plan/facts.hpp"
#include "runs/journal.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns true if the inputs are merged without being sorted first (-m). Inputs that are streams (pipes, compressed
/// files) are always sorted.
bool MergesInputs(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs);
InputFacts FindInput(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs);
KeyCost KeyCostOf(const KeyScheme& keys);

/// Returns the facts about a job that may use `limit` bytes of memory. PlanFacts::machine keeps its default values: the
/// caller must set this member of the result. `journal`, the log of the finished work, lists the sorted runs that an
/// earlier process has made. It may be null.
PlanFacts FindFacts(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs, std::uint64_t limit,
                    const Journal* journal = nullptr);

/// Returns how much memory the job gives to rows that the decoder of its inputs keeps while only their keys are sorted
/// (RowStore). Returns 0 if the rows shall travel with their keys: they may need more than a quarter of `limit`, or the job
/// looks at whole rows. Call this after the format has read the header.
std::uint64_t KeptRowBytes(const JobSpec& spec, const Inputs& inputs, std::uint64_t limit);

/// Estimates the sizes of the sort keys from a sample of the first inputs.
/// - Sets facts.key_cost, the number of bytes that sort keys add to a record.
/// - Sets facts.records, and adds the size of all keys to facts.bytes and facts.sorted.
/// - Calls keys.Tune(), which chooses the maximum size of a key.
/// - If facts.known is false: sets only facts.key_cost, without a sample.
void MeasureKeys(InputFacts& facts, KeyScheme& keys, const Inputs& inputs, HostMemory& memory);

/// Estimates facts.records, the number of lines, from samples at several places of the inputs. Does nothing if
/// facts.known is false.
void MeasureLines(InputFacts& facts, const Inputs& inputs, HostMemory& memory);

}  // namespace gpusort
