// Makes the warnings that `sort --debug` prints about options that probably do not do what the user wants. The texts
// are those of GNU sort.
#pragma once

#include <string>
#include <vector>

#include "spec/typed_keys.hpp"

namespace gpusort {

/// The options of `sort` that decide the order of lines, as the user typed them.
struct TypedOrder {
  const std::vector<KeyDef>& keys;
  const KeyOptions& ordering;
  int separator = -1;
  bool stable = false;
  bool unique = false;
};

/// Returns the warnings that `sort --debug` prints, in the order in which GNU sort prints them. `locale_set` is true if
/// setlocale() accepted the environment's locale.
std::vector<std::string> DebugWarnings(const TypedOrder& options, bool locale_set);

}  // namespace gpusort
