// The candidates for the times of a sample: forms of times at places in the line. Start at TimeCandidates.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Returns true if the candidate's form is that of web servers, such as 23/Nov/2026:22:10:01 +0100.
bool IsCommonLog(const TimeCandidate& candidate);

/// Finds candidates in the lines of a sample, and tells which of them can be times of records.
class TimeCandidates {
 public:
  /// `sample` and `forms` must outlive this object. `latest` is the latest time that a line can have.
  TimeCandidates(const LogSample& sample, const std::vector<TimeForm>& forms, std::int64_t latest)
      : sample_(sample), forms_(forms), latest_(latest) {}

  /// Searches the lines of the sample that are in `lines`. `kind` is the kind of all forms.
  void Search(TimeShape::Kind kind, const LineSet& lines);
  /// Drops the candidates that are not at the front of their lines.
  void KeepFront();
  /// Decides which form of a group can be used, and refuses or drops candidates that are no times of records. If
  /// `paragraphs` is true, blank lines in the sample separate paragraphs.
  void Weed(bool paragraphs);

  std::vector<TimeCandidate>::const_iterator begin() const { return all_.begin(); }
  std::vector<TimeCandidate>::const_iterator end() const { return all_.end(); }
  const TimeForm& FormOf(const TimeCandidate& candidate) const { return forms_[candidate.form]; }
  /// Returns true if other lines show that the form can be used, although its texts are times in other forms, too.
  bool IsResolved(const TimeCandidate& candidate) const;
  /// Returns true if a candidate was dropped because its lines are not the first lines of paragraphs.
  bool late() const { return late_; }

  /// Returns the seconds since 1970 of the time in a line of the sample, or 0 if the line has no time of the shape.
  std::int64_t SecondsIn(const TimeShape& shape, std::size_t line) const;
  /// Returns true if nine of ten lines of `numbers` have no other time, and their numbers mean the same days as the
  /// lines of `times`. Merged logs have such lines.
  bool AreOfSameDays(const TimeCandidate& numbers, const TimeCandidate& times) const;
  /// Returns true if the year stands first in the candidate's form, and the lines resemble those of Apache Hadoop or
  /// Spark. Both write the level and the last parts of the name of a class after the time: "26/11/23 22:10:01 INFO
  /// mapred.JobClient: text".
  bool IsOfHadoop(const TimeCandidate& candidate) const;
  /// Returns true if the lines of the candidate consist only of the time.
  bool FillsLines(const TimeCandidate& candidate) const;
  /// Returns false if the candidate's times are all the same.
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
  std::vector<std::size_t> resolved_;  ///< the forms of groups that only one form of the group can read in some line
  bool late_ = false;
};

}  // namespace gpusort
