// The result of a sort whose output is complete and has its final name. The program gpusort uses it, and also
// gpusort_task, which sorts a piece of a larger job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/proof.hpp"
#include "formats/key_tally.hpp"

namespace gpusort {

struct SortResult {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;        ///< size of the output, after compression
  std::uint64_t plain_bytes = 0;  ///< size of the output, before compression
  std::uint64_t runs = 0, temp_written = 0;
  RecordSum sum{};  ///< the checksum of the records of the output; see OutputProof::written()
  /// The checksum of all records that were sorted or merged. With --top, records that were not read do not count.
  RecordSum read{};
  /// The first and the last record of the output, each with its sort key before it if records have columns. Empty if
  /// the output has no record, or if an earlier process has made the output.
  std::vector<std::byte> first{}, last{};
  std::vector<std::byte> trailer{};  ///< the bytes after the last record of the inputs
  std::vector<std::byte> header{};   ///< the header of the output
  KeyTally tally{};                  ///< counts of unusual values in key columns; empty after a merge
};

}  // namespace gpusort
