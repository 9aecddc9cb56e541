#include "line_sorter.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "line_sort.hpp"
#include "page_buffer.hpp"
#include "signal_block.hpp"

namespace gpusort {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 17;
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 18;
/// What a line costs besides its bytes: its start and its entry.
constexpr std::uint64_t kLineOverhead = sizeof(std::uint64_t) + sizeof(Entry);
constexpr std::uint64_t kMaxRows = 0xFFFF0000u;
/// A thread costs some 50 us; so many lines take several ms.
constexpr std::uint64_t kRowsPerThread = std::uint64_t{1} << 16;
constexpr std::uint64_t kMinSourceBytes = std::uint64_t{1} << 16;
constexpr std::uint64_t kMaxSourceBytes = std::uint64_t{1} << 22;
/// Rows ahead of the one that is copied, so that memory answers in time.
constexpr std::uint64_t kPrefetchRows = 12;

[[noreturn]] void FailMemory() { throw Error(ErrorCode::kOutOfMemory, "memory exhausted"); }

/// All inputs as one stream of bytes, with a mark where one ends.
class InputSequence {
 public:
  InputSequence(std::size_t count, const OpenInput& open) : count_(count), open_(open) {}

  bool done() const { return next_ == count_ && source_ == nullptr; }
  /// 0 where an input ends.
  std::size_t Read(std::span<std::byte> out) {
    if (source_ == nullptr) {
      source_ = open_(next_);
      if (source_ == nullptr) throw Error(ErrorCode::kIo, "open failed: too many open files");
      ++next_;
    }
    const std::size_t got = source_->Read(out);
    if (got == 0) source_.reset();
    return got;
  }

 private:
  std::size_t count_;
  const OpenInput& open_;
  std::size_t next_ = 0;
  std::unique_ptr<ByteSource> source_;
};

/// Runs `work(part)` for each part, on threads as far as they can be had.
template <typename Work>
void ForEachPart(unsigned parts, const Work& work) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(parts);
  const auto guarded = [&](unsigned part) {
    try {
      work(part);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  unsigned started = 0;
  try {
    const SignalBlock block;
    threads.reserve(parts);
    for (; started + 1 < parts; ++started) threads.emplace_back(guarded, started);
  } catch (const std::system_error&) {
    // A limit on threads: the rest is done here.
  } catch (const std::bad_alloc&) {
  }
  for (unsigned part = started; part < parts; ++part) guarded(part);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// What a line is compared by: itself or the keyed line, without the delimiter.
struct KeyView {
  const Byte* bytes;
  std::uint64_t length;
};

int CompareKeyViews(const LineSortSettings& settings, const KeyView& a, const KeyView& b) {
  return CompareLines(a.bytes, a.length, b.bytes, b.length, settings.order);
}

/// The key of a line that is gone.
class KeptKey {
 public:
  void Keep(const KeyView& key) {
    bytes_.assign(key.bytes, key.bytes + key.length);
    any_ = true;
  }
  bool any() const { return any_; }
  KeyView view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<Byte> bytes_;
  bool any_ = false;
};

/// Drops lines that compare equal to the one before.
class UniqueFilter {
 public:
  explicit UniqueFilter(const LineSortSettings& settings) : settings_(settings) {}
  /// True if the line whose key this is shall stay.
  bool Takes(const KeyView& key) {
    if (!settings_.unique) return true;
    if (last_.any() && CompareKeyViews(settings_, last_.view(), key) == 0) return false;
    last_.Keep(key);
    return true;
  }

 private:
  const LineSortSettings& settings_;
  KeptKey last_;
};

/// Lines in memory: filled from the inputs, sorted, written.
class LineBatch {
 public:
  explicit LineBatch(const LineSortSettings& settings) : settings_(settings) {}

  bool empty() const { return rows_ == 0; }

  /// Takes whole lines until memory or the inputs are used up. False if nothing is left for another batch.
  bool Fill(InputSequence& inputs) {
    DropLines();
    for (;;) {
      if (!Index()) return true;
      if (inputs.done()) return false;
      if (!MakeRoom()) return true;
      const std::uint64_t room = text_.capacity() - 1 - used_;
      const auto got = inputs.Read(
          {reinterpret_cast<std::byte*>(text_.data()) + used_, static_cast<std::size_t>(std::min(room, read_bytes()))});
      used_ += got;
      // The last line of an input may lack its delimiter.
      if (got == 0 && used_ > line_begin_) text_[used_++] = static_cast<Byte>(settings_.delimiter);
    }
  }

  void Sort() {
    MakeKeys();
    parts_ = static_cast<unsigned>(std::clamp<std::uint64_t>(rows_ / kRowsPerThread, 1, settings_.threads));
    const LineBlock lines = Lines();
    ForEachPart(parts_, [&](unsigned part) {
      const std::uint64_t begin = PartBegin(part);
      SortLineEntries(entries_.data() + begin, begin, PartBegin(part + 1) - begin, lines, settings_.order);
    });
  }

  void Write(LineWriter& out) const {
    const LineBlock lines = Lines();
    UniqueFilter filter(settings_);
    const auto put = [&](std::uint64_t row) {
      if (settings_.unique && !filter.Takes(Key(lines, row))) return;
      out.Put(text_.data() + starts_[row], starts_[row + 1] - starts_[row]);
    };
    if (parts_ == 1) {
      for (std::uint64_t i = 0; i < rows_; ++i) {
        Prefetch(lines, i, rows_);
        put(entries_[i].row());
      }
      return;
    }
    // Few parts: the least is found by looking at all of them.
    struct Head {
      std::uint64_t at, end;
      LineChunk chunk;
    };
    std::vector<Head> heads;
    const auto load = [&](Head& head) {
      Prefetch(lines, head.at, head.end);
      const std::uint64_t row = entries_[head.at].row();
      head.chunk = EncodeChunk(lines.line(row), lines.length(row), settings_.order, 0);
    };
    for (unsigned part = 0; part < parts_; ++part) {
      heads.push_back({PartBegin(part), PartBegin(part + 1), {}});
      load(heads.back());
    }
    while (!heads.empty()) {
      std::size_t least = 0;
      for (std::size_t i = 1; i < heads.size(); ++i) {
        const LineChunk &a = heads[i].chunk, &b = heads[least].chunk;
        const bool before = a.hi != b.hi   ? a.hi < b.hi
                            : a.lo != b.lo ? a.lo < b.lo
                                           : lines.Compare(entries_[heads[i].at].row(), entries_[heads[least].at].row(),
                                                           settings_.order) < 0;
        if (before) least = i;
      }
      Head& head = heads[least];
      put(entries_[head.at].row());
      if (++head.at == head.end) {
        heads.erase(heads.begin() + static_cast<std::ptrdiff_t>(least));
      } else {
        load(head);
      }
    }
  }

  void Release() {
    text_.Release();
    starts_.Release();
    entries_.Release();
    keyed_ = {};
    keyed_starts_ = {};
    used_ = line_begin_ = scanned_ = rows_ = 0;
  }

 private:
  std::uint64_t read_bytes() const { return std::clamp<std::uint64_t>(settings_.memory_bytes / 16, 64, kReadBytes); }
  std::uint64_t PartBegin(unsigned part) const { return rows_ * part / parts_; }

  LineBlock Lines() const {
    if (settings_.keyed == nullptr) return {text_.data(), starts_.data()};
    return {AsBytes(keyed_.data()), keyed_starts_.data()};
  }
  static KeyView Key(const LineBlock& lines, std::uint64_t row) { return {lines.line(row), lines.length(row)}; }

  void Prefetch(const LineBlock& lines, std::uint64_t i, std::uint64_t end) const {
    if (i + 2 * kPrefetchRows < end) __builtin_prefetch(&lines.starts[entries_[i + 2 * kPrefetchRows].row()]);
    if (i + kPrefetchRows < end) {
      const std::uint64_t row = entries_[i + kPrefetchRows].row();
      __builtin_prefetch(lines.line(row));
      __builtin_prefetch(text_.data() + starts_[row] + 64);
    }
  }

  /// Keeps what follows the lines of the last batch.
  void DropLines() {
    if (line_begin_ > 0) std::memmove(text_.data(), text_.data() + line_begin_, used_ - line_begin_);
    used_ -= line_begin_;
    scanned_ -= line_begin_;
    line_begin_ = 0;
    rows_ = 0;
  }

  /// Finds the ends of lines in what was read. False if the memory is used up.
  bool Index() {
    while (scanned_ < used_) {
      const void* const end = std::memchr(text_.data() + scanned_, settings_.delimiter, used_ - scanned_);
      if (end == nullptr) {
        scanned_ = used_;
        return true;
      }
      if (rows_ > 0 && (line_begin_ + KeyBytes() + kLineOverhead * rows_ > settings_.memory_bytes || rows_ == kMaxRows)) {
        scanned_ = line_begin_;
        return false;
      }
      if (!starts_.Reserve(rows_ + 2) || !entries_.Reserve(rows_ + 1)) {
        if (rows_ == 0) FailMemory();
        scanned_ = line_begin_;
        return false;
      }
      const auto next = static_cast<std::uint64_t>(static_cast<const Byte*>(end) - text_.data()) + 1;
      starts_[rows_] = line_begin_;
      starts_[rows_ + 1] = next;
      ++rows_;
      line_begin_ = scanned_ = next;
    }
    return true;
  }

  /// Room to read into, and one byte more for a delimiter. False if it would be too much and there are lines to sort.
  bool MakeRoom() {
    const std::uint64_t wanted = used_ + read_bytes() + 1;
    if (rows_ > 0 && used_ + KeyBytes() + kLineOverhead * rows_ >= settings_.memory_bytes) return false;
    // Doubling is for the unknown; near the limit it would be too much.
    if (wanted <= text_.capacity() || text_.Reserve(wanted)) return true;
    if (rows_ == 0) FailMemory();
    return false;
  }

  /// What keyed lines take that are yet to be made.
  std::uint64_t KeyBytes() const { return settings_.keyed == nullptr ? 0 : 3 * line_begin_ + 32 * rows_; }

  void MakeKeys() {
    if (settings_.keyed == nullptr) return;
    keyed_.clear();
    keyed_starts_.assign(1, 0);
    for (std::uint64_t row = 0; row < rows_; ++row) {
      settings_.keyed->AppendKeyed({reinterpret_cast<const std::byte*>(text_.data()) + starts_[row],
                                    static_cast<std::size_t>(starts_[row + 1] - starts_[row])},
                                   keyed_);
      keyed_starts_.push_back(keyed_.size());
    }
  }

  const LineSortSettings& settings_;
  PageBuffer<Byte> text_;
  std::uint64_t used_ = 0;        ///< bytes in text_
  std::uint64_t line_begin_ = 0;  ///< of the first line that is not complete
  std::uint64_t scanned_ = 0;     ///< no end of that line before here
  PageBuffer<std::uint64_t> starts_;
  PageBuffer<Entry> entries_;
  std::uint64_t rows_ = 0;
  unsigned parts_ = 1;
  std::vector<std::byte> keyed_;  ///< all lines with keys, one behind the other
  std::vector<std::uint64_t> keyed_starts_;
};

/// Reads one input or run line by line.
class LineReader {
 public:
  /// Takes up to `buffer_bytes`, if there is as much to read, and what a longer line needs.
  LineReader(const LineSortSettings& settings, std::unique_ptr<ByteSource> source, std::uint64_t buffer_bytes,
             bool keeps_previous = false)
      : settings_(settings), source_(std::move(source)), buffer_bytes_(buffer_bytes), keeps_previous_(keeps_previous) {
    if (!buffer_.Reserve(std::min(buffer_bytes, kMinSourceBytes))) FailMemory();
  }

  /// The next line. False at the end; then the source is closed.
  bool Next() {
    previous_ = keeps_previous_ ? begin_ : end_;
    if (keeps_previous_) std::swap(previous_key_, key_);
    begin_ = end_;
    for (std::uint64_t scanned = begin_;;) {
      const void* const found = std::memchr(buffer_.data() + scanned, settings_.delimiter, used_ - scanned);
      if (found != nullptr) {
        end_ = static_cast<std::uint64_t>(static_cast<const Byte*>(found) - buffer_.data()) + 1;
        break;
      }
      if (source_ == nullptr) return false;
      const std::uint64_t seen = used_ - begin_;
      const bool more = Refill();
      scanned = begin_ + seen;
      if (!more) {
        if (used_ == begin_) return false;
        buffer_[used_++] = static_cast<Byte>(settings_.delimiter);
      }
    }
    SetKey();
    return true;
  }

  const Byte* line() const { return buffer_.data() + begin_; }
  /// With the delimiter.
  std::uint64_t bytes() const { return end_ - begin_; }
  KeyView key() const { return View(begin_, end_, key_); }
  /// Of the line in front, if it is kept and there is one.
  KeyView previous_key() const { return View(previous_, begin_, previous_key_); }

  /// True if this line comes before the other's, equal ones by the readers' places.
  bool Before(const LineReader& other, bool equal) const {
    if (chunk_.hi != other.chunk_.hi) return chunk_.hi < other.chunk_.hi;
    if (chunk_.lo != other.chunk_.lo) return chunk_.lo < other.chunk_.lo;
    const int order = CompareKeyViews(settings_, key(), other.key());
    return order != 0 ? order < 0 : equal;
  }

 private:
  KeyView View(std::uint64_t begin, std::uint64_t end, const std::vector<std::byte>& key) const {
    if (settings_.keyed != nullptr) return {AsBytes(key.data()), key.size() - 1};
    return {buffer_.data() + begin, end - begin - 1};
  }

  /// Moves what is needed to the front and reads on behind it, with room for one byte more. False at the end.
  bool Refill() {
    const bool filled = used_ + 1 >= buffer_.capacity();
    std::memmove(buffer_.data(), buffer_.data() + previous_, used_ - previous_);
    used_ -= previous_;
    begin_ -= previous_;
    previous_ = 0;
    const bool needed = used_ + 1 >= buffer_.capacity();
    const bool grows = needed || (filled && 2 * buffer_.capacity() <= buffer_bytes_);
    if (grows && !buffer_.Reserve(2 * buffer_.capacity()) && needed) FailMemory();
    const std::size_t got = source_->Read({reinterpret_cast<std::byte*>(buffer_.data()) + used_,
                                           static_cast<std::size_t>(buffer_.capacity() - 1 - used_)});
    used_ += got;
    if (got == 0) source_.reset();
    return got > 0;
  }

  void SetKey() {
    if (settings_.keyed != nullptr) {
      key_.clear();
      settings_.keyed->AppendKeyed(
          {reinterpret_cast<const std::byte*>(line()), static_cast<std::size_t>(bytes())}, key_);
    }
    const KeyView view = key();
    chunk_ = EncodeChunk(view.bytes, view.length, settings_.order, 0);
  }

  const LineSortSettings& settings_;
  std::unique_ptr<ByteSource> source_;
  const std::uint64_t buffer_bytes_;
  const bool keeps_previous_;
  PageBuffer<Byte> buffer_;
  std::uint64_t previous_ = 0;  ///< of the line in front; of the line itself if that one is not kept
  std::uint64_t begin_ = 0;     ///< of the line
  std::uint64_t end_ = 0;
  std::uint64_t used_ = 0;
  std::vector<std::byte> key_, previous_key_;
  LineChunk chunk_{};
};

using Readers = std::vector<std::unique_ptr<LineReader>>;

/// Merges all lines of the readers: a tree of losers, whose leaves are the readers.
void MergeReaders(const LineSortSettings& settings, Readers readers, LineWriter& out) {
  const std::size_t count = readers.size();
  const auto before = [&](std::size_t a, std::size_t b) {
    if (readers[a] == nullptr || readers[b] == nullptr) return readers[a] != nullptr;
    return readers[a]->Before(*readers[b], a < b);
  };
  const auto advance = [&](std::size_t i) {
    if (!readers[i]->Next()) readers[i].reset();
  };
  for (std::size_t i = 0; i < count; ++i) advance(i);
  std::vector<std::size_t> losers(count, 0);
  const std::function<std::size_t(std::size_t)> play = [&](std::size_t node) -> std::size_t {
    if (node >= count) return node - count;
    const std::size_t left = play(2 * node), right = play(2 * node + 1);
    const bool left_wins = !before(right, left);
    losers[node] = left_wins ? right : left;
    return left_wins ? left : right;
  };
  std::size_t winner = count > 1 ? play(1) : 0;
  UniqueFilter filter(settings);
  while (readers[winner] != nullptr) {
    const LineReader& reader = *readers[winner];
    if (filter.Takes(reader.key())) out.Put(reader.line(), reader.bytes());
    advance(winner);
    for (std::size_t node = (winner + count) / 2; node > 0; node /= 2) {
      if (before(losers[node], winner)) std::swap(losers[node], winner);
    }
  }
}

class Merger {
 public:
  Merger(const LineSortSettings& settings, const OpenInput& open_input, TempRuns& temp, const OpenOutput& open_output)
      : settings_(settings), open_input_(open_input), temp_(temp), open_output_(open_output) {}

  void Merge(std::vector<MergeInput> inputs) {
    inputs_ = std::move(inputs);
    for (;;) {
      const std::size_t fan_in = FanIn();
      const bool last = inputs_.size() <= fan_in;
      const std::size_t wanted = last ? inputs_.size() : std::min(fan_in, inputs_.size() - fan_in + 1);
      const std::size_t first = last ? 0 : Cheapest(wanted);
      // The run that a merge writes needs a descriptor, too.
      if (!last) temp_.Prepare();
      Readers readers = Open(first, wanted);
      if (last && readers.size() == wanted) {
        const std::unique_ptr<LineWriter> out = open_output_();
        MergeReaders(settings_, std::move(readers), *out);
        out->Close();
        for (const MergeInput& input : inputs_) {
          if (input.run) temp_.Remove(*input.run);
        }
        return;
      }
      MergeToRun(first, std::move(readers));
    }
  }

 private:
  std::size_t FanIn() const {
    const bool only_runs = std::all_of(inputs_.begin(), inputs_.end(),
                                       [](const MergeInput& input) { return input.run && input.run->name.empty(); });
    return std::max(2u, only_runs ? settings_.run_fan_in : settings_.fan_in);
  }

  /// The first of `count` neighbours with the fewest bytes. An input whose size is not known counts as none.
  std::size_t Cheapest(std::size_t count) const {
    const auto bytes = [&](std::size_t i) { return inputs_[i].run ? inputs_[i].run->bytes : 0; };
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += bytes(i);
    std::uint64_t least = sum;
    std::size_t first = 0;
    for (std::size_t i = count; i < inputs_.size(); ++i) {
      sum += bytes(i) - bytes(i - count);
      if (sum < least) {
        least = sum;
        first = i + 1 - count;
      }
    }
    return first;
  }

  /// Readers of `count` inputs, or of fewer, at least 2, if too many files are open; then Prepare has been called.
  Readers Open(std::size_t first, std::size_t count) {
    const std::uint64_t buffer_bytes =
        std::clamp<std::uint64_t>(settings_.memory_bytes / count, kMinSourceBytes, kMaxSourceBytes);
    std::vector<std::unique_ptr<ByteSource>> sources;
    while (sources.size() < count) {
      const MergeInput& input = inputs_[first + sources.size()];
      std::unique_ptr<ByteSource> source = input.run ? temp_.Open(*input.run) : open_input_(input.index);
      if (source == nullptr) break;
      sources.push_back(std::move(source));
    }
    if (sources.size() < count) {
      while (!temp_.Prepare() && !sources.empty()) sources.pop_back();
      if (sources.size() < 2) throw Error(ErrorCode::kIo, "open failed: too many open files");
    }
    Readers readers;
    for (auto& source : sources) {
      readers.push_back(std::make_unique<LineReader>(settings_, std::move(source), buffer_bytes));
    }
    return readers;
  }

  /// Replaces the inputs that `readers` read, from `first` on, by one run.
  void MergeToRun(std::size_t first, Readers readers) {
    const std::size_t count = readers.size();
    std::unique_ptr<ByteSink> sink = temp_.Create();
    if (sink == nullptr) throw Error(ErrorCode::kIo, "couldn't create temporary file: too many open files");
    LineWriter out(std::move(sink));
    MergeReaders(settings_, std::move(readers), out);
    out.Close();
    TempRun run = temp_.Finish();
    for (std::size_t i = first; i < first + count; ++i) {
      if (inputs_[i].run) temp_.Remove(*inputs_[i].run);
    }
    inputs_[first].run = std::move(run);
    const auto begin = inputs_.begin() + static_cast<std::ptrdiff_t>(first);
    inputs_.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(count));
  }

  const LineSortSettings& settings_;
  const OpenInput& open_input_;
  TempRuns& temp_;
  const OpenOutput& open_output_;
  std::vector<MergeInput> inputs_;
};

}  // namespace

LineWriter::LineWriter(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) { buffer_.reserve(kWriteBytes); }

void LineWriter::Put(const Byte* line, std::uint64_t bytes) { Append(line, bytes); }

void LineWriter::Append(const Byte* data, std::uint64_t bytes) {
  if (buffer_.size() + bytes > kWriteBytes) Flush();
  if (bytes >= kWriteBytes) {
    sink_->Write({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)});
  } else {
    buffer_.insert(buffer_.end(), data, data + bytes);
  }
}

void LineWriter::Flush() {
  sink_->Write(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
}

void LineWriter::Close() {
  Flush();
  sink_->Close();
}

void SortLines(const LineSortSettings& settings, std::size_t input_count, const OpenInput& open_input, TempRuns& temp,
               const OpenOutput& open_output) {
  InputSequence inputs(input_count, open_input);
  LineBatch batch(settings);
  std::vector<MergeInput> runs;
  for (bool more = true; more;) {
    more = batch.Fill(inputs);
    if (batch.empty() && !runs.empty()) break;
    batch.Sort();
    if (!more && runs.empty()) {
      const std::unique_ptr<LineWriter> out = open_output();
      batch.Write(*out);
      out->Close();
      return;
    }
    std::unique_ptr<ByteSink> sink = temp.Create();
    if (sink == nullptr) throw Error(ErrorCode::kIo, "couldn't create temporary file: too many open files");
    LineWriter out(std::move(sink));
    batch.Write(out);
    out.Close();
    runs.push_back({0, temp.Finish()});
  }
  batch.Release();
  MergeLines(settings, std::move(runs), open_input, temp, open_output);
}

void MergeLines(const LineSortSettings& settings, std::vector<MergeInput> inputs, const OpenInput& open_input,
                TempRuns& temp, const OpenOutput& open_output) {
  Merger(settings, open_input, temp, open_output).Merge(std::move(inputs));
}

std::optional<Disorder> FindDisorder(const LineSortSettings& settings, std::unique_ptr<ByteSource> input) {
  LineReader reader(settings, std::move(input), kMaxSourceBytes / 16, true);
  for (std::uint64_t number = 1; reader.Next(); ++number) {
    const int order = number > 1 ? CompareKeyViews(settings, reader.previous_key(), reader.key()) : -1;
    if (order > 0 || (order == 0 && settings.unique)) {
      return Disorder{number, std::string(reinterpret_cast<const char*>(reader.line()), reader.bytes() - 1)};
    }
  }
  return std::nullopt;
}

}  // namespace gpusort
