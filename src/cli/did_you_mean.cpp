#include "cli/did_you_mean.hpp"

#include <algorithm>
#include <cctype>

#include "support/text.hpp"

namespace gpusort {

std::string DidYouMean(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t kMostWords = 3;
  std::string text(typed);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::size_t least = std::clamp<std::size_t>(text.size() / 3, 1, 2);
  std::vector<std::string> near, begun;
  for (const std::string& word : known) {
    const std::size_t distance = EditDistance(text, word);
    if (distance < least) near.clear();
    if (distance <= least) {
      least = distance;
      near.push_back(word);
    }
    if (text.size() > 1 && word.starts_with(text)) begun.push_back(word);
  }
  const std::vector<std::string>& words = begun.empty() ? near : begun;
  if (words.empty() || words.size() > kMostWords) return "";
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : " or ") + word;
  return "; did you mean " + list + "?";
}

}  // namespace gpusort
