// The files of the program for the libraries of Apache Arrow. Start at SourceFile and SinkFile.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "io/codec/modules/parquet.hpp"
#include "io/codec/row_module.hpp"
#include "kernels/error.hpp"

namespace gpusort {

/// The input for the libraries. An exception of RowFile::read becomes a Status here, and is thrown again afterwards.
class SourceFile : public arrow::io::RandomAccessFile {
 public:
  /// `pool` must outlive the object and the buffers that it gives.
  SourceFile(RowFile file, arrow::MemoryPool* pool) : file_(std::move(file)), pool_(pool) {
    set_mode(arrow::io::FileMode::READ);
  }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return arrow::Status::NotImplemented("Tell"); }
  arrow::Status Seek(std::int64_t) override { return arrow::Status::NotImplemented("Seek"); }
  arrow::Result<std::int64_t> Read(std::int64_t, void*) override { return arrow::Status::NotImplemented("Read"); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t) override {
    return arrow::Status::NotImplemented("Read");
  }
  arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(file_.size); }
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, void* out) override {
    if (position < 0 || bytes < 0 || static_cast<std::uint64_t>(position) > file_.size) {
      return arrow::Status::IOError("it points to byte ", position, " of ", file_.size);
    }
    const std::uint64_t count =
        std::min(static_cast<std::uint64_t>(bytes), file_.size - static_cast<std::uint64_t>(position));
    if (count == 0) return 0;
    try {
      return static_cast<std::int64_t>(
          file_.read(static_cast<std::uint64_t>(position), {static_cast<std::byte*>(out), count}));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      return arrow::Status::IOError("the file cannot be read");
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t bytes) override {
    // A damaged file may ask for more bytes than it has.
    const std::int64_t most = static_cast<std::int64_t>(file_.size) - position;
    ARROW_ASSIGN_OR_RAISE(
        std::shared_ptr<arrow::ResizableBuffer> buffer,
        arrow::AllocateResizableBuffer(std::clamp<std::int64_t>(bytes, 0, std::max<std::int64_t>(most, 0)), pool_));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(position, buffer->size(), buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return buffer;
  }

  /// Reads at once. A thread of the libraries could keep the buffer longer than `pool_` exists.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, std::int64_t position,
                                                          std::int64_t bytes) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, bytes));
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext& context, std::int64_t position,
                                                          std::int64_t bytes, bool) override {
    return ReadAsync(context, position, bytes);
  }

  std::uint64_t size() const { return file_.size; }
  void RethrowFailure() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const RowFile file_;
  arrow::MemoryPool* const pool_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// The output for the libraries. An exception of the sink becomes a Status here, and is thrown again afterwards, maybe
/// by another thread. Only one thread at a time may write.
class SinkFile : public arrow::io::OutputStream {
 public:
  explicit SinkFile(std::function<void(std::span<const std::byte>)> sink) : sink_(std::move(sink)) {
    set_mode(arrow::io::FileMode::WRITE);
  }

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return written_; }
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (failed_) return arrow::Status::IOError("the output is given up");
    try {
      if (bytes > 0) sink_({static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)});
    } catch (...) {
      failure_ = std::current_exception();
      failed_ = true;
      return arrow::Status::IOError("the output cannot be written");
    }
    written_ += bytes;
    return arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;

  void RethrowFailure() {
    if (failed_) std::rethrow_exception(failure_);
  }

 private:
  const std::function<void(std::span<const std::byte>)> sink_;
  std::int64_t written_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};  ///< true: `failure_` is set, and stays as it is
};

/// Runs a step of the libraries for an output of the format `title`. If the sink has failed, throws the exception of
/// the sink. Throws Error(kIo) if the step has failed otherwise.
template <typename Step>
void RunForOutput(const char* title, SinkFile& out, Step step) {
  try {
    Guarded(step, [] { return std::string(); });
  } catch (const Refusal& refusal) {
    out.RethrowFailure();
    throw Error(ErrorCode::kIo, std::string("the ") + title + " output cannot be encoded: " + refusal.why);
  }
}

}  // namespace gpusort
