// The format of records with several lines, separated by blank lines, as in Debian's control files (deb822: Packages,
// /var/lib/dpkg/status) and the history of apt. A line "Name: value" is a field. Lines that begin with a blank or a tab
// continue the value. Upper and lower case letters of a name are equal. Lines that begin with # are comments. A blank
// line is empty or a single CR. Comments before a record and blank lines after it belong to the record. If an input
// does not end with a blank line, one is added, so that records of two inputs stay apart. Start at Scan and PutKeys.
#include <algorithm>
#include <string>
#include <vector>

#include "base/did_you_mean.hpp"
#include "formats/find_bytes.hpp"
#include "formats/formats.hpp"
#include "formats/text_reader.hpp"

namespace gpusort {
namespace {

bool IsEnd(char c) { return IsBlankChar(c) || c == '\r' || c == '\n'; }

/// Returns the part of `text` before the blanks and line ends at its end.
std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && IsEnd(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns the name of the field that the line begins, without blanks before the colon. Returns an empty text if the
/// line begins no field.
std::string_view NameOf(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || IsBlankChar(line[0]) || line[0] == '#') return {};
  return TrimEnd(line.substr(0, colon));
}

/// Removes the first line, with its newline, from the front of `text`, and returns it.
std::string_view TakeTextLine(std::string_view& text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(line.size());
  return line;
}

class ParagraphsFormat : public TableFormat {
 public:
  /// Throws Error(kUsage) if a key names its column by number.
  explicit ParagraphsFormat(const JobSpec& spec) : TableFormat(spec) {
    for (const ColumnKey& key : table_.keys) {
      std::string name = LowerText(key.column);
      const auto known = std::find(fields_.begin(), fields_.end(), name);
      field_of_key_.push_back(static_cast<std::size_t>(known - fields_.begin()));
      if (known == fields_.end()) fields_.push_back(std::move(name));
    }
  }

  bool has_header() const override { return true; }
  /// The header of an input is the byte order mark and the blank lines at its beginning. Inputs may have different
  /// headers.
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    const std::optional<std::uint64_t> mark = ByteOrderMark(front, all);
    if (!mark) return std::nullopt;
    for (std::uint64_t at = *mark;;) {
      const bool returns = at < front.size() && front[at] == std::byte{'\r'};
      const std::uint64_t end = at + (returns ? 1 : 0);
      if (end == front.size()) return all ? std::optional<std::uint64_t>(at) : std::nullopt;
      if (front[end] != std::byte{'\n'}) return at;
      at = end + 1;
    }
  }
  RecordSpan HeaderText(RecordSpan) const override { return {}; }
  std::string Ending(RecordSpan, RecordSpan tail) const override {
    const std::string_view text(reinterpret_cast<const char*>(tail.data()), tail.size());
    const bool is_header = tail.size() < kTailBytes && HeaderBytes(tail, true) == tail.size();
    if (is_header || text.ends_with("\n\n") || text.ends_with("\n\r\n")) return {};
    if (text.ends_with('\n')) return text.ends_with("\r\n") ? "\r\n" : "\n";
    return text.ends_with('\r') ? "\n\r\n" : "\n\n";
  }
  RecordFormat::Ends Scan(RecordSpan bytes, ScanState& state) const override {
    const Byte* const begin = AsBytes(bytes.data());
    const Byte* const end = begin + bytes.size();
    Ends ends;
    auto mode = static_cast<Mode>(state.mode);
    for (const Byte* p = begin;;) {
      p = Walk(begin, p, end, mode);
      if (p == end) break;
      ends.Add(p - begin);
      ends.at_front |= p == begin;
    }
    state.mode = mode;
    return ends;
  }
  bool ends_in(const ScanState& state) const override { return state.mode == kBlank; }
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override {
    return state.mode < kLine ? 0 : open.size();  // comments after the last record are the end of the output
  }
  bool has_trailer() const override { return true; }
  bool joins_trailers() const override { return true; }
  unsigned modes() const override { return kBlankReturn + 1; }
  std::string WhyOpen(const ScanState&) const override { return "no blank line ends this record"; }

 private:
  /// The state of the parser that searches for the ends of records. A record is a paragraph. In the first three modes,
  /// no line of the record was read yet except comments.
  enum Mode : unsigned {
    kFront,         ///< at the beginning of a line
    kFrontReturn,   ///< after a CR at the beginning of a line
    kFrontComment,  ///< in a comment
    kLine,          ///< in a line of the record
    kStart,         ///< at the beginning of a line after a line of the record
    kReturn,        ///< after a CR in the mode kStart
    /// At the beginning of a line after a blank line. The record ends before this line, unless this line is blank too.
    kBlank,
    kBlankReturn,  ///< after a CR in the mode kBlank
  };
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override {
    const Byte* const begin = AsBytes(records.data());
    Mode mode = kFront;
    const Byte* const end = Walk(begin, begin, begin + records.size(), mode);
    if (keys_.empty()) PutWhole({TrimEnd(Text(begin, end)), Field::kValue, 0}, out);
    if (!keys_.empty()) FindFields(begin, end, scratch, tally);
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      Field field = scratch.fields[field_of_key_[key]];
      if (field.is == Field::kMissing) {
        KeepExample(Text(begin, end), tally);
        // Fields are often optional: a key that is missing is null, also with --strict.
        if (!table_.keys[key].summed) {
          ++tally.columns[key].missing;
          field.is = Field::kNull;
        }
      } else {
        field.text = TrimEnd(field.text);
        if (IsNull(field.text)) field.is = Field::kNull;
      }
      PutKey(key, field, out, tally);
    }
    return static_cast<std::uint64_t>(end - begin);
  }
  /// Finds the end of the record that contains the byte at `p`. `mode` is the parser's state at `p`, and is replaced by
  /// the state at the returned place. Returns the end of the record, and sets `mode` to kFront. If the record does not
  /// end in [p, end), returns `end`. Throws BadRecord.
  static const Byte* Walk(const Byte* begin, const Byte* p, const Byte* end, Mode& mode) {
    while (p != end) {
      const bool newline = *p == '\n', returns = *p == '\r';
      switch (mode) {
        case kFront:
          mode = newline ? kFront : returns ? kFrontReturn : *p == '#' ? kFrontComment : kLine;
          break;
        case kFrontComment:
        case kLine:
          p = FindByte(p, end, '\n');
          if (p == end) return end;
          mode = mode == kLine ? kStart : kFront;
          break;
        case kStart:
          mode = newline ? kBlank : returns ? kReturn : kLine;
          break;
        case kReturn:
          mode = newline ? kBlank : kLine;
          break;
        case kBlank:
          if (!newline && !returns) {
            mode = kFront;
            return p;
          }
          mode = newline ? kBlank : kBlankReturn;
          break;
        case kFrontReturn:
        case kBlankReturn:
          if (!newline) {
            throw BadRecord(static_cast<std::uint64_t>(p - begin), "a record begins with a carriage return (CR)");
          }
          mode = mode == kFrontReturn ? kFront : kBlank;
          break;
      }
      ++p;
    }
    return end;
  }
  /// Finds the values of the fields that the job sorts by (fields_) in the record [begin, end), and stores them in
  /// `scratch`. If a field name occurs twice, counts the record in KeyTally::glued, because an empty line between two
  /// records may be missing.
  void FindFields(const Byte* begin, const Byte* end, Scratch& scratch, KeyTally& tally) const {
    std::vector<Field>& fields = scratch.fields;
    std::vector<std::string>& texts = scratch.texts;
    fields.assign(fields_.size(), {});
    texts.resize(fields_.size());
    const std::string_view record = Text(begin, end);
    constexpr std::size_t kNone = ~std::size_t{0};
    std::size_t current = kNone;  // the field that the next line may continue
    bool copied = false, again = false;
    for (std::string_view rest = record; !rest.empty();) {
      const std::string_view line = TakeTextLine(rest);
      const auto at = static_cast<std::size_t>(line.data() - record.data());
      if (line[0] == '#' || line == "\n" || line == "\r\n") continue;
      if (IsBlankChar(line[0])) {
        if (current == kNone) continue;
        std::string_view& value = fields[current].text;
        if (!copied && value.data() + value.size() == line.data()) {
          value = {value.data(), value.size() + line.size()};
          continue;
        }
        if (!copied) texts[current] = value;  // a comment lies between the lines
        copied = true;
        value = texts[current].append(line);
        continue;
      }
      current = kNone;
      copied = false;
      const std::string_view name = NameOf(line);
      if (name.empty() && table_.strict) {
        throw BadRecord(at, "this line is no field (Name: value), no comment, and continues no value");
      }
      const auto known = std::find_if(fields_.begin(), fields_.end(), [&](const std::string& field) {
        return field.size() == name.size() && IsWord(name, field);
      });
      if (known == fields_.end()) continue;
      Field& field = fields[static_cast<std::size_t>(known - fields_.begin())];
      if (field.is == Field::kValue) {
        if (table_.strict) throw BadRecord(at, "the record has the field '" + std::string(name) + "' twice");
        again = true;
        continue;
      }
      current = static_cast<std::size_t>(known - fields_.begin());
      std::string_view value = line.substr(line.find(':') + 1);
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      field = {value, Field::kValue, static_cast<std::uint64_t>(value.data() - record.data())};
    }
    if (again) tally.glued.Note(tally);
  }

  std::vector<std::string> fields_;        ///< the names of all fields that are keys, in lower case, without repetition
  std::vector<std::size_t> field_of_key_;  ///< for each key: the index of its name in fields_
};

}  // namespace

std::unique_ptr<TableFormat> MakeParagraphsFormat(const JobSpec& spec) {
  return std::make_unique<ParagraphsFormat>(spec);
}

std::string FieldHint(const std::string& name, const std::string& record) {
  std::vector<std::string> names;
  for (std::string_view rest = record; !rest.empty();) {
    const std::string_view found = NameOf(TakeTextLine(rest));
    if (!found.empty()) names.emplace_back(found);
  }
  return names.empty() ? "" : " (a record has " + NearestFirst(name, names) + ")" + DidYouMean(name, names);
}

}  // namespace gpusort
