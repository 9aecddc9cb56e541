// The options of one command line, as the setters of the option table leave them. Plain data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/option_table.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Options of records with columns. A byte is -1 if the option is "none".
struct TypedTable {
  std::optional<int> delimiter, quote, escape, comment, decimal_point, thousands;
  std::vector<std::string> nulls;
  bool no_header = false;
  bool strict = false;
};

/// Empty text: the option is not given.
struct Typed {
  /// The values of the options that are given, in the order of the table. A flag has "", or its word after "=".
  std::map<const OptionRow*, std::vector<std::string>> given;
  std::vector<std::string> names;

  JobSpec spec;  ///< holds every option whose meaning does not depend on other options
  std::string format, type, record_size;
  std::vector<std::string> keys;
  std::string separator;  ///< of --field-separator
  std::string header, batch_size;
  std::optional<Codec> compress;
  bool compress_given = false;
  bool temp_codec_given = false;
  bool temp_program_given = false;
  bool zero_terminated = false;
  bool force = false;
  bool checkpoint_given = false;
  TypedTable table;
};

}  // namespace gpusort
