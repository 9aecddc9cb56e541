// Reads the blocks of sorted runs from the disk before a merge needs them, in the order in which the merge will need
// them. Start at ReadAhead.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flow/pipeline.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/cut.hpp"
#include "runs/job.hpp"
#include "runs/keyed_input.hpp"
#include "runs/run.hpp"

namespace gpusort {

/// Returns the size in bytes of a buffer that can hold any block of a sorted run, also a block that is one long line.
inline std::uint64_t RunBufferBytes(const Run& run, const Plan& plan) {
  return std::max(plan.block_bytes, run.blocks.MostLoadBytes(plan.block_bytes));
}

/// Says if a merge frees the space of a block in a temp file after it has read the block. With kKept, the space is not
/// freed, so that the block can be read again if the merge fails.
enum class SpillSpace { kKept, kFreedAsRead };

/// Reads the blocks of sorted runs before a merge needs them.
class ReadAhead {
 public:
  /// Starts threads of `pipeline` that read the blocks of sorted runs. Each of the `cursors` is the position of the
  /// merge in one run.
  ReadAhead(Job& job, Pipeline& pipeline, std::vector<Cursor>& cursors, RunOrder order, SpillSpace space)
      : job_(job),
        pipeline_(pipeline),
        cursors_(cursors),
        order_(order),
        space_(space),
        pool_(job.memory, BufferBytes(job.plan, cursors), Blocks(job.plan, cursors)) {
    if (job.plan.gpu) pool_.memory()->Pin(*job.backend);
    pool_.OnReturn([this] {
      // A reading thread holds this lock from the moment when it looks for a free buffer until it waits for one. Taking
      // the lock here ensures that no such thread misses the notification.
      { const std::lock_guard lock(mutex_); }
      changed_.notify_all();
    });
    for (const Cursor& cursor : cursors) {
      if (!cursor.run->records) blocks_left_ += cursor.run->blocks.size() - cursor.next_to_schedule;
    }
    if (blocks_left_ == 0) return;
    pipeline.Start([this] { Read(); }, job.plan.io_threads, "read ahead");
  }

  /// Returns the buffers of all loaded blocks to the pool.
  ~ReadAhead() {
    pipeline_.StopAndJoin();  // a reading thread may still run, if the constructor of the merge threw
    for (Cursor& cursor : cursors_) {
      cursor.blocks.clear();
      cursor.early.clear();
    }
  }

  /// Returns the mutex that protects the cursors that were passed to the constructor.
  std::mutex& mutex() { return mutex_; }

  /// Returns the number of buffers with records that are not merged yet.
  std::uint64_t full_blocks() const { return pool_.blocks() - pool_.free_blocks(); }

  /// Stops reading, even if there are more blocks. Call this when the merge needs no more records.
  void Stop() {
    const std::lock_guard lock(mutex_);
    blocks_left_ = 0;
    changed_.notify_all();
  }

  /// Frees the temp space of all blocks that were not read because the merge ended early (--top). Does nothing if the
  /// merge keeps the space of its blocks (SpillSpace::kKept). Call this after the threads of the pipeline have ended.
  void FreeUnread() {
    for (const Cursor& cursor : cursors_) {
      if (space_ == SpillSpace::kKept || !cursor.run->spilled()) continue;
      for (std::size_t i = cursor.next_to_schedule; i < cursor.run->blocks.size(); ++i) {
        job_.store->Free(cursor.run->blocks[i]);
      }
    }
  }

  /// Waits until enough records for the next step of the merge are in memory. `lock` must hold mutex().
  void WaitForWindow(std::unique_lock<std::mutex>& lock) {
    pipeline_.Wait(lock, changed_, [&] {
      std::uint64_t waiting = 0;
      for (const Cursor& cursor : cursors_) {
        if (cursor.remaining() > 0 && cursor.available() == 0) return false;
        if (!cursor.run->records) waiting += cursor.available();
      }
      if (blocks_left_ == 0 && reading_ == 0) return true;
      // Half of the buffers are full, or no more buffers can be filled now.
      return waiting >= pool_.blocks() * pool_.block_bytes() / 2 || (reading_ == 0 && pool_.free_blocks() == 0);
    });
  }

 private:
  /// Returns the size of a buffer for one block, in bytes. If plan.ring.grows is true, a block with a very long line
  /// can be larger than this buffer.
  static std::uint64_t BufferBytes(const Plan& plan, const std::vector<Cursor>& cursors) {
    if (plan.ring.grows) return plan.block_bytes;
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
    std::optional<KeyedInput::Buffers> buffers;
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
        const RunBlock next = cursor->run->blocks[index];
        cursor->last_scheduled = next.last;
        cursor->forecast = next.forecast;
        ++reading_;
        --blocks_left_;
      }
      KeyedInput* const keyed = cursor->run->keyed.get();
      if (keyed != nullptr && !buffers) buffers.emplace(keyed->MakeBuffers());
      std::shared_ptr<LoadedBlock> block = keyed != nullptr
                                               ? LoadKeyed(*cursor->run, *keyed, index, std::move(buffer), *buffers)
                                               : Load(*cursor->run, index, std::move(buffer));
      // Declared before `lock`, so that they are destroyed after it. Their destruction returns blocks to the pool,
      // which locks `mutex_`.
      std::vector<std::shared_ptr<LoadedBlock>> empty;
      std::shared_ptr<LoadedBlock> next;
      const std::lock_guard lock(mutex_);
      if (!cursor->forecast && cursor->next_to_schedule == index + 1) {
        // A block without records has no last key.
        if (!block->bytes.empty()) {
          cursor->last_scheduled = MakeForecast(LastRecord(block->bytes, job_.layout), job_.layout);
          cursor->forecast = true;
        }
      }
      cursor->early.emplace(index, std::move(block));
      while (!cursor->early.empty() && cursor->early.begin()->first == cursor->next_to_arrive) {
        next = std::move(cursor->early.begin()->second);
        cursor->early.erase(cursor->early.begin());
        ++cursor->next_to_arrive;
        cursor->blocks.push_back(next);
        if (next->bytes.empty()) {
          empty.push_back(std::move(next));
          cursor->blocks.pop_back();
          continue;
        }
        if (order_ == RunOrder::kVerified && !cursor->run->spilled() && keyed == nullptr) VerifyBorder(*cursor, *next);
        // Counts only bytes after `loaded`. In a resumed job, `loaded` can be inside this block at first.
        cursor->loaded += next->begin + next->bytes.size() - std::max(cursor->loaded, next->begin);
      }
      if (cursor->grows && cursor->next_to_arrive == cursor->run->blocks.size()) {
        cursor->run->bytes = cursor->loaded;
        cursor->grows = false;
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
      // Skips a sorted run while its previous block is being read. The last key of this block tells when the next is
      // needed.
      if (!cursor.forecast && cursor.next_to_schedule > cursor.next_to_arrive) continue;
      // The merge first needs more records of the sorted run whose last read key is the smallest.
      if (best == nullptr || cursor.last_scheduled < best->last_scheduled) best = &cursor;
    }
    return best;
  }

  std::shared_ptr<LoadedBlock> Load(Run& run, std::size_t index, BlockPool::Block buffer) {
    const RunBlock place = run.blocks[index];
    auto block = std::make_shared<LoadedBlock>();
    block->begin = place.begin;
    block->buffer = std::move(buffer);
    const bool whole_lines = order_ == RunOrder::kVerified && !run.spilled() && !job_.layout.fixed();
    std::span<std::byte> buffer_span = block->buffer.span();
    if (const std::uint64_t bytes = LoadBytes(place, job_.plan.block_bytes); bytes > buffer_span.size()) {
      // The block contains a line that is longer than the plan assumes.
      block->own = HostBuffer(job_.memory, bytes);
      buffer_span = {block->own.data(), bytes};
    }
    {
      const Busy busy(job_.clock, Resource::kDiskRead, place.bytes,
                      {"read run", run.id, run.spilled() ? TraceTrack::kTemp : TraceTrack::kInput});
      if (run.spilled()) {
        block->bytes = job_.store->Load(run.id, index, buffer_span, place);
      } else if (whole_lines) {
        LoadLines(std::get<InputRange>(place.place), *block);
      } else {
        block->bytes = job_.inputs.Read(std::get<InputRange>(place.place), buffer_span);
      }
    }
    if (!run.spilled() && !whole_lines && !job_.layout.fixed() &&
        block->bytes.back() != static_cast<std::byte>(job_.layout.delimiter)) {
      throw WrongResult("a run in the input ends inside a line that ended there before");
    }
    if (run.spilled()) {
      if (space_ == SpillSpace::kFreedAsRead) job_.store->Free(place);
    } else if (order_ == RunOrder::kVerified) {
      const std::uint64_t bad = FirstDisorder(block->bytes, job_.layout, false);
      if (bad != kInOrder) NotSorted(run, block->begin + bad);
      // The inputs of -m were not read before, so they have no checksum yet.
      AddInputSum(run, *block);
    }
    return block;
  }

  /// Loads block number `index` of an input of -m, and puts a sort key before each of its records. The blocks of an
  /// input must be loaded in order.
  std::shared_ptr<LoadedBlock> LoadKeyed(Run& run, KeyedInput& keyed, std::size_t index, BlockPool::Block buffer,
                                         KeyedInput::Buffers& buffers) {
    const auto range = std::get<InputRange>(run.blocks[index].place);
    auto block = std::make_shared<LoadedBlock>();
    block->buffer = std::move(buffer);
    {
      const Busy busy(job_.clock, Resource::kCompute, range.bytes, {"make keys", run.id, TraceTrack::kInput});
      keyed.Load(range, buffers, *block);
    }
    const std::lock_guard lock(mutex_);
    run.sum += block->sum;
    return block;
  }

  /// Loads the lines that begin in the bytes `range` of an input. Reads the byte before the range, too: if it is a
  /// delimiter, a line begins at the beginning of the range. Reads on to the end of the last line, in a larger buffer
  /// if necessary.
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
      if (front != 0 && (first == 0 || first >= front + range.bytes)) return;  // no line begins in the range
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

  /// Adds the records of `block` to the checksum of the sorted run. Throws LineTooLong if a line is too long.
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
    const std::uint32_t input = run.origin.front().input;
    at += job_.inputs.begin(input);
    const std::string place =
        job_.layout.fixed() ? "record " + std::to_string(at / job_.layout.stride) + " (byte " + std::to_string(at) + ")"
                            : "the line at byte " + std::to_string(at);
    // A range of a file is a part of a run that a task has written.
    const std::string advice = job_.inputs.ends_inside(input) ? "" : SortInstead(job_.layout);
    throw Error(ErrorCode::kBadInput, gpusort::NotSorted(job_.inputs.path(input), place) + advice);
  }

  [[noreturn]] void TooLong(std::uint32_t input, std::uint64_t at) const {
    at += job_.inputs.begin(input);
    throw LineTooLong(job_.inputs.path(input), at, job_.plan.ring.max_record);
  }

  Job& job_;
  Pipeline& pipeline_;
  std::vector<Cursor>& cursors_;
  const RunOrder order_;
  const SpillSpace space_;
  BlockPool pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t blocks_left_ = 0;
  unsigned reading_ = 0;
  std::map<const Run*, std::vector<std::byte>> last_of_;
};

}  // namespace gpusort
