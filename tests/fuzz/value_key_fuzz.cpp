// labels: brief
// Fuzzes keys of values of every type with arbitrary bytes. The first two bytes choose rule and direction. Two values
// follow, separated by ';'. A text that is not a value must put nothing. A value must put the same bytes each time,
// complemented if descending. No key may be a prefix of another. The text also serves as a time format and as an
// operand of -k.
#include <cstdint>
#include <string>
#include <vector>

#include "cli/column_key.hpp"
#include "formats/value_key.hpp"
#include "kernels/error.hpp"
#include "require.hpp"

namespace {

using namespace gpusort;

/// Returns the key that is put after some existing bytes.
std::string Key(const ValueKey& key, const std::string& text) {
  std::vector<std::byte> bytes(3, std::byte{'x'});
  FieldWriter out(bytes);
  out.Begin(std::uint64_t{1} << 60);
  const bool good = key.Put(text, out);
  Require(!out.reverse(), "a writer that stays reversed");
  Require(good == (bytes.size() > 3), "a value without a key, or a key of no value");
  for (const std::byte byte : bytes) Require(byte > std::byte{1} && byte != std::byte{'\n'}, "a byte that ends fields");
  return {reinterpret_cast<const char*>(bytes.data()) + 3, bytes.size() - 3};
}

bool Begins(const std::string& a, const std::string& b) { return a.size() < b.size() && b.starts_with(a); }

void CheckValues(ValueRule rule, const std::string& a, const std::string& b) {
  rule.descending = false;
  const ValueKey up(rule);
  rule.descending = true;
  const ValueKey down(rule);
  const std::string x = Key(up, a), y = Key(up, b), p = Key(down, a), q = Key(down, b);
  Require(x == Key(up, a), "a value with two keys");
  Require(x.empty() == p.empty() && y.empty() == q.empty(), "a value in one direction only");
  if (x.empty() || y.empty()) return;
  Require(!Begins(x, y) && !Begins(y, x) && !Begins(p, q) && !Begins(q, p), "a key that begins another");
  Require((x < y) == (q < p) && (x == y) == (p == q), "directions that disagree");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(bytes) + 2, count - 2);
  const std::string other = text.substr(0, text.find(';'));
  const std::string value = other.size() == text.size() ? text : text.substr(other.size() + 1);
  ValueRule rule;
  rule.type = static_cast<ValueType>(bytes[0] % (static_cast<unsigned>(ValueType::kEnum) + 1));
  if (rule.type == ValueType::kEnum) rule.labels = {"a", "b"};
  if ((bytes[1] & 1) != 0) {
    rule.decimal_point = ',';
    rule.thousands = '.';
  }
  CheckValues(rule, value, other);
  LooksLike(value);
  try {
    rule = ParseColumnKey(text).rule;
    CheckValues(rule, text, value);
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kUsage, error.what());
  }
  try {
    rule = {};
    rule.type = (bytes[1] & 2) != 0 ? ValueType::kDate : ValueType::kTimestamp;
    rule.time_format = other;
    CheckValues(rule, value, text);
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kUsage, error.what());
  }
  return 0;
}
