// Finds out where the lines of a sample have their timestamps. A candidate is a possible answer: a way to write
// timestamps (a format), and a place in the line. Start at TimeCandidates.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Finds candidates in a sample of lines, and decides which of them can be the timestamps of records. A candidate is a
/// way to write timestamps (a format), and a place in the line.
class TimeCandidates {
 public:
  /// `sample` and `forms` must outlive this object. `latest` is the latest timestamp that a line can have.
  TimeCandidates(const LogSample& sample, const std::vector<TimeForm>& forms, std::int64_t latest)
      : sample_(sample), forms_(forms), latest_(latest) {}

  /// Finds all candidates in the lines of the sample that are in `lines`. Forgets earlier candidates.
  /// - `kind`: kGiven if the user gave the formats of timestamps (--time), otherwise kKnown
  void Search(TimeShape::Kind kind, const LineSet& lines);
  /// Removes the candidates whose timestamps are not at the beginning of the lines.
  void KeepFront();
  /// Removes candidates that are probably not the timestamps of records, such as numbers that are IDs.
  /// - If `paragraphs` is true, also removes timestamps that are not in the first line of a paragraph (lines between
  ///   blank lines).
  void Weed(bool paragraphs);

  std::vector<TimeCandidate>::const_iterator begin() const { return all_.begin(); }
  std::vector<TimeCandidate>::const_iterator end() const { return all_.end(); }
  /// Returns true if the format of `candidate` is ambiguous, such as day/month or month/day, but Weed() has found that
  /// the format is right.
  bool IsResolved(const TimeCandidate& candidate) const;
  /// Returns true if Weed() has removed timestamps because they are not in the first line of a paragraph.
  bool weeded() const { return weeded_; }

  /// Returns the timestamp in a line of the sample, in seconds since 1970, or 0 if the line has no timestamp of the
  /// given shape. `line` is the index of the line.
  std::int64_t SecondsIn(const TimeShape& shape, std::size_t line) const;
  /// Returns true if the sample may be a mixture of two logs from the same days: one whose timestamps are the numbers
  /// of `numbers`, and one whose timestamps are those of `times`.
  bool AreOfSameDays(const TimeCandidate& numbers, const TimeCandidate& times) const;
  /// Returns true if the timestamps begin with the year, and the lines look like logs of Apache Hadoop or Spark, such
  /// as "26/11/23 22:10:01 INFO mapred.JobClient: text".
  bool IsOfHadoop(const TimeCandidate& candidate) const;
  /// Returns true if each line that contains a timestamp of `candidate` ends with this timestamp.
  bool FillsLines(const TimeCandidate& candidate) const;
  /// Returns false if five or more lines have a timestamp of `candidate`, and all these timestamps are equal.
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
  std::vector<std::size_t> resolved_;  ///< the indexes of the formats for which IsResolved() is true
  bool weeded_ = false;
};

}  // namespace gpusort
