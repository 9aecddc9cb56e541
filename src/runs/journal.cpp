#include "runs/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <system_error>
#include <thread>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kVersion = 3;
constexpr const char* kLockName = "gpusort.lock";
constexpr const char* kRunsName = "gpusort.runs";
/// A file that does not begin like this is none of ours.
constexpr std::string_view kFront = R"({"job":{"version":)";
/// Behind the JSON of each line, whose last brace it takes along: 16 digits, then `"}`.
constexpr std::string_view kHashKey = R"(,"xxh3":")";
constexpr std::size_t kTailBytes = kHashKey.size() + 16 + 2;

std::uint64_t Hash(std::string_view text, std::uint64_t before) {
  return XXH3_64bits_withSeed(text.data(), text.size(), before);
}

// What a line has, or kIntegrity. Whoever wrote it with the right hash may still be another program.
[[noreturn]] void Lacks(const std::string& what) { throw Error(ErrorCode::kIntegrity, "it has no proper " + what); }

const Json& Member(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (!json.is_object() || found == json.end()) Lacks(name);
  return *found;
}
std::uint64_t Number(const Json& json, const char* name, std::uint64_t most = kMaxSize) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) Lacks(name);
  return json.get<std::uint64_t>();
}
std::uint64_t NumberOf(const Json& json, const char* name, std::uint64_t most = kMaxSize) {
  return Number(Member(json, name), name, most);
}
std::string TextOf(const Json& json, const char* name) {
  const Json& text = Member(json, name);
  if (!text.is_string()) Lacks(name);
  return text.get<std::string>();
}
bool FlagOf(const Json& json, const char* name) {
  const Json& flag = Member(json, name);
  if (!flag.is_boolean()) Lacks(name);
  return flag.get<bool>();
}
const Json& ListOf(const Json& json, const char* name) {
  const Json& list = Member(json, name);
  if (!list.is_array()) Lacks(name);
  return list;
}
/// Of three numbers.
const Json& Triple(const Json& json, const char* name) {
  if (!json.is_array() || json.size() != 3) Lacks(name);
  return json;
}

Json ToJson(const RecordSum& sum) { return {sum.lo, sum.hi, sum.records}; }
RecordSum SumFrom(const Json& json) {
  Triple(json, "sum");
  return {Number(json[0], "sum", UINT64_MAX), Number(json[1], "sum", UINT64_MAX), Number(json[2], "sum")};
}

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
KeptJob JobFrom(const Json& json) {
  if (NumberOf(json, "version") != kVersion) {
    throw Error(ErrorCode::kUsage, "another version of gpusort wrote it: go on with that, or remove it");
  }
  KeptJob job;
  job.id = NumberOf(json, "id", UINT64_MAX);
  job.block_bytes = NumberOf(json, "block_bytes", UINT32_MAX);
  if (job.block_bytes == 0 || job.block_bytes % kSpillAlignment != 0) Lacks("block_bytes");
  job.keyed = FlagOf(json, "keyed");
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

Json ToJson(const KeptAttempt& attempt) {
  return {{"host", attempt.host},
          {"pid", attempt.pid},
          {"begin", attempt.begin},
          {"compresses", attempt.compresses},
          {"directories", attempt.directories},
          {"ctimes", attempt.ctimes}};
}
KeptAttempt AttemptFrom(const Json& json, const std::vector<std::string>& before) {
  KeptAttempt attempt;
  attempt.host = TextOf(json, "host");
  attempt.pid = NumberOf(json, "pid");
  attempt.begin = TextOf(json, "begin");
  attempt.compresses = FlagOf(json, "compresses");
  for (const Json& directory : ListOf(json, "directories")) {
    if (!directory.is_string()) Lacks("directories");
    attempt.directories.push_back(directory.get<std::string>());
  }
  for (const Json& ctime : ListOf(json, "ctimes")) attempt.ctimes.push_back(Number(ctime, "ctimes", UINT64_MAX));
  // Blocks tell them by number.
  if (attempt.directories.size() < before.size() ||
      !std::equal(before.begin(), before.end(), attempt.directories.begin())) {
    Lacks("directories");
  }
  return attempt;
}

Json ToJson(const KeptRun& run, const std::vector<std::uint64_t>& replaces) {
  Json origin = Json::array(), index = Json::array();
  for (const InputRange& range : run.origin) origin.push_back({range.input, range.offset, range.bytes});
  for (const SpillExtent& extent : run.index) index.push_back({extent.file, extent.offset, extent.payload_bytes});
  return {{"id", run.id},           {"bytes", run.bytes}, {"level", run.level},
          {"sum", ToJson(run.sum)}, {"origin", origin},   {"blocks", run.blocks},
          {"longest", run.longest}, {"index", index},     {"replaces", replaces}};
}
KeptRun RunFrom(const Json& json) {
  KeptRun run;
  run.id = NumberOf(json, "id", UINT64_MAX);
  run.bytes = NumberOf(json, "bytes");
  run.level = static_cast<std::uint32_t>(NumberOf(json, "level", UINT32_MAX - 1));
  run.sum = SumFrom(Member(json, "sum"));
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

Json ToJson(const KeptMerge& merge) {
  Json taken = Json::array();
  for (const auto& [id, bytes] : merge.taken) taken.push_back({id, bytes});
  return {{"output_bytes", merge.output_bytes},     {"bytes", merge.front.bytes},      {"sum", ToJson(merge.front.sum)},
          {"dropped", ToJson(merge.front.dropped)}, {"last", HexOf(merge.front.last)}, {"taken", taken}};
}
KeptMerge MergeFrom(const Json& json, const std::map<std::uint64_t, KeptRun>& runs) {
  KeptMerge merge;
  merge.output_bytes = NumberOf(json, "output_bytes");
  merge.front = {NumberOf(json, "bytes"), SumFrom(Member(json, "sum")), SumFrom(Member(json, "dropped")),
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

Json FormedJson(const std::vector<std::byte>& trailer) {
  Json formed = Json::object();
  formed["trailer"] = HexOf(trailer);
  return formed;
}

Json ToJson(const KeptOutput& output) {
  return {{"inode", output.inode}, {"bytes", output.bytes}, {"mtime_ns", output.mtime_ns}, {"records", output.records}};
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

/// What a line says, when it is read and when it is written.
void Take(const std::string& kind, const Json& value, Manifest& manifest) {
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

/// A line whose hash is right.
void TakeLine(std::string_view text, Manifest& manifest) {
  const Json json = Json::parse(text);
  if (!json.is_object() || json.size() != 1) Lacks("member");
  Take(json.begin().key(), json.begin().value(), manifest);
}

/// `{"kind":value}` with its hash and a newline; `before`: the hash of the line in front, which becomes this one's.
std::string MakeLine(const char* kind, Json value, std::uint64_t& before) {
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

std::string HostName() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return EscapeName(name.data());
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

[[noreturn]] void Refuse(const std::string& folder, const std::string& why) {
  throw Error(ErrorCode::kUsage, "--resume-dir " + EscapeName(folder) + ": " + why);
}

/// What a system call on `name` in it says.
[[noreturn]] void FailCall(const std::string& folder, const std::string& name, int error) {
  throw Error(detail::OpenErrorCode(error),
              "--resume-dir " + EscapeName(folder) + ": " + name + detail::ErrnoText(error));
}

detail::Fd OpenFolder(const std::string& folder) { return OpenOwnFolder("--resume-dir ", folder); }

/// Not open if there is none, with errno; refused if it is anything but a file of this user alone.
detail::Fd OpenLock(const detail::Fd& directory, const std::string& folder, int flags) {
  detail::Fd fd;
  do {
    fd = detail::Fd(::openat(directory.get(), kLockName, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  } while (!fd.open() && errno == EINTR);
  struct stat st;
  if (fd.open() && ::fstat(fd.get(), &st) != 0) FailCall(folder, std::string(kLockName) + ": ", errno);
  if (fd.open() && (!S_ISREG(st.st_mode) || st.st_uid != ::geteuid() || st.st_nlink > 1 || (st.st_mode & 022) != 0)) {
    Refuse(folder, std::string(kLockName) + ": it is no file that only this user can write");
  }
  return fd;
}

std::string ReadAll(File& file) {
  std::string text(file.Facts().size, '\0');
  text.resize(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

std::vector<std::string> DirectoriesOf(const Manifest& manifest, const std::string& folder) {
  std::vector<std::string> directories = manifest.attempts.back().directories;
  for (std::string& directory : directories) {
    if (directory == ".") directory = folder;
  }
  return directories;
}

std::string ProgressOf(const Manifest& manifest) {
  const std::uint64_t runs = manifest.runs.size(), all = manifest.job ? manifest.job->input_bytes : 0;
  std::string text = std::to_string(runs) + (runs == 1 ? " run" : " runs");
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

}  // namespace

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
    if (newline == std::string_view::npos) break;  // torn
    const std::string_view line = text.substr(at, newline - at);
    std::string_view front;
    std::uint64_t hash = 0;
    if (line.size() > kTailBytes) {
      front = line.substr(0, line.size() - kTailBytes);
      hash = Hash(front, manifest.hash);
    }
    if (front.empty() || line.substr(front.size()) != std::string(kHashKey) + Hex(hash) + "\"}") {
      if (newline + 1 == text.size()) break;  // torn
      fail(number, "it is damaged");
    }
    try {
      TakeLine(std::string(front) + "}", manifest);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUsage) throw Error(error.code(), EscapeName(name) + ": " + error.what());
      fail(number, error.what());
    } catch (const Json::exception&) {
      fail(number, "it is no JSON");
    }
    manifest.hash = hash;
    manifest.bytes = at = newline + 1;
  }
  return manifest;
}

Journal::Journal(FileSystem& files, std::string folder) : files_(files), folder_(WithoutSlashes(std::move(folder))) {
  Lock();
  file_ = files_.OpenNamed(folder_ + "/" + kManifestName, false, true);
  manifest_ = ReadManifest(ReadAll(*file_), file_->path());
  if (manifest_.bytes < file_->Facts().size) {
    if (manifest_.job) LogInfo("the last line of " + EscapeName(file_->path()) + " is torn, and dropped");
    file_->Truncate(manifest_.bytes);
  }
  // What was read may be in memory only, of a process that was killed before it had synced that.
  file_->Sync();
  files_.SyncDirectory(folder_);
}

void Journal::Lock() {
  constexpr int kTries = 10;
  for (int i = 0;; ++i) {
    if (::mkdir(folder_.c_str(), 0700) == 0) {
      made_ = true;
    } else if (errno != EEXIST) {
      FailCall(folder_, "", errno);
    }
    directory_ = OpenFolder(folder_);
    lock_ = OpenLock(directory_, folder_, O_RDWR | O_CREAT);
    if (!lock_.open()) FailCall(folder_, std::string(kLockName) + ": ", errno);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) {
      // A job that ended meanwhile has removed what was opened.
      struct stat mine, named;
      if (::fstat(lock_.get(), &mine) == 0 && ::stat((folder_ + "/" + kLockName).c_str(), &named) == 0 &&
          mine.st_dev == named.st_dev && mine.st_ino == named.st_ino) {
        break;
      }
    } else if (errno != EWOULDBLOCK) {
      FailCall(folder_, std::string("lock ") + kLockName + ": ", errno);
    }
    if (i == kTries) {
      std::array<char, 300> owner{};
      const ssize_t got = ::pread(lock_.get(), owner.data(), owner.size() - 1, 0);
      Refuse(folder_, "another job has it: " + (got > 0 ? EscapeName(owner.data()) : "by whom is not known") +
                          "; wait for it, or give another folder");
    }
    // Also --status locks it, for a moment.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  // Who made the folder may have been killed before it did.
  const std::string parent = fs::path(folder_).parent_path().string();
  files_.SyncDirectory(parent.empty() ? "." : parent);
  const std::string owner = "process " + std::to_string(::getpid()) + " on " + HostName();
  if (::ftruncate(lock_.get(), 0) != 0 || ::pwrite(lock_.get(), owner.data(), owner.size(), 0) < 0) {
    LogWarn("cannot write to " + EscapeName(folder_) + "/" + kLockName + ": " + detail::ErrnoText(errno));
  }
}

Journal::~Journal() {
  if (!manifest_.job && file_) RemoveFolder(made_);
}

void Journal::RequireSame(const Fingerprint& now) const {
  if (!resumes()) return;
  const Fingerprint& then = manifest_.job->fingerprint;
  const auto find = [](const Fingerprint& in, const std::string& name) -> const std::string* {
    const auto found = std::find_if(in.begin(), in.end(), [&](const auto& pair) { return pair.first == name; });
    return found == in.end() ? nullptr : &found->second;
  };
  const auto differs = [&](const std::string& name, const std::string* before, const std::string* after) {
    const auto text = [](const std::string* value) {
      if (value == nullptr) return std::string("not given");
      return *value == "given" ? *value : "'" + *value + "'";  // a flag
    };
    Refuse(folder_, "the job there is another: " + name + " was " + text(before) + ", and is " + text(after) +
                        "; give another folder, or remove this one to begin anew");
  };
  for (const auto& [name, value] : then) {
    const std::string* const other = find(now, name);
    if (other == nullptr || *other != value) differs(name, &value, other);
  }
  for (const auto& [name, value] : now) {
    if (find(then, name) == nullptr) differs(name, nullptr, &value);
  }
}

/// One for runs. `has_runs`: it was made before.
void Journal::MakeDirectory(const std::string& directory, bool has_runs) {
  if (has_runs) {
    if (::access(directory.c_str(), F_OK) == 0) {
      OpenFolder(directory);
      return;
    }
    throw Error(ErrorCode::kIo, "temporary directory " + EscapeName(directory) +
                                    ", where runs of this job lie: " + detail::ErrnoText(errno) +
                                    "; mount it, or remove " + EscapeName(folder_) + " to begin anew");
  }
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error(detail::OpenErrorCode(errno),
                "temporary directory " + EscapeName(directory) + ": " + detail::ErrnoText(errno));
  }
  OpenFolder(directory);
  files_.SyncDirectory(fs::path(directory).parent_path().string());
}

void Journal::Begin(KeptJob job, const KeptAttempt& given, const std::vector<std::string>& temp_dirs) {
  if (!resumes()) {
    // What is left of a job that was done, or never began.
    RemoveRuns();
    file_->Truncate(0);
    manifest_ = {};
    job.id = detail::RandomNumber();
    Put("job", ToJson(job));
  }
  KeptAttempt attempt = given;
  attempt.host = HostName();
  attempt.pid = static_cast<std::uint64_t>(::getpid());
  attempt.begin = Now();
  if (!manifest_.attempts.empty()) attempt.directories = manifest_.attempts.back().directories;
  const auto use = [&](const std::string& directory) {
    const auto end = attempt.directories.end();
    if (std::find(attempt.directories.begin(), end, directory) == end) attempt.directories.push_back(directory);
  };
  for (const std::string& directory : temp_dirs) {
    use((fs::absolute(directory) / ("gpusort-" + Hex(manifest_.job->id))).lexically_normal().string());
  }
  if (attempt.directories.empty()) use(".");
  // Made before a line names them, so that one that is named and missing was there: its disk is not mounted.
  std::set<std::string> before;
  if (!manifest_.attempts.empty() && !manifest_.runs.empty()) {
    const std::vector<std::string> names = directories();
    before = {names.begin(), names.end()};
  }
  for (const std::string& directory : attempt.directories) {
    if (directory != ".") MakeDirectory(directory, before.contains(directory));
  }
  Put("attempt", ToJson(attempt));
}

std::vector<std::string> Journal::directories() const { return DirectoriesOf(manifest_, folder_); }

NamedSpill Journal::spill() const { return {kRunsName, manifest_.job->id}; }

/// Under the lock, or before there are threads.
void Journal::Put(const char* kind, const Json& value) {
  if (failure_) std::rethrow_exception(failure_);
  const std::string text = MakeLine(kind, value, manifest_.hash);
  try {
    file_->WriteAt(manifest_.bytes, std::as_bytes(std::span(text)));
    file_->Sync();
    manifest_.bytes += text.size();
    Take(kind, value, manifest_);
  } catch (...) {
    failure_ = std::current_exception();
    // Else another process finds it in the page cache, where the kernel tells of the error once only.
    try {
      file_->Truncate(manifest_.bytes);
    } catch (const Error&) {
    }
    throw;
  }
}

void Journal::Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces) {
  const std::lock_guard lock(mutex_);
  Put("run", ToJson(run, replaces));
}

void Journal::SetFormed(const std::vector<std::byte>& trailer) {
  const std::lock_guard lock(mutex_);
  if (!manifest_.formed) Put("formed", FormedJson(trailer));
}

void Journal::ForgetMerge() {
  const std::lock_guard lock(mutex_);
  Put("formed", FormedJson(manifest_.trailer));
}

void Journal::SetMerged(const KeptMerge& merge) {
  const std::lock_guard lock(mutex_);
  Put("merged", ToJson(merge));
}

void Journal::SetPublishing(const KeptOutput& output) {
  const std::lock_guard lock(mutex_);
  Put("publishing", ToJson(output));
}

void Journal::DropRuns() {
  const std::lock_guard lock(mutex_);
  if (!manifest_.runs.empty() || manifest_.formed) Put("drop", Json::object());
}

void Journal::Finish(bool keep) {
  Put("done", Json::object());
  if (keep) return;
  RemoveRuns();
  RemoveFolder(true);
}

/// Of this job, or one before it. What cannot be removed is in nobody's way.
void Journal::RemoveRuns() {
  std::error_code ignored;
  fs::remove(folder_ + "/" + kRunsName, ignored);
  if (manifest_.attempts.empty()) return;
  for (const std::string& directory : directories()) {
    fs::remove(directory + "/" + kRunsName, ignored);
    if (directory != folder_) fs::remove(directory, ignored);
  }
}

/// All the rest, the manifest first: it tells of runs. The folder itself if `all` and there is nothing else in it.
void Journal::RemoveFolder(bool all) {
  std::error_code ignored;
  for (const char* name : {kManifestName, kLockName}) fs::remove(folder_ + "/" + name, ignored);
  if (all) fs::remove(folder_, ignored);
}

std::string Journal::Progress() const {
  const std::lock_guard lock(mutex_);
  return ProgressOf(manifest_);
}

std::string DescribeJob(FileSystem& files, const std::string& given) {
  const std::string folder = WithoutSlashes(given);
  const detail::Fd directory = OpenFolder(folder);
  const std::unique_ptr<File> file = files.OpenNamed(folder + "/" + kManifestName, false, false);
  const Manifest manifest = file ? ReadManifest(ReadAll(*file), file->path()) : Manifest{};
  if (!manifest.job || manifest.attempts.empty()) Refuse(folder, "there is no job in it, or none that kept anything");
  const detail::Fd lock = OpenLock(directory, folder, O_RDONLY);
  const bool runs = lock.open() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
  const KeptAttempt& last = manifest.attempts.back();
  const std::string by = "process " + std::to_string(last.pid) + " on " + last.host;
  std::string text;
  const auto line = [&](std::string name, const std::string& value) {
    name.resize(20, ' ');
    text += name + EscapeName(value) + "\n";
  };
  line("job", manifest.job->input + " to " + manifest.job->output);
  line("state", manifest.done ? "done" : runs ? "running: " + by : "stopped: the same command goes on with it");
  line("phase", manifest.done ? "done" : manifest.formed ? "merge runs" : "form runs");
  line("kept", ProgressOf(manifest));
  line("begun", manifest.attempts.front().begin);
  line("attempts", std::to_string(manifest.attempts.size()) + ", the last since " + last.begin + " by " + by);
  for (std::string& temp : DirectoriesOf(manifest, folder)) line("temp files", temp + "/" + kRunsName);
  return text;
}

}  // namespace gpusort
