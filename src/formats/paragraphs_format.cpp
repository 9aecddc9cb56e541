#include "formats/paragraphs_format.hpp"

#include <algorithm>

#include "base/did_you_mean.hpp"
#include "formats/find_bytes.hpp"
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

}  // namespace

ParagraphsFormat::ParagraphsFormat(const JobSpec& spec) : TableFormat(spec) {
  for (const ColumnKey& key : table_.keys) {
    std::string name = LowerText(key.column);
    const auto known = std::find(fields_.begin(), fields_.end(), name);
    field_of_key_.push_back(static_cast<std::size_t>(known - fields_.begin()));
    if (known == fields_.end()) fields_.push_back(std::move(name));
  }
}

std::optional<std::uint64_t> ParagraphsFormat::HeaderBytes(RecordSpan front, bool all) const {
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

std::string ParagraphsFormat::Ending(RecordSpan, RecordSpan tail) const {
  const std::string_view text(reinterpret_cast<const char*>(tail.data()), tail.size());
  const bool is_header = tail.size() < kTailBytes && HeaderBytes(tail, true) == tail.size();
  if (is_header || text.ends_with("\n\n") || text.ends_with("\n\r\n")) return {};
  if (text.ends_with('\n')) return text.ends_with("\r\n") ? "\r\n" : "\n";
  return text.ends_with('\r') ? "\n\r\n" : "\n\n";
}

const Byte* ParagraphsFormat::Walk(const Byte* begin, const Byte* p, const Byte* end, Mode& mode) {
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

RecordFormat::Ends ParagraphsFormat::Scan(RecordSpan bytes, ScanState& state) const {
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

std::uint64_t ParagraphsFormat::Finish(RecordSpan open, const ScanState& state) const {
  return state.mode < kLine ? 0 : open.size();  // comments after the last record are the end of the output
}

void ParagraphsFormat::FindFields(const Byte* begin, const Byte* end, Scratch& scratch, KeyTally& tally) const {
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

std::uint64_t ParagraphsFormat::PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                                        KeyTally& tally) const {
  const Byte* const begin = AsBytes(records.data());
  Mode mode = kFront;
  const Byte* const end = Walk(begin, begin, begin + records.size(), mode);
  if (keys_.empty()) PutWhole({TrimEnd(Text(begin, end)), Field::kValue, 0}, out);
  if (!keys_.empty()) FindFields(begin, end, scratch, tally);
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    Field field = scratch.fields[field_of_key_[key]];
    if (field.is == Field::kMissing) {
      constexpr std::size_t kMostExample = std::size_t{64} << 10;
      ++tally.columns[key].missing;
      if (tally.example.empty() && records.size() <= kMostExample) tally.example = Text(begin, end);
    }
    field.text = TrimEnd(field.text);
    if (field.is == Field::kMissing || IsNull(field.text)) field.is = Field::kNull;
    PutKey(key, field, out, tally);
  }
  return static_cast<std::uint64_t>(end - begin);
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
