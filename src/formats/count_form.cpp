#include "formats/count_form.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/gnu_quote.hpp"
#include "base/log.hpp"
#include "formats/json_record.hpp"
#include "formats/registry.hpp"
#include "formats/text_reader.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

constexpr std::string_view kName = "count", kMember = "\"count\"";

std::string_view TextOf(RecordSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

CountForm::CountForm(const JobSpec& spec) {
  if (!spec.source.table) return;
  const unsigned takes = RowOf(*spec.source.table).takes;
  if ((takes & kCountsMember) != 0) place_ = Place::kMember;
  if ((takes & kCountsColumn) == 0) return;
  place_ = Place::kColumn;
  prefixed_.prefixes = spec.source.header_prefixes;
  delimiter_ = static_cast<char>(spec.source.table->delimiter);
}

std::vector<std::byte> CountForm::HeaderOf(RecordSpan header) const {
  std::vector<std::byte> made(header.begin(), header.end());
  const std::string_view text = TextOf(header);
  const std::size_t mark = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t at = mark + *prefixed_.BytesOf(header.subspan(mark), true);
  if (place_ != Place::kColumn || at == text.size()) return made;
  const std::string_view names = text.substr(at, text.find_last_not_of("\r\n") + 1 - at);
  const std::string column = std::string(kName) + delimiter_, inside = delimiter_ + column;
  if (names == kName || names.starts_with(column) || names.find(inside) != names.npos ||
      names.ends_with(delimiter_ + std::string(kName))) {
    LogWarn("the inputs have a column count already: the output has two columns of that name, and the first is new");
  }
  const auto bytes = std::as_bytes(std::span(column));
  made.insert(made.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
  return made;
}

CountForm::Insertion CountForm::For(std::uint64_t count, RecordSpan record) const {
  Insertion made;
  char* to = made.text;
  char digits[20];
  const char* const end = std::to_chars(digits, std::end(digits), count).ptr;
  const auto size = static_cast<std::size_t>(end - digits);
  const auto put = [&to](std::string_view text) { to = std::copy(text.begin(), text.end(), to); };
  switch (place_) {
    case Place::kBefore: {
      constexpr std::size_t kWidth = 7;  // as uniq -c
      if (size < kWidth) to = std::fill_n(to, kWidth - size, ' ');
      put({digits, size});
      *to++ = ' ';
      break;
    }
    case Place::kColumn:
      put({digits, size});
      *to++ = delimiter_;
      break;
    case Place::kMember: {
      const std::string_view text = TextOf(record);
      const std::optional<FirstMemberPlace> place = PlaceOfFirstMember(text);
      if (!place) {
        constexpr std::size_t kMost = 100;
        throw Error(ErrorCode::kBadInput, "--count: a record is no JSON object, so it has no place for the count: " +
                                              QuoteFront(text.substr(0, text.find_last_not_of('\n') + 1), kMost));
      }
      if (text.find(kMember) != text.npos && !warned_.exchange(true)) {
        LogWarn("a record has a text \"count\" already: if that is a member, the object has two, and the first is new");
      }
      made.at = place->at;
      put(kMember);
      *to++ = ':';
      put({digits, size});
      if (place->comma) *to++ = ',';
      break;
    }
  }
  made.size = static_cast<std::uint8_t>(to - made.text);
  return made;
}

}  // namespace gpusort
