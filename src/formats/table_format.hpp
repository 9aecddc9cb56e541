// Records with columns (CSV, JSON Lines, COPY, ...): a keyed record holds one field, the normalized keys of its key
// columns one behind the other, which says all, so that GPU and cores sort it as bytes. What is special to a format,
// where records and their fields lie, is a class derived from TableFormat. Start at MakeTableFormat.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_keyer.hpp"
#include "formats/value_key.hpp"
#include "kernels/lines/line_order.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

class TableFormat : public RecordKeyer {
 public:
  /// `options.table` must be there; `options` must outlive this.
  explicit TableFormat(const JobSpec& spec);

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t bytes) const override { return bytes + kMostKeys; }
  void LimitKeys(std::uint64_t bytes) override { most_keys_ = bytes; }
  std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out,
                       KeyTally& tally) const override;
  bool ends_header(RecordSpan header) const override { return ByteOrderMark(header, true) != header.size(); }

 protected:
  /// One column of a record, as text that its type can read.
  struct Field {
    std::string_view text;
    enum : std::uint8_t { kMissing, kNull, kValue } is = kMissing;
    std::uint64_t at = 0;  ///< byte of the record
  };
  /// Puts the keys of the first record of `records` by PutKey, and returns its bytes.
  virtual std::uint64_t PutKeys(RecordSpan records, ScanState& state, FieldWriter& out, KeyTally& tally) const = 0;

  void PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Puts the value that `field` has under the key's rule; false, and puts nothing, if it is none. From text, if a
  /// format says nothing else.
  virtual bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Where there are no keys: a column as text.
  void PutWhole(const Field& field, FieldWriter& out) const;
  bool IsNull(std::string_view unquoted) const;
  /// Bytes of the byte order mark at the front; nothing if that cannot be told yet.
  static std::optional<std::uint64_t> ByteOrderMark(RecordSpan front, bool all);
  /// Finds the columns of keys by the names that a header gives. Error(kUsage) that lists them if one is not there.
  void Resolve(const std::vector<std::string>& names);

  const TableOptions& table_;
  std::vector<ValueKey> keys_;
  /// Of each key: its column, from 0.
  std::vector<std::uint64_t> columns_;

 private:
  /// Looks at a value of a key without a type, to tell at the end which type it looks like.
  static void GuessType(std::string_view text, KeyTally::Column& seen);
  unsigned char delimiter_ = 0;  ///< one that the header has, where it is a single column; 0: none

  static constexpr std::uint64_t kMostKeys = std::uint64_t{64} << 10;

  std::uint64_t most_keys_ = std::uint64_t{1} << 62;
  const ValueKey whole_;
  std::bitset<256> begins_null_;  ///< first bytes of table_.nulls
  LineKey key_;
  LineOrderView view_;
};

/// By `options.table`. Error(kUsage) if a key cannot be.
std::unique_ptr<TableFormat> MakeTableFormat(const JobSpec& spec);

/// Returns warnings about values that were no values, and about records that are not as the header.
std::vector<std::string> DescribeTally(const JobSpec& spec, const KeyTally& tally);

/// Throws Error(kBadInput) if a key has no value in any of the records, all of which `tally` saw. Records without any
/// value would stay as they are, which nobody means who gives a key.
void RefuseNoValues(const JobSpec& spec, const KeyTally& tally);

}  // namespace gpusort
