#include "job/find_facts.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "io/codec/row_schema.hpp"
#include "io/path.hpp"
#include "kernels/records/records.hpp"
#include "plan/memory_shares.hpp"
#include "runs/run.hpp"
#include "runs/temp_codec.hpp"

namespace gpusort {
namespace {

/// Adds the facts about the runs of an earlier process, which stay as they are.
void TakeOver(const Manifest& manifest, PlanFacts& facts) {
  facts.earlier.block_bytes = manifest.job->block_bytes;
  facts.earlier.compressed = std::ranges::any_of(manifest.attempts, [](const auto& a) { return a.compresses; });
  for (const auto& [id, run] : manifest.runs) facts.earlier.longest = std::max(facts.earlier.longest, run.longest);
  if (facts.input.keys == KeysWhen::kNever) return;
  facts.input.keys = manifest.job->keyed ? KeysWhen::kAlways : KeysWhen::kNever;
}

/// Returns about how many records `bytes` bytes have, if `sampled` bytes have `records` records.
std::uint64_t EstimateRecords(std::uint64_t records, std::uint64_t sampled, std::uint64_t bytes) {
  if (sampled == 0) return 0;
  const double share = static_cast<double>(records) / static_cast<double>(sampled);
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

/// Returns about how many bytes the rows of all inputs take, if the inputs are files of columns and the file that
/// `schema` describes is like the others. Returns 0 if the schema does not tell.
double BytesOfRows(const RowSchema& schema, const Inputs& inputs) {
  if (schema.stored_bytes == 0) return 0;
  const double rows = static_cast<double>(schema.rows) * static_cast<double>(schema.row_bytes);
  return rows / static_cast<double>(schema.stored_bytes) * static_cast<double>(inputs.stored_bytes());
}

/// Returns about how many bytes the records of all inputs take, or kMaxSize if nothing is known of them.
std::uint64_t ExpectedBytes(const Inputs& inputs) {
  constexpr std::uint64_t kUsualRatio = 4;  // the usual ratio of compression
  if (inputs.rereadable()) return inputs.bytes();
  if (inputs.of_columns() && !inputs.header().empty()) {
    const double rows = BytesOfRows(RowSchema::Parse(inputs.header()), inputs);
    if (rows >= 1 && rows < static_cast<double>(kMaxSize / 2)) return static_cast<std::uint64_t>(rows);
  }
  return inputs.stored_bytes() > 0 ? kUsualRatio * inputs.stored_bytes() : kMaxSize;
}

}  // namespace

bool MergesInputs(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs) {
  if (!spec.order.merge || !inputs.rereadable()) return false;
  // If keys are made, the sizes of parts and the end of the output would be known too late.
  return !ordered.table || (spec.target.split == 0 && spec.source.ranges.empty() && !ordered.format().has_trailer());
}

KeyCost KeyCostOf(const KeyScheme& keys) {
  const std::uint64_t fixed = keys.most_added(0);
  return {fixed, keys.most_added(1) - fixed};
}

InputFacts FindInput(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs) {
  InputFacts input;
  input.plain = ordered.plain;
  input.bytes = inputs.bytes();
  input.rereadable = inputs.rereadable();
  input.direct = inputs.direct();
  // How many records are in a window of time is known only at the end.
  input.window = HasWindow(spec);
  input.known = input.rereadable && !input.window;
  input.expected = ExpectedBytes(inputs);
  input.header_bytes = inputs.header().size();
  input.codecs = inputs.codecs();
  input.decoder_threads = inputs.decoder_threads();
  const bool merges = MergesInputs(spec, ordered, inputs);
  for (std::uint32_t i = 0; merges && i < inputs.count(); ++i) input.sorted.push_back(inputs.size(i));
  // Sorted lines are merged without keys.
  if (ordered.keyed && (!merges || ordered.table)) {
    input.keyed = ordered.keyed->layout();
    input.keys = ordered.table ? KeysWhen::kAlways : ordered.optional ? KeysWhen::kInSmallJobs : KeysWhen::kUnlessTight;
  }
  return input;
}

PlanFacts FindFacts(const JobSpec& spec, const Ordered& ordered, const Inputs& inputs, std::uint64_t limit,
                    const Journal* journal) {
  PlanFacts facts;
  facts.input = FindInput(spec, ordered, inputs);
  if (journal != nullptr && journal->resumes()) TakeOver(journal->manifest(), facts);
  Asked& asked = facts.asked;
  asked.limit = limit;
  asked.batch_bytes = spec.limits.batch_bytes;
  asked.block_bytes = spec.limits.block_bytes;
  asked.fan_in = spec.limits.max_fan_in;
  asked.max_record = spec.source.max_record;
  asked.grows = spec.dialect.grows;
  asked.keeps = !spec.survival.dir.empty();
  asked.unique = spec.order.unique;
  asked.top = spec.order.front();
  asked.in_place = !IsStreamTarget(spec.target.output) && spec.target.codec == Codec::kNone && !spec.order.debug &&
                   spec.target.split == 0 && !MakesKeys(facts.input, limit) && !ordered.plain.keyed() &&
                   !ordered.format().has_gaps();
  asked.header = MayHaveHeader(spec);
  asked.traces = !spec.reports.trace.empty();
  asked.page = !spec.reports.page.empty();
  asked.output_codec = spec.target.codec;
  if (IsColumnFile(asked.output_codec)) {
    // The encoder holds eight row groups in memory, and takes at most a quarter of the memory.
    constexpr std::uint64_t kUsual = std::uint64_t{128} << 20, kLeast = std::uint64_t{256} << 10, kShare = 48;
    const std::uint64_t wanted = spec.target.group_bytes > 0 ? spec.target.group_bytes : kUsual;
    asked.group_bytes = std::min(wanted, std::max(limit / kShare, kLeast));
  }
  asked.temp_codec = TempCodecAsked(spec);
  facts.costs.run_index = kRunIndexBytes;
  facts.costs.block_index = RunBlocks::IndexBytes(ordered.keyed ? ordered.keyed->layout() : ordered.plain);
  return facts;
}

std::uint64_t KeptRowBytes(const JobSpec& spec, const Inputs& inputs, std::uint64_t limit) {
  const Order& order = spec.order;
  const bool whole_rows = order.merge || order.unique || order.top > 0 || order.set_inputs() > 0 || order.has_union ||
                          order.keeps_input_order || order.debug || spec.target.verify || spec.target.split > 0 ||
                          spec.target.keyed || spec.target.placed || !spec.survival.dir.empty();
  const bool columns = IsColumnFile(spec.target.codec) && spec.source.codec == spec.target.codec;
  if (whole_rows || !columns || inputs.header().empty() || !inputs.format().KeptColumns()) return 0;
  const RowSchema schema = RowSchema::Parse(inputs.header());
  // A smaller row travels as fast as a reference to it. The columns of the keys go with the reference.
  constexpr std::uint64_t kLeastRow = 32, kSpare = std::uint64_t{64} << 20;
  const std::size_t keys = inputs.format().KeptColumns()->size(), all = schema.columns.size();
  if (schema.row_bytes * (all - keys) / all < kLeastRow || schema.stored_bytes == 0) return 0;
  const double bytes = BytesOfRows(schema, inputs) * 1.25 + static_cast<double>(kSpare);
  return bytes <= static_cast<double>(limit / 4) ? static_cast<std::uint64_t>(bytes) : 0;
}

void MeasureKeys(InputFacts& facts, KeyScheme& keys, const Inputs& inputs, HostMemory& memory) {
  facts.key_cost = KeyCostOf(keys);
  if (!facts.known) return;
  constexpr std::uint64_t kSample = std::uint64_t{64} << 10;
  const std::uint64_t front_bytes = inputs.format().learns() ? RecordFormat::kFrontBytes : kSample;
  std::uint64_t plain = 0, keyed = 0, records = 0;
  std::vector<std::byte> out;
  const HostBuffer buffer(memory, front_bytes + kReadSlack);
  ScanState front;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(inputs.count(), 4); ++i) {
    if (i > 0) front = inputs.format().NextInput(front);
    if (!inputs.state(i).empty()) front = inputs.format().LoadState(inputs.state(i));
    if (inputs.size(i) == 0) continue;
    std::span<const std::byte> bytes =
        inputs.Read({i, 0, std::min(front_bytes, inputs.size(i))}, {buffer.data(), buffer.size()});
    if (inputs.state(i).empty()) inputs.format().BeginInput(bytes, i, front);
    bytes = bytes.first(std::min<std::uint64_t>(kSample, bytes.size()));
    ScanState end = front, state = front;
    KeyTally tally;
    tally.input = i;
    const std::unique_ptr<KeyEncoder> encoder = keys.MakeEncoder();
    try {
      RecordSpan whole = bytes.first(inputs.format().Scan(bytes, end).last);
      if (plain == 0) keys.Tune(whole);
      const std::uint64_t bytes_whole = whole.size();
      out.clear();
      for (; !whole.empty(); ++records) whole = whole.subspan(encoder->Append(whole, state, out, tally));
      plain += bytes_whole;
      keyed += out.size();
    } catch (const BadRecord&) {
      // The record is read again when keys are made, and the error then says where it is.
    }
  }
  facts.key_cost = KeyCostOf(keys);  // tuned
  if (plain == 0) return;
  const auto with_keys = [&](std::uint64_t bytes) { return bytes / plain * keyed + bytes % plain * keyed / plain; };
  // Records that the job leaves out take no bytes here, but the longest record may be one of them.
  facts.bytes = std::max(inputs.bytes(), with_keys(inputs.bytes()));
  facts.records = EstimateRecords(records, plain, inputs.bytes());
  for (std::uint64_t& bytes : facts.sorted) bytes = with_keys(bytes);
}

void MeasureLines(InputFacts& facts, const Inputs& inputs, HostMemory& memory) {
  if (!facts.known || inputs.bytes() == 0) return;
  constexpr std::uint64_t kSample = std::uint64_t{16} << 10, kPlaces = 9;
  const std::uint64_t most = std::min(kSample, inputs.bytes());
  const HostBuffer buffer(memory, most + kReadSlack);
  std::vector<std::uint64_t> records;  // in all inputs, as each place would have it
  for (std::uint64_t place = 0; place < (most == inputs.bytes() ? 1 : kPlaces); ++place) {
    std::uint64_t at = (inputs.bytes() - most) / (kPlaces - 1) * place;
    std::uint32_t input = 0;
    for (; input + 1 < inputs.count() && at >= inputs.size(input); ++input) at -= inputs.size(input);
    const std::uint64_t size = inputs.size(input);
    if (at >= size) continue;
    const std::span<const std::byte> bytes =
        inputs.Read({input, at, std::min(most, size - at)}, {buffer.data(), buffer.size()});
    records.push_back(EstimateRecords(detail::CountBytes(bytes.data(), bytes.size(), facts.plain.delimiter),
                                      bytes.size(), inputs.bytes()));
  }
  // The median, because a few short lines at one place must not make the plan spill what fits in memory.
  const auto median = records.begin() + static_cast<std::ptrdiff_t>(records.size() / 2);
  std::nth_element(records.begin(), median, records.end());
  if (!records.empty()) facts.records = *median;
}

}  // namespace gpusort
