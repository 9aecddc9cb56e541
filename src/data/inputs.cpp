#include "data/inputs.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/text.hpp"
#include "io/codec/row_module.hpp"
#include "io/path.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {
namespace {

/// A decoder's window or dictionary takes at most a kDecoderShare-th of the memory.
constexpr std::uint64_t kDecoderShare = 4;

/// Returns how many inputs may stay open: half of the files that the process may open. Raises that limit first.
std::size_t OpenLimit() {
  // The other open files: standard streams, the output and its directory, temp files, and files that are open for a
  // moment.
  constexpr std::uint64_t kOtherFiles = 12;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  const auto most = static_cast<std::uint64_t>(limit.rlim_cur);
  return std::min(most / 2, most - std::min(most, kOtherFiles));
}

[[noreturn]] void ThrowPartialRecord(const std::string& path, std::uint64_t bytes, std::uint64_t stride) {
  throw Error(ErrorCode::kBadInput, EscapeName(path) + ": " + std::to_string(bytes) +
                                        " bytes are not a multiple of the record of " + std::to_string(stride) +
                                        " bytes: the last record, at offset " + std::to_string(bytes - bytes % stride) +
                                        ", is incomplete");
}

}  // namespace

/// Reads an input that can be read only once: a pipe, a terminal, or a compressed file.
class Inputs::Stream {
 public:
  Stream(Inputs& inputs, Input& input)
      : inputs_(inputs), input_(input), ahead_(std::move(input.front)), decoder_(MakeDecoder()) {}

  /// Does for one input what Inputs::ReadStream does. Waits for bytes, and returns 0 only at the end of the input.
  std::uint64_t Read(std::span<std::byte> buffer, std::uint64_t limit) {
    const RecordFormat& format = inputs_.format();
    const bool first = !std::exchange(begun_, true);
    if (first && format.has_header()) TakeHeader();
    std::uint64_t got = 0;
    bool ended = false;
    while (got < limit && !ended) {
      const std::uint64_t more = Next(buffer.subspan(got, limit - got));
      got += more;
      ended = more == 0;
    }
    if (ended) WarnOfLost();
    if (first && !format.has_header()) {
      inputs_.options_.kinds.Look(input_.path, input_.expanded_path, buffer.first(got), ended);
    }
    const std::uint64_t unit = LeastRecordBytes(inputs_.layout_);
    if (got % unit != 0) ThrowPartialRecord(input_.path, offset_ + got, unit);
    KeepTail(buffer.first(got));
    if (ended && offset_ + got > 0) {
      const std::uint64_t given = got;
      for (const char c : format.Ending(inputs_.header(), tail_)) buffer[got++] = static_cast<std::byte>(c);
      KeepTail(buffer.subspan(given, got - given));
    }
    offset_ += got;
    return got;
  }

 private:
  std::unique_ptr<Decoder> MakeDecoder() {
    DecoderLimits limits = inputs_.options_.limits;
    limits.store = inputs_.store_;
    limits.key_columns = inputs_.key_columns_;
    const auto count = [this](std::uint64_t got) { inputs_.stored_read_.fetch_add(got, std::memory_order_relaxed); };
    if (input_.file) {
      return std::make_unique<Decoder>(input_.codec, EscapeName(input_.path), input_.stored(count), limits);
    }
    const auto read = [this, count](std::span<std::byte> out) {
      const std::uint64_t got = input_.pipe->ReadSome(out);
      count(got);
      return got;
    };
    return std::make_unique<Decoder>(input_.codec, EscapeName(input_.path), read, limits);
  }

  /// Reads the next bytes of the input into `out`. Returns their number, which is 0 only at the end.
  std::uint64_t Next(std::span<std::byte> out) {
    const std::uint64_t count = std::min<std::uint64_t>(ahead_.size() - ahead_taken_, out.size());
    if (count == 0) return decoder_->Read(out);
    std::memcpy(out.data(), ahead_.data() + ahead_taken_, count);
    ahead_taken_ += count;
    if (ahead_taken_ == ahead_.size()) {
      ahead_ = {};
      ahead_taken_ = 0;
    }
    return count;
  }

  void TakeHeader() {
    InputHeader::Taken taken = inputs_.header_.Take({input_.path, input_.expanded_path, true, input_.of_set,
                                                     [this](std::span<std::byte> out) { return Next(out); }});
    input_.header = input_.begin = taken.bytes;
    taken.rest.insert(taken.rest.end(), ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_taken_), ahead_.end());
    ahead_ = std::move(taken.rest);
    ahead_taken_ = 0;
  }

  /// Warns if the rows do not have all of the file. One warning is enough for all inputs.
  void WarnOfLost() {
    const std::string lost = decoder_->Lost();
    if (!lost.empty() && !inputs_.warned_of_lost_.exchange(true)) {
      LogWarn(EscapeName(input_.path) + ": " + lost + " is not kept: the output has the rows alone");
    }
  }

  void KeepTail(std::span<const std::byte> bytes) {
    const std::span last = bytes.last(std::min(bytes.size(), RecordFormat::kTailBytes));
    tail_.insert(tail_.end(), last.begin(), last.end());
    if (tail_.size() > RecordFormat::kTailBytes) tail_.erase(tail_.begin(), tail_.end() - RecordFormat::kTailBytes);
  }

  Inputs& inputs_;
  Input& input_;
  /// Bytes that were read in advance; those from ahead_taken_ on are still to be returned.
  std::vector<std::byte> ahead_;
  std::uint64_t ahead_taken_ = 0;
  const std::unique_ptr<Decoder> decoder_;
  std::uint64_t offset_ = 0;  ///< the number of bytes of records so far
  bool begun_ = false;
  std::vector<std::byte> tail_;  ///< the last bytes, for RecordFormat::Ending
};

RowFile Inputs::Input::stored(std::function<void(std::uint64_t)> count) const {
  const auto read = [this, open = file->Open(), count = std::move(count)](std::uint64_t offset,
                                                                          std::span<std::byte> out) {
    const std::uint64_t got = file->ReadSome(*open, offset, out);
    count(got);
    return got;
  };
  return {file->size(), read};
}

std::uint64_t TotalBytes(const std::vector<InputRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const InputRange& range : ranges) bytes += range.bytes;
  return bytes;
}

std::uint64_t DecoderBytes(const std::vector<Codec>& codecs, std::uint64_t limit, unsigned threads) {
  std::uint64_t bytes = 0;
  for (const Codec codec : codecs) bytes = std::max(bytes, DecoderMemoryBytes(codec, limit / kDecoderShare, threads));
  return bytes;
}

namespace {

/// Returns how many threads expand an input of the job `spec`: so many that their memory is at most a sixteenth of the
/// limit. Only BGZF is expanded by several threads.
unsigned DecoderThreads(const JobSpec& spec, std::uint64_t limit) {
  const unsigned cores = spec.limits.threads != 0 ? spec.limits.threads : FindCores().cores;
  // The decoder of a file of columns takes as many threads as its memory allows.
  if (spec.source.codec && IsColumnFile(*spec.source.codec)) return FittingThreads(cores);
  const bool may_be_bgzf = std::ranges::any_of(spec.source.inputs, [&](const std::string& input) {
    return FitsName(Codec::kBgzf, spec.source.codec.value_or(CodecOfPath(input)));
  });
  if (!may_be_bgzf) return 1;
  unsigned threads = FittingThreads(cores);
  while (threads > 1 && DecoderBytes({Codec::kBgzf}, limit, threads) > limit / 16) --threads;
  return threads;
}

}  // namespace

InputOptions MakeInputOptions(const JobSpec& spec, HostMemory& memory, const RecordFormat& format,
                              std::optional<FileFacts> overwritten) {
  if (MayHaveHeader(spec)) memory.Reserve(HeaderMemory(true, memory.limit()));
  return {format,
          spec.source.codec,
          memory.limit(),
          {spec.source.max_expanded,
           memory.limit() / kDecoderShare,
           kDecoderShare,
           DecoderThreads(spec, memory.limit()),
           spec.source.table && spec.source.table->has_curve(),
           nullptr,
           {},
           memory.limit()},
          spec.order.merge && !spec.source.table,
          overwritten,
          spec.dialect.strict,
          spec.source.ranges,
          spec.order.set_inputs(),
          KindCheck(spec),
          spec.source.max_record};
}

LineTooLong::LineTooLong(const std::string& path, std::uint64_t at, std::uint64_t max_record)
    : Error(ErrorCode::kBadInput, EscapeName(path) + ": the line at byte " + std::to_string(at) + " is longer than " +
                                      std::to_string(max_record) + " bytes: allow it with --max-record"),
      place_(EscapeName(path) + ": the line at byte " + std::to_string(at)) {}

std::string PlaceOf(const OrderCheck::Disorder& disorder, const RecordLayout& layout) {
  // Messages count records from 0, and lines from 1 as other programs do.
  return (layout.fixed() ? "record " + std::to_string(disorder.record)
                         : "line " + std::to_string(disorder.record + 1)) +
         " (byte " + std::to_string(disorder.offset) + ")";
}

std::string NotSorted(const std::string& path, const std::string& place, bool unique) {
  return EscapeName(path) + ": not sorted: " + place + " sorts before " + (unique ? "or equals " : "") +
         "the previous one";
}

std::string SortInstead(const RecordLayout& layout) {
  const std::string text = "; sort it without -m";
  return layout.fixed() ? text
                        : text +
                              " if each of its lines is a record; --format log keeps records of several lines "
                              "(stack traces, say) whole";
}

Inputs::Inputs(FileSystem& files, const std::vector<std::string>& paths, const InputOptions& options,
               const RecordLayout& layout, CancelFlag& cancel, StreamFronts fronts)
    : layout_(layout),
      options_(options),
      header_(options_.format, layout.delimiter, options.header_limit, options_.kinds) {
  const std::size_t open_limit = OpenLimit();
  std::uint64_t direct_bytes = 0;
  for (const std::string& path : paths) {
    const std::size_t number = inputs_.size();
    Input& input = inputs_.emplace_back();
    input.path = path;
    input.of_set = number < options.set_inputs;
    input.codec = options.codec.value_or(CodecOfPath(path));
    input.expanded_path = input.codec != Codec::kNone ? std::string(WithoutCodecExtension(path)) : path;
    Open(files, input, cancel, fronts);
    if (!input.file) continue;
    if (input.file->direct()) direct_bytes += input.end - input.begin;
    if (number >= open_limit) input.file->Close();
  }
  for (Input& input : inputs_) {
    if (!input.once()) FindRecords(input);
    if (IsColumnFile(input.codec)) TakeSchema(input);
  }
  for (const Input& input : inputs_) {
    // If only a part of the file is sorted, that part has whole records. The rest of the file may be of another kind.
    if (layout.fixed() && !input.once() && !input.ends_inside && input.file->size() % layout.stride != 0) {
      ThrowPartialRecord(input.path, input.file->size(), layout.stride);
    }
  }
  direct_ = 2 * direct_bytes > bytes_;
  if (format().has_header() && inputs_.size() > 1 && !of_columns()) CompareCompressedHeaders();
}

Inputs::~Inputs() = default;

void Inputs::Open(FileSystem& files, Input& input, CancelFlag& cancel, StreamFronts& fronts) {
  const std::size_t number = inputs_.size() - 1;
  if (input.codec != Codec::kNone) {
    compressed_ = true;
    rereadable_ = false;
  }
  const auto front = fronts.find(static_cast<std::uint32_t>(number));
  bool once = front != fronts.end() || IsStreamSource(input.path);
  if (!once && options_.overwritten) {
    const std::optional<FileFacts> facts = files.Identify(input.path);
    once = facts && facts->regular && facts->same_file(*options_.overwritten);
    if (once) LogInfo(EscapeName(input.path) + " is the output, too: all of it is read before anything is written");
  }
  if (const ColumnFile* const columns = FindColumnFile(input.codec); once && columns != nullptr) {
    const std::string title(columns->title);
    throw Error(ErrorCode::kUsage,
                EscapeName(input.path) + (IsStreamSource(input.path)
                                              ? ": " + title +
                                                    " is read at several places of a file, and this is a stream: save "
                                                    "it to a file, and give its name"
                                              : ": the file is rewritten in place as the output, and " + title +
                                                    " cannot be read and rewritten at once: give another OUTPUT"));
  }
  if (once) {
    rereadable_ = stored_known_ = false;
    if (front == fronts.end()) {
      input.pipe = std::make_unique<PipeReader>(input.path, cancel);
    } else {
      input.pipe = std::move(front->second.stream);
      input.front = std::move(front->second.bytes);
    }
    return;
  }
  if (std::error_code error; std::filesystem::exists(std::filesystem::path(input.path) / "toc.dat", error)) {
    throw Error(ErrorCode::kUsage, "input " + EscapeName(input.path) +
                                       " is a directory, and seems to be a dump in pg_dump's directory format (-Fd): "
                                       "pg_restore -f - FOLDER | gpusort --format pgdump - OUTPUT sorts it");
  }
  input.file = std::make_unique<InputFile>(files, input.path);
  const std::uint64_t size = input.file->size();
  if (input.codec != Codec::kNone) {
    compressed_bytes_ += size;
    return;
  }
  const ByteRange range = options_.ranges.empty() ? ByteRange() : options_.ranges[number];
  input.end = std::min(size, range.end);
  input.begin = std::min(input.end, range.begin);
  input.ends_inside = range.inside;
  input.state = range.state;
  if (options_.kinds.active() && !format().has_header()) {
    std::vector<std::byte> bytes(std::min(KindCheck::kFrontBytes, size));
    bytes.resize(input.file->Open()->ReadAt(0, bytes));
    options_.kinds.Look(input.path, input.expanded_path, bytes, bytes.size() == size);
  }
  input.file->PreferDirect(input.end - input.begin);
}

void Inputs::RefuseRow(std::uint32_t input, std::uint64_t bytes, std::uint64_t most) const {
  // The greatest size of a record grows with the memory up to kMostByMemory or a little more. If --max-record asks for
  // larger records, a job needs at most kTimes times their size.
  constexpr std::uint64_t kMostByMemory = std::uint64_t{20} << 20, kTimes = 32;
  const std::uint64_t room = bytes + bytes / 8, limit = options_.limits.process_bytes;
  const std::string record = "--max-record " + SizeArgument(room);
  const std::string why =
      EscapeName(path(input)) + ": a row takes " + std::to_string(bytes) + " bytes, more than " + std::to_string(most);
  if (options_.max_record != 0) throw Error(ErrorCode::kBadInput, why + ": allow it with " + record);
  const std::string advice = bytes <= kMostByMemory
                                 ? SizeArgument(limit / std::max<std::uint64_t>(most, 1) * room + room)
                                 : SizeArgument(std::max(kTimes * room, limit)) + " and " + record;
  throw Error(ErrorCode::kUsage, why + ", for which there is memory: give at least --memory " + advice);
}

/// Reads the header of an input of columns, so that other schemas and wrong keys are refused before any work.
void Inputs::TakeSchema(const Input& input) {
  try {
    header_.Take({input.path, input.expanded_path, true, input.of_set, Expand(input)});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    const std::uint64_t size = input.file->size();
    std::vector<std::byte> front(std::min(KindCheck::kFrontBytes, size));
    front.resize(input.file->OpenBuffered()->ReadAt(0, front));
    KindCheck::LookAtColumns(input.path, *FindColumnFile(input.codec), front, front.size() == size);
    throw;
  }
}

/// Finds where the records of a regular file begin and end.
void Inputs::FindRecords(Input& input) {
  const std::uint64_t size = input.file->size();
  if (format().has_header()) {
    const std::unique_ptr<File> file = input.file->OpenBuffered();
    const auto read = [&, at = std::uint64_t{0}](std::span<std::byte> out) mutable {
      const std::uint64_t got = file->ReadAt(at, out.first(std::min(out.size(), size - at)));
      at += got;
      return got;
    };
    input.header = header_.Take({input.path, input.expanded_path, false, input.of_set, read}).bytes;
    input.begin = std::max(input.begin, input.header);
  }
  if (input.end > input.begin && input.end == size) {
    input.ending = format().Ending(header_.bytes(), input.file->tail());
  }
  const std::uint64_t bytes = input.end <= input.begin ? 0 : input.end - input.begin + input.ending.size();
  if (bytes > kMaxSize || bytes_ + bytes > kMaxSize) {
    throw Error(ErrorCode::kBadInput, EscapeName(input.path) + ": " + FormatBytes(bytes_ + bytes) +
                                          (bytes_ > 0 ? " with the inputs before it" : "") +
                                          " are more than can be sorted at once: 1 EiB (" + std::to_string(kMaxSize) +
                                          " bytes)");
  }
  bytes_ += bytes;
}

/// Throws Error(kBadInput) if the header of a compressed file differs from another header. Each header is read again
/// when the records of its file are read, which can be hours later.
void Inputs::CompareCompressedHeaders() const {
  InputHeader headers = header_.Quiet();
  for (const Input& input : inputs_) {
    if (!input.file || input.codec == Codec::kNone) continue;
    headers.Take({input.path, input.expanded_path, true, input.of_set, Expand(input)});
  }
}

/// Returns a function that reads the next bytes of a compressed file, from the beginning of the file, after
/// decompression.
std::function<std::uint64_t(std::span<std::byte>)> Inputs::Expand(const Input& input) const {
  DecoderLimits limits = options_.limits;
  limits.threads = 1;
  const auto decoder =
      std::make_shared<Decoder>(input.codec, EscapeName(input.path), input.stored([](std::uint64_t) {}), limits);
  return [decoder](std::span<std::byte> out) { return decoder->Read(out); };
}

bool Inputs::lasting() const {
  const auto rows = [](const Input& one) { return IsColumnFile(one.codec) && one.file != nullptr; };
  return rereadable_ || std::ranges::all_of(inputs_, rows);
}

std::vector<Codec> Inputs::codecs() const {
  std::set<Codec> codecs;
  for (const Input& input : inputs_) codecs.insert(input.codec);
  codecs.erase(Codec::kNone);
  return {codecs.begin(), codecs.end()};
}

std::vector<InputRange> Inputs::Ranges() const {
  std::vector<InputRange> ranges;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (size(i) > 0) ranges.push_back({i, 0, size(i)});
  }
  return ranges;
}

std::vector<std::byte> Inputs::Front(std::uint32_t input, std::uint64_t bytes) const {
  const Input& from = inputs_[input];
  if (!from.file) return {};
  if (from.codec == Codec::kNone) {
    // The file may be open for direct reads, which need aligned memory.
    const std::uint64_t count = std::min(bytes, from.file->size());
    const std::size_t room = count + kReadSlack;
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(4096, (room + 4095) / 4096 * 4096)), std::free);
    if (!memory) throw std::bad_alloc();
    const std::span<const std::byte> front = from.file->Read(0, count, {memory.get(), room});
    return {front.begin(), front.end()};
  }
  const auto read = Expand(from);
  std::vector<std::byte> front(bytes);
  std::uint64_t got = 0;
  while (got < bytes) {
    const std::uint64_t more = read(std::span(front).subspan(got));
    if (more == 0) break;
    got += more;
  }
  front.resize(got);
  return front;
}

std::span<const std::byte> Inputs::Read(const InputRange& range, std::span<std::byte> buffer) const {
  const Input& input = inputs_[range.input];
  const std::uint64_t offset = input.begin + range.offset, stop = offset + range.bytes;
  const std::uint64_t begin = std::min(offset, input.end), last = std::min(stop, input.end);
  std::byte* const read = input.file->Read(begin, last - begin, buffer).data();
  for (std::uint64_t at = std::max(offset, last); at < stop; ++at) {
    read[at - begin] = static_cast<std::byte>(input.ending[at - input.end]);
  }
  return {read + (offset - begin), range.bytes};
}

void Inputs::CheckOrder(const Input& input, std::span<const std::byte> bytes) {
  if (!options_.sorted) return;
  if (!order_) order_.emplace(layout_, false);
  std::optional<OrderCheck::Disorder> disorder = order_->Add(bytes);
  if (!disorder) return;
  disorder->offset += input.header;
  if (input.header > 0) disorder->record += CountRecords(header(), layout_);
  throw Error(ErrorCode::kBadInput, NotSorted(input.path, PlaceOf(*disorder, layout_)) + SortInstead(layout_));
}

/// Reads the next bytes of the current input to the beginning of `buffer`. Returns their number, which is 0 only at the
/// end.
std::uint64_t Inputs::ReadNext(std::span<std::byte> buffer, std::uint64_t limit) {
  Input& input = inputs_[stream_];
  if (input.once()) {
    if (!reading_) reading_ = std::make_unique<Stream>(*this, input);
    return reading_->Read(buffer, limit);
  }
  const std::uint64_t count = std::min(limit, size(stream_) - stream_offset_);
  if (count == 0) return 0;
  const std::span<const std::byte> bytes = Read({stream_, stream_offset_, count}, buffer);
  if (bytes.data() != buffer.data()) std::copy(bytes.begin(), bytes.end(), buffer.begin());
  stored_read_.fetch_add(count, std::memory_order_relaxed);
  return count;
}

std::optional<InputRange> Inputs::ReadStream(std::span<std::byte> buffer, std::uint64_t limit) {
  limit -= limit % LeastRecordBytes(layout_);
  for (; stream_ < inputs_.size(); ++stream_) {
    const std::uint64_t got = ReadNext(buffer, limit);
    if (got > 0) {
      const InputRange range{stream_, stream_offset_, got};
      stream_offset_ += got;
      stream_read_.fetch_add(got, std::memory_order_relaxed);
      CheckOrder(inputs_[stream_], buffer.first(got));
      return range;
    }
    stream_offset_ = 0;
    reading_.reset();
    order_.reset();
  }
  return std::nullopt;
}

void Inputs::VerifyUnchanged() const {
  if (!options_.strict) return;
  for (const Input& input : inputs_) {
    if (input.file) input.file->VerifyUnchanged();
  }
}

void Inputs::BlameChange(const Error& error) const {
  if (error.code() != ErrorCode::kIntegrity && error.code() != ErrorCode::kInternal) return;
  for (const Input& input : inputs_) {
    if (input.file) input.file->BlameChange(error);
  }
}

}  // namespace gpusort
