// gpusort_bench cmp: times merges on the cores of the host, and on one thread, for a range of sizes. Every result is
// compared with the result of std::merge. All speed-ups are relative to the merge with two cursors.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/report.hpp"
#include "gpusort/gpusort.hpp"
#include "kernels/classic/merge_phases.hpp"
#include "kernels/classic/parallel_host.hpp"
#include "kernels/error.hpp"

namespace gpusort::bench {
namespace {

template <typename Key>
struct Candidate {
  std::string name;
  std::string kind;
  unsigned threads;
  std::function<void(const Key* a, std::uint64_t m, const Key* b, std::uint64_t n, Key* out)> run;
};

template <typename Key>
std::vector<Candidate<Key>> Candidates(unsigned cores, bool textbook) {
  std::vector<Candidate<Key>> candidates;
  candidates.push_back({"sequential", "textbook", 1,
                        [](auto* a, auto m, auto* b, auto n, auto* out) { SerialMerge(a, m, b, n, out, Less{}); }});
  candidates.push_back({"std::merge", "rival", 1,
                        [](auto* a, auto m, auto* b, auto n, auto* out) { std::merge(a, a + m, b, b + n, out); }});
  if (textbook) {
    candidates.push_back({"sequential, branch-free", "textbook", 1, [](auto* a, auto m, auto* b, auto n, auto* out) {
                            classic::BranchFreeMerge(a, m, b, n, out, Less{});
                          }});
  }
  std::vector<unsigned> counts;
  for (unsigned threads = 2; threads < cores; threads *= 2) counts.push_back(threads);
  if (cores > 1) counts.push_back(cores);
  candidates.push_back({"gpusort::MergeKeys, 1 thread", "gpusort", 1, [](auto* a, auto m, auto* b, auto n, auto* out) {
                          MergeKeys(a, m, b, n, out, Less{}, SequentialExecutor{});
                        }});
  for (const unsigned threads : counts) {
    if (textbook) {
      candidates.push_back({"parallel, up to " + std::to_string(threads) + " threads", "textbook", threads,
                            [threads](auto* a, auto m, auto* b, auto n, auto* out) {
                              classic::ParallelMerge(a, m, b, n, out, Less{}, ThreadExecutor(threads));
                            }});
    }
    candidates.push_back({"gpusort::MergeKeys, " + std::to_string(threads) + " threads", "gpusort", threads,
                          [threads](auto* a, auto m, auto* b, auto n, auto* out) {
                            MergeKeys(a, m, b, n, out, Less{}, ThreadExecutor(threads));
                          }});
  }
  return candidates;
}

/// The sorted list A, followed by the sorted list B.
template <typename Key>
std::vector<Key> MakeInput(std::uint64_t m, std::uint64_t n, const std::string& inputs) {
  std::vector<Key> keys(m + n);
  for (std::uint64_t i = 0; i < m + n; ++i) keys[i] = static_cast<Key>(i);
  if (inputs == "random") {
    std::mt19937_64 random(1);
    for (Key& key : keys) key = static_cast<Key>(random());
    const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(m);
    std::sort(keys.begin(), middle);
    std::sort(middle, keys.end());
  } else if (inputs == "reversed") {
    std::rotate(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(n), keys.end());
  } else if (inputs == "equal") {
    std::fill(keys.begin(), keys.end(), Key{42});
  }
  return keys;
}

template <typename Key>
void Bench(const Options& options, Report& report, const std::string& type) {
  constexpr double kLimitSeconds = 0.15;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  for (const std::uint64_t items : options.Sizes()) {
    if (items * sizeof(Key) > kMostBytes) continue;
    for (const std::string& inputs : options.inputs) {
      if (inputs == "conflict") continue;
      const std::uint64_t m = items / 2, n = items - m;
      const std::vector<Key> keys = MakeInput<Key>(m, n, inputs);
      const Key *const a = keys.data(), *const b = a + m;
      std::vector<Key> expected(items), out(items);
      std::merge(a, a + m, b, b + n, expected.begin());
      std::vector<Row> rows;
      for (const Candidate<Key>& candidate : Candidates<Key>(cores, options.textbook)) {
        std::fill(out.begin(), out.end(), Key{});
        Row row;
        row.name = candidate.name;
        row.kind = candidate.kind;
        row.threads = candidate.threads;
        row.samples = TimeHost(options.repetitions, kLimitSeconds, [&] { candidate.run(a, m, b, n, out.data()); });
        if (out != expected) throw Error(ErrorCode::kIntegrity, candidate.name + ": not the answer of std::merge");
        rows.push_back(std::move(row));
      }
      report.Add({"cmp", type, "1:1", inputs, items, m, 0, items * sizeof(Key)}, rows, {"sequential", "std::merge"});
    }
  }
}

}  // namespace

void RunCmp(const Options& options, Report& report) {
  report.Fact("cores", std::max(1u, std::thread::hardware_concurrency()), "");
  if (options.Wants("i32")) Bench<std::int32_t>(options, report, "i32");
  if (options.Wants("i64")) Bench<std::int64_t>(options, report, "i64");
}

}  // namespace gpusort::bench
