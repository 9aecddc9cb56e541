// The first byte of a key shows whether the value is null. No key is a proper prefix of another key of the same column.
// Keys of numbers and times contain no byte that FieldWriter would have to escape. If a job sorts by several columns, a
// record has their keys one after the other.
#include "formats/value_key.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/gnu_quote.hpp"
#include "formats/locale_keys.hpp"
#include "formats/time_keys.hpp"
#include "formats/time_text.hpp"
#include "formats/value_keys.hpp"
#include "formats/zone.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using keys::KeyBytes;

using TypeName = std::pair<std::string_view, ValueType>;
/// The names of the kTypes types, and after them other names of the same types, most of them PostgreSQL's.
constexpr TypeName kTypeNames[] = {{"text", ValueType::kText},
                                   {"nocase", ValueType::kNoCase},
                                   {"natural", ValueType::kNatural},
                                   {"locale", ValueType::kLocale},
                                   {"int", ValueType::kInt},
                                   {"decimal", ValueType::kDecimal},
                                   {"float", ValueType::kFloat},
                                   {"number", ValueType::kNumber},
                                   {"bool", ValueType::kBool},
                                   {"date", ValueType::kDate},
                                   {"time", ValueType::kTime},
                                   {"timestamp", ValueType::kTimestamp},
                                   {"interval", ValueType::kInterval},
                                   {"ip", ValueType::kIp},
                                   {"macaddr", ValueType::kMacAddress},
                                   {"uuid", ValueType::kUuid},
                                   {"bytes-hex", ValueType::kBytesHex},
                                   {"bit", ValueType::kBits},
                                   {"severity", ValueType::kSeverity},
                                   {"enum", ValueType::kEnum},
                                   {"set", ValueType::kSet},
                                   {"order", ValueType::kOrder},
                                   {"json", ValueType::kText},
                                   {"int2", ValueType::kInt},
                                   {"int4", ValueType::kInt},
                                   {"int8", ValueType::kInt},
                                   {"float4", ValueType::kFloat},
                                   {"float8", ValueType::kFloat},
                                   {"numeric", ValueType::kDecimal},
                                   {"amount", ValueType::kNumber},
                                   {"money", ValueType::kNumber},
                                   {"timetz", ValueType::kTime},
                                   {"timestamptz", ValueType::kTimestamp},
                                   {"inet", ValueType::kIp},
                                   {"cidr", ValueType::kIp},
                                   {"macaddr8", ValueType::kMacAddress},
                                   {"bytea", ValueType::kBytesHex},
                                   {"varbit", ValueType::kBits}};
constexpr std::size_t kTypes = 22;

constexpr std::int64_t kSecondsOfDay = 86400;

/// Returns true if FieldWriter::Escape() changes one of the eight bytes of `word`.
bool NeedsEscape(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  // Subtracting N from a byte that is less than N sets its highest bit.
  const auto any_less = [](std::uint64_t bytes, unsigned limit) { return (bytes - kOnes * limit) & ~bytes; };
  const std::uint64_t found = any_less(word, 3) | any_less(word ^ kOnes * 9, 1) | any_less(word ^ kOnes * 10, 1);
  return (found & kOnes << 7) != 0;
}

/// Returns true if `format`, which CheckedTimeFormat() returned, has a letter for a part of a day.
bool HasClock(std::string_view format) {
  for (std::size_t at = format.find('%'); at != format.npos; at = format.find('%', at + 2)) {
    if (std::string_view("HIMSpfszZ").find(format[at + 1]) != std::string_view::npos) return true;
  }
  return false;
}

/// Appends the key of a value whose type ignores white space around it. `text` must be without that white space.
/// Timestamps and times of day are handled elsewhere. Returns false and appends nothing if the text is no value of the
/// type.
bool PutParsed(const ValueRule& rule, TextReader text, KeyBytes& out) {
  switch (rule.type) {
    case ValueType::kInt:
      return keys::PutNumber(text, rule, true, out);
    case ValueType::kDecimal:
      return keys::PutNumber(text, rule, false, out) || keys::PutSpecial(text, out);
    case ValueType::kNumber:
      return keys::PutLooseNumber(text, rule, out);
    case ValueType::kFloat:
      return keys::PutFloatText(text, rule, out);
    case ValueType::kBool:
      return keys::PutBoolText(text.rest(), out);
    case ValueType::kDate:
      return keys::PutDayText(text.rest(), out);
    case ValueType::kInterval:
      return keys::PutIntervalText(text, out);
    case ValueType::kIp:
      return keys::PutAddress(text.rest(), out);
    case ValueType::kMacAddress:
      return keys::PutMacAddress(text.rest(), out);
    case ValueType::kUuid:
      return keys::PutUuid(text.rest(), out);
    case ValueType::kBytesHex:
      return keys::PutHex(text.rest(), out);
    case ValueType::kBits:
      return keys::PutBits(text.rest(), out);
    case ValueType::kSeverity:
      return keys::PutSeverity(text.rest(), out);
    default:
      return false;
  }
}

/// Returns the timestamp in `text`, and sets `doubt`. `zones` may be null.
std::optional<Instant> ReadInstant(std::string_view text, const std::string& format, const ZoneWords* zones,
                                   ZoneDoubt& doubt) {
  std::optional<Instant> instant = format.empty() ? ParseInstant(text) : ParseInstantBy(format, text);
  if (!instant) return instant;
  doubt = {!instant->zoned, instant->zone_word};
  if (zones == nullptr) return instant;
  zones->Apply(*instant);
  if (!instant->zoned && zones->local()) instant->seconds = zones->zone().ToUtc(instant->seconds, true);
  return instant;
}

/// Returns the time of day in `text`, and sets `doubt`. `zones` may be null.
std::optional<ClockTime> ReadClock(std::string_view text, const ZoneWords* zones, ZoneDoubt& doubt) {
  std::optional<ClockTime> clock = ParseClock(text);
  if (!clock) return clock;
  doubt = {false, clock->zone_word};
  if (zones != nullptr && clock->zone_word != 0) clock->MoveTo(zones->EastOf(clock->zone_word));
  return clock;
}

}  // namespace

std::string_view ValueTypeName(ValueType type) { return std::ranges::find(kTypeNames, type, &TypeName::second)->first; }

std::optional<ValueType> FindValueType(std::string_view name) {
  const auto* const found = std::ranges::find(kTypeNames, name, &TypeName::first);
  return found == std::end(kTypeNames) ? std::nullopt : std::optional(found->second);
}

std::string ValueTypeNames() {
  std::string names;
  for (const auto& [name, type] : std::span(kTypeNames).first(kTypes)) (names += names.empty() ? "" : ", ") += name;
  return names;
}

std::optional<ValueType> LooksLike(std::string_view text) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  const TextReader all{text.data(), text.data() + text.size()};
  TextReader reader = all;
  reader.TakeSign();
  const std::size_t digits = reader.digits();
  if (digits > 0) {
    const bool zeros = *reader.at == '0' && digits > 1;
    reader.at += digits;
    if (!zeros && reader.done()) return ValueType::kInt;
    if (!zeros && reader.Take('.') && reader.digits() > 0 && keys::IsDecimal(all)) return ValueType::kDecimal;
  }
  if (text.size() == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' &&
      keys::IsUuid(text)) {
    return ValueType::kUuid;
  }
  // Text such as "a::b" is more often no address.
  if (keys::IsAddress(text) && (digits > 0 || std::count(text.begin(), text.end(), ':') > 1) &&
      std::any_of(text.begin(), text.end(), IsDigit)) {
    return ValueType::kIp;
  }
  if (digits != 4 && digits != 2) return std::nullopt;
  if (digits == 4 && ParseDay(text)) return ValueType::kDate;
  if (text.find(':') != std::string_view::npos && ParseInstant(text)) return ValueType::kTimestamp;
  return std::nullopt;
}

ValueKey::ValueKey(const ValueRule& rule, std::shared_ptr<const ZoneWords> zones)
    : rule_(rule),
      zones_(std::move(zones)),
      time_format_(CheckedTimeFormat(rule.time_format)),
      collates_(CollatesByLocale()) {
  const bool day = rule.type == ValueType::kDate;
  if (!rule.time_format.empty() && !day && rule.type != ValueType::kTimestamp) {
    throw Error(ErrorCode::kUsage, "only dates and timestamps have a format: " + QuoteWord(rule.time_format));
  }
  if (day && HasClock(time_format_)) {
    throw Error(ErrorCode::kUsage, "the format of a date has a time of day: " + QuoteWord(rule.time_format) +
                                       "; say timestamp(" + rule.time_format + ")");
  }
  for (const std::string& label : rule.labels) labels_.emplace_back(label, labels_.size());
  std::ranges::sort(labels_);
  const auto needed = [](int c) { return c >= 0 && c < 128 && std::strchr("0123456789+-eE", c) != nullptr; };
  const int point = static_cast<unsigned char>(rule.decimal_point);
  if (needed(point) || needed(rule.thousands) || point == rule.thousands) {
    throw Error(ErrorCode::kUsage, "numbers need other bytes as decimal point and between thousands");
  }
}

std::optional<std::uint64_t> ValueKey::NumberOfLabels(std::string_view text) const {
  const bool set = rule_.type == ValueType::kSet;
  std::uint64_t number = 0;
  if (set && text.empty()) return number;
  for (bool more = true; more;) {
    const std::string_view word = set ? text.substr(0, text.find(',')) : text;
    const auto found = std::ranges::lower_bound(labels_, word, {}, &std::pair<std::string, std::size_t>::first);
    if (found == labels_.end() || found->first != word) return std::nullopt;
    number |= set ? std::uint64_t{1} << found->second : found->second;
    more = word.size() < text.size();
    if (more) text.remove_prefix(word.size() + 1);
  }
  return number;
}

bool ValueKey::Lists(std::string_view text) const {
  return NumberOfLabels(TextReader::Trimmed(text).rest()).has_value();
}

bool ValueKey::Put(std::string_view text, FieldWriter& out, ZoneDoubt* doubt) const {
  constexpr ValueType kTexts[] = {ValueType::kText, ValueType::kNoCase, ValueType::kNatural, ValueType::kLocale};
  if (std::ranges::find(kTexts, rule_.type) != std::end(kTexts)) {
    PutBytes(text, out);
    return true;
  }
  KeyBytes key(out, rule_.descending);
  ZoneDoubt seen;
  if (rule_.type == ValueType::kTimestamp) {
    const std::optional<Instant> instant = ReadInstant(text, time_format_, zones_.get(), seen);
    if (!instant) return false;
    keys::PutInstant(*instant, key);
  } else if (rule_.type == ValueType::kTime) {
    const std::optional<ClockTime> clock = ReadClock(text, zones_.get(), seen);
    if (!clock) return false;
    keys::PutClock(*clock, key);
  } else if (HasLabels(rule_.type)) {
    std::optional<std::uint64_t> number = NumberOfLabels(text);
    if (!number) number = NumberOfLabels(TextReader::Trimmed(text).rest());
    if (!number) return false;
    rule_.type == ValueType::kSet ? keys::PutFixed<9>(*number, key) : keys::PutFixed<3>(*number, key);
  } else if (rule_.type == ValueType::kOrder) {
    const std::string_view word = TextReader::Trimmed(text).rest();
    keys::PutListed(NumberOfLabels(word), word, key);
    return true;
  } else if (rule_.type == ValueType::kDate && !time_format_.empty()) {
    const std::optional<Instant> instant = ParseInstantBy(time_format_, text);
    if (!instant) return false;
    keys::PutDay({0, instant->seconds / kSecondsOfDay - (instant->seconds % kSecondsOfDay < 0)}, key);
  } else if (!PutParsed(rule_, TextReader::Trimmed(text), key)) {
    return false;
  }
  key.EndPlain();
  if (doubt != nullptr) *doubt = seen;
  return true;
}

void ValueKey::PutNull(FieldWriter& out) const {
  out.Put(rule_.puts_nulls_first() ? keys::kNullFirst : keys::kNullLast);
}

void ValueKey::PutInt(std::int64_t value, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  char digits[20];
  const char* const end = std::to_chars(digits, std::end(digits), value).ptr;
  keys::PutNumber({digits, end}, {}, true, key);
  key.End();
}

bool ValueKey::PutDecimal(std::span<const std::uint16_t> digits, int weight, unsigned sign, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  if (!keys::PutNumeric(digits, weight, sign, key)) return false;
  key.End();
  return true;
}

void ValueKey::PutFloat(double value, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  keys::PutDouble(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value, key);
  key.End();
}

void ValueKey::PutBool(bool value, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  key.Put(value ? keys::kTrue : keys::kFalse);
  key.End();
}

void ValueKey::PutMicros(std::int64_t micros, FieldWriter& out, std::int64_t epoch) const {
  constexpr std::int64_t kSecond = 1'000'000;
  Instant instant;
  instant.infinite = keys::InfinityOf(micros);
  instant.seconds = micros / kSecond - (micros % kSecond < 0);
  auto part = static_cast<unsigned>(micros % kSecond + (micros % kSecond < 0 ? kSecond : 0));
  instant.seconds += epoch;
  char digits[6];
  std::size_t size = 6;
  for (unsigned i = 6; i-- > 0; part /= 10) digits[i] = static_cast<char>('0' + part % 10);
  while (size > 0 && digits[size - 1] == '0') --size;
  instant.fraction = {digits, size};
  PutInstant(instant, out);
}

void ValueKey::PutInstant(const Instant& instant, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  keys::PutInstant(instant, key);
  key.EndPlain();
}

void ValueKey::PutDays(std::int32_t days, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  keys::PutDay({keys::InfinityOf(days), days}, key);
  key.End();
}

void ValueKey::PutFixed(std::string_view bytes, FieldWriter& out) const {
  const bool reverse = rule_.descending;
  std::array<unsigned char, 1 + sizeof(std::uint64_t)> number;
  if (bytes.size() == number.size() - 1) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    if (reverse) word = ~word;
    number[0] = static_cast<unsigned char>(reverse ? ~keys::kText : keys::kText);
    std::memcpy(number.data() + 1, &word, sizeof(word));
    NeedsEscape(word) ? out.PutBytes(number.data(), number.size()) : out.PutPlain(number.data(), number.size());
    return;
  }
  KeyBytes key(out, reverse);
  key.Put(keys::kText);
  for (const char c : bytes) key.Put(static_cast<unsigned char>(c));
  key.End();
}

void ValueKey::PutBytes(std::string_view bytes, FieldWriter& out) const {
  KeyBytes key(out, rule_.descending);
  key.Put(keys::kText);
  if (rule_.type == ValueType::kNatural) {
    keys::PutNatural(bytes, key);
  } else if (rule_.type == ValueType::kLocale && collates_) {
    keys::PutCollated(bytes, key);
    keys::EndContent(key);
  } else {
    const bool folds = rule_.type == ValueType::kNoCase;
    // Most strings have only bytes that are written as they are.
    bool plain = true;
    std::uint64_t word = 0;
    for (; !folds && bytes.size() >= sizeof(word); bytes.remove_prefix(sizeof(word))) {
      std::memcpy(&word, bytes.data(), sizeof(word));
      if (keys::ArePlain(word)) {
        key.PutWord(word, sizeof(word));
        continue;
      }
      plain = false;
      for (const char c : bytes.substr(0, sizeof(word))) keys::PutContent(static_cast<unsigned char>(c), key);
    }
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(folds ? Lower(c) : c);
      plain = plain && keys::IsPlain(byte);
      keys::PutContent(byte, key);
    }
    keys::EndContent(key);
    if (plain) return key.EndPlain();
  }
  key.End();
}

}  // namespace gpusort
