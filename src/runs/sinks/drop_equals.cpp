#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/records/records.hpp"
#include "runs/sinks/chunk.hpp"

namespace gpusort {
namespace {

/// -u: keeps the first record of each group of equal keys. Changes chunks on any thread.
class DropEquals : public Stage {
 public:
  /// `last`: the record before the first chunk; may be empty.
  DropEquals(const RecordLayout& layout, OutputProof& proof, std::vector<std::byte> last)
      : layout_(layout), proof_(proof), last_(std::move(last)) {}
  void LookInOrder(Chunk& chunk) override {
    chunk.goes_on = !last_.empty() && CompareRecords(last_, FirstRecord(chunk.records, layout_), layout_) == 0;
    const RecordSpan last = LastRecord(chunk.records, layout_);
    last_.assign(last.begin(), last.end());
  }

  void Change(Chunk& chunk) override {
    // Kept records before `to` are in their final place. Records from `from` on have not been moved.
    std::byte *to = chunk.records.data(), *from = to, *at = to;
    const auto move_up_to = [&](std::byte* end) {
      if (to != from) std::memmove(to, from, static_cast<std::size_t>(end - from));
      to += end - from;
    };
    RecordSum dropped;
    // `before` is not overwritten: moved records end before the record that was dropped last.
    RecordSpan before;
    std::optional<NeighbourLines> lines;
    if (!layout_.fixed()) lines.emplace(*layout_.lines);
    ForEachRecord(chunk.records, layout_, [&](RecordSpan record) {
      const int compared = lines            ? lines->Next(AsBytes(record.data()), record.size() - 1)
                           : before.empty() ? -1
                                            : CompareRecords(before, record, layout_);
      const bool drop = before.empty() ? chunk.goes_on : compared == 0;
      before = record;
      if (drop) {
        dropped += SumRecords(record, layout_);
        move_up_to(at);
        from = at + record.size();
      }
      at += record.size();
    });
    move_up_to(at);
    chunk.records = chunk.records.first(static_cast<std::size_t>(to - chunk.records.data()));
    proof_.AddDropped(dropped);
  }

 private:
  const RecordLayout& layout_;
  OutputProof& proof_;
  std::vector<std::byte> last_;  ///< the last record of the chunk before
};

}  // namespace

std::unique_ptr<Stage> MakeDropEquals(const RecordLayout& layout, OutputProof& proof, std::vector<std::byte> last) {
  return std::make_unique<DropEquals>(layout, proof, std::move(last));
}

}  // namespace gpusort
