// Tests the named fields of logs, on lines as the programs write them.
#include "formats/log_fields.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

using FieldMap = std::map<std::string, std::string>;

ColumnKey Key(const std::string& name) {
  ColumnKey key;
  key.text = key.column = name;
  return key;
}

/// Returns the value of a field of `line`, or "(none)". The form is learnt from `line` alone.
std::string Find(const std::string& line, const std::string& name) {
  constexpr std::int64_t kLatest = 4102444800;
  TableOptions table;
  table.keys = {Key(name)};
  LogKeys keys(table);
  const std::shared_ptr<const LogTimes> log = LearnLog(line + "\n", {}, kLatest);
  keys.Begin(*log, line, line);
  return std::string(keys.Find(0).value_or("(none)"));
}

void ExpectFields(const std::string& line, const FieldMap& fields) {
  for (const auto& [name, value] : fields) EXPECT_EQ(Find(line, name), value) << name << " of " << line;
}

TEST(LogKeys, FindsFieldsOfServers) {
  ExpectFields(R"(127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326)",
               {{"host", "127.0.0.1"},
                {"client", "127.0.0.1"},
                {"ident", ""},
                {"user", "frank"},
                {"method", "GET"},
                {"request", "GET /apache_pb.gif HTTP/1.0"},
                {"path", "/apache_pb.gif"},
                {"protocol", "HTTP/1.0"},
                {"status", "200"},
                {"bytes", "2326"},
                {"referer", "(none)"},
                {"agent", "(none)"},
                {"vhost", "(none)"},
                {"level", "(none)"},
                {"program", "(none)"}});
  ExpectFields(R"(2001:db8::1 - john q doe [23/Nov/2026:22:10:01 +0100] "GET /a b?c=\"d\" HTTP/2.0" 304 - )"
               R"("https://example.com/?status=9" "Mozilla/5.0 (X11; \"quoted\" [x]) Gecko" 0.004)",
               {{"host", "2001:db8::1"},
                {"user", "john q doe"},
                {"path", R"(/a b?c=\"d\")"},
                {"status", "304"},
                {"bytes", ""},
                {"referer", "https://example.com/?status=9"},
                {"agent", R"(Mozilla/5.0 (X11; \"quoted\" [x]) Gecko)"}});
  ExpectFields(
      R"(www.example.com:443 10.0.0.7 - - [23/Nov/2026:22:10:01 +0100] "POST /x HTTP/1.1" 500 0 "-" "-" rt=0.25)",
      {{"vhost", "www.example.com:443"},
       {"host", "10.0.0.7"},
       {"user", ""},
       {"referer", ""},
       {"agent", ""},
       {"rt", "0.25"},
       {"method", "POST"}});
  ExpectFields(R"(10.0.0.7 - - [23/Nov/2026:22:10:01 +0100] "-" 408 0 "-" "-")",
               {{"request", ""}, {"method", "(none)"}, {"path", "(none)"}, {"status", "408"}});
  ExpectFields(R"(10.0.0.7 - - [23/Nov/2026:22:10:01 +0100] "\x16\x03\x01" 400 226)",
               {{"request", R"(\x16\x03\x01)"}, {"method", "(none)"}, {"bytes", "226"}});
  ExpectFields(R"(10.0.0.7 - - [23/Nov/2026:22:10:01 +0100] "GET /old" 200 5)",
               {{"method", "GET"}, {"path", "/old"}, {"protocol", "(none)"}});
  ExpectFields(R"(127.0.0.1 - - [23/Nov/2026 22:10:01] "GET / HTTP/1.1" 200 -)",  // Python's http.server
               {{"host", "127.0.0.1"}, {"path", "/"}, {"status", "200"}, {"bytes", ""}});
}

TEST(LogKeys, FindsFieldsOfSyslog) {
  ExpectFields("Nov 23 22:10:01 web-1 sshd[4321]: Failed password for root from 10.0.0.1",
               {{"host", "web-1"},
                {"program", "sshd"},
                {"pid", "4321"},
                {"level", "(none)"},
                {"message", "Failed password for root from 10.0.0.1"},
                {"priority", "(none)"}});
  ExpectFields("<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
               {{"host", "mymachine"},
                {"program", "su"},
                {"pid", "(none)"},
                {"priority", "34"},
                {"facility", "4"},
                {"severity", "2"},
                {"message", "'su root' failed for lonvick on /dev/pts/8"}});
  ExpectFields("Nov  3 02:10:01 host kernel: [12.345678] error: eth0 down SRC=10.0.0.9 LEN=40",
               {{"program", "kernel"}, {"level", "error"}, {"SRC", "10.0.0.9"}, {"LEN", "40"}, {"DST", "(none)"}});
  ExpectFields(
      "Nov 23 22:10:01 alert-1 last message repeated 2 times",
      {{"host", "alert-1"}, {"program", "(none)"}, {"level", "(none)"}, {"message", "last message repeated 2 times"}});
  ExpectFields(
      "Nov 23 22:10:01 mail postfix/smtp[99]: 4F: to=<a@b.de>, relay=mx[1.2.3.4]:25, delay=0.71, status=sent (ok)",
      {{"program", "postfix/smtp"}, {"pid", "99"}, {"delay", "0.71"}, {"status", "sent"}, {"to", "<a@b.de>"}});
  ExpectFields("2026-11-23T22:10:01.123456+01:00 db-2 systemd[1]: Started foo.service.",
               {{"host", "db-2"}, {"program", "systemd"}, {"pid", "1"}, {"message", "Started foo.service."}});
  ExpectFields(
      R"(<165>1 2026-11-23T22:14:15.003Z h.example.com app 8710 ID47 [a@1 x="1\]" y="]"][b@2] BOMAn alert event)",
      {{"host", "h.example.com"},
       {"program", "app"},
       {"pid", "8710"},
       {"priority", "165"},
       {"facility", "20"},
       {"severity", "5"},
       {"message", "BOMAn alert event"},
       {"level", "alert"}});
  ExpectFields("<13>1 2026-11-23T22:14:15.003Z - - - - - hello",
               {{"host", ""}, {"program", ""}, {"pid", ""}, {"message", "hello"}});
}

TEST(LogKeys, FindsLevelsAndMessages) {
  ExpectFields("2026-11-23 22:10:01,123 ERROR com.example.Main - it failed: info",
               {{"level", "ERROR"}, {"message", "ERROR com.example.Main - it failed: info"}, {"host", "(none)"}});
  ExpectFields("[Mon Nov 23 22:10:01.123456 2026] [core:error] [pid 12] [client 10.0.0.9:5566] AH00037: x",
               {{"level", "error"}, {"client", "10.0.0.9"}});
  ExpectFields(R"(2026/11/23 22:10:01 [warn] 7#7: *1 slow, client: 10.0.0.8, server: x, request: "GET / HTTP/1.1")",
               {{"level", "warn"}, {"client", "10.0.0.8"}});
  ExpectFields("E1123 22:10:01.123456    1234 file.cc:12] no info",
               {{"level", "E"}, {"message", "1234 file.cc:12] no info"}});
  ExpectFields("11-23 22:10:01.123  1234  5678 W ActivityManager: Slow operation",
               {{"level", "W"}, {"pid", "1234"}, {"program", "ActivityManager"}, {"message", "Slow operation"}});
  ExpectFields("INFO  [2026-11-23 22:10:01] [main] started", {{"level", "INFO"}, {"message", "[main] started"}});
  ExpectFields("2026-11-23T22:10:01Z INFO main: starting",
               {{"host", "(none)"}, {"program", "(none)"}, {"level", "INFO"}});
  ExpectFields("2026-11-23 22:10:01 CET [77] FATAL:  password authentication failed duration=12.5",
               {{"level", "FATAL"}, {"duration", "12.5"}});
}

TEST(LogKeys, FindsMembersAndPairs) {
  const std::string json = R"({"ts":"2026-11-23T22:10:01Z","severity":"WARN","msg":"a \"b\"",)"
                           R"("http":{"status":404,"tags":["x","y"]},"n":null})";
  ExpectFields(json, {{"http.status", "404"},
                      {"http.tags[1]", "y"},
                      {"/http/status", "404"},
                      {"level", "WARN"},
                      {"message", "a \"b\""},
                      {"msg", "a \"b\""},
                      {"n", ""},
                      {"status", "(none)"},
                      {"host", "(none)"}});
  const std::string logfmt =
      R"(level=warn ts=2026-11-23T22:10:01Z caller=main.go:12 msg="no error here status=5 \"x\"" )"
      R"(status=7 dur=1.5s a=,b)";
  ExpectFields(logfmt, {{"level", "warn"},
                        {"message", R"(no error here status=5 \"x\")"},
                        {"status", "7"},
                        {"dur", "1.5s"},
                        {"caller", "main.go:12"},
                        {"a", ",b"},
                        {"b", "(none)"}});
  ExpectFields("type=USER_LOGIN msg=audit(1700000000.123:45): pid=5 uid=0 auid=1000 res=success",
               {{"type", "USER_LOGIN"}, {"pid", "5"}, {"res", "success"}, {"id", "(none)"}});
}

TEST(LogKeys, RefusesKeysThatNameNothing) {
  for (const char* const name : {"3", "2,2n", "a..b", "/~2"}) {
    TableOptions table;
    table.keys = {Key(name)};
    EXPECT_THROW(LogKeys{table}, Error) << name;
  }
}

TEST(LogHint, ListsTheFieldsOfALine) {
  const std::string web = LogHint("statuss", R"(10.0.0.7 - ann [23/Nov/2026:22:10:01 +0100] "GET / HTTP/1.1" 200 12)");
  EXPECT_NE(web.find("(a record has 'status', "), std::string::npos) << web;
  EXPECT_NE(web.find("did you mean status?"), std::string::npos) << web;
  EXPECT_NE(LogHint("pod", "Nov 23 22:10:01 host sshd[1]: x").find("'pid'"), std::string::npos);
  EXPECT_NE(LogHint("b", R"({"ts":"2026-11-23T22:10:01Z","a":1})").find("'a'"), std::string::npos);
  EXPECT_NE(LogHint("x", "no time").find("'no time'"), std::string::npos);
}

RC_GTEST_PROP(LogKeys, TakesAnyLine, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "10.0.0.1 ", "- ", "[", "]", "\"", "23/Nov/2026:22:10:01 +0100", "2026-11-23T22:10:01Z", "Nov 23 22:10:01 ",
      "host ", "prog[1]:", "<34>", "1 ", " ", "a=", "=", "\\", "{", "}", "\"ts\":", "ERROR", "200 ", ":",
      "\xEF\xBB\xBF", "E1123 22:10:01.1", "[client ", "11-23 22:10:01.123 ", "W/x", "level="));
  std::string line;
  for (const std::string& piece : pieces) line += piece;
  TableOptions table;
  for (const char* const name :
       {"host", "client", "user", "path", "program", "pid", "message", "severity", "level", "a"}) {
    table.keys.push_back(Key(name));
  }
  LogKeys keys(table);
  std::shared_ptr<const LogTimes> log;
  try {
    log = LearnLog(line + "\n", {.dated = true}, 4102444800);
  } catch (const Error&) {
    log = std::make_shared<LogTimes>();
  }
  keys.Begin(*log, line, line);
  const char* const end = line.data() + line.size();
  for (std::size_t key = 0; key < table.keys.size(); ++key) {
    const std::optional<std::string_view> value = keys.Find(key);
    if (!value || value->empty() || line.starts_with('{') || table.keys[key].column == "severity") continue;
    RC_ASSERT(value->data() >= line.data() && value->data() + value->size() <= end);
  }
  keys.Names();
}

}  // namespace
}  // namespace gpusort
