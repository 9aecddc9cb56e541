// A chunk is a piece of the merged records. The stages of a StagedSink change and write the output chunk by chunk.
// Start at Chunk.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/varint.hpp"
#include "data/proof.hpp"
#include "formats/group_form.hpp"
#include "formats/input_place.hpp"
#include "io/codec/row_marks.hpp"
#include "kernels/error.hpp"
#include "runs/gap_filler.hpp"
#include "runs/sinks.hpp"
#include "runs/sinks/set_group.hpp"

namespace gpusort {

/// Some consecutive whole records of the merged output, which one thread processes at a time.
struct Chunk {
  std::span<std::byte> records;  ///< the records, without those that earlier stages removed
  bool goes_on = false;          ///< true: the first record has the same key as the last record before the chunk
  OutputProof::Seen seen;        ///< the checksum, the first and last record, and the order of `records`
  unsigned part = 0;             ///< index of the part of the output that the chunk belongs to
  /// For SQL dumps: the rows in `records`, and the gaps (bytes between rows) that were removed.
  StrippedRecords stripped;
  std::vector<GapEdit> edits;  ///< changes that are still to be made to `records`
  /// The marks of the rows in `records`, if Output::takes_marks() is true and the output gets `records` as they are.
  std::vector<RowMark> marks;

  // The following members describe groups of equal records. A group may begin before the chunk or continue after it.
  // These members are used only if Order::needs_groups() is true.
  std::uint64_t led = 0;         ///< how many records at the beginning belong to a group that began before the chunk
  std::vector<std::byte> open;   ///< the first record of the last group, which may continue after the chunk
  std::uint64_t open_count = 0;  ///< the number of records of this group in the chunk
  /// With --sum: the sums over the first `led` records, and over the `open_count` records of the last group. If
  /// open_count is 1, `open_sums` is not set: a sum is computed only when a second record is found.
  ColumnSums led_sums, open_sums;
  std::vector<std::byte> own;  ///< the memory of `records` if they are not in the window

  // The following members are used with --minus and --intersect.
  /// The first records, if they have the same key as the last record of the previous chunk.
  std::span<std::byte> leading;
  /// The state of the last group of equal records; no value: all records are in `leading`.
  std::optional<SetGroup> last_group;

  const GroupForm* form = nullptr;  ///< with --count or --sum: how the results of groups are written
  /// Used with --count or --sum. For each record: the number of equal records, and the size of the record in bytes.
  /// With --sum, the sums follow as text, after the size of this text.
  std::string results;
  /// With --count or --sum: how many bytes the counts and sums add to the records. A negative number is stored modulo
  /// 2^64.
  std::uint64_t inserted = 0;
  /// With --count or --sum: true if each record is written with its place in the input before it, instead of a sort
  /// key. Counts and sums are inserted only when a record is written, to save memory.
  bool placed = false;

  /// Appends the count and the sums of the next record to `results`. The record has `size` bytes.
  void AddResult(const GroupResult& group, std::uint64_t size) {
    PutVarint(group.count, results);
    PutVarint(size, results);
    if (!form->sums()) return;
    PutVarint(group.sum_texts.size(), results);
    results += group.sum_texts;
  }
  /// Calls each(group, record) for each record of the chunk. Call this only with --count or --sum, and after the sort
  /// keys were removed. Throws Error(kIntegrity) if `results` does not match `records`.
  template <typename Each>
  void ForEachResult(Each each) const {
    ForEachStored([&](const GroupResult& group, RecordSpan record, RecordSpan) { each(group, record); });
  }
  /// Calls each(text, line) for each record. `text` is the record with its count and sums, and `line` is the place of
  /// the record followed by `text`. Call this only if `placed` is true.
  template <typename Each>
  void ForEachPlaced(Each each) const {
    std::vector<std::byte> text, line;
    ForEachStored([&](const GroupResult& group, RecordSpan record, RecordSpan stored) {
      text.clear();
      line.clear();
      form->Write(group, record, [&](RecordSpan part) { text.insert(text.end(), part.begin(), part.end()); });
      AppendWithPlaceOf(stored, text, line);
      each(RecordSpan(text), RecordSpan(line));
    });
  }

  /// Returns the size of the chunk in the output, in bytes.
  std::uint64_t bytes() const {
    std::uint64_t bytes = records.size() + inserted;
    for (const GapEdit& edit : edits) bytes += (edit.text == nullptr ? 0 : edit.text->size()) - edit.removed;
    return bytes;
  }
  /// Calls put(bytes) for consecutive pieces of the bytes that the chunk adds to the output.
  template <typename Put>
  void ForEachPart(Put put) const {
    if (form != nullptr && placed) return ForEachPlaced([&](RecordSpan, RecordSpan line) { put(line); });
    if (form != nullptr) {
      ForEachResult([&](const GroupResult& group, RecordSpan record) { form->Write(group, record, put); });
      return;
    }
    std::uint64_t at = 0;
    for (const GapEdit& edit : edits) {
      put(std::span<const std::byte>(records.subspan(at, edit.offset - edit.removed - at)));
      if (edit.text != nullptr) put(std::as_bytes(std::span(*edit.text)));
      at = edit.offset;
    }
    put(std::span<const std::byte>(records.subspan(at)));
  }

 private:
  /// Calls each(group, record, stored) for each record. `stored` is the bytes of the record in `records`. `record` is
  /// the record as in the input: without its place (formats/input_place.hpp) and with each escaped byte restored.
  template <typename Each>
  void ForEachStored(Each each) const {
    // --top shortens `records`, but not `results`.
    std::string_view rest = results;
    const RecordLayout layout = PlacedLayout();
    std::vector<std::byte> scratch;
    for (std::uint64_t at = 0; at < records.size();) {
      const std::optional<std::uint64_t> count = TakeVarint(rest), size = TakeVarint(rest);
      const std::optional<std::uint64_t> texts = form->sums() ? TakeVarint(rest) : 0;
      RecordSpan stored = records.subspan(at);
      if (placed) stored = FirstRecord(stored, layout);
      RecordSpan record = placed ? OwnBytes(stored, layout, scratch) : stored;
      if (!count || !size || *size == 0 || *size > record.size() || (placed && *size < record.size()) || !texts ||
          *texts > rest.size()) {
        throw Error(ErrorCode::kIntegrity, "a group of equal records has a record of another size");
      }
      record = record.first(*size);
      if (!placed) stored = record;
      each(GroupResult{*count, rest.substr(0, *texts)}, record, stored);
      rest.remove_prefix(*texts);
      at += stored.size();
    }
  }
};

/// The chunks into which one window is divided. The window stays in memory as long as a chunk is in use.
struct Chunks {
  Window window;
  std::vector<Chunk> list;
  std::mutex mutex;
  std::condition_variable ready;
  std::size_t unready = 0;  ///< the number of chunks that threads still work on; protected by `mutex`
};

}  // namespace gpusort
