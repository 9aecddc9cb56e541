// Kernels that gpusort_tune times: kernels of kind GPUSORT_TUNE_KIND, with GPUSORT_TUNE_THREADS threads in a block, for
// items of GPUSORT_TUNE_BYTES bytes. The file is compiled once for each combination, on all cores.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "gpusort/merge.cuh"
#include "kernels/records/key.hpp"
#include "tune.hpp"

namespace gpusort::tune {
namespace {

void Check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

__host__ __device__ std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// The item type of each size, and the order in which tiles of such items are sorted by sorting networks.
template <int kBytes>
struct ItemOf;
template <>
struct ItemOf<4> {
  using Type = std::uint32_t;
  using LessT = Less;
  static __device__ Type Random(std::uint64_t i) { return static_cast<Type>(Mix(i)); }
};
template <>
struct ItemOf<8> {
  using Type = std::uint64_t;
  using LessT = Less;
  static __device__ Type Random(std::uint64_t i) { return Mix(i); }
};
template <>
struct ItemOf<16> {
  using Type = Entry;
  using LessT = ExactEntryLess;
  static __device__ Type Random(std::uint64_t i) { return {Mix(i) << 32 | (i & 0xFFFFFFFF), Mix(~i)}; }
};

/// An order that the kernels do not know, so that they sort tiles by merging.
template <typename LessT>
struct Unknown {
  LessT less;
  template <typename Key>
  GPUSORT_HD bool operator()(const Key& a, const Key& b) const {
    return less(a, b);
  }
};

template <int kBytes>
__global__ void FillKernel(typename ItemOf<kBytes>::Type* items, std::uint64_t n) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    items[i] = ItemOf<kBytes>::Random(i);
  }
}

/// Counts the items that are out of order inside runs.
template <typename Key, typename LessT>
__global__ void DescentsKernel(const Key* keys, std::uint64_t n, std::uint64_t run, LessT less,
                               unsigned long long* descents) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    if (i % run != 0 && less(keys[i], keys[i - 1])) atomicAdd(descents, 1ull);
  }
}

template <typename T>
std::shared_ptr<T> DeviceList(std::uint64_t n) {
  T* data = nullptr;
  Check(cudaMalloc(&data, n * sizeof(T)));
  return {data, [](T* p) { cudaFree(p); }};
}

template <int kBytes, Kind kKind, int kThreads>
class Tuner {
  using Key = typename ItemOf<kBytes>::Type;
  using LessT = typename ItemOf<kBytes>::LessT;

 public:
  Tuner(int log2_items, int repetitions, std::vector<Timing>& timings)
      : log2_items_(log2_items),
        n_(std::uint64_t{1} << log2_items),
        repetitions_(repetitions),
        timings_(timings),
        in_(DeviceList<Key>(n_)),
        runs_(DeviceList<Key>(n_)),
        out_(DeviceList<Key>(n_)),
        values_(DeviceList<Key>(n_)),
        values_out_(DeviceList<Key>(n_)),
        way_tiles_(DeviceList<unsigned char>(256 + n_ / 256 * sizeof(WayTile<4>))),
        descents_(DeviceList<unsigned long long>(1)) {
    FillKernel<kBytes><<<1024, 256>>>(in_.get(), n_);
    FillKernel<kBytes><<<1024, 256>>>(values_.get(), n_);
    Check(cudaGetLastError());
    Check(cudaEventCreate(&begin_));
    Check(cudaEventCreate(&end_));
  }
  ~Tuner() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  void Run() {
    if constexpr (kSorts) {
      Sorts();
    } else {
      constexpr int kWays = kKind == Kind::kMerge || kKind == Kind::kMergePairs ? 2 : 4;
      MakeRuns(kWays);
      Merges<kWays>();
    }
  }

 private:
  static constexpr bool kSorts = kKind == Kind::kNetworkSort || kKind == Kind::kSort;
  static constexpr bool kPairs = kKind == Kind::kMergePairs || kKind == Kind::kMergePairs4;
  static constexpr int kItemCounts[] = {5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 31, 33};
  static constexpr int kItemChoices = 14;

  void MakeRuns(std::uint64_t runs) {
    std::size_t bytes = 0;
    const std::uint64_t items = n_ / runs;
    Check(SortKeys(nullptr, bytes, in_.get(), runs_.get(), items, LessT{}));
    const auto workspace = DeviceList<unsigned char>(bytes);
    for (std::uint64_t r = 0; r < runs; ++r) {
      Check(SortKeys(workspace.get(), bytes, in_.get() + r * items, runs_.get() + r * items, items, LessT{}));
    }
    Check(cudaDeviceSynchronize());
  }

  /// Calls function(integral_constant<int, i>) for i < kCount.
  template <int kCount, typename Function>
  static void ForEach(Function function) {
    [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
      (function(std::integral_constant<int, kIndex>{}), ...);
    }
    (std::make_integer_sequence<int, kCount>{});
  }

  /// Calls function(integral_constant) with every shape that fits 48 KB. If registers can be limited, the shapes have
  /// 640, 1024 or 1280 threads a multiprocessor; otherwise as many threads as fit. The present shape comes first,
  /// marked.
  template <bool kBounded, std::size_t kItemBytes, typename Function>
  static void ForShapes(Function function) {
    constexpr TileShape kNow = Current();
    if constexpr (kNow.threads == kThreads) function(std::integral_constant<TileShape, kNow>{}, true);
    ForEach<kItemChoices>([&](auto i) {
      constexpr int kItems = kItemCounts[i];
      constexpr std::size_t kTile = kThreads * kItems;
      constexpr std::size_t kBytesOfTile =
          kSorts ? kTile * kItemBytes + kThreads * sizeof(std::uint32_t)
                 : detail::PaddedTile<Key>::Items(kTile) * kItemBytes + (kPairs ? kTile * 2 : 0) + 128;
      if constexpr (kBytesOfTile <= 48 << 10 && kTile >= 1024) {
        if constexpr (kBounded) {
          function(std::integral_constant<TileShape, TileShape{kThreads, kItems, 640 / kThreads}>{}, false);
          function(std::integral_constant<TileShape, TileShape{kThreads, kItems, 1024 / kThreads}>{}, false);
          if constexpr (1280 / kThreads != 1024 / kThreads) {
            function(std::integral_constant<TileShape, TileShape{kThreads, kItems, 1280 / kThreads}>{}, false);
          }
        } else {
          function(std::integral_constant<TileShape, TileShape{kThreads, kItems, 1}>{}, false);
        }
      }
    });
  }

  static constexpr TileShape Current() {
    constexpr Tuning kTuning = TuningTable(kBytes);
    const TileShape shapes[] = {kTuning.network_sort, kTuning.sort,        kTuning.merge,
                                kTuning.merge_4,      kTuning.merge_pairs, kTuning.merge_pairs_4};
    return shapes[static_cast<int>(kKind)];
  }

  void Sorts() {
    using Order = std::conditional_t<kKind == Kind::kNetworkSort, LessT, Unknown<LessT>>;
    ForShapes<kKind == Kind::kNetworkSort, kBytes>([&](auto shape, bool current) {
      constexpr TileShape kShape = decltype(shape)::value;
      const Key* const in = in_.get();
      Time(kShape, LevelCount(detail::DivideUp(n_, kShape.tile())), kShape.tile(), current,
           [&] { return detail::SortTilesOf<kShape>(in, out_.get(), n_, detail::NoValues{}, Order{}, nullptr); });
    });
  }

  template <int kWays>
  void Merges() {
    ForShapes<std::is_same_v<LessT, Less>, kBytes>([&](auto shape, bool current) {
      constexpr TileShape kShape = decltype(shape)::value;
      constexpr std::uint32_t kTile = WayTileItems<kWays>(kShape.threads, kShape.items);
      const UniformRuns runs{n_, n_ / kWays};
      const std::uint64_t tiles = MergePass<UniformRuns, kWays>{runs, kTile}.tiles();
      using List = detail::OneList<const Key*>;
      const auto values = [&] {
        if constexpr (kPairs) {
          return detail::MergeValues<List, Key*>{{values_.get()}, values_out_.get()};
        } else {
          return detail::NoValues{};
        }
      }();
      Time(kShape, kWays / 2, n_, current, [&] {
        return detail::RunPass<kWays, kShape>(way_tiles_.get(), runs, tiles, List{runs_.get()}, out_.get(), values,
                                              LessT{}, nullptr);
      });
    });
  }

  /// Times a kernel. The result has runs of `run` items, which is checked once.
  template <typename Call>
  void Time(TileShape shape, double levels, std::uint64_t run, bool current, Call call) {
    Check(cudaMemset(out_.get(), 0xFF, n_ * sizeof(Key)));
    Check(call());
    Check(cudaMemset(descents_.get(), 0, sizeof(unsigned long long)));
    DescentsKernel<<<1024, 256>>>(out_.get(), n_, run, LessT{}, descents_.get());
    unsigned long long descents = 0;
    Check(cudaMemcpy(&descents, descents_.get(), sizeof descents, cudaMemcpyDeviceToHost));
    if (descents != 0) throw std::runtime_error(std::string(NameOf(kKind)) + ": the result is out of order");
    std::vector<float> times;
    for (int i = 0; i < repetitions_; ++i) {
      Check(cudaEventRecord(begin_));
      Check(call());
      Check(cudaEventRecord(end_));
      Check(cudaEventSynchronize(end_));
      times.push_back(0);
      Check(cudaEventElapsedTime(&times.back(), begin_, end_));
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    const Timing timing{
        kKind,  kBytes, log2_items_, {shape.threads, shape.items, shape.blocks}, times[times.size() / 2],
        levels, current};
    timings_.push_back(timing);
    std::printf("%2d bytes 2^%d %-14s %3d x %2d, %2d blocks %9.4f ms%s\n", kBytes, log2_items_, NameOf(kKind),
                shape.threads, shape.items, shape.blocks, timing.milliseconds, current ? "  (now)" : "");
    std::fflush(stdout);
  }

  int log2_items_;
  std::uint64_t n_;
  int repetitions_;
  std::vector<Timing>& timings_;
  std::shared_ptr<Key> in_, runs_, out_, values_, values_out_;
  std::shared_ptr<unsigned char> way_tiles_;
  std::shared_ptr<unsigned long long> descents_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

template <>
void TimeShapes<GPUSORT_TUNE_BYTES, GPUSORT_TUNE_KIND, GPUSORT_TUNE_THREADS>(int log2_items, int repetitions,
                                                                             std::vector<Timing>& timings) {
  constexpr Kind kKind = static_cast<Kind>(GPUSORT_TUNE_KIND);
  Tuner<GPUSORT_TUNE_BYTES, kKind, GPUSORT_TUNE_THREADS>(log2_items, repetitions, timings).Run();
}

}  // namespace gpusort::tune
