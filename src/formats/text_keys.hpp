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

/// Compiles the regular expression `pattern` in the syntax of RE2. In the expression, `.` matches a byte if `pattern`
/// is ASCII and has no \p, \P or \x{, and otherwise a UTF-8 character. Throws Error(kUsage) if `pattern` is invalid.
/// `of` is the name of the option or key, for the error message. Pass texts to RE2 as {data, size}: not all versions
/// accept std::string_view.
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

  /// Returns the value of the key with the index `key` in `text`, or std::nullopt if there is no such field or no
  /// match. For a key of fields, the value is the text of the fields. For a regular expression, the value is the first
  /// group, or the whole match if the expression has no group.
  std::optional<std::string_view> Find(std::size_t key, std::string_view text) const;

 private:
  const std::vector<ColumnKey>& keys_;
  const int separator_;
  /// One pointer for each key. Null: the key is not a regular expression.
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

}  // namespace gpusort
