// Records with columns (CSV, JSON Lines, COPY, ...). A keyed record has one field: the normalized keys of its key
// columns, one after the other. GPU and cores sort the field as bytes, and it decides the whole order. A format derives
// a class from TableFormat that finds records and their fields. Start at TableFormat.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/key_encoder.hpp"
#include "formats/keyed_record.hpp"
#include "formats/record_format.hpp"
#include "formats/value_key.hpp"
#include "kernels/lines/line_order.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// A format derived from TableFormat implements MakeEncoder() by TableEncoder, which calls two members of the format:
/// * struct Scratch, the buffers of one thread, made by Scratch(const Format&);
/// * PutKeys(records, state, scratch, out, tally), which puts the keys of the first record of `records` by PutKey() and
///   returns the size of the record. `state` and errors are as for KeyEncoder::Append.
class TableFormat : public RecordFormat, public KeyScheme {
 public:
  /// `spec.source.table` must be set, and `spec` must outlive this object.
  explicit TableFormat(const JobSpec& spec);

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t bytes) const override { return bytes + kMostKeys; }
  void LimitKeys(std::uint64_t bytes) override { most_keys_ = bytes; }
  bool ends_header(RecordSpan header) const override { return ByteOrderMark(header, true) != header.size(); }
  /// Ends the last line by a newline, and by CR LF if EndsInReturns() says that the other lines end so.
  std::string Ending(RecordSpan header, RecordSpan tail) const override;

 protected:
  template <typename Format>
  friend class TableEncoder;

  /// A column of a record, as text that its type can read.
  struct Field {
    std::string_view text;
    enum : std::uint8_t { kMissing, kNull, kValue } is = kMissing;
    std::uint64_t at = 0;  ///< where the field begins in the record
  };
  /// Buffers for the fields of a record and for texts that fields refer to.
  struct FieldScratch {
    explicit FieldScratch(const TableFormat&) {}
    std::vector<Field> fields;
    std::vector<std::string> texts;
    std::string text;
  };

  /// True if the lines of an input with this header end with CR LF.
  virtual bool EndsInReturns(RecordSpan) const { return false; }
  /// Puts the key number `key` of the value in `field`, or null.
  void PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Puts the value of `field` by the rule of the key. Returns false and puts nothing if it is no value of the key's
  /// type. The default reads the value as text.
  virtual bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Puts a column as text, for a job without keys.
  void PutWhole(const Field& field, FieldWriter& out) const;
  bool IsNull(std::string_view unquoted) const;
  /// Returns the size of the byte order mark at the front, or std::nullopt if more bytes are needed to tell.
  static std::optional<std::uint64_t> ByteOrderMark(RecordSpan front, bool all);
  /// Finds the columns of keys by the names of a header. Throws Error(kUsage), which lists the names, if one is
  /// missing.
  void Resolve(const std::vector<std::string>& names);

  const TableOptions& table_;
  std::vector<ValueKey> keys_;
  /// The column of each key, from 0.
  std::vector<std::uint64_t> columns_;

 private:
  /// Appends the beginning of a keyed record to `out` and returns where it begins.
  std::size_t BeginKeys(std::vector<std::byte>& out, KeyTally& tally) const;
  /// Counts a value of a key without a type. At the end of the job a message names the type that the values look like.
  static void GuessType(std::string_view text, KeyTally::Column& seen);
  unsigned char delimiter_ = 0;  ///< the probable delimiter, if the header is a single column; 0: none

  static constexpr std::uint64_t kMostKeys = std::uint64_t{64} << 10;

  std::uint64_t most_keys_ = std::uint64_t{1} << 62;
  const ValueKey whole_;
  std::bitset<256> begins_null_;  ///< first bytes of table_.nulls
  LineKey key_;
  LineOrderView view_;
};

/// Makes keyed records by Format::PutKeys.
template <typename Format>
class TableEncoder final : public KeyEncoder {
 public:
  explicit TableEncoder(const Format& format) : format_(format), scratch_(format) {}

  std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out, KeyTally& tally) override {
    const TableFormat& table = format_;
    const std::size_t begin = table.BeginKeys(out, tally);
    FieldWriter writer(out);
    writer.Begin(table.most_keys_);
    const std::uint64_t size = format_.PutKeys(records, state, scratch_, writer, tally);
    writer.End();
    StoreBody(records.first(size), begin, out);
    return size;
  }

 private:
  const Format& format_;
  typename Format::Scratch scratch_;
};

/// Makes the format of `spec.source.table`. Throws Error(kUsage) if a key is not possible.
std::unique_ptr<TableFormat> MakeTableFormat(const JobSpec& spec);

/// Returns warnings about values that were no values, and about records that are not as the header.
std::vector<std::string> DescribeTally(const JobSpec& spec, const KeyTally& tally);

/// Throws Error(kBadInput) if a key has no value in any of the records, all of which `tally` saw. Records without any
/// value would stay as they are, which nobody means who gives a key.
void RefuseNoValues(const JobSpec& spec, const KeyTally& tally);

}  // namespace gpusort
