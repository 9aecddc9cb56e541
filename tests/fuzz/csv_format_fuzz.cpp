// labels: brief
// Fuzzes CSV with arbitrary bytes. Byte 0 chooses the dialect and whether there are keys, byte 1 the size of a block.
// Wherever blocks are cut, the records and their keys must be the same and cover all the input, or the error must be
// the same. A guess by LookAhead must agree with Scan. Records without their keys must have their original bytes.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../support/cut_records.hpp"
#include "formats/table_format.hpp"
#include "kernels/error.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

struct Dialect {
  unsigned char delimiter;
  int quote, escape, comment;
};
constexpr Dialect kDialects[] = {{',', '"', -1, -1},  {';', '\'', '\\', -1},         {'\t', -1, -1, '#'},
                                 {',', '"', -1, '#'}, {'\x1D', '\x02', '\x01', 'n'}, {0xFF, '"', 0, '#'}};

JobSpec OptionsOf(unsigned code) {
  const Dialect& dialect = kDialects[code % std::size(kDialects)];
  JobSpec spec;
  spec.source.inputs = {"fuzz"};
  spec.source.table.emplace();
  spec.source.table->name = "csv";
  spec.source.table->delimiter = dialect.delimiter;
  spec.source.table->quote = dialect.quote;
  spec.source.table->escape = dialect.escape;
  spec.source.table->comment = dialect.comment;
  spec.source.table->header = code / 16 % 3;
  spec.source.table->nulls = {"\\N"};
  spec.source.table->strict = code / 64 % 2 != 0;
  for (unsigned type = 0; code >= 128 && type <= static_cast<unsigned>(ValueType::kSeverity); ++type) {
    ColumnKey key;
    key.number = type % 4 + 1;
    key.text = key.column = std::to_string(key.number);
    key.rule.type = static_cast<ValueType>(type);
    key.rule.typed = key.rule.descending = type % 2 == 0;
    spec.source.table->keys.push_back(key);
  }
  return spec;
}

/// For any block and any state of the scan before it: if LookAhead's guess about the state holds, it must agree with
/// Scan.
void LookAhead(const TableFormat& format, const std::string& text, std::size_t block) {
  ScanState state;
  for (std::size_t at = 0; at < text.size(); at += block) {
    const std::string bytes = text.substr(at, block);
    const RecordFormat::Guess guess = format.LookAhead(testing::Span(bytes));
    ScanState front = state;
    if (guess.from > 0 && format.Scan(testing::Span(bytes).first(guess.from), front).last == guess.from) {
      Require(front.mode == guess.at_last.mode || guess.last == 0, "another state behind the last record");
      ScanState end = front;
      const RecordFormat::Ends rest = format.Scan(testing::Span(bytes).subspan(guess.from), end);
      Require(end.mode == guess.state.mode, "a guess ends in another state");
      Require(guess.last == (rest.last > 0 ? guess.from + rest.last : 0), "a guess has another last record");
    }
    format.Scan(testing::Span(bytes), state);
  }
}

/// Removing the keys from keyed records must leave all other bytes unchanged.
void DropAllKeys(const TableFormat& format, const std::string& records) {
  std::vector<std::byte> keyed;
  ScanState state;
  KeyTally tally;
  for (RecordSpan rest = testing::Span(records); !rest.empty();) {
    rest = rest.subspan(format.MakeEncoder()->Append(rest, state, keyed, tally));
  }
  Require(testing::String(DropKeys(keyed, format.layout())) == records, "other bytes without the keys");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 2 || count > 4096) return 0;
  const JobSpec spec = OptionsOf(bytes[0]);
  const std::size_t block = bytes[1] + std::size_t{1};
  const std::string text(reinterpret_cast<const char*>(bytes) + 2, count - 2);
  const std::unique_ptr<TableFormat> format = MakeTableFormat(spec);
  std::size_t header = 0;
  try {
    header = format->HeaderBytes(testing::Span(text), true).value();
    for (std::size_t part = 0; part < text.size(); part += block) {
      const auto early = format->HeaderBytes(testing::Span(text).first(part), false);
      Require(!early || *early == header, "a part of the input has another header");
    }
    format->ReadHeader(testing::Span(text).first(header));
  } catch (const Error&) {
    return 0;
  }
  std::string records = text.substr(header);
  if (!records.empty() && records.back() != '\n') records += '\n';
  LookAhead(*format, records, block);
  const testing::CutInput whole = testing::CutRecords(*format, records, count);
  const testing::CutInput parts = testing::CutRecords(*format, records, block);
  Require(whole.error == parts.error, "another error");
  if (!whole.error.empty()) return 0;
  Require(whole.records == parts.records && whole.trailer == parts.trailer, "other records");
  Require(whole.text() == records, "lost bytes");
  DropAllKeys(*format, records.substr(0, records.size() - whole.trailer.size()));
  return 0;
}
