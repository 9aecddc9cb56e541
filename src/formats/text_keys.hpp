// Finds the values of keys that are parts of a line: fields, or matches of regular expressions. Start at TextKeys.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/column_key.hpp"

namespace re2 {
class RE2;
}

namespace gpusort {

/// Compiles a regular expression in the syntax of RE2. An expression of ASCII characters alone matches bytes, so that
/// `.` is any byte but a newline. Any other expression, and one with \p, \P or \x{, matches characters of UTF-8. Throws
/// Error(kUsage) if `pattern` is invalid. The message begins with `of`, the option or key that has the expression. Give
/// RE2 a text as {data, size}: in Debian 13, its string view is a type of its own, which std::string_view does not
/// become.
std::unique_ptr<re2::RE2> CompileExpression(const std::string& pattern, const std::string& of);

/// Finds the values of keys that are fields of a line or matches of a regular expression. One thread at a time may use
/// an object. RE2 would allow several threads, but they would wait for the lock of its cache.
class TextKeys {
 public:
  /// Uses the keys of `table` that are fields or regular expressions, and ignores other keys. Throws Error(kUsage) if a
  /// regular expression is invalid.
  explicit TextKeys(const TableOptions& table);
  ~TextKeys();
  TextKeys(TextKeys&&) noexcept;

  /// Returns the value of key number `key` in `text`, or std::nullopt if there is no such field or no match. The value
  /// is the text of the fields, or the first group of the regular expression. If the expression has no group, the value
  /// is the whole match.
  std::optional<std::string_view> Find(std::size_t key, std::string_view text) const;

 private:
  const std::vector<ColumnKey>& keys_;
  const int separator_;
  /// One regular expression per key; null for a key that is not a regular expression.
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

}  // namespace gpusort
