// Tests the stage for --minus and --intersect against the definition of these sets.
#include "runs/sinks/sets.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "formats/input_place.hpp"
#include "kernels/lines/line_order.hpp"

namespace gpusort::testing {
namespace {

struct Member {
  unsigned key;
  std::uint64_t input, offset;

  friend auto operator<=>(const Member&, const Member&) = default;
};

/// Returns true if a record with the key `key` is in one of the inputs [begin, end).
bool IsIn(const std::vector<Member>& all, unsigned key, std::uint64_t begin, std::uint64_t end) {
  return std::ranges::any_of(
      all, [&](const Member& member) { return member.key == key && begin <= member.input && member.input < end; });
}

/// Returns the records that the output must have, by the definition of the options.
std::vector<Member> Kept(const std::vector<Member>& all, const Order& order) {
  std::vector<Member> kept;
  for (const Member& member : all) {
    bool keeps = member.input >= order.set_inputs() && !IsIn(all, member.key, 0, order.minus);
    for (std::uint64_t i = order.minus; i < order.set_inputs(); ++i) keeps &= IsIn(all, member.key, i, i + 1);
    if (keeps) kept.push_back(member);
  }
  return kept;
}

std::vector<std::byte> Keyed(const Member& member) {
  std::vector<std::byte> keyed{std::byte{kKeyedHead}, static_cast<std::byte>(kKeyEnd),
                               static_cast<std::byte>('a' + member.key), static_cast<std::byte>(kKeyEnd)};
  InputPlace{member.input, member.offset}.Append(keyed);
  const std::string body(member.offset % 5, 'x');
  const auto bytes = std::as_bytes(std::span(body));
  keyed.insert(keyed.end(), bytes.begin(), bytes.end());
  keyed.push_back(std::byte{'\n'});
  return keyed;
}

RC_GTEST_PROP(Sets, KeepTheRecordsOfTheirDefinition, ()) {
  Order order;
  order.minus = *rc::gen::inRange(0u, 3u);
  order.intersect = *rc::gen::inRange(0u, 4u);
  const unsigned keys = *rc::gen::inRange(1u, 8u);
  const auto members = *rc::gen::container<std::vector<Member>>(
      rc::gen::construct<Member>(rc::gen::inRange(0u, keys), rc::gen::inRange<std::uint64_t>(0, order.set_inputs() + 2),
                                 rc::gen::inRange<std::uint64_t>(0, 100000)));
  std::vector<Member> sorted = members;
  std::ranges::sort(sorted);

  LineKey key;
  key.begin_field = key.end_field = 1;
  LineOrder lines{{key}, kKeyEnd};
  lines.last_resort = false;
  const LineOrderView view = lines.view();
  RecordLayout layout = MakeLineLayout('\n', view);
  layout.keys = kPlacedKeys;
  OutputProof proof(layout, false);
  Sets sets(layout, order, proof);

  // Chunks of any sizes. Their memory is what a window would be.
  std::vector<std::vector<std::byte>> windows;
  RecordSum all;
  for (const Member& member : sorted) {
    if (windows.empty() || *rc::gen::inRange(0, 3) == 0) windows.emplace_back();
    const std::vector<std::byte> record = Keyed(member);
    all += SumRecords(record, layout);
    windows.back().insert(windows.back().end(), record.begin(), record.end());
  }
  std::vector<Chunk> chunks(windows.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].records = windows[i];
    sets.LookInOrder(chunks[i]);
  }
  for (Chunk& chunk : chunks) sets.Change(chunk);
  std::vector<std::byte> got;
  std::uint64_t at = 0;
  const auto put = [&](Chunk& chunk) {
    chunk.seen = proof.Look(chunk.records);
    got.insert(got.end(), chunk.records.begin(), chunk.records.end());
    const std::uint64_t bytes = chunk.records.size();
    proof.Add(at, std::move(chunk.seen));
    at += bytes;
  };
  for (Chunk& chunk : chunks) {
    if (std::optional<Chunk> before = sets.Join(chunk)) put(*before);
    put(chunk);
  }
  std::vector<std::byte> want;
  for (const Member& member : Kept(sorted, order)) {
    const std::vector<std::byte> record = Keyed(member);
    want.insert(want.end(), record.begin(), record.end());
  }
  RC_ASSERT(got == want);
  proof.Check(all);
}

}  // namespace
}  // namespace gpusort::testing
