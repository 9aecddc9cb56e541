// Reads the inputs of a job as one sequence of records. Start at Inputs; InputReader (reader.hpp) reads ahead on
// threads. Regular files can be read at any offset and several times, so that a job may drop records from memory and
// read them again. Compressed files, pipes and devices are streams, which are read once. The size of a file is its size
// when it was opened, plus the newline that is added if the last line lacks one.
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

/// A range of bytes of one input, counted from its first record.
struct InputRange {
  std::uint32_t input = 0;   ///< the number of the input: 0, 1, ...
  std::uint64_t offset = 0;  ///< the number of bytes from the input's first record to the range
  std::uint64_t bytes = 0;

  friend auto operator<=>(const InputRange&, const InputRange&) = default;  ///< orders ranges as in the inputs
};
/// Returns the total number of bytes of all ranges.
std::uint64_t TotalBytes(const std::vector<InputRange>& ranges);

/// The error (kBadInput) that a line of an input is longer than the job allows.
class LineTooLong : public Error {
 public:
  /// The line begins at byte `at` of the input file `path`, and is longer than `max_record` bytes.
  LineTooLong(const std::string& path, std::uint64_t at, std::uint64_t max_record);
  /// Returns a text with the path of the input and the number of the byte at which the line begins.
  const std::string& place() const { return place_; }

 private:
  std::string place_;
};
/// Returns a text for messages about a record that is out of order: "line 2 (byte 5)" or "record 1 (byte 8)".
std::string PlaceOf(const OrderCheck::Disorder& disorder, const RecordLayout& layout);
/// Returns the error message about an input that is not sorted. `place` tells where the first record that is out of
/// order is, such as "line 2 (byte 5)". If `unique` is true, the input must not have equal records either.
std::string NotSorted(const std::string& path, const std::string& place, bool unique = false);
/// Returns the advice at the end of the error message that an input of -m is not sorted: to sort it without -m. For
/// lines, adds that sorting would be wrong if a record has several lines.
std::string SortInstead(const RecordLayout& layout);

/// A stream that is already open, and the bytes that were read from it to recognise its format.
struct StreamFront {
  std::unique_ptr<PipeReader> stream;
  std::vector<std::byte> bytes;
};
/// The streams that are already open, by the number of their input.
using StreamFronts = std::map<std::uint32_t, StreamFront>;

struct InputOptions {
  const RecordFormat& format;  ///< must outlive the Inputs
  /// The codec of all inputs; no value: the extension of each path (such as .gz) decides.
  std::optional<Codec> codec{};
  std::uint64_t header_limit = 0;  ///< the memory limit of the job in bytes; a header may take a fixed fraction of it
  DecoderLimits limits{};          ///< the limits on memory and threads for expanding a compressed input
  bool sorted = false;  ///< true: if the lines or fixed-size records of a stream are not in order, an error is thrown
  std::optional<FileFacts> overwritten{};  ///< the file that the output overwrites; no value: none
  bool strict = true;                      ///< true: an input that changes while it is read is an error
  /// For each input: the range of bytes of the file that is read. Empty: all bytes of all inputs.
  std::vector<ByteRange> ranges{};
  KindCheck kinds{};  ///< refuses inputs that seem to have another format
};
/// Returns the options for the inputs of the job `spec`, and reserves the memory for headers in `memory`. `overwritten`
/// is the file that the output will overwrite, if there is one.
InputOptions MakeInputOptions(const JobSpec& spec, HostMemory& memory, const RecordFormat& format,
                              std::optional<FileFacts> overwritten = {});
/// Returns how many bytes of memory it takes at most to expand inputs that are compressed with `codecs`, in a job with
/// a memory limit of `limit` bytes.
std::uint64_t DecoderBytes(const std::vector<Codec>& codecs, std::uint64_t limit);

class Inputs {
 public:
  /// Opens all inputs. Throws Error(kUsage) if an input is missing, unreadable or a directory. Throws Error(kBadInput)
  /// if a size is not a multiple of the record size, if headers differ or are too long, or if an input seems to have
  /// another format. For inputs that are streams, these errors are found and thrown later by ReadStream().
  Inputs(FileSystem& files, const std::vector<std::string>& paths, const InputOptions& options,
         const RecordLayout& layout, CancelFlag& cancel, StreamFronts fronts = {});
  ~Inputs();

  /// Returns true if all inputs can be read more than once: they are regular files that are not compressed, and the
  /// output does not overwrite them.
  bool rereadable() const { return rereadable_; }
  bool compressed() const { return compressed_; }
  /// Returns the total size in bytes of the input files on the disk, which may be compressed. Returns 0 if an input is
  /// not a regular file.
  std::uint64_t stored_bytes() const { return stored_known_ ? bytes_ + compressed_bytes_ : 0; }
  /// Returns how many bytes of the input files ReadStream() has read, counted before they are decompressed. Any thread
  /// may call this.
  std::uint64_t stored_bytes_read() const { return stored_read_.load(std::memory_order_relaxed); }
  /// Returns how many bytes of records ReadStream() has read. Any thread may call this.
  std::uint64_t stream_bytes_read() const { return stream_read_.load(std::memory_order_relaxed); }
  /// Returns the codecs with which inputs are compressed. Each codec occurs once, and kNone does not occur.
  std::vector<Codec> codecs() const;
  /// Returns the total size in bytes of the records in those inputs that are regular files and not compressed.
  std::uint64_t bytes() const { return bytes_; }
  const RecordFormat& format() const { return options_.format; }
  std::size_t count() const { return inputs_.size(); }
  const std::string& path(std::uint32_t input) const { return inputs_[input].path; }
  /// Returns the attributes (size, times, inode) that an input had when it was opened. If the input is not a regular
  /// file, they are empty.
  const FileFacts& facts(std::uint32_t input) const {
    static constexpr FileFacts kNone;
    return inputs_[input].file ? inputs_[input].file->facts() : kNone;
  }
  /// Returns the total size of the records of an input in bytes. Returns 0 for a stream, whose size is not known.
  std::uint64_t size(std::uint32_t input) const {
    const Input& in = inputs_[input];
    return in.once() || in.end <= in.begin ? 0 : in.end - in.begin + in.ending.size();
  }
  /// Returns the header that all inputs share, such as a line with column names. Call this after all streams are read.
  std::span<const std::byte> header() const { return header_.bytes(); }
  /// Returns the offset in the file of an input at which the records of this job begin.
  std::uint64_t begin(std::uint32_t input) const { return inputs_[input].begin; }
  /// Returns the state of the format's parser at the offset begin(), as text (see RecordFormat::SaveState).
  const std::string& state(std::uint32_t input) const { return inputs_[input].state; }
  /// Returns true if the job does not read an input from its first record on, because it sorts a range of a larger
  /// file.
  bool in_middle(std::uint32_t input) const { return inputs_[input].begin > inputs_[input].header; }
  /// Returns true if the job reads only a range of an input, and that range ends before the end of the file.
  bool ends_inside(std::uint32_t input) const { return inputs_[input].ends_inside; }
  /// Returns true if the input that ReadStream() reads now is compressed.
  bool expanding() const { return stream_ < inputs_.size() && inputs_[stream_].codec != Codec::kNone; }
  /// Returns true if the input that ReadStream() reads now is a stream that no disk holds, such as a pipe.
  bool piped() const { return stream_ < inputs_.size() && inputs_[stream_].pipe && !inputs_[stream_].pipe->on_disk(); }
  /// Returns true if most bytes of the inputs are read without the page cache.
  bool direct() const { return direct_; }
  /// Returns one range for each input, in the order of the inputs. Each range contains all records of its input.
  std::vector<InputRange> Ranges() const;

  /// Returns the first `bytes` bytes of an input after decompression, or all bytes if the input has fewer. Returns
  /// nothing for a pipe, because its bytes could not be read again. Throws the errors of Decoder.
  std::vector<std::byte> Front(std::uint32_t input, std::uint64_t bytes) const;
  /// Reads the records in `range`, which must not be empty. Returns the part of `buffer` that holds them. The address
  /// of `buffer` must be a multiple of 4096, and its size kReadSlack bytes more than `range`. Throws Error(kBadInput)
  /// if the file has become shorter. Any thread may call this.
  std::span<const std::byte> Read(const InputRange& range, std::span<std::byte> buffer) const;

  /// Reads the next bytes of the inputs, at most `limit` bytes, into `buffer`, which must have `limit` + kReadSlack
  /// bytes. Returns the range that was read, which is a part of one input, or std::nullopt after the last input. If
  /// records have a fixed size, the range has whole records. Do not call this if rereadable() is true.
  std::optional<InputRange> ReadStream(std::span<std::byte> buffer, std::uint64_t limit);

  /// Throws Error(kBadInput) if a file was truncated or rewritten since it was opened. Only warns if a file has grown.
  void VerifyUnchanged() const;
  /// Finds out whether a change of an input has caused `error`. Call this after a job has failed. If an input was
  /// changed since it was opened, throws Error(kBadInput).
  void BlameChange(const Error& error) const;

 private:
  struct Input {
    std::string path, expanded_path;
    Codec codec = Codec::kNone;
    std::unique_ptr<InputFile> file;  ///< the file that is read; null: `pipe` is read instead
    std::unique_ptr<PipeReader> pipe;
    std::vector<std::byte> front;  ///< the first bytes of the input, if they were already read from the pipe
    std::string ending;            ///< the bytes to add to the last record, for example a missing newline
    std::uint64_t header = 0;  ///< the size of the header in bytes, including a newline that is added if it lacks one
    std::uint64_t begin = 0, end = 0;  ///< the range of the file that holds the records of this job
    bool ends_inside = false;
    std::string state;  ///< the state of the format's parser at `begin`
    bool once() const { return pipe != nullptr || codec != Codec::kNone; }
  };
  class Stream;
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
  std::atomic<std::uint64_t> stored_read_{0}, stream_read_{0};
  std::uint64_t bytes_ = 0;
  std::uint32_t stream_ = 0;         ///< the number of the input that ReadStream reads now
  std::uint64_t stream_offset_ = 0;  ///< how many bytes of records ReadStream() has read from the current input
  std::unique_ptr<Stream> reading_;  ///< reads the current input if it can be read only once
  std::optional<OrderCheck> order_;  ///< checks the order of the records of the current input if it must be sorted
};

}  // namespace gpusort
