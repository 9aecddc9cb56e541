#include <algorithm>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "formats/gap_key.hpp"
#include "formats/registry.hpp"
#include "formats/table_format.hpp"
#include "kernels/error.hpp"
#include "task/run_file.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

/// Returns how many bytes are read at most to find the exact record at which a part begins. A larger range is first
/// made smaller by looking at records in its middle. Each look reads up to 64 KiB of each run if borders of records can
/// be found anywhere (`plain`); otherwise it reads all bytes between two fences.
std::uint64_t MostRead(std::uint64_t runs, bool plain) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20, kMost = std::uint64_t{64} << 20, kForRun = 128 << 10;
  return plain ? std::clamp(runs * kForRun, kLeast, kMost) : kMost;
}

/// A position in the order of all records, as the number of bytes before it in each run.
using Borders = std::vector<std::uint64_t>;

std::uint64_t SumOfBytes(const Borders& borders) {
  return std::accumulate(borders.begin(), borders.end(), std::uint64_t{0});
}

/// All runs of the job and their fences.
class TaskRuns {
 public:
  /// Reads the facts and fences of all runs. Records are read when they are needed. Throws Error(kUsage) if a run is
  /// missing, and Error(kBadInput) if runs do not fit together. `files` and `order` must outlive this object.
  TaskRuns(FileSystem& files, const std::string& folder, const TaskOrder& order)
      : files_(files), order_(order), folder_(files, folder) {
    const TaskJob job = folder_.ReadJob();
    const std::uint64_t count = job.slices;
    std::vector<std::byte> header_of_set;
    for (std::uint64_t run = 0; run < count; ++run) {
      runs_.push_back(folder_.ReadRun(run));
      std::string gaps;
      fences_.push_back(ReadFences(files, folder_, run, runs_.back(), &gaps));
      gaps_.Add(DumpGaps::Load(gaps));
      TakeHeader(runs_.back().header, run < job.set_slices ? header_of_set : header_);
      TakeEnd(run);
      tally_.Add(runs_.back().tally);
      odd_told_ += runs_.back().tally.odd_keys().count;
    }
    if (header_.empty() && HasText(header_of_set)) header_ = std::move(header_of_set);
    RequireMeeting(job);
    open_.resize(count);
    order.ordered().ReadHeader(header_);
  }

  std::size_t count() const { return runs_.size(); }
  /// Opens the file of a run. Throws Error(kIntegrity) if the file is not the one that was written.
  RunFile& file(std::size_t run) {
    if (!open_[run]) {
      open_[run] = std::make_unique<RunFile>(files_, folder_, run, begin(run), runs_[run].trailer.size(),
                                             runs_[run].bytes, order_, fences_[run]);
    }
    return *open_[run];
  }
  const std::vector<Fence>& fences(std::size_t run) const { return fences_[run]; }
  /// bytes() returns the size of the records of a run; begin() and end() return the offsets in the file at which the
  /// records begin and end.
  std::uint64_t bytes(std::size_t run) const { return end(run) - begin(run); }
  std::uint64_t begin(std::size_t run) const { return runs_[run].header.size(); }
  std::uint64_t end(std::size_t run) const { return runs_[run].bytes - runs_[run].trailer.size() - sizeof(RunLabel); }
  JobFolder& folder() { return folder_; }
  /// Returns the header of the first run that has one. Runs of --minus and --intersect come last.
  const std::vector<std::byte>& header() const { return header_; }
  const std::vector<std::byte>& trailer() const { return trailer_; }
  /// Returns the counts of the values in key columns of all runs.
  const KeyTally& tally() const { return tally_; }
  /// Returns the tally of a warning that no task of a slice could give: a row with an odd key and the statement that
  /// makes this key matter were in different slices.
  KeyTally Untold() const {
    KeyTally untold;
    if (tally_.odd_keys().count == odd_told_) return untold;
    untold.odd_rows = tally_.odd_rows;
    untold.replaced_tables = tally_.replaced_tables;
    return untold;
  }
  /// The gaps of all runs, if they are runs of a dump.
  DumpGaps& gaps() { return gaps_; }

 private:
  /// Returns true if a header has more than a byte order mark and lines as of --header-prefix.
  bool HasText(const std::vector<std::byte>& header) const {
    return !order_.ordered().format().HeaderText(header).empty();
  }
  /// Replaces `header` by `other`, the header of a later run, as one process does for its inputs.
  void TakeHeader(const std::vector<std::byte>& other, std::vector<std::byte>& header) const {
    if (header.empty() || (!HasText(header) && HasText(other))) header = other;
  }
  /// Throws Error(kIntegrity) unless the ranges of all slices meet, so that each record is in exactly one run.
  void RequireMeeting(const TaskJob& job) const {
    std::uint32_t input = 0;
    std::uint64_t at = 0;
    const auto require = [&](bool meets) {
      if (meets) return;
      throw Error(ErrorCode::kIntegrity, EscapeName(job.inputs[input].path) + ": the slices do not meet at byte " +
                                             std::to_string(at) + ": remove " + EscapeName(folder_.path()) +
                                             ", and give all tasks again");
    };
    const auto end_before = [&](std::uint64_t next) {
      for (; input < next; ++input, at = 0) require(at >= job.inputs[input].bytes);
    };
    for (const TaskRun& run : runs_) {
      for (const TaskRun::Range& range : run.ranges) {
        end_before(range.input);
        require(range.input == input && range.begin == at);
        at = range.end;
      }
    }
    end_before(job.inputs.size());
  }
  /// Adds the bytes after the last record of a run to the trailer, as one process does for its inputs.
  void TakeEnd(std::size_t number) {
    const TaskRun& run = runs_[number];
    const auto differs = [&](const std::string& what) {
      throw Error(ErrorCode::kBadInput,
                  EscapeName(folder_.RunPath(number)) + ": " + what + " differs from that of another input");
    };
    if (run.fields != 0 && fields_ != 0 && run.fields != fields_) differs("the number of fields in its records");
    fields_ = std::max(fields_, run.fields);
    if (run.trailer.empty()) return;
    const bool joins = order_.ordered().format().joins_trailers();
    if (!joins && !trailer_.empty() && run.trailer != trailer_) differs("the text after its last record");
    if (!joins) trailer_.clear();
    trailer_.insert(trailer_.end(), run.trailer.begin(), run.trailer.end());
  }

  FileSystem& files_;
  const TaskOrder& order_;
  JobFolder folder_;
  std::vector<TaskRun> runs_;
  std::vector<std::unique_ptr<RunFile>> open_;
  std::vector<std::vector<Fence>> fences_;
  std::vector<std::byte> header_, trailer_;
  KeyTally tally_;
  std::uint64_t odd_told_ = 0;  ///< the sum of odd_keys() of the slices, which their tasks have told
  DumpGaps gaps_;
  std::uint64_t fields_ = 0;
};

/// Finds the number of bytes and rows that come before `start` in the output, if the runs have sort keys. `begins` are
/// the exact offsets at which the part begins in all runs.
void CountBefore(TaskRuns& runs, const RunOffsets& begins, PartStart& start) {
  const std::uint64_t part = start.run == runs.count() ? ~std::uint64_t{0} : PartOfDump(start.record);
  DumpBefore before;
  for (std::size_t run = 0; run < runs.count(); ++run) {
    before += BeforePart(runs.file(run).PlaceAt(begins[run][0]), part);
  }
  start.before = before;
  start.bytes_before = OutputBytes(before, runs.gaps().Find(part), runs.gaps().texts);
}

class Cut {
 public:
  Cut(TaskRuns& runs, const TaskOrder& order, bool unique) : runs_(runs), order_(order), unique_(unique) {
    for (std::size_t run = 0; run < runs.count(); ++run) {
      const std::vector<Fence>& fences = runs.fences(run);
      for (std::size_t i = 0; i < fences.size(); ++i) all_.push_back({run, i});
      bytes_.push_back(runs.bytes(run));
    }
    std::sort(all_.begin(), all_.end(), [&](const At& a, const At& b) {
      const int compared = order_.Compare(FenceAt(a).record, FenceAt(b).record);
      return compared != 0 ? compared < 0 : std::pair(a.run, a.fence) < std::pair(b.run, b.fence);
    });
    // The exact number of bytes before a fence, in all runs, is not known. It is at least the bytes up to the last
    // fence of each run that sorts before the fence. It is at most the bytes up to the next fence of each run.
    std::vector<std::uint64_t> last(runs.count(), 0), next(runs.count(), 0);
    for (std::size_t run = 0; run < runs.count(); ++run) next[run] = NextFence(run, 0);
    std::uint64_t least = 0, most = SumOfBytes(next);
    for (const At& at : all_) {
      const std::uint64_t here = OffsetOf(at);
      least += here - last[at.run];
      last[at.run] = here;
      most += here - next[at.run];
      least_.push_back(least);
      most_.push_back(most);
      next[at.run] = NextFence(at.run, at.fence + 1);
      most += next[at.run] - here;
    }
  }

  std::uint64_t bytes() const { return SumOfBytes(bytes_); }

  struct Found {
    PartStart start;
    std::optional<RunOffsets> begins;  ///< set if runs were read to find the start
  };

  /// Returns the position that has `target` bytes before it, or a little more, because it lies between two records.
  Found Find(std::uint64_t target, bool fences_only) {
    const auto below = static_cast<std::size_t>(std::upper_bound(most_.begin(), most_.end(), target) - most_.begin());
    const auto above =
        static_cast<std::size_t>(std::lower_bound(least_.begin(), least_.end(), target) - least_.begin());
    if (fences_only) {
      // Takes the fence in the middle of those that may have `target` bytes before them.
      const std::size_t middle = below + (above - std::min(above, below)) / 2;
      if (middle == all_.size()) return {End(), std::nullopt};
      return {{PositionOf(all_[middle]), std::nullopt, FenceAt(all_[middle]).state}, std::nullopt};
    }
    Borders low(runs_.count(), 0), high = bytes_;
    std::optional<RecordPosition> last;
    if (below > 0) Narrow(PositionOf(all_[below - 1]), low, high, true);
    if (above < all_.size()) Narrow(last.emplace(PositionOf(all_[above])), low, high, false);
    NarrowByRecords(target, low, high, last);
    Found found = Divide(target, low, high, last);
    const std::uint64_t run = found.start.run;
    if (run < runs_.count()) found.start.state = order_.Save(runs_.file(run).StateAt(found.start.offset));
    return found;
  }

  PartStart End() const { return {{runs_.count(), 0, {}}, SumOfBytes(bytes_)}; }

  /// Returns for each run the two offsets between which `start` lies, as far as fences tell. Call this in the order of
  /// positions.
  RunOffsets Between(const PartStart& start) {
    RunOffsets begins;
    passed_.resize(runs_.count(), 0);
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      const std::vector<Fence>& fences = runs_.fences(run);
      std::size_t& passed = passed_[run];
      const auto passes = [&](const Fence& fence) {
        return start.run == runs_.count() || IsBefore(fence.record, fence.offset, run, start, unique_, order_);
      };
      while (passed < fences.size() && passes(fences[passed])) ++passed;
      // The first fence is the first record.
      const std::uint64_t high = passed < fences.size() ? fences[passed].offset : runs_.end(run);
      const bool known = passed == 0 || start.run == runs_.count() || (start.run == run && !unique_);
      begins.push_back({known ? high : fences[passed - 1].offset, high});
    }
    return begins;
  }

 private:
  struct At {
    std::size_t run, fence;
  };
  struct Held {
    std::uint64_t offset, bytes;  ///< the place of a record in the file of its run, and its size
    std::vector<std::byte> comparable;
  };
  const Fence& FenceAt(const At& at) const { return runs_.fences(at.run)[at.fence]; }
  std::uint64_t OffsetOf(const At& at) const { return FenceAt(at).offset - runs_.begin(at.run); }
  std::uint64_t NextFence(std::size_t run, std::size_t fence) const {
    return fence < runs_.fences(run).size() ? OffsetOf({run, fence}) : runs_.bytes(run);
  }
  RecordPosition PositionOf(const At& at) const { return {at.run, FenceAt(at).offset, FenceAt(at).record}; }

  /// Moves `low` or `high` closer to the wanted position, with the help of fences. If `after` is true, the wanted
  /// position is at or after `position`; otherwise it is at or before `position`.
  void Narrow(const RecordPosition& position, Borders& low, Borders& high, bool after) const {
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      const std::vector<Fence>& fences = runs_.fences(run);
      const auto first = std::partition_point(fences.begin(), fences.end(), [&](const Fence& fence) {
        return IsBefore(fence.record, fence.offset, run, position, false, order_);
      });
      const auto number = static_cast<std::size_t>(first - fences.begin());
      if (after && number > 0) low[run] = std::max(low[run], OffsetOf({run, number - 1}));
      if (!after) high[run] = std::min(high[run], NextFence(run, number));
    }
  }

  /// Moves `low` and `high` closer to the wanted position, by looking at records in the middle of the run with the
  /// widest range. Sets `last` to a position after which the result cannot be, if one is found.
  void NarrowByRecords(std::uint64_t target, Borders& low, Borders& high, std::optional<RecordPosition>& last) {
    const std::uint64_t most = MostRead(runs_.count(), order_.plain());
    while (SumOfBytes(high) - SumOfBytes(low) > most) {
      std::size_t widest = 0;
      for (std::size_t run = 1; run < runs_.count(); ++run) {
        if (high[run] - low[run] > high[widest] - low[widest]) widest = run;
      }
      RunFile& file = runs_.file(widest);
      const std::uint64_t middle = file.Middle(file.begin() + low[widest], file.begin() + high[widest]);
      if (middle == file.begin() + low[widest]) return;  // the range has only one record
      const RecordPosition position{widest, middle, file.At(middle).comparable};
      Borders there(runs_.count());
      for (std::size_t run = 0; run < runs_.count(); ++run) {
        RunFile& other = runs_.file(run);
        there[run] =
            run == widest
                ? middle - file.begin()
                : other.Find(position, run, false, other.begin() + low[run], other.begin() + high[run]) - other.begin();
      }
      const bool after = SumOfBytes(there) <= target;
      (after ? low : high) = std::move(there);
      if (!after) last = position;
    }
  }

  /// Returns the records of each run between `low` and `high`. Keeps them for the next call, because several parts may
  /// begin in the same range.
  const std::vector<std::vector<Held>>& RecordsBetween(const Borders& low, const Borders& high) {
    if (low == low_ && high == high_) return records_;
    records_.clear();
    records_.resize(runs_.count());
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      RunFile& file = runs_.file(run);
      file.ForEach(file.begin() + low[run], file.begin() + high[run],
                   [&](std::uint64_t offset, TaskOrder::First&& record) {
                     records_[run].push_back({offset, record.bytes, std::move(record.comparable)});
                   });
    }
    low_ = low;
    high_ = high;
    return records_;
  }

  /// Merges the records between `low` and `high` until `target` bytes are before the next record. If `last` has a
  /// value, its record is not in the range, and records of other runs in the range may sort after it.
  Found Divide(std::uint64_t target, const Borders& low, const Borders& high,
               const std::optional<RecordPosition>& last) {
    struct Head {
      std::size_t run = 0, number = 0;
    };
    const std::vector<std::vector<Held>>& records = RecordsBetween(low, high);
    const auto after = [&](const Head& a, const Head& b) {
      const int compared = order_.Compare(records[a.run][a.number].comparable, records[b.run][b.number].comparable);
      return compared != 0 ? compared > 0 : a.run > b.run;
    };
    std::priority_queue<Head, std::vector<Head>, decltype(after)> heads(after);
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      if (!records[run].empty()) heads.push({run, 0});
    }
    std::uint64_t before = SumOfBytes(low);
    Borders there = low;
    Found found{last ? PartStart{*last, before} : End(), std::nullopt};
    while (!heads.empty()) {
      const Head head = heads.top();
      const Held& record = records[head.run][head.number];
      if (last && !IsBefore(record.comparable, record.offset, head.run, *last, false, order_)) break;
      if (before >= target) {
        found.start = {{head.run, record.offset, record.comparable}, before};
        break;
      }
      before += record.bytes;
      there[head.run] += record.bytes;
      found.start.bytes_before = before;
      heads.pop();
      if (head.number + 1 < records[head.run].size()) heads.push({head.run, head.number + 1});
    }
    if (unique_) {  // records with the same key come after the start, too
      found.start.bytes_before.reset();
      return found;
    }
    found.begins.emplace();
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      found.begins->push_back({runs_.begin(run) + there[run], runs_.begin(run) + there[run]});
    }
    return found;
  }

  TaskRuns& runs_;
  const TaskOrder& order_;
  const bool unique_;
  std::vector<At> all_;                      ///< fences, in order
  std::vector<std::uint64_t> least_, most_;  ///< for each fence: how many bytes are before it, at least and at most
  std::vector<std::size_t> passed_;          ///< for each run: the number of fences before the last start
  Borders bytes_;
  Borders low_, high_;  ///< the range of `records_`; empty: no records were read
  std::vector<std::vector<Held>> records_;
};

}  // namespace

void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder) {
  FileSystem files;
  const JobSpec runs_spec = SpecOfRuns(spec);
  const Ordered ordered(runs_spec, true);
  const TaskOrder order(ordered);
  TaskRuns runs(files, folder, order);
  // Parts may already have been merged by the first cut. With -u, records that are lost between the parts of two cuts
  // would not be noticed.
  if (runs.folder().FindCut(parts)) {
    LogInfo("the cut into " + std::to_string(parts) + " parts is there already");
    return;
  }
  // A single slice may lack values that other slices have. All slices are known only here.
  if (spec.source.table && !spec.source.force_format) RefuseNoValues(spec, runs.tally());
  if (IsDump(spec)) {
    for (const std::string& line : DescribeTally(spec, runs.Untold())) LogWarn(line);
  }
  TaskCut cut{parts, runs.count(), runs.header(), runs.trailer(), {}, detail::RandomNumber()};
  Cut search(runs, order, KeepsGroups(spec));
  const std::uint64_t bytes = search.bytes();
  std::vector<std::optional<RunOffsets>> begins;
  const std::string gaps = runs.gaps().Save();  // closes the lists, which CountBefore() reads
  for (std::uint64_t part = 1; part < parts; ++part) {
    const std::uint64_t target = bytes / parts * part + bytes % parts * part / parts;
    // The first part gets all records of --top.
    Cut::Found found = spec.order.top > 0 ? Cut::Found{search.End(), std::nullopt} : search.Find(target, fences_only);
    if (HasKeyedRuns(spec)) found.start.bytes_before.reset();  // those of runs, which have keys
    if (HasKeyedRuns(spec) && found.begins) CountBefore(runs, *found.begins, found.start);
    cut.starts.push_back(std::move(found.start));
    begins.push_back(std::move(found.begins));
  }
  runs.folder().Write(cut, gaps, [&](std::uint64_t part) {
    if (part > 0 && part < parts) return begins[part - 1] ? *begins[part - 1] : search.Between(cut.starts[part - 1]);
    RunOffsets all;
    for (std::size_t run = 0; run < runs.count(); ++run) {
      const std::uint64_t at = part == 0 ? runs.begin(run) : runs.end(run);
      all.push_back({at, at});
    }
    return all;
  });
  LogInfo("cut " + std::to_string(runs.count()) + " runs of " + FormatBytes(bytes) + " into " + std::to_string(parts) +
          " parts");
}

std::vector<PartBorder> PartBorders(const JobSpec& spec, std::uint64_t parts, std::uint64_t run,
                                    const std::string& folder) {
  OpenCut open(spec, folder, parts);
  const TaskCut& cut = open.cut;
  if (run >= cut.runs) {
    throw Error(ErrorCode::kUsage, "run " + std::to_string(run) + ": there are " + std::to_string(cut.runs));
  }
  const TaskRun facts = open.folder.ReadRun(run);
  const std::vector<Fence> fences = ReadFences(open.files, open.folder, run, facts);
  RunFile file(open.files, open.folder, run, facts.header.size(), facts.trailer.size(), facts.bytes, open.order,
               fences);
  std::vector<PartBorder> borders{{file.begin(), {}}};
  for (const PartStart& start : cut.starts) {
    const bool ends = start.run >= cut.runs;
    PartBorder border{ends ? file.end() : file.Find(start, run, KeepsGroups(spec)), {}};
    if (HasKeyedRuns(spec) && !ends) border.before = BeforePart(file.PlaceAt(border.offset), PartOfDump(start.record));
    borders.push_back(border);
  }
  borders.push_back({file.end(), {}});
  return borders;
}

}  // namespace gpusort
