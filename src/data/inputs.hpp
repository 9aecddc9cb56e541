// The inputs of a job as one sequence of records.
// Regular files can be read again at any place (so a batch may be forgotten and read once more); anything else, and
// what is compressed, is a stream that is read once. Sizes are those seen at open, with the newline that a last line
// lacks: every record ends.
// Start at Inputs; InputReader reads ahead on its own threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/input_kind.hpp"
#include "data/proof.hpp"
#include "flow/pipeline.hpp"
#include "formats/record_format.hpp"
#include "io/codec/codec.hpp"
#include "io/file.hpp"
#include "io/stream.hpp"
#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "spec/job_spec.hpp"
#include "watch/progress.hpp"

namespace gpusort {

/// Bytes of one input. For a stream, `offset` counts from its beginning.
struct InputRange {
  std::uint32_t input = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// Of all of them.
std::uint64_t TotalBytes(const std::vector<InputRange>& ranges);

/// Room that direct reads at any offset need around the bytes asked for.
inline constexpr std::uint64_t kReadSlack = 8192;

/// Error(kBadInput) that says where the line begins and what to do.
class LineTooLong : public Error {
 public:
  LineTooLong(const std::string& path, std::uint64_t at, std::uint64_t max_record);
  /// The input, and where in it the line begins.
  const std::string& place() const { return place_; }

 private:
  std::string place_;
};
/// Ends with "orders before ".
std::string NotSorted(const std::string& path, const RecordLayout& layout, const OrderCheck::Disorder& disorder);
/// What to do about an input of -m that is not sorted, for the end of a message. Sorting a log whose records have
/// several lines would tear them apart.
std::string SortInstead(const RecordLayout& layout);

/// The front of a stream that was read before, and the rest.
struct StreamFront {
  std::unique_ptr<PipeReader> stream;
  std::vector<std::byte> bytes;
};
/// By the number of the input.
using StreamFronts = std::map<std::uint32_t, StreamFront>;

struct InputOptions {
  const RecordFormat& format;      ///< must outlive the inputs
  std::optional<Codec> codec{};    ///< of every input; each by its extension if not given
  std::uint64_t header_limit = 0;  ///< the limit on all memory, of which a header may take a part
  DecoderLimits limits{};          ///< of each input that is compressed
  bool sorted = false;             ///< lines and fixed records of streams are refused if they are not in order
  std::optional<FileFacts> overwritten{};  ///< the file that the output is written into: it is read once, before that
  bool strict = true;              ///< an input that is changed while it is read is an error
  std::vector<ByteRange> ranges{};  ///< as Source::ranges
  KindCheck kinds{};               ///< looks at the first bytes of each input
};
/// Sets aside what headers may take. What may be open at once to expand is a quarter of the memory, if the codec can do
/// with it.
InputOptions MakeInputOptions(const JobSpec& spec, HostMemory& memory, const RecordFormat& format,
                              std::optional<FileFacts> overwritten = {});
/// Whether the inputs may have a header.
inline bool MayHaveHeader(const JobSpec& spec) { return spec.source.header > 0 || spec.source.table; }
/// Returns the memory that the headers of inputs take within `limit` bytes. `header`: the inputs may have one.
std::uint64_t HeaderMemory(bool header, std::uint64_t limit);
/// Returns the most memory that expanding inputs of these codecs takes within `limit` bytes.
std::uint64_t DecoderBytes(const std::vector<Codec>& codecs, std::uint64_t limit);

class Inputs {
 public:
  /// Opens every input. Error(kUsage) if one is missing, unreadable or a directory; Error(kBadInput) with the offset if
  /// a size is not a multiple of the record, if the inputs' headers differ or are too long, and if an input is
  /// recognised as another kind of file than the job reads (of a stream all that is seen when it is read).
  Inputs(FileSystem& files, const std::vector<std::string>& paths, const InputOptions& options,
         const RecordLayout& layout, CancelFlag& cancel, StreamFronts fronts = {});

  /// All inputs are regular files, and none is compressed or what the output is written into.
  bool rereadable() const { return rereadable_; }
  bool compressed() const { return compressed_; }
  /// Sizes of what is read of the files themselves, compressed or not; 0 if one is no regular file.
  std::uint64_t stored_bytes() const { return stored_known_ ? bytes_ + compressed_bytes_ : 0; }
  /// How many of the stored bytes (of a pipe: of any) ReadStream has read. Any thread.
  std::uint64_t stored_bytes_read() const { return stored_read_.load(std::memory_order_relaxed); }
  /// Returns the codecs of the inputs, each once, without kNone.
  std::vector<Codec> codecs() const;
  /// Bytes of the records of the inputs that are regular files and not compressed.
  std::uint64_t bytes() const { return bytes_; }
  const RecordFormat& format() const { return format_; }
  std::size_t count() const { return inputs_.size(); }
  const std::string& path(std::uint32_t input) const { return inputs_[input].path; }
  /// Of a file, when it was opened.
  const FileFacts& facts(std::uint32_t input) const { return inputs_[input].facts; }
  /// Bytes of the input's records if they are known: 0 for a stream.
  std::uint64_t size(std::uint32_t input) const {
    const Input& in = inputs_[input];
    if (in.stream || in.codec != Codec::kNone || in.end <= in.begin) return 0;
    return in.end - in.begin + in.ending.size();
  }
  /// The header that all inputs share. Of streams it is known when all is read.
  std::span<const std::byte> header() const { return header_; }
  /// Where an input's records begin.
  std::uint64_t begin(std::uint32_t input) const { return inputs_[input].begin; }
  /// What is known there, as RecordFormat::SaveState.
  const std::string& state(std::uint32_t input) const { return inputs_[input].state; }
  /// Records of the input stand in front of those.
  bool in_middle(std::uint32_t input) const { return inputs_[input].begin > inputs_[input].header; }
  /// Records end with what of the input is sorted, and what the file ends with is not in it.
  bool ends_inside(std::uint32_t input) const { return inputs_[input].ends_inside; }
  /// The input that ReadStream reads is compressed.
  bool expanding() const { return stream_ < inputs_.size() && inputs_[stream_].codec != Codec::kNone; }
  /// Whether most of the input is read past the page cache.
  bool direct() const { return direct_; }
  /// The whole of every input, in order.
  std::vector<InputRange> Ranges() const;

  /// Reads `range` (not empty) into `buffer` (4096-aligned, range.bytes + kReadSlack long) and returns where the bytes
  /// lie in it. Any thread. Error(kBadInput) if the file has shrunk.
  std::span<const std::byte> Read(const InputRange& range, std::span<std::byte> buffer) const;

  /// Streams only: the next `limit` bytes at most of one input into `buffer`, which has kReadSlack more; fixed records
  /// whole. Nothing at the end of all streams.
  std::optional<InputRange> ReadStream(std::span<std::byte> buffer, std::uint64_t limit);

  /// Error(kBadInput) if a file was truncated or rewritten since it was opened; a warning if it has grown, and its old
  /// end is as it was.
  void VerifyUnchanged() const;
  /// Error(kBadInput) if a job failed by `error`, which looks like a fault of the machine or of this program, and a
  /// file was changed meanwhile, also by growing.
  void BlameChange(const Error& error) const;

 private:
  struct Input {
    std::string path;
    FileFacts facts{};
    RecordSum last_bytes;      ///< of the whole file
    std::vector<std::byte> tail;  ///< its last bytes, as RecordFormat::Ending takes them
    std::string ending;        ///< the bytes that its last record lacks
    std::uint64_t header = 0;  ///< bytes in front of the records; one more than the file has if it lacks its end
    std::uint64_t begin = 0, end = 0;  ///< of the records that are sorted
    bool ends_inside = false;
    std::string state;  ///< in front of them
    bool direct = false;
    Codec codec = Codec::kNone;
    std::shared_ptr<File> file;  ///< null: opened for each use, when there are more inputs than file descriptors
    std::unique_ptr<PipeReader> stream;
    std::vector<std::byte> ahead;   ///< read of the stream before, or together with its header
    std::uint64_t ahead_taken = 0;  ///< bytes of that
  };
  /// What happened to a file since it was opened, as far as its facts tell.
  enum class Change {
    kNone,
    kContent,
    kHidden,  ///< something wrote to it or set its attributes or times, and its mtime is as before
  };
  Change FindChange(const Input& input, const FileFacts& now) const;
  /// Throws Error(kBadInput) if the input, which begins with `front`, is of another kind than the job reads.
  void CheckKind(const Input& input, std::span<const std::byte> front, bool all) const;
  /// Reads the header by read(out), which returns 0 at the end, and compares it with those before. Gives what was read
  /// behind it.
  std::vector<std::byte> TakeHeader(std::uint32_t number,
                                    const std::function<std::uint64_t(std::span<std::byte>)>& read);
  std::shared_ptr<File> Open(const Input& input) const;
  [[noreturn]] static void Shrank(const Input& input, std::uint64_t end);
  /// What the input being streamed gives next, expanded; 0 at its end.
  std::uint64_t ReadSome(Input& input, std::span<std::byte> out);
  void CheckOrder(const Input& input, std::span<const std::byte> bytes);

  FileSystem& files_;
  const RecordLayout layout_;
  const std::uint64_t header_limit_;
  const KindCheck kinds_;
  const RecordFormat& format_;
  const DecoderLimits limits_;
  const bool sorted_, strict_;
  std::vector<Input> inputs_;
  std::vector<std::byte> header_;
  std::optional<std::uint32_t> header_from_;  ///< the first input that has one
  bool rereadable_ = true, compressed_ = false;
  bool direct_ = false;
  bool stored_known_ = true;
  std::uint64_t compressed_bytes_ = 0;
  std::atomic<std::uint64_t> stored_read_{0};
  std::uint64_t bytes_ = 0;
  std::uint32_t stream_ = 0;          ///< the stream being read
  std::uint64_t stream_offset_ = 0;   ///< bytes read of it
  std::vector<std::byte> stream_tail_;  ///< the last of them, as RecordFormat::Ending takes them
  std::unique_ptr<Decoder> decoder_;  ///< of the stream being read, if it is compressed
  std::shared_ptr<File> stored_;      ///< what it reads, if that is a regular file
  std::optional<OrderCheck> order_;   ///< of the stream being read, if it should be sorted
};

}  // namespace gpusort
