// How long a job will take: from how fast its folders are, and how fast a sample of its own input is sorted and merged
// by what will sort it. Phases of a job overlap reading, work and writing, so each takes as long as what it uses most.
// Start at Expect, which is pure; the rest measures. `--explain` alone gives no seconds: rates of another machine or day
// would be a guess. `--explain=full` sorts a sample of the input with the job's own backend, formats and codecs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace gpusort {

/// Bytes a second, of a disk; 0: not known. In memory, the cores do it.
struct FolderSpeed {
  double read = 0, write = 0;
  std::uint64_t device = 0;  ///< two folders of the same one share its speed
  bool memory = false;
};

/// What a job will move, and how fast that was seen to go. Bytes and bytes a second.
struct ExpectFacts {
  double input = 0, spilled = 0, between = 0, output = 0;  ///< `between`: merged by levels before the last
  FolderSpeed input_folder, temp_folder, output_folder;
  double open = 0;             ///< seconds in which a GPU comes up
  double form = 0, merge = 0;  ///< sorting and merging where nobody waits for a disk
  bool gpu = false, verifies = false;
};

struct ExpectedPhase {
  std::string name;
  double seconds = 0;
  std::string limit;  ///< "disk read", "disk write", "cores", "GPU"
};
std::vector<ExpectedPhase> Expect(const ExpectFacts& facts);
/// A row of --explain: all, then each phase with its limit.
std::string Describe(const std::vector<ExpectedPhase>& phases);

/// Writes and reads back a nameless file in `directory` for about a sixth of a second, as the job would, past the page
/// cache or with a sync. What cannot be had is 0.
FolderSpeed ProbeFolder(FileSystem& files, const std::string& directory, bool direct);

}  // namespace gpusort
