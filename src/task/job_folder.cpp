#include "task/job_folder.hpp"

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

// Every JSON file except job.json has the members "job" and "file". It ends with a checksum of the rest. A run has a
// RunLabel at its end. In a renamed file, or a file of another job, these values are wrong. Only the owner can read the
// files (mode 0600), and other users cannot write to the folder. A task that runs twice writes equal files.
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

/// Returns the row of a part in the file cut-N.begins: its RunOffsets, the numbers that they belong to, and a checksum.
std::vector<std::uint64_t> RowOf(std::uint64_t job, const TaskCut& cut, std::uint64_t part, const RunOffsets& begins) {
  std::vector<std::uint64_t> row;
  row.reserve(2 * begins.size() + 6);
  for (const auto& [low, high] : begins) row.insert(row.end(), {low, high});
  const bool inside = part > 0 && part < cut.parts;
  row.insert(row.end(), {part, inside ? cut.starts[part - 1].run : 0, inside ? cut.starts[part - 1].offset : 0});
  row.insert(row.end(), {job, cut.parts});
  row.push_back(XXH3_64bits(row.data(), row.size() * sizeof row[0]));
  return row;
}

/// Returns what was found in the folder, or throws Error(kUsage).
template <typename T>
T Existing(std::optional<T> found, const std::string& folder, const std::string& what) {
  if (!found) throw Error(ErrorCode::kUsage, EscapeName(folder) + ": " + what + " does not exist yet");
  return *std::move(found);
}

[[noreturn]] void DamagedCut(const std::string& path, const std::string& cut) {
  throw Error(ErrorCode::kIntegrity,
              EscapeName(path) + ": it is damaged: remove it and " + EscapeName(cut) + ", and cut again");
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
  // Publish() blocks the signals that end a process and never unblocks them, but here the work only begins.
  const SignalBlock until_it_is_published;
  file->Publish(bytes.size(), true);
}

JobFolder::JobFolder(FileSystem& files, std::string path) : files_(files), path_(WithoutSlashes(std::move(path))) {
  OpenOwnFolder("", path_);
}

std::string JobFolder::RunPath(std::uint64_t number) const { return path_ + "/run-" + Numbered(number); }
std::string JobFolder::ScanPath(std::uint64_t number) const { return path_ + "/scan-" + Numbered(number) + ".json"; }
std::string JobFolder::PartPath(std::uint64_t number, std::uint64_t parts) const {
  return path_ + "/" + PartFileName(number, parts) + ".json";
}

void JobFolder::Begin(const TaskJob& job) {
  const std::string path = path_ + "/job.json";
  if (!files_.Identify(path)) {
    try {
      TaskJson json = job;
      json["inodes"] = InodesJson(job);
      WriteJson(CreateOwn(files_, path, OldFile::kKeep), std::move(json));
      return;
    } catch (const Error&) {
      if (!files_.Identify(path)) throw;  // another task may have been faster
    }
  }
  const TaskJob there = ReadJob();
  std::string what;
  if (there.version != job.version) what = "version or locale (" + EscapeName(there.version) + ")";
  if (there.slices != job.slices) what = "number of slices (" + std::to_string(there.slices) + ")";
  if (there.arguments != job.arguments) what = "options";
  const auto changed = [&](const std::string& name, const std::string& why) {
    throw Error(ErrorCode::kBadInput, EscapeName(name) + ": it was changed since the job in " + EscapeName(path_) +
                                          " began" + why + ": remove that folder to begin again");
  };
  for (std::size_t i = 0; what.empty() && i < job.order_files.size(); ++i) {
    // The same options name the same number of files.
    if (there.order_files.at(i).content != job.order_files[i].content) changed(job.order_files[i].name, "");
  }
  if (there.inputs != job.inputs) {
    what = "number of inputs (" + std::to_string(there.inputs.size()) + ")";
    for (std::size_t i = 0; there.inputs.size() == job.inputs.size() && i < job.inputs.size(); ++i) {
      const TaskJob::Input &then = there.inputs[i], &now = job.inputs[i];
      if (then == now) continue;
      if (then.path == now.path && then.name != now.name) {
        what = "name of input " + std::to_string(i + 1) + ", " + EscapeName(then.name) + ", for --prefix-name";
        break;
      }
      if (then.path == now.path) {
        const bool hides = then.mtime_ns == now.mtime_ns && then.bytes == now.bytes;
        changed(now.path, hides ? ", as its ctime tells and its mtime does not" : "");
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
  return ReadMembers(path, [&] { return json->get<TaskJob>(); });
}

std::uint64_t JobFolder::Id() {
  if (!id_) {
    TaskJob job = ReadJob();
    for (TaskJob::Input& input : job.inputs) input.mtime_ns = 0;  // machines may have copies
    const std::string text = TaskJson(job).dump();
    id_ = XXH3_64bits(text.data(), text.size());
  }
  return *id_;
}

RunLabel JobFolder::LabelOf(std::uint64_t run) {
  RunLabel label;
  label.job = Id();
  label.run = run;
  label.check = CheckOfLabel(label);
  return label;
}

template <typename T>
std::optional<T> JobFolder::Find(const std::string& path, const std::function<T(const TaskJson&)>& read) {
  const std::optional<TaskJson> json = FindJson(files_, path);
  if (!json) return std::nullopt;
  const std::string name = path.substr(path.rfind('/') + 1);
  return ReadMembers(path, [&] {
    if (json->at("file") == name && json->at("job") == Id()) return read(*json);
    throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": it is " + EscapeName(json->at("file").get<std::string>()) +
                                           (json->at("job") == Id() ? "" : " of another job") +
                                           " under this name: remove it, and give its task again");
  });
}

template <typename T>
std::optional<T> JobFolder::Find(const std::string& path) {
  return Find<T>(path, [](const TaskJson& json) { return json.get<T>(); });
}

void JobFolder::Put(const std::string& path, TaskJson json, OldFile old) {
  json["file"] = path.substr(path.rfind('/') + 1);
  json["job"] = Id();
  WriteJson(CreateOwn(files_, path, old), std::move(json));
}

std::optional<std::vector<TaskScan>> JobFolder::FindScan(std::uint64_t number) {
  using Scans = std::vector<TaskScan>;
  return Find<Scans>(ScanPath(number), [](const TaskJson& json) { return json.at("scans").get<Scans>(); });
}
std::optional<TaskRun> JobFolder::FindRun(std::uint64_t number) { return Find<TaskRun>(RunPath(number) + ".json"); }
std::optional<TaskCut> JobFolder::FindCut(std::uint64_t parts) { return Find<TaskCut>(CutPath(parts)); }
std::optional<TaskPart> JobFolder::FindPart(std::uint64_t number, std::uint64_t parts) {
  return Find<TaskPart>(PartPath(number, parts));
}

TaskRun JobFolder::ReadRun(std::uint64_t number) {
  return Existing(FindRun(number), path_, "run " + std::to_string(number));
}
TaskCut JobFolder::ReadCut(std::uint64_t parts) {
  return Existing(FindCut(parts), path_, "the cut into " + std::to_string(parts) + " parts");
}
TaskPart JobFolder::ReadPart(std::uint64_t number, std::uint64_t parts) {
  return Existing(FindPart(number, parts), path_, "part " + std::to_string(number) + " of " + std::to_string(parts));
}

void JobFolder::Write(std::uint64_t number, const std::vector<TaskScan>& scans) {
  Put(ScanPath(number), {{"scans", scans}});
}

void JobFolder::Write(std::uint64_t number, const TaskRun& run) { Put(RunPath(number) + ".json", run); }

void JobFolder::Write(TaskCut cut, const std::string& gaps, const std::function<RunOffsets(std::uint64_t)>& begins) {
  if (!gaps.empty()) WriteWhole(CreateOwn(files_, GapsPath(cut.parts)), std::as_bytes(std::span(gaps)));
  cut.gaps_bytes = gaps.size();
  cut.gaps_hash = XXH3_64bits(gaps.data(), gaps.size());
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
  try {
    Put(CutPath(cut.parts), cut, OldFile::kKeep);
  } catch (const Error&) {
    if (!FindCut(cut.parts)) throw;
  }
}

RunOffsets JobFolder::ReadBegins(const TaskCut& cut, std::uint64_t part) {
  const std::string path = BeginsPath(cut.parts);
  RunOffsets begins(cut.runs);
  std::vector<std::uint64_t> row = RowOf(Id(), cut, part, begins);
  const std::uint64_t bytes = row.size() * sizeof row[0];
  RequireOwnFile(path);
  const std::size_t got = files_.OpenInput(path, false)->ReadAt(part * bytes, std::as_writable_bytes(std::span(row)));
  if (got == bytes) std::memcpy(begins.data(), row.data(), cut.runs * sizeof begins[0]);
  if (got < bytes || row != RowOf(Id(), cut, part, begins)) {
    DamagedCut(path, CutPath(cut.parts));
  }
  return begins;
}

std::string JobFolder::ReadGaps(const TaskCut& cut) {
  std::string gaps(cut.gaps_bytes, '\0');
  if (gaps.empty()) return gaps;
  const std::string path = GapsPath(cut.parts);
  RequireOwnFile(path);
  const std::unique_ptr<File> file = files_.OpenInput(path, false);
  const std::size_t got = file->ReadAt(0, std::as_writable_bytes(std::span(gaps)));
  if (got < gaps.size() || file->Facts().size != got || XXH3_64bits(gaps.data(), gaps.size()) != cut.gaps_hash) {
    DamagedCut(path, CutPath(cut.parts));
  }
  return gaps;
}

void JobFolder::Write(std::uint64_t number, std::uint64_t parts, const TaskPart& part) {
  Put(PartPath(number, parts), part);
}

}  // namespace gpusort
