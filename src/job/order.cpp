#include "job/order.hpp"

#include <utility>

#include "formats/locale_keys.hpp"
#include "formats/table_format.hpp"

namespace gpusort {

Ordered::Ordered(const Options& options) : plain(options.layout) {
  if (options.table) {
    keyed = MakeTableFormat(options);
    table = true;
    return;
  }
  if (plain.fixed()) return;
  if (options.locale) keys = MakeLocaleKeys(options.lines->order);
  if (!keys) keys = MakeKeys(*plain.lines);
  if (!keys) return;
  auto lines = std::make_unique<KeyedOrder>(*keys, plain.delimiter);
  plain.lines = &lines->plain();
  keyed = std::move(lines);
}

}  // namespace gpusort
