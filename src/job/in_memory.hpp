// The fast path for small inputs of lines. The inputs are read completely, sorted in memory on the CPU, and written.
// This avoids most threads and buffers of the main path, whose creation takes milliseconds. Start at InputFront.
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

/// The lines of all inputs, one input after the other. If the inputs are large, the object has only their first bytes.
class InputFront {
 public:
  /// Reads the inputs to their ends. Stops earlier if more than `limit` bytes were read and the function `stops`
  /// returns true. Adds a missing delimiter to the last line of an input. Throws the errors of PipeReader.
  InputFront(const std::vector<std::string>& inputs, char delimiter, std::uint64_t limit,
             const std::function<bool()>& stops, const CancelFlag& cancel);

  /// Returns true if all inputs were read to their ends.
  bool whole() const { return whole_; }
  std::span<const std::byte> lines() const { return {text_.data(), used_}; }
  /// Returns the streams among the inputs, such as pipes. Each stream comes with the bytes that were already read from
  /// it, because these bytes cannot be read again.
  StreamFronts TakeFronts();

 private:
  struct Begun {
    std::unique_ptr<PipeReader> stream;
    std::uint64_t begin = 0, bytes = 0;
    bool again = false;  ///< true: the input is a regular file, which can be read again
  };
  bool Read(const std::string& input, char delimiter, const std::function<bool()>& stops, const CancelFlag& cancel);

  std::uint64_t limit_;
  PageBuffer<std::byte> text_;
  std::uint64_t used_ = 0;
  std::vector<Begun> begun_;
  bool whole_ = true;
};

/// Sorts `lines` into `output`, as the options in `spec` say. Returns when the output has its final name.
SortResult SortInMemory(const JobSpec& spec, std::span<const std::byte> lines, Output output);

}  // namespace gpusort
