#include "data/output.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "data/inputs.hpp"
#include "io/codec/row_module.hpp"
#include "io/path.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "kernels/thread.hpp"

namespace gpusort {
namespace {

/// Reads a compressed output back and expands it, piece by piece, to the beginning of `buffer`.
class ExpandedOutput {
 public:
  /// For a file of columns.
  ExpandedOutput(OutputFile& file, Codec codec, std::uint64_t stored, const DecoderLimits& limits,
                 const HostBuffer& buffer)
      : buffer_{buffer.data(), buffer.size()},
        decoder_(codec, EscapeName(file.path()),
                 RowFile{stored,
                         [&file, stored](std::uint64_t at, std::span<std::byte> out) {
                           return file.ReadAt(at, out.first(std::min<std::uint64_t>(out.size(), stored - at)));
                         }},
                 limits) {}
  ExpandedOutput(OutputFile& file, Codec codec, std::uint64_t stored, const HostBuffer& buffer)
      : buffer_{buffer.data(), buffer.size()},
        decoder_(codec, EscapeName(file.path()),
                 [&file, stored, at = std::uint64_t{0}](std::span<std::byte> out) mutable {
                   const std::uint64_t count = std::min<std::uint64_t>(out.size(), stored - at);
                   const std::uint64_t got = file.ReadAt(at, out.first(count));
                   at += got;
                   return got;
                 }) {}

  /// Reads until the buffer holds `count` bytes or the output ends. Returns how many bytes it holds.
  std::uint64_t Fill(std::uint64_t count) {
    while (held_ < count) {
      const std::uint64_t got = Read(buffer_.subspan(held_, count - held_));
      if (got == 0) break;
      held_ += got;
    }
    return held_;
  }
  /// Removes `count` bytes from the front of the buffer.
  void Drop(std::uint64_t count) {
    held_ -= count;
    std::memmove(buffer_.data(), buffer_.data() + count, held_);
  }
  /// Throws an error if there are more bytes. This also checks the checksum of the last compressed member.
  void RequireEnd() {
    if (held_ > 0 || Read(buffer_) > 0) {
      throw Error(ErrorCode::kIntegrity, "the output read back has more than was written");
    }
  }

 private:
  std::uint64_t Read(std::span<std::byte> out) {
    try {
      return decoder_.Read(out);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      throw Error(ErrorCode::kIntegrity, std::string("the output read back: ") + error.what());
    }
  }

  const std::span<std::byte> buffer_;
  Decoder decoder_;
  std::uint64_t held_ = 0;
};

/// Sets `keyed` to the records with their sort keys before them.
void MakeKeyed(RecordSpan records, KeyEncoder& encoder, ScanState state, std::vector<std::byte>& keyed) {
  keyed.clear();
  KeyTally tally;
  while (!records.empty()) records = records.subspan(encoder.Append(records, state, keyed, tally));
}

}  // namespace

PageMaker::PageMaker(std::function<std::uint64_t()> known,
                     std::function<bool(std::uint64_t begin, std::uint64_t end)> make,
                     std::function<std::uint64_t()> free_space) {
  const auto work = [this, known = std::move(known), make = std::move(make), free_space = std::move(free_space)] {
    constexpr std::uint64_t kStep = std::uint64_t{32} << 20;
    constexpr auto kPause = std::chrono::milliseconds(5);
    try {
      for (std::uint64_t done = 0; !stop_;) {
        const bool last = all_known_;
        const std::uint64_t end = std::min(known(), done + kStep);
        if (end > done) {
          if (free_space() < end + kStep || !make(done, end)) return;
          done = end;
        } else if (last) {
          return;
        } else {
          std::this_thread::sleep_for(kPause);
        }
      }
    } catch (const Error&) {
      // Pages only save time. The write will report what is wrong.
    }
  };
  making_ = RunBeside(work);
}

PageMaker::~PageMaker() {
  stop_ = true;
  making_.wait();  // if no thread could be started, this runs `work`, which ends at once
}

std::optional<FileFacts> Output::overwritten() const {
  if (stream_) return stream_->file();
  return file_ && !file_->in_place().empty() ? std::optional(file_->Facts()) : std::nullopt;
}

Output Output::Open(FileSystem& files, const JobSpec& spec, CancelFlag& cancel) {
  const std::string name = EscapeName(spec.target.output);
  if (IsStreamTarget(spec.target.output)) {
    if (spec.target.verify) {
      throw Error(ErrorCode::kUsage, "--verify-output cannot read " + name + " back: it is a stream");
    }
    if (spec.target.output != "-" && PlantedByOther(spec.target.output)) {
      throw SystemError(ErrorCode::kUsage, "output " + name + ": it is another user's in a folder that all can write",
                        EACCES, SystemError::Verb::kOpen, spec.target.output);
    }
    if (spec.target.output != "-") LogWarn(name + " is streamed: it is not replaced atomically");
    return Output(std::make_unique<PipeWriter>(spec.target.output, cancel));
  }
  if (spec.target.split > 0) return Output(std::make_unique<OutputParts>(files, spec));
  const auto create = [&](const std::string& path) {
    const OldFile old = spec.target.no_clobber ? OldFile::kKeep : OldFile::kReplaceOrRewrite;
    std::unique_ptr<OutputFile> file = files.CreateOutput(path, false, old);
    if (!spec.target.no_fsync) file->WriteBackEarly();
    if (!file->in_place().empty()) {
      LogWarn(EscapeName(path) +
              " is written in place, so a job that fails while it writes leaves neither the old content nor the new: "
              "it cannot be replaced (" +
              file->in_place() + ")");
    }
    return file;
  };
  Output output(create(spec.target.output));
  if (spec.target.index) {
    output.index_ = std::make_unique<BlockIndex>(create(IndexName(spec)));
  } else if (std::error_code none;
             FitsName(Codec::kBgzf, spec.target.codec) && std::filesystem::is_regular_file(IndexName(spec), none)) {
    LogWarn(EscapeName(IndexName(spec)) + " is the index of an older file and does not fit the new output: " +
            (spec.target.codec == Codec::kBgzf ? "give --index to replace it, or remove it" : "remove it"));
  }
  if (spec.target.verify && !output.file_->readable()) {
    throw Error(ErrorCode::kUsage, "--verify-output cannot read " + name + " back: it may only be written");
  }
  return output;
}

void Output::Compress(Codec codec, const EncoderOptions& options, StageClock& clock) {
  codec_ = codec;
  encoder_options_ = options;
  clock_ = &clock;
  if (parts_) return parts_->Encode(codec, options);
  encoder_ = std::make_unique<Encoder>(codec, options, [this](std::span<const std::byte> data) {
    const Busy busy(*clock_, target(), data.size(), {"write output"});
    if (file_) {
      file_->WriteAt(stored_, data);
      if (index_) index_->Add(data);
    } else {
      stream_->WriteAll(data);
    }
    stored_ += data.size();
  });
}

bool Output::sent() {
  if (encoder_) encoder_->Pause();
  return stream_ && (encoder_ ? stored_ > 0 : streamed_ > header_.size());
}

void Output::Restart() {
  if (file_) file_->ForgetPieces();
  if (index_) index_->Restart();
  if (!encoder_) return;
  encoder_.reset();  // free its memory first, because two encoders would take twice as much
  streamed_ = stored_ = 0;
  Compress(codec_, encoder_options_, *clock_);
}

void Output::Reserve(std::uint64_t bytes) {
  // A full disk then ends the job now, and not after hours. With --split, `file_` lists the parts and holds the space
  // until ReleaseForParts().
  if (!file_->ExpectAllocation(bytes)) return file_->Allocate(bytes);
  reserving_ = RunBeside([this, bytes] { file_->AllocateInSteps(bytes); });
  // No thread could be started.
  if (reserving_.wait_for(std::chrono::seconds(0)) == std::future_status::deferred) FinishReserving();
}

void Output::MakePages(FileSystem& files, const std::function<std::uint64_t()>& known) {
  if (encoder_ || parts_ || pages_ || (!file_ && !(stream_ && stream_->in_memory()))) return;
  const auto make = [this](std::uint64_t begin, std::uint64_t end) {
    return file_ ? file_->AllocateToWrite(end) : stream_->MakePages(begin, end);
  };
  const auto free_space = [&files, place = file_ ? file_->directory() : stream_->proc_path()] {
    return files.FreeSpace(place);
  };
  pages_ = std::make_unique<PageMaker>(known, make, free_space);
}

void Output::Write(std::uint64_t at, std::span<const std::byte> bytes) {
  if (!in_order()) return file_->WriteAt(at, bytes);
  const std::uint64_t end = at + bytes.size();
  bytes = bytes.subspan(streamed_ > at ? std::min<std::uint64_t>(streamed_ - at, bytes.size()) : 0);
  if (encoder_) {
    encoder_->Write(bytes);
  } else {
    stream_->WriteAll(bytes);
  }
  streamed_ = std::max(streamed_, end);
}

void Output::LendRows(std::uint64_t at, const MarkedRows& rows) {
  // An earlier attempt has written some of these rows. The marks would not fit the rest.
  if (streamed_ > at) return Write(at, rows.bytes);
  encoder_->Lend(rows);
  streamed_ = at + rows.bytes.size();
}

std::uint64_t Output::Finish(std::uint64_t bytes) {
  pages_.reset();
  FinishReserving();
  bytes_ = bytes;
  if (parts_) {
    const std::string manifest = parts_->Manifest();
    file_->WriteAt(0, std::as_bytes(std::span(manifest)));
    stored_ = manifest.size();
    return bytes;
  }
  if (!encoder_) return stored_ = bytes;
  const Busy busy(*clock_, Resource::kCodec, 0, {"compress output"});
  encoder_->Finish();
  encoder_.reset();
  if (index_) index_->Finish();
  return stored_;
}

void Output::Complete(bool sync) {
  if (parts_) {
    parts_->Complete(*file_, stored_, sync);
  } else if (file_) {
    if (index_) index_->file().Complete(index_->bytes(), sync);
    file_->Complete(stored_, sync);
  }
}

void Output::Publish(bool sync) {
  if (parts_) {
    parts_->Publish(*file_, stored_, sync);
  } else if (file_) {
    Complete(sync);
    if (index_) {
      PublishWithIndex(sync);
    } else {
      file_->Publish(stored_, sync);
    }
  } else {
    stream_->Close();
  }
}

void Output::PublishWithIndex(bool sync) {
  // An index that does not fit the output is worse than none, so an index never stands beside the other output.
  const std::string name = EscapeName(file_->path());
  std::string state = index_->file().RemoveOld() ? "; " + name + " has no index now" : "";
  try {
    file_->Publish(stored_, sync);
    state = "; the output " + name + " is in place, but its index is not";
    index_->file().Publish(index_->bytes(), sync);
  } catch (const Error& error) {
    std::error_code unknown;
    if (state.empty() || (!std::filesystem::exists(file_->path(), unknown) && !unknown)) throw;
    throw Error(error.code(), error.what() + state + ": bgzip -r " + name + " makes the index");
  }
}

std::vector<std::string> Output::Lost() const {
  std::vector<std::string> texts;
  const auto add = [&](const OutputFile& file) {
    std::string all;
    for (const std::string& what : file.lost()) all += (all.empty() ? "" : ", ") + EscapeName(what);
    if (!all.empty()) texts.push_back(EscapeName(file.path()) + " has not got all that the old file had: " + all);
  };
  if (file_) add(*file_);
  if (index_) add(index_->file());
  for (unsigned i = 0; parts_ && i < parts_->count(); ++i) add(parts_->file(i));
  return texts;
}

void Output::Verify(const RecordLayout& layout, const RecordFormat& format, const KeyScheme* keys, bool unique,
                    std::uint64_t longest, const RecordSum& sum, const std::string& state, HostMemory& memory,
                    const CancelFlag& cancel, Progress& progress) {
  progress.SetPhase("verify output", bytes_);
  const auto verify = [&](OutputFile& file, std::uint64_t bytes, const RecordSum& of) {
    OutputProof read_back(keys != nullptr ? keys->layout() : layout, unique);
    if (IsColumnFile(codec_) && keys != nullptr) {
      ReadRowsBack(file, parts_ ? bytes : stored_, format, *keys, longest, read_back, memory, cancel, progress);
      return read_back.Check(of);
    }
    ReadBack(file, bytes, layout, format, keys, longest, format.LoadState(state), read_back, memory, cancel, progress);
    read_back.Check(of);
  };
  if (!parts_) return verify(*file_, bytes_, sum);
  for (unsigned part = 0; part < parts_->count(); ++part) {
    verify(parts_->file(part), parts_->bytes(part), parts_->sum(part));
  }
}

bool Output::HasFront(std::uint64_t bytes, const OutputProof::Front& front, const RecordLayout& layout,
                      const RecordFormat& format, const KeyScheme* keys, bool unique, std::uint64_t longest,
                      HostMemory& memory, const CancelFlag& cancel, Progress& progress) {
  progress.SetPhase("check what is written", bytes);
  if (bytes < header_.size()) return false;
  try {
    OutputProof read_back(keys != nullptr ? keys->layout() : layout, unique);
    ReadBack(*file_, bytes, layout, format, keys, longest, {}, read_back, memory, cancel, progress);
    const OutputProof::Front found = read_back.front();
    return found.bytes == front.bytes && found.sum == front.sum && found.last == front.last;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIntegrity && error.code() != ErrorCode::kBadInput) throw;
    return false;
  }
}

void Output::ReadBack(OutputFile& file, std::uint64_t size, const RecordLayout& layout, const RecordFormat& format,
                      const KeyScheme* keys, std::uint64_t longest, ScanState state, OutputProof& read_back,
                      HostMemory& memory, const CancelFlag& cancel, Progress& progress) {
  file.DropCache();
  const std::unique_ptr<KeyEncoder> encoder = keys != nullptr ? keys->MakeEncoder() : nullptr;
  std::vector<std::byte> keyed;
  std::uint64_t keyed_bytes = 0;
  const std::uint64_t records_end = size - trailer_.size();
  // The end of a record may be visible only by the byte after it.
  const std::uint64_t least = layout.fixed() ? layout.stride : longest + 1;
  const std::uint64_t unit = LeastRecordBytes(layout);
  const std::uint64_t room = memory.left() / 2;
  const std::uint64_t step = std::max(least, std::min(room, std::uint64_t{4} << 20) / unit * unit);
  HostBuffer buffer(memory, (step + 2 * kReadSlack) / 4096 * 4096);
  const std::uint64_t alignment = file.alignment();
  const RecordSpan header = header_;
  const std::uint64_t records_begin = header.size();
  std::optional<ExpandedOutput> expanded;
  if (codec_ != Codec::kNone) expanded.emplace(file, codec_, stored_, buffer);
  for (std::uint64_t done = 0; done < size;) {
    cancel.ThrowIfRequested();
    const std::uint64_t part_end = done < records_begin ? records_begin : done < records_end ? records_end : size;
    const std::uint64_t count = std::min(step, part_end - done);
    const std::uint64_t begin = expanded ? done : done / alignment * alignment;
    const std::uint64_t end = (done + count + alignment - 1) / alignment * alignment;
    const std::uint64_t got = expanded ? expanded->Fill(count) : file.ReadAt(begin, {buffer.data(), end - begin});
    if (got < done - begin + count) {
      throw Error(ErrorCode::kIntegrity, "the output read back ends at byte " + std::to_string(begin + got) +
                                             ", it should have " + std::to_string(size));
    }
    const RecordSpan bytes{buffer.data() + (done - begin), count};
    if (done < records_begin || done >= records_end) {
      const RecordSpan written =
          done < records_begin ? header.subspan(done) : RecordSpan(trailer_).subspan(done - records_end);
      if (!std::equal(bytes.begin(), bytes.end(), written.begin())) {
        throw Error(ErrorCode::kIntegrity, std::string("the ") + (done < records_begin ? "header" : "end") +
                                               " of the output read back is not what was written");
      }
      done += count;
      if (expanded) expanded->Drop(count);
      continue;
    }
    const ScanState before = state;
    RecordFormat::Ends ends = format.Scan(bytes, state);
    const bool at_end = done + count == records_end && format.ends_in(state);
    const std::uint64_t whole = at_end ? count : ends.last;
    state = std::move(ends.state);
    if (whole == 0)
      throw Error(ErrorCode::kIntegrity, "the output read back has an endless line at byte " + std::to_string(done));
    if (encoder) {
      MakeKeyed(bytes.first(whole), *encoder, before, keyed);
      read_back.Add(keyed_bytes, keyed);
      keyed_bytes += keyed.size();
    } else {
      read_back.Add(done - records_begin, bytes.first(whole));
    }
    progress.Advance(whole);
    done += whole;
    if (expanded) expanded->Drop(whole);
  }
  if (expanded) expanded->RequireEnd();
}

void Output::ReadRowsBack(OutputFile& file, std::uint64_t stored, const RecordFormat& format, const KeyScheme& keys,
                          std::uint64_t longest, OutputProof& read_back, HostMemory& memory, const CancelFlag& cancel,
                          Progress& progress) {
  // The decoders of the inputs, which took as much memory, have ended.
  constexpr unsigned kShare = 4;
  file.DropCache();
  const std::unique_ptr<KeyEncoder> encoder = keys.MakeEncoder();
  // The header that is read back differs from the one that was written: it describes the row groups of the output.
  const std::uint64_t header_room = 2 * header_.size() + (std::uint64_t{64} << 10);
  const std::uint64_t step = std::max({longest + 1, header_room, std::min(memory.left() / 2, std::uint64_t{4} << 20)});
  const HostBuffer buffer(memory, step);
  const DecoderLimits limits{
      .memory_bytes = memory.limit() / kShare, .memory_share = kShare, .threads = encoder_options_.threads};
  try {
    ExpandedOutput rows(file, codec_, stored, limits, buffer);
    const auto held = [&] { return RecordSpan(buffer.data(), rows.Fill(step)); };
    const RecordSpan front = held();
    const std::optional<std::uint64_t> header = format.HeaderBytes(front, false);
    if (!header || !std::ranges::equal(format.HeaderText(front.first(*header)), format.HeaderText(header_))) {
      throw Error(ErrorCode::kIntegrity, "the schema of the output read back is not what was written");
    }
    rows.Drop(*header);
    std::vector<std::byte> keyed;
    std::uint64_t keyed_bytes = 0;
    for (RecordSpan bytes = held(); !bytes.empty(); bytes = held()) {
      cancel.ThrowIfRequested();
      ScanState state;
      const std::uint64_t whole = format.Scan(bytes, state).last;
      if (whole == 0) throw Error(ErrorCode::kIntegrity, "the output read back has a row without an end");
      MakeKeyed(bytes.first(whole), *encoder, {}, keyed);
      read_back.Add(keyed_bytes, keyed);
      keyed_bytes += keyed.size();
      progress.Advance(whole);
      rows.Drop(whole);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    throw Error(ErrorCode::kIntegrity, std::string("the output read back: ") + error.what());
  }
}

}  // namespace gpusort
