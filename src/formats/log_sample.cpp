#include "formats/log_sample.hpp"

#include <algorithm>
#include <utility>

#include "base/gnu_quote.hpp"
#include "formats/log_fields.hpp"
#include "formats/record_format.hpp"
#include "formats/text_reader.hpp"

namespace gpusort {

// The kFrontBytes bytes of most logs have the 400 lines that LearnLog() needs.
LogSample SampleOf(std::string_view front, bool any_line) {
  if (front.size() >= RecordFormat::kFrontBytes) {
    front = front.substr(0, RecordFormat::kFrontBytes);
    if (const std::size_t end = front.rfind('\n'); end != front.npos) front = front.substr(0, end + 1);
  }
  struct Kind {
    std::vector<std::string_view> lines;
    std::vector<bool> after_blank;
  } kinds[2];
  bool blank = false;
  while (!front.empty()) {
    std::string_view line = front.substr(0, front.find('\n'));
    front.remove_prefix(std::min(front.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    const bool empty = line.empty();
    if (!empty && line.find('\0') == line.npos) {
      Kind& kind = kinds[!any_line && IsBlankChar(line[0]) && line.find_first_not_of(" \t") != line.npos ? 1 : 0];
      kind.lines.push_back(line);
      kind.after_blank.push_back(blank);
    }
    blank = empty;
  }
  LogSample sample;
  Kind& kind = kinds[kinds[0].lines.empty()];
  sample.indented = any_line || kinds[0].lines.empty();
  const std::size_t count = kind.lines.size();
  // If there are too many lines, half of the sample is the first lines. The other half is spread evenly over the rest.
  for (std::size_t i = 0; i < std::min(count, kSampleLines); ++i) {
    constexpr std::size_t kHalf = kSampleLines / 2;
    const std::size_t at =
        count <= kSampleLines || i < kHalf ? i : kHalf + (i - kHalf) * (count - kHalf) / (kSampleLines - kHalf);
    sample.lines.push_back(kind.lines[at]);
    sample.after_blank[i] = kind.after_blank[at];
  }
  sample.all = std::move(kind.lines);
  return sample;
}

std::string ShownLine(std::string_view line) {
  constexpr std::size_t kMost = 100;
  return QuoteFront(line, kMost);
}

std::string_view FirstWords(std::string_view line, unsigned words) {
  constexpr std::string_view kBlanks = " \t";
  std::size_t at = std::min(line.find_first_not_of(kBlanks), line.size());
  for (; words > 0; --words) {
    at = std::min(line.find_first_of(kBlanks, at), line.size());
    at = std::min(line.find_first_not_of(kBlanks, at), line.size());
  }
  return line.substr(0, at);
}

bool IsHeaderField(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(": "));
  if (name.size() == line.size() || name.size() < 3 || IsLevelWord(name)) return false;
  const auto of_name = [](char c) { return c == '-' || c == ' ' || (IsLetterOrDigit(c) && !IsDigit(c)); };
  return name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'a' && std::ranges::all_of(name, of_name);
}

}  // namespace gpusort
