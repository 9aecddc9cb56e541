#include "task/run_file.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/own_folder.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"

namespace gpusort {
namespace {

/// kLook is the number of bytes that are read to find where a record begins. kPiece is the number of bytes that are
/// read at a time when all records are read.
constexpr std::uint64_t kLook = std::uint64_t{64} << 10, kPiece = std::uint64_t{1} << 20;

std::unique_ptr<File> OpenOwn(FileSystem& files, const std::string& path) {
  RequireOwnFile(path);
  return files.OpenInput(path, false);
}

void Put(std::vector<std::byte>& out, std::uint64_t number) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
  out.insert(out.end(), bytes, bytes + sizeof number);
}

}  // namespace

std::vector<std::byte> ReadBytes(File& file, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::byte> bytes(end - begin);
  if (file.ReadAt(begin, bytes) < bytes.size()) {
    throw Error(ErrorCode::kBadInput, EscapeName(file.path()) + ": the file shrank while it was read");
  }
  return bytes;
}

std::uint64_t DelimitedBorder(File& file, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                              const RecordLayout& layout) {
  if (at <= begin) return begin;
  for (std::uint64_t from = at - 1; from < end;) {
    const std::uint64_t to = std::min(end, from + kLook);
    const std::uint64_t first = FirstRecordBytes(ReadBytes(file, from, to), layout);
    if (first > 0) return from + first;
    from = to;
  }
  return end;
}

std::uint64_t HashOf(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::optional<TaskOrder::First> TaskOrder::Comparable(RecordSpan records, bool all, ScanState& state,
                                                      KeyEncoder* encoder) const {
  First first;
  if (plain()) {
    first.bytes = FirstRecordBytes(records, layout_);
    if (first.bytes == 0) return std::nullopt;
    first.comparable.assign(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(first.bytes));
    return first;
  }
  ScanState scan = state;
  std::uint64_t bytes = 0;
  // Scans small pieces, because a scan does not stop after the first record.
  for (std::uint64_t at = 0, piece = 512; at < records.size() && bytes == 0; at += piece, piece *= 4) {
    const RecordSpan part = records.subspan(at, std::min<std::uint64_t>(piece, records.size() - at));
    const RecordFormat::Ends ends = ordered_.format().Scan(part, scan);
    bytes = ends.at_front ? at : ends.first > 0 ? at + ends.first : 0;
  }
  if (bytes == 0 && all && ordered_.format().ends_in(scan)) bytes = records.size();
  if (bytes == 0) return std::nullopt;
  KeyTally tally;
  first.bytes = encoder->Append(records.first(bytes), state, first.comparable, tally);
  return first;
}

Source RunSource(const OpenCut& open, std::vector<std::string> paths, std::vector<ByteRange> ranges) {
  Source source = open.runs.source;
  source.inputs = std::move(paths);
  source.ranges = std::move(ranges);
  source.codec = Codec::kNone;
  source.force_format = true;  // the inputs were checked already, and runs are not ordered as the inputs were
  if (!source.header_prefixes.empty()) {
    // The first records of a run may begin as the lines of the header do.
    source.header_prefixes.clear();
    source.header = 0;
    if (source.table) source.table->header = 0;
  }
  return source;
}

bool IsBefore(RecordSpan comparable, std::uint64_t offset, std::uint64_t own, const RecordPosition& position,
              bool unique, const TaskOrder& order) {
  const int compared = order.Compare(comparable, position.record);
  if (compared != 0 || unique) return compared < 0;
  return own < position.run || (own == position.run && offset < position.offset);
}

RunFile::RunFile(FileSystem& files, JobFolder& folder, std::uint64_t run, std::uint64_t header_bytes,
                 std::uint64_t trailer_bytes, std::uint64_t bytes, const TaskOrder& order,
                 std::span<const Fence> fences)
    : order_(order),
      file_(OpenOwn(files, folder.RunPath(run))),
      begin_(header_bytes),
      end_(bytes - std::min(bytes, trailer_bytes + sizeof(RunLabel))),
      fences_(fences),
      encoder_(order.MakeEncoder()) {
  const std::string path = EscapeName(file_->path());
  if (bytes != file_->Facts().size) {
    throw Error(ErrorCode::kIntegrity, path + ": it has " + std::to_string(file_->Facts().size) +
                                           " bytes, and was written with " + std::to_string(bytes));
  }
  if (end_ < begin_) throw Error(ErrorCode::kIntegrity, path + ": it is shorter than it was written");
  RunLabel label;
  file_->ReadAt(bytes - sizeof label, std::as_writable_bytes(std::span(&label, 1)));
  const RunLabel own = folder.LabelOf(run);
  if (label == own) return;
  std::string what = "it is damaged";
  if (IsWhole(label) && label.job != own.job) what = "it is a run of another job";
  if (IsWhole(label) && label.job == own.job) {
    what = "it is run " + std::to_string(label.run) + " of the job under this name";
  }
  throw Error(ErrorCode::kIntegrity, path + ": " + what + ": remove it and its .json, and give its task again");
}

void FailChangedRun(const std::string& what) {
  throw Error(ErrorCode::kIntegrity, what +
                                         ": it was changed after its task had written it: remove it and its .json, "
                                         "and give its task again");
}

/// Throws Error(kIntegrity): the file has records that its task cannot have written. `why` says what is wrong.
void RunFile::Changed(const std::string& why) const { FailChangedRun(EscapeName(file_->path()) + ": " + why); }

std::vector<std::byte> RunFile::Read(std::uint64_t begin, std::uint64_t end) { return ReadBytes(*file_, begin, end); }

ScanState RunFile::StateAt(std::uint64_t offset) {
  if (!order_.depends()) return {};
  const auto next =
      std::partition_point(fences_.begin(), fences_.end(), [&](const Fence& fence) { return fence.offset <= offset; });
  if (next == fences_.begin()) throw Error(ErrorCode::kInternal, "a place in a run before its first fence");
  ScanState state = order_.Load(std::prev(next)->state);
  for (std::uint64_t at = std::prev(next)->offset; at < offset;) {
    const std::uint64_t to = std::min(offset, at + kPiece);
    try {
      order_.ordered().format().Scan(Read(at, to), state);
    } catch (const BadRecord& bad) {
      Changed("byte " + std::to_string(at + bad.at()) + ": " + bad.what());
    }
    at = to;
  }
  return state;
}

std::optional<TaskOrder::First> RunFile::Comparable(std::uint64_t offset, RecordSpan records, bool all,
                                                    ScanState& state) const {
  try {
    return order_.Comparable(records, all, state, encoder_.get());
  } catch (const BadRecord& bad) {
    Changed("the record at byte " + std::to_string(offset) + ": " + bad.what());
  }
}

TaskOrder::First RunFile::At(std::uint64_t offset, ScanState state) {
  for (std::uint64_t bytes = std::uint64_t{1} << 12;; bytes *= 8) {
    const std::uint64_t to = offset + std::min(bytes, end_ - offset);
    std::optional<TaskOrder::First> first = Comparable(offset, Read(offset, to), to == end_, state);
    if (first) return std::move(*first);
    if (to == end_) Changed("it ends inside a record");
  }
}

/// Returns the first offset at or after `at` where a record begins. Works only if TaskOrder::plain() is true.
std::uint64_t RunFile::BorderAfter(std::uint64_t at) {
  const RecordLayout& layout = order_.layout();
  if (layout.fixed()) {
    return std::min(end_, begin_ + (at - begin_ + layout.stride - 1) / layout.stride * layout.stride);
  }
  return DelimitedBorder(*file_, begin_, at, end_, layout);
}

std::uint64_t RunFile::Middle(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t middle = low + (high - low) / 2;
  if (order_.plain()) {
    const std::uint64_t border = BorderAfter(middle);
    return border < high ? border : low;
  }
  std::uint64_t border = low;
  ForEach(low, high, [&](std::uint64_t offset, TaskOrder::First&&) {
    if (offset <= middle) border = offset;
  });
  return border;
}

std::vector<Fence> RunFile::MakeFences(ScanState state, std::uint64_t& fields) {
  fields = 0;
  std::vector<Fence> fences;
  const std::uint64_t step = std::max(kFenceBytes, (end_ - begin_) / kMostFences + 1);
  const auto take = [&](std::uint64_t offset, const ScanState& there) {
    std::string saved = order_.Save(there);
    fences.push_back({offset, At(offset, order_.Load(saved)).comparable, std::move(saved)});
  };
  if (order_.plain()) {
    for (std::uint64_t at = begin_; at < end_;) {
      const std::uint64_t border = BorderAfter(at);
      if (border >= end_) break;
      take(border, {});
      at = std::max(at + step, border + 1);
    }
    return fences;
  }
  if (begin_ < end_) take(begin_, state);
  std::uint64_t next = begin_ + step;
  for (std::uint64_t at = begin_; at < end_;) {
    // A piece ends where the next fence is wanted, so the next piece has the first record after that place.
    const std::uint64_t to = std::min({end_, at + kPiece, at < next ? next : at + step});
    const std::vector<std::byte> bytes = Read(at, to);
    ScanState there = state;
    const std::uint64_t first = order_.ordered().format().Scan(bytes, state).first;
    if (at >= next && first > 0 && at + first < end_) {
      order_.ordered().format().Scan(RecordSpan(bytes).first(first), there);
      take(at + first, there);
      next = std::max(next + step, to);
    }
    at = to;
  }
  fields = order_.ordered().format().NextInput(state).count;
  return fences;
}

std::vector<Fence> RunFile::MakeKeyedFences(const RecordSum& own, DumpGaps* gaps, RecordSum& sum) {
  std::vector<Fence> fences;
  const std::uint64_t step = std::max(kFenceBytes, (end_ - begin_) / kMostFences + 1);
  const RecordLayout& layout = order_.layout();
  RecordSum found;
  KeyedRunReader reader(order_.keyed_layout());
  OrderCheck check(layout, false);
  for (std::uint64_t at = begin_, next = begin_; at < end_;) {
    std::vector<std::byte> bytes;
    std::uint64_t whole = 0;
    for (std::uint64_t size = kPiece; whole == 0; size *= 4) {
      if (at + bytes.size() == end_) throw WrongResult("a run ends inside a record");
      bytes = Read(at, at + std::min(size, end_ - at));
      whole = WholeRecordBytes(bytes, layout);
    }
    const RecordSpan records = RecordSpan(bytes).first(whole);
    if (check.Add(records)) throw WrongResult("a run is not in order");
    sum += SumRecords(records, layout);
    found += SumRecords(records, order_.keyed_layout());
    ForEachRecord(records, layout, [&](RecordSpan record) {
      if (at >= next) {
        fences.push_back({at, {record.begin(), record.end()}, {}, reader.place()});
        next += step;
      }
      reader.Take(record, gaps);
      at += record.size();
    });
  }
  if (!(found == own)) throw WrongResult("the records of a run are not those that were sorted");
  return fences;
}

RunPlace RunFile::PlaceAt(std::uint64_t offset) {
  const auto next =
      std::partition_point(fences_.begin(), fences_.end(), [&](const Fence& fence) { return fence.offset <= offset; });
  if (next == fences_.begin()) return {};
  const Fence& fence = *std::prev(next);
  KeyedRunReader reader(order_.keyed_layout(), fence.place);
  reader.Take(Read(fence.offset, offset));
  return reader.place();
}

void RunFile::ForEach(std::uint64_t low, std::uint64_t high,
                      const std::function<void(std::uint64_t, TaskOrder::First&&)>& take) {
  if (low == high) return;
  const std::vector<std::byte> bytes = Read(low, high);
  ScanState state = StateAt(low);
  for (std::uint64_t at = 0; at < bytes.size();) {
    std::optional<TaskOrder::First> first = Comparable(low + at, RecordSpan(bytes).subspan(at), true, state);
    if (!first) Changed("the record at byte " + std::to_string(low + at) + " has no end");
    const std::uint64_t size = first->bytes;
    take(low + at, std::move(*first));
    at += size;
  }
}

std::uint64_t RunFile::Find(const RecordPosition& position, std::uint64_t own, bool unique, std::uint64_t low,
                            std::uint64_t high) {
  while (order_.plain() && high - low > kLook) {
    const std::uint64_t middle = Middle(low, high);
    if (middle == low) break;
    const TaskOrder::First record = At(middle);
    if (IsBefore(record.comparable, middle, own, position, unique, order_)) {
      low = middle + record.bytes;
    } else {
      high = middle;
    }
  }
  std::uint64_t found = high;
  ForEach(low, high, [&](std::uint64_t offset, TaskOrder::First&& record) {
    if (found == high && !IsBefore(record.comparable, offset, own, position, unique, order_)) found = offset;
  });
  return found;
}

std::uint64_t RunFile::Find(const RecordPosition& position, std::uint64_t own, bool unique) {
  const auto next = std::partition_point(fences_.begin(), fences_.end(), [&](const Fence& fence) {
    return IsBefore(fence.record, fence.offset, own, position, unique, order_);
  });
  if (next == fences_.begin()) return begin_;
  return Find(position, own, unique, std::prev(next)->offset, next == fences_.end() ? end_ : next->offset);
}

std::vector<std::byte> PackFences(const std::vector<Fence>& fences, const std::string& gaps, const RunLabel& label) {
  const auto front = std::as_bytes(std::span(&label, 1));
  std::vector<std::byte> bytes(front.begin(), front.end());
  const auto put_text = [&](const std::string& text) {
    const auto from = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), from.begin(), from.end());
  };
  Put(bytes, gaps.size());
  put_text(gaps);
  for (const Fence& fence : fences) {
    Put(bytes, fence.offset);
    Put(bytes, fence.record.size());
    Put(bytes, fence.state.size());
    const auto place = std::as_bytes(std::span(&fence.place, 1));
    bytes.insert(bytes.end(), place.begin(), place.end());
    bytes.insert(bytes.end(), fence.record.begin(), fence.record.end());
    put_text(fence.state);
  }
  return bytes;
}

std::vector<Fence> ReadFences(FileSystem& files, JobFolder& folder, std::uint64_t number, const TaskRun& run,
                              std::string* gaps) {
  const std::string path = folder.FencesPath(number);
  const std::unique_ptr<File> file = OpenOwn(files, path);
  std::vector<std::byte> bytes(run.fences_bytes);
  const auto fail = [&](const char* what) {
    throw Error(ErrorCode::kIntegrity, EscapeName(path) + ": " + what + ": remove it, and give its task again");
  };
  const auto damaged = [&] { fail("it is damaged"); };
  const std::uint64_t got = file->ReadAt(0, bytes);
  RunLabel label;
  if (got < sizeof label) damaged();
  std::memcpy(&label, bytes.data(), sizeof label);
  const RunLabel own = folder.LabelOf(number);
  if (!(label == own) && IsWhole(label)) fail("it has the fences of another run under this name");
  if (!(label == own) || file->Facts().size != bytes.size() || got < bytes.size() || HashOf(bytes) != run.fences_hash) {
    damaged();
  }
  std::vector<Fence> fences;
  std::size_t at = sizeof label;
  std::uint64_t gaps_bytes = 0;
  if (bytes.size() - at < sizeof gaps_bytes) damaged();
  std::memcpy(&gaps_bytes, bytes.data() + at, sizeof gaps_bytes);
  at += sizeof gaps_bytes;
  if (bytes.size() - at < gaps_bytes) damaged();
  if (gaps != nullptr) gaps->assign(reinterpret_cast<const char*>(bytes.data()) + at, gaps_bytes);
  for (at += gaps_bytes; at < bytes.size();) {
    std::uint64_t numbers[3];
    RunPlace place;
    if (bytes.size() - at < sizeof numbers + sizeof place) damaged();
    std::memcpy(numbers, bytes.data() + at, sizeof numbers);
    std::memcpy(&place, bytes.data() + at + sizeof numbers, sizeof place);
    at += sizeof numbers + sizeof place;
    if (bytes.size() - at < numbers[1] || bytes.size() - at - numbers[1] < numbers[2]) damaged();
    const auto record = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = record + static_cast<std::ptrdiff_t>(numbers[1]);
    const auto* const text = reinterpret_cast<const char*>(bytes.data()) + at + numbers[1];
    fences.push_back({numbers[0], {record, end}, {text, numbers[2]}, place});
    at += numbers[1] + numbers[2];
  }
  return fences;
}

}  // namespace gpusort
