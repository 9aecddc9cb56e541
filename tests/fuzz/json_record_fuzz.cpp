// Arbitrary bytes as a path (the first line) and a line of JSON (the rest). It is JSON where nlohmann-json says so, but
// for what json_oracle.hpp lists, and for its depth; what the path leads to lies where it may, and is of its kind.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "error.hpp"
#include "formats/json_record.hpp"
#include "json_oracle.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

/// A part of a line that is JSON by itself, of this kind.
bool IsOfKind(const JsonValue& value) {
  using Kind = JsonValue::Kind;
  const std::string text(value.text);
  switch (value.kind) {
    case Kind::kMissing:
      return text.empty();
    case Kind::kNull:
      return text == "null";
    case Kind::kBool:
      return text == (value.boolean ? "true" : "false");
    case Kind::kString:
      return testing::IsJson(nlohmann::json(text).dump());  // throws what is not UTF-8
    case Kind::kNumber:
      return testing::IsJson(text) && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    case Kind::kArray:
      return testing::IsJson(text) && text[0] == '[';
    case Kind::kObject:
      return testing::IsJson(text) && text[0] == '{';
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  const std::size_t path_end = std::min(text.find('\n'), count);
  std::vector<JsonPath> paths;
  try {
    paths.emplace_back(text.substr(0, path_end));
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kUsage, error.what());
  }
  // Nothing may be read in front of it or behind it.
  const std::vector<char> line(text.begin() + static_cast<std::ptrdiff_t>(std::min(path_end + 1, count)), text.end());
  const std::string copy(line.begin(), line.end());
  const bool blank = copy.find_first_not_of(" \t\r\n") == std::string::npos;
  std::vector<JsonValue> values(paths.size());
  JsonRecords records(paths);
  try {
    records.Find(std::as_bytes(std::span(line)), values);
  } catch (const JsonError& error) {
    Require(error.byte() <= line.size(), "an error outside of the line");
    const bool deep = error.byte() >= JsonRecords::kMaxDepth;
    Require(!blank && (deep || !testing::IsJson(copy)), "JSON that is refused");
    return 0;
  }
  Require(blank || testing::IsJson(copy), "what is not JSON is taken");
  for (const JsonValue& value : values) Require(IsOfKind(value), "a value of another kind");
  return 0;
}
