// The manifest: the log file of a job that can be resumed after a kill (--resume-dir). For the format of its lines, see
// io/FORMAT.md. Start at Manifest and ReadManifest.
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

/// The name of the log file (the manifest) in the folder of a job that can be resumed.
inline constexpr const char* kManifestName = "gpusort.manifest";

/// The options and inputs on which the result of a job depends, as pairs of a name and a value. An interrupted job
/// continues only if all pairs are the same. Error messages show the names.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// The values of a job that never change.
struct KeptJob {
  std::uint64_t id = 0;           ///< the id of the job in the headers of blocks in temp files
  std::uint64_t block_bytes = 0;  ///< the size of blocks in temp files, in bytes
  bool keyed = false;             ///< true: the records in temp files have a sort key before each record
  std::string partial;            ///< the hidden name of the unfinished output, in the folder of the output
  std::string input, output;      ///< the names of the input and the output, for messages
  std::uint64_t input_bytes = 0;
  Fingerprint fingerprint;
};

/// A description of one process that has worked on the job.
struct KeptAttempt : AttemptStats {
  bool compresses = false;  ///< true: blocks in temp files may be compressed
  /// The directories of the temp files. Other data in the manifest refers to a directory by its index in this list. "."
  /// is the folder of the job.
  std::vector<std::string> directories;
  std::vector<std::uint64_t> ctimes;  ///< the ctime of each input (last change of its inode), in ns since 1970-01-01
};

/// The description of a sorted run, which is a sorted part of the data in temp files. The list of its blocks is not
/// here but in the temp files, because it can be long.
struct KeptRun {
  std::uint64_t id = 0, bytes = 0;
  std::uint32_t level = 0;
  RecordSum sum;
  std::vector<InputRange> origin;
  std::uint64_t blocks = 0, longest = 0;  ///< the number of blocks, and the size of the longest block in bytes
  std::vector<SpillExtent> index;
};

/// A checkpoint of a merge: how much of the output is written, and which bytes of each sorted run this output contains.
struct KeptMerge {
  std::uint64_t output_bytes = 0;  ///< the size of the output on the disk, in bytes
  OutputProof::Front front;
  /// How much of each sorted run the output contains. The key is the id of the run, and the value is a number of bytes.
  std::map<std::uint64_t, std::uint64_t> taken;
};

/// Values that identify the complete output file. They stay the same when the file gets its final name.
struct KeptOutput {
  std::uint64_t inode = 0, bytes = 0, mtime_ns = 0, records = 0;
  friend bool operator==(const KeptOutput&, const KeptOutput&) = default;
};

struct Manifest {
  std::optional<KeptJob> job;
  std::vector<KeptAttempt> attempts;
  std::map<std::uint64_t, KeptRun> runs;  ///< the sorted runs in temp files, by their ids
  bool formed = false;                    ///< true: the sorted runs contain all records of the input
  std::vector<std::byte> trailer;  ///< the bytes that follow the last record of the output; set when `formed` is true
  std::optional<KeptMerge> merge;  ///< the last checkpoint of the output; no value: no part of the output is stored yet
  std::optional<KeptOutput> publishing;  ///< the output file; set just before the file is renamed to its final name
  bool done = false;
  std::uint64_t bytes = 0;  ///< the size of all complete lines of the manifest, in bytes
  std::uint64_t hash = 0;   ///< the hash that the last complete line contains; covers all complete lines

  /// Returns how many bytes of the input are in sorted runs.
  std::uint64_t bytes_formed() const;
};
/// Parses the text of a manifest, the log file of a job. `name` is the name of the file for messages. Ignores an
/// incomplete last line. Throws Error(kIntegrity) with the number of the line for any other damage, and Error(kUsage)
/// if another version of gpusort wrote the file.
Manifest ReadManifest(std::string_view text, const std::string& name);

/// Returns how far the job has come, as text for people: "12 runs (3.0 GiB of the input's 8.0 GiB)".
std::string DescribeProgress(const Manifest& manifest);

// Each of the following functions returns its arguments as JSON, for a line of the job's log file (the manifest).
nlohmann::ordered_json ToJson(const KeptJob& job);
nlohmann::ordered_json ToJson(const KeptAttempt& attempt);
/// `replaces` has the ids of the sorted runs from which `run` was merged. It is empty if `run` was sorted from the
/// input.
nlohmann::ordered_json ToJson(const KeptRun& run, const std::vector<std::uint64_t>& replaces);
nlohmann::ordered_json ToJson(const KeptMerge& merge);
nlohmann::ordered_json ToJson(const KeptOutput& output);
nlohmann::ordered_json FormedJson(const std::vector<std::byte>& trailer);

/// Returns a line for the end of the manifest: `{"kind":value}` with a hash, and a newline. `before` is the hash of the
/// last line, and becomes the hash of the new line.
std::string MakeManifestLine(const char* kind, nlohmann::ordered_json value, std::uint64_t& before);

/// Updates `manifest` with one line {"kind":value} of the log file.
/// - Throws Error(kIntegrity) if the line is wrong.
/// - Throws Error(kUsage) if another version of gpusort wrote the line.
void TakeManifestLine(const std::string& kind, const nlohmann::ordered_json& value, Manifest& manifest);

}  // namespace gpusort
