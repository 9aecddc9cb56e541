// The base class of all formats of records with columns (CSV, JSON Lines, COPY, ...). The sort key before a record
// (formats/keyed_record.hpp) has one field: the keys of all columns that the job sorts by, one after the other.
// Comparing this field as bytes gives the order. Start at TableFormat.
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

/// The columns of a record that the job sorts by. `by_column` is sorted by their position in the record.
struct KeyColumns {
  struct Wanted {
    std::uint64_t column;  ///< counted from 0
    std::size_t key;
  };
  std::vector<Wanted> by_column;
  /// The numbers of the keys (-k options). A sort key contains the keys in this order.
  std::vector<std::size_t> keys;

  void Add(std::uint64_t column, std::size_t key);
};

/// The base class of formats with columns. A derived class implements Scan(), which finds the ends of records, and
/// PutKeys(), which makes their sort keys.
class TableFormat : public RecordFormat, public KeyScheme {
 public:
  /// `spec.source.table` must be set, and `spec` must outlive this object.
  explicit TableFormat(const JobSpec& spec);

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t bytes) const override { return bytes + kMostKeys + longest_prefix_; }
  void LimitKeys(std::uint64_t bytes) override { most_keys_ = bytes; }
  bool ends_header(RecordSpan header) const override { return ByteOrderMark(header, true) != header.size(); }
  /// Returns a newline if `tail` does not end with one, otherwise an empty string.
  std::string Ending(RecordSpan, RecordSpan tail) const override {
    return tail.empty() || tail.back() == std::byte{'\n'} ? "" : "\n";
  }
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;
  /// Returns the column names in `header`, or none if `header` is empty or the format has no names in its header.
  virtual std::vector<std::string> NamesOf(RecordSpan) const { return {}; }

 protected:
  class Encoder;

  /// One column of a record, as text without quotes and escapes.
  struct Field {
    std::string_view text;
    enum : std::uint8_t { kMissing, kNull, kValue } is = kMissing;
    std::uint64_t at = 0;  ///< offset of the field in the record
  };
  /// The buffers that one thread uses to read a record: its fields, and the decoded texts that Field::text refers to.
  struct Scratch {
    virtual ~Scratch() = default;
    std::vector<Field> fields;
    std::vector<std::string> texts;
    std::string text;
    bool left_out = false;  ///< PutKeys() sets this if the record shall not be part of the output
    /// True if it is known that the record's only newline is its last byte. Otherwise the record is searched for
    /// newlines.
    bool one_line = false;
    unsigned mark = 0;  ///< PutKeys() sets this to the kind of a record of a dump, such as kGapMark; otherwise 0
  };

  /// Returns the buffers that one thread passes to PutKeys().
  virtual std::unique_ptr<Scratch> MakeScratch() const { return std::make_unique<Scratch>(); }
  /// Writes the sort keys of the first record in `records` to `out`, or sets Scratch::left_out if the output shall not
  /// have the record. Returns the size of the record. `state` is the parser's state before the record, and is replaced
  /// by the state after it. Throws BadRecord. Any number of threads may call this at once, each with its own `scratch`.
  virtual std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                                KeyTally& tally) const = 0;
  /// Writes key number `key` with the value of `field`. Writes a null if the field is missing, null or invalid, and
  /// counts it in `tally`. With --strict, throws BadRecord if the field is missing or invalid. `by` is null, unless the
  /// input itself gives the type of the column, as CREATE TABLE does in a dump, and the user gives none. Then `by`
  /// makes keys of that type.
  void PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally,
              const ValueKey* by = nullptr) const;
  /// Writes key number `key` with the value `value`, or a null if `value` is a text that means null. std::nullopt means
  /// that the record has no such value. Error messages give the offset of `value` in `record`, if it lies there.
  void PutText(std::size_t key, const std::optional<std::string_view>& value, std::string_view record, FieldWriter& out,
               KeyTally& tally) const;
  /// Keeps `record` as an example of a record that lacks the value of a key, unless the record is long.
  static void KeepExample(std::string_view record, KeyTally& tally);
  /// Writes the sort key of the value `field`, by the type of key number `key`. Returns false and writes nothing if the
  /// field is not a value of that type. The base class parses the field as text. Formats with other fields, such as
  /// binary ones, override this function.
  virtual bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Writes the sort key of one column for a job in which the user gave no --key. Such a job sorts by all columns, as
  /// texts.
  void PutWhole(const Field& field, FieldWriter& out) const;
  bool IsNull(std::string_view unquoted) const;
  /// Returns the size of the byte order mark at the beginning of an input. `front` is the beginning of the input, or
  /// the whole input if `all` is true. Returns std::nullopt if more bytes are needed to tell.
  static std::optional<std::uint64_t> ByteOrderMark(RecordSpan front, bool all);
  /// Finds the key columns by their names. `names` are the column names of the header. If a column is missing, throws
  /// Error(kUsage) with a list of the names.
  void Resolve(const std::vector<std::string>& names);
  /// Throws Error(kUsage). The message names the key `key` and says why it is wrong.
  [[noreturn]] static void FailKey(const ColumnKey& key, const std::string& why);

  const TableOptions& table_;
  std::vector<ValueKey> keys_;
  /// The columns of the keys: those that a key names by number, and those that Resolve() has found by name.
  KeyColumns wanted_;

 private:
  /// For a key without a type: notes in `seen` which types can read the value `text`. At the end of the job, a message
  /// may suggest one of these types.
  static void GuessType(std::string_view text, KeyTally::Column& seen);
  void CheckKey(const ColumnKey& key) const;

  /// The delimiter that the file probably uses, if the chosen delimiter does not occur in the header. 0: there is no
  /// reason for such a guess.
  unsigned char delimiter_ = 0;

  /// With --prefix-name: for each input, the text that is written before each of its records. Otherwise empty.
  std::vector<std::string> prefixes_;
  std::uint64_t longest_prefix_ = 0;

  static constexpr std::uint64_t kMostKeys = std::uint64_t{64} << 10;

  std::uint64_t most_keys_ = std::uint64_t{1} << 62;
  const ValueKey whole_;
  std::bitset<256> begins_null_;  ///< the bytes with which the texts in table_.nulls begin
  LineKey key_;
  LineOrderView view_;
};

/// Returns a new object for the format that `spec.source.table` names. Throws Error(kUsage) if the format does not
/// support a key.
std::unique_ptr<TableFormat> MakeTableFormat(const JobSpec& spec);

/// Returns the warnings that a job prints at its end: values that are not of a key's type, and records that do not
/// match the header.
std::vector<std::string> DescribeTally(const JobSpec& spec, const KeyTally& tally);

/// Throws Error(kBadInput) if no record has a value for one of the keys: the key is probably wrong, and the sort would
/// not change the order. `tally` must count all records.
void RefuseNoValues(const JobSpec& spec, const KeyTally& tally);

}  // namespace gpusort
