#include "runs/sinks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "formats/keyed_record.hpp"
#include "formats/value_place.hpp"
#include "io/output_file.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "records.hpp"
#include "sanitized.hpp"
#include "sorted_runs.hpp"
#include "test_job.hpp"

namespace gpusort::testing {
namespace {

RecordLayout SinkPairs() {
  KeySpec spec;
  spec.fields.push_back({0, 4, KeyType::kUnsigned});
  return MakeFixedLayout(13, spec);  // windows begin and end anywhere in a page
}

const LineOrderView kLinesInReverse = [] {
  LineOrderView view;
  return view;
}();
RecordLayout SinkLineLayout() { return MakeLineLayout('\n', kLinesInReverse); }

Bytes SortedLines(std::size_t count) {
  Bytes lines;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string line = std::to_string(i * 7919 % 1000) + std::string(i % 97, 'x') + "\n";
    lines.insert(lines.end(), line.begin(), line.end());
  }
  return StableSortedRecords(View(lines), SinkLineLayout());
}

Bytes Plus(Bytes a, RecordSpan b) {
  Append(a, b);
  return a;
}
const Bytes kHeader = {'a', ' ', 'h', 'e', 'a', 'd', 'e', 'r', '\n'};

enum class To { kFile, kDirectFile, kStream };
constexpr To kEverywhere[] = {To::kFile, To::kDirectFile, To::kStream};
/// Targets of outputs that never bypass the page cache, because the place of a record becomes known only when the
/// record arrives.
constexpr To kOneByOne[] = {To::kFile, To::kStream};

/// An output, and its content at the end.
struct OutFile {
  OutFile(TestJob& on, To to, const Bytes& header = {}) : on_(on), path_(on.folder / "out") {
    if (to == To::kStream) {
      fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      target = Output(std::make_unique<PipeWriter>(fd_, "stream", on.cancel));
    } else {
      target = Output(on.files.CreateOutput(path_, to == To::kDirectFile));
    }
    target.SetHeader(View(header));
  }
  ~OutFile() {
    if (fd_ >= 0) close(fd_);
  }
  std::function<std::unique_ptr<WindowSink>(Pipeline&)> Sink(OutputProof& proof) {
    return [this, &proof](Pipeline& pipeline) { return MakeOutputSink(on_.job, pipeline, target, proof, 0); };
  }
  Bytes Published(std::uint64_t bytes) {
    // Publishing leaves signals blocked, because a process normally ends after it.
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const std::uint64_t stored = target.Finish(bytes);
    target.Publish(false);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    const Bytes content = ReadFile(path_);
    EXPECT_EQ(content.size(), stored);
    return content;
  }

  Output target;

 private:
  TestJob& on_;
  const std::string path_;
  int fd_ = -1;
};

/// Writes sorted records through a sink, in windows of up to `most` bytes, and returns the bytes of the output.
Bytes Written(const RecordLayout& layout, RecordSpan sorted, std::uint64_t most, To to, const Bytes& header,
              bool unique = false, std::uint64_t top = 0) {
  TestJob on(layout);
  on.spec.order.unique = unique;
  on.spec.order.top = top;
  OutFile output(on, to, header);
  OutputProof proof(layout, unique);
  const std::uint64_t bytes = PassThrough(on, sorted, most, static_cast<std::uint32_t>(most), output.Sink(proof));
  if (top == 0) {
    proof.Check(SumRecords(sorted, layout));
  } else {
    proof.CheckCount(proof.sum().records);
  }
  return output.Published(bytes);
}

TEST(OutputSink, PutsWindowsWhereTheyBelong) {
  for (const RecordLayout& layout : {SinkPairs(), SinkLineLayout()}) {
    const Bytes all =
        layout.fixed() ? StableSorted(MakeRecords(layout, 5000, Keys::kRandom, 1), layout) : SortedLines(1000);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
      const std::vector<RecordSpan> records = SplitRecords(View(all), layout);
      std::uint64_t size = 0;
      for (std::size_t i = 0; i < std::min(count, records.size()); ++i) size += records[i].size();
      const RecordSpan sorted = View(all).first(size);
      for (const To to : kEverywhere) {
        for (const Bytes& header : {Bytes{}, kHeader, Bytes(4096, 'h'), Bytes(5000, 'h')}) {
          // Sizes with many windows in a page, about one window in a page, and many pages in a window.
          for (const std::uint64_t most : {200, 4096, 30000}) {
            ASSERT_EQ(Written(layout, sorted, most, to, header), Plus(header, sorted))
                << "fixed " << layout.fixed() << ", to " << static_cast<int>(to) << ", " << size << " bytes, header "
                << header.size() << ", windows of " << most;
          }
        }
      }
    }
  }
}

TEST(OutputSink, KeepsTheFirstOfEqualRecordsAcrossWindows) {
  for (const Keys keys : {Keys::kAllEqual, Keys::kTwoValues, Keys::kCommonPrefix, Keys::kRandom}) {
    const RecordLayout layout = SinkPairs();
    const Bytes sorted = StableSorted(MakeRecords(layout, 2000, keys, 3), layout);
    const Bytes first = FirstOfEqual(sorted, layout);
    const std::uint64_t count = first.size() / layout.stride;
    for (const To to : kOneByOne) {
      for (const std::uint64_t most : {13, 500, 100000}) {
        EXPECT_EQ(Written(layout, View(sorted), most, to, kHeader, true), Plus(kHeader, View(first)));
        for (const std::uint64_t top : {std::uint64_t{1}, count / 2 + 1, count, count + 1}) {
          EXPECT_EQ(Written(layout, View(sorted), most, to, kHeader, true, top),
                    Plus(kHeader, View(first).first(std::min(top, count) * layout.stride)));
        }
      }
    }
  }
  const Bytes lines = StableSortedRecords(View(Plus(SortedLines(1500), View(SortedLines(1500)))), SinkLineLayout());
  Bytes first;
  RecordSpan last;
  for (const RecordSpan line : SplitRecords(View(lines), SinkLineLayout())) {
    if (last.empty() || CompareRecords(last, line, SinkLineLayout()) != 0) Append(first, line);
    last = line;
  }
  ASSERT_LT(first.size(), lines.size());
  for (const std::uint64_t most : {1, 300, 30000}) {
    EXPECT_EQ(Written(SinkLineLayout(), View(lines), most, To::kFile, {}, true), first);
  }
}

/// Writes sorted lines through a sink with the order `order`, in windows of up to `most` bytes, and proves them. To a
/// stream, earlier attempts may have written a part.
std::string WrittenGroups(const Order& order, RecordSpan sorted, std::uint64_t most, To to) {
  TestJob on(SinkLineLayout());
  on.spec.order = order;
  on.spec.order.layout = SinkLineLayout();
  on.spec.order.unique = true;
  OutFile output(on, to);
  for (const std::uint64_t stop_after : {2, 9}) {  // attempts that end early
    OutputProof proof(SinkLineLayout(), true);
    if (to == To::kStream) PassThrough(on, sorted, 1 + most / 2, 3, output.Sink(proof), stop_after);
  }
  OutputProof proof(SinkLineLayout(), true);
  const std::uint64_t bytes = PassThrough(on, sorted, most, static_cast<std::uint32_t>(most), output.Sink(proof));
  if (order.top == 0 || order.by_count || proof.sum().records < order.top) {
    proof.Check(SumRecords(sorted, SinkLineLayout()));
  } else {
    proof.CheckCount(order.top);
  }
  const Bytes written = output.Published(bytes);
  return {reinterpret_cast<const char*>(written.data()), written.size()};
}

TEST(OutputSink, CountsEqualLinesAcrossWindows) {
  std::mt19937 random(7);
  for (const std::uint32_t longest : {3, 100}) {
    std::vector<std::pair<std::string, std::uint64_t>> groups;  // a line, and how often it occurs
    std::string text;
    for (unsigned i = 0; i < 60; ++i) {
      groups.emplace_back(std::to_string(1000 + i) + std::string(random() % 30, 'x') + "\n", 1 + random() % longest);
      for (std::uint64_t j = 0; j < groups.back().second; ++j) text += groups.back().first;
    }
    const Bytes sorted(text.begin(), text.end());
    for (const KeptGroups kept : {KeptGroups::kAll, KeptGroups::kSingle, KeptGroups::kRepeated}) {
      for (const bool count : {false, true}) {
        for (const std::uint64_t top : {0, 10, 1000}) {
          for (const bool by_count : {false, true}) {
            if (by_count && (!count || top == 0)) continue;
            Order order;
            order.groups = kept;
            order.count = count;
            order.top = top;
            order.by_count = by_count;
            auto want = groups;
            std::erase_if(want, [&](const auto& group) {
              return kept != KeptGroups::kAll && (group.second > 1) != (kept == KeptGroups::kRepeated);
            });
            if (by_count) {
              std::ranges::stable_sort(want, [](const auto& a, const auto& b) { return a.second > b.second; });
            }
            if (top > 0) want.resize(std::min<std::size_t>(want.size(), top));
            std::string lines;
            for (const auto& [line, number] : want) {
              const std::string digits = std::to_string(number);
              lines += (count ? std::string(7 - digits.size(), ' ') + digits + " " : "") + line;
            }
            for (const To to : kOneByOne) {
              for (const std::uint64_t most : {40, 3000}) {
                if (testing::Stride() > 1 && random() % 4 != 0) continue;
                ASSERT_EQ(WrittenGroups(order, View(sorted), most, to), lines)
                    << "groups " << static_cast<int>(kept) << ", count " << count << ", top " << top << ", by count "
                    << by_count << ", up to " << longest << " equal lines, windows of " << most;
              }
            }
          }
        }
      }
    }
  }
}

/// Returns a keyed record of a CSV file with the columns k and v. `value` is a number, or empty for null.
std::vector<std::byte> KeyedRow(const std::string& key, const std::string& value, bool escaped) {
  std::vector<std::byte> keyed{std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd)};
  FieldWriter writer(keyed);
  writer.Begin(key.size());
  for (const char c : key) writer.Put(static_cast<unsigned char>(c));
  writer.End();
  ValuePlace place;
  place.at = key.size() + 1;
  place.size = value.size();
  place.known = true;
  place.null = value.empty();
  place.Append(keyed);
  EndMark(keyed);
  const std::string row = key + "," + value + (escaped ? ",\"x\ny\"\n" : ",x\n");
  StoreBody(std::as_bytes(std::span(row)), 0, keyed);
  return keyed;
}

TEST(OutputSink, AddsTheValuesOfEqualRecordsAcrossWindows) {
  JobSpec spec;
  spec.source.format = Format::kTable;
  spec.source.table.emplace();
  spec.source.table->header = 0;
  for (const std::uint64_t number : {1, 2}) {
    ColumnKey key;
    key.column = std::to_string(number);
    key.number = number;
    key.summed = number == 2;
    spec.source.table->keys.push_back(key);
  }
  LineKey first;
  first.begin_field = first.end_field = 1;
  LineOrderView view;
  view.keys = &first;
  view.key_count = 1;
  view.separator = kKeyEnd;
  view.last_resort = false;
  RecordLayout layout = MakeLineLayout('\n', view);
  layout.keys = kTableKeys;

  std::mt19937 random(7);
  for (const std::uint32_t longest : {1, 2, 3, 100}) {
    struct Group {
      std::string key, first, sum, end;
      std::uint64_t records;
    };
    std::vector<Group> groups;
    Bytes sorted;
    for (unsigned i = 0; i < 60; ++i) {
      const std::uint64_t records = 1 + random() % longest;
      const bool escaped = random() % 3 == 0;
      std::int64_t sum = 0;
      bool any = false;
      Group group{std::to_string(1000 + i), "", "", escaped ? ",\"x\ny\"\n" : ",x\n", records};
      for (std::uint64_t j = 0; j < records; ++j) {
        const std::int64_t value = static_cast<std::int64_t>(random() % 2000) - 1000;
        const std::string text = random() % 4 == 0 ? "" : std::to_string(value);
        any |= !text.empty();
        sum += text.empty() ? 0 : value;
        if (j == 0) group.first = text;
        const std::vector<std::byte> row = KeyedRow(group.key, text, escaped);
        Append(sorted, row);
      }
      group.sum = any && records > 1 ? std::to_string(sum) : group.first;
      groups.push_back(group);
    }
    for (const KeptGroups kept : {KeptGroups::kAll, KeptGroups::kSingle, KeptGroups::kRepeated}) {
      for (const bool count : {false, true}) {
        for (const std::uint64_t top : {0, 10}) {
          for (const bool by_count : {false, true}) {
            if (by_count && (!count || top == 0)) continue;
            auto want = groups;
            std::erase_if(want, [&](const Group& group) {
              return kept != KeptGroups::kAll && (group.records > 1) != (kept == KeptGroups::kRepeated);
            });
            if (by_count) std::ranges::stable_sort(want, std::ranges::greater(), &Group::records);
            if (top > 0) want.resize(std::min<std::size_t>(want.size(), top));
            std::string rows;
            for (const Group& group : want) {
              rows += (count ? std::to_string(group.records) + "," : "") + group.key + "," + group.sum + group.end;
            }
            for (const std::uint64_t most : {40, 3000}) {
              TestJob on(layout);
              on.spec.source = spec.source;
              on.spec.order.unique = on.spec.order.sum = true;
              on.spec.order.groups = kept;
              on.spec.order.count = count;
              on.spec.order.top = top;
              on.spec.order.by_count = by_count;
              OutFile output(on, To::kFile);
              OutputProof proof(layout, true);
              const std::uint64_t bytes =
                  PassThrough(on, View(sorted), most, static_cast<std::uint32_t>(most), output.Sink(proof));
              if (top == 0 || by_count || proof.sum().records < top) proof.Check(SumRecords(View(sorted), layout));
              const Bytes written = output.Published(bytes);
              ASSERT_EQ(std::string(reinterpret_cast<const char*>(written.data()), written.size()), rows)
                  << "groups " << static_cast<int>(kept) << ", count " << count << ", top " << top << ", by count "
                  << by_count << ", up to " << longest << " equal rows, windows of " << most;
            }
          }
        }
      }
    }
  }
}

TEST(OutputSink, CutsLargeWindowsIntoChunks) {
  KeySpec spec;
  spec.fields.push_back({0, 1, KeyType::kUnsigned});
  const RecordLayout layout = MakeFixedLayout(1000, spec);  // a chunk is no multiple of this
  Bytes sorted(11000 * 1000);
  for (std::size_t i = 0; i < 11000; ++i) {
    sorted[i * 1000] = static_cast<unsigned char>(i / 4000);
    std::memcpy(&sorted[i * 1000 + 1], &i, sizeof(i));
  }
  for (const To to : {To::kFile, To::kDirectFile}) {
    EXPECT_TRUE(Written(layout, View(sorted), sorted.size(), to, kHeader) == Plus(kHeader, View(sorted)));
  }
  EXPECT_EQ(Written(layout, View(sorted), sorted.size(), To::kFile, {}, true), FirstOfEqual(sorted, layout));
}

TEST(OutputSink, EndsAfterTheTop) {
  const RecordLayout layout = SinkPairs();
  const Bytes sorted = StableSorted(MakeRecords(layout, 1000, Keys::kTwoValues, 3), layout);
  for (const To to : kOneByOne) {
    for (const std::uint64_t top : {1, 77, 999, 1000, 1001}) {
      EXPECT_EQ(Written(layout, View(sorted), 400, to, kHeader, false, top),
                Plus(kHeader, View(sorted).first(std::min<std::uint64_t>(top, 1000) * layout.stride)));
    }
  }
}

TEST(OutputSink, CompressesInOrder) {
  const RecordLayout layout = SinkPairs();
  const Bytes sorted = StableSorted(MakeRecords(layout, 5000, Keys::kTwoValues, 3), layout);
  TestJob on(layout);
  OutFile output(on, To::kStream, kHeader);
  output.target.Compress(Codec::kGz, EncoderOptions{}, on.clock);
  OutputProof proof(layout, false);
  const Bytes compressed = output.Published(PassThrough(on, View(sorted), 3000, 5, output.Sink(proof)));
  std::size_t at = 0;
  Decoder decoder(Codec::kGz, "output", [&](std::span<std::byte> to) {
    const std::size_t count = std::min(to.size(), compressed.size() - at);
    std::memcpy(to.data(), compressed.data() + at, count);
    at += count;
    return count;
  });
  Bytes expanded;
  std::vector<std::byte> buffer(10000);
  while (const std::size_t got = decoder.Read(buffer)) Append(expanded, {buffer.data(), got});
  EXPECT_EQ(expanded, Plus(kHeader, View(sorted)));
}

TEST(OutputSink, ANewAttemptRepeatsNothingThatAStreamHasTaken) {
  const RecordLayout layout = SinkPairs();
  const Bytes sorted = StableSorted(MakeRecords(layout, 3000, Keys::kTwoValues, 3), layout);
  for (const bool unique : {false, true}) {
    for (const std::uint64_t stop_after : {0, 1, 17}) {
      TestJob on(layout);
      on.spec.order.unique = unique;
      OutFile output(on, To::kStream, kHeader);
      for (const std::uint64_t stop : {stop_after, stop_after + 5}) {
        OutputProof proof(layout, unique);
        PassThrough(on, View(sorted), 800, 4, output.Sink(proof), stop);
      }
      OutputProof proof(layout, unique);
      // The windows have other borders this time.
      const std::uint64_t bytes = PassThrough(on, View(sorted), 3000, 5, output.Sink(proof));
      proof.Check(SumRecords(View(sorted), layout));
      const Bytes kept = unique ? FirstOfEqual(sorted, layout) : sorted;
      EXPECT_EQ(output.Published(bytes), Plus(kHeader, View(kept))) << stop_after << " unique " << unique;
    }
  }
}

TEST(OutputSink, AFailedWriteEndsTheMerge) {
  const RecordLayout layout = SinkPairs();
  const Bytes sorted = StableSorted(MakeRecords(layout, 20000, Keys::kRandom, 3), layout);
  for (const bool unique : {false, true}) {
    for (const std::uint64_t nth : {1, 2, 5}) {
      TestJob on(layout);
      on.spec.order.unique = unique;
      OutFile output(on, To::kFile, kHeader);
      on.files.FailFrom(Call::kWrite, nth, ENOSPC);
      OutputProof proof(layout, unique);
      try {
        PassThrough(on, View(sorted), 9000, 4, output.Sink(proof));
        ADD_FAILURE() << nth << ": nothing was thrown";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kNoSpace) << error.what();
      }
    }
  }
}

// A sink ends its threads when it is destroyed. After a merge that fails before it begins, no thread may still be at
// work.
TEST(Sinks, EndTheirThreadsWhenTheyAreDropped) {
  TestJob on(SinkPairs());
  Pipeline spilling(on.cancel);
  gpusort::Run run;
  MakeSpillSink(on.job, spilling, run).reset();
  EXPECT_TRUE(spilling.stopped());
  for (const To to : kEverywhere) {
    OutFile output(on, to);
    OutputProof proof(SinkPairs(), false);
    Pipeline writing(on.cancel);
    output.Sink(proof)(writing).reset();
    EXPECT_TRUE(writing.stopped()) << static_cast<int>(to);
  }
}

TEST(SpillSink, MakesARunOfTheWindows) {
  for (const RecordLayout& layout : {SinkPairs(), SinkLineLayout()}) {
    Bytes sorted = layout.fixed() ? StableSorted(MakeRecords(layout, 5000, Keys::kRandom, 1), layout) : Bytes{};
    if (!layout.fixed()) {
      // Lines that are longer than one block, two blocks and many blocks, in the middle and at the end.
      sorted = SortedLines(1000);
      for (const std::size_t length : {9000, 17000, 100000}) {
        sorted.insert(sorted.end(), length, 'y');
        sorted.push_back('\n');
      }
      Append(sorted, View({'z', '\n'}));
      sorted.insert(sorted.end(), 8128, 'z');
      sorted.push_back('\n');
      sorted = StableSortedRecords(View(sorted), layout);
    }
    for (const std::uint64_t most : {100, 8192, 50000}) {
      TestJob on(layout);
      const gpusort::Run run = SpillRun(on, View(sorted), most);
      EXPECT_TRUE(run.spilled());
      EXPECT_EQ(ReadRun(on, run), sorted) << most;
      on.store.Free(run);
      EXPECT_EQ(on.store.bytes_in_use(), 0u);
    }
  }
}

TEST(SpillSink, KeepsNoMoreThanTheTopNeeds) {
  const RecordLayout layout = SinkPairs();
  const Bytes sorted = StableSorted(MakeRecords(layout, 4000, Keys::kCommonPrefix, 1), layout);
  for (const bool unique : {false, true}) {
    for (const std::uint64_t top : {1, 3, 100, 3999, 4000, 5000}) {
      TestJob on(layout);
      on.spec.order.top = top;
      on.spec.order.unique = unique;
      const gpusort::Run run = SpillRun(on, View(sorted));
      // With -u all records with the first keys stay. The last merge drops those that repeat a key.
      std::uint64_t records = 0, wanted = 0;
      for (; records < 4000; ++records) {
        const bool first = records == 0 || Compare(&sorted[(records - 1) * 13], &sorted[records * 13], layout) != 0;
        wanted += first || !unique ? 1 : 0;
        if (wanted > top) break;
      }
      Bytes front;
      Append(front, View(sorted).first(records * 13));
      EXPECT_EQ(ReadRun(on, run), front) << top << " unique " << unique;
    }
  }
}

}  // namespace
}  // namespace gpusort::testing
