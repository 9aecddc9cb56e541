// Recognises the format of an input by its first bytes and its name. A job refuses an input that has another format
// than the job expects, for example an archive instead of lines, or an SQL dump instead of CSV. Start at KindCheck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/codec/codec.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class KindCheck {
 public:
  /// The number of bytes at the beginning of an input that the caller should pass to Look().
  static constexpr std::uint64_t kFrontBytes = std::uint64_t{1} << 14;

  /// Makes an object that refuses no input.
  KindCheck() = default;
  /// Makes an object that refuses inputs which the job `spec` would misread. The object refuses nothing in two cases:
  /// the user gave --force-format, or an option says that the inputs are lines or binary records.
  explicit KindCheck(const JobSpec& spec);

  bool active() const { return reads_ != 0; }
  /// Throws Error(kBadInput) if an input seems to have a format that the job does not expect. `name` is the path of the
  /// input, and `expanded` is the path without an extension such as .gz. `front` has the first bytes after
  /// decompression. `all` is true if the input has no further bytes.
  void Look(const std::string& name, const std::string& expanded, std::span<const std::byte> front, bool all) const;
  /// Throws Error(kBadInput) if `header` has more than `lines` lines. Call this if the header is the whole input: a
  /// missing closing quote may have made all records a part of the header.
  void LookAtHeader(const std::string& name, std::span<const std::byte> header, std::uint64_t lines) const;
  /// Throws Error(kBadInput) if an input that was to be read as the file of columns `columns` seems to be another kind
  /// of file. Call this if the input could not be read. `front` and `all` are those of Look().
  static void LookAtColumns(const std::string& name, const ColumnFile& columns, std::span<const std::byte> front,
                            bool all);

 private:
  unsigned reads_ = 0;  ///< the format that the job reads, as a value of enum Reads; 0: nothing is checked
  std::string as_;      ///< the name of the format that the job reads, for messages
  bool raw_ = false;    ///< true: an option says that the inputs are not compressed
};

}  // namespace gpusort
