// Lines that are sorted by keys with a type. Such a key is a field (-k 3:int) or the match of a regular expression (-k
// ~RE:decimal). Start at FieldsFormat.
#include <memory>
#include <optional>
#include <string>

#include "base/gnu_quote.hpp"
#include "formats/find_bytes.hpp"
#include "formats/formats.hpp"
#include "formats/text_keys.hpp"

namespace gpusort {
namespace {

/// The format of plain lines that are sorted by keys with a type, such as -k 3:int. A carriage return at the end of a
/// line belongs to no field.
class FieldsFormat : public TableFormat {
 public:
  /// Throws Error(kUsage) if a regular expression is invalid.
  explicit FieldsFormat(const JobSpec& spec)
      : TableFormat(spec),
        delimiter_(spec.order.layout.delimiter),
        lines_(spec.order.layout, table_.header, spec.source.header_prefixes) {
    prefixed_ = {spec.source.header_prefixes, delimiter_};
    MakeScratch();  // checks the regular expressions
  }

  bool has_header() const override { return lines_.has_header(); }
  bool counts_header() const override { return lines_.counts_header(); }
  bool ends_header(RecordSpan header) const override { return lines_.ends_header(header); }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    return lines_.HeaderBytes(front, all);
  }
  std::string Ending(RecordSpan header, RecordSpan tail) const override { return lines_.Ending(header, tail); }
  Ends Scan(RecordSpan bytes, ScanState& state) const override { return lines_.Scan(bytes, state); }

 private:
  struct TextScratch : Scratch {
    explicit TextScratch(const TableOptions& table) : keys(table) {}
    TextKeys keys;
  };
  std::unique_ptr<TableFormat::Scratch> MakeScratch() const override { return std::make_unique<TextScratch>(table_); }
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override {
    const TextKeys& keys = static_cast<TextScratch&>(scratch).keys;
    const RecordSpan record = FirstLine(records, delimiter_);
    const Byte* const begin = AsBytes(record.data());
    std::string_view line = Text(begin, begin + record.size() - 1);
    if (delimiter_ == '\n' && line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t key = 0; key < keys_.size(); ++key) PutText(key, keys.Find(key, line), line, out, tally);
    return record.size();
  }

  const unsigned char delimiter_;
  const PlainFormat lines_;
};

}  // namespace

std::unique_ptr<TableFormat> MakeFieldsFormat(const JobSpec& spec) { return std::make_unique<FieldsFormat>(spec); }

std::string LineHint(const std::string& key, const std::string& record) {
  constexpr std::size_t kMost = 100;
  return "; a record without it is " + QuoteFront(record, kMost) +
         (key.starts_with('~') ? "" : "; -t CHAR says what separates the fields");
}

}  // namespace gpusort
