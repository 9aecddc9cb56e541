// labels: brief
// Fuzzes keys with arbitrary text: the argument of -k, or of +F -F if it begins with '+' (a NUL separates start and
// end). The result must be a key or kUsage, as the grammar of GNU sort says. The key written out again must be the same
// key.
#include <cstdint>
#include <optional>
#include <regex>
#include <string>

#include "cli/key_def.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/fields.hpp"
#include "kernels/lines/line_order.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

/// Returns the result of `parse`, or std::nullopt if it throws the expected error.
template <typename Parse>
std::optional<KeyDef> Parsed(const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kUsage, error.what());
    Require(std::string(error.what()).find('\n') == std::string::npos, "a complaint of two lines");
    return std::nullopt;
  }
}

bool Zero(const std::string& count) { return !count.empty() && count.find_first_of("123456789") == std::string::npos; }

/// The grammar of -k, independent of the parser.
bool IsKeyDef(const std::string& text) {
  static const std::string count = "([ \\t\\n\\v\\f\\r]*\\+?[0-9]+)", letters = "[bdfghiMnRrV]*";
  static const std::regex grammar(count + "(?:\\." + count + ")?" + letters + "(?:," + count + "(?:\\." + count + ")?" +
                                  letters + ")?");
  std::smatch parts;
  return std::regex_match(text, parts, grammar) && !Zero(parts[1]) && !Zero(parts[2]) && !Zero(parts[3]);
}

std::string Letters(KeyOptions options, bool start) {
  (start ? options.skip_end_blanks : options.skip_start_blanks) = false;
  std::string letters = options.letters();
  if (options.dictionary_order && options.ignore_nonprinting) letters += 'i';
  return letters;
}

void CheckKeyDef(const std::string& text) {
  const std::optional<KeyDef> key = Parsed([&] { return ParseKeyDef(text); });
  Require(key.has_value() == IsKeyDef(text), "another verdict than the grammar's");
  if (!key) return;
  std::string again =
      std::to_string(key->begin_field + 1) + "." + std::to_string(key->begin_char + 1) + Letters(key->options, true);
  if (key->end_field != LineKey::kToEnd) {
    again += "," + std::to_string(key->end_field + 1) + "." + std::to_string(key->end_char);
    if (key->options.skip_end_blanks) again += 'b';
  }
  Require(ParseKeyDef(again) == *key, "a key that is another one when it is written out");

  // The search for the key in any line must stay inside the line.
  try {
    const LineOrder order = MakeLineOrder(ResolveKeys({*key}, {}), {}, -1, true);
    const auto* const line = reinterpret_cast<const Byte*>(text.data());
    const KeyRange range = FindKey(line, text.size(), order.keys[0], -1);
    Require(range.begin <= range.end && range.end <= text.size(), "a key outside of its line");
    Require(CompareLines(line, text.size(), line, text.size(), order.view()) == 0, "a line that differs from itself");
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kUsage, error.what());  // for letters that exclude each other
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count > 200) return 0;  // std::regex is recursive
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  CheckKeyDef(text);
  if (!text.starts_with('+')) return 0;
  const std::size_t nul = text.find('\0');
  std::optional<std::string> end;
  if (nul != std::string::npos) end = "-" + text.substr(nul + 1);
  const std::optional<KeyDef> key = Parsed([&] {
    const std::optional<KeyDef> found = ParseObsolescentKey(text.substr(0, nul), end);
    return found ? *found : KeyDef{};
  });
  if (key && key->obsolescent) Require(end.has_value() || key->end_field == LineKey::kToEnd, "an end from nowhere");
  return 0;
}
