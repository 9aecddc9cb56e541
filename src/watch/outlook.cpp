#include "watch/outlook.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace gpusort {

void JobOutlook::Begin(const std::string& name, std::uint64_t bytes, Nanoseconds now) {
  if (!begun_) first_ = now;
  begun_ = true;
  const auto same = [&](const JobPart& part) { return part.name == name; };
  const auto found = std::find_if(coming_.begin(), coming_.end(), same);
  part_ = JobPart{.name = name, .bytes = bytes};
  if (found != coming_.end()) {
    part_ = *found;
    part_.bytes = bytes;
    coming_.erase(coming_.begin(), found + 1);
  }
  begin_ = step_ = now;
  done_ = longest_step_ = 0;
  expected_ = ExpectedSeconds(part_);
  left_.reset();
}

// These values serve for the estimates of later parts. The current part uses its mean rate so far.
void JobOutlook::Learn(double share, double elapsed, const PartSeen& seen) {
  if (part_.work > 0 && seen.work_seconds > 0) work_rate_ = seen.work_seconds / (part_.work * share);
  if (seen.read_bytes > 0) read_rate_ = seen.read_seconds / seen.read_bytes;
  if (seen.write_bytes > 0) write_rate_ = seen.write_seconds / seen.write_bytes;
  const double longest = std::max({seen.work_seconds, seen.read_seconds, seen.write_seconds});
  if (longest > 0) overhead_ = std::max(1.0, elapsed / longest);
  if (part_.expands && seen.expanded_bytes > 0) {
    expansion_ = std::max(1.0, seen.expanded_bytes / (share * static_cast<double>(part_.bytes)));
  }
}

void JobOutlook::Update(Nanoseconds now, std::uint64_t done, std::uint64_t skipped, const PartSeen& seen) {
  if (!begun_ || reached_ == 100) return;
  left_.reset();
  percent_.reset();
  const double elapsed = InSeconds(now - begin_);
  if (done > done_) {
    longest_step_ = std::max(longest_step_, done - std::max(done_, std::min(done, skipped)));
    done_ = done;
    step_ = now;
  }
  double left = 0;
  if (part_.bytes > 0) {
    // The estimate from before the part began counts as much as this share of the part.
    constexpr double kTrust = 0.05;
    const double own = static_cast<double>(done_ - std::min(done_, skipped));
    const double all = static_cast<double>(part_.bytes - std::min(part_.bytes, skipped));
    const double share = all > 0 ? std::min(1.0, own / all) : 1;
    if (own > 0 && elapsed > 0) Learn(own / static_cast<double>(part_.bytes), elapsed, seen);
    if (own == 0 && expected_ == 0) return;
    const double trust = expected_ > 0 ? kTrust : 0;
    const double total = all > 0 ? (InSeconds(step_ - begin_) + expected_ * trust) / (share + trust) : 0;
    // Bytes are done in steps, such as batches. The next step is assumed to be in progress since the end of the last
    // one, for at most the time of a step. Otherwise the remaining time of a job of eight batches would jump eight
    // times.
    const double step = own > 0 ? static_cast<double>(longest_step_) / all : 1;
    left = std::max(0.0, total * (1 - share) - std::min(InSeconds(now - step_), step * total));
  } else if (expected_ > 0) {
    left = std::max(0.0, expected_ - elapsed);
  } else if (!coming_.empty()) {
    return;  // the size is unknown, and more parts come
  }
  for (const JobPart& part : coming_) left += ExpectedSeconds(part);
  left_ = left;
  const double before = InSeconds(now - first_);
  const int percent = before > 0 ? static_cast<int>(std::floor(100 * before / (before + left))) : 0;
  percent_ = reached_ = std::clamp(percent, reached_, 99);
}

void JobOutlook::Finish() {
  percent_ = reached_ = 100;
  left_ = 0;
}

double JobOutlook::ExpectedSeconds(const JobPart& part) const {
  // The time of the cores per compressed byte includes the time to expand it.
  const double scale = part.expands ? expansion_ : 1;
  // A disk that was not written yet is expected to write as fast as it reads.
  const double write_rate = part.to_disk      ? std::max(write_rate_, read_rate_)
                            : write_rate_ > 0 ? write_rate_
                                              : read_rate_;
  return overhead_ *
         std::max({part.work * work_rate_, part.read * scale * read_rate_, part.write * scale * write_rate});
}

}  // namespace gpusort
