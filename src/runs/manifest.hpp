// The manifest of a job that survives a kill (--resume-dir): what is in it, and the format of its lines. io/FORMAT.md
// describes the lines. Each line is JSON with a hash that covers all lines before it. So a torn last line can be
// dropped, and any other damage is Error(kIntegrity). Start at Manifest and ReadManifest.
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

/// Names, as messages show them, and values that must be the same for a job to go on.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// The first line: it holds for all attempts at a job.
struct KeptJob {
  std::uint64_t id = 0;           ///< the id in the blocks of the spill
  std::uint64_t block_bytes = 0;  ///< size of the spill's blocks
  bool keyed = false;             ///< runs hold keyed records
  std::string partial;            ///< name of the unfinished output, in the folder of the output
  std::string input, output;      ///< for messages
  std::uint64_t input_bytes = 0;
  Fingerprint fingerprint;
};

/// An attempt: the work of one process.
struct KeptAttempt : AttemptStats {
  bool compresses = false;               ///< spilled blocks may be compressed
  std::vector<std::string> directories;  ///< of the spill, in the order of their numbers; "." is the folder itself
  std::vector<std::uint64_t> ctimes;     ///< time of the last change of each input's inode, in ns
};

/// A run without its blocks. The blocks are in an index, which lies in blocks of the spill as well.
struct KeptRun {
  std::uint64_t id = 0, bytes = 0;
  std::uint32_t level = 0;
  RecordSum sum;
  std::vector<InputRange> origin;
  std::uint64_t blocks = 0, longest = 0;  ///< number of blocks, and size of the longest; no record is longer
  std::vector<SpillExtent> index;
};

/// A checkpoint of the last merge.
struct KeptMerge {
  std::uint64_t output_bytes = 0;  ///< bytes of the output on the disk
  OutputProof::Front front;
  std::map<std::uint64_t, std::uint64_t> taken;  ///< merged bytes of each run, by id
};

/// The complete output, which keeps inode, size and time when it gets its name.
struct KeptOutput {
  std::uint64_t inode = 0, bytes = 0, mtime_ns = 0, records = 0;
  friend bool operator==(const KeptOutput&, const KeptOutput&) = default;
};

/// The content of a manifest.
struct Manifest {
  std::optional<KeptJob> job;
  std::vector<KeptAttempt> attempts;
  std::map<std::uint64_t, KeptRun> runs;  ///< by id
  bool formed = false;                    ///< all of the input is in runs
  std::vector<std::byte> trailer;         ///< the trailer of the output; set when all runs are formed
  std::optional<KeptMerge> merge;         ///< the merge of exactly the runs in `runs`
  std::optional<KeptOutput> publishing;   ///< an output that a process was about to publish
  bool done = false;
  std::uint64_t bytes = 0;  ///< of all complete lines
  std::uint64_t hash = 0;   ///< of the last complete line

  /// Returns the bytes of the input that runs hold.
  std::uint64_t bytes_formed() const;
};
/// A pure function. `name` is for messages. Throws Error(kIntegrity), which names the line, if the text is damaged
/// anywhere but at its end, and Error(kUsage) if another version wrote it.
Manifest ReadManifest(std::string_view text, const std::string& name);

/// Returns how far the job is, for people: "12 runs (3.0 GiB of the input's 8.0 GiB)".
std::string DescribeProgress(const Manifest& manifest);

// These functions return the JSON of a new line.
nlohmann::ordered_json ToJson(const KeptJob& job);
nlohmann::ordered_json ToJson(const KeptAttempt& attempt);
/// `replaces`: the ids of the runs that `run` was merged from.
nlohmann::ordered_json ToJson(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
nlohmann::ordered_json ToJson(const KeptMerge& merge);
nlohmann::ordered_json ToJson(const KeptOutput& output);
nlohmann::ordered_json FormedJson(const std::vector<std::byte>& trailer);

/// Returns the line `{"kind":value}` with its hash and a newline. `before` is the hash of the line before, and becomes
/// the hash of this line.
std::string MakeManifestLine(const char* kind, nlohmann::ordered_json value, std::uint64_t& before);

/// Adds the content of a line to `manifest`. Throws Error(kIntegrity) if the value is not as it must be, and
/// Error(kUsage) if another version of gpusort wrote it.
void TakeManifestLine(const std::string& kind, const nlohmann::ordered_json& value, Manifest& manifest);

}  // namespace gpusort
