#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cut_records.hpp"
#include "formats/formats.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

struct Paragraph {
  std::string bytes;
  std::map<std::string, std::string> values;  // the first value of each name, in lower case
};

struct Parsed {
  std::string header, trailer;
  std::vector<Paragraph> paragraphs;
  bool bad = false;
};

std::string Trimmed(std::string text) { return text.erase(text.find_last_not_of(" \t\r\n") + 1); }

// Parses whole lines. `text` ends with a blank line, or is empty.
Parsed ParseSlowly(const std::string& text) {
  Parsed parsed;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::min(text.find('\n', at), text.size() - 1) + 1 - at;
    lines.push_back(text.substr(at, size));
    at += size;
  }
  const auto is_blank = [](const std::string& line) { return line == "\n" || line == "\r\n"; };
  std::size_t i = 0;
  while (i < lines.size() && is_blank(lines[i])) parsed.header += lines[i++];
  while (i < lines.size()) {
    Paragraph paragraph;
    while (i < lines.size() && (is_blank(lines[i]) || lines[i][0] == '#')) paragraph.bytes += lines[i++];
    if (i == lines.size()) {
      parsed.trailer = paragraph.bytes;
      break;
    }
    parsed.bad |= lines[i][0] == '\r';
    std::string* value = nullptr;
    for (; i < lines.size() && !is_blank(lines[i]); paragraph.bytes += lines[i++]) {
      const std::string& line = lines[i];
      if (line[0] == '#') continue;
      if (line[0] == ' ' || line[0] == '\t') {
        if (value != nullptr) *value += line;
        continue;
      }
      value = nullptr;
      const std::size_t colon = line.find(':');
      if (colon == line.npos) continue;
      std::string name = Trimmed(line.substr(0, colon));
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      const auto [place, added] = paragraph.values.emplace(name, "");
      if (!added) continue;
      value = &place->second;
      *value = line.substr(std::min(line.find_first_not_of(" \t", colon + 1), line.size()));
    }
    while (i < lines.size() && is_blank(lines[i])) paragraph.bytes += lines[i++];
    parsed.paragraphs.push_back(std::move(paragraph));
  }
  return parsed;
}

JobSpec ParagraphsSpec(std::vector<std::string> args) {
  args.insert(args.begin(), {"--format", "paragraphs"});
  args.insert(args.end(), {"in", "out"});
  return Parse(args);
}

// The text with the blank line that its last record lacks.
std::string Ended(const TableFormat& format, const std::string& text) {
  if (text.empty()) return text;
  const RecordSpan all = Span(text);
  return text + format.Ending({}, all.last(std::min(all.size(), RecordFormat::kTailBytes)));
}

std::string AnyText() {
  std::string text;
  const auto tokens = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "A", "b", "a: ", "B:", "a:3", "b :  x", " ", "\t", "\n", "\n", "\n", "\r\n", "\r\n\r\n", "\r", "#", "\n\n"));
  for (const std::string& token : tokens) text += token;
  return text;
}

TEST(ParagraphsFormat, EndsALineOfReturnsWithABlankLine) {
  const JobSpec spec = ParagraphsSpec({});
  const std::unique_ptr<TableFormat> made = MakeParagraphsFormat(spec);
  const TableFormat& format = *made;
  EXPECT_EQ(Ended(format, "\r\r\n"), "\r\r\n\r\n");
  EXPECT_EQ(Ended(format, "\r\n\n"), "\r\n\n");
}

RC_GTEST_PROP(ParagraphsFormat, ReadsAsASlowParser, ()) {
  const JobSpec spec = ParagraphsSpec({"-k", "A", "-k", "b:int:desc", "-k", "a:nocase"});
  const std::unique_ptr<TableFormat> made = MakeParagraphsFormat(spec);
  const TableFormat& format = *made;
  const std::string text = Ended(format, AnyText());
  const Parsed parsed = ParseSlowly(text);
  const std::uint64_t header = *format.HeaderBytes(Span(text), true);
  RC_ASSERT(text.substr(0, header) == parsed.header);
  if (!parsed.paragraphs.empty() && parsed.trailer.empty()) {
    const std::string& last = parsed.paragraphs.back().bytes;
    RC_ASSERT((last.ends_with("\n\n") || last.ends_with("\n\r\n")));
  }
  const CutInput cut =
      CutEverywhere(format, text.substr(header), [](std::size_t) { RC_FAIL("the cuts of blocks matter"); });
  RC_ASSERT(cut.error.empty() != parsed.bad);
  if (parsed.bad) return;
  RC_ASSERT(cut.trailer == parsed.trailer);
  RC_ASSERT(cut.records.size() == parsed.paragraphs.size());
  for (std::size_t i = 0; i < cut.records.size(); ++i) {
    const Paragraph& paragraph = parsed.paragraphs[i];
    RC_ASSERT(cut.records[i].body == paragraph.bytes);
    const std::string key = KeyBytes([&](FieldWriter& out) {
      for (const ColumnKey& column : spec.source.table->keys) {
        const ValueKey value(column.rule);
        const auto found = paragraph.values.find(column.column == "b" ? "b" : "a");
        const std::string text_of = found == paragraph.values.end() ? "" : Trimmed(found->second);
        if (text_of.empty() || !value.Put(text_of, out)) value.PutNull(out);
      }
    });
    RC_ASSERT(cut.records[i].key == key);
  }
}

RC_GTEST_PROP(ParagraphsFormat, JoinsNoRecordToAnother, (bool crlf)) {
  const JobSpec spec = ParagraphsSpec({"-k", "a"});
  const std::unique_ptr<TableFormat> made = MakeParagraphsFormat(spec);
  const TableFormat& format = *made;
  std::string all;
  std::vector<std::string> bodies;
  for (const std::string& one : {AnyText(), AnyText()}) {  // two inputs
    const std::string text = Ended(format, one + (crlf ? "\nx\r\n" : "\nx"));
    const CutInput cut = CutRecords(format, text.substr(*format.HeaderBytes(Span(text), true)), 7);
    if (!cut.error.empty()) return;
    for (const CutRecord& record : cut.records) bodies.push_back(record.body);
    RC_ASSERT(cut.trailer.empty());
  }
  std::sort(bodies.begin(), bodies.end());
  do {
    all.clear();
    for (const std::string& body : bodies) all += body;
    const CutInput again = CutRecords(format, all, 5);
    RC_ASSERT(again.error.empty());
    RC_ASSERT(again.records.size() == bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) RC_ASSERT(again.records[i].body == bodies[i]);
  } while (bodies.size() < 5 && std::next_permutation(bodies.begin(), bodies.end()));
}

TEST(ParagraphsFormat, ReadsDebiansFields) {
  const JobSpec spec = ParagraphsSpec({"-k", "Package:", "-k", "installed-size:int"});
  const std::unique_ptr<TableFormat> made = MakeParagraphsFormat(spec);
  const TableFormat& format = *made;
  const std::string b = "# about b\n\nPackage: b\nDescription: long\n text\n# no text\n .\n more\n\n\n";
  const std::string a = "PACKAGE : a\nInstalled-Size: 12\n\n", a2 = "Package: a\nInstalled-Size:\t9\n\n";
  EXPECT_EQ(Sorted(CutRecords(format, b + a + a2, 11)), a2 + a + b);

  const JobSpec folded = ParagraphsSpec({"-k", "description"});
  const CutInput cut = CutRecords(*MakeParagraphsFormat(folded), b, 1000);
  const std::string key = KeyBytes(
      [&](FieldWriter& out) { ValueKey(folded.source.table->keys[0].rule).Put("long\n text\n .\n more", out); });
  ASSERT_EQ(cut.records.size(), 1u);
  EXPECT_EQ(cut.records[0].key, key);
}

TEST(ParagraphsFormat, SaysWhatIsWrong) {
  EXPECT_THROW(MakeParagraphsFormat(ParagraphsSpec({"-k", "#1"})), Error);
  const auto error = [](const std::string& text) {
    const JobSpec spec = ParagraphsSpec({"-k", "a", "--strict"});
    return CutRecords(*MakeParagraphsFormat(spec), text, 3).error;
  };
  EXPECT_EQ(error("a: 1\n\n"), "");
  EXPECT_NE(error("a: 1\nb\n\n").find("is no field"), std::string::npos);
  EXPECT_NE(error("a: 1\nA: 2\n\n").find("twice"), std::string::npos);
  EXPECT_NE(error("a: 1\n\n\rb: 2\n\n").find("carriage return"), std::string::npos);
  EXPECT_NE(FieldHint("Pakage", "Package: a\nSize: 1\n").find("did you mean"), std::string::npos);
}

TEST(ParagraphsFormat, EndsTheLastRecord) {
  const JobSpec spec = ParagraphsSpec({});
  const std::unique_ptr<TableFormat> made = MakeParagraphsFormat(spec);
  const TableFormat& format = *made;
  for (const auto& [text, ending] : std::map<std::string, std::string>{{"a", "\n\n"},
                                                                       {"a\n", "\n"},
                                                                       {"a\n\n", ""},
                                                                       {"a\r\n", "\r\n"},
                                                                       {"a\r\n\r\n", ""},
                                                                       {"a\n\r\n", ""},
                                                                       {"\n", ""},
                                                                       {"\r\n", ""}}) {
    EXPECT_EQ(Ended(format, text), text + ending);
  }
}

}  // namespace
}  // namespace gpusort::testing
