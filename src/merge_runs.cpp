#include "merge_runs.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "gpusort/error.hpp"

namespace gpusort {
namespace {

/// A block of a run in memory. Windows that use it share it; the buffer goes back when the last one is merged.
struct LoadedBlock {
  std::uint64_t begin = 0;  ///< byte of the run
  BlockPool::Block buffer;
  HostBuffer own;  ///< for lines that no block of the pool holds
  std::span<const std::byte> bytes;
};

/// A run's place in the merge.
struct Cursor {
  Run* run = nullptr;
  std::uint64_t taken = 0;   ///< bytes that earlier windows have
  std::uint64_t loaded = 0;  ///< bytes that can be merged now; all of a run that lies in memory
  // Runs in blocks only:
  std::deque<std::shared_ptr<LoadedBlock>> blocks;            ///< loaded, not all taken, without gaps
  std::map<std::size_t, std::shared_ptr<LoadedBlock>> early;  ///< loaded, but a block before is not
  std::size_t next_to_schedule = 0, next_to_arrive = 0;
  ForecastKey last_scheduled{};
  bool forecast = false;  ///< last_scheduled is known
  // For this window:
  std::uint64_t take = 0;
  std::uint64_t weight = 1;
  std::vector<std::byte> sample, head;  ///< records fetched from the device

  std::uint64_t remaining() const { return run->bytes - taken - take; }
  std::uint64_t available() const { return loaded - taken - take; }
};

/// A window on its way to a lane.
struct MergeTask {
  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<LoadedBlock>> blocks;  ///< what keeps the pieces alive
  Window window;
};

/// What a buffer for any block of the run needs: a block, or its longest line.
std::uint64_t RunBufferBytes(const Run& run, const Plan& plan) {
  std::uint64_t bytes = plan.block_bytes;
  for (const RunBlock& block : run.blocks) bytes = std::max(bytes, LoadBytes(block, plan.block_bytes));
  return bytes;
}

/// Reads the blocks of many runs ahead. Which block is next is known in advance (forecasting): it follows the one whose
/// last key is least. A run with nothing loaded comes before all, so that the cut can always go on.
class ReadAhead {
 public:
  ReadAhead(Job& job, Pipeline& pipeline, std::vector<Cursor>& cursors, bool verify_order, bool free_as_read)
      : job_(job),
        pipeline_(pipeline),
        cursors_(cursors),
        verify_order_(verify_order),
        free_as_read_(free_as_read),
        pool_(job.memory, BufferBytes(job.plan, cursors), Blocks(job.plan, cursors)) {
    if (job.plan.gpu) pool_.memory()->Pin(*job.backend);
    pool_.OnReturn([this] {
      // Taken and given back so that a reader between its look at the pool and its wait is not missed.
      { const std::lock_guard lock(mutex_); }
      changed_.notify_all();
    });
    for (const Cursor& cursor : cursors) {
      if (!cursor.run->records) blocks_left_ += cursor.run->blocks.size();
    }
    if (blocks_left_ == 0) return;
    pipeline.Start([this] { Read(); }, job.plan.io_threads);
  }

  /// The blocks that cursors still hold go back before their pool ends.
  ~ReadAhead() {
    pipeline_.StopAndJoin();  // readers too, if making the rest of the merge threw
    for (Cursor& cursor : cursors_) {
      cursor.blocks.clear();
      cursor.early.clear();
    }
  }

  std::mutex& mutex() { return mutex_; }

  /// Nothing more is needed.
  void Stop() {
    const std::lock_guard lock(mutex_);
    blocks_left_ = 0;
    changed_.notify_all();
  }

  /// Once the pipeline was joined: makes the blocks reusable that were never read.
  void FreeUnread() {
    for (const Cursor& cursor : cursors_) {
      if (!free_as_read_ || !cursor.run->spilled()) continue;
      for (std::size_t i = cursor.next_to_schedule; i < cursor.run->blocks.size(); ++i) {
        FreeBlock(cursor.run->blocks[i], *job_.spill);
      }
    }
  }

  /// Waits until a window can be cut that is worth merging: every run has something to offer, and half of the buffers
  /// are full, or no more can be filled. `lock` is on mutex().
  void WaitForWindow(std::unique_lock<std::mutex>& lock) {
    pipeline_.Wait(lock, changed_, [&] {
      std::uint64_t waiting = 0;
      for (const Cursor& cursor : cursors_) {
        if (cursor.remaining() > 0 && cursor.available() == 0) return false;
        if (!cursor.run->records) waiting += cursor.available();
      }
      if (blocks_left_ == 0 && reading_ == 0) return true;
      return waiting >= pool_.blocks() * pool_.block_bytes() / 2 || (reading_ == 0 && pool_.free_blocks() == 0);
    });
  }

 private:
  /// A block, or the longest line.
  static std::uint64_t BufferBytes(const Plan& plan, const std::vector<Cursor>& cursors) {
    std::uint64_t bytes = 0;
    for (const Cursor& cursor : cursors) {
      if (!cursor.run->records) bytes = std::max(bytes, RunBufferBytes(*cursor.run, plan));
    }
    return bytes;
  }
  static std::uint64_t Blocks(const Plan& plan, const std::vector<Cursor>& cursors) {
    std::uint64_t needed = 0, runs = 0;
    for (const Cursor& cursor : cursors) {
      needed += cursor.run->records ? 0 : cursor.run->blocks.size();
      runs += cursor.run->records ? 0 : 1;
    }
    if (needed == 0) return 0;
    const std::uint64_t fit = plan.merge_blocks * plan.block_bytes / BufferBytes(plan, cursors);
    return std::min(needed, std::max(fit, 2 * runs));
  }

  void Read() {
    for (;;) {
      Cursor* cursor = nullptr;
      BlockPool::Block buffer;
      std::size_t index = 0;
      {
        std::unique_lock lock(mutex_);
        pipeline_.Wait(lock, changed_, [&] {
          if (blocks_left_ == 0) return true;
          cursor = Choose();
          if (cursor == nullptr) return false;
          buffer = pool_.TryAcquire();
          return buffer.data() != nullptr;
        });
        if (blocks_left_ == 0) return;
        index = cursor->next_to_schedule++;
        cursor->last_scheduled = cursor->run->blocks[index].last;
        cursor->forecast = cursor->run->blocks[index].forecast;
        ++reading_;
        --blocks_left_;
      }
      std::shared_ptr<LoadedBlock> block = Load(*cursor->run, index, std::move(buffer));
      std::vector<std::shared_ptr<LoadedBlock>> empty;  // dropped without the lock
      const std::lock_guard lock(mutex_);
      if (!cursor->forecast && cursor->next_to_schedule == index + 1) {
        // No line begins in a block that one line fills: the block behind it will tell.
        if (!block->bytes.empty()) {
          cursor->last_scheduled = MakeForecast(LastRecord(block->bytes, job_.layout), job_.layout);
          cursor->forecast = true;
        }
      }
      cursor->early.emplace(index, std::move(block));
      while (!cursor->early.empty() && cursor->early.begin()->first == cursor->next_to_arrive) {
        std::shared_ptr<LoadedBlock> next = std::move(cursor->early.begin()->second);
        cursor->early.erase(cursor->early.begin());
        ++cursor->next_to_arrive;
        // Kept first: a block that an exception drops would go back to the pool, which needs this lock.
        cursor->blocks.push_back(next);
        if (next->bytes.empty()) {
          empty.push_back(std::move(next));
          cursor->blocks.pop_back();
          continue;
        }
        if (verify_order_ && !cursor->run->spilled()) VerifyBorder(*cursor, *next);
        cursor->loaded += next->bytes.size();
      }
      --reading_;
      changed_.notify_all();
    }
  }

  Cursor* Choose() {
    Cursor* best = nullptr;
    for (Cursor& cursor : cursors_) {
      if (cursor.run->records || cursor.next_to_schedule == cursor.run->blocks.size()) continue;
      const bool empty = cursor.next_to_schedule == cursor.next_to_arrive && cursor.loaded == cursor.taken;
      if (empty) return &cursor;
      // Its last block is on its way and will tell.
      if (!cursor.forecast && cursor.next_to_schedule > cursor.next_to_arrive) continue;
      if (best == nullptr || cursor.last_scheduled < best->last_scheduled) best = &cursor;
    }
    return best;
  }

  std::shared_ptr<LoadedBlock> Load(Run& run, std::size_t index, BlockPool::Block buffer) {
    const RunBlock& place = run.blocks[index];
    auto block = std::make_shared<LoadedBlock>();
    block->begin = place.begin;
    block->buffer = std::move(buffer);
    const bool whole_lines = verify_order_ && !run.spilled() && !job_.layout.fixed();
    {
      const Busy busy(job_.clock, Resource::kDiskRead, place.bytes);
      if (run.spilled()) {
        block->bytes = LoadSpilled(*job_.spill, *job_.temp_codec, run.id, index, block->buffer.span(), place);
      } else if (whole_lines) {
        LoadLines(std::get<InputRange>(place.place), *block);
      } else {
        block->bytes = job_.inputs.Read(std::get<InputRange>(place.place), block->buffer.span());
      }
    }
    if (run.spilled()) {
      if (free_as_read_) FreeBlock(place, *job_.spill);
    } else if (verify_order_) {
      const std::uint64_t bad = FirstDisorder(block->bytes, job_.layout, false);
      if (bad != kInOrder) NotSorted(run, block->begin + bad);
      AddInputSum(run, *block);
    }
    return block;
  }

  /// The lines that begin in `range`. Reads from the byte in front of it, which tells whether a line begins with the
  /// range, to the end of the last one: into a larger buffer if it must be.
  void LoadLines(const InputRange& range, LoadedBlock& block) {
    const std::uint64_t size = job_.inputs.size(range.input);
    const std::uint64_t front = range.offset > 0 ? 1 : 0;
    std::uint64_t room = block.buffer.size() - kReadSlack - front;
    std::span<std::byte> buffer = block.buffer.span();
    for (;; room *= 2) {
      const std::uint64_t count = std::min(room, size - range.offset) + front;
      const std::span<const std::byte> bytes = job_.inputs.Read({range.input, range.offset - front, count}, buffer);
      const std::uint64_t first = front == 0 ? 0 : FirstRecordBytes(bytes, job_.layout);
      block.begin = range.offset - front + first;
      if (front != 0 && (first == 0 || first >= front + range.bytes)) return;  // no line begins here
      const std::uint64_t last = front + range.bytes - 1;
      const std::uint64_t rest = FirstRecordBytes(bytes.subspan(last), job_.layout);
      if (rest > 0) {
        block.bytes = bytes.subspan(first, last + rest - first);
        return;
      }
      const std::uint64_t begin = WholeRecordBytes(bytes, job_.layout);
      if (bytes.size() - begin > job_.plan.ring.max_record) TooLong(range.input, range.offset - front + begin);
      block.own = {};
      block.own = HostBuffer(job_.memory, (2 * room + front + 2 * kReadSlack) / 4096 * 4096);
      buffer = {block.own.data(), block.own.size()};
    }
  }

  /// -m reads its input here for the first time, so here the proof learns what there is.
  void AddInputSum(Run& run, const LoadedBlock& block) {
    std::uint64_t longest = 0;
    const RecordSum sum = SumRecords(block.bytes, job_.layout, &longest);
    if (!job_.layout.fixed() && longest > job_.plan.ring.max_record) {
      ForEachRecord(block.bytes, job_.layout, [&](RecordSpan line) {
        if (line.size() < longest) return;
        TooLong(run.origin.front().input, block.begin + static_cast<std::uint64_t>(line.data() - block.bytes.data()));
      });
    }
    const std::lock_guard lock(mutex_);
    run.sum += sum;
  }

  void VerifyBorder(const Cursor& cursor, const LoadedBlock& block) {
    std::vector<std::byte>& last = last_of_[cursor.run];
    if (!last.empty() && CompareRecords(last, FirstRecord(block.bytes, job_.layout), job_.layout) > 0) {
      NotSorted(*cursor.run, block.begin);
    }
    const RecordSpan record = LastRecord(block.bytes, job_.layout);
    last.assign(record.begin(), record.end());
  }

  [[noreturn]] void NotSorted(const Run& run, std::uint64_t at) const {
    at += job_.inputs.header_bytes(run.origin.front().input);
    const std::string place =
        job_.layout.fixed() ? "record " + std::to_string(at / job_.layout.stride) + " (byte " + std::to_string(at) + ")"
                            : "the line at byte " + std::to_string(at);
    throw Error(ErrorCode::kBadInput, EscapeName(job_.inputs.path(run.origin.front().input)) + ": not sorted: " +
                                          place + " orders before the one in front of it; sort it without -m");
  }

  [[noreturn]] void TooLong(std::uint32_t input, std::uint64_t at) const {
    at += job_.inputs.header_bytes(input);
    throw Error(ErrorCode::kBadInput, LineTooLong(job_.inputs.path(input), at, job_.plan.ring.max_record));
  }

  Job& job_;
  Pipeline& pipeline_;
  std::vector<Cursor>& cursors_;
  const bool verify_order_, free_as_read_;
  BlockPool pool_;
  std::mutex mutex_;  ///< guards the cursors
  std::condition_variable changed_;
  std::uint64_t blocks_left_ = 0;
  unsigned reading_ = 0;
  std::map<const Run*, std::vector<std::byte>> last_of_;
};

/// The cut. Each run offers what is loaded of it, at most its share of the window. Among the runs that have more behind
/// their offer take the one, j, whose last offered key is least (the first such run on ties): runs before j give their
/// keys <= that key, runs after j their keys < it, j gives all it offers. Everything given orders before everything
/// kept, and equal keys keep the order of the runs. Repeated, with larger shares for the runs that set the cut, until
/// the window is full: disjoint, sorted and all-equal runs then stream in full windows too. A run whose next line is
/// longer than its share offers nothing, and that line stands for its last offered key.
class Cutter {
 public:
  Cutter(Job& job, std::vector<Cursor>& cursors) : job_(job), layout_(job.layout), cursors_(cursors) {}

  /// Sets Cursor::take of every cursor for a window of at most `limit` bytes; returns their sum, at least one record.
  std::uint64_t Cut(std::uint64_t limit) {
    const std::uint64_t unit = LeastRecordBytes(layout_);
    for (Cursor& cursor : cursors_) {
      cursor.take = 0;
      cursor.weight = 1;
    }
    std::uint64_t total = 0;
    constexpr int kMaxRounds = 24;
    for (int round = 0; round < kMaxRounds && total + total / 4 < limit; ++round) {
      std::uint64_t weights = 0;
      std::size_t active = 0;
      for (const Cursor& cursor : cursors_) {
        if (cursor.remaining() == 0) continue;
        weights += cursor.weight;
        ++active;
      }
      if (active == 0 || limit - total < active * unit) break;
      offers_.clear();
      const std::uint64_t room = (limit - total) / unit - active;
      std::size_t least = kNone;
      bool starved = false;
      for (std::size_t i = 0; i < cursors_.size(); ++i) {
        Cursor& cursor = cursors_[i];
        if (cursor.remaining() == 0) continue;
        if (cursor.available() == 0) {
          starved = true;
          break;
        }
        // Every share has one record; the rest of the room is dealt by weight.
        const std::uint64_t share =
            1 + static_cast<std::uint64_t>(static_cast<unsigned __int128>(room) * cursor.weight / weights);
        offers_.push_back(MakeOffer(i, std::min(cursor.available(), share * unit)));
        if (offers_.back().bytes == cursor.remaining()) continue;
        if (offers_.back().bytes == 0) offers_.back().last = Head(cursor);
        if (least == kNone || CompareRecords(offers_.back().last, offers_[least].last, layout_) < 0) {
          least = offers_.size() - 1;
        }
      }
      if (starved) break;
      if (least == kNone) {
        for (const Offer& offer : offers_) {
          cursors_[offer.cursor].take += offer.bytes;
          total += offer.bytes;
        }
        break;
      }
      const bool by_loading = offers_[least].bytes == cursors_[offers_[least].cursor].available();
      total += Give(least);
      cursors_[offers_[least].cursor].weight *= 4;
      if (by_loading) break;
    }
    return total == 0 ? TakeOne() : total;
  }

  /// The pieces of the window that Cut chose; advances the cursors.
  void Take(MergeTask& task) {
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& cursor = cursors_[i];
      if (cursor.take == 0) continue;
      const std::uint64_t begin = cursor.taken, end = cursor.taken + cursor.take;
      const auto run = static_cast<std::uint32_t>(i);
      if (cursor.run->records) {
        task.pieces.push_back({cursor.run->records->data() + begin, cursor.take, run, cursor.run->on_device()});
      } else {
        for (const std::shared_ptr<LoadedBlock>& block : cursor.blocks) {
          const std::uint64_t from = std::max(begin, block->begin);
          const std::uint64_t to = std::min(end, block->begin + block->bytes.size());
          if (from >= to) break;
          task.pieces.push_back({block->bytes.data() + (from - block->begin), to - from, run, false});
          task.blocks.push_back(block);
        }
        while (!cursor.blocks.empty() && cursor.blocks.front()->begin + cursor.blocks.front()->bytes.size() <= end) {
          cursor.blocks.pop_front();
        }
      }
      cursor.taken = end;
      cursor.take = 0;
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Offer {
    std::size_t cursor;
    std::uint64_t bytes;
    RecordSpan last;  ///< the last offered record, if the run has more behind it
  };

  /// For windows of fewer records than there are runs: the least record alone.
  std::uint64_t TakeOne() {
    Cursor* least = nullptr;
    std::vector<std::byte> record;
    for (Cursor& cursor : cursors_) {
      if (cursor.remaining() == 0) continue;
      const RecordSpan head = Head(cursor);
      if (least != nullptr && CompareRecords(head, record, layout_) >= 0) continue;
      least = &cursor;
      record.assign(head.begin(), head.end());
    }
    return least->take = record.size();
  }

  std::uint64_t Give(std::size_t least) {
    const RecordSpan cut = offers_[least].last;
    std::vector<SearchRange> ranges;
    std::vector<std::size_t> on_device;
    std::uint64_t given = 0;
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      const Offer& offer = offers_[i];
      Cursor& cursor = cursors_[offer.cursor];
      if (i == least) {
        given += offer.bytes;
      } else if (offer.bytes == 0) {
        continue;
      } else if (cursor.run->on_device()) {
        ranges.push_back({cursor.run->records->data() + next(cursor), offer.bytes, i < least});
        on_device.push_back(i);
      } else {
        counts_.emplace_back(offer.cursor, Before(cursor, offer.bytes, cut, i < least));
      }
    }
    if (!ranges.empty()) {
      const std::vector<std::uint64_t> counts = job_.backend->BytesBefore(ranges, cut);
      for (std::size_t i = 0; i < counts.size(); ++i) counts_.emplace_back(offers_[on_device[i]].cursor, counts[i]);
    }
    cursors_[offers_[least].cursor].take += offers_[least].bytes;
    for (const auto& [cursor, bytes] : counts_) {
      cursors_[cursor].take += bytes;
      given += bytes;
    }
    counts_.clear();
    return given;
  }

  /// The byte of its run that a cursor offers first.
  static std::uint64_t next(const Cursor& cursor) { return cursor.taken + cursor.take; }

  /// Of the next `bytes`.
  Offer MakeOffer(std::size_t index, std::uint64_t bytes) const {
    Cursor& cursor = cursors_[index];
    if (bytes == cursor.remaining()) return {index, bytes, {}};
    const std::uint64_t from = next(cursor), end = from + bytes;
    if (cursor.run->records) {
      const RunView::Last last = RunView(*cursor.run->records, layout_).LastBefore(from, end, cursor.sample);
      return {index, last.end - from, last.record};
    }
    const LoadedBlock& block = BlockAt(cursor, end - 1);
    const std::uint64_t begin = std::max(from, block.begin);
    const std::uint64_t whole = WholeRecordBytes(block.bytes.subspan(begin - block.begin, end - begin), layout_);
    // What is loaded ends with a record, and so do blocks.
    const std::uint64_t offered = begin + whole - from;
    if (offered == 0) return {index, 0, {}};
    const LoadedBlock& holder = BlockAt(cursor, from + offered - 1);
    return {index, offered, LastRecord(holder.bytes.first(from + offered - holder.begin), layout_)};
  }

  /// How many of the next `bytes` order before the cut.
  std::uint64_t Before(Cursor& cursor, std::uint64_t bytes, RecordSpan cut, bool inclusive) const {
    const std::uint64_t from = next(cursor), end = from + bytes;
    if (cursor.run->records) {
      return gpusort::BytesBefore({cursor.run->records->data() + from, bytes}, cut, inclusive, layout_);
    }
    // The first block whose last record is kept, by halving; it holds the border.
    std::size_t low = 0, high = cursor.blocks.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const LoadedBlock& block = *cursor.blocks[middle];
      bool given = block.begin + block.bytes.size() <= from;
      if (!given && block.begin < end) {
        const int order = CompareRecords(LastRecord(block.bytes, layout_), cut, layout_);
        given = order < 0 || (order == 0 && inclusive);
      }
      low = given ? middle + 1 : low;
      high = given ? high : middle;
    }
    if (low == cursor.blocks.size() || cursor.blocks[low]->begin >= end) return bytes;
    const LoadedBlock& block = *cursor.blocks[low];
    const std::uint64_t begin = std::max(from, block.begin);
    const std::uint64_t stop = std::min(end, block.begin + block.bytes.size());
    return begin - from +
           gpusort::BytesBefore(block.bytes.subspan(begin - block.begin, stop - begin), cut, inclusive, layout_);
  }

  /// The next record; it must be loaded. Device records are fetched.
  RecordSpan Head(Cursor& cursor) const {
    const std::uint64_t at = next(cursor);
    if (cursor.run->records) return RunView(*cursor.run->records, layout_).RecordAt(at, cursor.head);
    const LoadedBlock& block = BlockAt(cursor, at);
    return FirstRecord(block.bytes.subspan(at - block.begin), layout_);
  }
  /// The loaded block that holds byte `at` of the run.
  static const LoadedBlock& BlockAt(const Cursor& cursor, std::uint64_t at) {
    const auto after = std::upper_bound(cursor.blocks.begin(), cursor.blocks.end(), at,
                                        [](std::uint64_t byte, const auto& block) { return byte < block->begin; });
    return **std::prev(after);
  }

  Job& job_;
  const RecordLayout& layout_;
  std::vector<Cursor>& cursors_;
  std::vector<Offer> offers_;
  std::vector<std::pair<std::size_t, std::uint64_t>> counts_;
};

/// Lines longer than a block take more memory a run.
std::uint64_t FanIn(const Job& job, const std::vector<Run>& runs) {
  if (job.layout.fixed()) return job.plan.fan_in;
  std::uint64_t buffer = job.plan.block_bytes;
  for (const Run& run : runs) buffer = std::max(buffer, RunBufferBytes(run, job.plan));
  const std::uint64_t most = job.plan.merge_blocks * job.plan.block_bytes / (2 * buffer);
  return std::min(job.plan.fan_in, std::max<std::uint64_t>(2, most));
}

using MakeSink = std::function<std::unique_ptr<WindowSink>(Pipeline&)>;

/// One merge of `count` neighbouring runs from `first` on. Returns the sink's bytes.
std::uint64_t MergeInto(Job& job, Run* first, std::size_t count, bool verify_order, bool free_as_read,
                        const MakeSink& make_sink) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t total = 0;
  std::vector<Cursor> cursors(count);
  for (std::size_t i = 0; i < count; ++i) {
    cursors[i].run = first + i;
    cursors[i].loaded = first[i].records ? first[i].bytes : 0;
    total += first[i].bytes;
  }
  Pipeline pipeline(job.cancel);
  const std::uint64_t window_bytes = std::min(job.plan.window_bytes, std::max(total, LeastRecordBytes(job.layout)));
  const std::uint64_t buffer_bytes = (window_bytes + 2 * kPage - 1) / kPage * kPage;
  const std::uint64_t windows = std::min<std::uint64_t>(job.plan.windows, total / window_bytes + 1);
  BlockPool buffers(
      job.ring_memory ? job.ring_memory : std::make_shared<PinnedBuffer>(job.memory, windows * buffer_bytes),
      buffer_bytes, windows);
  if (job.plan.gpu) buffers.memory()->Pin(*job.backend);
  ReadAhead read_ahead(job, pipeline, cursors, verify_order, free_as_read);
  BoundedQueue<std::shared_ptr<MergeTask>> tasks(pipeline, 1);
  const std::unique_ptr<WindowSink> sink = make_sink(pipeline);
  std::mutex mutex;
  std::uint64_t cut = 0, merged = 0;
  bool all_cut = false;
  const Pipeline::Guard guard(pipeline);

  pipeline.Start([&] {
    Cutter cutter(job, cursors);
    const std::uint64_t end = sink->begin() + total;
    std::uint64_t offset = sink->begin(), number = 0;
    while (offset < end && !sink->enough()) {
      // The buffer first: later windows must never hold what an earlier one waits for.
      auto task = std::make_shared<MergeTask>();
      task->window.buffer = buffers.Acquire(pipeline);
      {
        std::unique_lock lock(read_ahead.mutex());
        read_ahead.WaitForWindow(lock);
        task->window.bytes = cutter.Cut(window_bytes);
        cutter.Take(*task);
      }
      task->window.number = number++;
      task->window.offset = offset;
      task->window.data = task->window.buffer.data() + offset % kPage;
      offset += task->window.bytes;
      tasks.Push(std::move(task));
    }
    tasks.Finish();
    if (offset < end) read_ahead.Stop();
    const std::lock_guard lock(mutex);
    cut = number;
    all_cut = true;
    if (merged == cut) sink->Finish(cut);
  });
  const auto merge = [&] {
    const std::unique_ptr<Lane> lane = job.backend->OpenLane();
    while (std::optional<std::shared_ptr<MergeTask>> task = tasks.Pop()) {
      {
        const Busy busy(job.clock, Resource::kCompute, (*task)->window.bytes);
        lane->Merge((*task)->pieces, (*task)->window.data);
        job.clock.Add(lane->TakeTimes());
      }
      (*task)->blocks.clear();
      sink->Accept(std::move((*task)->window));
      const std::lock_guard lock(mutex);
      if (++merged == cut && all_cut) sink->Finish(cut);
    }
  };
  pipeline.Start(merge, job.plan.merge_lanes);
  pipeline.Join();
  sink->Complete();
  read_ahead.FreeUnread();
  return sink->bytes();
}

/// Makes one run of `count` neighbours in place.
void MergeNeighbours(Job& job, std::vector<Run>& runs, std::size_t first, std::size_t count, bool verify_order) {
  Run merged;
  merged.id = job.next_run_id++;
  const bool free_as_read = !job.plan.gpu;  // only a lost GPU asks for them again
  try {
    MergeInto(job, &runs[first], count, verify_order, free_as_read,
              [&](Pipeline& pipeline) { return MakeSpillSink(job, pipeline, merged); });
  } catch (...) {
    FreeBlocks(merged, *job.spill);
    throw;
  }
  for (std::size_t i = first; i < first + count; ++i) {
    merged.sum += runs[i].sum;
    merged.level = std::max(merged.level, runs[i].level + 1);
    if (!free_as_read) FreeBlocks(runs[i], *job.spill);
    merged.origin.insert(merged.origin.end(), runs[i].origin.begin(), runs[i].origin.end());
  }
  runs[first] = std::move(merged);
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(first) + 1,
             runs.begin() + static_cast<std::ptrdiff_t>(first + count));
}

}  // namespace

std::uint64_t MergeRuns(Job& job, std::vector<Run>& runs, OutputTarget& target, OutputProof& proof, bool verify_order) {
  for (;;) {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(runs.size());
    for (const Run& run : runs) sizes.push_back(run.records ? kResident : run.bytes);
    const std::optional<MergeGroup> group = NextMerge(sizes, FanIn(job, runs));
    if (!group) break;
    MergeNeighbours(job, runs, group->first, group->count, verify_order);
  }
  return MergeInto(job, runs.data(), runs.size(), verify_order, false,
                   [&](Pipeline& pipeline) { return MakeOutputSink(job, pipeline, target, proof); });
}

}  // namespace gpusort
