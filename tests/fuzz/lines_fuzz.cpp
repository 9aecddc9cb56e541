// labels: brief
// Fuzzes the reading of lines with arbitrary bytes, in blocks and batches of arbitrary sizes. Bytes 0 to 5 are: the
// size of a block, of a batch (two bytes), and of the longest line; the number of lines in a batch, and of header lines
// (2 bits); the delimiter. Wherever blocks end, the lines and their sums must be the same and each line whole, or the
// same line must be refused as too long.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "kernels/error.hpp"
#include "require.hpp"
#include "runs/form_runs.hpp"

namespace {

using namespace gpusort;

/// A file that is removed when the process ends.
class FuzzedFile {
 public:
  FuzzedFile() {
    const int fd = ::mkstemp(path_.data());
    Require(fd >= 0, "no file in /tmp");
    ::close(fd);
  }
  ~FuzzedFile() { ::unlink(path_.c_str()); }
  FuzzedFile(const FuzzedFile&) = delete;
  FuzzedFile& operator=(const FuzzedFile&) = delete;
  const std::string& path() const { return path_; }
  void Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_ = "/tmp/gpusort-lines-fuzz-XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count < 6 || count > 4096) return 0;
  const std::uint64_t piece = bytes[0] + 1u, limit = (bytes[1] | (bytes[2] & 3u) << 8) + 1u;
  const std::uint64_t max_record = std::max<std::uint64_t>(bytes[3], 1) * (bytes[3] > 250 ? 1000 : 1);
  const auto delimiter = static_cast<char>((bytes[5] & 4) != 0 ? 0 : '\n');
  const std::uint64_t header_lines = bytes[5] & 3;
  // These inputs can have more lines than the minimum that SlotRecords allows.
  const std::uint64_t slot_bytes = 32 * (1024 + bytes[4]);
  const std::string text(reinterpret_cast<const char*>(bytes) + 6, count - 6);

  std::string whole = text;
  if (!whole.empty() && whole.back() != delimiter) whole += delimiter;
  std::size_t head = 0;
  for (std::uint64_t i = 0; i < header_lines && head < whole.size(); ++i) head = whole.find(delimiter, head) + 1;
  std::uint64_t longest = 0;
  for (std::size_t at = head; at < whole.size();) {
    const std::size_t end = whole.find(delimiter, at) + 1;
    longest = std::max<std::uint64_t>(longest, end - at);
    at = end;
  }

  static FuzzedFile file;
  file.Write(text);
  const LineOrder order;
  const LineOrderView view = order.view();
  const RecordLayout layout = MakeLineLayout(static_cast<unsigned char>(delimiter), view);
  CancelFlag cancel;
  FileSystem files;
  HostMemory memory(std::uint64_t{1} << 30);
  StageClock clock("fuzz");
  const PlainFormat format(layout, header_lines);
  Inputs inputs(files, {file.path()}, {.format = format, .header_limit = 1 << 20}, layout, cancel);
  const auto span = [](const std::string& of) { return std::as_bytes(std::span(of)); };
  Require(std::ranges::equal(inputs.header(), span(whole).first(head)), "another header");
  Ring ring;
  ring.block_bytes = 12288;
  ring.blocks = 6;
  ring.piece_bytes = piece;
  ring.max_record = max_record;
  BatchFeeder feeder(cancel, memory, inputs, ring, inputs.Ranges(), layout, clock);
  Pipeline waiter(cancel);
  std::string seen;
  try {
    while (const auto batch = feeder.Next(waiter, limit, slot_bytes, false)) {
      std::string part;
      while (const auto block = batch->Next()) {
        part.append(reinterpret_cast<const char*>(block->bytes().data()), block->bytes().size());
      }
      Require(!part.empty() && part.back() == delimiter, "a batch that ends inside a line");
      Require(part.size() == batch->bytes(), "a batch of another size");
      const bool one = part.find(delimiter) == part.size() - 1;
      Require(part.size() <= limit || one, "a batch that is too long");
      Require(SumRecords(span(part), layout) == batch->sum(), "another sum");
      std::uint64_t in_ranges = 0;
      for (const InputRange& range : batch->ranges()) in_ranges += range.bytes;
      Require(in_ranges == part.size(), "ranges of other bytes");
      Require(batch->ranges().front().offset == seen.size(), "a batch from another place");
      seen += part;
    }
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kBadInput, error.what());
    Require(longest > max_record, "a line that is not too long");
    return 0;
  }
  Require(longest <= max_record, "a line that is too long");
  Require(seen == whole.substr(head), "other lines");
  return 0;
}
