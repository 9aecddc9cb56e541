#include "base/did_you_mean.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/text.hpp"

namespace gpusort {
namespace {

/// Returns the number of letters to change, drop, insert or swap with a neighbour to turn `a` into `b`.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// A word of gpusort, and the words of other programs that mean the same, in lower case, with blanks around each.
struct OtherWords {
  std::string_view ours, others;
};
constexpr OtherWords kOtherWords[] = {
    {"--count", " --counts --frequencies --frequency "},
    {"--device", " --cpu --gpu "},
    {"--explain", " --dry-run "},
    {"--field-separator", " --separator --sep "},
    {"--force", " --overwrite "},
    {"--intersect", " --and --common --intersection "},
    {"--key", " --ascending --column --columns --order-by "},
    {"--memory", " --max-memory --memory-limit --ram "},
    {"--minus", " --difference --except --exclude --subtract "},
    {"--only-duplicates", " --duplicates --repeated "},
    {"--output", " --in-place --inplace --out "},
    {"--quiet", " --silent "},
    {"--reverse", " --desc --descending "},
    {"--shuffle", " --permute --randomize --shuf "},
    {"--sum", " --add --aggregate --group-by --sums --total --totals "},
    {"--temp-dir", " --temp --temporary --tmp --tmp-dir --tmpdir "},
    {"--threads", " --cores --cpus --jobs --workers "},
    {"--top", " --head --limit "},
    {"--unique", " --dedup --deduplicate --distinct --uniq "},
    {"binary", " bin raw "},
    {"bool", " boolean "},
    {"csv", " excel "},
    {"f32", " float32 "},
    {"f64", " double float64 number real "},
    {"float", " double float32 float64 real "},
    {"gpu", " cuda nvidia "},
    {"i8", " int8 "},
    {"i16", " int16 short "},
    {"i32", " int int32 integer "},
    {"i64", " bigint int64 long number "},
    {"int", " bigint int8 int16 int32 int64 integer long smallint "},
    {"jsonl", " ndjson "},
    {"lines", " plain text txt "},
    {"text", " char str string varchar "},
    {"timestamp", " datetime timestamptz "},
    {"tsv", " tab tabs "},
    {"u8", " byte uint8 "},
    {"u16", " uint16 "},
    {"u32", " uint32 "},
    {"u64", " uint64 "},
    {"uuid", " guid "},
};

}  // namespace

std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t kMostWords = 3;
  const std::string text = LowerText(typed);
  std::size_t least = std::clamp<std::size_t>(text.size() / 3, 1, 2);
  std::vector<std::string> words, begun, near;
  for (const auto& [ours, others] : kOtherWords) {
    if (others.find(fmt::format(" {} ", text)) == std::string_view::npos) continue;
    if (std::find(known.begin(), known.end(), ours) != known.end()) words.emplace_back(ours);
  }
  for (const std::string& word : known) {
    const std::string lower = LowerText(word);
    if (text.size() > 1 && lower.starts_with(text)) begun.push_back(EscapeName(word));
    if (lower.size() > text.size() + least || text.size() > lower.size() + least) continue;
    const std::size_t distance = EditDistance(text, lower);
    if (distance < least) near.clear();
    if (distance <= least) {
      least = distance;
      near.push_back(EscapeName(word));
    }
  }
  words.insert(words.end(), begun.begin(), begun.end());
  if (words.empty()) words = std::move(near);
  if (words.empty() || words.size() > kMostWords) return "";
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : " or ") + word;
  return fmt::format("; did you mean {}?", list);
}

std::string NearestFirst(std::string_view typed, std::vector<std::string> names) {
  constexpr std::size_t kMostNames = 20, kMostShown = 40;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::string& other : names) ranked.emplace_back(EditDistance(typed, other), std::move(other));
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string list;
  for (std::size_t i = 0; i < std::min(ranked.size(), kMostNames); ++i) {
    list += (i > 0 ? ", " : "") + InQuotes(ranked[i].second, kMostShown);
  }
  return list + (ranked.size() > kMostNames ? ", ..." : "");
}

}  // namespace gpusort
