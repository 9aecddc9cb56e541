// Equal ranges of the bytes of all inputs, and the records that begin in them. Start at Slices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "support/options.hpp"
#include "task/job_folder.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {

class Slices {
 public:
  /// All of these must outlive it.
  Slices(const Options& options, FileSystem& files, const Inputs& inputs, const TaskOrder& order, JobFolder& folder,
         std::uint64_t count)
      : options_(options), files_(files), inputs_(inputs), order_(order), folder_(folder), count_(count) {}

  /// Inputs with records of the slice, and what of them it has: of compressed ones all.
  struct Records {
    std::vector<std::string> paths;
    std::vector<ByteRange> ranges;
  };
  Records Of(std::uint64_t number);

  /// Whether what is in front of a byte must be known to tell where records end.
  bool depend() const;
  /// Looks at the slice's bytes for those behind it. Only where they depend.
  std::vector<TaskScan> Scan(std::uint64_t number);

 private:
  /// Bytes of an input that are no record's for sure: neither cut at borders nor without the header.
  struct Bytes {
    std::uint32_t input;
    std::uint64_t begin, end;
  };
  std::vector<Bytes> BytesOf(std::uint64_t number) const;
  bool whole(std::uint32_t input) const {
    return options_.input_codec.value_or(CodecOfPath(inputs_.path(input))) != Codec::kNone;
  }
  /// The first border of records at or behind a byte where slice `number` begins.
  std::uint64_t Border(std::uint32_t input, std::uint64_t at, std::uint64_t number);
  ScanState StateAt(File& file, std::uint32_t input, std::uint64_t at, std::uint64_t number);
  RecordKeyer::Ends ScanBytes(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end,
                              ScanState& state);

  const Options& options_;
  FileSystem& files_;
  const Inputs& inputs_;
  const TaskOrder& order_;
  JobFolder& folder_;
  const std::uint64_t count_;
};

}  // namespace gpusort
