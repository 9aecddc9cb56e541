// Lines that get sort keys before them. FieldsFormat: keys with a type, which are a field (-k 3:int) or the match of a
// regular expression (-k ~RE:decimal). SortKeysFormat: the keys of GNU sort, for lines that carry their place.
#include <memory>
#include <optional>
#include <string>

#include "base/gnu_quote.hpp"
#include "formats/find_bytes.hpp"
#include "formats/formats.hpp"
#include "formats/text_keys.hpp"

namespace gpusort {
namespace {

/// Finds the header and the lines of an input. Each line is a record. A derived class makes the sort keys.
class KeyedLinesFormat : public TableFormat {
 public:
  explicit KeyedLinesFormat(const JobSpec& spec)
      : TableFormat(spec),
        delimiter_(spec.order.layout.delimiter),
        lines_(spec.order.layout, table_.header, spec.source.header_prefixes) {
    prefixed_ = {spec.source.header_prefixes, delimiter_};
  }

  bool has_header() const override { return lines_.has_header(); }
  bool counts_header() const override { return lines_.counts_header(); }
  bool ends_header(RecordSpan header) const override { return lines_.ends_header(header); }
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    return lines_.HeaderBytes(front, all);
  }
  std::string Ending(RecordSpan header, RecordSpan tail) const override { return lines_.Ending(header, tail); }
  Ends Scan(RecordSpan bytes, ScanState& state) const override { return lines_.Scan(bytes, state); }

 protected:
  const unsigned char delimiter_;

 private:
  const PlainFormat lines_;
};

/// The format of lines that are sorted by keys with a type, such as -k 3:int. A carriage return at the end of a line
/// belongs to no field.
class FieldsFormat : public KeyedLinesFormat {
 public:
  /// Throws Error(kUsage) if a regular expression is invalid.
  explicit FieldsFormat(const JobSpec& spec) : KeyedLinesFormat(spec) {
    MakeScratch();  // checks the regular expressions
  }

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
};

/// The format of lines that are sorted by the keys of GNU sort, or by all their bytes, and that carry their place. The
/// order must be one in which equal encoded keys mean equal lines: no locale, no floats, no comparison of whole lines
/// after the keys.
class SortKeysFormat : public KeyedLinesFormat {
 public:
  explicit SortKeysFormat(const JobSpec& spec)
      : KeyedLinesFormat(spec),
        order_(spec.order.lines->view),
        // Newlines inside of lines are escaped, so the bytes of a keyed record do not compare as those of the line.
        whole_(order_.key_count == 0 && delimiter_ == '\n') {
    order_.last_resort = true;  // so that each key ends before the next one
    if (whole_) SortByWholeRecord(order_.last_resort_reverse);
  }

 private:
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out, KeyTally&) const override {
    const RecordSpan line = FirstLine(records, delimiter_);
    const Byte* const bytes = AsBytes(line.data());
    scratch.one_line = delimiter_ == '\n';
    if (whole_) return line.size();
    detail::PutKeys(out, bytes, line.size() - 1, order_);
    if (order_.key_count == 0) {
      LineKey all;
      detail::PutText(out, {bytes, 0, line.size() - 1, &all});
    }
    return line.size();
  }

  LineOrderView order_;
  const bool whole_;
};

}  // namespace

std::unique_ptr<TableFormat> MakeFieldsFormat(const JobSpec& spec) {
  const TableOptions& table = *spec.source.table;
  if (table.placed && table.keys.empty()) return std::make_unique<SortKeysFormat>(spec);
  return std::make_unique<FieldsFormat>(spec);
}

std::string LineHint(const std::string& key, const std::string& record) {
  constexpr std::size_t kMost = 100;
  return "; a record without it is " + QuoteFront(record, kMost) +
         (key.starts_with('~') ? "" : "; -t CHAR says what separates the fields");
}

}  // namespace gpusort
