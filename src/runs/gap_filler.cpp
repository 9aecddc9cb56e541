#include "runs/gap_filler.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/gap_key.hpp"
#include "formats/keyed_record.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

}  // namespace

std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped) {
  using Run = StrippedRecords::Run;
  std::byte* to = records.data();
  ForEachRecord(records, layout, [&](RecordSpan record) {
    const unsigned mark = static_cast<unsigned>(record[0]) & kMarks;
    const RecordSpan body = Body(record, layout);
    const Run::Is is = mark == 0                      ? Run::kOther
                       : mark == kGapMark             ? Run::kGaps
                       : (mark & kStatementMark) != 0 ? Run::kStatements
                                                      : Run::kRows;
    const bool odd = (mark & kOddPart) != 0;
    if (stripped.runs.empty() || stripped.runs.back().is != is || stripped.runs.back().odd != odd) {
      stripped.runs.push_back({is, odd, 0, static_cast<std::uint32_t>(to - records.data())});
    }
    ++stripped.runs.back().count;
    std::string* const gap = is == Run::kGaps ? &stripped.gaps.emplace_back().text : nullptr;
    if (gap != nullptr) stripped.gaps.back().key = FieldWriter::Unescape(record);
    const auto put = [&](RecordSpan bytes) {
      if (gap != nullptr) {
        gap->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      } else {
        std::memmove(to, bytes.data(), bytes.size());
        to += bytes.size();
      }
    };
    if (HasEscapedBody(record)) {
      BodyUnescaper().Add(body, put);
    } else {
      put(body);
    }
    if (is != Run::kRows && is != Run::kStatements) return;
    if (mark == kBareRowMark) stripped.bare_rows.push_back(stripped.row_ends.size());
    stripped.row_ends.push_back(static_cast<std::uint32_t>(to - records.data()));
  });
  return records.first(static_cast<std::size_t>(to - records.data()));
}

// A dump consists of parts that are sorted separately, such as the rows of one table. The sorted records of a part
// begin with its gaps, and then come its rows. The sort key of a gap (GapKey) contains the number of rows before the
// gap. The output keeps its size: a row that comes before a gap loses its separator, and a row that had no separator
// gets one.
GapFiller::GapFiller(std::uint64_t most_bytes, const std::string& front) : most_bytes_(most_bytes) {
  if (front.empty()) return;
  GapFront given = GapFront::Load(front, texts_);
  goes_on_ = given.goes_on;
  if (!given.list) return;
  BeginPart(*std::move(given.list));
  given_ = true;
  row_ = given.row;
}

void GapFiller::BeginPart(GapList gaps) {
  gaps_.emplace(std::move(gaps));
  const auto text = [&](const std::string& one) { return &texts_[texts_.Number(one)]; };
  separator_ = text(gaps_->separator);
  head_ = text(gaps_->head);
  tail_ = text(gaps_->tail);
  CheckMemory();
}

void GapFiller::AddGap(const StrippedRecords::Gap& gap) {
  const GapKey key = ReadGapKey(gap.key);
  if (given_ && key.part == gaps_->part) return;
  if (reader_ || given_) EndPart();
  if (!gaps_) BeginPart(GapList(key));
  gaps_->Add(key.place, gap.text, texts_);
  CheckMemory();
}

void GapFiller::CheckMemory() const {
  if (gaps_->bytes() + texts_.bytes() > most_bytes_) {
    throw Error(ErrorCode::kUsage, "the dump has so many short INSERT statements that their places do not fit into " +
                                       std::to_string(most_bytes_ >> 20) + " MiB: --memory gives more");
  }
}

void GapFiller::ReadGap() {
  const bool more = reader_->Next();
  next_at_ = more ? reader_->place() : kNone;
  next_text_ = reader_->text();
}

void GapFiller::EndPart() {
  // Separators and heads only move inside a part, so both sums are 0 at its end. If other tasks write some rows of the
  // part, the sums may differ.
  const bool balanced = given_ || (balance_ == 0 && statements_ == 0);
  if (reader_ ? next_at_ != kNone || !balanced : gaps_.has_value()) {
    throw Error(ErrorCode::kInternal, "the places between the rows of a dump do not match its rows");
  }
  reader_.reset();
  gaps_.reset();
  given_ = false;
  separator_ = nullptr;
  row_ = 0;
  balance_ = statements_ = 0;
}

void GapFiller::Finish() {
  // If the records end inside a part, another task inserts the remaining gaps.
  if (!goes_on_) EndPart();
}

void GapFiller::BeginRows() {
  if (reader_) return;
  if (!gaps_) throw Error(ErrorCode::kInternal, "rows of a dump without places");
  gaps_->Close(texts_);
  reader_.emplace(*gaps_);
  do {
    ReadGap();
  } while (next_at_ < row_);  // other tasks insert the gaps before the first row
}

// Appends to `edits` the changes to one record, the bytes [begin, end). `statement` is true for an INSERT with one row,
// and `bare` for a row without a separator. In the part, INSERT statements with one row come before longer statements.
// Sorting may move a row from one kind to the other.
void GapFiller::TakeMixed(std::uint32_t begin, std::uint32_t end, bool statement, bool bare,
                          std::vector<GapEdit>& edits) {
  const bool in_statement = row_ < gaps_->singles, at_gap = next_at_ == row_;
  const auto size = [](const std::string& text) { return static_cast<std::uint32_t>(text.size()); };
  GapEdit last{end, 0, nullptr};
  // A row that moves to a statement of its own gets the text of a statement ("INSERT INTO ... VALUES" and ";"). A row
  // that moves from its own statement to a longer one loses this text.
  if (statement != in_statement) {
    statements_ += statement ? -1 : 1;
    edits.push_back(
        {begin + (statement ? size(*head_) : 0), statement ? size(*head_) : 0, statement ? nullptr : head_});
    if (statement) last.removed = size(*tail_);
    if (in_statement) last.text = tail_;
  }
  if (!statement && !bare && (in_statement || at_gap)) {
    last.removed = size(*separator_);
    --balance_;
  }
  const bool has_separator = statement ? false : !bare;
  if (!in_statement && !at_gap && !has_separator) {
    last.text = separator_;
    ++balance_;
  }
  if (last.removed > 0 || last.text != nullptr) edits.push_back(last);
  if (at_gap) {
    edits.push_back({end, 0, &texts_[next_text_]});
    ReadGap();
  }
  ++row_;
}

std::vector<GapEdit> GapFiller::Take(const StrippedRecords& records) {
  using Run = StrippedRecords::Run;
  std::vector<GapEdit> edits;
  std::size_t gap = 0, bare = 0;
  std::uint64_t first = 0;  // the first row of the run, as an index of row_ends
  for (const Run& run : records.runs) {
    const bool statements = run.is == Run::kStatements;
    const bool in_part = gaps_ && gaps_->singles > 0 && (!statements || run.odd == IsOddPart(gaps_->part));
    if (run.is == Run::kOther || (statements && !in_part)) EndPart();
    for (std::uint64_t i = 0; run.is == Run::kGaps && i < run.count; ++i) AddGap(records.gaps[gap++]);
    if (run.is != Run::kRows && !statements) continue;
    const std::uint64_t end = first + run.count;
    if (statements && !in_part) {  // a part that has no gaps
      first = end;
      continue;
    }
    BeginRows();
    if (in_part) {
      for (std::uint32_t begin = run.begin; first < end; begin = records.row_ends[first++]) {
        const bool is_bare = bare < records.bare_rows.size() && records.bare_rows[bare] == first;
        if (is_bare) ++bare;
        TakeMixed(begin, records.row_ends[first], statements, is_bare, edits);
      }
      continue;
    }
    // Visits the rows without a separator, and the rows that have come to a gap.
    for (;;) {
      const std::uint64_t by_gap = next_at_ == kNone ? end : std::min(end, first + (next_at_ - row_));
      const std::uint64_t by_row = bare < records.bare_rows.size() ? std::min(end, records.bare_rows[bare]) : end;
      const std::uint64_t at = std::min(by_gap, by_row);
      if (at == end) break;
      GapEdit edit{records.row_ends[at], 0, nullptr};
      if (by_row != at) {
        edit.removed = static_cast<std::uint32_t>(separator_->size());
        --balance_;
      }
      if (by_gap != at) {
        edit.text = separator_;
        ++balance_;
      } else {
        edit.text = &texts_[next_text_];
      }
      edits.push_back(edit);
      if (by_row == at) ++bare;
      if (by_gap == at) ReadGap();
    }
    row_ += run.count;
    first = end;
  }
  return edits;
}

}  // namespace gpusort
