#include "formats/text_value_keys.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "formats/locale_keys.hpp"
#include "formats/text_reader.hpp"

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
