// The GPU side of gpusort_bench: device memory, inputs, candidates, timing and checking.
// Inputs and outputs exist in as many copies as fill 256 MiB, which is more than any cache. Every timed call takes the
// next copy, so that small sizes are measured from memory, too. Every candidate's first result is checked, then
// spoiled. No input is ever written to. Start at Gpu::Compare.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/report.hpp"
#include "gpusort/merge_path.hpp"
#include "gpusort/tuning.hpp"
#include "kernels/error.hpp"
#include "kernels/records/key.hpp"

namespace gpusort::bench {

void Check(cudaError_t error, const char* what);
#define GPUSORT_CHECK(call) ::gpusort::bench::Check((call), #call)

/// 16-byte keys are entries of the program.
using Key16 = Entry;
struct NoValue {};

template <typename Key>
using LessOf = std::conditional_t<std::is_same_v<Key, Key16>, ExactEntryLess, Less>;

template <typename Value>
inline constexpr bool kPairs = !std::is_same_v<Value, NoValue>;

/// "i32", "i64+i64", ...
template <typename Key, typename Value>
std::string TypeName() {
  const std::string key = std::is_same_v<Key, Key16> ? "k16" : sizeof(Key) == 4 ? "i32" : "i64";
  if constexpr (kPairs<Value>) return key + "+" + (sizeof(Value) == 4 ? "i32" : "i64");
  return key;
}
/// Bytes of a key with its value.
template <typename Key, typename Value>
constexpr std::uint64_t kItemBytes = sizeof(Key) + (kPairs<Value> ? sizeof(Value) : 0);

/// Device memory, freed when dropped.
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

/// How many copies of something of so many bytes no cache holds together.
inline unsigned CopiesFor(std::uint64_t bytes) {
  constexpr std::uint64_t kAll = std::uint64_t{256} << 20;
  return static_cast<unsigned>((kAll + bytes - 1) / std::max<std::uint64_t>(bytes, 1));
}

/// Several copies of a list of n items.
template <typename T>
class Copies {
 public:
  Copies(std::uint64_t n, unsigned copies) : n_(n), copies_(copies), list_(copies * stride()) {}
  T* at(unsigned copy) const { return list_.data() + copy * stride(); }
  /// Makes all copies equal to the first.
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

// Preparing inputs and inspecting outputs: prepare.cu, for the three types of keys.
enum class Order { kRandom, kSorted, kReversed, kEqual };
template <typename Key>
void Fill(Key* keys, std::uint64_t n, Order order, std::uint64_t first_rank = 0);
/// values[i] = i.
template <typename Value>
void FillPlaces(Value* values, std::uint64_t n);
/// Sorts from one list to another, by CUB.
template <typename Key>
void SortRange(const Key* in, Key* out, std::uint64_t n);
/// Takes sorted runs of `run` items apart, each into its two halves, m of a whole run going to the first: see
/// conflict.hpp.
template <typename Key>
void Unmerge(const Key* in, Key* out, std::uint64_t n, std::uint64_t run, std::uint64_t m, std::uint32_t thread_items);

/// n keys whose runs of n / 2, n / 4, ... items, as long as they are longer than `shortest`, are bad for merges.
template <typename Key>
void FillConflicts(Key* keys, std::uint64_t n, std::uint64_t shortest, std::uint32_t thread_items);

/// The share of a thread in the merges that conflict inputs are made for: gpusort's own, unless the options say
/// another.
template <typename Key, typename Value>
std::uint32_t ConflictItems(const Options& options, int ways) {
  if (options.conflict_items != 0) return options.conflict_items;
  const Tuning tuning = TuningTable(kPairs<Value> ? std::max(sizeof(Key), sizeof(Value)) : sizeof(Key));
  return static_cast<std::uint32_t>((kPairs<Value> ? (ways == 2 ? tuning.merge_pairs : tuning.merge_pairs_4)
                                                   : (ways == 2 ? tuning.merge : tuning.merge_4))
                                        .items);
}

/// The sum of a list, which does not depend on its order, and how often its order is broken.
struct Facts {
  unsigned long long sum = 0;       ///< of hashes of all items
  unsigned long long descents = 0;  ///< items that are less than the one before
  unsigned long long swaps = 0;     ///< pairs with equal keys whose values, the places in the input, descend
};
template <typename Key, typename Value>
Facts Inspect(const Key* keys, const Value* values, std::uint64_t n);

/// One thing to time: queues the whole call on the stream, from and to the given copies.
struct Candidate {
  std::string name;
  std::string kind;
  bool stable;    ///< what it promises, and has to keep
  double sweeps;  ///< times that it reads and writes every item, where its documentation or its making says so; else 0
  std::function<void(unsigned copy, cudaStream_t stream)> run;
  /// Brings the result to where it is checked, if it is not there, and spoils its own list.
  std::function<void(unsigned copy, cudaStream_t stream)> collect = {};
};

/// Returns a call in the two-call idiom, with its own workspace, which is allocated here.
template <typename Call>
std::function<void(unsigned, cudaStream_t)> WithWorkspace(Call call) {
  std::size_t bytes = 0;
  GPUSORT_CHECK(call(nullptr, bytes, 0u, cudaStream_t{nullptr}));
  auto workspace = std::make_shared<DeviceList<unsigned char>>(bytes);
  return [call, workspace, bytes](unsigned copy, cudaStream_t stream) mutable {
    GPUSORT_CHECK(call(workspace->data(), bytes, copy, stream));
  };
}

/// The device, a stream, and the clock's own reading.
class Gpu {
 public:
  explicit Gpu(const Options& options);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  /// Tells the report what this machine is, and how fast it copies.
  void Describe(Report& report);

  /// Times the candidates in turn, in every round anew, each call on the next of `copies`. `verify` gets each
  /// candidate and the copy that its first call wrote; it throws if that is wrong, and spoils it.
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

/// Lists of keys, and of values if there are any, to be read and to be written. Copy c of the input is the same for
/// every c.
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

  /// To be called when the keys of copy 0 are there: makes values and copies.
  void Finish() {
    if constexpr (kPairs<Value>) FillPlaces(values_in.at(0), n_);
    expected_ = Inspect(keys_in.at(0), values_in.at(0), n_).sum;
    keys_in.Replicate();
    values_in.Replicate();
    GPUSORT_CHECK(cudaDeviceSynchronize());
  }

  /// Everything copied once.
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

  /// Throws unless the output is the input in order; then spoils it, so that the next cannot pass by doing nothing.
  void Verify(const Candidate& candidate, unsigned copy, cudaStream_t stream) const {
    const Facts facts = VerifyItems(candidate, copy, stream);
    if (candidate.kind == "copy") return;
    if (facts.descents != 0) throw Error(ErrorCode::kIntegrity, Name(candidate) + ": out of order");
    if (candidate.stable && facts.swaps != 0) throw Error(ErrorCode::kIntegrity, Name(candidate) + ": not stable");
  }
  /// Throws if items are lost or changed. The order does not matter.
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

/// Two sorted lists in keys_in: m items of A, followed by n() - m of B.
template <typename Key, typename Value>
struct MergeCase : Lists<Key, Value> {
  MergeCase(std::uint64_t m_items, std::uint64_t n_items) : Lists<Key, Value>(m_items + n_items), m(m_items) {}
  std::uint64_t m;
};

/// Fills the two lists.
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

// The subcommands, a file or two each.
template <typename Key, typename Value>
void MergeBench(Gpu& gpu, Report& report);
template <typename Key, typename Value>
void SortBench(Gpu& gpu, Report& report);
template <typename Key>
void RunsBench(Gpu& gpu, Report& report);
void SearchBench(Gpu& gpu, Report& report);
void RowColumnBench(Gpu& gpu, Report& report);
/// The textbook kernels merge keys of the smallest type, and pairs of the largest.
template <typename Key, typename Value>
inline constexpr bool kInTextbook = (std::is_same_v<Key, std::int32_t> && !kPairs<Value>) ||
                                    (std::is_same_v<Key, std::int64_t> && kPairs<Value>);
/// The textbook kernels on such lists, which must outlive the candidates.
template <typename Key, typename Value>
std::vector<Candidate> TextbookMerges(const MergeCase<Key, Value>& lists);

}  // namespace gpusort::bench
