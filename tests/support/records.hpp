// Random records of fixed size, a reference sort, and temporary folders, for tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/records/key.hpp"
#include "kernels/records/record.hpp"

namespace gpusort::testing {

using Bytes = std::vector<unsigned char>;

enum class Keys { kRandom, kAllEqual, kTwoValues, kSorted, kReversed, kCommonPrefix, kNearlySorted };
inline constexpr Keys kAllKeys[] = {Keys::kRandom,   Keys::kAllEqual,     Keys::kTwoValues,   Keys::kSorted,
                                    Keys::kReversed, Keys::kCommonPrefix, Keys::kNearlySorted};

inline int Compare(const unsigned char* a, const unsigned char* b, const RecordLayout& layout) {
  return CompareKeys(a, b, layout);
}

/// The reference sort: sorts whole records stably by their full keys.
inline Bytes StableSorted(const Bytes& input, const RecordLayout& layout) {
  const std::size_t stride = layout.stride;
  std::vector<std::size_t> order(input.size() / stride);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return Compare(input.data() + a * stride, input.data() + b * stride, layout) < 0;
  });
  Bytes output(input.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(output.data() + i * stride, input.data() + order[i] * stride, stride);
  }
  return output;
}

/// Returns the first record of each group of equal keys. The records must be sorted.
inline Bytes FirstOfEqual(const Bytes& sorted, const RecordLayout& layout) {
  Bytes output;
  for (std::size_t at = 0; at < sorted.size(); at += layout.stride) {
    if (!output.empty() && Compare(&output[output.size() - layout.stride], &sorted[at], layout) == 0) continue;
    output.insert(output.end(), sorted.begin() + at, sorted.begin() + at + layout.stride);
  }
  return output;
}

/// Returns `count` random records whose keys have the distribution `keys`. All other bytes are random, so that tests
/// can see whether a sort is stable.
inline Bytes MakeRecords(const RecordLayout& layout, std::size_t count, Keys keys, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count * layout.stride);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  const auto set_keys = [&](std::size_t record, auto value) {
    for (std::uint32_t f = 0; f < layout.field_count; ++f) {
      const KeyField& field = layout.fields[f];
      for (std::uint32_t i = 0; i < field.length; ++i) bytes[record * layout.stride + field.offset + i] = value(f, i);
    }
  };
  for (std::size_t r = 0; r < count; ++r) {
    if (keys == Keys::kAllEqual) set_keys(r, [](auto, auto) { return 7; });
    if (keys == Keys::kTwoValues) {
      const int value = static_cast<int>(random() % 2);
      set_keys(r, [&](auto, auto) { return value; });
    }
    if (keys == Keys::kCommonPrefix) {
      set_keys(r, [&](auto f, auto i) {
        const bool tail = f + 1 == layout.field_count && i + 2 >= layout.fields[f].length;
        return static_cast<unsigned char>(tail ? random() % 5 : 3);
      });
    }
  }
  if (keys == Keys::kSorted || keys == Keys::kReversed || keys == Keys::kNearlySorted) {
    bytes = StableSorted(bytes, layout);
    const std::size_t stride = layout.stride;
    if (keys == Keys::kReversed) {
      for (std::size_t i = 0; i + 1 < count - i; ++i) {
        std::swap_ranges(bytes.begin() + i * stride, bytes.begin() + (i + 1) * stride,
                         bytes.begin() + (count - 1 - i) * stride);
      }
    } else if (keys == Keys::kNearlySorted && count > 1) {
      for (std::size_t i = 0; i < 1 + count / 50; ++i) {
        const std::size_t a = random() % count, b = random() % count;
        if (a != b)
          std::swap_ranges(bytes.begin() + a * stride, bytes.begin() + (a + 1) * stride, bytes.begin() + b * stride);
      }
    }
  }
  return bytes;
}

/// A new temporary folder. The destructor removes it.
class TempFolder {
 public:
  explicit TempFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "gpusort-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline void WriteFile(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good()) << path;
}

inline Bytes ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes;
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  for (std::size_t size = 0; file; bytes.resize(size)) {
    bytes.resize(size + kBlock);
    size += static_cast<std::size_t>(file.read(reinterpret_cast<char*>(bytes.data() + size), kBlock).gcount());
  }
  return bytes;
}

}  // namespace gpusort::testing
