#include "base/did_you_mean.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.hpp"

namespace gpusort {

std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t kMostWords = 3;
  const auto lowered = [](std::string_view word) {
    std::string lower(word);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
  };
  const std::string text = lowered(typed);
  std::size_t least = std::clamp<std::size_t>(text.size() / 3, 1, 2);
  std::vector<std::string> near, begun;
  for (const std::string& word : known) {
    const std::string lower = lowered(word);
    if (text.size() > 1 && lower.starts_with(text)) begun.push_back(EscapeName(word));
    if (lower.size() > text.size() + least || text.size() > lower.size() + least) continue;
    const std::size_t distance = EditDistance(text, lower);
    if (distance < least) near.clear();
    if (distance <= least) {
      least = distance;
      near.push_back(EscapeName(word));
    }
  }
  const std::vector<std::string>& words = begun.empty() ? near : begun;
  if (words.empty() || words.size() > kMostWords) return "";
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : " or ") + word;
  return "; did you mean " + list + "?";
}

std::string NearestFirst(std::string_view name, std::vector<std::string> names) {
  constexpr std::size_t kMostNames = 20, kMostShown = 40;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::string& other : names) ranked.emplace_back(EditDistance(name, other), std::move(other));
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string list;
  for (std::size_t i = 0; i < std::min(ranked.size(), kMostNames); ++i) {
    const std::string& shown = ranked[i].second;
    list +=
        (i > 0 ? ", '" : "'") + EscapeName(shown.substr(0, kMostShown)) + (shown.size() > kMostShown ? "...'" : "'");
  }
  return list + (ranked.size() > kMostNames ? ", ..." : "");
}

}  // namespace gpusort
