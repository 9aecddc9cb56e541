#include "formats/json_format.hpp"

#include <nlohmann/json.hpp>

#include "base/did_you_mean.hpp"

namespace gpusort {
namespace {

/// Appends the path of `value`, which is `path`, and the paths of all values in it. Appends at most kMostPaths.
void ListPaths(const nlohmann::json& value, const std::string& path, std::vector<std::string>& paths) {
  constexpr std::size_t kMostPaths = 1000;
  if (paths.size() >= kMostPaths) return;
  if (!path.empty() && !value.is_discarded()) paths.push_back(path);
  if (value.is_array() && !value.empty()) ListPaths(value[0], path + "[0]", paths);
  if (!value.is_object()) return;
  for (const auto& [name, member] : value.items()) {
    // A name that contains one of these bytes can only be written as a JSON Pointer.
    if (name.find_first_of(".[]/") == std::string::npos)
      ListPaths(member, path + (path.empty() ? "" : ".") + name, paths);
  }
}

}  // namespace

JsonFormat::JsonFormat(const JobSpec& spec) : TableFormat(spec) {
  for (const ColumnKey& key : table_.keys) paths_.emplace_back(key.column);
}

std::optional<std::uint64_t> JsonFormat::HeaderBytes(RecordSpan front, bool all) const {
  return ByteOrderMark(front, all);
}

RecordFormat::Ends JsonFormat::Scan(RecordSpan bytes, ScanState&) const {
  const RecordLayout lines = layout();
  return {FirstRecordBytes(bytes, lines), WholeRecordBytes(bytes, lines), {}};
}

struct JsonFormat::JsonScratch : Scratch {
  explicit JsonScratch(const std::vector<JsonPath>& paths) : parser(paths), values(paths.size()) {}
  JsonRecords parser;
  std::vector<JsonValue> values;
};

std::unique_ptr<TableFormat::Scratch> JsonFormat::MakeScratch() const { return std::make_unique<JsonScratch>(paths_); }

std::uint64_t JsonFormat::PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                                  KeyTally& tally) const {
  auto& json = static_cast<JsonScratch&>(scratch);
  const RecordSpan line = FirstLine(records, '\n');
  try {
    json.parser.Find(line, json.values);
  } catch (const JsonError& error) {
    throw BadRecord(error.byte(), std::string("this is not JSON: ") + error.what());
  }
  const auto* const begin = reinterpret_cast<const char*>(line.data());
  if (keys_.empty()) PutWhole({{begin, line.size() - 1}, Field::kValue, 0}, out);
  for (std::size_t key = 0; key < json.values.size(); ++key) {
    const JsonValue& value = json.values[key];
    const bool missing = value.kind == JsonValue::Kind::kMissing;
    const bool null = missing || value.kind == JsonValue::Kind::kNull;
    if (missing) {
      constexpr std::size_t kMostExample = std::size_t{64} << 10;
      ++tally.columns[key].missing;
      if (tally.example.empty() && line.size() <= kMostExample) tally.example.assign(begin, line.size() - 1);
    }
    PutKey(key, {value.text, null ? Field::kNull : Field::kValue, 0}, out, tally);
  }
  return line.size();
}

std::string PathHint(const std::string& path, const std::string& record) {
  std::vector<std::string> paths;
  ListPaths(nlohmann::json::parse(record, nullptr, false), "", paths);
  if (paths.empty()) return "";
  return " (a record has " + NearestFirst(path, paths) + ")" + DidYouMean(path, paths);
}

}  // namespace gpusort
