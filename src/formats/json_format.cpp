// The format of JSON Lines: each line is one JSON value, and a key is a path to a value inside it.
#include <nlohmann/json.hpp>

#include "base/did_you_mean.hpp"
#include "formats/formats.hpp"
#include "formats/json_record.hpp"

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

class JsonFormat : public TableFormat {
 public:
  explicit JsonFormat(const JobSpec& spec) : TableFormat(spec) {
    for (const ColumnKey& key : table_.keys) {
      if (!key.summed) ++sort_paths_;
      paths_.emplace_back(key.column);
    }
  }

  bool has_header() const override { return true; }  // an input may begin with a byte order mark
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    return ByteOrderMark(front, all);
  }
  RecordFormat::Ends Scan(RecordSpan bytes, ScanState&) const override {
    const RecordLayout lines = layout();
    return {FirstRecordBytes(bytes, lines), WholeRecordBytes(bytes, lines), {}};
  }

 private:
  struct JsonScratch : Scratch {
    JsonScratch(const std::vector<JsonPath>& paths, std::size_t single) : parser(paths, single), values(paths.size()) {}
    JsonRecords parser;
    std::vector<JsonValue> values;
  };
  std::unique_ptr<TableFormat::Scratch> MakeScratch() const override {
    return std::make_unique<JsonScratch>(paths_, sort_paths_);
  }
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override {
    auto& json = static_cast<JsonScratch&>(scratch);
    const RecordSpan line = FirstLine(records, '\n');
    try {
      json.parser.Find(line, json.values);
    } catch (const JsonError& error) {
      throw BadRecord(error.byte(), std::string("this is not JSON: ") + error.what());
    }
    if (json.parser.repeated()) throw BadRecord(*json.parser.repeated(), kRepeatedMember);
    const auto* const begin = reinterpret_cast<const char*>(line.data());
    if (keys_.empty()) PutWhole({{begin, line.size() - 1}, Field::kValue, 0}, out);
    for (std::size_t key = 0; key < json.values.size(); ++key) {
      const JsonValue& value = json.values[key];
      const bool missing = value.kind == JsonValue::Kind::kMissing;
      const bool null = missing || value.kind == JsonValue::Kind::kNull;
      if (missing) {
        ++tally.columns[key].missing;
        KeepExample({begin, line.size() - 1}, tally);
      }
      PutKey(key, {value.text, null ? Field::kNull : Field::kValue, 0}, out, tally);
    }
    return line.size();
  }

  std::vector<JsonPath> paths_;
  std::size_t sort_paths_ = 0;  ///< the number of keys; the paths after them are those of --sum
};

}  // namespace

std::unique_ptr<TableFormat> MakeJsonFormat(const JobSpec& spec) { return std::make_unique<JsonFormat>(spec); }

std::string PathHint(const std::string& path, const std::string& record) {
  std::vector<std::string> paths;
  ListPaths(nlohmann::json::parse(record, nullptr, false), "", paths);
  if (paths.empty()) return "";
  return " (a record has " + NearestFirst(path, paths) + ")" + DidYouMean(path, paths);
}

}  // namespace gpusort
