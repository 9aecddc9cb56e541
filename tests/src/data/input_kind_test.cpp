#include "data/input_kind.hpp"

#include <gtest/gtest.h>

#include <string>

#include "formats/registry.hpp"
#include "kernels/error.hpp"

namespace gpusort::testing {
namespace {

using namespace std::string_literals;

JobSpec LinesByDefault() {
  JobSpec spec;
  spec.source.format = Format::kLines;
  spec.source.format_assumed = true;
  spec.order.layout.delimiter = '\n';
  return spec;
}

JobSpec TableOf(const std::string& name) {
  JobSpec spec;
  spec.source.format = Format::kTable;
  spec.source.table.emplace();
  spec.source.table->name = name;
  return spec;
}

/// Returns the message of the refusal. Empty: the input is taken.
std::string Refusal(const JobSpec& spec, const std::string& front, const std::string& name = "in", bool all = true) {
  try {
    KindCheck(spec).Look(name, name, std::as_bytes(std::span(front)), all);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

std::string Wide(const std::string& text, bool big) {
  std::string wide;
  for (const char c : text) wide += big ? std::string(1, '\0') + c : std::string(1, c) + '\0';
  return wide;
}

struct Front {
  const char* kind;
  std::string bytes;
};

/// The first bytes of files of kinds that no job reads unchanged.
const Front kForeign[] = {
    {"gzip", "\x1f\x8b\x08\x08\x12\x34\x56\x78\x00\x03"s},
    {"zstd", "\x28\xb5\x2f\xfd\x04\x58"s},
    {"xz", "\xfd\x37zXZ\x00\x00\x04"s},
    {"bzip2", "BZh91AY&SY\x01\x02"s},
    {"lz4", "\x04\x22\x4d\x18\x64"s},
    {"custom format", "PGDMP\x01\x0e\x00\x04\x08"s},
    {"Parquet", "PAR1\x15\x04\x15\x10"s},
    {"Arrow", "ARROW1\0\0\xff\xff\xff\xff"s},
    {"Avro", "Obj\x01\x04\x16"s},
    {"ORC", "ORC\x0a\x0b\x01"s},
    {"SQLite", "SQLite format 3\0\x10\x00"s},
    {"DuckDB",
     "\x01\x02\x03\x04\x05\x06\x07\x08"
     "DUCK\x40\0\0\0"s},
    {"ZIP", "PK\x03\x04\x14\0\0\0\x08\0name.txt"s},
    {"spreadsheet", "PK\x03\x04\x14\0\x06\0\x08\0[Content_Types].xml"s},
    {"PDF", "%PDF-1.7\n%\x01\x02\n"s},
    {"ELF", "\x7f\x45LF\x02\x01\x01"s},
};

TEST(KindCheck, RefusesForeignKindsInEveryFormat) {
  for (const Front& front : kForeign) {
    EXPECT_NE(Refusal(LinesByDefault(), front.bytes).find(front.kind), std::string::npos) << front.kind;
    for (const FormatRow& row : kFormatRows) {
      if (IsColumnFile(row.codec)) continue;  // its module looks at the file
      EXPECT_NE(Refusal(TableOf(row.name), front.bytes).find(front.kind), std::string::npos) << front.kind;
    }
    JobSpec numbers = LinesByDefault();
    numbers.source.format = Format::kBinary;
    if (front.kind != "ORC"s) {  // three bytes are too few
      EXPECT_NE(Refusal(numbers, front.bytes), "") << front.kind;
    }
  }
}

TEST(KindCheck, TakesAnyBytesWhereTheUserSaysWhatTheyAre) {
  for (const Front& front : kForeign) {
    JobSpec said = LinesByDefault();
    said.source.format_assumed = false;
    EXPECT_EQ(Refusal(said, front.bytes), "") << front.kind;
    said.source.format = Format::kBinary;
    EXPECT_EQ(Refusal(said, front.bytes), "") << front.kind;
    JobSpec forced = TableOf("csv");
    forced.source.force_format = true;
    EXPECT_EQ(Refusal(forced, front.bytes), "") << front.kind;
  }
  JobSpec raw = LinesByDefault();
  raw.source.codec = Codec::kNone;
  EXPECT_EQ(Refusal(raw, kForeign[0].bytes), "");
  EXPECT_NE(Refusal(raw, kForeign[5].bytes), "");
}

TEST(KindCheck, TakesNumbersThatBeginAsAShortMagic) {
  JobSpec numbers = LinesByDefault();
  numbers.source.format = Format::kBinary;
  for (const std::string& front : {"\x1f\x9d\x01\x02"s, "\x1f\x8b\x08\x55"s, "\xff\xd8\xff\x00"s, "\xff\xfe\x01\x00"s,
                                   "1\0"
                                   "2\0"
                                   "3\0"
                                   "4\0"s}) {
    EXPECT_EQ(Refusal(numbers, front), "") << front;
  }
}

TEST(KindCheck, KnowsTarByItsSum) {
  std::string header(512, '\0');
  header.replace(0, 7, "toc.dat");
  header.replace(257, 5, "ustar");
  unsigned sum = 8 * ' ';
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof(text), "%06o", sum);
  header.replace(148, 6, text);
  EXPECT_NE(Refusal(LinesByDefault(), header).find("tar format (-Ft)"), std::string::npos);
  header[0] = 'u';
  EXPECT_EQ(Refusal(LinesByDefault(), header), "");
  header[1] = static_cast<char>('o' - ('u' - 't'));
  EXPECT_NE(Refusal(LinesByDefault(), header).find("a tar archive"), std::string::npos);
}

TEST(KindCheck, TakesTextWhoseDigitsAreTheSumOfATar) {
  std::string text(512, 'a');
  const unsigned sum = 504 * 'a' + 8 * ' ';
  char digits[9];
  std::snprintf(digits, sizeof(digits), "%08o", sum);
  text.replace(148, 8, digits);
  EXPECT_EQ(Refusal(LinesByDefault(), text), "");
  text.replace(500, 12, 12, '\0');
  std::snprintf(digits, sizeof(digits), "%08o", sum - 12 * 'a');
  text.replace(148, 8, digits);
  EXPECT_NE(Refusal(LinesByDefault(), text), "");
}

TEST(KindCheck, KnowsWideText) {
  const std::string text = "name,id\nb,2\na,1\n";
  for (const bool big : {false, true}) {
    const std::string mark = big ? "\xfe\xff" : "\xff\xfe";
    EXPECT_NE(Refusal(LinesByDefault(), mark + Wide(text, big)).find("UTF-16 text:"), std::string::npos);
    EXPECT_NE(Refusal(LinesByDefault(), Wide(text, big)).find(big ? "UTF-16BE" : "UTF-16LE"), std::string::npos);
    EXPECT_NE(Refusal(TableOf("csv"), Wide(text, big)), "");
    JobSpec zero = LinesByDefault();  // each byte is a line
    zero.order.layout.delimiter = 0;
    EXPECT_EQ(Refusal(zero, Wide(text, big)), "");
  }
  EXPECT_NE(Refusal(LinesByDefault(), "\xff\xfe\0\0a\0\0\0"s).find("UTF-32"), std::string::npos);
  for (const bool big : {false, true}) {
    std::string wide;
    for (const char c : text) wide += big ? "\0\0\0"s + c : c + "\0\0\0"s;
    EXPECT_NE(Refusal(LinesByDefault(), wide).find(big ? "UTF-32BE" : "UTF-32LE"), std::string::npos);
  }
  EXPECT_EQ(Refusal(LinesByDefault(), "a\0b\n"s), "");
  EXPECT_EQ(Refusal(LinesByDefault(), "\xff\xfe\x41\xd8\x41\x41\n\n"s), "");  // half of a surrogate pair
}

TEST(KindCheck, KnowsDumpsOfDatabases) {
  const std::string postgres[] = {"--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n",
                                  "--\n-- PostgreSQL database cluster dump\n--\n"};
  for (const std::string& front : postgres) {
    EXPECT_NE(Refusal(LinesByDefault(), front).find("--format pgdump"), std::string::npos);
    EXPECT_NE(Refusal(TableOf("csv"), front), "");
    EXPECT_EQ(Refusal(TableOf("pgdump"), front), "");
  }
  for (const std::string front :
       {"-- MySQL dump 10.13  Distrib 8.0.36\n", "-- MariaDB dump 10.19\n", "/*!40101 SET NAMES utf8 */;\n",
        "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n", "\n-- phpMyAdmin SQL Dump\n",
        "-- Adminer 4.8.1 MySQL 8.0.36 dump\n", "\xef\xbb\xbf-- MySQL dump 10.13\n"}) {
    for (const JobSpec& spec : {LinesByDefault(), TableOf("mysql"), TableOf("pgdump"), TableOf("sqlitedump")}) {
      EXPECT_NE(Refusal(spec, front).find("--format mysqldump"), std::string::npos) << front;
    }
    for (const std::string format : {"mysqldump", "sqldump"}) EXPECT_EQ(Refusal(TableOf(format), front), "") << front;
  }
  const std::string lite = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n";
  EXPECT_NE(Refusal(LinesByDefault(), lite).find("--format sqlitedump"), std::string::npos);
  for (const std::string format : {"pgdump", "mysqldump"}) EXPECT_NE(Refusal(TableOf(format), lite), "");
  for (const std::string format : {"sqlitedump", "sqldump"}) EXPECT_EQ(Refusal(TableOf(format), lite), "");
  EXPECT_NE(Refusal(LinesByDefault(), "select 1;\n", "x.SQL").find("by its name"), std::string::npos);
  EXPECT_EQ(Refusal(LinesByDefault(), "", "x.sql"), "");
  const std::string inserts = "INSERT INTO `t` VALUES (1),(2);\n";
  EXPECT_EQ(Refusal(LinesByDefault(), inserts), "");
  EXPECT_EQ(Refusal(TableOf("pgdump"), inserts), "");  // the end of a pgdump shows its kind
  EXPECT_NE(Refusal(TableOf("mysql"), inserts), "");
}

TEST(KindCheck, KnowsJsonThatIsNoLines) {
  const JobSpec json = TableOf("jsonl");
  for (const std::string front :
       {"[\n{\"a\":1},\n{\"a\":2}\n]\n", "[{\"a\":1},{\"a\":2}]\n", "\xef\xbb\xbf [{\"a\":1}]", "[1,\n2]\n",
        "[[1],[2]]", "{\n  \"a\": [1, -2.5e+3, true]\n}\n", "{\"a\":1,\r\n\"b\":2}", "[{\"a\":\"\\ud83d\"}]\n",
        "[{\"a\":\"\\\\\"},{\"a\":\"\\\"]\"}]\n"}) {
    EXPECT_NE(Refusal(json, front).find("jq -c"), std::string::npos) << front;
    EXPECT_NE(Refusal(LinesByDefault(), front).find("jq -c"), std::string::npos) << front;
    EXPECT_NE(Refusal(TableOf("csv"), front).find("jq -c"), std::string::npos) << front;
    EXPECT_EQ(Refusal(TableOf("pgcopy"), front), "") << front;
  }
  // Only the front of a longer input is passed.
  EXPECT_NE(Refusal(json, "[{\"a\":1},{\"a", "in", false), "");
  EXPECT_NE(Refusal(json, "[\n{\"a\":tr", "in", false), "");
  EXPECT_NE(Refusal(json, "[1,2]\n", "in.json"), "");
  for (const std::string lines : {"{\"a\":1}\n{\"a\":2}\n", "[1,2]\n", "[{\"a\":1}]\n[{\"a\":2}]\n", "[]\n", "{}\n",
                                  "1\n2\n", "\n{\"a\":\"\\\"[{\"}\n", "[\"a\"]\n[\"b\"]\n"}) {
    EXPECT_EQ(Refusal(json, lines), "") << lines;
  }
  EXPECT_NE(Refusal(TableOf("csv"), "{\"a\":1}\n{\"a\":2}\n").find("--format jsonl"), std::string::npos);
}

TEST(KindCheck, KnowsLinesThatEndWithReturns) {
  const JobSpec csv = TableOf("csv");
  EXPECT_NE(Refusal(csv, "a,b\r1,2\r").find("CR alone"), std::string::npos);
  EXPECT_NE(Refusal(csv, "a,b\r1,2", "in", false).find("CR alone"), std::string::npos);
  EXPECT_NE(Refusal(LinesByDefault(), "b\ra\r"), "");
  EXPECT_EQ(Refusal(LinesByDefault(), "10 %\r20 %", "in", false), "");
  for (const std::string text : {"a,b\r\n1,2\r\n", "a,b\r", "a\n1\r2\n", "\"a\rb\"\n"})
    EXPECT_EQ(Refusal(csv, text), "") << text;
}

TEST(KindCheck, TakesText) {
  for (const std::string text : {"PGDMP is a magic\n",
                                 "PK\n",
                                 "PAR1 rue\n",
                                 "ORC,ELF\n",
                                 "BZh9 is text\n",
                                 "BZh91AY&SY is text\n",
                                 "[section]\nkey=1\n",
                                 "[2026-11-24 02:00:00] started\n",
                                 "[1] \"a\" \"b\"\n[3] \"c\"\n",
                                 "[ ] to do\n",
                                 "[]\n",
                                 "{\n}\n",
                                 "{ x }\n",
                                 "['a', 'b']\n",
                                 "[1, 2, 3] and more\n",
                                 "/*! jQuery v3 */\n",
                                 "-- a comment of Lua\nlocal x\n",
                                 "--\n",
                                 "ustar\n",
                                 "%PDF- is a magic\n",
                                 "\x1f\n",
                                 "select,insert\n1,2\n",
                                 "copy,paste\n",
                                 "<html>\n",
                                 "DUCK\nDUCK\n12345678DUCK\n",
                                 "\x1b[0m\n",
                                 "{\"level\":\"info\"}\n{\"level\":\"warn\"}\n",
                                 "\n\n[\n",
                                 "caf\xe9\n"}) {
    EXPECT_EQ(Refusal(LinesByDefault(), text), "") << text;
  }
  for (const std::string text :
       {"[a],b\n1,2\n", "{id},x\n", "select,insert\n1,2\n", "\"<html>\",x\n", "use,copy\n1,2\n",
        "copy number,x\n1,a;\n", "insert into box,n\na;\n", "create table a,b\n1;\n"}) {
    EXPECT_EQ(Refusal(TableOf("csv"), text), "") << text;
  }
  EXPECT_NE(Refusal(TableOf("csv"), "\n<!DOCTYPE HTML>\n<html>").find("HTML"), std::string::npos);
}

}  // namespace
}  // namespace gpusort::testing
