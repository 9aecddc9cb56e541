#include "formats/checked_runs.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "formats/input_place.hpp"
#include "kernels/records/records.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {
namespace {

using KeyCheck = std::array<std::byte, kKeyCheckBytes>;

/// Returns the order of keyed records, for the layout of all formats.
const LineOrderView& OrderOfKeys() {
  static const Order order = ByKeyField();
  static const LineOrderView view = [] {
    LineOrderView keys = order.lines->view;
    keys.nul_free = true;  // FieldWriter escapes NULs
    return keys;
  }();
  return view;
}

/// Returns the checksum of a key, with the kKeyEnd after it. No byte of the checksum needs an escape, because its
/// highest bit is set.
KeyCheck CheckOfKey(RecordSpan key) {
  KeyCheck check;
  std::uint64_t hash = XXH3_64bits(key.data(), key.size());
  for (std::byte& byte : check) {
    byte = static_cast<std::byte>(hash & 0xFF) | std::byte{0x80};
    hash >>= 7;
  }
  check.back() = static_cast<std::byte>(kKeyEnd);
  return check;
}

constexpr std::size_t kKeyBegin = 2;  ///< the key comes after the byte of flags and a kKeyEnd

}  // namespace

void AppendKeyCheck(std::size_t begin, std::vector<std::byte>& out) {
  const KeyCheck check = CheckOfKey(RecordSpan(out).subspan(begin + kKeyBegin));
  out.insert(out.end(), check.begin(), check.end());
}

CheckedRunFormat::CheckedRunFormat(bool placed, std::size_t columns)
    : PlainFormat(MakeLineLayout('\n', OrderOfKeys())),
      columns_(columns),
      layout_(MakeLineLayout('\n', OrderOfKeys())) {
  layout_.keys = placed ? kPlacedKeys : kTableKeys;
}

std::uint64_t CheckedRunFormat::most_added(std::uint64_t) const {
  return layout_.keys == kPlacedKeys ? InputPlace::kMostBytes : 0;
}

class CheckedRunFormat::Encoder : public KeyEncoder {
 public:
  explicit Encoder(const CheckedRunFormat& format) : format_(format) {}

  std::uint64_t Append(RecordSpan records, ScanState&, std::vector<std::byte>& out, KeyTally& tally) override {
    tally.columns.resize(format_.columns_);
    const RecordSpan line = FirstLine(records, '\n');
    const auto flags = static_cast<unsigned>(line[0]);
    const std::byte* end = nullptr;
    if ((flags == kKeyedHead || flags == (kKeyedHead | kEscapedBody)) && static_cast<unsigned>(line[1]) == kKeyEnd) {
      end = detail::FindDelimiter(line.data() + kKeyBegin, line.data() + line.size(), kKeyEnd);
    }
    const std::size_t front = end == nullptr ? line.size() : static_cast<std::size_t>(end + 1 - line.data());
    if (line.size() - front < kKeyCheckBytes ||
        !std::ranges::equal(CheckOfKey(line.subspan(kKeyBegin, front - kKeyBegin)),
                            line.subspan(front, kKeyCheckBytes))) {
      throw BadRecord(0, "its sort key does not have its checksum");
    }
    out.insert(out.end(), line.begin(), line.begin() + static_cast<std::ptrdiff_t>(front));
    if (format_.layout_.keys == kPlacedKeys) InputPlace{tally.input, tally.offset}.Append(out);
    out.insert(out.end(), line.begin() + static_cast<std::ptrdiff_t>(front + kKeyCheckBytes), line.end());
    return line.size();
  }
  bool copies() const override { return true; }

 private:
  const CheckedRunFormat& format_;
};

std::unique_ptr<KeyEncoder> CheckedRunFormat::MakeEncoder() const { return std::make_unique<Encoder>(*this); }

}  // namespace gpusort
