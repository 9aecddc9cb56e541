// Reads the inputs of a job as one sequence of records. Start at Inputs.
// - Regular files can be read at any offset and several times.
// - Compressed files, pipes and devices are streams, which are read once.
// - The size of a file is the size when it was opened, plus 1 if a newline must be added to the last line.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
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

/// A range of bytes of one input.
struct InputRange {
  std::uint32_t input = 0;   ///< the index of the input, from 0
  std::uint64_t offset = 0;  ///< the offset of the range in bytes, from the first record of the input
  std::uint64_t bytes = 0;

  friend auto operator<=>(const InputRange&, const InputRange&) = default;  ///< compares by input, then by offset
};
/// Returns the total number of bytes of all ranges.
std::uint64_t TotalBytes(const std::vector<InputRange>& ranges);

/// The error (kBadInput) that a line of an input is longer than the job allows.
class LineTooLong : public Error {
 public:
  /// Makes the error for a line that begins at byte `at` of the input file `path` and is longer than `max_record`
  /// bytes.
  LineTooLong(const std::string& path, std::uint64_t at, std::uint64_t max_record);
  /// Returns a string with the path of the input and the offset in bytes at which the line begins.
  const std::string& place() const { return place_; }

 private:
  std::string place_;
};
/// Returns the place of a record that is out of order, as text for messages: "line 2 (byte 5)" or "record 1 (byte 8)".
std::string PlaceOf(const OrderCheck::Disorder& disorder, const RecordLayout& layout);
/// Returns the error message about an input that is not sorted. `place` is the place of the first record that is out of
/// order, such as "line 2 (byte 5)". `unique` is true if equal records are not allowed either.
std::string NotSorted(const std::string& path, const std::string& place, bool unique = false);
/// Returns the last part of the error message about an unsorted input of -m: the advice to sort the input without -m.
/// For inputs of lines, the result warns that this is only right if each line is a record.
std::string SortInstead(const RecordLayout& layout);

/// A stream that is already open, and the bytes that were read from it to recognise its format.
struct StreamFront {
  std::unique_ptr<PipeReader> stream;
  std::vector<std::byte> bytes;
};
/// The streams that are already open. The key is the index of the input.
using StreamFronts = std::map<std::uint32_t, StreamFront>;

struct InputOptions {
  const RecordFormat& format;  ///< must outlive the Inputs
  /// The codec of all inputs; no value: the extension of each path (such as .gz) decides.
  std::optional<Codec> codec{};
  std::uint64_t header_limit = 0;  ///< the memory limit of the job in bytes; a header may take a fixed fraction of it
  DecoderLimits limits{};          ///< the limits on memory and threads for expanding a compressed input
  /// True: throw an error if the records of a stream are not in order. Used for lines and for records of fixed size.
  bool sorted = false;
  std::optional<FileFacts> overwritten{};  ///< the file that the output overwrites; no value: no file
  bool strict = true;                      ///< true: an input that changes while it is read is an error
  /// For each input, the range of bytes to read. Empty: all inputs are read completely.
  std::vector<ByteRange> ranges{};
  /// The number of inputs at the front of the list that only decide which records of the other inputs are kept. The
  /// output gets the header of another input, if possible.
  std::uint32_t set_inputs = 0;
  KindCheck kinds{};             ///< refuses inputs that seem to have another format
  std::uint64_t max_record = 0;  ///< the value of --max-record; 0: it is not given
};
/// Returns the options for the inputs of the job `spec`, and reserves the memory for headers in `memory`. `overwritten`
/// is the file that the output will overwrite, if there is one.
InputOptions MakeInputOptions(const JobSpec& spec, HostMemory& memory, const RecordFormat& format,
                              std::optional<FileFacts> overwritten = {});
/// Returns the maximum memory, in bytes, for decompressing inputs with the given `codecs`. `limit` is the memory limit
/// of the job in bytes. `threads` is Inputs::decoder_threads().
std::uint64_t DecoderBytes(const std::vector<Codec>& codecs, std::uint64_t limit, unsigned threads);

class Inputs {
 public:
  /// Opens all inputs. Throws Error(kUsage) if an input is missing, unreadable or a directory. Throws Error(kBadInput)
  /// in these cases (for a stream, ReadStream() throws it later; headers of compressed files are compared at once):
  /// - The size of an input is not a multiple of the record size.
  /// - A header is too long, or differs from another header.
  /// - An input seems to have another format than the job expects.
  Inputs(FileSystem& files, const std::vector<std::string>& paths, const InputOptions& options,
         const RecordLayout& layout, CancelFlag& cancel, StreamFronts fronts = {});
  ~Inputs();

  /// Returns true if all inputs can be read more than once: all are regular files, none is compressed, and the output
  /// overwrites none of them.
  bool rereadable() const { return rereadable_; }
  bool compressed() const { return compressed_; }
  /// Returns true if a later process can find the same records in the inputs: all can be read more than once, or are
  /// files of columns.
  bool lasting() const;
  /// Returns the maximum number of threads that expand an input.
  unsigned decoder_threads() const { return options_.limits.threads; }
  /// Returns true if an input is a file of columns, which a module decodes.
  bool of_columns() const {
    return std::ranges::any_of(inputs_, [](const Input& one) { return IsColumnFile(one.codec); });
  }
  /// Throws Error(kUsage) for a row of an input of columns that has `bytes` bytes. The job allows `most` bytes. The
  /// message says which options are enough for the row. If --max-record is given, throws Error(kBadInput) instead.
  [[noreturn]] void RefuseRow(std::uint32_t input, std::uint64_t bytes, std::uint64_t most) const;
  /// Returns the total size of the input files in bytes, without decompression. Returns 0 if an input is not a regular
  /// file.
  std::uint64_t stored_bytes() const { return stored_known_ ? bytes_ + compressed_bytes_ : 0; }
  /// Returns how many bytes of the input files ReadStream() has read so far; compressed bytes count as stored in the
  /// files. Any thread may call this.
  std::uint64_t stored_bytes_read() const { return stored_read_.load(std::memory_order_relaxed); }
  /// Returns how many bytes of records ReadStream() has read so far. Any thread may call this.
  std::uint64_t stream_bytes_read() const { return stream_read_.load(std::memory_order_relaxed); }
  /// Returns the codecs with which the inputs are compressed, each codec once. Inputs that are not compressed add no
  /// codec.
  std::vector<Codec> codecs() const;
  /// Returns the total size of the records in bytes. Counts only inputs that are regular files and not compressed.
  std::uint64_t bytes() const { return bytes_; }
  const RecordFormat& format() const { return options_.format; }
  std::size_t count() const { return inputs_.size(); }
  const std::string& path(std::uint32_t input) const { return inputs_[input].path; }
  /// Returns the attributes (size, times, inode) of an input at the time of opening. Returns empty attributes if the
  /// input is not a regular file.
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
  /// Returns the offset of the first record that this job reads, in bytes from the beginning of the input file.
  std::uint64_t begin(std::uint32_t input) const { return inputs_[input].begin; }
  /// Returns the state of the format's parser at begin(input), as text (see RecordFormat::SaveState).
  const std::string& state(std::uint32_t input) const { return inputs_[input].state; }
  /// Returns true if the job starts reading an input after its first record, because the job sorts only a range of the
  /// file.
  bool in_middle(std::uint32_t input) const { return inputs_[input].begin > inputs_[input].header; }
  /// Returns true if the job stops reading an input before the end of its file, because the job sorts only a range of
  /// it.
  bool ends_inside(std::uint32_t input) const { return inputs_[input].ends_inside; }
  /// Returns true if ReadStream() is now reading a compressed input.
  bool expanding() const { return stream_ < inputs_.size() && inputs_[stream_].codec != Codec::kNone; }
  /// Returns true if ReadStream() is now reading a stream that is not a file on a disk, such as a pipe.
  bool piped() const { return stream_ < inputs_.size() && inputs_[stream_].pipe && !inputs_[stream_].pipe->on_disk(); }
  /// Returns true if most bytes of the inputs are read without the page cache.
  bool direct() const { return direct_; }
  /// Returns a range for each input that has records, in the order of the inputs. The range contains all records of the
  /// input.
  std::vector<InputRange> Ranges() const;

  /// Returns the first `bytes` bytes of an input after decompression, or all bytes if the input has fewer. Returns an
  /// empty vector for a pipe, because a pipe cannot be read again. Throws the errors of Decoder.
  std::vector<std::byte> Front(std::uint32_t input, std::uint64_t bytes) const;
  /// Reads the records in `range`, which must not be empty. Returns the part of `buffer` that holds the records.
  /// - The address of `buffer` must be a multiple of 4096, and its size must be at least `range.bytes` + kReadSlack.
  /// - Throws Error(kBadInput) if the file has become shorter. Any thread may call this.
  std::span<const std::byte> Read(const InputRange& range, std::span<std::byte> buffer) const;

  /// Lets the decoders of files of columns keep their rows in `store`, so that ReadStream() reads references to the
  /// rows (io/codec/row_schema.hpp). `key_columns` are those of RecordFormat::KeptColumns(). Call this before
  /// ReadStream().
  void KeepRows(std::shared_ptr<RowStore> store, std::vector<std::uint32_t> key_columns) {
    store_ = std::move(store);
    key_columns_ = std::move(key_columns);
  }
  /// Returns the store of KeepRows(), or null.
  std::shared_ptr<const RowStore> kept_rows() const { return store_; }

  /// Reads at most `limit` bytes of the next input, and returns their range. Returns std::nullopt after the last input.
  /// - `buffer` must have `limit` + kReadSlack bytes.
  /// - If records have a fixed size, the range has whole records.
  /// - Do not call this if rereadable() is true.
  std::optional<InputRange> ReadStream(std::span<std::byte> buffer, std::uint64_t limit);

  /// Throws Error(kBadInput) if a file was truncated or rewritten after it was opened. If a file has only grown, logs a
  /// warning instead.
  void VerifyUnchanged() const;
  /// Call this after a job has failed with `error`. If an input has changed since it was opened, throws
  /// Error(kBadInput) with a message that blames the change. Otherwise returns.
  void BlameChange(const Error& error) const;

 private:
  struct Input {
    std::string path, expanded_path;
    bool of_set = false;  ///< true: a file of --minus or --intersect
    Codec codec = Codec::kNone;
    std::unique_ptr<InputFile> file;  ///< the file that is read; null: `pipe` is read instead
    std::unique_ptr<PipeReader> pipe;
    std::vector<std::byte> front;      ///< the first bytes of the input, if they were already read from the pipe
    std::string ending;                ///< the bytes to add to the last record, for example a missing newline
    std::uint64_t header = 0;          ///< the size of the header in bytes, including a newline that was added to it
    std::uint64_t begin = 0, end = 0;  ///< the range of the file that holds the records of this job
    bool ends_inside = false;
    std::string state;  ///< the state of the format's parser at `begin`
    bool once() const { return pipe != nullptr || codec != Codec::kNone; }
    /// Returns the file of a compressed input, which must outlive the result. Calls count(bytes) for each read.
    RowFile stored(std::function<void(std::uint64_t)> count) const;
  };
  class Stream;
  void Open(FileSystem& files, Input& input, CancelFlag& cancel, StreamFronts& fronts);
  void FindRecords(Input& input);
  void CompareCompressedHeaders() const;
  std::function<std::uint64_t(std::span<std::byte>)> Expand(const Input& input) const;
  void TakeSchema(const Input& input);
  std::uint64_t ReadNext(std::span<std::byte> buffer, std::uint64_t limit);
  void CheckOrder(const Input& input, std::span<const std::byte> bytes);

  const RecordLayout layout_;
  const InputOptions options_;
  InputHeader header_;
  std::shared_ptr<RowStore> store_;
  // The format cannot be asked later: another thread may be reading a header with it.
  std::vector<std::uint32_t> key_columns_;
  std::vector<Input> inputs_;
  bool rereadable_ = true, compressed_ = false;
  bool direct_ = false;
  bool stored_known_ = true;
  std::uint64_t compressed_bytes_ = 0;
  std::atomic<std::uint64_t> stored_read_{0}, stream_read_{0};
  std::atomic<bool> warned_of_lost_{false};
  std::uint64_t bytes_ = 0;
  std::uint32_t stream_ = 0;         ///< the index of the input that ReadStream reads now
  std::uint64_t stream_offset_ = 0;  ///< how many bytes of records ReadStream() has read from the current input
  std::unique_ptr<Stream> reading_;  ///< reads the current input, if this input is a stream
  std::optional<OrderCheck> order_;  ///< checks that the current input is sorted; no value: no check
};

}  // namespace gpusort
