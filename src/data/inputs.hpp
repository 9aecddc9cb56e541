// The inputs of a job as one sequence of records.
// Regular files can be read at any place, and again: a job may forget a batch and read it once more. Compressed files
// and anything that is no regular file are streams, which are read once. Sizes are those of the time of opening, with
// the newline that a last line lacks, so that every record ends. Start at Inputs; InputReader (reader.hpp) reads ahead
// on its own threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/header.hpp"
#include "data/input_file.hpp"
#include "data/input_kind.hpp"
#include "data/input_stream.hpp"
#include "data/proof.hpp"
#include "formats/record_format.hpp"
#include "io/codec/codec.hpp"
#include "io/file.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// A range of the bytes of records of one input.
struct InputRange {
  std::uint32_t input = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// Returns the sum of the sizes of the ranges.
std::uint64_t TotalBytes(const std::vector<InputRange>& ranges);

/// Error(kBadInput): a line is longer than allowed. The message has the place of the line and what to do.
class LineTooLong : public Error {
 public:
  LineTooLong(const std::string& path, std::uint64_t at, std::uint64_t max_record);
  /// The input, and where in it the line begins.
  const std::string& place() const { return place_; }

 private:
  std::string place_;
};
/// Returns the begin of a message about an input that is not sorted. It ends with "orders before ".
std::string NotSorted(const std::string& path, const RecordLayout& layout, const OrderCheck::Disorder& disorder);
/// Returns the end of a message about an input of -m that is not sorted: what to do. Sorting a log whose records have
/// several lines would tear them apart.
std::string SortInstead(const RecordLayout& layout);

/// A stream from which some bytes were read before.
struct StreamFront {
  std::unique_ptr<PipeReader> stream;
  std::vector<std::byte> bytes;
};
/// The key is the number of the input.
using StreamFronts = std::map<std::uint32_t, StreamFront>;

struct InputOptions {
  const RecordFormat& format;              ///< must outlive the inputs
  std::optional<Codec> codec{};            ///< of every input; without it, the extension of each path decides
  std::uint64_t header_limit = 0;          ///< the limit on all memory, of which a header may take a part
  DecoderLimits limits{};                  ///< of each compressed input
  bool sorted = false;                     ///< lines and fixed records of streams are refused if they are not in order
  std::optional<FileFacts> overwritten{};  ///< the file that the output is written into: it is read once, before that
  bool strict = true;                      ///< an input that is changed while it is read is an error
  std::vector<ByteRange> ranges{};         ///< as Source::ranges
  KindCheck kinds{};                       ///< checks the first bytes of each input
};
/// Reserves memory for headers. Decoders get up to a quarter of the memory if the codec can keep to a limit.
InputOptions MakeInputOptions(const JobSpec& spec, HostMemory& memory, const RecordFormat& format,
                              std::optional<FileFacts> overwritten = {});
/// Returns the maximum memory for expanding inputs of these codecs, of `limit` bytes for everything.
std::uint64_t DecoderBytes(const std::vector<Codec>& codecs, std::uint64_t limit);

class Inputs {
 public:
  /// Opens every input. Error(kUsage) if one is missing, unreadable or a directory. Error(kBadInput) if a size is not a
  /// multiple of the record, if headers differ or are too long, or if an input is of another kind than the job reads.
  /// The same errors come from ReadStream for streams.
  Inputs(FileSystem& files, const std::vector<std::string>& paths, const InputOptions& options,
         const RecordLayout& layout, CancelFlag& cancel, StreamFronts fronts = {});

  /// True if all inputs are regular files, and none is compressed or the file that the output is written into.
  bool rereadable() const { return rereadable_; }
  bool compressed() const { return compressed_; }
  /// The sum of the sizes of the files, compressed or not; 0 if an input is no regular file.
  std::uint64_t stored_bytes() const { return stored_known_ ? bytes_ + compressed_bytes_ : 0; }
  /// The bytes of pipes and files that ReadStream has read. Any thread may call this.
  std::uint64_t stored_bytes_read() const { return stored_read_.load(std::memory_order_relaxed); }
  /// Returns the codecs of the inputs, each once, without kNone.
  std::vector<Codec> codecs() const;
  /// The bytes of the records of the inputs that are regular files and not compressed.
  std::uint64_t bytes() const { return bytes_; }
  const RecordFormat& format() const { return options_.format; }
  std::size_t count() const { return inputs_.size(); }
  const std::string& path(std::uint32_t input) const { return inputs_[input].path; }
  /// The facts of a regular file when it was opened.
  const FileFacts& facts(std::uint32_t input) const {
    static constexpr FileFacts kNone;
    return inputs_[input].file ? inputs_[input].file->facts() : kNone;
  }
  /// The bytes of the input's records; 0 for a stream.
  std::uint64_t size(std::uint32_t input) const {
    const Input& in = inputs_[input];
    return in.once() || in.end <= in.begin ? 0 : in.end - in.begin + in.ending.size();
  }
  /// The header that all inputs share. Complete once all streams are read.
  std::span<const std::byte> header() const { return header_.bytes(); }
  /// The offset in the input at which the records of this job begin.
  std::uint64_t begin(std::uint32_t input) const { return inputs_[input].begin; }
  /// The state of the format at begin(), as RecordFormat::SaveState returns it.
  const std::string& state(std::uint32_t input) const { return inputs_[input].state; }
  /// True if records of the input come before begin().
  bool in_middle(std::uint32_t input) const { return inputs_[input].begin > inputs_[input].header; }
  /// True if the job sorts a range that ends between two records, so that the end of the file does not count.
  bool ends_inside(std::uint32_t input) const { return inputs_[input].ends_inside; }
  /// True if the input that ReadStream reads is compressed.
  bool expanding() const { return stream_ < inputs_.size() && inputs_[stream_].codec != Codec::kNone; }
  /// True if most bytes are read past the page cache.
  bool direct() const { return direct_; }
  /// Returns all records of every input, in order.
  std::vector<InputRange> Ranges() const;

  /// Reads `range` (not empty) into `buffer` (4096-aligned, range.bytes + kReadSlack long) and returns the place of the
  /// bytes in it. Any thread may call this. Error(kBadInput) if the file has shrunk.
  std::span<const std::byte> Read(const InputRange& range, std::span<std::byte> buffer) const;

  /// Reads the next bytes of one input, at most `limit`, into `buffer`, which must have kReadSlack bytes more. Fixed
  /// records are whole. Returns std::nullopt after the last input. Not for rereadable() inputs.
  std::optional<InputRange> ReadStream(std::span<std::byte> buffer, std::uint64_t limit);

  /// Error(kBadInput) if a file was truncated or rewritten since it was opened. Only warns if the file has grown and
  /// its old end is as it was.
  void VerifyUnchanged() const;
  /// Call this after a job failed by `error`. Error(kBadInput) if `error` may be the effect of a change of a file, and
  /// a file was changed since it was opened, also if it has grown.
  void BlameChange(const Error& error) const;

 private:
  struct Input {
    std::string path, expanded_path;
    Codec codec = Codec::kNone;
    std::unique_ptr<InputFile> file;  ///< null: `pipe` is read
    std::unique_ptr<PipeReader> pipe;
    std::vector<std::byte> front;      ///< bytes that were read from the pipe before
    std::string ending;                ///< the bytes that the last record lacks
    std::uint64_t header = 0;          ///< the size of the header, with the newline that is added if it lacks one
    std::uint64_t begin = 0, end = 0;  ///< the records that are sorted
    bool ends_inside = false;
    std::string state;  ///< the state of the format at `begin`
    bool once() const { return pipe != nullptr || codec != Codec::kNone; }
  };
  void Open(FileSystem& files, Input& input, CancelFlag& cancel, StreamFronts& fronts);
  void FindRecords(Input& input);
  std::uint64_t ReadNext(std::span<std::byte> buffer, std::uint64_t limit);
  void CheckOrder(const Input& input, std::span<const std::byte> bytes);

  const RecordLayout layout_;
  const InputOptions options_;
  InputHeader header_;
  std::vector<Input> inputs_;
  bool rereadable_ = true, compressed_ = false;
  bool direct_ = false;
  bool stored_known_ = true;
  std::uint64_t compressed_bytes_ = 0;
  std::atomic<std::uint64_t> stored_read_{0};
  std::uint64_t bytes_ = 0;
  std::uint32_t stream_ = 0;              ///< the input that ReadStream reads
  std::uint64_t stream_offset_ = 0;       ///< the bytes of records that it has read of that input
  std::unique_ptr<InputStream> reading_;  ///< reads the current input, if it can be read only once
  std::optional<OrderCheck> order_;       ///< checks the order of the current input, if it must be sorted
};

}  // namespace gpusort
