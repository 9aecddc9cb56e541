#include "job/order.hpp"

#include "formats/locale_keys.hpp"

namespace gpusort {

Ordered::Ordered(const Options& options) : plain(options.layout) {
  if (plain.fixed()) return;
  if (options.locale) keys = MakeLocaleKeys(options.lines->order);
  if (!keys) keys = MakeKeys(*plain.lines);
  if (!keys) return;
  keyed = std::make_unique<KeyedOrder>(*keys);
  plain.lines = &keyed->plain();
}

}  // namespace gpusort
