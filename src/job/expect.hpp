// How long a job will take, from the speed of its folders and of the backend. A phase overlaps reading, work and
// writing, so it takes as long as the resource that it uses most. Start at Expect, which is a pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "runs/job.hpp"
#include "watch/outlook.hpp"

namespace gpusort {

/// The speed of a folder in bytes a second; 0: not known.
struct FolderSpeed {
  double read = 0, write = 0;
  std::uint64_t device = 0;  ///< folders of the same device share its speed
  bool memory = false;       ///< the folder is in memory (tmpfs), so the cores copy its bytes
};

/// The bytes that a job will move, and the measured speeds in bytes a second.
struct ExpectFacts {
  double input = 0, spilled = 0, between = 0, output = 0;  ///< `between`: bytes merged in levels before the last
  FolderSpeed input_folder, temp_folder, output_folder;
  double open = 0;             ///< seconds to open a GPU
  double form = 0, merge = 0;  ///< speed of sorting and merging without waiting for a disk
  bool gpu = false, verifies = false;
};

struct ExpectedPhase {
  std::string name;
  double seconds = 0;
  std::string limit;  ///< "disk read", "disk write", "cores", "GPU"
};
std::vector<ExpectedPhase> Expect(const ExpectFacts& facts);
/// Returns a row of --explain: the time of all phases, then of each phase with its limit.
std::string Describe(const std::vector<ExpectedPhase>& phases);

/// Writes and reads back a nameless file in `directory` for about a sixth of a second. Passes by the page cache if
/// `direct`, otherwise syncs the file, as the job will do. A speed that cannot be measured is 0.
FolderSpeed ProbeFolder(FileSystem& files, const std::string& directory, bool direct);

/// Returns the shares of the cores and disks that the rest of the job will use, from forming runs on. The plan must be
/// made. `merging`: the inputs are merged as they are.
std::vector<JobPart> ExpectedParts(const Job& job, bool merging);

}  // namespace gpusort
