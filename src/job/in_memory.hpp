// Small inputs of lines: they are read whole, sorted by one lane, and written, without the threads and buffers of the
// main path, which take milliseconds to make. Larger inputs go to the main path. Start at InputFront.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "data/output.hpp"
#include "data/page_buffer.hpp"
#include "io/stream.hpp"
#include "job/sort_result.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The lines of all inputs, one after the other, or the beginnings of the inputs if they are large.
class InputFront {
 public:
  /// Reads until the inputs end, or until there are more than `limit` bytes and stops() returns true. Adds the
  /// delimiter that a last line lacks. Errors are those of PipeReader.
  InputFront(const std::vector<std::string>& inputs, char delimiter, std::uint64_t limit,
             const std::function<bool()>& stops, const CancelFlag& cancel);

  /// Returns whether all inputs were read to their ends.
  bool whole() const { return whole_; }
  std::span<const std::byte> lines() const { return {text_.data(), used_}; }
  /// Returns the inputs that cannot be read again: the bytes that were read, and the streams with the rest.
  StreamFronts TakeFronts();

 private:
  struct Begun {
    std::unique_ptr<PipeReader> stream;
    std::uint64_t begin = 0, bytes = 0;
    bool again = false;  ///< a regular file, which can be read again
  };
  bool Read(const std::string& input, char delimiter, const std::function<bool()>& stops, const CancelFlag& cancel);

  std::uint64_t limit_;
  PageBuffer<std::byte> text_;
  std::uint64_t used_ = 0;
  std::vector<Begun> begun_;
  bool whole_ = true;
};

/// Sorts `lines` as `spec` says into `output`. Returns when the output is published.
SortResult SortInMemory(const JobSpec& spec, std::span<const std::byte> lines, Output output);

}  // namespace gpusort
