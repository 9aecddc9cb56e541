// gpusort_bench sort: times SortKeys and SortPairs against cub::DeviceMergeSort and cub::DeviceRadixSort. Each .cu file
// that includes this header compiles it for some types of items.
#pragma once

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "bench/gpu.cuh"
#include "gpusort/merge.cuh"

namespace gpusort::bench {

template <typename Key, typename Value>
std::vector<Candidate> SortCandidates(const Lists<Key, Value>& lists) {
  const LessOf<Key> less;
  const std::uint64_t n = lists.n();
  constexpr int kBits = static_cast<int>(sizeof(Key)) * 8;
  const auto *const keys = &lists.keys_in, *const keys_out = &lists.keys_out;
  const auto *const values = &lists.values_in, *const values_out = &lists.values_out;
  std::vector<Candidate> candidates;
  if constexpr (kPairs<Value>) {
    candidates.push_back({"gpusort::SortPairs", "gpusort", true, 0,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return SortPairs(w, bytes, keys->at(c), values->at(c), keys_out->at(c), values_out->at(c),
                                             n, less, stream);
                          })});
    candidates.push_back({"cub::DeviceMergeSort", "rival", false, 0,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return cub::DeviceMergeSort::SortPairsCopy(w, bytes, keys->at(c), values->at(c),
                                                                       keys_out->at(c), values_out->at(c), n, less,
                                                                       stream);
                          })});
    candidates.push_back({"cub::DeviceRadixSort", "rival", true, 0,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return cub::DeviceRadixSort::SortPairs(w, bytes, keys->at(c), keys_out->at(c),
                                                                   values->at(c), values_out->at(c), n, 0, kBits,
                                                                   stream);
                          })});
  } else {
    candidates.push_back({"gpusort::SortKeys", "gpusort", true, 0,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return SortKeys(w, bytes, keys->at(c), keys_out->at(c), n, less, stream);
                          })});
    candidates.push_back({"cub::DeviceMergeSort", "rival", false, 0,
                          WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                            return cub::DeviceMergeSort::SortKeysCopy(w, bytes, keys->at(c), keys_out->at(c), n, less,
                                                                      stream);
                          })});
    if constexpr (std::is_integral_v<Key>) {
      candidates.push_back({"cub::DeviceRadixSort", "rival", true, 0,
                            WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                              return cub::DeviceRadixSort::SortKeys(w, bytes, keys->at(c), keys_out->at(c), n, 0, kBits,
                                                                    stream);
                            })});
    }
  }
  return candidates;
}

template <typename Key, typename Value>
void SortBench(Gpu& gpu, Report& report) {
  const Options& options = gpu.options();
  const std::string type = TypeName<Key, Value>();
  if (!options.Wants(type)) return;
  using Values = std::conditional_t<kPairs<Value>, detail::SortValues<const Value*, Value*>, detail::NoValues>;
  const std::uint64_t conflict_run =
      options.conflict_run != 0 ? options.conflict_run : detail::SortShape<Key, LessOf<Key>, Values>().tile();
  for (const std::uint64_t size : options.Sizes()) {
    for (const std::string& inputs : options.inputs) {
      std::uint64_t items = size;
      if (inputs == "conflict") {
        // A conflict input needs a number of tiles that is a power of two.
        if (size < 2 * conflict_run) continue;
        for (items = conflict_run; items * 2 <= size;) items *= 2;
      }
      Lists<Key, Value> lists(items);
      Key* const keys = lists.keys_in.at(0);
      if (inputs == "conflict") {
        FillConflicts(keys, items, conflict_run, ConflictItems<Key, Value>(options, 4));
      } else {
        Fill(keys, items,
             inputs == "random"     ? Order::kRandom
             : inputs == "sorted"   ? Order::kSorted
             : inputs == "reversed" ? Order::kReversed
                                    : Order::kEqual);
      }
      lists.Finish();
      std::vector<Candidate> candidates = SortCandidates(lists);
      candidates.push_back(lists.Copy());
      const std::vector<Row> rows = gpu.Time(candidates, lists.copies(), lists.Verifier(gpu.stream()));
      report.Add({"sort", type, "all", inputs, items, 0, 0, items * kItemBytes<Key, Value>}, rows,
                 {"cub::DeviceMergeSort", "cub::DeviceRadixSort"});
    }
  }
}

}  // namespace gpusort::bench
