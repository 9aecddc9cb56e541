// Helpers of the tests of io/: random bytes, views of bytes, and the expectation of an error.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "records.hpp"

namespace gpusort::testing {

inline constexpr std::uint64_t kPage = 4096;

inline Bytes RandomBytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
    const std::uint64_t eight = random();
    std::memcpy(bytes.data() + at, &eight, std::min(sizeof eight, count - at));
  }
  return bytes;
}

inline std::span<const std::byte> AsSpan(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }

/// Expects that `work` throws an Error with this code, whose message contains all of the words.
inline void ExpectError(ErrorCode code, const std::vector<std::string>& words, const std::function<void()>& work) {
  try {
    work();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << " lacks " << word;
    }
  }
}

}  // namespace gpusort::testing
