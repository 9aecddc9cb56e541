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
  std::vector<std::byte> sample;  ///< a record fetched from the device

  std::uint64_t remaining() const { return run->bytes - taken - take; }
  std::uint64_t available() const { return loaded - taken - take; }
};

/// A window on its way to a lane.
struct MergeTask {
  std::vector<Piece> pieces;
  std::vector<std::shared_ptr<LoadedBlock>> blocks;  ///< what keeps the pieces alive
  Window window;
};

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
        pool_(job.memory, NeedsBlocks(cursors) ? job.plan.block_bytes : 0, Blocks(job.plan, cursors)) {
    if (job.plan.gpu) pool_.Pin(*job.backend);
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
  static bool NeedsBlocks(const std::vector<Cursor>& cursors) {
    return std::any_of(cursors.begin(), cursors.end(), [](const Cursor& c) { return !c.run->records; });
  }
  static std::uint64_t Blocks(const Plan& plan, const std::vector<Cursor>& cursors) {
    std::uint64_t needed = 0, runs = 0;
    for (const Cursor& cursor : cursors) {
      needed += cursor.run->records ? 0 : cursor.run->blocks.size();
      runs += cursor.run->records ? 0 : 1;
    }
    return std::min(needed, std::max(plan.merge_blocks, 2 * runs));
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
      const std::lock_guard lock(mutex_);
      if (!cursor->forecast && cursor->next_to_schedule == index + 1) {
        cursor->last_scheduled =
            MakeForecast(block->bytes.data() + block->bytes.size() - job_.layout.stride, job_.layout);
        cursor->forecast = true;
      }
      cursor->early.emplace(index, std::move(block));
      while (!cursor->early.empty() && cursor->early.begin()->first == cursor->next_to_arrive) {
        std::shared_ptr<LoadedBlock> next = std::move(cursor->early.begin()->second);
        cursor->early.erase(cursor->early.begin());
        // Kept first: a block that an exception drops would go back to the pool, which needs this lock.
        cursor->blocks.push_back(next);
        if (verify_order_ && !cursor->run->spilled()) VerifyBorder(*cursor, *next);
        cursor->loaded += next->bytes.size();
        ++cursor->next_to_arrive;
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
      if (!cursor.forecast) continue;  // its last block is on its way and will tell
      if (best == nullptr || cursor.last_scheduled < best->last_scheduled) best = &cursor;
    }
    return best;
  }

  std::shared_ptr<LoadedBlock> Load(Run& run, std::size_t index, BlockPool::Block buffer) {
    const RunBlock& place = run.blocks[index];
    auto block = std::make_shared<LoadedBlock>();
    block->begin = place.begin;
    block->buffer = std::move(buffer);
    {
      const Busy busy(job_.clock, Resource::kDiskRead, place.bytes);
      if (const SpillExtent* extent = std::get_if<SpillExtent>(&place.place)) {
        const std::uint64_t bytes = job_.spill->Read(*extent, run.id, index, block->buffer.span());
        block->bytes = block->buffer.span().subspan(kSpillHeaderBytes, bytes);
      } else {
        block->bytes = job_.inputs.Read(std::get<InputRange>(place.place), block->buffer.span());
      }
    }
    if (block->bytes.size() != place.bytes) {
      throw Error(ErrorCode::kIntegrity, "a spilled block has " + std::to_string(block->bytes.size()) + " bytes, not " +
                                             std::to_string(place.bytes));
    }
    if (const SpillExtent* extent = std::get_if<SpillExtent>(&place.place)) {
      if (free_as_read_) job_.spill->Free(*extent);
    } else if (verify_order_) {
      const std::uint64_t bad = FirstDisorder(block->bytes, job_.layout, false);
      if (bad != kInOrder) NotSorted(run, place.begin / job_.layout.stride + bad);
      AddInputSum(run, block->bytes);
    }
    return block;
  }

  /// -m reads its input here for the first time, so here the proof learns what there is.
  void AddInputSum(Run& run, std::span<const std::byte> bytes) {
    const RecordSum sum = SumRecords(bytes, job_.layout.stride);
    const std::lock_guard lock(mutex_);
    run.sum += sum;
  }

  void VerifyBorder(const Cursor& cursor, const LoadedBlock& block) {
    std::vector<std::byte>& last = last_of_[cursor.run];
    if (!last.empty() && CompareRecords(last.data(), block.bytes.data(), job_.layout) > 0) {
      NotSorted(*cursor.run, block.begin / job_.layout.stride);
    }
    last.assign(block.bytes.end() - static_cast<std::ptrdiff_t>(job_.layout.stride), block.bytes.end());
  }

  [[noreturn]] void NotSorted(const Run& run, std::uint64_t record) const {
    throw Error(ErrorCode::kBadInput, EscapeName(job_.inputs.path(run.origin.front().input)) + ": not sorted: record " +
                                          std::to_string(record) + " (byte " +
                                          std::to_string(record * job_.layout.stride) +
                                          ") orders before the one in front of it; sort it without -m");
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
/// the window is full: disjoint, sorted and all-equal runs then stream in full windows too.
class Cutter {
 public:
  Cutter(Job& job, std::vector<Cursor>& cursors) : job_(job), layout_(job.layout), cursors_(cursors) {}

  /// Sets Cursor::take of every cursor for a window of at most `limit` bytes; returns their sum, at least one record.
  std::uint64_t Cut(std::uint64_t limit) {
    const std::uint64_t stride = layout_.stride;
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
      if (active == 0 || limit - total < active * stride) break;
      offers_.clear();
      const std::uint64_t room = (limit - total) / stride - active;
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
        const std::uint64_t bytes = std::min(cursor.available(), share * stride);
        offers_.push_back({i, bytes, nullptr});
        if (bytes == cursor.remaining()) continue;
        offers_.back().last = RecordAt(cursor, cursor.taken + cursor.take + bytes - stride);
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
    const std::byte* last;  ///< the last offered record, if the run has more behind it
  };

  /// For windows of fewer records than there are runs: the least record alone.
  std::uint64_t TakeOne() {
    Cursor* least = nullptr;
    std::vector<std::byte> record;
    for (Cursor& cursor : cursors_) {
      if (cursor.remaining() == 0) continue;
      const std::byte* head = RecordAt(cursor, cursor.taken);
      if (least != nullptr && CompareRecords(head, record.data(), layout_) >= 0) continue;
      least = &cursor;
      record.assign(head, head + layout_.stride);
    }
    least->take = layout_.stride;
    return layout_.stride;
  }

  std::uint64_t Give(std::size_t least) {
    const std::uint64_t stride = layout_.stride;
    const std::byte* cut = offers_[least].last;
    std::vector<SearchRange> ranges;
    std::vector<std::size_t> on_device;
    std::uint64_t given = 0;
    for (std::size_t i = 0; i < offers_.size(); ++i) {
      const Offer& offer = offers_[i];
      Cursor& cursor = cursors_[offer.cursor];
      const std::uint64_t from = cursor.taken + cursor.take;
      if (i == least) {
        given += offer.bytes;
      } else if (cursor.run->on_device()) {
        ranges.push_back({cursor.run->records->data() + from, offer.bytes / stride, i < least});
        on_device.push_back(i);
      } else {
        std::uint64_t low = 0, high = offer.bytes / stride;
        while (low < high) {
          const std::uint64_t middle = low + (high - low) / 2;
          const int order = CompareRecords(RecordAt(cursor, from + middle * stride), cut, layout_);
          if (order < 0 || (order == 0 && i < least)) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        counts_.emplace_back(offer.cursor, low * stride);
      }
    }
    if (!ranges.empty()) {
      const std::vector<std::uint64_t> counts = job_.backend->CountBefore(ranges, cut);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        counts_.emplace_back(offers_[on_device[i]].cursor, counts[i] * stride);
      }
    }
    cursors_[offers_[least].cursor].take += offers_[least].bytes;
    for (const auto& [cursor, bytes] : counts_) {
      cursors_[cursor].take += bytes;
      given += bytes;
    }
    counts_.clear();
    return given;
  }

  /// The record at byte `offset` of the run, which must be loaded. Device records are fetched.
  const std::byte* RecordAt(Cursor& cursor, std::uint64_t offset) {
    if (cursor.run->records) {
      if (!cursor.run->on_device()) return cursor.run->records->data() + offset;
      cursor.sample.resize(layout_.stride);
      cursor.run->records->Read(offset, cursor.sample);
      return cursor.sample.data();
    }
    const auto after = std::upper_bound(cursor.blocks.begin(), cursor.blocks.end(), offset,
                                        [](std::uint64_t at, const auto& block) { return at < block->begin; });
    const LoadedBlock& block = **std::prev(after);
    return block.bytes.data() + (offset - block.begin);
  }

  Job& job_;
  const RecordLayout& layout_;
  std::vector<Cursor>& cursors_;
  std::vector<Offer> offers_;
  std::vector<std::pair<std::size_t, std::uint64_t>> counts_;
};

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
  const std::uint64_t window_bytes = std::min(job.plan.window_bytes, std::max(total, job.layout.stride));
  BlockPool buffers(job.memory, (window_bytes + 2 * kPage - 1) / kPage * kPage,
                    std::min<std::uint64_t>(job.plan.windows, total / window_bytes + 1));
  if (job.plan.gpu) buffers.Pin(*job.backend);
  ReadAhead read_ahead(job, pipeline, cursors, verify_order, free_as_read);
  BoundedQueue<std::shared_ptr<MergeTask>> tasks(pipeline, 1);
  const std::unique_ptr<WindowSink> sink = make_sink(pipeline);
  std::mutex mutex;
  std::uint64_t windows = 0, merged = 0;
  bool all_cut = false;
  const Pipeline::Guard guard(pipeline);

  pipeline.Start([&] {
    Cutter cutter(job, cursors);
    std::uint64_t offset = 0, number = 0;
    while (offset < total) {
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
    const std::lock_guard lock(mutex);
    windows = number;
    all_cut = true;
    if (merged == windows) sink->Finish(windows);
  });
  const auto merge = [&] {
    const std::unique_ptr<Lane> lane = job.backend->OpenLane();
    while (std::optional<std::shared_ptr<MergeTask>> task = tasks.Pop()) {
      {
        const Busy busy(job.clock, Resource::kCompute, (*task)->window.bytes);
        lane->Merge((*task)->pieces, (*task)->window.data);
      }
      (*task)->blocks.clear();
      sink->Accept(std::move((*task)->window));
      const std::lock_guard lock(mutex);
      if (++merged == windows && all_cut) sink->Finish(windows);
    }
  };
  pipeline.Start(merge, job.plan.merge_lanes);
  pipeline.Join();
  sink->Complete();
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
    const std::optional<MergeGroup> group = NextMerge(sizes, job.plan.fan_in);
    if (!group) break;
    MergeNeighbours(job, runs, group->first, group->count, verify_order);
  }
  return MergeInto(job, runs.data(), runs.size(), verify_order, false,
                   [&](Pipeline& pipeline) { return MakeOutputSink(job, pipeline, target, proof); });
}

}  // namespace gpusort
