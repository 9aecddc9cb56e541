// The header that all inputs of a job share, such as the names of the columns of CSV files. Start at InputHeader.
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

/// Returns true if the inputs may have a header.
inline bool MayHaveHeader(const JobSpec& spec) { return spec.source.header > 0 || spec.source.table; }
/// Returns the memory to set aside for headers, of `limit` bytes for everything. `header`: the inputs may have one.
std::uint64_t HeaderMemory(bool header, std::uint64_t limit);

class InputHeader {
 public:
  /// `memory_limit` is the limit on all memory. `format` and `kinds` must outlive this object.
  InputHeader(const RecordFormat& format, unsigned char delimiter, std::uint64_t memory_limit, const KindCheck& kinds)
      : format_(format), delimiter_(delimiter), memory_limit_(memory_limit), kinds_(kinds) {}

  /// The header of the first input that has one, with a newline at its end.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// An input whose header is to be read.
  struct Source {
    const std::string& path;
    const std::string& expanded_path;  ///< the path without the extension of a codec
    bool once;                         ///< true: a stream, whose header gets a smaller share of the memory
    std::function<std::uint64_t(std::span<std::byte>)> read;  ///< fills the front of a span; returns 0 only at the end
  };
  struct Taken {
    std::uint64_t bytes = 0;      ///< the size of the header; one more than the input has if it lacks its newline
    std::vector<std::byte> rest;  ///< the bytes that were read after the header
  };
  /// Reads the header of one input. Error(kBadInput) if it differs from the headers before or is too long, or if the
  /// input is of another kind than the job reads.
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
  std::string from_;  ///< the path of the input that bytes_ is from
  bool known_ = false;
};

}  // namespace gpusort
