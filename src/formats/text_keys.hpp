// Finds the values of sort keys that are parts of a line: fields, or matches of regular expressions. Start at TextKeys.
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

/// Compiles a regular expression. Throws Error(kUsage) if it is invalid.
/// - `pattern`: the expression in the syntax of RE2
/// - `of`: the option or key with the expression, for the error message
std::unique_ptr<re2::RE2> CompileExpression(const std::string& pattern, const std::string& of);

/// Finds the values of sort keys that are fields of a line or matches of a regular expression. Only one thread at a
/// time may use an object. RE2 allows several threads, but they would wait for the lock of its cache.
class TextKeys {
 public:
  /// Uses the keys of `table` that are fields or regular expressions, and ignores the other keys. Throws Error(kUsage)
  /// if a regular expression is invalid. `table` must outlive this object.
  explicit TextKeys(const TableOptions& table);
  ~TextKeys();
  TextKeys(TextKeys&&) noexcept;

  /// Returns the value of the sort key with the index `key` in `text`, or std::nullopt if `text` has none.
  /// - A key such as 3 or 3,4: the bytes of these fields
  /// - A regular expression: the match of its first group, or the whole match if it has no group
  std::optional<std::string_view> Find(std::size_t key, std::string_view text) const;

 private:
  const std::vector<ColumnKey>& keys_;
  const int separator_;
  /// One pointer for each key. Null: the key is not a regular expression.
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

}  // namespace gpusort
