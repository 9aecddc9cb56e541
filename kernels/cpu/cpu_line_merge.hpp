// Merges sorted runs of lines on the CPU, one small part of the output (a tile) after the other. The lines of a tile
// fit into a cache of the CPU. Start at LineMerger::Merge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "gpusort/merge_host.hpp"
#include "kernels/cpu/cpu_line_keys.hpp"
#include "kernels/cpu/cpu_line_sort.hpp"
#include "kernels/cpu/cpu_sorter.hpp"
#include "kernels/records/records.hpp"

namespace gpusort::detail {

/// Merges sorted lists of lines, called pieces. Divides the output into tiles of at most kTileBytes bytes. Each worker
/// merges one tile at a time.
class LineMerger {
 public:
  LineMerger(const RecordLayout& layout, const LineMemoryMap& map, std::byte* memory)
      : layout_(layout), keys_(*layout.lines), map_(map), memory_(memory) {}

  void Merge(std::span<const RecordSpan> pieces, std::byte* out, const TeamExecutor& executor) {
    std::uint64_t total = 0;
    for (const RecordSpan& piece : pieces) total += piece.size();
    std::vector<Node> nodes(1);
    nodes[0] = {{pieces.begin(), pieces.end()}, total, out};
    // First divides the output into several shares for each worker, so that all workers end at about the same time.
    // Then each worker divides its shares into tiles, small parts that fit the cache.
    const std::uint64_t share = std::max(kTileBytes, total / (4 * std::uint64_t{executor.workers()}));
    for (std::size_t at = 0; at < nodes.size();) {
      if (nodes[at].bytes <= share || nodes[at].pieces.size() == 1) {
        ++at;
      } else {
        nodes.push_back(SplitOff(nodes[at]));
      }
    }
    executor.ForEach(nodes.size(), [&](std::uint64_t task, unsigned worker) {
      std::vector<Node> stack;
      stack.push_back(std::move(nodes[task]));
      while (!stack.empty()) {
        Node& node = stack.back();
        if (node.pieces.size() == 1) {
          std::memcpy(node.out, node.pieces[0].data(), node.bytes);
        } else if (node.bytes > kTileBytes || !MergeTile(node, worker)) {
          Node right = SplitOff(node);
          stack.push_back(std::move(right));
          continue;
        }
        stack.pop_back();
      }
    });
  }

 private:
  struct Node {
    std::vector<RecordSpan> pieces;  ///< none of the pieces is empty
    std::uint64_t bytes = 0;
    std::byte* out = nullptr;
  };
  /// The maximum size of a tile (the part of the output that one worker merges at a time), in bytes. The lines of a
  /// tile and their Entry objects stay in a second-level cache of 1 MiB.
  static constexpr std::uint64_t kTileBytes = std::uint64_t{512} << 10;

  Entry* Tile(unsigned worker, unsigned index) const { return map_.Tile(memory_, worker, index); }

  /// Divides the lines of `node` into two parts, neither of them empty. Keeps the first part in `node`, and returns the
  /// second part. `node` must have at least two pieces.
  Node SplitOff(Node& node) const {
    struct Middle {
      std::size_t piece;
      std::uint64_t begin;
      RecordSpan line;
    };
    std::vector<Middle> middles(node.pieces.size());
    for (std::size_t i = 0; i < middles.size(); ++i) {
      const RecordSpan piece = node.pieces[i];
      const std::uint64_t begin = RecordBegin(piece, piece.size() / 2, layout_);
      middles[i] = {i, begin, FirstRecord(piece.subspan(begin), layout_)};
    }
    std::sort(middles.begin(), middles.end(), [&](const Middle& a, const Middle& b) {
      const int order = CompareRecords(a.line, b.line, layout_);
      return order != 0 ? order < 0 : a.piece < b.piece;
    });
    std::uint64_t before = 0;
    std::size_t median = 0;
    while (before + node.pieces[middles[median].piece].size() <= node.bytes / 2 && median + 1 < middles.size()) {
      before += node.pieces[middles[median++].piece].size();
    }
    // The pivot is the median of the middle lines of all pieces, weighted by the sizes of the pieces.
    const Middle& pivot = middles[median];
    Node left, right;
    left.out = node.out;
    std::vector<std::uint64_t> cuts(node.pieces.size());
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      cuts[i] = i == pivot.piece ? pivot.begin : BytesBefore(node.pieces[i], pivot.line, i < pivot.piece, layout_);
      left.bytes += cuts[i];
    }
    // If the pivot (the median line) is the first line of all, the first part would be empty. The first part is then
    // the pivot alone.
    if (left.bytes == 0) left.bytes = cuts[pivot.piece] = pivot.line.size();
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const RecordSpan piece = node.pieces[i];
      if (cuts[i] > 0) left.pieces.push_back(piece.first(cuts[i]));
      if (cuts[i] < piece.size()) right.pieces.push_back(piece.subspan(cuts[i]));
    }
    right.bytes = node.bytes - left.bytes;
    right.out = node.out + left.bytes;
    node = std::move(left);
    return right;
  }

  /// Merges one tile (a small part of the output). If the tile has more lines than fit the worker's memory, writes
  /// nothing and returns false.
  bool MergeTile(const Node& node, unsigned worker) const {
    auto* const lines = reinterpret_cast<RecordSpan*>(Tile(worker, 3));
    Entry* const unsorted = Tile(worker, 0);
    std::vector<Range<const Entry*>> sources;
    sources.reserve(node.pieces.size());
    std::uint64_t n = 0;
    for (const RecordSpan& piece : node.pieces) {
      const std::uint64_t first = n;
      const std::byte* const end = piece.data() + piece.size();
      for (const std::byte* line = piece.data(); line != end; ++n) {
        if (n == map_.tile_rows) return false;
        const std::byte* const delimiter = FindDelimiter(line, end, layout_.delimiter);
        if (delimiter == nullptr) throw Error(ErrorCode::kInternal, "CPU backend: a piece to merge ends inside a line");
        new (lines + n) RecordSpan(line, static_cast<std::size_t>(delimiter - line));
        line = delimiter + 1;
      }
      sources.push_back({unsorted + first, n - first});
    }
    // Finds how many leading bytes are equal in the keys of all lines. Each piece (a list of lines of the tile) is
    // sorted, so it is enough to read its first and its last line: the keys between them begin with the same bytes.
    const CommonKey common(keys_, lines[0]);
    std::uint64_t skip = common.most();
    for (const Range<const Entry*>& source : sources) {
      const auto first = static_cast<std::uint64_t>(source.first - unsorted);
      skip = common.Find(lines[first], skip);
      skip = common.Find(lines[first + source.size - 1], skip);
    }
    bool exact = ChunksDecide(keys_.order());
    for (std::uint64_t i = 0; i < n; ++i) {
      const LineChunk chunk = keys_.Chunk(lines[i], skip);
      exact = exact && chunk.ended;
      unsorted[i] = MakeLineEntry(chunk, static_cast<std::uint32_t>(i));
    }
    const auto line_of = [lines](std::uint32_t row) { return lines[row]; };
    Entry* const merged = Tile(worker, 1);
    if (exact) {
      MergeTree<Entry>(sources, n, merged, Tile(worker, 2), ExactEntryLess());
    } else {
      WideCompare wide(keys_, line_of, skip + kEntryKeyBytes, map_.MergeKeys(memory_, worker));
      MergeTree<Entry>(sources, n, merged, Tile(worker, 2), LineEntryLess<decltype(wide)>{&wide});
    }
    std::byte* to = node.out;
    for (std::uint64_t i = 0; i < n; ++i) {
      const RecordSpan line = lines[merged[i].row()];
      std::memcpy(to, line.data(), line.size() + 1);  // the line and its delimiter
      to += line.size() + 1;
    }
    return true;
  }

  const RecordLayout& layout_;
  const LineKeys keys_;
  const LineMemoryMap& map_;
  std::byte* const memory_;
};

class LineSlotSorter final : public SlotSorter {
 public:
  LineSlotSorter(const RecordLayout& layout, std::uint64_t slot_bytes, std::uint64_t batch_lines)
      : layout_(layout), map_(layout, slot_bytes, batch_lines) {}
  std::uint64_t LaneBytes(unsigned workers) const override { return map_.bytes(workers); }
  Sorted Sort(std::byte* in, std::uint64_t bytes, std::byte* out, std::byte* memory,
              const TeamExecutor& executor) const override {
    return LineSorter(layout_, map_, memory).Sort(in, bytes, out, executor);
  }
  void Merge(std::span<const RecordSpan> pieces, std::byte* out, std::byte* memory,
             const TeamExecutor& executor) const override {
    LineMerger(layout_, map_, memory).Merge(pieces, out, executor);
  }

 private:
  const RecordLayout& layout_;
  const LineMemoryMap map_;
};

}  // namespace gpusort::detail
