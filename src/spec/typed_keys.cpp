#include "spec/typed_keys.hpp"

#include <utility>

namespace gpusort {

std::string KeyOptions::letters() const {
  const std::pair<bool, char> letters[] = {
      {skip_start_blanks || skip_end_blanks, 'b'}, {dictionary_order, 'd'}, {fold_case, 'f'}, {general, 'g'},
      {human, 'h'}, {ignore_nonprinting && !dictionary_order, 'i'}, {month, 'M'}, {numeric, 'n'}, {random, 'R'},
      {reverse, 'r'}, {version, 'V'}};
  std::string all;
  for (const auto& [given, letter] : letters) {
    if (given) all += letter;
  }
  return all;
}

}  // namespace gpusort
