#include "runs/sinks/sets.hpp"

#include <utility>

#include "formats/input_place.hpp"
#include "kernels/records/records.hpp"
#include "runs/sinks/compaction.hpp"

namespace gpusort {

void Sets::LookInOrder(Chunk& chunk) {
  chunk.goes_on = !last_.empty() && CompareRecords(last_, FirstRecord(chunk.records, layout_), layout_) == 0;
  const RecordSpan last = LastRecord(chunk.records, layout_);
  last_.assign(last.begin(), last.end());
}

bool Sets::Takes(RecordSpan record, SetGroup& group, RecordSum& dropped) const {
  if (group.Takes(InputPlace::Of(record).input, order_)) {
    if (kept_) kept_(record);
    return true;
  }
  dropped += SumRecords(record, layout_);
  return false;
}

void Sets::Change(Chunk& chunk) const {
  const std::span<std::byte> all = chunk.records;
  NeighbourLines lines(*layout_.lines);
  RecordSum dropped;
  SetGroup group;
  bool leads = chunk.goes_on;
  std::optional<Compaction> kept;
  // A record that is compared with the next one is not overwritten before: moved records end before it.
  ForEachRecord(all, layout_, [&](RecordSpan record) {
    const int compared = lines.Next(AsBytes(record.data()), record.size() - 1);
    const bool first = record.data() == all.data();
    if (leads && (first || compared == 0)) return;
    if (!kept) {
      const auto leading = static_cast<std::size_t>(record.data() - all.data());
      chunk.leading = all.first(leading);
      kept.emplace(all.subspan(leading));
    }
    leads = false;
    if (first || compared != 0) group = SetGroup();
    if (Takes(record, group, dropped)) kept->Keep(record);
  });
  if (kept) {
    chunk.last_group = group;
    chunk.records = kept->Kept();
  } else {
    chunk.leading = std::exchange(chunk.records, {});
  }
  Drop(dropped);
}

void Sets::Drop(const RecordSum& dropped) const {
  proof_.AddDropped(dropped);
  if (order_.writes_groups()) proof_.AddCounted(dropped.records);
}

std::optional<Chunk> Sets::Join(Chunk& chunk) {
  std::optional<Chunk> joined;
  if (!chunk.leading.empty()) {
    RecordSum dropped;
    Compaction kept(chunk.leading);
    ForEachRecord(chunk.leading, layout_, [&](RecordSpan record) {
      if (Takes(record, group_, dropped)) kept.Keep(record);
    });
    Drop(dropped);
    if (const std::span<std::byte> records = kept.Kept(); !records.empty()) {
      joined.emplace();
      joined->records = records;
    }
  }
  if (chunk.last_group) group_ = *chunk.last_group;
  return joined;
}

}  // namespace gpusort
