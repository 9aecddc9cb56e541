// The base class of all formats of records with columns (CSV, JSON Lines, COPY, ...). Each record gets a sort key,
// which is stored before the record (formats/keyed_record.hpp). Start at TableFormat.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checked_runs.hpp"
#include "formats/input_place.hpp"
#include "formats/key_encoder.hpp"
#include "formats/keyed_record.hpp"
#include "formats/record_format.hpp"
#include "formats/value_key.hpp"
#include "formats/value_place.hpp"
#include "kernels/lines/line_order.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The columns of a record that the job sorts by or adds up. `by_column` lists the columns in ascending order of
/// Wanted::column, the position of a column.
struct KeyColumns {
  struct Wanted {
    std::uint64_t column;  ///< the position of the column, from 0
    std::size_t key;       ///< the index of the -k or --sum option that names the column
    std::size_t part = 0;  ///< if the key is a curve: the index of the column in ColumnKey::curve_columns
  };
  std::vector<Wanted> by_column;
  /// The indexes of the -k options (0 is the first), in the order in which they are compared, and of the --sum options.
  std::vector<std::size_t> keys;

  void Add(std::uint64_t column, std::size_t key);
  /// Adds the columns of a key that is a curve.
  void AddCurve(const std::vector<std::uint64_t>& columns, std::size_t key);
};

/// The base class of the formats of records with columns. A derived class implements Scan(), which finds the ends of
/// records, and PutKeys(), which makes the sort key of a record.
class TableFormat : public RecordFormat, public KeyScheme {
 public:
  /// `spec.source.table` must be set, and `spec` must outlive this object.
  explicit TableFormat(const JobSpec& spec);

  RecordLayout layout() const override;
  std::uint64_t most_added(std::uint64_t bytes) const override {
    return bytes + (table_.shuffle ? kMostShuffleKey : kMostKeys) + (table_.placed ? InputPlace::kMostBytes : 0) +
           (table_.checked ? kKeyCheckBytes : 0) + (keys_.size() - sort_keys_) * ValuePlace::kMostBytes + 1 +
           longest_prefix_;
  }
  void LimitKeys(std::uint64_t bytes) override { most_keys_ = bytes; }
  // False for a header that is only a byte order mark.
  bool ends_header(RecordSpan header) const override { return ByteOrderMark(header, true) != header.size(); }
  /// Returns a newline if `tail`, the end of an input, does not end with one. Otherwise returns an empty string. `tail`
  /// may be empty.
  std::string Ending(RecordSpan, RecordSpan tail) const override {
    return tail.empty() || tail.back() == std::byte{'\n'} ? "" : "\n";
  }
  std::unique_ptr<KeyEncoder> MakeEncoder() const override;
  /// Returns the names of the columns in a header. Returns none if the header is empty or if the format has no names in
  /// its header.
  virtual std::vector<std::string> NamesOf(RecordSpan) const { return {}; }

 protected:
  class Encoder;

  /// One column of a record, as text without quotes and escapes.
  struct Field {
    std::string_view text;
    enum : std::uint8_t { kMissing, kNull, kValue } is = kMissing;
    std::uint64_t at = 0;  ///< offset of the field in the record
  };
  /// The buffers that one thread uses to read a record: the fields of the record, and the decoded strings that
  /// Field::text refers to.
  struct Scratch {
    virtual ~Scratch() = default;
    std::vector<Field> fields;
    std::vector<std::string> texts;
    std::string text;
    bool left_out = false;  ///< PutKeys() sets this to leave the record out of the output
    /// PutKeys() sets this to true if it knows that the only newline of the record is its last byte. Otherwise the
    /// record is searched for newlines.
    bool one_line = false;
    /// PutKeys() sets this to the part of the record that is stored after the key. Empty: the whole record.
    RecordSpan own;
    std::uint64_t kept_bytes = 0;  ///< PutKeys() sets this to the size of the row to which the record refers
    unsigned mark = 0;             ///< only for dumps: PutKeys() sets this to the kind of the record, such as kGapMark
  };

  /// Returns new buffers for the calls of PutKeys() by one thread.
  virtual std::unique_ptr<Scratch> MakeScratch() const { return std::make_unique<Scratch>(); }
  /// Writes the sort key of the first record in `records` to `out`. Returns the size of the record. Throws BadRecord.
  /// - Sets Scratch::left_out if the record must not be in the output.
  /// - Changes `state` from the parser's state before the record to the state after the record.
  /// - Several threads may call this at the same time, each with its own `scratch`.
  virtual std::uint64_t PutKeys(RecordSpan records, ScanState& state, Scratch& scratch, FieldWriter& out,
                                KeyTally& tally) const = 0;
  /// Writes the sort key of `field` for the -k option with the index `key`.
  /// - A missing, null or invalid value gets the key of null, and is counted in `tally`.
  /// - With --strict, throws BadRecord if the value is missing or invalid.
  /// - If `by` is not null, it makes the key, and the type of the -k option is ignored.
  /// - If `key` is a column of --sum, writes no key but stores the place of the value in `tally`.
  void PutKey(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally,
              const ValueKey* by = nullptr) const;
  /// Writes the sort key of the string `value` for the -k option with the index `key`. std::nullopt: the record has no
  /// such value. If `value` lies in `record`, error messages give its offset in the record.
  void PutText(std::size_t key, const std::optional<std::string_view>& value, std::string_view record, FieldWriter& out,
               KeyTally& tally) const;
  /// Stores `record` in `tally` as an example of a record without a value for a key, unless `record` is long or there
  /// is an example already.
  static void KeepExample(std::string_view record, KeyTally& tally);
  /// Writes the sort key of `field` for the -k option with the index `key`.
  /// - Returns false and writes nothing if `field` is no value of the type of the option.
  /// - By default, parses the field as text. Formats with binary fields override this.
  virtual bool PutValue(std::size_t key, const Field& field, FieldWriter& out, KeyTally& tally) const;
  /// Writes the sort key of one column, as a string. Used if the user gave no --key: the job then sorts by all columns.
  void PutWhole(const Field& field, FieldWriter& out) const;
  /// Lets the job sort by the whole record instead of a sort key. PutKeys() must then write nothing, and no record may
  /// contain a newline except at its end. Call this in the constructor, and only if records are stored with their place
  /// (TableOptions::placed).
  void SortByWholeRecord(bool descending);
  bool IsNull(std::string_view unquoted) const;
  /// Adds the warning about the abbreviation `word` of a zone to `tally`, if one is needed. `text` has the
  /// abbreviation. `word` may be 0.
  void NoteZone(ZoneWord word, std::string_view text, KeyTally& tally) const;
  /// Finds the columns of the keys in the header, whose column names are `names`. If a column is missing, throws
  /// Error(kUsage) with a list of the names.
  void Resolve(const std::vector<std::string>& names);
  /// Throws Error(kUsage). The message names the key `key` and says why it is wrong.
  [[noreturn]] static void FailKey(const ColumnKey& key, const std::string& why);

  const TableOptions& table_;
  /// The rules for times that name no zone, and for abbreviations of zones such as CET. Null: no key needs these rules.
  const std::shared_ptr<const ZoneWords> words_;
  std::vector<ValueKey> keys_;  ///< the sort keys, and then the columns of --sum
  /// The columns that the job sorts by. If the keys are names of columns, call Resolve() first.
  KeyColumns wanted_;

 private:
  /// Removes the types that cannot be the type of the value `text` from seen.looks_like.
  static void GuessType(std::string_view text, KeyTally::Column& seen);
  void CheckKey(const ColumnKey& key) const;
  /// Stores the place of a value of --sum in `tally`. Throws BadRecord if the value is neither null nor a number.
  void NotePlace(std::size_t key, const Field& field, KeyTally& tally) const;

  const int quote_of_values_;  ///< the byte around a value in quotes; -1: the format has no quotes
  std::size_t sort_keys_ = 0;  ///< the number of sort keys in `keys_`
  /// A guess of the delimiter in the file, if the chosen delimiter does not occur in the header. 0: there is no guess.
  unsigned char delimiter_ = 0;

  /// The strings that --prefix-name writes before records: one for each input, written before each record of this
  /// input. Empty without --prefix-name.
  std::vector<std::string> prefixes_;
  std::uint64_t longest_prefix_ = 0;

  /// The maximum size of a sort key in bytes: kMostKeys, or kMostShuffleKey with --shuffle.
  static constexpr std::uint64_t kMostKeys = std::uint64_t{64} << 10, kMostShuffleKey = 32;

  std::uint64_t most_keys_ = std::uint64_t{1} << 62;
  const ValueKey whole_;
  std::bitset<256> begins_null_;  ///< the first bytes of the strings in table_.nulls
  LineKey key_;
  LineOrderView view_;
};

/// Returns a new object for the format that spec.source.table names. Throws Error(kUsage) if the format does not
/// support a key.
std::unique_ptr<TableFormat> MakeTableFormat(const JobSpec& spec);

/// Returns which zone the job reads times without a zone in, and where this zone comes from. Returns an empty text if
/// the job reads no times.
std::string DescribeZone(const TableOptions& table);

/// Returns the warnings about what was assumed about times: their zone, their year, and the meaning of abbreviations.
/// A job whose input is not in order prints them, because they can be the reason.
std::vector<std::string> DescribeAssumedTimes(const JobSpec& spec, const KeyTally& tally);

/// Returns the warnings that a job prints at its end, for example about values that are not of a key's type, and about
/// records that do not match the header.
std::vector<std::string> DescribeTally(const JobSpec& spec, const KeyTally& tally);

/// Returns the warnings about records of the output that have no value for a column of --sum. Only for jobs with
/// TableOptions::late_sums. `missing` has the number of such records for each column of --sum.
std::vector<std::string> DescribeMissingValues(const TableOptions& table, const std::vector<std::uint64_t>& missing);

/// The error (kBadInput) that --sum cannot add the values of a record that the output gets.
class BadSum : public Error {
 public:
  explicit BadSum(const std::string& message) : Error(ErrorCode::kBadInput, message) {}
};

/// Returns an error message that says why --sum cannot add a value of the column `key`. `value` is the value in quotes,
/// or a description of the value.
std::string WhyNoSum(const TableOptions& table, const ColumnKey& key, ValuePlace::Flaw flaw, const std::string& value);

/// Throws Error(kBadInput) if no record has a value for one of the keys. Such a key is probably wrong, and sorting by
/// it would not change the order. `tally` must count all records.
void RefuseNoValues(const JobSpec& spec, const KeyTally& tally);

}  // namespace gpusort
