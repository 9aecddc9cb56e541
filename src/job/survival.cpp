#include "job/survival.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "data/output_parts.hpp"
#include "formats/locale_keys.hpp"
#include "formats/registry.hpp"
#include "formats/zone.hpp"
#include "job/attempt.hpp"
#include "kernels/error.hpp"
#include "kernels/records/records.hpp"
#include "runs/run_store.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

/// Escapes a name like EscapeName(). Two different names never give the same text.
std::string Exact(const std::string& name) {
  const std::string shown = EscapeName(name);
  return shown == name ? shown : shown + " (" + Hex(XXH3_64bits(name.data(), name.size())) + ")";
}

std::string FullPath(const std::string& path) {
  return Exact(std::filesystem::absolute(path).lexically_normal().string());
}

/// Returns a hash of samples of the file: 4 KiB for each 16 MiB, at least 64 and at most 1024 samples. Reads all of a
/// short file.
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

/// Returns the part of the fingerprint that describes the options.
Fingerprint OptionsFingerprint(const JobSpec& spec) {
  Fingerprint fingerprint{{"the version of gpusort", GPUSORT_VERSION}};
  for (const auto& [name, value] : spec.survival.typed) fingerprint.emplace_back(name, Exact(value));
  fingerprint.emplace_back("the output", FullPath(spec.target.output));
  fingerprint.emplace_back("the locale", LocaleName());
  if (spec.source.table && NeedsZone(*spec.source.table)) {
    const Zone zone(spec.source.table->zone);
    const std::string rules = zone.Rules();
    fingerprint.emplace_back("the time zone", Exact(zone.bare_name()));
    fingerprint.emplace_back("the hash of the local times of " + Exact(zone.bare_name()),
                             Hex(XXH3_64bits(rules.data(), rules.size())));
  }
  for (std::size_t i = 0; spec.source.table && i < spec.source.table->keys.size(); ++i) {
    const ValueRule& rule = spec.source.table->keys[i].rule;
    if (rule.order_file.empty()) continue;
    std::string values;
    for (const std::string& value : rule.labels) values += value + '\n';
    fingerprint.emplace_back("the hash of the values in " + Exact(rule.order_file),
                             Hex(XXH3_64bits(values.data(), values.size())));
  }
  if (spec.order.random) {
    const auto& salt = spec.order.lines->order.salt;
    fingerprint.emplace_back("the random source", Hex(XXH3_64bits(salt, sizeof salt)));
  }
  fingerprint.emplace_back("the number of inputs", std::to_string(spec.source.inputs.size()));
  return fingerprint;
}

/// Returns the part of the fingerprint that describes input number `i`, counted from 0. If `facts` is null, it has only
/// the name. The device is left out, because its number changes on another host or after a reboot.
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

/// Returns the hidden name of the output, which it has in its folder until it is complete.
std::string PartialName(const JobSpec& spec) {
  const std::string job = FullPath(spec.survival.dir) + '\0' + FullPath(spec.target.output);
  return ".gpusort-" + Hex(XXH3_64bits(job.data(), job.size())) + ".partial";
}

/// Returns true if the ctime of input number `input` is the same as in the last attempt.
bool HasSameCtime(const Manifest& manifest, std::size_t input, const FileFacts& now) {
  if (manifest.attempts.empty() || input >= manifest.attempts.back().ctimes.size()) return false;
  return manifest.attempts.back().ctimes[input] == static_cast<std::uint64_t>(now.ctime_ns);
}

/// Returns the fingerprint of the job: all facts on which the bytes of the output depend. Reads samples of every input.
Fingerprint MakeFingerprint(const JobSpec& spec, FileSystem& files, const Inputs& inputs) {
  Fingerprint fingerprint = OptionsFingerprint(spec);
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    const Fingerprint input = InputFingerprint(files, i, inputs.path(i), &inputs.facts(i));
    fingerprint.insert(fingerprint.end(), input.begin(), input.end());
  }
  return fingerprint;
}

std::unique_ptr<Journal> OpenJournal(const OpenJob& open) {
  const JobSpec& spec = open.spec;
  const Inputs& inputs = open.inputs;
  if (spec.survival.dir.empty() || spec.action == Action::kExplain) return nullptr;
  if (!inputs.lasting()) {
    throw Error(ErrorCode::kUsage,
                std::string("--resume-dir: ") +
                    (inputs.compressed() ? "a compressed input" : "an input that is a stream, or written over,") +
                    " cannot be continued in the middle");
  }
  // The parts of --split get their names one after the other, and so do an output and its index. If the job is killed
  // between two of them, it must still find its inputs. So must the first sort of --keep-order after the second one.
  std::vector<std::string> names = PartNames(spec);
  if (spec.target.index || spec.target.placed) names.push_back(spec.target.output);
  for (const std::string& name : names) {
    const std::optional<FileFacts> part = open.files.Identify(name);
    for (std::uint32_t i = 0; part && i < inputs.count(); ++i) {
      if (!part->same_file(inputs.facts(i))) continue;
      throw Error(ErrorCode::kUsage, "--resume-dir: " + EscapeName(name) +
                                         " is an input and a part of the output: give another name for the output");
    }
  }
  auto journal = std::make_unique<Journal>(open.files, spec.survival.dir);
  if (journal->resumes()) journal->RequireSame(MakeFingerprint(spec, open.files, inputs));
  return journal;
}

/// Reads the records of a run in the inputs again, and returns true if they are unchanged. `longest` is the size of the
/// longest record.
bool HasRecordsOf(const Run& run, const Job& job, std::uint64_t longest) {
  const RecordLayout& layout = job.layout;
  const std::uint64_t unit = LeastRecordBytes(layout);
  const std::uint64_t room = std::min(job.memory.left() / 2, std::uint64_t{4} << 20) / unit * unit;
  const std::uint64_t step = std::max(layout.fixed() ? layout.stride : longest, room);
  const HostBuffer buffer(job.memory, (step + 2 * kReadSlack) / 4096 * 4096);
  RecordSum sum;
  for (const InputRange& range : run.origin) {
    for (std::uint64_t done = 0; done < range.bytes;) {
      job.cancel.ThrowIfRequested();
      const InputRange piece{range.input, range.offset + done, std::min(step, range.bytes - done)};
      RecordSpan bytes = job.inputs.Read(piece, {buffer.data(), buffer.size()});
      bytes = bytes.first(WholeRecordBytes(bytes, layout));
      if (bytes.empty()) return false;
      sum += SumRecords(bytes, layout);
      job.progress.Advance(bytes.size());
      done += bytes.size();
    }
  }
  return sum == run.sum;
}

std::string NotEnded(const Error& error) {
  return std::string("the output is in place, but --resume-dir was not ended: ") + error.what();
}

}  // namespace

void FinishFirstSort(const JobSpec& spec, FileSystem& files) {
  if (spec.survival.dir.empty()) return;
  try {
    Journal(files, spec.survival.dir).Finish(spec.survival.keep);
  } catch (const Error& error) {
    LogWarn(NotEnded(error));
  }
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
  // The earlier process was killed before the index got its name. The job makes both files again.
  if (spec.target.index && !files.Identify(IndexName(spec))) return std::nullopt;
  // If the output has replaced an input, only the name of that input can be compared.
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
  LogInfo("the output is in place: an earlier process was killed after it had renamed the output");
  if (!spec.reports.stats.empty()) LogWarn("--stats: the output was in place already, so there are none");
  journal.Finish(spec.survival.keep);
  return kept;
}

JobSurvival::JobSurvival(const OpenJob& open) : open_(open), journal_(OpenJournal(open)) {}

bool JobSurvival::TakeUpRuns(Sorting& sorting, Past& past) {
  if (!journal_ || !journal_->resumes()) return false;
  sorting.runs = KeptRunsOfInputs();
  if (!sorting.runs.empty() && !InputsAreUnchanged(sorting)) {
    sorting.runs.clear();
    journal_->DropRuns();
    return false;
  }
  if (!sorting.runs.empty()) past.suspect = "the machine or GPU that made the kept runs";
  sorting.trailer = journal_->manifest().trailer;
  LogInfo("going on with " + journal_->Progress());
  return journal_->manifest().formed;
}

/// Returns the runs with which the job can continue. Keyed records do not know their places in the input, so their runs
/// are used only if all runs are complete.
std::vector<Run> JobSurvival::KeptRunsOfInputs() const {
  const Manifest& manifest = journal_->manifest();
  const Inputs& inputs = open_.inputs;
  if (manifest.job->keyed && !manifest.formed) return {};
  std::vector<Run> runs = KeptRuns(manifest);
  if (manifest.job->keyed) return runs;
  // The ranges must lie in the inputs, and follow each other.
  InputRange before;
  for (const Run& run : runs) {
    for (const InputRange& range : run.origin) {
      const bool after = range.input > before.input || range.offset >= before.offset + before.bytes;
      const bool inside = range.input < inputs.count() && range.input >= before.input && range.bytes > 0 &&
                          range.offset <= inputs.size(range.input) &&
                          range.bytes <= inputs.size(range.input) - range.offset;
      if (!after || !inside) {
        throw Error(ErrorCode::kIntegrity, EscapeName(journal_->folder()) + ": run " + std::to_string(run.id) +
                                               " is not of these inputs; to begin anew, remove the folder");
      }
      before = range;
    }
  }
  return runs;
}

/// Returns true if the inputs still have the records of the kept runs. If only the ctime of an input has changed, reads
/// the records in its runs again and compares them. Somebody may only have changed the rights, the owner or a name of
/// the input, but may also have written to it and set the mtime back.
bool JobSurvival::InputsAreUnchanged(Sorting& sorting) {
  const Job& job = sorting.job;
  std::vector<std::uint32_t> touched;
  for (std::uint32_t i = 0; i < job.inputs.count(); ++i) {
    if (!HasSameCtime(journal_->manifest(), i, job.inputs.facts(i))) touched.push_back(i);
  }
  if (touched.empty()) return true;
  const std::string what = EscapeName(job.inputs.path(touched[0])) +
                           (touched.size() > 1 ? " and " + std::to_string(touched.size() - 1) + " more" : "") +
                           ": its ctime has changed since the last attempt, its size and mtime have not";
  if (job.layout.keyed()) {
    LogWarn(what + "; its content may have changed, so the job begins anew");
    return false;
  }
  std::vector<const Run*> runs;
  std::uint64_t bytes = 0;
  for (const Run& run : sorting.runs) {
    const bool of_touched = std::ranges::any_of(
        run.origin, [&](const InputRange& range) { return std::ranges::binary_search(touched, range.input); });
    if (!of_touched) continue;
    runs.push_back(&run);
    bytes += TotalBytes(run.origin);
  }
  job.progress.SetPhase("check inputs", bytes);
  for (const Run* run : runs) {
    if (HasRecordsOf(*run, job, sorting.facts.earlier.longest)) continue;
    LogWarn(what + "; its content has changed, so the job begins anew");
    return false;
  }
  LogInfo(what + "; its records that were sorted are the same");
  return true;
}

void JobSurvival::TakeUpOutput(Sorting& sorting, Output& output) {
  Job& job = sorting.job;
  const JobSpec& spec = job.spec;
  OutputFile* const file = output.file();
  if (!journal_ || file == nullptr || !file->in_place().empty() || output.parts() != nullptr ||
      spec.target.codec != Codec::kNone || spec.order.top > 0 || spec.order.needs_groups() ||
      spec.order.set_inputs() > 0 || spec.order.debug ||
      (spec.source.table && (!RowOf(*spec.source.table).again || spec.source.table->shuffle))) {
    return;
  }
  const bool goes_on = journal_->resumes() && journal_->manifest().merge;
  const std::uint64_t bytes = goes_on ? journal_->manifest().merge->output_bytes : 0;
  bool whole = file->TakeUp(journal_->resumes() ? journal_->manifest().job->partial : PartialName(spec), bytes);
  if (goes_on && whole) {
    output.SetHeader(job.inputs.header());
    whole = output.HasFront(bytes, journal_->manifest().merge->front, sorting.ordered.plain, sorting.ordered.format(),
                            sorting.ordered.column_keys(), spec.order.unique, sorting.facts.earlier.longest, job.memory,
                            job.cancel, job.progress);
  }
  if (!whole) {
    sorting.Note("the written part of the output is missing or damaged, so the output is written from its beginning");
    file->Release();
    journal_->ForgetMerge();
  }
  job.checkpoints = journal_.get();
}

void JobSurvival::Begin(Sorting& sorting) {
  if (!journal_) return;
  Job& job = sorting.job;
  const JobSpec& spec = job.spec;
  const Inputs& inputs = job.inputs;
  if (journal_->resumes() && sorting.runs.empty()) journal_->DropRuns();
  KeptJob kept;
  kept.block_bytes = job.plan.block_bytes;
  kept.keyed = job.layout.keyed();
  kept.partial = PartialName(spec);
  kept.input = EscapeName(inputs.path(0));
  if (inputs.count() > 1) kept.input += " and " + std::to_string(inputs.count() - 1) + " more";
  kept.output = EscapeName(spec.target.output);
  kept.input_bytes = inputs.bytes();
  if (!journal_->resumes()) kept.fingerprint = MakeFingerprint(spec, open_.files, inputs);
  KeptAttempt attempt;
  attempt.compresses = job.plan.temp_workspaces > 0;
  for (std::uint32_t i = 0; i < inputs.count(); ++i) {
    attempt.ctimes.push_back(static_cast<std::uint64_t>(inputs.facts(i).ctime_ns));
  }
  journal_->Begin(std::move(kept), attempt, spec.limits.temp_dirs);
  if (journal_->manifest().job->block_bytes != job.plan.block_bytes) {
    throw Error(ErrorCode::kInternal, "blocks of " + std::to_string(job.plan.block_bytes) + " bytes do not go on " +
                                          "those of " + std::to_string(journal_->manifest().job->block_bytes));
  }
  // No id is used twice, so that a block of a run that was given up is never taken for a block of another run.
  job.next_run_id = journal_->manifest().attempts.size() << 32;
}

void JobSurvival::FindBlocks(Sorting& sorting) {
  if (journal_) sorting.job.store->FindBlocks(sorting.runs, sorting.job.layout);
}

// Runs with sort keys can be stored only now: which part of the input each run contains is not known before all runs
// are complete.
void JobSurvival::KeepRuns(Sorting& sorting) {
  if (!journal_) return;
  const HostBuffer buffer(sorting.job.memory, sorting.job.plan.block_bytes);
  for (const Run& run : sorting.runs) {
    if (journal_->manifest().runs.contains(run.id)) continue;
    sorting.job.store->Keep(run, sorting.job.layout, {buffer.data(), buffer.size()});
  }
  journal_->SetFormed(sorting.trailer);
}

void JobSurvival::GiveUpRuns(const Sorting& sorting) {
  if (!journal_ || !sorting.job.store->open()) return;
  try {
    journal_->DropRuns();
    gave_up_runs_ = true;
  } catch (const Error& error) {
    LogWarn(std::string("the runs in --resume-dir are not to be relied on, but could not be dropped: ") + error.what());
  }
}

void JobSurvival::GiveUpOutput(const Sorting& sorting, Output& output) {
  if (sorting.job.checkpoints == nullptr) return;
  output.file()->Release();
  journal_->ForgetMerge();
}

void JobSurvival::SetPublishing(Output& output, bool sync, std::uint64_t records) {
  if (!journal_ || open_.spec.target.placed) return;
  output.Complete(sync);
  const FileFacts facts = output.file()->Facts();
  journal_->SetPublishing({facts.ino, facts.size, static_cast<std::uint64_t>(facts.mtime_ns), records});
}

void JobSurvival::Finish(Sorting& sorting) {
  if (!journal_) return;
  const std::vector<KeptAttempt>& attempts = journal_->manifest().attempts;
  sorting.stats.attempts.assign(attempts.begin(), attempts.end());
  if (open_.spec.target.placed) return;
  try {
    journal_->Finish(open_.spec.survival.keep);
  } catch (const Error& error) {
    sorting.Note(NotEnded(error));
  }
}

void JobSurvival::ExplainFailure(const Error& error) const {
  if (!journal_) return;
  const bool stopped = error.code() == ErrorCode::kCancelled && open_.cancel.requested();
  const bool damaged = error.code() == ErrorCode::kIntegrity;
  const std::string folder = EscapeName(journal_->folder());
  std::string text = "kept in " + folder + ": " + journal_->Progress();
  text += damaged ? ". To begin anew, remove it" : ". The same command continues from there";
  if (gave_up_runs_) text = "the runs that were kept in " + folder + " are not used. The same command begins again";
  if (!journal_->manifest().job) text = "nothing was done yet that is kept";
  if (stopped) throw Error(ErrorCode::kStopped, "stopped by a signal; " + text);
  if (journal_->manifest().job) LogWarn(text);
}

}  // namespace gpusort
