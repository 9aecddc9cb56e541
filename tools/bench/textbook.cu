// The textbook kernels for gpusort_bench merge, with each of their improvements on and off. Here pairs are structs: the
// same bytes as a list of keys and a list of values, in another order.
#include "bench/gpu.cuh"
#include "kernels/classic/merge_kernels.cuh"

namespace gpusort::bench {
namespace {

template <typename Key, typename Value>
struct Pair {
  Key key;
  Value value;
};
struct PairLess {
  template <typename Item>
  GPUSORT_HD bool operator()(const Item& a, const Item& b) const {
    return a.key < b.key;
  }
};

template <typename Item, typename Key, typename Value>
__global__ void ZipKernel(const Key* keys, const Value* values, std::uint64_t n, Item* items) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    items[i] = {keys[i], values[i]};
  }
}
template <typename Item, typename Key, typename Value>
__global__ void UnzipKernel(const Item* items, std::uint64_t n, Key* keys, Value* values) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    keys[i] = items[i].key;
    values[i] = items[i].value;
  }
}

enum class System { kBasic, kTiled, kCircular, kDouble };

using classic::MergeConfig;

/// The memory for items, their order, and a function that copies results for the check.
template <typename Item, typename LessT>
struct Source {
  std::function<const Item*(unsigned copy)> in;
  std::function<Item*(unsigned copy)> out;
  std::uint64_t m, n;
  LessT less;
  std::function<void(unsigned copy, cudaStream_t stream)> collect;
};

template <System kSystem, MergeConfig kConfig, typename Item, typename LessT>
Candidate Make(const std::string& name, const Source<Item, LessT>& source) {
  // TiledMerge reads a tile of each list for every tile of output; the other two read only what they use. How much the
  // caches save in the basic merge depends on the keys.
  constexpr double kSweeps = kSystem == System::kBasic ? 0 : kSystem == System::kTiled ? 1.5 : 1;
  return {name,
          "textbook",
          true,
          kSweeps,
          [source](unsigned copy, cudaStream_t stream) {
            const Item *const a = source.in(copy), *const b = a + source.m;
            Item* const out = source.out(copy);
            if constexpr (kSystem == System::kBasic) {
              GPUSORT_CHECK(classic::BasicMerge<kConfig>(a, source.m, b, source.n, out, source.less, stream));
            } else if constexpr (kSystem == System::kTiled) {
              GPUSORT_CHECK(classic::TiledMerge<kConfig>(a, source.m, b, source.n, out, source.less, stream));
            } else if constexpr (kSystem == System::kCircular) {
              GPUSORT_CHECK(classic::CircularMerge<kConfig>(a, source.m, b, source.n, out, source.less, stream));
            } else {
              GPUSORT_CHECK(classic::DoubleBufferMerge<kConfig>(a, source.m, b, source.n, out, source.less, stream));
            }
          },
          source.collect};
}

template <typename Item, typename LessT>
std::vector<Candidate> All(const Source<Item, LessT>& source) {
  constexpr int kThreads = 256;
  constexpr int kItems = sizeof(Item) <= 4 ? 8 : 4;
  constexpr int kCoarse = sizeof(Item) <= 4 ? 15 : 7;
  // The columns: share_co_ranks, branch_free, wide_partition, stage_output.
  constexpr MergeConfig kPlain{0, kThreads, kItems};
  constexpr MergeConfig kShared{0, kThreads, kItems, true};
  constexpr MergeConfig kBranchFree{0, kThreads, kItems, false, true};
  constexpr MergeConfig kBoth{0, kThreads, kItems, true, true};
  constexpr MergeConfig kWide{0, kThreads, kItems, true, true, true};
  constexpr MergeConfig kStaged{0, kThreads, kItems, true, true, true, true};
  constexpr MergeConfig kCoarser{0, kThreads, kCoarse, true, true, true, true};
  return {
      Make<System::kBasic, kPlain>("basic", source),
      Make<System::kBasic, kShared>("basic, shared co-ranks", source),
      Make<System::kBasic, kBoth>("basic, shared, branch-free", source),
      Make<System::kTiled, kPlain>("tiled", source),
      Make<System::kTiled, kShared>("tiled, shared co-ranks", source),
      Make<System::kTiled, kBranchFree>("tiled, branch-free", source),
      Make<System::kTiled, kBoth>("tiled, shared, branch-free", source),
      Make<System::kCircular, kPlain>("circular", source),
      Make<System::kCircular, kBoth>("circular, shared, branch-free", source),
      Make<System::kCircular, kWide>("circular, ..., wide partition", source),
      Make<System::kCircular, kStaged>("circular, ..., staged output", source),
      Make<System::kCircular, kCoarser>("circular, ..., coarser", source),
      Make<System::kDouble, kPlain>("double buffer", source),
      Make<System::kDouble, kBoth>("double buffer, shared, branch-free", source),
  };
}

}  // namespace

template <typename Key, typename Value>
std::vector<Candidate> TextbookMerges(const MergeCase<Key, Value>& lists) {
  const std::uint64_t m = lists.m, n = lists.n() - m;
  const auto *const keys_in = &lists.keys_in, *const keys_out = &lists.keys_out;
  if constexpr (!kPairs<Value>) {
    return All(Source<Key, LessOf<Key>>{
        [=](unsigned c) { return keys_in->at(c); }, [=](unsigned c) { return keys_out->at(c); }, m, n, {}, {}});
  } else {
    using Item = Pair<Key, Value>;
    constexpr int kBlocks = 1024, kThreads = 256;
    const auto *const values_in = &lists.values_in, *const values_out = &lists.values_out;
    const std::uint64_t all = m + n;
    const auto in = std::make_shared<Copies<Item>>(all, lists.copies());
    const auto out = std::make_shared<Copies<Item>>(all, lists.copies());
    ZipKernel<<<kBlocks, kThreads>>>(keys_in->at(0), values_in->at(0), all, in->at(0));
    GPUSORT_CHECK(cudaGetLastError());
    in->Replicate();
    GPUSORT_CHECK(cudaDeviceSynchronize());
    const auto collect = [=](unsigned c, cudaStream_t stream) {
      UnzipKernel<<<kBlocks, kThreads, 0, stream>>>(out->at(c), all, keys_out->at(c), values_out->at(c));
      GPUSORT_CHECK(cudaGetLastError());
      out->Spoil(c, stream);
    };
    return All(Source<Item, PairLess>{
        [=](unsigned c) { return in->at(c); }, [=](unsigned c) { return out->at(c); }, m, n, {}, collect});
  }
}

template std::vector<Candidate> TextbookMerges(const MergeCase<std::int32_t, NoValue>&);
template std::vector<Candidate> TextbookMerges(const MergeCase<std::int64_t, std::int64_t>&);

}  // namespace gpusort::bench
