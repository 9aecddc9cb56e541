// A library for LD_PRELOAD: the time of day jumps by years with each reading, forwards and back. The monotonic clock is
// right.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr time_t kYear = 365 * 86400;
std::atomic<unsigned> readings{0};

time_t Jump() {
  constexpr time_t kYears[] = {0, 11, -13, 30, -56, 200};
  return kYears[readings++ % 6] * kYear;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int failed = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += Jump();
  return failed;
}

extern "C" int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
