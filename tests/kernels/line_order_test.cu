// Tests that the order of lines on a GPU is exactly that of the host: comparisons and chunks of hostile lines, for each
// ordering that a device has.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device_list.cuh"
#include "kernels/lines/line_order.hpp"
#include "lines.hpp"

namespace gpusort {
namespace {

using testing::DeviceList;
using testing::ToHost;

/// Compares each line i with line i + 1, and encodes its chunk from byte i % 30 on.
__global__ void CompareAndEncode(const Byte* text, const std::uint64_t* begins, std::uint64_t count, LineOrderView view,
                                 int* orders, LineChunk* chunks) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::uint64_t size = begins[i + 1] - begins[i];
  chunks[i] = EncodeChunk(text + begins[i], size, view, i % 30);
  orders[i] = i + 1 == count
                  ? 0
                  : CompareLines(text + begins[i], size, text + begins[i + 1], begins[i + 2] - begins[i + 1], view);
}

int Sign(int x) { return (x > 0) - (x < 0); }

TEST(LineOrderOnGpu, IsTheHosts) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "there is no GPU";
  std::mt19937_64 random(1);
  for (const LineOrdering ordering : testing::kAllOrderings) {
    if (ordering == LineOrdering::kGeneral) continue;
    const std::vector<std::string> words = testing::WordsOf(ordering);
    constexpr std::uint64_t kLines = 4000;
    std::vector<Byte> text;
    std::vector<std::uint64_t> begins = {0};
    for (std::uint64_t i = 0; i < kLines; ++i) {
      for (std::uint64_t w = random() % 8; w > 0; --w) {
        const std::string& word = words[random() % words.size()];
        text.insert(text.end(), word.begin(), word.end());
      }
      begins.push_back(text.size());
    }
    const DeviceList<Byte> d_text(text);
    const DeviceList<std::uint64_t> d_begins(begins);
    for (unsigned options = 0; options < 64; ++options) {
      LineOrder order;
      order.keys.resize(options % 2 + 1);
      for (LineKey& key : order.keys) {
        key.ordering = ordering;
        key.begin_field = random() % 3;
        if (random() % 2 == 0) key.end_field = random() % 3;
        key.end_char = random() % 3;
        key.skip_start_blanks = random() % 2 == 0;
        key.dictionary_order = options / 2 % 2 != 0;
        key.ignore_nonprinting = options / 4 % 2 != 0;
        key.fold_case = options / 8 % 2 != 0;
        key.reverse = random() % 2 == 0;
      }
      order.last_resort = options / 16 % 2 != 0;
      order.last_resort_reverse = random() % 2 == 0;
      order.separator = options / 32 % 2 != 0 ? ':' : -1;
      order.salt[0] = random();
      const LineOrderView view = order.view();

      const DeviceList<LineKey> d_keys(order.keys);
      LineOrderView d_view = view;
      d_view.keys = d_keys.data();
      const DeviceList<int> d_orders(kLines);
      const DeviceList<LineChunk> d_chunks(kLines);
      CompareAndEncode<<<(kLines + 255) / 256, 256>>>(d_text.data(), d_begins.data(), kLines, d_view, d_orders.data(),
                                                      d_chunks.data());
      ASSERT_CUDA(cudaGetLastError());
      const std::vector<int> orders = ToHost(d_orders.data(), kLines);
      const std::vector<LineChunk> chunks = ToHost(d_chunks.data(), kLines);

      for (std::uint64_t i = 0; i < kLines; ++i) {
        const Byte* line = text.data() + begins[i];
        const std::uint64_t size = begins[i + 1] - begins[i];
        const LineChunk chunk = EncodeChunk(line, size, view, i % 30);
        ASSERT_EQ(chunks[i].hi, chunk.hi);
        ASSERT_EQ(chunks[i].lo, chunk.lo);
        ASSERT_EQ(chunks[i].ended, chunk.ended);
        if (i + 1 == kLines) break;
        const int expected = CompareLines(line, size, text.data() + begins[i + 1], begins[i + 2] - begins[i + 1], view);
        ASSERT_EQ(Sign(orders[i]), Sign(expected));
      }
    }
  }
}

}  // namespace
}  // namespace gpusort
