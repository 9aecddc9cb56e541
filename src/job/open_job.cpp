#include "job/open_job.hpp"

#include <utility>

#include "formats/checked_runs.hpp"
#include "formats/locale_keys.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

Ordered::Ordered(const JobSpec& spec, bool gpu) : plain(spec.order.layout), groups(plain) {
  if (spec.source.table && spec.source.keyed) {
    auto runs = std::make_unique<CheckedRunFormat>(spec.source.table->placed, spec.source.table->keys.size());
    keyed = runs.get();
    format_ = std::move(runs);
    table = copies = true;
    groups = keyed->layout();
    return;
  }
  if (spec.source.table) {
    std::unique_ptr<TableFormat> columns = MakeTableFormat(spec);
    keyed = columns.get();
    format_ = std::move(columns);
    table = true;
    groups = keyed->layout();
    return;
  }
  if (spec.source.keyed) {
    format_ = std::make_unique<KeyedRunFormat>(plain);
    return;
  }
  format_ = std::make_unique<PlainFormat>(plain, spec.source.header, spec.source.header_prefixes);
  if (plain.fixed()) return;
  if (spec.target.split > 0) FindGroups(spec);
  if (spec.order.locale) maker = MakeLocaleKeys(spec.order.lines->order);
  // With a GPU, there are no keys for lines that can be compared without them.
  if (!maker) maker = MakeKeys(*plain.lines, gpu);
  if (!maker) return;
  lines_ = std::make_unique<KeyedOrder>(*maker, plain.delimiter);
  optional = !spec.order.locale && !NeedsHost(*plain.lines);
  if (!optional) plain.lines = &lines_->plain();
  keyed = lines_.get();
}

void Ordered::FindGroups(const JobSpec& spec) {
  LineOrder order = spec.order.lines->order;
  order.last_resort = false;
  group_order_ = std::make_unique<LineOrdered>(std::move(order));
  groups.lines = &group_order_->view;
  if (spec.order.locale) group_keys_ = MakeLocaleKeys(group_order_->order);
  if (!group_keys_) return;
  group_lines_ = std::make_unique<KeyedOrder>(*group_keys_, plain.delimiter);
  groups.lines = &group_lines_->plain();
}

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
  job.explains_all = false;
  job.source = std::move(source);
  job.target = std::move(target);
  job.survival = {};
  return job;
}

}  // namespace gpusort
