// The fingerprint of a job for --resume-dir: the program, the options that decide the output, and the inputs. A killed
// job can continue only if its fingerprint is unchanged. Start at MakeFingerprint.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "data/inputs.hpp"
#include "io/file.hpp"
#include "runs/journal.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns the facts that decide the bytes of the output. Reads some places of every input.
Fingerprint MakeFingerprint(const JobSpec& spec, FileSystem& files, const Inputs& inputs);

/// Finishes a job that an earlier process has published before it was killed. Returns the facts of the output, or
/// std::nullopt if the job is not in this state. Call this before the output is opened.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// Returns the file name that the output has in its folder until it is published.
std::string PartialName(const JobSpec& spec);

/// Returns true if the ctime of input number `input` is the same as in the last attempt.
bool HasSameCtime(const Manifest& manifest, std::size_t input, const FileFacts& now);

}  // namespace gpusort
