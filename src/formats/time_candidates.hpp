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
  /// Removes the candidates whose times are not at the beginning of the lines.
  void KeepFront();
  /// Removes candidates (time formats with a place in the line) that are unlikely to be the times of records, such as
  /// numbers that are IDs. If `paragraphs` is true, also removes times that are not in the first lines of paragraphs,
  /// which blank lines separate. If two forms can read the same text, such as day/month and month/day, finds out which
  /// one is right.
  void Weed(bool paragraphs);

  std::vector<TimeCandidate>::const_iterator begin() const { return all_.begin(); }
  std::vector<TimeCandidate>::const_iterator end() const { return all_.end(); }
  /// Returns true if the form of `candidate` is ambiguous, such as day/month or month/day, but Weed() has found that
  /// the form is right.
  bool IsResolved(const TimeCandidate& candidate) const;
  /// Returns true if Weed() has removed times because they are not in the first lines of paragraphs (text between blank
  /// lines).
  bool late() const { return late_; }

  /// Returns the time in a line of the sample, in seconds since 1970, or 0 if the line has no time of the given shape.
  /// `line` is the index of the line.
  std::int64_t SecondsIn(const TimeShape& shape, std::size_t line) const;
  /// Returns true if the input looks like two merged logs with the times `numbers` and `times`. At least nine of ten
  /// lines with a time of `numbers` must have no time of `times`. These lines must also be in the period of `times`,
  /// extended by one day at both ends.
  bool AreOfSameDays(const TimeCandidate& numbers, const TimeCandidate& times) const;
  /// Returns true if the times begin with the year, and the lines look like logs of Apache Hadoop or Spark, such as
  /// "26/11/23 22:10:01 INFO mapred.JobClient: text".
  bool IsOfHadoop(const TimeCandidate& candidate) const;
  /// Returns true if each line that contains a time of `candidate` ends with this time.
  bool FillsLines(const TimeCandidate& candidate) const;
  /// Returns false if at least five lines contain a time of `candidate`, and the time is the same in all of these
  /// lines. Otherwise returns true.
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
