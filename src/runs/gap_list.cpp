#include "runs/gap_list.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/varint.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

[[noreturn]] void Damaged() { throw Error(ErrorCode::kIntegrity, "the places between the rows of a dump are damaged"); }

/// Removes a number from the front of `from`.
std::uint64_t TakeNumber(std::string_view& from) {
  const std::optional<std::uint64_t> number = TakeVarint(from);
  if (!number) Damaged();
  return *number;
}

void PutSizedText(const std::string& text, std::string& out) {
  PutVarint(text.size(), out);
  out += text;
}

std::string TakeSizedText(std::string_view& from) {
  const std::uint64_t size = TakeNumber(from);
  if (size > from.size()) Damaged();
  std::string text(from.substr(0, size));
  from.remove_prefix(size);
  return text;
}

}  // namespace

std::uint32_t GapTexts::Number(const std::string& text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  bytes_ += 2 * text.size() + 128;
  texts_.push_back(text);
  const auto number = static_cast<std::uint32_t>(texts_.size() - 1);
  numbers_.emplace(text, number);
  return number;
}

GapList::GapList(const GapKey& key)
    : part(key.part), separator(key.separator), head(key.head), tail(key.tail), singles(key.singles) {}

GapList GapList::WithoutGaps() const {
  GapList list;
  list.part = part;
  list.separator = separator;
  list.head = head;
  list.tail = tail;
  list.singles = singles;
  return list;
}

void GapList::Add(std::uint64_t place, std::string_view text, GapTexts& texts) {
  if (open_ && open_place_ != place) Close(texts);
  open_ = true;
  open_place_ = place;
  open_text_ += text;
}

void GapList::Add(const GapList& other, const GapTexts& other_texts, GapTexts& texts) {
  for (Reader reader(other); reader.Next();) Add(reader.place(), other_texts[reader.text()], texts);
}

void GapList::Close(GapTexts& texts) {
  if (!open_) return;
  PutVarint(open_place_ - last_, encoded_);
  PutVarint(texts.Number(open_text_), encoded_);
  last_ = open_place_;
  open_ = false;
  open_text_.clear();
}

bool GapList::Reader::Next() {
  if (at_ == list_.encoded_.size()) return false;
  std::string_view rest = std::string_view(list_.encoded_).substr(at_);
  const std::size_t before = rest.size();
  place_ += TakeNumber(rest);
  text_ = static_cast<std::uint32_t>(TakeNumber(rest));
  at_ += before - rest.size();
  return true;
}

void GapList::Save(const GapTexts& texts, std::string& out) const {
  // The texts get new numbers, because other lists may have texts in `texts`.
  GapTexts own;
  std::vector<std::uint32_t> numbers;
  std::string places;
  std::uint64_t count = 0, last = 0;
  for (Reader reader(*this); reader.Next(); ++count) {
    const std::uint32_t number = own.Number(texts[reader.text()]);
    if (number == numbers.size()) numbers.push_back(reader.text());
    PutVarint(reader.place() - std::exchange(last, reader.place()), places);
    PutVarint(number, places);
  }
  PutVarint(part, out);
  PutSizedText(separator, out);
  PutSizedText(head, out);
  PutSizedText(tail, out);
  PutVarint(singles, out);
  PutVarint(numbers.size(), out);
  for (const std::uint32_t number : numbers) PutSizedText(texts[number], out);
  PutVarint(count, out);
  out += places;
}

GapList GapList::Load(std::string_view& from, GapTexts& texts) {
  GapList list;
  list.part = TakeNumber(from);
  list.separator = TakeSizedText(from);
  list.head = TakeSizedText(from);
  list.tail = TakeSizedText(from);
  list.singles = TakeNumber(from);
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t left = TakeNumber(from); left > 0; --left) numbers.push_back(texts.Number(TakeSizedText(from)));
  for (std::uint64_t left = TakeNumber(from); left > 0; --left) {
    const std::uint64_t rows = TakeNumber(from), number = TakeNumber(from);
    if (number >= numbers.size()) Damaged();
    PutVarint(rows, list.encoded_);
    PutVarint(numbers[number], list.encoded_);
    list.last_ += rows;
  }
  return list;
}

std::string GapFront::Save(const GapTexts& texts) const {
  std::string out;
  PutVarint(row, out);
  PutVarint(goes_on ? 1 : 0, out);
  PutVarint(list ? 1 : 0, out);
  if (list) list->Save(texts, out);
  return out;
}

GapFront GapFront::Load(std::string_view from, GapTexts& texts) {
  GapFront front;
  front.row = TakeNumber(from);
  front.goes_on = TakeNumber(from) != 0;
  if (TakeNumber(from) != 0) front.list = GapList::Load(from, texts);
  return front;
}

}  // namespace gpusort
