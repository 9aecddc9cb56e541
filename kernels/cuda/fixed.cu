// Fixed records. They are sorted through entries, and each record is moved once.
#include "kernels/cuda/fixed_lane.cuh"
#include "kernels/records/key.hpp"

namespace gpusort::cuda {
namespace {

class FixedLane final : public FixedLaneBase {
 public:
  using FixedLaneBase::FixedLaneBase;

 private:
  Entry* entries(unsigned list) const { return reinterpret_cast<Entry*>(lane_memory().data() + map().entries(list)); }

  InspectResult InspectRecords(const std::byte* records, std::uint64_t n, bool want_prefix) const {
    return Inspect([&] {
      stream().Launch("InspectRecordsKernel", InspectRecordsKernel<>, StridingBlocks(n), kRecordThreads,
                      AsBytes(records), n, layout(), want_prefix, device_result());
    });
  }

  /// Makes the entries of n records, calls order(keys, less) to sort them, and copies the records in their order to
  /// `out`. `order` must accept both comparators. The first `skip` bytes of all normalized keys must be equal.
  template <typename Order>
  void ThroughEntries(const std::byte* in, std::uint64_t n, std::byte* out, std::uint64_t skip,
                      const Order& order) const {
    stream().Launch("MakeEntriesKernel", MakeEntriesKernel<>, StridingBlocks(n), kRecordThreads, AsBytes(in), n,
                    layout(), skip, entries(0));
    DoubleBuffer<Entry> keys{entries(0), entries(1)};
    if (layout().key_bytes - skip <= kEntryKeyBytes) {
      order(keys, ExactEntryLess{});
    } else {
      order(keys, PrefixEntryLess{AsBytes(in), lane_memory().arena().device_layout(), skip + kEntryKeyBytes});
    }
    switch (GatherWordBytes(layout().stride)) {
      case 16:
        return Gather<uint4>(in, out, keys.current, n);
      case 8:
        return Gather<std::uint64_t>(in, out, keys.current, n);
      case 4:
        return Gather<std::uint32_t>(in, out, keys.current, n);
      case 2:
        return Gather<std::uint16_t>(in, out, keys.current, n);
      default:
        return Gather<std::uint8_t>(in, out, keys.current, n);
    }
  }

  template <typename Word>
  void Gather(const std::byte* in, std::byte* out, const Entry* order, std::uint64_t n) const {
    const std::uint64_t record_words = layout().stride / sizeof(Word);
    const std::uint64_t words = n * record_words;
    stream().Launch("GatherKernel", GatherKernel<Word>, DivideUp(words, kGatherTile), kRecordThreads,
                    reinterpret_cast<const Word*>(in), reinterpret_cast<Word*>(out), order, words,
                    static_cast<std::uint32_t>(record_words));
  }

  /// WantsPrefix says whether it helps to know how many leading bytes are equal in all normalized keys. Prefix returns
  /// this number.
  bool WantsPrefix() const { return layout().key_bytes > kEntryKeyBytes; }
  std::uint64_t Prefix(const InspectResult& found) const {
    return WantsPrefix() ? layout().key_bytes - found.differing : 0;
  }

  Sorted SortSlot(std::byte* in, std::uint64_t bytes, std::byte* out) override {
    const std::uint64_t n = bytes / layout().stride;
    const InspectResult found = InspectRecords(in, n, WantsPrefix());
    if (found.out_of_order == 0) return {true, true, n};
    ThroughEntries(in, n, out, Prefix(found),
                   [&](DoubleBuffer<Entry>& keys, const auto& less) { SortInBuffer(keys, n, less); });
    return {false, false, n};
  }

  Merged MergeSlot(std::byte* in, std::uint64_t, std::vector<std::uint64_t> bounds, std::byte* out) override {
    const std::uint64_t n = bounds.back();
    const std::uint64_t skip = WantsPrefix() ? Prefix(InspectRecords(in, n, true)) : 0;
    ThroughEntries(in, n, out, skip,
                   [&](DoubleBuffer<Entry>& keys, const auto& less) { MergeInBuffer(keys, std::move(bounds), less); });
    return {out};
  }
};

}  // namespace

std::unique_ptr<Lane> MakeFixedLane(const std::shared_ptr<Arena>& arena) { return std::make_unique<FixedLane>(arena); }

}  // namespace gpusort::cuda
