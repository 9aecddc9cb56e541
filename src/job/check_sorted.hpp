// Checks whether the inputs are sorted, for the options --check of gpusort and -c of sort. Start at CheckSorted.
#pragma once

#include <optional>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "io/stream.hpp"
#include "kernels/error.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kNotSorted) if the inputs are not sorted. The message names the first record that is out of order. With
/// -u, a record that has the same key as the record before it is out of order, too.
void CheckSorted(const JobSpec& spec, CancelFlag& cancel);

/// If `error` says that an input of the job `spec` is not sorted: logs what was assumed about times, because another
/// assumption can give another order.
void WarnOfTimes(const JobSpec& spec, const Error& error);

/// Checks whether the only input of a job is sorted, while the input is read. Returns the first line that is out of
/// order, without reading further, or std::nullopt if the input is sorted.
std::optional<OrderCheck::Disorder> CheckAsRead(const JobSpec& spec, const CancelFlag& cancel);

/// Returns true if the inputs consist of only a header. Call this if no record was found.
bool IsAllHeader(const JobSpec& spec, const Inputs& inputs);
/// The warning for inputs that have a header but no records.
inline constexpr const char* kAllHeader =
    "all of the input is header: there was no record to sort (--no-header, or a smaller --header, makes records of it)";

}  // namespace gpusort
