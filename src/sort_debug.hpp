// sort --debug: what is doubtful about the options, in GNU's words, and every line of the result with the part of it
// that each key compared underlined.
#pragma once

#include <string>
#include <vector>

#include "gnu_options.hpp"
#include "line_sorter.hpp"

namespace gpusort {

/// In the order in which they are said. `keys` as ResolveKeys gives them; `locale_set`: setlocale took the
/// environment's.
std::vector<std::string> DebugWarnings(const GnuOptions& options, const std::vector<KeyDef>& keys, bool locale_set);

class DebugWriter : public LineWriter {
 public:
  /// `order` must outlive this; without `whole_line` only keys are underlined.
  DebugWriter(std::unique_ptr<ByteSink> sink, const LineOrder& order, bool whole_line)
      : LineWriter(std::move(sink)), order_(order), whole_line_(whole_line) {}
  void Put(const Byte* line, std::uint64_t bytes) override;

 private:
  void Mark(const Byte* line, KeyRange range);

  const LineOrder& order_;
  const bool whole_line_;
};

}  // namespace gpusort
