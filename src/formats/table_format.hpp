// The base of all formats of records with columns (CSV, JSON Lines, COPY, ...). A keyed record of such a format has one
// key field: the normalized keys of all key columns, one after the other. Comparing this field as bytes gives the
// order. Start at TableFormat.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
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

/// The key columns of a record, sorted by their position in the record.
struct KeyColumns {
  struct Wanted {
    std::uint64_t column;  ///< counted from 0
    std::size_t key;
  };
  std::vector<Wanted> by_column;
  std::vector<std::size_t> keys;  ///< the numbers of the keys, in the order in which the keys are written

  void Add(std::uint64_t column, std::size_t key);
};

/// The base class of a format with columns. A derived class finds the records and implements PutKeys().
class TableFormat : public RecordFormat, public KeyScheme {
 public:
  /// `spec.source.table` must be set, and `spec` must outlive this object.
  explicit TableFormat(const JobSpec& spec);

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t bytes) const override { return bytes + kMostKeys + longest_prefix_; }
  void LimitKeys(std::uint64_t bytes) override { most_keys_ = bytes; }
  bool ends_header(RecordSpan header) const override { return ByteOrderMark(header, true) != header.size(); }
  /// Returns the newline that the last line lacks.
  std::string Ending(RecordSpan, RecordSpan tail) const override {
    return tail.empty() || tail.back() == std::byte{'\n'} ? "" : "\n";
  }
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;

 protected:
  class Encoder;

  /// One column of a record, as text without quotes and escapes.
  struct Field {
    std::string_view text;
    enum : std::uint8_t { kMissing, kNull, kValue } is = kMissing;
    std::uint64_t at = 0;  ///< offset of the field in the record
  };
  /// Buffers for the fields of one record, and for the texts that Field::text refers to.
  struct Scratch {
    virtual ~Scratch() = default;
    std::vector<Field> fields;
    std::vector<std::string> texts;
    std::string text;
    bool left_out = false;  ///< PutKeys() sets this if the job leaves the record out
  };

  /// Returns the buffers that one thread passes to PutKeys().
  virtual std::unique_ptr<Scratch> MakeScratch() const { return std::make_unique<Scratch>(); }
  /// Writes the keys of the first record of `records` with PutKey(), or sets Scratch::left_out. Returns the size of
  /// that record. `state` and errors are as for KeyEncoder::Append. Any number of threads may call this at once, each
  /// with its own `scratch`.
  virtual std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                                KeyTally& tally) const = 0;
  /// Writes key number `key` for the value in `field`. Writes a null if the field is missing, null or invalid.
  void PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Writes key number `key` for a value that was found in a record, or a null if `value` is empty. std::nullopt means
  /// that the record lacks the value. Messages have the place of `value`, if it lies in `record`.
  void PutText(std::size_t key, const std::optional<std::string_view>& value, std::string_view record, FieldWriter& out,
               KeyTally& tally) const;
  /// Writes the key of `field` by the rule of the key number `key`. Returns false and writes nothing if the field is no
  /// value of the key's type. The default reads the field as text.
  virtual bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Writes a column as text. A job without keys calls this for every column.
  void PutWhole(const Field& field, FieldWriter& out) const;
  bool IsNull(std::string_view unquoted) const;
  /// Returns the size of the byte order mark at the beginning of an input, or std::nullopt if more bytes are needed.
  static std::optional<std::uint64_t> ByteOrderMark(RecordSpan front, bool all);
  /// Finds the columns of the keys by name in `names`, the column names of the header. Throws Error(kUsage), which
  /// lists the names, if a column is missing.
  void Resolve(const std::vector<std::string>& names);
  /// Throws Error(kUsage) about a key.
  [[noreturn]] static void FailKey(const ColumnKey& key, const std::string& why);

  const TableOptions& table_;
  std::vector<ValueKey> keys_;
  KeyColumns wanted_;  ///< the columns that the keys give by number, or that Resolve() has found

 private:
  /// Notes which types a value may have, for a key without a type. A message names the likely type later.
  static void GuessType(std::string_view text, KeyTally::Column& seen);
  void CheckKey(const ColumnKey& key) const;

  /// The probable delimiter of the file, set if the delimiter in use does not divide the header. 0 if not set.
  unsigned char delimiter_ = 0;

  std::vector<std::string> prefixes_;  ///< the text before each record, by the number of the input; may be empty
  std::uint64_t longest_prefix_ = 0;

  static constexpr std::uint64_t kMostKeys = std::uint64_t{64} << 10;

  std::uint64_t most_keys_ = std::uint64_t{1} << 62;
  const ValueKey whole_;
  std::bitset<256> begins_null_;  ///< the bytes with which the texts in table_.nulls begin
  LineKey key_;
  LineOrderView view_;
};

/// Makes the format that `spec.source.table` names. Throws Error(kUsage) if the format does not support a key.
std::unique_ptr<TableFormat> MakeTableFormat(const JobSpec& spec);

/// Returns the warnings at the end of a job, about values of a wrong type and records that do not match the header.
std::vector<std::string> DescribeTally(const JobSpec& spec, const KeyTally& tally);

/// Throws Error(kBadInput) if no record has a value for one of the keys. `tally` must count all records. The cause is
/// nearly always a wrong key, and such a sort would not change the order.
void RefuseNoValues(const JobSpec& spec, const KeyTally& tally);

}  // namespace gpusort
