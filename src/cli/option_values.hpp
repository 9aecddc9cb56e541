// Parses single values of options. All parsers throw Error(kUsage) if a value is wrong. The message quotes the value
// and does not name the option.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "io/codec/codec.hpp"
#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

[[noreturn]] void FailUsage(const std::string& why);
/// Calls parse() and returns its result. If parse() throws an Error, puts `option`, the name of the option, before the
/// message.
template <typename Parse>
auto Named(const std::string& option, Parse parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Error(error.code(), option + ": " + error.what());
  }
}

/// Throws Error(kUsage) unless `text` is one of `words`.
void RequireWord(const std::string& text, const std::vector<std::string>& words);

/// Returns the value that belongs to the word `text` in `choices`. Throws Error(kUsage) if `choices` has no such word.
template <typename T>
T Choose(const std::string& text, std::initializer_list<std::pair<const char*, T>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  RequireWord(text, names);
  std::terminate();
}

std::uint64_t ParseCount(std::string_view text, std::uint64_t least, std::uint64_t most);
/// Parses the maximum number of sorted pieces that one merge reads. The number must be at least 2.
unsigned ParseFanIn(std::string_view text);
/// Parses a size such as 64M, and returns it in bytes. Refuses 0 and a percentage.
std::uint64_t ParseBytes(std::string_view text);
/// Parses an amount of memory: a size above 0 such as 2G, or a percentage. `bare_unit` is the unit in bytes of a size
/// without a letter.
Size ParseMemory(std::string_view text, std::uint64_t bare_unit);
/// Parses one character, or the string \t for a tab or \0 for a NUL byte.
unsigned char ParseSeparator(const std::string& text);
/// Parses one character as ParseSeparator() does, but refuses a newline and a carriage return.
unsigned char ParseTableByte(const std::string& text);
/// Parses the name of a compression method, such as zstd. Returns std::nullopt for "auto".
std::optional<Codec> ParseCodec(const std::string& text);
/// Parses "auto", "cpu", "gpu" or a list of GPUs such as "gpu:0,2", and sets the device and the GPUs in `limits`.
void ParseDevice(const std::string& text, Limits& limits);

/// Parses the type of a key in binary records: bytesN, such as bytes10, or i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, each
/// with le, be or no suffix for the byte order. Sets no offset and no direction.
KeyField ParseType(std::string_view text);

/// Parses a key in binary records: OFFSET:TYPE, OFFSET:TYPE:asc or OFFSET:TYPE:desc, such as 8:i64:desc. ParseType()
/// parses TYPE.
KeyField ParseKey(std::string_view text);

/// Returns the type of `field` as a string that ParseType() parses, such as i64be.
std::string FormatType(const KeyField& field);
/// Returns `field` as a string that ParseKey() parses, such as 8:i64:desc.
std::string FormatKey(const KeyField& field);

}  // namespace gpusort
