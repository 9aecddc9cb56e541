// Small inputs of lines: read whole, sorted by one lane, and written, without the threads and buffers of the main path,
// which take milliseconds to make. What turns out not to be small is handed on as it was read. Start at InputFront.
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

/// The lines of all inputs, one behind the other, as long as they are few.
class InputFront {
 public:
  /// Reads until the inputs end, or there are more than `limit` bytes and stops() is true then. The last line of each
  /// gets its delimiter. Errors as PipeReader's.
  InputFront(const std::vector<std::string>& inputs, char delimiter, std::uint64_t limit,
             const std::function<bool()>& stops, const CancelFlag& cancel);

  /// That is all.
  bool whole() const { return whole_; }
  std::span<const std::byte> lines() const { return {text_.data(), used_}; }
  /// Of those inputs that cannot be read again: what was read, and the rest.
  StreamFronts TakeFronts();

 private:
  struct Begun {
    std::unique_ptr<PipeReader> stream;
    std::uint64_t begin = 0, bytes = 0;
    bool again = false;  ///< it is a regular file
  };
  bool Read(const std::string& input, char delimiter, const std::function<bool()>& stops, const CancelFlag& cancel);

  std::uint64_t limit_;
  PageBuffer<std::byte> text_;
  std::uint64_t used_ = 0;
  std::vector<Begun> begun_;
  bool whole_ = true;
};

/// Sorts `lines` as `options` say and writes them to `output`. Returns when they are published.
SortResult SortInMemory(const JobSpec& spec, std::span<const std::byte> lines, Output output);

}  // namespace gpusort
