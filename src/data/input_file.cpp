#include "data/input_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "formats/record_format.hpp"

namespace gpusort {
namespace {

/// For smaller files, reading through the page cache costs less than waiting for the disk.
constexpr std::uint64_t kDirectMinBytes = std::uint64_t{64} << 20;
constexpr double kMostlyCached = 0.5;

/// The last bytes of the first `size` bytes of a file, and their checksum.
struct FileEnd {
  RecordSum sum;
  std::vector<std::byte> tail;  ///< the bytes that RecordFormat::Ending looks at
};

FileEnd ReadEnd(File& file, std::uint64_t size) {
  constexpr std::uint64_t kBytes = 4096;
  alignas(4096) std::array<std::byte, kBytes + kReadSlack> buffer;
  FileEnd end;
  if (size == 0) return end;
  const std::uint64_t alignment = file.alignment();
  const std::uint64_t from = size - std::min(size, kBytes), begin = from / alignment * alignment;
  const std::uint64_t stop = (size + alignment - 1) / alignment * alignment;
  const std::uint64_t got = std::min(file.ReadAt(begin, std::span(buffer).first(stop - begin)), size - begin);
  const std::span bytes = std::span(buffer).first(got).subspan(std::min(got, from - begin));
  if (bytes.empty()) return end;
  end.sum = SumRecords(bytes, bytes.size());
  const std::span tail = bytes.last(std::min(bytes.size(), RecordFormat::kTailBytes));
  end.tail.assign(tail.begin(), tail.end());
  return end;
}

}  // namespace

InputFile::InputFile(FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)), file_(files.OpenInput(path_, false)), facts_(file_->Facts()) {
  FileEnd end = ReadEnd(*file_, facts_.size);
  last_bytes_ = end.sum;
  tail_ = std::move(end.tail);
}

void InputFile::PreferDirect(std::uint64_t bytes) {
  if (bytes < kDirectMinBytes || files_.CachedShare(*file_) >= kMostlyCached) return;
  std::unique_ptr<File> direct = files_.OpenInput(path_, true);
  direct_ = direct->direct();
  if (direct_) file_ = std::move(direct);
}

std::shared_ptr<File> InputFile::Open() const {
  if (file_) return file_;
  try {
    return files_.OpenInput(path_, direct_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    throw Error(ErrorCode::kBadInput, std::string(error.what()) + "; it was there when the job began");
  }
}

std::uint64_t InputFile::ReadSome(File& file, std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t count = std::min<std::uint64_t>(out.size(), facts_.size - offset);
  const std::uint64_t got = file.ReadAt(offset, out.first(count));
  if (got < count) Shrank(offset + got);
  return got;
}

std::span<std::byte> InputFile::Read(std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> buffer) const {
  const std::shared_ptr<File> file = Open();
  const std::uint64_t alignment = file->alignment();
  const std::uint64_t begin = offset / alignment * alignment;
  const std::uint64_t end = (offset + bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t got = file->ReadAt(begin, buffer.first(end - begin));
  if (got < offset + bytes - begin) Shrank(begin + got);
  return buffer.subspan(offset - begin, bytes);
}

void InputFile::Shrank(std::uint64_t end) const {
  throw Error(ErrorCode::kBadInput, EscapeName(path_) + ": the file shrank while it was read: it ends at " +
                                        std::to_string(end) + ", it had " + std::to_string(facts_.size) +
                                        " bytes when it was opened");
}

InputFile::Change InputFile::FindChange(const FileFacts& now) const {
  if (now.size != facts_.size || now.mtime_ns != facts_.mtime_ns || !now.same_file(facts_)) return Change::kContent;
  if (!now.hides_change(facts_)) return Change::kNone;
  // Renaming the file, or giving it another name, changes its ctime, too.
  const std::optional<FileFacts> named = files_.Identify(path_);
  return named && named->same_file(now) ? Change::kHidden : Change::kNone;
}

void InputFile::VerifyUnchanged() const {
  const std::shared_ptr<File> file = Open();
  const FileFacts now = file->Facts();
  const Change change = FindChange(now);
  if (change == Change::kNone) return;
  if (change == Change::kHidden) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(path_) + ": the file was changed while it was read: its ctime is another, and its " +
                    "mtime was set back or only attributes were set; sort it again when " + "nothing changes it");
  }
  if (now.same_file(facts_) && now.size > facts_.size && ReadEnd(*file, facts_.size).sum == last_bytes_) {
    LogWarn(EscapeName(path_) + ": the file grew while it was read; exactly the " + std::to_string(facts_.size) +
            " bytes seen when it was opened are sorted");
    return;
  }
  throw Error(ErrorCode::kBadInput, EscapeName(path_) + ": the file was " +
                                        (now.size < facts_.size ? "truncated" : "rewritten") + " while it was read");
}

void InputFile::BlameChange(const Error& error) const {
  if (FindChange(Open()->Facts()) == Change::kNone) return;
  throw Error(ErrorCode::kBadInput, EscapeName(path_) + ": the file was changed while it was read: " + error.what());
}

}  // namespace gpusort
