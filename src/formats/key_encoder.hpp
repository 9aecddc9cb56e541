// Makes keyed records (formats/keyed_record.hpp). A KeyScheme holds the data that all threads share. It gives each
// thread an encoder that has separate buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "formats/key_tally.hpp"
#include "formats/record_format.hpp"
#include "kernels/records/record.hpp"

namespace gpusort {

/// Makes keyed records. One thread at a time may use an encoder.
class KeyEncoder {
 public:
  KeyEncoder() = default;
  KeyEncoder(const KeyEncoder&) = delete;
  KeyEncoder& operator=(const KeyEncoder&) = delete;
  virtual ~KeyEncoder() = default;

  /// Appends the first of `records` to `out` as a keyed record and returns its size in `records`, which must hold whole
  /// records. `state` is the state of the format before the record, and afterwards the state after it. Throws
  /// BadRecord.
  virtual std::uint64_t Append(RecordSpan records, ScanState& state, std::vector<std::byte>& out, KeyTally& tally) = 0;
};

/// How records get keys. Call the functions that are not const before the first record is encoded.
class KeyScheme {
 public:
  virtual ~KeyScheme() = default;

  /// The layout of keyed records.
  virtual RecordLayout layout() const = 0;
  /// The largest number of bytes that a keyed record has more than its record of `bytes`.
  virtual std::uint64_t most_added(std::uint64_t bytes) const = 0;
  /// Limits the keys of a record to a number of bytes in all. An encoder cuts longer keys. The caller must refuse the
  /// record then.
  virtual void LimitKeys(std::uint64_t) {}
  /// Looks at whole records of the input to choose sizes.
  virtual void Tune(RecordSpan) {}
  /// Finds the key columns by the header that RecordFormat::HeaderBytes found. Throws Error(kUsage) if one is missing.
  virtual void ReadHeader(RecordSpan) {}
  /// Returns an encoder for one thread. The scheme must outlive the encoder.
  virtual std::unique_ptr<KeyEncoder> MakeEncoder() const = 0;
};

}  // namespace gpusort
