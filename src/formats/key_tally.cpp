#include "formats/key_tally.hpp"

#include <algorithm>
#include <utility>

namespace gpusort {

void KeyTally::Seen::Add(const Seen& later, std::uint64_t before) {
  if (count == 0 && later.count > 0) {
    input = later.input;
    record = before + later.record;
  }
  count += later.count;
}

void WindowTally::Add(const WindowTally& other) {
  inside += other.inside;
  outside += other.outside;
  timeless += other.timeless;
  earliest = std::min(earliest, other.earliest);
  latest = std::max(latest, other.latest);
}

KeyTally::Lines KeyTally::odd_keys() const {
  Lines lines;
  for (const auto& [table, rows] : odd_rows) {
    if (replaced_tables.contains(table)) lines.Add({rows, table});
  }
  return lines;
}

KeyTally::Lines KeyTally::triggered() const {
  Lines lines;
  for (const std::string& table : triggered_tables) lines.Note(table);
  return lines;
}

void KeyTally::Add(const KeyTally& later) {
  constexpr std::size_t kMostSamples = 100;
  if (std::exchange(input, later.input) != later.input) record = 0;
  columns.resize(std::max(columns.size(), later.columns.size()));
  for (std::size_t i = 0; i < later.columns.size(); ++i) {
    Column& column = columns[i];
    const Column& more = later.columns[i];
    column.bad.Add(more.bad, record);
    if (column.days.count == 0) column.day = more.day;
    column.days.Add(more.days, record);
    if (column.unlisted.count == 0) column.unlisted_value = more.unlisted_value;
    column.unlisted.Add(more.unlisted, record);
    column.nulls += more.nulls;
    column.missing += more.missing;
    column.any |= more.any;
    for (const std::string& sample : more.samples) {
      if (column.samples.size() < kMostSamples) column.samples.push_back(sample);
    }
    column.values += more.values;
    column.looks_like &= more.looks_like;
  }
  short_records += later.short_records;
  lacks_zone |= later.lacks_zone;
  lacks_year |= later.lacks_year;
  window.Add(later.window);
  log_records += later.log_records;
  if (untimed_lines == 0) untimed_line = later.untimed_line;
  untimed_lines += later.untimed_lines;
  if (second_line.empty()) second_line = later.second_line;
  if (second_line == later.second_line) alike_lines += later.alike_lines;
  impossible_lines.Add(later.impossible_lines);
  left_inserts.Add(later.left_inserts);
  parted_rows.Add(later.parted_rows);
  renumbered_rows.Add(later.renumbered_rows);
  renumbered_tables.Add(later.renumbered_tables);
  self_references.Add(later.self_references);
  conflict_tables.Add(later.conflict_tables);
  for (const auto& [table, rows] : later.odd_rows) odd_rows[table] += rows;
  order_statements.Add(later.order_statements);
  triggered_tables.insert(later.triggered_tables.begin(), later.triggered_tables.end());
  replaced_tables.insert(later.replaced_tables.begin(), later.replaced_tables.end());
  other_form_lines.Add(later.other_form_lines);
  inner_times.Add(later.inner_times);
  for (const auto& [input_of_notes, notes] : later.time_notes) {
    time_notes[input_of_notes].insert(notes.begin(), notes.end());
  }
  if (other_width.count == 0) first_width = later.first_width;
  other_width.Add(later.other_width, record);
  glued.Add(later.glued, record);
  if (example.empty()) example = later.example;
  if (later.delimiter != 0) delimiter = later.delimiter;
  record += later.record;
}

}  // namespace gpusort
