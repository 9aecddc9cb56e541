#include "formats/time_window.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "formats/logs_format.hpp"
#include "kernels/error.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

std::string Digits(unsigned number, int width) {
  const std::string digits = std::to_string(number);
  return std::string(static_cast<std::size_t>(width) - digits.size(), '0') + digits;
}

RC_GTEST_PROP(TimeWindow, ComparesFractionsOnBothSidesOf1970, ()) {
  // Thousandths of a second since 1970, near 0, and as text with zeros at the end.
  const auto time = [] { return *rc::gen::inRange(-3000, 3000); };
  const auto text = [](int time) {
    const unsigned size = static_cast<unsigned>(std::abs(time));
    return (time < 0 ? "-" : "") + std::to_string(size / 1000) + "." + Digits(size % 1000, 3) +
           std::string(*rc::gen::inRange<std::size_t>(0, 3), '0');
  };
  const int first = time(), second = time(), record = time();
  RC_PRE(first != second);
  const int since = std::min(first, second), until = std::max(first, second);
  const std::string bounds[] = {"@" + text(since), "@" + text(until)}, instant = text(record);
  const Zone utc("UTC");
  WindowTally tally;
  RC_ASSERT(TimeWindow(bounds[0], bounds[1], utc).Takes(ParseInstant(instant), tally) ==
            (since <= record && record < until));
  RC_ASSERT(TimeWindow(bounds[0], "", utc).Takes(ParseInstant(instant), tally) == (since <= record));
  RC_ASSERT(TimeWindow("", bounds[1], utc).Takes(ParseInstant(instant), tally) == (record < until));
  RC_ASSERT(tally.inside + tally.outside == 3);
}

TEST(TimeWindow, ReadsTimesWithoutAZoneInTheZone) {
  const Zone berlin("Europe/Berlin");
  const std::string since = "2026-07-01", until = "2026-07-01T12:00Z";
  const TimeWindow window(since, until, berlin);
  WindowTally tally;
  const auto takes = [&](const char* text) { return window.Takes(ParseInstant(text), tally); };
  EXPECT_FALSE(takes("2026-06-30T21:59:59.999Z"));
  EXPECT_TRUE(takes("2026-06-30T22:00:00Z"));
  EXPECT_TRUE(takes("2026-07-01T11:59:59.999999999999Z"));
  EXPECT_FALSE(takes("2026-07-01T12:00:00Z"));
  EXPECT_FALSE(takes("infinity"));
  EXPECT_FALSE(takes("-infinity"));
  EXPECT_FALSE(window.Takes(std::nullopt, tally));
  EXPECT_EQ(tally.inside, 2u);
  EXPECT_EQ(tally.outside, 5u);
  EXPECT_EQ(tally.timeless, 1u);
  const std::vector<std::string> lines = DescribeWindow(since, until, berlin, tally);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "1 record has no time and is left out, because of --since and --until");
  WindowTally none;
  EXPECT_TRUE(TimeWindow("", "", berlin).Takes(std::nullopt, none));
  EXPECT_EQ(none.inside, 0u);
}

TEST(TimeWindow, NamesTheTimesIfNoneIsInside) {
  const Zone berlin("Europe/Berlin");
  const std::string since = "2026-07-01";
  WindowTally one, two;
  const TimeWindow window(since, "", berlin);
  window.Takes(ParseInstant("2026-01-02T03:04:05Z"), one);
  window.Takes(ParseInstant("2026-01-01T03:04:05.5Z"), two);
  one.Add(two);
  EXPECT_EQ(DescribeWindow(since, "", berlin, one),
            std::vector<std::string>{"no record is in the window from 2026-07-01 00:00:00; the records are from "
                                     "2026-01-01 04:04:05 until 2026-01-02 04:04:05, in the zone Europe/Berlin"});
  EXPECT_TRUE(DescribeWindow(since, "", berlin, WindowTally{}).empty()) << "there was no record at all";
}

TEST(TimeWindow, RefusesWhatIsNoTimeAndAWindowWithoutTime) {
  for (const char* text : {"2026-11-23", "2026-11-23 06:00", "2026/11/23", "20261123T0600", "@0", "@-1.5",
                           "@1795471801123", "23/Nov/2026:22:10:01 +0100"}) {
    EXPECT_EQ(CheckedWindowTime(text), text);
  }
  for (const char* text :
       {"20261123", "1795471801", "-5", "@", "@x", "@2026-11-23", "infinity", "@-infinity", "2026-11-31", "now", " "}) {
    EXPECT_THROW(CheckedWindowTime(text), Error) << text;
  }
  const Zone utc("UTC");
  EXPECT_THROW(TimeWindow("2026-11-23", "2026-11-23", utc), Error);
  EXPECT_THROW(TimeWindow("@1.5", "@1.25", utc), Error);
}

TEST(LogsFormat, LeavesRecordsOutAndPutsNamesBeforeTheOthers) {
  const JobSpec spec = Parse({"--format", "log", "--timezone", "UTC", "--since", "2026-11-23T01:00", "--prefix-name",
                              "a.log", "b\nc", "-o", "out"});
  const std::string text =
      "2026-11-23 00:00:00 before\n\tmore\n2026-11-23 01:00:00 one line\n2026-11-23 01:00:01 two\n\tlines\n";
  const LogsFormat format(spec);
  const std::unique_ptr<KeyEncoder> encoder = format.MakeEncoder();
  const auto output = [&](std::uint32_t input) {
    std::vector<std::byte> keyed;
    RecordSpan records = std::as_bytes(std::span(text));
    KeyTally tally;
    tally.input = input;
    ScanState state;
    format.BeginInput(records, 0, state);
    while (!records.empty()) {
      const std::size_t begin = keyed.size();
      const std::uint64_t size = encoder->Append(records, state, keyed, tally);
      EXPECT_LE(keyed.size() - begin, size + format.most_added(size));
      records = records.subspan(size);
    }
    EXPECT_EQ(tally.window.outside, 1u);
    const std::span<const std::byte> plain = DropKeys(keyed, format.layout());
    return std::string(reinterpret_cast<const char*>(plain.data()), plain.size());
  };
  EXPECT_EQ(output(0), "a.log: 2026-11-23 01:00:00 one line\na.log: 2026-11-23 01:00:01 two\n\tlines\n");
  EXPECT_EQ(output(1), "b\\x0ac: 2026-11-23 01:00:00 one line\nb\\x0ac: 2026-11-23 01:00:01 two\n\tlines\n");
}

}  // namespace
}  // namespace gpusort::testing
