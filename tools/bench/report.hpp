// The host side of gpusort_bench's subcommands that time merges and sorts: options, samples, the table on the screen
// and the JSON file. A Group is one question (these items, that shape) and a Row is one way to answer it. Rows of a
// group are timed in turn, in one process, on the same inputs. Start at Report::Add.
#pragma once

#include <chrono>
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
  int repetitions = 21;                             ///< at least; short calls get more
  bool textbook = true;
  bool quick = false;
  std::uint32_t conflict_items = 0;  ///< a thread's share in the merges that the conflict inputs are made for; 0: ours
  std::uint64_t conflict_run = 0;    ///< and the runs that the tile sort before them leaves; 0: ours
  std::string json_path;
  std::string commit;

  bool Wants(const std::string& type) const;
  /// The sizes, as numbers of items, ascending; log2_to is always one of them.
  std::vector<std::uint64_t> Sizes() const;
};

/// The facts that every row of a group shares.
struct Group {
  std::string what;    ///< the subcommand
  std::string type;    ///< of keys, or keys+values
  std::string shape;   ///< "1:1", "16 equal runs", ...
  std::string inputs;  ///< the distribution
  std::uint64_t items = 0;
  std::uint64_t m = 0;      ///< merges: items of A; else 0
  std::uint64_t work = 0;   ///< what the throughput counts, if not items
  std::uint64_t bytes = 0;  ///< of all items, once. 0: no bandwidth is told
};

struct Row {
  std::string name;
  std::string kind;             ///< gpusort, rival, textbook, copy, host
  std::vector<double> samples;  ///< milliseconds
  double sweeps = 0;            ///< times that it reads and writes every item, where that is known; else 0
  unsigned clock_mhz = 0;       ///< of the multiprocessors while it ran; 0: unknown
  unsigned threads = 0;         ///< host threads; 0: not said

  /// The sample below which a share `quantile` of all lies.
  double Quantile(double quantile) const;
  double median() const { return Quantile(0.5); }
};

/// Prints groups as they come and keeps them for the JSON file.
class Report {
 public:
  /// Throws if the JSON file cannot be written: now rather than after all the work.
  explicit Report(const Options& options);

  /// Facts of the machine and the run, printed once, and kept.
  void Fact(const std::string& name, const std::string& value);
  void Fact(const std::string& name, double value, const std::string& unit);

  /// `references`: names of rows; the table says how many times faster than each of them every row is.
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

/// Times `work` on the host by the wall clock, after one call that is not counted: `repetitions` times, or until
/// `limit_seconds` have passed and there are at least three samples.
std::vector<double> TimeHost(int repetitions, double limit_seconds, const std::function<void()>& work);

/// The subcommands. All but RunCmp need a GPU, and are only there in builds with CUDA.
void RunCmp(const Options& options, Report& report);
void RunGpu(const Options& options, Report& report);

}  // namespace gpusort::bench
