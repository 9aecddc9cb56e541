#include "runs/sinks/groups.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "formats/keyed_record.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/sinks/compaction.hpp"

namespace gpusort {
namespace {

/// Returns the size of a record in the output: without its sort key, and without the escapes of a keyed record.
std::uint64_t SizeInOutput(RecordSpan record, const RecordLayout& layout) {
  if (!layout.keyed()) return record.size();
  std::vector<std::byte> scratch;
  return OwnBytes(record, layout, scratch).size();
}

}  // namespace

void Groups::LookInOrder(Chunk& chunk) {
  chunk.goes_on = !last_.empty() && CompareRecords(last_, FirstRecord(chunk.records, layout_), layout_) == 0;
  const RecordSpan last = LastRecord(chunk.records, layout_);
  last_.assign(last.begin(), last.end());
}

void Groups::Change(Chunk& chunk) const {
  Compaction kept(chunk.records);
  RecordSum dropped;
  std::uint64_t counted = 0;
  const bool adds = sums();
  ColumnSums sums, read, left_out;
  std::vector<std::byte> scratch;
  if (adds) {
    sums = form_->NoSums();
    read = form_->NoSums();
    left_out = form_->NoSums();
  }
  chunk.form = form_;
  // The first record of the current group (empty: it is in an earlier chunk), and how many of its records are in this
  // chunk.
  RecordSpan first;
  std::uint64_t count = 0;
  const auto end_group = [&] {
    if (first.empty()) {
      chunk.led = count;
      if (adds) chunk.led_sums = std::exchange(sums, form_->NoSums());
    } else if (Keeps(count)) {
      kept.Keep(first);
      if (form_ == nullptr) return;
      const std::string texts = adds ? TextsOf(count, sums) : "";
      chunk.AddResult({count, texts}, SizeInOutput(first, layout_));
      counted += count;
    } else {
      dropped += SumRecords(first, layout_);
      counted += count;
      if (adds && count > 1) AddSums(sums, left_out);
    }
  };
  // The bytes of `before` are not overwritten, because moved records end before the record that was dropped last.
  RecordSpan before;
  std::optional<NeighbourLines> lines;
  if (!layout_.fixed()) lines.emplace(*layout_.lines);
  ForEachRecord(chunk.records, layout_, [&](RecordSpan record) {
    const int compared = lines            ? lines->Next(AsBytes(record.data()), record.size() - 1)
                         : before.empty() ? -1
                                          : CompareRecords(before, record, layout_);
    const bool equal = before.empty() ? chunk.goes_on : compared == 0;
    before = record;
    if (equal) {
      dropped += SumRecords(record, layout_);
      if (adds) {
        // The values of a record that is alone with its key are not needed.
        if (count == 1 && !first.empty()) AddValues(first, sums, read, scratch);
        AddValues(record, sums, read, scratch);
      }
    } else {
      if (count > 0) end_group();
      if (adds && count > 1) std::ranges::for_each(sums, &DecimalSum::Clear);
      first = record;
      count = 0;
    }
    ++count;
  });
  if (order_.needs_groups() && !first.empty()) {
    chunk.open.assign(first.begin(), first.end());
    chunk.open_count = count;
    chunk.open_sums = std::move(sums);
  } else if (count > 0) {
    end_group();
  }
  chunk.records = kept.Kept();
  proof_.AddDropped(dropped);
  if (form_ != nullptr) proof_.AddCounted(counted);
  if (adds) proof_.AddSummed(read, left_out);
}

void Groups::AddValues(RecordSpan record, ColumnSums& sums, ColumnSums& totals, std::vector<std::byte>& scratch) const {
  form_->AddValues(OwnBytes(record, layout_, scratch), sums, totals);
}

void Groups::ProveSums(const Chunk& chunk) const {
  if (!sums()) return;
  ColumnSums written = form_->NoSums();
  chunk.ForEachResult([&](const GroupResult& group, RecordSpan) { form_->AddTexts(group.sum_texts, written); });
  proof_.AddSummed({}, written);
}

std::optional<Chunk> Groups::Join(Chunk& chunk) {
  if (sums() && chunk.led > 0) {
    if (open_count_ == 1) {
      ColumnSums read = form_->NoSums();
      std::vector<std::byte> scratch;
      AddValues(open_, open_sums_, read, scratch);
      proof_.AddSummed(read, {});
    }
    AddSums(chunk.led_sums, open_sums_);
  }
  open_count_ += chunk.led;
  if (chunk.open.empty()) return std::nullopt;
  std::optional<Chunk> ended = End();
  open_ = std::exchange(chunk.open, {});
  open_count_ = chunk.open_count;
  open_sums_ = std::move(chunk.open_sums);
  return ended;
}

std::optional<Chunk> Groups::End() {
  if (open_.empty()) return std::nullopt;
  if (form_ != nullptr) proof_.AddCounted(open_count_);
  Chunk chunk;
  chunk.own = std::exchange(open_, {});
  chunk.records = chunk.own;
  if (!Keeps(open_count_)) {
    proof_.AddDropped(SumRecords(chunk.records, layout_));
    if (sums() && open_count_ > 1) proof_.AddSummed({}, open_sums_);
    return std::nullopt;
  }
  chunk.form = form_;
  if (form_ == nullptr) return chunk;
  const std::string texts = sums() ? TextsOf(open_count_, open_sums_) : "";
  chunk.AddResult({open_count_, texts}, SizeInOutput(chunk.records, layout_));
  return chunk;
}

void LargestGroups::Take(Chunk& chunk) {
  chunk.ForEachResult([&](const GroupResult& group, RecordSpan record) {
    const std::uint64_t count = group.count;
    // A row of the same count as the last of the heap comes after it.
    const bool full = rows_.size() == top_;
    if (full && count <= rows_.front().count) {
      left_out_ += SumRecord(record);
      return;
    }
    if (full) {
      std::pop_heap(rows_.begin(), rows_.end(), IsBefore);
      left_out_ += SumRecord(rows_.back().record);
      bytes_ -= rows_.back().bytes();
      rows_.pop_back();
    }
    rows_.push_back({count, taken_++, {record.begin(), record.end()}, std::string(group.sum_texts)});
    bytes_ += rows_.back().bytes();
    std::push_heap(rows_.begin(), rows_.end(), IsBefore);
    if (bytes_ <= most_bytes_) return;
    throw Error(ErrorCode::kUsage, "the " + std::to_string(top_) + " most frequent records do not fit into " +
                                       std::to_string(most_bytes_ >> 20) + " MiB: --memory gives more");
  });
  chunk.records = {};
  chunk.inserted = 0;
}

Chunk LargestGroups::End(const GroupForm& form, OutputProof& proof) {
  std::sort(rows_.begin(), rows_.end(), IsBefore);
  Chunk chunk;
  chunk.form = &form;
  RecordSum kept;
  for (const Row& row : std::exchange(rows_, {})) {
    chunk.own.insert(chunk.own.end(), row.record.begin(), row.record.end());
    chunk.AddResult({row.count, row.sum_texts}, row.record.size());
    kept += SumRecord(row.record);
  }
  chunk.records = chunk.own;
  proof.LeaveOut(left_out_, kept);
  return chunk;
}

}  // namespace gpusort
