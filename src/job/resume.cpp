#include "job/resume.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "data/output_parts.hpp"
#include "formats/locale_keys.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/run_store.hpp"

namespace gpusort {
namespace {

/// As EscapeName, but no two names give the same.
std::string Exact(const std::string& name) {
  const std::string shown = EscapeName(name);
  return shown == name ? shown : shown + " (" + Hex(XXH3_64bits(name.data(), name.size())) + ")";
}

std::string FullPath(const std::string& path) {
  return Exact(std::filesystem::absolute(path).lexically_normal().string());
}

/// The hash of places all over the file: one for each 16 MiB, at least 64 and at most 1024. Of a short file: of all.
std::uint64_t HashSamples(FileSystem& files, const std::string& path, const FileFacts& facts) {
  constexpr std::uint64_t kBytes = 4096;
  const std::uint64_t samples = std::clamp<std::uint64_t>(facts.size >> 24, 64, 1024);
  const std::unique_ptr<File> file = files.OpenInput(path, false);
  std::array<std::byte, kBytes> buffer;
  std::uint64_t hash = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t last = facts.size - std::min(facts.size, kBytes);
    const std::uint64_t at = facts.size <= samples * kBytes ? i * kBytes : last / (samples - 1) * i;
    if (at >= facts.size) break;
    const std::uint64_t count = std::min(kBytes, facts.size - at);
    if (file->ReadAt(at, std::span(buffer).first(count)) < count) {
      throw Error(ErrorCode::kBadInput, EscapeName(path) + ": the file shrank after it was opened");
    }
    hash = XXH3_64bits_withSeed(buffer.data(), count, hash);
  }
  return hash;
}

/// Of all but the inputs.
Fingerprint OptionsFingerprint(const JobSpec& spec) {
  Fingerprint fingerprint{{"the version of gpusort", GPUSORT_VERSION}};
  for (const auto& [name, value] : spec.survival.typed) fingerprint.emplace_back(name, Exact(value));
  fingerprint.emplace_back("the output", FullPath(spec.target.output));
  fingerprint.emplace_back("the locale", LocaleName());
  if (spec.order.random) {
    const auto& salt = spec.order.lines->order.salt;
    fingerprint.emplace_back("the random source", Hex(XXH3_64bits(salt, sizeof salt)));
  }
  fingerprint.emplace_back("the number of inputs", std::to_string(spec.source.inputs.size()));
  return fingerprint;
}

/// Of input `i`, from 0 on, without `facts` only its name. Not the device, whose number another host, or a reboot,
/// changes.
Fingerprint InputFingerprint(FileSystem& files, std::size_t i, const std::string& path, const FileFacts* facts) {
  const std::string name = Exact(path), number = "input " + std::to_string(i + 1), of = name + " (" + number + ")";
  Fingerprint fingerprint{{"the name of " + number, name}};
  if (facts == nullptr) return fingerprint;
  fingerprint.emplace_back("the size of " + of, std::to_string(facts->size));
  fingerprint.emplace_back("the inode of " + of, std::to_string(facts->ino));
  fingerprint.emplace_back("the time of the last change of " + of, std::to_string(facts->mtime_ns) + " ns");
  fingerprint.emplace_back("the content of " + of, Hex(HashSamples(files, path, *facts)));
  return fingerprint;
}

/// As the last attempt saw it.
std::optional<std::uint64_t> CtimeOf(const Manifest& manifest, std::size_t input) {
  if (manifest.attempts.empty() || input >= manifest.attempts.back().ctimes.size()) return std::nullopt;
  return manifest.attempts.back().ctimes[input];
}

}  // namespace

Fingerprint MakeFingerprint(const JobSpec& spec, FileSystem& files, const Inputs& inputs) {
  Fingerprint fingerprint = OptionsFingerprint(spec);
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    const Fingerprint input = InputFingerprint(files, i, inputs.path(i), &inputs.facts(i));
    fingerprint.insert(fingerprint.end(), input.begin(), input.end());
  }
  return fingerprint;
}

std::optional<KeptOutput> FinishPublished(const JobSpec& spec, FileSystem& files) {
  if (spec.survival.dir.empty() || !files.Identify(spec.survival.dir + "/" + kManifestName)) return std::nullopt;
  const std::optional<FileFacts> output = files.Identify(spec.target.output);
  if (!output || !output->regular) return std::nullopt;
  Journal journal(files, spec.survival.dir);
  const std::optional<KeptOutput> kept = journal.manifest().publishing;
  if (!journal.resumes() || !kept ||
      *kept != KeptOutput{output->ino, output->size, static_cast<std::uint64_t>(output->mtime_ns), kept->records}) {
    return std::nullopt;
  }
  // Of an input that the output has replaced nothing is left to compare but the name.
  const Fingerprint& then = journal.manifest().job->fingerprint;
  Fingerprint now = OptionsFingerprint(spec);
  for (std::size_t i = 0; i < spec.source.inputs.size(); ++i) {
    const std::string& path = spec.source.inputs[i];
    const std::optional<FileFacts> facts = files.Identify(path);
    if (!facts || !facts->regular) return std::nullopt;
    const bool replaced = facts->same_file(*output);
    const Fingerprint input = InputFingerprint(files, i, path, replaced ? nullptr : &*facts);
    now.insert(now.end(), input.begin(), input.end());
    if (!replaced && CtimeOf(journal.manifest(), i) != static_cast<std::uint64_t>(facts->ctime_ns)) return std::nullopt;
    for (int lines = 0; replaced && lines < 4 && now.size() < then.size(); ++lines) now.push_back(then[now.size()]);
  }
  if (now != then) return std::nullopt;
  if (!spec.target.no_fsync) {
    files.SyncDirectory(std::filesystem::canonical(spec.target.output).parent_path().string());
  }
  LogInfo("the output is in place already: a process before was killed behind that");
  if (!spec.reports.stats.empty()) LogWarn("--stats: the output was in place already, so there are none");
  journal.Finish(spec.survival.keep);
  return kept;
}

std::unique_ptr<Journal> OpenJournal(const JobSpec& spec, FileSystem& files, const Inputs& inputs) {
  if (spec.survival.dir.empty() || spec.action == Action::kExplain) return nullptr;
  if (!inputs.rereadable()) {
    throw Error(ErrorCode::kUsage,
                std::string("--resume-dir: ") +
                    (inputs.compressed() ? "a compressed input" : "an input that is a stream, or written over,") +
                    " cannot be taken up in its middle");
  }
  // Parts get their names one after the other: a job that is killed between two of them must still find its inputs.
  for (const std::string& name : PartNames(spec)) {
    const std::optional<FileFacts> part = files.Identify(name);
    for (std::uint32_t i = 0; part && i < inputs.count(); ++i) {
      if (!part->same_file(inputs.facts(i))) continue;
      throw Error(ErrorCode::kUsage, "--resume-dir: " + EscapeName(name) +
                                         " is an input and a part of the output: give another name for the output");
    }
  }
  auto journal = std::make_unique<Journal>(files, spec.survival.dir);
  if (journal->resumes()) journal->RequireSame(MakeFingerprint(spec, files, inputs));
  return journal;
}

std::string PartialName(const JobSpec& spec) {
  const std::string job = FullPath(spec.survival.dir) + '\0' + FullPath(spec.target.output);
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

std::vector<std::uint32_t> InputsWithOtherCtime(const Journal& journal, const Inputs& inputs) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    if (CtimeOf(journal.manifest(), i) != static_cast<std::uint64_t>(inputs.facts(i).ctime_ns)) found.push_back(i);
  }
  return found;
}

bool HasRecordsOf(const Run& run, const Inputs& inputs, const RecordLayout& layout, std::uint64_t longest,
                  HostMemory& memory, const CancelFlag& cancel, Progress& progress) {
  const std::uint64_t unit = LeastRecordBytes(layout);
  const std::uint64_t room = std::min(memory.left() / 2, std::uint64_t{4} << 20) / unit * unit;
  const std::uint64_t step = std::max(layout.fixed() ? layout.stride : longest, room);
  const HostBuffer buffer(memory, (step + 2 * kReadSlack) / 4096 * 4096);
  RecordSum sum;
  for (const InputRange& range : run.origin) {
    for (std::uint64_t done = 0; done < range.bytes;) {
      cancel.ThrowIfRequested();
      const InputRange piece{range.input, range.offset + done, std::min(step, range.bytes - done)};
      RecordSpan bytes = inputs.Read(piece, {buffer.data(), buffer.size()});
      bytes = bytes.first(WholeRecordBytes(bytes, layout));
      if (bytes.empty()) return false;
      sum += SumRecords(bytes, layout);
      progress.Advance(bytes.size());
      done += bytes.size();
    }
  }
  return sum == run.sum;
}

}  // namespace gpusort
