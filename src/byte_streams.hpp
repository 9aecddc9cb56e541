// Bytes to and from descriptors for the line sorter: whole writes, short reads, and errors in GNU sort's words. Nothing
// spins: what would block is waited for. SIGPIPE must be ignored, so that a closed pipe arrives here. Start at
// ByteSink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "error.hpp"

namespace gpusort {

/// A closed pipe: whoever was started with SIGPIPE as usual ends by it.
class ClosedPipe : public Error {
 public:
  explicit ClosedPipe(const std::string& message) : Error(ErrorCode::kIo, message) {}
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Writes all of it or throws.
  virtual void Write(std::span<const std::byte> data) = 0;
  /// No more follows. What the system held back until now is reported.
  virtual void Close() = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// At least one byte of `out` (not empty), or 0 at the end.
  virtual std::size_t Read(std::span<std::byte> out) = 0;
};

/// Writes to a descriptor, in order.
class FdSink : public ByteSink {
 public:
  /// `name` as QuoteName takes it, or as it is with `quoted`. Closes `fd` if it is `owned`.
  FdSink(int fd, std::string name, bool owned);
  ~FdSink() override;
  FdSink(const FdSink&) = delete;
  FdSink& operator=(const FdSink&) = delete;
  void Write(std::span<const std::byte> data) override;
  void Close() override;
  int fd() const { return fd_; }
  const std::string& name() const { return name_; }

 private:
  int fd_;
  std::string name_;
  bool owned_;
};

/// Reads a descriptor, in order.
class FdSource : public ByteSource {
 public:
  FdSource(int fd, std::string name, bool owned);
  ~FdSource() override;
  FdSource(const FdSource&) = delete;
  FdSource& operator=(const FdSource&) = delete;
  std::size_t Read(std::span<std::byte> out) override;

 private:
  int fd_;
  std::string name_;
  bool owned_;
};

/// pwrite of all of it; FileMessage("write failed") on errors.
void WriteAt(int fd, const std::string& name, std::span<const std::byte> data, std::uint64_t offset);
/// pread; 0 at the end of the file.
std::size_t ReadAt(int fd, const std::string& name, std::span<std::byte> out, std::uint64_t offset);

}  // namespace gpusort
