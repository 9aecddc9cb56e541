// labels: brief
// Fuzzes JSON with arbitrary bytes: the first line is a path, the rest is a line of JSON. gpusort and nlohmann-json
// must agree on what is JSON. The depth and the points that json_oracle.hpp lists are exceptions. The value at the path
// must be inside the line and have the kind that gpusort reports.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/json_record.hpp"
#include "json_oracle.hpp"
#include "kernels/error.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

/// Returns true if this part of a line is JSON by itself, and of this kind.
bool IsOfKind(const JsonValue& value) {
  using Kind = JsonValue::Kind;
  const std::string text(value.text);
  switch (value.kind) {
    case Kind::kMissing:
      return text.empty();
    case Kind::kNull:
      return text == "null";
    case Kind::kBool:
      return text == "true" || text == "false";
    case Kind::kString:
      return testing::IsJson(nlohmann::json(text).dump());  // throws if the text is not UTF-8
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
  // The line lies in memory of exactly its size, so that a sanitizer finds reads outside it.
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
