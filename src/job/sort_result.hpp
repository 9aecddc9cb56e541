// The result of a published sort, for the process and for the tasks of a larger job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/proof.hpp"
#include "formats/key_tally.hpp"

namespace gpusort {

struct SortResult {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  ///< as stored
  std::uint64_t runs = 0, temp_written = 0;
  RecordSum sum{};   ///< of the records of the output
  RecordSum read{};  ///< of all records that were sorted or merged; with --top, of some of them
  /// The first and the last record, as the output has them or as keyed records if the format has columns. Empty if
  /// there is no record, or an earlier process sorted them.
  std::vector<std::byte> first{}, last{};
  std::vector<std::byte> trailer{};  ///< of the inputs
  std::vector<std::byte> header{};   ///< of the output
  KeyTally tally{};                  ///< of the keys of records with columns; empty after a merge
};

}  // namespace gpusort
