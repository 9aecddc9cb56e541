#include "io/spill.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/output_file.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

/// The first 64 bytes of a block, little-endian; FORMAT.md has the same table.
struct Header {
  char magic[8];
  std::uint16_t version;
  std::uint16_t codec;
  std::uint32_t file;
  std::uint64_t job;
  std::uint64_t run;
  std::uint64_t number;
  std::uint64_t payload_bytes;
  std::uint64_t offset;
  std::uint64_t checksum;
};
static_assert(sizeof(Header) == kSpillHeaderBytes && std::is_trivially_copyable_v<Header>);
static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[8] = {'g', 'p', 'u', 's', 'p', 'i', 'l', 'l'};
constexpr std::uint16_t kVersion = 2;

std::uint64_t WholeBytes(std::uint64_t payload_bytes) {
  return (kSpillHeaderBytes + payload_bytes + kSpillAlignment - 1) / kSpillAlignment * kSpillAlignment;
}

/// Returns the hash of the payload, seeded with the hash of the header without its checksum.
std::uint64_t Checksum(const Header& header, const std::byte* payload) {
  return XXH3_64bits_withSeed(payload, header.payload_bytes, XXH3_64bits(&header, offsetof(Header, checksum)));
}

void CheckBuffer(std::span<const std::byte> block, std::uint64_t payload_bytes, std::uint64_t capacity) {
  if (payload_bytes > capacity || block.size() < WholeBytes(payload_bytes) ||
      reinterpret_cast<std::uintptr_t>(block.data()) % kSpillAlignment != 0) {
    throw Error(ErrorCode::kInternal, "a spill buffer of " + std::to_string(block.size()) + " bytes does not suit " +
                                          std::to_string(payload_bytes) + " bytes of records");
  }
}

}  // namespace

SpillStore::SpillStore(FileSystem& files, std::vector<std::string> directories, std::uint64_t block_bytes, bool direct,
                       std::function<void()> before_use, std::optional<NamedSpill> named, std::size_t files_each)
    : files_(files),
      block_bytes_(block_bytes),
      direct_(direct),
      named_(std::move(named)),
      files_each_(files_each),
      job_(named_ ? named_->job : detail::RandomNumber()),
      before_use_(std::move(before_use)) {
  if (directories.empty() || block_bytes == 0 || block_bytes % kSpillAlignment != 0) {
    throw Error(ErrorCode::kInternal, "a spill of " + std::to_string(directories.size()) +
                                          " directories with blocks of " + std::to_string(block_bytes) + " bytes");
  }
  for (std::string& path : directories) directories_.emplace_back().path = std::move(path);
}

// The kernel frees the space of a file when it is closed, which takes 0.1 s for a gigabyte. On the CPU little is left,
// because the last merge frees what it has read.
SpillStore::~SpillStore() {
  constexpr std::uint64_t kMany = std::uint64_t{64} << 20;
  Threads closers;
  for (Directory& directory : directories_) {
    for (std::unique_ptr<File>& file : directory.files) {
      if (taken_ >= kMany && StartThread(closers, [&file] { file.reset(); }).empty()) continue;
      file.reset();
    }
  }
}

SpillStore::Place SpillStore::Where(const Directory& directory, std::uint64_t offset) const {
  const std::uint64_t files = directory.files.size(), slot = offset / block_bytes_;
  if (files == 0) return {};
  return {directory.files[slot % files].get(), slot / files * block_bytes_};
}

void SpillStore::OpenFiles(Directory& directory) {
  if (before_use_) before_use_();
  before_use_ = nullptr;
  if (named_) {
    OpenNamed(directory, true);
    return;
  }
  bool direct = direct_;
  std::unique_ptr<File> first = files_.OpenTemp(directory.path, direct);
  // The device needs a larger alignment than kSpillAlignment.
  if (kSpillAlignment % first->alignment() != 0) first = files_.OpenTemp(directory.path, direct = false);
  directory.files.push_back(std::move(first));
  try {
    while (directory.files.size() < files_each_) directory.files.push_back(files_.OpenTemp(directory.path, direct));
  } catch (const Error&) {
    directory.files.resize(1);  // other parts of the job need the last file descriptors
  }
}

bool SpillStore::OpenNamed(Directory& directory, bool create) {
  const std::string path = directory.path + "/" + named_->name;
  std::unique_ptr<File> file;
  for (const bool direct : {direct_, false}) {
    file = files_.OpenNamed(path, direct, create);
    if (!file) return false;
    if (kSpillAlignment % file->alignment() == 0) break;
  }
  directory.files.push_back(std::move(file));
  return true;
}

void SpillStore::Claim(const SpillExtent& extent) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kIntegrity, "a block of a run that is kept, " + std::to_string(extent.payload_bytes) +
                                           " bytes at " + std::to_string(extent.offset) + why);
  };
  if (extent.file >= directories_.size()) refuse(" of a directory that is not known");
  Directory& directory = directories_[extent.file];
  const std::string in = " of " + directory.path + "/" + named_->name;
  if (directory.files.empty() && !OpenNamed(directory, false)) refuse(in + ": the file is missing");
  const std::uint64_t size = directory.files.front()->Facts().size;
  if (extent.offset % block_bytes_ != 0 || extent.payload_bytes > payload_capacity()) refuse(in + ": it cannot be");
  const std::uint64_t bytes = WholeBytes(extent.payload_bytes);
  if (extent.offset > size || bytes > size - extent.offset) {
    refuse(in + ": the file ends at " + std::to_string(size));
  }
  const std::uint64_t slot = extent.offset / block_bytes_;
  if (slot >= directory.most.size()) directory.most.resize(slot + 1);
  if (directory.most[slot] != 0) refuse(in + ": another block is there, too");
  directory.most[slot] = bytes;
  directory.end = directory.most.size() * block_bytes_;
  in_use_ += bytes;
  taken_ += bytes;
  peak_ = taken_;
}

void SpillStore::FreeUnclaimed() {
  for (Directory& directory : directories_) {
    if (directory.files.empty() && !OpenNamed(directory, false)) continue;
    File& file = *directory.files.front();
    file.Truncate(directory.end);
    for (std::uint64_t slot = 0; slot < directory.most.size(); ++slot) {
      if (directory.most[slot] != 0) continue;
      const std::uint64_t offset = slot * block_bytes_;
      directory.holes = directory.holes && file.Deallocate(offset, block_bytes_);
      directory.free.push_back(offset);
    }
  }
}

void SpillStore::Sync() {
  // Only one thread syncs at a time: if two threads waited, the kernel would report a lost write to only one of them.
  const std::lock_guard sync_lock(sync_mutex_);
  if (sync_failure_) std::rethrow_exception(sync_failure_);
  try {
    for (Directory& directory : directories_) {
      File* file = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (!directory.files.empty()) file = directory.files.front().get();  // a file with a name is the only one
      }
      if (file == nullptr) continue;
      file->Sync();
      if (std::exchange(directory.named, true)) continue;
      files_.SyncDirectory(directory.path);
    }
  } catch (...) {
    sync_failure_ = std::current_exception();
    throw;
  }
}

/// Takes a slot for a block. Prefers a freed slot of any directory to new space, so that the files stay as small as
/// possible. Skips the directories marked in `tried`, and marks the directory of the slot. Returns false if no
/// directory is left.
bool SpillStore::TakeSlot(std::vector<bool>& tried, Slot* slot) {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::uint32_t>(directories_.size());
  for (const bool fresh : {false, true}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t index = (next_ + i) % count;
      Directory& directory = directories_[index];
      if (tried[index] || (fresh ? !directory.full.empty() : directory.free.empty())) continue;
      if (directory.files.empty()) {
        try {
          OpenFiles(directory);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::kNoSpace) throw;
          directory.full = error.what();
          continue;
        }
      }
      next_ = (index + 1) % count;
      tried[index] = true;
      *slot = {index, directory.end, {}};
      if (fresh) {
        directory.end += block_bytes_;
        directory.most.push_back(0);
      } else {
        slot->offset = directory.free.back();
        directory.free.pop_back();
      }
      slot->place = Where(directory, slot->offset);
      return true;
    }
  }
  return false;
}

SpillExtent SpillStore::Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> block,
                              std::uint64_t payload_bytes, Codec codec) {
  CheckBuffer(block, payload_bytes, payload_capacity());
  const std::uint64_t bytes = WholeBytes(payload_bytes);
  std::memset(block.data() + kSpillHeaderBytes + payload_bytes, 0, bytes - kSpillHeaderBytes - payload_bytes);
  std::vector<bool> tried(directories_.size());
  Slot slot;
  while (TakeSlot(tried, &slot)) {
    Header header = {
        {},          kVersion, static_cast<std::uint16_t>(codec), slot.directory, job_, run, number, payload_bytes,
        slot.offset, 0};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.checksum = Checksum(header, block.data() + kSpillHeaderBytes);
    std::memcpy(block.data(), &header, sizeof header);
    try {
      slot.place.file->WriteAt(slot.place.offset, block.first(bytes));
      if (named_) slot.place.file->WriteBack(slot.place.offset, bytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNoSpace) throw;
      // The slot is lost: if it were free again, every later write would try it in vain.
      const std::lock_guard lock(mutex_);
      directories_[slot.directory].full = error.what();
      continue;
    }
    const std::lock_guard lock(mutex_);
    in_use_ += bytes;
    written_ += bytes;
    std::uint64_t& most = directories_[slot.directory].most[slot.offset / block_bytes_];
    taken_ += std::max(most, bytes) - most;
    peak_ = std::max(peak_, taken_);
    most = std::max(most, bytes);
    return {slot.directory, payload_bytes, slot.offset, codec};
  }
  FailNoSpace(bytes);
}

std::uint64_t SpillStore::Read(const SpillExtent& extent, std::uint64_t run, std::uint64_t number,
                               std::span<std::byte> block) {
  CheckBuffer(block, extent.payload_bytes, payload_capacity());
  Place place;
  {
    const std::lock_guard lock(mutex_);
    if (extent.file < directories_.size()) place = Where(directories_[extent.file], extent.offset);
  }
  if (place.file == nullptr) throw Error(ErrorCode::kInternal, "a spill extent of another store");

  const std::span<std::byte> out = block.first(WholeBytes(extent.payload_bytes));
  std::uint64_t got = 0;
  try {
    got = place.file->ReadAt(place.offset, out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo) throw;
    // Reads once more, because some device errors are temporary.
    got = place.file->ReadAt(place.offset, out);
  }
  if (got < out.size()) {
    FailIntegrity(extent,
                  "the file ends after " + std::to_string(got) + " of " + std::to_string(out.size()) + " bytes");
  }

  Header header;
  std::memcpy(&header, out.data(), sizeof header);
  const auto require = [&](const char* what, std::uint64_t found, std::uint64_t expected) {
    if (found == expected) return;
    FailIntegrity(extent,
                  std::string(what) + " is " + std::to_string(found) + ", expected " + std::to_string(expected));
  };
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) FailIntegrity(extent, "there is no spilled block");
  require("the format version", header.version, kVersion);
  require("the codec", header.codec, static_cast<std::uint64_t>(extent.codec));
  require("the job", header.job, job_);
  require("the file number", header.file, extent.file);
  require("the offset", header.offset, extent.offset);
  require("the run", header.run, run);
  require("the block number", header.number, number);
  require("the length", header.payload_bytes, extent.payload_bytes);
  require("the checksum", header.checksum, Checksum(header, out.data() + kSpillHeaderBytes));
  return extent.payload_bytes;
}

void SpillStore::Free(const SpillExtent& extent) {
  Place place;
  {
    const std::lock_guard lock(mutex_);
    Directory& directory = directories_.at(extent.file);
    if (directory.holes) place = Where(directory, extent.offset);
  }
  // The next block in this slot may be longer. Without a hole, the file would grow to a whole slot for every short
  // block.
  const bool hole = place.file != nullptr && place.file->Deallocate(place.offset, block_bytes_);
  const std::lock_guard lock(mutex_);
  Directory& directory = directories_.at(extent.file);
  directory.holes = hole;
  if (hole) taken_ -= std::exchange(directory.most[extent.offset / block_bytes_], 0);
  directory.free.push_back(extent.offset);
  in_use_ -= WholeBytes(extent.payload_bytes);
}

std::uint64_t SpillStore::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::uint64_t SpillStore::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

std::uint64_t SpillStore::written_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

void SpillStore::FailNoSpace(std::uint64_t bytes) const {
  std::string message = "no space for temporary runs: needed " + std::to_string(bytes) + " bytes more";
  const std::lock_guard lock(mutex_);
  for (const Directory& directory : directories_) message += "; " + directory.full;
  throw SystemError(ErrorCode::kNoSpace, message + "; or give another directory with --temp-dir", ENOSPC,
                    SystemError::Verb::kWrite, directories_.front().path);
}

void SpillStore::FailIntegrity(const SpillExtent& extent, const std::string& why) const {
  const std::string& path = directories_[extent.file].path;
  const std::string file = named_ ? " " + path + "/" + named_->name : " in " + path;
  throw Error(ErrorCode::kIntegrity,
              "damaged temporary file" + file + " at " + std::to_string(extent.offset) + ": " + why);
}

std::vector<std::string> TempDirectories(const std::vector<std::string>& asked, const OutputFile* output) {
  if (!asked.empty()) return asked;
  const char* const configured = std::getenv("TMPDIR");
  if (configured != nullptr && configured[0] != '\0') return {configured};
  const bool writable =
      output != nullptr && ::faccessat(AT_FDCWD, output->directory().c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  return {writable ? output->directory() : "/var/tmp"};
}

void CheckTempDirectory(const std::string& directory) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kUsage, "temporary directory " + directory + ": " + why);
  };
  struct stat st;
  if (::stat(directory.c_str(), &st) != 0) refuse(detail::ErrnoText(errno));
  if (!S_ISDIR(st.st_mode)) refuse("it is not a directory");
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) refuse(detail::ErrnoText(errno));
}

void RequireSpace(FileSystem& files, const std::vector<std::string>& directories, std::uint64_t needed_bytes,
                  std::string_view what) {
  std::set<std::uint64_t> devices;
  std::uint64_t free = 0;
  std::string list;
  for (const std::string& directory : directories) {
    const std::uint64_t here = files.FreeSpace(directory);
    const std::optional<FileFacts> facts = files.Identify(directory);
    list += ", free in " + directory + ": " + detail::SpaceText(here);
    if (facts && !devices.insert(facts->dev).second) continue;
    free += std::min(here, UINT64_MAX - free);
  }
  if (free >= needed_bytes) return;
  throw Error(ErrorCode::kNoSpace,
              "no space for " + std::string(what) + ": needed " + std::to_string(needed_bytes) + " bytes" + list +
                  "; give more or other folders with --temp-dir, or start anyway with --no-space-check");
}

}  // namespace gpusort
