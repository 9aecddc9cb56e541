#include "locale_keys.hpp"

#include <langinfo.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <clocale>
#include <cstring>
#include <string>
#include <string_view>

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
  LocaleKeys(const LineOrder& order, bool collates)
      : order_(order), collates_(collates), numbers_(FindLocaleNumbers()) {
    for (unsigned c = 0; c < 256; ++c) {
      const int byte = static_cast<int>(c);
      dictionary_[c] = std::isalnum(byte) != 0 || detail::IsBlank(c) || std::isblank(byte) != 0;
      printing_[c] = std::isprint(byte) != 0;
      upper_[c] = static_cast<char>(std::toupper(byte));
    }
  }

  /// True if this makes a difference to comparing lines as C does.
  bool Needed() const {
    if (collates_ || numbers_.decimal_point != '.' || numbers_.thousands_separator >= 0) return true;
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

  void Append(const Byte* line, std::uint64_t length, std::vector<Byte>& key) const override {
    for (const LineKey& part : order_.keys) {
      const std::size_t begin = key.size();
      const KeyRange range = FindKey(line, length, part, order_.separator);
      AppendPart(part, {reinterpret_cast<const char*>(line) + range.begin, range.size()}, key);
      if (part.reverse) Reverse(key, begin);
    }
    if (!order_.keys.empty() && !order_.last_resort) return;
    const std::size_t begin = key.size();
    AppendText(std::string(reinterpret_cast<const char*>(line), length), key);
    if (order_.last_resort_reverse) Reverse(key, begin);
  }

 private:
  static void Reverse(std::vector<Byte>& key, std::size_t begin) {
    for (std::size_t i = begin; i < key.size(); ++i) key[i] = static_cast<Byte>(~key[i]);
  }

  void AppendPart(const LineKey& part, std::string_view text, std::vector<Byte>& key) const {
    switch (part.ordering) {
      case LineOrdering::kMonth: {
        std::size_t end = 0;
        const Month* const month = FindMonth(text, &end);
        key.push_back(month != nullptr ? static_cast<Byte>(month->number) : Byte{0});
        return;
      }
      case LineOrdering::kNumeric:
      case LineOrdering::kHuman:
        return AppendAsInC(part.ordering, CNumber(text, part.ordering == LineOrdering::kHuman), key);
      case LineOrdering::kGeneral:
        return AppendAsInC(part.ordering, std::string(text), key);  // strtold knows the locale
      case LineOrdering::kVersion:
        return AppendAsInC(part.ordering, Filter(part, text), key);
      case LineOrdering::kRandom: {
        // Hashed with the NULs at the ends of its parts.
        const std::string filtered = Filter(part, text);
        if (!collates_) return AppendAsInC(part.ordering, filtered, key);
        std::string collated;
        for (std::size_t at = 0; at < filtered.size(); at += std::strlen(filtered.c_str() + at) + 1) {
          collated += Collate(filtered.c_str() + at);
          collated += '\0';
        }
        return AppendAsInC(part.ordering, collated, key);
      }
      case LineOrdering::kBytes:
        return AppendText(Filter(part, text), key);
    }
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
  static void AppendAsInC(LineOrdering ordering, const std::string& text, std::vector<Byte>& key,
                          const std::uint64_t* salt) {
    LineKey whole;
    whole.ordering = ordering;
    LineOrderView view;
    view.keys = &whole;
    view.key_count = 1;
    view.last_resort = false;
    if (salt != nullptr) std::copy(salt, salt + 2, view.salt);
    LineChunk chunk{};
    for (std::uint64_t skip = 0; !chunk.ended; skip += kEntryKeyBytes) {
      chunk = EncodeChunk(reinterpret_cast<const Byte*>(text.data()), text.size(), view, skip);
      for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<Byte>(chunk.hi >> shift));
      for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<Byte>(chunk.lo >> shift));
    }
  }
  void AppendAsInC(LineOrdering ordering, const std::string& text, std::vector<Byte>& key) const {
    AppendAsInC(ordering, text, key, order_.salt);
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

  /// None of these begins another; NULs divide the text, and the parts are compared one after the other.
  void AppendText(const std::string& text, std::vector<Byte>& key) const {
    // Text that collates as nothing still comes behind no text at all.
    if (!text.empty()) key.push_back(1);
    for (std::size_t at = 0; at < text.size();) {
      if (at > 0) key.insert(key.end(), {0, 1});
      const char* const part = text.c_str() + at;
      const std::size_t bytes = std::strlen(part);
      if (collates_) {
        const std::string collated = Collate(part);
        key.insert(key.end(), collated.begin(), collated.end());
      } else {
        key.insert(key.end(), part, part + bytes);
      }
      at += bytes + 1;
      // A NUL at the end divides off an empty part.
      if (at == text.size()) key.insert(key.end(), {0, 1});
    }
    key.insert(key.end(), {0, 0});
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
  return {single(facts->decimal_point, '.'), single(facts->thousands_sep, -1)};
}

bool CollatesByLocale() { return !Names(std::setlocale(LC_COLLATE, nullptr), {"C", "POSIX"}); }

std::size_t MonthBytes(std::string_view text) {
  std::size_t end = 0;
  FindMonth(text, &end);
  return end;
}

std::unique_ptr<LineKeyMaker> MakeLocaleKeys(const LineOrder& order) {
  // C.UTF-8 collates by code points, which is by bytes.
  const bool collates = !Names(std::setlocale(LC_COLLATE, nullptr), {"C", "POSIX", "C.UTF-8", "C.utf8"});
  auto keys = std::make_unique<LocaleKeys>(order, collates);
  if (!keys->Needed()) return nullptr;
  return keys;
}

}  // namespace gpusort
