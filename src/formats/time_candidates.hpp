// The candidates for the times of a sample of lines. A candidate is a form of times at a place in the line. Start at
// TimeCandidates.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/log_forms.hpp"
#include "formats/log_sample.hpp"
#include "formats/log_times.hpp"
#include "formats/time_finder.hpp"

namespace gpusort {

/// Finds candidates (forms of times at places in the line) in a sample, and decides which of them can be the times of
/// records.
class TimeCandidates {
 public:
  /// `sample` and `forms` must outlive this object. `latest` is the latest time that a line can have.
  TimeCandidates(const LogSample& sample, const std::vector<TimeForm>& forms, std::int64_t latest)
      : sample_(sample), forms_(forms), latest_(latest) {}

  /// Searches those lines of the sample that are in `lines`, and replaces the candidates by what it finds. `kind` is
  /// the kind of all forms.
  void Search(TimeShape::Kind kind, const LineSet& lines);
  /// Removes the candidates that are not at the beginning of their lines.
  void KeepFront();
  /// Decides which form of each group (TimeForm::group) can be used. Refuses or removes candidates that are no times of
  /// records. `paragraphs` is true if blank lines in the sample separate paragraphs.
  void Weed(bool paragraphs);

  std::vector<TimeCandidate>::const_iterator begin() const { return all_.begin(); }
  std::vector<TimeCandidate>::const_iterator end() const { return all_.end(); }
  const TimeForm& FormOf(const TimeCandidate& candidate) const { return forms_[candidate.form]; }
  /// Returns true if the lines show that the form of the candidate can be used, although other forms of its group can
  /// read the same texts.
  bool IsResolved(const TimeCandidate& candidate) const;
  /// Returns true if a candidate was removed because its lines are not the first lines of paragraphs.
  bool late() const { return late_; }

  /// Returns the time in a line of the sample, in seconds since 1970, or 0 if the line has no time of the given shape.
  /// `line` is the index of the line.
  std::int64_t SecondsIn(const TimeShape& shape, std::size_t line) const;
  /// Returns true if nine of ten lines of `numbers` have no time of `times`, and the numbers there mean the same days
  /// as the lines of `times`. Merged logs have such lines.
  bool AreOfSameDays(const TimeCandidate& numbers, const TimeCandidate& times) const;
  /// Returns true if the form of the candidate begins with the year, and the lines look like those of Apache Hadoop or
  /// Spark. After the time, these programs write the level and the last parts of the name of a class: "26/11/23
  /// 22:10:01 INFO mapred.JobClient: text".
  bool IsOfHadoop(const TimeCandidate& candidate) const;
  /// Returns true if the lines of the candidate consist only of the time and of text before it.
  bool FillsLines(const TimeCandidate& candidate) const;
  /// Returns true if the times of the candidate differ, or if fewer than five lines have one.
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
