#include "job/fingerprint.hpp"

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
#include "formats/locale_keys.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

/// Escapes a name like EscapeName, but no two names give the same text.
std::string Exact(const std::string& name) {
  const std::string shown = EscapeName(name);
  return shown == name ? shown : shown + " (" + Hex(XXH3_64bits(name.data(), name.size())) + ")";
}

std::string FullPath(const std::string& path) {
  return Exact(std::filesystem::absolute(path).lexically_normal().string());
}

/// Returns a hash of places all over the file: one for each 16 MiB, at least 64 and at most 1024. Reads all of a short
/// file.
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

/// Returns the fingerprint without the inputs.
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

/// Returns the part of the fingerprint that describes input `i`, from 0 on; without `facts` only its name. The device
/// is left out, because another host or a reboot changes its number.
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
  // Only the name is left to compare of an input that the output has replaced.
  const Fingerprint& then = journal.manifest().job->fingerprint;
  Fingerprint now = OptionsFingerprint(spec);
  for (std::size_t i = 0; i < spec.source.inputs.size(); ++i) {
    const std::string& path = spec.source.inputs[i];
    const std::optional<FileFacts> facts = files.Identify(path);
    if (!facts || !facts->regular) return std::nullopt;
    const bool replaced = facts->same_file(*output);
    const Fingerprint input = InputFingerprint(files, i, path, replaced ? nullptr : &*facts);
    now.insert(now.end(), input.begin(), input.end());
    if (!replaced && !HasSameCtime(journal.manifest(), i, *facts)) return std::nullopt;
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

std::string PartialName(const JobSpec& spec) {
  const std::string job = FullPath(spec.survival.dir) + '\0' + FullPath(spec.target.output);
  return ".gpusort-" + Hex(XXH3_64bits(job.data(), job.size())) + ".partial";
}

bool HasSameCtime(const Manifest& manifest, std::size_t input, const FileFacts& now) {
  if (manifest.attempts.empty() || input >= manifest.attempts.back().ctimes.size()) return false;
  return manifest.attempts.back().ctimes[input] == static_cast<std::uint64_t>(now.ctime_ns);
}

}  // namespace gpusort
