// A job that goes on where another process was stopped (--resume-dir): what it must find as it was, and what it takes
// over. The journal has the files (runs/journal.hpp). Start at OpenJournal.
#pragma once

#include <memory>
#include <vector>

#include "data/inputs.hpp"
#include "runs/journal.hpp"
#include "runs/run.hpp"
#include "spec/job_spec.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// What decides the bytes of the output: program, options, output, and the inputs, of which some places are read.
Fingerprint MakeFingerprint(const JobSpec& spec, FileSystem& files, const Inputs& inputs);

/// Null if the options ask for none. Error(kUsage) if such a job cannot go on, or the one in the folder is another.
std::unique_ptr<Journal> OpenJournal(const JobSpec& spec, FileSystem& files, const Inputs& inputs);

/// Before the output is opened: if a process before has put it in place, and was killed before it could say so, ends
/// that job and returns what the output has. Nothing if there is anything else to do, or to find wrong.
std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files);

/// The name of what is written of the output, in its folder.
std::string PartialName(const JobSpec& spec);

/// The runs to go on with, without their blocks. Of keyed records, which do not know their places in the input, none
/// before all are formed. Error(kIntegrity) if they are none of these inputs.
std::vector<Run> RunsToGoOnWith(const Journal& journal, const Inputs& inputs);

/// Returns the inputs whose inode was changed since the last attempt opened them. Somebody changed their rights, owner
/// or names, or wrote to them and set the mtime back.
std::vector<std::uint32_t> InputsWithOtherCtime(const Journal& journal, const Inputs& inputs);

/// Reads the run's places in the input again, and returns whether its records are still there. For records without
/// keys. `longest`: the bytes of the longest record.
bool HasRecordsOf(const Run& run, const Inputs& inputs, const RecordLayout& layout, std::uint64_t longest,
                  HostMemory& memory, const CancelFlag& cancel, Progress& progress);

}  // namespace gpusort
