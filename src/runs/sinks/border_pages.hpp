#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "io/output_file.hpp"

namespace gpusort {

/// Collects the pages of a file that contain bytes of two windows. A page is written once both windows have added their
/// bytes. Any thread may call any member.
class BorderPages {
 public:
  static constexpr std::uint64_t kPage = 4096;

  explicit BorderPages(OutputFile& file) : file_(file) {}
  void Add(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::uint64_t page = offset / kPage * kPage;
      const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), page + kPage - offset);
      std::unique_ptr<Page> full;
      {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Page>& entry = pages_[page];
        if (!entry) entry = std::make_unique<Page>();
        std::memcpy(entry->bytes + (offset - page), bytes.data(), count);
        entry->filled += count;
        if (entry->filled == kPage) {
          full = std::move(entry);
          pages_.erase(page);
        }
      }
      if (full) file_.WriteAt(page, full->bytes);
      offset += count;
      bytes = bytes.subspan(count);
    }
  }
  /// Writes all pages that are not full, padded with zeros. A page that is filled later is written again. Publishing
  /// cuts the file to its length.
  void Flush() {
    const std::lock_guard lock(mutex_);
    for (const auto& [offset, page] : pages_) file_.WriteAt(offset, page->bytes);
  }

 private:
  struct Page {
    alignas(kPage) std::byte bytes[kPage] = {};
    std::uint64_t filled = 0;
  };
  OutputFile& file_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace gpusort
