#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "data/inputs.hpp"
#include "formats/input_place.hpp"
#include "formats/keyed_record.hpp"
#include "formats/table_format.hpp"
#include "formats/value_place.hpp"
#include "io/output_file.hpp"
#include "kernels/records/records.hpp"
#include "runs/gap_filler.hpp"
#include "runs/part_borders.hpp"
#include "runs/sinks.hpp"
#include "runs/sinks/chunk.hpp"
#include "runs/sinks/groups.hpp"
#include "runs/sinks/sets.hpp"

namespace gpusort {
namespace {

bool HasSums(const JobSpec& spec) {
  return spec.source.table && std::ranges::any_of(spec.source.table->keys, &ColumnKey::summed);
}

/// Removes the sort keys and marks from keyed records that have marks (formats/value_place.hpp). Works in place. The
/// returned span is the beginning of `records`.
std::span<std::byte> DropKeysAndMarks(std::span<std::byte> records, const RecordLayout& layout) {
  std::byte* to = records.data();
  std::vector<std::byte> scratch;
  ForEachRecord(records, layout, [&](RecordSpan keyed) {
    const RecordSpan record = MarkedRecord(OwnBytes(keyed, layout, scratch)).record;
    std::memmove(to, record.data(), record.size());
    to += record.size();
  });
  return records.first(static_cast<std::size_t>(to - records.data()));
}

/// The last stage, which writes windows to the output. The caller passes windows in output order. Put() may return
/// before the records are written.
class OutputWriter {
 public:
  virtual ~OutputWriter() = default;
  virtual void Begin(std::span<const std::byte> header) = 0;
  virtual void Put(const std::shared_ptr<Chunks>& chunks) = 0;
  /// Tells the writer that a window of `bytes` bytes comes, of which Put() will write a part. A file on a tmpfs gets
  /// its pages then, while workers change the window. Another thread than that of Put() may call this.
  virtual void Expect(std::uint64_t) {}
  virtual void End(std::span<const std::byte>) {}
  /// Returns the size of the output so far.
  virtual std::uint64_t bytes() const = 0;
};

/// Writes chunks to the files of --split, on workers.
class PartsWriter : public OutputWriter {
 public:
  PartsWriter(Job& job, OutputParts& parts, WorkerPool& workers) : job_(job), parts_(parts), workers_(workers) {}
  void Begin(std::span<const std::byte> header) override { parts_.Begin(header); }
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    for (const Chunk& chunk : chunks->list) {
      if (chunk.seen.sum.records == 0) continue;
      std::vector<std::byte> first, last;
      const std::uint64_t at =
          parts_.Add(chunk.part, chunk.records.size(), chunk.seen.sum, OwnBytes(chunk.seen.first, job_.layout, first),
                     OwnBytes(chunk.seen.last, job_.layout, last));
      workers_.Submit([this, chunks, &chunk, at] {
        const Busy busy(job_.clock, Resource::kDiskWrite, chunk.records.size(), {"write part", chunk.part});
        parts_.Write(chunk.part, at, chunk.records);
      });
    }
  }
  void End(std::span<const std::byte> trailer) override { parts_.End(trailer); }
  std::uint64_t bytes() const override { return parts_.bytes(); }

 private:
  Job& job_;
  OutputParts& parts_;
  WorkerPool& workers_;
};

/// Encodes chunks to the files of --split, one after the other.
class EncodedPartsWriter : public OutputWriter {
 public:
  EncodedPartsWriter(Job& job, OutputParts& parts) : job_(job), parts_(parts) {}
  void Begin(std::span<const std::byte> header) override { parts_.Begin(header); }
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    for (const Chunk& chunk : chunks->list) {
      const Busy busy(job_.clock, Resource::kCodec, chunk.records.size(), {"compress output", chunks->window.number});
      if (!chunk.records.empty()) parts_.Append(chunk.part, chunk.records, chunk.seen.sum);
    }
  }
  void End(std::span<const std::byte> trailer) override { parts_.End(trailer); }
  std::uint64_t bytes() const override { return parts_.bytes(); }

 private:
  Job& job_;
  OutputParts& parts_;
};

/// Calls write(bytes) with the bytes of the chunk in the output. If the chunk has edits, counts or sums, all parts are
/// copied to a buffer, because a write to a tmpfs makes all threads of the process wait for the memory map: a copy
/// takes less time than a write of its own for each part.
template <typename Write>
void JoinParts(const Chunk& chunk, Write write) {
  if (chunk.edits.empty() && chunk.form == nullptr) return write(std::span<const std::byte>(chunk.records));
  constexpr std::size_t kJoined = std::size_t{512} << 10;
  std::vector<std::byte> joined;
  joined.reserve(std::min<std::uint64_t>(kJoined, chunk.bytes()));
  chunk.ForEachPart([&](std::span<const std::byte> part) {
    while (!part.empty()) {
      const std::size_t taken = std::min(part.size(), kJoined - joined.size());
      joined.insert(joined.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(taken));
      part = part.subspan(taken);
      if (joined.size() < kJoined) continue;
      write(std::span<const std::byte>(joined));
      joined.clear();
    }
  });
  if (!joined.empty()) write(std::span<const std::byte>(joined));
}

/// Writes chunks to a stream or into an encoder, one after the other.
class StreamWriter : public OutputWriter {
 public:
  StreamWriter(Job& job, Output& output, std::uint64_t written) : job_(job), output_(output), bytes_(written) {}
  void Begin(std::span<const std::byte> header) override { Write(header); }
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    std::uint64_t bytes = 0;
    for (const Chunk& chunk : chunks->list) bytes += chunk.bytes();
    const bool codec = output_.compressed();
    const Busy busy(job_.clock, codec ? Resource::kCodec : output_.target(), bytes,
                    {codec ? "compress output" : "write output", chunks->window.number});
    const LentRows lent{output_};
    for (const Chunk& chunk : chunks->list) {
      if (chunk.marks.empty()) {
        JoinParts(chunk, [&](std::span<const std::byte> part) { Write(part); });
      } else {
        output_.LendRows(bytes_, {chunk.records, chunk.marks});
        bytes_ += chunk.records.size();
      }
    }
  }
  std::uint64_t bytes() const override { return bytes_; }

 protected:
  /// Makes sure that no thread reads rows of a window after the window is gone.
  struct LentRows {
    Output& output;
    ~LentRows() { output.ReturnRows(); }
  };

  void Write(std::span<const std::byte> bytes) {
    output_.Write(bytes_, bytes);
    bytes_ += bytes.size();
  }

  Job& job_;
  Output& output_;
  std::uint64_t bytes_;
};

/// Writes the text that Job::format makes of each record (--debug).
class FormatWriter : public StreamWriter {
 public:
  using StreamWriter::StreamWriter;
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    constexpr std::size_t kWrittenAtOnce = std::size_t{1} << 16;
    std::string text;
    for (const Chunk& chunk : chunks->list) {
      ForEachRecord(chunk.records, job_.layout, [&](RecordSpan record) {
        job_.format(record, text);
        if (text.size() < kWrittenAtOnce) return;
        Write(std::as_bytes(std::span(text)));
        text.clear();
      });
    }
    Write(std::as_bytes(std::span(text)));
  }
};

/// Writes chunks to the output file, on workers.
class FileWriter : public StreamWriter {
 public:
  FileWriter(Job& job, Output& output, WorkerPool& workers, std::uint64_t written)
      : StreamWriter(job, output, written), workers_(workers), expected_(written) {}
  void Expect(std::uint64_t bytes) override {
    const std::uint64_t end = expected_ += bytes;
    if (!makes_pages_) return;
    try {
      output_.file()->AllocateToWrite(end);
    } catch (const Error&) {
      makes_pages_ = false;  // Put() may need fewer pages. If it does not, it reports the error.
    }
  }
  void Put(const std::shared_ptr<Chunks>& chunks) override {
    const std::uint64_t begin = bytes_, read = chunks->window.bytes;
    std::uint64_t end = begin;
    for (const Chunk& chunk : chunks->list) end += chunk.bytes();
    output_.file()->AllocateToWrite(end);
    for (const Chunk& chunk : chunks->list) {
      if (chunk.records.empty()) continue;
      workers_.Submit([this, chunks, &chunk, offset = bytes_] {
        const Busy busy(job_.clock, Resource::kDiskWrite, chunk.records.size(),
                        {"write output", chunks->window.number});
        std::uint64_t at = offset;
        JoinParts(chunk, [&](std::span<const std::byte> part) {
          if (!part.empty()) output_.Write(at, part);
          at += part.size();
        });
      });
      bytes_ += chunk.bytes();
    }
    expected_ += end - begin - read;
    if (end - begin < read / 2) makes_pages_ = false;  // most of the pages would not be needed
  }

 private:
  WorkerPool& workers_;
  std::atomic<std::uint64_t> expected_;  ///< the size of the output if all expected windows were written whole
  std::atomic<bool> makes_pages_{true};
};

/// Returns the last stage for `output`. `written` is the size of the output so far.
std::unique_ptr<OutputWriter> MakeWriter(Job& job, Output& output, WorkerPool& workers, std::uint64_t written) {
  if (output.parts() != nullptr && output.parts()->encoded()) {
    return std::make_unique<EncodedPartsWriter>(job, *output.parts());
  }
  if (output.parts() != nullptr) return std::make_unique<PartsWriter>(job, *output.parts(), workers);
  if (job.format) return std::make_unique<FormatWriter>(job, output, written);
  if (output.in_order()) return std::make_unique<StreamWriter>(job, output, written);
  return std::make_unique<FileWriter>(job, output, workers, written);
}

/// Writes windows in their order. Used for streams, compressed outputs, parts of --split, -u, --top, keyed records and
/// --debug. One thread divides windows into chunks. Workers change and check several chunks at the same time. Another
/// thread does the stages that need the order of the output, and passes chunks to the last stage. No thread waits for
/// one window before it begins the next.
class StagedSink : public WindowSink {
 public:
  StagedSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof, std::uint64_t bytes,
             std::uint64_t written)
      : job_(job),
        pipeline_(pipeline),
        output_(output),
        proof_(proof),
        keyed_(job.layout),
        borders_(job, bytes),
        windows_(pipeline),
        cut_(pipeline, job.plan.windows),
        workers_(pipeline, job.plan.io_threads),
        begins_(written == 0) {
    writer_ = MakeWriter(job, output, workers_, written);  // here, because guard_ ends the workers if this throws
    OutputProof::Front front = written > 0 ? proof.front() : OutputProof::Front{};
    proved_ = front.bytes;
    const Order& order = job.spec.order;
    if (order.writes_groups()) form_.emplace(job.spec);
    if (order.set_inputs() > 0) {
      std::function<void(RecordSpan)> kept;
      if (sums_) kept = [this](RecordSpan record) { CheckValues(record); };
      sets_.emplace(job.layout, order, proof, std::move(kept));
    }
    if (order.unique) {
      groups_.emplace(job.layout, order, proof, form_ ? &*form_ : nullptr, std::move(front.last));
    }
    // A part of a dump with statements of few rows needs some memory for the places of the statements.
    if (job.inputs.format().has_gaps() && !job.spec.target.keyed) {
      gaps_.emplace(std::max(kLeastGaps, job.memory.limit() / 16), job.spec.target.gaps);
    }
    keyed_.keys = kTableKeys;
    if (order.by_count) {
      largest_.emplace(order.top, std::max(kLeastRows, job.memory.limit() / 16));
    } else if (order.top > 0) {
      top_.emplace(order.top, false, job.layout);
    }
    pipeline.Start([this] { CutWindows(); });
    pipeline.Start([this] { PutWindows(); });
  }

  void Accept(Window window) override {
    const std::uint64_t number = window.number;
    windows_.Push(number, std::move(window));
  }

  void Finish(std::uint64_t windows) override { windows_.Finish(windows); }
  bool enough() const override { return enough_; }
  std::uint64_t begin() const override { return output_.header().size(); }
  std::uint64_t bytes() const override { return writer_->bytes(); }

 private:
  void CutWindows() {
    while (std::optional<Window> window = windows_.Pop()) {
      const auto chunks = std::make_shared<Chunks>();
      chunks->window = std::move(*window);
      pipeline_.Try([&] { Cut(chunks); });
    }
    cut_.Finish();
  }

  void PutWindows() {
    if (begins_) writer_->Begin(output_.header());
    while (std::optional<std::shared_ptr<Chunks>> window = cut_.Pop()) {
      pipeline_.Try([&] { Put(*window); });
    }
    job_.missing_values = missing_;
    if (groups_) pipeline_.Try([&] { PutLastGroup(); });
    if (largest_) pipeline_.Try([&] { PutLargest(); });
    if (gaps_) pipeline_.Try([&] { gaps_->Finish(); });
    writer_->End(output_.trailer());
    workers_.Finish();
  }

  void Cut(const std::shared_ptr<Chunks>& chunks) {
    const Window& window = chunks->window;
    for (std::uint64_t done = 0, count = 0; done < window.bytes; done += count) {
      count = ChunkBytes({window.data + done, window.bytes - done}, job_.layout);
      Chunk chunk;
      if (output_.parts() != nullptr) {
        count = borders_.Take({window.data + done, count});
        chunk.part = borders_.part();
      }
      chunk.records = {window.data + done, count};
      chunks->list.push_back(std::move(chunk));
    }
    chunks->unready = chunks->list.size();
    for (Chunk& chunk : chunks->list) {
      if (sets_) {
        sets_->LookInOrder(chunk);
      } else if (groups_) {
        groups_->LookInOrder(chunk);
      }
    }
    for (Chunk& chunk : chunks->list) {
      workers_.Submit([this, chunks, &chunk] {
        if (sets_) {
          sets_->Change(chunk);
        } else if (groups_) {
          groups_->Change(chunk);
        }
        if (!sets_ || !groups_) EndChange(chunk);
        const std::lock_guard lock(chunks->mutex);
        if (--chunks->unready == 0) chunks->ready.notify_one();
      });
    }
    const std::uint64_t bytes = window.bytes;
    cut_.Push(chunks);
    // If all records are written, the space of the output is reserved before.
    if (groups_ || sets_) writer_->Expect(bytes);
  }

  void Put(const std::shared_ptr<Chunks>& chunks) {
    {
      std::unique_lock lock(chunks->mutex);
      pipeline_.Wait(lock, chunks->ready, [&] { return chunks->unready == 0; });
    }
    if (sets_) JoinSets(chunks->list);
    if (sets_ && groups_) ChangeGroups(chunks->list);
    if (job_.spec.order.needs_groups()) JoinGroups(chunks->list);
    PutChanged(chunks);
  }

  /// Writes chunks that have passed the stages for sets and for groups.
  void PutChanged(const std::shared_ptr<Chunks>& chunks) {
    for (Chunk& chunk : chunks->list) {
      if (top_) TakeTop(chunk);
      if (gaps_) chunk.edits = gaps_->Take(std::exchange(chunk.stripped, {}));
      proof_.Add(std::exchange(proved_, proved_ + chunk.seen.bytes), chunk.seen);
      if (largest_) largest_->Take(chunk);
    }
    writer_->Put(chunks);
    job_.progress.Advance(chunks->window.bytes);
  }

  /// Calls join(chunk) for each chunk, and inserts the chunk that it returns, if there is one, before the chunk.
  template <typename Join>
  static void InsertJoined(std::vector<Chunk>& chunks, Join join) {
    std::vector<Chunk> joined;
    joined.reserve(2 * chunks.size());
    for (Chunk& chunk : chunks) {
      if (std::optional<Chunk> before = join(chunk)) joined.push_back(std::move(*before));
      joined.push_back(std::move(chunk));
    }
    chunks = std::move(joined);
  }

  /// Inserts the records of groups that go on in one of these chunks.
  void JoinSets(std::vector<Chunk>& chunks) {
    InsertJoined(chunks, [&](Chunk& chunk) {
      std::optional<Chunk> before = sets_->Join(chunk);
      if (before && !groups_) EndChange(*before);
      return before;
    });
  }

  /// Does the stage for groups, on workers, if it comes after that for sets. Only then it is known which records the
  /// sets have kept at the front of a chunk.
  void ChangeGroups(std::vector<Chunk>& chunks) {
    for (Chunk& chunk : chunks) {
      if (!chunk.records.empty()) groups_->LookInOrder(chunk);
    }
    workers_.ForEach(chunks.size(), [&](std::uint64_t i) {
      groups_->Change(chunks[i]);
      EndChange(chunks[i]);
    });
  }

  /// Inserts the groups of equal records that were open and end in one of these chunks.
  void JoinGroups(std::vector<Chunk>& chunks) {
    InsertJoined(chunks, [&](Chunk& chunk) {
      std::optional<Chunk> before = groups_->Join(chunk);
      if (before) EndChange(*before);
      return before;
    });
  }

  /// Does what the stages for sets and for groups leave to do for a chunk, in any order of chunks.
  void EndChange(Chunk& chunk) const {
    chunk.seen = proof_.Look(chunk.records);
    if (!top_) StripKeys(chunk);
  }

  /// With --sum and sets: throws Error(kBadInput) if --sum cannot add a value of `record`, which the output gets.
  /// Counts the values that are missing.
  void CheckValues(RecordSpan record) {
    const TableOptions& table = *job_.spec.source.table;
    std::vector<std::byte> scratch;
    const MarkedRecord marked(OwnBytes(record, job_.layout, scratch));
    RecordSpan mark = marked.mark;
    std::size_t sum = 0;
    for (const ColumnKey& key : table.keys) {
      if (!key.summed) continue;
      const ValuePlace::Flaw flaw = ValuePlace::Take(mark).flaw;
      const std::size_t number = sum++;
      if (flaw == ValuePlace::Flaw::kNone) continue;
      if (flaw == ValuePlace::Flaw::kMissing && !table.strict) {
        const std::lock_guard lock(missing_mutex_);
        missing_.resize(std::max(missing_.size(), number + 1));
        ++missing_[number];
        continue;
      }
      FailValue(key, flaw, InputPlace::Of(record), marked.record);
    }
  }

  [[noreturn]] void FailValue(const ColumnKey& key, ValuePlace::Flaw flaw, const InputPlace& place,
                              RecordSpan record) const {
    constexpr std::size_t kMostShown = 100;
    const Inputs& inputs = job_.inputs;
    std::string_view text(reinterpret_cast<const char*>(record.data()), record.size());
    text = text.substr(0, text.find_last_not_of("\r\n") + 1);
    std::string where;
    if (place.input < inputs.count()) {
      const auto input = static_cast<std::uint32_t>(place.input);
      where = EscapeName(inputs.path(input)) + ": byte " + std::to_string(inputs.begin(input) + place.offset) + ": ";
    }
    throw BadSum(where + WhyNoSum(*job_.spec.source.table, key, flaw, "its value") + ": " + InQuotes(text, kMostShown));
  }

  void PutLastGroup() {
    std::optional<Chunk> last = groups_->End();
    if (!last) return;
    EndChange(*last);
    const auto chunks = std::make_shared<Chunks>();
    chunks->list.push_back(std::move(*last));
    PutChanged(chunks);
  }

  void PutLargest() {
    const auto chunks = std::make_shared<Chunks>();
    chunks->list.push_back(largest_->End(*form_, proof_));
    CountInserted(chunks->list[0]);
    writer_->Put(chunks);
  }

  static void CountInserted(Chunk& chunk) {
    std::uint64_t written = 0;
    chunk.ForEachPart([&](std::span<const std::byte> part) { written += part.size(); });
    chunk.inserted = written - chunk.records.size();
  }

  /// Keeps the first records (--top). The counter needs the keys of records, so the keys are removed here.
  void TakeTop(Chunk& chunk) {
    const std::uint64_t kept = top_->Take(chunk.records);
    enough_ = top_->done();
    if (kept < chunk.records.size()) {
      chunk.records = chunk.records.first(kept);
      chunk.seen = proof_.Look(chunk.records);
    }
    StripKeys(chunk);
  }

  void StripKeys(Chunk& chunk) const {
    if (job_.spec.target.keyed) return;
    if (job_.spec.target.placed) {
      chunk.records = KeysToPlaces(chunk.records);
      chunk.placed = chunk.form != nullptr;
    } else if (gaps_) {
      chunk.records = StripGaps(chunk.records, keyed_, chunk.stripped);
    } else if (job_.layout.keyed()) {
      const bool marked = sums_ && !form_;
      chunk.records = marked ? DropKeysAndMarks(chunk.records, job_.layout) : DropKeys(chunk.records, job_.layout);
    }
    if (chunk.form == nullptr) {
      if (output_.takes_marks()) chunk.marks = MarkRows(chunk.records);
      return;
    }
    chunk.placed ? CountPlaced(chunk) : CountInserted(chunk);
    groups_->ProveSums(chunk);
  }

  /// The second sort of --keep-order reads the records with their counts and sums and knows no groups, so the proof
  /// needs their checksum.
  void CountPlaced(Chunk& chunk) const {
    RecordSum written;
    std::uint64_t bytes = 0;
    chunk.ForEachPlaced([&](RecordSpan text, RecordSpan line) {
      written += SumRecord(text);
      bytes += line.size();
    });
    chunk.inserted = bytes - chunk.records.size();
    proof_.AddWritten(written);
  }

  static constexpr std::uint64_t kLeastGaps = std::uint64_t{1} << 20, kLeastRows = kLeastGaps;

  Job& job_;
  Pipeline& pipeline_;
  Output& output_;
  OutputProof& proof_;
  RecordLayout keyed_;  ///< for formats with gaps: the layout of the records, which tells that they have sort keys
  PartBorders borders_;
  OrderedQueue<Window> windows_;
  std::atomic<bool> enough_{false};
  BoundedQueue<std::shared_ptr<Chunks>> cut_;
  WorkerPool workers_;
  /// True: records have marks with the places of the values of --sum. A slice of a job of tasks has no form_ then: the
  /// values of its records are added later, in the parts.
  const bool sums_ = HasSums(job_.spec);
  std::mutex missing_mutex_;
  std::vector<std::uint64_t> missing_;    ///< what Job::missing_values becomes
  std::optional<GroupForm> form_;         ///< with --count or --sum
  std::optional<Groups> groups_;          ///< with -u
  std::optional<Sets> sets_;              ///< with --minus or --intersect
  std::optional<FrontCounter> top_;       ///< with --top
  std::optional<LargestGroups> largest_;  ///< with --top and --by count
  std::optional<GapFiller> gaps_;         ///< for formats with gaps
  std::unique_ptr<OutputWriter> writer_;
  const bool begins_;                       ///< true: the output has no header yet
  std::uint64_t proved_ = 0;                ///< the size in bytes of the records in the output, with their keys
  const Pipeline::Guard guard_{pipeline_};  ///< last member, so that an exception does not destroy what threads use
};

}  // namespace

std::unique_ptr<WindowSink> MakeOutputSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                           std::uint64_t bytes, std::uint64_t written) {
  const bool in_place = !output.in_order() && output.parts() == nullptr && !job.spec.order.unique &&
                        job.spec.order.top == 0 && !job.layout.keyed() && !job.inputs.format().has_gaps() &&
                        !job.format;
  if (in_place) return MakeFileSink(job, pipeline, output, proof, written);
  return std::make_unique<StagedSink>(job, pipeline, output, proof, bytes, written);
}

}  // namespace gpusort
