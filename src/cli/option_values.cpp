#include "cli/option_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/ascii.hpp"
#include "base/did_you_mean.hpp"

namespace gpusort {

void FailUsage(const std::string& why) { throw Error(ErrorCode::kUsage, why); }

void RequireWord(const std::string& text, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return;
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  FailUsage(InQuotes(text) + " is none of: " + all + DidYouMean(text, words));
}

std::uint64_t ParseCount(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const std::optional<std::uint64_t> value = ParseDigits(text);
  if (!value || *value < least || *value > most) {
    FailUsage(InQuotes(text) + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

unsigned ParseFanIn(std::string_view text) {
  return static_cast<unsigned>(ParseCount(text, 2, std::numeric_limits<std::int32_t>::max()));
}

std::uint64_t ParseBytes(std::string_view text) {
  const Size size = ParseSize(text, 1);
  if (size.percent) FailUsage(InQuotes(text) + " is a share; give bytes, or K M G T");
  if (size.value == 0) FailUsage("must be more than 0");
  return size.value;
}

Size ParseMemory(std::string_view text, std::uint64_t bare_unit) {
  const Size size = ParseSize(text, bare_unit);
  if (size.value == 0) FailUsage("must be more than 0");
  // No job is so small: the unit is missing.
  constexpr std::uint64_t kLeastBytes = 4096;
  if (bare_unit == 1 && size.value < kLeastBytes && text.find_first_not_of("0123456789") == text.npos) {
    FailUsage(fmt::format("{} is too small for any job; did you mean {}M or {}G?", InQuotes(text), text, text));
  }
  return size;
}

unsigned char ParseSeparator(const std::string& text) {
  if (text == "\\0") return 0;
  if (text == "\\t") return '\t';
  if (LowerText(text) == "tab") FailUsage(InQuotes(text) + " is not one character; did you mean '\\t'?");
  if (text.size() != 1) FailUsage(InQuotes(text) + " is not one character");
  return static_cast<unsigned char>(text[0]);
}

unsigned char ParseTableByte(const std::string& text) {
  const unsigned char byte = ParseSeparator(text);
  if (byte == '\n' || byte == '\r') FailUsage("the end of a line cannot be that");
  return byte;
}

std::optional<Codec> ParseCodec(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const std::optional<Codec> codec = CodecOfName(text);
  if (!codec) {
    const std::vector<std::string> names{"auto", "none",  "gz", "gzip", "bgzf", "bgzip",
                                         "bz2",  "bzip2", "xz", "zst",  "zstd", "lz4"};
    FailUsage(InQuotes(text) + " is none of: auto, none, gz, bgzf, bz2, xz, zst, lz4" + DidYouMean(text, names));
  }
  return codec;
}

void ParseDevice(const std::string& text, Limits& limits) {
  if (!text.starts_with("gpu:")) {
    limits.device = Choose<DeviceChoice>(
        text, {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"gpu", DeviceChoice::kGpu}});
    return;
  }
  limits.device = DeviceChoice::kGpu;
  // A number of a GPU follows the colon and each comma.
  for (std::string_view rest = std::string_view(text).substr(3); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view one = rest.substr(0, rest.find(','));
    limits.gpus.push_back(static_cast<int>(ParseCount(one, 0, 1023)));
    if (std::count(limits.gpus.begin(), limits.gpus.end(), limits.gpus.back()) > 1) {
      FailUsage("GPU " + std::string(one) + " is named twice");
    }
    rest.remove_prefix(one.size());
  }
}

KeyField ParseType(std::string_view text) {
  KeyField field;
  if (text.starts_with("bytes")) {
    const std::optional<std::uint64_t> length = ParseDigits(text.substr(5));
    constexpr std::uint64_t kMaxFieldBytes = std::uint64_t{1} << 30;
    if (!length || *length == 0 || *length > kMaxFieldBytes) {
      FailUsage(InQuotes(text) + " is not a type: bytesN needs a length from 1 to " + std::to_string(kMaxFieldBytes));
    }
    field.length = static_cast<std::uint32_t>(*length);
    return field;
  }
  std::string_view number = text;
  if (number.ends_with("le") || number.ends_with("be")) {
    field.big_endian = number.ends_with("be");
    number.remove_suffix(2);
  }
  struct Known {
    std::string_view name;
    KeyType type;
    std::uint32_t length;
  };
  static constexpr Known kKnown[] = {
      {"i8", KeyType::kSigned, 1},    {"i16", KeyType::kSigned, 2},   {"i32", KeyType::kSigned, 4},
      {"i64", KeyType::kSigned, 8},   {"u8", KeyType::kUnsigned, 1},  {"u16", KeyType::kUnsigned, 2},
      {"u32", KeyType::kUnsigned, 4}, {"u64", KeyType::kUnsigned, 8}, {"f32", KeyType::kFloat, 4},
      {"f64", KeyType::kFloat, 8},
  };
  for (const Known& known : kKnown) {
    if (number != known.name) continue;
    field.type = known.type;
    field.length = known.length;
    if (known.length == 1) field.big_endian = false;  // one byte has no order of bytes
    return field;
  }
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  FailUsage(InQuotes(text) +
            " is not a type: give i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 (optionally followed by le or be) or "
            "bytesN" +
            DidYouMean(text, names));
}

KeyField ParseKey(std::string_view text) {
  const auto fail = [&](const std::string& why) {
    FailUsage(InQuotes(text) + " is not a key: " + why + "; give OFFSET:TYPE[:asc|desc], like 8:i64:desc or 0:bytes10");
  };
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) fail("it has no ':'");
  const std::size_t second = text.find(':', first + 1);
  const std::string_view offset_text = text.substr(0, first);
  const std::optional<std::uint64_t> offset = ParseDigits(offset_text);
  if (!offset) fail(InQuotes(offset_text) + " is not an offset");
  KeyField field;
  try {
    field = ParseType(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
  } catch (const Error& error) {
    FailUsage(InQuotes(text) + " is not a key: " + error.what());
  }
  field.offset = *offset;
  if (second != std::string_view::npos) {
    const std::string_view direction = text.substr(second + 1);
    if (direction != "asc" && direction != "desc") fail(InQuotes(direction) + " is neither asc nor desc");
    field.descending = direction == "desc";
  }
  return field;
}

std::string FormatType(const KeyField& field) {
  if (field.type == KeyType::kBytes) return "bytes" + std::to_string(field.length);
  const char letter = field.type == KeyType::kFloat ? 'f' : field.type == KeyType::kSigned ? 'i' : 'u';
  return letter + std::to_string(8 * field.length) + (field.big_endian ? "be" : "");
}

std::string FormatKey(const KeyField& field) {
  return std::to_string(field.offset) + ":" + FormatType(field) + (field.descending ? ":desc" : "");
}

}  // namespace gpusort
