#include "job/resume.hpp"

#include <gnu/libc-version.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "error.hpp"
#include "runs/run_store.hpp"
#include "support/text.hpp"

namespace gpusort {
namespace {

std::string Hex(std::uint64_t number) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

/// As EscapeName, but no two names give the same.
std::string Exact(const std::string& name) {
  const std::string shown = EscapeName(name);
  return shown == name ? shown : shown + " (" + Hex(XXH3_64bits(name.data(), name.size())) + ")";
}

std::string FullPath(const std::string& path) {
  return Exact(std::filesystem::absolute(path).lexically_normal().string());
}

/// Of 64 places, or of all of a short file.
std::uint64_t HashSamples(FileSystem& files, const std::string& path, const FileFacts& facts) {
  constexpr std::uint64_t kSamples = 64, kBytes = 4096;
  const std::unique_ptr<File> file = files.OpenInput(path, false);
  std::array<std::byte, kBytes> buffer;
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::uint64_t last = facts.size - std::min(facts.size, kBytes);
    const std::uint64_t at = facts.size <= kSamples * kBytes ? i * kBytes : last / (kSamples - 1) * i;
    if (at >= facts.size) break;
    const std::uint64_t count = std::min(kBytes, facts.size - at);
    if (file->ReadAt(at, std::span(buffer).first(count)) < count) {
      throw Error(ErrorCode::kBadInput, EscapeName(path) + ": the file shrank after it was opened");
    }
    hash = XXH3_64bits_withSeed(buffer.data(), count, hash);
  }
  return hash;
}

}  // namespace

Fingerprint MakeFingerprint(const Options& options, FileSystem& files, const Inputs& inputs) {
  Fingerprint fingerprint{{"the version of gpusort", GPUSORT_VERSION}};
  for (const auto& [name, value] : options.typed) fingerprint.emplace_back(name, Exact(value));
  fingerprint.emplace_back("the output", FullPath(options.output));
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  fingerprint.emplace_back("the locale", locale == "C" ? locale : locale + ", glibc " + gnu_get_libc_version());
  if (options.random) {
    const auto& salt = options.lines->order.salt;
    fingerprint.emplace_back("the random source", Hex(XXH3_64bits(salt, sizeof salt)));
  }
  fingerprint.emplace_back("the number of inputs", std::to_string(inputs.count()));
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    const std::string name = Exact(inputs.path(i)), number = "input " + std::to_string(i + 1);
    const FileFacts& facts = inputs.facts(i);
    // Not the device, whose number another host, or a reboot, changes.
    fingerprint.emplace_back("the name of " + number, name);
    fingerprint.emplace_back("the size of " + name + " (" + number + ")", std::to_string(facts.size));
    fingerprint.emplace_back("the inode of " + name + " (" + number + ")", std::to_string(facts.ino));
    fingerprint.emplace_back("the time of the last change of " + name + " (" + number + ")",
                             std::to_string(facts.mtime_ns) + " ns");
    fingerprint.emplace_back("the content of " + name + " (" + number + ")",
                             Hex(HashSamples(files, inputs.path(i), facts)));
  }
  return fingerprint;
}

std::unique_ptr<Journal> OpenJournal(const Options& options, FileSystem& files, const Inputs& inputs) {
  if (options.resume_dir.empty() || options.action == Action::kExplain) return nullptr;
  if (!inputs.rereadable()) {
    throw Error(ErrorCode::kUsage,
                std::string("--resume-dir: ") +
                    (inputs.compressed() ? "a compressed input" : "an input that is a stream, or written over,") +
                    " cannot be taken up in its middle");
  }
  auto journal = std::make_unique<Journal>(files, options.resume_dir);
  if (journal->resumes()) journal->RequireSame(MakeFingerprint(options, files, inputs));
  return journal;
}

std::optional<KeptShape> ShapeOfKept(const Journal* journal) {
  if (journal == nullptr || !journal->resumes()) return std::nullopt;
  const std::vector<KeptAttempt>& attempts = journal->manifest().attempts;
  const bool compressed = std::any_of(attempts.begin(), attempts.end(), [](const auto& a) { return a.compresses; });
  return KeptShape{journal->manifest().job->keyed, compressed};
}

void TakeOver(const Journal& journal, PlanFacts& facts) {
  if (!journal.resumes()) return;
  facts.block_bytes = journal.manifest().job->block_bytes;
  for (const auto& [id, run] : journal.manifest().runs) facts.kept_record = std::max(facts.kept_record, run.longest);
}

std::string PartialName(const Options& options) {
  const std::string job = FullPath(options.resume_dir) + '\0' + FullPath(options.output);
  return ".gpusort-" + Hex(XXH3_64bits(job.data(), job.size())) + ".partial";
}

std::vector<Run> RunsToGoOnWith(const Journal& journal, const Inputs& inputs) {
  const Manifest& manifest = journal.manifest();
  if (!journal.resumes() || (manifest.job->keyed && !manifest.formed)) return {};
  std::vector<Run> runs = KeptRuns(manifest);
  if (manifest.job->keyed) return runs;
  // They come in order.
  InputRange before;
  for (const Run& run : runs) {
    for (const InputRange& range : run.origin) {
      const bool behind = range.input > before.input || range.offset >= before.offset + before.bytes;
      const bool inside = range.input < inputs.count() && range.input >= before.input && range.bytes > 0 &&
                          range.offset <= inputs.size(range.input) &&
                          range.bytes <= inputs.size(range.input) - range.offset;
      if (!behind || !inside) {
        throw Error(ErrorCode::kIntegrity, EscapeName(journal.folder()) + ": run " + std::to_string(run.id) +
                                               " is not of these inputs; to begin anew, remove the folder");
      }
      before = range;
    }
  }
  return runs;
}

}  // namespace gpusort
