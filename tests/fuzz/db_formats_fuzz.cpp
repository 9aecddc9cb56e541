// labels: brief
// Fuzzes the formats of databases with arbitrary bytes. Byte 0 chooses the format and the keys, byte 1 the size of a
// block. Wherever blocks are cut, the records and their keys must be the same and cover all the input, or
// the error must be the same.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "../support/cut_records.hpp"
#include "formats/table_format.hpp"
#include "kernels/error.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

struct Kind {
  const char* name;
  int quote;
};
constexpr Kind kKinds[] = {{"pgcopy", -1}, {"mysql", -1},     {"mysql", '"'},     {"pgcopy-binary", -1},
                           {"pgdump", -1}, {"mysqldump", -1}, {"sqlitedump", -1}, {"sqldump", -1}};
bool IsDump(const Kind& kind) { return std::string_view(kind.name).ends_with("dump"); }

/// `keys` is 0 for no keys. In a dump, 1 stands for keys of the column t.a, and 2 for keys of t.a and t.b.
JobSpec OptionsOf(const Kind& kind, unsigned keys) {
  JobSpec spec;
  spec.source.inputs = {"fuzz"};
  spec.source.table.emplace();
  spec.source.table->name = kind.name;
  spec.source.table->delimiter = '\t';
  if (IsDump(kind)) spec.source.table->header = 0;
  spec.source.table->quote = kind.quote;
  for (unsigned type = 0; keys > 0 && type <= static_cast<unsigned>(ValueType::kSet); ++type) {
    ColumnKey key;
    key.number = IsDump(kind) ? 0 : type % 3 + 1;
    const char* const column = keys == 2 && type % 3 == 0 ? "t.b" : "t.a";
    key.text = key.column = IsDump(kind) ? column : std::to_string(key.number);
    key.rule.type = static_cast<ValueType>(type);
    key.rule.typed = key.rule.descending = type % 2 == 0;  // dumps may give the other types
    if (key.rule.type == ValueType::kEnum || key.rule.type == ValueType::kSet) {
      key.rule.typed = true;
      key.rule.labels = {"x", "it's", ""};
    }
    spec.source.table->keys.push_back(key);
  }
  return spec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 2 || count > 4096) return 0;
  const JobSpec spec = OptionsOf(kKinds[bytes[0] % std::size(kKinds)], bytes[0] < 128 ? 0 : bytes[0] < 192 ? 1 : 2);
  const std::string text(reinterpret_cast<const char*>(bytes) + 2, count - 2);
  const std::unique_ptr<TableFormat> format = MakeTableFormat(spec);
  std::size_t header = 0;
  if (format->has_header()) {
    try {
      header = format->HeaderBytes(testing::Span(text), true).value();
      format->ReadHeader(testing::Span(text).first(header));
    } catch (const Error&) {
      return 0;
    }
  }
  std::string records = text.substr(header);
  if (format->newlines() && !records.empty() && records.back() != '\n') records += '\n';
  const testing::CutInput whole = testing::CutRecords(*format, records, count);
  const testing::CutInput parts =
      testing::CutRecords(*format, records, bytes[1] + std::size_t{1}, std::string::npos, bytes[1] % 2 == 0);
  Require(whole.error == parts.error, "another error");
  if (!whole.error.empty()) return 0;
  Require(whole.records == parts.records && whole.trailer == parts.trailer, "other records");
  Require(whole.text() == records, "lost bytes");
  return 0;
}
