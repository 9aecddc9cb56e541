#include "formats/text_keys.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Returns the byte after the separator number `count` in [p, end), counted from 1, or null if there are fewer.
const Byte* AfterSeparators(const Byte* p, const Byte* end, unsigned char separator, std::uint64_t count) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(static_cast<char>(separator));
  for (; end - p >= 16; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)));
    for (; found != 0; found &= found - 1) {
      if (--count == 0) return p + std::countr_zero(found) + 1;
    }
  }
#endif
  for (; p != end; ++p) {
    if (*p == separator && --count == 0) return p + 1;
  }
  return nullptr;
}

/// Returns the fields first to last, counted from 1, of a line in which `separator` ends each field but the last.
std::optional<std::string_view> FindFields(const Byte* p, const Byte* end, unsigned char separator, std::uint64_t first,
                                           std::uint64_t last) {
  if (first > 1) p = AfterSeparators(p, end, separator, first - 1);
  if (p == nullptr) return std::nullopt;
  const Byte* const after = AfterSeparators(p, end, separator, last - first + 1);
  return Text(p, after == nullptr ? end : after - 1);
}

// Newlines count as blanks: they can occur in lines that end with NUL.
const Byte* FindBlankByte(const Byte* p, const Byte* end) { return FindAny(p, end, ' ', '\t', '\n'); }
const Byte* SkipBlankBytes(const Byte* p, const Byte* end) {
  while (p != end && (*p == ' ' || *p == '\t' || *p == '\n')) ++p;
  return p;
}

/// Returns the fields first to last of a line in which blanks separate the fields, without the blanks around them.
std::optional<std::string_view> FindWords(const Byte* p, const Byte* end, std::uint64_t first, std::uint64_t last) {
  p = SkipBlankBytes(p, end);
  for (std::uint64_t field = 1; field < first && p != end; ++field) p = SkipBlankBytes(FindBlankByte(p, end), end);
  if (p == end) return std::nullopt;
  const Byte* stop = FindBlankByte(p, end);
  for (std::uint64_t field = first; field < last; ++field) {
    const Byte* const next = SkipBlankBytes(stop, end);
    if (next == end) break;
    stop = FindBlankByte(next, end);
  }
  return Text(p, stop);
}

}  // namespace

std::unique_ptr<re2::RE2> CompileExpression(const std::string& pattern, const std::string& of) {
  // The memory of the compiled expression and of its cache of states. The cache grows only as far as the texts need it,
  // and few need more than some KiB.
  constexpr std::int64_t kMostMemory = std::int64_t{4} << 20;
  // In an expression of only ASCII, `.` matches a byte. Otherwise it matches a UTF-8 character.
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  const bool characters = !std::ranges::all_of(pattern, is_ascii) || pattern.find("\\p") != pattern.npos ||
                          pattern.find("\\P") != pattern.npos || pattern.find("\\x{") != pattern.npos;
  re2::RE2::Options options(characters ? re2::RE2::DefaultOptions : re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  auto made = std::make_unique<re2::RE2>(pattern, options);
  if (made->ok()) return made;
  throw Error(ErrorCode::kUsage,
              of + ": the regular expression " + EscapeName(pattern) + " is invalid: " + EscapeName(made->error()));
}

TextKeys::TextKeys(const TableOptions& table) : keys_(table.keys), separator_(table.separator) {
  for (const ColumnKey& key : keys_) {
    patterns_.push_back(key.pattern.empty() ? nullptr
                                            : CompileExpression(key.pattern, (key.summed ? "--sum: " : "--key: ") +
                                                                                 InQuotes(key.text)));
  }
}

TextKeys::~TextKeys() = default;
TextKeys::TextKeys(TextKeys&&) noexcept = default;

std::optional<std::string_view> TextKeys::Find(std::size_t key, std::string_view text) const {
  if (const re2::RE2* const pattern = patterns_[key].get()) {
    const int groups = std::min(pattern->NumberOfCapturingGroups(), 1);
    re2::StringPiece found[2];
    // Not all versions of RE2 accept std::string_view.
    if (!pattern->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::UNANCHORED, found, groups + 1))
      return std::nullopt;
    const re2::StringPiece& value = found[groups];
    if (value.data() == nullptr) return std::nullopt;  // the match has no such group
    return std::string_view(value.data(), value.size());
  }
  const auto* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = begin + text.size();
  const ColumnKey& fields = keys_[key];
  return separator_ < 0
             ? FindWords(begin, end, fields.first_field, fields.last_field)
             : FindFields(begin, end, static_cast<unsigned char>(separator_), fields.first_field, fields.last_field);
}

}  // namespace gpusort
