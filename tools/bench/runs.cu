// gpusort_bench runs: times MergeRuns and the same tree of pairwise merges by cub::DeviceMerge, which a program that
// only uses CUB would run.
#include <cub/device/device_merge.cuh>

#include "bench/gpu.cuh"
#include "gpusort/merge.cuh"

namespace gpusort::bench {
namespace {

struct Shape {
  std::string name;
  std::vector<std::uint64_t> bounds;
  std::vector<std::string> inputs;
};

std::vector<std::uint64_t> EqualRuns(std::uint64_t n, std::uint32_t runs) {
  std::vector<std::uint64_t> bounds;
  for (std::uint32_t r = 0; r <= runs; ++r) bounds.push_back(n / runs * r + (r == runs ? n % runs : 0));
  return bounds;
}

std::vector<Shape> Shapes(std::uint64_t n, const Options& options) {
  std::vector<Shape> shapes = {{"16 equal runs", EqualRuns(n, 16), options.inputs},
                               {"64 equal runs", EqualRuns(n, 64), options.inputs}};
  if (options.quick) return shapes;
  // Each run is half as long as the run before it; the last two are equally long.
  Shape uneven{"16 uneven runs", {0}, {"random"}};
  for (std::uint32_t r = 1; r < 16; ++r) uneven.bounds.push_back(uneven.bounds.back() + (n - uneven.bounds.back()) / 2);
  uneven.bounds.push_back(n);
  shapes.push_back(uneven);
  Shape holes{"16 runs, 16 empty", {0}, {"random"}};
  for (const std::uint64_t end : EqualRuns(n, 16)) {
    if (end == 0) continue;
    holes.bounds.push_back(holes.bounds.back());
    holes.bounds.push_back(end);
  }
  shapes.push_back(holes);
  shapes.push_back({"16 disjoint runs", EqualRuns(n, 16), {"sorted"}});
  return shapes;
}

/// The rival of MergeRuns: merges neighbouring runs with cub::DeviceMerge, level by level, from `in` to `out`. Uses
/// `spare` between levels.
template <typename Key>
class CubTree {
 public:
  CubTree(const Copies<Key>* in, const Copies<Key>* out, std::vector<std::uint64_t> bounds, std::uint64_t n)
      : in_(in), out_(out), spare_(std::make_shared<DeviceList<Key>>(n)) {
    // Leaves out empty runs.
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    bounds_ = std::move(bounds);
    for (std::size_t runs = bounds_.size() - 1; runs > 1; runs = (runs + 1) / 2) ++levels_;
  }
  int levels() const { return levels_; }

  cudaError_t operator()(void* w, std::size_t& bytes, unsigned copy, cudaStream_t stream) const {
    std::size_t most = 1;
    std::vector<std::uint64_t> bounds = bounds_;
    const Key* from = in_->at(copy);
    for (int level = levels_; level > 0; --level) {
      Key* const to = level % 2 == 0 ? spare_->data() : out_->at(copy);
      std::vector<std::uint64_t> merged{0};
      for (std::size_t r = 0; r + 1 < bounds.size(); r += 2) {
        const std::uint64_t begin = bounds[r], middle = bounds[r + 1];
        const std::uint64_t end = r + 2 < bounds.size() ? bounds[r + 2] : middle;
        merged.push_back(end);
        if (end == middle) {  // a run without a partner
          if (w == nullptr) continue;
          const cudaError_t error =
              cudaMemcpyAsync(to + begin, from + begin, (end - begin) * sizeof(Key), cudaMemcpyDeviceToDevice, stream);
          if (error != cudaSuccess) return error;
          continue;
        }
        std::size_t needed = bytes;
        const cudaError_t error = cub::DeviceMerge::MergeKeys(
            w, needed, from + begin, static_cast<std::int64_t>(middle - begin), from + middle,
            static_cast<std::int64_t>(end - middle), to + begin, LessOf<Key>{}, stream);
        if (error != cudaSuccess) return error;
        most = std::max(most, needed);
      }
      bounds = std::move(merged);
      from = to;
    }
    if (w == nullptr) bytes = most;
    return cudaSuccess;
  }

 private:
  const Copies<Key>*in_, *out_;
  std::shared_ptr<DeviceList<Key>> spare_;
  std::vector<std::uint64_t> bounds_;
  int levels_ = 0;
};

template <typename Key>
void MakeRuns(Key* keys, const Shape& shape, const std::string& inputs, const Options& options) {
  const std::vector<std::uint64_t>& bounds = shape.bounds;
  const std::uint64_t n = bounds.back();
  if (inputs == "random") {
    const DeviceList<Key> unsorted(n);
    Fill(unsorted.data(), n, Order::kRandom);
    for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
      SortRange(unsorted.data() + bounds[r], keys + bounds[r], bounds[r + 1] - bounds[r]);
    }
  } else if (inputs == "reversed") {  // every run is less than the runs before it
    for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
      Fill(keys + bounds[r], bounds[r + 1] - bounds[r], Order::kSorted, n - bounds[r + 1]);
    }
  } else if (inputs == "conflict") {  // runs of equal length, and n is a power of two
    FillConflicts(keys, n, bounds[1], ConflictItems<Key, NoValue>(options, 4));
  } else {
    Fill(keys, n, inputs == "sorted" ? Order::kSorted : Order::kEqual);
  }
}

template <typename Key>
void BenchShape(Gpu& gpu, Report& report, const Shape& shape, const std::string& inputs) {
  const std::uint64_t n = shape.bounds.back();
  Lists<Key, NoValue> lists(n);
  MakeRuns(lists.keys_in.at(0), shape, inputs, gpu.options());
  lists.Finish();
  const auto *const in = &lists.keys_in, *const out = &lists.keys_out;
  const std::uint64_t* const bounds = shape.bounds.data();
  const auto runs = static_cast<std::uint32_t>(shape.bounds.size() - 1);
  const CubTree<Key> tree(in, out, shape.bounds, n);
  std::vector<Candidate> candidates;
  candidates.push_back({"gpusort::MergeRuns", "gpusort", true, 0,
                        WithWorkspace([=](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                          return MergeRuns(w, bytes, in->at(c), out->at(c), bounds, runs, LessOf<Key>{}, stream);
                        })});
  candidates.push_back(
      {"tree of cub::DeviceMerge", "rival", false, static_cast<double>(tree.levels()), WithWorkspace(tree)});
  candidates.push_back(lists.Copy());
  const std::vector<Row> rows = gpu.Time(candidates, lists.copies(), lists.Verifier(gpu.stream()));
  report.Add({"runs", TypeName<Key, NoValue>(), shape.name, inputs, n, 0, 0, n * sizeof(Key)}, rows,
             {"tree of cub::DeviceMerge"});
}

}  // namespace

template <typename Key>
void RunsBench(Gpu& gpu, Report& report) {
  const Options& options = gpu.options();
  if (!options.Wants(TypeName<Key, NoValue>())) return;
  for (const std::uint64_t n : options.Sizes()) {
    for (const Shape& shape : Shapes(n, options)) {
      for (const std::string& inputs : shape.inputs) BenchShape<Key>(gpu, report, shape, inputs);
    }
  }
}

template void RunsBench<std::int32_t>(Gpu&, Report&);
template void RunsBench<std::int64_t>(Gpu&, Report&);
template void RunsBench<Key16>(Gpu&, Report&);

}  // namespace gpusort::bench
