// gpusort_bench_kernels: times the sorting and merging calls in device memory beside CUB's, interleaved, in one
// process. Keys are random u32, u64 and 16-byte entries; inputs are never overwritten; every result is checked (order,
// and a sum of hashes). Prints a table and, on request, JSON; `ratio` is CUB's time / ours, so above 1 is faster than
// CUB.
// --tune times other shapes of the same kernels. Below about 2^23 keys everything lies in the GPU's cache.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cuda/std/functional>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpusort/error.hpp"
#include "gpusort/key.hpp"
#include "gpusort/merge.cuh"

namespace gpusort {
namespace {

void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw Error(ErrorCode::kGpuLost, std::string(what) + ": " + cudaGetErrorString(error));
}
#define GPUSORT_CHECK(call) Check((call), #call)

struct Options {
  int log2_items = 28;
  int repetitions = 11;
  bool tune = false;
  std::string json_path;
};

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

__host__ __device__ std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
__host__ __device__ std::uint64_t Hash(std::uint64_t key) { return Mix(key + 0x9E3779B97F4A7C15u); }
__host__ __device__ std::uint64_t Hash(const Entry& entry) { return Mix(Hash(entry.hi) + entry.lo); }

__device__ void RandomKey(std::uint64_t i, std::uint32_t& key) { key = static_cast<std::uint32_t>(Hash(i)); }
__device__ void RandomKey(std::uint64_t i, std::uint64_t& key) { key = Hash(i); }
__device__ void RandomKey(std::uint64_t i, Entry& key) { key = {Mix(i) << 32 | (i & 0xFFFFFFFF), Hash(i)}; }

template <typename Key>
__global__ void FillKernel(Key* keys, std::uint64_t n) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    RandomKey(i, keys[i]);
}

struct Facts {
  unsigned long long descents;
  unsigned long long sum;
};
template <typename Key, typename LessT>
__global__ void InspectKernel(const Key* keys, std::uint64_t n, LessT less, Facts* facts) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  Facts own = {0, 0};
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    own.sum += Hash(keys[i]);
    if (i > 0 && less(keys[i], keys[i - 1])) ++own.descents;
  }
  atomicAdd(&facts->sum, own.sum);
  atomicAdd(&facts->descents, own.descents);
}

template <typename Key, typename LessT>
Facts Inspect(const Key* keys, std::uint64_t n, LessT less) {
  const DeviceList<Facts> facts(1);
  GPUSORT_CHECK(cudaMemset(facts.data(), 0, sizeof(Facts)));
  InspectKernel<<<1024, 256>>>(keys, n, less, facts.data());
  GPUSORT_CHECK(cudaGetLastError());
  Facts result;
  GPUSORT_CHECK(cudaMemcpy(&result, facts.data(), sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

/// One thing to time: queues the whole call on the stream.
struct Candidate {
  std::string name;
  std::function<void(cudaStream_t)> run;
  std::vector<float> milliseconds = {};

  float median() const {
    auto sorted = milliseconds;
    std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
    return sorted[sorted.size() / 2];
  }
};

struct Row {
  std::string what, key, name, rival;
  std::uint64_t items;
  float milliseconds, best, worst;
  float rival_milliseconds;  ///< 0: there is none
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    GPUSORT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPUSORT_CHECK(cudaEventCreate(&begin_));
    GPUSORT_CHECK(cudaEventCreate(&end_));
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  /// Times the candidates in turn, in every repetition anew. `verify` is called after the first run of each. The first
  /// is ours: a row for each of the others.
  void Compare(const std::string& what, const std::string& key, std::uint64_t items, std::vector<Candidate> candidates,
               const std::function<void(const std::string& name)>& verify) {
    Time(candidates, what, verify);
    const Candidate& ours = candidates.front();
    for (std::size_t c = 1; c < candidates.size(); ++c) Add(what, key, items, ours, &candidates[c]);
  }
  /// The same where no rival stands beside: a row for each.
  void List(const std::string& what, const std::string& key, std::uint64_t items, std::vector<Candidate> candidates,
            const std::function<void(const std::string& name)>& verify) {
    Time(candidates, what, verify);
    for (const Candidate& candidate : candidates) Add(what, key, items, candidate, nullptr);
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void Time(std::vector<Candidate>& candidates, const std::string& what,
            const std::function<void(const std::string&)>& verify) {
    for (Candidate& candidate : candidates) {
      candidate.run(stream_);
      GPUSORT_CHECK(cudaStreamSynchronize(stream_));
      verify(what + ", " + candidate.name);
    }
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (Candidate& candidate : candidates) {
        GPUSORT_CHECK(cudaEventRecord(begin_, stream_));
        candidate.run(stream_);
        GPUSORT_CHECK(cudaEventRecord(end_, stream_));
        GPUSORT_CHECK(cudaEventSynchronize(end_));
        float milliseconds = 0;
        GPUSORT_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
        candidate.milliseconds.push_back(milliseconds);
      }
    }
  }
  void Add(const std::string& what, const std::string& key, std::uint64_t items, const Candidate& ours,
           const Candidate* rival) {
    const auto [best, worst] = std::minmax_element(ours.milliseconds.begin(), ours.milliseconds.end());
    rows_.push_back({what, key, ours.name, rival == nullptr ? "" : rival->name, items, ours.median(), *best, *worst,
                     rival == nullptr ? 0 : rival->median()});
    Print(rows_.back());
  }
  static void Print(const Row& row) {
    std::printf("%-22s %-6s %11llu  %-28s %8.3f ms (%.3f to %.3f) %7.2f G/s", row.what.c_str(), row.key.c_str(),
                static_cast<unsigned long long>(row.items), row.name.c_str(), row.milliseconds, row.best, row.worst,
                static_cast<double>(row.items) / row.milliseconds / 1e6);
    if (row.rival_milliseconds > 0) {
      std::printf("  %-28s %8.3f ms  ratio %.2f", row.rival.c_str(), row.rival_milliseconds,
                  row.rival_milliseconds / row.milliseconds);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  Options options_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::vector<Row> rows_;
};

/// A call in the two-call idiom with a workspace of its own, made up front.
template <typename Call>
std::function<void(cudaStream_t)> WithWorkspace(Call call) {
  std::size_t bytes = 0;
  GPUSORT_CHECK(call(nullptr, bytes, cudaStream_t{nullptr}));
  auto workspace = std::make_shared<DeviceList<unsigned char>>(bytes);
  return
      [call, workspace, bytes](cudaStream_t stream) mutable { GPUSORT_CHECK(call(workspace->data(), bytes, stream)); };
}

std::string NameOf(const TileShape& shape) {
  return std::to_string(shape.threads) + "x" + std::to_string(shape.items) + "/" + std::to_string(shape.blocks);
}

/// Everything for keys of one type.
template <typename Key, typename LessT, typename CubLess>
class KeyBench {
 public:
  KeyBench(Bench& bench, const std::string& key, std::uint64_t n)
      : bench_(bench), key_(key), n_(n), in_(n), runs_(n), out_(n), spare_(n) {
    FillKernel<<<1024, 256>>>(in_.data(), n);
    GPUSORT_CHECK(cudaGetLastError());
    GPUSORT_CHECK(cudaDeviceSynchronize());
    sum_ = Inspect(in_.data(), n, LessT{}).sum;
  }

  void Sort() {
    std::vector<Candidate> candidates;
    candidates.push_back({"gpusort", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
                            return SortKeys(w, bytes, in_.data(), out_.data(), n_, LessT{}, stream);
                          })});
    candidates.push_back(
        {"cub::DeviceMergeSort", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
           return cub::DeviceMergeSort::SortKeysCopy(w, bytes, in_.data(), out_.data(), n_, CubLess{}, stream);
         })});
    if constexpr (std::is_integral_v<Key>) {
      candidates.push_back(
          {"cub::DeviceRadixSort", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
             return cub::DeviceRadixSort::SortKeys(w, bytes, in_.data(), out_.data(), n_, 0,
                                                   static_cast<int>(sizeof(Key)) * 8, stream);
           })});
    }
    bench_.Compare("sort", key_, n_, std::move(candidates), Verify());
  }

  void MergeHalves() {
    const std::uint64_t m = n_ / 2;
    MakeRuns({0, m, n_});
    std::vector<Candidate> candidates;
    candidates.push_back({"gpusort", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
                            return MergeKeys(w, bytes, runs_.data(), m, runs_.data() + m, n_ - m, out_.data(), LessT{},
                                             stream);
                          })});
    candidates.push_back(
        {"cub::DeviceMerge", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
           return cub::DeviceMerge::MergeKeys(w, bytes, runs_.data(), static_cast<std::int64_t>(m), runs_.data() + m,
                                              static_cast<std::int64_t>(n_ - m), out_.data(), CubLess{}, stream);
         })});
    bench_.Compare("merge of 2 halves", key_, n_, std::move(candidates), Verify());
  }

  void MergeSixteen() {
    constexpr std::uint32_t kRuns = 16;
    std::vector<std::uint64_t> bounds;
    for (std::uint32_t r = 0; r <= kRuns; ++r) bounds.push_back(n_ / kRuns * r + (r == kRuns ? n_ % kRuns : 0));
    MakeRuns(bounds);
    std::vector<Candidate> candidates;
    candidates.push_back({"gpusort", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
                            return MergeRuns(w, bytes, runs_.data(), out_.data(), bounds.data(), kRuns, LessT{},
                                             stream);
                          })});
    candidates.push_back(
        {"4 levels of cub::DeviceMerge", WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
           return CubLevels(w, bytes, bounds, stream);
         })});
    bench_.Compare("merge of 16 runs", key_, n_, std::move(candidates), Verify());
  }

  /// Tile sorts by merging, in other shapes.
  template <TileShape... kShapes>
  void TuneSort() {
    std::vector<Candidate> candidates;
    (candidates.push_back({NameOf(kShapes),
                           [=, this](cudaStream_t stream) {
                             const Key* const in = in_.data();
                             GPUSORT_CHECK(detail::RunTileSort<kShapes>(in, out_.data(), n_, detail::NoValues{},
                                                                        LessT{}, stream));
                           }}),
     ...);
    bench_.List("tile sort, merging", key_, n_, std::move(candidates), VerifyContent());
  }
  /// Tile sorts by digits.
  template <TileShape... kShapes>
  void TuneRadix() {
    std::vector<Candidate> candidates;
    (candidates.push_back({NameOf(kShapes),
                           [=, this](cudaStream_t stream) {
                             const Key* const in = in_.data();
                             GPUSORT_CHECK(detail::RunTileRadixSort<kShapes>(in, out_.data(), n_, stream));
                           }}),
     ...);
    bench_.List("tile sort, digits", key_, n_, std::move(candidates), VerifyContent());
  }
  /// One merge of two halves.
  template <TileShape... kShapes>
  void TuneMerge() {
    const std::uint64_t m = n_ / 2;
    MakeRuns({0, m, n_});
    const DeviceList<detail::TileWork> works(n_ / 128 + 3);
    std::vector<Candidate> candidates;
    (candidates.push_back({NameOf(kShapes),
                           [=, this, &works](cudaStream_t stream) {
                             static_assert(kShapes.tile() >= 128);
                             const TwoLists lists{m, n_ - m};
                             const Key* const runs = runs_.data();
                             GPUSORT_CHECK(detail::RunPass<kShapes>(
                                 works.data(), lists, MergePass<TwoLists>{lists, kShapes.tile()}.tiles(), false, runs,
                                 runs + m, out_.data(), detail::NoValues{}, LessT{}, stream));
                           }}),
     ...);
    bench_.List("merge of 2 halves", key_, n_, std::move(candidates), Verify());
  }

 private:
  /// runs_ = in_, sorted between each two bounds.
  void MakeRuns(const std::vector<std::uint64_t>& bounds) {
    for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
      const std::uint64_t begin = bounds[r], items = bounds[r + 1] - bounds[r];
      WithWorkspace([=, this](void* w, std::size_t& bytes, cudaStream_t stream) {
        return cub::DeviceMergeSort::SortKeysCopy(w, bytes, in_.data() + begin, runs_.data() + begin, items, CubLess{},
                                                  stream);
      })(nullptr);
      GPUSORT_CHECK(cudaDeviceSynchronize());
    }
  }
  cudaError_t CubLevels(void* w, std::size_t& bytes, std::vector<std::uint64_t> bounds, cudaStream_t stream) {
    std::size_t most = 0;
    const Key* from = runs_.data();
    // Four levels: from the runs to the spare list, and to and fro.
    Key* to = spare_.data();
    while (bounds.size() > 2) {
      std::vector<std::uint64_t> merged{0};
      for (std::size_t r = 0; r + 2 < bounds.size(); r += 2) {
        std::size_t needed = bytes;
        const cudaError_t error = cub::DeviceMerge::MergeKeys(
            w, needed, from + bounds[r], static_cast<std::int64_t>(bounds[r + 1] - bounds[r]), from + bounds[r + 1],
            static_cast<std::int64_t>(bounds[r + 2] - bounds[r + 1]), to + bounds[r], CubLess{}, stream);
        if (error != cudaSuccess) return error;
        most = std::max(most, needed);
        merged.push_back(bounds[r + 2]);
      }
      bounds = merged;
      from = to;
      to = to == spare_.data() ? out_.data() : spare_.data();
    }
    if (w == nullptr) bytes = most;
    return cudaSuccess;
  }
  std::function<void(const std::string&)> Verify() {
    return [this](const std::string& name) { Expect(name, true); };
  }
  std::function<void(const std::string&)> VerifyContent() {
    return [this](const std::string& name) { Expect(name, false); };
  }
  /// Checks out_, then spoils it, so that the next candidate cannot pass by doing nothing.
  void Expect(const std::string& name, bool in_order) {
    const Facts facts = Inspect(out_.data(), n_, LessT{});
    if (facts.sum != sum_) throw Error(ErrorCode::kIntegrity, name + ", " + key_ + ": keys lost or changed");
    if (in_order && facts.descents != 0) throw Error(ErrorCode::kIntegrity, name + ", " + key_ + ": out of order");
    GPUSORT_CHECK(cudaMemset(out_.data(), 0x5A, n_ * sizeof(Key)));
    GPUSORT_CHECK(cudaDeviceSynchronize());
  }

  Bench& bench_;
  std::string key_;
  std::uint64_t n_;
  DeviceList<Key> in_, runs_, out_, spare_;
  unsigned long long sum_ = 0;
};

void WriteJson(const std::string& path, const std::string& device, const Options& options,
               const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "{\n  \"device\": \"" << device << "\",\n  \"repetitions\": " << options.repetitions << ",\n  \"rows\": [";
  const char* separator = "\n";
  for (const Row& row : rows) {
    out << separator << "    {\"what\": \"" << row.what << "\", \"key\": \"" << row.key
        << "\", \"items\": " << row.items << ", \"name\": \"" << row.name << "\", \"ms\": " << row.milliseconds
        << ", \"best_ms\": " << row.best << ", \"worst_ms\": " << row.worst;
    if (row.rival_milliseconds > 0) {
      out << ", \"rival\": \"" << row.rival << "\", \"rival_ms\": " << row.rival_milliseconds
          << ", \"ratio\": " << row.rival_milliseconds / row.milliseconds;
    }
    out << "}";
    separator = ",\n";
  }
  out << "\n  ]\n}\n";
  out.close();
  if (!out) throw Error(ErrorCode::kIo, "cannot write " + path);
}

template <typename T>
void BenchKeys(T& keys) {
  keys.Sort();
  keys.MergeHalves();
  keys.MergeSixteen();
}

void RunAll(const Options& options) {
  int device = 0;
  cudaDeviceProp properties;
  GPUSORT_CHECK(cudaGetDevice(&device));
  GPUSORT_CHECK(cudaGetDeviceProperties(&properties, device));
  std::printf("%s, medians of %d\n", properties.name, options.repetitions);
  const std::uint64_t n = std::uint64_t{1} << options.log2_items;
  Bench bench(options);
  {
    KeyBench<std::uint32_t, Less, cuda::std::less<>> keys(bench, "u32", n);
    if (options.tune) {
      keys.TuneRadix<TileShape{256, 16}, TileShape{256, 32}, TileShape{512, 16}, TileShape{512, 24}, TileShape{512, 32},
                     TileShape{1024, 16}>();
      keys.TuneSort<TileShape{256, 17, 4}, TileShape{512, 23, 2}, TileShape{512, 31, 2}>();
      keys.TuneMerge<TileShape{128, 23, 8}, TileShape{256, 11, 6}, TileShape{256, 15, 5}, TileShape{256, 17, 4},
                     TileShape{256, 23, 4}, TileShape{512, 11, 3}, TileShape{512, 15, 2}, TileShape{512, 17, 2},
                     TileShape{512, 23, 2}>();
    } else {
      BenchKeys(keys);
    }
  }
  {
    KeyBench<std::uint64_t, Less, cuda::std::less<>> keys(bench, "u64", n);
    if (options.tune) {
      keys.TuneSort<TileShape{256, 11, 4}, TileShape{256, 15, 4}, TileShape{256, 23, 4}, TileShape{512, 15, 2},
                    TileShape{512, 19, 2}, TileShape{512, 23, 2}, TileShape{1024, 11, 1}>();
      keys.TuneMerge<TileShape{128, 11, 8}, TileShape{128, 15, 8}, TileShape{256, 7, 6}, TileShape{256, 9, 5},
                     TileShape{256, 11, 4}, TileShape{256, 11, 5}, TileShape{256, 15, 4}, TileShape{512, 7, 3},
                     TileShape{512, 9, 2}, TileShape{512, 11, 2}, TileShape{512, 15, 2}>();
    } else {
      BenchKeys(keys);
    }
  }
  {
    KeyBench<Entry, ExactEntryLess, ExactEntryLess> keys(bench, "entry", n / 2);
    if (options.tune) {
      keys.TuneSort<TileShape{256, 7}, TileShape{256, 9}, TileShape{256, 11}, TileShape{512, 7}, TileShape{512, 11}>();
      keys.TuneMerge<TileShape{128, 7}, TileShape{128, 11}, TileShape{256, 5}, TileShape{256, 7}, TileShape{256, 9},
                     TileShape{512, 5}, TileShape{512, 7}>();
    } else {
      BenchKeys(keys);
    }
  }
  if (!options.json_path.empty()) WriteJson(options.json_path, properties.name, options, bench.rows());
}

constexpr char kUsage[] =
    "Usage: gpusort_bench_kernels [--log2 N] [--repetitions N] [--tune] [--json FILE]\n"
    "  --log2 N         2^N keys (4 to 30, default 28); entries are half as many\n"
    "  --repetitions N  timed runs of each (11 or more, default 11)\n"
    "  --tune           time other shapes of the kernels instead\n"
    "  --json FILE      also write the table as JSON\n";

int NumberOption(const std::string& name, const std::string& text, int low, int high) {
  std::size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || value < low || value > high) {
    throw Error(ErrorCode::kUsage, name + " takes a number from " + std::to_string(low) + " to " +
                                       std::to_string(high) + ", not '" + text + "'");
  }
  return value;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::cout << kUsage;
      return 0;
    }
    if (name == "--tune") {
      options.tune = true;
      continue;
    }
    if (name != "--log2" && name != "--repetitions" && name != "--json") {
      throw Error(ErrorCode::kUsage, "unknown option '" + name + "'\n" + kUsage);
    }
    if (++i == argc) throw Error(ErrorCode::kUsage, name + " takes a value");
    if (name == "--log2") options.log2_items = NumberOption(name, argv[i], 4, 30);
    if (name == "--repetitions") options.repetitions = NumberOption(name, argv[i], 11, 100000);
    if (name == "--json") options.json_path = argv[i];
  }
  RunAll(options);
  return 0;
}

}  // namespace
}  // namespace gpusort

int main(int argc, char** argv) {
  try {
    return gpusort::Main(argc, argv);
  } catch (const gpusort::Error& error) {
    std::cerr << "gpusort_bench_kernels: " << error.what() << '\n';
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "gpusort_bench_kernels: " << error.what() << '\n';
    return static_cast<int>(gpusort::ErrorCode::kInternal);
  }
}
