#include "data/inputs.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "io/path.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {
namespace {

/// Below this, the page cache is cheaper than waiting for the disk.
constexpr std::uint64_t kDirectMinBytes = std::uint64_t{64} << 20;
constexpr double kMostlyCached = 0.5;
/// What is read at once to find a header.
constexpr std::uint64_t kHeaderBlock = std::uint64_t{1} << 14;
/// Of a header.
constexpr std::uint64_t kMostHeader = std::uint64_t{64} << 20;
/// The part of all memory that a header may take, in a stream and in a file.
constexpr std::uint64_t kHeaderShare = 64, kFileHeaderShare = 8;

/// A window or a dictionary takes at most this part of the memory.
constexpr std::uint64_t kDecoderShare = 4;

/// Standard streams, the output and its directory, a spill file, and files that are opened for a moment.
constexpr std::uint64_t kOtherFiles = 12;

/// How many inputs may stay open: half of what the process may open, after asking for all that it may have.
std::size_t OpenLimit() {
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

/// The last bytes of the first `size` of a file.
struct FileEnd {
  RecordSum sum;
  std::vector<std::byte> tail;  ///< as RecordFormat::Ending takes it
};
FileEnd ReadEnd(File& file, std::uint64_t size) {
  constexpr std::uint64_t kBytes = 4096;
  alignas(4096) std::array<std::byte, kBytes + kReadSlack> buffer;
  FileEnd end;
  if (size == 0) return end;
  const std::uint64_t alignment = file.alignment();
  const std::uint64_t from = size - std::min(size, kBytes), begin = from / alignment * alignment;
  const std::uint64_t stop = (size + alignment - 1) / alignment * alignment;
  const std::uint64_t got = std::min(file.ReadAt(begin, std::span(buffer).first(stop - begin)), size - begin);
  const std::span bytes = std::span(buffer).first(got).subspan(std::min(got, from - begin));
  if (bytes.empty()) return end;
  end.sum = SumRecords(bytes, bytes.size());
  const std::span tail = bytes.last(std::min(bytes.size(), RecordFormat::kTailBytes));
  end.tail.assign(tail.begin(), tail.end());
  return end;
}

/// Appends `bytes` to `tail`, and keeps as many bytes at its end as RecordFormat::Ending takes.
void KeepTail(std::span<const std::byte> bytes, std::vector<std::byte>& tail) {
  const std::span last = bytes.last(std::min(bytes.size(), RecordFormat::kTailBytes));
  tail.insert(tail.end(), last.begin(), last.end());
  if (tail.size() > RecordFormat::kTailBytes) tail.erase(tail.begin(), tail.end() - RecordFormat::kTailBytes);
}

[[noreturn]] void PartialRecord(const std::string& path, std::uint64_t size, std::uint64_t stride) {
  throw Error(ErrorCode::kBadInput, EscapeName(path) + ": " + std::to_string(size) +
                                        " bytes are not a multiple of the record of " + std::to_string(stride) +
                                        " bytes: the last record, at offset " + std::to_string(size - size % stride) +
                                        ", is incomplete");
}

}  // namespace

std::uint64_t TotalBytes(const std::vector<InputRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const InputRange& range : ranges) bytes += range.bytes;
  return bytes;
}

std::uint64_t HeaderMemory(bool header, std::uint64_t limit) {
  return header ? std::min(limit / kHeaderShare, kMostHeader) : 0;
}

std::uint64_t DecoderBytes(const std::vector<Codec>& codecs, std::uint64_t limit) {
  std::uint64_t bytes = 0;
  for (const Codec codec : codecs) bytes = std::max(bytes, DecoderMemoryBytes(codec, limit / kDecoderShare));
  return bytes;
}

InputOptions MakeInputOptions(const JobSpec& spec, HostMemory& memory, const RecordFormat& format,
                              std::optional<FileFacts> overwritten) {
  if (MayHaveHeader(spec)) {
    memory.Reserve(HeaderMemory(true, memory.limit()));
  }
  return {format,
          spec.source.codec,
          memory.limit(),
          {spec.source.max_expanded, memory.limit() / kDecoderShare, kDecoderShare},
          spec.order.merge && !spec.source.table,
          overwritten,
          spec.dialect.strict,
          spec.source.ranges,
          KindCheck(spec)};
}

LineTooLong::LineTooLong(const std::string& path, std::uint64_t at, std::uint64_t max_record)
    : Error(ErrorCode::kBadInput, EscapeName(path) + ": the line at byte " + std::to_string(at) + " is longer than " +
                                      std::to_string(max_record) + " bytes: allow it with --max-record"),
      place_(EscapeName(path) + ": the line at byte " + std::to_string(at)) {}

Inputs::Inputs(FileSystem& files, const std::vector<std::string>& paths, const InputOptions& options,
               const RecordLayout& layout, CancelFlag& cancel, StreamFronts fronts)
    : files_(files),
      layout_(layout),
      header_limit_(options.header_limit),
      kinds_(options.kinds),
      format_(options.format),
      limits_(options.limits),
      sorted_(options.sorted),
      strict_(options.strict) {
  const std::size_t open_limit = OpenLimit();
  std::uint64_t direct_bytes = 0;
  for (const std::string& path : paths) {
    Input input;
    input.path = path;
    input.codec = options.codec.value_or(CodecOfPath(path));
    if (input.codec != Codec::kNone) {
      compressed_ = true;
      rereadable_ = false;
    }
    const auto front = fronts.find(static_cast<std::uint32_t>(inputs_.size()));
    bool once = front != fronts.end() || IsStreamSource(path);
    if (!once && options.overwritten) {
      const std::optional<FileFacts> facts = files.Identify(path);
      once = facts && facts->regular && facts->same_file(*options.overwritten);
      if (once) LogInfo(EscapeName(path) + " is the output, too: all of it is read before anything is written");
    }
    if (once) {
      rereadable_ = stored_known_ = false;
      if (front != fronts.end()) {
        input.stream = std::move(front->second.stream);
        input.ahead = std::move(front->second.bytes);
      } else {
        input.stream = std::make_unique<PipeReader>(path, cancel);
      }
    } else if (input.codec != Codec::kNone) {
      std::unique_ptr<File> file = files.OpenInput(path, false);
      input.facts = file->Facts();
      input.last_bytes = ReadEnd(*file, input.facts.size).sum;
      compressed_bytes_ += input.facts.size;
      if (inputs_.size() < open_limit) input.file = std::move(file);
    } else {
      std::unique_ptr<File> file = files.OpenInput(path, false);
      input.facts = file->Facts();
      const ByteRange range = options.ranges.empty() ? ByteRange() : options.ranges[inputs_.size()];
      input.end = std::min(input.facts.size, range.end);
      input.begin = std::min(input.end, range.begin);
      input.ends_inside = range.inside;
      input.state = range.state;
      const std::uint64_t bytes = input.end - input.begin;
      if (kinds_.active() && !format_.has_header()) {  // else TakeHeader does
        std::vector<std::byte> front(std::min(KindCheck::kFrontBytes, input.facts.size));
        front.resize(file->ReadAt(0, front));
        CheckKind(input, front, front.size() == input.facts.size);
      }
      const FileEnd end = ReadEnd(*file, input.facts.size);
      input.last_bytes = end.sum;
      input.tail = end.tail;
      if (bytes >= kDirectMinBytes && files.CachedShare(*file) < kMostlyCached) {
        std::unique_ptr<File> direct = files.OpenInput(path, true);
        if (direct->direct()) {
          input.direct = true;
          direct_bytes += bytes;
          file = std::move(direct);
        }
      }
      if (inputs_.size() < open_limit) input.file = std::move(file);
    }
    inputs_.push_back(std::move(input));
  }
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    if (input.stream || input.codec != Codec::kNone) continue;
    if (format_.has_header()) {
      const std::unique_ptr<File> file = files.OpenInput(input.path, false);
      TakeHeader(i, [&, at = std::uint64_t{0}](std::span<std::byte> out) mutable {
        const std::uint64_t got = file->ReadAt(at, out.first(std::min(out.size(), input.facts.size - at)));
        at += got;
        return got;
      });
    }
    if (input.end > input.begin && input.end == input.facts.size) input.ending = format_.Ending(header_, input.tail);
    if (size(i) > kMaxSize || bytes_ + size(i) > kMaxSize) {
      throw Error(ErrorCode::kBadInput, EscapeName(input.path) + ": " + FormatBytes(bytes_ + size(i)) +
                                            (bytes_ > 0 ? " with the inputs before it" : "") +
                                            " are more than can be sorted at once: 1 EiB (" + std::to_string(kMaxSize) +
                                            " bytes)");
    }
    bytes_ += size(i);
  }
  for (const Input& input : inputs_) {
    // A range that ends inside the file has whole records, and the rest of the file may be none.
    if (layout.fixed() && input.codec == Codec::kNone && !input.ends_inside && input.facts.size % layout.stride != 0)
      PartialRecord(input.path, input.facts.size, layout.stride);
  }
  direct_ = 2 * direct_bytes > bytes_;
}

void Inputs::CheckKind(const Input& input, std::span<const std::byte> front, bool all) const {
  const bool expanded = input.codec != Codec::kNone && CodecOfPath(input.path) != Codec::kNone;
  kinds_.Look(input.path, expanded ? std::string(WithoutCodecExtension(input.path)) : input.path, front, all);
}

std::vector<std::byte> Inputs::TakeHeader(std::uint32_t number,
                                          const std::function<std::uint64_t(std::span<std::byte>)>& read) {
  std::vector<std::byte> header;
  std::optional<std::uint64_t> bytes;
  bool all = false;
  // The plan is made when the headers of files are known. A stream gets what was set aside.
  const Input& input = inputs_[number];
  const std::uint64_t share = input.stream || input.codec != Codec::kNone ? kHeaderShare : kFileHeaderShare;
  const std::uint64_t most = std::min(header_limit_ / share, kMostHeader);
  // Twice as much each time, so that a long header is not looked at too often.
  while (!bytes) {
    const std::uint64_t held = header.size();
    header.resize(held + std::max<std::uint64_t>(held, kHeaderBlock));
    std::uint64_t got = held;
    while (got < header.size() && !all) {
      const std::uint64_t more = read(std::span(header).subspan(got));
      got += more;
      all = more == 0;
    }
    header.resize(got);
    if (held == 0) CheckKind(inputs_[number], header, all);
    try {
      // Twice as much as may be held is looked at, to say how long the header is. If it goes on, a record that is open
      // there is the reason.
      bytes = format_.HeaderBytes(header, all || got > 2 * most);
    } catch (const BadRecord& bad) {
      throw Error(ErrorCode::kBadInput, EscapeName(inputs_[number].path) + ": byte " + std::to_string(bad.at()) +
                                            " of its header: " + bad.what());
    }
  }
  if (*bytes > most) {
    const bool whole = all || *bytes < header.size(), memory_helps = *bytes <= kMostHeader;
    const auto stop = header.begin() + static_cast<std::ptrdiff_t>(*bytes);
    const auto lines = std::count(header.begin(), stop, std::byte{'\n'});
    std::string why = ": its header is longer than " + FormatBytes(most) + ": it has " + (whole ? "" : "more than ") +
                      (lines > 1 ? std::to_string(lines) + " lines (comments count) of " : "one line of ") +
                      FormatBytes(*bytes);
    if (memory_helps) {
      why += std::string("; give ") + (whole ? "at least" : "more than") + " --memory " + SizeArgument(*bytes * share);
    }
    if (format_.counts_header()) why += memory_helps ? ", or a smaller --header" : "; give a smaller --header";
    throw Error(ErrorCode::kBadInput, EscapeName(input.path) + why);
  }
  const std::uint64_t lines = all && *bytes == header.size() ? format_.header_lines() : 0;
  if (kinds_.active() && lines > 0) kinds_.LookAtHeader(inputs_[number].path, header, lines);
  const auto end = header.begin() + static_cast<std::ptrdiff_t>(*bytes);
  std::vector<std::byte> behind(end, header.end());
  header.erase(end, header.end());
  const bool ended = header.empty() || !format_.newlines() || header.back() == static_cast<std::byte>(layout_.delimiter);
  // What a format sets aside may also be a byte order mark, which no line's end follows.
  if (!ended && format_.ends_header(header)) {
    header.push_back(static_cast<std::byte>(layout_.delimiter));
  }
  inputs_[number].header = header.size();
  inputs_[number].begin = std::max<std::uint64_t>(inputs_[number].begin, header.size());
  // Headers may differ in a byte order mark. The output gets the header of the first input.
  const RecordSpan known = format_.HeaderText(header_), text = format_.HeaderText(header);
  if (!header.empty() && (!header_from_ || (known.empty() && !text.empty()))) {
    header_from_ = number;
    header_ = std::move(header);
  } else if (!text.empty() && !std::ranges::equal(text, known)) {
    const auto first = header_.end() - (known.end() - std::ranges::mismatch(known, text).in1);
    const auto at = first - header_.begin();
    const auto line = 1 + std::count(header_.begin(), first, std::byte{'\n'});
    throw Error(ErrorCode::kBadInput, "the headers of " + EscapeName(inputs_[*header_from_].path) + " and " +
                                          EscapeName(inputs_[number].path) + " differ at byte " + std::to_string(at) +
                                          ", line " + std::to_string(line) +
                                          ": only inputs with the same header can be sorted together");
  }
  return behind;
}

std::vector<Codec> Inputs::codecs() const {
  std::set<Codec> codecs;
  for (const Input& input : inputs_) codecs.insert(input.codec);
  codecs.erase(Codec::kNone);
  return {codecs.begin(), codecs.end()};
}

std::shared_ptr<File> Inputs::Open(const Input& input) const {
  if (input.file) return input.file;
  try {
    return files_.OpenInput(input.path, input.direct);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    throw Error(ErrorCode::kBadInput, std::string(error.what()) + "; it was there when the job began");
  }
}

std::vector<InputRange> Inputs::Ranges() const {
  std::vector<InputRange> ranges;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (size(i) > 0) ranges.push_back({i, 0, size(i)});
  }
  return ranges;
}

std::span<const std::byte> Inputs::Read(const InputRange& range, std::span<std::byte> buffer) const {
  const Input& input = inputs_[range.input];
  const std::shared_ptr<File> file = Open(input);
  const std::uint64_t alignment = file->alignment();
  const std::uint64_t offset = input.begin + range.offset;
  const std::uint64_t begin = std::min(offset, input.end) / alignment * alignment;
  const std::uint64_t stop = offset + range.bytes, last = std::min(stop, input.end);
  const std::uint64_t end = (last + alignment - 1) / alignment * alignment;
  const std::uint64_t got = file->ReadAt(begin, buffer.first(end - begin));
  if (got < last - begin) Shrank(input, begin + got);
  for (std::uint64_t at = std::max(offset, last); at < stop; ++at) {
    buffer[at - begin] = static_cast<std::byte>(input.ending[at - input.end]);
  }
  return buffer.subspan(offset - begin, range.bytes);
}

void Inputs::Shrank(const Input& input, std::uint64_t end) {
  throw Error(ErrorCode::kBadInput, EscapeName(input.path) + ": the file shrank while it was read: it ends at " +
                                        std::to_string(end) + ", it had " + std::to_string(input.facts.size) +
                                        " bytes when it was opened");
}

std::uint64_t Inputs::ReadSome(Input& input, std::span<std::byte> out) {
  if (!decoder_) {
    if (!input.stream) stored_ = Open(input);
    decoder_ = std::make_unique<Decoder>(
        input.codec, EscapeName(input.path),
        [this, &input, at = std::uint64_t{0}](std::span<std::byte> to) mutable {
          std::uint64_t got = 0;
          if (input.stream) {
            got = input.stream->ReadSome(to);
          } else {
            const std::uint64_t count = std::min<std::uint64_t>(to.size(), input.facts.size - at);
            got = stored_->ReadAt(at, to.first(count));
            if (got < count) Shrank(input, at + got);
          }
          at += got;
          stored_read_.fetch_add(got, std::memory_order_relaxed);
          return got;
        },
        limits_);
  }
  return decoder_->Read(out);
}

std::string NotSorted(const std::string& path, const RecordLayout& layout, const OrderCheck::Disorder& disorder) {
  // Records are counted from 0, lines from 1, as everybody does.
  return EscapeName(path) + ": not sorted: " +
         (layout.fixed() ? "record " + std::to_string(disorder.record)
                         : "line " + std::to_string(disorder.record + 1)) +
         " (byte " + std::to_string(disorder.offset) + ") orders before ";
}

std::string SortInstead(const RecordLayout& layout) {
  const std::string text = "; sort it without -m";
  return layout.fixed() ? text
                        : text + " if each of its lines is a record; records of several lines (stack traces, say) "
                                 "cannot be sorted or merged";
}

void Inputs::CheckOrder(const Input& input, std::span<const std::byte> bytes) {
  if (!sorted_) return;
  if (!order_) order_.emplace(layout_, false);
  std::optional<OrderCheck::Disorder> disorder = order_->Add(bytes);
  if (!disorder) return;
  disorder->offset += input.header;
  if (input.header > 0) disorder->record += CountRecords(header_, layout_);
  throw Error(ErrorCode::kBadInput,
              NotSorted(input.path, layout_, *disorder) + "the one in front of it" + SortInstead(layout_));
}

std::optional<InputRange> Inputs::ReadStream(std::span<std::byte> buffer, std::uint64_t limit) {
  const std::uint64_t unit = LeastRecordBytes(layout_);
  limit = limit / unit * unit;
  while (stream_ < inputs_.size()) {
    Input& input = inputs_[stream_];
    std::uint64_t got = 0;
    if (input.stream || input.codec != Codec::kNone) {
      if (stream_offset_ == 0 && input.header == 0 && format_.has_header()) {
        input.ahead = TakeHeader(stream_, [&](std::span<std::byte> out) { return ReadSome(input, out); });
      }
      bool ended = false;
      while (got < limit && !ended) {
        std::uint64_t more = std::min<std::uint64_t>(input.ahead.size() - input.ahead_taken, limit - got);
        if (more > 0) {
          std::memcpy(buffer.data() + got, input.ahead.data() + input.ahead_taken, more);
          input.ahead_taken += more;
          if (input.ahead_taken == input.ahead.size()) {
            input.ahead = {};
            input.ahead_taken = 0;
          }
        } else {
          more = ReadSome(input, buffer.subspan(got, limit - got));
        }
        got += more;
        ended = more == 0;
      }
      if (stream_offset_ == 0 && !format_.has_header()) CheckKind(input, buffer.first(got), ended);
      if (got % unit != 0) PartialRecord(input.path, stream_offset_ + got, unit);
      KeepTail(buffer.first(got), stream_tail_);
      if (ended && stream_offset_ + got > 0) {
        const std::uint64_t given = got;
        for (const char c : format_.Ending(header_, stream_tail_)) buffer[got++] = static_cast<std::byte>(c);
        KeepTail(buffer.subspan(given, got - given), stream_tail_);
      }
    } else {
      got = std::min(limit, size(stream_) - stream_offset_);
      if (got > 0) {
        const std::span<const std::byte> bytes = Read({stream_, stream_offset_, got}, buffer);
        if (bytes.data() != buffer.data()) std::copy(bytes.begin(), bytes.end(), buffer.begin());
        stored_read_.fetch_add(got, std::memory_order_relaxed);
      }
    }
    if (got > 0) {
      const InputRange range{stream_, stream_offset_, got};
      stream_offset_ += got;
      CheckOrder(input, buffer.first(got));
      return range;
    }
    ++stream_;
    stream_offset_ = 0;
    stream_tail_.clear();
    decoder_.reset();
    stored_.reset();
    order_.reset();
  }
  return std::nullopt;
}

Inputs::Change Inputs::FindChange(const Input& input, const FileFacts& now) const {
  const FileFacts& then = input.facts;
  if (now.size != then.size || now.mtime_ns != then.mtime_ns || !now.same_file(then)) return Change::kContent;
  if (!now.hides_change(then)) return Change::kNone;
  // Another name of the file changes its ctime, too.
  const std::optional<FileFacts> named = files_.Identify(input.path);
  return named && named->same_file(now) ? Change::kHidden : Change::kNone;
}

void Inputs::VerifyUnchanged() const {
  if (!strict_) return;
  for (const Input& input : inputs_) {
    if (input.stream) continue;
    const std::shared_ptr<File> file = Open(input);
    const FileFacts now = file->Facts();
    const FileFacts& then = input.facts;
    const Change change = FindChange(input, now);
    if (change == Change::kNone) continue;
    if (change == Change::kHidden) {
      throw Error(ErrorCode::kBadInput, EscapeName(input.path) +
                                            ": the file was changed while it was read: its ctime is another, and its " +
                                            "mtime was set back or only attributes were set; sort it again when " +
                                            "nothing changes it");
    }
    const bool same_file = now.ino == then.ino && now.dev == then.dev;
    if (same_file && now.size > then.size && ReadEnd(*file, then.size).sum == input.last_bytes) {
      LogWarn(EscapeName(input.path) + ": the file grew while it was read; exactly the " + std::to_string(then.size) +
              " bytes seen when it was opened are sorted");
      continue;
    }
    throw Error(ErrorCode::kBadInput, EscapeName(input.path) + ": the file was " +
                                          (now.size < then.size ? "truncated" : "rewritten") + " while it was read");
  }
}

void Inputs::BlameChange(const Error& error) const {
  if (error.code() != ErrorCode::kIntegrity && error.code() != ErrorCode::kInternal) return;
  for (const Input& input : inputs_) {
    if (input.stream || FindChange(input, Open(input)->Facts()) == Change::kNone) continue;
    throw Error(ErrorCode::kBadInput,
                EscapeName(input.path) + ": the file was changed while it was read: " + error.what());
  }
}

}  // namespace gpusort
