#include "locale_keys.hpp"

#include <langinfo.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <clocale>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace gpusort {
namespace {

struct Month {
  std::string name;  ///< in upper case, without blanks
  unsigned number;
};

/// Sorted by name; found once, since setlocale is not called again.
const std::array<Month, 12>& Months() {
  static const std::array<Month, 12> months = [] {
    std::array<Month, 12> made;
    for (unsigned i = 0; i < made.size(); ++i) {
      made[i].number = i + 1;
      for (const char* c = ::nl_langinfo(ABMON_1 + static_cast<int>(i)); *c != '\0'; ++c) {
        const auto byte = static_cast<unsigned char>(*c);
        if (std::isblank(byte) == 0) made[i].name += static_cast<char>(std::toupper(byte));
      }
    }
    std::sort(made.begin(), made.end(), [](const Month& a, const Month& b) { return a.name < b.name; });
    return made;
  }();
  return months;
}

/// The month at the front of `text`, null if there is none, and where it ends.
const Month* FindMonth(std::string_view text, std::size_t* end) {
  std::size_t begin = 0;
  while (begin < text.size() && detail::IsBlank(static_cast<unsigned char>(text[begin]))) ++begin;
  for (const Month& month : Months()) {
    const std::string_view here = text.substr(begin, month.name.size());
    if (!month.name.empty() && here.size() == month.name.size() &&
        std::equal(here.begin(), here.end(), month.name.begin(), [](char a, char b) {
          return static_cast<char>(std::toupper(static_cast<unsigned char>(a))) == b;
        })) {
      *end = begin + month.name.size();
      return &month;
    }
  }
  return nullptr;
}

bool Names(const char* locale, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::strcmp(locale, name) == 0; });
}

class LocaleKeys : public LineKeyMaker {
 public:
  explicit LocaleKeys(const LineOrder& order)
      : order_(order), collates_(CollatesByLocale()), numbers_(FindLocaleNumbers()) {
    for (unsigned c = 0; c < 256; ++c) {
      const int byte = static_cast<int>(c);
      dictionary_[c] = std::isalnum(byte) != 0 || detail::IsBlank(c) || std::isblank(byte) != 0;
      printing_[c] = std::isprint(byte) != 0;
      upper_[c] = static_cast<char>(std::toupper(byte));
    }
  }

  /// True if this makes a difference to comparing lines as C does.
  bool Needed() const {
    // C.UTF-8 collates by code points, which is by bytes; but -R hashes what strxfrm makes.
    const bool by_bytes = !collates_ || Names(std::setlocale(LC_COLLATE, nullptr), {"C.UTF-8", "C.utf8"});
    const bool hashes = collates_ && std::any_of(order_.keys.begin(), order_.keys.end(), [](const LineKey& key) {
                          return key.ordering == LineOrdering::kRandom;
                        });
    if (!by_bytes || hashes || numbers_.decimal_point != '.' || numbers_.thousands_separator >= 0) return true;
    for (unsigned c = 0; c < 256; ++c) {
      const bool alnum = detail::IsAlpha(c) || detail::IsDigit(c);
      if (dictionary_[c] != (alnum || detail::IsBlank(c)) || printing_[c] != (c >= ' ' && c <= '~')) return true;
      if (static_cast<unsigned char>(upper_[c]) != detail::ToUpper(c)) return true;
    }
    constexpr std::string_view kEnglish[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                             "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
    return std::any_of(Months().begin(), Months().end(),
                       [&](const Month& month) { return month.name != kEnglish[month.number - 1]; });
  }

  void Append(const Byte* line, std::uint64_t length, LineKeyBytes& key) const override {
    const std::string_view text(reinterpret_cast<const char*>(line), length);
    bool first = true;
    for (const LineKey& part : order_.keys) {
      const KeyRange range = FindKey(line, length, part, order_.separator);
      const std::string bytes = MakePart(part, text.substr(range.begin, range.size()));
      if (std::exchange(first, false)) AppendPrefix(part.ordering, bytes, key.prefix);
      AppendPart(bytes, key.rest);
    }
    if (first) AppendPrefix(LineOrdering::kBytes, text, key.prefix);
    if (first || order_.last_resort) AppendPart(text, key.rest);
  }

  int Compare(const Byte* a, const Byte* b) const override {
    for (const LineKey& part : order_.keys) {
      const int order = part.ordering == LineOrdering::kBytes ? CompareText(a, b) : CompareBytes(a, b);
      if (order != 0) return part.reverse ? -order : order;
      a = NextPart(a);
      b = NextPart(b);
    }
    if (!order_.keys.empty() && !order_.last_resort) return 0;
    const int order = CompareText(a, b);
    return order_.last_resort_reverse ? -order : order;
  }

 private:
  /// A part of a rest: its length, its bytes, a NUL.
  static void AppendPart(std::string_view bytes, std::vector<Byte>& rest) {
    const std::uint64_t length = bytes.size();
    const auto* const raw = reinterpret_cast<const Byte*>(&length);
    rest.insert(rest.end(), raw, raw + sizeof(length));
    rest.insert(rest.end(), bytes.begin(), bytes.end());
    rest.push_back(0);
  }
  static std::string_view Part(const Byte* at) {
    std::uint64_t length = 0;
    std::memcpy(&length, at, sizeof(length));
    return {reinterpret_cast<const char*>(at) + sizeof(length), length};
  }
  static const Byte* NextPart(const Byte* at) { return at + sizeof(std::uint64_t) + Part(at).size() + 1; }

  static int CompareBytes(const Byte* a, const Byte* b) { return Part(a).compare(Part(b)); }

  /// NULs divide the text, and what they divide is collated one by one.
  int CompareText(const Byte* a, const Byte* b) const {
    std::string_view x = Part(a), y = Part(b);
    if (!collates_ || x.empty() || y.empty() || x == y) return x.compare(y);
    for (;;) {
      const int order = std::strcoll(x.data(), y.data());
      if (order != 0) return order;
      const std::size_t x_bytes = std::strlen(x.data()) + 1, y_bytes = std::strlen(y.data()) + 1;
      // The last part ends with the text, not with a NUL of it.
      const bool x_more = x_bytes <= x.size(), y_more = y_bytes <= y.size();
      if (!x_more || !y_more) return x_more - y_more;
      x.remove_prefix(x_bytes);
      y.remove_prefix(y_bytes);
    }
  }

  /// What of a key's bytes may be compared before the rest.
  void AppendPrefix(LineOrdering ordering, std::string_view bytes, std::vector<Byte>& prefix) const {
    if (ordering != LineOrdering::kBytes || !collates_) {
      prefix.insert(prefix.end(), bytes.begin(), bytes.end());
      return;
    }
    // Level after level, divided by ones.
    const std::string collated = Collate(std::string(bytes.substr(0, bytes.find('\0'))).c_str());
    const std::string_view primary = std::string_view(collated).substr(0, collated.find('\1'));
    prefix.insert(prefix.end(), primary.begin(), primary.end());
  }

  /// What a key is compared by, its reversal apart: text for CompareText, or bytes.
  std::string MakePart(const LineKey& part, std::string_view text) const {
    switch (part.ordering) {
      case LineOrdering::kMonth: {
        std::size_t end = 0;
        const Month* const month = FindMonth(text, &end);
        return std::string(1, month != nullptr ? static_cast<char>(month->number) : '\0');
      }
      case LineOrdering::kNumeric:
        return AsInC(part.ordering, CNumber(text, false));
      case LineOrdering::kHuman:  // with -f 2m is 2M
        return AsInC(part.ordering, CNumber(Filter(part, text), true));
      case LineOrdering::kGeneral:
        return AsInC(part.ordering, std::string(text));  // strtold knows the locale
      case LineOrdering::kVersion:
        return AsInC(part.ordering, Filter(part, text));
      case LineOrdering::kRandom: {
        // Hashed with the NULs at the ends of its parts.
        const std::string filtered = Filter(part, text);
        if (!collates_) return AsInC(part.ordering, filtered);
        std::string collated;
        for (std::size_t at = 0; at < filtered.size(); at += std::strlen(filtered.c_str() + at) + 1) {
          collated += Collate(filtered.c_str() + at);
          collated += '\0';
        }
        return AsInC(part.ordering, collated);
      }
      case LineOrdering::kBytes:
        break;
    }
    return Filter(part, text);
  }

  std::string Filter(const LineKey& part, std::string_view text) const {
    std::string filtered;
    filtered.reserve(text.size());
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (part.dictionary_order ? !dictionary_[byte] : part.ignore_nonprinting && !printing_[byte]) continue;
      filtered += part.fold_case ? upper_[byte] : c;
    }
    return filtered;
  }

  /// The number at the front of `text` as C writes it, with its unit if it is `human`.
  std::string CNumber(std::string_view text, bool human) const {
    std::size_t at = 0;
    const auto digit = [&](std::size_t i) {
      return i < text.size() && detail::IsDigit(static_cast<unsigned char>(text[i]));
    };
    const auto is = [&](std::size_t i, int c) { return i < text.size() && static_cast<unsigned char>(text[i]) == c; };
    while (at < text.size() && detail::IsBlank(static_cast<unsigned char>(text[at]))) ++at;
    std::string number;
    if (is(at, '-')) {
      number += '-';
      ++at;
    }
    const std::size_t begin = at;
    for (; digit(at) || is(at, numbers_.thousands_separator); ++at) {
      if (digit(at)) number += text[at];
    }
    if (is(at, numbers_.decimal_point)) {
      number += '.';
      for (++at; digit(at); ++at) number += text[at];
    }
    if (!human) return number;
    // For the unit one separator may stand behind a digit, and none at the end.
    at = begin;
    while (digit(at)) {
      ++at;
      if (!is(at, numbers_.thousands_separator)) continue;
      if (!digit(at + 1)) return number;
      ++at;
    }
    if (is(at, numbers_.decimal_point)) {
      for (++at; digit(at);) ++at;
    }
    if (at < text.size() && std::strchr("KkMGTPEZYRQ", text[at]) != nullptr) number += text[at];
    return number;
  }

  /// The bytes that C's order compares a whole line `text` by.
  std::string AsInC(LineOrdering ordering, const std::string& text) const {
    LineKey whole;
    whole.ordering = ordering;
    LineOrderView view;
    view.keys = &whole;
    view.key_count = 1;
    view.last_resort = false;
    std::copy(order_.salt, order_.salt + 2, view.salt);
    std::string bytes;
    LineChunk chunk{};
    for (std::uint64_t skip = 0; !chunk.ended; skip += kEntryKeyBytes) {
      chunk = EncodeChunk(reinterpret_cast<const Byte*>(text.data()), text.size(), view, skip);
      for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(chunk.hi >> shift);
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(chunk.lo >> shift);
    }
    return bytes;
  }

  std::string Collate(const char* text) const {
    std::string collated(3 * std::strlen(text) + 16, '\0');
    const std::size_t bytes = std::strxfrm(collated.data(), text, collated.size());
    if (bytes >= collated.size()) {
      collated.resize(bytes + 1);
      std::strxfrm(collated.data(), text, collated.size());
    }
    collated.resize(bytes);
    return collated;
  }

  const LineOrder& order_;
  const bool collates_;
  const LocaleNumbers numbers_;
  std::array<bool, 256> dictionary_{};
  std::array<bool, 256> printing_{};
  std::array<char, 256> upper_{};
};

}  // namespace

LocaleNumbers FindLocaleNumbers() {
  const std::lconv* const facts = std::localeconv();
  const auto single = [](const char* text, int otherwise) {
    return text[0] != '\0' && text[1] == '\0' ? static_cast<unsigned char>(text[0]) : otherwise;
  };
  return {single(facts->decimal_point, '.'), single(facts->thousands_sep, -1), std::strlen(facts->thousands_sep) > 1};
}

bool CollatesByLocale() { return !Names(std::setlocale(LC_COLLATE, nullptr), {"C", "POSIX"}); }

std::size_t MonthBytes(std::string_view text) {
  std::size_t end = 0;
  FindMonth(text, &end);
  return end;
}

std::unique_ptr<LineKeyMaker> MakeLocaleKeys(const LineOrder& order) {
  auto keys = std::make_unique<LocaleKeys>(order);
  if (!keys->Needed()) return nullptr;
  return keys;
}

bool ReversesFirst(const LineOrder& order) {
  return order.keys.empty() ? order.last_resort_reverse : order.keys[0].reverse;
}

}  // namespace gpusort
