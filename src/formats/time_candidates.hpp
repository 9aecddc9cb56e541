// Finds out where the lines of a sample have their times. A candidate is a possible answer: a way to write times (a
// form), and a place in the line. Start at TimeCandidates.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Finds candidates in a sample of lines, and decides which of them can be the times of records. A candidate is a way
/// to write times (a form), and a place in the line.
class TimeCandidates {
 public:
  /// `sample` and `forms` must outlive this object. `latest` is the latest time that a line can have.
  TimeCandidates(const LogSample& sample, const std::vector<TimeForm>& forms, std::int64_t latest)
      : sample_(sample), forms_(forms), latest_(latest) {}

  /// Searches the lines of the sample that `lines` selects, and replaces all candidates by those found there. `kind` is
  /// kGiven if the user gave the forms (--time), otherwise kKnown.
  void Search(TimeShape::Kind kind, const LineSet& lines);
  /// Removes the candidates that are not at the beginning of their lines.
  void KeepFront();
  /// Chooses among forms that can read the same texts, such as day/month and month/day (TimeForm::group). Then removes
  /// the candidates that are not the times of records. `paragraphs` is true if blank lines in the sample separate
  /// paragraphs.
  void Weed(bool paragraphs);

  std::vector<TimeCandidate>::const_iterator begin() const { return all_.begin(); }
  std::vector<TimeCandidate>::const_iterator end() const { return all_.end(); }
  /// Returns true if Weed() has chosen the form of the candidate from a group of forms that can read the same texts,
  /// such as day/month and month/day (TimeForm::group).
  bool IsResolved(const TimeCandidate& candidate) const;
  /// Returns true if a candidate was removed because its lines are not the first lines of paragraphs.
  bool late() const { return late_; }

  /// Returns the time in a line of the sample, in seconds since 1970, or 0 if the line has no time of the given shape.
  /// `line` is the index of the line.
  std::int64_t SecondsIn(const TimeShape& shape, std::size_t line) const;
  /// Returns true if at least nine of ten lines of `numbers` meet both conditions, as in merged logs:
  /// - The line has no time of the candidate `times`.
  /// - The number in the line, as seconds since 1970, lies between the earliest time of `times` minus one day and the
  ///   latest time of `times` plus one day.
  bool AreOfSameDays(const TimeCandidate& numbers, const TimeCandidate& times) const;
  /// Returns true if the form of the candidate begins with the year, and the lines look like those of Apache Hadoop or
  /// Spark. After the time, these programs write the level and the last parts of the name of a class: "26/11/23
  /// 22:10:01 INFO mapred.JobClient: text".
  bool IsOfHadoop(const TimeCandidate& candidate) const;
  /// Returns true if the lines of the candidate consist only of the time and of text before it.
  bool FillsLines(const TimeCandidate& candidate) const;
  /// Returns false if at least five lines have a time of the candidate, and all these times are equal. Otherwise
  /// returns true.
  bool Varies(const TimeCandidate& candidate) const;

 private:
  void ResolveGroups();
  bool ShownByAll(const TimeCandidate& candidate, const TimeCandidate& other) const;
  bool ShownByDates(const TimeCandidate& candidate, const TimeCandidate& other) const;
  void RefuseLateTimes();
  bool IsOfErrpt(const TimeCandidate& numbers) const;
  void RefuseNumbers();

  const LogSample& sample_;
  const std::vector<TimeForm>& forms_;
  const std::int64_t latest_;
  std::vector<TimeCandidate> all_;
  std::vector<std::size_t> resolved_;  ///< the indexes of the forms for which IsResolved() is true
  bool late_ = false;
};

}  // namespace gpusort
