// Merges many small pairs of sorted rows, one pair for each thread, and sorts lists in this way. For host and device.
// All functions are stable. Start at RowMergeSortOnHost. The kernels are in row_column_merge.cuh.
//
// Source: K. Yang, Two Phase Multiway Merge Sort and new GPU merging algorithm on GPU.
#pragma once

#include <cstdint>
#include <iterator>

#include "gpusort/host_device.hpp"

namespace gpusort::classic {

/// Merges a[0], a[a_stride], ... (m items) and b[0], b[b_stride], ... (n items) to out[0], out[out_stride], ... Reads
/// each item from memory once.
template <typename IteratorA, typename IteratorB, typename Output, typename LessT>
GPUSORT_HD inline void StridedMerge(IteratorA a, std::uint64_t m, std::uint64_t a_stride, IteratorB b, std::uint64_t n,
                                    std::uint64_t b_stride, Output out, std::uint64_t out_stride, LessT less) {
  using Item = typename std::iterator_traits<IteratorA>::value_type;
  std::uint64_t i = 0, j = 0, k = 0;
  if (m > 0 && n > 0) {
    Item head_a = a[0];
    Item head_b = b[0];
    for (;;) {
      if (less(head_b, head_a)) {
        out[k++ * out_stride] = head_b;
        if (++j == n) {
          out[k++ * out_stride] = head_a;
          ++i;
          break;
        }
        head_b = b[j * b_stride];
      } else {
        out[k++ * out_stride] = head_a;
        if (++i == m) {
          out[k++ * out_stride] = head_b;
          ++j;
          break;
        }
        head_a = a[i * a_stride];
      }
    }
  }
  for (; i < m; ++i) out[k++ * out_stride] = a[i * a_stride];
  for (; j < n; ++j) out[k++ * out_stride] = b[j * b_stride];
}

/// How the rows of a matrix are stored: one after the other (kRowMajor) or transposed (kColumnMajor). In a transposed
/// matrix, neighbouring threads access neighbouring addresses.
enum class RowStorage { kRowMajor, kColumnMajor };

/// The shape of a list of `items` items that is divided into rows of `row_items` (> 0) items. The last row may be
/// shorter.
template <RowStorage kStorage>
struct RowMatrix {
  std::uint64_t items = 0;
  std::uint64_t row_items = 1;

  GPUSORT_HD std::uint64_t rows() const { return items / row_items + (items % row_items != 0); }
  GPUSORT_HD std::uint64_t pairs() const { return (rows() + 1) / 2; }
  /// Returns the number of items in row `row`, or 0 if there is no such row.
  GPUSORT_HD std::uint64_t length(std::uint64_t row) const {
    const std::uint64_t begin = row * row_items;
    return begin >= items ? 0 : items - begin < row_items ? items - begin : row_items;
  }
  GPUSORT_HD std::uint64_t begin(std::uint64_t row) const {
    return kStorage == RowStorage::kRowMajor ? row * row_items : row;
  }
  /// Returns the distance from one item of a row to the next item of the row, counted in items of the list.
  GPUSORT_HD std::uint64_t stride() const { return kStorage == RowStorage::kRowMajor ? 1 : rows(); }
  /// Returns how many items the list must have room for. A transposed matrix may have unused places.
  GPUSORT_HD std::uint64_t slots() const {
    return kStorage == RowStorage::kRowMajor ? items : rows() * (items < row_items ? items : row_items);
  }
  /// Returns the shape of the matrix after one pass of the merge sort, which merges rows 0 and 1, 2 and 3, ...
  GPUSORT_HD RowMatrix Merged() const { return {items, 2 * row_items}; }
};

/// Merges rows 2 * pair and 2 * pair + 1 of `in` to row `pair` of `out`. This is the work of one thread in a pass of
/// the merge sort.
template <RowStorage kStorage, typename Input, typename Output, typename LessT>
GPUSORT_HD inline void MergeRowPair(const RowMatrix<kStorage>& matrix, std::uint64_t pair, Input in, Output out,
                                    LessT less) {
  const std::uint64_t a = 2 * pair, b = a + 1;
  const std::uint64_t m = matrix.length(a), n = matrix.length(b);
  const RowMatrix<kStorage> merged = matrix.Merged();
  // If there is no second row, merges the first row with 0 items. The address of these 0 items must still be valid, so
  // it is the address of the first row.
  StridedMerge(in + matrix.begin(a), m, matrix.stride(), in + matrix.begin(n > 0 ? b : a), n, matrix.stride(),
               out + merged.begin(pair), merged.stride(), less);
}

/// Sorts items [row * row_items, (row + 1) * row_items) of the list `in` by insertion, and writes them to row `row` of
/// `out`. This is the work of one thread in the first pass of the merge sort.
template <RowStorage kStorage, typename Input, typename Output, typename LessT>
GPUSORT_HD inline void SortRow(const RowMatrix<kStorage>& matrix, std::uint64_t row, Input in, Output out, LessT less) {
  using Item = typename std::iterator_traits<Input>::value_type;
  const std::uint64_t from = row * matrix.row_items, begin = matrix.begin(row), stride = matrix.stride();
  for (std::uint64_t i = 0; i < matrix.length(row); ++i) {
    const Item item = in[from + i];
    std::uint64_t at = i;
    for (; at > 0; --at) {
      const Item before = out[begin + (at - 1) * stride];
      if (!less(item, before)) break;
      out[begin + at * stride] = before;
    }
    out[begin + at * stride] = item;
  }
}

/// Returns how many items `out` and `spare` of RowMergeSort need room for: at least `items`, and less than 2 * items.
template <RowStorage kStorage>
constexpr std::uint64_t RowMergeSortSlots(std::uint64_t items, std::uint64_t row_items) {
  std::uint64_t most = 0;
  for (RowMatrix<kStorage> matrix{items, row_items};; matrix = matrix.Merged()) {
    most = matrix.slots() > most ? matrix.slots() : most;
    if (matrix.rows() <= 1) return most;
  }
}

/// Calls `sort` once, and then `merge` until all items are in one row. The result is in out[0, items).
/// - sort: sort(matrix, to) must sort the rows of `matrix`, and write them to `to`
/// - merge: merge(matrix, from, to) must merge rows 0 and 1, 2 and 3, ... of `from` to the rows of `to`
/// - out, spare: lists with room for RowMergeSortSlots<kStorage>(items, row_items) items each
template <RowStorage kStorage, typename Item, typename Sort, typename Merge>
void RunRowMergeSort(std::uint64_t items, std::uint64_t row_items, Item* out, Item* spare, Sort sort, Merge merge) {
  RowMatrix<kStorage> matrix{items, row_items};
  // Swaps the lists once for each merge that follows. The last merge then writes to `out`.
  for (RowMatrix<kStorage> m = matrix; m.rows() > 1; m = m.Merged()) {
    Item* const other = out;
    out = spare;
    spare = other;
  }
  sort(matrix, out);
  for (; matrix.rows() > 1; matrix = matrix.Merged()) {
    merge(matrix, out, spare);
    Item* const other = out;
    out = spare;
    spare = other;
  }
}

/// Sorts in[0, items) to out[0, items) as RowMergeSort in row_column_merge.cuh does, but on one host thread. `out` and
/// `spare` must have room for RowMergeSortSlots<kStorage>(items, row_items) items.
template <RowStorage kStorage, typename Input, typename Item, typename LessT>
void RowMergeSortOnHost(Input in, std::uint64_t items, std::uint64_t row_items, Item* out, Item* spare, LessT less) {
  RunRowMergeSort<kStorage>(
      items, row_items, out, spare,
      [&](const RowMatrix<kStorage>& matrix, Item* to) {
        for (std::uint64_t row = 0; row < matrix.rows(); ++row) SortRow(matrix, row, in, to, less);
      },
      [&](const RowMatrix<kStorage>& matrix, const Item* from, Item* to) {
        for (std::uint64_t pair = 0; pair < matrix.pairs(); ++pair) MergeRowPair(matrix, pair, from, to, less);
      });
}

}  // namespace gpusort::classic
