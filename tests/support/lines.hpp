// Random lines and keys for tests of the order of text lines. Each kind of order gets the words that are difficult for
// it, mixed with blanks, NULs, bytes beyond ASCII and long runs of digits, so that ties and near misses are common.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "kernels/lines/line_order.hpp"

namespace gpusort::testing {

inline constexpr LineOrdering kAllOrderings[] = {LineOrdering::kBytes, LineOrdering::kNumeric, LineOrdering::kGeneral,
                                                 LineOrdering::kHuman, LineOrdering::kMonth,   LineOrdering::kVersion,
                                                 LineOrdering::kRandom};

inline const Byte* Data(const std::string& line) { return reinterpret_cast<const Byte*>(line.data()); }

inline int Compare(const std::string& a, const std::string& b, const LineOrderView& view) {
  return CompareLines(Data(a), a.size(), Data(b), b.size(), view);
}

inline std::string KeyOf(const std::string& line, const LineKey& key, int separator) {
  const KeyRange range = FindKey(Data(line), line.size(), key, separator);
  return line.substr(range.begin, range.size());
}

inline std::vector<std::string> WordsOf(LineOrdering ordering) {
  using namespace std::string_literals;
  const std::string digits(90, '7');
  const std::string zeros(70, '0');
  std::vector<std::string> words = {"a", "b", "A", "~", "_", ":", ",", "\0"s, "\1"s, "\2"s, "\x80"s, "\xff"s, "\t"};
  std::vector<std::string> more;
  switch (ordering) {
    case LineOrdering::kHost:
    case LineOrdering::kBytes:
    case LineOrdering::kRandom:
      more = {"aaaaaaaaaaaa", "\0\0\0\0"s, "aB", "Ab", " ", "\1\1"s};
      break;
    case LineOrdering::kNumeric:
    case LineOrdering::kHuman:
      more = {"-",
              "--",
              "+",
              ".",
              "-.5",
              ".5",
              "5.",
              "0",
              "-0",
              "00",
              "1",
              "10",
              "9",
              "-9",
              "K",
              "k",
              "M",
              "G",
              "Y",
              "E",
              " ",
              "1\x80"s,
              ".000",
              "05",
              "50",
              "T",
              "P",
              "Z",
              ".50",
              zeros,
              zeros + "3",
              digits,
              "-" + digits,
              "1K",
              "2k",
              "-1M",
              "." + zeros + "4",
              "-." + zeros + "1",
              digits + "." + digits};
      break;
    case LineOrdering::kGeneral:
      more = {"-",     "+",      ".",       "0",       "-0",       "1",
              "1e3",   "1e+3",   "1E-3",    "1e",      "e5",       "0x",
              "0x1p3", "0X.8",   "inf",     "-inf",    "+Inf",     "INFINITY",
              "infi",  "1e5000", "-1e5000", "1e-5000", "-1e-5000", "3e-4945",
              " ",     "\v"s,    digits,    "1000",    "999.99",   "1.0000000000000000000001",
              "i",     "n",      "x"};
      break;
    case LineOrdering::kMonth:
      more = {"JAN", "feb", "Mar", "APR", "may", "jUN", "July", "AUG",
              "SEP", "oct", "nov", "DEC", "JA",  "J",   "UN",   " "};
      break;
    case LineOrdering::kVersion:
      more = {".",  "..",  "1",  "0",    "01", "10", "9", "00", "~", "a~",
              ".a", ".a1", ".~", ".tar", "-",  "+",  "Z", "z",  " "};
      more.push_back(std::string(300, '8'));
      break;
  }
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), more.begin(), more.end());  // makes these words twice as likely
  return words;
}

/// Generates a line without newline (or without NUL, if `zero_terminated` is true).
inline rc::Gen<std::string> LineOf(LineOrdering ordering, bool zero_terminated = false) {
  std::vector<std::string> words = WordsOf(ordering);
  if (zero_terminated) {
    std::erase_if(words, [](const std::string& word) { return word.find('\0') != std::string::npos; });
    words.push_back("\n");
  }
  return rc::gen::map(rc::gen::scale(0.2, rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(words))),
                      [](const std::vector<std::string>& parts) {
                        std::string line;
                        for (const std::string& part : parts) line += part;
                        return line;
                      });
}

/// Generates `count` lines. Half of the lines begin with the same bytes.
inline rc::Gen<std::vector<std::string>> LinesOf(std::size_t count, LineOrdering ordering,
                                                 bool zero_terminated = false) {
  return rc::gen::exec([=] {
    const std::string common = *LineOf(ordering, zero_terminated);
    std::vector<std::string> lines(count);
    for (std::string& line : lines) {
      if (*rc::gen::arbitrary<bool>()) line = common;
      line += *LineOf(ordering, zero_terminated);
    }
    return lines;
  });
}

/// Generates a key position: usually one of the first few fields or bytes, sometimes a number near 2^64.
inline rc::Gen<std::uint64_t> Position() {
  return rc::gen::weightedOneOf<std::uint64_t>(
      {{20, rc::gen::inRange<std::uint64_t>(0, 4)},
       {1, rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 4), [](std::uint64_t below) { return ~below + 1; })}});
}

inline rc::Gen<bool> Sometimes() { return rc::gen::weightedElement<bool>({{3, false}, {1, true}}); }

inline rc::Gen<LineKey> KeyOf(LineOrdering ordering) {
  return rc::gen::exec([ordering] {
    LineKey key;
    key.ordering = ordering;
    if (*rc::gen::arbitrary<bool>()) key.begin_field = *Position();
    if (*Sometimes()) key.begin_char = *Position();
    if (*rc::gen::arbitrary<bool>()) {
      key.end_field = *Position();
      if (*Sometimes()) key.end_char = *Position();
    }
    key.skip_start_blanks = *Sometimes();
    key.skip_end_blanks = *Sometimes();
    key.dictionary_order = *Sometimes();
    key.ignore_nonprinting = *Sometimes();
    key.fold_case = *Sometimes();
    key.reverse = *Sometimes();
    return key;
  });
}

inline rc::Gen<int> Separator() { return rc::gen::weightedElement<int>({{4, -1}, {3, ':'}, {1, 0}, {1, 0x80}}); }

/// Generates an order of up to three keys whose first key has `ordering`. With kBytes the order sometimes has no keys.
inline rc::Gen<LineOrder> OrderOf(LineOrdering ordering) {
  return rc::gen::exec([ordering] {
    LineOrder order;
    if (ordering != LineOrdering::kBytes || !*Sometimes()) order.keys.push_back(*KeyOf(ordering));
    while (!order.keys.empty() && order.keys.size() < 3 && *Sometimes()) {
      order.keys.push_back(*rc::gen::mapcat(
          rc::gen::elementOf(std::vector<LineOrdering>(std::begin(kAllOrderings), std::end(kAllOrderings))),
          [](LineOrdering next) { return KeyOf(next); }));
    }
    order.separator = *Separator();
    order.last_resort = *rc::gen::arbitrary<bool>();
    order.last_resort_reverse = *Sometimes();
    order.salt[0] = *rc::gen::arbitrary<std::uint64_t>();
    return order;
  });
}

}  // namespace gpusort::testing

namespace rc {

inline void showValue(const gpusort::LineOrder& order, std::ostream& out) {
  for (const gpusort::LineKey& key : order.keys) {
    out << "key " << key.begin_field << '.' << key.begin_char << ' ' << key.end_field << '.' << key.end_char << " b"
        << key.skip_start_blanks << key.skip_end_blanks << " d" << key.dictionary_order << " i"
        << key.ignore_nonprinting << " f" << key.fold_case << " r" << key.reverse << " ordering "
        << static_cast<int>(key.ordering) << "; ";
  }
  out << "separator " << order.separator << " last resort " << order.last_resort << " reverse "
      << order.last_resort_reverse;
}

}  // namespace rc
