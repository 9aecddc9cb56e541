// A plain external sorter of text lines for little memory and a quick start: lines are read into one buffer, sorted
// by their entries, spilled as runs where they do not fit, and merged a few runs at a time. No thread starts where it
// does not pay, and no file stays open that is not read. Errors are Error in GNU sort's words, without the program's
// name. Start at SortLines; MergeLines and FindDisorder are the same for inputs that are in order, or should be.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "byte_streams.hpp"
#include "keyed_lines.hpp"
#include "lines/line_order.hpp"
#include "temp_runs.hpp"

namespace gpusort {

struct LineSortSettings {
  LineOrderView order;                ///< of lines, or of the keyed lines that `keyed` makes of them
  const KeyedOrder* keyed = nullptr;  ///< null: lines are compared as they lie
  char delimiter = '\n';
  bool unique = false;             ///< of lines that compare equal only the first stays; wants no last resort
  std::uint64_t memory_bytes = 0;  ///< for lines and their entries; a longer line is taken all the same
  unsigned threads = 1;
  unsigned fan_in = 16;      ///< inputs merged at once, at least 2
  unsigned run_fan_in = 16;  ///< the same for runs without a compress program
};

/// One input by its place on the command line.
using OpenInput = std::function<std::unique_ptr<ByteSource>(std::size_t index)>;  ///< null: too many open files

/// Takes whole lines, each with its delimiter, and hands them on in large pieces.
class LineWriter {
 public:
  explicit LineWriter(std::unique_ptr<ByteSink> sink);
  virtual ~LineWriter() = default;
  virtual void Put(const Byte* line, std::uint64_t bytes);
  void Close();

 protected:
  void Append(const Byte* data, std::uint64_t bytes);

 private:
  void Flush();

  std::unique_ptr<ByteSink> sink_;
  std::vector<Byte> buffer_;
};

/// Opens the output: called once, when nothing but writing is left to do.
using OpenOutput = std::function<std::unique_ptr<LineWriter>()>;

void SortLines(const LineSortSettings& settings, std::size_t input_count, const OpenInput& open_input, TempRuns& temp,
               const OpenOutput& open_output);

/// An input to merge: from the command line, or a run.
struct MergeInput {
  std::size_t index = 0;
  std::optional<TempRun> run;
};

/// Merges inputs that are in order. Runs are removed when they are used up.
void MergeLines(const LineSortSettings& settings, std::vector<MergeInput> inputs, const OpenInput& open_input,
                TempRuns& temp, const OpenOutput& open_output);

struct Disorder {
  std::uint64_t line_number;  ///< from 1
  std::string line;           ///< without its delimiter
};
/// The first line that must not follow the one before it; with `unique` equal lines must not, either.
std::optional<Disorder> FindDisorder(const LineSortSettings& settings, std::unique_ptr<ByteSource> input);

}  // namespace gpusort
