#include "formats/logs_format.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cut_records.hpp"
#include "formats/log_times.hpp"
#include "formats/time_text.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

// 2026-11-24T12:00:00Z
constexpr std::int64_t kNow = 1795521600;

struct Line {
  const char* line;
  const char* time;  // of ParseInstant, in UTC
};

// Lines as the programs write them, in the zone Europe/Berlin if they name none.
constexpr Line kLines[] = {
    {"2026-11-23T22:10:01.123456Z info", "2026-11-23T22:10:01.123456Z"},
    {"2026-11-23 22:10:01,123 +0100 info", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23 22:10:01,123 ERROR main failed", "2026-11-23T21:10:01.123Z"},
    {"2026-07-23 22:10:01 summer", "2026-07-23T20:10:01Z"},
    {"2026-11-23 22:10:01.123 CET [77] LOG:  ready", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23 22:10:01 -10 items", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01+01 x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01.123 EST [77] LOG:  ready", "2026-11-24T03:10:01.123Z"},
    {"2026-11-23 22:10:01.123 -03 [77] LOG:  ready", "2026-11-24T01:10:01.123Z"},
    {"2026-11-23 22:10:01 -1500 EUR", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 ACT now", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 Must x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 10:10:01 PM INFO x", "2026-11-23T21:10:01Z"},
    {"Mon 23 Nov 2026 10:10:01 PM CET x", "2026-11-23T21:10:01Z"},
    {"Mon Nov 23 10:10:01 PM CET 2026 x", "2026-11-23T21:10:01Z"},
    {"Nov 23 2026 22:10:01 GMT+0100 x", "2026-11-23T21:10:01Z"},
    {"[GIN] 2026/11/23 - 22:10:01 | 200 |", "2026-11-23T21:10:01Z"},
    {"20261123 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"20261123221001 x", "2026-11-23T21:10:01Z"},
    {"1234567890 2026-11-23 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"4915112345678 2026-11-23 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"I20261123 22:10:01.5 1 main.cc:1] x", "2026-11-23T21:10:01.5Z"},
    {"*Nov 23 22:10:01: %SYS-5-CONFIG_I: x", "2026-11-23T21:10:01Z"},
    {"20261123T221001Z x", "2026-11-23T22:10:01Z"},
    {"<34>1 2026-11-23T22:10:01.003Z host su - ID47 - failed", "2026-11-23T22:10:01.003Z"},
    {"Nov 23 22:10:01 host prog[1]: x", "2026-11-23T21:10:01Z"},
    {"<13>Nov  3 02:10:01 host prog: x", "2026-11-03T01:10:01Z"},
    {"Dec 31 23:59:59 host prog: the year before", "2025-12-31T22:59:59Z"},
    {"Feb 29 12:00:00 host prog: a leap year", "2024-02-29T11:00:00Z"},
    {"10.0.0.1 - - [23/Nov/2026:22:10:01 +0100] \"GET / HTTP/1.1\" 200 12", "2026-11-23T21:10:01Z"},
    {"::1 - john doe [23/Nov/2026:22:10:01 -0500] \"GET / HTTP/1.1\" 200 12", "2026-11-24T03:10:01Z"},
    {"example.org:80 10.0.0.1 - - [23/Nov/2026:22:10:01 +0000] \"GET /\"", "2026-11-23T22:10:01Z"},
    {"[Mon Nov 23 22:10:01.123456 2026] [core:error] [pid 1] x", "2026-11-23T21:10:01.123456Z"},
    {"Mon Nov 23 22:10:01 CET 2026 x", "2026-11-23T21:10:01Z"},
    {"2026/11/23 22:10:01 [error] 1#1: *1 open() failed", "2026-11-23T21:10:01Z"},
    {"2026/11/23 22:10:01.5 go", "2026-11-23T21:10:01.5Z"},
    {"[2026/11/23 22:10:01.123456,  3] ../source3/smbd.c:1(main)", "2026-11-23T21:10:01.123456Z"},
    {"Mon, 23 Nov 2026 22:10:01 +0100 x", "2026-11-23T21:10:01Z"},
    {"Mon, 23 Nov 2026 22:10:01 GMT x", "2026-11-23T22:10:01Z"},
    {"Nov 23, 2026 10:10:01 PM org.example.Main main", "2026-11-23T21:10:01Z"},
    {"Nov 23, 2026 12:10:01 AM org.example.Main main", "2026-11-22T23:10:01Z"},
    {"23-Nov-2026 22:10:01.123 INFO [main] org.apache.catalina", "2026-11-23T21:10:01.123Z"},
    {"1:M 23 Nov 2026 22:10:01.123 * Ready to accept connections", "2026-11-23T21:10:01.123Z"},
    {"23.11.2026 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"E1123 22:10:01.123456    1 main.cc:1] x", "2026-11-23T21:10:01.123456Z"},
    {"11-23 22:10:01.123  1  1 I Tag: x", "2026-11-23T21:10:01.123Z"},
    {"261123 22:10:01 mysqld_safe Starting", "2026-11-23T21:10:01Z"},
    {"1795471801 x", "2026-11-23T22:10:01Z"},
    {"1795471801.123    12 10.0.0.1 TCP_MISS/200 squid", "2026-11-23T22:10:01.123Z"},
    {"1795471801123 x", "2026-11-23T22:10:01.123Z"},
    {"type=SYSCALL msg=audit(1795471801.123:45): arch=c000003e", "2026-11-23T22:10:01.123Z"},
    {"[pid 12] 1795471801.123456 open(\"x\")", "2026-11-23T22:10:01.123456Z"},
    {"2026-11-23T22:10:01.123456789Z stdout F text", "2026-11-23T22:10:01.123456789Z"},
    {"time=2026-11-23T22:10:01Z level=info msg=x", "2026-11-23T22:10:01Z"},
    {"level=info ts=\"2026-11-23T22:10:01Z\" msg=x", "2026-11-23T22:10:01Z"},
    {"{\"log\":\"x\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-23T22:10:01.5Z\"}", "2026-11-23T22:10:01.5Z"},
    {"{\"level\":\"info\",\"ts\":1795471801.25,\"msg\":\"x\"}", "2026-11-23T22:10:01.25Z"},
    {"{\"t\":{\"$date\":\"2026-11-23T22:10:01.123+01:00\"},\"s\":\"I\"}", "2026-11-23T21:10:01.123Z"},
    {"{\"__REALTIME_TIMESTAMP\":\"1795471801123456\",\"MESSAGE\":\"x\"}", "2026-11-23T22:10:01.123456Z"},
    {"{\"@timestamp\":\"2026-11-23T22:10:01Z\"}", "2026-11-23T22:10:01Z"},
    {"\x1b[32m2026-11-23T22:10:01Z\x1b[0m INFO colours", "2026-11-23T22:10:01Z"},
    {"\xEF\xBB\xBF"
     "2026-11-23T22:10:01Z after a byte order mark",
     "2026-11-23T22:10:01Z"},
};

std::string KeyOf(const Instant& instant) {
  return KeyBytes([&](FieldWriter& out) { ValueKey(ValueRule{}).PutInstant(instant, out); });
}

TEST(LogTimes, FindsTheTimeOfEachKnownForm) {
  const Zone zone("Europe/Berlin");
  for (const Line& line : kLines) {
    SCOPED_TRACE(line.line);
    const std::string front = std::string(line.line) + "\n  more\n" + line.line + "\n";
    const std::shared_ptr<const LogTimes> log = LearnLog(front, {}, kNow);
    EXPECT_EQ(log->shapes.size(), 1u);
    EXPECT_EQ(log->matched, log->looked);
    LogTimeReader reader;
    EXPECT_TRUE(reader.Begins(*log, line.line));
    const LogTime time = reader.Read(*log, line.line);
    std::optional<Instant> found = time.instant;
    ASSERT_TRUE(found);
    if (time.lacks_zone) found->seconds = zone.ToUtc(found->seconds);
    EXPECT_EQ(KeyOf(*found), KeyOf(*ParseInstant(line.time)));
  }
}

TEST(LogTimes, TakesTheFormsThatAreGiven) {
  const std::string front = "id 7 at 11/12/2026 10:00:00 x\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(front, {.times = {CheckedTimeFormat("%d/%m/%Y %T")}}, kNow);
  LogTimeReader reader;
  EXPECT_EQ(reader.Read(*log, front).instant->seconds, ParseInstant("2026-12-11 10:00:00")->seconds);
}

TEST(LogTimes, SaysWhatIsMissing) {
  const auto why = [](const std::string& front) -> std::string {
    try {
      LearnLog(front, {}, kNow);
    } catch (const BadRecord& bad) {
      return bad.what();
    }
    return "";
  };
  EXPECT_NE(why("hello\nworld\n").find("none of 2 lines has a time in a known form"), std::string::npos);
  EXPECT_NE(why("hello\nworld\n").find("'hello' and 'world'"), std::string::npos);
  EXPECT_NE(why("11/12/2026 10:00:00 x\n").find("day or month first?"), std::string::npos);
  EXPECT_NE(why("[    0.000000] Linux\n").find("from the start"), std::string::npos);
  EXPECT_NE(why("22:10:01 x\n").find("have no date"), std::string::npos);
  EXPECT_NE(why("a\n2026-11-23 22:10:01 x\nb\n").find("only 1 of 3 lines has a time"), std::string::npos);
  EXPECT_NE(why("26/11/23 22:10:01 INFO x\n").find("year or day first?"), std::string::npos);
  EXPECT_NE(why("[23-Nov-2026 22:10:01 America/Nowhere] PHP x\n").find("none of 1 lines"), std::string::npos);
  EXPECT_NE(why("ann 4915112345678\nbob 4915112345679\n").find("none of 2 lines"), std::string::npos);
  EXPECT_EQ(why("\n\n"), "");
}

TEST(LogTimes, KnowsALogOfStackTraces) {
  const std::string record = "2026-11-23 22:10:01,5 ERROR x\nTraceback (most recent call last):\n  a\nValueError: x\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(record + record, {}, kNow);
  EXPECT_EQ(log->shapes.size(), 1u);
  EXPECT_EQ(log->matched, 2u);
  EXPECT_EQ(log->looked, 6u);
}

TEST(LogTimes, KnowsAMixtureOfForms) {
  const std::string front =
      "2026-11-23 22:10:01 a\n2026-11-23 22:10:01 b\nNov 23 22:10:02 host b\n2026/11/23 22:10:03 [error] c\n"
      "{\"time\":\"2026-11-23T22:10:01Z\"}\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(front, {}, kNow);
  EXPECT_EQ(log->shapes.size(), 4u);
  EXPECT_EQ(log->matched, 5u);
}

TEST(LogTimes, TakesNumbersOfAMergedLogForSecondsIfTheyAreOfTheDaysOfTheOtherTimes) {
  const std::string log = "Nov 23 22:10:01 host a\n1795471803.250 12 squid\nNov 23 22:10:02 host b\n";
  EXPECT_EQ(LearnLog(log + "1795471800.5 13 squid\n", {}, kNow)->matched, 4u);
  const std::string ids = "Nov 23 22:10:01 host a\n1234567890 12 text\nNov 23 22:10:02 host b\n1700000000 13 text\n";
  EXPECT_EQ(LearnLog(ids, {}, kNow)->matched, 2u);
}

TEST(LogTimes, GivesTimesOfDayWhoseDateTheUserGives) {
  const std::string front = "22:10:01.5 a\n22:10:02 b\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(front, {.dated = true}, kNow);
  const LogTime time = LogTimeReader().Read(*log, front.substr(0, front.find('\n')));
  EXPECT_TRUE(time.lacks_date);
  EXPECT_FALSE(time.lacks_year);
  EXPECT_EQ(time.instant->seconds, (22 * 60 + 10) * 60 + 1);
  EXPECT_EQ(time.instant->fraction, "5");
}

TEST(LogTimes, IsTheSameInAnotherProcess) {
  const std::string front =
      "2026-11-23 22:10:01 a\n[Mon Nov 23 22:10:02 2026] b\n{\"time\":\"2026-11-23T22:10:01Z\"}\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(front, {}, kNow);
  const std::string saved = SaveLog(*log);
  const std::shared_ptr<const LogTimes> other = LoadLog(saved);
  EXPECT_EQ(other->shapes.size(), 3u);
  EXPECT_EQ(SaveLog(*other), saved);
  EXPECT_THROW(LoadLog(saved.substr(1)), Error);
  EXPECT_THROW(LoadLog(saved.substr(0, saved.size() - 1)), Error);
}

TEST(LogTimes, DoesNotTakeAnIndentedTimeForARecord) {
  const std::string line = "2026-11-23 22:10:05 rows are\n";
  EXPECT_FALSE(LogTimeReader().Begins(*LearnLog(line, {}, kNow), "   2026-01-01 00:00:00 | x"));
}

TEST(LogTimes, ReadsALineAloneAsAfterAnother) {
  const std::string one = "P - - [20/Nov/2026:00:00:00 +0000] x\n",
                    two = "2026-11-23 23:30:00 longword and more text of it\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(one + one + two, {}, kNow);
  const std::string both = two.substr(0, two.size() - 1) + " - - [20/Nov/2026:00:00:00 +0000] x";
  LogTimeReader fresh, used;
  used.Read(*log, two);
  EXPECT_EQ(KeyOf(*fresh.Read(*log, both).instant), KeyOf(*used.Read(*log, both).instant));
}

TEST(Zone, FollowsTheClocksOfItsPlace) {
  const Zone berlin("Europe/Berlin");
  const auto local = [](const char* text) { return ParseInstant(text)->seconds; };
  EXPECT_EQ(berlin.ToUtc(local("2026-01-01 12:00:00")), local("2026-01-01 11:00:00"));
  EXPECT_EQ(berlin.ToUtc(local("2026-07-01 12:00:00")), local("2026-07-01 10:00:00"));
  EXPECT_EQ(berlin.ToUtc(local("2026-10-25 02:30:00")), local("2026-10-25 00:30:00")) << "the first of two";
  EXPECT_EQ(berlin.ToUtc(local("2026-03-29 02:30:00")), local("2026-03-29 01:30:00")) << "moved forward";
  EXPECT_EQ(Zone("-03:30").ToUtc(0), 12600);
  EXPECT_THROW(Zone("Nowhere/Land"), Error);
  EXPECT_THROW(Zone("+25:00"), Error);
}

TEST(Zone, GivesTheRangeOfOneDistance) {
  const auto local = [](const char* text) { return ParseInstant(text)->seconds; };
  for (const char* const name : {"Europe/Berlin", "America/New_York", "UTC", "+05:30", "Australia/Lord_Howe"}) {
    const Zone zone(name);
    for (std::int64_t at = local("2026-01-01"); at < local("2027-01-01"); at += 1800) {
      const Zone::Span span = zone.SpanOf(at);
      if (span.begin == span.end) {
        EXPECT_NE(zone.ToLocal(zone.ToUtc(at, true)) == at && !zone.IsTwice(at), true) << name << " " << at;
        continue;
      }
      ASSERT_TRUE(span.has(at)) << name;
      for (const std::int64_t other : {span.begin, at, span.end - 1}) {
        if (other < local("1950-01-01") || other > local("2050-01-01")) continue;
        EXPECT_EQ(zone.ToUtc(other), other - span.east) << name << " " << other;
        EXPECT_FALSE(zone.IsTwice(other)) << name << " " << other;
      }
    }
  }
}

JobSpec LogSpecOf(std::vector<std::string> args, const char* zone = "UTC") {
  args.insert(args.begin(), {"--format", "log", "--timezone", zone});
  args.insert(args.end(), {"in", "out"});
  return Parse(args);
}

/// Returns the keys of the records of `text`, which must not depend on the sizes of blocks, and `bodies` of the records.
std::vector<std::string> KeysOf(const JobSpec& spec, const std::string& text, std::vector<std::string>* bodies = {}) {
  const LogsFormat format(spec);
  std::vector<std::string> keys;
  for (const std::size_t block : {text.size(), std::size_t{1}, std::size_t{13}, std::size_t{100}}) {
    const CutInput cut = CutRecords(format, text, block);
    EXPECT_EQ(cut.error, "");
    std::vector<std::string> here;
    for (const CutRecord& record : cut.records) here.push_back(record.key);
    if (block == text.size()) {
      keys = here;
      for (const CutRecord& record : cut.records) {
        if (bodies != nullptr) bodies->push_back(record.body);
      }
    }
    EXPECT_EQ(here, keys) << "blocks of " << block;
  }
  return keys;
}

std::vector<std::string> KeysOfTimes(const std::vector<const char*>& times) {
  std::vector<std::string> keys;
  keys.reserve(times.size());
  for (const char* const time : times) keys.push_back(KeyOf(*ParseInstant(time)));
  return keys;
}

TEST(LogsFormat, KnowsTheSecondPassOfAnHour) {
  const std::string text =
      "2026-10-25 01:59:59 a\n2026-10-25 02:00:01 b\n2026-10-25 02:50:00 c\n2026-10-25 02:49:58 late\n"
      "2026-10-25 02:05:00 second\n2026-10-25 02:59:59 e\n2026-10-25 03:00:00 f\n2026-10-25 02:59:59 back\n";
  EXPECT_EQ(KeysOf(LogSpecOf({}, "Europe/Berlin"), text),
            KeysOfTimes({"2026-10-24T23:59:59Z", "2026-10-25T00:00:01Z", "2026-10-25T00:50:00Z", "2026-10-25T00:49:58Z",
                         "2026-10-25T01:05:00Z", "2026-10-25T01:59:59Z", "2026-10-25T02:00:00Z",
                         "2026-10-25T00:59:59Z"}));
}

TEST(LogsFormat, KnowsThePassFromATimeWithAZone) {
  const std::string text =
      "2026-10-25 02:30:00 a\n2026-10-25T01:00:00Z b\n2026-10-25 02:00:01 c\n2026-10-25T01:20:00Z d\n"
      "2026-10-25 02:30:01 e\n2026-10-25T00:59:59Z f\n2026-10-25 02:58:00 g\n";
  EXPECT_EQ(KeysOf(LogSpecOf({}, "Europe/Berlin"), text),
            KeysOfTimes({"2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:00:01Z", "2026-10-25T01:20:00Z",
                         "2026-10-25T01:30:01Z", "2026-10-25T00:59:59Z", "2026-10-25T00:58:00Z"}));
  const std::string json =
      "{\"ts\":\"2026-10-25 02:30:00\"}\n{\"ts\":\"2026-10-25 02:59:59\"}\n{\"ts\":\"2026-10-25 02:00:01\"}\n";
  EXPECT_EQ(KeysOf(LogSpecOf({}, "Europe/Berlin"), json),
            KeysOfTimes({"2026-10-25T00:30:00Z", "2026-10-25T00:59:59Z", "2026-10-25T01:00:01Z"}));
  const std::string years = "{\"time\":\"Nov 23 22:10:01\"}\n{\"time\":\"Jan  1 22:10:01\"}\n";
  EXPECT_EQ(KeysOf(LogSpecOf({"--year", "2025"}), years), KeysOfTimes({"2025-11-23 22:10:01", "2026-01-01 22:10:01"}));
}

TEST(LogsFormat, CountsYearsFromTheOneThatIsGiven) {
  const std::string text =
      "Nov 30 00:00:00 h a\nDec 31 23:59:59 h b\nJan  1 00:00:01 h c\nDec 31 23:59:58 h late\nJan  2 00:00:00 h d\n"
      "Sep  2 00:00:00 h e\nFeb 28 00:00:00 h f\nFeb 29 00:00:00 h g\n";
  EXPECT_EQ(KeysOf(LogSpecOf({"--year", "2022"}), text),
            KeysOfTimes({"2022-11-30", "2022-12-31 23:59:59", "2023-01-01 00:00:01", "2022-12-31 23:59:58",
                         "2023-01-02", "2023-09-02", "2024-02-28", "2024-02-29"}));
}

TEST(LogsFormat, CountsDaysFromTheOneThatIsGiven) {
  const std::string text = "10:00:00 a\n23:59:59 b\n00:00:01 c\n23:59:58 late\n13:00:00 d\n12:00:01 e\n00:00:00 f\n";
  EXPECT_EQ(KeysOf(LogSpecOf({"--date", "2026-12-31"}), text),
            KeysOfTimes({"2026-12-31 10:00:00", "2026-12-31 23:59:59", "2027-01-01 00:00:01", "2026-12-31 23:59:58",
                         "2027-01-01 13:00:00", "2027-01-01 12:00:01", "2027-01-02 00:00:00"}));
}

TEST(LogsFormat, TakesEachLineOrIndentedLinesAsRecords) {
  const std::string text =
      "head\n2026-01-02 00:00:00 a\n\tat x\nCaused by\n\tat y\n2026-01-01 00:00:00 b\nlast\n2026-01-04 00:00:00 c\n";
  std::vector<std::string> bodies;
  EXPECT_EQ(KeysOf(LogSpecOf({"--multiline", "none", "--time", "%Y-%m-%d %T"}), text, &bodies),
            KeysOfTimes({"2026-01-02", "2026-01-02", "2026-01-02", "2026-01-02", "2026-01-01", "2026-01-01",
                         "2026-01-04"}));
  EXPECT_EQ(bodies[0], "head\n2026-01-02 00:00:00 a\n");
  bodies.clear();
  EXPECT_EQ(KeysOf(LogSpecOf({"--multiline", "indent", "--time", "%Y-%m-%d %T"}), text, &bodies),
            KeysOfTimes({"2026-01-02", "2026-01-02", "2026-01-01", "2026-01-01", "2026-01-04"}));
  EXPECT_EQ(bodies[1], "Caused by\n\tat y\n");
}

RC_GTEST_PROP(LogsFormat, FindsTheSameTimesInBlocksOfAnySize, ()) {
  const bool years = *rc::gen::arbitrary<bool>();
  const auto multiline = *rc::gen::element<std::string>("auto", "indent", "none");
  std::string text = years ? "Oct 25 00:00:00 first\n" : "2026-10-25 00:00:00 first\n";
  for (int left = *rc::gen::inRange(0, 30); left > 0; --left) {
    char time[40];
    const int minute = *rc::gen::inRange(0, 60), hour = *rc::gen::inRange(1, 4);
    if (years) {
      const char* const month = *rc::gen::element("Jan", "Dec", "Oct", "Mar");
      std::snprintf(time, sizeof(time), "%s %2d %02d:%02d:00", month, *rc::gen::inRange(20, 30), hour, minute);
    } else {
      std::snprintf(time, sizeof(time), "2026-10-25 %02d:%02d:00", hour, minute);
    }
    text += *rc::gen::element<std::string>(time, time, time, "  more", "text", "") + " of it\n";
  }
  std::vector<std::string> args{"--multiline", multiline};
  if (years) args.insert(args.end(), {"--year", "2020"});
  args.insert(args.end(), {"--time", years ? "%b %e %T" : "%F %T"});
  const JobSpec spec = LogSpecOf(args, "Europe/Berlin");
  RC_ASSERT(!KeysOf(spec, text).empty());
}

RC_GTEST_PROP(LogsFormat, CutsRecordsAsLinesWithTimesSay, (bool descending)) {
  const JobSpec spec = LogSpecOf(descending ? std::vector<std::string>{"-r"} : std::vector<std::string>{});
  struct Record {
    std::string bytes, key;
  };
  std::vector<Record> records;
  std::string text = "2026-11-23 22:10:01,5 the form of this input\n";
  records.push_back({text, "2026-11-23 22:10:01.5"});
  const auto rest = [] {
    return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab 2026-11:\t\x1D\x01")));
  };
  const auto count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    if (*rc::gen::inRange(0, 3) == 0) {
      const std::string line = *rc::gen::element<std::string>(" ", "at ", "x2026-11-23 22:10:01 ") + rest() + "\n";
      text += line;
      records.back().bytes += line;
      continue;
    }
    char time[40];
    std::snprintf(time, sizeof(time), "2026-%02d-%02d %02d:%02d:%02d", *rc::gen::inRange(1, 13),
                  *rc::gen::inRange(1, 29), *rc::gen::inRange(0, 24), *rc::gen::inRange(0, 60),
                  *rc::gen::inRange(0, 60));
    const std::string fraction = *rc::gen::element<std::string>("", ",1", ".25");
    const std::string line = time + fraction + " x" + rest() + "\n";
    std::string dotted = fraction;
    if (!dotted.empty()) dotted[0] = '.';
    records.push_back({line, time + dotted});
    text += line;
  }
  const LogsFormat format(spec);
  const auto cut_at = [&](std::size_t block) { return CutRecords(format, text, block, text.find('\n') + 1); };
  for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{64}, text.size()}) {
    const CutInput cut = cut_at(block);
    RC_ASSERT(cut.error.empty());
    RC_ASSERT(cut.records.size() == records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      RC_ASSERT(cut.records[i].body == records[i].bytes);
      ValueRule rule;
      rule.descending = descending;
      const std::string key =
          KeyBytes([&](FieldWriter& out) { ValueKey(rule).PutInstant(*ParseInstant(records[i].key), out); });
      RC_ASSERT(cut.records[i].key == key);
    }
  }
}

}  // namespace
}  // namespace gpusort::testing
