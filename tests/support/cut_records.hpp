// A reference for phase 1 of a sort, in memory: reads an input of a TableFormat in blocks of any size and puts the
// encoded key before every record, as runs/key_stage does.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "formats/table_format.hpp"

namespace gpusort::testing {

/// Returns the key of a column that is given by its name.
inline ColumnKey TypedKey(const std::string& column, ValueType type, bool descending = false) {
  ColumnKey key;
  key.text = key.column = column;
  key.rule.type = type;
  key.rule.typed = true;
  key.rule.descending = descending;
  return key;
}
/// Returns the key of a column that is given by its number, from 1.
inline ColumnKey TypedKey(std::uint64_t number, ValueType type, bool descending = false) {
  ColumnKey key = TypedKey(std::to_string(number), type, descending);
  key.number = number;
  return key;
}

struct CutRecord {
  std::string key, body;
  friend auto operator<=>(const CutRecord&, const CutRecord&) = default;
};

struct CutInput {
  std::vector<CutRecord> records;
  std::string trailer;
  std::string error;  ///< empty if there was no error
  KeyTally tally;

  std::string text() const {
    std::string all;
    for (const CutRecord& record : records) all += record.body;
    return all + trailer;
  }
};

inline RecordSpan Span(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::string String(RecordSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Appends the keyed records of `piece`, a part of the input, to `cut`. `state` is the scan state at the beginning of
/// `piece`.
inline void KeyPiece(const TableFormat& format, RecordSpan piece, ScanState& state, CutInput& cut) {
  const auto encoder = format.MakeEncoder();
  while (!piece.empty()) {
    std::vector<std::byte> keyed;
    const std::uint64_t size = encoder->Append(piece, state, keyed, cut.tally);
    const auto key = keyed.begin() + 2;
    const auto end = std::find(key, keyed.end(), static_cast<std::byte>(kKeyEnd));
    cut.records.push_back({{}, String(piece.first(size))});
    cut.records.back().key = String(RecordSpan(keyed).subspan(2, static_cast<std::size_t>(end - key)));
    ++cut.tally.record;
    cut.tally.offset += size;
    piece = piece.subspan(size);
  }
}

/// Makes keyed records of `text`, an input without its header. Reads the text in blocks of `block` bytes. The format
/// learns from the first `front` bytes. If `guess` is true, it looks ahead at each block, as other threads do in a job.
inline CutInput CutRecords(const TableFormat& format, const std::string& text, std::size_t block,
                           std::size_t front = std::string::npos, bool guess = false) {
  CutInput cut;
  std::string open;
  ScanState state, open_state;
  try {
    format.BeginInput(Span(text).first(std::min(front, text.size())), 0, state);
    open_state = state;
    for (std::size_t at = 0; at < text.size(); at += block) {
      const std::string bytes = text.substr(at, block);
      const RecordFormat::Ends ends = guess ? format.ScanGuessed(Span(bytes), state, format.LookAhead(Span(bytes)))
                                            : format.Scan(Span(bytes), state);
      if (ends.none()) {
        open += bytes;
        continue;
      }
      const std::size_t begin = open.empty() || ends.at_front ? 0 : ends.first;
      ScanState piece = std::exchange(open_state, ends.state);
      KeyPiece(format, Span(open + bytes.substr(0, begin)), piece, cut);
      KeyPiece(format, Span(bytes).subspan(begin, ends.last - begin), piece, cut);
      open = bytes.substr(ends.last);
    }
    const std::uint64_t whole = format.Finish(Span(open), state);
    cut.trailer = open.substr(whole);
    open.resize(whole);
    KeyPiece(format, Span(open), open_state, cut);
  } catch (const Error& error) {
    cut.error = error.what();
  }
  return cut;
}

/// Calls CutRecords with all of `text` in one block and returns the result. Then tries every smaller block size, with
/// and without a guess in turn, and calls differ(size) if the result is different.
inline CutInput CutEverywhere(const TableFormat& format, const std::string& text,
                              const std::function<void(std::size_t)>& differ) {
  const CutInput whole = CutRecords(format, text, std::max<std::size_t>(1, text.size()));
  for (std::size_t block = 1; block < text.size(); ++block) {
    const CutInput cut = CutRecords(format, text, block, std::string::npos, block % 2 == 0);
    if (cut.error != whole.error) differ(block);
    if (whole.error.empty() && (cut.records != whole.records || cut.trailer != whole.trailer)) differ(block);
  }
  return whole;
}

/// Returns the records without their keys, sorted by their keys, and then the bytes after the last record.
inline std::string Sorted(CutInput cut) {
  std::stable_sort(cut.records.begin(), cut.records.end(),
                   [](const CutRecord& a, const CutRecord& b) { return a.key < b.key; });
  return cut.text();
}

/// Returns the key bytes that the call put(FieldWriter&) writes.
template <typename Put>
std::string KeyBytes(const Put& put) {
  std::vector<std::byte> bytes;
  FieldWriter out(bytes);
  out.Begin(std::uint64_t{1} << 60);
  put(out);
  return String(bytes);
}

}  // namespace gpusort::testing
