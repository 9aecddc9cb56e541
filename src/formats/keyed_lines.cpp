#include "formats/keyed_lines.hpp"

namespace gpusort {

KeyedOrder::KeyedOrder(const KeyMaker& maker, unsigned char delimiter) : maker_(maker), delimiter_(delimiter) {
  plain_key_.ordering = LineOrdering::kHost;
  plain_key_.host = &maker;
  plain_.keys = &plain_key_;
  plain_.key_count = 1;
  plain_.last_resort = false;
  for (std::size_t field = 0; field < maker.fields(); ++field) {
    LineKey bytes;
    bytes.begin_field = bytes.end_field = field + 1;
    LineKey ties;
    ties.begin_field = maker.fields() + 1;
    ties.ordering = LineOrdering::kHost;
    ties.host = &ties_.emplace_back(maker.ties(field), FieldBit(field));
    keyed_keys_.insert(keyed_keys_.end(), {bytes, ties});
  }
  keyed_ = plain_;
  keyed_.keys = keyed_keys_.data();
  keyed_.key_count = static_cast<std::uint32_t>(keyed_keys_.size());
  keyed_.separator = kKeyEnd;
  keyed_.keyed = true;
}

void KeyedOrder::Tune(RecordSpan lines) {
  constexpr std::size_t kSamples = 64;
  const RecordLayout layout = MakeLineLayout(delimiter_, plain_);
  std::uint64_t common = kMostFirst;
  std::vector<std::byte> first, other;
  const auto key_of = [&](std::uint64_t at, std::vector<std::byte>& out) {
    const RecordSpan line = FirstRecord(lines.subspan(RecordBegin(lines, at, layout)), layout);
    out.clear();
    FieldWriter writer(out);
    writer.Begin(kMostFirst);
    maker_.PutField(0, AsBytes(line.data()), line.size() - 1, writer);
  };
  for (std::size_t i = 0; i < kSamples && !lines.empty(); ++i) {
    key_of(lines.size() / kSamples * i, i == 0 ? first : other);
    if (i == 0) continue;
    const auto differ = std::mismatch(first.begin(), first.end(), other.begin(), other.end()).first;
    // Equal lines say nothing about the common prefix.
    if (first != other) common = std::min(common, static_cast<std::uint64_t>(differ - first.begin()));
  }
  // The first field should differ between nearly all lines, because lines with equal keys must be compared in full. A
  // larger limit would take more memory.
  first_limit_ = std::min(kMostFirst, common + kBehindCommon);
}

RecordLayout KeyedOrder::layout() const {
  RecordLayout layout = MakeLineLayout(delimiter_, keyed_);
  layout.keys = static_cast<std::uint32_t>(maker_.fields() + 1);
  return layout;
}

class KeyedOrder::Encoder : public KeyEncoder {
 public:
  explicit Encoder(const KeyedOrder& order) : order_(order) {}

  std::uint64_t Append(RecordSpan lines, ScanState&, std::vector<std::byte>& out, KeyTally&) override {
    const RecordSpan line = FirstLine(lines, order_.delimiter_);
    FieldWriter writer(out);
    const std::size_t begin = out.size();
    unsigned head = kKeyedHead;
    out.insert(out.end(), {std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)});
    for (std::size_t field = 0; field < order_.maker_.fields(); ++field) {
      writer.Begin(field == 0 ? order_.first_limit_ : kNextLimit);
      order_.maker_.PutField(field, AsBytes(line.data()), line.size() - 1, writer);
      if (writer.End()) head |= FieldBit(field);
    }
    out[begin] = static_cast<std::byte>(head);
    out.insert(out.end(), line.begin(), line.end());
    return line.size();
  }

 private:
  const KeyedOrder& order_;
};

std::unique_ptr<KeyEncoder> KeyedOrder::MakeEncoder() const { return std::make_unique<Encoder>(*this); }

}  // namespace gpusort
