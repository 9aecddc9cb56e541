// Divides the bytes of all inputs into equal slices, and finds the records that begin in each slice. Start at Slices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/inputs.hpp"
#include "job/open_job.hpp"
#include "spec/job_spec.hpp"
#include "task/job_folder.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {

class Slices {
 public:
  /// `open`, `order` and `folder` must outlive this object. `count` is the number of slices, fewer than 2^20.
  Slices(const OpenJob& open, const TaskOrder& order, JobFolder& folder, std::uint64_t count)
      : spec_(open.spec),
        files_(open.files),
        inputs_(open.inputs),
        order_(order),
        folder_(folder),
        count_(count),
        modes_(order.ordered().format().modes()) {}

  /// The inputs that contain records of a slice, and the byte range of each. A compressed input belongs to one slice.
  struct Records {
    std::vector<std::string> paths;
    std::vector<ByteRange> ranges;
  };
  Records Of(std::uint64_t number);

  /// Returns true if the end of a record can be found only with the bytes before the record.
  bool depend() const { return modes_ != 1; }
  /// Scans a slice, or all inputs that begin in it, for the slices after it. Call this only if depend() returns true.
  std::vector<TaskScan> Scan(std::uint64_t number);

 private:
  /// The bytes of an input that belong to a slice before borders of records are found. They may contain the header.
  struct Bytes {
    std::uint32_t input;
    std::uint64_t begin, end;
  };
  std::vector<Bytes> BytesOf(std::uint64_t number) const;
  bool whole(std::uint32_t input) const {
    return spec_.source.codec.value_or(CodecOfPath(inputs_.path(input))) != Codec::kNone;
  }
  /// A border of records, and the format's state there (see TaskOrder::Save).
  struct Place {
    std::uint64_t at = 0;
    std::string state{};
  };
  /// Returns the first border of records at or after byte `at`, where slice `number` begins.
  Place Border(std::uint32_t input, std::uint64_t at, std::uint64_t number);
  /// Returns where a scan of `bytes` begins. The byte before them is needed to find a border at their beginning.
  std::uint64_t ScanFrom(const Bytes& bytes) const {
    return std::max(bytes.begin - std::min<std::uint64_t>(bytes.begin, 1), inputs_.begin(bytes.input));
  }
  /// Replaces `state`, the format's state at byte `from`, by the state at byte `to`.
  void Walk(File& file, std::uint32_t input, std::uint64_t from, std::uint64_t to, ScanState& state);
  /// Returns the first border of records after byte `from`. `state` is the format's state at `from`.
  Place BorderAfter(File& file, std::uint32_t input, std::uint64_t from, ScanState state);
  unsigned ModeAfter(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end, unsigned mode);
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
  const unsigned modes_;  ///< the result of RecordFormat::modes()
};

}  // namespace gpusort
