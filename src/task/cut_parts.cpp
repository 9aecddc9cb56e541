#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

#include "base/log.hpp"
#include "formats/table_format.hpp"
#include "kernels/error.hpp"
#include "task/run_file.hpp"
#include "task/task_runs.hpp"
#include "task/tasks.hpp"

namespace gpusort {
namespace {

/// What is read to cut at the very record that divides the bytes; before that, records in the middle of what is in
/// question narrow it down.
constexpr std::uint64_t kMostRead = std::uint64_t{64} << 20;

/// A border in every run: bytes of records in front of it, from the run's beginning on.
using Borders = std::vector<std::uint64_t>;

std::uint64_t SumOfBytes(const Borders& borders) {
  return std::accumulate(borders.begin(), borders.end(), std::uint64_t{0});
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
    // In front of a fence are at least the bytes up to the last fences that order before it, and at most those up to
    // the next ones.
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
    CutPlace place;
    std::optional<PartBegins> begins;  ///< if runs were read for it
  };

  /// The place with `target` bytes in front of it, or as few more as records allow.
  Found Place(std::uint64_t target, bool fences_only) {
    const auto below = static_cast<std::size_t>(std::upper_bound(most_.begin(), most_.end(), target) - most_.begin());
    const auto above = static_cast<std::size_t>(std::lower_bound(least_.begin(), least_.end(), target) - least_.begin());
    if (fences_only) {
      // The fence whose bounds lie about the target.
      const std::size_t middle = below + (above - std::min(above, below)) / 2;
      if (middle == all_.size()) return {End(), std::nullopt};
      return {{PlaceOf(all_[middle]), std::nullopt, FenceAt(all_[middle]).state}, std::nullopt};
    }
    Borders low(runs_.count(), 0), high = bytes_;
    std::optional<OrderPlace> last;
    if (below > 0) Narrow(PlaceOf(all_[below - 1]), low, high, true);
    if (above < all_.size()) Narrow(last.emplace(PlaceOf(all_[above])), low, high, false);
    NarrowByRecords(target, low, high, last);
    Found found = Divide(target, low, high, last);
    const std::uint64_t run = found.place.run;
    if (run < runs_.count()) found.place.state = order_.Save(runs_.file(run).StateAt(found.place.offset));
    return found;
  }

  CutPlace End() const { return {{runs_.count(), 0, {}}, SumOfBytes(bytes_)}; }

  /// What fences tell of where a place is in runs. Asked in the order of places.
  PartBegins Between(const CutPlace& place) {
    PartBegins begins;
    passed_.resize(runs_.count(), 0);
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      const std::vector<Fence>& fences = runs_.fences(run);
      std::size_t& passed = passed_[run];
      const auto passes = [&](const Fence& fence) {
        return place.run == runs_.count() || IsBefore(fence.record, fence.offset, run, place, unique_, order_);
      };
      while (passed < fences.size() && passes(fences[passed])) ++passed;
      // The first fence is the first record.
      const std::uint64_t high = passed < fences.size() ? fences[passed].offset : runs_.end(run);
      const bool known = passed == 0 || place.run == runs_.count() || (place.run == run && !unique_);
      begins.push_back({known ? high : fences[passed - 1].offset, high});
    }
    return begins;
  }

 private:
  struct At {
    std::size_t run, fence;
  };
  const Fence& FenceAt(const At& at) const { return runs_.fences(at.run)[at.fence]; }
  std::uint64_t OffsetOf(const At& at) const { return FenceAt(at).offset - runs_.begin(at.run); }
  std::uint64_t NextFence(std::size_t run, std::size_t fence) const {
    return fence < runs_.fences(run).size() ? OffsetOf({run, fence}) : runs_.bytes(run);
  }
  OrderPlace PlaceOf(const At& at) const { return {at.run, FenceAt(at).offset, FenceAt(at).record}; }

  /// The place is known to be at or behind (`behind`), or at or in front of `place`, by fences alone.
  void Narrow(const OrderPlace& place, Borders& low, Borders& high, bool behind) const {
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      const std::vector<Fence>& fences = runs_.fences(run);
      const auto first = std::partition_point(fences.begin(), fences.end(), [&](const Fence& fence) {
        return IsBefore(fence.record, fence.offset, run, place, false, order_);
      });
      const auto number = static_cast<std::size_t>(first - fences.begin());
      if (behind && number > 0) low[run] = std::max(low[run], OffsetOf({run, number - 1}));
      if (!behind) high[run] = std::min(high[run], NextFence(run, number));
    }
  }

  /// `last`: the place is there or in front of it; none: nobody knows of any.
  void NarrowByRecords(std::uint64_t target, Borders& low, Borders& high, std::optional<OrderPlace>& last) {
    while (SumOfBytes(high) - SumOfBytes(low) > kMostRead) {
      std::size_t widest = 0;
      for (std::size_t run = 1; run < runs_.count(); ++run) {
        if (high[run] - low[run] > high[widest] - low[widest]) widest = run;
      }
      RunFile& file = runs_.file(widest);
      const std::uint64_t middle = file.Middle(file.begin() + low[widest], file.begin() + high[widest]);
      if (middle == file.begin() + low[widest]) return;  // one record
      const OrderPlace place{widest, middle, file.At(middle).comparable};
      Borders there(runs_.count());
      for (std::size_t run = 0; run < runs_.count(); ++run) {
        RunFile& other = runs_.file(run);
        there[run] = run == widest ? middle - file.begin()
                                   : other.Find(place, run, false, other.begin() + low[run], other.begin() + high[run]) -
                                         other.begin();
      }
      const bool behind = SumOfBytes(there) <= target;
      (behind ? low : high) = std::move(there);
      if (!behind) last = place;
    }
  }

  /// `last`'s record lies in no run's [low, high), and in other runs than its own there may be some behind it.
  Found Divide(std::uint64_t target, const Borders& low, const Borders& high, const std::optional<OrderPlace>& last) {
    struct Head {
      std::size_t run = 0, number = 0;
    };
    struct Held {
      std::uint64_t offset, bytes;
      std::vector<std::byte> comparable;
    };
    std::vector<std::vector<Held>> records(runs_.count());
    const auto behind = [&](const Head& a, const Head& b) {
      const int compared = order_.Compare(records[a.run][a.number].comparable, records[b.run][b.number].comparable);
      return compared != 0 ? compared > 0 : a.run > b.run;
    };
    std::priority_queue<Head, std::vector<Head>, decltype(behind)> heads(behind);
    for (std::size_t run = 0; run < runs_.count(); ++run) {
      RunFile& file = runs_.file(run);
      file.ForEach(file.begin() + low[run], file.begin() + high[run],
                   [&](std::uint64_t offset, TaskOrder::First&& record) {
                     records[run].push_back({offset, record.bytes, std::move(record.comparable)});
                   });
      if (!records[run].empty()) heads.push({run, 0});
    }
    std::uint64_t before = SumOfBytes(low);
    Borders there = low;
    Found found{last ? CutPlace{*last, before} : End(), std::nullopt};
    while (!heads.empty()) {
      const Head head = heads.top();
      Held& record = records[head.run][head.number];
      if (last && !IsBefore(record.comparable, record.offset, head.run, *last, false, order_)) break;
      if (before >= target) {
        found.place = {{head.run, record.offset, std::move(record.comparable)}, before};
        break;
      }
      before += record.bytes;
      there[head.run] += record.bytes;
      found.place.bytes_before = before;
      heads.pop();
      if (head.number + 1 < records[head.run].size()) heads.push({head.run, head.number + 1});
    }
    if (unique_) {  // records with its key are behind it, too
      found.place.bytes_before.reset();
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
  std::vector<At> all_;                       ///< fences, in order
  std::vector<std::uint64_t> least_, most_;   ///< bytes in front of each
  std::vector<std::size_t> passed_;           ///< fences of each run that are in front of the last place
  Borders bytes_;
};

}  // namespace

void CutParts(const JobSpec& spec, std::uint64_t parts, bool fences_only, const std::string& folder) {
  FileSystem files;
  TaskOrder order(spec);
  TaskRuns runs(files, folder, order);
  // Parts may have been made by it: with -u nobody would see records between one cut's part and another's.
  if (runs.folder().FindCut(parts)) {
    LogInfo("the cut into " + std::to_string(parts) + " parts is there already");
    return;
  }
  // A slice may lack the values that other slices have, so that only here all are known.
  if (spec.source.table && !spec.source.force_format) RefuseNoValues(spec, runs.tally());
  TaskCut cut{parts, runs.count(), runs.header(), runs.trailer(), {}, detail::RandomNumber()};
  Cut places(runs, order, spec.order.unique);
  const std::uint64_t bytes = places.bytes();
  std::vector<std::optional<PartBegins>> begins;
  for (std::uint64_t part = 1; part < parts; ++part) {
    const std::uint64_t target = bytes / parts * part + bytes % parts * part / parts;
    // What --top takes is in the first part.
    Cut::Found found = spec.order.top > 0 ? Cut::Found{places.End(), std::nullopt} : places.Place(target, fences_only);
    cut.places.push_back(std::move(found.place));
    begins.push_back(std::move(found.begins));
  }
  runs.folder().Write(cut, [&](std::uint64_t part) {
    if (part > 0 && part < parts) return begins[part - 1] ? *begins[part - 1] : places.Between(cut.places[part - 1]);
    PartBegins all;
    for (std::size_t run = 0; run < runs.count(); ++run) {
      const std::uint64_t at = part == 0 ? runs.begin(run) : runs.end(run);
      all.push_back({at, at});
    }
    return all;
  });
  LogInfo("cut " + std::to_string(runs.count()) + " runs of " + FormatBytes(bytes) + " into " + std::to_string(parts) +
          " parts");
}

}  // namespace gpusort
