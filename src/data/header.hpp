// Reads the headers of inputs, such as the line with the names of CSV columns. All inputs of a job must have the same
// header. Start at InputHeader.
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

/// Returns true if the inputs of the job may begin with a header, such as a line with column names.
inline bool MayHaveHeader(const JobSpec& spec) {
  return spec.source.header > 0 || !spec.source.header_prefixes.empty() || spec.source.table;
}
/// Returns how many bytes of memory to reserve for headers, such as column names, in a job with a memory limit of
/// `limit` bytes. `header` tells whether the inputs may have headers. Returns 0 if it is false.
std::uint64_t HeaderMemory(bool header, std::uint64_t limit);

class InputHeader {
 public:
  /// Makes an object that has read no header yet. `memory_limit` is the memory limit of the whole job in bytes; a
  /// header may take a fixed fraction of this limit. `kinds` refuses inputs of a wrong format. `format` and `kinds`
  /// must outlive this object.
  InputHeader(const RecordFormat& format, unsigned char delimiter, std::uint64_t memory_limit, const KindCheck& kinds)
      : format_(format), delimiter_(delimiter), memory_limit_(memory_limit), kinds_(kinds) {}

  /// Returns a copy that logs no warnings.
  InputHeader Quiet() const {
    InputHeader copy = *this;
    copy.quiet_ = true;
    return copy;
  }

  /// Returns the header of the first input that has a header, including the newline at its end. Returns an empty span
  /// if no input has a header.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// An input from which Take() reads the header.
  struct Source {
    const std::string& path;
    const std::string& expanded_path;  ///< the path without an extension such as .gz
    /// True: the input is a stream, which can be read only once. The size limit for its header is then lower.
    bool once;
    bool of_set;  ///< true: the input is a file of --minus or --intersect, whose header the output does not get
    /// Reads the next bytes into the span. Returns the number of bytes, or 0 at the end of the input.
    std::function<std::uint64_t(std::span<std::byte>)> read;
  };
  struct Taken {
    /// The size of the header in bytes, including the newline that Take() adds if the header does not end with one.
    std::uint64_t bytes = 0;
    std::vector<std::byte> rest;  ///< bytes that were read after the header
  };
  /// Reads the header at the beginning of an input. Throws Error(kBadInput) in these cases:
  /// - The header is too long.
  /// - The header differs from the header of an earlier input.
  /// - The input seems to have another format than the job expects.
  Taken Take(const Source& source);

 private:
  [[noreturn]] void FailTooLong(const Source& source, std::span<const std::byte> front, std::uint64_t bytes, bool whole,
                                std::uint64_t most) const;
  void Compare(const Source& source, std::vector<std::byte> header);
  void TellLeftOut(const std::string& path, RecordSpan header, const std::string& from, RecordSpan kept) const;

  const RecordFormat& format_;
  const unsigned char delimiter_;
  const std::uint64_t memory_limit_;
  const KindCheck& kinds_;
  std::vector<std::byte> bytes_;
  std::string from_;  ///< the path of the input from which bytes_ was read, for messages
  bool known_ = false;
  bool of_set_ = false;  ///< true: bytes_ is the header of an input with Source::of_set
  bool quiet_ = false;
  bool others_ = false;  ///< true: Take() has read an input without Source::of_set
};

}  // namespace gpusort
