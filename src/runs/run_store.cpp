#include "runs/run_store.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/log.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

/// Parts of one block are told apart by their number in the spill's headers.
std::uint64_t PartNumber(std::uint64_t number, std::uint64_t part) { return number | part << 48; }

}  // namespace

RunStore::RunStore(const Options& options, FileSystem& files, HostMemory& memory, const CancelFlag& cancel,
                   std::vector<std::string> directories, const std::function<void(const std::string&)>& warn)
    : options_(options),
      files_(files),
      memory_(memory),
      directories_(std::move(directories)),
      program_(options.temp_program, options.ignore_sigpipe, cancel, options.say ? options.say : warn) {}

void RunStore::CheckDirectories(const Plan& plan) const {
  if (!options_.strict) return;
  for (const std::string& directory : options_.temp_dirs) CheckTempDirectory(directory);
  // Of a stream nobody knows yet whether it will spill, and of lines that should fit in memory.
  if (plan.temp_bytes == 0) return;
  for (const std::string& directory : directories_) CheckTempDirectory(directory);
}

void RunStore::Open(const Plan& plan, unsigned threads) {
  if (open()) return;
  CheckDirectories(plan);
  if (!plan.spills) return;
  std::function<void()> check = [this] {
    if (!options_.strict) return;
    for (const std::string& directory : directories_) {
      CheckTempDirectory(directory);
      if (files_.IsTmpfs(directory)) {
        LogWarn("the temp directory " + EscapeName(directory) +
                " is in memory (tmpfs): what is spilled there takes RAM");
      }
    }
  };
  if (plan.temp_bytes > 0) std::exchange(check, nullptr)();
  if (options_.strict && !options_.no_space_check && plan.temp_bytes > 0) {
    RequireSpace(files_, directories_, plan.temp_bytes, "temporary runs");
  }
  spill_ = std::make_unique<SpillStore>(files_, directories_, plan.block_bytes, plan.direct_temp, check);
  codec_ = std::make_unique<TempCodec>(memory_, plan.block_bytes, plan.temp_places, TempCodecAsked(options_), threads,
                                       &program_);
}

void RunStore::Close() {
  codec_.reset();
  spill_.reset();
}

void RunStore::Write(std::uint64_t run, std::uint64_t number, std::span<std::byte> buffer, RunBlock& block,
                     const RecordLayout& layout, const std::function<void(std::uint64_t, std::span<std::byte>)>& read) {
  for (std::uint64_t done = 0, part = 0; done < block.bytes; ++part) {
    const std::uint64_t count = std::min(block.bytes - done, spill_->payload_capacity());
    const std::span<std::byte> payload = buffer.subspan(kSpillHeaderBytes, count);
    read(done, payload);
    if (part == 0) {
      // Of a line in parts its front must do.
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
}

}  // namespace gpusort
