#include "runs/gap_filler.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/keyed_record.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

void PutNumber(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(0x80 | (number & 0x7F));
  out += static_cast<char>(number);
}

std::uint64_t TakeNumber(const std::string& from, std::size_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from.at(at++));
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return number;
  }
}

}  // namespace

std::span<std::byte> StripGaps(std::span<std::byte> records, const RecordLayout& layout, StrippedRecords& stripped) {
  using Run = StrippedRecords::Run;
  std::byte* to = records.data();
  ForEachRecord(records, layout, [&](RecordSpan record) {
    const unsigned mark = static_cast<unsigned>(record[0]) & kMarks;
    const RecordSpan body = Body(record, layout);
    const Run::Is is = mark == 0 ? Run::kOther : mark == kGapMark ? Run::kGaps : Run::kRows;
    if (stripped.runs.empty() || stripped.runs.back().is != is) stripped.runs.push_back({is, 0});
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
    if (is != Run::kRows) return;
    if (mark == kBareRowMark) stripped.bare_rows.push_back(stripped.row_ends.size());
    stripped.row_ends.push_back(static_cast<std::uint32_t>(to - records.data()));
  });
  return records.first(static_cast<std::size_t>(to - records.data()));
}

std::uint32_t GapFiller::TextNumber(std::string text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  text_bytes_ += 2 * text.size() + 128;
  texts_.push_back(text);
  const auto number = static_cast<std::uint32_t>(texts_.size() - 1);
  numbers_.emplace(std::move(text), number);
  return number;
}

void GapFiller::AddGap(const StrippedRecords::Gap& gap) {
  if (reading_) EndPart();
  // The key is the number of the part (1 or 9 bytes), a zero, the place in 8 bytes, and the separator.
  const std::size_t begin = static_cast<unsigned char>(gap.key.at(0)) == 255 ? 10 : 2;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < 8; ++i) at = at << 8 | static_cast<unsigned char>(gap.key.at(begin + i));
  if (separator_ == nullptr) separator_ = &texts_[TextNumber(gap.key.substr(begin + 8))];
  if (pending_ && pending_at_ == at) {
    pending_text_ += gap.text;
    return;
  }
  if (pending_) {
    PutNumber(pending_at_ - last_at_, encoded_);
    PutNumber(TextNumber(std::move(pending_text_)), encoded_);
    last_at_ = pending_at_;
  }
  pending_ = true;
  pending_at_ = at;
  pending_text_ = gap.text;
  if (encoded_.size() + text_bytes_ > most_bytes_) {
    throw Error(ErrorCode::kUsage, "the dump has so many short INSERT statements that their places do not fit into " +
                                       std::to_string(most_bytes_ >> 20) + " MiB: --memory gives more");
  }
}

void GapFiller::ReadGap() {
  if (read_ < encoded_.size()) {
    next_at_ = read_at_ += TakeNumber(encoded_, read_);
    next_text_ = static_cast<std::uint32_t>(TakeNumber(encoded_, read_));
  } else if (pending_) {
    next_at_ = pending_at_;
    next_text_ = TextNumber(std::move(pending_text_));
    pending_ = false;
  } else {
    next_at_ = kNone;
  }
}

void GapFiller::EndPart() {
  if (reading_ ? next_at_ != kNone || balance_ != 0 : separator_ != nullptr) {
    throw Error(ErrorCode::kInternal, "the places between the rows of a dump do not match its rows");
  }
  reading_ = pending_ = false;
  separator_ = nullptr;
  encoded_.clear();
  read_ = 0;
  last_at_ = read_at_ = row_ = 0;
  balance_ = 0;
}

std::vector<GapEdit> GapFiller::Take(const StrippedRecords& records) {
  using Run = StrippedRecords::Run;
  std::vector<GapEdit> edits;
  std::size_t gap = 0, bare = 0;
  std::uint64_t first = 0;  // the first row of the run, as an index of row_ends
  for (const Run& run : records.runs) {
    if (run.is == Run::kOther) EndPart();
    for (std::uint64_t i = 0; run.is == Run::kGaps && i < run.count; ++i) AddGap(records.gaps[gap++]);
    if (run.is != Run::kRows) continue;
    if (!reading_) {
      if (separator_ == nullptr) throw Error(ErrorCode::kInternal, "rows of a dump without places");
      reading_ = true;
      ReadGap();
    }
    const std::uint64_t end = first + run.count;
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
