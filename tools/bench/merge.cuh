// gpusort_bench merge: times MergeKeys and MergePairs against thrust::merge, cub::DeviceMerge, std::merge on the host
// and the textbook kernels. Each .cu file that includes this header compiles it for some types of items.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/merge.h>

#include <cub/device/device_merge.cuh>

#include "bench/gpu.cuh"
#include "gpusort/merge.cuh"

namespace gpusort::bench {

/// A key with its value, because std::merge takes one list.
template <typename Key, typename Value>
struct HostItem {
  Key key;
  Value value;
};

/// Times std::merge of the same lists on one thread of the host.
template <typename Key, typename Value>
Row HostMerge(const MergeCase<Key, Value>& lists, const Options& options) {
  const std::uint64_t n = lists.n();
  std::vector<Key> keys(n);
  GPUSORT_CHECK(cudaMemcpy(keys.data(), lists.keys_in.at(0), n * sizeof(Key), cudaMemcpyDeviceToHost));
  Row row;
  row.name = "std::merge, 1 thread";
  row.kind = "host";
  row.threads = 1;
  constexpr double kLimitSeconds = 0.3;
  const auto m = static_cast<std::ptrdiff_t>(lists.m);
  const auto time = [&](const auto& in, auto less) {
    auto out = in;
    row.samples = TimeHost(options.repetitions, kLimitSeconds, [&] {
      std::merge(in.begin(), in.begin() + m, in.begin() + m, in.end(), out.begin(), less);
    });
    if (!std::is_sorted(out.begin(), out.end(), less)) throw Error(ErrorCode::kIntegrity, "std::merge: out of order");
  };
  if constexpr (kPairs<Value>) {
    using Item = HostItem<Key, Value>;
    std::vector<Item> items(n);
    for (std::uint64_t i = 0; i < n; ++i) items[i] = {keys[i], static_cast<Value>(i)};
    time(items, [](const Item& x, const Item& y) { return LessOf<Key>{}(x.key, y.key); });
  } else {
    time(keys, LessOf<Key>{});
  }
  return row;
}

template <typename Key, typename Value>
std::vector<Candidate> MergeCandidates(const MergeCase<Key, Value>& lists) {
  const LessOf<Key> less;
  const std::uint64_t m = lists.m, n = lists.n() - m;
  const auto *const keys = &lists.keys_in, *const keys_out = &lists.keys_out;
  const auto *const values = &lists.values_in, *const values_out = &lists.values_out;
  const auto cub_m = static_cast<std::int64_t>(m), cub_n = static_cast<std::int64_t>(n);
  std::vector<Candidate> candidates;
  if constexpr (kPairs<Value>) {
    candidates.push_back({"gpusort::MergePairs", "gpusort", true, 1,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return MergePairs(w, bytes, keys->at(c), values->at(c), m, keys->at(c) + m,
                                              values->at(c) + m, n, keys_out->at(c), values_out->at(c), less, stream);
                          })});
    candidates.push_back({"cub::DeviceMerge", "rival", false, 1,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return cub::DeviceMerge::MergePairs(w, bytes, keys->at(c), values->at(c), cub_m,
                                                                keys->at(c) + m, values->at(c) + m, cub_n,
                                                                keys_out->at(c), values_out->at(c), less, stream);
                          })});
    candidates.push_back({"thrust::merge", "rival", true, 1, [=](unsigned c, cudaStream_t stream) {
                            thrust::merge_by_key(thrust::cuda::par.on(stream), keys->at(c), keys->at(c) + m,
                                                 keys->at(c) + m, keys->at(c) + m + n, values->at(c), values->at(c) + m,
                                                 keys_out->at(c), values_out->at(c), less);
                          }});
  } else {
    candidates.push_back({"gpusort::MergeKeys", "gpusort", true, 1,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return MergeKeys(w, bytes, keys->at(c), m, keys->at(c) + m, n, keys_out->at(c), less,
                                             stream);
                          })});
    candidates.push_back({"cub::DeviceMerge", "rival", false, 1,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return cub::DeviceMerge::MergeKeys(w, bytes, keys->at(c), cub_m, keys->at(c) + m, cub_n,
                                                               keys_out->at(c), less, stream);
                          })});
    candidates.push_back({"thrust::merge", "rival", true, 1, [=](unsigned c, cudaStream_t stream) {
                            thrust::merge(thrust::cuda::par.on(stream), keys->at(c), keys->at(c) + m, keys->at(c) + m,
                                          keys->at(c) + m + n, keys_out->at(c), less);
                          }});
  }
  return candidates;
}

template <typename Key, typename Value>
void MergeBench(Gpu& gpu, Report& report) {
  const Options& options = gpu.options();
  const std::string type = TypeName<Key, Value>();
  if (!options.Wants(type)) return;
  constexpr std::uint64_t kHostBytes = std::uint64_t{2} << 30;
  for (const std::uint64_t items : options.Sizes()) {
    for (const std::uint64_t part : {2, 17, 1025}) {
      // B is 1, 16 or 1024 times as long as A.
      const std::uint64_t m = items / part;
      if (part > 2 && (m < 16 || options.quick)) continue;
      for (const std::string& inputs : options.inputs) {
        if (part > 2 && inputs != options.inputs.front()) continue;
        MergeCase<Key, Value> lists(m, items - m);
        MakeMergeInput(lists, inputs, options);
        std::vector<Candidate> candidates = MergeCandidates(lists);
        candidates.push_back(lists.Copy());
        if constexpr (kInTextbook<Key, Value>) {
          if (options.textbook && part == 2) {
            for (Candidate& candidate : TextbookMerges(lists)) candidates.push_back(std::move(candidate));
          }
        }
        std::vector<Row> rows = gpu.Time(candidates, lists.copies(), lists.Verifier(gpu.stream()));
        const std::uint64_t bytes = items * kItemBytes<Key, Value>;
        if (part == 2 && bytes <= kHostBytes) rows.push_back(HostMerge(lists, options));
        report.Add({"merge", type, "1:" + std::to_string(part - 1), inputs, items, m, 0, bytes}, rows,
                   {"thrust::merge", "cub::DeviceMerge"});
      }
    }
  }
}

}  // namespace gpusort::bench
