#include "formats/annotator.hpp"

#include <algorithm>
#include <cstdlib>
#include <cwchar>
#include <cwctype>
#include <string_view>

#include "formats/locale_keys.hpp"

namespace gpusort {
namespace {

/// Returns how many columns of a terminal `text` takes. A tab is shown as '>' and takes one.
std::size_t Columns(std::string_view text) {
  std::size_t columns = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\t'));
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t c = 0;
    std::size_t bytes = std::mbrtowc(&c, text.data(), text.size(), &state);
    if (bytes > text.size()) {
      // A byte that is no character takes one column. All bytes of a character that is cut off take one column
      // together.
      const bool cut = bytes == static_cast<std::size_t>(-2);
      state = {};
      bytes = cut ? text.size() : 1;
      ++columns;
    } else {
      bytes = std::max<std::size_t>(bytes, 1);
      const int width = ::wcwidth(c);
      columns += width >= 0 ? static_cast<std::size_t>(width) : std::iswcntrl(static_cast<std::wint_t>(c)) == 0;
    }
    text.remove_prefix(bytes);
  }
  return columns;
}

/// Returns the part of a key that is compared: for a number or a month, only its characters.
KeyRange Read(const Byte* line, std::uint64_t length, const LineKey& key, int separator) {
  KeyRange range = FindKey(line, length, key, separator);
  const bool number = key.ordering == LineOrdering::kNumeric || key.ordering == LineOrdering::kHuman ||
                      key.ordering == LineOrdering::kGeneral;
  if (!number && key.ordering != LineOrdering::kMonth) return range;
  // GNU sort looks for a number after the blanks even if the key ends before the number begins.
  LineKey from_start = key;
  from_start.begin_field = from_start.begin_char = 0;
  from_start.skip_start_blanks = false;
  const bool ends_first = FindKey(line, length, from_start, separator).end < range.begin;
  range.begin = detail::SkipBlanks(line, range.begin, ends_first ? length : range.end);
  range.end = std::max(range.begin, range.end);
  const std::string text(reinterpret_cast<const char*>(line) + range.begin, range.size());
  std::size_t bytes = 0;
  if (key.ordering == LineOrdering::kMonth) {
    bytes = MonthBytes(text);
  } else if (key.ordering == LineOrdering::kGeneral) {
    char* end = nullptr;
    std::strtold(text.c_str(), &end);
    bytes = static_cast<std::size_t>(end - text.c_str());
  } else {
    bytes = NumberBytes(text, key.ordering == LineOrdering::kHuman, FindLocaleNumbers());
  }
  range.end = range.begin + bytes;
  return range;
}

void Underline(const Byte* line, KeyRange range, std::string& out) {
  const std::string_view text(reinterpret_cast<const char*>(line), range.end);
  out.append(Columns(text.substr(0, range.begin)), ' ');
  const std::size_t columns = Columns(text.substr(range.begin));
  out += columns > 0 ? std::string(columns, '_') : "^ no match for key";
  out += '\n';
}

}  // namespace

void Annotate(RecordSpan line, const LineOrder& order, std::string& out) {
  const Byte* const bytes = AsBytes(line.data());
  const std::uint64_t length = line.size() - 1;
  const std::size_t begin = out.size();
  out.append(reinterpret_cast<const char*>(bytes), length);
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '\t', '>');
  out += '\n';
  for (const LineKey& key : order.keys) Underline(bytes, Read(bytes, length, key, order.separator), out);
  if (order.keys.empty() || order.last_resort) Underline(bytes, {0, length}, out);
}

}  // namespace gpusort
