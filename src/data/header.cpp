#include "data/header.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/gnu_quote.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// How many bytes are read at first to find the end of a header.
constexpr std::uint64_t kHeaderBlock = std::uint64_t{1} << 14;
constexpr std::uint64_t kMostHeader = std::uint64_t{64} << 20;
/// A header takes at most 1/64 of the memory if the input is a stream, and 1/8 if it is a file. The headers of files
/// are known before the plan is made. The memory for the header of a stream is reserved in advance.
constexpr std::uint64_t kHeaderShare = 64, kFileHeaderShare = 8;

}  // namespace

std::uint64_t HeaderMemory(bool header, std::uint64_t limit) {
  return header ? std::min(limit / kHeaderShare, kMostHeader) : 0;
}

InputHeader::Taken InputHeader::Take(const Source& source) {
  std::vector<std::byte> header;
  std::optional<std::uint64_t> bytes;
  bool all = false;
  const std::uint64_t most = std::min(memory_limit_ / (source.once ? kHeaderShare : kFileHeaderShare), kMostHeader);
  // The number of bytes doubles each time, so that a long header is not searched too often.
  while (!bytes) {
    const std::uint64_t held = header.size();
    header.resize(held + std::max<std::uint64_t>(held, kHeaderBlock));
    std::uint64_t got = held;
    while (got < header.size() && !all) {
      const std::uint64_t more = source.read(std::span(header).subspan(got));
      got += more;
      all = more == 0;
    }
    header.resize(got);
    if (held == 0) kinds_.Look(source.path, source.expanded_path, header, all);
    try {
      // Twice the allowed number of bytes is read, so that the error message can tell the size of the header. If the
      // header is even longer, the reason is probably a record without an end.
      bytes = format_.HeaderBytes(header, all || got > 2 * most);
    } catch (const BadRecord& bad) {
      throw Error(ErrorCode::kBadInput,
                  EscapeName(source.path) + ": byte " + std::to_string(bad.at()) + " of its header: " + bad.what());
    }
  }
  if (*bytes > most) FailTooLong(source, header, *bytes, all || *bytes < header.size(), most);
  const std::uint64_t lines = all && *bytes == header.size() ? format_.header_lines() : 0;
  if (kinds_.active() && lines > 0) kinds_.LookAtHeader(source.path, header, lines);
  const auto end = header.begin() + static_cast<std::ptrdiff_t>(*bytes);
  Taken taken{0, {end, header.end()}};
  header.erase(end, header.end());
  const bool ended = header.empty() || !format_.newlines() || header.back() == static_cast<std::byte>(delimiter_);
  // A header may be only a byte order mark, which has no newline after it.
  if (!ended && format_.ends_header(header)) header.push_back(static_cast<std::byte>(delimiter_));
  taken.bytes = header.size();
  Compare(source, std::move(header));
  return taken;
}

void InputHeader::FailTooLong(const Source& source, std::span<const std::byte> front, std::uint64_t bytes, bool whole,
                              std::uint64_t most) const {
  const bool memory_helps = bytes <= kMostHeader;
  const auto lines = std::count(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(bytes), std::byte{'\n'});
  std::string why = ": its header is longer than " + FormatBytes(most) + ": it has " + (whole ? "" : "more than ") +
                    (lines > 1 ? std::to_string(lines) + " lines (comments count) of " : "one line of ") +
                    FormatBytes(bytes);
  if (memory_helps) {
    const std::uint64_t share = source.once ? kHeaderShare : kFileHeaderShare;
    why += std::string("; give ") + (whole ? "at least" : "more than") + " --memory " + SizeArgument(bytes * share);
  }
  if (format_.counts_header()) why += memory_helps ? ", or a smaller --header" : "; give a smaller --header";
  throw Error(ErrorCode::kBadInput, EscapeName(source.path) + why);
}

/// Stores the first header, and compares later ones with it. Only a byte order mark may differ. The header of an input
/// whose records the output gets replaces the header of a file of --minus or --intersect.
void InputHeader::Compare(const Source& source, std::vector<std::byte> header) {
  const RecordSpan known = format_.HeaderText(bytes_), text = format_.HeaderText(header);
  if (!text.empty() && !known.empty() && !std::ranges::equal(text, known)) {
    if (const std::string why = format_.WhyDiffers(bytes_, header); !why.empty()) {
      throw Error(ErrorCode::kBadInput, "the schemas of " + EscapeName(from_) + " and " + EscapeName(source.path) +
                                            " differ: " + why + "; only inputs of one schema can be sorted together");
    }
    const auto first = bytes_.end() - (known.end() - std::ranges::mismatch(known, text).in1);
    const auto line = 1 + std::count(bytes_.begin(), first, std::byte{'\n'});
    throw Error(ErrorCode::kBadInput, "the headers of " + EscapeName(from_) + " and " + EscapeName(source.path) +
                                          " differ at byte " + std::to_string(first - bytes_.begin()) + ", line " +
                                          std::to_string(line) +
                                          ": only inputs with the same header can be sorted together");
  }
  const bool replaces = of_set_ && !source.of_set && (!header.empty() || known.empty());
  // Lines as of --header-prefix say nothing about the records of another input.
  const bool foreign = source.of_set && others_ && text.empty();
  others_ = others_ || !source.of_set;
  if (replaces || (!header.empty() && !foreign && (!known_ || (known.empty() && !text.empty())))) {
    if (!of_set_) TellLeftOut(from_, bytes_, source.path, header);
    known_ = !header.empty();
    of_set_ = source.of_set;
    from_ = source.path;
    bytes_ = std::move(header);
  } else if (!source.of_set) {
    TellLeftOut(source.path, header, from_, bytes_);
    format_.JoinHeader(bytes_, header);
  }
}

/// Warns of lines in front of the input `path` that begin as --header-prefix says, and that the output does not get,
/// because they are not among the lines of the input `from`. A line that the input has more than once counts as left
/// out in any case: headers seldom repeat a line, and records that begin so are at the top of a sorted input.
void InputHeader::TellLeftOut(const std::string& path, RecordSpan header, const std::string& from,
                              RecordSpan kept) const {
  const auto lines_of = [this](RecordSpan bytes) {
    std::vector<std::string_view> lines;
    const RecordSpan prefix = format_.PrefixedHeader(bytes);
    std::string_view rest(reinterpret_cast<const char*>(prefix.data()), prefix.size());
    while (!rest.empty()) {
      const std::size_t size = std::min(rest.find(static_cast<char>(delimiter_)), rest.size() - 1) + 1;
      lines.push_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    return lines;
  };
  const std::vector<std::string_view> lines = lines_of(header);
  std::vector<std::string_view> known = lines_of(kept), sorted = lines;
  std::ranges::sort(known);
  std::ranges::sort(sorted);
  std::uint64_t left_out = 0, repeats = 0;
  std::string_view first;
  for (const std::string_view line : lines) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), line);
    const auto times = static_cast<std::uint64_t>(end - begin);
    if (times == 1 && std::ranges::binary_search(known, line)) continue;
    if (left_out++ > 0) continue;
    first = line.substr(0, line.size() - 1);
    repeats = times;
  }
  if (left_out == 0 || quiet_) return;
  constexpr std::size_t kMostQuoted = 100;
  LogWarn("the output has the header of " + EscapeName(from) + ", without " + Counted(left_out, "line") +
          " of that of " + EscapeName(path) + ", the first is " + QuoteFront(first, kMostQuoted) +
          (repeats > 1 ? ", which is there " + std::to_string(repeats) +
                             " times: if it is a record, sort and merge without --header-prefix"
                       : ""));
}

}  // namespace gpusort
