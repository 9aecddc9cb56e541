#include "formats/logs_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cut_records.hpp"
#include "formats/inner_times.hpp"
#include "formats/log_times.hpp"
#include "formats/time_text.hpp"
#include "sort_files.hpp"

namespace gpusort::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// 2026-11-24T12:00:00Z
constexpr std::int64_t kNow = 1795521600;

struct Line {
  const char* line;
  const char* time;  // of ParseInstant, in UTC
};

// Lines as the programs write them, in the zone Europe/Berlin if they name none.
constexpr Line kLines[] = {
    {"2026-11-23T22:10:01.123456Z info", "2026-11-23T22:10:01.123456Z"},
    {"1795471801417.5 x", "2026-11-23T22:10:01.4175Z"},
    {"jo (11/23-22:10:01-105) CMD (x)", "2026-11-23T21:10:01Z"},
    {R"({"ts":1795471801417.123,"msg":"x"})", "2026-11-23T22:10:01.417123Z"},
    {R"({"ts":1795471801000.000,"msg":"x"})", "2026-11-23T22:10:01Z"},
    {"2026-11-23 22:10:01,123 +0100 info", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23 22:10:01,123 ERROR main failed", "2026-11-23T21:10:01.123Z"},
    {"2026-07-23 22:10:01 summer", "2026-07-23T20:10:01Z"},
    {"2026-11-23 22:10:01.123 CET [77] LOG:  ready", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23 22:10:01 -10 items", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01+01 x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01.123 EST [77] LOG:  ready", "2026-11-24T03:10:01.123Z"},
    {"2026-11-23 22:10:01.123 -03 [77] LOG:  ready", "2026-11-24T01:10:01.123Z"},
    {"2026-11-23 22:10:01 -03 x", "2026-11-24T01:10:01Z"},
    {"Mon 2026-11-23 22:10:01 -03 host a[1]: x", "2026-11-24T01:10:01Z"},
    {"[2026-11-23 22:10:01.5 +10] x", "2026-11-23T12:10:01.5Z"},
    {"23.11.2026 22:10:01 +04", "2026-11-23T18:10:01Z"},
    {"2026-11-23 22:10:01 -03.5 V", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 +25 C", "2026-11-23T21:10:01Z"},
    {"Mon Nov 23 22:10:01 -03 2026 x", "2026-11-24T01:10:01Z"},
    {"Mon Nov 23 22:10:01 -10 2026 x", "2026-11-24T08:10:01Z"},
    {"Mon Nov 23 10:10:01 PM +08 2026", "2026-11-23T14:10:01Z"},
    {"Fri Nov 20 10:00:03 SGT 2015 x", "2015-11-20T09:00:03Z"},
    {"Fri 20 Nov 10:00:03 WIT 2015 x", "2015-11-20T09:00:03Z"},
    {"2026-11-23 22:10:01 GMT+2 x", "2026-11-23T20:10:01Z"},
    {"2026-11-23 22:10:01 GMT-3 x", "2026-11-24T01:10:01Z"},
    {"2026-11-23 22:10:01 GMT+3: x", "2026-11-23T19:10:01Z"},
    {"2026-11-23 22:10:01 UTC +03:00 x", "2026-11-23T19:10:01Z"},
    {"2026-11-23 22:10:01 GMT+3 -5 x", "2026-11-23T19:10:01Z"},
    {"2026-11-23 22:10:01 GMT+5:30 x", "2026-11-23T16:40:01Z"},
    {"2026-11-23 22:10:01 GMT+01:00 x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 UTC-3 x", "2026-11-24T01:10:01Z"},
    {"[2026-11-23 22:10:01 UTC+10] x", "2026-11-23T12:10:01Z"},
    {"Nov 23, 2026 10:10:01 PM GMT+3 x", "2026-11-23T19:10:01Z"},
    {"2026-11-23 22:10:01 GMT -1015 x", "2026-11-23T22:10:01Z"},
    {"Dec 31 22:10:01 INFO 2033 a", "2025-12-31T21:10:01Z"},
    {"2026-11-23 22:10:01 -1500 EUR", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 ACT now", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 Must x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 US/Canada order", "2026-11-23T21:10:01Z"},
    {"[23-Nov-2026 22:10:01 Asia/Pacific] region", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01 America/New_York order", "2026-11-24T03:10:01Z"},
    {"Nov 23 22:10:01 CET-fw01 kernel: x", "2026-11-23T21:10:01Z"},
    {"Nov 23 22:10:01 EST-srv kernel: x", "2026-11-23T21:10:01Z"},
    {"Nov 23 22:10:01 EST.example.org kernel: x", "2026-11-23T21:10:01Z"},
    {"Nov 23 22:10:01 EST: x", "2026-11-24T03:10:01Z"},
    {"Nov 23 22:10:01 z kernel: x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01z x", "2026-11-23T22:10:01Z"},
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
    {"1.795471801123456e+09\tINFO\tx", "2026-11-23T22:10:01.123456Z"},
    {"1.7954718e+09\tINFO\tx", "2026-11-23T22:10:00Z"},
    {R"({"ts":1.7954718015e+09,"msg":"x"})", "2026-11-23T22:10:01.5Z"},
    {"23. Nov. 2026 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"{\"instant\":{\"epochSecond\":1795471801,\"nanoOfSecond\":12000000},\"level\":\"INFO\"}",
     "2026-11-23T22:10:01.012Z"},
    {"{\"message\":\"x\",\"timestamp\":{\"seconds\":1795471801,\"nanos\":5}}", "2026-11-23T22:10:01.000000005Z"},
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
    {"Mon 2026-11-23 22:10:01 CET host prog[1]: journalctl -o short-full", "2026-11-23T21:10:01Z"},
    {"2026-11-23T22:10:01+0100 host kernel: short-iso", "2026-11-23T21:10:01Z"},
    {"[2026-11-23T22:10:01.123+0100][0.012s][info][gc] Using G1", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23T22:10:01.123+0100: 0.012: [GC (Allocation Failure)", "2026-11-23T21:10:01.123Z"},
    {"# Time: 2026-11-23T22:10:01.123456Z", "2026-11-23T22:10:01.123456Z"},
    {"event scan:MESSAGE:2026-11-23 22h10.01 UTC:12: x", "2026-11-23T22:10:01Z"},
    {"lib  serv:WARNING:2026-11-23 22h10.01 CET:12: x", "2026-11-23T21:10:01Z"},
    {"# Time: 261123  2:10:01", "2026-11-23T01:10:01Z"},
    {"2026-11-23T22:10:01.123456Z\t    8 Query\tselect 1", "2026-11-23T22:10:01.123456Z"},
    {"Nov 23 22:10:01 host haproxy[1]: 10.0.0.1:1 [23/Nov/2026:22:09:59.123] front", "2026-11-23T21:10:01Z"},
    {"*Nov 23 22:10:01.123: %SYS-5-CONFIG_I: x", "2026-11-23T21:10:01.123Z"},
    {"Nov 23 22:10:01.123 EST: %SYS-5-CONFIG_I: x", "2026-11-24T03:10:01.123Z"},
    {"Nov 23 2026 22:10:01: %ASA-6-302013: x", "2026-11-23T21:10:01Z"},
    {"<166>Nov 23 2026 22:10:01 fw : %ASA-6-302013: x", "2026-11-23T21:10:01Z"},
    {"date=2026-11-23 time=22:10:01 devname=\"fw\" logid=\"1\"", "2026-11-23T21:10:01Z"},
    {"<189>date=2026-11-23 time=22:10:01 devname=fw", "2026-11-23T21:10:01Z"},
    {"1,2026/11/23 22:10:01,001606001116,THREAT,url,1,2026/11/23 22:09:59,", "2026-11-23T21:10:01Z"},
    {"a b,c d,2026/11/23 22:10:01,x", "2026-11-23T21:10:01Z"},
    {"11/23-22:10:01.123456 [**] [1:1:1] x", "2026-11-23T21:10:01.123456Z"},
    {"11/12/26-22:10:01.123456 [**] [1:1:1] x", "2026-11-12T21:10:01.123456Z"},
    {"11/12/2026-22:10:01.123456  [**] [1:1:1] x", "2026-11-12T21:10:01.123456Z"},
    {"1795471801.123456\tCxy\t10.0.0.1\t80", "2026-11-23T22:10:01.123456Z"},
    {"Mon Nov 23 22:10:01 2026 1 10.0.0.1 12 /f b _ o a u ftp 0 * c", "2026-11-23T21:10:01Z"},
    {"E [23/Nov/2026:22:10:01 +0100] cups x", "2026-11-23T21:10:01Z"},
    {"Start-Date: 2026-11-23  22:10:01", "2026-11-23T21:10:01Z"},
    {"[23-Nov-2026 22:10:01 Europe/Berlin] PHP Warning:  x", "2026-11-23T21:10:01Z"},
    {"[23-Nov-2026 22:10:01 America/New_York] PHP Warning:  x", "2026-11-24T03:10:01Z"},
    {"[23-Nov-2026 22:10:01 UTC] PHP Warning:  x", "2026-11-23T22:10:01Z"},
    {"####<Nov 23, 2026 10:10:01 PM CET> <Notice> <x>", "2026-11-23T21:10:01Z"},
    {"####<Nov 23, 2026 10:10:01,123 PM CET> <Notice> <x>", "2026-11-23T21:10:01.123Z"},
    {"<Nov 23, 2026 10:10:01 o'clock PM CET> <Notice>", "2026-11-23T21:10:01Z"},
    {"[11/23/26 22:10:01:123 CET] 00000001 WsServer", "2026-11-23T21:10:01.123Z"},
    {"[11/23/26 22:10:01:7 CET] 00000001 WsServer", "2026-11-23T21:10:01.007Z"},
    {"2026-327T22:10:01Z day of the year", "2026-11-23T22:10:01Z"},
    {"2026-W48-1T22:10:01Z week", "2026-11-23T22:10:01Z"},
    {"2020-W53-5T22:10:01Z week", "2021-01-01T22:10:01Z"},
    {"5fdb1c05.1a2b3c4d 0x7f0a conn=1 op=2 BIND", "2020-12-17T08:51:17.439041101Z"},
    {"5fdb1c05.0f424 0x7f0a conn=1 op=2 BIND", "2020-12-17T08:51:17.0625Z"},
    {"@400000006b04b9c3075bccbc TAI64N", "2026-11-23T22:10:01.1234567Z"},
    {"20261123-22:10:01:123|Step_LSC|30002312", "2026-11-23T21:10:01.123Z"},
    {"20261123-2:1:9:31|Step_LSC|30002312", "2026-11-23T01:01:09.031Z"},
    {"2026-11-23-22.10.01.123456+060 I1A2 LEVEL: Info", "2026-11-23T21:10:01.123456Z"},
    {"23-NOV-2026 22:10:01 * (CONNECT_DATA=x) * establish", "2026-11-23T21:10:01Z"},
    {"23-NOV-26 10.10.01.123456 PM +01:00 x", "2026-11-23T21:10:01.123456Z"},
    {"2026-11-23\t22:10:01:123\t1234\t5\tAgent", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23 22:10:01, Info                  CBS    x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10:01.12 Server      x", "2026-11-23T21:10:01.12Z"},
    {"11/23/2026 10:10:01 PM x", "2026-11-23T21:10:01Z"},
    {"23/11/2026 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"\"2026-11-23 22:10:01\",\"x\",\"y\"", "2026-11-23T21:10:01Z"},
    {"\"2026-11-23\",\"22:10:01\",\"x\"", "2026-11-23T21:10:01Z"},
    {"2026-11-23;22:10:01;x", "2026-11-23T21:10:01Z"},
    {"2026-11-23_22:10:01 x", "2026-11-23T21:10:01Z"},
    {"2026-11-23 22:10 x without a second", "2026-11-23T21:10:00Z"},
    {"2026.11.23 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"2026:11:23-22:10:01 host x", "2026-11-23T21:10:01Z"},
    {"2026 Nov 23 22:10:01 host x", "2026-11-23T21:10:01Z"},
    {"2026-Nov-23 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"Nov 23 22:10:01 2026  host x", "2026-11-23T21:10:01Z"},
    {"Mon Nov 23 2026 22:10:01 GMT+0100 (CET) x", "2026-11-23T21:10:01Z"},
    {"Monday, November 23, 2026 10:10:01 PM x", "2026-11-23T21:10:01Z"},
    {"Mon Nov 23 22:10:01.123 wifi x", "2026-11-23T21:10:01.123Z"},
    {"[CEST Aug  6 10:14:52] error    : HttpRequest: x", "2026-08-06T08:14:52Z"},
    {"23-Nov 22:10 dir JobId 1: x", "2026-11-23T21:10:00Z"},
    {"I, [2026-11-23T22:10:01.123456 #12]  INFO -- : x", "2026-11-23T21:10:01.123456Z"},
    {"[12:13:1123/221001.123456:ERROR:gpu.cc(1)] x", "2026-11-23T21:10:01.123456Z"},
    {"MainThread::INFO::2026-11-23 22:10:01,123::vdsm", "2026-11-23T21:10:01.123Z"},
    {"web_1  | 2026-11-23T22:10:01Z x", "2026-11-23T22:10:01Z"},
    {"level=info msg=\"a b c\" time=\"2026-11-23T22:10:01+01:00\"", "2026-11-23T21:10:01Z"},
    {"<Event><TimeCreated SystemTime='2026-11-23T22:10:01.1234567Z'/></Event>", "2026-11-23T22:10:01.1234567Z"},
    {"#1795471801", "2026-11-23T22:10:01Z"},
    {": 1795471801:0;ls", "2026-11-23T22:10:01Z"},
    {"Nov 23, 2026 10:10:01\xE2\x80\xAFPM org.example", "2026-11-23T21:10:01Z"},
    {"\x1b[90m2026-11-23T22:10:01Z\x1b[0m \x1b[32mINF\x1b[0m x", "2026-11-23T22:10:01Z"},
    {"{\"eventTime\":\"2026-11-23T22:10:01Z\",\"eventName\":\"x\"}", "2026-11-23T22:10:01Z"},
    {"{\"level\":30,\"time\":1795471801123,\"pid\":1}", "2026-11-23T22:10:01.123Z"},
    {"{\"a\":{\"b\":[1,{\"c\":2}],\"requestReceivedTimestamp\":\"2026-11-23T22:10:01.5Z\"}}", "2026-11-23T22:10:01.5Z"},
    {"{\"calendarTime\":\"Mon Nov 23 22:10:01 2026 UTC\",\"x\":1}", "2026-11-23T22:10:01Z"},
    {"{\"time_local\":\"23/Nov/2026:22:10:01 +0100\"}", "2026-11-23T21:10:01Z"},
    {"{\"timestamp\":\"2026-11-23T22:10:01,123Z\"}", "2026-11-23T22:10:01.123Z"},
    {"CEF:0|a|b|1|2|x|5|rt=1795471801123 src=10.0.0.1", "2026-11-23T22:10:01.123Z"},
    {"https 2026-11-23T22:10:01.186641Z app/my-lb 10.0.0.1:80", "2026-11-23T22:10:01.186641Z"},
    {"2 123456789010 eni-1 10.0.0.1 10.0.0.2 1 2 6 1 1 1795471801 1795471861 ACCEPT OK", "2026-11-23T22:10:01Z"},
    {"79a owner bucket [23/Nov/2026:22:10:01 +0000] 10.0.0.1 x", "2026-11-23T22:10:01Z"},
    {"23Nov2026 22:10:01 accept 10.0.0.1 >eth1c0 product: VPN-1", "2026-11-23T21:10:01Z"},
    {"7;3Nov2026;22:10:01;fw1;log;accept;;eth2;inbound;x", "2026-11-03T21:10:01Z"},
    {"[23Nov2026 22:10:01.123] [main/INFO] [x]: y", "2026-11-23T21:10:01.123Z"},
    {"[01] Mon 23Nov26 22:10:01 - (000001) Connected", "2026-11-23T21:10:01Z"},
    {"nov/23 22:10:01 dhcp,info x", "2026-11-23T21:10:01Z"},
    {"INFO Nov-23 22:10:01 === Started libdnf", "2026-11-23T21:10:01Z"},
    {"(1) Nov23 22:10:01 Main [App] >> Version", "2026-11-23T21:10:01Z"},
    {"2026-11-23.22:10:01 zpool create tank", "2026-11-23T21:10:01Z"},
    {"2026-11-23T221001+0100 x", "2026-11-23T21:10:01Z"},
    {"2026-11-23-221001.123 x", "2026-11-23T21:10:01.123Z"},
    {"[2026-11-23][22:10:01][crate][INFO] x", "2026-11-23T21:10:01Z"},
    {"[2026-11-23] [22:10:01] x", "2026-11-23T21:10:01Z"},
    {"#2.0 #2026 11 23 22:10:01:123#+0100#Error#com.sap", "2026-11-23T21:10:01.123Z"},
    {"#2.0 #2026 11 23 22:10:01:123#0-500#Error#com.sap", "2026-11-24T03:10:01.123Z"},
    {"2026/327 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"2026:327:22:10:01.123 x", "2026-11-23T21:10:01.123Z"},
    {"2026.327.22:10:01 x", "2026-11-23T21:10:01Z"},
    {"2026.11.23.22.10.01 x", "2026-11-23T21:10:01Z"},
    {"I261123 22:10:01.123456 384 server/a.go:41 x", "2026-11-23T21:10:01.123456Z"},
    {"N 0000000 SYS1     2026327 22:10:01.12 STC1 00000290  IEF403I x", "2026-11-23T21:10:01.12Z"},
    {"INFO [11-23|22:10:01.123] Starting peer-to-peer node", "2026-11-23T21:10:01.123Z"},
    {"I20261123-22:10:01.123(1)? server.js:1 x", "2026-11-23T21:10:01.123Z"},
    {"I20261123 22:10:01.123456Z 77 stargate.cc:1] x", "2026-11-23T22:10:01.123456Z"},
    {"<![LOG[a 2026-01-01 00:00:00]LOG]!><time=\"22:10:01.123-060\" date=\"11-23-2026\" component=\"x\">",
     "2026-11-23T21:10:01.123Z"},
    {"22:10:01 23.11.2026|BATCHMAN:+", "2026-11-23T21:10:01Z"},
    {"[22:10:01 2026-11-23] x", "2026-11-23T21:10:01Z"},
    {"22:10:01.123 23/11/2026 x", "2026-11-23T21:10:01.123Z"},
    {"22:10:01 23 Nov 2026 x", "2026-11-23T21:10:01Z"},
    {"2026 Nov 23 22:10:01:123 GMT +1 BW.app Info", "2026-11-23T21:10:01.123Z"},
    {"2026-11-23-22:10:01.123+01:00I----- 0x13B9A032 webseald", "2026-11-23T21:10:01.123Z"},
    {"<log><level>INFO</level><msg>a b</msg><time>1795471801</time><arg>1</arg></log>", "2026-11-23T22:10:01Z"},
    {"11月 23 22:10:01 host systemd[1]: x", "2026-11-23T21:10:01Z"},
    {"11월 23, 2026 10:10:01 오후 org.apache.x", "2026-11-23T21:10:01Z"},
    {"十一月 23, 2026 10:10:01 下午 hudson.WebAppMain$3 run", "2026-11-23T21:10:01Z"},
    {"2026年11月23日 22:10:01 x", "2026-11-23T21:10:01Z"},
    {"нояб. 23 22:10:01 host x", "2026-11-23T21:10:01Z"},
    {"Okt 23 22:10:01 host x", "2026-10-23T20:10:01Z"},
    {"Mär 23 22:10:01 host x", "2026-03-23T21:10:01Z"},
    {"févr. 23 22:10:01 host x", "2026-02-23T21:10:01Z"},
    {"ago 23 22:10:01 host x", "2026-08-23T20:10:01Z"},
    {"23-août-2026 22:10:01.123 INFOS [main] x", "2026-08-23T20:10:01.123Z"},
    {"23-Dez-2025 22:10:01.123 INFORMATION [main] x", "2025-12-23T21:10:01.123Z"},
    {"- 1795471801 2026.11.23 dn228 Nov 23 22:10:01 dn228/dn228 crond", "2026-11-23T22:10:01Z"},
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

// Formats of strftime. In addition, %1 is a fraction of six digits, %2 one of three, and %3 an offset from UTC.
constexpr const char* kWritten[] = {"%Y-%m-%d %H:%M:%S x",
                                    "%Y-%m-%dT%H:%M:%S.%1%3 x",
                                    "%Y-%m-%d %H:%M:%S,%2 x",
                                    "[%Y-%m-%d %I:%M:%S %p] x",
                                    "%Y/%m/%d %H:%M:%S x",
                                    "%Y.%m.%d %H:%M:%S.%2 x",
                                    "%Y:%m:%d-%H:%M:%S x",
                                    "%Y%m%d %H:%M:%S x",
                                    "%Y%m%dT%H%M%S%3 x",
                                    "%Y%m%d%H%M%S x",
                                    "%Y-%jT%H:%M:%S%3 x",
                                    "%G-W%V-%uT%H:%M:%S.%1%3 x",
                                    "a - - [%d/%b/%Y:%H:%M:%S %3]",
                                    "%d-%b-%Y %H:%M:%S.%2 x",
                                    "%a, %d %b %Y %H:%M:%S %3",
                                    "%a %b %e %H:%M:%S %Y x",
                                    "[%a %b %d %H:%M:%S.%1 %Y] x",
                                    "%b %e, %Y %I:%M:%S %p x",
                                    "%A, %B %e, %Y %r x",
                                    "%b %e %Y %H:%M:%S: %%ASA x",
                                    "%d.%m.%Y %H:%M:%S x",
                                    "date=%Y-%m-%d time=%T x",
                                    "a,b c,%Y/%m/%d %T,x",
                                    "%Y-%m-%d-%H.%M.%S.%1 x",
                                    "%Y %b %e %T x",
                                    "\"%Y-%m-%d\",\"%T\",\"x\"",
                                    "a=1 time=\"%FT%T.%1%3\"",
                                    "{\"a\":1,\"time\":\"%FT%T.%1%3\"}",
                                    "%s.%1 x",
                                    "{\"ts\":%s.%1}",
                                    "type=A msg=audit(%s.%2:7)",
                                    "%Y%m%d-%H:%M:%S:%2|x",
                                    "%b %e %H:%M:%S host x",
                                    "<34>%b %e %H:%M:%S.%2 x",
                                    "%m-%d %H:%M:%S.%2 1 1 I",
                                    "E%m%d %H:%M:%S.%1 1 x",
                                    "%e %b %H:%M:%S.%2 * x",
                                    "%m/%d-%H:%M:%S.%1 x",
                                    "[1:2:%m%d/%H%M%S.%1:I] x"};

TEST(LogTimes, ReadsWhatStrftimeWrites) {
  std::mt19937_64 draw(1);
  for (const std::string format : kWritten) {
    SCOPED_TRACE(format);
    const bool counts = format.find("%s") != format.npos, zoned = format.find("%3") != format.npos;
    const bool dated = counts || format.find("%Y") != format.npos || format.find("%F") != format.npos ||
                       format.find("%G") != format.npos;
    for (int round = 0; round < 100; ++round) {
      constexpr std::int64_t kIn2002 = 1009843200, kYears = std::int64_t{97} * 31556952,
                             kYear = std::int64_t{364} * 86400;
      const std::int64_t seconds = dated ? kIn2002 + static_cast<std::int64_t>(draw() % kYears)
                                         : kNow - static_cast<std::int64_t>(draw() % kYear);
      const int quarters = static_cast<int>(draw() % 97) - 48, micros = static_cast<int>(draw() % 1000000);
      const std::time_t local = seconds + (zoned ? quarters * 900 : 0);
      char digits[8], offset[8];
      std::snprintf(digits, sizeof(digits), "%06d", micros);
      std::snprintf(offset, sizeof(offset), "%c%02d%02d", quarters < 0 ? '-' : '+', std::abs(quarters) / 4,
                    std::abs(quarters) % 4 * 15);
      std::string with = format;
      const auto replace = [&](const char* what, const std::string& by) {
        if (const std::size_t at = with.find(what); at != with.npos) with.replace(at, 2, by);
      };
      replace("%1", digits);
      replace("%2", std::string(digits, 3));
      replace("%3", offset);
      replace("%s", std::to_string(local));
      char line[120];
      std::tm civil;
      ASSERT_NE(::gmtime_r(&local, &civil), nullptr);
      ASSERT_GT(std::strftime(line, sizeof(line), with.c_str(), &civil), 0u);
      const std::shared_ptr<const LogTimes> log = LearnLog(std::string(line) + "\n", {}, kNow);
      LogTimeReader reader;
      const LogTime time = reader.Read(*log, line);
      ASSERT_TRUE(time.instant) << line;
      const std::string written = std::to_string(seconds);
      ASSERT_EQ(std::to_string(time.instant->seconds), written) << line;
      std::string fraction = format.find("%1") != format.npos   ? std::string(digits)
                             : format.find("%2") != format.npos ? std::string(digits, 3)
                                                                : std::string();
      while (fraction.ends_with('0')) fraction.pop_back();
      ASSERT_EQ(time.instant->fraction, fraction) << line;
      ASSERT_EQ(time.lacks_zone, !zoned && !counts) << line;
      ASSERT_EQ(time.lacks_year, !dated) << line;
    }
  }
}

TEST(LogTimes, ReadsTimesInZonesByName) {
  std::mt19937_64 draw(2);
  for (const std::string name :
       {"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Etc/UTC"}) {
    const Zone zone(name);
    for (int round = 0; round < 300; ++round) {
      const std::int64_t seconds = 946684800 + static_cast<std::int64_t>(draw() % (std::int64_t{40} * 31556952));
      const std::time_t local = zone.ToLocal(seconds);
      if (zone.IsTwice(local)) continue;
      char line[120];
      std::tm civil;
      ASSERT_NE(::gmtime_r(&local, &civil), nullptr);
      ASSERT_GT(std::strftime(line, sizeof(line), ("[%d-%b-%Y %H:%M:%S " + name + "] x").c_str(), &civil), 0u);
      const LogTime time = LogTimeReader().Read(*LearnLog(line, {}, kNow), line);
      ASSERT_TRUE(time.instant) << line;
      ASSERT_EQ(time.instant->seconds, seconds) << line;
      ASSERT_FALSE(time.lacks_zone);
    }
  }
}

TEST(LogTimes, FindsTimesByRegularExpressions) {
  const auto time_of = [](const std::string& line, const LogForms& forms) -> std::string {
    const std::shared_ptr<const LogTimes> log = LearnLog(line + "\n", forms, kNow);
    const std::shared_ptr<const LogTimes> loaded = LoadLog(SaveLog(*log));
    LogTimeReader reader;
    EXPECT_FALSE(reader.Begins(*loaded, "another line"));
    const LogTime time = reader.Read(*loaded, line);
    return time.instant ? KeyOf(*time.instant) : "none";
  };
  const auto instant = [](const char* text) { return KeyOf(*ParseInstant(text)); };
  EXPECT_EQ(time_of("a<2026-11-23 22:10:01.5>", {.patterns = {"<(.*)>"}}), instant("2026-11-23 22:10:01.5"));
  EXPECT_EQ(time_of("a<1795471801>", {.patterns = {"b(.*)", "<(\\d+)>"}}), instant("2026-11-23 22:10:01"));
  EXPECT_EQ(time_of("a<02/03/2026 01:00:00>", {.times = {CheckedTimeFormat("%d/%m/%Y %T")}, .patterns = {"<(.*)>"}}),
            instant("2026-03-02 01:00:00"));
  EXPECT_EQ(time_of("d23 mNov y26 10h 9m PM +0100 77",
                    {.patterns = {"d(?P<day>\\d+) m(?P<month>\\w+) y(?P<year>\\d+) (?P<hour>\\d+)h (?P<minute>\\d+)m "
                                  "(?P<ampm>..) (?P<zone>\\S+) (?P<fraction>\\d+)"}}),
            instant("2026-11-23 21:09:00.77"));
  EXPECT_THROW(time_of("a<x>", {.patterns = {"<(.*)>"}}), BadRecord);
  EXPECT_THROW(time_of("a<11/12/2026 01:00:00>", {.patterns = {"<(.*)>"}}), BadRecord);
  EXPECT_THROW(time_of("a", {.patterns = {"b(.*)"}}), BadRecord);
  EXPECT_THROW(TimePattern("(unclosed"), Error);
  EXPECT_THROW(TimePattern("no group"), Error);
  EXPECT_THROW(TimePattern("(?P<hours>.*)"), Error);
  EXPECT_THROW(TimePattern("(?P<month>.*) (?P<day>.*)"), Error);
  EXPECT_THROW(TimePattern("(?P<hour>.*)", false), Error);
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
  EXPECT_NE(why("ann 4915112345678\nbob 4915112345679\n").find("none of 2 lines"), std::string::npos);
  EXPECT_EQ(why("\n\n"), "");
}

TEST(LogTimes, KnowsTimesThatStandAlone) {
  std::string record = "Mon Nov 23 22:10:01 CET 2026\n", apt = "Start-Date: 2026-11-23  22:10:01\n";
  for (int i = 0; i < 30; ++i) (record += "text\n", apt += "text\n");
  EXPECT_EQ(LearnLog(record + record, {}, kNow)->matched, 2u);
  const std::shared_ptr<const LogTimes> log = LearnLog(apt + "End-Date: 2026-11-23  22:10:05\n\n" + apt, {}, kNow);
  EXPECT_EQ(log->matched, 2u);
  EXPECT_FALSE(LogTimeReader().Begins(*log, "End-Date: 2026-11-23  22:10:05"));
}

TEST(LogTimes, DoesNotLoseAYear) {
  const std::string front = "Nov 11 01:06:47 a\nNov 12 01:06:47 b\nFri Jan 19 12:20:33 2007 c\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(front, {}, kNow);
  EXPECT_EQ(log->shapes.size(), 2u);
  EXPECT_FALSE(LogTimeReader().Read(*log, "Fri Jan 19 12:20:33 2007 c").lacks_year);
}

TEST(LogTimes, KnowsWhereTheLinesAreInUtc) {
  const std::string lines = "2026-11-23 22:10:01 ::1 GET /\n2026-11-23 22:10:02 ::1 GET /\n";
  const auto lacks_zone = [&](const std::string& fields) {
    return LogTimeReader().Read(*LearnLog(fields + lines, {}, kNow), "2026-11-23 22:10:01 ::1").lacks_zone;
  };
  EXPECT_FALSE(lacks_zone("#Date: 2026-11-23 22:10:00\n#Fields: date time c-ip cs-method\n"));
  EXPECT_TRUE(lacks_zone("#Start-Date: 2026-11-23 22:10:00\n#Fields: date-local time-local c-ip\n"));
}

TEST(LogTimes, KnowsThatTheFirewallOfWindowsWritesLocalTimes) {
  const std::string head = "#Version: 1.5\n#Software: Microsoft Windows Firewall\n",
                    line = "2026-11-23 22:10:01 ALLOW TCP\n", fields = "#Fields: date time action protocol\n\n";
  EXPECT_FALSE(LearnLog(head + "#Time Format: Local\n" + fields + line, {}, kNow)->shapes[0].utc);
  EXPECT_TRUE(LearnLog(head + fields + line, {}, kNow)->shapes[0].utc);
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
  const std::string first = front.substr(0, front.find('\n'));
  LogTimeReader reader;
  const LogTime time = reader.Read(*log, first);  // the text of the fraction is in `first` or in `reader`
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

/// Returns the numbers of the lines that begin records.
std::vector<std::size_t> Beginnings(const std::string& text) {
  const std::shared_ptr<const LogTimes> log = LearnLog(text, {}, kNow);
  LogTimeReader reader;
  std::vector<std::size_t> numbers;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (reader.Begins(*log, std::string_view(text).substr(at, end - at))) numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

using Numbers = std::vector<std::size_t>;

TEST(LogTimes, KnowsNumbersThatEndInOneColumn) {
  EXPECT_EQ(Beginnings(" 9 Mar 22:10:01 ntpd[1]: a\n 9 Mar 22:10:02 ntpd[1]: b\n10 Mar 02:10:01 ntpd[1]: c\n"),
            (Numbers{0, 1, 2}));
  EXPECT_EQ(Beginnings("  1234:20261123:221001.123 a\nvalues (1)\n  1234:20261123:221002.123 b\n123456:20261123:221003."
                       "123 c\n"),
            (Numbers{0, 2, 3}));
  EXPECT_EQ(Beginnings("--------- beginning of main\n         1795471801.123  77  77 I a: b\n"
                       "         1795471802.123  77  77 I a: b\n"),
            (Numbers{1, 2}));
}

TEST(LogTimes, KnowsNamesOfThreadsWithBlanks) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string time = " 2026-11-23 22:10:" + std::to_string(10 + i) + ",123 A.java:1 - x\n";
    text += (i % 10 == 7 ? "WARN  [Service Thread]" : "INFO  [main]") + time;
    if (i % 4 == 3) text += "java.lang.X: y\n\tat a.b(C.java:1)\n";
  }
  EXPECT_EQ(Beginnings(text).size(), 40u);
}

TEST(LogTimes, KnowsLinesThatAllHaveATimeAtPlacesThatDiffer) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    const std::string time = ", Monday, November 23, 2026 22:10:" + std::to_string(10 + i) + "\n";
    text += (i % 4 == 0 ? "[DoS Attack: SYN] from source: 10.0.0.1, port 1" : "[DHCP IP: 10.0.0.7] to 00:11") + time;
  }
  EXPECT_EQ(Beginnings(text).size(), 20u);
}

TEST(LogTimes, KnowsLinesForStartsInLongOutput) {
  std::string text;
  for (const char* const day : {"22", "23"}) {
    text += "Log started: 2026-11-" + std::string(day) + "  22:10:01\n";
    for (int i = 0; i < 500; ++i) text += "Unpacking x ...\n";
    text += "Log ended: 2026-11-" + std::string(day) + "  22:11:01\n\n";
  }
  EXPECT_EQ(Beginnings(text), (Numbers{0, 503}));
}

TEST(LogTimes, DoesNotTakeTheHeaderOfASmallLogForARecord) {
  EXPECT_EQ(Beginnings("#Software: IIS\n#Date: 2026-11-23 22:00:00\n#Fields: date time s-ip\n"
                       "2026-11-23 22:10:01 ::1\n"),
            (Numbers{3}));
  EXPECT_EQ(Beginnings("-- Logs begin at Mon 2026-11-02 10:20:30 UTC, end at Mon 2026-11-23 22:20:31 UTC. --\n"
                       "Mon 2026-11-23 22:10:01 UTC host x\n"),
            (Numbers{1}));
  EXPECT_EQ(Beginnings("Log file created at: 2026/11/23 22:10:00\nRunning on machine: x\nDuration: 0:00:00\n"
                       "Log line format: x\nI20261123 22:10:01.123456 7 a.cc:1] x\n"
                       "I20261123 22:10:02.123456 7 a.cc:1] y\n"),
            (Numbers{4, 5}));
}

TEST(LogTimes, KnowsLevelsThatAreAlignedAtTheirLastLetter) {
  const std::string trace = "java.lang.Error: x\n    at a.B.c(B.java:1)\n   made 2026-01-01 00:00:00\n";
  const std::string short_levels = " INFO 2026-11-23 22:10:01,5 [main] a\n WARN 2026-11-23 22:10:02,5 [main] b\n";
  EXPECT_EQ(Beginnings(short_levels + "ERROR 2026-11-23 22:10:03,5 [main] c\n" + trace + short_levels),
            (Numbers{0, 1, 2, 6, 7}));
  EXPECT_EQ(Beginnings(short_levels + trace + short_levels), (Numbers{0, 1, 5, 6}));
  EXPECT_EQ(Beginnings("ERROR [http 1] 2026-11-23 22:10:01 a\n" + trace + " INFO [main] 2026-11-23 22:10:02 b\n" +
                       " INFO [main] 2026-11-23 22:10:03 c\n WARN [io] 2026-11-23 22:10:04 d\n"),
            (Numbers{0, 4, 5, 6}));
  // No first word is of letters alone.
  EXPECT_THROW(Beginnings("start\n (INFO) 2026-11-23 22:10:01 a\n (WARN) 2026-11-23 22:10:02 b\n"), Error);
  const std::string table = "  Alpha 2026-01-01 00:00:00\n  Gamma 2026-01-02 00:00:00\n";
  EXPECT_EQ(Beginnings("2026-11-23 22:10:01 rows\n" + table + "2026-11-23 22:10:02 rows\n" + table), (Numbers{0, 3}));
}

TEST(LogTimes, SkipsADescriptionOfTheColumns) {
  std::string front = "\t\tService Activity Log\n\nEvent ID  Meaning\n";
  for (int i = 0; i < 30; ++i) front += std::to_string(10 + i) + "\tThe log was paused.\n";
  front += "ID,Date,Time,Description\n00,11/17/26,00:00:03,Started\n24,11/17/26,00:00:05,Cleanup\n";
  EXPECT_EQ(LearnLog(front + "11,11/17/26,00:01:05,Renew\n", {}, kNow)->matched, 3u);
  EXPECT_THROW(LearnLog(front + "text\n" + front, {}, kNow), Error);
}

TEST(LogTimes, TakesRowsOfSqlForPartsOfRecords) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += "# Time: 26112" + std::to_string(i) + " 10:01:02\n# User@Host: root\ninsert into t values\n" +
            "(1,'2026-01-01 00:00:00'),\n(2,'2026-01-01 00:00:00'),\n('2026-01-02 00:00:00', 3);\n";
  }
  EXPECT_EQ(Beginnings(text), (Numbers{0, 6, 12}));
}

TEST(LogTimes, RefusesParagraphsWhoseTimesAreInLaterLines) {
  const std::string rule = "[**] [1:1:1] rule [**]\n[Priority: 2]\n", more = "TCP TTL:64\n\n";
  std::string text;
  for (const char* const minute : {"01", "02", "03"}) text += rule + "11/22-10:" + minute + ":02.5 10.0.0.1\n" + more;
  EXPECT_EQ(LearnLog(text, {}, kNow)->start, "[**] [") << "the alerts of Snort are known";
  EXPECT_THROW(LearnLog(text, {.starts = false}, kNow), Error);
}

TEST(LogTimes, TakesTablesForPartsOfRecords) {
  const std::string table = "id | created\n1  | 2026-01-01 00:00:00 | x\n2  | 2026-01-02 00:00:00 | y\n";
  std::string text;
  for (int i = 0; i < 5; ++i) text += "2026-11-23 22:10:0" + std::to_string(i) + ",5 INFO rows\n" + table;
  EXPECT_EQ(Beginnings(text), (Numbers{0, 4, 8, 12, 16}));
}

TEST(LogTimes, TakesTimesInTextForPartsOfRecordsEvenIfMostLinesHaveThem) {
  const char* const kTexts[] = {
      "GET /\nDate: Mon, 23 Nov 2026 22:10:01 GMT\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\n",
      "<order>\n<created>2026-01-01T00:00:00Z</created>\n<id>1774416800</id>\n",
      "{\"created\":\"2026-01-01T00:00:00Z\",\"id\":1}\n{\"created\":\"2026-01-02T00:00:00Z\",\"id\":2}\n-\n",
      "-rw-r--r-- 1 root root 12 2026-01-01 00:00 a\n-rw-r--r-- 1 root root 12 2026-01-02 00:00 b\ntotal\n",
  };
  for (const std::string text : kTexts) {
    std::string front;
    for (int i = 0; i < 5; ++i) front += "2026-11-23 22:10:0" + std::to_string(i) + ",5 INFO text:\n" + text;
    EXPECT_EQ(Beginnings(front), (Numbers{0, 4, 8, 12, 16})) << text;
  }
}

TEST(LogTimes, TakesCopiedTextWithTimesOfTheSameDaysForPartsOfRecords) {
  const char* const kTexts[] = {
      "<created>2026-11-23T22:10:01Z</created>",
      "<id>1795471801</id>",
      "{\"created\":\"2026-11-23T22:10:01Z\",\"id\":1795471801}",
      "< Date: Mon, 23 Nov 2026 22:10:01 GMT",
      "Received: from a by b; Mon, 23 Nov 2026 22:10:01 +0100",
      "-rw-r--r-- 1 root root 12 2026-11-23 22:10:01 a",
      "drwxr-xr-x. 1 root root 12 Nov 23 22:10:01 2026 a",
      "Caused by: x at 2026-11-23 22:10:01",
      "x = 2026-11-23 22:10:01",
      "notBefore=Nov 23 22:10:01 2026 GMT",
      "started=2026-11-23T22:10:01Z",
      "> 2026-11-23 22:10:01 INFO quoted",
      "-> Nov 23 22:10:01 host quoted",
  };
  const char* const kRecords[] = {"2026-11-23 22:10:%d,5 [7] INFO x", "Nov 23 22:10:%d host x: y",
                                  "[Mon Nov 23 22:10:%d 2026] x", "time=2026-11-23T22:10:%d+01:00 level=INFO",
                                  "INFO  2026-11-23 22:10:%d,5 [main] x"};
  for (const char* const record : kRecords) {
    for (const std::string text : kTexts) {
      if (record[0] == 'I' && text[0] == '>') continue;  // both have one word before the time
      for (const std::size_t lines : {1, 3}) {
        std::string front;
        Numbers begins;
        std::size_t number = 0;
        for (int i = 0; i < 20; ++i) {
          char line[80];
          std::snprintf(line, sizeof(line), record, 10 + i);
          front += std::string(line) + "\n";
          begins.push_back(number++);
          for (std::size_t k = 0; k < (i % 2 == 0 ? lines : 0); ++k, ++number) front += text + "\n";
        }
        EXPECT_EQ(Beginnings(front), begins) << front;
      }
    }
  }
}

std::string NoteOf(const std::string& text) {
  const std::shared_ptr<const LogTimes> log = LearnLog(text, {}, kNow);
  std::string notes;
  for (const auto& note : log->notes) notes += (notes.empty() ? "" : "; ") + NoteText(note);
  return notes;
}

TEST(LogTimes, AnnouncesFurtherFormsThatCanBePartsOfRecords) {
  std::string plain, text;
  for (int i = 0; i < 20; ++i) {
    const std::string line = "2026-11-23 22:10:" + std::to_string(10 + i) + " a\n";
    plain += line + "Nov 23 22:10:" + std::to_string(10 + i) + " host x: y\n";
    text += line + "(2026-11-23 22:10:01) b\n";
  }
  EXPECT_EQ(NoteOf(plain), "") << "a mixture of logs";
  EXPECT_THAT(NoteOf(text),
              HasSubstr("have times at another place than most lines and were taken for records; the first is "
                        "'(2026-11-23 22:10:01) b'"));
}

TEST(LogTimes, AnnouncesRecordsWhoseTimesAreFarFromTheLinesAroundThem) {
  const std::string one = "2026-11-23 22:10:01 INFO got\n", two = "2026-11-23 22:10:05 INFO got\n";
  const std::string end = "2026-11-23 22:10:06 INFO end\n";
  const auto announces = [](const std::string& text, std::string_view line) {
    const std::string note = NoteOf(text);
    return note.find("lines have other times") != note.npos && note.find("is '" + std::string(line)) != note.npos;
  };
  const std::string json = R"({"time": "2026-11-23T20:00:00Z"})", early = R"({"time": "2026-11-23T18:00:00Z"})";
  EXPECT_TRUE(announces(one + json + "\n" + two + early + "\n" + end, json));
  EXPECT_TRUE(announces(one + json + "\n" + early + "\n" + two + json + "\n" + end, json));
  const std::string quoted = "Jan  1 10:00:00 host old";
  EXPECT_TRUE(announces(one + quoted + "\n" + two + end, quoted));
  EXPECT_TRUE(announces(one + "[2020-01-01T10:00:00] old\n" + two + end, "[2020-01-01T10:00:00] old"));
  // Merged logs, also of two zones and with small steps back, and files that follow one another.
  const std::string near = R"({"time": "2026-11-23T21:10:03Z"})", late = R"({"time": "2026-11-23T21:10:02Z"})";
  EXPECT_EQ(NoteOf(one + near + "\n" + two + late + "\n" + end), "");
  EXPECT_EQ(NoteOf(one + two + json + "\n" + early + "\n"), "");
  EXPECT_EQ(NoteOf(quoted + "\n" + one + two + end), "");
}

TEST(LogTimes, TakesTwoDigitsForHoursOfAZoneOnlyIfMostLinesHaveTheSame) {
  const auto times = [](std::initializer_list<const char*> texts, int repeats) {
    std::string text;
    for (int i = 0; i < repeats; ++i) {
      for (const char* const one : texts) text += "2026-11-23 22:10:01 " + std::string(one) + "\n";
    }
    const std::shared_ptr<const LogTimes> log = LearnLog(text, {}, kNow);
    LogTimeReader reader;
    const std::string line = "2026-11-23 22:10:01 " + std::string(*texts.begin());
    return (reader.Read(*log, line).instant->seconds - ParseInstant("2026-11-23T22:10:01Z")->seconds) / 3600;
  };
  constexpr std::int64_t kLocal = 0;
  EXPECT_EQ(times({"-03 x"}, 20), 3);
  EXPECT_EQ(times({"-10 9910 LOG:  x", "-10 10001 LOG:  y"}, 10), 10);
  EXPECT_EQ(times({"-03 x", "-03 x", "-03 x", "-03 x", "-03 x", "-03 x", "-02 y", "-02 y", "-02 y", "-02 y"}, 1), 3);
  EXPECT_EQ(times({"-04 C", "-05 C"}, 50), kLocal) << "clocks change less often";
  EXPECT_EQ(times({"-03 x", "y"}, 10), kLocal) << "half of the lines";
  EXPECT_EQ(times({"-03 x", "-03 x", "-03 x", "-03 x", "-03 x", "-03 x", "-12.5 V"}, 1), kLocal);
  EXPECT_EQ(
      times({"-03 a", "-03 b", "-03 c", "-03 d", "-03 e", "-03 f", "-03 g", "-03 h", "-03 i", "-03 j", "-1.5 V"}, 1),
      3);
  EXPECT_EQ(times({"-03 x", "-02 y"}, 1), kLocal);
  EXPECT_EQ(times({"-03 x", "-05 y"}, 10), kLocal);
  EXPECT_EQ(times({"+05 C", "+06 C", "+07 C", "+11 C", "+04 C"}, 10), kLocal);
  EXPECT_EQ(times({"+10 alice", "+25 bob", "+05 carl", "+30 dan"}, 10), kLocal);
  EXPECT_EQ(times({"-12.5 V", "-12.5 V", "EST stop"}, 10), kLocal);
  EXPECT_EQ(times({"EST stop", "-12.5 V", "-12.5 V"}, 10), 5);
  EXPECT_EQ(times({"-03 x", "y", "z"}, 10), kLocal);
}

TEST(LogTimes, AnnouncesWhatNumbersAfterTimesWereTakenFor) {
  const auto note = [](std::initializer_list<const char*> texts, int repeats) {
    std::string text;
    for (int i = 0; i < repeats; ++i) {
      for (const char* const one : texts) text += "2026-11-23 22:10:01 " + std::string(one) + "\n";
    }
    return NoteOf(text);
  };
  EXPECT_EQ(note({"-03 x"}, 20), "");
  EXPECT_THAT(note({"-03 x"}, 9), HasSubstr("were taken for the hours of zones"));
  EXPECT_THAT(note({"-10 x"}, 9), HasSubstr("which can be the hours of zones, were taken for text"));
  EXPECT_THAT(note({"-04 C", "-05 C"}, 20), HasSubstr("were taken for text"));
  EXPECT_THAT(note({"-03 x", "-03 x", "-03 x", "-12.5 V"}, 5), HasSubstr("were taken for text"));
  EXPECT_EQ(note({"-12 C", "-25 C", "-20 C"}, 5), "");
  EXPECT_EQ(note({"-03 x", "y"}, 20), "");
}

TEST(LogTimes, ReadsTheYearAfterAnUnknownZoneAndLeavesOtherZonesAsTheyAre) {
  std::string text;
  for (int i = 10; i < 60; ++i) text += "Fri Nov 20 10:" + std::to_string(i) + ":01 EST 2015 est\n";
  const std::string line = "Fri Nov 20 10:00:03 SGT 2015 s";
  const std::shared_ptr<const LogTimes> log = LearnLog(text + line + "\n", {}, kNow);
  LogTimeReader reader;
  const std::int64_t est = reader.Read(*log, "Fri Nov 20 10:10:01 EST 2015 est").instant->seconds;
  EXPECT_EQ(est, ParseInstant("2015-11-20T15:10:01Z")->seconds);
}

TEST(LogTimes, AnnouncesASingleLineOfTheSameFormThatIsFarFromTheLinesAroundIt) {
  const auto with = [](const std::string& odd, int at) {
    std::string text;
    for (int i = 10; i < 60; ++i) {
      text += "2026-11-20 10:" + std::to_string(i) + ":00,123 INFO a.B - params:\n";
      if (i == at) text += odd + "\n";
    }
    return NoteOf(text);
  };
  for (const std::string odd : {"2021-01-05 00:00:00 valid from", "2031-01-05 00:00:00 valid until"}) {
    EXPECT_THAT(with(odd, 30), HasSubstr("another time than the lines around it and was taken for a record"));
    EXPECT_THAT(with(odd, 30), HasSubstr("the first is '" + odd + "'"));
    EXPECT_EQ(with(odd, 59), "") << "the last line may begin the records of another day";
  }
  EXPECT_EQ(with("2026-11-20 09:00:00 late", 30), "") << "records may be written late";
  EXPECT_EQ(with("2026-11-20 10:30:30 now", 30), "");
  std::string idle;
  for (int i = 10; i < 30; ++i) idle += "2026-11-" + std::to_string(i) + " 10:00:00 once a day\n";
  EXPECT_EQ(NoteOf(idle), "");
}

TEST(LogTimes, AnnouncesNoJumpsBetweenLinesThatAreOutOfOrder) {
  std::mt19937 draw(5);
  const auto line = [](std::size_t i) {
    char text[80];
    const auto second = static_cast<unsigned>(i / 2 % 60), minute = static_cast<unsigned>(i / 120);
    const char* const format = i % 2 == 0 ? "2026-11-23 %02u:%02u:00 INFO a\n" : "[23/Nov/2026:%02u:%02u:00 +0000] b\n";
    std::snprintf(text, sizeof(text), format, minute, second);
    return std::string(text);
  };
  for (unsigned round = 0; round < 50; ++round) {
    std::vector<std::string> shuffled;
    for (std::size_t i = 0; i < 100; ++i) shuffled.push_back(line(i));
    std::string joined;
    for (std::size_t i = 0; i < 100; ++i) joined += line(400 + i);
    for (const std::string& text : shuffled) joined += text;  // the earlier file stands second
    EXPECT_EQ(NoteOf(joined), "");
    std::ranges::shuffle(shuffled, draw);
    std::string text;
    for (const std::string& of : shuffled) text += of;
    EXPECT_EQ(NoteOf(text), "") << text;
  }
}

TEST(LogTimes, PrefersTimesAtTheFrontOfLinesToTimesInTheirTexts) {
  std::string text;
  const std::string line = "Nov 23 22:10:01 a: saved at 2026-11-19 10:00:00 (1)";
  for (int i = 10; i < 20; ++i) {
    const std::string second = std::to_string(i);
    text += "speed: 2026-11-23 22:10:" + second + " pkg\n" + (i % 2 == 0 ? "Nov 23 22:10:" + second + " a: b" : line) +
            "\n";
  }
  const std::shared_ptr<const LogTimes> log = LearnLog(text, {}, kNow);
  LogTimeReader reader;
  EXPECT_EQ(reader.Read(*log, line).instant->seconds, ParseInstant("2026-11-23T22:10:01Z")->seconds);
}

TEST(LogTimes, AnnouncesLinesBeforeTheTimesThatMayBeginRecords) {
  std::string heap, tail, traces, closed, objects;
  for (int i = 10; i < 20; ++i) {
    const std::string time = "2026-11-23T22:10:" + std::to_string(i) + ".5+0100";
    heap += "{Heap before GC invocations=" + std::to_string(i) + ":\n eden 1K\n" + time + ": [GC]\nHeap after:\n}\n";
    tail += time + " x\nb\nc\n";
    traces += "Caused by: x\n" + time + " y\n";
    closed += "</a>\n" + time + " <a>\n";
    objects += "{\"level\":1,\"log\":\"cut\n{\"level\":1,\"time\":\"" + time + "\"}\n";
  }
  EXPECT_THAT(NoteOf(heap), HasSubstr("if they begin records, join the lines of each record to one line before the "
                                      "sort; the first is '{Heap before GC"));
  for (const std::string& text : {tail, traces, closed, objects, heap.substr(0, heap.find("11.5+0100") + 12)}) {
    EXPECT_EQ(NoteOf(text), "") << text;
  }
  EXPECT_EQ(NoteOf("x\n" + tail), "");
  EXPECT_EQ(NoteOf("}\n" + heap.substr(heap.find("2026"))), "");
}

TEST(LogTimes, AnnouncesAFewTimesAfterWordsWithColons) {
  std::string few, errors, hosts, levels;
  for (int i = 10; i < 40; ++i) {
    const std::string time = " 2026-11-23T22:10:" + std::to_string(i) + "Z x\n";
    const bool second = i % 2 == 0, third = i % 3 == 0;
    few += "ERROR" + time + (i % 15 == 0 ? "ValueError: 2020-01-01 00:00:00 is bad\n" : "");
    errors += "ERROR" + time + "ValueError: 2020-01-01 00:00:00 is bad\n";
    hosts += (third ? "db:" : second ? "web1" : "web2") + time;
    levels += (third ? "INFO:" : second ? "WARN" : "ERROR") + time;
  }
  EXPECT_THAT(NoteOf(few), HasSubstr("some lines have a word with a colon before their timestamps, unlike most lines, "
                                     "and were taken for records; the first is 'ValueError: 2020"));
  for (const std::string& text : {errors, hosts, levels}) EXPECT_EQ(NoteOf(text), "") << text;
}

TEST(LogTimes, AnnouncesTimesOfOtherRecordsBetweenTheStartAndTheEndOfARecord) {
  const std::string apt = "Start-Date: 2026-11-23  22:10:01\nCommandline: apt\n";
  const auto log = LearnLog(apt + "End-Date: 2026-11-23  22:10:05\n\n" + apt, {}, kNow);
  LogTimeReader reader;
  const LogTime record = reader.Read(*log, apt);
  ASSERT_TRUE(record.instant);
  InnerTimes inner;
  EXPECT_FALSE(inner.Holds(*log, "End-Date: 2026-11-23  22:10:05", record, false));
  EXPECT_TRUE(inner.Holds(*log, "2026-11-23 22:10:03 INFO the depend finished", record, false));
}

TEST(LogTimes, AnnouncesOtherLinesBetweenThoseWithNamedFields) {
  const std::string head = "#Software: Microsoft IIS 10.0\n#Fields: date time s-ip method path\n";
  const std::string iis = "2026-11-23 21:10:01 10.0.0.1 GET /a\n", local = "2026-11-23 22:10:03 INFO local\n";
  EXPECT_EQ(NoteOf(head + iis + iis), "");
  EXPECT_NE(NoteOf(head + iis + local + iis).find("is '2026-11-23 22:10:03 INFO local'"), std::string::npos);
  EXPECT_NE(NoteOf(local + head + iis + iis).find("taken as UTC"), std::string::npos);
  // Quoted blanks, tabs, and empty fields.
  for (const char* const fields :
       {"10.0.0.1 GET \"/a b\"", "10.0.0.1  GET", "\"a \"\"b c\" GET /a", "10.0.0.1 GET /a "}) {
    EXPECT_EQ(NoteOf(head + iis + "2026-11-23 21:10:02 " + fields + "\n" + iis), "") << fields;
  }
  for (const char* const fields : {"\tGET\t/a b", "10.0.0.1\t\t", "10.0.0.1\tGET /a b\t/a\t", "a b\t \tc d"}) {
    EXPECT_EQ(NoteOf(head + "2026-11-23\t21:10:02\t" + fields + "\n"), "") << fields;
  }
  EXPECT_EQ(NoteOf(head + iis + "2026-11-23T22:10:03+01:00 INFO zoned\n" + iis), "");
}

TEST(LogTimes, AnnouncesMembersThatWouldGiveAnotherOrderOnce) {
  const auto line = [](unsigned i) {
    const std::string up = std::to_string(10 + i), down = std::to_string(50 - i);
    const auto member = [](const char* name, const std::string& second) {
      return std::string("\"") + name + R"(":"2026-11-23T22:10:)" + second + "Z\"";
    };
    return "{" + member("a", up) + "," + member("b", down) + "," + member("c", up) + "," + member("d", down) + "}\n";
  };
  EXPECT_THAT(NoteOf(line(1) + line(2) + line(3)),
              AllOf(StartsWith("the times are those of the member a, and those of the member b and of 1 more member "),
                    Not(HasSubstr("; the times"))));
}

TEST(LogTimes, TellsHowToSortJsonOfSeveralLines) {
  const std::string record = "{\n  \"time\": \"2026-11-23T22:10:01Z\",\n  \"a\": 1\n}\n";
  for (const std::string& text :
       {record + record, "[\n" + record + "]\n", std::string("{\"time\": \"2026-11-23 22:10:01\",\n}\n")}) {
    try {
      LearnLog(text, {}, kNow);
      ADD_FAILURE() << text;
    } catch (const BadRecord& unknown) {
      EXPECT_THAT(unknown.what(), HasSubstr("the objects of JSON have several lines: jq -c ")) << text;
    }
  }
  EXPECT_EQ(Beginnings("{\n  \"a\": 1\n}\n2026-11-23 22:10:01 b\n2026-11-23 22:10:02 c\n"), (Numbers{3, 4}));
}

TEST(LogTimes, TakesAnObjectThatIsCutOffForNoJsonOfSeveralLines) {
  const std::string cut = R"({"time":"2026-11-10T06:00:01.1Z","log":"cut her)";
  EXPECT_EQ(LearnLog(cut + "\n", {}, kNow)->matched, 1u);
  // Only the first record is in the sample.
  const std::string whole = cut + std::string(300'000, 'e') + "\"}\n";
  EXPECT_EQ(LearnLog(whole + whole, {}, kNow)->matched, 1u);
  const std::string array = "[\n" + whole + whole + "]\n";
  for (const std::string& text :
       {array, std::string("[\n{\"a\":1},\n{\"a\":2}\n]\n"), std::string("{\"thread-7\"} hello\n{\"thread-7\"} a\n"),
        std::string("{\"a\":1} x\n{\"b\":2} y\n"), std::string("{ main } hello\n{ main } a\n")}) {
    try {
      LearnLog(text, {}, kNow);
      ADD_FAILURE() << text;
    } catch (const BadRecord& unknown) {
      EXPECT_THAT(unknown.what(), AllOf(StartsWith("none of "), HasSubstr("--time FORMAT says "))) << text;
    }
  }
}

TEST(LogTimes, PrefersMembersThatVaryAndAreNotNested) {
  const auto member_of = [](const std::string& text) { return LearnLog(text, {}, kNow)->shapes[0].member; };
  const std::string created = R"({"o":{"createdAt":"2026-01-01T00:00:00Z"},"at":")", end = "\"}\n";
  EXPECT_EQ(member_of(created + "2026-11-23T22:10:02Z" + end + created + "2026-11-23T22:10:01Z" + end), "/at");
  const std::string both = R"({"o":{"sentAt":"2026-11-23T22:10:0)", at = R"(Z"},"gotAt":"2026-11-23T22:10:0)";
  const std::string end_of_both = "Z\"}\n";
  EXPECT_EQ(member_of(both + "1" + at + "2" + end_of_both + both + "3" + at + "4" + end_of_both), "/gotAt");
  EXPECT_EQ(NoteOf(both + "1" + at + "2" + end_of_both + both + "3" + at + "4" + end_of_both), "");
  EXPECT_NE(NoteOf(both + "1" + at + "4" + end_of_both + both + "3" + at + "2" + end_of_both).find("member gotAt, and"),
            std::string::npos);
  const std::string usual = R"({"sentAt":"2026-11-23T22:10:0)", time = R"(Z","time":"2026-11-23T22:10:0)";
  EXPECT_EQ(NoteOf(usual + "1" + time + "4" + end_of_both + usual + "3" + time + "2" + end_of_both), "");
}

TEST(LogTimes, RefusesDatesWithoutTimesOfDay) {
  for (const char* const front : {"2026-11-23", "[2026-11-23]", "2026/11/23", "23/Nov/2026", "23.11.2026"}) {
    for (const char* const rest : {" a", " entry 10:30", " 09h00 x"}) {
      const std::string line = front + std::string(rest) + "\n";
      EXPECT_THROW(LearnLog(line + line, {}, kNow), Error) << line;
    }
  }
}

TEST(LogTimes, KnowsTimesOfDayInTheLogOfAJobOfJes2) {
  const std::string front = "22.10.01 JOB00123  $HASP373 X\n22.10.02 STC00007  -X ENDED\n";
  EXPECT_THROW(LearnLog(front, {}, kNow), Error);
  const std::shared_ptr<const LogTimes> log = LearnLog(front, {.dated = true}, kNow);
  EXPECT_EQ(log->matched, 2u);
  EXPECT_EQ(LogTimeReader().Read(*log, front).instant->seconds, (22 * 60 + 10) * 60 + 1);
  EXPECT_THROW(LearnLog("22.10.01 version\n22.10.02 JOB1\n", {.dated = true}, kNow), Error);
}

TEST(LogTimes, FindsTimesAfterTheCountersOfVmstat) {
  const std::string counters = " 1  0      0 12 1234 56789    0    0     1     2    3    4  5  1 94  0  0 ";
  const std::string text = "procs -----memory----- ---cpu--- -timestamp-\n r  b   swpd   free\n" + counters +
                           "2026-11-23 22:10:01\n" + counters + "2026-11-23 22:10:02\n";
  EXPECT_EQ(Beginnings(text), (Numbers{2, 3}));
}

TEST(LogTimes, FindsLinesThatMayBeRecordsOfTheirOwn) {
  const std::shared_ptr<const LogTimes> log = LearnLog("2026-11-23 22:10:01 a\n2026-11-23 22:10:02 b\n", {}, kNow);
  InnerTimes inner;
  LogTime near;
  near.instant.emplace();
  near.instant->seconds = 1795471801;  // 2026-11-23 22:10:01
  for (const char* const line : {
           "host x: 2026-11-22 01:00:00 y",
           "INFO [11-23|22:10:01.123] y",
           "  2026-11-23 22:10:01 y",
           " INFO [main] 2026-11-23 22:10:01 y",
           "1795471701 y",
           "4711:M 23 Nov 2026 22:10:01.5 * y",
           "\x1b[31mNov 23 22:10:01\x1b[0m y",
           "22:10 <a> y",
           "[22:10:01] y",
           "Xyz 23 22:10:01 host y",
           "2026-01-23 22:10:01,5 y",
           "2020-01-01 10:00:00 y",
           "# Time: 071015 21:43:52",
           "=INFO REPORT==== 23-Nov-2026::22:10:01 ===",
           "10.0.0.1 - - [01/Jan/2020:10:00:00 +0000] y",
           "1500000000.123 y",
           "  1795471701.123 y",
           "SET timestamp=1795471831;",
       }) {
    EXPECT_TRUE(inner.Holds(*log, line, near, false)) << line;
  }
  for (const char* const line : {
           "Caused by: x",
           "\tat a.b(C.java:123)",
           "x is made of y 2020-01-01 10:00:00",
           "\tWHERE a < '2026-11-23 22:10:01'",
           "    \"time\": \"2026-11-23T22:10:01Z\",",
           "#Date: 2026-11-23 22:10:01",
           "address 02:42:ac:11:00:02",
           "SET timestamp=1795471801;",
           "  1795471701 y",
           "  1500000000.123 y",
           "SET timestamp=1795468201;",
           "id 1500000000",
           "",
       }) {
    EXPECT_FALSE(inner.Holds(*log, line, near, false)) << line;
  }
  EXPECT_TRUE(inner.Holds(*log, "x is made of y 2020-01-01 10:00:00", {}, false)) << "the record has no time";
  near.lacks_year = true;
  EXPECT_TRUE(inner.Holds(*log, "x is made of y 2020-11-20 10:00:00", near, false)) << "its year is not known";
  EXPECT_FALSE(inner.Holds(*log, "x is made of y 2020-02-20 10:00:00", near, false));
  EXPECT_TRUE(inner.Holds(*log, "[2026-11-23 22:10:01] y", near, true));
  EXPECT_FALSE(inner.Holds(*log, "Log file created at: 2026/11/23 22:10:01", near, true));
}

TEST(LogTimes, KnowsMixturesBehindNamesOfContainers) {
  const std::string web = "web_1  | 10.0.0.1 - - [23/Nov/2026:22:10:01 +0000] \"GET / HTTP/1.1\" 200 1\n";
  const std::string db = "db_1   | 2026-11-23 22:10:02.123 UTC [1] LOG:  x\n";
  EXPECT_EQ(Beginnings(web + db + web + db), (Numbers{0, 1, 2, 3}));
  const std::string system = "b.log: Nov 23 22:10:01 h x: b\n", app = "a.log: 2026-11-23 22:10:01 a\n";
  EXPECT_EQ(Beginnings(app + system + app + system + system), (Numbers{0, 1, 2, 3, 4}));
}

TEST(LogTimes, TakesNumbersAndCommentsForPartsOfRecords) {
  const std::string record = "2026-11-23 22:10:01,5 WARN x\nExceptionId:Server-1:1795471801123:abc\n";
  EXPECT_EQ(Beginnings(record + record + record), (Numbers{0, 2, 4}));
  EXPECT_EQ(Beginnings("#fields\tts\tuid\n1795471801.5\tC1\n1795471802.5\tC2\n#close\t2026-11-23-22-10-03\n"),
            (Numbers{1, 2}));
}

TEST(LogTimes, TakesNumbersOfElementsForTimesIfTheirNamesSayThatTheyAreTimes) {
  const auto log_of = [](const std::string& open, const std::string& close) {
    std::string text;
    for (const char* const number : {"1795471801", "1574416800", "1795371803", "1674416800"}) {
      text += "<order>\n" + open + number + close + "\n";
    }
    return text;
  };
  EXPECT_EQ(Beginnings(log_of("<time>", "</time>")), (Numbers{1, 3, 5, 7}));
  EXPECT_EQ(Beginnings(log_of("ts=", " x")), (Numbers{1, 3, 5, 7}));
  for (const char* const open : {"<id>", "<customer>", "pid=", "\"userId\":"}) {
    EXPECT_THROW(Beginnings(log_of(open, "</x>")), Error) << open;
  }
}

TEST(LogTimes, KnowsLinesOfAuditdInASyslog) {
  const std::string cron = "Nov 23 22:10:01 host cron[1]: x\n",
                    kernel = "Nov 23 22:10:02 host kernel: audit(1795471802.5:3): x\n",
                    audit = "type=SYSCALL msg=audit(1795471803.25:4): x\n",
                    node = "node=a type=CWD msg=audit(1795471804.25:4): x\n";
  EXPECT_EQ(Beginnings(cron + cron + audit + kernel + cron + node), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST(LogTimes, RefusesTimesOfDayWhoseDatesAreInOtherLines) {
  const char* const kTexts[] = {
      "--- Log opened Mon Nov 23 08:00:00 2026\n08:01 -!- x has joined\n08:02 <x> hi\n",
      "--- Log opened Mon Nov 23 08:00:00 2026\n08:01:05 <x> hi\n--- Day changed Tue Nov 24 2026\n08:01:05 <x> ho\n",
      "Conversation with a at Mon Nov 23 22:10:01 2026 on b\n(22:10:05) a: hi\n(22:10:09) b: ho\n",
      "Session Start: Mon Nov 23 22:10:01 2026\n[22:10] <a> hi\n[22:11] <b> ho\n",
  };
  for (const char* const text : kTexts) EXPECT_THROW(Beginnings(text), Error) << text;
  const std::string record = "2026-11-23 22:10:01 the jobs are\nnext at night\n01:00 backup\nend\n";
  EXPECT_EQ(Beginnings(record + record), (Numbers{0, 4}));
}

TEST(LogTimes, KnowsTheOrderOfDatesInLogsOfHadoop) {
  const std::string job = "26/11/23 22:10:01 INFO mapred.JobClient:  map 0% reduce 0%\n",
                    file = "26/11/23 22:10:02 WARN hdfs.DFSClient: x\n";
  const std::shared_ptr<const LogTimes> log = LearnLog(job + file, {}, kNow);
  EXPECT_EQ(log->shapes[0].name, "year/month/day of two digits");
  EXPECT_THAT(NoteOf(job + file), HasSubstr("Hadoop"));
  EXPECT_THROW(LearnLog("26/11/23 22:10:01 INFO started x\n26/11/23 22:10:02 INFO Server: y\n", {}, kNow), Error);
}

TEST(LogTimes, KnowsProgramsWhoseRecordsDoNotBeginWithTheirTimes) {
  struct Known {
    std::string record;
    std::string start;
    std::size_t line;  ///< of the record, with the time
  };
  const std::string dashes(72, '-');
  const Known kKnown[] = {
      {"--12ab34cd-A--\n[23/Nov/2026:22:10:01 +0100] X1 10.0.0.1 12 10.0.0.2 80\n--12ab34cd-B--\nGET / HTTP/1.1\n"
       "Date: Mon, 23 Nov 2020 22:10:01 GMT\n\n--12ab34cd-Z--\n\n",
       "--%-A--", 1},
      {">>>  [Device Install - x]\n>>>  Section start 2026/11/23 22:10:01.123\n     utl: 2020/01/01 00:00:00\n"
       "<<<  Section end 2026/11/23 22:10:02.555\n<<<  [Exit status: SUCCESS]\n\n\n",
       ">>>  [", 1},
      {"Event[0]:\n  Log Name: System\n  Source: x\n  Date: 2026-11-23T22:10:01.123\n  Event ID: 7\n\n", "Event[", 3},
      {dashes + "\nr12 | a b | 2026-11-23 22:10:01 +0100 (Mon, 23 Nov 2026) | 2 lines\n\ntext\nr11 | a | back\n",
       dashes, 1},
      {"changeset:   12:0a1b2c3d4e5f\nuser:        a\ndate:        Mon Nov 23 22:10:01 2026 +0100\nsummary:     x\n\n",
       "changeset:  ", 2},
      {"revno: 12\ncommitter: a\nbranch nick: b\ntimestamp: Mon 2026-11-23 22:10:01 +0100\nmessage:\n  x\n",
       "revno: ", 3},
      {"LABEL:          REBOOT_ID\nIDENTIFIER:     2BFA76F6\n\nDate/Time:       Mon Nov 23 22:10:01 CET 2026\n"
       "Sequence Number: 22\n",
       "LABEL:", 3},
      {"[**] [1:1:1] rule [**]\n[Priority: 2] \n11/23-22:10:01.5 10.0.0.1:1 -> 10.0.0.2:2\nTCP TTL:64\n\n", "[**] [",
       2},
      {"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795471801123456\nMESSAGE=2020-01-01 10:00:00\n\n", "__CURSOR=", 1},
  };
  for (const Known& known : kKnown) {
    const std::string three = known.record + known.record + known.record;
    const std::shared_ptr<const LogTimes> log = LearnLog("head\n\n" + three, {}, kNow);
    EXPECT_EQ(log->start, known.start);
    EXPECT_EQ(log->matched, 3u) << known.start;
    EXPECT_EQ(log->looked, 3u) << known.start;
    LogTimeReader reader;
    std::string_view rest = known.record;
    for (std::size_t number = 0; !rest.empty(); ++number) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      EXPECT_EQ(BeginsWithStart(log->start, line), number == 0) << line;
      const LogTime time = reader.Read(*log, line);
      if (number <= known.line) {
        EXPECT_EQ(time.instant.has_value(), number == known.line) << line;
      }
    }
    // Records of other programs must not be glued to these.
    std::string mixed;
    for (int i = 0; i < 3; ++i) mixed += known.record + "2026-11-23 22:10:01 a\n2026-11-23 22:10:02 b\n";
    try {
      EXPECT_EQ(LearnLog(mixed, {}, kNow)->start, "") << known.start;
    } catch (const Error&) {
      // no form was found
    }
  }
}

TEST(LogTimes, KnowsUuidsBeforeSomeTimes) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += (i % 3 == 2 ? "0a1b2c3d-1111-2222-3333-0123456789ab " : "") +
            ("2026-11-23 22:10:" + std::to_string(10 + i) + ".123456 [DEBUG] x\n");
  }
  EXPECT_EQ(Beginnings(text).size(), 20u);
}

TEST(LogTimes, KnowsBlocksWhoseTimesGrow) {
  std::string text = "NET-SNMP version 5.7.3\n", late;
  for (int i = 0; i < 8; ++i) {
    const std::string second = std::to_string(10 + i);
    text += "2026-11-23 22:10:" + second + " router [UDP: [10.0.0.1]:1]:\nx = Timeticks: (12) 1:23:45.67\n";
    late += "----\nLABEL: A\nID: " + second + "\nDate: 2026-11-23 22:10:" + second + "\nmore\nwords\nhere\n";
  }
  EXPECT_EQ(Beginnings(text).size(), 8u);
  EXPECT_THROW(LearnLog(late, {}, kNow), Error);
}

TEST(LogTimes, DoesNotTakeTheTimesOfErrptForSeconds) {
  const std::string front =
      "IDENTIFIER TIMESTAMP  T C RESOURCE_NAME\n"
      "A924A5FC   1105102126 P S SYSPROC\nDE3B8540   1104092326 P H hdisk1\n"
      "A924A5FC   1103102026 P S SYSPROC\n";
  try {
    LearnLog(front, {}, kNow);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("--time '%m%d%H%M%y'"), std::string_view::npos);
  }
  EXPECT_EQ(LearnLog(front, {.times = {CheckedTimeFormat("%m%d%H%M%y")}}, kNow)->matched, 3u);
}

TEST(LogTimes, KnowsJsonInAnArray) {
  EXPECT_EQ(Beginnings("\xEF\xBB\xBF{\"@t\":\"2026-11-23T22:10:01Z\"}\n{\"@t\":\"2026-11-23T22:10:02Z\"}\n"),
            (Numbers{0, 1}));
  const std::string text = "[{\"time\":\"2026-11-23T22:10:01Z\"},\n{\"time\":\"2026-11-23T22:10:02Z\"}]\n";
  EXPECT_EQ(Beginnings(text), (Numbers{0, 1}));
  LogTimeReader reader;
  const std::shared_ptr<const LogTimes> log = LearnLog(text, {}, kNow);
  EXPECT_EQ(reader.Read(*log, "{\"time\":\"2026-11-23T22:10:02Z\"}]").instant->seconds, 1795471802);
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

TEST(LogTimes, ReadsTheSameTimeAfterOtherLines) {
  const char* const kFronts[] = {"2026-11-20 ", "2026-11-20T", "Nov 20 ",        "x [20/Nov/2026:", "2026/11/20 ",
                                 "20261120 ",   "<34>Nov 20 ", "E1120 ",         "11-20 ",          "Fri, 20 Nov 2026 ",
                                 "20.11.2026 ", "Fri Nov 20 ", "a b 20-Nov-26 ", "t=2026-11-20 at "};
  const char* const kClocks[] = {"10:11:12", "23:59:59", "24:00:00", "10:11:60",
                                 "10:61:12", "1:02:03",  "10:11",    "101112"};
  // Texts after a clock, with '|' between them.
  constexpr std::string_view kTexts =
      "|.5|.120|,123|,123,|:123|:1:|.1234567890|.| |  |\t|PM| PM| p.m.| pod| am| o'clock| oz|Z|z| z| UTC|"
      "UTC|\xC2\xA0PM|GMT+01:00| GMT| CET x| CETX| MUST |+0100| +01:00| +01:00:30|-0530]|+0107| -03 "
      "[7]|-03|+1500|+060|-| -03| -03 x| -10 x| -10 2025| +10,| GMT+3|GMT+3:30 x| GMT +5 x| UTC-3| GMT+| SGT 2015|"
      " 2026| 2026x| 20261|]|7|x| (UTC)| Europe/Berlin| Utc| EST5EDT|EST_x| INFO| INFO-1| Started a/b|,|;";
  std::vector<std::string> texts(1);
  for (const char c : kTexts) {
    if (c == '|') {
      texts.emplace_back();
    } else {
      texts.back() += c;
    }
  }
  std::mt19937_64 draw(3);
  const auto any = [&](const auto& list) { return list[draw() % std::size(list)]; };
  for (const char* const front : kFronts) {
    const std::string first = std::string(front) + "10:11:12 x\n";
    const std::shared_ptr<const LogTimes> log = LearnLog(first, {}, kNow);
    LogTimeReader used;
    for (int round = 0; round < 2000; ++round) {
      const std::string line = std::string(front) + any(kClocks) + any(texts) + any(texts) + any(texts);
      LogTimeReader fresh;
      ASSERT_EQ(used.Begins(*log, line), LogTimeReader().Begins(*log, line)) << line;
      const LogTime after = used.Read(*log, line), alone = fresh.Read(*log, line);
      ASSERT_EQ(after.instant.has_value(), alone.instant.has_value()) << line;
      if (!alone.instant) continue;
      ASSERT_EQ(KeyOf(*after.instant), KeyOf(*alone.instant)) << line;
      ASSERT_EQ(after.instant->zoned, alone.instant->zoned) << line;
      ASSERT_EQ(std::tuple(after.lacks_zone, after.east, after.lacks_year, after.lacks_date),
                std::tuple(alone.lacks_zone, alone.east, alone.lacks_year, alone.lacks_date))
          << line;
    }
  }
}

TEST(LogTimes, DoesNotTakeTheTimeOfTheLineBeforeForALongerTime) {
  const std::string blanks(60, ' '), digits(50, '1');
  for (const std::string& form : {std::string(), CheckedTimeFormat("%Y-%m-%d %H:%M:%S")}) {
    for (const auto& [first, second] :
         {std::pair(" x" + blanks, " x" + blanks + "PM"), std::pair(blanks + "x", blanks + "PM y"),
          std::pair("," + digits + ", x", "," + digits + " x")}) {
      const std::string time = "2026-11-23 10:10:01", one = time + first + "\n", two = time + second + "\n";
      LogForms allowed;
      if (!form.empty()) allowed.times = {form};
      const std::shared_ptr<const LogTimes> log = LearnLog(one + two, allowed, kNow);
      LogTimeReader fresh, used;
      used.Read(*log, one);
      const LogTime after = used.Read(*log, two), alone = fresh.Read(*log, two);
      ASSERT_EQ(after.instant.has_value(), alone.instant.has_value());
      if (!alone.instant) continue;
      EXPECT_EQ(KeyOf(*after.instant), KeyOf(*alone.instant)) << two;
    }
  }
}

TEST(LogTimes, KnowsLinesThatLookLikeRecords) {
  const auto look = [](const std::string& front, const std::string& line) {
    const std::shared_ptr<const LogTimes> log = LearnLog(front, {}, kNow);
    EXPECT_FALSE(LogTimeReader().Begins(*log, line)) << line;
    return LookAlikeOf(*log, line);
  };
  const std::string iso = "2026-03-01 10:00:00 a\n", syslog = "Nov 23 22:10:01 host a: b\n",
                    common = "::1 - - [23/Nov/2026:22:10:01 +0100] \"GET /\"\n";
  for (const char* const bad : {"2026-02-29 10:00:00 c", "2026-03-01 25:00:00 c", "2026-13-01 10:00:00 c",
                                "2026-03-01 10:00:61 c", "2026-03-01 24:00:01 c"}) {
    EXPECT_EQ(look(iso, bad), LookAlike::kImpossible) << bad;
  }
  EXPECT_EQ(look(syslog, "Feb 30 22:10:01 host a: b"), LookAlike::kImpossible);
  EXPECT_EQ(look(common, "::1 - - [31/Nov/2026:22:10:01 +0100] \"GET /\""), LookAlike::kImpossible);
  EXPECT_EQ(look("20260301 10:00:00 a\n", "20260230 10:00:00 a"), LookAlike::kImpossible);
  EXPECT_EQ(look(iso, "Nov 22 10:00:10 h p: x"), LookAlike::kOtherForm);
  EXPECT_EQ(look(syslog, "[2026-03-01 10:00:00] x"), LookAlike::kOtherForm);
  for (const char* const text : {"Traceback (most recent call last):", "1234567890 rows", "10:00:00 x", "at 2026-03-01",
                                 "Error 2026-03-01 10:00:00", "10.0.0.1 - - GET /", ""}) {
    EXPECT_EQ(look(iso, text), LookAlike::kNone) << text;
  }
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

/// Returns the keys of the records of `text`, which must not depend on the sizes of blocks, and `bodies` of the
/// records.
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
  EXPECT_EQ(
      KeysOf(LogSpecOf({}, "Europe/Berlin"), text),
      KeysOfTimes({"2026-10-24T23:59:59Z", "2026-10-25T00:00:01Z", "2026-10-25T00:50:00Z", "2026-10-25T00:49:58Z",
                   "2026-10-25T01:05:00Z", "2026-10-25T01:59:59Z", "2026-10-25T02:00:00Z", "2026-10-25T01:59:59Z"}));
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

TEST(LogsFormat, CompletesTimesWithAZone) {
  const std::string text = "23:00:00+01:00 a\n23:59:59+01:00 b\n00:00:01+01:00 c\n23:59:58+01:00 late\n";
  EXPECT_EQ(
      KeysOf(LogSpecOf({"--date", "2026-11-23"}, "America/New_York"), text),
      KeysOfTimes({"2026-11-23T22:00:00Z", "2026-11-23T22:59:59Z", "2026-11-23T23:00:01Z", "2026-11-23T22:59:58Z"}));
  const JobSpec spec = LogSpecOf({"--year", "2025", "--date", "2026-11-23", "--time", "%b %d %T %z"}, "UTC");
  EXPECT_EQ(KeysOf(spec, "Dec 31 23:30:00 -0500 a\nJan 01 00:30:00 -0500 b\n"),
            KeysOfTimes({"2026-01-01T04:30:00Z", "2026-01-01T05:30:00Z"}));
}

TEST(LogsFormat, HasNoTimeOnADayThatTheYearLacks) {
  const std::string text = "Feb 28 00:00:00 h a\nFeb 29 00:00:00 h b\nMar  1 00:00:00 h c\n";
  const std::vector<std::string> keys = KeysOf(LogSpecOf({"--year", "2026"}), text);
  const std::string null = KeyBytes([](FieldWriter& out) { ValueKey(ValueRule{}).PutNull(out); });
  EXPECT_EQ(keys, (std::vector{KeyOf(*ParseInstant("2026-02-28")), null, KeyOf(*ParseInstant("2026-03-01"))}));
}

TEST(LogsFormat, CountsDaysFromTheOneThatIsGiven) {
  const std::string text = "10:00:00 a\n23:59:59 b\n00:00:01 c\n23:59:58 late\n13:00:00 d\n12:00:01 e\n00:00:00 f\n";
  EXPECT_EQ(KeysOf(LogSpecOf({"--date", "2026-12-31"}), text),
            KeysOfTimes({"2026-12-31 10:00:00", "2026-12-31 23:59:59", "2027-01-01 00:00:01", "2026-12-31 23:59:58",
                         "2027-01-01 13:00:00", "2027-01-01 12:00:01", "2027-01-02 00:00:00"}));
}

TEST(LogsFormat, PutsLeapSecondsBeforeTheNextDay) {
  const std::vector<std::string> keys =
      KeysOf(LogSpecOf({"--year", "2016"}),
             "Dec 31 23:59:59.999999999 h a\nDec 31 23:59:60 h b\nDec 31 23:59:60.5 h c\nJan  1 00:00:00 h d\n");
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  EXPECT_EQ(keys.back(), KeysOfTimes({"2017-01-01 00:00:00"})[0]);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 4u);
}

TEST(LogsFormat, TakesEachLineOrIndentedLinesAsRecords) {
  const std::string text =
      "head\n2026-01-02 00:00:00 a\n\tat x\nCaused by\n\tat y\n2026-01-01 00:00:00 b\nlast\n2026-01-04 00:00:00 c\n";
  std::vector<std::string> bodies;
  EXPECT_EQ(
      KeysOf(LogSpecOf({"--multiline", "none", "--time", "%Y-%m-%d %T"}), text, &bodies),
      KeysOfTimes({"2026-01-02", "2026-01-02", "2026-01-02", "2026-01-02", "2026-01-01", "2026-01-01", "2026-01-04"}));
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

RC_GTEST_PROP(LogsFormat, FindsTheSameTimesOfJsonInBlocksOfAnySize, ()) {
  std::string text = R"({"ts":"2026-10-25 01:00:00"})"
                     "\n";
  for (int left = *rc::gen::inRange(0, 30); left > 0; --left) {
    char time[80];
    std::snprintf(time, sizeof(time), R"({"ts":"2026-10-25 %02d:%02d:00%s"})", *rc::gen::inRange(1, 4),
                  *rc::gen::inRange(0, 60), *rc::gen::element("", "", "Z"));
    text += *rc::gen::element<std::string>(time, time, time, R"({"x":1})") + "\n";
  }
  RC_ASSERT(!KeysOf(LogSpecOf({}, "Europe/Berlin"), text).empty());
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
