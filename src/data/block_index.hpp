// Writes the index of a BGZF file: the offsets of its blocks, in the format of bgzip -i. Start at BlockIndex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/output_file.hpp"

namespace gpusort {

/// The index of a BGZF file, whose blocks are added in order. With an index, programs can begin to read at any
/// offset of the uncompressed data. The entries go to the index file while the blocks are written.
class BlockIndex {
 public:
  explicit BlockIndex(std::unique_ptr<OutputFile> file);
  /// Adds whole blocks. The block that ends the file has no entry.
  void Add(std::span<const std::byte> blocks);
  /// Forgets all blocks, because the caller will write the file again.
  void Restart();
  /// Writes the remaining entries. Call this once, after the last Add().
  void Finish();
  OutputFile& file() const { return *file_; }
  /// Returns the size of the index in bytes. Call Finish() before.
  std::uint64_t bytes() const { return written_; }

 private:
  void Put(std::uint64_t number);
  void Write();

  const std::unique_ptr<OutputFile> file_;
  std::vector<std::byte> pending_;
  std::uint64_t written_ = 0;  ///< size of the index file without pending_
  std::uint64_t blocks_ = 0, stored_ = 0, expanded_ = 0;
};

}  // namespace gpusort
