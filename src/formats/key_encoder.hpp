// The interfaces that compute sort keys and put each key before its record. The result is called a keyed record
// (formats/keyed_record.hpp). A KeyScheme holds the data that all threads share, and makes a KeyEncoder with separate
// buffers for each thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "formats/key_tally.hpp"
#include "formats/record_format.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// Makes keyed records, which are records with their sort key before them. Only one thread at a time may use an
/// encoder.
class KeyEncoder {
 public:
  KeyEncoder() = default;
  KeyEncoder(const KeyEncoder&) = delete;
  KeyEncoder& operator=(const KeyEncoder&) = delete;
  virtual ~KeyEncoder() = default;

  /// Reads the first record of `records`, makes its key, and appends key and record to `out`. Appends nothing if the
  /// job leaves the record out. Returns the size of the record in `records`, which must contain only whole records.
  /// `state` is the state of the format's parser before the record, and is replaced by the state after it. Throws
  /// BadRecord.
  virtual std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out, KeyTally& tally) = 0;
  /// Returns the text that the last Append() has put between the key and the record: with --prefix-name, the name of
  /// the input. The text is part of the output.
  virtual RecordSpan prefix() const { return {}; }
};

/// The rules by which the sort keys of records are made. Call the functions that are not const before the first record
/// is encoded.
class KeyScheme {
 public:
  virtual ~KeyScheme() = default;

  virtual RecordLayout layout() const = 0;
  /// Returns the largest number of bytes that the sort key and the escapes can add to a record of `bytes` bytes.
  virtual std::uint64_t most_added(std::uint64_t bytes) const = 0;
  /// Sets the limit on the total size of a record's keys in bytes. An encoder cuts off keys at the limit, and its
  /// caller then reports the record as an error.
  virtual void LimitKeys(std::uint64_t) {}
  /// Chooses how long keys may be, from a sample of the input. The argument is the sample: whole records.
  virtual void Tune(RecordSpan) {}
  /// Finds the columns that the job sorts by in a header, which is the beginning of an input, such as the first line of
  /// a CSV file. Throws Error(kUsage) if a column is missing.
  virtual void ReadHeader(RecordSpan) {}
  /// Returns an encoder for one thread. This KeyScheme must outlive the encoder.
  virtual std::unique_ptr<KeyEncoder> MakeEncoder() const = 0;
};

}  // namespace gpusort
