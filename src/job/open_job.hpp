// Opens the inputs of a job. Sorting, --check and the tasks begin in this way. Start at OpenJob.
#pragma once

#include <optional>

#include "base/machine.hpp"
#include "data/inputs.hpp"
#include "io/file.hpp"
#include "io/stream.hpp"
#include "job/order.hpp"
#include "kernels/backend.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// A job with its memory limit chosen and its inputs open.
struct OpenJob {
  /// Opens the inputs. Throws the errors of Inputs. `gpu` is an argument of Ordered, `overwritten` of InputOptions, and
  /// `fronts` of Inputs. `spec`, `cancel` and `files` must outlive this object.
  OpenJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, bool gpu = true,
          std::optional<FileFacts> overwritten = {}, StreamFronts fronts = {});

  /// Returns true if -m can merge the inputs as they are. Otherwise they are sorted, with the same result.
  bool inputs_are_runs() const { return spec.order.merge && inputs.rereadable() && !ordered.table; }

  const JobSpec& spec;
  CancelFlag& cancel;
  FileSystem& files;
  const MemoryFacts machine;
  const MemoryChoice memory_choice;
  HostMemory memory;
  const Ordered ordered;
  Inputs inputs;
};

/// Returns the number of cores that --threads allows, by default all cores of the process.
CoreFacts CoresFor(const Limits& limits);

/// Returns a job that sorts `source` into `target`, in the order and within the limits of `spec`. Because it is only a
/// part of a job, it stores nothing in --resume-dir.
JobSpec SubJob(const JobSpec& spec, Source source, Target target);

}  // namespace gpusort
