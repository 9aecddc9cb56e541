// gpusort_tune: see tune.hpp. Usage: gpusort_tune [--sizes A,B,...] [--bytes 4,8,16] [--repetitions N] [--write FILE]
// Prints every timing. For each kind of kernel prints the best shape over all sizes, and its gain for each size.
// --write puts the best rows into FILE (kernels/gpusort/tuning.hpp) between its marks.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tune.hpp"

namespace gpusort::tune {

const char* NameOf(Kind kind) {
  constexpr const char* kNames[kKinds] = {"network sort", "sort", "2-way", "4-way", "2-way pairs", "4-way pairs"};
  return kNames[static_cast<int>(kind)];
}

namespace {

std::vector<int> Numbers(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) {
    std::size_t used = 0;
    numbers.push_back(std::stoi(word, &used));
    if (used != word.size()) throw std::invalid_argument("not a number: " + word);
  }
  return numbers;
}

bool SameShape(const Shape& a, const Shape& b) {
  return a.threads == b.threads && a.items == b.items && a.blocks == b.blocks;
}
std::string Text(const Shape& shape) {
  std::string text = "{" + std::to_string(shape.threads) + ", " + std::to_string(shape.items);
  return text + (shape.blocks == 1 ? "}" : ", " + std::to_string(shape.blocks) + "}");
}

/// Chooses the best shapes from the timings of one item size.
class Chooser {
 public:
  explicit Chooser(std::vector<Timing> timings) : timings_(std::move(timings)) {
    for (const Timing& t : timings_) {
      if (t.kind != Kind::kMerge4) continue;
      auto [at, added] = level_cost_.try_emplace(t.log2_items, t.milliseconds / t.levels);
      if (!added) at->second = std::min(at->second, t.milliseconds / t.levels);
    }
  }

  /// Returns the cost of a shape. The cost of a tile sort includes the levels of merging that remain for merge passes.
  double Cost(const Timing& t) const {
    const bool sorts = t.kind == Kind::kNetworkSort || t.kind == Kind::kSort;
    return t.milliseconds + (sorts ? t.levels * level_cost_.at(t.log2_items) : 0);
  }

  /// Returns the best shape. The cost of a shape is relative to the best shape of each size, and the mean over the
  /// sizes counts. Each size counts twice as much as the size before, because most inputs are large. Prints a
  /// comparison.
  Shape Choose(Kind kind) const {
    std::map<int, double> best, now;
    for (const Timing& t : timings_) {
      if (t.kind != kind) continue;
      auto [at, added] = best.try_emplace(t.log2_items, Cost(t));
      if (!added) at->second = std::min(at->second, Cost(t));
      if (t.current) now[t.log2_items] = Cost(t);
    }
    const Timing* chosen = nullptr;
    double least = std::numeric_limits<double>::max();
    for (const Timing& t : timings_) {
      if (t.kind != kind) continue;
      const double mean = MeanOver(kind, t.shape, best);
      if (mean < least) {
        least = mean;
        chosen = &t;
      }
    }
    if (chosen == nullptr) throw std::runtime_error(std::string("no timing of ") + NameOf(kind));
    std::printf("%2d bytes %-14s best %-14s", chosen->item_bytes, NameOf(kind), Text(chosen->shape).c_str());
    for (const Timing& t : timings_) {
      if (t.kind != kind || t.current || !SameShape(t.shape, chosen->shape)) continue;
      std::printf("  2^%d %.4f ms, gain %.2f", t.log2_items, t.milliseconds, now[t.log2_items] / Cost(t));
    }
    std::printf("\n");
    return chosen->shape;
  }

 private:
  double MeanOver(Kind kind, const Shape& shape, const std::map<int, double>& best) const {
    double sum = 0, weights = 0;
    std::size_t sizes = 0;
    for (const Timing& t : timings_) {
      if (t.kind != kind || t.current || !SameShape(t.shape, shape)) continue;
      const double weight = std::exp2(std::distance(best.begin(), best.find(t.log2_items)));
      sum += weight * Cost(t) / best.at(t.log2_items);
      weights += weight;
      ++sizes;
    }
    return sizes == best.size() ? sum / weights : std::numeric_limits<double>::max();
  }

  std::vector<Timing> timings_;
  std::map<int, double> level_cost_;  ///< the cost of a level of merging, by size
};

/// Writes `rows` between the marks of the file.
void Write(const std::string& path, const std::string& rows) {
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string begin_mark = "  // BEGIN gpusort_tune\n", end_mark = "  // END gpusort_tune\n";
  const std::size_t begin = text.find(begin_mark), end = text.find(end_mark);
  if (!in || begin == std::string::npos || end == std::string::npos) {
    throw std::runtime_error(path + " has no marks of gpusort_tune");
  }
  text.replace(begin + begin_mark.size(), end - begin - begin_mark.size(), rows);
  std::ofstream out(path, std::ios::trunc);
  if (!(out << text).flush()) throw std::runtime_error("cannot write " + path);
}

template <int kBytes>
void TimeKinds(int log2_items, int repetitions, std::vector<Timing>& timings) {
  [&]<int... kKind>(std::integer_sequence<int, kKind...>) {
    ((TimeShapes<kBytes, kKind, 128>(log2_items, repetitions, timings),
      TimeShapes<kBytes, kKind, 256>(log2_items, repetitions, timings),
      TimeShapes<kBytes, kKind, 512>(log2_items, repetitions, timings)),
     ...);
  }
  (std::make_integer_sequence<int, kKinds>{});
}

int Run(int argc, char** argv) {
  std::vector<int> sizes{20, 24, 28}, bytes{4, 8, 16};
  int repetitions = 7;
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(option + " needs a value");
    const std::string value = argv[++i];
    if (option == "--sizes") {
      sizes = Numbers(value);
    } else if (option == "--bytes") {
      bytes = Numbers(value);
    } else if (option == "--repetitions") {
      repetitions = Numbers(value).at(0);
    } else if (option == "--write") {
      file = value;
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  for (const int size : sizes) {
    if (size < 12 || size > 29) throw std::invalid_argument("--sizes are powers of two from 12 to 29");
  }
  if (repetitions < 1) throw std::invalid_argument("--repetitions must be 1 or more");
  std::string rows;
  for (const int item_bytes : bytes) {
    std::vector<Timing> timings;
    for (const int size : sizes) {
      if (item_bytes == 4) {
        TimeKinds<4>(size, repetitions, timings);
      } else if (item_bytes == 8) {
        TimeKinds<8>(size, repetitions, timings);
      } else if (item_bytes == 16) {
        TimeKinds<16>(size, repetitions, timings);
      } else {
        throw std::invalid_argument("--bytes are 4, 8 and 16");
      }
    }
    const Chooser chooser(timings);
    std::string row, measured;
    for (int kind = 0; kind < kKinds; ++kind) {
      const Shape shape = chooser.Choose(static_cast<Kind>(kind));
      row += (kind == 0 ? "" : ", ") + Text(shape);
      for (const Timing& t : timings) {
        if (static_cast<int>(t.kind) != kind || t.current || t.log2_items != sizes.back()) continue;
        if (!SameShape(t.shape, shape)) continue;
        char text[64];
        std::snprintf(text, sizeof text, "%s%s %.3f", kind == 0 ? "" : ", ", NameOf(t.kind), t.milliseconds);
        measured += text;
      }
    }
    rows += "  // ms for 2^" + std::to_string(sizes.back()) + " items: " + measured + ".\n";
    rows += "  if (item_bytes <= " + std::to_string(item_bytes) + ") return {" + row + "};\n";
  }
  if (!file.empty()) {
    char date[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    Write(file, std::string("  // By gpusort_tune, ") + date + ".\n" + rows);
  }
  return 0;
}

}  // namespace
}  // namespace gpusort::tune

int main(int argc, char** argv) {
  try {
    return gpusort::tune::Run(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gpusort_tune: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpusort_tune: %s\n", error.what());
    return 7;
  }
}
