// Records of a fixed size that are sorted by a key which is not in the record (--shuffle). Other jobs sort such records
// without keys before them.
#include <memory>
#include <string>

#include "formats/formats.hpp"

namespace gpusort {
namespace {

/// ScanState::count is the number of bytes of the open record that were scanned.
class FixedFormat : public TableFormat {
 public:
  explicit FixedFormat(const JobSpec& spec) : TableFormat(spec), size_(table_.record_size) {}

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
  std::uint64_t PutKeys(RecordSpan, ScanState&, Scratch&, FieldWriter&, KeyTally&) const override { return size_; }

  const std::uint64_t size_;
};

}  // namespace

std::unique_ptr<TableFormat> MakeFixedFormat(const JobSpec& spec) { return std::make_unique<FixedFormat>(spec); }

}  // namespace gpusort
