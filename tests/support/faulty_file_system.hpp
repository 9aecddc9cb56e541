// A file system in which the n-th call of a kind fails, is cut short, is lost or is damaged, once or every time. The
// faults happen in the system calls that File makes, so that tests also cover File's own loops and error messages.
// Count returns how many calls a job without faults makes, so that a test can loop over every n. Start at
// FaultyFileSystem::Add.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/file.hpp"

namespace gpusort {

/// The kinds of calls, each counted from 1. kSync counts files and directories; kOpen also counts temporary files,
/// output files and directories.
enum class Call {
  kOpen,
  kDirect,
  kRead,
  kWrite,
  kSync,
  kWriteBack,
  kTruncate,
  kAllocate,
  kDeallocate,
  kLink,
  kRename,
  kUnlink
};
inline constexpr std::size_t kCallKinds = 12;

enum class Effect {
  kError,    ///< returns -1 with errno `value`
  kShort,    ///< a read or write moves only about half of the bytes (`value` bytes if it is not 0)
  kLost,     ///< a write claims success and writes nothing
  kFlipBit,  ///< inverts bit `value` of the bytes read or written (modulo their number)
};

struct Fault {
  Call call = Call::kRead;
  std::uint64_t nth = 1;
  bool for_ever = false;  ///< whether the fault also applies to every later call
  Effect effect = Effect::kError;
  std::uint64_t value = 0;  ///< the argument of `effect`; as an errno, 0 means EIO
};

class FaultyCalls : public SystemCalls {
 public:
  void Add(const Fault& fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(fault);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
    counts_ = {};
  }
  std::uint64_t Count(Call call) const {
    const std::lock_guard lock(mutex_);
    return counts_[static_cast<std::size_t>(call)];
  }
  void SetFreeSpace(std::optional<std::uint64_t> bytes) {
    const std::lock_guard lock(mutex_);
    free_space_ = bytes;
  }

  int Open(int directory, const char* path, int flags, unsigned mode) override {
    return Fails(Call::kOpen) ? -1 : SystemCalls::Open(directory, path, flags, mode);
  }
  int SetDirect(int fd) override { return Fails(Call::kDirect) ? -1 : SystemCalls::SetDirect(fd); }
  ssize_t Read(int fd, std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    const std::optional<Fault> fault = Next(Call::kRead);
    if (!fault) return SystemCalls::Read(fd, data, bytes, offset);
    if (fault->effect == Effect::kError) return Set(fault->value);
    const ssize_t got = SystemCalls::Read(fd, data, bytes, offset);
    if (fault->effect == Effect::kShort && got > 0) {
      return std::min(got, static_cast<ssize_t>(Short(bytes, fault->value)));
    }
    if (fault->effect == Effect::kFlipBit && got > 0) Flip(data, static_cast<std::size_t>(got), fault->value);
    return got;
  }
  ssize_t Write(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    const std::optional<Fault> fault = Next(Call::kWrite);
    if (!fault) return SystemCalls::Write(fd, data, bytes, offset);
    if (fault->effect == Effect::kError) return Set(fault->value);
    if (fault->effect == Effect::kShort) {
      // The kernel writes whole pages in a direct write, even if the call reports fewer bytes.
      const std::size_t count = Short(bytes, fault->value);
      const bool direct = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0;
      const std::size_t moved = direct ? std::min(bytes, (count + kPage - 1) / kPage * kPage) : count;
      return std::min(SystemCalls::Write(fd, data, moved, offset), static_cast<ssize_t>(count));
    }
    if (fault->effect == Effect::kLost) return static_cast<ssize_t>(bytes);
    // A direct write needs a copy with the alignment of the original.
    std::vector<std::byte> room(bytes + kPage);
    std::byte* copy = room.data() + (kPage - reinterpret_cast<std::uintptr_t>(room.data()) % kPage) % kPage;
    std::copy(data, data + bytes, copy);
    Flip(copy, bytes, fault->value);
    return SystemCalls::Write(fd, copy, bytes, offset);
  }
  /// Always fails, so that all data pass through Write, where faults happen.
  bool CopyToPages(int, const std::byte*, std::size_t, std::uint64_t) override { return false; }
  int Sync(int fd) override { return Fails(Call::kSync) ? -1 : SystemCalls::Sync(fd); }
  void WriteBack(int fd, std::uint64_t offset, std::uint64_t bytes) override {
    if (!Fails(Call::kWriteBack)) SystemCalls::WriteBack(fd, offset, bytes);
  }
  int Truncate(int fd, std::uint64_t size) override {
    return Fails(Call::kTruncate) ? -1 : SystemCalls::Truncate(fd, size);
  }
  int Allocate(int fd, std::uint64_t begin, std::uint64_t end) override {
    return Fails(Call::kAllocate) ? -1 : SystemCalls::Allocate(fd, begin, end);
  }
  int Deallocate(int fd, std::uint64_t begin, std::uint64_t end) override {
    return Fails(Call::kDeallocate) ? -1 : SystemCalls::Deallocate(fd, begin, end);
  }
  int Link(int fd, int directory, const char* name) override {
    return Fails(Call::kLink) ? -1 : SystemCalls::Link(fd, directory, name);
  }
  int Rename(int directory, const char* from, const char* to) override {
    return Fails(Call::kRename) ? -1 : SystemCalls::Rename(directory, from, to);
  }
  int RenameNew(int directory, const char* from, const char* to) override {
    return Fails(Call::kRename) ? -1 : SystemCalls::RenameNew(directory, from, to);
  }
  int Unlink(int directory, const char* name) override {
    return Fails(Call::kUnlink) ? -1 : SystemCalls::Unlink(directory, name);
  }
  int FreeSpace(const char* directory, std::uint64_t* bytes) override {
    const std::lock_guard lock(mutex_);
    if (!free_space_) return SystemCalls::FreeSpace(directory, bytes);
    *bytes = *free_space_;
    return 0;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kSector = 512;

  static int Set(std::uint64_t error) {
    errno = error != 0 ? static_cast<int>(error) : EIO;
    return -1;
  }
  /// Returns the number of bytes that a short transfer moves. If the transfer may be direct, this is a multiple of
  /// pages or sectors, as it is for devices.
  static std::size_t Short(std::size_t bytes, std::uint64_t wanted) {
    if (wanted != 0) return std::min<std::size_t>(bytes, wanted);
    for (const std::size_t unit : {kPage, kSector}) {
      if (bytes % unit == 0) return std::max<std::size_t>(bytes / 2 / unit * unit, std::min(bytes, unit));
    }
    return std::max<std::size_t>(bytes / 2, 1);
  }
  static void Flip(std::byte* data, std::size_t bytes, std::uint64_t bit) {
    if (bytes > 0) data[bit / 8 % bytes] ^= static_cast<std::byte>(1u << bit % 8);
  }
  std::optional<Fault> Next(Call call) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t n = ++counts_[static_cast<std::size_t>(call)];
    for (const Fault& fault : faults_) {
      if (fault.call == call && (fault.nth == n || (fault.for_ever && fault.nth < n))) return fault;
    }
    return std::nullopt;
  }
  bool Fails(Call call) {
    const std::optional<Fault> fault = Next(call);
    if (fault) Set(fault->value);
    return fault.has_value();
  }

  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::array<std::uint64_t, kCallKinds> counts_{};
  std::optional<std::uint64_t> free_space_;
};

class FaultyFileSystem : public FileSystem {
 public:
  FaultyFileSystem() : FaultyFileSystem(std::make_shared<FaultyCalls>()) {}

  /// Adds a fault. If several faults match a call, the first one applies.
  void Add(const Fault& fault) { calls_->Add(fault); }
  void Fail(Call call, std::uint64_t nth, int error) { Add({call, nth, false, Effect::kError, AsValue(error)}); }
  void FailFrom(Call call, std::uint64_t nth, int error) { Add({call, nth, true, Effect::kError, AsValue(error)}); }
  /// Forgets all faults and counts.
  void Clear() { calls_->Clear(); }
  std::uint64_t Count(Call call) const { return calls_->Count(call); }
  /// Sets the free space that every directory reports. std::nullopt restores the real value.
  void SetFreeSpace(std::optional<std::uint64_t> bytes) { calls_->SetFreeSpace(bytes); }

 private:
  explicit FaultyFileSystem(std::shared_ptr<FaultyCalls> calls) : FileSystem(calls), calls_(std::move(calls)) {}
  static std::uint64_t AsValue(int error) { return static_cast<std::uint64_t>(error); }

  std::shared_ptr<FaultyCalls> calls_;
};

}  // namespace gpusort
