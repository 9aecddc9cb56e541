#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "io/output_file.hpp"
#include "kernels/error.hpp"
#include "runs/sinks.hpp"

namespace gpusort {
namespace {

/// Collects the pages of a file that contain bytes of two windows. A page is written when both windows have added their
/// bytes. Any thread may call any member.
class BorderPages {
 public:
  static constexpr std::uint64_t kPage = 4096;

  explicit BorderPages(OutputFile& file) : file_(file) {}
  void Add(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::uint64_t page = offset / kPage * kPage;
      const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), page + kPage - offset);
      std::unique_ptr<Page> full;
      {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Page>& entry = pages_[page];
        if (!entry) entry = std::make_unique<Page>();
        std::memcpy(entry->bytes + (offset - page), bytes.data(), count);
        entry->filled += count;
        if (entry->filled == kPage) {
          full = std::move(entry);
          pages_.erase(page);
        }
      }
      if (full) file_.WriteAt(page, full->bytes);
      offset += count;
      bytes = bytes.subspan(count);
    }
  }
  /// Writes all pages that are not full, padded with zeros. A page that gets more bytes later is written again. The
  /// file gets its exact length when it is published.
  void Flush() {
    const std::lock_guard lock(mutex_);
    for (const auto& [offset, page] : pages_) file_.WriteAt(offset, page->bytes);
  }

 private:
  struct Page {
    alignas(kPage) std::byte bytes[kPage] = {};
    std::uint64_t filled = 0;
  };
  OutputFile& file_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

/// Writes windows to the output file. Several threads write at the same time, each window at its place and in whole
/// pages.
class FileSink : public WindowSink {
 public:
  FileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof, std::uint64_t written)
      : job_(job),
        pipeline_(pipeline),
        file_(*output.file()),
        proof_(proof),
        unit_(file_.direct() ? BorderPages::kPage : 1),
        begin_(output.header().size()),
        borders_(file_),
        at_(written > 0 ? written : PutHeader(output.header())),
        bytes_(at_),
        workers_(pipeline, job.plan.io_threads) {
    if (written > 0 && written % unit_ != 0) ReadFirstPage();
  }

  void Accept(Window window) override {
    const auto shared = std::make_shared<Window>(std::move(window));
    pipeline_.Try([&] { Take(shared); });
  }

  void Finish(std::uint64_t) override { workers_.Finish(); }
  void Settle() override { borders_.Flush(); }
  std::uint64_t begin() const override { return at_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  void Take(const std::shared_ptr<Window>& shared) {
    const std::uint64_t begin = RoundUp(shared->offset);
    const std::uint64_t end = shared->offset + shared->bytes;
    const std::uint64_t aligned_end = end / unit_ * unit_;
    for (std::uint64_t done = 0, count = 0; done < shared->bytes; done += count) {
      count = ChunkBytes({shared->data + done, shared->bytes - done}, job_.layout);
      workers_.Submit([this, shared, done, count, begin, aligned_end] {
        const std::span<const std::byte> all(shared->data, shared->bytes);
        proof_.Add(shared->offset - begin_ + done, all.subspan(done, count));
        const std::uint64_t from = std::max(begin, RoundUp(shared->offset + done));
        const std::uint64_t to = std::min(aligned_end, RoundUp(shared->offset + done + count));
        if (from < to) {
          const Busy busy(job_.clock, Resource::kDiskWrite, to - from, {"write output", shared->number});
          file_.WriteAt(from, all.subspan(from - shared->offset, to - from));
        }
        job_.progress.Advance(count);
      });
    }
    if (begin < aligned_end) {
      AddBorder(*shared, shared->offset, begin);
      AddBorder(*shared, aligned_end, end);
    } else if (begin > shared->offset || end > aligned_end) {
      AddBorder(*shared, shared->offset, end);
    }
    const std::lock_guard lock(mutex_);
    bytes_ += shared->bytes;
  }

  /// Reads the first bytes of the page in which an earlier process stopped.
  void ReadFirstPage() {
    alignas(BorderPages::kPage) std::byte page[BorderPages::kPage];
    const std::uint64_t offset = at_ / BorderPages::kPage * BorderPages::kPage;
    if (file_.ReadAt(offset, page) < at_ - offset) throw Error(ErrorCode::kIntegrity, "the output was cut");
    borders_.Add(offset, std::span(page).first(at_ - offset));
  }

  std::uint64_t PutHeader(std::span<const std::byte> header) {
    unit_ == 1 ? file_.WriteAt(0, header) : borders_.Add(0, header);
    return header.size();
  }

  std::uint64_t RoundUp(std::uint64_t offset) const { return (offset + unit_ - 1) / unit_ * unit_; }
  void AddBorder(const Window& window, std::uint64_t begin, std::uint64_t end) {
    if (begin < end) borders_.Add(begin, {window.data + (begin - window.offset), end - begin});
  }

  Job& job_;
  Pipeline& pipeline_;
  OutputFile& file_;
  OutputProof& proof_;
  const std::uint64_t unit_;   ///< writes begin and end at multiples of this number of bytes
  const std::uint64_t begin_;  ///< offset of the first record
  BorderPages borders_;
  const std::uint64_t at_;  ///< offset of the first window
  std::mutex mutex_;        ///< guards bytes_
  std::uint64_t bytes_;
  WorkerPool workers_;
  const Pipeline::Guard guard_{pipeline_};  ///< last member, so that an exception does not destroy what threads use
};

}  // namespace

std::unique_ptr<WindowSink> MakeFileSink(Job& job, Pipeline& pipeline, Output& output, OutputProof& proof,
                                         std::uint64_t written) {
  return std::make_unique<FileSink>(job, pipeline, output, proof, written);
}

}  // namespace gpusort
