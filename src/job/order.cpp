#include "job/order.hpp"

#include <utility>

#include "formats/locale_keys.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

Ordered::Ordered(const JobSpec& spec, bool gpu) : plain(spec.order.layout), groups(plain) {
  if (spec.source.table) {
    std::unique_ptr<TableFormat> columns = MakeTableFormat(spec);
    keyed = columns.get();
    format_ = std::move(columns);
    table = true;
    groups = keyed->layout();
    return;
  }
  format_ = std::make_unique<PlainFormat>(plain, spec.source.header);
  if (plain.fixed()) return;
  if (spec.target.split > 0) FindGroups(spec);
  if (spec.order.locale) maker = MakeLocaleKeys(spec.order.lines->order);
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

}  // namespace gpusort
