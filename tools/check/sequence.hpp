// Compares the order of records with equal keys in bounded memory, for gpusort_check. If the records of a key have the
// 64-bit hashes r0, r1, ..., the sum of the key is r0 + r1 g + r2 g^2 + ... modulo 2^61 - 1. The factor g depends on
// the key. Other records, or the same records in another order, have another sum. The output has the records of a key
// next to each other, so its sums need no table (PieceRuns). The inputs are divided by the hash of the key into
// partitions, which are in memory or in a temporary file. A table of the keys of one partition then gives their sums
// (EntryStore).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace check {

struct KeyHash {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const KeyHash&, const KeyHash&) = default;
};

struct Entry {
  KeyHash key;
  std::uint64_t record = 0;  ///< a hash of the record
};

/// Consecutive records of one key.
struct Run {
  KeyHash key;
  std::uint64_t sum = 0;
  std::uint64_t power = 1;  ///< the factor g of the key (see the top of this file) to the power of `count`
  std::uint64_t count = 0;

  void Add(std::uint64_t record);
  /// Appends the records of `next`, which must have the same key and follow this run.
  void Append(const Run& next);
};

/// The sums of all keys. Keys are divided into kBuckets buckets, and each bucket has the total of the sums of its keys.
class KeySums {
 public:
  static constexpr std::size_t kBuckets = 4096;
  static std::size_t BucketOf(const KeyHash& key) { return static_cast<std::size_t>(key.high >> 52); }

  void Add(const Run& run);
  void Add(const KeySums& other);
  /// Returns the numbers of the buckets whose sums differ.
  std::vector<std::size_t> Differences(const KeySums& other) const;

 private:
  std::vector<std::uint64_t> sums_ = std::vector<std::uint64_t>(kBuckets);
};

/// The runs of one piece of a file. A run is consecutive records with one key. The first and the last run may continue
/// in the neighbouring pieces.
struct PieceRuns {
  std::optional<Run> first, last;  ///< `last` is set only if the piece has more than one run

  /// Adds an entry to the piece. If the entry ends a run other than the first, adds that run to `sums`.
  void Add(const Entry& entry, KeySums& sums);
  /// Appends the runs of the next piece of the file. Adds the runs that this completes to `sums`.
  void Append(const PieceRuns& next, KeySums& sums);
  /// Adds the first and the last run to `sums`. Call this once, at the end of the file.
  void End(KeySums& sums);
};

class EntryStore {
 public:
  /// Keeps up to `memory` bytes of entries in memory, and the other entries in a nameless temporary file in `folder`.
  EntryStore(unsigned partitions, std::uint64_t memory, std::string folder);
  ~EntryStore();
  EntryStore(const EntryStore&) = delete;

  /// Stores the entries and leaves the vector empty. Calls may come in any order: the order of the records is ascending
  /// `place`. Any thread may call this. Throws std::runtime_error if the disk has no space.
  void Put(std::uint64_t place, std::vector<Entry>& entries);

  /// Returns the sums of all keys. Call this after the last Put. Uses `threads` threads, and up to `memory` bytes for
  /// tables. If `first_only` is true, only the first record of each key counts.
  KeySums Sum(bool first_only, unsigned threads, std::uint64_t memory);

  struct Hash {
    std::size_t operator()(const KeyHash& key) const { return static_cast<std::size_t>(key.low); }
  };
  using Keys = std::unordered_map<KeyHash, Run, Hash>;
  /// Returns the runs of all keys of one bucket. If `first_only` is true, a run has only the first record of its key.
  /// Call this after Sum.
  Keys KeysOf(std::size_t bucket, bool first_only);

 private:
  struct Block {
    std::uint64_t place = 0;
    std::vector<std::uint32_t> starts;  ///< the index of the first entry of each partition, and the number of entries
    std::vector<Entry> entries;         ///< empty if the entries are in the file
    std::uint64_t offset = 0;
  };

  std::size_t PartitionOf(const KeyHash& key) const {
    return static_cast<std::size_t>(key.high >> 32) * partitions_ >> 32;
  }
  void OpenFile();
  /// Calls work(entry) for the entries of a partition in the order of the records, until work returns false.
  template <typename Work>
  void ForEach(std::size_t partition, std::vector<Entry>& buffer, const Work& work) const;

  const std::size_t partitions_;
  const std::uint64_t memory_;
  const std::string folder_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::uint64_t used_ = 0, file_bytes_ = 0;
  int fd_ = -1;
};

}  // namespace check
