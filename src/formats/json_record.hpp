// Values out of lines of JSON (RFC 8259), by their paths, for sorting by them.
// A line is checked as a whole, also what no path leads to; numbers stay the text that they are, of any length. Nothing
// is allocated for a line once the longest has been seen. Start at JsonRecords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// The path to a value in a document, in one of two forms. The first form has names with dots between them and elements
/// of arrays, from 0, in brackets: `a.b[0]`, `[0].a`; it may begin with `$.` or `$[`. The second form is a JSON Pointer
/// (RFC 6901): `/a/b/0`. A number in a pointer is an element if the value is an array, and a name if it is an object.
class JsonPath {
 public:
  /// A step from a value to a value inside it.
  struct Step {
    std::optional<std::string> name;       ///< of a member, if an object stands there
    std::optional<std::uint64_t> element;  ///< of an array, if one stands there

    friend bool operator==(const Step&, const Step&) = default;
  };

  /// Error(kUsage) if `text` is neither.
  explicit JsonPath(std::string_view text);
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

struct JsonValue {
  enum class Kind : std::uint8_t { kMissing, kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kMissing;
  bool boolean = false;
  std::string_view text;  ///< a string: what it means, in UTF-8; all others: as it is written in the line
};

/// A line that is not one JSON value. The caller knows which file and line it is.
class JsonError : public std::runtime_error {
 public:
  JsonError(const char* what, std::size_t byte) : std::runtime_error(what), byte_(byte) {}
  std::size_t byte() const noexcept { return byte_; }  ///< of the line, from 0, where it ceases to be JSON

 private:
  std::size_t byte_;
};

/// Finds values in lines. Each thread has its own.
class JsonRecords {
 public:
  /// Arrays and objects inside each other; one more is an error.
  static constexpr std::size_t kMaxDepth = 1024;

  explicit JsonRecords(std::vector<JsonPath> paths);

  /// Gives the value of each path, in the order of the paths. The values are valid until the next call and as long as
  /// the line. The line may have a delimiter and blanks around its value; an empty line lacks all values. If members
  /// have the same name, the first counts. A \u escape of half a surrogate pair means U+FFFD. Throws JsonError if the
  /// line is not one value of RFC 8259, or begins with a byte order mark.
  void Find(std::span<const std::byte> line, std::span<JsonValue> values);

 private:
  /// The paths order_[begin] to order_[end - 1].
  struct Paths {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// An array or object that is open.
  struct Level {
    const char* begin;
    std::uint64_t element;  ///< the next of an array
    Paths paths;            ///< those that lead here or further, less those that a member or element was found for
    bool object;
  };
  class Scanner;

  Paths TakeMember(std::string_view raw, bool escaped);
  Paths TakeElement();
  template <typename Matches>
  Paths Take(const Matches& matches);
  void Give(Paths paths, std::size_t depth, const JsonValue& value, std::span<JsonValue> values) const;

  std::vector<JsonPath> paths_;
  std::vector<std::uint32_t> order_;  ///< of paths: those of a level are together
  std::vector<Level> levels_;
  std::vector<char> strings_;  ///< those of the line that have escapes, without
  std::vector<char> name_;
};

}  // namespace gpusort
