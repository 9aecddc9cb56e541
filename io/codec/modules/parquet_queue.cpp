#include "io/codec/modules/parquet_queue.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "io/codec/modules/parquet_footer.hpp"

namespace gpusort {
namespace {

/// The least number of vectors of a kind that may be kept to be used again.
constexpr std::size_t kLeastSpare = 4;

/// Returns how much memory rows of `bytes` bytes take until they are encoded. `room` is the capacity of their vector.
std::uint64_t MemoryOf(std::size_t bytes, std::size_t room) {
  // The libraries copy a value to its dictionary, its page, the compressed page, and twice or more to the statistics.
  // Such copies are small unless a single row is larger than most pages.
  constexpr std::uint64_t kLarge = std::uint64_t{2} << 20, kCopies = 7;
  return room + (bytes > kLarge ? kCopies * bytes : 0);
}

}  // namespace

GroupQueue::GroupQueue(const RowSchema& schema, GroupsFile file, const KeptRows* store, unsigned threads,
                       std::uint64_t memory)
    : schema_(schema), file_(std::move(file)), store_(store), memory_(memory), spare_parts_(schema.columns.size()) {
  if (threads <= 1) return;
  while (workers_.size() < threads && StartThread(workers_, [this] { Work(); }).empty()) continue;
}

GroupQueue::~GroupQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  workers_.clear();
}

std::vector<std::byte> GroupQueue::MakeRows() {
  const std::lock_guard lock(mutex_);
  if (spare_rows_.empty()) return {};
  std::vector<std::byte> rows = std::move(spare_rows_.back());
  spare_rows_.pop_back();
  rows.clear();
  return rows;
}

void GroupQueue::Add(std::vector<std::byte> rows, std::span<const std::byte> lent, bool ends_group) {
  auto chunk = std::make_unique<Chunk>();
  chunk->rows = std::move(rows);
  chunk->lent = lent;
  const std::size_t bytes = chunk->rows.size() + lent.size();
  chunk->memory = MemoryOf(bytes, std::max(bytes, chunk->rows.capacity()));
  chunk->parts_left = schema_.columns.size();
  std::unique_ptr<Group> begun;
  if (std::exchange(begins_group_, ends_group)) {
    begun = std::make_unique<Group>(file_, groups_begun_++);
    begun->columns.resize(schema_.columns.size());
    begun->unfinished = begun->columns.size();
  }
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
    if (begun) {
      bytes_ += begun->writer.filter_bytes();
      groups_.push_back(std::move(begun));
    }
    bytes_ += chunk->memory;
    groups_.back()->chunks.push_back(std::move(chunk));
    groups_.back()->ended = ends_group;
    ++undivided_;
  }
  work_.notify_one();
  // If all threads are busy, more rows would only take memory.
  MakeRoom(memory_, 2 * workers_.size());
}

void GroupQueue::Finish() {
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
  }
  work_.notify_one();
  MakeRoom(0, 0);
  WriteEnd(file_, written_);
}

void GroupQueue::Pause() {
  Lock lock(mutex_);
  paused_ = true;
  while (writing_) done_.wait(lock);
}

void GroupQueue::CopyLent(Chunk& chunk, Lock& lock) {
  const std::span<const std::byte> lent = std::exchange(chunk.lent, {});
  if (lent.empty()) return;
  ++copying_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    chunk.rows.reserve(chunk.rows.size() + lent.size());
    chunk.rows.insert(chunk.rows.end(), lent.begin(), lent.end());
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --copying_;
  done_.notify_one();
  if (failure) std::rethrow_exception(failure);
}

GroupQueue::Chunk* GroupQueue::FindLent() const {
  // Threads begin with the oldest chunks, so this takes the newest one.
  for (const auto& group : std::views::reverse(groups_)) {
    for (std::size_t i = group->chunks.size(); i > group->undivided; --i) {
      Chunk* const chunk = group->chunks[i - 1].get();
      if (!chunk->lent.empty()) return chunk;
    }
  }
  return nullptr;
}

void GroupQueue::Return() noexcept {
  Lock lock(mutex_);
  while (Chunk* const chunk = failure_ ? nullptr : FindLent()) {
    chunk->copying = true;
    try {
      CopyLent(*chunk, lock);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    chunk->copying = false;
    work_.notify_one();  // threads have passed over the chunk
  }
  while (copying_ > 0) done_.wait(lock);
}

void GroupQueue::MakeRoom(std::uint64_t most, std::size_t most_undivided) {
  Lock lock(mutex_);
  for (;;) {
    if (failure_) std::rethrow_exception(failure_);
    const bool waits_to_write = workers_.empty() && CanWrite();
    if (bytes_ < most && undivided_ <= most_undivided && !waits_to_write) return;
    if (workers_.empty() && WorkOnce(lock)) continue;
    if (busy_ == 0 && !CanWrite() && FindGroup() == nullptr) return;
    done_.wait(lock);
  }
}

void GroupQueue::Work() {
  Lock lock(mutex_);
  while (!stop_) {
    if (!WorkOnce(lock)) work_.wait(lock);
  }
}

bool GroupQueue::WorkOnce(Lock& lock) {
  if (failure_) return false;
  const bool writes = CanWrite();
  Group* const group = writes ? nullptr : FindGroup();
  if (!writes && group == nullptr) return false;
  ++busy_;
  if (writes) writing_ = true;
  try {
    if (writes) {
      WriteOldest(lock);
    } else if (group->ready.empty()) {
      Divide(*group, lock);
    } else {
      Encode(*group, lock);
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure_) failure_ = std::current_exception();
  }
  --busy_;
  if (writes) writing_ = false;
  done_.notify_one();
  return true;
}

bool GroupQueue::CanWrite() const {
  return !writing_ && !paused_ && !groups_.empty() && groups_.front()->unfinished == 0;
}

GroupQueue::Group* GroupQueue::FindGroup() const {
  const auto has_work = [](const auto& group) {
    const bool divided = group->undivided == group->chunks.size();
    return !group->ready.empty() || (!divided && !group->chunks[group->undivided]->copying);
  };
  const auto found = std::ranges::find_if(groups_, has_work);
  return found == groups_.end() ? nullptr : found->get();
}

void GroupQueue::WriteOldest(Lock& lock) {
  std::unique_ptr<Group> group = std::move(groups_.front());
  groups_.pop_front();
  lock.unlock();
  WrittenGroup written = group->writer.Write();
  std::uint64_t freed = group->writer.filter_bytes();
  for (const Column& column : group->columns) freed += column.bytes;
  group.reset();
  lock.lock();
  bytes_ -= freed;
  written_.push_back(std::move(written));
}

void GroupQueue::Offer(Group& group, std::size_t number) {
  Column& column = group.columns[number];
  if (column.taken || column.next == group.chunks.size() || !group.chunks[column.next]->divided) return;
  column.taken = true;
  group.ready.push_back(number);
}

void GroupQueue::Divide(Group& group, Lock& lock) {
  Chunk& chunk = *group.chunks[group.undivided++];
  --undivided_;
  CopyLent(chunk, lock);
  for (auto& spare : spare_parts_) {
    std::unique_ptr<ColumnPart>& part = chunk.parts.emplace_back();
    if (spare.empty()) continue;
    part = std::move(spare.back());
    spare.pop_back();
  }
  std::vector<std::byte> gathered;
  if (store_ != nullptr && !spare_rows_.empty()) {
    gathered = std::move(spare_rows_.back());
    spare_rows_.pop_back();
  }
  lock.unlock();
  const std::uint64_t before = chunk.memory;
  if (store_ != nullptr) {
    gathered.clear();
    GatherRows(chunk.rows, *store_, gathered);
    chunk.rows = std::move(gathered);
  }
  chunk.memory = MemoryOf(chunk.rows.size(), chunk.rows.capacity());
  for (std::size_t i = 0; i < chunk.parts.size(); ++i) {
    const auto type = file_.schema.Column(static_cast<int>(i))->physical_type();
    if (!chunk.parts[i]) chunk.parts[i] = MakeColumnPart(schema_.columns[i], type);
  }
  DivideRows(chunk.rows, schema_, chunk.parts);
  std::uint64_t bytes = chunk.memory;
  for (const auto& part : chunk.parts) bytes += part->bytes();
  lock.lock();
  bytes_ += bytes;
  bytes_ -= before;
  chunk.divided = true;
  for (std::size_t i = 0; i < group.columns.size(); ++i) Offer(group, i);
  work_.notify_all();
}

void GroupQueue::Encode(Group& group, Lock& lock) {
  // After that many chunks a thread looks whether an older row group has work.
  constexpr std::size_t kMostChunks = 4;
  const std::size_t number = group.ready.front();
  group.ready.pop_front();
  Column& column = group.columns[number];
  std::vector<Chunk*> chunks;
  const auto has_next = [&](std::size_t at) { return at < group.chunks.size() && group.chunks[at]->divided; };
  for (std::size_t at = column.next; chunks.size() < kMostChunks && has_next(at); ++at) {
    chunks.push_back(group.chunks[at].get());
  }
  const bool finishes = group.ended && column.next + chunks.size() == group.chunks.size();
  lock.unlock();
  std::uint64_t freed = 0;
  for (Chunk* const chunk : chunks) {
    ColumnPart& part = *chunk->parts[number];
    group.writer.Encode(number, part);
    freed += part.bytes();
    part.Clear();
  }
  if (finishes) group.writer.Finish(number);
  const std::uint64_t bytes = group.writer.bytes(number);
  lock.lock();
  bytes_ += bytes - column.bytes;
  bytes_ -= freed;
  column.bytes = bytes;
  const std::size_t most_spare = std::max(kLeastSpare, workers_.size() + 1);
  for (Chunk* const chunk : chunks) {
    auto& spare = spare_parts_[number];
    if (spare.size() < most_spare) spare.push_back(std::move(chunk->parts[number]));
    chunk->parts[number].reset();
    if (--chunk->parts_left == 0) {
      bytes_ -= chunk->memory;
      if (spare_rows_.size() < most_spare && chunk->memory == chunk->rows.capacity())
        spare_rows_.push_back(std::move(chunk->rows));
      group.chunks[column.next].reset();
    }
    ++column.next;
  }
  column.taken = false;
  if (finishes) {
    --group.unfinished;
  } else {
    Offer(group, number);
    work_.notify_one();  // the caller's thread may have other work to do
  }
}

}  // namespace gpusort
