#include "spec/typed_keys.hpp"

namespace gpusort {

std::string KeyOptions::letters() const {
  std::string all;
  if (skip_start_blanks || skip_end_blanks) all += 'b';
  if (dictionary_order) all += 'd';
  if (fold_case) all += 'f';
  if (general) all += 'g';
  if (human) all += 'h';
  if (ignore_nonprinting && !dictionary_order) all += 'i';
  if (month) all += 'M';
  if (numeric) all += 'n';
  if (random) all += 'R';
  if (reverse) all += 'r';
  if (version) all += 'V';
  return all;
}

}  // namespace gpusort
