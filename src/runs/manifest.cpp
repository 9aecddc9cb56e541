#include "runs/manifest.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kVersion = 4;
/// The first bytes of every manifest.
constexpr std::string_view kFront = R"({"job":{"version":)";
/// The end of each line: this key, 16 digits, and `"}`. The end takes the place of the last brace of the JSON.
constexpr std::string_view kHashKey = R"(,"xxh3":")";
constexpr std::size_t kTailBytes = kHashKey.size() + 16 + 2;

std::uint64_t Hash(std::string_view text, std::uint64_t before) {
  return XXH3_64bits_withSeed(text.data(), text.size(), before);
}

// The functions below return members of a line, or throw Error(kIntegrity). A line with the right hash may still come
// from another program.
[[noreturn]] void Lacks(const std::string& what) { throw Error(ErrorCode::kIntegrity, "it has no proper " + what); }

const Json& Member(const Json& json, const char* name, bool (Json::*is_right)() const noexcept) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end() || !((*found).*is_right)()) Lacks(name);
  return *found;
}
const Json& ListOf(const Json& json, const char* name) { return Member(json, name, &Json::is_array); }
std::string TextOf(const Json& json, const char* name) {
  return Member(json, name, &Json::is_string).get<std::string>();
}
std::uint64_t Number(const Json& json, const char* name, std::uint64_t most = kMaxSize) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) Lacks(name);
  return json.get<std::uint64_t>();
}
std::uint64_t NumberOf(const Json& json, const char* name, std::uint64_t most = kMaxSize) {
  return Number(Member(json, name, &Json::is_number_unsigned), name, most);
}
/// Returns a list of three numbers.
const Json& Triple(const Json& json, const char* name) {
  if (!json.is_array() || json.size() != 3) Lacks(name);
  return json;
}

Json ToJson(const RecordSum& sum) { return {sum.lo, sum.hi, sum.records}; }
RecordSum SumFrom(const Json& json) {
  Triple(json, "sum");
  return {Number(json[0], "sum", UINT64_MAX), Number(json[1], "sum", UINT64_MAX), Number(json[2], "sum")};
}

KeptJob JobFrom(const Json& json) {
  if (NumberOf(json, "version") != kVersion) {
    throw Error(ErrorCode::kUsage, "another version of gpusort wrote it: continue with that version, or remove it");
  }
  KeptJob job;
  job.id = NumberOf(json, "id", UINT64_MAX);
  job.block_bytes = NumberOf(json, "block_bytes", UINT32_MAX);
  if (job.block_bytes == 0 || job.block_bytes % kSpillAlignment != 0) Lacks("block_bytes");
  job.keyed = Member(json, "keyed", &Json::is_boolean).get<bool>();
  job.partial = TextOf(json, "partial");
  if (!job.partial.starts_with(".gpusort-") || job.partial.find('/') != std::string::npos) Lacks("partial");
  job.input = TextOf(json, "input");
  job.output = TextOf(json, "output");
  job.input_bytes = NumberOf(json, "input_bytes");
  for (const Json& pair : ListOf(json, "fingerprint")) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) Lacks("fingerprint");
    job.fingerprint.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return job;
}

KeptAttempt AttemptFrom(const Json& json, const std::vector<std::string>& before) {
  KeptAttempt attempt;
  attempt.host = TextOf(json, "host");
  attempt.pid = NumberOf(json, "pid");
  attempt.begin = TextOf(json, "begin");
  attempt.compresses = Member(json, "compresses", &Json::is_boolean).get<bool>();
  for (const Json& directory : ListOf(json, "directories")) {
    if (!directory.is_string()) Lacks("directories");
    attempt.directories.push_back(directory.get<std::string>());
  }
  for (const Json& ctime : ListOf(json, "ctimes")) attempt.ctimes.push_back(Number(ctime, "ctimes", UINT64_MAX));
  // Blocks name directories by number, so the numbers must stay the same.
  if (attempt.directories.size() < before.size() ||
      !std::equal(before.begin(), before.end(), attempt.directories.begin())) {
    Lacks("directories");
  }
  return attempt;
}

KeptRun RunFrom(const Json& json) {
  KeptRun run;
  run.id = NumberOf(json, "id", UINT64_MAX);
  run.bytes = NumberOf(json, "bytes");
  run.level = static_cast<std::uint32_t>(NumberOf(json, "level", UINT32_MAX - 1));
  run.sum = SumFrom(ListOf(json, "sum"));
  for (const Json& range : ListOf(json, "origin")) {
    Triple(range, "origin");
    run.origin.push_back({static_cast<std::uint32_t>(Number(range[0], "origin", UINT32_MAX)),
                          Number(range[1], "origin"), Number(range[2], "origin")});
  }
  if (run.origin.empty()) Lacks("origin");
  run.blocks = NumberOf(json, "blocks", run.bytes);
  run.longest = NumberOf(json, "longest", run.bytes);
  for (const Json& extent : ListOf(json, "index")) {
    Triple(extent, "index");
    run.index.push_back({static_cast<std::uint32_t>(Number(extent[0], "index", UINT32_MAX)),
                         Number(extent[2], "index", UINT32_MAX), Number(extent[1], "index"), Codec::kNone});
  }
  return run;
}

std::vector<std::byte> FromHex(const std::string& text) {
  std::optional<std::vector<std::byte>> bytes = BytesOfHex(text);
  if (!bytes) Lacks("trailer");
  return std::move(*bytes);
}

KeptMerge MergeFrom(const Json& json, const std::map<std::uint64_t, KeptRun>& runs) {
  KeptMerge merge;
  merge.output_bytes = NumberOf(json, "output_bytes");
  merge.front = {NumberOf(json, "bytes"), SumFrom(ListOf(json, "sum")), SumFrom(ListOf(json, "dropped")),
                 FromHex(TextOf(json, "last"))};
  for (const Json& pair : ListOf(json, "taken")) {
    if (!pair.is_array() || pair.size() != 2) Lacks("taken");
    const auto run = runs.find(Number(pair[0], "taken", UINT64_MAX));
    if (run == runs.end()) Lacks("taken");
    merge.taken[run->first] = Number(pair[1], "taken", run->second.bytes);
  }
  if (merge.taken.size() != runs.size()) Lacks("taken");
  return merge;
}

KeptOutput OutputFrom(const Json& json) {
  return {NumberOf(json, "inode", UINT64_MAX), NumberOf(json, "bytes"), NumberOf(json, "mtime_ns", UINT64_MAX),
          NumberOf(json, "records")};
}

void TakeRun(KeptRun run, const std::vector<std::uint64_t>& replaces, Manifest& manifest) {
  manifest.merge.reset();
  for (const std::uint64_t id : replaces) {
    if (manifest.runs.erase(id) == 0) Lacks("replaces");
  }
  KeptAttempt& attempt = manifest.attempts.back();
  if (run.level == 0) {
    ++attempt.runs_made;
    attempt.bytes_read += TotalBytes(run.origin);
  }
  const std::uint64_t id = run.id;
  if (!manifest.runs.emplace(id, std::move(run)).second) Lacks("id");
}

}  // namespace

Json ToJson(const KeptJob& job) {
  Json fingerprint = Json::array();
  for (const auto& [name, value] : job.fingerprint) fingerprint.push_back({name, value});
  return {{"version", kVersion},
          {"id", job.id},
          {"block_bytes", job.block_bytes},
          {"keyed", job.keyed},
          {"partial", job.partial},
          {"input", job.input},
          {"output", job.output},
          {"input_bytes", job.input_bytes},
          {"fingerprint", fingerprint}};
}

Json ToJson(const KeptAttempt& attempt) {
  return {{"host", attempt.host},
          {"pid", attempt.pid},
          {"begin", attempt.begin},
          {"compresses", attempt.compresses},
          {"directories", attempt.directories},
          {"ctimes", attempt.ctimes}};
}

Json ToJson(const KeptRun& run, const std::vector<std::uint64_t>& replaces) {
  Json origin = Json::array(), index = Json::array();
  for (const InputRange& range : run.origin) origin.push_back({range.input, range.offset, range.bytes});
  for (const SpillExtent& extent : run.index) index.push_back({extent.file, extent.offset, extent.payload_bytes});
  return {{"id", run.id},           {"bytes", run.bytes}, {"level", run.level},
          {"sum", ToJson(run.sum)}, {"origin", origin},   {"blocks", run.blocks},
          {"longest", run.longest}, {"index", index},     {"replaces", replaces}};
}

Json ToJson(const KeptMerge& merge) {
  Json taken = Json::array();
  for (const auto& [id, bytes] : merge.taken) taken.push_back({id, bytes});
  return {{"output_bytes", merge.output_bytes},     {"bytes", merge.front.bytes},      {"sum", ToJson(merge.front.sum)},
          {"dropped", ToJson(merge.front.dropped)}, {"last", HexOf(merge.front.last)}, {"taken", taken}};
}

Json ToJson(const KeptOutput& output) {
  return {{"inode", output.inode}, {"bytes", output.bytes}, {"mtime_ns", output.mtime_ns}, {"records", output.records}};
}

Json FormedJson(const std::vector<std::byte>& trailer) {
  Json formed = Json::object();
  formed["trailer"] = HexOf(trailer);
  return formed;
}

// The hash covers all earlier lines, and the text of the new line before the hash.
std::string MakeManifestLine(const char* kind, Json value, std::uint64_t& before) {
  std::string text;
  try {
    Json line = Json::object();
    line[kind] = std::move(value);
    text = line.dump();
  } catch (const Json::type_error&) {
    throw Error(ErrorCode::kUsage, "--resume-dir: a name of a folder is not UTF-8");
  }
  text.pop_back();
  before = Hash(text, before);
  return text.append(kHashKey).append(Hex(before)).append("\"}\n");
}

void TakeManifestLine(const std::string& kind, const Json& value, Manifest& manifest) {
  if (manifest.done || (kind == "job") == manifest.job.has_value()) Lacks("place");
  if (kind != "job" && kind != "attempt" && manifest.attempts.empty()) Lacks("place");
  if (kind == "job") {
    manifest.job = JobFrom(value);
  } else if (kind == "attempt") {
    static const std::vector<std::string> kNone;
    KeptAttempt attempt = AttemptFrom(value, manifest.attempts.empty() ? kNone : manifest.attempts.back().directories);
    attempt.runs_kept = manifest.runs.size();
    manifest.attempts.push_back(std::move(attempt));
  } else if (kind == "run") {
    std::vector<std::uint64_t> replaces;
    for (const Json& id : ListOf(value, "replaces")) replaces.push_back(Number(id, "replaces", UINT64_MAX));
    TakeRun(RunFrom(value), replaces, manifest);
  } else if (kind == "formed") {
    manifest.trailer = FromHex(TextOf(value, "trailer"));
    manifest.formed = true;
    manifest.merge.reset();
  } else if (kind == "merged") {
    manifest.merge = MergeFrom(value, manifest.runs);
  } else if (kind == "publishing") {
    manifest.publishing = OutputFrom(value);
  } else if (kind == "drop") {
    manifest.runs.clear();
    manifest.merge.reset();
    manifest.formed = false;
  } else if (kind == "done") {
    manifest.done = true;
  } else {
    Lacks("member");
  }
}

std::string DescribeProgress(const Manifest& manifest) {
  const std::uint64_t runs = manifest.runs.size(), all = manifest.job ? manifest.job->input_bytes : 0;
  std::string text = Counted(runs, "run");
  if (manifest.formed) {
    text += " of all of the input (" + FormatBytes(all) + ")";
    if (!manifest.merge) return text;
    std::uint64_t taken = 0, bytes = 0;
    for (const auto& [id, count] : manifest.merge->taken) taken += count;
    for (const auto& [id, run] : manifest.runs) bytes += run.bytes;
    const double merged = bytes == 0 ? 100 : 100.0 * static_cast<double>(taken) / static_cast<double>(bytes);
    return text + ", and " + FormatBytes(manifest.merge->output_bytes) + " of the output (" +
           std::to_string(static_cast<int>(merged)) + " %)";
  }
  if (manifest.job && manifest.job->keyed) return "nothing before all of the input is read, as its records get keys";
  const std::uint64_t bytes = manifest.bytes_formed();
  const double percent = all == 0 ? 100 : 100.0 * static_cast<double>(bytes) / static_cast<double>(all);
  return text + " of " + FormatBytes(bytes) + " of the input's " + FormatBytes(all) + " (" +
         std::to_string(static_cast<int>(percent)) + " %)";
}

std::uint64_t Manifest::bytes_formed() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, run] : runs) bytes += TotalBytes(run.origin);
  return bytes;
}

Manifest ReadManifest(std::string_view text, const std::string& name) {
  const auto fail = [&](std::uint64_t line, const std::string& why) {
    throw Error(ErrorCode::kIntegrity, EscapeName(name) + ": line " + std::to_string(line) + ": " + why +
                                           "; to begin anew, remove its folder");
  };
  Manifest manifest;
  if (!text.starts_with(kFront.substr(0, text.size()))) fail(1, "it is no manifest of gpusort");
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    ++number;
    const std::size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos) break;  // the last line is incomplete
    const std::string_view line = text.substr(at, newline - at);
    std::string_view front;
    std::uint64_t hash = 0;
    if (line.size() > kTailBytes) {
      front = line.substr(0, line.size() - kTailBytes);
      hash = Hash(front, manifest.hash);
    }
    if (front.empty() || line.substr(front.size()) != std::string(kHashKey) + Hex(hash) + "\"}") {
      if (newline + 1 == text.size()) break;  // the last line is incomplete
      fail(number, "it is damaged");
    }
    try {
      const Json json = Json::parse(std::string(front) + "}");
      if (!json.is_object() || json.size() != 1) Lacks("member");
      TakeManifestLine(json.begin().key(), json.begin().value(), manifest);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUsage) throw Error(error.code(), EscapeName(name) + ": " + error.what());
      fail(number, error.what());
    } catch (const Json::exception&) {
      fail(number, "it is not JSON");
    }
    manifest.hash = hash;
    manifest.bytes = at = newline + 1;
  }
  return manifest;
}

}  // namespace gpusort
