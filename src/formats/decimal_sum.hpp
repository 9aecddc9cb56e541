// DecimalSum adds decimal numbers exactly, whatever their length (--sum). Start at DecimalSum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spec/column_key.hpp"

namespace gpusort {

/// A sum of decimal numbers. No digit is lost and no sum is too large. The result does not depend on the order in which
/// the numbers are added.
class DecimalSum {
 public:
  /// The largest number of digits that a number may have before its decimal point, and the largest number after it. An
  /// exponent counts as the digits that it stands for, because 1e999999999 is short but has many digits.
  static constexpr std::size_t kMostDigits = 1000;

  /// A number that was read from a text. Valid only while the text exists.
  struct Number {
    __int128 small = 0;    ///< the digits as a whole number, if `digits` is empty
    std::string digits{};  ///< the digits, if they are too many for `small`
    bool negative = false;
    unsigned scale = 0;       ///< the number of digits after the decimal point
    bool separators = false;  ///< true: separators of thousands stand between the digits
  };
  enum class Read { kNumber, kNoNumber, kTooLong };

  DecimalSum();
  DecimalSum(DecimalSum&&) noexcept;
  DecimalSum& operator=(DecimalSum&&) noexcept;
  ~DecimalSum();

  /// Reads the decimal number `text`, which must have no white space around it. Accepts the same numbers as a sort key
  /// of the type decimal, except infinities and NaN. `rule` gives the decimal point and the separator of thousands.
  /// Returns kTooLong if the number has more than `most` digits before or after its decimal point.
  static Read ReadNumber(std::string_view text, const ValueRule& rule, Number& number, std::size_t most = kMostDigits);

  void Add(const Number& number);
  void Add(const DecimalSum& other);
  /// Returns true if a number was added.
  bool any() const { return any_; }
  /// Returns the sum as text. It has as many digits after the decimal point as the added number with the most such
  /// digits. If an added number has separators of thousands, the text has them, too.
  std::string Text(const ValueRule& rule) const;
  /// Returns true if both sums are the same number.
  bool Equals(const DecimalSum& other) const;
  void Clear();

 private:
  struct Big;

  void AddSmall(__int128 digits, unsigned scale);
  Big& MakeBig();
  void MoveToBig();
  /// Returns the whole sum as a number with `scale` digits after the point.
  Big Total(unsigned scale) const;

  /// The sum is small_ / 10^small_scale_ + *big_.
  __int128 small_ = 0;
  unsigned small_scale_ = 0;
  unsigned scale_ = 0;
  bool any_ = false, separators_ = false;
  std::unique_ptr<Big> big_;  ///< null as long as the sum fits into `small_`
};

/// The sums of the columns of --sum, in the order of these options. Empty without --sum.
using ColumnSums = std::vector<DecimalSum>;
/// Adds the sums in `more` to `sums`. Both must have the same number of columns.
void AddSums(const ColumnSums& more, ColumnSums& sums);

}  // namespace gpusort
