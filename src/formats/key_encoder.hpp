// The interfaces of the classes that compute the sort key of a record and write it before the record. Such a record is
// called a keyed record (formats/keyed_record.hpp). A KeyScheme holds the data that all threads share. For each thread,
// it makes a KeyEncoder with separate buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "formats/key_tally.hpp"
#include "formats/record_format.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// Makes keyed records: records with their sort keys before them. Only one thread at a time may use an encoder.
class KeyEncoder {
 public:
  KeyEncoder() = default;
  KeyEncoder(const KeyEncoder&) = delete;
  KeyEncoder& operator=(const KeyEncoder&) = delete;
  virtual ~KeyEncoder() = default;

  /// Makes the sort key of the first record of `records`, and appends the key and the record to `out`. Appends nothing
  /// for a record that the output must not contain. Returns the size of the record in `records`, which must contain
  /// only whole records. On entry, `state` must be the parser's state before the record. On return, it is the state
  /// after the record. Throws BadRecord.
  virtual std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out, KeyTally& tally) = 0;
  /// Returns the bytes that the last Append() wrote between the key and the record. With --prefix-name, this is the
  /// name of the input, otherwise an empty string. The bytes are part of the output.
  virtual RecordSpan prefix() const { return {}; }
  /// Returns the part of `record` that the last Append() wrote after the key. `record` is the one that Append() got.
  virtual RecordSpan OwnPart(RecordSpan record) const { return record; }
  /// Returns the size of the row to which the record of the last Append() refers. Returns 0 if the record is no
  /// reference to a row (RowStore).
  virtual std::uint64_t kept_bytes() const { return 0; }
  /// Returns true if the records that Append() gets have sort keys before them, which Append() copies.
  virtual bool copies() const { return false; }
};

/// The rules for making the sort keys of records. The functions that are not const must be called before the first
/// record is encoded.
class KeyScheme {
 public:
  virtual ~KeyScheme() = default;

  virtual RecordLayout layout() const = 0;
  /// Returns the largest number of bytes that the sort key and the escapes can add to a record of `bytes` bytes.
  virtual std::uint64_t most_added(std::uint64_t bytes) const = 0;
  /// Sets the limit on the size of a record's key, in bytes. An encoder cuts off keys at the limit. The caller of the
  /// encoder then reports the record as an error.
  virtual void LimitKeys(std::uint64_t) {}
  /// Chooses the limit on the size of keys. The argument is a sample of the input, which must contain whole records.
  /// Does nothing by default.
  virtual void Tune(RecordSpan) {}
  /// Reads the header of an input, such as the first line of a CSV file, to find the job's key columns. Throws
  /// Error(kUsage) if the header lacks a key column.
  virtual void ReadHeader(RecordSpan) {}
  /// Returns an encoder for one thread. This KeyScheme must outlive the encoder.
  virtual std::unique_ptr<KeyEncoder> MakeEncoder() const = 0;
};

}  // namespace gpusort
