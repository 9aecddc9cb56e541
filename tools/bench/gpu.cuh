// The GPU side of gpusort_bench: device memory, inputs, candidates, timing and checking.
// The inputs and outputs exist in several copies, 256 MiB in all, which is more than any cache. Every timed call takes
// the next copy, so that small sizes are also measured from memory. The first result of every candidate is checked and
// then overwritten. No call writes to an input. Start at Gpu::Time.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/report.hpp"
#include "gpusort/merge_path.hpp"
#include "gpusort/tuning.hpp"
#include "kernels/error.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::bench {

void Check(cudaError_t error, const char* what);
#define GPUSORT_CHECK(call) ::gpusort::bench::Check((call), #call)

/// The 16-byte keys of the benchmark: the entries that gpusort itself sorts.
using Key16 = Entry;
struct NoValue {};

template <typename Key>
using LessOf = std::conditional_t<std::is_same_v<Key, Key16>, ExactEntryLess, Less>;

template <typename Value>
inline constexpr bool kPairs = !std::is_same_v<Value, NoValue>;

/// Returns the name of the types of an item, such as "i32" (keys alone) or "i64+i64" (keys with values).
template <typename Key, typename Value>
std::string TypeName() {
  const std::string key = std::is_same_v<Key, Key16> ? "k16" : sizeof(Key) == 4 ? "i32" : "i64";
  if constexpr (kPairs<Value>) return key + "+" + (sizeof(Value) == 4 ? "i32" : "i64");
  return key;
}
/// The number of bytes of a key together with its value.
template <typename Key, typename Value>
constexpr std::uint64_t kItemBytes = sizeof(Key) + (kPairs<Value> ? sizeof(Value) : 0);

/// A list in device memory. The destructor frees the memory.
template <typename T>
class DeviceList {
 public:
  explicit DeviceList(std::uint64_t n) { GPUSORT_CHECK(cudaMalloc(&data_, std::max<std::uint64_t>(n, 1) * sizeof(T))); }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() { cudaFree(data_); }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Returns how many copies of a list of `bytes` bytes are needed so that all copies together are larger than any cache.
inline unsigned CopiesFor(std::uint64_t bytes) {
  constexpr std::uint64_t kAll = std::uint64_t{256} << 20;
  return static_cast<unsigned>((kAll + bytes - 1) / std::max<std::uint64_t>(bytes, 1));
}

/// Several copies of a list of n items in device memory.
template <typename T>
class Copies {
 public:
  Copies(std::uint64_t n, unsigned copies) : n_(n), copies_(copies), list_(copies * stride()) {}
  T* at(unsigned copy) const { return list_.data() + copy * stride(); }
  /// Copies the first copy to all other copies.
  void Replicate() const {
    for (std::uint64_t done = 1; done < copies_; done *= 2) {
      const std::uint64_t more = std::min<std::uint64_t>(done, copies_ - done);
      GPUSORT_CHECK(cudaMemcpyAsync(list_.data() + done * stride(), list_.data(), more * stride() * sizeof(T),
                                    cudaMemcpyDeviceToDevice));
    }
  }
  void Spoil(unsigned copy, cudaStream_t stream) const {
    GPUSORT_CHECK(cudaMemsetAsync(at(copy), 0x5A, n_ * sizeof(T), stream));
  }

 private:
  static constexpr std::uint64_t kAlign = 256;
  std::uint64_t stride() const { return (n_ + kAlign - 1) / kAlign * kAlign; }
  std::uint64_t n_;
  unsigned copies_;
  DeviceList<T> list_;
};

// Functions that prepare inputs and inspect outputs. prepare.cu defines them for the three types of keys.
enum class Order { kRandom, kSorted, kReversed, kEqual };
template <typename Key>
void Fill(Key* keys, std::uint64_t n, Order order, std::uint64_t first_rank = 0);
/// Sets values[i] = i.
template <typename Value>
void FillPlaces(Value* values, std::uint64_t n);
/// Sorts the list `in` into the list `out` with CUB.
template <typename Key>
void SortRange(const Key* in, Key* out, std::uint64_t n);
/// Divides each sorted run of `run` items into two sorted lists that are slow to merge (see conflict.hpp). The first
/// list of a run gets `m` items, unless the run is the last and shorter than the others.
template <typename Key>
void Unmerge(const Key* in, Key* out, std::uint64_t n, std::uint64_t run, std::uint64_t m, std::uint32_t thread_items);

/// Makes n keys that are slow to sort by merging: sorted runs of at most `shortest` items, chosen so that the two lists
/// of every later merge conflict (see conflict.hpp).
template <typename Key>
void FillConflicts(Key* keys, std::uint64_t n, std::uint64_t shortest, std::uint32_t thread_items);

/// Returns how many items each thread writes in the merges that conflict inputs slow down. This is
/// options.conflict_items or, if that is 0, gpusort's own number.
template <typename Key, typename Value>
std::uint32_t ConflictItems(const Options& options, int ways) {
  if (options.conflict_items != 0) return options.conflict_items;
  const Tuning tuning = TuningTable(kPairs<Value> ? std::max(sizeof(Key), sizeof(Value)) : sizeof(Key));
  return static_cast<std::uint32_t>((kPairs<Value> ? (ways == 2 ? tuning.merge_pairs : tuning.merge_pairs_4)
                                                   : (ways == 2 ? tuning.merge : tuning.merge_4))
                                        .items);
}

/// Facts that verify an output: a sum that does not depend on the order, and counts of items out of order.
struct Facts {
  unsigned long long sum = 0;       ///< the sum of the hashes of all items
  unsigned long long descents = 0;  ///< the number of items that are less than the item before
  unsigned long long swaps = 0;     ///< the pairs of equal keys whose values (places in the input) descend
};
template <typename Key, typename Value>
Facts Inspect(const Key* keys, const Value* values, std::uint64_t n);

/// A function to time: a library function or a kernel that sorts or merges, with its name and its promises.
struct Candidate {
  std::string name;
  std::string kind;
  bool stable;    ///< whether the function promises a stable result, which is then checked
  double sweeps;  ///< how often the function reads and writes every item; 0: unknown
  /// Queues all work of the function on the stream. Uses the lists of the given copy.
  std::function<void(unsigned copy, cudaStream_t stream)> run;
  /// Moves the result to the lists that are checked, and overwrites it at its old place. Empty if there is nothing to
  /// move.
  std::function<void(unsigned copy, cudaStream_t stream)> collect = {};
};

/// Wraps a function that reports the size of its workspace when it is called with a null pointer. Allocates the
/// workspace at once and returns a function that uses it.
template <typename Call>
std::function<void(unsigned, cudaStream_t)> WithWorkspace(Call call) {
  std::size_t bytes = 0;
  GPUSORT_CHECK(call(nullptr, bytes, 0u, cudaStream_t{nullptr}));
  auto workspace = std::make_shared<DeviceList<unsigned char>>(bytes);
  return [call, workspace, bytes](unsigned copy, cudaStream_t stream) mutable {
    GPUSORT_CHECK(call(workspace->data(), bytes, copy, stream));
  };
}

/// The device, one stream, and a reader of the clock rate of the device.
class Gpu {
 public:
  explicit Gpu(const Options& options);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  /// Adds the name and the properties of this machine and its copy rate to the report.
  void Describe(Report& report);

  /// Times the candidates in turn in each round. Each call uses the next of `copies` copies of the lists. Calls
  /// `verify` with each candidate and the copy that its first call wrote. `verify` must throw if the result is wrong,
  /// and overwrite the result.
  std::vector<Row> Time(const std::vector<Candidate>& candidates, unsigned copies,
                        const std::function<void(const Candidate&, unsigned copy)>& verify);

  cudaStream_t stream() const { return stream_; }
  const Options& options() const { return options_; }

 private:
  double TimeOnce(const Candidate& candidate, unsigned copy, unsigned* clock_mhz);

  struct Clock;
  Options options_;
  std::unique_ptr<Clock> clock_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Input and output lists of keys and, unless Value is NoValue, of values. All copies of an input are equal.
template <typename Key, typename Value>
class Lists {
 public:
  explicit Lists(std::uint64_t n)
      : n_(n),
        copies_(CopiesFor(n * kItemBytes<Key, Value>)),
        keys_in(n, copies_),
        keys_out(n, copies_),
        values_in(kPairs<Value> ? n : 1, copies_),
        values_out(kPairs<Value> ? n : 1, copies_) {}

  std::uint64_t n() const { return n_; }
  unsigned copies() const { return copies_; }

  /// Fills the lists of values and the other copies. Call this after copy 0 of the keys is filled.
  void Finish() {
    if constexpr (kPairs<Value>) FillPlaces(values_in.at(0), n_);
    expected_ = Inspect(keys_in.at(0), values_in.at(0), n_).sum;
    keys_in.Replicate();
    values_in.Replicate();
    GPUSORT_CHECK(cudaDeviceSynchronize());
  }

  /// Returns the candidate that only copies all items.
  Candidate Copy() const {
    return {"copy", "copy", false, 1, [this](unsigned copy, cudaStream_t stream) {
              GPUSORT_CHECK(cudaMemcpyAsync(keys_out.at(copy), keys_in.at(copy), n_ * sizeof(Key),
                                            cudaMemcpyDeviceToDevice, stream));
              if constexpr (kPairs<Value>) {
                GPUSORT_CHECK(cudaMemcpyAsync(values_out.at(copy), values_in.at(copy), n_ * sizeof(Value),
                                              cudaMemcpyDeviceToDevice, stream));
              }
            }};
  }

  /// Throws if the output is not the sorted input. Overwrites the output, so that a later call that does nothing fails.
  void Verify(const Candidate& candidate, unsigned copy, cudaStream_t stream) const {
    const Facts facts = VerifyItems(candidate, copy, stream);
    if (candidate.kind == "copy") return;
    if (facts.descents != 0) throw Error(ErrorCode::kIntegrity, Name(candidate) + ": out of order");
    if (candidate.stable && facts.swaps != 0) throw Error(ErrorCode::kIntegrity, Name(candidate) + ": not stable");
  }
  /// Throws if items are lost or changed, and ignores their order. Overwrites the output.
  Facts VerifyItems(const Candidate& candidate, unsigned copy, cudaStream_t stream) const {
    const Facts facts = Inspect(keys_out.at(copy), values_out.at(copy), n_);
    if (facts.sum != expected_) throw Error(ErrorCode::kIntegrity, Name(candidate) + ": items lost or changed");
    keys_out.Spoil(copy, stream);
    if constexpr (kPairs<Value>) values_out.Spoil(copy, stream);
    GPUSORT_CHECK(cudaStreamSynchronize(stream));
    return facts;
  }
  std::function<void(const Candidate&, unsigned)> Verifier(cudaStream_t stream) const {
    return [this, stream](const Candidate& candidate, unsigned copy) { Verify(candidate, copy, stream); };
  }

 private:
  std::string Name(const Candidate& candidate) const {
    return candidate.name + ", " + TypeName<Key, Value>() + ", " + std::to_string(n_) + " items";
  }

  std::uint64_t n_;
  unsigned copies_;
  unsigned long long expected_ = 0;

 public:
  const Copies<Key> keys_in, keys_out;
  const Copies<Value> values_in, values_out;
};

/// Two sorted lists, both in keys_in: m items of A, followed by n() - m items of B.
template <typename Key, typename Value>
struct MergeCase : Lists<Key, Value> {
  MergeCase(std::uint64_t m_items, std::uint64_t n_items) : Lists<Key, Value>(m_items + n_items), m(m_items) {}
  std::uint64_t m;
};

template <typename Key, typename Value>
void MakeMergeInput(MergeCase<Key, Value>& lists, const std::string& inputs, const Options& options) {
  const std::uint64_t m = lists.m, n = lists.n() - m;
  Key* const a = lists.keys_in.at(0);
  Key* const b = a + m;
  if (inputs == "random") {
    const DeviceList<Key> unsorted(lists.n());
    Fill(unsorted.data(), lists.n(), Order::kRandom);
    SortRange(unsorted.data(), a, m);
    SortRange(unsorted.data() + m, b, n);
  } else if (inputs == "reversed") {  // all of B is before A
    Fill(a, m, Order::kSorted, n);
    Fill(b, n, Order::kSorted, 0);
  } else if (inputs == "conflict") {
    const DeviceList<Key> merged(lists.n());
    Fill(merged.data(), lists.n(), Order::kSorted);
    Unmerge(merged.data(), a, lists.n(), lists.n(), m, ConflictItems<Key, Value>(options, 2));
    GPUSORT_CHECK(cudaDeviceSynchronize());
  } else {
    Fill(a, lists.n(), inputs == "sorted" ? Order::kSorted : Order::kEqual);
  }
  lists.Finish();
}

// The benchmarks of the subcommands. Each has one or two source files.
template <typename Key, typename Value>
void MergeBench(Gpu& gpu, Report& report);
template <typename Key, typename Value>
void SortBench(Gpu& gpu, Report& report);
template <typename Key>
void RunsBench(Gpu& gpu, Report& report);
void SearchBench(Gpu& gpu, Report& report);
void RowColumnBench(Gpu& gpu, Report& report);
/// True for the types of items that the textbook kernels merge here: the smallest keys and the largest pairs.
template <typename Key, typename Value>
inline constexpr bool kInTextbook = (std::is_same_v<Key, std::int32_t> && !kPairs<Value>) ||
                                    (std::is_same_v<Key, std::int64_t> && kPairs<Value>);
/// Returns candidates that merge `lists` with the textbook kernels. `lists` must outlive the candidates.
template <typename Key, typename Value>
std::vector<Candidate> TextbookMerges(const MergeCase<Key, Value>& lists);

}  // namespace gpusort::bench
