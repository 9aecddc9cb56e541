#include "runs/run_store.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "runs/temp_codec.hpp"

namespace gpusort {
namespace {

/// Returns the number in the header of a stored block. A block of a long line is stored in several parts, which differ
/// in this number.
std::uint64_t PartNumber(std::uint64_t number, std::uint64_t part) { return number | part << 48; }

}  // namespace

namespace {

/// Returns how many temp files to make in each of `folders` folders, into which `threads` threads write. The kernel
/// lets one thread at a time write to a file, and the other threads spin while they wait.
std::size_t FilesOfFolder(std::uint64_t folders, std::uint64_t threads) {
  // All temp files together are at most a part of the files that the process may open.
  constexpr std::uint64_t kMost = 8, kPart = 32;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return std::clamp<std::uint64_t>(limit.rlim_cur / kPart / folders, 1, std::clamp<std::uint64_t>(threads, 1, kMost));
}

}  // namespace

RunStore::RunStore(const JobSpec& spec, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
                   std::vector<std::string> directories, const std::function<void(const std::string&)>& warn,
                   Journal* journal)
    : spec_(spec),
      files_(files),
      memory_(memory),
      directories_(std::move(directories)),
      program_(spec.limits.temp_program, spec.dialect.ignore_sigpipe, cancel,
               spec.dialect.say ? spec.dialect.say : warn),
      journal_(journal) {}

RunStore::~RunStore() = default;

std::uint64_t RunStore::taken_bytes() const { return codec_ ? codec_->taken_bytes() : 0; }
Codec RunStore::codec() const { return codec_ ? codec_->codec() : Codec::kNone; }

void RunStore::CheckDirectories(const Plan& plan) const {
  if (!spec_.dialect.strict) return;
  for (const std::string& directory : spec_.limits.temp_dirs) CheckTempDirectory(directory);
  // The size of a stream is unknown, and lines may fit into memory, so temp files may not be needed.
  if (plan.temp_bytes == 0 || keeps()) return;
  for (const std::string& directory : directories_) CheckTempDirectory(directory);
}

void RunStore::Open(const Plan& plan, unsigned threads) {
  if (open()) return;
  CheckDirectories(plan);
  if (!plan.spills) return;
  const std::vector<std::string> directories = keeps() ? journal_->directories() : directories_;
  std::function<void()> check = [this, directories] {
    if (!spec_.dialect.strict) return;
    for (const std::string& directory : directories) {
      CheckTempDirectory(directory);
      if (files_.IsTmpfs(directory)) {
        LogWarn("the temp directory " + EscapeName(directory) +
                " is in memory (tmpfs): what is spilled there takes RAM");
      }
    }
  };
  if (plan.temp_bytes > 0) std::exchange(check, nullptr)();
  if (spec_.dialect.strict && !spec_.target.no_space_check && plan.temp_bytes > 0) {
    std::uint64_t there = 0;  // bytes of the runs that are kept
    if (keeps()) {
      for (const auto& [id, run] : journal_->manifest().runs) there += run.bytes;
    }
    RequireSpace(files_, directories, plan.temp_bytes - std::min(plan.temp_bytes, there), "temporary runs");
  }
  spill_ = std::make_unique<SpillStore>(files_, directories, plan.block_bytes, plan.direct_temp, check,
                                        keeps() ? std::optional(journal_->spill()) : std::nullopt,
                                        FilesOfFolder(directories.size(), threads));
  codec_ = std::make_unique<TempCodec>(memory_, plan.block_bytes, plan.temp_workspaces, TempCodecAsked(spec_), threads,
                                       &program_);
}

void RunStore::Close() {
  codec_.reset();
  if (!spill_) return;
  closed_written_ += spill_->written_bytes();
  closed_peak_ = std::max(closed_peak_, spill_->peak_bytes());
  spill_.reset();
}

void RunStore::Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
                     const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read) {
  for (std::uint64_t done = 0, part = 0; done < block.bytes; ++part) {
    const std::uint64_t count = std::min(block.bytes - done, spill_->payload_capacity());
    const std::span<std::byte> payload = buffer.subspan(kSpillHeaderBytes, count);
    read(done, payload);
    if (part == 0) {
      // If a line is stored in parts, its forecast is made from the first part.
      block.last = MakeForecast(count == block.bytes ? LastRecord(payload, layout) : payload, layout);
      block.forecast = true;
    }
    const SpillExtent extent = codec_->Write(*spill_, run, PartNumber(number, part), buffer, count);
    if (part == 0) {
      block.place = extent;
    } else {
      block.more.push_back(extent);
    }
    done += count;
  }
}

std::span<const std::byte> RunStore::Load(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer,
                                          const RunBlock& block) {
  const std::uint64_t slot_bytes = spill_->payload_capacity() + kSpillHeaderBytes;
  std::uint64_t bytes = 0;
  for (std::uint64_t part = 0; part <= block.more.size(); ++part) {
    const SpillExtent& extent = part == 0 ? std::get<SpillExtent>(block.place) : block.more[part - 1];
    const std::span<std::byte> rest = buffer.subspan(part * slot_bytes).first(slot_bytes);
    const std::uint64_t count = std::min(block.bytes - bytes, spill_->payload_capacity());
    codec_->Read(*spill_, extent, run, PartNumber(number, part), rest, count);
    if (part > 0) std::memmove(buffer.data() + kSpillHeaderBytes + bytes, rest.data() + kSpillHeaderBytes, count);
    bytes += count;
  }
  return buffer.subspan(kSpillHeaderBytes, bytes);
}

void RunStore::Free(const RunBlock& block) {
  const SpillExtent* const first = std::get_if<SpillExtent>(&block.place);
  if (first != nullptr && first->payload_bytes > 0) spill_->Free(*first);
  for (const SpillExtent& extent : block.more) spill_->Free(extent);
}

void RunStore::Free(const Run& run) {
  for (std::size_t i = 0; i < run.blocks.size(); ++i) Free(run.blocks[i]);
  const std::lock_guard lock(mutex_);
  if (const auto index = indexes_.extract(run.id)) {
    for (const SpillExtent& extent : index.mapped()) spill_->Free(extent);
  }
}

namespace {

/// The blocks that store the block list (index) of a run have numbers from here on, which no block of records has.
constexpr std::uint64_t kIndexNumber = std::uint64_t{1} << 47;

/// The beginning of the description of a block in an index. Its extents and its forecast follow.
struct IndexEntry {
  std::uint32_t bytes;
  std::uint32_t extents;
};
struct IndexExtent {
  std::uint64_t offset;
  std::uint32_t payload_bytes;
  std::uint16_t file;
  std::uint16_t codec;
};

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Writes a sequence of bytes into blocks of temp files.
class IndexWriter {
 public:
  IndexWriter(SpillStore& spill, std::uint64_t run, std::span<std::byte> buffer)
      : spill_(spill), run_(run), buffer_(buffer) {}

  void Put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), spill_.payload_capacity() - filled_);
      std::memcpy(buffer_.data() + kSpillHeaderBytes + filled_, bytes.data(), count);
      filled_ += count;
      bytes = bytes.subspan(count);
      if (filled_ == spill_.payload_capacity()) Flush();
    }
  }
  std::vector<SpillExtent> Finish() {
    if (filled_ > 0) Flush();
    return std::move(extents_);
  }

 private:
  void Flush() {
    extents_.push_back(spill_.Write(run_, kIndexNumber + extents_.size(), buffer_, std::exchange(filled_, 0)));
  }

  SpillStore& spill_;
  const std::uint64_t run_;
  const std::span<std::byte> buffer_;
  std::uint64_t filled_ = 0;
  std::vector<SpillExtent> extents_;
};

[[noreturn]] void BadIndex(std::uint64_t run, const std::string& why) {
  throw Error(ErrorCode::kIntegrity, "the index of run " + std::to_string(run) + " that is kept: " + why);
}

class IndexReader {
 public:
  IndexReader(SpillStore& spill, const KeptRun& run, std::span<std::byte> buffer)
      : spill_(spill), run_(run), buffer_(buffer) {}

  void Get(std::span<std::byte> out) {
    while (!out.empty()) {
      if (at_ == end_) {
        if (next_ == run_.index.size()) BadIndex(run_.id, "it ends early");
        end_ = spill_.Read(run_.index[next_], run_.id, kIndexNumber + next_, buffer_);
        at_ = 0;
        ++next_;
        continue;
      }
      const std::uint64_t count = std::min<std::uint64_t>(out.size(), end_ - at_);
      std::memcpy(out.data(), buffer_.data() + kSpillHeaderBytes + at_, count);
      at_ += count;
      out = out.subspan(count);
    }
  }
  template <typename T>
  T GetOne() {
    T value;
    Get(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  bool ended() const { return at_ == end_ && next_ == run_.index.size(); }

 private:
  SpillStore& spill_;
  const KeptRun& run_;
  const std::span<std::byte> buffer_;
  std::size_t next_ = 0;
  std::uint64_t at_ = 0, end_ = 0;
};

}  // namespace

void RunStore::Keep(const Run& run, const RecordLayout& layout, std::span<std::byte> buffer,
                    std::span<const Run> replaces) {
  IndexWriter index(*spill_, run.id, buffer);
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < run.blocks.size(); ++i) {
    const RunBlock block = run.blocks[i];
    longest = std::max(longest, block.bytes);
    index.Put(BytesOf(
        IndexEntry{static_cast<std::uint32_t>(block.bytes), static_cast<std::uint32_t>(1 + block.more.size())}));
    const auto put = [&](const SpillExtent& extent) {
      index.Put(
          BytesOf(IndexExtent{extent.offset, static_cast<std::uint32_t>(extent.payload_bytes),
                              static_cast<std::uint16_t>(extent.file), static_cast<std::uint16_t>(extent.codec)}));
    };
    put(std::get<SpillExtent>(block.place));
    std::for_each(block.more.begin(), block.more.end(), put);
    index.Put(std::as_bytes(std::span(block.last.words).first(RunBlocks::ForecastWords(layout))));
  }
  const KeptRun kept{run.id, run.bytes, run.level, run.sum, run.origin, run.blocks.size(), longest, index.Finish()};
  {
    const std::lock_guard lock(mutex_);
    indexes_[run.id] = kept.index;
  }
  spill_->Sync();
  std::vector<std::uint64_t> replaced;
  for (const Run& other : replaces) replaced.push_back(other.id);
  journal_->Add(kept, replaced);
}

std::vector<Run> KeptRuns(const Manifest& manifest) {
  std::vector<Run> runs;
  for (const auto& [id, kept] : manifest.runs) {
    Run& run = runs.emplace_back();
    run.id = id;
    run.bytes = kept.bytes;
    run.level = kept.level;
    run.sum = kept.sum;
    run.origin = kept.origin;
    run.stored = TotalBytes(run.origin);
  }
  const auto place = [](const Run& run) { return std::pair(run.origin.front().input, run.origin.front().offset); };
  std::sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return place(a) < place(b); });
  return runs;
}

void RunStore::FindBlocks(std::vector<Run>& runs, const RecordLayout& layout) {
  const HostBuffer memory(memory_, spill_->payload_capacity() + kSpillHeaderBytes);
  const std::span<std::byte> buffer(memory.data(), memory.size());
  for (Run& run : runs) {
    const KeptRun& kept = journal_->manifest().runs.at(run.id);
    for (const SpillExtent& extent : kept.index) spill_->Claim(extent);
    IndexReader index(*spill_, kept, buffer);
    run.blocks = RunBlocks(layout);
    RunBlock block;
    for (std::uint64_t i = 0; i < kept.blocks; ++i, block.begin += block.bytes) {
      const auto entry = index.GetOne<IndexEntry>();
      block.bytes = entry.bytes;
      block.more.clear();
      block.forecast = true;
      const std::uint64_t least = (block.bytes + spill_->payload_capacity() - 1) / spill_->payload_capacity();
      if (block.bytes == 0 || block.bytes % LeastRecordBytes(layout) != 0 || entry.extents != least ||
          block.bytes > kept.longest || block.bytes > run.bytes - block.begin) {
        BadIndex(run.id, "block " + std::to_string(i) + " cannot be");
      }
      for (std::uint32_t part = 0; part < entry.extents; ++part) {
        const auto found = index.GetOne<IndexExtent>();
        const SpillExtent extent{found.file, found.payload_bytes, found.offset, static_cast<Codec>(found.codec)};
        if (found.codec > static_cast<std::uint16_t>(Codec::kNumbers)) BadIndex(run.id, "a codec is not known");
        spill_->Claim(extent);
        part == 0 ? void(block.place = extent) : block.more.push_back(extent);
      }
      index.Get(std::as_writable_bytes(std::span(block.last.words).first(RunBlocks::ForecastWords(layout))));
      run.blocks.Set(i, block);
    }
    if (block.begin != run.bytes || !index.ended()) BadIndex(run.id, "it does not have all of the run");
    indexes_[run.id] = kept.index;
  }
  spill_->FreeUnclaimed();
}

void RunStore::Drop(std::vector<Run>& runs) {
  if (keeps()) {
    journal_->DropRuns();
    for (const Run& run : runs) Free(run);
  } else {
    Close();  // a merge may have freed some of the blocks, and no block may be freed twice
  }
  runs.clear();
}

}  // namespace gpusort
