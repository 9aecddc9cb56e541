#include "job/recovery.hpp"

#include <utility>

#include "base/text.hpp"
#include "data/inputs.hpp"

namespace gpusort {
namespace {

/// Returns true if the error shows a wrong result. An internal error may come from wrong numbers of a GPU.
bool IsWrong(const Error& error, bool gpu) {
  return dynamic_cast<const WrongResult*>(&error) != nullptr || (gpu && error.code() == ErrorCode::kInternal);
}

}  // namespace

std::optional<Recovery> Recover(const Error& error, const PlanFacts& facts, const Past& past) {
  const bool refused = error.code() == ErrorCode::kOutOfMemory;
  // With less memory there would be no plan either.
  const bool no_plan = dynamic_cast<const TooLittleGpuMemory*>(&error) != nullptr;
  PlanFacts next = facts;
  if (IsWrong(error, facts.machine.gpu)) {
    if (past.suspect.empty() || past.only_gpu || !past.only_once.empty()) return std::nullopt;
    next.machine.gpu = false;
    next.earlier.spilled = true;
    return Recovery{Recovery::Way::kAnew, std::move(next),
                    Blame(error, past) + "; sorting all of the input again, with the CPU"};
  }
  if (!facts.machine.gpu) {
    // There may not be enough memory for a long line of each input at the same time.
    if (!refused || !facts.merges() || facts.input.plain.fixed()) return std::nullopt;
    next.input.sorted.clear();
    next.earlier.temp_workspaces = 0;
    return Recovery{Recovery::Way::kSort, std::move(next),
                    std::string("merging all inputs at once was refused memory: ") + error.what() +
                        "; sorting them instead, once they are checked"};
  }
  // The remaining input may be in several intervals, which can make more runs than there are slots. Runs without a slot
  // go to temp files.
  next.earlier.spilled = true;
  if (refused && !no_plan && past.smaller < kSmallerPlans) {
    next.machine.device_memory /= 2;
    std::string note = std::string("memory was refused: ") + error.what() + "; trying again with " +
                       FormatBytes(next.machine.device_memory) + " of the GPU's";
    return Recovery{Recovery::Way::kSmaller, std::move(next), std::move(note)};
  }
  // A line that is too long for a slot on a GPU may fit on the CPU, where slots grow.
  const bool too_long = facts.asked.grows && dynamic_cast<const LineTooLong*>(&error) != nullptr;
  if (past.only_gpu || !(refused || too_long || error.code() == ErrorCode::kGpuLost)) return std::nullopt;
  next.machine.gpu = false;
  return Recovery{Recovery::Way::kCpu, std::move(next),
                  std::string("the GPU failed: ") + error.what() + "; going on with the CPU"};
}

std::string Blame(const Error& error, const Past& past) {
  std::string text = std::string("wrong results: ") + error.what() + "; ";
  if (past.suspect.empty()) return text + "this machine's memory or a core of it is suspect";
  text += past.suspect + " is suspect";
  if (past.of_gpu)
    text += ": look at nvidia-smi -q (ECC errors) and the kernel log (NVRM: Xid) before it is used again";
  if (!past.only_once.empty()) text += "; " + past.only_once + ", so the job cannot begin anew here";
  if (past.only_gpu || !past.only_once.empty()) text += "; give the command again with --device cpu";
  return text;
}

}  // namespace gpusort
