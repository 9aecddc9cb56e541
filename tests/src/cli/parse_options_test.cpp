// labels: no_tsan
// Tests the command line with tables of words and their meaning, and of wrong words and the messages about them.
#include "cli/parse_options.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cctype>
#include <cstring>
#include <functional>
#include <sstream>

#include "cli/help.hpp"
#include "cli/named_files.hpp"
#include "cli/option_table.hpp"
#include "cli/option_values.hpp"
#include "formats/value_key.hpp"
#include "records.hpp"

namespace gpusort {
namespace {

using Words = std::vector<std::string>;

JobSpec Parse(const Words& words) { return ParseOptions(words); }

/// Returns the complaint of ParseOptions or of a small parser, or an empty string if there is none.
template <typename Call>
std::string Refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage) << error.what();
    return error.what();
  }
  return "";
}

std::string Refusal(const Words& words) {
  return Refusal([&] { Parse(words); });
}

/// Returns two names whose type is known, followed by `more`.
Words Sort(const Words& more) {
  Words words = {"a.u64", "b"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string Describe(const Words& words) { return ::testing::PrintToString(words); }

KeyField Field(std::uint64_t offset, std::uint32_t length, KeyType type, bool big_endian = false,
               bool descending = false) {
  return {offset, length, type, big_endian, descending};
}

std::vector<KeyField> Fields(const RecordLayout& layout) { return {layout.fields, layout.fields + layout.field_count}; }

TEST(ParseOptions, DefaultsToAPlannedSort) {
  const JobSpec spec = Parse({"in.u64", "out"});
  EXPECT_EQ(spec.action, Action::kSort);
  EXPECT_EQ(spec.source.inputs, Words{"in.u64"});
  EXPECT_EQ(spec.target.output, "out");
  EXPECT_EQ(spec.source.format, Format::kBinary);
  EXPECT_FALSE(spec.limits.memory || spec.limits.gpu_memory || spec.order.reverse || spec.order.unique ||
               spec.order.merge);
  EXPECT_FALSE(spec.target.no_fsync || spec.target.verify || spec.target.no_space_check);
  EXPECT_TRUE(spec.limits.temp_dirs.empty());
  EXPECT_EQ(spec.limits.threads, 0u);
  EXPECT_EQ(spec.limits.device, DeviceChoice::kAuto);
  EXPECT_EQ(spec.reports.progress, When::kAuto);
  EXPECT_EQ(spec.reports.log_level, "warn");
  EXPECT_EQ(spec.limits.batch_bytes, 0u);
  EXPECT_EQ(spec.limits.block_bytes, 0u);
  EXPECT_EQ(spec.limits.max_fan_in, 0u);
  EXPECT_TRUE(spec.reports.stats.empty() && spec.reports.log_file.empty());
}

struct Meaning {
  Words words;
  std::function<bool(const JobSpec&)> holds;
};

TEST(ParseOptions, TurnsEveryOptionIntoItsField) {
  const Meaning meanings[] = {
      {{"--memory", "2G"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{2ull << 30, false};
       }},
      {{"--memory=2G"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{2ull << 30, false};
       }},
      {{"--memory", "4096"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{4096, false};
       }},
      {{"--memory", "50%"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{50, true};
       }},
      {{"-S", "4096"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{4096 * 1024, false};
       }},
      {{"-S4096"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{4096 * 1024, false};
       }},
      {{"-S2G"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{2ull << 30, false};
       }},
      {{"-S", "512b"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{512, false};
       }},
      {{"-S50%"},
       [](const JobSpec& o) {
         return o.limits.memory == Size{50, true};
       }},
      {{"--gpu-memory", "4GiB"},
       [](const JobSpec& o) {
         return o.limits.gpu_memory == Size{4ull << 30, false};
       }},
      {{"--gpu-memory", "5000"},
       [](const JobSpec& o) {
         return o.limits.gpu_memory == Size{5000, false};
       }},
      {{"--temp-dir", "/x"}, [](const JobSpec& o) { return o.limits.temp_dirs == Words{"/x"}; }},
      {{"-T/x", "-T", "/y", "--temp-dir=/z"},
       [](const JobSpec& o) {
         return o.limits.temp_dirs == Words{"/x", "/y", "/z"};
       }},
      {{"--threads", "3"}, [](const JobSpec& o) { return o.limits.threads == 3; }},
      {{}, [](const JobSpec& o) { return o.limits.gpu_timeout == std::chrono::seconds(60); }},
      {{"--gpu-timeout", "5"}, [](const JobSpec& o) { return o.limits.gpu_timeout == std::chrono::seconds(5); }},
      {{"--parallel=3"}, [](const JobSpec& o) { return o.limits.threads == 3; }},
      {{"--device", "auto"}, [](const JobSpec& o) { return o.limits.device == DeviceChoice::kAuto; }},
      {{"--device", "cpu"}, [](const JobSpec& o) { return o.limits.device == DeviceChoice::kCpu; }},
      {{"--device", "gpu"},
       [](const JobSpec& o) { return o.limits.device == DeviceChoice::kGpu && o.limits.gpus.empty(); }},
      {{"--device", "gpu:3"}, [](const JobSpec& o) { return o.limits.gpus == std::vector<int>{3}; }},
      {{"--device", "gpu:2,0"},
       [](const JobSpec& o) {
         return o.limits.gpus == std::vector<int>{2, 0};
       }},
      {{"-u"}, [](const JobSpec& o) { return o.order.unique && !o.order.reverse && !o.order.merge; }},
      {{"--unique"}, [](const JobSpec& o) { return o.order.unique; }},
      {{"--no-clobber"}, [](const JobSpec& o) { return o.target.no_clobber; }},
      {{"-r"}, [](const JobSpec& o) { return o.order.reverse && !o.order.unique && !o.order.merge; }},
      {{"--reverse"}, [](const JobSpec& o) { return o.order.reverse; }},
      {{"-ru"}, [](const JobSpec& o) { return o.order.reverse && o.order.unique && !o.order.merge; }},
      {{"-ruS1"},
       [](const JobSpec& o) {
         return o.order.reverse && o.order.unique && o.limits.memory == Size{1024, false};
       }},
      {{"-r", "-r"}, [](const JobSpec& o) { return o.order.reverse && o.order.layout.fields[0].descending; }},
      {{"--no-fsync"},
       [](const JobSpec& o) { return o.target.no_fsync && !o.target.verify && !o.target.no_space_check; }},
      {{"--verify-output"},
       [](const JobSpec& o) { return o.target.verify && !o.target.no_fsync && !o.target.no_space_check; }},
      {{"--no-space-check"},
       [](const JobSpec& o) { return o.target.no_space_check && !o.target.no_fsync && !o.target.verify; }},
      {{"--stats", "s.json"}, [](const JobSpec& o) { return o.reports.stats == "s.json"; }},
      {{"--progress", "auto"}, [](const JobSpec& o) { return o.reports.progress == When::kAuto; }},
      {{"--progress", "always"}, [](const JobSpec& o) { return o.reports.progress == When::kAlways; }},
      {{"--progress=never"}, [](const JobSpec& o) { return o.reports.progress == When::kNever; }},
      {{"--log-level", "trace"}, [](const JobSpec& o) { return o.reports.log_level == "trace"; }},
      {{"--log-level", "off"}, [](const JobSpec& o) { return o.reports.log_level == "off"; }},
      {{"--log-file", "l"}, [](const JobSpec& o) { return o.reports.log_file == "l"; }},
      {{"--batch-size", "1K"}, [](const JobSpec& o) { return o.limits.batch_bytes == 1024; }},
      {{"--block-size", "64"}, [](const JobSpec& o) { return o.limits.block_bytes == 64; }},
      {{"--fan-in", "2"}, [](const JobSpec& o) { return o.limits.max_fan_in == 2; }},
      {{"--explain"},
       [](const JobSpec& o) { return o.action == Action::kExplain && o.target.output == "b" && !o.explains_all; }},
      {{"--explain=full"},
       [](const JobSpec& o) { return o.action == Action::kExplain && o.target.output == "b" && o.explains_all; }},
      {{"--format", "binary"}, [](const JobSpec& o) { return o.source.format == Format::kBinary; }},
      {{"--type", "f32"}, [](const JobSpec& o) { return o.order.layout.stride == 4; }},
  };
  for (const Meaning& meaning : meanings) {
    JobSpec spec;
    EXPECT_NO_THROW(spec = Parse(Sort(meaning.words))) << Describe(meaning.words);
    EXPECT_TRUE(meaning.holds(spec)) << Describe(meaning.words);
    EXPECT_EQ(spec.source.inputs, Words{"a.u64"}) << Describe(meaning.words);
    Words before = meaning.words;
    before.insert(before.end(), {"a.u64", "b"});
    EXPECT_TRUE(meaning.holds(Parse(before))) << "options before names: " << Describe(meaning.words);
  }
  for (const char* word : {"-m", "--merge"}) {
    const JobSpec spec = Parse({word, "-o", "b", "a.u64"});
    EXPECT_TRUE(spec.order.merge && !spec.order.reverse && !spec.order.unique) << word;
  }
  const JobSpec joined = Parse({"-rumo", "b", "a.u64"});
  EXPECT_TRUE(joined.order.reverse && joined.order.unique && joined.order.merge && joined.target.output == "b");
}

TEST(ParseOptions, PlacesNames) {
  EXPECT_EQ(Parse({"-o", "out", "a.u64", "b.u64", "c.u64"}).source.inputs, (Words{"a.u64", "b.u64", "c.u64"}));
  EXPECT_EQ(Parse({"a.u64", "-oout", "b.u64"}).target.output, "out");
  EXPECT_EQ(Parse({"--output=out", "a.u64"}).target.output, "out");
  EXPECT_EQ(Parse({"-o", "out", "--type", "u8", "--", "-r", "--memory"}).source.inputs, (Words{"-r", "--memory"}));
  EXPECT_FALSE(Parse({"-o", "out", "--type", "u8", "--", "-r"}).order.reverse);
  const JobSpec pipes = Parse({"--type", "u64", "-", "-"});
  EXPECT_EQ(pipes.source.inputs, Words{"-"});
  EXPECT_EQ(pipes.target.output, "-");
  EXPECT_EQ(Parse({"-o", "-", "a.u64"}).target.output, "-");
  const JobSpec check = Parse({"--check", "a.u64"});
  EXPECT_EQ(check.action, Action::kCheck);
  EXPECT_EQ(check.source.inputs, Words{"a.u64"});
  EXPECT_EQ(check.target.output, "");
  EXPECT_EQ(Parse({"-o", "out", "--type=i8", "na\nme", "b c"}).source.inputs, (Words{"na\nme", "b c"}));
  // The input may be the output: it is replaced only when the new one is whole.
  EXPECT_EQ(Parse({"a.u64", "a.u64"}).target.output, "a.u64");
}

TEST(ParseOptions, AnswersHelpAndVersionBeforeAnythingElse) {
  EXPECT_EQ(Parse({"--help"}).action, Action::kHelp);
  EXPECT_EQ(Parse({"--version"}).action, Action::kVersion);
  EXPECT_EQ(Parse({"--version", "--help"}).action, Action::kHelp);
  EXPECT_EQ(Parse({"--memory", "junk", "--help", "x"}).action, Action::kHelp);
  EXPECT_EQ(Parse({"--help"}).help, HelpTopic::kShort);
  EXPECT_EQ(Parse({"--help=all"}).action, Action::kHelp);
  EXPECT_EQ(Parse({"--help=all"}).help, HelpTopic::kAll);
  EXPECT_EQ(Parse({"--help=keys"}).help, HelpTopic::kKeys);
  EXPECT_EQ(Parse({"--help=examples"}).help, HelpTopic::kExamples);
  EXPECT_EQ(Parse({"--help=man"}).help, HelpTopic::kManual);
  EXPECT_EQ(Parse({"--help=json"}).help, HelpTopic::kJson);
  EXPECT_EQ(Parse({"a", "--", "--help=junk"}).target.output, "--help=junk");
}

TEST(ParseOptions, TakesStandardStreamsWhereNamesAreMissing) {
  const JobSpec none = Parse({"--type", "u64"});
  EXPECT_TRUE(none.source.implied && none.target.implied);
  EXPECT_EQ(none.source.inputs, Words{"-"});
  EXPECT_EQ(none.target.output, "-");
  const JobSpec one = Parse({"a.u64"});
  EXPECT_TRUE(!one.source.implied && one.target.implied && !one.target.asks);
  EXPECT_EQ(one.source.inputs, Words{"a.u64"});
  EXPECT_EQ(one.target.output, "-");
  EXPECT_FALSE(Parse({"a.u64", "-"}).target.implied);
}

TEST(ParseOptions, AsksOnlyForAnOutputThatIsTheSecondName) {
  EXPECT_TRUE(Parse({"a.u64", "b"}).target.asks);
  EXPECT_FALSE(Parse({"-o", "b", "a.u64"}).target.asks);
  EXPECT_FALSE(Parse({"--force", "a.u64", "b"}).target.asks);
  EXPECT_FALSE(Parse({"--no-clobber", "a.u64", "b"}).target.asks);
}

TEST(ParseOptions, LooksAtTheInputsBeforeItRefusesAKey) {
  for (const char* key : {"0", "name"}) {
    const Words words{"-k", key, "a", "b"};
    Words seen;
    EXPECT_THROW(ParseOptions(words, [&](const std::string& input) { seen.push_back(input); }), Error);
    EXPECT_EQ(seen, Words{"a"}) << key;
  }
}

struct Mistake {
  Words words;
  Words said;  // parts of the message
};

TEST(ParseOptions, ExplainsEveryMistake) {
  const Mistake mistakes[] = {
      // names
      {{"--split", "2", "a.u64"}, {"no output is given", "'a.u64'", "--split needs a file"}},
      {{"--resume-dir", "d"}, {"no input is given", "--resume-dir needs a file"}},
      {{"--force", "--no-clobber", "a.u64", "b"}, {"--force and --no-clobber exclude each other"}},
      {{"--split", "2", "a.u64", "."}, {"'.' is a folder", "'./part'"}},
      {{"-o", "x", "a.csv", "b.jsonl"}, {"'a.csv' means csv", "'b.jsonl' means jsonl", "--format"}},
      {{"a.u64", "b", "c"}, {"3 names", "-o OUTPUT"}},
      {{"-o", "x"}, {"no input is given", "-o OUTPUT INPUT"}},
      {{"", "b"}, {"a file name is empty"}},
      {{"a.u64", ""}, {"a file name is empty"}},
      {{"-o", "x", "--type", "u8", "-", "-"}, {"standard input (-) can be read only once"}},
      {{"--check"}, {"--check takes exactly one input", "0 are given"}},
      {{"--check", "a.u64", "b"}, {"--check takes exactly one input", "2 are given"}},
      // the type
      {{"--format", "binary", "a", "b"}, {"'a'", "--type", "--record-size", ".bin"}},
      {{"--format", "binary", "a.txt", "b"}, {"'a.txt'", "--type"}},
      {{"--format", "binary", ".bin", "b"}, {"'.bin'", "--type"}},
      {{"--format", "binary", "dir.u64/a", "b"}, {"'dir.u64/a'", "--type"}},
      {{"--format", "binary", "a.bytes4", "b"}, {"'a.bytes4'", "--type"}},
      {{"--format", "binary", "a.u64\x1b[2J", "b"}, {"a.u64\\x1b[2J", "--type"}},
      {{"--format", "binary", "-", "b"}, {"standard input", "--type", "--record-size"}},
      {{"-o", "x", "a.u64", "b.log"}, {"'a.u64'", "'b.log'", "--format"}},
      {{"-o", "x", "a.u64", "-"}, {"'a.u64'", "'-'", "--format"}},
      {{"--format", "lines", "--type", "u64", "a", "b"}, {"--type is for binary records", "--format lines"}},
      {{"--format", "binary", "-n", "a.u64", "b"}, {"--numeric-sort is for lines", "--format binary"}},
      {{"--type", "u64", "-z", "a", "b"}, {"--zero-terminated is for lines", "--type"}},
      // the order of lines
      {{"-k0", "a", "b"}, {"--key", "field number is zero"}},
      {{"-k1,2x\n", "a", "b"}, {"--key", "1,2x"}},
      {{"-nM", "a", "b"}, {"'-Mn' are incompatible"}},
      {{"-k1n", "-k2gM", "a", "b"}, {"'-gM' are incompatible"}},
      {{"-txy", "a", "b"}, {"--field-separator", "'xy' is not one character"}},
      {{"-ttab", "a", "b"}, {"--field-separator", "did you mean '\\t'?"}},
      {{"--sort=size", "a", "b"}, {"--sort", "'size' is none of", "version"}},
      {{"--max-record", "0", "a", "b"}, {"--max-record", "more than 0"}},
      {{"--max-record", "4G", "a", "b"}, {"--max-record", "4294967295 bytes"}},
      {{"--files0-from", "names", "a"}, {"--files0-from", "'a'"}},
      {{"--files0-from", "names"}, {"no output"}},
      {{"--batch-size", "3", "--fan-in", "3", "a", "b"}, {"--batch-size and --fan-in", "twice"}},
      {{"-C", "-m", "a"}, {"--merge has no meaning with -C"}},
      {{"--help=al"}, {"--help: 'al' is none of: all, keys, examples, man, json", "did you mean all?"}},
      {{"--help="}, {"--help: '' is none of"}},
      {{"--outptu", "a", "b"}, {"'--outptu'", "; did you mean --output?", "see gpusort --help"}},
      {{"--rev", "a", "b"}, {"'--rev'; did you mean --reverse?"}},
      {{"--Reverse=1", "a", "b"}, {"did you mean --reverse?"}},
      {{"--limit=5", "a", "b"}, {"'--limit=5'; did you mean --top?"}},
      {{"--gpu", "a", "b"}, {"'--gpu'; did you mean --device or --gpu-memory or --gpu-timeout?"}},
      {{"--device", "cuda", "a", "b"}, {"'cuda' is none of: auto, cpu, gpu; did you mean gpu?"}},
      {{"--type", "int32", "a", "b"}, {"'int32' is not a type", "did you mean i32?"}},
      {{"--type", "number", "a", "b"}, {"'number' is not a type", "did you mean f64 or i64?"}},
      {{"--type", "double", "a", "b"}, {"did you mean f64?"}},
      {{"-k", "a:datetime", "a.csv", "b"}, {"unknown 'datetime'; did you mean timestamp?"}},
      {{"-k", "a:int32", "a.csv", "b"}, {"unknown 'int32'; did you mean int?"}},
      {{"-q", "-v", "a", "b"}, {"--quiet and --verbose exclude each other"}},
      {{"-q", "--progress", "auto", "a", "b"}, {"--quiet and --progress exclude each other"}},
      {{"-v", "--log-level", "info", "a", "b"}, {"--verbose and --log-level exclude each other"}},
      {{"--tmpdir=x", "a", "b"}, {"did you mean --temp-dir?"}},
      {{"--device", "ggpu", "a", "b"}, {"none of: auto, cpu, gpu; did you mean gpu?"}},
      {{"--log-level", "wran", "a", "b"}, {"; did you mean warn?"}},
      {{"--sort", "numerci", "a", "b"}, {"; did you mean numeric?"}},
      {{"--check=quite", "a"}, {"; did you mean quiet?"}},
      {{"--decompress", "gzp", "a", "b"}, {"; did you mean gz or gzip?"}},
      {Sort({"--type", "u46"}), {"; did you mean u16 or u64?"}},
      {{"a", "-o", "--check"}, {"--output: '--check' is an option", "./--check"}},
      {{"a", "-o", "--top=3"}, {"--output: '--top=3' is an option", "./--top=3"}},
      {Sort({"--stats", "--unique"}), {"--stats: '--unique' is an option"}},
      {Sort({"--log-file", "--explain"}), {"--log-file: '--explain' is an option"}},
      {Sort({"-T", "--explain"}), {"--temp-dir: '--explain' is an option"}},
      {Sort({"--temporary-directory", "--explain"}), {"--temporary-directory: '--explain' is an option"}},
      {{"--files0-from", "--merge", "-o", "b"}, {"--files0-from: '--merge' is an option"}},
      {{"-R", "--random-source", "--merge", "a", "b"}, {"--random-source: '--merge' is an option"}},
      {{"a.GZ", "b"}, {"'a.GZ' looks compressed", "--decompress gz", "--decompress none"}},
      {{"-o", "b", "a", "a.tgz"}, {"'a.tgz' looks compressed", "--decompress gz"}},
      {{"--type", "u64", "a.Xz", "b"}, {"--decompress xz"}},
      {{"-c", "a.zstd"}, {"--decompress zst"}},
      {{"a", "b.TBZ2"}, {"'b.TBZ2' looks compressed", "--compress bz2", "--compress none"}},
      {{"A.BIN", "b"}, {"'A.BIN' looks like numbers", "--type i32", "--format lines"}},
      {{"a.U32BE.gz", "b"}, {"--type u32be"}},
      {{"-R", "--random-source=-", "-", "b"}, {"standard input (-) can be read only once"}},
      {{"-R", "--random-source=-", "--files0-from=-", "-o", "b"}, {"standard input (-) can be read only once"}},
      {{"-m", "monday.log", "tuesday.log"}, {"-m", "gpusort -m -o OUTPUT 'monday.log' 'tuesday.log'"}},
      {{"-m", "a", "b", "c"}, {"-m -o OUTPUT"}},
      {{"-o", "x", "a.u64", "b.i64"}, {".u64 and .i64", "different types"}},
      {{"--type", "u128", "a", "b"}, {"--type", "'u128' is not a type", "f64"}},
      {{"--type", "", "a", "b"}, {"--type needs a value"}},
      {{"--type", "U64", "a", "b"}, {"'U64' is not a type"}},
      {{"--type", "u64xe", "a", "b"}, {"'u64xe' is not a type"}},
      {{"--type", "u64lebe", "a", "b"}, {"'u64lebe' is not a type"}},
      {{"--type", "f16", "a", "b"}, {"'f16' is not a type"}},
      {{"--type", "u8\n", "a", "b"}, {"'u8\\x0a' is not a type"}},
      {{"--type", "bytes10", "a", "b"}, {"'bytes10' is not a number", "--record-size 10"}},
      {{"--type", "u8", "--record-size", "1", "a", "b"}, {"--type and --record-size exclude each other"}},
      {{"--type", "u8", "--type", "u16", "a", "b"}, {"--type is given twice"}},
      {{"--format", "xml", "a.u64", "b"}, {"--format", "'xml' is none of", "binary"}},
      // record size and keys
      {{"--record-size", "0", "a", "b"}, {"--record-size", "more than 0"}},
      {{"--record-size", "-1", "a", "b"}, {"--record-size"}},
      {{"--record-size=-1", "a", "b"}, {"--record-size", "'-1' is not a size"}},
      {{"--record-size", "50%", "a", "b"}, {"--record-size", "'50%' is a share"}},
      {{"--record-size", "2G", "a", "b"}, {"--record-size", "over 1 GiB"}},
      {{"--record-size", "18446744073709551616", "a", "b"}, {"--record-size", "too large"}},
      {{"--record-size", "8", "--key", "0:u128", "a", "b"}, {"--key", "'0:u128'", "'u128' is not a type"}},
      {{"--record-size", "8", "--key", "8:u8", "a", "b"},
       {"--key", "'8:u8' reaches beyond the record of 8 bytes (--record-size)"}},
      {{"--record-size", "8", "--key", "1:u64", "a", "b"}, {"--key", "'1:u64' reaches beyond the record of 8 bytes"}},
      {{"--record-size", "8", "--key", "18446744073709551615:u8", "a", "b"},
       {"--key", "reaches beyond the record of 8 bytes"}},
      {{"--record-size", "8", "--key", "18446744073709551616:u8", "a", "b"}, {"--key", "is not an offset"}},
      {{"--record-size", "8", "--key", "-1:u8", "a", "b"}, {"--key", "'-1' is not an offset"}},
      {{"--record-size", "8", "--key", "1,1", "a", "b"}, {"--key", "'1,1' is not a key", "OFFSET:TYPE"}},
      {{"--record-size", "8", "--key", ":u8", "a", "b"}, {"--key", "'' is not an offset"}},
      {{"--record-size", "8", "--key", "0:", "a", "b"}, {"--key", "'' is not a type"}},
      {{"--record-size", "8", "--key", "0:u8:", "a", "b"}, {"--key", "'' is neither asc nor desc"}},
      {{"--record-size", "8", "--key", "0:u8:up", "a", "b"}, {"--key", "'up' is neither asc nor desc"}},
      {{"--record-size", "8", "--key", "0:u8:asc:asc", "a", "b"}, {"--key", "'asc:asc' is neither"}},
      {{"--record-size", "8", "--key", "0:bytes", "a", "b"}, {"--key", "bytesN needs a length"}},
      {{"--record-size", "8", "--key", "0:bytes0", "a", "b"}, {"--key", "bytesN needs a length"}},
      {{"--record-size", "8", "--key", "0:bytes4be", "a", "b"}, {"--key", "bytesN needs a length"}},
      {{"--record-size", "8", "--key", "0:bytes4294967296", "a", "b"}, {"--key", "bytesN needs a length"}},
      {{"--record-size", "8", "--key=", "a", "b"}, {"--key"}},
      {{"--key", "0:u8", "a", "b"}, {"--key", "'0:u8'", "--type", "--record-size"}},
      {{"--key", "0:u64", "a.bin", "b"},
       {"'0:u64' reaches beyond the record of 4 bytes (i32 from the extension .bin)"}},
      {{"--type", "u32", "--key", "4:u8", "a", "b"}, {"'4:u8' reaches beyond the record of 4 bytes (u32 from --type)"}},
      // sizes
      {Sort({"--memory", "0"}), {"--memory", "more than 0"}},
      {Sort({"--memory", ""}), {"--memory needs a value"}},
      {Sort({"--memory="}), {"--memory"}},
      {Sort({"--memory", "-1"}), {"--memory"}},
      {Sort({"--memory=-1"}), {"--memory", "'-1' is not a size"}},
      {Sort({"--memory", "1.5"}), {"--memory", "'1.5' is not a size"}},
      {Sort({"--memory", "2X"}), {"--memory", "'2X' is not a size"}},
      {Sort({"--memory", "2GG"}), {"--memory", "'2GG' is not a size"}},
      {Sort({"--memory", "2 G"}), {"--memory", "'2 G' is not a size"}},
      {Sort({"--memory", "G"}), {"--memory", "'G' is not a size"}},
      {Sort({"--memory", "0x10"}), {"--memory", "'0x10' is not a size"}},
      {Sort({"--memory", "18446744073709551616"}), {"--memory", "'18446744073709551616' is too large"}},
      {Sort({"--memory", "99999999999T"}), {"--memory", "'99999999999T' is too large"}},
      {Sort({"--memory", "0%"}), {"--memory", "'0%' is not a share"}},
      {Sort({"--memory", "101%"}), {"--memory", "'101%' is not a share"}},
      {Sort({"--memory", "18446744073709551617%"}), {"--memory", "is not a share"}},
      {Sort({"-S", "99999999999999999"}), {"--buffer-size", "too large"}},
      {Sort({"-S", "0"}), {"--buffer-size", "more than 0"}},
      {Sort({"-S=1"}), {"--buffer-size", "'=1' is not a size"}},
      {Sort({"--gpu-memory", "0"}), {"--gpu-memory", "more than 0"}},
      {Sort({"--gpu-memory", "x\ny"}), {"--gpu-memory", "'x\\x0ay' is not a size"}},
      {Sort({"--batch-size", "0"}), {"--batch-size", "more than 0"}},
      {Sort({"--batch-size", "5%"}), {"--batch-size", "'5%' is a share"}},
      {Sort({"--block-size", "0"}), {"--block-size", "more than 0"}},
      {Sort({"--block-size", "1Q"}), {"--block-size", "'1Q' is not a size"}},
      {Sort({"--fan-in", "1"}), {"--fan-in", "'1' is not a whole number from 2"}},
      {Sort({"--fan-in", "4294967298"}), {"--fan-in", "is not a whole number"}},
      {Sort({"--gpu-timeout", "0"}), {"--gpu-timeout", "'0' is not a whole number from 1 to 86400"}},
      {Sort({"--threads", "0"}), {"--threads", "'0' is not a whole number from 1 to 4096"}},
      {Sort({"--threads", "4K"}), {"--threads", "'4K'"}},
      {Sort({"--threads", "18446744073709551617"}), {"--threads", "is not a whole number"}},
      {Sort({"--parallel", "x"}), {"--parallel", "'x'"}},
      // choices
      {Sort({"--device", "tpu"}), {"--device", "'tpu' is none of: auto, cpu, gpu"}},
      {Sort({"--device", "gpu:"}), {"--device", "'' is not a whole number"}},
      {Sort({"--device", "gpu:-1"}), {"--device", "'-1' is not a whole number"}},
      {Sort({"--device", "gpu:1x"}), {"--device", "'1x' is not a whole number"}},
      {Sort({"--device", "gpu:1,"}), {"--device", "'' is not a whole number"}},
      {Sort({"--device", "gpu:1,,2"}), {"--device", "'' is not a whole number"}},
      {Sort({"--device", "gpu:1,2,1"}), {"--device", "GPU 1 is named twice"}},
      {Sort({"--progress", "yes"}), {"--progress", "'yes' is none of: auto, always, never"}},
      {Sort({"--progress"}), {"--progress"}},
      {Sort({"--log-level", "loud"}), {"--log-level", "'loud' is none of: trace"}},
      // combinations
      {Sort({"--memory", "1G", "--memory", "2G"}), {"--memory is given twice"}},
      {Sort({"--memory", "1G", "-S2G"}), {"--memory and --buffer-size are the same option, given twice"}},
      {Sort({"--threads", "1", "--parallel", "1"}), {"--threads and --parallel are the same option"}},
      {Sort({"-S1", "-S2"}), {"--buffer-size is given twice"}},
      {{"-o", "x", "-o", "y", "a.u64"}, {"--output is given twice"}},
      {Sort({"--explain=fast"}), {"--explain", "'fast' is none of: full"}},
      {Sort({"--explain="}), {"--explain", "'' is none of: full"}},
      {Sort({"--explain=full", "--stats", "s"}), {"--stats has no meaning with --explain"}},
      {Sort({"--explain", "--stats", "s"}), {"--stats has no meaning with --explain"}},
      {Sort({"--stats", "-"}), {"--stats", "give a file name"}},
      {Sort({"--stats", "a.u64"}), {"--stats", "'a.u64' is an input"}},
      {Sort({"--stats", "b"}), {"--stats", "'b' is the output"}},
      {Sort({"--log-file", "a.u64"}), {"--log-file", "'a.u64' is an input"}},
      {Sort({"--log-file", "x", "--stats", "x"}), {"--stats and --log-file name the same file"}},
      {Sort({"-T", ""}), {"--temp-dir needs a value"}},
      {{"--verify-output", "a.u64", "-"}, {"--verify-output cannot read standard output back"}},
      // syntax
      {Sort({"--mem", "1G"}), {"--mem", "gpusort --help"}},
      {Sort({"--reverse=1"}), {"--reverse"}},
      {Sort({"-x"}), {"-x", "gpusort --help"}},
      {Sort({"-r5"}), {"gpusort --help"}},
      {Sort({"--no\nsuch"}), {"--no\\x0asuch"}},
      {{"a.u64", "b", "--memory"}, {"--memory"}},
      {{"a.u64", "b", "-S"}, {"--buffer-size"}},
      {{"a.u64", "b", "-T"}, {"temp-dir"}},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string said = Refusal(mistake.words);
    for (const std::string& part : mistake.said) {
      EXPECT_NE(said.find(part), std::string::npos) << Describe(mistake.words) << " gave: " << said;
    }
    EXPECT_EQ(EscapeName(said), said);
  }
}

TEST(ParseOptions, TakesWhatLooksLikeASlipAndIsNone) {
  for (const Words& words : std::vector<Words>{{"a", "-o", "./--check"},
                                               {"a", "-o", "--no-such-option"},
                                               {"a", "--output=-c"},
                                               {"--decompress", "none", "a.GZ", "b"},
                                               {"--decompress", "gz", "a.tgz", "b"},
                                               {"--compress", "none", "a", "b.GZ"},
                                               {"--compress", "gz", "a", "b.tgz"},
                                               {"--format", "lines", "A.BIN", "b"},
                                               {"--type", "i32", "A.BIN", "b"},
                                               {"-k1,1", "-n", "A.BIN", "b"}}) {
    EXPECT_EQ(Refusal(words), "") << Describe(words);
  }
}

TEST(ParseOptions, RefusesWithCheckWhatOnlySortingUses) {
  const Words only_sorting[] = {{"-m"},
                                {"-ox"},
                                {"--gpu-memory=1G"},
                                {"-T/x"},
                                {"--threads=1"},
                                {"--parallel=1"},
                                {"--explain"},
                                {"--no-fsync"},
                                {"--stats=s"},
                                {"--fan-in=2"},
                                {"--batch-size=1"},
                                {"--verify-output"},
                                {"--no-space-check"},
                                {"--block-size=1"}};
  for (Words words : only_sorting) {
    words.insert(words.end(), {"--check", "a.u64"});
    EXPECT_NE(Refusal(words).find("has no meaning with --check"), std::string::npos) << Describe(words);
  }
  const JobSpec spec = Parse({"--check", "-r", "--memory=1G", "--device=cpu", "--type=u8", "--progress=never", "x"});
  EXPECT_EQ(spec.action, Action::kCheck);
  EXPECT_TRUE(spec.order.layout.fields[0].descending);
}

TEST(ParseOptions, NeverTakesAValueOptionallyAfterASpace) {
  // A flag leaves the next word alone; an option with a value takes it even if it looks like an option's own word.
  EXPECT_EQ(Parse({"--reverse", "a.u64", "b"}).source.inputs, Words{"a.u64"});
  EXPECT_EQ(Parse({"--check", "a.u64"}).source.inputs, Words{"a.u64"});
  EXPECT_EQ(Parse({"-r", "a.u64", "-u", "b"}).target.output, "b");
  EXPECT_EQ(Parse({"-o", "b", "a.u64"}).target.output, "b");
}

struct Typing {
  Words words;
  std::uint64_t stride;
  std::vector<KeyField> fields;
  std::string note;
};

TEST(ParseOptions, DecidesTheRecord) {
  using enum KeyType;
  const Typing typings[] = {
      {{"a.bin", "b"}, 4, {Field(0, 4, kSigned)}, "i32 (from the extension .bin)"},
      {{"x/y.z/a.bin", "b"}, 4, {Field(0, 4, kSigned)}, "i32 (from the extension .bin)"},
      {{"a.f64", "b"}, 8, {Field(0, 8, kFloat)}, "f64 (from the extension .f64)"},
      {{"a.u32be", "b"}, 4, {Field(0, 4, kUnsigned, true)}, "u32be (from the extension .u32be)"},
      {{"-o", "o", "a.bin", "b.i32"}, 4, {Field(0, 4, kSigned)}, "i32 (from the extension .bin)"},
      {{"--type", "u64", "a.bin", "b"}, 8, {Field(0, 8, kUnsigned)}, "u64 (from --type)"},
      {{"--type", "i16le", "-", "b"}, 2, {Field(0, 2, kSigned)}, "i16 (from --type)"},
      {{"--type", "i16be", "-r", "a", "b"}, 2, {Field(0, 2, kSigned, true, true)}, "i16be descending (from --type)"},
      {{"--type", "u8be", "a", "b"}, 1, {Field(0, 1, kUnsigned)}, "u8 (from --type)"},
      {{"--record-size", "100", "a.u64", "b"},
       100,
       {Field(0, 100, kBytes)},
       "records of 100 bytes (--record-size), key: all bytes"},
      {{"--record-size", "1K", "-r", "-", "b"},
       1024,
       {Field(0, 1024, kBytes, false, true)},
       "records of 1024 bytes (--record-size), key: all bytes, descending"},
      {{"--record-size", "100", "--key", "0:bytes10", "a", "b"},
       100,
       {Field(0, 10, kBytes)},
       "records of 100 bytes (--record-size), key 0:bytes10"},
      {{"--record-size", "32", "-k8:i64:desc", "--key", "0:u32be", "a", "b"},
       32,
       {Field(8, 8, kSigned, false, true), Field(0, 4, kUnsigned, true)},
       "records of 32 bytes (--record-size), keys 8:i64:desc, 0:u32be"},
      {{"--record-size", "32", "-r", "-k8:i64:desc", "--key", "0:u32be:asc", "a", "b"},
       32,
       {Field(8, 8, kSigned), Field(0, 4, kUnsigned, true, true)},
       "records of 32 bytes (--record-size), keys 8:i64, 0:u32be:desc"},
      {{"--type", "u64", "--key", "7:u8", "a", "b"},
       8,
       {Field(7, 1, kUnsigned)},
       "records of 8 bytes (u64 from --type), key 7:u8"},
      {{"a.bin", "--key", "0:i32:desc", "b"},
       4,
       {Field(0, 4, kSigned, false, true)},
       "records of 4 bytes (i32 from the extension .bin), key 0:i32:desc"},
  };
  for (const Typing& typing : typings) {
    const JobSpec spec = Parse(typing.words);
    EXPECT_EQ(spec.order.layout.stride, typing.stride) << Describe(typing.words);
    EXPECT_TRUE(Fields(spec.order.layout) == typing.fields) << Describe(typing.words);
    EXPECT_EQ(spec.source.type_note, typing.note);
    std::uint64_t key_bytes = 0;
    for (const KeyField& field : typing.fields) key_bytes += field.length;
    EXPECT_EQ(spec.order.layout.key_bytes, key_bytes);
  }
}

TEST(ParseOptions, TakesUpTo64Keys) {
  Words words = {"--record-size", "8", "a", "b"};
  for (int i = 0; i < 64; ++i) words.insert(words.end(), {"--key", "0:u8"});
  EXPECT_EQ(Parse(words).order.layout.field_count, 64u);
  words.insert(words.end(), {"--key", "0:u8"});
  EXPECT_EQ(Refusal(words), "--key is given 65 times; at most 64");
}

TEST(ParseType, KnowsEveryNumberInBothOrders) {
  const struct {
    const char* name;
    KeyType type;
    std::uint32_t length;
  } types[] = {{"i8", KeyType::kSigned, 1},    {"i16", KeyType::kSigned, 2},   {"i32", KeyType::kSigned, 4},
               {"i64", KeyType::kSigned, 8},   {"u8", KeyType::kUnsigned, 1},  {"u16", KeyType::kUnsigned, 2},
               {"u32", KeyType::kUnsigned, 4}, {"u64", KeyType::kUnsigned, 8}, {"f32", KeyType::kFloat, 4},
               {"f64", KeyType::kFloat, 8}};
  for (const auto& type : types) {
    const std::string name = type.name;
    EXPECT_EQ(ParseType(name), Field(0, type.length, type.type)) << name;
    EXPECT_EQ(ParseType(name + "le"), Field(0, type.length, type.type)) << name;
    EXPECT_EQ(ParseType(name + "be"), Field(0, type.length, type.type, type.length > 1)) << name;
    const JobSpec by_extension = Parse({"a." + name, "b"});
    EXPECT_EQ(by_extension.order.layout.fields[0], ParseType(name));
    EXPECT_EQ(by_extension.source.type_note, name + " (from the extension ." + name + ")");
  }
  EXPECT_EQ(ParseType("bytes17"), Field(0, 17, KeyType::kBytes));
}

KeyField AnyField() {
  const auto text = *rc::gen::element<std::string>("i8", "i16be", "i32", "i64be", "u8", "u16", "u32be", "u64", "f32",
                                                   "f32be", "f64", "bytes1", "bytes10", "bytes1073741824");
  KeyField field = ParseType(text);
  field.offset = *rc::gen::arbitrary<std::uint64_t>();
  field.descending = *rc::gen::arbitrary<bool>();
  return field;
}

RC_GTEST_PROP(ParseKey, ReadsWhatFormatKeyWrites, ()) {
  const KeyField field = AnyField();
  RC_ASSERT(ParseKey(FormatKey(field)) == field);
}

/// Random words of the characters that the grammars use: the result is either an answer or Error(kUsage).
RC_GTEST_PROP(SmallParsers, AnswerOrComplainOnAnyText, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element('0', '1', '9', ':', '-', '%', 'K', 'T', 'i', 'B', 'u', 'f', '6', '4', 'b', 'e'),
                     rc::gen::arbitrary<char>()));
  const auto fine = [](const std::string& said) { RC_ASSERT(EscapeName(said) == said); };
  fine(Refusal([&] { RC_ASSERT(ParseSize(text, 1024).value <= kMaxSize); }));
  fine(Refusal([&] { RC_ASSERT(ParseType(text).length > 0); }));
  fine(Refusal([&] { RC_ASSERT(ParseKey(text).length > 0); }));
}

RC_GTEST_PROP(ParseSize, ReadsBackEveryUnit, ()) {
  struct Unit {
    const char* suffix;
    int shift;
  };
  const Unit unit = *rc::gen::elementOf(std::vector<Unit>{{"B", 0},
                                                          {"b", 0},
                                                          {"K", 10},
                                                          {"k", 10},
                                                          {"KB", 10},
                                                          {"KiB", 10},
                                                          {"M", 20},
                                                          {"m", 20},
                                                          {"MB", 20},
                                                          {"MiB", 20},
                                                          {"G", 30},
                                                          {"GiB", 30},
                                                          {"g", 30},
                                                          {"T", 40},
                                                          {"TB", 40},
                                                          {"t", 40},
                                                          {"TiB", 40}});
  const std::uint64_t value = *rc::gen::inRange<std::uint64_t>(0, (kMaxSize >> unit.shift) + 1);
  const Size size = ParseSize(std::to_string(value) + unit.suffix, 1024);
  RC_ASSERT(size == (Size{value << unit.shift, false}));
}

RC_GTEST_PROP(ParseSize, CountsABareNumberInTheCallersUnit, ()) {
  const std::uint64_t value = *rc::gen::inRange<std::uint64_t>(0, kMaxSize / 1024 + 1);
  RC_ASSERT(ParseSize(std::to_string(value), 1).value == value);
  RC_ASSERT(ParseSize(std::to_string(value), 1024).value == value * 1024);
}

RC_GTEST_PROP(ParseSize, RefusesWhatIsOverTheLargestSize, ()) {
  const std::uint64_t over = *rc::gen::inRange<std::uint64_t>(kMaxSize + 1, ~std::uint64_t{0});
  RC_ASSERT(Refusal([&] { ParseSize(std::to_string(over), 1); }).find("too large") != std::string::npos);
  RC_ASSERT(Refusal([&] { ParseSize(std::to_string(over) + "K", 1); }).find("too large") != std::string::npos);
  RC_ASSERT(Refusal([&] { ParseSize(std::to_string(over) + "0000", 1); }).find("too large") != std::string::npos);
}

TEST(ParseSize, TakesDecimalFractionsOfAUnit) {
  EXPECT_EQ(ParseSize("1.5G", 1).value, std::uint64_t{3} << 29);
  EXPECT_EQ(ParseSize("1.5GiB", 1).value, std::uint64_t{3} << 29);
  EXPECT_EQ(ParseSize("0.5k", 1024).value, 512u);
  EXPECT_EQ(ParseSize("15.4M", 1).value, 16148070u);
  EXPECT_EQ(ParseSize("0.9999999999999999999999999999999999999K", 1).value, 1023u);
  for (const char* const text :
       {"1.5", "1.5B", "1.M", ".5M", "1.5%", "1..5M", "1.5.5M", "1.5X", "1.0E1", "1.1E", "1,5M"}) {
    EXPECT_THROW(ParseSize(text, 1), Error) << text;
  }
}

TEST(SizeArgument, IsNoLessThanWhatItStandsFor) {
  EXPECT_EQ(SizeArgument(1), "0.1K");
  EXPECT_EQ(SizeArgument(16 << 20), "16M");
  EXPECT_EQ(SizeArgument((16 << 20) + 1), "16.1M");
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t bytes = random() >> (5 + random() % 56);
    const std::uint64_t read = ParseSize(SizeArgument(bytes), 1).value;
    EXPECT_GE(read, bytes);
    EXPECT_LE(read, bytes + bytes / 8 + 103);
  }
}

TEST(ParseSize, ReachesTheLargestSizeExactly) {
  EXPECT_EQ(ParseSize("1048576T", 1).value, kMaxSize);
  EXPECT_NE(Refusal([] { ParseSize("1048577T", 1); }), "");
}

RC_GTEST_PROP(Size, ResolvesAShareWithoutOverflow, ()) {
  const std::uint64_t limit = *rc::gen::arbitrary<std::uint64_t>();
  const std::uint64_t percent = *rc::gen::inRange<std::uint64_t>(1, 101);
  const auto exact = static_cast<std::uint64_t>(static_cast<unsigned __int128>(limit) * percent / 100);
  RC_ASSERT((Size{percent, true}).Resolve(limit) == exact);
  RC_ASSERT((Size{limit, false}).Resolve(1) == limit);
}

TEST(EscapeName, ShowsWhatWouldMoveTheCursorOrTurnTheText) {
  EXPECT_EQ(EscapeName("plain name.bin"), "plain name.bin");
  EXPECT_EQ(EscapeName("a\nb\tc\x1b[31m\x7f"), "a\\x0ab\\x09c\\x1b[31m\\x7f");
  EXPECT_EQ(EscapeName(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(EscapeName("Grüße, 名前, 🎉"), "Grüße, 名前, 🎉");
  EXPECT_EQ(EscapeName("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(EscapeName("a\xc3"), "a\\xc3");  // cut off
  EXPECT_EQ(EscapeName("\xe2\x82"
                       "a"),
            "\\xe2\\x82"
            "a");                                                     // cut off in the middle
  EXPECT_EQ(EscapeName("\xc0\xaf"), "\\xc0\\xaf");                    // not the shortest form
  EXPECT_EQ(EscapeName("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // not the shortest form
  EXPECT_EQ(EscapeName("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(EscapeName("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(EscapeName("\xc2\x9b"
                       "2J"),
            "\\xc2\\x9b"
            "2J");  // a one-character form of ESC [
  EXPECT_EQ(EscapeName("a\xe2\x80\xae"
                       "b"),
            "a\\xe2\\x80\\xae"
            "b");  // right to left
  EXPECT_EQ(EscapeName("back\\slash"), "back\\slash");
}

RC_GTEST_PROP(EscapeName, ChangesNothingTheSecondTime, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const std::string once = EscapeName(text);
  RC_ASSERT(EscapeName(once) == once);
  for (const char c : once) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
}

TEST(FormatBytes, RoundsToOneDigit) {
  const struct {
    std::uint64_t bytes;
    const char* text;
  } rows[] = {{0, "0 B"},
              {1023, "1023 B"},
              {1024, "1.0 KiB"},
              {1536, "1.5 KiB"},
              {1048524, "1023.9 KiB"},
              {1048575, "1.0 MiB"},
              {8ull << 30, "8.0 GiB"},
              {5ull << 40, "5.0 TiB"},
              {~0ull, "16.0 EiB"}};
  for (const auto& row : rows) EXPECT_EQ(FormatBytes(row.bytes), row.text);
}

TEST(FormatDuration, ChoosesTheUnit) {
  const struct {
    double seconds;
    const char* text;
  } rows[] = {{0, "0.00 s"},
              {-1, "0.00 s"},
              {0.354, "0.35 s"},
              {9.994, "9.99 s"},
              {9.996, "10.0 s"},
              {59.94, "59.9 s"},
              {59.96, "1 min 00 s"},
              {125, "2 min 05 s"},
              {3599.7, "1 h 00 min"},
              {11220, "3 h 07 min"},
              {1e300, "277777777777 h 47 min"}};
  for (const auto& row : rows) EXPECT_EQ(FormatDuration(row.seconds), row.text) << row.seconds;
}

TEST(ParseOptions, ResolvesCodecsByOptionAndName) {
  const auto codecs = [](Words words) {
    const JobSpec spec = Parse(std::move(words));
    return std::pair(spec.source.codec, spec.target.codec);
  };
  EXPECT_EQ(codecs({"a.u64", "b"}), std::pair(std::optional<Codec>(), Codec::kNone));
  EXPECT_EQ(codecs({"a.gz", "b.zst"}), std::pair(std::optional<Codec>(), Codec::kZst));
  EXPECT_EQ(codecs({"--decompress=auto", "--compress=auto", "-o", "b.log.xz", "a"}),
            std::pair(std::optional<Codec>(), Codec::kXz));
  EXPECT_EQ(codecs({"--decompress=none", "--compress=none", "a.gz", "b.gz"}),
            std::pair(std::optional(Codec::kNone), Codec::kNone));
  EXPECT_EQ(codecs({"--decompress=gzip", "--compress", "lz4", "-", "-"}),
            std::pair(std::optional(Codec::kGz), Codec::kLz4));
  EXPECT_EQ(codecs({"--compress=bz2", "a", "b.bz2"}), std::pair(std::optional<Codec>(), Codec::kBz2));
  EXPECT_EQ(Parse({"a", "b"}).limits.temp_codec, std::nullopt);
  EXPECT_EQ(Parse({"--compress-temp=auto", "a", "b"}).limits.temp_codec, std::nullopt);
  EXPECT_EQ(Parse({"--compress-temp=none", "a", "b"}).limits.temp_codec, Codec::kNone);
  EXPECT_EQ(Parse({"--compress-temp=lz4", "a", "b"}).limits.temp_codec, Codec::kLz4);
  EXPECT_EQ(Parse({"--compress-temp=zstd", "a", "b"}).limits.temp_codec, Codec::kZst);
  EXPECT_EQ(Parse({"--compress-program=gzip", "a", "b"}).limits.temp_codec, Codec::kGz);
  EXPECT_EQ(Parse({"--compress-program", "bzip2", "--type=u8", "a", "b"}).limits.temp_codec, Codec::kBz2);
  EXPECT_EQ(Parse({"--compress-program=gzip", "a", "b"}).limits.temp_program, "");
  for (const char* const program : {"pigz", "./gzip", "/usr/bin/gzip", "none"}) {
    const JobSpec spec = Parse({"--compress-program", program, "a", "b"});
    EXPECT_EQ(spec.limits.temp_program, program);
    EXPECT_EQ(spec.limits.temp_codec, std::nullopt);
  }
  EXPECT_NE(Refusal({"--compress-temp=lz4", "--compress-program=./a", "a", "b"}).find("exclude each other"),
            std::string::npos);
  EXPECT_NE(Refusal({"--compress-temp=gz", "a", "b"}).find("'gz' is none of: auto, none, lz4"), std::string::npos);
  EXPECT_NE(Refusal({"--compress-temp=lz4", "--compress-program=lz4", "a", "b"}).find("exclude each other"),
            std::string::npos);
  EXPECT_EQ(Parse({"--max-expanded=2K", "a", "b"}).source.max_expanded, 2048u);
  EXPECT_EQ(FormatType(Parse({"a.u16be.lz4", "b"}).order.layout.fields[0]), "u16be");
  EXPECT_EQ(FormatType(Parse({"--decompress=lz4", "a.u16be.lz4", "b"}).order.layout.fields[0]), "u16be");
  EXPECT_EQ(FormatType(Parse({"--decompress=gz", "a.u16be", "b"}).order.layout.fields[0]), "u16be");
  EXPECT_NE(Refusal({"--compress=zst", "a", "b.gz"}).find("the name 'b.gz' means gz"), std::string::npos);
  EXPECT_NE(Refusal({"--compress=zip", "a", "b"}).find("--compress: 'zip' is none of: auto, none, gz"),
            std::string::npos);
  EXPECT_NE(Refusal({"--decompress=Z", "a", "b"}).find("--decompress: 'Z' is none of"), std::string::npos);
  EXPECT_NE(Refusal({"--max-expanded=0", "a", "b"}).find("--max-expanded: must be more than 0"), std::string::npos);
  EXPECT_NE(Refusal({"--check", "--compress=gz", "a"}).find("has no meaning with --check"), std::string::npos);
}

TEST(HelpText, NamesEveryOptionOfTheTableWithItsArgument) {
  const std::string all = HelpText(HelpTopic::kAll), manual = HelpText(HelpTopic::kManual);
  for (const OptionRow& row : kOptionRows) {
    std::string plain, roff;
    if (row.letter != 0) {
      plain = std::string("  -") + row.letter;
      roff = std::string("\\fB\\-") + row.letter + "\\fR";
    }
    if (row.name[0] != '\0') {
      plain += std::string(row.letter == 0 ? "      --" : ", --") + row.name;
      roff += row.letter == 0 ? "\\fB\\-\\-" : ", \\fB\\-\\-";
      for (const char* c = row.name; *c != '\0'; ++c) roff += *c == '-' ? std::string("\\-") : std::string(1, *c);
      roff += "\\fR";
    }
    if (row.argument[0] != '\0') {
      plain += std::string(" ") + row.argument;
      roff += std::string(" \\fI") + row.argument + "\\fR";
    }
    EXPECT_NE(all.find("\n" + plain + " "), std::string::npos) << plain;
    EXPECT_NE(manual.find("\n.TP\n" + roff + "\n"), std::string::npos) << roff;
  }
  for (const SectionTitle& section : kSectionTitles) EXPECT_NE(all.find(section.title), std::string::npos);
  for (const char* part : {"Usage:", "Exit codes:"}) EXPECT_NE(all.find(part), std::string::npos) << part;
}

TEST(HelpText, FitsALineOf80ColumnsAndTheShortOneAScreen) {
  for (const HelpTopic topic : {HelpTopic::kShort, HelpTopic::kAll, HelpTopic::kKeys, HelpTopic::kExamples}) {
    std::istringstream help(HelpText(topic));
    int lines = 0;
    for (std::string line; std::getline(help, line); ++lines) {
      EXPECT_FALSE(line.ends_with(' ')) << line;
      // Commands in examples stay as they are typed.
      const bool command = topic == HelpTopic::kExamples && line.starts_with("      ");
      EXPECT_TRUE(command || line.size() <= 80) << line;
    }
    EXPECT_TRUE(topic != HelpTopic::kShort || lines <= 23) << lines;
  }
}

TEST(HelpText, ExplainsEveryTypeOfKeysAsText) {
  const std::string keys = HelpText(HelpTopic::kKeys), manual = HelpText(HelpTopic::kManual);
  std::istringstream names(ValueTypeNames());
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    EXPECT_NE(keys.find("\n   " + name + "\x20"), std::string::npos) << name;
    std::string roff;
    for (const char c : name) roff += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_NE(manual.find("\n" + roff + " "), std::string::npos) << name;  // the table of types
  }
  EXPECT_NE(keys.find("lower() in SQL"), std::string::npos);
  EXPECT_NE(keys.find("\n   gpusort -k '#7:int' "), std::string::npos);
  std::istringstream lines(keys);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.starts_with('.')) << line;
    EXPECT_TRUE(line.find('\\') == line.npos || line.find("\\x") != line.npos || line.find("\\N") != line.npos) << line;
  }
}

TEST(HelpText, MakesNoControlLineOfTextOfTheManual) {
  std::istringstream manual(HelpText(HelpTopic::kManual));
  for (std::string line; std::getline(manual, line);) {
    const bool control = line.starts_with('.') || line.starts_with('\'');
    const bool request = line == ".br" || line == ".nh" || line == ".nr HY 0";
    EXPECT_TRUE(!control || std::isupper(static_cast<unsigned char>(line[1])) || request) << line;
  }
}

TEST(ParseOptions, TakesWhatHasNoKnownExtensionForLines) {
  for (const Words& words : std::vector<Words>{{"a.log", "b"},
                                               {"a", "b"},
                                               {"-", "b"},
                                               {".bin", "b"},
                                               {"-n", "a.u64", "b"},
                                               {"--format", "lines", "a.u64", "b"},
                                               {"a.u64.bak", "b"},
                                               {"--decompress=none", "a.u64.gz", "b"},
                                               {"--decompress=xz", "a.u64.gz", "b"}}) {
    const JobSpec spec = Parse(words);
    EXPECT_EQ(spec.source.format, Format::kLines) << Describe(words);
    EXPECT_FALSE(spec.order.layout.fixed());
    EXPECT_EQ(spec.order.layout.delimiter, '\n');
    EXPECT_EQ(spec.order.layout.lines, &spec.order.lines->view);
  }
  EXPECT_EQ(Parse({"-z", "a", "b"}).order.layout.delimiter, 0);
}

TEST(ParseOptions, ReadsTheOrderOfLines) {
  const auto order = [](Words words) {
    words.insert(words.end(), {"a", "b"});
    return Parse(words).order.lines->order;
  };
  EXPECT_TRUE(order({}).keys.empty());
  EXPECT_FALSE(order({}).last_resort_reverse);
  EXPECT_TRUE(order({"-r"}).keys.empty());
  EXPECT_TRUE(order({"-r"}).last_resort_reverse);
  EXPECT_TRUE(order({"-k1"}).last_resort);
  EXPECT_FALSE(order({"-k1", "-s"}).last_resort);
  EXPECT_FALSE(order({"-k1", "-u"}).last_resort);
  EXPECT_EQ(order({"-t", "x"}).separator, 'x');
  EXPECT_EQ(order({"-t", "\\t"}).separator, '\t');
  EXPECT_EQ(order({"-t\\0"}).separator, 0);
  EXPECT_EQ(order({}).separator, -1);
  const LineOrder two = order({"-nr", "-k2,2", "-k3.2,4.5bM"});
  ASSERT_EQ(two.keys.size(), 2u);
  EXPECT_EQ(two.keys[0].ordering, LineOrdering::kNumeric);
  EXPECT_TRUE(two.keys[0].reverse);
  EXPECT_EQ(two.keys[0].begin_field, 1u);
  EXPECT_EQ(two.keys[1].ordering, LineOrdering::kMonth);
  EXPECT_FALSE(two.keys[1].reverse);
  EXPECT_TRUE(two.last_resort_reverse);
  for (const char* word : {"general-numeric", "human-numeric", "month", "numeric", "random", "version"}) {
    const std::string letter(1, word == std::string("month")     ? 'M'
                                : word == std::string("random")  ? 'R'
                                : word == std::string("version") ? 'V'
                                                                 : word[0]);
    EXPECT_EQ(order({"--sort", word}).keys, order({"-" + letter}).keys) << word;
  }
  EXPECT_EQ(Parse({"--batch-size", "7", "a", "b"}).limits.max_fan_in, 7u);
  EXPECT_EQ(Parse({"--batch-size", "7", "a.u8", "b"}).limits.batch_bytes, 7u);
}

TEST(ReadNamedFiles, TakesTheValuesOfAnOrder) {
  const testing::TempFolder folder;
  const auto values = [&](const std::string& text) {
    testing::WriteFile(folder / "f", testing::Bytes(text.begin(), text.end()));
    JobSpec spec = Parse({"-k", "id:int", "-k", "v:order(" + (folder / "f") + "):desc", "a.csv", "out"});
    ReadNamedFiles(spec, {});
    return spec.source.table->keys.at(1).rule.labels;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(values("b\na\n"), (Words{"b", "a"}));
  EXPECT_EQ(values("\xEF\xBB\xBF"
                   "chr1\t5\r\n\n \nchr2 x\r\nchr10"),
            (Words{"chr1", "chr2", "chr10"}));
  for (const std::string bad : {"", "\n", "a\na\n", "a x\na y\n", " a\n", "\ta\n"})
    EXPECT_THROW(values(bad), Error) << bad;
}

TEST(ReadNamedFiles, TakesContentsThatAreKnownInsteadOfFiles) {
  JobSpec spec = Parse({"-k", "v:order(/none/a)", "-k", "id:int", "-k", "w:order(/none/b)", "a.csv", "out"});
  // A byte order mark that is not at the front belongs to a value.
  ReadNamedFiles(spec, {}, {"\n\xEF\xBB\xBFx\ny\n", "\nz\n"});
  using Words = std::vector<std::string>;
  EXPECT_EQ(spec.source.table->keys.at(0).rule.labels, (Words{"\xEF\xBB\xBFx", "y"}));
  EXPECT_EQ(spec.source.table->keys.at(2).rule.labels, (Words{"z"}));
  JobSpec random = Parse({"-R", "--random-source", "/none/c", "a", "b"});
  ReadNamedFiles(random, {}, {"0123456789abcdef"});
  EXPECT_EQ(std::memcmp(random.order.lines->view.salt, "0123456789abcdef", 16), 0);
  EXPECT_THROW(ReadNamedFiles(spec, {}), Error);
}

TEST(ReadNamedFiles, TakesNamesAndTheSaltFromFiles) {
  const testing::TempFolder folder;
  const auto write = [&](const std::string& text) {
    testing::WriteFile(folder / "f", testing::Bytes(text.begin(), text.end()));
  };
  JobSpec spec = Parse({"--files0-from", folder / "f", "-o", "out"});
  const auto names = [&](const std::string& text) {
    write(text);
    JobSpec read = spec;
    ReadNamedFiles(read, {});
    return read.source.inputs;
  };
  EXPECT_EQ(names(std::string("a\0b c\0", 6)), (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(names(std::string("a\0-", 3)), (std::vector<std::string>{"a", "-"}));
  EXPECT_THROW(names(""), Error);
  EXPECT_THROW(names(std::string("a\0\0b", 4)), Error);
  write("0123456789abcdefg");
  JobSpec random = Parse({"-R", "--random-source", folder / "f", "a", "b"});
  ReadNamedFiles(random, {});
  EXPECT_EQ(std::memcmp(random.order.lines->view.salt, "0123456789abcdef", 16), 0);
  EXPECT_EQ(random.order.layout.lines, &random.order.lines->view);
  write("0123456789");
  EXPECT_THROW(ReadNamedFiles(random, {}), Error);
  JobSpec system = Parse({"-R", "a", "b"}), again = Parse({"-R", "a", "b"});
  ReadNamedFiles(system, {});
  ReadNamedFiles(again, {});
  EXPECT_NE(std::memcmp(system.order.lines->view.salt, again.order.lines->view.salt, 16), 0);
}

TEST(ParseOptions, KnowWhatDecidesAboutTheBytesOfAJobThatGoesOn) {
  const auto typed = [](Words words) {
    words.insert(words.end(), {"--resume-dir", "d", "in", "out"});
    return Parse(words).survival.typed;
  };
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(typed({}), Pairs{});
  EXPECT_EQ(typed({"-S", "1G", "--threads", "3", "--temp-dir", "/tmp", "--no-fsync", "--fan-in", "4"}), Pairs{});
  EXPECT_EQ(typed({"-k2,2n", "-k1", "-u"}), (Pairs{{"--key", "2,2n, 1"}, {"--unique", "given"}}));
  EXPECT_EQ(Parse({"--resume-dir", "d", "--status"}).action, Action::kStatus);
  EXPECT_TRUE(Parse({"in", "out"}).survival.typed.empty());
}

TEST(HelpText, GivesExamplesThatTheParserTakes) {
  std::string examples = HelpText(HelpTopic::kExamples);
  examples.resize(examples.find("\n1. "));  // cookbook.sh runs the rest
  std::istringstream help(HelpText(HelpTopic::kShort) + examples);
  int count = 0;
  for (std::string line; std::getline(help, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != 2 && begin != 6) continue;
    const bool piped = line.compare(begin, 11, "producer | ") == 0;
    const std::size_t name = begin + (piped ? 11 : 0);
    if (line.compare(name, 8, "gpusort ") != 0) continue;
    std::istringstream rest(line.substr(name + 8));
    Words words;
    for (std::string word; rest >> word && word != "|" && word != "#" && word[0] != '<';) {
      words.push_back(word == "-t'\"'" ? "-t\"" : word);
    }
    EXPECT_EQ(Refusal(words), "") << line;
    ++count;
  }
  EXPECT_EQ(count, 3 + 20);
}

TEST(VersionText, ListsTheBackends) {
  const std::string text = VersionText({"CPU, 2 threads", "CUDA: no device"});
  EXPECT_TRUE(text.starts_with("gpusort ")) << text;
  EXPECT_NE(text.find("\nbackend: CPU, 2 threads\nbackend: CUDA: no device\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace gpusort
