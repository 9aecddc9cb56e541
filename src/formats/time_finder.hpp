// Finds timestamps of all known formats, at any place in a line. Start at TimeFinder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"

namespace gpusort {

/// Returns true if a field with this name can be a timestamp, as a number of seconds since 1970.
bool IsTimeName(std::string_view name);

/// A way to write timestamps (a format), a place in the line, and those lines of the sample that have such a timestamp
/// there.
struct TimeCandidate {
  TimeShape shape;
  std::size_t form = 0;  ///< the index of the format in TimeFinder's `forms`
  LineSet lines;
  std::uint64_t at = 0, size = 0;  ///< the sums, over all lines, of the timestamp's offset and size
  bool refused = false, dropped = false;

  /// Returns true if the timestamp comes after a fixed string, such as ts= or <time>, which can be anywhere in the
  /// line.
  bool named() const { return shape.place == TimeShape::kAnywhere && shape.lead.size() > 1 && shape.lead[0] != '['; }
  /// Returns the name before the timestamp, such as "ts" for ts= and <ts>.
  std::string_view name() const;
  /// Returns true if the name before the timestamp is usual for timestamps, as in ts= or <time>.
  bool names_time() const { return IsTimeName(name()) || of_audit(); }
  /// Returns true if the name before the number shows that the number is not a timestamp, as in pid=123 or <id>123.
  bool names_number() const;
  /// Returns true if the timestamps are those of the Linux audit system, such as audit(1795471801.123:45).
  bool of_audit() const;
  /// Returns true if only the string `lead` comes before the timestamp in each line.
  bool at_front() const {
    return shape.place != TimeShape::kLabel && at == lines.count() * shape.lead.size() &&
           shape.lead.find(' ') == shape.lead.npos;
  }
};

/// Searches lines for timestamps.
class TimeFinder {
 public:
  /// `forms` must outlive this object. If `indented` is true, blanks at the beginning of a line are skipped.
  TimeFinder(const std::vector<TimeForm>& forms, TimeShape::Kind kind, bool indented);

  /// Adds candidates for the timestamps in `text`, a line of the sample. `number` is the index of the line.
  void Search(std::size_t number, std::string_view text) {
    Walk(text, kMostWords, [&](std::size_t form, const char* end, const TimeParts&, Where& where) {
      where.line = number;
      AddPlaces(form, end, where);
    });
  }

  /// The bytes that can separate the columns of a line.
  static constexpr std::string_view kSeparators = ",;|\t";
  /// The place in a line where a timestamp was found.
  struct Where {
    std::size_t line;
    const char* begin;  ///< the beginning of the line
    const char* word_begin;
    const char* time;
    unsigned word;                                     ///< the number of words before this one
    std::array<unsigned, kSeparators.size()> columns;  ///< for each separator: how often it occurred in the line so far
    std::array<const char*, kSeparators.size()> after;  ///< for each separator: the byte after its last occurrence
  };

  /// Calls take(form, end, parts, where) for each timestamp in the line `text`.
  /// - `words`: timestamps after more words are ignored, also timestamps after more than 400 bytes.
  /// - `form`: the index of the timestamp's format in the vector `forms` of the constructor
  /// - `end`: a pointer to the byte after the timestamp
  /// - `parts`: the values in the timestamp, such as the year
  /// - `where`: the place in the line at which the timestamp begins
  template <typename Take>
  void Walk(std::string_view text, unsigned words, Take take) {
    const TextReader all{text.data(), text.data() + text.size()};
    TextReader line = all;
    while (indented_ && !line.done() && IsBlankChar(*line.at)) ++line.at;
    SkipFront(line);
    constexpr std::size_t kMostSearched = 400;
    const char* const last = std::min(line.end, line.at + kMostSearched);
    Where where{0, line.at, line.at, line.at, 0, {}, {}};
    for (const char* p = line.at; p < last && where.word <= words;) {
      if (IsBlankChar(*p)) {
        if (p > line.at && p[-1] == '[') Try(blanks_, TextReader{p, line.end}, where, take);
        for (; p != line.end && IsBlankChar(*p); ++p) Separator(*p, p, where);
        ++where.word;
        TextReader word{p, line.end};
        SkipColours(word);
        where.word_begin = p = word.at;
        continue;
      }
      const char* end = nullptr;
      if (const std::vector<std::size_t>* const forms = FormsAt(p, line)) {
        end = Try(*forms, TextReader{p, line.end}, where, take);
      }
      if (end != nullptr) {
        for (; p != end; ++p) {
          if (!IsBlankChar(*p)) continue;
          while (p + 1 != end && IsBlankChar(p[1])) ++p;
          ++where.word;
          where.word_begin = p + 1;
        }
        continue;
      }
      Separator(*p, p, where);
      ++p;
    }
  }

  /// Returns the candidates that Search() has found.
  std::vector<TimeCandidate> Candidates() const;

 private:
  struct Found {
    LineSet lines;
    std::uint64_t at = 0, size = 0;
  };

  static void Separator(char c, const char* p, Where& where);
  /// Returns the indexes of the formats that a timestamp at `p` can have, or null if no timestamp can begin there.
  const std::vector<std::size_t>* FormsAt(const char* p, const TextReader& line);
  /// Calls take() for each format in `forms` that matches the beginning of `reader`. Returns the end of the longest
  /// match, or null if no format matches.
  template <typename Take>
  const char* Try(const std::vector<std::size_t>& forms, const TextReader& reader, Where& where, Take take) {
    const char* end = nullptr;
    for (const std::size_t form : forms) {
      TextReader time = reader;
      TimeParts parts;
      if (!TakeWholeTime(kind_, forms_[form].format, time, parts)) continue;
      if (!parts.instant()) continue;
      if (IsClock(forms_[form]) && time.Is(':')) continue;  // the digits and colons are an address, not a time
      where.time = reader.at;
      take(form, time.at, parts, where);
      end = std::max(end, time.at);
    }
    return end;
  }
  void AddPlaces(std::size_t form, const char* end, const Where& where);
  void Add(TimeShape::Place place, unsigned count, char separator, std::size_t form, std::string_view lead,
           const char* end, const Where& where);

  const std::vector<TimeForm>& forms_;
  const TimeShape::Kind kind_;
  const bool indented_;
  std::vector<FormFront> fronts_;
  std::array<std::vector<std::size_t>, 20> by_run_;
  std::vector<std::size_t> months_, weekdays_, capitals_, zones_, tai_, blanks_, given_, chosen_;
  std::map<std::tuple<TimeShape::Place, unsigned, char, std::size_t, std::string_view>, Found> found_;
};

}  // namespace gpusort
