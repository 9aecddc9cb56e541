// Where the result goes: a file that appears when it is whole, one that is written in place, or a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/codec.hpp"
#include "file.hpp"
#include "stream.hpp"
#include "support/options.hpp"

namespace gpusort {

/// The final destination; outlives attempts that a lost GPU cuts short.
struct OutputTarget {
  std::unique_ptr<OutputFile> file;  ///< or
  std::unique_ptr<PipeWriter> stream;
  std::vector<std::byte> header;  ///< what the output begins with; it is no record
  Codec codec = Codec::kNone;
  std::unique_ptr<Encoder> encoder;  ///< writes to the file or stream, if `codec` is one
  std::uint64_t streamed = 0;        ///< bytes that stream or encoder has taken and that a new attempt must not repeat
  std::uint64_t stored = 0;          ///< bytes that the encoder has written

  /// The file that is written into, if it is not a new one: an input that is the same must be read before that.
  std::optional<FileFacts> overwritten() const;
};

/// Opens where the options want the result. Error(kUsage) if that cannot be, before any work.
OutputTarget OpenTarget(FileSystem& files, const Options& options, CancelFlag& cancel);

}  // namespace gpusort
