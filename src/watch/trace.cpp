#include "watch/trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "base/report_file.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Perfetto shows rows by processes. The job's threads are one, the resources that they use are others.
constexpr unsigned kThreadsProcess = 1;
constexpr const char* kTrackNames[kTraceTracks] = {"",    "disk: input", "disk: temp space", "disk: output",
                                                   "bus", "codec",       "GPU stream"};
/// As much is written at once.
constexpr std::size_t kFlushBytes = std::size_t{256} << 10;

// Which trace a thread's buffer is of: addresses are used again.
std::atomic<std::uint64_t> last_trace{0};

int OpenTrace(const std::string& path) {
  const int fd = OpenReport(path, false);
  if (fd >= 0) return fd;
  throw Error(ErrorCode::kUsage,
              "--trace: cannot open '" + EscapeName(path) + "': " + std::generic_category().message(errno));
}

}  // namespace

/// A thread's buffer, which the next thread of its role may have when this one ends.
struct Trace::Own {
  std::uint64_t id = 0;
  std::shared_ptr<Buffer> buffer;

  Own() = default;
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;
  ~Own() { Leave(); }
  void Leave() {
    if (buffer) buffer->in_use.store(false, std::memory_order_release);
    buffer.reset();
  }
  static Own& OfThread() {
    thread_local Own own;
    return own;
  }
};

Trace::Trace(const std::string& path, std::uint64_t memory, Nanoseconds zero, unsigned cores)
    : id_(++last_trace),
      most_threads_(kOtherThreads + cores),
      buffer_slices_(std::max<std::size_t>(16, memory / most_threads_ / sizeof(TraceSlice))),
      zero_(zero),
      fd_(OpenTrace(path)) {
  buffers_.reserve(most_threads_);
  text_ = "[\n";
  PutName("process_name", kThreadsProcess, 0, "gpusort: threads", 0);
}

Trace::~Trace() { ::close(fd_); }

Trace::Buffer* Trace::Attach() noexcept try {
  Own& own = Own::OfThread();
  own.Leave();
  own.id = id_;
  const std::lock_guard lock(mutex_);
  unsigned index = 1;
  for (const std::shared_ptr<Buffer>& buffer : buffers_) {
    if (std::strcmp(buffer->role, thread_role) != 0) continue;
    ++index;
    if (buffer->in_use.load(std::memory_order_acquire)) continue;
    buffer->in_use = true;
    own.buffer = buffer;
    return own.buffer.get();
  }
  if (buffers_.size() == most_threads_) return nullptr;
  const auto buffer = std::make_shared<Buffer>();
  buffer->slices = std::make_unique<TraceSlice[]>(buffer_slices_);
  buffer->size = buffer_slices_;
  buffer->role = thread_role;
  buffer->index = index;
  buffers_.push_back(buffer);
  own.buffer = buffer;
  return own.buffer.get();
} catch (...) {
  return nullptr;
}

void Trace::Add(const TraceSlice& slice) noexcept {
  Own& own = Own::OfThread();
  Buffer* const buffer = own.id == id_ ? own.buffer.get() : Attach();
  if (buffer == nullptr) {
    ++dropped_;
    return;
  }
  const std::uint64_t added = buffer->added.load(std::memory_order_relaxed);
  const auto used = [&] { return added - buffer->taken.load(std::memory_order_acquire); };
  if (used() >= buffer->size / 2) waiting_.store(true, std::memory_order_relaxed);
  if (used() == buffer->size) {
    try {
      Drain();
    } catch (...) {
      ++dropped_;
      return;
    }
  }
  buffer->slices[added % buffer->size] = slice;
  buffer->added.store(added + 1, std::memory_order_release);
}

const char* Trace::Name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return names_.insert(name).first->c_str();
}

void Trace::Drain() {
  const std::lock_guard lock(file_mutex_);
  DrainAll();
}

void Trace::DrainAll() {
  waiting_.store(false, std::memory_order_relaxed);
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    count = buffers_.size();
  }
  // Never fewer, and never moved: their places were reserved.
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = *buffers_[i];
    if (!std::exchange(buffer.named, true)) {
      const std::string name = std::strcmp(buffer.role, "main") == 0
                                   ? "main"
                                   : std::string(buffer.role) + " " + std::to_string(buffer.index);
      PutName("thread_name", kThreadsProcess, static_cast<unsigned>(i), name, static_cast<unsigned>(i));
    }
    const std::uint64_t added = buffer.added.load(std::memory_order_acquire);
    for (std::uint64_t at = buffer.taken.load(std::memory_order_relaxed); at < added; ++at) {
      const TraceSlice slice = buffer.slices[at % buffer.size];
      buffer.taken.store(at + 1, std::memory_order_release);
      PutSlice(kThreadsProcess, static_cast<unsigned>(i), slice);
      Put(buffer, slice);
      ++slices_;
      if (text_.size() >= kFlushBytes) Flush();
    }
  }
  Flush();
}

/// On the track of what it uses. Slices of several threads overlap, and those of a row must not: each goes to the first
/// row that is free then, so that there are as many rows as were used at once. A GPU's stream is its lane's.
void Trace::Put(const Buffer& buffer, const TraceSlice& slice) {
  const auto track = static_cast<std::size_t>(slice.track);
  if (slice.track == TraceTrack::kNone) return;
  const unsigned process = kThreadsProcess + static_cast<unsigned>(track);
  if (!std::exchange(named_[track], true)) PutName("process_name", process, 0, kTrackNames[track], process);
  std::vector<Nanoseconds>& rows = rows_[track];
  std::size_t row = 0;
  if (slice.track == TraceTrack::kGpu) {
    row = buffer.index - 1;
  } else {
    while (row < rows.size() && rows[row] > slice.begin) ++row;
  }
  while (row >= rows.size()) {
    const auto next = static_cast<unsigned>(rows.size());
    PutName("thread_name", process, next, std::string(kTrackNames[track]) + " " + std::to_string(next + 1), next);
    rows.push_back(Nanoseconds{0});
  }
  rows[row] = slice.end;
  PutSlice(process, static_cast<unsigned>(row), slice);
}

/// Most of what a trace costs is its text, so numbers are not printf's.
void Trace::PutNumber(const char* front, std::uint64_t number) {
  std::array<char, 20> digits;
  text_ += front;
  text_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

void Trace::PutTime(const char* front, Nanoseconds time) {
  const auto count = static_cast<std::uint64_t>(std::max(time, Nanoseconds{0}).count());
  PutNumber(front, count / 1000);
  text_ += '.';
  for (const unsigned unit : {100u, 10u, 1u}) text_ += static_cast<char>('0' + count / unit % 10);
}

void Trace::PutSlice(unsigned process, unsigned row, const TraceSlice& slice) {
  PutNumber(",\n{\"ph\":\"X\",\"pid\":", process);
  PutNumber(",\"tid\":", row);
  text_ += process == kThreadsProcess ? ",\"cat\":\"thread\",\"name\":\"" : ",\"cat\":\"resource\",\"name\":\"";
  text_ += slice.name;
  PutTime("\",\"ts\":", slice.begin - zero_);
  PutTime(",\"dur\":", slice.end - slice.begin);
  PutNumber(",\"args\":{\"bytes\":", slice.bytes);
  if (slice.number != Mark::kNoNumber) PutNumber(",\"number\":", slice.number);
  if (slice.upload + slice.kernels + slice.download > 0) {
    std::array<char, 192> part{};
    std::snprintf(part.data(), part.size(), ",\"upload_ms\":%.3f,\"kernels_ms\":%.3f,\"download_ms\":%.3f",
                  1e3 * static_cast<double>(slice.upload), 1e3 * static_cast<double>(slice.kernels),
                  1e3 * static_cast<double>(slice.download));
    text_ += part.data();
  }
  text_ += "}}";
}

void Trace::PutName(const char* what, unsigned process, unsigned row, std::string_view name, unsigned place) {
  if (std::exchange(begun_, true)) text_ += ",\n";
  const std::string where = "\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(row);
  const bool of_process = std::string_view(what) == "process_name";
  text_ += "{\"ph\":\"M\"," + where + ",\"name\":\"" + what + "\",\"args\":{\"name\":\"" + std::string(name) +
           "\"}},\n" + "{\"ph\":\"M\"," + where + ",\"name\":\"" +
           (of_process ? "process_sort_index" : "thread_sort_index") +
           "\",\"args\":{\"sort_index\":" + std::to_string(place) + "}}";
}

void Trace::AddCounter(std::string_view name, Nanoseconds now, double value) {
  const std::lock_guard lock(file_mutex_);
  std::array<char, 64> number{};
  std::snprintf(number.data(), number.size(), ",\"args\":{\"value\":%.0f}}", value);
  text_ += ",\n{\"ph\":\"C\",\"pid\":" + std::to_string(kThreadsProcess) + ",\"name\":\"" + std::string(name) + "\"";
  PutTime(",\"ts\":", now - zero_);
  text_ += number.data();
}

void Trace::Flush() {
  if (error_ == 0) error_ = WriteReport(fd_, text_);
  text_.clear();
}

int Trace::End(Nanoseconds now, const std::string& ending) {
  const std::lock_guard lock(file_mutex_);
  DrainAll();
  text_ += ",\n{\"ph\":\"i\",\"s\":\"g\",\"pid\":" + std::to_string(kThreadsProcess) + ",\"tid\":0,\"name\":\"end\"";
  PutTime(",\"ts\":", now - zero_);
  text_ += ",\"args\":{\"slices\":" + std::to_string(slices_) + ",\"dropped\":" + std::to_string(dropped_) +
           ",\"ended\":" + ending + "}}\n]\n";
  Flush();
  return error_;
}

}  // namespace gpusort
