#include "task/task_records.hpp"

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/text.hpp"

namespace gpusort {
namespace {

using TaskJson = nlohmann::json;

TaskJson BytesJson(std::span<const std::byte> bytes) { return HexOf(bytes); }
TaskJson TextJson(const std::string& text) { return BytesJson(std::as_bytes(std::span(text))); }

/// Text that is not hexadecimal was written by another version, so it is treated like a missing member.
std::vector<std::byte> BytesFromJson(const TaskJson& json) {
  std::optional<std::vector<std::byte>> bytes = BytesOfHex(json.get<std::string>());
  if (!bytes) throw TaskJson::other_error::create(501, "no hexadecimal", &json);
  return std::move(*bytes);
}
std::string TextFromJson(const TaskJson& json) {
  const std::vector<std::byte> bytes = BytesFromJson(json);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TaskJson SumJson(const RecordSum& sum) { return {sum.lo, sum.hi, sum.records}; }
RecordSum SumFromJson(const TaskJson& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>(), json.at(2).get<std::uint64_t>()};
}

TaskJson BeforeJson(const DumpBefore& before) {
  return {before.bytes, before.rows, before.separators, before.statements};
}
DumpBefore BeforeFromJson(const TaskJson& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>(), json.at(2).get<std::uint64_t>(),
          json.at(3).get<std::uint64_t>()};
}

std::vector<PieceSum> PiecesFromJson(const TaskJson& json) {
  const std::vector<std::byte> bytes = BytesFromJson(json);
  std::vector<PieceSum> pieces(bytes.size() / sizeof(PieceSum));
  if (!pieces.empty()) std::memcpy(pieces.data(), bytes.data(), pieces.size() * sizeof(PieceSum));
  return pieces;
}

TaskJson TallyJson(const KeyTally& tally) {
  TaskJson columns = TaskJson::array();
  for (const KeyTally::Column& column : tally.columns) {
    TaskJson samples = TaskJson::array();
    for (const std::string& sample : column.samples) samples.push_back(TextJson(sample));
    columns.push_back({column.any, column.nulls, column.missing, column.bad.count, samples});
  }
  TaskJson odd = TaskJson::array(), replaced = TaskJson::array();
  for (const auto& [table, rows] : tally.odd_rows) odd.push_back({TextJson(table), rows});
  for (const std::string& table : tally.replaced_tables) replaced.push_back(TextJson(table));
  return {{"columns", columns},
          {"example", TextJson(tally.example)},
          {"delimiter", tally.delimiter},
          {"odd_rows", odd},
          {"replaced_tables", replaced}};
}

KeyTally TallyFromJson(const TaskJson& json) {
  KeyTally tally;
  for (const TaskJson& column : json.at("columns")) {
    KeyTally::Column& seen = tally.columns.emplace_back();
    column.at(0).get_to(seen.any);
    column.at(1).get_to(seen.nulls);
    column.at(2).get_to(seen.missing);
    column.at(3).get_to(seen.bad.count);
    for (const TaskJson& sample : column.at(4)) seen.samples.push_back(TextFromJson(sample));
  }
  tally.example = TextFromJson(json.at("example"));
  json.at("delimiter").get_to(tally.delimiter);
  for (const TaskJson& row : json.at("odd_rows")) tally.odd_rows[TextFromJson(row.at(0))] = row.at(1);
  for (const TaskJson& table : json.at("replaced_tables")) tally.replaced_tables.insert(TextFromJson(table));
  return tally;
}

}  // namespace

std::uint64_t CheckOfLabel(const RunLabel& label) { return XXH3_64bits(&label, offsetof(RunLabel, check)); }

bool IsWhole(const RunLabel& label) { return label.magic == RunLabel().magic && label.check == CheckOfLabel(label); }

/// Texts are written twice: in hexadecimal for programs, and escaped for people.
void to_json(TaskJson& json, const TaskJob& job) {
  TaskJson inputs = TaskJson::array(), arguments = TaskJson::array();
  for (const TaskJob::Input& input : job.inputs) {
    inputs.push_back({TextJson(input.path), EscapeName(input.path), input.bytes, input.mtime_ns, input.of_set,
                      TextJson(input.name)});
  }
  for (const std::string& argument : job.arguments) arguments.push_back({TextJson(argument), EscapeName(argument)});
  TaskJson files = TaskJson::array();
  for (const auto& [name, content] : job.order_files) {
    files.push_back({TextJson(name), EscapeName(name), TextJson(content)});
  }
  json = {{"version", job.version}, {"arguments", arguments}, {"order_files", files},
          {"inputs", inputs},       {"slices", job.slices},   {"set_slices", job.set_slices}};
}

TaskJson InodesJson(const TaskJob& job) {
  TaskJson inodes = TaskJson::array();
  for (const TaskJob::Input& input : job.inputs) {
    const FileFacts& facts = input.facts;
    inodes.push_back({facts.ino, facts.ctime_ns, facts.links, facts.mode, facts.uid, facts.gid});
  }
  return inodes;
}

void from_json(const TaskJson& json, TaskJob& job) {
  json.at("version").get_to(job.version);
  for (const TaskJson& argument : json.at("arguments")) job.arguments.push_back(TextFromJson(argument.at(0)));
  for (const TaskJson& file : json.at("order_files")) {
    job.order_files.push_back({TextFromJson(file.at(0)), TextFromJson(file.at(2))});
  }
  json.at("slices").get_to(job.slices);
  json.at("set_slices").get_to(job.set_slices);
  for (std::size_t i = 0; i < json.at("inputs").size(); ++i) {
    const TaskJson &from = json.at("inputs").at(i), &inode = json.at("inodes").at(i);
    TaskJob::Input& input = job.inputs.emplace_back();
    input.path = TextFromJson(from.at(0));
    from.at(2).get_to(input.bytes);
    from.at(3).get_to(input.mtime_ns);
    from.at(4).get_to(input.of_set);
    input.name = TextFromJson(from.at(5));
    inode.at(0).get_to(input.facts.ino);
    inode.at(1).get_to(input.facts.ctime_ns);
    inode.at(2).get_to(input.facts.links);
    inode.at(3).get_to(input.facts.mode);
    inode.at(4).get_to(input.facts.uid);
    inode.at(5).get_to(input.facts.gid);
  }
}

void to_json(TaskJson& json, const TaskScan& scan) {
  json = {scan.input, scan.begin, scan.end, scan.after, TextJson(scan.state)};
}

void from_json(const TaskJson& json, TaskScan& scan) {
  json.at(0).get_to(scan.input);
  json.at(1).get_to(scan.begin);
  json.at(2).get_to(scan.end);
  json.at(3).get_to(scan.after);
  scan.state = TextFromJson(json.at(4));
}

void to_json(TaskJson& json, const TaskRun& run) {
  TaskJson ranges = TaskJson::array();
  for (const TaskRun::Range& range : run.ranges) ranges.push_back({range.input, range.begin, range.end});
  json = {{"bytes", run.bytes},
          {"header", BytesJson(run.header)},
          {"trailer", BytesJson(run.trailer)},
          {"shape", run.fields},
          {"state", TextJson(run.state)},
          {"fences_bytes", run.fences_bytes},
          {"fences_hash", run.fences_hash},
          {"sum", SumJson(run.sum)},
          {"ranges", ranges},
          {"keys", TallyJson(run.tally)}};
}

void from_json(const TaskJson& json, TaskRun& run) {
  json.at("bytes").get_to(run.bytes);
  run.header = BytesFromJson(json.at("header"));
  run.trailer = BytesFromJson(json.at("trailer"));
  json.at("shape").get_to(run.fields);
  run.state = TextFromJson(json.at("state"));
  json.at("fences_bytes").get_to(run.fences_bytes);
  json.at("fences_hash").get_to(run.fences_hash);
  run.sum = SumFromJson(json.at("sum"));
  for (const TaskJson& range : json.at("ranges")) {
    run.ranges.push_back(
        {range.at(0).get<std::uint32_t>(), range.at(1).get<std::uint64_t>(), range.at(2).get<std::uint64_t>()});
  }
  run.tally = TallyFromJson(json.at("keys"));
}

void to_json(TaskJson& json, const TaskCut& cut) {
  TaskJson starts = TaskJson::array();
  for (const PartStart& start : cut.starts) {
    starts.push_back({start.run, start.offset, BytesJson(start.record),
                      start.bytes_before ? TaskJson(*start.bytes_before) : TaskJson(), TextJson(start.state),
                      start.before ? BeforeJson(*start.before) : TaskJson()});
  }
  json = {{"parts", cut.parts},
          {"runs", cut.runs},
          {"header", BytesJson(cut.header)},
          {"trailer", BytesJson(cut.trailer)},
          {"places", starts},
          {"secret", cut.secret},
          {"gaps_bytes", cut.gaps_bytes},
          {"gaps_hash", cut.gaps_hash}};
}

void from_json(const TaskJson& json, TaskCut& cut) {
  json.at("parts").get_to(cut.parts);
  json.at("runs").get_to(cut.runs);
  cut.header = BytesFromJson(json.at("header"));
  cut.trailer = BytesFromJson(json.at("trailer"));
  json.at("secret").get_to(cut.secret);
  json.at("gaps_bytes").get_to(cut.gaps_bytes);
  json.at("gaps_hash").get_to(cut.gaps_hash);
  for (const TaskJson& from : json.at("places")) {
    PartStart& start = cut.starts.emplace_back();
    from.at(0).get_to(start.run);
    from.at(1).get_to(start.offset);
    start.record = BytesFromJson(from.at(2));
    if (!from.at(3).is_null()) start.bytes_before = from.at(3).get<std::uint64_t>();
    start.state = TextFromJson(from.at(4));
    if (!from.at(5).is_null()) start.before = BeforeFromJson(from.at(5));
  }
}

void to_json(TaskJson& json, const TaskPart& part) {
  json = {{"bytes", part.bytes},
          {"offset", part.offset},
          {"dump_begin", part.dump_begin},
          {"dump_end", part.dump_end},
          {"inode", part.inode},
          {"birth_ns", part.birth_ns},
          {"sum", SumJson(part.sum)},
          {"read", SumJson(part.read)},
          {"first", BytesJson(part.first)},
          {"last", BytesJson(part.last)},
          {"pieces", BytesJson(std::as_bytes(std::span(part.pieces)))}};
  if (part.before) json["before"] = BeforeJson(*part.before);
  if (part.after) json["after"] = BeforeJson(*part.after);
}

void from_json(const TaskJson& json, TaskPart& part) {
  if (json.contains("before")) part.before = BeforeFromJson(json.at("before"));
  if (json.contains("after")) part.after = BeforeFromJson(json.at("after"));
  json.at("bytes").get_to(part.bytes);
  json.at("offset").get_to(part.offset);
  json.at("dump_begin").get_to(part.dump_begin);
  json.at("dump_end").get_to(part.dump_end);
  json.at("inode").get_to(part.inode);
  json.at("birth_ns").get_to(part.birth_ns);
  part.sum = SumFromJson(json.at("sum"));
  part.read = SumFromJson(json.at("read"));
  part.first = BytesFromJson(json.at("first"));
  part.last = BytesFromJson(json.at("last"));
  part.pieces = PiecesFromJson(json.at("pieces"));
}

}  // namespace gpusort
