// Parsers of single values of options. Each throws Error(kUsage) that quotes the value and does not name the option.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/did_you_mean.hpp"
#include "base/text.hpp"
#include "io/codec/codec.hpp"
#include "kernels/error.hpp"
#include "kernels/records/record.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

[[noreturn]] void FailUsage(const std::string& why);
/// The text in quotes, escaped for a message.
std::string InQuotes(std::string_view text);

/// Runs `parse` and puts the option's name before what it complains about.
template <typename Parse>
auto Named(const std::string& option, Parse parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Error(error.code(), option + ": " + error.what());
  }
}

/// Refuses `text` unless it is one of `words`.
void RequireWord(const std::string& text, const std::vector<std::string>& words);

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
/// The number of runs that a merge takes at once.
unsigned ParseFanIn(std::string_view text);
/// A size in bytes above 0. Refuses a share, which has no meaning without a limit.
std::uint64_t ParseBytes(std::string_view text);
/// A size above 0 or a share. A number without a unit counts `bare_unit` bytes.
Size ParseMemory(std::string_view text, std::uint64_t bare_unit);
/// One character, or \0 for NUL.
unsigned char ParseSeparator(const std::string& text);
/// One character, \0 or \t, that does not end a line.
unsigned char ParseTableByte(const std::string& text);
/// Returns std::nullopt for auto.
std::optional<Codec> ParseCodec(const std::string& text);
/// Takes auto, cpu, gpu, or gpu: and numbers with commas between them.
void ParseDevice(const std::string& text, Limits& limits);

/// i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, each with an optional le (the default) or be; bytesN. At offset 0, ascending.
KeyField ParseType(std::string_view text);

/// OFFSET:TYPE or OFFSET:TYPE:asc or OFFSET:TYPE:desc, TYPE as for ParseType.
KeyField ParseKey(std::string_view text);

/// The inverses of ParseType (ignores offset and direction) and ParseKey.
std::string FormatType(const KeyField& field);
std::string FormatKey(const KeyField& field);

}  // namespace gpusort
