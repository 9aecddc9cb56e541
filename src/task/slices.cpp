#include "task/slices.hpp"

#include <algorithm>
#include <utility>

#include "error.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

constexpr std::uint64_t kScanPiece = std::uint64_t{1} << 20, kScanLook = std::uint64_t{64} << 10;
/// States of formats that depend on what is in front: CsvFormat's modes.
constexpr std::uint32_t kStates = 7;

}  // namespace

std::vector<Slices::Bytes> Slices::BytesOf(std::uint64_t number) const {
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < inputs_.count(); ++i) total += inputs_.facts(i).size;
  // Without overflow: there are fewer than 2^20 slices.
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
      if (bytes.begin > 0) range.begin = Border(bytes.input, bytes.begin, number);
      if (bytes.end < size) range.end = Border(bytes.input, bytes.end, number + 1);
      if (std::max(range.begin, inputs_.begin(bytes.input)) >= std::min(range.end, size)) continue;
    }
    records.paths.push_back(inputs_.path(bytes.input));
    records.ranges.push_back(range);
  }
  return records;
}

bool Slices::depend() const { return options_.table && options_.table->kind == TableKind::kCsv; }

RecordKeyer::Ends Slices::ScanBytes(File& file, std::uint32_t input, std::uint64_t begin, std::uint64_t end,
                                    ScanState& state) {
  try {
    return order_.ordered().keyed->Scan(ReadBytes(file, begin, end), state);
  } catch (const BadRecord& bad) {
    throw Error(ErrorCode::kBadInput, EscapeName(inputs_.path(input)) + ": byte " + std::to_string(begin + bad.at()) +
                                          ": " + bad.what());
  }
}

ScanState Slices::StateAt(File& file, std::uint32_t input, std::uint64_t at, std::uint64_t number) {
  ScanState state;
  std::uint64_t from = inputs_.begin(input);
  for (std::uint64_t slice = 0; slice < number && from < at; ++slice) {
    for (const Bytes& bytes : BytesOf(slice)) {
      if (bytes.input != input || bytes.end <= from) continue;
      if (const auto scans = folder_.FindScan(slice)) {
        const auto scan = std::find_if(scans->begin(), scans->end(), [&](const TaskScan& candidate) {
          return candidate.input == input && candidate.begin == from && candidate.end == std::min(at, bytes.end);
        });
        if (scan != scans->end() && state.mode < scan->behind.size()) {
          state.mode = scan->behind[state.mode];
          from = scan->end;
        }
      }
      while (from < std::min(at, bytes.end)) {
        const std::uint64_t to = std::min({at, bytes.end, from + kScanPiece});
        ScanBytes(file, input, from, to, state);
        from = to;
      }
    }
  }
  return state;
}

std::uint64_t Slices::Border(std::uint32_t input, std::uint64_t at, std::uint64_t number) {
  const std::uint64_t begin = inputs_.begin(input), size = inputs_.facts(input).size;
  if (at <= begin) return begin;
  const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(input), false);
  const RecordLayout& plain = order_.ordered().plain;
  if (order_.plain() && plain.fixed()) {
    return std::min(size, begin + (at - begin + plain.stride - 1) / plain.stride * plain.stride);
  }
  if (!depend()) return DelimitedBorder(*file, begin, at, size, plain);
  ScanState state = StateAt(*file, input, at, number);
  if (state.mode == 0) return at;
  for (std::uint64_t from = at; from < size;) {
    const std::uint64_t to = std::min(size, from + kScanLook);
    const std::uint64_t first = ScanBytes(*file, input, from, to, state).first;
    if (first > 0) return from + first;
    from = to;
  }
  return size;
}

std::vector<TaskScan> Slices::Scan(std::uint64_t number) {
  std::vector<TaskScan> scans;
  for (const Bytes& bytes : BytesOf(number)) {
    if (whole(bytes.input)) continue;
    TaskScan scan{bytes.input, std::max(bytes.begin, inputs_.begin(bytes.input)), bytes.end, {}};
    if (scan.begin >= scan.end) continue;
    const std::unique_ptr<File> file = files_.OpenInput(inputs_.path(bytes.input), false);
    for (std::uint32_t state = 0; state < kStates; ++state) scan.behind.push_back(state);
    // States become the same soon: in quotes, and out of them.
    for (std::uint64_t from = scan.begin, piece = 4096; from < scan.end; piece = kScanPiece) {
      const std::uint64_t to = std::min(scan.end, from + piece);
      std::vector<std::optional<unsigned>> known(kStates);
      for (std::uint32_t& behind : scan.behind) {
        std::optional<unsigned>& mode = known[behind];
        if (!mode) {
          ScanState state;
          state.mode = behind;
          ScanBytes(*file, bytes.input, from, to, state);
          mode = state.mode;
        }
        behind = *mode;
      }
      from = to;
    }
    scans.push_back(std::move(scan));
  }
  return scans;
}

}  // namespace gpusort
