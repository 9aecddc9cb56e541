#include "formats/fields_format.hpp"

#include "base/gnu_quote.hpp"
#include "formats/find_bytes.hpp"
#include "formats/text_keys.hpp"

namespace gpusort {

FieldsFormat::FieldsFormat(const JobSpec& spec)
    : TableFormat(spec), delimiter_(spec.order.layout.delimiter), lines_(spec.order.layout, table_.header) {
  MakeScratch();  // checks the regular expressions
}

struct FieldsFormat::TextScratch : Scratch {
  explicit TextScratch(const TableOptions& table) : keys(table) {}
  TextKeys keys;
};

std::unique_ptr<TableFormat::Scratch> FieldsFormat::MakeScratch() const {
  return std::make_unique<TextScratch>(table_);
}

std::uint64_t FieldsFormat::PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                                    KeyTally& tally) const {
  const TextKeys& keys = static_cast<TextScratch&>(scratch).keys;
  const RecordSpan record = FirstLine(records, delimiter_);
  const Byte* const begin = AsBytes(record.data());
  std::string_view line = Text(begin, begin + record.size() - 1);
  if (delimiter_ == '\n' && line.ends_with('\r')) line.remove_suffix(1);
  for (std::size_t key = 0; key < keys_.size(); ++key) PutText(key, keys.Find(key, line), line, out, tally);
  return record.size();
}

std::string LineHint(const std::string& key, const std::string& record) {
  constexpr std::size_t kMost = 100;
  return "; a record without it is " + QuoteFront(record, kMost) +
         (key.starts_with('~') ? "" : "; -t CHAR says what separates the fields");
}

}  // namespace gpusort
