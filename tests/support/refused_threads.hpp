// Simulates a system that refuses threads, for tests.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace gpusort::testing {

/// Makes the system refuse every new thread while the object lives. Sets the default stack size of threads to more than
/// the address space.
class RefusedThreads {
 public:
  RefusedThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{1} << 62);
    EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
  }
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;
  ~RefusedThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

}  // namespace gpusort::testing
