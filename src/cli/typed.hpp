// The values of the options that the user typed. The functions in the table of options (OptionRow::set) store them
// here. Plain data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/option_table.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The options for records with columns, as the user typed them. An int is a byte, or -1 for the word "none".
struct TypedTable : TableWishes {
  std::optional<int> delimiter, quote, escape, comment, decimal_point, thousands;
  bool no_header = false;
};

/// All options of gpusort, as the user typed them. The text of an option that was not given is empty.
struct Typed {
  /// The values of each option that was given, in the order of the table of options. A flag has the value "", or the
  /// word after its "=".
  std::map<const OptionRow*, std::vector<std::string>> given;
  std::vector<std::string> names;

  JobSpec spec;  ///< the values of all options whose meaning does not depend on other options
  std::string format, type, record_size;
  std::vector<std::string> keys;
  std::vector<std::string> sums;  ///< the columns of --sum
  std::string separator;          ///< the value of --field-separator
  std::string header, batch_size;
  std::optional<Codec> compress;
  bool compress_given = false;
  std::string compress_text;  ///< the operand of --compress, which may also name a codec inside a Parquet file
  bool temp_codec_given = false;
  bool temp_program_given = false;
  bool zero_terminated = false;
  bool force = false;
  bool checkpoint_given = false;
  bool shuffle = false;
  std::optional<std::uint64_t> seed;
  bool only_single = false, only_repeated = false;
  std::vector<std::string> minus, intersect, unions;  ///< the files of --minus, --intersect and --union

  /// Returns true if the records must carry their places in the input, because the output depends on these places.
  bool placed() const { return spec.order.keeps_input_order || !minus.empty() || !intersect.empty(); }
  /// Returns the name of the option because of which placed() is true.
  std::string WhyPlaced() const {
    return !minus.empty() ? "--minus" : !intersect.empty() ? "--intersect" : "--keep-order";
  }
  TypedTable table;
};

}  // namespace gpusort
