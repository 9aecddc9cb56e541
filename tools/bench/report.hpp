// The host side of the benchmarks of gpusort_bench: options, samples, the table on the screen and the JSON file. A
// Group is one comparison of several functions on the same items in the same shape. A Row has the times of one function
// of a group. The rows of a group are timed in turn in one process on the same inputs. Start at Report::Add.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gpusort::bench {

struct Options {
  std::vector<std::string> subcommands;
  std::vector<std::string> types = {"i32", "i64", "k16", "i32+i32", "i64+i64"};
  std::vector<std::string> inputs = {"random"};
  int log2_from = 10, log2_to = 28, log2_step = 2;  ///< sizes are powers of two
  int repetitions = 21;                             ///< the smallest number of samples; short calls get more
  bool textbook = true;
  bool quick = false;
  /// For conflict inputs (conflict.hpp): how many items a thread writes in a merge; 0: as in gpusort.
  std::uint32_t conflict_items = 0;
  /// For conflict inputs: the length of the shortest runs; 0: the size of gpusort's tile.
  std::uint64_t conflict_run = 0;
  std::string json_path;
  std::string commit;

  bool Wants(const std::string& type) const;
  /// Returns the sizes to time, as numbers of items in ascending order. log2_to is always the last of the sizes.
  std::vector<std::uint64_t> Sizes() const;
};

/// The facts that every row of a group shares.
struct Group {
  std::string what;    ///< the name of the subcommand
  std::string type;    ///< the type of the keys, or "keys+values"
  std::string shape;   ///< "1:1", "16 equal runs", ...
  std::string inputs;  ///< the distribution of the keys
  std::uint64_t items = 0;
  std::uint64_t m = 0;      ///< merges: the number of items of A; sorts: 0
  std::uint64_t work = 0;   ///< the number of items that the throughput counts; 0: `items`
  std::uint64_t bytes = 0;  ///< the number of bytes of all items together; 0: no bandwidth is reported
};

struct Row {
  std::string name;
  std::string kind;             ///< "gpusort", "rival", "textbook", "copy" or "host"
  std::vector<double> samples;  ///< times in milliseconds
  double sweeps = 0;            ///< how often the function reads and writes every item; 0: unknown
  unsigned clock_mhz = 0;       ///< the clock of the multiprocessors during the last call; 0: unknown
  unsigned threads = 0;         ///< the number of host threads; 0: not reported

  /// Returns the smallest sample for which at least the share `quantile` (0 to 1) of all samples is not larger.
  double Quantile(double quantile) const;
  double median() const { return Quantile(0.5); }
};

/// Prints each group when it is added, and stores the group for the JSON file.
class Report {
 public:
  /// Throws if the JSON file cannot be written, before any work is done.
  explicit Report(const Options& options);

  /// Prints a fact about the machine or the run, and stores the fact for the JSON file.
  void Fact(const std::string& name, const std::string& value);
  void Fact(const std::string& name, double value, const std::string& unit);

  /// Adds a group. `references` are names of rows: the table compares every row with each reference.
  void Add(const Group& group, const std::vector<Row>& rows, const std::vector<std::string>& references);
  void WriteJson() const;

 private:
  struct Entry {
    Group group;
    std::vector<Row> rows;
  };
  Options options_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, double> numbers_;
  std::vector<Entry> entries_;
};

/// Times `work` on the host by the wall clock, after one call that does not count. Takes `repetitions` samples, but
/// stops after `limit_seconds` if there are at least three.
std::vector<double> TimeHost(int repetitions, double limit_seconds, const std::function<void()>& work);

/// The benchmarks of the subcommands. All except RunCmp need a GPU and exist only in builds with CUDA.
void RunCmp(const Options& options, Report& report);
void RunGpu(const Options& options, Report& report);

}  // namespace gpusort::bench
