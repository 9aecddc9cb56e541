#include "formats/locale_keys.hpp"

#include <gnu/libc-version.h>
#include <langinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <vector>

#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

struct Month {
  std::string name;  ///< in upper case, without blanks
  unsigned number;
};

/// Returns the names of the months of the current locale, sorted by name. They are looked up once, because setlocale()
/// is not called again.
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

/// The month whose name a text begins with. Number 0: there is none.
struct FoundMonth {
  unsigned number = 0;
  std::size_t end = 0;  ///< the size of the month's name with the blanks before it
};

FoundMonth FindMonth(std::string_view text) {
  const auto is_blank = [](char c) { return detail::IsBlank(static_cast<unsigned char>(c)); };
  const auto same = [](char a, char upper) {
    return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(upper);
  };
  const auto begin = static_cast<std::size_t>(std::ranges::find_if_not(text, is_blank) - text.begin());
  for (const Month& month : Months()) {
    if (month.name.empty() || !std::ranges::equal(text.substr(begin, month.name.size()), month.name, same)) continue;
    return {month.number, begin + month.name.size()};
  }
  return {};
}

/// The letters that -h reads after a number.
constexpr std::string_view kUnits = "KkMGTPEZYRQ";

bool IsOneOf(const char* locale, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::strcmp(locale, name) == 0; });
}

/// Text has the order of strcoll. The key of a text is only the first part of the result of strxfrm: it usually
/// distinguishes letters, but neither accents nor upper and lower case. Lines with equal keys are then compared by
/// strcoll. Versions and the division into fields are as in the C locale.
class LocaleKeys : public KeyMaker {
 public:
  explicit LocaleKeys(const LineOrder& order)
      : order_(order), collates_(CollatesByLocale()), numbers_(FindLocaleNumbers()), fields_(MakeFields(*this)) {
    for (unsigned c = 0; c < 256; ++c) {
      const int byte = static_cast<int>(c);
      dictionary_[c] = std::isalnum(byte) != 0 || detail::IsBlank(c) || std::isblank(byte) != 0;
      printing_[c] = std::isprint(byte) != 0;
      upper_[c] = static_cast<char>(std::toupper(byte));
    }
  }

  /// Returns true if lines can sort differently in this locale than in C.
  bool Needed() const {
    // C.UTF-8 sorts by code points, which gives the same order as sorting by bytes. For -R the locale matters in any
    // case, because the result of strxfrm is hashed.
    const bool by_bytes = !collates_ || IsOneOf(std::setlocale(LC_COLLATE, nullptr), {"C.UTF-8", "C.utf8"});
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

  std::size_t fields() const override { return fields_.size(); }
  const HostOrder& ties(std::size_t field) const override { return fields_[field]; }

  void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const override {
    const std::string_view text(reinterpret_cast<const char*>(line), size);
    bool exact = true;
    for (std::size_t k = fields_[field].begin; k < fields_[field].end && !out.full(); ++k) {
      if (k == order_.keys.size()) {
        out.set_reverse(order_.last_resort_reverse);
        exact = PutText(text, out) && exact;
        continue;
      }
      const LineKey& part = order_.keys[k];
      const KeyRange range = FindKey(line, size, part, order_.separator);
      const std::string_view here = text.substr(range.begin, range.size());
      out.set_reverse(part.reverse);
      if (part.ordering == LineOrdering::kBytes) {
        exact = PutText(Filters(part) ? Filter(part, here) : here, out) && exact;
      } else if (part.ordering == LineOrdering::kMonth) {
        out.Put(FindMonth(here).number);
      } else {
        const std::string text_in_c = InC(part, here);
        LineKey whole;
        whole.ordering = part.ordering;
        detail::PutKey(out, WholeText(text_in_c, whole), order_.salt);
      }
    }
    if (exact) out.SetExact();
  }

  int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
    return CompareParts(0, order_.keys.size() + (order_.keys.empty() || order_.last_resort), a, a_size, b, b_size);
  }

 private:
  /// One key field: the keys [begin, end) of the order. The number of keys stands for the whole line. All keys but the
  /// last are compared as bytes. If the last key is equal, strcoll decides.
  struct Field : HostOrder {
    Field(const LocaleKeys& keys, std::size_t first) : owner(keys), begin(first), end(first) {}
    int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
      return owner.CompareParts(begin, end, a, a_size, b, b_size);
    }
    const LocaleKeys& owner;
    std::size_t begin, end;
  };
  static std::deque<Field> MakeFields(const LocaleKeys& keys) {
    const LineOrder& order = keys.order_;
    std::deque<Field> fields;
    for (std::size_t k = 0; k < order.keys.size(); ++k) {
      if (k == 0 || order.keys[k - 1].ordering == LineOrdering::kBytes) fields.emplace_back(keys, k);
      ++fields.back().end;
    }
    if (order.keys.empty() || order.last_resort) {
      if (order.keys.empty() || order.keys.back().ordering == LineOrdering::kBytes) {
        fields.emplace_back(keys, order.keys.size());
      }
      ++fields.back().end;
    }
    return fields;
  }

  int CompareParts(std::size_t begin, std::size_t end, const Byte* a, std::uint64_t a_size, const Byte* b,
                   std::uint64_t b_size) const {
    const std::string_view x(reinterpret_cast<const char*>(a), a_size), y(reinterpret_cast<const char*>(b), b_size);
    for (std::size_t k = begin; k < end; ++k) {
      if (k == order_.keys.size()) {
        const int order = CompareText(x, y);
        return order_.last_resort_reverse ? -order : order;
      }
      const LineKey& part = order_.keys[k];
      const KeyRange p = FindKey(a, a_size, part, order_.separator), q = FindKey(b, b_size, part, order_.separator);
      const int order = ComparePart(part, x.substr(p.begin, p.size()), y.substr(q.begin, q.size()));
      if (order != 0) return part.reverse ? -order : order;
    }
    return 0;
  }

  int ComparePart(const LineKey& part, std::string_view x, std::string_view y) const {
    if (x == y) return 0;
    if (part.ordering == LineOrdering::kMonth) {
      return Sign(static_cast<int>(FindMonth(x).number) - static_cast<int>(FindMonth(y).number));
    }
    if (part.ordering == LineOrdering::kBytes) {
      return Filters(part) ? CompareText(Filter(part, x), Filter(part, y)) : CompareText(x, y);
    }
    const std::string p = InC(part, x), q = InC(part, y);
    LineKey whole;
    whole.ordering = part.ordering;
    return Sign(detail::CompareKeyTexts(WholeText(p, whole), WholeText(q, whole), order_.salt));
  }
  static bool Filters(const LineKey& part) {
    return part.dictionary_order || part.ignore_nonprinting || part.fold_case;
  }
  static int Sign(int order) { return (order > 0) - (order < 0); }

  /// Compares two texts. NULs divide a text into parts, and the parts are compared by strcoll one after the other.
  int CompareText(std::string_view x, std::string_view y) const {
    if (!collates_ || x.empty() || y.empty() || x == y) return Sign(x.compare(y));
    // strcoll needs texts that end with NUL.
    const TextBuffer x_copy = EndedText(x), y_copy = EndedText(y);
    const char *p = x_copy.data(), *q = y_copy.data();
    const char *const p_end = p + x.size(), *const q_end = q + y.size();
    for (;;) {
      const int order = std::strcoll(p, q);
      if (order != 0) return Sign(order);
      p += std::strlen(p) + 1;
      q += std::strlen(q) + 1;
      // The last part ends with the text and not with a NUL.
      const bool x_more = p <= p_end, y_more = q <= q_end;
      if (!x_more || !y_more) return x_more - y_more;
    }
  }

  /// Appends the first level of strxfrm's weights of `text`, and then a byte that is smaller than all weights. Returns
  /// true if the bytes are exact: two texts with the same exact bytes are equal.
  bool PutText(std::string_view text, FieldWriter& out) const {
    if (!collates_) {
      // A NUL in the text must sort after the end of the text.
      for (const char c : text) {
        if (out.full()) return false;
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 2) out.Put(1);
        out.Put(byte < 2 ? byte + 1u : byte);
      }
      out.Put(0);
      return true;
    }
    // The text up to its first NUL is compared first.
    const std::string_view first = text.substr(0, text.find('\0'));
    bool exact = first.size() == text.size();
    if (!PutAscii(first, out, exact)) {
      exact = false;
      for (const char c : Primary(std::string(first).c_str())) out.Put(static_cast<unsigned char>(c));
    }
    out.Put(0);
    return exact;
  }

  /// Returns the first level of the weights that strxfrm makes. The further levels, which bytes of 1 separate, do not
  /// agree with strcoll.
  static std::string Primary(const char* text) {
    std::string weights = Collate(text);
    weights.resize(std::min(weights.size(), weights.find('\1')));
    return weights;
  }

  /// Appends the weights of `text`. Returns false if the text is not all ASCII, or if the weights of characters depend
  /// on their neighbours. Clears `exact` if another ASCII text has the same weights. strxfrm takes 1.5 us for 120
  /// bytes, this function 0.1 us.
  bool PutAscii(std::string_view text, FieldWriter& out, bool& exact) const {
    // Making the table takes 10 ms, which is too long for a few lines.
    constexpr unsigned kFewTexts = 4096;
    if (!ascii_asked_.load(std::memory_order_acquire)) {
      if (texts_.fetch_add(1, std::memory_order_relaxed) < kFewTexts) return false;
      std::call_once(ascii_made_, [this] { MakeAscii(); });
      ascii_asked_.store(true, std::memory_order_release);
    }
    if (!ascii_independent_) return false;
    unsigned any = 0;
    for (const char c : text) any |= kinds_[static_cast<unsigned char>(c)];
    if ((any & kOther) != 0) return false;
    if ((any & kShared) != 0) exact = false;
    out.PutWords(reinterpret_cast<const Byte*>(text.data()), text.size(), ascii_[out.reverse()].data());
    return true;
  }
  /// Makes the table of weights of ASCII characters. In some locales, several characters have one common weight. Such
  /// contractions are pairs, begin with a pair, or are three small letters, so all pairs and all such triples are
  /// checked.
  void MakeAscii() const {
    std::array<std::string, kAscii> weights;
    for (unsigned c = 1; c < kAscii; ++c) {
      weights[c] = Primary(std::string(1, static_cast<char>(c)).c_str());
      for (const unsigned reverse : {0u, 1u}) {
        FieldWriter::Word& word = ascii_[reverse][c];
        for (const char byte : weights[c]) {
          const FieldWriter::Escaped escaped =
              FieldWriter::Escape(static_cast<unsigned char>(byte) ^ (reverse != 0 ? 0xFFu : 0u));
          if (word.size + escaped.size > sizeof(word.bytes)) return;
          std::copy(escaped.bytes, escaped.bytes + escaped.size, word.bytes + word.size);
          word.size = static_cast<unsigned char>(word.size + escaped.size);
        }
      }
    }
    const auto independent = [&](std::initializer_list<unsigned> text) {
      std::string bytes, all;
      for (const unsigned c : text) {
        bytes += static_cast<char>(c);
        all += weights[c];
      }
      return Primary(bytes.c_str()) == all;
    };
    for (unsigned a = 1; a < kAscii; ++a) {
      for (unsigned b = 1; b < kAscii; ++b) {
        if (!independent({a, b})) return;
      }
    }
    for (unsigned a = 'a'; a <= 'z'; ++a) {
      for (unsigned b = 'a'; b <= 'z'; ++b) {
        for (unsigned c = 'a'; c <= 'z'; ++c) {
          if (!independent({a, b, c})) return;
        }
      }
    }
    // Small letters come before capital letters, which have the same weights.
    std::vector<unsigned> own;
    kinds_.fill(kOther);
    const auto begins = [&](unsigned a, unsigned b) {
      return weights[b].compare(0, weights[a].size(), weights[a]) == 0;
    };
    for (unsigned at = 1; at < kAscii; ++at) {
      const unsigned c = kAscii - at;
      const bool shared = weights[c].empty() ||
                          std::any_of(own.begin(), own.end(), [&](unsigned b) { return begins(b, c) || begins(c, b); });
      kinds_[c] = shared ? kShared : kOwn;
      if (!shared) own.push_back(c);
    }
    ascii_independent_ = true;
  }

  static detail::KeyText WholeText(const std::string& text, const LineKey& key) {
    return {reinterpret_cast<const Byte*>(text.data()), 0, text.size(), &key};
  }

  /// Returns a text that the C locale sorts as the current locale sorts `text`. Not used for texts and months.
  std::string InC(const LineKey& part, std::string_view text) const {
    switch (part.ordering) {
      case LineOrdering::kNumeric:
        return CNumber(text, false);
      case LineOrdering::kHuman:  // with -f, 2m means 2M
        return CNumber(Filter(part, text), true);
      case LineOrdering::kVersion:
        return Filter(part, text);
      case LineOrdering::kRandom: {
        // The hash includes the NULs at the ends of the parts.
        const std::string filtered = Filter(part, text);
        if (!collates_) return filtered;
        std::string collated;
        for (std::size_t at = 0; at < filtered.size(); at += std::strlen(filtered.c_str() + at) + 1) {
          collated += Collate(filtered.c_str() + at);
          collated += '\0';
        }
        return collated;
      }
      default:
        return std::string(text);  // strtold knows the locale
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

  /// Returns the number at the front of `text`, written as in the C locale. If `human` is true, the unit after it is
  /// included.
  std::string CNumber(std::string_view text, bool human) const {
    std::size_t at = 0;
    const auto digit = [&](std::size_t i) {
      return i < text.size() && detail::IsDigit(static_cast<unsigned char>(text[i]));
    };
    const auto is = [&](std::size_t i, int c) { return i < text.size() && static_cast<unsigned char>(text[i]) == c; };
    while (at < text.size() && detail::IsBlank(static_cast<unsigned char>(text[at]))) ++at;
    const std::size_t begin = at;
    std::string number;
    if (is(at, '-')) {
      number += '-';
      ++at;
    }
    for (; digit(at) || is(at, numbers_.thousands_separator); ++at) {
      if (digit(at)) number += text[at];
    }
    if (is(at, numbers_.decimal_point)) {
      number += '.';
      for (++at; digit(at); ++at) number += text[at];
    }
    if (!human) return number;
    // Before the unit, a separator may follow each digit, but not the last one.
    const std::size_t end = begin + NumberBytes(text.substr(begin), true, numbers_);
    if (end > begin && kUnits.find(text[end - 1]) != kUnits.npos) number += text[end - 1];
    return number;
  }

  static std::string Collate(const char* text) {
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
  static constexpr unsigned kAscii = 128;
  mutable std::atomic<unsigned> texts_{0};
  mutable std::atomic<bool> ascii_asked_{false};
  mutable std::once_flag ascii_made_;
  mutable bool ascii_independent_ = false;
  /// The kind of a byte. kOwn: no other byte has its weights, and its weights are no prefix of the weights of another
  /// such byte. Two texts of such bytes therefore have different weights. kShared: another byte has the same weights.
  /// kOther: the byte is not ASCII.
  enum Kind : unsigned char { kOwn = 0, kShared = 1, kOther = 2 };
  mutable std::array<unsigned char, 256> kinds_{};
  /// The weights of each character, and their complements.
  mutable std::array<std::array<FieldWriter::Word, kAscii>, 2> ascii_{};
  const std::deque<Field> fields_;
};

/// Makes keys for orders in the C locale in which it is slower to read a value from the text than to carry a key:
/// floats in text, versions, hashes.
class HostKeys : public KeyMaker {
 public:
  explicit HostKeys(const LineOrderView& order) : order_(order), keys_(order) { keys_.last_resort = true; }

  std::size_t fields() const override { return 1; }
  const HostOrder& ties(std::size_t) const override { return *this; }
  void PutField(std::size_t, const Byte* line, std::uint64_t size, FieldWriter& out) const override {
    detail::PutKeys(out, line, size, keys_);
    if (order_.last_resort && !out.full()) {
      LineKey whole;
      out.set_reverse(order_.last_resort_reverse);
      detail::PutText(out, {line, 0, size, &whole});
    }
    // Two floats may be equal in the format x87 and differ in binary64, or the reverse.
    if (!NeedsHost(order_) && !out.full()) out.SetExact();
  }
  int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
    return CompareLines(a, a_size, b, b_size, order_);
  }

 private:
  const LineOrderView order_;
  LineOrderView keys_;  ///< with the last-resort comparison, so that each key ends before the bytes that follow
};

}  // namespace

void UseLocale(const JobSpec& spec) {
  const ColumnKey* key = nullptr;
  if (spec.source.table) {
    const auto& keys = spec.source.table->keys;
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [](const ColumnKey& column) { return column.rule.type == ValueType::kLocale; });
    if (found != keys.end()) key = &*found;
  }
  if (!spec.order.locale && key == nullptr) return;
  struct Category {
    int number;
    const char* variable;
  };
  // LC_MESSAGES stays as it is: the messages of gpusort are English.
  static constexpr Category kOfLines[] = {
      {LC_COLLATE, "LC_COLLATE"}, {LC_CTYPE, "LC_CTYPE"}, {LC_NUMERIC, "LC_NUMERIC"}, {LC_TIME, "LC_TIME"}};
  // The formats of digits, months and letters in columns do not depend on the locale.
  const std::size_t count = spec.order.locale ? std::size(kOfLines) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::setlocale(kOfLines[i].number, "") != nullptr) continue;
    std::string setting = "the environment";
    for (const char* variable : {"LC_ALL", kOfLines[i].variable, "LANG"}) {
      const char* const value = std::getenv(variable);
      if (value == nullptr || *value == '\0') continue;
      setting = std::string(variable) + "=" + EscapeName(value);
      break;
    }
    throw Error(ErrorCode::kUsage, (spec.order.locale ? "--locale" : "-k " + EscapeName(key->text)) +
                                       ": this system does not have the locale of " + setting +
                                       " (locale -a lists those that it has); LC_ALL=C orders by bytes");
  }
}

std::string LocaleName() {
  const auto is_c = [](int category) { return IsOneOf(std::setlocale(category, nullptr), {"C"}); };
  // The names of all categories together are too long to read.
  const bool short_name = is_c(LC_CTYPE) && is_c(LC_NUMERIC) && is_c(LC_TIME);
  const std::string name = std::setlocale(short_name ? LC_COLLATE : LC_ALL, nullptr);
  return name == "C" ? name : name + ", glibc " + gnu_get_libc_version();
}

LocaleNumbers FindLocaleNumbers() {
  const std::lconv* const facts = std::localeconv();
  const auto single = [](const char* text, int otherwise) {
    return text[0] != '\0' && text[1] == '\0' ? static_cast<unsigned char>(text[0]) : otherwise;
  };
  return {single(facts->decimal_point, '.'), single(facts->thousands_sep, -1), std::strlen(facts->thousands_sep) > 1};
}

bool CollatesByLocale() { return !IsOneOf(std::setlocale(LC_COLLATE, nullptr), {"C", "POSIX"}); }

std::size_t NumberBytes(std::string_view text, bool human, const LocaleNumbers& numbers) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const auto is = [&](std::size_t i, int c) { return i < text.size() && static_cast<unsigned char>(text[i]) == c; };
  std::size_t at = is(0, '-') ? 1 : 0;
  bool any = false;
  bool unit = human;
  while (digit(at)) {
    any = true;
    ++at;
    if (!is(at, numbers.thousands_separator)) continue;
    if (!digit(at + 1)) {
      unit = false;
      break;
    }
    ++at;
  }
  if (!is(at, numbers.thousands_separator) && is(at, numbers.decimal_point)) {
    ++at;
    for (; digit(at); ++at) any = true;
  }
  if (!any) return 0;
  if (unit && at < text.size() && kUnits.find(text[at]) != kUnits.npos) ++at;
  return at;
}

std::size_t MonthBytes(std::string_view text) { return FindMonth(text).end; }

std::unique_ptr<KeyMaker> MakeLocaleKeys(const LineOrder& order) {
  auto keys = std::make_unique<LocaleKeys>(order);
  if (!keys->Needed()) return nullptr;
  return keys;
}

std::unique_ptr<KeyMaker> MakeKeys(const LineOrderView& order, bool gpu) {
  const bool slow = std::any_of(order.keys, order.keys + order.key_count, [](const LineKey& key) {
    return key.ordering == LineOrdering::kVersion || key.ordering == LineOrdering::kRandom;
  });
  return NeedsHost(order) || (slow && !gpu) ? std::make_unique<HostKeys>(order) : nullptr;
}

}  // namespace gpusort
