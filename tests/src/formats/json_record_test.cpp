// Tests the search for values in lines of JSON. In random documents, written in random ways, every value is found with
// its kind. nlohmann-json decides what is valid JSON.
#include "formats/json_record.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json_oracle.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using namespace std::string_literals;
using Kind = JsonValue::Kind;
using testing::IsJson;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The kind and the text of the value at each path.
using Found = std::vector<std::pair<Kind, std::string>>;

Found Find(JsonRecords& records, std::size_t paths, std::string_view line) {
  std::vector<JsonValue> values(paths);
  records.Find(Bytes(line), values);
  Found found;
  for (const JsonValue& value : values) {
    found.emplace_back(value.kind, value.text);
  }
  return found;
}

Found Find(const std::vector<std::string>& paths, std::string_view line) {
  JsonRecords records(std::vector<JsonPath>(paths.begin(), paths.end()));
  return Find(records, paths.size(), line);
}

std::pair<Kind, std::string> FindOne(const std::string& path, std::string_view line) { return Find({path}, line)[0]; }

/// Returns the position of the byte about which JsonRecords complains, or -1.
std::ptrdiff_t BadByte(std::string_view line) {
  try {
    JsonRecords({}).Find(Bytes(line), {});
  } catch (const JsonError& error) {
    return static_cast<std::ptrdiff_t>(error.byte());
  }
  return -1;
}

bool IsJsonHere(std::string_view line) { return BadByte(line) < 0; }

/// Returns a random number below `end` that does not depend on the size of the case, so that small cases are varied,
/// too.
std::size_t Below(std::size_t end) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, end)); }

/// A document: its meaning, and its text.
struct Doc {
  Kind kind = Kind::kNull;
  std::string text;  ///< like JsonValue::text, also for arrays and objects, set when the document is written
  std::vector<std::pair<std::string, Doc>> parts;  ///< elements of arrays have no name
};

/// Returns one of a few names, so that paths and documents often have names in common.
std::string AnyName() {
  return *rc::gen::element(""s, "a"s, "b"s, "0"s, "1"s, "a.b"s, "/~"s, "\"\\"s, "\xc3\xb6"s, "\n"s);
}

std::string AnyCharacter() {
  return *rc::gen::element("a"s, "b"s, "\""s, "\\"s, "/"s, "\0"s, "\n"s, "\x1f"s, "\x7f"s, "\xc3\xb6"s, "\xe2\x82\xac"s,
                           "\xef\xbf\xbf"s, "\xf0\x9f\x98\x80"s, "\xf4\x8f\xbf\xbf"s, "{"s, "]"s, ","s, "long enough"s);
}

std::string AnyString() {
  std::string text;
  for (std::size_t i = Below(6); i > 0; --i) text += AnyCharacter();
  return text;
}

std::string AnyDigits(std::size_t most) {
  std::string digits(1 + Below(most), '0');
  for (char& digit : digits) digit = static_cast<char>('0' + Below(10));
  return digits;
}

std::string AnyNumber() {
  std::string text = *rc::gen::element(""s, "-"s);
  const std::size_t digits = *rc::gen::element(3, 3, 30, 400);
  text += *rc::gen::arbitrary<bool>() ? "0"s : *rc::gen::element("1"s, "9"s) + AnyDigits(digits);
  if (*rc::gen::arbitrary<bool>()) text += "." + AnyDigits(digits);
  if (*rc::gen::arbitrary<bool>()) {
    text += *rc::gen::element("e"s, "E"s, "e+"s, "E-"s) + AnyDigits(4);
  }
  return text;
}

Doc AnyDoc(int depth) {
  Doc doc;
  switch (Below(4 + 4 * static_cast<std::size_t>(depth))) {
    case 0:
      doc.text = "null";
      break;
    case 1:
      doc = {Kind::kBool, *rc::gen::element("true"s, "false"s), {}};
      break;
    case 2:
      doc = {Kind::kNumber, AnyNumber(), {}};
      break;
    case 3:
      doc = {Kind::kString, AnyString(), {}};
      break;
    default:
      doc.kind = *rc::gen::element(Kind::kArray, Kind::kObject);
      for (std::size_t i = Below(6); i > 0; --i) {
        doc.parts.emplace_back(doc.kind == Kind::kObject ? AnyName() : "", AnyDoc(depth - 1));
      }
  }
  return doc;
}

/// A list of random choices that is read cyclically: one random draw for each document is enough for blanks and
/// escapes.
class Choices {
 public:
  Choices() : choices_(31) {
    for (std::size_t& choice : choices_) choice = Below(48);
  }
  std::size_t Next(std::size_t below) { return choices_[at_++ % choices_.size()] % below; }
  std::string Blanks() {
    static const char* const kBlanks[] = {"", "", "", "", " ", "\t", "\r", " \n  "};
    return kBlanks[Next(8)];
  }

 private:
  std::vector<std::size_t> choices_;
  std::size_t at_ = 0;
};

void WriteUnit(unsigned unit, std::string& out, Choices& choices) {
  const char* const digits = choices.Next(2) == 0 ? "0123456789abcdef" : "0123456789ABCDEF";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[unit >> shift & 15];
}

void WriteString(const std::string& text, std::string& out, Choices& choices) {
  static const std::string kShort = "\"\\/\b\f\n\r\t", kLetters = "\"\\/bfnrt";
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const bool needs_escape = lead < ' ' || lead == '"' || lead == '\\';
    const std::size_t letter = kShort.find(text[i]);
    if (letter != std::string::npos && choices.Next(2) == 0) {
      out += {'\\', kLetters[letter]};
    } else if (needs_escape || choices.Next(3) == 0) {
      unsigned c = size == 1 ? lead : lead & (0x7fu >> size);
      for (std::size_t k = 1; k < size; ++k) c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
      if (c >= 0x10000) WriteUnit(0xd800 + ((c - 0x10000) >> 10), out, choices);
      WriteUnit(c >= 0x10000 ? 0xdc00 + (c & 0x3ff) : c, out, choices);
    } else {
      out += text.substr(i, size);
    }
    i += size;
  }
  out += '"';
}

void Write(Doc& doc, std::string& out, Choices& choices) {
  if (doc.kind == Kind::kString) return WriteString(doc.text, out, choices);
  const std::size_t begin = out.size();
  if (doc.kind == Kind::kArray || doc.kind == Kind::kObject) {
    const bool object = doc.kind == Kind::kObject;
    out += (object ? "{" : "[") + choices.Blanks();
    for (std::size_t i = 0; i < doc.parts.size(); ++i) {
      if (i > 0) out += "," + choices.Blanks();
      if (object) {
        WriteString(doc.parts[i].first, out, choices);
        out += choices.Blanks() + ":" + choices.Blanks();
      }
      Write(doc.parts[i].second, out, choices);
      out += choices.Blanks();
    }
    out += object ? '}' : ']';
    doc.text = out.substr(begin);
  } else {
    out += doc.text;
  }
}

std::string WriteLine(Doc& doc) {
  Choices choices;
  std::string line = choices.Blanks();
  Write(doc, line, choices);
  return line + choices.Blanks();
}

std::string Pointer(const std::string& name) {
  std::string token = "/";
  for (const char c : name) token += c == '~' ? "~0"s : c == '/' ? "~1"s : std::string(1, c);
  return token;
}

/// Returns a random path into the document, and the value there. Some paths lead to no value; the pointer is then null.
std::pair<std::string, const Doc*> AnyPath(const Doc& doc) {
  std::string pointer, dotted;
  const Doc* at = &doc;
  bool only_pointer = false;
  do {
    const bool object = at != nullptr && at->kind == Kind::kObject;
    const std::size_t size = at != nullptr ? at->parts.size() : 0;
    const std::size_t i = Below(size + 1);
    const std::string name = object && i < size ? at->parts[i].first : AnyName();
    if (object) {
      const auto part = std::ranges::find(at->parts, name, [](const auto& member) { return member.first; });
      at = part != at->parts.end() ? &part->second : nullptr;
      pointer += Pointer(name);
      dotted += (dotted.empty() ? "" : ".") + name;
      only_pointer = only_pointer || name.empty() || name.find_first_of(".[]/") != std::string::npos;
    } else {
      at = i < size ? &at->parts[i].second : nullptr;
      pointer += "/" + std::to_string(i);
      dotted += "[" + std::to_string(i) + "]";
    }
  } while (at != nullptr && Below(8) > (at->parts.empty() ? 6 : 1));
  return {only_pointer || *rc::gen::arbitrary<bool>() ? pointer : dotted, at};
}

RC_GTEST_PROP(JsonRecords, FindsWhatWasWritten, ()) {
  Doc doc = AnyDoc(4);
  const std::string line = WriteLine(doc);
  RC_LOG() << line << '\n';
  RC_ASSERT(IsJson(line));
  std::vector<std::string> paths;
  Found expected;
  for (std::size_t i = Below(8); i > 0; --i) {
    const auto [path, part] = AnyPath(doc);
    paths.push_back(path);
    expected.push_back(part != nullptr ? std::pair(part->kind, part->text) : std::pair(Kind::kMissing, ""s));
  }
  JsonRecords records(std::vector<JsonPath>(paths.begin(), paths.end()));
  for (int again = 0; again < 3; ++again) {
    const Found found = Find(records, paths.size(), line);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      RC_LOG() << paths[i] << '\n';
      RC_ASSERT(found[i] == expected[i]);
    }
    // A line that is not JSON must not change the results for the next line.
    if (line.find_first_of("{[\"") != std::string::npos) {
      RC_ASSERT_THROWS_AS(Find(records, paths.size(), line.substr(0, line.find_last_of("}]\""))), JsonError);
    }
  }
}

RC_GTEST_PROP(JsonRecords, AgreesWithNlohmannAboutMutants, ()) {
  Doc doc = AnyDoc(3);
  std::string line = WriteLine(doc);
  for (std::size_t i = 1 + Below(2); i > 0 && !line.empty(); --i) {
    const std::size_t at = Below(line.size());
    const auto any = rc::gen::weightedOneOf<char>(
        {{3, rc::gen::elementOf("{}[],:\"\\/0123456789eE+-. \t\r\nutfbnrald\x01\x7f\xc0\xed\xa0\x80\xf4\x90"s)},
         {1, rc::gen::arbitrary<char>()}});
    switch (Below(10)) {
      case 0:
      case 1:
      case 2:
        line.erase(at, 1);
        break;
      case 3:
      case 4:
      case 5:
        line.insert(at, 1, *any);
        break;
      case 6:
        line.resize(at);
        break;
      default:
        line[at] = *any;
    }
  }
  RC_PRE(line.find_first_not_of(" \t\r\n") != std::string::npos);
  RC_LOG() << line << '\n';
  RC_CLASSIFY(IsJson(line), "still JSON");
  RC_ASSERT(IsJsonHere(line) == IsJson(line));
}

RC_GTEST_PROP(JsonRecords, SaysTheFirstByteThatNoTextBehindItCouldMend, ()) {
  Doc doc = AnyDoc(3);
  const std::string line = WriteLine(doc);
  const std::size_t at = Below(line.size() + 1);
  const std::string cut = line.substr(0, at);
  const std::ptrdiff_t bad = BadByte(cut + "\x01");  // the whole is never JSON, but its front is a valid beginning
  RC_LOG() << cut << '\n';
  RC_ASSERT(bad >= 0 && bad <= static_cast<std::ptrdiff_t>(at));
  // The bad byte may come after the start of a token: a word, an escape or a character of several bytes.
  RC_ASSERT(static_cast<std::ptrdiff_t>(at) - bad < 6);
}

TEST(JsonPath, TakesNamesAndElements) {
  const auto steps = [](const char* text) { return JsonPath(text).steps(); };
  using Steps = std::vector<JsonPath::Step>;
  const auto none = std::nullopt;
  EXPECT_EQ(steps("a"), (Steps{{"a", none}}));
  EXPECT_EQ(steps("a b.0[12][0].$"), (Steps{{"a b", none}, {"0", none}, {none, 12}, {none, 0}, {"$", none}}));
  EXPECT_EQ(steps("[0]"), (Steps{{none, 0}}));
  EXPECT_EQ(steps("[0].a/b"), (Steps{{none, 0}, {"a/b", none}}));
  EXPECT_EQ(steps("/"), (Steps{{"", none}}));
  EXPECT_EQ(steps("/a.b/~01~1/0/10/01/-"),
            (Steps{{"a.b", none}, {"~1/", none}, {"0", 0}, {"10", 10}, {"01", none}, {"-", none}}));
  EXPECT_EQ(steps("//18446744073709551615/18446744073709551616"),
            (Steps{{"", none}, {"18446744073709551615", ~0ull}, {"18446744073709551616", none}}));
}

TEST(JsonPath, TakesTheDollarOfJsonPath) {
  const auto steps = [](const char* text) { return JsonPath(text).steps(); };
  EXPECT_EQ(steps("$.a.b[0]"), steps("a.b[0]"));
  EXPECT_EQ(steps("$[0].a"), steps("[0].a"));
  EXPECT_EQ(steps("$"), steps("/$"));
  EXPECT_EQ(steps("_id.$oid"), steps("/_id/$oid"));
  EXPECT_THROW(JsonPath("$."), Error);
}

TEST(JsonPath, RefusesWhatIsNeither) {
  for (const char* text : {"",
                           ".",
                           "a.",
                           ".a",
                           "a..b",
                           "[",
                           "[x]",
                           "[]",
                           "[1",
                           "[-1]",
                           "[+1]",
                           "[01]",
                           "[ 1]",
                           "a]",
                           "]",
                           "a[0]b",
                           "a[0].",
                           "a.[0]",
                           "[18446744073709551616]",
                           "/~",
                           "/~2",
                           "/a~"}) {
    try {
      JsonPath path(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("JSON Pointer"), std::string::npos) << error.what();
    }
  }
}

TEST(JsonRecords, FindsTheFirstOfMembersWithOneName) {
  EXPECT_EQ(Find({"a", "a.b", "a.c"}, R"({"a":{"b":1},"a":{"b":2,"c":3},"\u0061":4})"),
            (Found{{Kind::kObject, R"({"b":1})"}, {Kind::kNumber, "1"}, {Kind::kMissing, ""}}));
  EXPECT_EQ(FindOne("a.b", R"({"a":1,"a":{"b":2}})").first, Kind::kMissing);
  EXPECT_EQ(FindOne("a", R"({"a":null,"a":2})").first, Kind::kNull);
}

TEST(JsonRecords, SaysWhichMemberRepeatsAPath) {
  JsonRecords records({JsonPath("k"), JsonPath("n"), JsonPath("/a/0")}, 1);
  std::vector<JsonValue> values(3);
  const auto repeated = [&](std::string_view line) {
    records.Find(Bytes(line), values);
    return records.repeated();
  };
  EXPECT_EQ(repeated(R"({"n":1,"n":2,"n":3})"), 7u);
  EXPECT_EQ(repeated(R"({"k":1,"k":2,"n":1,"a":[5,6],"x":{"n":1,"n":2}})"), std::nullopt);
  EXPECT_EQ(repeated(R"({"n":null, "\u006e":2})"), 11u);
  EXPECT_EQ(repeated(R"({"a":{"1":1,"0":1,"0":2}})"), 18u);
  EXPECT_EQ(repeated(R"({"a":[1,1],"a":5})"), 11u);
  EXPECT_EQ(repeated(R"([{"n":1},{"n":2}])"), std::nullopt);
}

TEST(JsonRecords, TakesDigitsOfAPointerForElementsOrNames) {
  EXPECT_EQ(Find({"/0", "[0]"}, R"([7])"), (Found{{Kind::kNumber, "7"}, {Kind::kNumber, "7"}}));
  EXPECT_EQ(Find({"/0", "[0]", "0"}, R"({"0":7})"),
            (Found{{Kind::kNumber, "7"}, {Kind::kMissing, ""}, {Kind::kNumber, "7"}}));
  EXPECT_EQ(FindOne("/00", "[7]").first, Kind::kMissing);
  EXPECT_EQ(FindOne("/", R"({"":7})").second, "7");
}

TEST(JsonRecords, GivesEachOfEqualPathsItsValue) {
  EXPECT_EQ(Find({"a", "b", "/a", "a"}, R"({"a":[1 ],"b":"\n"})"),
            (Found{{Kind::kArray, "[1 ]"}, {Kind::kString, "\n"}, {Kind::kArray, "[1 ]"}, {Kind::kArray, "[1 ]"}}));
}

TEST(JsonRecords, LineWithoutAnythingLacksAllValues) {
  for (const char* line : {"", " ", "\r", "\n", " \t\r\n"}) EXPECT_EQ(FindOne("a", line).first, Kind::kMissing);
}

TEST(JsonRecords, TakesEndsOfLinesForBlanks) {
  for (const char* end : {"\n", "\r\n", "\r", " \t"}) EXPECT_EQ(FindOne("a", R"({"a":1})"s + end).second, "1");
  EXPECT_EQ(BadByte("{\"a\":1}\n0"), 8);
  EXPECT_EQ(BadByte("{\"a\":1}\0"s), 7);
}

TEST(JsonRecords, KeepsNumbersAsTheyAreWritten) {
  for (const std::string& number : {std::string(400, '7'), "-" + std::string(400, '1') + "." + std::string(400, '0'),
                                    "1e999999999999"s, "-0"s, "-0.0E-0"s, "1.10"s}) {
    EXPECT_EQ(FindOne("a", "{\"a\":" + number + "}"), std::pair(Kind::kNumber, number));
    EXPECT_EQ(FindOne("a", number).first, Kind::kMissing);
  }
  EXPECT_EQ(BadByte("01"), 1);
  EXPECT_EQ(BadByte("-"), 1);
  EXPECT_EQ(BadByte("1."), 2);
  EXPECT_EQ(BadByte("1.e1"), 2);
  EXPECT_EQ(BadByte("1e+"), 3);
  EXPECT_EQ(BadByte("+1"), 0);
  EXPECT_EQ(BadByte(".1"), 0);
  EXPECT_EQ(BadByte("[NaN]"), 1);
}

TEST(JsonRecords, ReplacesHalvesOfSurrogatePairs) {
  const std::string half = "\xef\xbf\xbd";
  EXPECT_EQ(FindOne("[0]", R"(["\ud83d\ude00"])").second, "\xf0\x9f\x98\x80");
  EXPECT_EQ(FindOne("[0]", R"(["\ud83d"])").second, half);
  EXPECT_EQ(FindOne("[0]", R"(["\uDE00\uD83D"])").second, half + half);
  EXPECT_EQ(FindOne("[0]", R"(["\uD83D\uD83D\uDE00x"])").second, half + "\xf0\x9f\x98\x80x");
  EXPECT_EQ(FindOne("[0]", R"(["\ud83d\n"])").second, half + "\n");
  EXPECT_EQ(FindOne("[0]", R"(["\ud83d\u0041"])").second, half + "A");
}

TEST(JsonRecords, RefusesOtherThanUtf8) {
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(BadByte("[\"ok\", \"12345678"s + bad + "\"]"), 16);
    EXPECT_EQ(BadByte("\""s + bad), 1);  // at the end of the readable bytes
    EXPECT_EQ(BadByte("[1]"s + bad), 3);
  }
  EXPECT_EQ(BadByte("\xef\xbb\xbf[1]"), 0);
}

TEST(JsonRecords, SaysWhichByteIsNotJson) {
  EXPECT_EQ(BadByte("\"a\0b\""s), 2);
  EXPECT_EQ(BadByte("\"a\nb\""), 2);
  EXPECT_EQ(BadByte("\"12345678\\x\""), 9);
  EXPECT_EQ(BadByte("\"\\u12g4\""), 1);
  EXPECT_EQ(BadByte("\"\\"), 1);
  EXPECT_EQ(BadByte("\"abc"), 4);
  EXPECT_EQ(BadByte("{\"a\" 1}"), 5);
  EXPECT_EQ(BadByte("{a:1}"), 1);
  EXPECT_EQ(BadByte("[1,]"), 3);
  EXPECT_EQ(BadByte("[1}"), 2);
  EXPECT_EQ(BadByte("{\"a\":1,}"), 7);
  EXPECT_EQ(BadByte("[1 2]"), 3);
  EXPECT_EQ(BadByte("[1] [2]"), 4);
  EXPECT_EQ(BadByte("{}}"), 2);
  EXPECT_EQ(BadByte("tru"), 0);
  EXPECT_EQ(BadByte("nulls"), 4);
  EXPECT_EQ(BadByte("[\"a\""), 4);
}

TEST(JsonRecords, GoesAThousandLevelsDeep) {
  const auto arrays = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(IsJsonHere(arrays(JsonRecords::kMaxDepth)));
  EXPECT_EQ(BadByte(arrays(JsonRecords::kMaxDepth + 1)), JsonRecords::kMaxDepth);
  EXPECT_EQ(BadByte(std::string(1 << 20, '[')), JsonRecords::kMaxDepth);
  std::string path, line, end;
  for (std::size_t i = 0; i < JsonRecords::kMaxDepth; ++i) {
    path += i % 2 == 0 ? "/a" : "/0";
    line += i % 2 == 0 ? "{\"a\":" : "[";
    end.insert(0, i % 2 == 0 ? "}" : "]");
  }
  EXPECT_EQ(FindOne(path, line + "7" + end), std::pair(Kind::kNumber, "7"s));
}

}  // namespace
}  // namespace gpusort
