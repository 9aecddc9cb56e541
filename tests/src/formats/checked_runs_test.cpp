// Tests the lines of runs that have sort keys with checksums.
#include "formats/checked_runs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "formats/input_place.hpp"

namespace gpusort::testing {
namespace {

using CheckedBytes = std::vector<std::byte>;

/// Returns a line of a run, without the checksum if `checked` is false.
CheckedBytes LineOfRun(const std::string& key, const std::string& record, bool checked) {
  CheckedBytes line{std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)};
  FieldWriter writer(line);
  writer.Begin(key.size() * 2 + 1);
  for (const char c : key) writer.Put(static_cast<unsigned char>(c));
  writer.End();
  if (checked) AppendKeyCheck(0, line);
  StoreBody(std::as_bytes(std::span(record)), 0, line);
  return line;
}

RC_GTEST_PROP(CheckedRunFormat, CopiesKeysAndRecords, (const std::string& key, const std::string& record)) {
  const CheckedBytes line = LineOfRun(key, record, true);
  ScanState state;
  KeyTally tally;
  tally.input = 3;
  tally.offset = 70;
  CheckedBytes plain, placed;
  RC_ASSERT(CheckedRunFormat(false, 1).MakeEncoder()->Append(line, state, plain, tally) == line.size());
  RC_ASSERT(plain == LineOfRun(key, record, false));
  const CheckedRunFormat places(true, 1);
  RC_ASSERT(places.MakeEncoder()->Append(line, state, placed, tally) == line.size());
  RC_ASSERT(InputPlace::Of(placed) == (InputPlace{3, 70}));
  CheckedBytes scratch;
  const RecordSpan body = OwnBytes(placed, places.layout(), scratch);
  RC_ASSERT(std::string(reinterpret_cast<const char*>(body.data()), body.size()) == record);
}

RC_GTEST_PROP(CheckedRunFormat, RefusesChangedKeys, (const std::string& key)) {
  const CheckedBytes line = LineOfRun(key, "record\n", true);
  const std::size_t keys = line.size() - std::string("record\n").size();
  // The first byte has flags. Those of the record are covered by the checksum of the record.
  const std::size_t at = *rc::gen::inRange(std::size_t{1}, keys);
  CheckedBytes changed = line;
  changed[at] ^= static_cast<std::byte>(*rc::gen::inRange(1, 256));
  ScanState state;
  KeyTally tally;
  CheckedBytes out;
  RC_ASSERT_THROWS_AS(CheckedRunFormat(false, 1).MakeEncoder()->Append(changed, state, out, tally), BadRecord);
}

}  // namespace
}  // namespace gpusort::testing
