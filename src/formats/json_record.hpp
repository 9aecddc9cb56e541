// A parser that finds the values at given paths in lines of JSON (RFC 8259). It checks that each line is valid JSON.
// Numbers are not converted, so they can have any length. Start at JsonRecords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort {

/// The white space of JSON.
inline constexpr std::string_view kJsonBlanks = " \t\r\n";

/// The place for a new first member in a JSON object.
struct FirstMemberPlace {
  std::size_t at = 0;  ///< the offset after the brace that opens the object
  bool comma = false;  ///< true: the object has members, so a comma must follow the new one
};
/// Returns the place for a new first member in `record`, or std::nullopt if `record` is no JSON object.
std::optional<FirstMemberPlace> PlaceOfFirstMember(std::string_view record);

/// The path to a value in a JSON document. A path is either names and indexes, such as `a.b[0]`, `[0].a` or `$.a`, or a
/// JSON Pointer (RFC 6901), such as `/a/b/0`. A number in a JSON Pointer is an index in an array and a name in an
/// object.
class JsonPath {
 public:
  /// One step of a path, from a value to a value inside it.
  struct Step {
    std::optional<std::string> name;       ///< the member to take if the value is an object
    std::optional<std::uint64_t> element;  ///< the index to take if the value is an array

    friend bool operator==(const Step&, const Step&) = default;
  };

  /// Throws Error(kUsage) if `text` is neither a path with dots, such as a.b[0], nor a JSON Pointer, such as /a/b/0.
  explicit JsonPath(std::string_view text);
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

struct JsonValue {
  enum class Kind : std::uint8_t { kMissing, kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kMissing;
  /// The text of the value. For a string: its content in UTF-8, without quotes and escapes. For any other kind: the
  /// JSON of the value.
  std::string_view text;
};

/// Thrown for a line that is not one JSON value. The exception has the offset of the error in the line, but not the
/// name of the file or the number of the line.
class JsonError : public std::runtime_error {
 public:
  JsonError(const char* what, std::size_t byte) : std::runtime_error(what), byte_(byte) {}
  std::size_t byte() const noexcept { return byte_; }  ///< the offset in the line of the first byte that is not JSON

 private:
  std::size_t byte_;
};

/// The error message for a record for which JsonRecords::repeated() has a value.
inline constexpr const char* kRepeatedMember = "a member with a value of --sum stands a second time in its object";

/// Finds the values at given paths in lines of JSON. Only one thread at a time may use an object.
class JsonRecords {
 public:
  /// The greatest depth to which arrays and objects can be nested. Find() throws JsonError for a deeper line.
  static constexpr std::size_t kMaxDepth = 1024;

  /// For each of the paths from index `single` on, a line must have at most one value. If an object has two members
  /// with the same name on such a path, repeated() reports this.
  explicit JsonRecords(std::vector<JsonPath> paths, std::size_t single = std::numeric_limits<std::size_t>::max());

  /// Sets values[i] to the value in `line` at the path with index i. The text of a value lies in `line` or in a buffer
  /// that the next call overwrites.
  /// - In an empty line, every value is missing. If several members have one name, the first member is used.
  /// - An unpaired surrogate, such as \ud800, is decoded as U+FFFD.
  /// - Throws JsonError if the line is not one JSON value. White space around the value is allowed.
  void Find(std::span<const std::byte> line, std::span<JsonValue> values);
  /// Returns the offset of the first repeated member in the last line. A member is repeated if its object has an
  /// earlier member with the same name, and a path from index `single` on leads through both.
  std::optional<std::size_t> repeated() const { return repeated_; }

 private:
  /// A subset of the JSON paths in paths_: the paths with the indexes order_[begin] to order_[end - 1].
  struct Paths {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// An array or object that the parser has entered and not yet left.
  struct Level {
    const char* begin;
    std::uint64_t element;  ///< for an array: the index of the next element
    Paths paths;            ///< the paths into this array or object whose next step was not found yet
    /// The paths order_[paths.end] to order_[all_end - 1] lead into this value, and their next step was already found.
    std::uint32_t all_end;
    bool object;
  };
  class Scanner;

  Paths TakeMember(std::string_view raw, bool escaped);
  /// Returns true if the innermost object had an earlier member `name` on a path from index single_ on.
  bool WasFound(std::string_view name) const;
  Paths TakeElement();
  template <typename Matches>
  Paths Take(const Matches& matches);
  void Give(Paths paths, std::size_t depth, const JsonValue& value, std::span<JsonValue> values) const;

  std::vector<JsonPath> paths_;
  const std::size_t single_;
  std::optional<std::size_t> repeated_;
  /// True: the last member that was read has the same name as an earlier member of its object.
  bool repeats_ = false;
  std::vector<std::uint32_t> order_;  ///< the indexes of paths_; every Level::paths is a range of this vector
  std::vector<Level> levels_;
  std::vector<char> strings_;  ///< the decoded text of the strings that have escapes
  std::vector<char> name_;
};

}  // namespace gpusort
