// labels: no_tsan
// The order of text lines. Tests tables of what GNU sort answers, compares the places of keys with a reference, and
// checks that CompareLines and EncodeChunk agree. tests/src/cli/key_def_test.cpp compares whole sorts with the system's
// sort.
#include "kernels/lines/line_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/cpu/cpu_line_merge.hpp"
#include "lines.hpp"

namespace gpusort {
namespace {

using namespace std::string_literals;
using testing::Compare;
using testing::Data;
using testing::KeyOf;
using Words = std::vector<std::string>;

constexpr std::uint64_t kMax = ~std::uint64_t{0};

int SignOf(int x) { return (x > 0) - (x < 0); }

LineOrder OneKey(LineOrdering ordering) {
  LineOrder order;
  order.keys.resize(1);
  order.keys[0].ordering = ordering;
  order.last_resort = false;
  return order;
}

/// A line in memory of exactly its size, so that a sanitizer finds every read after its end.
struct Exact {
  explicit Exact(const std::string& line) : size(line.size()), bytes(new Byte[line.size()]) {
    std::copy(line.begin(), line.end(), bytes.get());
  }
  std::size_t size;
  std::unique_ptr<Byte[]> bytes;
};

LineChunk Encode(const std::string& line, const LineOrderView& view, std::uint64_t skip) {
  const Exact exact(line);
  return EncodeChunk(exact.bytes.get(), exact.size, view, skip);
}

/// Returns the order of the first chunks that differ, or 0 if all chunks are equal until both keys have ended.
int CompareChunks(const std::string& a, const std::string& b, const LineOrderView& view) {
  for (std::uint64_t skip = 0;; skip += kEntryKeyBytes) {
    const LineChunk x = Encode(a, view, skip);
    const LineChunk y = Encode(b, view, skip);
    if (x.hi != y.hi) return x.hi < y.hi ? -1 : 1;
    if (x.lo != y.lo) return x.lo < y.lo ? -1 : 1;
    if (x.ended && y.ended) return 0;
  }
}

/// Checks that the groups are in ascending order and that the lines of a group are equal, by comparison and by chunks.
void ExpectGroups(const LineOrder& order, const std::vector<Words>& groups) {
  const LineOrderView view = order.view();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = 0; j < groups.size(); ++j) {
      for (const std::string& a : groups[i]) {
        for (const std::string& b : groups[j]) {
          const int expected = (i > j) - (i < j);
          EXPECT_EQ(SignOf(Compare(a, b, view)), expected) << ::testing::PrintToString(a) << " " << b;
          if (ChunksDecide(view)) {
            EXPECT_EQ(CompareChunks(a, b, view), expected) << ::testing::PrintToString(a) << " " << b;
          }
        }
      }
    }
  }
}

TEST(CompareLines, OrdersWholeLinesAsUnsignedBytes) {
  ExpectGroups(
      LineOrder{},
      {{""}, {"\0"s}, {"\0\0"s}, {" "}, {"A"}, {"a"}, {"a\0"s}, {"a\0b"s}, {"ab"}, {"\x7f"}, {"\x80"}, {"\xff"}});
  LineOrder reverse;
  reverse.last_resort_reverse = true;
  ExpectGroups(reverse, {{"b"}, {"ab"}, {"a\0"s}, {"a"}, {""}});
  reverse.last_resort = false;  // -s and -u have no effect without keys
  ExpectGroups(reverse, {{"b"}, {"ab"}, {"a\0"s}, {"a"}, {""}});
}

TEST(CompareLines, OrdersNumbersOfAnyLength) {
  const std::string big = "1" + std::string(400, '0');
  ExpectGroups(OneKey(LineOrdering::kNumeric),
               {{"-" + big + "0"},
                {"-" + big},
                {"-10", "  -10", "-010.0x"},
                {"-9"},
                {"-.5", "-0.50"},
                {"-0." + std::string(400, '0') + "1"},
                {"", "0", "-0", "+5", "- 5", "--5", "x", ".", "-", "-.0", "-x", "000.000", "\v1"},
                {"0." + std::string(400, '0') + "1", "." + std::string(400, '0') + "1"},
                {"." + std::string(300, '0') + "1"},
                {"." + std::string(60, '0') + "1"},
                {"." + std::string(59, '0') + "1"},
                {".5", "0.5", ".50", " .5-"},
                {"1", "1.", "01", "1e9", "1,000", "0001.000"},
                {"1.05"},
                {"1.5"},
                {"10"},
                {"12",
                 "1\x80"
                 "2"},  // a peculiarity of GNU sort: see kThousandsSeparator
                {big, "0" + big + ".0"},
                {big + ".1"},
                {"2" + std::string(400, '0')},
                {big + "0"}});
}

TEST(CompareLines, OrdersHumanNumbersBySuffixFirst) {
  ExpectGroups(OneKey(LineOrdering::kHuman), {{"-1Q"},
                                              {"-1R"},
                                              {"-2K", "-2k"},
                                              {"-1K"},
                                              {"-1000000"},
                                              {"0", "0K", "0Q", "-0G", "", "K"},
                                              {"1", "1x", "1 K", "1m"},
                                              {"5000"},
                                              {"1K", "1k", "1.K", "1Ki", " 1KB"},
                                              {"9999K"},
                                              {"1M"},
                                              {"1G"},
                                              {"1T"},
                                              {"1P"},
                                              {"1E"},
                                              {"1Z"},
                                              {".5Y"},
                                              {"1R"},
                                              {"1Q"}});
}

TEST(CompareLines, FoldsHumanSuffixes) {
  LineOrder order = OneKey(LineOrdering::kHuman);
  ExpectGroups(order, {{"1m", "1e", "1"}, {"1k", "1K"}, {"1M"}});
  order.keys[0].fold_case = true;
  ExpectGroups(order, {{"1"}, {"1k", "1K"}, {"1M", "1m"}, {"1e"}});
}

TEST(CompareLines, OrdersGeneralNumbersAsLongDouble) {
  ExpectGroups(OneKey(LineOrdering::kGeneral), {{"", "x", ".", "e5", "- 1", "+-1", "xinf"},
                                                {"-nan", "-NAN(12)"},
                                                {"nan", "NaN", "nan(7)", "+nan"},
                                                {"-inf", "-1e5000", "-INFINITY"},
                                                {"-1e4932"},
                                                {"-1"},
                                                {"-3.6e-4951"},
                                                {"0", "-0", "-1e-5000", "1e-5000", "0x0", "0e5"},
                                                {"3.6e-4951"},
                                                {"1e-3"},
                                                {"1", "1e", "1e+", "\v\f\r\n 1", "0x1", "0x.8p1",
                                                 "1.00000000000000000000001", "1" + std::string(100, ' ')},
                                                {"1.0000000000000000002"},
                                                {"15", "0xF", "0XF", "0xfg"},
                                                {"1e3", "1000", "1E3", "1e03"},
                                                {"1" + std::string(400, '0'), "1e400"},
                                                {"1e4932"},
                                                {"inf", "1e5000", "Infinity", "infinit", "+INF"}});
}

TEST(CompareLines, OrdersMonths) {
  ExpectGroups(OneKey(LineOrdering::kMonth), {{"", "J", "JA", "x", "JAx", "J\0N"s},
                                              {"JAN", "jan", " \tJanuary", "JANx"},
                                              {"FEB"},
                                              {"mar"},
                                              {"APR"},
                                              {"May"},
                                              {"JUN"},
                                              {"JUL"},
                                              {"AUG"},
                                              {"SEP"},
                                              {"OCT"},
                                              {"NOV"},
                                              {"DEC"}});
}

TEST(CompareLines, OrdersVersionsAsFilevercmp) {
  // A suffix must not be the whole name: ".0" comes before ".A", as in all releases except 9.1.
  ExpectGroups(OneKey(LineOrdering::kVersion), {{""},
                                                {"."},
                                                {".."},
                                                {".0", ".00"},
                                                {"..~"},
                                                {"..a"},
                                                {".9"},
                                                {".A"},
                                                {".a"},
                                                {".a.b"},
                                                {".a.b1"},
                                                {"~"},
                                                {"0", "00"},
                                                {"0.~1~"},
                                                {"0.b"},
                                                {"1"},
                                                {"1.5~"},
                                                {"1.5"},
                                                {"9"},
                                                {"10", "010"},
                                                {"a~"},
                                                {"a", "a0"},
                                                {"a.~1~"},
                                                {"a.b"},
                                                {"a.b1"},
                                                {"a.b2", "a.b02"},
                                                {"a.b10"},
                                                {"a1", "a01"},
                                                {"a1.tar.gz"},
                                                {"a1.5"},
                                                {"a2"},
                                                {"a10"},
                                                {"a" + std::string(300, '9')},
                                                {"ab"},
                                                {"a\0"s},
                                                {"a+"},
                                                {"a.5"},
                                                {"a\x80"},
                                                {"b"}});
}

TEST(CompareLines, OrdersRandomByMd5OfSaltAndKey) {
  LineOrder order = OneKey(LineOrdering::kRandom);
  order.salt[0] = order.salt[1] = 0x5353535353535353;
  // The expected value is that of: printf SSSSSSSSSSSSSSSSabc | md5sum
  EXPECT_EQ(Encode("abc", order.view(), 0).hi, 0x647089603657ada6u);
  const LineOrderView view = order.view();
  Words words;
  for (int i = 0; i < 100; ++i) words.push_back(std::to_string(i));
  for (const std::string& a : words) {
    for (const std::string& b : words) EXPECT_EQ(SignOf(Compare(a, b, view)), CompareChunks(a, b, view));
  }
}

TEST(Md5, AgreesWithTheRfc) {
  const auto hash = [](const std::string& text) {
    detail::Md5 md5;
    for (const char c : text) md5.Put(static_cast<unsigned char>(c));
    std::uint64_t digest[2];
    md5.Finish(digest);
    char hex[33];
    std::snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(digest[0]),
                  static_cast<unsigned long long>(digest[1]));
    return std::string(hex);
  };
  EXPECT_EQ(hash(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hash("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hash("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hash("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"), "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(hash("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(CompareLines, LetsLaterKeysAndTheLineBreakTies) {
  LineOrder order;
  order.keys.resize(2);
  order.keys[0].end_field = 0;
  order.keys[1].begin_field = 1;
  order.keys[1].ordering = LineOrdering::kNumeric;
  order.keys[1].reverse = true;
  ExpectGroups(order, {{"a 10"}, {"a 9"}, {"a 9 x"}, {"a"}, {"aa 5"}, {"b"}});
  order.last_resort = false;
  ExpectGroups(order, {{"a 10", "a 010 x"}, {"a 9", "a 9 x"}, {"a", "a x"}, {"aa"}});
}

TEST(CompareLines, IgnoresAndFolds) {
  LineOrder order = OneKey(LineOrdering::kBytes);
  order.keys[0].dictionary_order = true;
  order.keys[0].fold_case = true;
  ExpectGroups(order, {{"", "-", "\x80."}, {"\n"}, {" "}, {"a", "A", ".a"}, {"a b", "A- B"}, {"a_b", "AB"}});
  order.keys[0].ignore_nonprinting = true;  // -d wins
  ExpectGroups(order, {{"", "-"}, {"\t"}, {"a"}});
  order.keys[0].dictionary_order = order.keys[0].fold_case = false;
  ExpectGroups(order, {{"", "\t", "\x7f\x80\x1f"}, {" "}, {"-"}, {"A"}, {"a", "\0a\xff"s}, {"~"}});
}

struct Place {
  const char* line;
  LineKey key;
  int separator;
  const char* found;
};

LineKey Key(std::uint64_t begin_field, std::uint64_t begin_char, std::uint64_t end_field = LineKey::kToEnd,
            std::uint64_t end_char = 0, const char* blanks = "") {
  LineKey key;
  key.begin_field = begin_field;
  key.begin_char = begin_char;
  key.end_field = end_field;
  key.end_char = end_char;
  key.skip_start_blanks = std::string(blanks).find('s') != std::string::npos;
  key.skip_end_blanks = std::string(blanks).find('e') != std::string::npos;
  return key;
}

TEST(FindKey, FindsFieldsBytesAndBlanks) {
  const Place places[] = {
      {"a bb  ccc", Key(0, 0), -1, "a bb  ccc"},
      {"a bb  ccc", Key(1, 0), -1, " bb  ccc"},
      {"a bb  ccc", Key(2, 0, 2), -1, "  ccc"},
      {"a bb  ccc", Key(2, 0, 2, 0, "s"), -1, "ccc"},
      {"a bb  ccc", Key(1, 1, 2, 3), -1, "bb  c"},
      {"a bb  ccc", Key(1, 1, 2, 1, "e"), -1, "bb  c"},
      {"a bb  ccc", Key(1, 1, 1, 1, "s"), -1, ""},
      {"a bb  ccc", Key(3, 0), -1, ""},
      {"a bb  ccc", Key(2, 0, 1), -1, ""},
      {"a bb  ccc", Key(1, 0, 0, 7), -1, " bb  c"},
      {"  a b", Key(0, 0, 0), -1, "  a"},
      {"a:b::c", Key(1, 0, 1), ':', "b"},
      {"a:b::c", Key(2, 0, 2), ':', ""},
      {"a:b::c", Key(1, 0), ':', "b::c"},
      {"a:b::c", Key(0, 0, 2, 1), ':', "a:b::"},
      {"a:b:", Key(2, 0), ':', ""},
      {"a: b", Key(1, 0, 1, 1, "se"), ':', "b"},
      {"", Key(0, 0, 0, 1), ':', ""},
      {"abc", Key(0, kMax, kMax - 1, kMax), -1, ""},
      {"abc", Key(0, 1, kMax - 1, kMax), -1, "bc"},
      {"abc", Key(kMax - 1, kMax - 1, kMax - 1, kMax), ':', ""},
      {"abc", Key(0, 0, 0, kMax), ':', "abc"},
  };
  for (const Place& place : places) {
    EXPECT_EQ(KeyOf(place.line, place.key, place.separator), place.found)
        << place.line << " " << place.key.begin_field << "." << place.key.begin_char << " " << place.key.end_field;
  }
}

/// Tests a second field that ends in each of the blocks of 16 bytes that are searched at once, in memory of exactly the
/// size of the line.
TEST(FindKey, FindsSecondFieldsOfAllSizes) {
  const LineKey key = Key(1, 0, 1);
  for (const std::size_t first : {0, 1, 20, 40}) {
    for (std::size_t size = 0; size < 70; ++size) {
      for (const std::string& rest : {std::string(), std::string(":"), ":" + std::string(40, 'z'), ":z:"s}) {
        const std::string field(size, 'y'), line = std::string(first, 'x') + ":" + field + rest;
        const std::vector<Byte> exact(line.begin(), line.end());
        const KeyRange found = FindKey(exact.data(), exact.size(), key, ':');
        EXPECT_EQ(line.substr(found.begin, found.size()), field) << line;
      }
    }
  }
}

/// Finds a key with a list of all fields, as a reference.
std::string SlowKey(const std::string& line, const LineKey& key, int separator) {
  std::vector<std::pair<std::size_t, std::size_t>> fields;
  const auto blank = [&](std::size_t i) { return i < line.size() && " \t\n"s.find(line[i]) != std::string::npos; };
  for (std::size_t at = 0; at <= line.size();) {
    std::size_t end = at;
    if (separator >= 0) {
      end = std::min(line.find(static_cast<char>(separator), at), line.size());
      fields.emplace_back(at, end);
      at = end + 1;
    } else {
      while (blank(end)) ++end;
      while (end < line.size() && !blank(end)) ++end;
      if (at == line.size()) break;
      fields.emplace_back(at, end);
      at = end;
    }
  }
  const auto position = [&](std::uint64_t field, std::uint64_t bytes, bool skip_blanks) {
    std::size_t at = field < fields.size() ? fields[field].first : line.size();
    while (skip_blanks && blank(at)) ++at;
    return bytes < line.size() - at ? at + bytes : line.size();
  };
  const std::size_t begin = position(key.begin_field, key.begin_char, key.skip_start_blanks);
  std::size_t end = line.size();
  if (key.end_field < fields.size() && key.end_char == 0) end = fields[key.end_field].second;
  if (key.end_field != LineKey::kToEnd && key.end_char != 0) {
    end = position(key.end_field, key.end_char, key.skip_end_blanks);
  }
  return end > begin ? line.substr(begin, end - begin) : "";
}

RC_GTEST_PROP(FindKey, AgreesWithAListOfFields, ()) {
  const LineKey key = *testing::KeyOf(LineOrdering::kBytes);
  const int separator = *testing::Separator();
  const auto line = *rc::gen::container<std::string>(rc::gen::element('a', 'b', ':', ' ', '\t', '\n', '\0', '\x80'));
  RC_ASSERT(KeyOf(line, key, separator) == SlowKey(line, key, separator));
}

/// Tests lines of several times the 64 bytes that are searched at once, in memory of exactly their size.
RC_GTEST_PROP(FindKey, AgreesWithAListOfFieldsInLongLines, ()) {
  const LineKey key = *testing::KeyOf(LineOrdering::kBytes);
  const int separator = *testing::Separator();
  std::string line;
  const int words = *rc::gen::inRange(0, 12);
  for (int i = 0; i < words; ++i) {
    line.append(*rc::gen::inRange<std::size_t>(0, 70), 'x');
    line.append(*rc::gen::inRange<std::size_t>(0, 4), *rc::gen::element(' ', '\t', ':', '\n'));
  }
  const std::vector<Byte> exact(line.begin(), line.end());
  const KeyRange found = FindKey(exact.data(), exact.size(), key, separator);
  RC_ASSERT(line.substr(found.begin, found.size()) == SlowKey(line, key, separator));
}

/// Each kind of order has its own test cases, so that each gets enough of them.
class EveryOrdering : public ::testing::TestWithParam<LineOrdering> {};

std::string NameOf(const ::testing::TestParamInfo<LineOrdering>& test) {
  const char* const names[] = {"Bytes", "Numeric", "General", "Human", "Month", "Version", "Random"};
  return names[static_cast<int>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(LineOrder, EveryOrdering, ::testing::ValuesIn(testing::kAllOrderings), NameOf);

TEST_P(EveryOrdering, IsATotalPreorder) {
  EXPECT_TRUE(rc::check([] {
    const LineOrder order = *testing::OrderOf(GetParam());
    const LineOrderView view = order.view();
    const auto lines = *testing::LinesOf(4, GetParam());
    for (const std::string& a : lines) {
      RC_ASSERT(Compare(a, a, view) == 0);
      for (const std::string& b : lines) {
        RC_ASSERT(SignOf(Compare(a, b, view)) == -SignOf(Compare(b, a, view)));
        for (const std::string& c : lines) {
          if (Compare(a, b, view) <= 0 && Compare(b, c, view) <= 0) RC_ASSERT(Compare(a, c, view) <= 0);
        }
      }
    }
  }));
}

TEST_P(EveryOrdering, IsThatOfItsChunks) {
  EXPECT_TRUE(rc::check([] {
    const LineOrder order = *testing::OrderOf(GetParam());
    const LineOrderView view = order.view();
    const auto lines = *testing::LinesOf(5, GetParam());
    for (const std::string& a : lines) {
      for (const std::string& b : lines) {
        const int exact = SignOf(Compare(a, b, view));
        const int chunks = CompareChunks(a, b, view);
        if (chunks != 0 || ChunksDecide(view)) {
          RC_ASSERT(chunks == exact);
          continue;
        }
        // Only NULs at the end of plain bytes are left to CompareLines.
        if (exact != 0) RC_ASSERT(a.find('\0') != std::string::npos || b.find('\0') != std::string::npos);
      }
    }
  }));
}

TEST_P(EveryOrdering, HasChunksOfOneStringFromAnyByteOn) {
  EXPECT_TRUE(rc::check([] {
    const LineOrder order = *testing::OrderOf(GetParam());
    const LineOrderView view = order.view();
    const std::string line = *testing::LineOf(GetParam());
    std::vector<unsigned> bytes;
    bool ended = false;
    while (!ended) {
      const LineChunk chunk = Encode(line, view, bytes.size());
      for (unsigned i = 0; i < 8; ++i) bytes.push_back(chunk.hi >> (56 - 8 * i) & 0xFF);
      for (unsigned i = 0; i < 4; ++i) bytes.push_back(chunk.lo >> (24 - 8 * i) & 0xFF);
      ended = chunk.ended;
    }
    const std::uint64_t skip = *rc::gen::inRange<std::uint64_t>(0, bytes.size() + 30);
    const LineChunk chunk = Encode(line, view, skip);
    for (unsigned i = 0; i < 12 && skip + i < bytes.size(); ++i) {
      RC_ASSERT((i < 8 ? chunk.hi >> (56 - 8 * i) : chunk.lo >> (88 - 8 * i) & 0xFF) % 256 == bytes[skip + i]);
    }
    if (skip + 12 >= bytes.size()) RC_ASSERT(chunk.ended);
    if (skip + 24 <= bytes.size()) RC_ASSERT(!chunk.ended);
    RC_ASSERT(Encode(line, view, kMax).ended);
  }));
}

TEST_P(EveryOrdering, HasWideKeysOfFiveChunks) {
  EXPECT_TRUE(rc::check([] {
    const LineOrder order = *testing::OrderOf(GetParam());
    const LineOrderView view = order.view();
    const std::string line = *testing::LineOf(GetParam());
    const Exact exact(line);
    const std::uint64_t skip = *rc::gen::inRange<std::uint64_t>(0, 2 * line.size() + 30);
    detail::WideKey wide;
    std::memset(&wide, 0xA5, sizeof(wide));
    const detail::LineKeys keys(view);
    const RecordSpan own = std::as_bytes(std::span(exact.bytes.get(), exact.size));
    keys.Widen(own, skip, 7, wide);
    RC_ASSERT(wide.row == 7);
    for (const std::uint64_t at : {0, 12, 24, 36, 44}) {
      const LineChunk chunk = Encode(line, view, skip + at);
      RC_ASSERT(detail::LoadBigEndian(wide.bytes + at) == chunk.hi);
      RC_ASSERT(static_cast<std::uint32_t>(detail::LoadBigEndian(wide.bytes + at + 4)) == chunk.lo);
      if (at == 44) RC_ASSERT(wide.ended() == chunk.ended);
      const LineChunk same = keys.Chunk(own, skip + at);
      RC_ASSERT(std::tie(same.hi, same.lo, same.ended) == std::tie(chunk.hi, chunk.lo, chunk.ended));
    }
  }));
}

TEST_P(EveryOrdering, HasTheChunkBehindWhatKeysHaveInCommon) {
  EXPECT_TRUE(rc::check([] {
    const LineOrder order = *testing::OrderOf(GetParam());
    const LineOrderView view = order.view();
    const detail::LineKeys keys(view);
    const Exact first(*testing::LineOf(GetParam())), exact(*testing::LineOf(GetParam()));
    const RecordSpan a = std::as_bytes(std::span(first.bytes.get(), first.size));
    const RecordSpan b = std::as_bytes(std::span(exact.bytes.get(), exact.size));
    const detail::CommonKey key(keys, a);
    const std::uint64_t skip = *rc::gen::inRange<std::uint64_t>(0, key.most() + 1);
    std::uint64_t common = skip;
    const LineChunk chunk = key.Chunk(b, skip, common), expected = keys.Chunk(b, skip);
    RC_ASSERT(chunk.hi == expected.hi);
    RC_ASSERT(chunk.lo == expected.lo);
    RC_ASSERT(chunk.ended == expected.ended);
    RC_ASSERT(common == key.Find(b, skip));
    for (std::uint64_t at = 0; at < common; ++at) RC_ASSERT(keys.Chunk(a, at).hi >> 56 == keys.Chunk(b, at).hi >> 56);
    if (common < skip && !keys.plain()) {
      RC_ASSERT(keys.Chunk(a, common).hi >> 56 != keys.Chunk(b, common).hi >> 56);
    }
  }));
}

TEST_P(EveryOrdering, HasCodedChunksThatSortAsTheLinesDo) {
  EXPECT_TRUE(rc::check([] {
    const LineOrder order = *testing::OrderOf(GetParam());
    const LineOrderView view = order.view();
    const detail::LineKeys keys(view);
    const std::vector<std::string> texts = *testing::LinesOf(6, GetParam());
    const std::vector<Exact> lines(texts.begin(), texts.end());
    const auto own = [](const Exact& line) { return std::as_bytes(std::span(line.bytes.get(), line.size)); };
    const detail::CommonKey first(keys, own(lines[0]));
    std::uint64_t skip = *rc::gen::inRange<std::uint64_t>(0, first.most() + 1);
    for (const Exact& line : lines) skip = first.Find(own(line), skip);
    detail::KeyCode::Counts counts{};
    for (std::size_t i = 0; i < 3; ++i) first.Count(own(lines[i]), skip, counts);
    const detail::KeyCode code(counts);
    const auto coded = [&](const Exact& line) {
      std::uint64_t common = skip;
      const detail::KeyCode::Coded result = first.Code(own(line), skip, code, common);
      RC_ASSERT(common == skip);
      return result;
    };
    const auto byte_at = [&](const Exact& line, std::uint64_t at) { return keys.Chunk(own(line), at).hi >> 56; };
    for (const Exact& a : lines) {
      const detail::KeyCode::Coded x = coded(a);
      const std::uint64_t end = skip + x.bytes;
      if (x.chunk.ended) RC_ASSERT(keys.Chunk(own(a), end - std::min<std::uint64_t>(end, kEntryKeyBytes)).ended);
      for (const Exact& b : lines) {
        const detail::KeyCode::Coded y = coded(b);
        const int by_code = x.chunk.hi != y.chunk.hi ? (x.chunk.hi < y.chunk.hi ? -1 : 1)
                                                     : (x.chunk.lo > y.chunk.lo) - (x.chunk.lo < y.chunk.lo);
        const int by_line = SignOf(keys.Compare(own(a), own(b)));
        if (by_code != 0) {
          RC_ASSERT(by_code == by_line);
          continue;
        }
        if (x.chunk.ended && y.chunk.ended && ChunksDecide(view)) RC_ASSERT(by_line == 0);
        for (std::uint64_t at = skip; at < end; ++at) RC_ASSERT(byte_at(a, at) == byte_at(b, at));
      }
    }
  }));
}

TEST(KeyCode, GivesFewBitsToCommonBytesAndSomeToAllOthers) {
  const auto bytes = [](const std::string& text) {
    return std::span<const Byte>(reinterpret_cast<const Byte*>(text.data()), text.size());
  };
  const std::string digits = "01234567890123456789", zeros(100, '\0'), last(1, '\xFF');
  detail::KeyCode::Counts counts{};
  for (char c = '0'; c <= '9'; ++c) counts[static_cast<Byte>(c)] = 1000;
  const detail::KeyCode code(counts);
  EXPECT_EQ(code.Encode(bytes(digits), 0).bytes, digits.size());
  EXPECT_TRUE(code.Encode(bytes(digits), 0).chunk.ended);
  EXPECT_FALSE(code.Encode(bytes(digits + digits), 0).chunk.ended);
  EXPECT_GE(code.least_bytes(), 4);
  detail::KeyCode::Counts ones{};
  ones[0xFF] = 1000;
  EXPECT_EQ(detail::KeyCode(ones).Encode(bytes(std::string(100, '\xFF')), 0).bytes, 96);
  EXPECT_GE(code.Encode(bytes(zeros), 0).bytes, code.least_bytes());
  EXPECT_EQ(code.Encode(bytes(zeros), 0).chunk.hi, 0);
  EXPECT_EQ(code.Encode({}, 0).chunk.hi, 0);
  // The complement of 255 is 0, and ones follow the end.
  EXPECT_EQ(code.Encode(bytes(last), 0xFF).chunk.hi >> 60, 0);
  EXPECT_EQ(code.Encode(bytes(last), 0xFF).chunk.lo, ~std::uint32_t{0});
}

TEST(EncodeChunk, LeavesAPlainLastKeyAsItIs) {
  LineOrder whole;
  const LineChunk chunk = Encode("abcdefghijklm", whole.view(), 0);
  EXPECT_EQ(chunk.hi, 0x6162636465666768u);
  EXPECT_EQ(chunk.lo, 0x696a6b6cu);
  EXPECT_FALSE(chunk.ended);
  const LineChunk next = Encode("abcdefghijklm", whole.view(), 12);
  EXPECT_EQ(next.hi, 0x6d00000000000000u);
  EXPECT_EQ(next.lo, 0u);
  EXPECT_TRUE(next.ended);

  LineOrder field = OneKey(LineOrdering::kBytes);
  field.keys[0].begin_field = 1;
  field.keys[0].reverse = true;
  field.separator = ':';
  const LineChunk reversed = Encode("x:ab", field.view(), 0);
  EXPECT_EQ(reversed.hi, ~std::uint64_t{0x6162000000000000});
  EXPECT_EQ(reversed.lo, ~0u);
  EXPECT_TRUE(reversed.ended);
}

TEST(EncodeChunk, EscapesBytesInFrontOfOthers) {
  // Tests all keys of up to three bytes near the escapes, at the start, after seven other bytes, and before other
  // bytes.
  Words keys = {""};
  for (std::size_t i = 0; keys[i].size() < 3; ++i) {
    for (const char c : {'\0', '\1', '\2', '\xff'}) keys.push_back(keys[i] + c);
  }
  for (const char* const common : {"", "aaaaaaa"}) {
    Words lines;
    for (const std::string& key : keys) {
      for (const char* const rest : {"", "\1", "\xff"}) lines.push_back(common + key + ":" + rest);
    }
    LineOrder order = OneKey(LineOrdering::kBytes);
    order.separator = ':';
    order.keys[0].end_field = 0;
    order.last_resort = true;
    for (const bool reverse : {false, true}) {
      order.keys[0].reverse = reverse;
      const LineOrderView view = order.view();
      for (const std::string& a : lines) {
        for (const std::string& b : lines) ASSERT_EQ(CompareChunks(a, b, view), SignOf(Compare(a, b, view)));
      }
    }
  }
}

TEST(EncodeChunk, HoldsANumberOfTwentyDigits) {
  const LineOrder order = OneKey(LineOrdering::kNumeric);
  EXPECT_TRUE(Encode("-12345678901234567890", order.view(), 0).ended);
  EXPECT_FALSE(Encode("-123456789012345678901", order.view(), 0).ended);
}

TEST(LineOrder, SaysWhatAnOrderNeeds) {
  LineOrder order;
  EXPECT_FALSE(NeedsHost(order.view()));
  EXPECT_FALSE(ChunksDecide(order.view()));
  order.keys.resize(1);
  order.last_resort = false;
  EXPECT_FALSE(ChunksDecide(order.view()));
  LineOrderView without_nul = order.view();
  without_nul.nul_free = true;
  EXPECT_TRUE(ChunksDecide(without_nul));
  order.keys[0].fold_case = true;
  EXPECT_TRUE(ChunksDecide(order.view()));
  order.keys.resize(2);
  order.keys[1].ordering = LineOrdering::kGeneral;
  EXPECT_TRUE(NeedsHost(order.view()));
}

}  // namespace
}  // namespace gpusort
