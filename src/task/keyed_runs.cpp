#include "task/keyed_runs.hpp"

#include <algorithm>
#include <utility>

#include "formats/gap_key.hpp"
#include "formats/keyed_record.hpp"
#include "formats/registry.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {

bool HasKeyedRuns(const JobSpec& spec) {
  return IsDump(spec) || (spec.source.table && !RowOf(*spec.source.table).again);
}

JobSpec SpecOfRuns(const JobSpec& spec) {
  JobSpec runs = spec;
  if (!HasKeyedRuns(spec)) return runs;
  runs.source.keyed = true;
  runs.source.max_record = 0;
  if (IsDump(spec)) {
    runs.source.format = Format::kLines;
    runs.source.table.reset();
    runs.order = ByKeyField();
  } else {
    runs.source.table->since.clear();  // records outside are in no run
    runs.source.table->until.clear();
  }
  return runs;
}

void DumpGaps::Add(const GapKey& key, std::string_view text) {
  lists.try_emplace(key.part, key).first->second.Add(key.place, text, texts);
}

void DumpGaps::Add(const DumpGaps& others) {
  for (const auto& [part, list] : others.lists) {
    const auto found = lists.find(part);
    GapList& mine = found != lists.end() ? found->second : lists.emplace(part, list.WithoutGaps()).first->second;
    mine.Add(list, others.texts, texts);
  }
}

const GapList* DumpGaps::Find(std::uint64_t part) const {
  const auto found = lists.find(part);
  return found == lists.end() ? nullptr : &found->second;
}

std::string DumpGaps::Save() {
  std::string out;
  for (auto& [part, list] : lists) {
    list.Close(texts);
    list.Save(texts, out);
  }
  return out;
}

DumpGaps DumpGaps::Load(std::string_view from) {
  DumpGaps gaps;
  while (!from.empty()) {
    GapList list = GapList::Load(from, gaps.texts);
    gaps.lists.emplace(list.part, std::move(list));
  }
  return gaps;
}

void KeyedRunReader::Take(RecordSpan records, DumpGaps* gaps) {
  ForEachRecord(records, keyed_, [&](RecordSpan record) {
    // In a log, the number of the part means nothing, and does not matter: only the sums of all bytes are used.
    const std::uint64_t part = PartOfDump(record);
    if (part != place_.part) place_ = {part, place_.earlier + place_.gaps + place_.bytes};
    const RecordSpan own = OwnBytes(record, keyed_, scratch_);
    const unsigned mark = static_cast<unsigned>(record[0]) & kMarks;
    if (mark == kGapMark) {
      place_.gaps += own.size();
      if (gaps != nullptr) {
        gaps->Add(ReadGapKey(FieldWriter::Unescape(record)),
                  Text(AsBytes(own.data()), AsBytes(own.data()) + own.size()));
      }
      return;
    }
    place_.bytes += own.size();
    place_.rows += mark != 0 ? 1 : 0;
    place_.separators += mark == kRowMark ? 1 : 0;
    place_.statements += (mark & kStatementMark) != 0 ? 1 : 0;
  });
}

DumpBefore BeforePart(const RunPlace& place, std::uint64_t part) {
  if (place.part != part) return {place.earlier + place.gaps + place.bytes};
  return {place.earlier + place.bytes, place.rows, place.separators, place.statements};
}

std::uint64_t OutputBytes(const DumpBefore& before, const GapList* gaps, const GapTexts& texts) {
  if (gaps == nullptr) return before.bytes;
  // In the output, text around rows belongs to the places of the rows. Removes the text that comes with the rows, and
  // adds the text that their new places have.
  const std::uint64_t around = gaps->head.size() + gaps->tail.size();
  const std::uint64_t singles = std::min(before.rows, gaps->singles);
  std::uint64_t bytes = before.bytes - before.separators * gaps->separator.size() - before.statements * around;
  std::uint64_t separators = before.rows - singles;
  for (GapList::Reader gap(*gaps); gap.Next() && gap.place() < before.rows;) {
    bytes += texts[gap.text()].size();
    if (gap.place() >= singles) --separators;
  }
  return bytes + singles * around + separators * gaps->separator.size();
}

}  // namespace gpusort
