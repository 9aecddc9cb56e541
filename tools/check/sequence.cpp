#include "check/sequence.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "check/parallel.hpp"

namespace check {
namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

/// Returns a number less than kPrime: x modulo kPrime.
std::uint64_t Reduce(std::uint64_t x) {
  x = (x & kPrime) + (x >> 61);
  return x >= kPrime ? x - kPrime : x;
}
std::uint64_t Plus(std::uint64_t a, std::uint64_t b) { return Reduce(a + b); }
std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return Plus(static_cast<std::uint64_t>(product & kPrime), static_cast<std::uint64_t>(product >> 61));
}
/// Returns the factor of a key (see sequence.hpp), which is never 0 or 1.
std::uint64_t FactorOf(const KeyHash& key) { return key.low % (kPrime - 2) + 2; }

std::string SystemMessage(int error) { return std::strerror(error); }

/// A hash table with open addressing for the keys of a part of a partition.
class KeyTable {
 public:
  struct Slot {
    KeyHash key;
    std::uint64_t power = 0;  ///< 0 if the slot is free
  };

  void Reset(std::size_t slots) { slots_.assign(slots, {}), left_ = slots / 4 * 3; }
  /// Returns the slot of the key, or a free slot for it. Returns null if the table is full.
  Slot* Find(const KeyHash& key) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = key.low & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.power != 0 && slot.key == key) return &slot;
      if (slot.power != 0) continue;
      if (left_ == 0) return nullptr;
      --left_;
      slot = {key, 1};
      return &slot;
    }
  }

 private:
  std::vector<Slot> slots_;
  std::size_t left_ = 0;
};

}  // namespace

void Run::Add(std::uint64_t record) {
  sum = Plus(sum, Times(Reduce(record), power));
  power = Times(power, FactorOf(key));
  ++count;
}

void Run::Append(const Run& next) {
  sum = Plus(sum, Times(next.sum, power));
  power = Times(power, next.power);
  count += next.count;
}

void KeySums::Add(const Run& run) {
  std::uint64_t& sum = sums_[BucketOf(run.key)];
  sum = Plus(sum, run.sum);
}

void KeySums::Add(const KeySums& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) sums_[i] = Plus(sums_[i], other.sums_[i]);
}

std::vector<std::size_t> KeySums::Differences(const KeySums& other) const {
  std::vector<std::size_t> buckets;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (sums_[i] != other.sums_[i]) buckets.push_back(i);
  }
  return buckets;
}

void PieceRuns::Add(const Entry& entry, KeySums& sums) {
  if (!first) first.emplace().key = entry.key;
  Run& open = last ? *last : *first;
  if (open.key == entry.key) {
    open.Add(entry.record);
    return;
  }
  if (last) sums.Add(*last);
  last.emplace().key = entry.key;
  last->Add(entry.record);
}

void PieceRuns::Append(const PieceRuns& next, KeySums& sums) {
  if (!next.first) return;
  if (!first) {
    *this = next;
    return;
  }
  Run& open = last ? *last : *first;
  if (open.key == next.first->key) {
    open.Append(*next.first);
  } else {
    if (last) sums.Add(*last);
    last = next.first;
  }
  if (!next.last) return;
  if (last) sums.Add(*last);
  last = next.last;
}

void PieceRuns::End(KeySums& sums) {
  if (first) sums.Add(*first);
  if (last) sums.Add(*last);
}

EntryStore::EntryStore(unsigned partitions, std::uint64_t memory, std::string folder)
    : partitions_(partitions), memory_(memory), folder_(std::move(folder)) {}

EntryStore::~EntryStore() {
  if (fd_ >= 0) ::close(fd_);
}

void EntryStore::OpenFile() {
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    std::string name = folder_ + "/gpusort_check-XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(name.c_str());
  }
  if (fd_ < 0) throw std::runtime_error("'" + folder_ + "': no temporary file: " + SystemMessage(errno));
}

void EntryStore::Put(std::uint64_t place, std::vector<Entry>& entries) {
  if (entries.empty()) return;
  Block block;
  block.place = place;
  block.starts.assign(partitions_ + 1, 0);
  for (const Entry& entry : entries) ++block.starts[PartitionOf(entry.key) + 1];
  for (std::size_t i = 1; i <= partitions_; ++i) block.starts[i] += block.starts[i - 1];
  std::vector<std::uint32_t> at(block.starts.begin(), block.starts.end() - 1);
  std::vector<Entry> sorted(entries.size());
  for (const Entry& entry : entries) sorted[at[PartitionOf(entry.key)]++] = entry;
  entries.clear();

  const std::uint64_t bytes = sorted.size() * sizeof(Entry);
  {
    const std::lock_guard lock(mutex_);
    if (used_ + bytes <= memory_) {
      used_ += bytes;
      block.entries = std::move(sorted);
      blocks_.push_back(std::move(block));
      return;
    }
    if (fd_ < 0) OpenFile();
    block.offset = file_bytes_;
    file_bytes_ += bytes;
  }
  const char* data = reinterpret_cast<const char*>(sorted.data());
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd_, data + done, bytes - done, static_cast<off_t>(block.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw std::runtime_error("'" + folder_ + "': cannot write " + std::to_string(block.offset + bytes) +
                               " bytes of hashes: " + SystemMessage(errno) +
                               "; give more --memory-limit, or another --temp-dir");
    }
    done += static_cast<std::uint64_t>(n);
  }
  const std::lock_guard lock(mutex_);
  blocks_.push_back(std::move(block));
}

template <typename Work>
void EntryStore::ForEach(std::size_t partition, std::vector<Entry>& buffer, const Work& work) const {
  for (const Block& block : blocks_) {
    const std::size_t from = block.starts[partition], count = block.starts[partition + 1] - from;
    const Entry* entries = block.entries.data() + from;
    if (block.entries.empty()) {
      buffer.resize(count);
      char* const data = reinterpret_cast<char*>(buffer.data());
      for (std::uint64_t done = 0; done < count * sizeof(Entry);) {
        const ssize_t n = ::pread(fd_, data + done, count * sizeof(Entry) - done,
                                  static_cast<off_t>(block.offset + from * sizeof(Entry) + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
          throw std::runtime_error("'" + folder_ + "': cannot read the temporary file: " + SystemMessage(errno));
        done += static_cast<std::uint64_t>(n);
      }
      entries = buffer.data();
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!work(entries[i])) return;
    }
  }
}

KeySums EntryStore::Sum(bool first_only, unsigned threads, std::uint64_t memory) {
  std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) { return a.place < b.place; });
  const std::size_t most = std::bit_floor(std::max<std::uint64_t>(memory / threads / sizeof(KeyTable::Slot), 1024));
  KeySums total;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  RunOnThreads(threads, [&] {
    KeyTable table;
    KeySums sums;
    std::vector<Entry> buffer;
    for (std::size_t partition; (partition = next.fetch_add(1)) < partitions_;) {
      std::size_t entries = 0;
      for (const Block& block : blocks_) entries += block.starts[partition + 1] - block.starts[partition];
      const std::size_t slots = std::min(most, std::bit_ceil(entries / 3 * 4 + 64));
      // Keys that do not fit the table are counted in further passes.
      bool full = true;
      for (std::uint64_t passes = 1; full; passes *= 2) {
        KeySums part;
        full = false;
        for (std::uint64_t pass = 0; pass < passes && !full; ++pass) {
          table.Reset(slots);
          ForEach(partition, buffer, [&](const Entry& entry) {
            if ((entry.key.high & (passes - 1)) != pass) return true;
            KeyTable::Slot* const slot = table.Find(entry.key);
            full = slot == nullptr;
            if (full) return false;
            Run run{entry.key, 0, slot->power, 0};
            if (!first_only || run.power == 1) {
              run.Add(entry.record);
              part.Add(run);
              slot->power = run.power;
            }
            return true;
          });
        }
        if (!full) sums.Add(part);
      }
    }
    const std::lock_guard lock(mutex);
    total.Add(sums);
  });
  return total;
}

EntryStore::Keys EntryStore::KeysOf(std::size_t bucket, bool first_only) {
  Keys keys;
  std::vector<Entry> buffer;
  const auto key_at = [](std::size_t of) { return KeyHash{static_cast<std::uint64_t>(of) << 52, 0}; };
  const std::size_t first = PartitionOf(key_at(bucket));
  const std::size_t last = bucket + 1 < KeySums::kBuckets ? PartitionOf(key_at(bucket + 1)) : partitions_ - 1;
  for (std::size_t partition = first; partition <= last; ++partition) {
    ForEach(partition, buffer, [&](const Entry& entry) {
      if (KeySums::BucketOf(entry.key) != bucket) return true;
      Run& run = keys[entry.key];
      run.key = entry.key;
      if (!first_only || run.count == 0) run.Add(entry.record);
      return true;
    });
  }
  return keys;
}

}  // namespace check
