// Records of a fixed size that get sort keys before them, because their order must be computed (--shuffle), or because
// they carry their place (--keep-order). Other jobs sort such records without keys before them.
#include <algorithm>
#include <memory>
#include <string>

#include "formats/formats.hpp"
#include "kernels/records/key.hpp"

namespace gpusort {
namespace {

/// ScanState::count is the number of bytes of the open record that were scanned.
class FixedFormat : public TableFormat {
 public:
  explicit FixedFormat(const JobSpec& spec)
      : TableFormat(spec), size_(table_.record_size), keys_(MakeFixedLayout(size_, table_.record_keys)) {}

  bool newlines() const override { return false; }
  unsigned modes() const override { return 0; }
  std::string Ending(RecordSpan, RecordSpan) const override { return {}; }
  Ends Scan(RecordSpan bytes, ScanState& state) const override {
    Ends ends;
    const std::uint64_t open = state.count, all = open + bytes.size();
    state.count = all % size_;
    if (all < size_) return ends;
    ends.first = size_ - open;
    ends.last = bytes.size() - state.count;
    return ends;
  }
  std::uint64_t Finish(RecordSpan open, const ScanState&) const override {
    if (!open.empty()) throw BadRecord(0, "the input ends inside a record of " + std::to_string(size_) + " bytes");
    return 0;
  }

 private:
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch&, FieldWriter& out, KeyTally&) const override {
    constexpr std::uint64_t kWord = 8;
    const Byte* const record = AsBytes(records.data());
    for (std::uint64_t at = 0; at < keys_.key_bytes && !out.full(); at += kWord) {
      const std::uint64_t word = KeyWord(record, keys_, at);
      const auto bytes = static_cast<unsigned>(std::min(kWord, keys_.key_bytes - at));
      out.PutPart(word, bytes);
    }
    return size_;
  }

  const std::uint64_t size_;
  const RecordLayout keys_;
};

}  // namespace

std::unique_ptr<TableFormat> MakeFixedFormat(const JobSpec& spec) { return std::make_unique<FixedFormat>(spec); }

}  // namespace gpusort
