#include "job/open_job.hpp"

#include <utility>

namespace gpusort {

OpenJob::OpenJob(const JobSpec& job, CancelFlag& cancel_flag, FileSystem& file_system, bool gpu,
                 std::optional<FileFacts> overwritten, StreamFronts fronts)
    : spec(job),
      cancel(cancel_flag),
      files(file_system),
      machine(FindMemory()),
      memory_choice(ChooseMemory(spec.limits.memory, machine)),
      memory(memory_choice.bytes, spec.dialect.grows),
      ordered(spec, gpu),
      inputs(files, spec.source.inputs, MakeInputOptions(spec, memory, ordered.format(), std::move(overwritten)),
             ordered.plain, cancel, std::move(fronts)) {}

CoreFacts CoresFor(const Limits& limits) { return limits.threads != 0 ? CoreFacts{limits.threads} : FindCores(); }

JobSpec SubJob(const JobSpec& spec, Source source, Target target) {
  JobSpec job = spec;
  job.action = Action::kSort;
  job.probes = false;
  job.source = std::move(source);
  job.target = std::move(target);
  job.survival = {};
  return job;
}

}  // namespace gpusort
