// Rules for comparing lines by sort keys. Each key has its own options, such as -n or -r of the program `sort`.
// LineOrder owns the keys. LineOrderView has the same members as plain data for host and device.
#pragma once

#include <cstdint>
#include <vector>

#include "gpusort/host_device.hpp"
#include "kernels/records/key.hpp"

namespace gpusort {

/// How to compare the bytes of a key. kBytes compares bytes as unsigned numbers; a prefix comes before a longer key.
enum class LineOrdering : std::uint8_t {
  kBytes,
  /// -n: by the decimal number at the beginning of the key, such as -12.50; a key without a number counts as 0
  kNumeric,
  kGeneral,  ///< -g: a long double as strtold reads it; non-numbers first, then NaNs, then numbers. Host only
  kHuman,    ///< -h: sign and suffix (K M G T P E Z Y R Q), then as -n
  kMonth,    ///< -M: unknown < JAN < ... < DEC
  kVersion,  ///< -V: names with version numbers, as GNU's filevercmp
  kRandom,   ///< -R: by the MD5 of random bytes (the salt) and the key, so that lines with equal keys are neighbours
  kHost,     ///< the order that LineKey::host computes, on the CPU; only if LineOrderView::last_resort is false
};

/// An order of keys that only the host can compute, such as the order of a locale. A HostOrder must outlive the keys
/// that refer to it. Thread-safe.
class HostOrder {
 public:
  /// Returns a negative value if `a` comes before `b`, 0 if they are equal, and a positive value otherwise.
  virtual int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const = 0;
  /// Returns true if the encoded key of the line is complete. Two lines with complete and equal encoded keys are equal.
  virtual bool Settled(const Byte* /*line*/) const { return false; }

 protected:
  ~HostOrder() = default;
};

/// One key of a line, such as the option -k2,3n of `sort`. Fields and bytes count from 0. A position after the end of
/// the line means the end of the line.
struct LineKey {
  static constexpr std::uint64_t kToEnd = ~std::uint64_t{0};
  std::uint64_t begin_field = 0;
  std::uint64_t begin_char = 0;
  std::uint64_t end_field = kToEnd;  ///< the field in which the key ends; kToEnd: the key ends with the line
  std::uint64_t end_char = 0;        ///< the number of bytes of field `end_field` that belong to the key; 0: all bytes
  bool skip_start_blanks = false;    ///< true: begin_char counts from the first non-blank of the field (-b)
  bool skip_end_blanks = false;      ///< true: end_char counts from the first non-blank of field end_field (-b)
  bool dictionary_order = false;     ///< -d: only blanks, letters and digits count (for kBytes, kVersion, kRandom)
  bool ignore_nonprinting = false;   ///< -i: only printable ASCII counts (for kBytes, kVersion, kRandom)
  /// -f: small letters count as capital letters (for kBytes, kVersion, kRandom, and for the K of 12K in kHuman)
  bool fold_case = false;
  LineOrdering ordering = LineOrdering::kBytes;
  bool reverse = false;
  const HostOrder* host = nullptr;  ///< the order of the key if `ordering` is kHost

  /// Returns true if the key is compared byte by byte, without leaving out, changing or interpreting any byte.
  GPUSORT_HD bool plain() const {
    return ordering == LineOrdering::kBytes && !dictionary_order && !ignore_nonprinting && !fold_case;
  }

  friend bool operator==(const LineKey&, const LineKey&) = default;
};

/// The rules by which lines are compared, as plain data for CPU and GPU. The CPU or GPU that compares lines must be
/// able to read the array `keys`.
struct LineOrderView {
  const LineKey* keys = nullptr;
  std::uint32_t key_count = 0;  ///< 0: the whole line is the key, in descending order if last_resort_reverse is true
  int separator = -1;           ///< option -t, 0..255; -1: blanks separate fields and belong to the field after them
  bool last_resort = true;      ///< true: lines with equal keys are compared as whole lines (neither -s nor -u)
  bool last_resort_reverse = false;  ///< true: the comparison of whole lines is reversed (-r)
  std::uint64_t salt[2] = {0, 0};    ///< for kRandom: 16 bytes from the random source
  /// True: fields with encoded sort keys come before each line. The fields contain no byte 0 and no `separator`.
  /// - keys[0] compares the bytes of the first of these fields.
  /// - keys[1] compares lines with equal bytes in the first field.
  /// - keys[2] and keys[3] do so for the second field, and so on.
  bool keyed = false;
  /// True: no key contains a NUL byte, and no key is reversed. Lines with equal encoded keys then have equal keys.
  bool nul_free = false;
};

/// The rules by which lines are compared. Owns its keys.
struct LineOrder {
  std::vector<LineKey> keys;
  int separator = -1;
  bool last_resort = true;
  bool last_resort_reverse = false;
  std::uint64_t salt[2] = {0, 0};

  /// Returns a view of this order. The view is valid until `keys` changes or the LineOrder is destroyed.
  LineOrderView view() const {
    return {keys.data(),       static_cast<std::uint32_t>(keys.size()), separator, last_resort, last_resort_reverse,
            {salt[0], salt[1]}};
  }
};

/// Returns true if a key has the ordering kGeneral or kHost. A GPU can neither compare nor encode such a key, because
/// it has no long double and no locales.
GPUSORT_HD inline bool NeedsHost(const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    if (view.keys[k].ordering == LineOrdering::kGeneral || view.keys[k].ordering == LineOrdering::kHost) return true;
  }
  return false;
}

/// Returns true if two lines with equal encoded keys (see EncodeChunk) always compare equal. If it returns false,
/// CompareLines must decide between such lines.
GPUSORT_HD inline bool ChunksDecide(const LineOrderView& view) {
  for (std::uint32_t k = 0; k < view.key_count; ++k) {
    if (view.keys[k].ordering == LineOrdering::kHost) return false;
  }
  // A last key of plain bytes has no end mark in its encoding. The encodings of "a" and "a\0" are therefore equal.
  return view.key_count != 0 && !view.last_resort && (view.nul_free || !view.keys[view.key_count - 1].plain());
}

}  // namespace gpusort
