#include "data/inputs.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "data/reader.hpp"
#include "formats/formats.hpp"
#include "kernels/error.hpp"
#include "kernels/lines/line_order.hpp"
#include "records.hpp"
#include "sorted_runs.hpp"

namespace gpusort::testing {
namespace {

const LineOrderView kWholeLines{};
RecordLayout LineLayout() { return MakeLineLayout('\n', kWholeLines); }
RecordLayout Words() { return MakeFixedLayout(8, {}); }

Bytes Text(const std::string& text) { return {text.begin(), text.end()}; }

/// The ways in which an input is given.
enum class How { kFile, kFifo, kCompressed };

/// Makes inputs with the given contents.
class Made {
 public:
  Made(const RecordLayout& layout, const std::vector<Bytes>& contents, const std::vector<How>& hows,
       std::uint64_t header_lines = 0, const RecordFormat* format = nullptr)
      : layout_(layout),
        plain_(layout, header_lines),
        options_{.format = format != nullptr ? *format : plain_, .header_limit = 1 << 19} {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      paths_.push_back(folder_ / ("in" + std::to_string(i) + (hows[i] == How::kCompressed ? ".gz" : "")));
      Put(i, contents[i], hows[i]);
    }
  }
  ~Made() {
    for (std::thread& writer : writers_) writer.join();
  }

  Inputs& Open() {
    inputs_ = std::make_unique<Inputs>(files_, paths_, options_, layout_, cancel_);
    return *inputs_;
  }
  const std::string& path(std::size_t i) const { return paths_[i]; }
  Bytes Header() const {
    Bytes header;
    Append(header, inputs_->header());
    return header;
  }
  HostMemory& memory() { return memory_; }
  CancelFlag& cancel() { return cancel_; }

  /// Returns all bytes that ReadStream delivers, requested `limit` bytes at a time.
  std::vector<Bytes> Stream(std::uint64_t limit) {
    std::vector<Bytes> all(paths_.size());
    const HostBuffer buffer(memory_, (limit + kReadSlack + 4095) / 4096 * 4096);
    Open();
    while (const auto range = inputs_->ReadStream({buffer.data(), buffer.size()}, limit)) {
      EXPECT_EQ(range->offset, all[range->input].size());
      EXPECT_GT(range->bytes, 0u);
      EXPECT_LE(range->bytes, limit + 2) << "room for the end of a line that is missing";
      Append(all[range->input], {buffer.data(), range->bytes});
    }
    return all;
  }

 private:
  void Put(std::size_t i, const Bytes& content, How how) {
    if (how == How::kFile) {
      WriteFile(paths_[i], content);
    } else if (how == How::kCompressed) {
      Bytes compressed;
      Encoder encoder(Codec::kGz, {}, [&](std::span<const std::byte> more) { Append(compressed, more); });
      encoder.Write(View(content));
      encoder.Finish();
      WriteFile(paths_[i], compressed);
    } else {
      ASSERT_EQ(mkfifo(paths_[i].c_str(), 0600), 0);
      writers_.emplace_back([path = paths_[i], content] { WriteFile(path, content); });
    }
  }

  const RecordLayout layout_;
  TempFolder folder_;
  FileSystem files_;
  CancelFlag cancel_;
  HostMemory memory_{1 << 26};
  const PlainFormat plain_;
  InputOptions options_;
  std::vector<std::string> paths_;
  std::vector<std::thread> writers_;
  std::unique_ptr<Inputs> inputs_;
};

/// Returns the records of a file: the bytes after its header, with the newline that its last line may lack.
Bytes RecordsOf(const Bytes& content, std::uint64_t header_lines) {
  auto at = content.begin();
  for (; header_lines > 0 && at != content.end(); --header_lines) {
    at = std::find(at, content.end(), '\n');
    if (at != content.end()) ++at;
  }
  Bytes records(at, content.end());
  if (!records.empty() && records.back() != '\n') records.push_back('\n');
  return records;
}

template <typename F>
ErrorCode ErrorOf(F f, const std::string& said = "") {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    return error.code();
  }
  return ErrorCode{};
}

const std::vector<Bytes> kTexts = {
    Text("b\na\n"), Text("no newline at its end"), Text(""), Text("\n"), Text("\n\nx"), Bytes(5000, 'l'), Text("z\n")};

TEST(Inputs, ReadGivesAnyPartOfAnyFile) {
  for (const std::uint64_t header : {0, 1}) {
    std::vector<Bytes> contents = kTexts;
    for (Bytes& content : contents) {
      if (header > 0 && !content.empty()) {
        const Bytes line = Text("the header\n");
        content.insert(content.begin(), line.begin(), line.end());
      }
    }
    Made made(LineLayout(), contents, std::vector<How>(contents.size(), How::kFile), header);
    const Inputs& inputs = made.Open();
    EXPECT_TRUE(inputs.rereadable());
    EXPECT_EQ(inputs.header().size(), header > 0 ? 11u : 0u);
    const HostBuffer buffer(made.memory(), 16384);
    std::mt19937_64 random(1);
    std::uint64_t total = 0;
    std::vector<InputRange> ranges = inputs.Ranges();
    for (std::uint32_t i = 0; i < contents.size(); ++i) {
      const Bytes records = RecordsOf(contents[i], header);
      EXPECT_EQ(inputs.size(i), records.size());
      total += records.size();
      if (!records.empty()) {
        ASSERT_FALSE(ranges.empty());
        EXPECT_EQ(ranges.front().input, i);
        EXPECT_EQ(ranges.front().bytes, records.size());
        ranges.erase(ranges.begin());
      }
      for (int part = 0; part < 50 && !records.empty(); ++part) {
        const std::uint64_t offset = random() % records.size();
        const std::uint64_t bytes = 1 + random() % (records.size() - offset);
        Bytes read;
        Append(read, inputs.Read({i, offset, bytes}, {buffer.data(), buffer.size()}));
        ASSERT_EQ(read, Bytes(records.begin() + static_cast<std::ptrdiff_t>(offset),
                              records.begin() + static_cast<std::ptrdiff_t>(offset + bytes)));
      }
    }
    EXPECT_EQ(inputs.bytes(), total);
    inputs.VerifyUnchanged();
  }
}

TEST(Inputs, ALastRecordGetsTheEndThatTheHeaderHas) {
  JobSpec spec;
  spec.source.table.emplace();
  const std::unique_ptr<TableFormat> made = MakeCsvFormat(spec);
  const TableFormat& format = *made;
  const std::string page(4096 - 5, 'x');  // the end of the file is that of a page
  const auto read_all = [&](const std::vector<std::string>& texts, How how, std::uint64_t piece) {
    std::vector<Bytes> contents;
    for (const std::string& text : texts) contents.push_back(Text(text));
    Made made(LineLayout(), contents, std::vector<How>(contents.size(), how), 0, &format);
    std::vector<Bytes> all;
    if (how == How::kFile) {
      const Inputs& inputs = made.Open();
      const HostBuffer buffer(made.memory(), 16384);
      all.resize(contents.size());
      for (const InputRange& range : inputs.Ranges()) {
        for (std::uint64_t at = 0; at < range.bytes; at += piece) {
          Append(all[range.input],
                 inputs.Read({range.input, at, std::min(piece, range.bytes - at)}, {buffer.data(), buffer.size()}));
        }
      }
    } else {
      all = made.Stream(piece);
    }
    std::vector<std::string> records;
    for (const Bytes& bytes : all) records.emplace_back(bytes.begin(), bytes.end());
    return records;
  };
  using Texts = std::vector<std::string>;
  for (const How how : {How::kFile, How::kFifo, How::kCompressed}) {
    for (const std::uint64_t piece : {1, 2, 3, 5000}) {
      const Texts returns = {"1,2", "1\r\n3,\r", "", "1,2\r\n", page};
      Texts texts = {""};
      for (const std::string& text : returns) texts.push_back("a,b\r\n" + text);
      EXPECT_EQ(read_all(texts, how, piece), (Texts{"", "1,2\r\n", "1\r\n3,\r\n", "", "1,2\r\n", page + "\r\n"}));
      EXPECT_EQ(read_all({"a,b", "a,b\n1\r", "a,b\n1\r\n2"}, how, piece), (Texts{"", "1\r\n", "1\r\n2\n"}));
      EXPECT_EQ(read_all({"\xEF\xBB\xBF"}, how, piece), (Texts{""}));
    }
  }
}

TEST(Inputs, ReadStreamGivesAllOfFilesFifosAndCompressedOnes) {
  std::mt19937_64 random(1);
  for (const std::uint64_t header : {0, 1, 2}) {
    for (const std::uint64_t limit : {1, 3, 4096, 100000}) {
      std::vector<Bytes> contents = kTexts;
      contents.push_back(MakeRecords(Words(), 3000, Keys::kRandom, 1));
      std::vector<How> hows;
      std::vector<Bytes> expected;
      for (Bytes& content : contents) {
        hows.push_back(static_cast<How>(random() % 3));
        if (header > 0 && !content.empty()) {
          const Bytes lines = Text(header == 1 ? "one\n" : "one\ntwo\n");
          content.insert(content.begin(), lines.begin(), lines.end());
        }
        expected.push_back(RecordsOf(content, header));
      }
      hows[1] = How::kFifo;  // at least one input is a stream
      Made made(LineLayout(), contents, hows, header);
      EXPECT_EQ(made.Stream(limit), expected) << "header " << header << ", limit " << limit;
    }
  }
}

// A large file that is not in the page cache is read directly, which needs aligned memory and offsets. On a file system
// without direct reads, the test reads through the page cache.
TEST(Inputs, FrontGivesTheBeginningOfALargeFileOnTheDisk) {
  const Bytes content((std::uint64_t{64} << 20) + 1, 'l');
  Made made(LineLayout(), {content}, {How::kFile});
  const int fd = ::open(made.path(0).c_str(), O_RDONLY);
  EXPECT_EQ(::fdatasync(fd), 0);
  EXPECT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  ::close(fd);
  Bytes front;
  Append(front, made.Open().Front(0, 65000));
  EXPECT_EQ(front, Bytes(65000, 'l'));
}

TEST(Inputs, ReadStreamGivesWholeFixedRecords) {
  const std::vector<Bytes> contents = {MakeRecords(Words(), 100, Keys::kRandom, 1),
                                       {},
                                       MakeRecords(Words(), 1, Keys::kRandom, 2),
                                       MakeRecords(Words(), 999, Keys::kRandom, 3)};
  for (const std::uint64_t limit : {8, 15, 16, 4099}) {
    Made made(Words(), contents, {How::kCompressed, How::kFifo, How::kFile, How::kFifo});
    EXPECT_EQ(made.Stream(limit), contents) << limit;
  }
  for (const How how : {How::kFile, How::kFifo, How::kCompressed}) {
    Made made(Words(), {MakeRecords(Words(), 5, Keys::kRandom, 1), Bytes(83)}, {How::kFile, how});
    EXPECT_EQ(ErrorOf([&] { made.Stream(24); }, "at offset 80"), ErrorCode::kBadInput);
  }
}

TEST(Inputs, HeadersMustBeTheSameWhereThereAreAny) {
  for (const How how : {How::kFile, How::kFifo, How::kCompressed}) {
    const std::vector<How> hows(3, how);
    Made same(LineLayout(), {Text("h\nb\n"), Text(""), Text("h")}, hows, 1);
    EXPECT_EQ(same.Stream(10), (std::vector<Bytes>{Text("b\n"), {}, {}}));
    Made different(LineLayout(), {Text("h\nb\n"), Text(""), Text("i\n")}, hows, 1);
    EXPECT_EQ(ErrorOf([&] { different.Stream(10); }, "differ"), ErrorCode::kBadInput);
    Made shorter(LineLayout(), {Text("h\nb\n"), Text("h\n"), Text("")}, hows, 2);
    EXPECT_EQ(ErrorOf([&] { shorter.Stream(10); }, "differ"), ErrorCode::kBadInput);
    Made longest(LineLayout(), {Bytes(1 << 17, 'h'), {}, {}}, hows, 1);
    EXPECT_EQ(ErrorOf([&] { longest.Stream(10); }, "header is longer"), ErrorCode::kBadInput);
    // The first input's byte order mark is written, and another's is no difference.
    const Bytes header = Text("h\n"), marked_header = Text("\xef\xbb\xbfh\n");
    for (const bool first : {false, true}) {
      Made marked(LineLayout(),
                  {Text(first ? "\xef\xbb\xbfh\nb\n" : "h\nb\n"), Text(first ? "h\nc\n" : "\xef\xbb\xbfh\nc\n")},
                  {how, how}, 1);
      EXPECT_EQ(marked.Stream(10), (std::vector<Bytes>{Text("b\n"), Text("c\n")}));
      EXPECT_EQ(marked.Header(), first ? marked_header : header);
    }
    Made late(LineLayout(), {Text(""), marked_header, header}, hows, 1);
    EXPECT_EQ(late.Stream(10), (std::vector<Bytes>(3)));
    EXPECT_EQ(late.Header(), marked_header);
  }
  // The header of a file may be longer than the header of a stream: the plan is made when it is known.
  const std::string line(1 << 15, 'h');
  Made wide(LineLayout(), {Text((line + "\nb\n").c_str())}, {How::kFile}, 1);
  EXPECT_EQ(wide.Stream(10), (std::vector<Bytes>{Text("b\n")}));
}

TEST(Inputs, AHeaderThatIsTooLongSaysWhatIsEnough) {
  std::string comments;
  for (int i = 0; i < 20000; ++i) comments += "# " + std::to_string(i) + "\n";
  Made many(LineLayout(), {Text(comments.c_str())}, {How::kFile}, 15000);
  EXPECT_EQ(ErrorOf([&] { many.Stream(10); }, "it has 15000 lines (comments count) of"), ErrorCode::kBadInput);
  Made one(LineLayout(), {Text((std::string(100000, 'h') + "\n").c_str())}, {How::kFile}, 1);
  EXPECT_EQ(ErrorOf([&] { one.Stream(10); }, "it has one line of 97.7 KiB; give at least --memory 78"),
            ErrorCode::kBadInput);
}

TEST(Inputs, AFileThatChangesIsNoticed) {
  const Bytes lines = Text("one\ntwo\nthree\n");
  HostMemory memory(1 << 20);
  const HostBuffer buffer(memory, 16384);
  const auto read = [&](const Inputs& inputs, std::uint32_t input) {
    return ErrorOf([&] { inputs.Read({input, 0, 14}, {buffer.data(), buffer.size()}); });
  };
  const std::vector<How> files(2, How::kFile);
  Made cut(LineLayout(), {lines, lines}, files);
  const Inputs& shorter = cut.Open();
  ASSERT_EQ(truncate(cut.path(1).c_str(), 5), 0);
  EXPECT_EQ(read(shorter, 0), ErrorCode{});
  EXPECT_EQ(read(shorter, 1), ErrorCode::kBadInput);
  EXPECT_EQ(ErrorOf([&] { shorter.VerifyUnchanged(); }, "truncated"), ErrorCode::kBadInput);

  Made replaced(LineLayout(), {lines, lines}, files);
  const Inputs& old = replaced.Open();
  WriteFile(replaced.path(0) + ".new", Text("other\n"));
  ASSERT_EQ(rename((replaced.path(0) + ".new").c_str(), replaced.path(0).c_str()), 0);
  // The opened file is still there with its whole content.
  EXPECT_EQ(read(old, 0), ErrorCode{});
  old.VerifyUnchanged();

  Made grown(LineLayout(), {lines, lines}, files);
  const Inputs& longer = grown.Open();
  std::ofstream(grown.path(0), std::ios::app) << "four\n";
  ::testing::internal::CaptureStderr();
  longer.VerifyUnchanged();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("exactly the 14 bytes"), std::string::npos);
}

TEST(InputReader, GivesAllBlocksInOrderFromAnyNumberOfThreads) {
  std::vector<Bytes> contents = kTexts;
  contents.push_back(MakeRecords(Words(), 5000, Keys::kTwoValues, 1));
  Bytes all;
  std::vector<Bytes> expected;
  for (const Bytes& content : contents) Append(all, View(RecordsOf(content, 0)));
  for (const bool stream : {false, true}) {
    for (const unsigned threads : {1, 4}) {
      for (const std::uint64_t piece : {100, 4096, 100000}) {
        std::vector<How> hows(contents.size(), How::kFile);
        if (stream) hows.front() = How::kFifo;
        Made made(LineLayout(), contents, hows);
        Inputs& inputs = made.Open();
        StageClock clock("test");
        Pipeline pipeline(made.cancel());
        BlockPool pool(made.memory(), (piece + kReadSlack + 4095) / 4096 * 4096, 2);
        InputReader reader(pipeline, inputs, pool, inputs.Ranges(), LineLayout(), piece, threads, clock);
        const Pipeline::Guard guard(pipeline);
        pipeline.StartRest();
        Bytes read;
        while (const auto block = reader.Next(pipeline)) {
          EXPECT_EQ(block->range.bytes, block->bytes.size());
          Append(read, block->bytes);
        }
        EXPECT_EQ(read, all) << "stream " << stream << ", " << threads << " threads, " << piece;
        pipeline.Join();
      }
    }
  }
}

/// Checks the description of a block by looking at each of its bytes.
void CheckDescribed(const InputReader::Block& block, const RecordLayout& layout) {
  const Bytes bytes = [&] {
    Bytes copy;
    Append(copy, block.bytes);
    return copy;
  }();
  std::uint64_t head = layout.fixed() ? 0 : bytes.size(), end = 0, longest = 0, ends = 0;
  if (layout.fixed()) {
    end = bytes.size();
    longest = bytes.empty() ? 0 : layout.stride;
    ends = bytes.size() / layout.stride;
  }
  for (std::size_t i = 0; !layout.fixed() && i < bytes.size(); ++i) {
    if (bytes[i] != layout.delimiter) continue;
    ++ends;
    if (end == 0) {
      head = i + 1;
    } else {
      longest = std::max<std::uint64_t>(longest, i + 1 - end);
    }
    end = i + 1;
  }
  RC_ASSERT(block.head == head);
  RC_ASSERT(block.end == end);
  if (!layout.fixed()) {
    RC_ASSERT(block.longest >= longest);
    RC_ASSERT(block.line_ends() == ends);
  }
  const RecordSum sum = end == 0 ? RecordSum{} : SumRecords(View(bytes).subspan(head, end - head), layout);
  RC_ASSERT(block.sum == sum);
}

RC_GTEST_PROP(InputBlock, IsDescribedAndSplitByItsRecords, ()) {
  const bool lines = *rc::gen::arbitrary<bool>();
  const RecordLayout layout = lines ? LineLayout() : Words();
  Bytes bytes = lines ? *rc::gen::container<Bytes>(rc::gen::element<unsigned char>('\n', 'a', 'b', 'c'))
                      : MakeRecords(layout, *rc::gen::inRange<std::size_t>(0, 20), Keys::kRandom, 1);
  InputReader::Block block;
  block.range = {3, 1000, bytes.size()};
  block.bytes = View(bytes);
  block.Describe(layout);
  CheckDescribed(block, layout);
  const std::uint64_t longest = block.longest;
  std::vector<std::uint64_t> ends;
  for (std::uint64_t i = 1; i <= bytes.size(); ++i) {
    if (lines ? bytes[i - 1] == '\n' : i % layout.stride == 0) ends.push_back(i);
  }
  if (ends.empty()) return;
  const std::uint64_t count = *rc::gen::elementOf(ends);
  const InputReader::Block rest = block.Split(count, layout);
  RC_ASSERT(block.bytes.size() == count && block.bytes.data() == View(bytes).data());
  RC_ASSERT(rest.bytes.size() == bytes.size() - count && rest.bytes.data() == View(bytes).data() + count);
  RC_ASSERT(block.range.offset == 1000u && block.range.bytes == count && block.range.input == 3u);
  RC_ASSERT(rest.range.offset == 1000u + count && rest.range.bytes == bytes.size() - count && rest.range.input == 3u);
  CheckDescribed(block, layout);
  CheckDescribed(rest, layout);
  RC_ASSERT(block.longest <= longest && rest.longest <= longest);
}

}  // namespace
}  // namespace gpusort::testing
