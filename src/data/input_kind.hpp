// Recognises what an input holds by its first bytes and its name. A job refuses an input that it would misread: an
// archive as lines, a dump of MySQL as CSV. Start at KindCheck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "spec/job_spec.hpp"

namespace gpusort {

class KindCheck {
 public:
  /// The first bytes of an input that Look should get. Fewer bytes are enough if the input has no more.
  static constexpr std::uint64_t kFrontBytes = std::uint64_t{1} << 14;

  /// Checks nothing.
  KindCheck() = default;
  /// Checks nothing if the user insists on the format, or names lines or binary records by an option: any bytes are
  /// lines and records.
  explicit KindCheck(const JobSpec& spec);

  bool active() const { return reads_ != 0; }
  /// Throws Error(kBadInput) if the input is recognised as something that the job does not read. `name` is the input's
  /// path, `expanded` its name without the extension of a codec, and `front` its first bytes after decompression.
  /// `all`: the input has no other bytes.
  void Look(const std::string& name, const std::string& expanded, std::span<const std::byte> front, bool all) const;
  /// Throws Error(kBadInput) if `header`, which is all of an input, has more than `lines` lines: a quote that opens in
  /// its first line has taken the records.
  void LookAtHeader(const std::string& name, std::span<const std::byte> header, std::uint64_t lines) const;

 private:
  unsigned reads_ = 0;  ///< one of the bits that input_kind.cpp names
  std::string as_;      ///< what the job takes the inputs for, as messages name it
  bool raw_ = false;    ///< the user said that the inputs are not compressed
};

}  // namespace gpusort
