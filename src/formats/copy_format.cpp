#include "formats/copy_format.hpp"

#include <algorithm>
#include <cstring>

#include "formats/find_bytes.hpp"
#include "formats/text_reader.hpp"

namespace gpusort {
namespace {

using namespace std::string_view_literals;

constexpr unsigned char kNewline = '\n', kReturn = '\r';

const Byte* LastNewline(const Byte* p, const Byte* end) {
  return p == end ? nullptr : static_cast<const Byte*>(::memrchr(p, kNewline, static_cast<std::size_t>(end - p)));
}

/// Reads a number of at most `most` digits at `p`, and moves `p` after it. Returns the byte with this number.
char TakeDigits(const Byte*& p, const Byte* end, unsigned base, unsigned most) {
  unsigned number = 0;
  for (; most > 0 && p != end; --most, ++p) {
    const int digit = HexDigit(static_cast<char>(*p));
    if (digit < 0 || digit >= static_cast<int>(base)) break;
    number = number * base + static_cast<unsigned>(digit);
  }
  return static_cast<char>(number & 0xFF);
}

}  // namespace

CopyFormat::CopyFormat(const JobSpec& spec)
    : TableFormat(spec),
      postgres_(table_.name != "mysql"),
      delimiter_(table_.delimiter),
      escape_(table_.escape < 0 ? '\\' : static_cast<unsigned char>(table_.escape)),
      quote_(postgres_ ? -1 : table_.quote) {}

std::optional<std::uint64_t> CopyFormat::HeaderBytes(RecordSpan front, bool all) const {
  std::uint64_t at = 0;
  for (std::uint64_t record = 0; record < table_.header && at < front.size(); ++record) {
    ScanState state;
    const std::uint64_t size = CopyFormat::Scan(front.subspan(at), state).first;
    if (size == 0 && !all) return std::nullopt;
    if (size == 0 && state.mode >= kDot && state.mode <= kEnded) return at;  // no record is before the end of the data
    at = size == 0 ? front.size() : at + size;
  }
  if (at == front.size() && !all && table_.header > 0) return std::nullopt;  // the header may go on after these bytes
  return at;
}

void CopyFormat::ReadHeader(RecordSpan header) {
  const Byte* const end = AsBytes(header.data()) + header.size();
  const Byte* record = end;
  for (const Byte* next = AsBytes(header.data()); next != end; next = RecordEnd(next, end)) record = next;
  if (record == end) return;
  std::vector<std::string> names;
  std::string scratch;
  for (const Byte* p = record;; ++p) {
    Field field;
    p = ReadField(record, p, end, field, scratch);
    names.emplace_back(field.text);
    if (p == end || *p != delimiter_) break;
  }
  Resolve(names);
}

const Byte* CopyFormat::ScanRows(const Byte* begin, const Byte* p, const Byte* end, Mode& mode, Ends& ends) const {
  if (quote_ >= 0) {
    while (p != end) {
      p = ScanQuotedRow(p, end, mode);
      if (mode == kStart && p[-1] == kNewline) ends.Add(p - begin);
    }
    return p;
  }
  while (p != end) {
    switch (mode) {
      case kEscape:
        ++p;
        mode = kPlain;
        break;
      case kStartEscape:
        mode = *p++ == '.' ? kDot : kPlain;
        break;
      case kDot:
      case kDotReturn:
        if (*p == kNewline) {
          mode = kEnded;
          return p + 1;
        }
        mode = mode == kDot && *p == kReturn ? kDotReturn : kPlain;
        if (mode == kDotReturn) ++p;
        break;
      case kEnded:
        return p;
      default: {
        // All newlines before the next escape byte end records.
        const Byte* const escape = FindByte(p, end, escape_);
        const Byte* const newline = LastNewline(p, escape);
        if (newline != nullptr) {
          if (ends.first == 0) ends.Add(FindByte(p, end, kNewline) + 1 - begin);
          ends.Add(newline + 1 - begin);
        }
        const bool at_start = newline != nullptr ? newline + 1 == escape : mode == kStart && p == escape;
        if (escape == end) {
          mode = at_start ? kStart : kPlain;
          return end;
        }
        mode = at_start && postgres_ ? kStartEscape : kEscape;
        p = escape + 1;
      }
    }
  }
  return p;
}

/// Returns the end of the record and sets `mode` to kStart. If the record goes on after `end`, returns `end`.
const Byte* CopyFormat::ScanQuotedRow(const Byte* p, const Byte* end, Mode& mode) const {
  const auto quote = static_cast<unsigned char>(quote_);
  while (p != end) {
    switch (mode) {
      case kStart:
        mode = *p == quote ? kQuoted : kPlain;
        if (mode == kQuoted) ++p;
        break;
      case kEscape:
      case kQuotedEscape:
        ++p;
        mode = mode == kEscape ? kPlain : kQuoted;
        break;
      case kQuoted:
        p = FindAny(p, end, quote, escape_);
        if (p == end) return end;
        mode = *p == escape_ ? kQuotedEscape : kQuote;
        ++p;
        break;
      case kQuote:
      case kQuoteReturn:
        if (*p == kNewline || (*p == delimiter_ && mode == kQuote)) {
          mode = kStart;
          if (*p++ == kNewline) return p;
        } else if (mode == kQuote && (*p == quote || *p == kReturn)) {
          mode = *p++ == quote ? kQuoted : kQuoteReturn;
        } else {
          mode = kQuoted;
        }
        break;
      default:
        p = FindAny(p, end, delimiter_, kNewline, escape_);
        if (p == end) return end;
        mode = *p == escape_ ? kEscape : kStart;
        if (*p++ == kNewline) return p;
    }
  }
  return end;
}

RecordFormat::Ends CopyFormat::Scan(RecordSpan bytes, ScanState& state) const {
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  auto mode = static_cast<Mode>(state.mode);
  Ends ends;
  const Byte* const p = ScanRows(begin, begin, end, mode, ends);
  if (p != end) {
    throw BadRecord(static_cast<std::uint64_t>(p - begin), "there is more text after the line \\. that ends the data");
  }
  state.mode = mode;
  return ends;
}

RecordFormat::Guess CopyFormat::LookAhead(RecordSpan block) const {
  const Byte* const begin = AsBytes(block.data());
  const Byte* const end = begin + block.size();
  const Byte* newline = FindByte(begin, end, kNewline);
  while (newline != end && (newline == begin || newline[-1] == escape_)) newline = FindByte(newline + 1, end, kNewline);
  if (newline == end) return {};
  Guess guess;
  guess.from = static_cast<std::uint64_t>(newline + 1 - begin);
  Mode mode = kStart;
  Ends ends;
  if (ScanRows(begin, newline + 1, end, mode, ends) != end) return {};  // Scan() refuses the rest
  guess.last = ends.last;
  guess.state.mode = mode;
  return guess;
}

std::uint64_t CopyFormat::Finish(RecordSpan open, const ScanState& state) const {
  if (state.mode == kDot || state.mode == kDotReturn || state.mode == kEnded) return 0;
  const std::string why = WhyOpen(state);
  if (!why.empty()) throw BadRecord(0, why + " before the end of the input");
  if (!open.empty() &&
      (state.mode == kEscape || state.mode == kStartEscape || open.back() == static_cast<std::byte>(kNewline))) {
    throw BadRecord(open.size() - 1, "the input ends inside a record, after an escape");
  }
  return open.size();
}

std::string CopyFormat::WhyOpen(const ScanState& state) const {
  return state.mode >= kQuoted && state.mode != kQuote ? "a quote is opened in this record and not closed" : "";
}

bool CopyFormat::IsNullField(std::string_view raw) const {
  return (raw.size() == 2 && static_cast<unsigned char>(raw[0]) == escape_ && raw[1] == 'N') ||
         std::find(table_.nulls.begin(), table_.nulls.end(), raw) != table_.nulls.end();
}

void CopyFormat::TakeEscaped(const Byte*& p, const Byte* end, std::string& text) const {
  const unsigned char code = *p++;
  const std::string_view codes = postgres_ ? "bnrtfv" : "bnrt0Z";
  const std::string_view bytes = postgres_ ? "\b\n\r\t\f\v" : "\b\n\r\t\0\x1A"sv;
  if (const std::size_t known = codes.find(static_cast<char>(code)); known != codes.npos) {
    text += bytes[known];
  } else if (postgres_ && code >= '0' && code <= '7') {
    --p;
    text += TakeDigits(p, end, 8, 3);
  } else if (postgres_ && code == 'x' && p != end && HexDigit(static_cast<char>(*p)) >= 0) {
    text += TakeDigits(p, end, 16, 2);
  } else {
    text += static_cast<char>(code);
  }
}

const Byte* CopyFormat::FieldEnd(const Byte* p, const Byte* end, const Byte*& escaped) const {
  for (escaped = nullptr;; escaped = p) {
    p = FindAny(p, end, delimiter_, kNewline, escape_);
    if (p == end || *p != escape_) return p;
    p += end - p > 1 ? 2 : 1;
  }
}

const Byte* CopyFormat::ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field,
                                  std::string& scratch) const {
  field.at = static_cast<std::uint64_t>(p - begin);
  field.is = Field::kValue;
  if (p != end && *p == quote_) return ReadQuoted(p, end, field, scratch);
  const Byte* escaped = nullptr;
  const Byte* const stop = FieldEnd(p, end, escaped);
  // A CR before the newline belongs to no field, unless it is part of an escape sequence.
  const bool returns = stop != end && *stop == kNewline && stop != p && stop[-1] == kReturn && stop != escaped;
  const Byte* const last = stop - (returns ? 1 : 0);
  field.text = Text(p, last);
  if (IsNullField(field.text)) {
    field.is = Field::kNull;
  } else if (escaped != nullptr) {
    scratch.clear();
    while (p != last) {
      const Byte* const escape = FindByte(p, last, escape_);
      scratch.append(Text(p, escape));
      p = escape;
      if (p != last && ++p != last) TakeEscaped(p, last, scratch);
    }
    field.text = scratch;
  }
  return stop;
}

const Byte* CopyFormat::ReadQuoted(const Byte* p, const Byte* end, Field& field, std::string& scratch) const {
  const auto quote = static_cast<unsigned char>(quote_);
  scratch.clear();
  const Byte* from = ++p;
  for (;;) {
    p = FindAny(p, end, quote, escape_);
    if (p == end) break;
    if (*p == escape_) {
      scratch.append(Text(from, p));
      if (++p != end) TakeEscaped(p, end, scratch);
      from = p;
      continue;
    }
    // A quote closes the field only before a delimiter or the end of the record.
    const Byte* stop = p + 1;
    if (end - stop > 1 && *stop == kReturn && stop[1] == kNewline) ++stop;
    if (stop == end || *stop == kNewline || *stop == delimiter_) {
      field.text = Text(from, p);
      if (!scratch.empty()) field.text = scratch.append(field.text);
      return stop;
    }
    if (p[1] == quote) {
      scratch.append(Text(from, ++p));
      from = p + 1;
    }
    ++p;
  }
  field.text = scratch.append(Text(from, end));
  return end;
}

const Byte* CopyFormat::SkipField(const Byte* p, const Byte* end, std::string& scratch) const {
  const Byte* escaped = nullptr;
  if (p == end || *p != quote_) return FieldEnd(p, end, escaped);
  Field field;
  return ReadQuoted(p, end, field, scratch);
}

const Byte* CopyFormat::RecordEnd(const Byte* p, const Byte* end) const {
  if (quote_ >= 0) {
    Mode mode = kStart;
    return ScanQuotedRow(p, end, mode);
  }
  for (;;) {
    p = FindAny(p, end, kNewline, escape_);
    if (p == end || *p == kNewline) return p == end ? end : p + 1;
    p += end - p > 1 ? 2 : 1;
  }
}

std::uint64_t CopyFormat::PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                                  KeyTally& tally) const {
  const Byte* const begin = AsBytes(records.data());
  const Byte* const end = begin + records.size();
  std::vector<Field>& fields = scratch.fields;
  std::vector<std::string>& texts = scratch.texts;
  const auto& columns = wanted_.by_column;
  fields.assign(keys_.size(), {});
  texts.resize(columns.size() + 1);
  const Byte* p = begin;
  std::size_t next = 0;  // the index in `columns`
  bool ended = false;
  for (std::uint64_t column = 0; !ended && (columns.empty() || next < columns.size()); ++column) {
    if (columns.empty() || columns[next].column == column) {
      Field field;
      p = ReadField(begin, p, end, field, texts[next]);
      if (columns.empty()) PutWhole(field, out);
      for (; next < columns.size() && columns[next].column == column; ++next) fields[columns[next].key] = field;
    } else {
      p = SkipField(p, end, scratch.text);
    }
    ended = p == end || *p == kNewline;
    if (p != end) ++p;
  }
  for (const std::size_t key : wanted_.keys) PutKey(key, fields[key], out, tally);
  return static_cast<std::uint64_t>((ended ? p : RecordEnd(p, end)) - begin);
}

}  // namespace gpusort
