#include "job/order.hpp"

#include <utility>

#include "formats/locale_keys.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

Ordered::Ordered(const JobSpec& spec, bool gpu) : plain(spec.order.layout), groups(plain) {
  if (spec.source.table) {
    keyed = MakeTableFormat(spec);
    table = true;
    groups = keyed->layout();
    return;
  }
  if (plain.fixed()) return;
  if (spec.target.split > 0) FindGroups(spec);
  if (spec.order.locale) keys = MakeLocaleKeys(spec.order.lines->order);
  if (!keys) keys = MakeKeys(*plain.lines, gpu);
  if (!keys) return;
  auto lines = std::make_unique<KeyedOrder>(*keys, plain.delimiter);
  optional = !spec.order.locale && !NeedsHost(*plain.lines);
  if (!optional) plain.lines = &lines->plain();
  keyed = std::move(lines);
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

}  // namespace gpusort
