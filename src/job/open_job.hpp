// The beginning of every job: sorting, --check and the tasks open their inputs in the same way. Start at OpenJob.
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

/// A job whose memory is chosen and whose inputs are open.
struct OpenJob {
  /// Opens the inputs. Errors are those of Inputs. `gpu`, `overwritten` and `fronts` are the arguments of Ordered,
  /// InputOptions and Inputs. `spec`, `cancel` and `files` must outlive this object.
  OpenJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, bool gpu = true,
          std::optional<FileFacts> overwritten = {}, StreamFronts fronts = {});

  /// Returns whether -m can merge the inputs as they are. Otherwise they are sorted, with the same result.
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

/// Returns the cores that --threads allows, without it those of the process.
CoreFacts CoresFor(const Limits& limits);

/// Returns the job that sorts `source` into `target`, in the order and within the limits of `spec`. The job is a part
/// of the whole one, so it keeps nothing in --resume-dir.
JobSpec SubJob(const JobSpec& spec, Source source, Target target);

}  // namespace gpusort
