// The manifest of a job that survives a kill (--resume-dir): its content, and the format of its lines (see
// io/FORMAT.md). Each line is JSON with a hash over all lines so far. An incomplete last line is therefore dropped. Any
// other damage is Error(kIntegrity). Start at Manifest and ReadManifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/inputs.hpp"
#include "data/proof.hpp"
#include "io/spill.hpp"
#include "watch/stats.hpp"

namespace gpusort {

/// The name of the manifest in the folder of the job.
inline constexpr const char* kManifestName = "gpusort.manifest";

/// Pairs of a name and a value. A job continues only if no value has changed. Messages show the names.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// The facts that hold for all attempts at a job: the first line of the manifest.
struct KeptJob {
  std::uint64_t id = 0;           ///< the id in the headers of spilled blocks
  std::uint64_t block_bytes = 0;  ///< size of the spill's blocks
  bool keyed = false;             ///< true if runs contain keyed records
  std::string partial;            ///< name of the unfinished output in the folder of the output
  std::string input, output;      ///< the input and the output as messages name them
  std::uint64_t input_bytes = 0;
  Fingerprint fingerprint;
};

/// The facts of an attempt, which is the work of one process at the job.
struct KeptAttempt : AttemptStats {
  bool compresses = false;               ///< spilled blocks may be compressed
  std::vector<std::string> directories;  ///< the spill's directories by number; "." is the folder of the job
  std::vector<std::uint64_t> ctimes;     ///< time of the last change of each input's inode, in ns
};

/// The facts of a run without its blocks. An index in the spill lists the blocks.
struct KeptRun {
  std::uint64_t id = 0, bytes = 0;
  std::uint32_t level = 0;
  RecordSum sum;
  std::vector<InputRange> origin;
  std::uint64_t blocks = 0, longest = 0;  ///< number of blocks; size of the longest block in bytes
  std::vector<SpillExtent> index;
};

/// The facts of a checkpoint of the last merge.
struct KeptMerge {
  std::uint64_t output_bytes = 0;  ///< size of the output on the disk
  OutputProof::Front front;
  std::map<std::uint64_t, std::uint64_t> taken;  ///< number of merged bytes of each run, by id
};

/// The facts of the complete output, which stay the same when the output gets its name.
struct KeptOutput {
  std::uint64_t inode = 0, bytes = 0, mtime_ns = 0, records = 0;
  friend bool operator==(const KeptOutput&, const KeptOutput&) = default;
};

struct Manifest {
  std::optional<KeptJob> job;
  std::vector<KeptAttempt> attempts;
  std::map<std::uint64_t, KeptRun> runs;  ///< all runs, by id
  bool formed = false;                    ///< true if runs hold all records of the input
  std::vector<std::byte> trailer;         ///< the trailer of the output; set when all runs are formed
  std::optional<KeptMerge> merge;         ///< the last checkpoint of the merge of `runs`
  std::optional<KeptOutput> publishing;   ///< the output that a process was about to publish
  bool done = false;
  std::uint64_t bytes = 0;  ///< size of all complete lines of the manifest
  std::uint64_t hash = 0;   ///< hash in the last complete line

  /// Returns the number of input bytes that are in runs.
  std::uint64_t bytes_formed() const;
};
/// Parses the text of a manifest. `name` is for messages. Throws Error(kIntegrity), which names the line, if the text
/// is damaged anywhere but at its end, and Error(kUsage) if another version wrote it. This is a pure function.
Manifest ReadManifest(std::string_view text, const std::string& name);

/// Returns the progress of the job as text for people: "12 runs (3.0 GiB of the input's 8.0 GiB)".
std::string DescribeProgress(const Manifest& manifest);

// The following functions return the JSON value of a new line.
nlohmann::ordered_json ToJson(const KeptJob& job);
nlohmann::ordered_json ToJson(const KeptAttempt& attempt);
/// `replaces` are the ids of the runs from which `run` was merged.
nlohmann::ordered_json ToJson(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
nlohmann::ordered_json ToJson(const KeptMerge& merge);
nlohmann::ordered_json ToJson(const KeptOutput& output);
nlohmann::ordered_json FormedJson(const std::vector<std::byte>& trailer);

/// Returns the line `{"kind":value}` with its hash and a newline. `before` must be the hash in the line before, and is
/// set to the hash in the new line.
std::string MakeManifestLine(const char* kind, nlohmann::ordered_json value, std::uint64_t& before);

/// Adds the content of a line to `manifest`. Throws Error(kIntegrity) if the value has a wrong form, and Error(kUsage)
/// if another version of gpusort wrote it.
void TakeManifestLine(const std::string& kind, const nlohmann::ordered_json& value, Manifest& manifest);

}  // namespace gpusort
