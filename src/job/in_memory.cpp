#include "job/in_memory.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include "formats/annotator.hpp"
#include "formats/keyed_lines.hpp"
#include "io/path.hpp"
#include "job/open_job.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{256} << 10, kWriteBytes = std::uint64_t{256} << 10;
/// With fewer bytes per thread, another thread is not worth its start: sorting this many takes several ms, and starting
/// a thread takes 50 us.
constexpr std::uint64_t kBytesPerThread = std::uint64_t{1} << 20;

[[noreturn]] void FailMemory() { throw Error(ErrorCode::kOutOfMemory, "memory exhausted"); }

class WholeBlock : public InputBlock {
 public:
  explicit WholeBlock(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

class WholeSource : public BatchSource {
 public:
  explicit WholeSource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::unique_ptr<InputBlock> Next() override {
    if (bytes_.empty()) return nullptr;
    return std::make_unique<WholeBlock>(std::exchange(bytes_, {}));
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Collects small pieces of the output, and writes them in large pieces, in order.
class Writer {
 public:
  explicit Writer(Output& output) : output_(output) {}
  void Put(std::span<const std::byte> bytes) {
    if (held_.size() + bytes.size() > kWriteBytes) Flush();
    if (bytes.size() >= kWriteBytes) {
      Write(bytes);
    } else {
      held_.insert(held_.end(), bytes.begin(), bytes.end());
    }
  }
  void Flush() {
    Write(held_);
    held_.clear();
  }
  std::uint64_t written() const { return written_; }

 private:
  void Write(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    output_.Write(written_, bytes);
    written_ += bytes.size();
  }

  Output& output_;
  std::vector<std::byte> held_;
  std::uint64_t written_ = 0;
};

}  // namespace

InputFront::InputFront(const std::vector<std::string>& inputs, char delimiter, std::uint64_t limit,
                       const std::function<bool()>& stops, const CancelFlag& cancel)
    : limit_(limit) {
  for (const std::string& input : inputs) {
    whole_ = Read(input, delimiter, stops, cancel);
    if (!whole_) return;
  }
}

/// Reads one input. Returns false if it has more bytes than the limit.
bool InputFront::Read(const std::string& input, char delimiter, const std::function<bool()>& stops,
                      const CancelFlag& cancel) {
  Begun begun;
  begun.stream = std::make_unique<PipeReader>(input, cancel);
  begun.again = !IsStreamSource(input);
  begun.begin = used_;
  for (;;) {
    if (!text_.Reserve(used_ + kReadBytes + 1)) FailMemory();
    const std::uint64_t got = begun.stream->ReadSome({text_.data() + used_, kReadBytes});
    used_ += got;
    begun.bytes += got;
    if (got == 0) break;
    if (used_ <= limit_) continue;
    if (stops()) {
      begun_.push_back(std::move(begun));
      return false;
    }
    limit_ = ~std::uint64_t{0};
  }
  if (begun.bytes > 0 && text_[used_ - 1] != static_cast<std::byte>(delimiter)) {
    text_[used_++] = static_cast<std::byte>(delimiter);
  }
  begun_.push_back(std::move(begun));
  return true;
}

StreamFronts InputFront::TakeFronts() {
  StreamFronts fronts;
  for (std::uint32_t i = 0; i < begun_.size(); ++i) {
    Begun& begun = begun_[i];
    if (begun.again) continue;
    const std::byte* const bytes = text_.data() + begun.begin;
    fronts[i] = {std::move(begun.stream), std::vector<std::byte>(bytes, bytes + begun.bytes)};
  }
  text_.Release();
  return fronts;
}

SortResult SortInMemory(const JobSpec& spec, std::span<const std::byte> lines, Output output) {
  const Ordered ordered(spec, true);  // without keys that only save time: they take too much memory
  RecordLayout layout = ordered.plain;
  std::vector<std::byte> keyed;
  std::span<const std::byte> unsorted = lines;
  if (ordered.keyed) {
    layout = ordered.keyed->layout();
    ordered.keyed->Tune(lines);
    ScanState state;
    KeyTally tally;
    const std::unique_ptr<KeyEncoder> encoder = ordered.keyed->MakeEncoder();
    for (RecordSpan rest = lines; !rest.empty();) rest = rest.subspan(encoder->Append(rest, state, keyed, tally));
    unsorted = keyed;
  }
  // Offsets of lines have 32 bits.
  if (unsorted.size() > UINT32_MAX) FailMemory();
  Writer out(output);
  SortResult result{0, 0};
  if (!unsorted.empty()) {
    // Counting the cores reads a dozen files. That is a tenth of the time that ten lines take.
    unsigned threads = 1;
    if (const std::uint64_t useful = unsorted.size() / kBytesPerThread; useful > 1) {
      threads = static_cast<unsigned>(std::min<std::uint64_t>(useful, CoresFor(spec.limits).cores));
    }
    HostMemory memory(0, true);
    const std::unique_ptr<Backend> backend = OpenCpuBackend(threads);
    ArenaShape shape;
    shape.layout = layout;
    const RecordSum read = SumRecords(lines, ordered.plain);
    shape.slot_bytes = unsorted.size();
    shape.batch_lines = read.records;
    shape.slots = 2;
    backend->MakeArena(shape, memory);
    const std::unique_ptr<Lane> lane = backend->OpenLane();
    WholeSource source(unsorted);
    const std::unique_ptr<SortedRecords> sorted = lane->Sort(source);
    const RecordSpan records{sorted->data(), sorted->bytes()};
    RecordSum kept;
    const auto sum = [&] { kept = SumRecords(records, layout); };
    std::future<void> summed;
    if (threads > 1) summed = RunBeside(sum);
    const std::uint64_t disorder = FirstDisorder(records, layout, false);
    summed.valid() ? summed.get() : sum();
    if (!(kept == read) || disorder != kInOrder) {
      throw Error(ErrorCode::kIntegrity, "the sorted lines are not those that were read, or not in order");
    }
    if (!spec.order.unique && !layout.keyed() && !spec.order.debug) {
      out.Put(records);
      result.records = read.records;
    } else {
      std::string text;
      NeighbourLines neighbours(*layout.lines);
      ForEachRecord(records, layout, [&](RecordSpan record) {
        if (spec.order.unique && neighbours.Next(AsBytes(record.data()), record.size() - 1) == 0) return;
        ++result.records;
        const RecordSpan line = Body(record, layout);
        if (!spec.order.debug) return out.Put(line);
        text.clear();
        Annotate(line, spec.order.lines->order, text);
        out.Put(std::as_bytes(std::span(text)));
      });
    }
  }
  out.Flush();
  result.bytes = out.written();
  output.Finish(result.bytes);
  output.Publish(!spec.target.no_fsync);
  return result;
}

}  // namespace gpusort
