// Implements --check of gpusort and -c of sort: checks that the inputs are sorted. Start at CheckSorted.
#pragma once

#include <optional>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kNotSorted), which names the first record out of order, unless the inputs are sorted. With -u, equal
/// keys are out of order.
void CheckSorted(const JobSpec& spec, CancelFlag& cancel);

/// Checks the only input while reading it. Returns the first line out of order, without reading on, or std::nullopt.
std::optional<OrderCheck::Disorder> CheckAsRead(const JobSpec& spec, const CancelFlag& cancel);

/// Returns true if the inputs contain a header but no record. The user may have meant the header's lines as records.
bool IsAllHeader(const JobSpec& spec, const Inputs& inputs);
inline constexpr const char* kAllHeader =
    "all of the input is header: there was no record to sort (--no-header, or a smaller --header, makes records of it)";

}  // namespace gpusort
