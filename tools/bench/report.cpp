#include "bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/error.hpp"

namespace gpusort::bench {

bool Options::Wants(const std::string& type) const {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::vector<std::uint64_t> Options::Sizes() const {
  std::vector<std::uint64_t> sizes;
  for (int log2 = log2_to; log2 >= log2_from; log2 -= log2_step) sizes.insert(sizes.begin(), std::uint64_t{1} << log2);
  return sizes;
}

double Row::Quantile(double quantile) const {
  if (samples.empty()) return 0;
  std::vector<double> sorted = samples;
  const auto at = static_cast<std::ptrdiff_t>(std::lround(quantile * static_cast<double>(sorted.size() - 1)));
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
  return sorted[static_cast<std::size_t>(at)];
}

Report::Report(const Options& options) : options_(options) {
  if (options.json_path.empty() || std::ofstream(options.json_path, std::ios::app)) return;
  throw Error(ErrorCode::kUsage, "cannot write " + options.json_path);
}

void Report::Fact(const std::string& name, const std::string& value) {
  std::printf("%s: %s\n", name.c_str(), value.c_str());
  texts_[name] = value;
}

void Report::Fact(const std::string& name, double value, const std::string& unit) {
  std::printf("%s: %.6g %s\n", name.c_str(), value, unit.c_str());
  numbers_[unit.empty() ? name : name + "_" + unit] = value;
}

void Report::Add(const Group& group, const std::vector<Row>& rows, const std::vector<std::string>& references) {
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
  };
  const Row* const copy = find("copy");
  std::printf("\n%s %s, %s, %llu items, %s\n  %-34s %11s  %-23s %9s", group.what.c_str(), group.type.c_str(),
              group.shape.c_str(), static_cast<unsigned long long>(group.items), group.inputs.c_str(), "", "median ms",
              "5 % to 95 %", "G/s");
  if (group.bytes > 0) std::printf(" %8s", "GB/s");
  if (copy != nullptr) std::printf(" %7s %7s %7s", "% copy", "copies", "sweeps");
  for (const std::string& name : references) {
    if (find(name) != nullptr) std::printf("  x %s", name.c_str());
  }
  const bool clocks = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.clock_mhz > 0; });
  std::printf(clocks ? "   MHz\n" : "\n");
  for (const Row& row : rows) {
    const double ms = row.median();
    char spread[64];
    std::snprintf(spread, sizeof spread, "(%.4f to %.4f)", row.Quantile(0.05), row.Quantile(0.95));
    const std::uint64_t work = group.work != 0 ? group.work : group.items;
    std::printf("  %-34s %11.4f  %-23s %9.3f", row.name.c_str(), ms, spread, static_cast<double>(work) / ms / 1e6);
    if (group.bytes > 0) std::printf(" %8.1f", 2 * static_cast<double>(group.bytes) / ms / 1e6);
    if (copy != nullptr) {
      if (row.kind == "host") {
        std::printf(" %7s %7s %7s", "", "", "");
      } else {
        std::printf(" %7.1f %7.2f", 100 * copy->median() / ms, ms / copy->median());
        if (row.sweeps > 0) {
          std::printf(" %7g", row.sweeps);
        } else {
          std::printf(" %7s", "");
        }
      }
    }
    for (const std::string& name : references) {
      if (const Row* const reference = find(name)) {
        std::printf("  %*.2f", static_cast<int>(name.size()) + 2, reference->median() / ms);
      }
    }
    if (row.clock_mhz > 0) std::printf("  %4u", row.clock_mhz);
    std::printf("\n");
  }
  std::fflush(stdout);
  entries_.push_back({group, rows});
}

void Report::WriteJson() const {
  if (options_.json_path.empty()) return;
  nlohmann::ordered_json json;
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  json["program"] = "gpusort_bench";
  json["date"] = date;
  json["commit"] = options_.commit;
  for (const auto& [name, value] : texts_) json["machine"][name] = value;
  for (const auto& [name, value] : numbers_) json["machine"][name] = value;
  json["repetitions"] = options_.repetitions;
  json["rows"] = nlohmann::ordered_json::array();
  for (const auto& [group, rows] : entries_) {
    const auto copy = std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.name == "copy"; });
    for (const Row& row : rows) {
      nlohmann::ordered_json line;
      line["what"] = group.what;
      line["type"] = group.type;
      line["shape"] = group.shape;
      line["inputs"] = group.inputs;
      line["items"] = group.items;
      if (group.m != 0) line["m"] = group.m;
      if (group.work != 0) line["work"] = group.work;
      line["name"] = row.name;
      line["kind"] = row.kind;
      if (row.threads != 0) line["threads"] = row.threads;
      line["samples"] = row.samples.size();
      line["ms"] = row.median();
      line["p05_ms"] = row.Quantile(0.05);
      line["p95_ms"] = row.Quantile(0.95);
      if (group.bytes > 0) {
        line["bytes"] = group.bytes;
        line["gb_s"] = 2 * static_cast<double>(group.bytes) / row.median() / 1e6;
      }
      if (copy != rows.end() && row.kind != "host") line["copies"] = row.median() / copy->median();
      if (row.sweeps > 0) line["sweeps"] = row.sweeps;
      if (row.clock_mhz > 0) line["clock_mhz"] = row.clock_mhz;
      json["rows"].push_back(std::move(line));
    }
  }
  std::ofstream out(options_.json_path);
  // Writes each row of the JSON file to its own line, so that a diff shows which rows have changed.
  const auto rows = json["rows"];
  json.erase("rows");
  std::string head = json.dump(1);
  head.resize(head.rfind('\n'));
  out << head << ",\n \"rows\": [";
  const char* separator = "\n  ";
  for (const auto& row : rows) {
    out << separator << row.dump();
    separator = ",\n  ";
  }
  out << "\n ]\n}\n";
  out.close();
  if (!out) throw Error(ErrorCode::kIo, "cannot write " + options_.json_path);
  std::printf("\nwritten: %s\n", options_.json_path.c_str());
}

std::vector<double> TimeHost(int repetitions, double limit_seconds, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  work();
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  for (int r = 0; r < repetitions; ++r) {
    const Clock::time_point begin = Clock::now();
    work();
    const Clock::time_point end = Clock::now();
    samples.push_back(milliseconds(end - begin));
    if (r >= 2 && milliseconds(end - start) > 1000 * limit_seconds) break;
  }
  return samples;
}

}  // namespace gpusort::bench
