// Finds the values of keys of text: fields of a line, and matches of regular expressions. Start at TextKeys.
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

/// Returns a regular expression in the syntax of RE2. An expression of ASCII characters alone matches bytes, so that
/// `.` is any byte but a newline. Any other expression, and one with \p, \P or \x{, matches characters of UTF-8. `of`
/// is the beginning of the error. Throws Error(kUsage) if `pattern` is invalid.
std::unique_ptr<re2::RE2> CompileExpression(const std::string& pattern, const std::string& of);

/// Finds the values of the keys of a job. One thread at a time may use an object. RE2 would allow several, but they
/// would wait for each other at the lock of its cache.
class TextKeys {
 public:
  /// Ignores keys that are no keys of text. Throws Error(kUsage) if a regular expression is invalid.
  explicit TextKeys(const TableOptions& table);
  ~TextKeys();
  TextKeys(TextKeys&&) noexcept;

  /// Returns the value of key number `key`, a key of text, in `text`. That is the fields, or the first group of the
  /// regular expression. If the expression has no group, it is the whole match. Returns std::nullopt if there is no
  /// such field or no match.
  std::optional<std::string_view> Find(std::size_t key, std::string_view text) const;

 private:
  const std::vector<ColumnKey>& keys_;
  const int separator_;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;  ///< by the number of the key; null for a key that has none
};

}  // namespace gpusort
