#include "runs/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <system_error>
#include <thread>

#include "base/log.hpp"
#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kLockName = "gpusort.lock";
constexpr const char* kRunsName = "gpusort.runs";

std::string HostName() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return EscapeName(name.data());
}

[[noreturn]] void Refuse(const std::string& folder, const std::string& why) {
  throw Error(ErrorCode::kUsage, "--resume-dir " + EscapeName(folder) + ": " + why);
}

/// Throws the error of a system call on the file `name` in the folder.
[[noreturn]] void FailCall(const std::string& folder, const std::string& name, int error) {
  throw Error(detail::OpenErrorCode(error),
              "--resume-dir " + EscapeName(folder) + ": " + name + detail::ErrnoText(error));
}

detail::Fd OpenFolder(const std::string& folder) { return OpenOwnFolder("--resume-dir ", folder); }

/// Opens the lock file. On failure, the result is not open and errno is set. Throws Error(kUsage) if the file belongs
/// to another user, or if others can write to it.
detail::Fd OpenLock(const detail::Fd& directory, const std::string& folder, int flags) {
  detail::Fd fd(Uninterrupted(
      [&] { return ::openat(directory.get(), kLockName, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600); }));
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

}  // namespace

Journal::Journal(FileSystem& files, std::string folder) : files_(files), folder_(WithoutSlashes(std::move(folder))) {
  Lock();
  file_ = files_.OpenNamed(folder_ + "/" + kManifestName, false, true);
  manifest_ = ReadManifest(ReadAll(*file_), file_->path());
  if (manifest_.bytes < file_->Facts().size) {
    if (manifest_.job) LogInfo("the last line of " + EscapeName(file_->path()) + " is torn, and dropped");
    file_->Truncate(manifest_.bytes);
  }
  // A process that was killed may have left lines in the page cache that are not on the disk.
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
      // A job that ended meanwhile may have removed the file that was opened here.
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
    // The holder may be --status, which locks the folder only for a moment.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  // The process that made the folder may have been killed before it synced the parent.
  const std::string parent = fs::path(folder_).parent_path().string();
  files_.SyncDirectory(parent.empty() ? "." : parent);
  const std::string owner = "process " + std::to_string(::getpid()) + " on " + HostName();
  if (Uninterrupted([&] { return ::ftruncate(lock_.get(), 0); }) != 0 ||
      Uninterrupted([&] { return ::pwrite(lock_.get(), owner.data(), owner.size(), 0); }) < 0) {
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
      return *value == "given" ? *value : "'" + *value + "'";  // the option is a flag, and its value is not quoted
    };
    Refuse(folder_, "it holds another job: " + name + " was " + text(before) + ", and is now " + text(after) +
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

/// Makes a directory for runs. If `has_runs` is true, runs are already in it, so it must exist.
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
    // Removes what is left of a job that was finished or that never began.
    RemoveRuns();
    file_->Truncate(0);
    manifest_ = {};
    job.id = detail::RandomNumber();
    Put("job", ToJson(job));
  }
  KeptAttempt attempt = given;
  attempt.host = HostName();
  attempt.pid = static_cast<std::uint64_t>(::getpid());
  attempt.begin = UtcText("%Y-%m-%dT%H:%M:%SZ");
  // The folders of earlier attempts stay in use.
  if (!manifest_.attempts.empty()) attempt.directories = manifest_.attempts.back().directories;
  const auto use = [&](const std::string& directory) {
    const auto end = attempt.directories.end();
    if (std::find(attempt.directories.begin(), end, directory) == end) attempt.directories.push_back(directory);
  };
  for (const std::string& directory : temp_dirs) {
    use((fs::absolute(directory) / ("gpusort-" + Hex(manifest_.job->id))).lexically_normal().string());
  }
  if (attempt.directories.empty()) use(".");
  // Directories are made before the manifest names them. If a directory that it names is missing later, its disk is not
  // mounted.
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

void Journal::Put(const char* kind, const Json& value) {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  const std::string text = MakeManifestLine(kind, value, manifest_.hash);
  try {
    file_->WriteAt(manifest_.bytes, std::as_bytes(std::span(text)));
    file_->Sync();
    manifest_.bytes += text.size();
    TakeManifestLine(kind, value, manifest_);
  } catch (...) {
    failure_ = std::current_exception();
    // Without this, another process would find the line in the page cache, although it is not on the disk. The kernel
    // reports the error only once.
    try {
      file_->Truncate(manifest_.bytes);
    } catch (const Error&) {
    }
    throw;
  }
}

void Journal::Add(const KeptRun& run, const std::vector<std::uint64_t>& replaces) { Put("run", ToJson(run, replaces)); }
void Journal::SetMerged(const KeptMerge& merge) { Put("merged", ToJson(merge)); }
void Journal::SetPublishing(const KeptOutput& output) { Put("publishing", ToJson(output)); }
void Journal::ForgetMerge() { Put("formed", FormedJson(manifest_.trailer)); }
void Journal::SetFormed(const std::vector<std::byte>& trailer) {
  if (!manifest_.formed) Put("formed", FormedJson(trailer));
}
void Journal::DropRuns() {
  if (!manifest_.runs.empty() || manifest_.formed) Put("drop", Json::object());
}

void Journal::Finish(bool keep) {
  Put("done", Json::object());
  if (keep) return;
  RemoveRuns();
  RemoveFolder(true);
}

/// Removes the runs of this job, or of the job that used the folder before. Ignores errors.
void Journal::RemoveRuns() {
  std::error_code ignored;
  fs::remove(folder_ + "/" + kRunsName, ignored);
  if (manifest_.attempts.empty()) return;
  for (const std::string& directory : directories()) {
    fs::remove(directory + "/" + kRunsName, ignored);
    if (directory != folder_) fs::remove(directory, ignored);
  }
}

/// Removes the manifest and the lock file; the manifest first, because it names runs. If `all` is true, also removes
/// the folder if it is empty.
void Journal::RemoveFolder(bool all) {
  std::error_code ignored;
  for (const char* name : {kManifestName, kLockName}) fs::remove(folder_ + "/" + name, ignored);
  if (all) fs::remove(folder_, ignored);
}

std::string Journal::Progress() const {
  const std::lock_guard lock(mutex_);
  return DescribeProgress(manifest_);
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
  const auto line = [&](const char* name, const std::string& value) { text += TableRow(name, EscapeName(value)); };
  line("job", manifest.job->input + " to " + manifest.job->output);
  line("state", manifest.done ? "done" : runs ? "running: " + by : "stopped: the same command continues it");
  line("phase", manifest.done ? "done" : manifest.formed ? "merge runs" : "form runs");
  line("kept", DescribeProgress(manifest));
  line("begun", manifest.attempts.front().begin);
  line("attempts", std::to_string(manifest.attempts.size()) + ", the last since " + last.begin + " by " + by);
  for (std::string& temp : DirectoriesOf(manifest, folder)) line("temp files", temp + "/" + kRunsName);
  return text;
}

}  // namespace gpusort
