// Tests keyed lines: fields keep the order of the bytes that are put, lines with keys have the order of their key
// maker, and no byte is lost. The key makers here are small. tests/cli/own_name.sh compares the keys of locales with
// GNU sort.
#include "formats/keyed_lines.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cut_records.hpp"
#include "data/proof.hpp"
#include "formats/key_bytes.hpp"
#include "formats/locale_keys.hpp"
#include "kernels/backend.hpp"

namespace gpusort {
namespace {

RecordSpan Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }
int Sign(int order) { return (order > 0) - (order < 0); }

/// Returns a text of a few different bytes of every kind, so that lines often agree and contain bytes that need an
/// escape.
std::string AnyText(std::size_t most) {
  const auto byte = rc::gen::weightedElement<char>(
      {{3, 'a'}, {3, 'b'}, {1, '\0'}, {1, '\1'}, {1, '\2'}, {1, '\x09'}, {1, '\x0b'}, {1, '\xff'}, {1, '\xfe'}});
  std::string text = *rc::gen::container<std::string>(byte);
  text.resize(std::min(text.size(), most));
  return text;
}

/// Orders by the number of letters 'a', then, in reverse, by the letters 'b', then by all bytes.
class LetterOrder : public KeyMaker {
 public:
  explicit LetterOrder(bool exact) : exact_(exact), letters_(*this, true), bytes_(*this, false) {}
  std::size_t fields() const override { return 2; }
  const HostOrder& ties(std::size_t field) const override { return field == 0 ? letters_ : bytes_; }
  void PutField(std::size_t field, const Byte* line, std::uint64_t size, FieldWriter& out) const override {
    if (field == 0) {
      out.PutWord(static_cast<std::uint64_t>(std::count(line, line + size, 'a')));
      out.set_reverse(true);
      if (exact_) {
        out.PutWord(static_cast<std::uint64_t>(std::count(line, line + size, 'b')));
        out.SetExact();
      }
    } else {
      for (std::uint64_t i = 0; i < size; ++i) out.Put(line[i]);
      out.SetExact();
    }
  }
  int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
    const int order = letters_.Compare(a, a_size, b, b_size);
    return order != 0 ? order : bytes_.Compare(a, a_size, b, b_size);
  }

 private:
  struct Part : HostOrder {
    Part(const LetterOrder&, bool letters) : of_letters(letters) {}
    int Compare(const Byte* a, std::uint64_t a_size, const Byte* b, std::uint64_t b_size) const override {
      if (!of_letters) return detail::CompareBytes(a, a_size, b, b_size);
      const auto difference = [&](char c) {
        return std::count(a, a + a_size, static_cast<Byte>(c)) - std::count(b, b + b_size, static_cast<Byte>(c));
      };
      if (difference('a') != 0) return difference('a') < 0 ? -1 : 1;
      return difference('b') > 0 ? -1 : difference('b') < 0;
    }
    const bool of_letters;
  };
  const bool exact_;
  const Part letters_, bytes_;
};

class OneBlock : public BatchSource {
 public:
  explicit OneBlock(RecordSpan bytes) : bytes_(bytes) {}
  std::unique_ptr<InputBlock> Next() override {
    return bytes_.empty() ? nullptr : std::make_unique<Block>(std::exchange(bytes_, {}));
  }

 private:
  struct Block : InputBlock {
    explicit Block(RecordSpan of) : data(of) {}
    RecordSpan bytes() const override { return data; }
    const RecordSpan data;
  };
  RecordSpan bytes_;
};

RC_GTEST_PROP(FieldWriter, KeepsTheOrderOfBytes, ()) {
  const std::string a = AnyText(40), b = AnyText(40);
  const bool reverse = *rc::gen::arbitrary<bool>();
  const auto limit = *rc::gen::inRange<std::uint64_t>(1, 60);
  const auto field = [&](const std::string& text) {
    std::vector<std::byte> out;
    FieldWriter writer(out);
    writer.Begin(limit);
    writer.set_reverse(reverse);
    for (const char c : text) writer.Put(static_cast<unsigned char>(c));
    writer.End();
    RC_ASSERT(out.size() <= limit + 1);
    for (const std::byte byte : RecordSpan(out).first(out.size() - 1)) {
      RC_ASSERT(byte > static_cast<std::byte>(kKeyEnd));
      RC_ASSERT(byte != static_cast<std::byte>('\n'));
    }
    return out;
  };
  const std::vector<std::byte> x = field(a), y = field(b);
  if (x == y) return;
  // In reverse the shorter text still comes first. A caller that puts texts in reverse must therefore terminate them.
  const std::size_t common = std::min(a.size(), b.size());
  const int order = Sign(a.compare(0, common, b, 0, common));
  const int expected = order != 0 ? (reverse ? -order : order) : Sign(a.compare(b));
  RC_ASSERT(std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end()) == (expected < 0));
}

RC_GTEST_PROP(FieldWriter, PutsManyBytesAsOneByOne, (bool reverse)) {
  const std::string text = AnyText(1000) + std::string(*rc::gen::element<std::size_t>(0, 126, 127, 128, 300), '\n');
  const std::uint64_t limit = *rc::gen::element<std::uint64_t>(0, 1, 5, 128, 129, 255, 256, std::uint64_t{1} << 60);
  std::vector<std::byte> one_by_one(3), together(3);
  FieldWriter expected(one_by_one), out(together);
  for (FieldWriter* writer : {&expected, &out}) {
    writer->Begin(limit);
    writer->set_reverse(reverse);
  }
  for (const char c : text) expected.Put(static_cast<unsigned char>(c));
  out.PutBytes(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  RC_ASSERT(one_by_one == together);
}

RC_GTEST_PROP(FieldWriter, PutsWordsAsItPutsTheirBytes, ()) {
  FieldWriter::Word words[256] = {};
  std::vector<std::string> plain(256);
  for (unsigned c = 0; c < 256; ++c) {
    for (unsigned i = 0; i < c % 4; ++i) {
      plain[c] += static_cast<char>(c * 7 + i);
      const FieldWriter::Escaped escaped = FieldWriter::Escape(static_cast<unsigned char>(plain[c].back()));
      std::copy(escaped.bytes, escaped.bytes + escaped.size, words[c].bytes + words[c].size);
      words[c].size = static_cast<unsigned char>(words[c].size + escaped.size);
    }
  }
  const auto text = *rc::gen::arbitrary<std::vector<Byte>>();
  const auto limit = *rc::gen::inRange<std::uint64_t>(0, 100);
  std::vector<std::byte> expected, out;
  FieldWriter slow(expected), fast(out);
  slow.Begin(limit);
  for (const Byte c : text) {
    for (const char byte : plain[c]) slow.Put(static_cast<unsigned char>(byte));
  }
  fast.Begin(limit);
  fast.PutWords(text.data(), text.size(), words);
  RC_ASSERT(out == expected);
}

void Append(const KeyScheme& scheme, RecordSpan record, std::vector<std::byte>& out) {
  ScanState state;
  KeyTally tally;
  EXPECT_EQ(scheme.MakeEncoder()->Append(record, state, out, tally), record.size());
}

// Bodies with and without newlines in the middle and at the end.
RC_GTEST_PROP(StoreBody, IsUndoneWhole, ()) {
  const auto bodies = *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::element('a', '\n', '\x1d', 'n', 'e', '.', '\0', '\1'))));
  LineOrder order;
  const LineOrderView view = order.view();
  RecordLayout layout = MakeLineLayout('\n', view);
  layout.keys = 1;
  std::vector<std::byte> keyed;
  RecordSum expected, parts;
  PartSum part(layout);
  std::string all;
  for (const std::string& body : bodies) {
    const std::size_t begin = keyed.size();
    keyed.insert(keyed.end(), {std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)});
    StoreBody(Bytes(body), begin, keyed);
    expected += SumRecord(Bytes(body));
    all += body;
    const RecordSpan record = RecordSpan(keyed).subspan(begin);
    RC_ASSERT(CountRecords(record, layout) == 1u);
    const auto cut = *rc::gen::inRange<std::size_t>(0, record.size() + 1);
    part.Add(record.first(cut));
    part.Add(record.subspan(cut));
    parts += part.End();
  }
  RC_ASSERT(SumRecords(keyed, layout) == expected);
  RC_ASSERT(parts == expected);
  const std::span<std::byte> left = DropKeys(keyed, layout);
  RC_ASSERT(std::equal(left.begin(), left.end(), Bytes(all).begin(), Bytes(all).end()));
}

// Keys and bodies around the sizes of the blocks in which they are copied and searched.
RC_GTEST_PROP(StoreBody, IsUndoneInLongRecords, ()) {
  LineOrder order;
  const LineOrderView view = order.view();
  RecordLayout layout = MakeLineLayout('\n', view);
  layout.keys = kTableKeys;
  std::vector<std::byte> keyed, scratch;
  std::string all;
  for (int records = *rc::gen::inRange(1, 20); records > 0; --records) {
    std::string body(*rc::gen::element<std::size_t>(0, 1, 15, 16, 17, 40, 511, 512, 513, 1100), 'a');
    for (int odd = *rc::gen::inRange(0, 6); odd > 0 && !body.empty(); --odd) {
      body[*rc::gen::inRange<std::size_t>(0, body.size())] = *rc::gen::element('\n', '\x1d', 'n', '\1');
    }
    if (*rc::gen::arbitrary<bool>()) body += '\n';
    const std::size_t begin = keyed.size();
    keyed.insert(keyed.end(), {std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)});
    keyed.insert(keyed.end(), *rc::gen::inRange<std::size_t>(0, 40), std::byte{'k'});
    keyed.push_back(static_cast<std::byte>(kKeyEnd));
    StoreBody(Bytes(body), begin, keyed);
    const RecordSpan record = RecordSpan(keyed).subspan(begin);
    RC_ASSERT(CountRecords(record, layout) == 1u);
    RC_ASSERT(testing::String(OwnBytes(record, layout, scratch)) == body);
    std::string parts;
    const auto cut = *rc::gen::inRange<std::size_t>(0, Body(record, layout).size() + 1);
    BodyUnescaper unescaper;
    const auto put = [&](RecordSpan bytes) { parts += testing::String(bytes); };
    if (HasEscapedBody(record)) {
      unescaper.Add(Body(record, layout).first(cut), put);
      unescaper.Add(Body(record, layout).subspan(cut), put);
      RC_ASSERT(parts == body);
    }
    all += body;
  }
  RC_ASSERT(testing::String(DropKeys(keyed, layout)) == all);
}

// Bytes that a key of a text may or may not write as they are, at all places of a word.
TEST(ArePlain, AgreesWithIsPlain) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned other : {11u, 244u, 128u}) {
      for (unsigned at = 0; at < 8; ++at) {
        std::uint64_t word = 0x0101010101010101u * other;
        word = (word & ~(std::uint64_t{0xFF} << 8 * at)) | std::uint64_t{byte} << 8 * at;
        EXPECT_EQ(keys::ArePlain(word), keys::IsPlain(byte)) << byte << " " << other << " " << at;
      }
    }
    const FieldWriter::Escaped same = FieldWriter::Escape(byte), complement = FieldWriter::Escape(byte ^ 0xFF);
    if (keys::IsPlain(byte)) {
      EXPECT_EQ(same.size + complement.size, 2) << byte;
    }
  }
}

RC_GTEST_PROP(KeyedOrder, OrdersKeyedLinesAsTheMakerOrdersLines, (bool exact, bool tuned)) {
  const LetterOrder maker(exact);
  KeyedOrder order(maker, '\n');
  const std::string a = AnyText(120) + "\n", b = AnyText(120) + "\n";
  if (tuned) order.Tune(Bytes(a + b));
  const RecordLayout layout = order.layout();
  std::vector<std::byte> x, y;
  Append(order, Bytes(a), x);
  Append(order, Bytes(b), y);
  RC_ASSERT(x.size() <= a.size() + order.most_added(a.size()));
  const int expected = maker.Compare(AsBytes(Bytes(a).data()), a.size() - 1, AsBytes(Bytes(b).data()), b.size() - 1);
  RC_ASSERT(Sign(CompareRecords(x, y, layout)) == Sign(expected));
  const RecordLayout plain = MakeLineLayout('\n', order.plain());
  RC_ASSERT(Sign(CompareRecords(Bytes(a), Bytes(b), plain)) == Sign(expected));
}

RC_GTEST_PROP(KeyedOrder, LosesNothing, ()) {
  const LetterOrder maker(true);
  const KeyedOrder order(maker, '\n');
  const RecordLayout layout = order.layout(), plain = MakeLineLayout('\n', order.plain());
  std::string text;
  const auto lines = *rc::gen::inRange<std::size_t>(0, 40);
  for (std::size_t i = 0; i < lines; ++i) text += AnyText(30) + "\n";
  std::vector<std::byte> keyed;
  ForEachRecord(Bytes(text), plain, [&](RecordSpan line) { Append(order, line, keyed); });
  RC_ASSERT(CountRecords(keyed, layout) == lines);
  RC_ASSERT(SumRecords(keyed, layout) == SumRecords(Bytes(text), plain));
  // The sums must also be right in parts.
  RecordSum sum;
  PartSum part(layout);
  ForEachRecord(keyed, layout, [&](RecordSpan record) {
    const auto cut = *rc::gen::inRange<std::size_t>(0, record.size() + 1);
    part.Add(record.first(cut));
    part.Add(record.subspan(cut));
    sum += part.End();
  });
  RC_ASSERT(sum == SumRecords(Bytes(text), plain));
  const std::span<std::byte> left = DropKeys(keyed, layout);
  RC_ASSERT(std::equal(left.begin(), left.end(), Bytes(text).begin(), Bytes(text).end()));
}

/// Sorts keyed lines and returns their bodies.
std::string SortedBodies(const std::vector<std::byte>& keyed, const RecordLayout& layout) {
  HostMemory memory(std::uint64_t{1} << 30);
  const std::unique_ptr<Backend> backend = OpenCpuBackend(2);
  backend->MakeArena({layout, keyed.size(), 2, 1}, memory);
  OneBlock source(keyed);
  const std::unique_ptr<SortedRecords> sorted = backend->OpenLane()->Sort(source);
  std::vector<std::byte> out(sorted->bytes());
  sorted->Read(0, out);
  const std::span<std::byte> left = DropKeys(out, layout);
  return {reinterpret_cast<const char*>(left.data()), left.size()};
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// Sorts groups of lines that agree in their first field: groups of two lines, of more lines than std::sort sorts, and
// of more lines than the memory for wide keys holds. Some fields decide everything, others do not.
TEST(KeyedOrder, SortsAsTheMakerDoes) {
  std::mt19937_64 random(1);
  for (const bool exact : {false, true}) {
    const LetterOrder maker(exact);
    const KeyedOrder order(maker, '\n');
    const RecordLayout layout = order.layout(), plain = MakeLineLayout('\n', order.plain());
    for (const std::size_t letters : {1, 2, 8, 40}) {
      std::vector<std::string> lines(5000);
      std::vector<std::byte> keyed;
      for (std::string& line : lines) {
        line.assign(random() % letters, 'a');
        line.append(random() % letters, 'b');
        // Adds long equal tails that are longer than a field and end in NULs.
        if (random() % 2 != 0) line.append(60, 'x').append(random() % 3, '\0');
        std::shuffle(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(line.size() / 2), random);
        line += '\n';
        Append(order, Bytes(line), keyed);
      }
      std::stable_sort(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
        return CompareRecords(Bytes(a), Bytes(b), plain) < 0;
      });
      ASSERT_EQ(SortedBodies(keyed, layout), Joined(lines)) << exact << ' ' << letters;
    }
  }
}

// Sorts lines by versions, hashes and plain text with all flags, some much longer than a field. The order must be that
// of CompareLines.
TEST(KeyedOrder, SortsVersionsAndHashesAsTheyLie) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 60; ++round) {
    LineOrder order;
    order.separator = random() % 2 != 0 ? ',' : -1;
    order.last_resort = random() % 2 != 0;
    order.last_resort_reverse = random() % 2 != 0;
    order.keys.resize(1 + random() % 3);
    for (std::size_t k = 0; k < order.keys.size(); ++k) {
      LineKey& key = order.keys[k];
      key.ordering = std::array{LineOrdering::kVersion, LineOrdering::kRandom, LineOrdering::kBytes,
                                LineOrdering::kNumeric}[k == 0 ? random() % 2 : random() % 4];
      key.reverse = random() % 2 != 0;
      key.fold_case = random() % 4 == 0;
      if (random() % 2 != 0) key.begin_field = key.end_field = 1 + random() % 2;
    }
    const LineOrderView view = order.view();
    const std::unique_ptr<KeyMaker> maker = MakeKeys(view, false);
    const KeyedOrder keyed_order(*maker, '\n');
    const RecordLayout layout = keyed_order.layout(), plain = MakeLineLayout('\n', view);
    std::vector<std::string> lines(400);
    std::vector<std::byte> keyed;
    for (std::string& line : lines) {
      for (std::size_t parts = random() % (random() % 8 == 0 ? 40 : 5); parts > 0; --parts) {
        line += std::array<const char*, 10>{"a", "B", "1", "01", ".", "~", "-", ",", " ", "10.tar.gz"}[random() % 10];
      }
      if (random() % 8 == 0) line.append(random() % 3, '\0');
      line += '\n';
      Append(keyed_order, Bytes(line), keyed);
    }
    std::stable_sort(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
      return CompareRecords(Bytes(a), Bytes(b), plain) < 0;
    });
    ASSERT_EQ(SortedBodies(keyed, layout), Joined(lines)) << "round " << round;
  }
}

TEST(MakeKeys, AreMadeForWhatIsSlowToReadAlone) {
  LineOrder order;
  order.keys.resize(2);
  LineOrderView view = order.view();
  EXPECT_EQ(MakeKeys(view, false), nullptr);
  order.keys[1].ordering = LineOrdering::kVersion;
  view = order.view();
  EXPECT_EQ(MakeKeys(view, true), nullptr);
  EXPECT_NE(MakeKeys(view, false), nullptr);
  order.keys[0].ordering = LineOrdering::kGeneral;
  view = order.view();
  const std::unique_ptr<KeyMaker> keys = MakeKeys(view, true);
  ASSERT_NE(keys, nullptr);
  const std::string a = "1e2", b = "99";
  EXPECT_GT(keys->Compare(AsBytes(Bytes(a).data()), a.size(), AsBytes(Bytes(b).data()), b.size()), 0);
}

}  // namespace
}  // namespace gpusort
