#include "watch/trace.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/report_file.hpp"
#include "base/text.hpp"

namespace gpusort {
namespace {

/// Perfetto groups rows by process. The threads of the job are one process, and each track is another one.
constexpr unsigned kThreadsProcess = 1;
constexpr const char* kTrackNames[kTraceTracks] = {"",    "disk: input", "disk: temp space", "disk: output",
                                                   "bus", "codec",       "GPU stream"};
/// The size of one write to the file.
constexpr std::size_t kFlushBytes = std::size_t{256} << 10;

// Numbers the traces. A trace's address cannot identify it, because addresses are reused.
std::atomic<std::uint64_t> last_trace{0};

}  // namespace

/// The ring buffer of a thread. When the thread ends, the next thread with the same role takes over the ring and its
/// row in the viewer. This matters because each merge of several levels starts new threads.
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

// The file is a JSON array with one event on each line. Objects of class Busy (clock.hpp) add slices, and Pipeline
// names the threads. A slice takes no memory from the heap, and no lock while the ring buffer of its thread has room.
// The thread of a Recorder calls Drain().
Trace::Trace(const std::string& path, std::uint64_t memory, Nanoseconds zero, unsigned cores)
    : id_(++last_trace),
      most_threads_(kOtherThreads + cores),
      buffer_slices_(std::max<std::size_t>(16, memory / most_threads_ / sizeof(TraceSlice))),
      zero_(zero),
      fd_(RequireReport("--trace", path, false)) {
  buffers_.reserve(most_threads_);
  text_ = "[\n";
  PutName("process", kThreadsProcess, 0, "gpusort: threads", 0);
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

void Trace::Enter() noexcept {
  if (Own::OfThread().id != id_) Attach();
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
  // The vector's capacity was reserved, so its elements never move, and none is ever removed.
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = *buffers_[i];
    if (!std::exchange(buffer.named, true)) {
      const bool main = std::strcmp(buffer.role, "main") == 0;
      const std::string name = main ? "main" : fmt::format("{} {}", buffer.role, buffer.index);
      PutName("thread", kThreadsProcess, static_cast<unsigned>(i), name, static_cast<unsigned>(i));
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

/// Writes a slice to the track of its resource. Slices in one row must not overlap, so each goes to the first row that
/// is free when the slice begins. The number of rows is then the number of simultaneous uses. Slices of a GPU's stream
/// go to the row of its lane.
void Trace::Put(const Buffer& buffer, const TraceSlice& slice) {
  const auto track = static_cast<std::size_t>(slice.track);
  if (slice.track == TraceTrack::kNone) return;
  const unsigned process = kThreadsProcess + static_cast<unsigned>(track);
  if (!std::exchange(named_[track], true)) PutName("process", process, 0, kTrackNames[track], process);
  std::vector<Nanoseconds>& rows = rows_[track];
  std::size_t row = 0;
  if (slice.track == TraceTrack::kGpu) {
    row = buffer.index - 1;
  } else {
    while (row < rows.size() && rows[row] > slice.begin) ++row;
  }
  while (row >= rows.size()) {
    const auto next = static_cast<unsigned>(rows.size());
    PutName("thread", process, next, fmt::format("{} {}", kTrackNames[track], next + 1), next);
    rows.push_back(Nanoseconds{0});
  }
  rows[row] = slice.end;
  PutSlice(process, static_cast<unsigned>(row), slice);
}

/// Most of the cost of a trace is its text, so the numbers of slices are not formatted by fmt.
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
  if (slice.number != SliceLabel::kNoNumber) PutNumber(",\"number\":", slice.number);
  if (slice.upload + slice.kernels + slice.download > 0) {
    text_ += fmt::format(R"(,"upload_ms":{:.3f},"kernels_ms":{:.3f},"download_ms":{:.3f})", 1e3F * slice.upload,
                         1e3F * slice.kernels, 1e3F * slice.download);
  }
  text_ += "}}";
}

// Gives a row of the viewer its name. `what` is "process" or "thread". The viewer shows rows in ascending order of
// `place`.
void Trace::PutName(const char* what, unsigned process, unsigned row, std::string_view name, unsigned place) {
  if (std::exchange(begun_, true)) text_ += ",\n";
  text_ += fmt::format(R"({{"ph":"M","pid":{0},"tid":{1},"name":"{2}_name","args":{{"name":"{3}"}}}},
{{"ph":"M","pid":{0},"tid":{1},"name":"{2}_sort_index","args":{{"sort_index":{4}}}}})",
                       process, row, what, name, place);
}

void Trace::AddCounter(std::string_view name, Nanoseconds now, double value) {
  const std::lock_guard lock(file_mutex_);
  text_ += fmt::format(
      ",\n"
      R"({{"ph":"C","pid":{},"name":"{}")",
      kThreadsProcess, name);
  PutTime(",\"ts\":", now - zero_);
  text_ += fmt::format(R"(,"args":{{"value":{:.0f}}}}})", value);
}

void Trace::Flush() {
  if (error_ == 0) error_ = WriteReport(fd_, text_);
  text_.clear();
}

int Trace::End(Nanoseconds now, const std::string& ending) {
  const std::lock_guard lock(file_mutex_);
  DrainAll();
  text_ += fmt::format(
      ",\n"
      R"({{"ph":"i","s":"g","pid":{},"tid":0,"name":"end")",
      kThreadsProcess);
  PutTime(",\"ts\":", now - zero_);
  text_ += fmt::format(R"(,"args":{{"slices":{},"dropped":{},"ended":{}}}}})", slices_, dropped(), ending) + "\n]\n";
  Flush();
  return error_;
}

}  // namespace gpusort
