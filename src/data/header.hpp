// Reads the headers of inputs, such as the names of CSV columns. All headers must be equal. Start at InputHeader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/input_kind.hpp"
#include "formats/record_format.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// Returns true if the inputs of the job may have headers.
inline bool MayHaveHeader(const JobSpec& spec) { return spec.source.header > 0 || spec.source.table; }
/// Returns the memory to reserve for headers in a job with a memory limit of `limit` bytes, or 0 if `header` is false.
std::uint64_t HeaderMemory(bool header, std::uint64_t limit);

class InputHeader {
 public:
  /// `memory_limit` is the limit on all memory of the job in bytes. `format` and `kinds` must outlive this object.
  InputHeader(const RecordFormat& format, unsigned char delimiter, std::uint64_t memory_limit, const KindCheck& kinds)
      : format_(format), delimiter_(delimiter), memory_limit_(memory_limit), kinds_(kinds) {}

  /// Returns the header of the first input that has a header, with a newline at its end.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// An input whose header is read.
  struct Source {
    const std::string& path;
    const std::string& expanded_path;  ///< the path without the extension of a codec
    bool once;                         ///< the input is a stream, whose header gets a smaller share of the memory
    std::function<std::uint64_t(std::span<std::byte>)> read;  ///< reads the next bytes; returns how many, 0 at the end
  };
  struct Taken {
    std::uint64_t bytes = 0;      ///< size of the header, with the newline that is added if the header lacks one
    std::vector<std::byte> rest;  ///< bytes that were read after the header
  };
  /// Reads the header of an input. Throws Error(kBadInput) if the header is too long or differs from earlier headers,
  /// or if the input seems to have another format.
  Taken Take(const Source& source);

 private:
  [[noreturn]] void FailTooLong(const Source& source, std::span<const std::byte> front, std::uint64_t bytes, bool whole,
                                std::uint64_t most) const;
  void Compare(const Source& source, std::vector<std::byte> header);

  const RecordFormat& format_;
  const unsigned char delimiter_;
  const std::uint64_t memory_limit_;
  const KindCheck& kinds_;
  std::vector<std::byte> bytes_;
  std::string from_;  ///< the path of the input whose header is bytes_
  bool known_ = false;
};

}  // namespace gpusort
