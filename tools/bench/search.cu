// gpusort_bench search: times the searches that divide a merge of two halves into tiles. One thread searches in three
// ways, or 8 or 32 threads search together (Green, McColl and Bader's wide search). Every result is checked by its
// definition.
#include "bench/gpu.cuh"
#include "kernels/classic/co_rank.hpp"

namespace gpusort::bench {
namespace {

constexpr std::uint64_t kTile = 4096;
constexpr int kThreads = 128;

struct OneThread {
  static constexpr unsigned kLanes = 1;
  template <typename Key>
  __device__ static std::uint64_t Find(std::uint64_t k, const Key* a, std::uint64_t m, const Key* b, std::uint64_t n) {
    return CoRank(k, a, m, b, n, Less{});
  }
};
struct Textbook {
  static constexpr unsigned kLanes = 1;
  template <typename Key>
  __device__ static std::uint64_t Find(std::uint64_t k, const Key* a, std::uint64_t m, const Key* b, std::uint64_t n) {
    return classic::TextbookCoRank(k, a, m, b, n, Less{});
  }
};
struct BranchFree {
  static constexpr unsigned kLanes = 1;
  template <typename Key>
  __device__ static std::uint64_t Find(std::uint64_t k, const Key* a, std::uint64_t m, const Key* b, std::uint64_t n) {
    return classic::BranchFreeCoRank(k, a, m, b, n, Less{});
  }
};
template <unsigned kWide>
struct Wide {
  static constexpr unsigned kLanes = kWide;
  template <typename Key>
  __device__ static std::uint64_t Find(std::uint64_t k, const Key* a, std::uint64_t m, const Key* b, std::uint64_t n) {
    const unsigned lane = threadIdx.x % kWide;
    const unsigned first = threadIdx.x % 32 / kWide * kWide;
    const unsigned lanes = (0xFFFFFFFFu >> (32 - kWide)) << first;
    return classic::WideCoRank<kWide>(
        k, a, m, b, n, Less{}, [&](auto probe) -> unsigned { return __popc(__ballot_sync(lanes, probe(lane))); });
  }
};

/// Sets cuts[t] to the co-rank of output t * kTile: the number of items of the first half before that output.
template <typename Search, typename Key>
__global__ void __launch_bounds__(kThreads) SearchKernel(const Key* a, std::uint64_t m, const Key* b, std::uint64_t n,
                                                         std::uint64_t count, std::uint64_t* cuts) {
  const std::uint64_t t = (std::uint64_t{blockIdx.x} * kThreads + threadIdx.x) / Search::kLanes;
  if (t >= count) return;
  const std::uint64_t k = t * kTile < m + n ? t * kTile : m + n;
  const std::uint64_t cut = Search::Find(k, a, m, b, n);
  if (threadIdx.x % Search::kLanes == 0) cuts[t] = cut;
}

template <typename Key>
__global__ void CheckCutsKernel(const Key* a, std::uint64_t m, const Key* b, std::uint64_t n, std::uint64_t count,
                                const std::uint64_t* cuts, unsigned long long* wrong) {
  const std::uint64_t t = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (t >= count) return;
  const std::uint64_t k = t * kTile < m + n ? t * kTile : m + n;
  const std::uint64_t i = cuts[t];
  const bool in_range = i <= m && i <= k && k - i <= n;
  const std::uint64_t j = k - i;
  const bool right = in_range && (i == 0 || j == n || !(b[j] < a[i - 1])) && (j == 0 || i == m || b[j - 1] < a[i]);
  if (!right) atomicAdd(wrong, 1ull);
}

unsigned Blocks(std::uint64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

template <typename Key>
void Bench(Gpu& gpu, Report& report) {
  const Options& options = gpu.options();
  if (!options.Wants(TypeName<Key, NoValue>())) return;
  for (const std::uint64_t items : options.Sizes()) {
    for (const std::string& inputs : options.inputs) {
      MergeCase<Key, NoValue> lists(items / 2, items - items / 2);
      MakeMergeInput(lists, inputs, options);
      const std::uint64_t m = lists.m, n = items - m, count = items / kTile + 2;
      const DeviceList<std::uint64_t> cuts(count);
      const DeviceList<unsigned long long> wrong(1);
      const auto candidate = [&](const std::string& name, const std::string& kind, auto search) -> Candidate {
        using Search = decltype(search);
        return {name, kind, true, 0, [&lists, &cuts, m, n, count](unsigned copy, cudaStream_t stream) {
                  const Key* const a = lists.keys_in.at(copy);
                  SearchKernel<Search>
                      <<<Blocks(count * Search::kLanes), kThreads, 0, stream>>>(a, m, a + m, n, count, cuts.data());
                  GPUSORT_CHECK(cudaGetLastError());
                }};
      };
      const std::vector<Candidate> candidates = {
          candidate("gpusort::CoRank, a thread", "gpusort", OneThread{}),
          candidate("TextbookCoRank, a thread", "textbook", Textbook{}),
          candidate("BranchFreeCoRank, a thread", "textbook", BranchFree{}),
          candidate("WideCoRank, 8 threads", "textbook", Wide<8>{}),
          candidate("WideCoRank, 32 threads", "textbook", Wide<32>{}),
      };
      const auto verify = [&](const Candidate& which, unsigned copy) {
        const Key* const a = lists.keys_in.at(copy);
        GPUSORT_CHECK(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)));
        CheckCutsKernel<<<Blocks(count), kThreads>>>(a, m, a + m, n, count, cuts.data(), wrong.data());
        GPUSORT_CHECK(cudaGetLastError());
        unsigned long long bad = 0;
        GPUSORT_CHECK(cudaMemcpy(&bad, wrong.data(), sizeof bad, cudaMemcpyDeviceToHost));
        if (bad != 0) throw Error(ErrorCode::kIntegrity, which.name + ": " + std::to_string(bad) + " wrong cuts");
        GPUSORT_CHECK(cudaMemset(cuts.data(), 0xFF, count * sizeof(std::uint64_t)));
        GPUSORT_CHECK(cudaDeviceSynchronize());
      };
      report.Add(
          {"search", TypeName<Key, NoValue>(), "a cut every " + std::to_string(kTile), inputs, items, m, count, 0},
          gpu.Time(candidates, lists.copies(), verify), {candidates.front().name});
    }
  }
}

}  // namespace

void SearchBench(Gpu& gpu, Report& report) {
  Bench<std::int32_t>(gpu, report);
  Bench<std::int64_t>(gpu, report);
}

}  // namespace gpusort::bench
