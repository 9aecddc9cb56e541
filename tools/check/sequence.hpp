// Compares the order of records with equal keys in bounded memory, for gpusort_check. The records of a key, as 64-bit
// hashes r0, r1, ..., have the sum r0 + r1 g + r2 g^2 + ... modulo 2^61 - 1. The factor g depends on the key. Other
// records, or the same records in another order, have another sum. The output has the records of a key next to each
// other, so its sums need no table (PieceRuns). The hashes of the inputs go to partitions by the hash of the key, in
// memory or in a temporary file. A table of its keys then gives the sums of each partition (EntryStore).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Records of one key, one after the other.
struct Run {
  KeyHash key;
  std::uint64_t sum = 0;
  std::uint64_t power = 1;  ///< g to the power of `count`
  std::uint64_t count = 0;

  void Add(std::uint64_t record);
  /// `next` has the records that follow those of this run, of the same key.
  void Append(const Run& next);
};

/// The sums of keys, added up in kBuckets sets of keys.
class KeySums {
 public:
  static constexpr std::size_t kBuckets = 4096;
  static std::size_t BucketOf(const KeyHash& key) { return static_cast<std::size_t>(key.high >> 52); }

  void Add(const Run& run);
  void Add(const KeySums& other);
  /// The buckets that differ.
  std::vector<std::size_t> Differences(const KeySums& other) const;

 private:
  std::vector<std::uint64_t> sums_ = std::vector<std::uint64_t>(kBuckets);
};

/// The runs of one piece of a file. The first and the last may be parts of longer ones.
struct PieceRuns {
  std::optional<Run> first, last;  ///< `last` only if the piece has more than one run

  /// Adds runs that end to `sums`, but not the first.
  void Add(const Entry& entry, KeySums& sums);
  /// `next` has the runs of the piece that follows. Adds those that end.
  void Append(const PieceRuns& next, KeySums& sums);
  /// Adds the runs that are still open. Call this once, at the end of the file.
  void End(KeySums& sums);
};

class EntryStore {
 public:
  /// Keeps up to `memory` bytes of entries in memory, the rest in a temporary file without a name in `folder`.
  EntryStore(unsigned partitions, std::uint64_t memory, std::string folder);
  ~EntryStore();
  EntryStore(const EntryStore&) = delete;

  /// Takes the entries and leaves the vector empty. `place` orders the calls: a smaller one means earlier records. Any
  /// thread may call this. Throws std::runtime_error if the disk has no space.
  void Put(std::uint64_t place, std::vector<Entry>& entries);

  /// Returns the sums of all keys. Call this after the last Put. Takes `threads` threads and up to `memory` bytes for
  /// tables. `first_only`: only the first record of each key counts.
  KeySums Sum(bool first_only, unsigned threads, std::uint64_t memory);

  struct Hash {
    std::size_t operator()(const KeyHash& key) const { return static_cast<std::size_t>(key.low); }
  };
  using Keys = std::unordered_map<KeyHash, Run, Hash>;
  /// Returns the keys of one bucket, each with all its records, or with the first one only. Call this after Sum.
  Keys KeysOf(std::size_t bucket, bool first_only);

 private:
  struct Block {
    std::uint64_t place = 0;
    std::vector<std::uint32_t> starts;  ///< of each partition, and the end
    std::vector<Entry> entries;         ///< empty: they are in the file
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
