// The piece of work of a StagedSink, which writes merged records to the output. Start at Chunk.
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
#include "formats/count_form.hpp"
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
  StrippedRecords stripped;      ///< for SQL dumps: the rows in `records`, and the gaps that were removed
  std::vector<GapEdit> edits;    ///< changes that are still to be made to `records`

  // The following members describe groups of equal records. A group may begin before the chunk or continue after it.
  // `led`, `open` and `open_count` are used only if Order::needs_groups() is true.
  std::uint64_t led = 0;         ///< how many records at the beginning belong to a group that began before the chunk
  std::vector<std::byte> open;   ///< the first record of the last group, which may continue after the chunk
  std::uint64_t open_count = 0;  ///< the number of records of this group in the chunk
  std::vector<std::byte> own;    ///< the memory of `records` if they are not in the window

  // The following members are used with --minus and --intersect.
  std::span<std::byte> leading;        ///< the records at the front that belong to the last group before the chunk
  std::optional<SetGroup> last_group;  ///< the last group of the chunk; no value: all records are in `leading`

  const CountForm* form = nullptr;  ///< with --count: how counts are written
  /// With --count, two numbers for each record: how many equal records there are, and its size in bytes.
  std::string counts;
  std::uint64_t inserted = 0;  ///< with --count: the size of the counts in the output, in bytes

  void AddCount(std::uint64_t count, std::uint64_t size) {
    PutVarint(count, counts);
    PutVarint(size, counts);
  }
  /// Calls each(count, record) for each record of the chunk. `count` is the number of equal records. Call this only
  /// with --count, and after the sort keys were removed. Throws Error(kIntegrity) if `counts` does not match `records`.
  template <typename Each>
  void ForEachCounted(Each each) const {
    // --top shortens `records`, but not `counts`.
    std::string_view rest = counts;
    for (std::uint64_t at = 0; at < records.size();) {
      const std::optional<std::uint64_t> count = TakeVarint(rest), size = TakeVarint(rest);
      if (!count || !size || *size == 0 || *size > records.size() - at) {
        throw Error(ErrorCode::kIntegrity, "--count: a record has another size");
      }
      each(*count, RecordSpan(records.subspan(at, *size)));
      at += *size;
    }
  }

  /// Returns the size of the chunk in the output, in bytes.
  std::uint64_t bytes() const {
    std::uint64_t bytes = records.size() + inserted;
    for (const GapEdit& edit : edits) bytes += (edit.text == nullptr ? 0 : edit.text->size()) - edit.removed;
    return bytes;
  }
  /// Calls put(bytes) with the bytes that the chunk has in the output, in consecutive pieces.
  template <typename Put>
  void ForEachPart(Put put) const {
    if (form != nullptr) {
      ForEachCounted([&](std::uint64_t count, RecordSpan record) {
        const CountForm::Insertion insertion = form->For(count, record);
        if (insertion.at > 0) put(record.first(insertion.at));
        put(insertion.bytes());
        put(record.subspan(insertion.at));
      });
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
};

/// The chunks into which one window is divided. The window stays in memory as long as a chunk is in use.
struct Chunks {
  Window window;
  std::vector<Chunk> list;
  std::mutex mutex;
  std::condition_variable ready;
  std::size_t unready = 0;  ///< the number of chunks that workers still change; protected by `mutex`
};

}  // namespace gpusort
