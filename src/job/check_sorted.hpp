// --check, and -c of sort. Start at CheckSorted.
#pragma once

#include <optional>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Throws Error(kNotSorted) that names the first record out of order. With -u, an equal key is out of order.
void CheckSorted(const JobSpec& spec, CancelFlag& cancel);

/// Returns the first line of the only input that is out of order, if there is one. Reads no further, and takes memory
/// for two lines.
std::optional<OrderCheck::Disorder> CheckAsRead(const JobSpec& spec, const CancelFlag& cancel);

/// Returns whether inputs without a record have a header, so that the user may have meant its lines as records.
bool IsAllHeader(const JobSpec& spec, const Inputs& inputs);
inline constexpr const char* kAllHeader =
    "all of the input is header: there was no record to sort (--no-header, or a smaller --header, makes records of it)";

}  // namespace gpusort
