#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "formats/locale_keys.hpp"
#include "formats/value_keys.hpp"

namespace gpusort::keys {

bool PutHex(std::string_view text, KeyBytes& out) {
  if (text.starts_with("\\x") || text.starts_with("0x") || text.starts_with("\\X") || text.starts_with("0X")) {
    text.remove_prefix(2);
  }
  if (text.size() % 2 != 0 || std::any_of(text.begin(), text.end(), [](char c) { return HexDigit(c) < 0; })) {
    return false;
  }
  out.Put(kText);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    PutContent(static_cast<unsigned>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1])), out);
  }
  EndContent(out);
  out.End();
  return true;
}

bool PutBits(std::string_view text, KeyBytes& out) {
  if (text.size() >= 3 && Lower(text[0]) == 'b' && text[1] == '\'' && text.back() == '\'') {
    text = text.substr(2, text.size() - 3);
  }
  if (text.find_first_not_of("01") != std::string_view::npos) return false;
  for (const char digit : text) out.Put(digit == '0' ? kFirstDigit + 1 : kFirstDigit + 2);
  out.Put(kFirstDigit);
  return true;
}

bool PutSeverity(std::string_view text, KeyBytes& out) {
  // A blank stands before and after each word.
  constexpr std::string_view kLevels[] = {" trace trc verbose verb vrb finest finer t v ",
                                          " debug dbg debu fine debug1 debug2 debug3 debug4 debug5 d ",
                                          " info inf information informational log i ",
                                          " notice note n ",
                                          " warn warning wrn w ",
                                          " error err erro eror severe e ",
                                          " crit critical fatal fata ftl c f ",
                                          " alert a ",
                                          " emerg emergency panic pani "};
  TextReader reader{text.data(), text.data() + text.size()};
  if (reader.rest().ends_with(':')) --reader.end;
  constexpr std::string_view kBrackets[] = {"[]", "<>", "()"};
  for (const std::string_view pair : kBrackets) {
    if (reader.rest().size() < 3 || !reader.Is(pair[0]) || reader.end[-1] != pair[1]) continue;
    ++reader.at;
    --reader.end;
  }
  if (!std::ranges::all_of(reader.rest(), IsLetterOrDigit) || reader.done()) return false;
  const std::string word = " " + LowerText(reader.rest()) + " ";
  const auto has = [&](std::string_view words) { return words.find(word) != std::string_view::npos; };
  const auto* const level = std::ranges::find_if(kLevels, has);
  if (level == std::end(kLevels)) return false;
  out.Put(kText + static_cast<unsigned>(level - std::begin(kLevels)));
  return true;
}

namespace {

bool ReadUuid(std::string_view text, std::array<unsigned char, 16>& uuid) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  uuid.fill(0);
  unsigned digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-') {
      if (digits == 0 || digits % 4 != 0 || digits == 32 || text[i - 1] == '-') return false;
      continue;
    }
    const int digit = HexDigit(text[i]);
    if (digit < 0 || digits == 32) return false;
    uuid[digits / 2] = static_cast<unsigned char>(uuid[digits / 2] * 16 + digit);
    ++digits;
  }
  return digits == 32;
}

}  // namespace

bool IsUuid(std::string_view text) {
  std::array<unsigned char, 16> uuid;
  return ReadUuid(text, uuid);
}

void PutListed(std::optional<std::uint64_t> position, std::string_view text, KeyBytes& out) {
  constexpr unsigned kListed = kText - 1;
  out.Put(position ? kListed : kText);
  if (position) {
    PutFixed<4>(*position, out);
  } else {
    for (const char c : text) PutContent(static_cast<unsigned char>(c), out);
    EndContent(out);
  }
  out.End();
}

bool PutUuid(std::string_view text, KeyBytes& out) {
  std::array<unsigned char, 16> uuid;
  if (!ReadUuid(text, uuid)) return false;
  out.Put(kText);
  out.Put(uuid);
  out.End();
  return true;
}

bool PutBoolText(std::string_view text, KeyBytes& out) {
  using Word = std::pair<std::string_view, unsigned>;
  constexpr Word kWords[] = {{"t", kTrue},  {"true", kTrue}, {"y", kTrue},    {"yes", kTrue},
                             {"on", kTrue}, {"1", kTrue},    {"f", kFalse},   {"false", kFalse},
                             {"n", kFalse}, {"no", kFalse},  {"off", kFalse}, {"0", kFalse}};
  const auto is = [text](std::string_view word) { return IsWord(text, word); };
  const auto* const found = std::ranges::find_if(kWords, is, &Word::first);
  if (found == std::end(kWords)) return false;
  out.Put(found->second);
  return true;
}

void PutNatural(std::string_view text, KeyBytes& out) {
  const LineKey whole;
  const detail::KeyText all{reinterpret_cast<const Byte*>(text.data()), 0, text.size(), &whole};
  const int version_class = detail::VersionClass(all);
  out.Put(kFirstDigit + static_cast<unsigned>(version_class));
  if (version_class < 3) return;
  const std::uint64_t suffix = detail::VersionSuffix(all);
  detail::PutVersionPart(out, all, suffix);
  // The strings x and x0 are equal up to here, but sort -V then compares whole strings: x0.b comes before x.a.
  const bool number = text[suffix - 1] >= '0' && text[suffix - 1] <= '9';
  out.Put(kFirstDigit + (suffix == all.end ? 0U : number ? 1U : 2U));
  detail::PutVersionPart(out, {all.line, suffix, all.end, &whole}, all.end);
}

void PutCollated(std::string_view text, KeyBytes& out) {
  const TextBuffer copy = EndedText(text);
  TextBuffer weights(4 * text.size() + 64, boost::container::default_init);
  const char* const end = copy.data() + text.size();
  for (const char* part = copy.data();; ++part) {
    std::size_t size = std::strxfrm(weights.data(), part, weights.size());
    if (size >= weights.size()) {
      weights.resize(size + 1);
      size = std::strxfrm(weights.data(), part, weights.size());
    }
    for (std::size_t i = 0; i < size; ++i) PutContent(static_cast<unsigned char>(weights[i]), out);
    part += std::strlen(part);
    if (part == end) return;
    PutContent(0, out);
  }
}

}  // namespace gpusort::keys
