#include "formats/json_format.hpp"

#include <atomic>

#include "error.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

std::atomic<std::uint64_t> next_id{1};

}  // namespace

JsonFormat::JsonFormat(const Options& options) : TableFormat(options), id_(next_id++) {
  for (const ColumnKey& key : table_.keys) {
    if (key.number > 0) {
      throw Error(ErrorCode::kUsage, "--key: '" + EscapeName(key.text) +
                                         "': JSON Lines have no columns by number: give a path, like a.b[0]");
    }
    paths_.emplace_back(key.column);
  }
}

std::optional<std::uint64_t> JsonFormat::HeaderBytes(RecordSpan front, bool all) const {
  return ByteOrderMark(front, all);
}

RecordKeyer::Ends JsonFormat::Scan(RecordSpan bytes, ScanState&) const {
  const RecordLayout lines = layout();
  return {FirstRecordBytes(bytes, lines), WholeRecordBytes(bytes, lines), {}};
}

std::uint64_t JsonFormat::PutKeys(RecordSpan records, ScanState&, FieldWriter& out, KeyTally& tally) const {
  thread_local std::uint64_t owner = 0;
  thread_local std::optional<JsonRecords> parser;
  thread_local std::vector<JsonValue> values;
  if (owner != id_) {
    parser.emplace(paths_);
    values.resize(paths_.size());
    owner = id_;
  }
  const RecordSpan line = FirstLine(records, '\n');
  try {
    parser->Find(line, values);
  } catch (const JsonError& error) {
    throw BadRecord(error.byte(), std::string("this is no JSON: ") + error.what());
  }
  const auto* const begin = reinterpret_cast<const char*>(line.data());
  if (keys_.empty()) PutWhole({{begin, line.size() - 1}, Field::kValue, 0}, out);
  for (std::size_t key = 0; key < values.size(); ++key) {
    const JsonValue& value = values[key];
    const bool null = value.kind == JsonValue::Kind::kMissing || value.kind == JsonValue::Kind::kNull;
    PutKey(key, {value.text, null ? Field::kNull : Field::kValue, 0}, out, tally);
  }
  return line.size();
}

}  // namespace gpusort
