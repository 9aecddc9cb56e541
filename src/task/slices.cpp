#include "task/slices.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kScanPiece = std::uint64_t{1} << 20, kScanLook = std::uint64_t{64} << 10;

}  // namespace

std::vector<Slices::Bytes> Slices::BytesOf(std::uint64_t number) const {
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < inputs_.count(); ++i) total += inputs_.facts(i).size;
  // The products do not overflow, because there are fewer than 2^20 slices.
  const auto border = [&](std::uint64_t slice) { return total / count_ * slice + total % count_ * slice / count_; };
  const std::uint64_t begin = border(number), end = border(number + 1);
  std::vector<Bytes> bytes;
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < inputs_.count(); ++i) {
    const std::uint64_t first = at;
    at += inputs_.facts(i).size;
    if (at <= begin || first >= end) continue;
    bytes.push_back({i, std::max(begin, first) - first, std::min(end, at) - first});
  }
  return bytes;
}

Slices::Records Slices::Of(std::uint64_t number) {
  Records records;
  for (const Bytes& bytes : BytesOf(number)) {
    const std::uint64_t size = inputs_.facts(bytes.input).size;
    ByteRange range;
    if (whole(bytes.input)) {
      if (bytes.begin > 0) continue;
    } else {
      if (bytes.begin > 0) {
        Place place = Border(bytes.input, bytes.begin, number);
        range.begin = place.at;
        range.state = std::move(place.state);
      }
      if (bytes.end < size) range.end = Border(bytes.input, bytes.end, number + 1).at;
      range.inside = range.end < size;
      // The end of an input belongs to the slice of the last record.
      if (range.begin >= (range.inside ? range.end : size)) continue;
    }
    records.paths.push_back(inputs_.path(bytes.input));
    records.ranges.push_back(range);
  }
  return records;
}

RecordFormat::Ends Slices::ScanBytes(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end,
                                     ScanState& state) {
  try {
    return order_.ordered().format().Scan(ReadBytes(file, begin, end), state);
  } catch (const BadRecord& bad) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(inputs_.path(input)) + ": byte " + std::to_string(begin + bad.at()) + ": " + bad.what());
  }
}

void Slices::Walk(File& file, std::uint32_t input, std::uint64_t from, std::uint64_t to, ScanState& state) {
  while (from < to) {
    const std::uint64_t end = std::min(to, from + kScanPiece);
    ScanBytes(file, input, from, end, state);
    from = end;
  }
}

Slices::Place Slices::BorderAfter(File& file, std::uint32_t input, std::uint64_t from, ScanState state) {
  const std::uint64_t size = inputs_.facts(input).size;
  while (from < size) {
    const std::uint64_t to = std::min(size, from + kScanLook);
    ScanState there = state;
    const std::uint64_t first = ScanBytes(file, input, from, to, state).first;
    if (first > 0) {
      ScanBytes(file, input, from, from + first, there);
      return {from + first, order_.Save(there)};
    }
    from = to;
  }
  return {size};
}

ScanState Slices::StateAt(File& file, std::uint32_t input, std::uint64_t at, std::uint64_t number) {
  ScanState state;
  std::uint64_t from = inputs_.begin(input);
  for (std::uint64_t slice = 0; slice < number && from < at; ++slice) {
    for (const Bytes& bytes : BytesOf(slice)) {
      const std::uint64_t end = std::min(at, bytes.end - 1);
      if (bytes.input != input || end <= from) continue;
      if (const auto scans = folder_.FindScan(slice)) {
        const auto scan = std::find_if(scans->begin(), scans->end(), [&](const TaskScan& candidate) {
          return candidate.input == input && candidate.begin == from && candidate.end == end;
        });
        if (scan != scans->end() && state.mode < scan->after.size() && scan->after[state.mode] < modes_) {
          state.mode = scan->after[state.mode];
          from = scan->end;
        }
      }
      Walk(file, input, from, end, state);
      from = end;
    }
  }
  return state;
}

/// Returns the border that the scan of an input from its beginning has found. The slice with the beginning has it.
std::optional<Slices::Place> Slices::ScannedBorder(std::uint32_t input, std::uint64_t at, std::uint64_t number) {
  if (modes_ != 0) return std::nullopt;
  for (std::uint64_t slice = 0; slice < number; ++slice) {
    const std::vector<Bytes> all = BytesOf(slice);
    if (std::none_of(all.begin(), all.end(), [&](const Bytes& bytes) { return bytes.input == input; })) continue;
    for (const TaskScan& scan : folder_.FindScan(slice).value_or(std::vector<TaskScan>())) {
      if (scan.input == input && scan.begin == at) return Place{scan.end, scan.state};
    }
    break;
  }
  return std::nullopt;
}

Slices::Place Slices::Border(std::uint32_t input, std::uint64_t at, std::uint64_t number) {
  const std::uint64_t begin = inputs_.begin(input), size = inputs_.facts(input).size;
  if (at <= begin) return {begin};
  const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(input), false);
  const RecordLayout& plain = order_.ordered().plain;
  if (order_.plain() && plain.fixed()) {
    return {std::min(size, begin + (at - begin + plain.stride - 1) / plain.stride * plain.stride)};
  }
  if (!depend()) return {DelimitedBorder(*file, begin, at, size, plain)};
  if (const auto border = ScannedBorder(input, at, number)) return *border;
  return BorderAfter(*file, input, at - 1, StateAt(*file, input, at - 1, number));
}

std::vector<TaskScan> Slices::ScanFromFront(std::uint32_t input, std::uint64_t number) {
  std::vector<TaskScan> scans;
  const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(input), false);
  ScanState state;
  std::uint64_t from = inputs_.begin(input), end = 0;
  for (std::uint64_t slice = number; end < inputs_.facts(input).size; ++slice) {
    for (const Bytes& bytes : BytesOf(slice)) {
      if (bytes.input != input) continue;
      end = bytes.end;
      if (end <= from) continue;
      Walk(*file, input, from, end - 1, state);
      from = end - 1;
      Place border = BorderAfter(*file, input, from, state);
      scans.push_back({input, end, border.at, {}, std::move(border.state)});
    }
  }
  return scans;
}

std::vector<TaskScan> Slices::Scan(std::uint64_t number) {
  std::vector<TaskScan> scans;
  for (const Bytes& bytes : BytesOf(number)) {
    if (whole(bytes.input)) continue;
    if (modes_ == 0) {
      if (bytes.begin == 0) std::ranges::move(ScanFromFront(bytes.input, number), std::back_inserter(scans));
      continue;
    }
    TaskScan scan{bytes.input, ScanFrom(bytes), std::max<std::uint64_t>(bytes.end, 1) - 1, {}};
    if (scan.begin >= scan.end) continue;
    const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(bytes.input), false);
    for (std::uint32_t mode = 0; mode < modes_; ++mode) scan.after.push_back(mode);
    // Different modes soon become the same mode, inside or outside of quotes, so each is scanned once.
    for (std::uint64_t from = scan.begin, piece = 4096; from < scan.end; piece = kScanPiece) {
      const std::uint64_t to = std::min(scan.end, from + piece);
      std::vector<std::optional<unsigned>> known(modes_ + 1);
      known[modes_] = modes_;
      for (std::uint32_t& after : scan.after) {
        std::optional<unsigned>& mode = known[after];
        if (!mode) mode = ModeAfter(*file, bytes.input, from, to, after);
        after = *mode;
      }
      from = to;
    }
    scans.push_back(std::move(scan));
  }
  return scans;
}

/// Returns the number of modes, which is no mode, if no record can follow `mode`. A task that begins in it reports why.
unsigned Slices::ModeAfter(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end, unsigned mode) {
  ScanState state;
  state.mode = mode;
  try {
    ScanBytes(file, input, begin, end, state);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    return modes_;
  }
  return std::min(state.mode, modes_);
}

}  // namespace gpusort
