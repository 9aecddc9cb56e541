// Sorts and merges on host threads with the installed headers alone.
#include <algorithm>
#include <cstdio>
#include <gpusort/gpusort.hpp>
#include <vector>

int main() {
  std::vector<int> a, b;
  for (int i = 0; i < 100000; ++i) {
    a.push_back(i * 7919 % 9973);
    b.push_back(i * 7727 % 9967);
  }
  gpusort::SortKeys(a.begin(), a.size());
  gpusort::SortKeys(b.begin(), b.size());
  std::vector<int> out(a.size() + b.size());
  gpusort::MergeKeys(a.begin(), a.size(), b.begin(), b.size(), out.begin());
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  std::printf("consumer_host: %zu keys, %s\n", out.size(), out == a ? "in order" : "WRONG");
  return out == a ? 0 : 1;
}
