// Equal ranges of the bytes of all inputs, and the records that begin in them. Start at Slices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "spec/job_spec.hpp"
#include "task/job_folder.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {

class Slices {
 public:
  /// All of these must outlive it.
  Slices(const JobSpec& spec, FileSystem& files, const Inputs& inputs, const TaskOrder& order, JobFolder& folder,
         std::uint64_t count)
      : spec_(spec),
        files_(files),
        inputs_(inputs),
        order_(order),
        folder_(folder),
        count_(count),
        modes_(order.ordered().format().modes()) {}

  /// Inputs with records of the slice, and what of them it has: of compressed ones all.
  struct Records {
    std::vector<std::string> paths;
    std::vector<ByteRange> ranges;
  };
  Records Of(std::uint64_t number);

  /// Whether what is in front of a byte must be known to tell where records end.
  bool depend() const { return modes_ != 1; }
  /// Looks at the slice's bytes for those behind it, or at all of the inputs that begin in it. Only where they depend.
  std::vector<TaskScan> Scan(std::uint64_t number);

 private:
  /// Bytes of an input that are no record's for sure: neither cut at borders nor without the header.
  struct Bytes {
    std::uint32_t input;
    std::uint64_t begin, end;
  };
  std::vector<Bytes> BytesOf(std::uint64_t number) const;
  bool whole(std::uint32_t input) const {
    return spec_.source.codec.value_or(CodecOfPath(inputs_.path(input))) != Codec::kNone;
  }
  /// A border of records, and what is known there, as TaskOrder::Save.
  struct Place {
    std::uint64_t at = 0;
    std::string state{};
  };
  /// The first border of records at or behind a byte where slice `number` begins.
  Place Border(std::uint32_t input, std::uint64_t at, std::uint64_t number);
  /// Where borders from `begin` on are looked for the byte in front of them is looked at, too.
  std::uint64_t ScanFrom(const Bytes& bytes) const {
    return std::max(bytes.begin - std::min<std::uint64_t>(bytes.begin, 1), inputs_.begin(bytes.input));
  }
  /// Takes the state of byte `from` to that of `to`.
  void Walk(File& file, std::uint32_t input, std::uint64_t from, std::uint64_t to, ScanState& state);
  /// The first border of records behind `from`, where `state` holds.
  Place BorderBehind(File& file, std::uint32_t input, std::uint64_t from, ScanState state);
  unsigned ModeBehind(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end, unsigned mode);
  ScanState StateAt(File& file, std::uint32_t input, std::uint64_t at, std::uint64_t number);
  std::optional<Place> ScannedBorder(std::uint32_t input, std::uint64_t at, std::uint64_t number);
  std::vector<TaskScan> ScanFromFront(std::uint32_t input, std::uint64_t number);
  RecordFormat::Ends ScanBytes(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end,
                              ScanState& state);

  const JobSpec& spec_;
  FileSystem& files_;
  const Inputs& inputs_;
  const TaskOrder& order_;
  JobFolder& folder_;
  const std::uint64_t count_;
  const unsigned modes_;  ///< RecordFormat's
};

}  // namespace gpusort
