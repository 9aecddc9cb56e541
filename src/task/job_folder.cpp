#include "task/job_folder.hpp"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hex.hpp"
#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

using TaskJson = nlohmann::json;

std::string Numbered(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%05llu", static_cast<unsigned long long>(number));
  return text;
}

std::string CheckOf(const TaskJson& json) {
  const std::string text = json.dump();
  return Hex(XXH3_64bits(text.data(), text.size()));
}

TaskJson SumJson(const RecordSum& sum) { return {sum.lo, sum.hi, sum.records}; }
RecordSum SumOf(const TaskJson& json) {
  return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>(), json.at(2).get<std::uint64_t>()};
}

TaskJson BytesJson(std::span<const std::byte> bytes) { return HexOf(bytes); }
/// What is no hexadecimal was written by another version, as what is missing.
std::vector<std::byte> BytesFromJson(const TaskJson& json) {
  std::optional<std::vector<std::byte>> bytes = BytesOfHex(json.get<std::string>());
  if (!bytes) throw TaskJson::other_error::create(501, "no hexadecimal", &json);
  return std::move(*bytes);
}

void WriteJson(std::unique_ptr<OutputFile> file, TaskJson json) {
  json["check"] = CheckOf(json);
  const std::string text = json.dump(1) + "\n";
  WriteWhole(std::move(file), std::as_bytes(std::span(text)));
}

std::optional<TaskJson> FindJson(FileSystem& files, const std::string& path) {
  RequireOwnFile(path);
  if (!files.Identify(path)) return std::nullopt;
  const std::unique_ptr<File> file = files.OpenInput(path, false);
  std::string text(file->Facts().size, '\0');
  text.resize(file->ReadAt(0, std::as_writable_bytes(std::span(text))));
  TaskJson json = TaskJson::parse(text, nullptr, false);
  if (json.is_object() && json.contains("check")) {
    const TaskJson check = json["check"];
    json.erase("check");
    if (check == CheckOf(json)) return json;
  }
  throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": it is damaged: remove it, and give its task again");
}

template <typename Read>
auto ReadMembers(const std::string& path, Read read) {
  try {
    return read();
  } catch (const TaskJson::exception&) {
    throw Error(ErrorCode::kUsage, EscapeName(path) + ": another version of gpusort_task wrote it");
  }
}

std::vector<PieceSum> PiecesOf(const TaskJson& json) {
  const std::vector<std::byte> bytes = BytesFromJson(json);
  std::vector<PieceSum> pieces(bytes.size() / sizeof(PieceSum));
  if (!pieces.empty()) std::memcpy(pieces.data(), bytes.data(), pieces.size() * sizeof(PieceSum));
  return pieces;
}

TaskJson TextJson(const std::string& text) {
  return BytesJson(std::as_bytes(std::span(text)));
}
std::string TextFromJson(const TaskJson& json) {
  const std::vector<std::byte> bytes = BytesFromJson(json);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Writes what RefuseNoValues asks of a tally.
TaskJson TallyJson(const KeyTally& tally) {
  TaskJson columns = TaskJson::array();
  for (const KeyTally::Column& column : tally.columns) {
    TaskJson samples = TaskJson::array();
    for (const std::string& sample : column.samples) samples.push_back(TextJson(sample));
    columns.push_back({column.any, column.nulls, column.missing, column.bad.count, samples});
  }
  return {{"columns", columns}, {"example", TextJson(tally.example)}, {"delimiter", tally.delimiter}};
}

KeyTally TallyFromJson(const TaskJson& json) {
  KeyTally tally;
  for (const TaskJson& column : json.at("columns")) {
    KeyTally::Column& seen = tally.columns.emplace_back();
    seen.any = column.at(0).get<bool>();
    seen.nulls = column.at(1).get<std::uint64_t>();
    seen.missing = column.at(2).get<std::uint64_t>();
    seen.bad.count = column.at(3).get<std::uint64_t>();
    for (const TaskJson& sample : column.at(4)) seen.samples.push_back(TextFromJson(sample));
  }
  tally.example = TextFromJson(json.at("example"));
  tally.delimiter = json.at("delimiter").get<unsigned char>();
  return tally;
}

/// Texts twice: for programs, and for people.
TaskJson JobJson(const TaskJob& job) {
  TaskJson inputs = TaskJson::array(), arguments = TaskJson::array();
  for (const TaskJob::Input& input : job.inputs) {
    inputs.push_back({TextJson(input.path), EscapeName(input.path), input.bytes, input.mtime_ns});
  }
  for (const std::string& argument : job.arguments) arguments.push_back({TextJson(argument), EscapeName(argument)});
  return {{"version", job.version}, {"arguments", arguments}, {"inputs", inputs}, {"slices", job.slices}};
}

/// Facts of the inputs, which differ where machines have copies: no part of what the job is.
TaskJson InodesJson(const TaskJob& job) {
  TaskJson inodes = TaskJson::array();
  for (const TaskJob::Input& input : job.inputs) {
    const FileFacts& facts = input.facts;
    inodes.push_back({facts.ino, facts.ctime_ns, facts.links, facts.mode, facts.uid, facts.gid});
  }
  return inodes;
}

TaskJob JobFromJson(const TaskJson& json) {
  TaskJob job;
  job.version = json.at("version").get<std::string>();
  for (const TaskJson& argument : json.at("arguments")) job.arguments.push_back(TextFromJson(argument.at(0)));
  job.slices = json.at("slices").get<std::uint64_t>();
  for (const TaskJson& input : json.at("inputs")) {
    job.inputs.push_back(
        {TextFromJson(input.at(0)), input.at(2).get<std::uint64_t>(), input.at(3).get<std::uint64_t>()});
  }
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const TaskJson& inode = json.at("inodes").at(i);
    FileFacts& facts = job.inputs[i].facts;
    facts.ino = inode.at(0).get<std::uint64_t>();
    facts.ctime_ns = inode.at(1).get<std::int64_t>();
    facts.links = inode.at(2).get<std::uint64_t>();
    facts.mode = inode.at(3).get<unsigned>();
    facts.uid = inode.at(4).get<unsigned>();
    facts.gid = inode.at(5).get<unsigned>();
  }
  return job;
}

/// Begins, what they belong to, and a checksum.
std::vector<std::uint64_t> RowOf(std::uint64_t job, const TaskCut& cut, std::uint64_t part, const PartBegins& begins) {
  std::vector<std::uint64_t> row;
  row.reserve(2 * begins.size() + 6);
  for (const auto& [low, high] : begins) row.insert(row.end(), {low, high});
  const bool inside = part > 0 && part < cut.parts;
  row.insert(row.end(), {part, inside ? cut.places[part - 1].run : 0, inside ? cut.places[part - 1].offset : 0});
  row.insert(row.end(), {job, cut.parts});
  row.push_back(XXH3_64bits(row.data(), row.size() * sizeof row[0]));
  return row;
}

std::uint64_t CheckOfLabel(const RunLabel& label) { return XXH3_64bits(&label, offsetof(RunLabel, check)); }

[[noreturn]] void NotThere(const std::string& folder, const std::string& what) {
  throw Error(ErrorCode::kUsage, EscapeName(folder) + ": " + what + " is not there yet");
}

}  // namespace

std::string PartFileName(std::uint64_t number, std::uint64_t parts) {
  return "part-" + Numbered(number) + "-of-" + Numbered(parts);
}

std::unique_ptr<OutputFile> CreateOwn(FileSystem& files, const std::string& path, OldFile old) {
  RequireOwnFile(path);
  std::unique_ptr<OutputFile> file = files.CreateOutput(path, false, old);
  file->KeepPrivate();
  return file;
}

void WriteWhole(std::unique_ptr<OutputFile> file, std::span<const std::byte> bytes) {
  file->WriteAt(0, bytes);
  // What is published lets no signal end the process any more, and here the work only begins.
  const SignalBlock until_it_is_published;
  file->Publish(bytes.size(), true);
}

JobFolder::JobFolder(FileSystem& files, std::string path) : files_(files), path_(WithoutSlashes(std::move(path))) {
  OpenOwnFolder("", path_);
}

std::string JobFolder::RunPath(std::uint64_t number) const { return path_ + "/run-" + Numbered(number); }

void JobFolder::Begin(const TaskJob& job) {
  const std::string path = path_ + "/job.json";
  if (!files_.Identify(path)) {
    try {
      TaskJson json = JobJson(job);
      json["inodes"] = InodesJson(job);
      WriteJson(CreateOwn(files_, path, OldFile::kKeep), std::move(json));
      return;
    } catch (const Error&) {
      if (!files_.Identify(path)) throw;  // else another task was quicker
    }
  }
  const TaskJob there = ReadJob();
  std::string what;
  if (there.version != job.version) what = "version or locale (" + EscapeName(there.version) + ")";
  if (there.slices != job.slices) what = "number of slices (" + std::to_string(there.slices) + ")";
  if (there.arguments != job.arguments) what = "options";
  if (there.inputs != job.inputs) {
    what = "number of inputs (" + std::to_string(there.inputs.size()) + ")";
    for (std::size_t i = 0; there.inputs.size() == job.inputs.size() && i < job.inputs.size(); ++i) {
      const TaskJob::Input &then = there.inputs[i], &now = job.inputs[i];
      if (then == now) continue;
      if (then.path == now.path) {
        throw Error(ErrorCode::kBadInput, EscapeName(now.path) + ": it was changed since the job in " +
                                              EscapeName(path_) + " began" +
                                              (then.mtime_ns == now.mtime_ns && then.bytes == now.bytes
                                                   ? ", as its ctime tells and its mtime does not"
                                                   : "") +
                                              ": remove that and begin anew");
      }
      what = "input " + std::to_string(i + 1) + ", " + EscapeName(then.path);
      break;
    }
  }
  if (!what.empty()) {
    throw Error(ErrorCode::kUsage, EscapeName(path_) + ": a job with another " + what + " is there");
  }
}

TaskJob JobFolder::ReadJob() {
  const std::string path = path_ + "/job.json";
  const std::optional<TaskJson> json = FindJson(files_, path);
  if (!json) throw Error(ErrorCode::kUsage, EscapeName(path_) + ": no job is there: gpusort_task runs begins one");
  return ReadMembers(path, [&] { return JobFromJson(*json); });
}

std::uint64_t JobFolder::Id() {
  if (!id_) {
    TaskJob job = ReadJob();
    for (TaskJob::Input& input : job.inputs) input.mtime_ns = 0;  // machines may have copies
    const std::string text = JobJson(job).dump();
    id_ = XXH3_64bits(text.data(), text.size());
  }
  return *id_;
}

bool IsWhole(const RunLabel& label) { return label.magic == RunLabel().magic && label.check == CheckOfLabel(label); }

RunLabel JobFolder::LabelOf(std::uint64_t run) {
  RunLabel label;
  label.job = Id();
  label.run = run;
  label.check = CheckOfLabel(label);
  return label;
}

std::optional<TaskJson> JobFolder::Find(const std::string& path) {
  std::optional<TaskJson> json = FindJson(files_, path);
  if (!json) return std::nullopt;
  const std::string name = path.substr(path.rfind('/') + 1);
  ReadMembers(path, [&] {
    if (json->at("file") == name && json->at("job") == Id()) return true;
    throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": it is " + EscapeName(json->at("file").get<std::string>()) +
                                           (json->at("job") == Id() ? "" : " of another job") +
                                           " under this name: remove it, and give its task again");
  });
  return json;
}

void JobFolder::Put(const std::string& path, TaskJson json, OldFile old) {
  json["file"] = path.substr(path.rfind('/') + 1);
  json["job"] = Id();
  WriteJson(CreateOwn(files_, path, old), std::move(json));
}

std::optional<std::vector<TaskScan>> JobFolder::FindScan(std::uint64_t number) {
  const std::string path = path_ + "/scan-" + Numbered(number) + ".json";
  const std::optional<TaskJson> json = Find(path);
  if (!json) return std::nullopt;
  return ReadMembers(path, [&] {
    std::vector<TaskScan> scans;
    for (const TaskJson& scan : json->at("scans")) {
      scans.push_back({scan.at(0).get<std::uint32_t>(), scan.at(1).get<std::uint64_t>(),
                       scan.at(2).get<std::uint64_t>(), scan.at(3).get<std::vector<std::uint32_t>>(),
                       TextFromJson(scan.at(4))});
    }
    return scans;
  });
}

std::optional<TaskRun> JobFolder::FindRun(std::uint64_t number) {
  const std::string path = RunPath(number) + ".json";
  const std::optional<TaskJson> json = Find(path);
  if (!json) return std::nullopt;
  return ReadMembers(path, [&]() -> TaskRun {
    return {json->at("bytes").get<std::uint64_t>(), BytesFromJson(json->at("header")),
            BytesFromJson(json->at("trailer")), json->at("shape").get<std::uint64_t>(),
            TextFromJson(json->at("state")), json->at("fences_bytes").get<std::uint64_t>(),
            json->at("fences_hash").get<std::uint64_t>(), SumOf(json->at("sum")), TallyFromJson(json->at("keys"))};
  });
}

std::optional<TaskCut> JobFolder::FindCut(std::uint64_t parts) {
  const std::string path = CutPath(parts);
  const std::optional<TaskJson> json = Find(path);
  if (!json) return std::nullopt;
  return ReadMembers(path, [&] {
    TaskCut cut{json->at("parts").get<std::uint64_t>(), json->at("runs").get<std::uint64_t>(),
                BytesFromJson(json->at("header")), BytesFromJson(json->at("trailer")), {},
                json->at("secret").get<std::uint64_t>()};
    for (const TaskJson& place : json->at("places")) {
      cut.places.push_back({{place.at(0).get<std::uint64_t>(), place.at(1).get<std::uint64_t>(),
                             BytesFromJson(place.at(2))}, std::nullopt, TextFromJson(place.at(4))});
      if (!place.at(3).is_null()) cut.places.back().bytes_before = place.at(3).get<std::uint64_t>();
    }
    return cut;
  });
}

std::optional<TaskPart> JobFolder::FindPart(std::uint64_t number, std::uint64_t parts) {
  const std::string path = path_ + "/" + PartFileName(number, parts) + ".json";
  const std::optional<TaskJson> json = Find(path);
  if (!json) return std::nullopt;
  return ReadMembers(path, [&]() -> TaskPart {
    return {json->at("bytes").get<std::uint64_t>(), json->at("offset").get<std::uint64_t>(),
            json->at("inode").get<std::uint64_t>(), json->at("birth_ns").get<std::uint64_t>(), SumOf(json->at("sum")),
            SumOf(json->at("read")), BytesFromJson(json->at("first")), BytesFromJson(json->at("last")),
            PiecesOf(json->at("pieces"))};
  });
}

TaskRun JobFolder::ReadRun(std::uint64_t number) {
  std::optional<TaskRun> run = FindRun(number);
  if (!run) NotThere(path_, "run " + std::to_string(number));
  return *run;
}
TaskCut JobFolder::ReadCut(std::uint64_t parts) {
  std::optional<TaskCut> cut = FindCut(parts);
  if (!cut) NotThere(path_, "the cut into " + std::to_string(parts) + " parts");
  return *cut;
}
TaskPart JobFolder::ReadPart(std::uint64_t number, std::uint64_t parts) {
  std::optional<TaskPart> part = FindPart(number, parts);
  if (!part) NotThere(path_, "part " + std::to_string(number) + " of " + std::to_string(parts));
  return *part;
}

void JobFolder::Write(std::uint64_t number, const std::vector<TaskScan>& scans) {
  TaskJson json = TaskJson::array();
  for (const TaskScan& scan : scans) {
    json.push_back({scan.input, scan.begin, scan.end, scan.behind, TextJson(scan.state)});
  }
  Put(path_ + "/scan-" + Numbered(number) + ".json", {{"scans", json}});
}

void JobFolder::Write(std::uint64_t number, const TaskRun& run) {
  Put(RunPath(number) + ".json",
            {{"bytes", run.bytes},
             {"header", BytesJson(run.header)},
             {"trailer", BytesJson(run.trailer)},
             {"shape", run.shape},
             {"state", TextJson(run.state)},
             {"fences_bytes", run.fences_bytes},
             {"fences_hash", run.fences_hash},
             {"sum", SumJson(run.sum)},
             {"keys", TallyJson(run.tally)}});
}

void JobFolder::Write(const TaskCut& cut, const std::function<PartBegins(std::uint64_t)>& begins) {
  const std::unique_ptr<OutputFile> file = CreateOwn(files_, BeginsPath(cut.parts));
  std::uint64_t at = 0;
  for (std::uint64_t part = 0; part <= cut.parts; ++part) {
    const std::vector<std::uint64_t> row = RowOf(Id(), cut, part, begins(part));
    file->WriteAt(at, std::as_bytes(std::span(row)));
    at += row.size() * sizeof row[0];
  }
  {
    const SignalBlock until_it_is_published;  // as in WriteWhole
    file->Publish(at, true);
  }
  TaskJson places = TaskJson::array();
  for (const CutPlace& place : cut.places) {
    places.push_back({place.run, place.offset, BytesJson(place.record),
                      place.bytes_before ? TaskJson(*place.bytes_before) : TaskJson(), TextJson(place.state)});
  }
  try {
    Put(CutPath(cut.parts),
        {{"parts", cut.parts},
         {"runs", cut.runs},
         {"header", BytesJson(cut.header)},
         {"trailer", BytesJson(cut.trailer)},
         {"places", places},
         {"secret", cut.secret}},
        OldFile::kKeep);
  } catch (const Error&) {
    if (!FindCut(cut.parts)) throw;
  }
}

PartBegins JobFolder::ReadBegins(const TaskCut& cut, std::uint64_t part) {
  const std::string path = BeginsPath(cut.parts);
  PartBegins begins(cut.runs);
  std::vector<std::uint64_t> row = RowOf(Id(), cut, part, begins);
  const std::uint64_t bytes = row.size() * sizeof row[0];
  RequireOwnFile(path);
  const std::size_t got = files_.OpenInput(path, false)->ReadAt(part * bytes, std::as_writable_bytes(std::span(row)));
  if (got == bytes) std::memcpy(begins.data(), row.data(), cut.runs * sizeof begins[0]);
  if (got < bytes || row != RowOf(Id(), cut, part, begins)) {
    throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": it is damaged: remove it and " +
                                           EscapeName(CutPath(cut.parts)) + ", and cut again");
  }
  return begins;
}

void JobFolder::Write(std::uint64_t number, std::uint64_t parts, const TaskPart& part) {
  Put(path_ + "/" + PartFileName(number, parts) + ".json",
            {{"bytes", part.bytes},
             {"offset", part.offset},
             {"inode", part.inode},
             {"birth_ns", part.birth_ns},
             {"sum", SumJson(part.sum)},
             {"read", SumJson(part.read)},
             {"first", BytesJson(part.first)},
             {"last", BytesJson(part.last)},
             {"pieces", BytesJson(std::as_bytes(std::span(part.pieces)))}});
}

}  // namespace gpusort
