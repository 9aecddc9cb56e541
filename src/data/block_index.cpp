#include "data/block_index.hpp"

#include <utility>

namespace gpusort {
namespace {

constexpr std::size_t kMostPending = 64 * 1024;
constexpr std::size_t kCountBytes = 8;  // the index begins with the number of its entries

/// Returns the number in `bytes`, of which the lowest byte comes first.
std::uint64_t Number(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
  return number;
}

}  // namespace

BlockIndex::BlockIndex(std::unique_ptr<OutputFile> file) : file_(std::move(file)) { Restart(); }

void BlockIndex::Restart() {
  pending_.clear();
  written_ = kCountBytes;
  blocks_ = stored_ = expanded_ = 0;
}

void BlockIndex::Add(std::span<const std::byte> blocks) {
  constexpr std::size_t kSizeAt = 16, kExpandedBytes = 4;
  while (!blocks.empty()) {
    const std::size_t size = Number(blocks.subspan(kSizeAt, 2)) + 1;
    const std::uint64_t expanded = Number(blocks.subspan(size - kExpandedBytes, kExpandedBytes));
    // Every reader knows where the first block begins.
    if (expanded > 0 && blocks_++ > 0) {
      Put(stored_);
      Put(expanded_);
    }
    stored_ += size;
    expanded_ += expanded;
    blocks = blocks.subspan(size);
  }
  if (pending_.size() >= kMostPending) Write();
}

void BlockIndex::Finish() {
  Write();
  const std::uint64_t bytes = written_;
  Put(blocks_ > 0 ? blocks_ - 1 : 0);
  written_ = 0;
  Write();
  written_ = bytes;
}

void BlockIndex::Put(std::uint64_t number) {
  for (unsigned i = 0; i < 8; ++i) pending_.push_back(static_cast<std::byte>(number >> (8 * i)));
}

void BlockIndex::Write() {
  if (!pending_.empty()) file_->WriteAt(written_, pending_);
  written_ += pending_.size();
  pending_.clear();
}

}  // namespace gpusort
