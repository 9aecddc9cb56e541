#include "watch/report_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>

#include "base/report_file.hpp"
#include "io/system_calls.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

namespace fs = std::filesystem;

enum class Role { kInput, kOutput, kIndex, kNames, kRandomSource, kReport };

/// How a report begins, without its spaces and newlines.
struct ReportMark {
  std::string_view begin, title;
};
constexpr ReportMark kStats{R"({"backend":)", ""};
constexpr ReportMark kTrace{R"([{"ph":)", ""};
constexpr ReportMark kPage{"<!doctypehtml>", "<title>gpusort:"};

/// Returns the path at which a missing file of this name would be made. Follows links. Returns an empty path and sets
/// `failure` if the path cannot be found.
fs::path PlaceOf(fs::path path, std::error_code& failure) {
  std::error_code ignored;
  constexpr int kMaxLinks = 40;
  for (int links = 0; links < kMaxLinks && fs::is_symlink(fs::symlink_status(path, ignored)); ++links) {
    path = path.parent_path() / fs::read_symlink(path, ignored);  // an absolute target replaces all
  }
  path = fs::absolute(path, failure);
  return failure ? fs::path() : fs::weakly_canonical(path, failure);
}

/// A file that the options name, and its role in the job.
struct NamedFile {
  Role role;
  std::string what;
  std::string path;
  std::optional<ReportMark> mark = std::nullopt;    ///< if the file is overwritten by a report
  std::optional<struct stat> facts = std::nullopt;  ///< if the file exists
  fs::path place = {};                              ///< where it would be created if it does not exist

  void Look() {
    struct stat st;
    const bool stream = path == "-";
    const int found =
        stream ? ::fstat(role == Role::kOutput ? STDOUT_FILENO : STDIN_FILENO, &st) : ::stat(path.c_str(), &st);
    if (found == 0) {
      facts = st;
    } else if (!stream) {
      std::error_code failure;
      place = PlaceOf(path, failure);
      if (failure == std::errc::not_enough_memory) throw std::bad_alloc();
      if (failure) {
        throw Error(ErrorCode::kUsage, fmt::format("{}: {}", Name(), detail::ErrnoText(failure.value())));
      }
    }
  }
  std::string Name() const { return fmt::format("{} {}", what, EscapeName(path)); }
  bool written() const { return role == Role::kOutput || role == Role::kIndex || role == Role::kReport; }
  /// Terminals, /dev/null and similar devices keep no data that could be overwritten.
  bool Is(const NamedFile& other) const {
    if (facts && other.facts) return SameFile(*facts, *other.facts) && !S_ISCHR(facts->st_mode);
    return !facts && !place.empty() && place == other.place;
  }
};

/// Returns true if an earlier job wrote a report of the same kind to the file at `path`, so that a report may overwrite
/// it. Returns std::nullopt if the file cannot be read, with the reason in errno. In a command such as
/// "gpusort --report data.csv sorted.csv", which lacks the name of the page, the file is data.
std::optional<bool> HoldsReport(const std::string& path, const ReportMark& mark) {
  const detail::Fd file(detail::OpenPath(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.open()) return std::nullopt;
  std::string text(2048, '\0');
  const ssize_t got = Uninterrupted([&] { return ::pread(file.get(), text.data(), text.size(), 0); });
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text.starts_with(mark.begin) && text.find(mark.title) != text.npos;
}

void RequireWritable(const NamedFile& report) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: {}", report.Name(), why));
  };
  if (report.facts && StandardStream(*report.facts)) return;
  if (MayBePlanted(report.path)) {
    refuse("it is another user's, or has several names, in a folder that all can write: choose another name or folder");
  }
  if (report.facts) {
    if (S_ISDIR(report.facts->st_mode)) refuse("it is a directory");
    if (::faccessat(AT_FDCWD, report.path.c_str(), W_OK, AT_EACCESS) != 0) refuse(detail::ErrnoText(errno));
    if (report.mark && S_ISREG(report.facts->st_mode) && report.facts->st_size > 0) {
      const std::optional<bool> holds = HoldsReport(report.path, *report.mark);
      const int why = errno;
      if (!holds) {
        refuse("it exists, and cannot be read to see if a report is in it: " + detail::ErrnoText(why) +
               "; choose another name, or remove it first");
      }
      if (!*holds) refuse("it exists, and no report of this kind is in it: choose another name, or remove it first");
    }
    return;
  }
  const std::string directory = report.place.parent_path().string();
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    refuse(fmt::format("it cannot be made in {}: {}", EscapeName(directory), detail::ErrnoText(errno)));
  }
}

}  // namespace

void CheckReportFiles(const JobSpec& spec, const std::vector<std::string>& parts) {
  std::vector<NamedFile> files;
  for (const std::string& input : spec.source.inputs) files.push_back({Role::kInput, "the input", input});
  for (const std::string& part : parts) {
    if (spec.target.split > 0) {
      files.push_back({Role::kOutput, "the output", part});
    } else {
      files.push_back({Role::kIndex, "the index", part});
    }
  }
  const auto add = [&](Role role, const char* what, const std::string& path) {
    if (!path.empty()) files.push_back({role, what, path});
  };
  const auto report = [&](const char* what, const std::string& path, std::optional<ReportMark> mark) {
    if (!path.empty()) files.push_back({Role::kReport, what, path, mark});
  };
  if (spec.target.split == 0) add(Role::kOutput, "the output", spec.target.output);
  add(Role::kNames, "--files0-from", spec.source.names_file);
  add(Role::kRandomSource, "--random-source", spec.order.random_source);
  if (spec.source.table) {
    for (const ColumnKey& key : spec.source.table->keys) add(Role::kNames, "the order", key.rule.order_file);
  }
  report("--stats", spec.reports.stats, kStats);
  report("--trace", spec.reports.trace, kTrace);
  report("--report", spec.reports.page, kPage);
  report("--log-file", spec.reports.log_file, std::nullopt);  // it is appended to
  for (NamedFile& file : files) file.Look();
  for (std::size_t b = 0; b < files.size(); ++b) {
    if (!files[b].written() && files[b].role != Role::kNames && files[b].role != Role::kRandomSource) continue;
    for (std::size_t a = 0; a < b; ++a) {
      const bool in_place = files[a].role == Role::kInput && files[b].role == Role::kOutput;
      if (in_place || !(files[a].written() || files[b].written()) || !files[a].Is(files[b])) continue;
      throw Error(ErrorCode::kUsage,
                  fmt::format("{} and {} are one file, which would be overwritten", files[b].Name(), files[a].Name()));
    }
  }
  for (const NamedFile& file : files) {
    if (file.role == Role::kReport) RequireWritable(file);
  }
}

}  // namespace gpusort
