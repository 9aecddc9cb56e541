// The facts that must be unchanged for a job to continue where another process was stopped (--resume-dir): the program,
// the options that decide the output, and the inputs. Start at MakeFingerprint.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "data/inputs.hpp"
#include "io/file.hpp"
#include "runs/journal.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns everything that decides the bytes of the output. Reads some places of every input.
Fingerprint MakeFingerprint(const JobSpec& spec, FileSystem& files, const Inputs& inputs);

/// Finishes a job whose output an earlier process has put in place before it was killed. Returns the facts of that
/// output, or std::nullopt if there is anything else to do or to refuse. Call this before the output is opened.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// Returns the name that the output has, in its folder, until it is published.
std::string PartialName(const JobSpec& spec);

/// Returns whether the inode of input `input` is as the last attempt saw it.
bool HasSameCtime(const Manifest& manifest, std::size_t input, const FileFacts& now);

}  // namespace gpusort
