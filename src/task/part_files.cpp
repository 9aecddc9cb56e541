#include "task/part_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "task/run_file.hpp"

namespace gpusort {
namespace {

OldFile Replacing(bool no_clobber) { return no_clobber ? OldFile::kKeep : OldFile::kReplaceOrRewrite; }

std::unique_ptr<OutputFile> OpenWhole(FileSystem& files, const std::string& output, bool no_clobber) {
  if (output.ends_with('/')) return nullptr;
  std::unique_ptr<OutputFile> file = files.CreateOutput(output, false, Replacing(no_clobber));
  if (!file->in_place().empty()) {
    throw Error(ErrorCode::kUsage,
                EscapeName(output) + " cannot be replaced (" + file->in_place() + "): give another name, or a folder");
  }
  return file;
}

}  // namespace

void PartFailed(const std::string& path, const char* verb) {
  throw Error(errno == ENOSPC || errno == EDQUOT ? ErrorCode::kNoSpace : ErrorCode::kIo,
              EscapeName(path) + ": cannot " + verb + ": " + detail::ErrnoText(errno));
}

std::uint64_t BirthOf(const std::string& path) {
  struct statx facts;
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &facts) != 0 || (facts.stx_mask & STATX_BTIME) == 0) return 0;
  return static_cast<std::uint64_t>(facts.stx_btime.tv_sec) * 1'000'000'000 + facts.stx_btime.tv_nsec;
}

PartFiles::PartFiles(FileSystem& files, const JobSpec& spec, const std::string& output, const TaskCut& cut)
    : files_(files),
      output_(output),
      parts_(cut.parts),
      codec_(spec.target.codec),
      no_clobber_(spec.target.no_clobber),
      whole_(OpenWhole(files, output, no_clobber_)) {
  if (!whole_) return;
  // The name depends on the job, because other jobs write other bytes. The secret number prevents others from making
  // the file first, in a folder where others can write.
  const std::string name = Hex(cut.secret) + std::filesystem::path(whole_->path()).filename().string();
  hidden_ = whole_->directory() + "/.gpusort-" + Hex(HashOf(std::as_bytes(std::span(name)))) + ".parts";
}

std::string PartFiles::PathOf(std::uint64_t part) const {
  if (!own_files()) return hidden_;
  return folder() + PartFileName(part, parts_) + std::string(CodecExtension(codec_));
}

std::unique_ptr<OutputFile> PartFiles::Create(std::uint64_t part) const {
  const std::string directory = WithoutSlashes(folder()), path = PathOf(part);
  // Other users cannot open the hidden folder.
  if (::mkdir(directory.c_str(), apart() ? 0755 : 0700) != 0 && errno != EEXIST) PartFailed(directory, "make it");
  OpenOwnFolder("", directory);
  if (!apart()) return CreateOwn(files_, path);
  RequireOwnFile(path, true);
  return files_.CreateOutput(path, false, Replacing(no_clobber_));
}

detail::Fd PartFiles::OpenShared(std::uint64_t at) const {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  detail::Fd fd(detail::OpenPath(hidden_.c_str(), kFlags));
  if (!fd.open() && errno == ENOENT) {
    fd = detail::Fd(detail::OpenPath(hidden_.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
    if (!fd.open() && errno == EEXIST) fd = detail::Fd(detail::OpenPath(hidden_.c_str(), kFlags));
  }
  if (!fd.open()) PartFailed(hidden_, "open it");
  struct stat facts;
  if (::fstat(fd.get(), &facts) != 0) PartFailed(hidden_, "look at it");
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() || facts.st_nlink != 1 || (facts.st_mode & 077) != 0) {
    throw Error(ErrorCode::kUsage, EscapeName(hidden_) + ": it is no file that only this user can open: remove it");
  }
  if (::lseek(fd.get(), static_cast<off_t>(at), SEEK_SET) < 0) PartFailed(hidden_, "seek in it");
  return fd;
}

bool PartFiles::IsJoined(JobFolder& folder) const {
  if (!joins()) return false;
  const std::optional<TaskPart> first = folder.FindPart(0, parts_);
  return first && IsThere(*first, output_);
}

bool PartFiles::IsRenamed(JobFolder& folder) const {
  if (own_files()) return false;
  for (std::uint64_t number = 0; number < parts_; ++number) {
    const std::optional<TaskPart> part = folder.FindPart(number, parts_);
    if (!part || !IsThere(*part, output_)) return false;
  }
  return true;
}

bool PartFiles::IsThere(const TaskPart& part, const std::string& path) const {
  const std::optional<FileFacts> facts = files_.Identify(path);
  if (!facts || facts->ino != part.inode || facts->size < part.offset + part.bytes) return false;
  // A file that was made later may have the inode number of a removed one.
  const std::uint64_t birth = BirthOf(path);
  return birth == 0 || part.birth_ns == 0 || birth == part.birth_ns;
}

}  // namespace gpusort
