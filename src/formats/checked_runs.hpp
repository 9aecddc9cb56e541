// Sorted runs of a job that several processes do together. Each line of a run is a sort key, a checksum of the key, and
// the record. The processes that merge runs need not make the keys again, and notice a key that was changed. Start at
// CheckedRunFormat.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "formats/key_encoder.hpp"
#include "formats/keyed_record.hpp"
#include "formats/record_format.hpp"
#include "kernels/lines/line_order.hpp"

namespace gpusort {

/// The value of RecordLayout::keys for records with a checksum of their key (TableOptions::checked): the byte of flags,
/// the keys of all columns, and the checksum.
inline constexpr std::uint32_t kCheckedKeys = kTableKeys + 1;
/// The size of the checksum of a key, with the kKeyEnd after it.
inline constexpr std::uint64_t kKeyCheckBytes = 9;

/// Appends the checksum of the sort key of the last record of `out`, with a kKeyEnd after it. The record begins at
/// offset `begin` of `out`, and has its byte of flags and its key, each with a kKeyEnd after it.
void AppendKeyCheck(std::size_t begin, std::vector<std::byte>& out);

/// The format and the keys of the inputs of a job with Source::keyed and a table. An earlier job with
/// TableOptions::checked and Target::keyed has written these lines.
class CheckedRunFormat : public PlainFormat, public KeyScheme {
 public:
  /// If `placed` is true, each keyed record gets a field with its place in the runs (TableOptions::placed). `columns`
  /// is the number of keys and columns of --sum.
  CheckedRunFormat(bool placed, std::size_t columns);

  RecordLayout layout() const override { return layout_; }
  std::uint64_t most_added(std::uint64_t) const override;
  /// The encoders copy the keys of the lines. They throw BadRecord if a key and its checksum do not fit together.
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 private:
  class Encoder;

  const std::size_t columns_;
  RecordLayout layout_;  ///< of the records that the encoders make
};

}  // namespace gpusort
