// gpusort_bench rowcol: times merges of many small pairs of sorted rows, one pair a thread. The rows are stored one
// after the other or transposed. Also times the merge sort made of these merges, next to Yang's published times for the
// same numbers of keys. Source: K. Yang, Two Phase Multiway Merge Sort and new GPU merging algorithm on GPU.
#include "bench/gpu.cuh"
#include "gpusort/merge.cuh"
#include "kernels/classic/row_column_merge.cuh"

namespace gpusort::bench {
namespace {

using classic::RowMatrix;
using classic::RowStorage;
using Key = std::int32_t;

template <RowStorage kStorage>
__global__ void CountDescentsKernel(RowMatrix<kStorage> matrix, const Key* keys, unsigned long long* descents) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < matrix.items; i += stride) {
    const std::uint64_t row = i / matrix.row_items, at = i % matrix.row_items;
    const Key* const p = keys + matrix.begin(row) + at * matrix.stride();
    if (at > 0 && *p < *(p - matrix.stride())) atomicAdd(descents, 1ull);
  }
}

template <RowStorage kStorage>
void ExpectSortedRows(const std::string& who, const RowMatrix<kStorage>& matrix, const Key* keys) {
  const DeviceList<unsigned long long> descents(1);
  GPUSORT_CHECK(cudaMemset(descents.data(), 0, sizeof(unsigned long long)));
  CountDescentsKernel<<<1024, 256>>>(matrix, keys, descents.data());
  GPUSORT_CHECK(cudaGetLastError());
  unsigned long long count = 0;
  GPUSORT_CHECK(cudaMemcpy(&count, descents.data(), sizeof count, cudaMemcpyDeviceToHost));
  if (count != 0) throw Error(ErrorCode::kIntegrity, who + ": rows out of order");
}

/// Times one pass over rows of row_items keys. `items` and `row_items` are powers of two, so no place of a matrix is
/// empty.
void BenchPass(Gpu& gpu, Report& report, std::uint64_t items, std::uint64_t row_items) {
  const RowMatrix<RowStorage::kRowMajor> rows{items, row_items};
  const RowMatrix<RowStorage::kColumnMajor> columns{items, row_items};
  Lists<Key, NoValue> by_row(items), by_column(items);
  {
    const DeviceList<Key> unsorted(items);
    Fill(unsorted.data(), items, Order::kRandom);
    GPUSORT_CHECK(classic::SortRows(rows, unsorted.data(), by_row.keys_in.at(0), Less{}));
    GPUSORT_CHECK(classic::SortRows(columns, unsorted.data(), by_column.keys_in.at(0), Less{}));
    by_row.Finish();
    by_column.Finish();
  }
  const auto candidate = [](const std::string& name, const auto& matrix,
                            const Lists<Key, NoValue>& lists) -> Candidate {
    return {name, "textbook", true, 1, [&](unsigned copy, cudaStream_t stream) {
              const Key* const in = lists.keys_in.at(copy);
              GPUSORT_CHECK(classic::MergeRowPairs(matrix, in, lists.keys_out.at(copy), Less{}, stream));
            }};
  };
  const std::vector<Candidate> candidates = {candidate("row merge", rows, by_row),
                                             candidate("column merge", columns, by_column), by_row.Copy()};
  const auto verify = [&](const Candidate& which, unsigned copy) {
    if (which.name == "row merge") {
      ExpectSortedRows(which.name, rows.Merged(), by_row.keys_out.at(copy));
      by_row.VerifyItems(which, copy, gpu.stream());
    } else if (which.name == "column merge") {
      ExpectSortedRows(which.name, columns.Merged(), by_column.keys_out.at(copy));
      by_column.VerifyItems(which, copy, gpu.stream());
    } else {
      by_row.VerifyItems(which, copy, gpu.stream());
    }
  };
  report.Add({"rowcol", "i32", "pairs of " + std::to_string(row_items), "random", items, 0, 0, items * sizeof(Key)},
             gpu.Time(candidates, by_row.copies(), verify), {"row merge"});
}

template <RowStorage kStorage>
Candidate SortCandidate(const std::string& name, const Lists<Key, NoValue>& lists, std::uint64_t row_items) {
  const std::uint64_t slots = classic::RowMergeSortSlots<kStorage>(lists.n(), row_items);
  const auto out = std::make_shared<DeviceList<Key>>(slots), spare = std::make_shared<DeviceList<Key>>(slots);
  return {name,
          "textbook",
          true,
          0,
          [=, &lists](unsigned copy, cudaStream_t stream) {
            const Key* const in = lists.keys_in.at(copy);
            GPUSORT_CHECK(
                classic::RowMergeSort<kStorage>(in, lists.n(), row_items, out->data(), spare->data(), Less{}, stream));
          },
          [=, &lists](unsigned copy, cudaStream_t stream) {
            GPUSORT_CHECK(cudaMemcpyAsync(lists.keys_out.at(copy), out->data(), lists.n() * sizeof(Key),
                                          cudaMemcpyDeviceToDevice, stream));
            GPUSORT_CHECK(cudaMemsetAsync(out->data(), 0x5A, slots * sizeof(Key), stream));
          }};
}

/// Times a sort of as many keys as in Yang's figures, from start to end.
void BenchSort(Gpu& gpu, Report& report, std::uint64_t items) {
  constexpr std::uint64_t kRowItems = 16;
  Lists<Key, NoValue> lists(items);
  Fill(lists.keys_in.at(0), items, Order::kRandom);
  lists.Finish();
  std::vector<Candidate> candidates = {SortCandidate<RowStorage::kRowMajor>("row merge sort", lists, kRowItems),
                                       SortCandidate<RowStorage::kColumnMajor>("column merge sort", lists, kRowItems)};
  candidates.push_back({"gpusort::SortKeys", "gpusort", true, 0,
                        WithWorkspace([&lists](void* w, std::size_t& bytes, unsigned c, cudaStream_t stream) {
                          return SortKeys(w, bytes, lists.keys_in.at(c), lists.keys_out.at(c), lists.n(), Less{},
                                          stream);
                        })});
  std::vector<Row> rows = gpu.Time(candidates, lists.copies(), lists.Verifier(gpu.stream()));

  std::vector<Key> in(items), out(items), spare(items);
  GPUSORT_CHECK(cudaMemcpy(in.data(), lists.keys_in.at(0), items * sizeof(Key), cudaMemcpyDeviceToHost));
  Row host;
  host.name = "row merge sort on the host, 1 thread";
  host.kind = "host";
  host.threads = 1;
  host.samples = TimeHost(gpu.options().repetitions, 1, [&] {
    classic::RowMergeSortOnHost<RowStorage::kRowMajor>(in.data(), items, kRowItems, out.data(), spare.data(), Less{});
  });
  std::sort(in.begin(), in.end());
  if (in != out) throw Error(ErrorCode::kIntegrity, host.name + ": out of order");
  rows.push_back(std::move(host));

  const auto published = [&](const std::string& name, double seconds) {
    Row row;
    row.name = name;
    row.kind = "published";
    row.samples = {1000 * seconds};
    rows.push_back(std::move(row));
  };
  if (items == 240000) published("Yang: host, published", 37.5);
  if (items == 24000) {
    published("Yang: column merge, published", 20.7);
    published("Yang: row merge, published", 17.7);
  }
  report.Add({"rowcol", "i32", "sort, end to end", "random", items, 0, 0, 0}, rows, {"row merge sort"});
}

}  // namespace

void RowColumnBench(Gpu& gpu, Report& report) {
  const Options& options = gpu.options();
  if (!options.Wants("i32")) return;
  for (const std::uint64_t items : options.Sizes()) {
    for (const std::uint64_t row_items : {16, 256}) {
      if (2 * row_items <= items) BenchPass(gpu, report, items, row_items);
    }
  }
  BenchSort(gpu, report, 24000);
  if (!options.quick) BenchSort(gpu, report, 240000);
}

}  // namespace gpusort::bench
