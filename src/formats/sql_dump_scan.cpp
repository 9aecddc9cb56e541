// Finds the parts and the records of an SQL dump. A part is rows that are sorted together, or the SQL before or after
// them. One sort handles all parts, because every sort key begins with the index of a part. The records are:
// - Outside of rows: a line.
// - In a COPY block: a row.
// - An INSERT with one row. After the first INSERT with several rows of a part, each row is a record, with the comma
//   after it.
// - A gap: the text between the last row of an INSERT with several rows and the first row of the next INSERT. In the
//   output, it comes after the same number of rows as in the input (runs/gap_filler.hpp).
#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/sql_dump_format.hpp"
#include "formats/sql_dump_state.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

std::uint64_t Pack(const RowLexer& lexer) {
  const auto byte = [](char c) { return static_cast<std::uint64_t>(static_cast<unsigned char>(c)); };
  return std::uint64_t{lexer.depth} << 32 | byte(lexer.last[0]) << 24 | byte(lexer.last[1]) << 16 |
         (lexer.escape_string ? 256u : 0u) | lexer.in;
}

RowLexer Unpack(std::uint64_t packed) {
  RowLexer lexer;
  lexer.depth = static_cast<std::uint32_t>(packed >> 32);
  lexer.last[0] = static_cast<char>(packed >> 24 & 0xFF);
  lexer.last[1] = static_cast<char>(packed >> 16 & 0xFF);
  lexer.escape_string = (packed & 256) != 0;
  lexer.in = static_cast<RowLexer::In>(packed & 255);
  return lexer;
}

}  // namespace

/// The results of calls of SkipRows() and CopyFormat::ScanRows() for a block of a dump. LookAhead() has made the calls
/// without the bytes before the block. A result is therefore used only where the parser comes to the place where the
/// call began, in the same state. A call there would give the same result.
struct KnownRows {
  /// Rows of an INSERT statement with several rows.
  struct Run {
    std::size_t begin, end;  ///< offsets in the block
    std::uint64_t rows;
  };
  unsigned rules = 0;     ///< see PackRules
  std::string separator;  ///< the text between the rows
  std::vector<Run> runs;  ///< in the order of their places

  /// Rows of a COPY block. The call has begun at offset `copy_begin` of the block, which is the beginning of a row; 0:
  /// no such call was made. It has returned offset `copy_end`. Offsets in `copy_ends` are those in the block, too.
  std::size_t copy_begin = 0, copy_end = 0;
  unsigned copy_mode = 0;  ///< the mode of CopyFormat after the call
  RecordFormat::Ends copy_ends;
};

/// Collects the ends of records, and stores the state after the last of them.
struct SqlDumpFormat::Marks {
  const Byte* origin;  ///< the first byte of the block; records that end before it are not added
  const KnownRows* known =
      nullptr;                 ///< rows that LookAhead() has skipped in the block that begins at `origin`, or null
  std::size_t next_known = 0;  ///< the index in `known` of the first run that was not passed yet
  Ends ends{};
  unsigned mode = kSql;
  std::uint64_t count = 0, row = 0;
  std::shared_ptr<const DumpState> dump{};

  void Add(const Byte* end, const ScanState& state) {
    if (end <= origin) return;
    ends.Add(end - origin);
    mode = state.mode;
    count = state.count;
    row = state.row;
    if (dump != state.dump) dump = state.dump;
  }
  /// Skips rows as gpusort::SkipRows(), or finds them in `known`.
  const Byte* SkipRows(const Byte* p, const Byte* end, const DumpState& dump, std::uint64_t& rows);
  /// Returns `known` if it has rows of a COPY block that begin at `p` or later. Otherwise returns null.
  const KnownRows* KnownCopy(const Byte* p) const {
    const bool usable = known != nullptr && known->copy_begin > 0 && origin + known->copy_begin >= p;
    return usable ? known : nullptr;
  }
  /// Returns the offset of `p` in the block, for messages.
  std::uint64_t At(const Byte* p) const { return p > origin ? static_cast<std::uint64_t>(p - origin) : 0; }
};

const Byte* SqlDumpFormat::Marks::SkipRows(const Byte* p, const Byte* end, const DumpState& dump, std::uint64_t& rows) {
  const std::string& separator = dump.part->separator;
  if (known != nullptr && known->rules == PackRules(dump) && known->separator == separator) {
    const std::vector<KnownRows::Run>& runs = known->runs;
    const auto at = static_cast<std::size_t>(p - origin);
    while (next_known < runs.size() && runs[next_known].begin < at) ++next_known;
    if (next_known < runs.size() && runs[next_known].begin == at) {
      rows = runs[next_known].rows;
      return origin + runs[next_known].end;
    }
  }
  return gpusort::SkipRows(p, end, dump.dialect, dump.text.escapes, separator, ~std::uint64_t{0}, rows);
}

RecordFormat::Guess SqlDumpFormat::LookAhead(RecordSpan block) const {
  // A place may only look like the end of a row. If no row ends within this many bytes after it, the place has failed.
  constexpr std::ptrdiff_t kTried = std::ptrdiff_t{64} << 10;
  constexpr unsigned kMostFailures = 16;
  constexpr std::ptrdiff_t kMostBetween = 256;  // the largest size of a separator that is found here, in bytes
  const Byte* const begin = AsBytes(block.data());
  const Byte* const end = begin + block.size();
  KnownRows known;
  known.rules = rules_.load(std::memory_order_relaxed);
  const auto dialect = static_cast<SqlDialect>(known.rules >> 1);
  const bool escapes = (known.rules & 1) != 0;
  unsigned failures = 0;
  for (const Byte* p = begin; failures < kMostFailures;) {
    const Byte* const open = FindByte(p, end, '(');
    if (open == end) break;
    p = open + 1;
    const Byte* comma = open;
    while (comma != begin && IsSpace(static_cast<char>(comma[-1]))) --comma;
    if (comma == begin || comma[-1] != ',' || (comma - begin > 1 && comma[-2] != ')')) continue;
    --comma;
    const AfterRow after =
        ParseAfterRow(comma, std::min(end, open + std::min(kMostBetween, end - open)), dialect, escapes);
    if (after.is != AfterRow::kComma || !after.sure) continue;
    const std::string_view separator = Text(comma, after.stop);
    if (known.runs.empty()) known.separator = separator;
    std::uint64_t rows = 0;
    if (separator == known.separator) {
      const Byte* const limit = after.stop + std::min(kTried, end - after.stop);
      SkipRows(after.stop, limit, dialect, escapes, separator, 1, rows);
    }
    if (rows == 0) {
      ++failures;
      continue;
    }
    const Byte* const stop = SkipRows(after.stop, end, dialect, escapes, separator, ~std::uint64_t{0}, rows);
    known.runs.push_back({static_cast<std::size_t>(after.stop - begin), static_cast<std::size_t>(stop - begin), rows});
    p = stop;
  }
  if (dialect == SqlDialect::kPostgres || dialect == SqlDialect::kUnknown) {
    const Byte* newline = FindByte(begin, end, '\n');
    while (newline != end && (newline == begin || newline[-1] == '\\')) newline = FindByte(newline + 1, end, '\n');
    if (newline != end) {
      CopyFormat::Mode mode = kStart;
      known.copy_begin = static_cast<std::size_t>(newline + 1 - begin);
      known.copy_end = static_cast<std::size_t>(ScanRows(begin, newline + 1, end, mode, known.copy_ends) - begin);
      known.copy_mode = mode;
    }
  }
  Guess guess;
  if (!known.runs.empty() || known.copy_begin > 0) guess.rows = std::make_shared<const KnownRows>(std::move(known));
  return guess;
}

const Byte* SqlDumpFormat::ScanSql(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const {
  const std::string_view text = Text(p, end);
  const Insert insert = FindInsert(text, state);
  if (insert.is == InsertHead::kUnfinished) return nullptr;
  if (insert.is == InsertHead::kRows) {
    const Byte* const head = p + insert.lead;
    if (insert.lead > 0 && !insert.goes_on) {
      // The text before the first statement of a part does not belong to the part.
      if (std::find(p, head, Byte{'\n'}) == head) {
        if (state.mode == kAfterInsert) ++state.count;
        state.mode = kSql;
        marks.Add(head, state);
        return head;
      }
    } else {
      BeginInsert(insert, text.substr(insert.lead), state);
      // A comment or an empty line between two statements has its place among the rows.
      if (insert.lead > 0) DecidePart(true, {}, state);
      const RowsPart& part = *StateOf(state).part;
      state.mode = part.decided && part.multi_row ? kLaterRow : kFirstRow;
      state.lexer = 0;
      return SkipSpace(head + insert.size, end);
    }
  }
  const Byte* const newline = FindByte(p, end, '\n');
  if (newline == end) return nullptr;
  if (state.mode == kAfterInsert) ++state.count;
  state.mode = kSql;
  TakeLine(Text(p, newline + 1), marks.At(p), state, nullptr);
  marks.Add(newline + 1, state);
  return newline + 1;
}

const Byte* SqlDumpFormat::ScanInsertRow(const Byte* p, const Byte* end, const Marks& marks, ScanState& state) const {
  const DumpState& dump = StateOf(state);
  const auto after = state.mode == kFirstRow ? kAfterFirstRow : kAfterLaterRow;
  if (state.lexer == 0) {  // at the beginning of a row
    std::uint64_t rows = 0;
    const Byte* const stop = SkipRows(p, end, dump.dialect, dump.text.escapes, {}, 1, rows);
    if (rows > 0) {
      state.mode = after;
      return stop;
    }
  }
  RowLexer lexer = Unpack(state.lexer);
  const Byte* bad = nullptr;
  const Byte* const next = lexer.Take(p, end, dump.dialect, dump.text.escapes, bad);
  if (bad != nullptr) throw BadRecord(marks.At(bad), kCommentInRow);
  state.lexer = Pack(lexer);
  if (lexer.depth > 0) return end;
  state.mode = after;
  return next;
}

const Byte* SqlDumpFormat::ScanAfterRow(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const {
  const DumpState& dump = StateOf(state);
  const AfterRow after = ParseAfterRow(p, end, dump.dialect, dump.text.escapes);
  if (after.is == AfterRow::kUnfinished || !after.sure) {
    if (static_cast<std::size_t>(end - p) <= kMostTail) return nullptr;
    throw BadRecord(marks.At(p), "no comma and no semicolon follows a row of an INSERT");
  }
  const bool multi_row = after.is == AfterRow::kComma;
  if (state.mode == kAfterFirstRow) {
    if (multi_row) SplitPart(state);
    DecidePart(multi_row, Text(p, after.stop), state);
  }
  ++state.row;
  if (multi_row) {
    state.mode = kNextRow;
  } else {
    EndInsert(after, Text(p, after.stop), marks.At(p), state);
  }
  marks.Add(after.stop, state);
  return after.stop;
}

const Byte* SqlDumpFormat::SkipWholeRows(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const {
  if (marks.ends.first == 0 || StateOf(state).part->separator.empty()) return p;
  std::uint64_t rows = 0;
  const Byte* const stop = marks.SkipRows(p, end, StateOf(state), rows);
  if (rows > 0) {
    state.row += rows;
    marks.Add(stop, state);
  }
  return stop;
}

const Byte* SqlDumpFormat::ScanToRow(const Byte* p, const Byte* end, const Marks& marks, ScanState& state) const {
  const Byte* const row = SkipSpace(p, end);
  if (row == end) return nullptr;
  bool unfinished = false;
  if (!BeginsRow(Text(row, end), unfinished)) {
    if (unfinished) return nullptr;
    throw BadRecord(marks.At(row), "no row follows a comma in an INSERT");
  }
  state.mode = kLaterRow;
  state.lexer = 0;
  return row;
}

const Byte* SqlDumpFormat::ScanCopyRows(const Byte* p, const Byte* end, Marks& marks, ScanState& state) const {
  Ends rows;
  auto mode = static_cast<CopyFormat::Mode>(state.mode - kRows);
  const KnownRows* const known = marks.KnownCopy(p);
  const Byte* const begin = known == nullptr ? end : marks.origin + known->copy_begin;
  const Byte* next = ScanRows(p, p, begin, mode, rows);
  if (known != nullptr && next == begin) {
    if (mode == kStart) {
      mode = static_cast<CopyFormat::Mode>(known->copy_mode);
      next = marks.origin + known->copy_end;
      for (const std::uint64_t record : {known->copy_ends.first, known->copy_ends.last}) {
        if (record > 0) rows.Add(marks.origin + record - p);
      }
    } else {
      next = ScanRows(p, begin, end, mode, rows);
    }
  }
  state.mode = kRows + unsigned{mode};
  if (rows.last > 0) {
    const unsigned now = std::exchange(state.mode, unsigned{kRows});
    if (marks.ends.first == 0) marks.Add(p + rows.first, state);
    marks.Add(p + rows.last, state);
    state.mode = now;
  }
  if (mode == kEnded) {
    EndRows(state);
    marks.Add(next, state);
  }
  return next;
}

/// Scans up to `until` or farther. Returns the first byte that cannot be scanned before more bytes are known.
const Byte* SqlDumpFormat::ScanText(const Byte* p, const Byte* end, const Byte* until, Marks& marks,
                                    ScanState& state) const {
  while (p < until) {
    const Byte* next = nullptr;
    switch (state.mode) {
      case kSql:
      case kAfterInsert:
        next = ScanSql(p, end, marks, state);
        break;
      case kFirstRow:
      case kLaterRow:
        next = ScanInsertRow(p, end, marks, state);
        break;
      case kAfterFirstRow:
      case kAfterLaterRow:
        next = ScanAfterRow(p, end, marks, state);
        break;
      case kNextRow:
        p = SkipWholeRows(p, end, marks, state);
        if (p >= until) return p;
        next = ScanToRow(p, end, marks, state);
        break;
      default:
        next = ScanCopyRows(p, end, marks, state);
    }
    if (next == nullptr) return p;
    p = next;
  }
  return p;
}

RecordFormat::Ends SqlDumpFormat::ScanBlock(RecordSpan bytes, ScanState& state, const KnownRows* known) const {
  const Byte* const begin = AsBytes(bytes.data());
  const Byte* const end = begin + bytes.size();
  Marks marks{begin};
  const Byte* p = begin;
  if (!state.held.empty()) {
    // Appends bytes of the block to the bytes that were held back, until the scan reaches a state inside the block.
    std::string joined = std::exchange(state.held, {});
    const std::size_t held = joined.size();
    std::size_t taken = 0, at = 0;
    for (std::size_t more = std::size_t{16} << 10;; more *= 4) {
      more = std::min(more, bytes.size() - taken);
      joined.append(Text(begin + taken, begin + taken + more));
      taken += more;
      const auto* const front = reinterpret_cast<const Byte*>(joined.data());
      marks.origin = front + held;
      at = static_cast<std::size_t>(ScanText(front + at, front + joined.size(), front + held, marks, state) - front);
      if (at >= held || taken == bytes.size()) break;
    }
    if (at < held) {
      state.held = joined.substr(at);
    } else {
      p = begin + (at - held);
    }
    marks.origin = begin;
    if (at < held) p = end;
  }
  marks.known = known;
  p = ScanText(p, end, end, marks, state);
  if (const unsigned rules = PackRules(StateOf(state)); rules != rules_.load(std::memory_order_relaxed)) {
    rules_.store(rules, std::memory_order_relaxed);
  }
  if (p != end) state.held.assign(Text(p, end));
  Ends& ends = marks.ends;
  if (ends.last == 0) return ends;
  ends.state.mode = marks.mode >= kRows && marks.mode < kAfterInsert ? unsigned{kRows} : marks.mode;
  ends.state.count = marks.count;
  ends.state.row = marks.row;
  ends.state.dump = std::move(marks.dump);
  return ends;
}

ScanState SqlDumpFormat::AfterHeld(std::uint64_t at, const ScanState& state) const {
  ScanState last = state;
  std::string_view rest = state.held;
  while (!rest.empty()) {
    if (const Insert insert = FindInsert(rest, last); insert.is == InsertHead::kUnfinished) {
      const LeadOfStatement lead = SkipLead(rest, StateOf(last).dialect, true);
      if (lead.ended && gpusort::BeginsInsert(rest.substr(lead.size))) {
        throw BadRecord(at, "the dump ends inside an INSERT");
      }
    }
    if (last.mode == kAfterInsert) last.mode = kSql;
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    TakeLine(line, 0, last, nullptr);
    if (last.mode == kRows) throw BadRecord(at, "the dump ends inside the rows of a table");
    rest.remove_prefix(line.size());
  }
  return last;
}

void SqlDumpFormat::NoteEnd(const ScanState& state, KeyTally& tally) const {
  ScanState last = AfterHeld(0, state);
  const DumpState& dump = StateOf(last);
  // The clients of all servers send such a statement.
  if (dump.text.open && !dump.create.empty()) Describe(std::string(dump.create), Change(last), &tally);
}

std::uint64_t SqlDumpFormat::Finish(RecordSpan open, const ScanState& state) const {
  if (state.mode != kSql && state.mode != kAfterInsert) {
    const bool insert = state.mode > kAfterInsert;
    throw BadRecord(open.size(), "the dump ends inside the rows of table " + EscapeName(StateOf(state).part->table) +
                                     (insert ? ", in an INSERT" : ""));
  }
  const ScanState last = AfterHeld(open.size(), state);
  const DumpState& dump = StateOf(last);
  const bool table = BeginsCreateTable(dump.create);
  if (dump.text.in != SqlText::kNothing || table || (dump.text.open && dump.text.brackets > 0)) {
    throw BadRecord(open.size(), table                               ? "the dump ends inside a CREATE TABLE"
                                 : dump.text.in != SqlText::kNothing ? "the dump ends inside a string, a quoted "
                                                                       "name or a comment"
                                                                     : "the dump ends inside brackets");
  }
  const bool empty = !dump.any && open.empty();
  if (dump.seen.empty() && !empty && !force_) {
    throw Error(ErrorCode::kBadInput,
                EscapeName(input_) +
                    (dump.inserts ? ": its INSERT statements have no rows that are known (INSERT INTO TABLE VALUES "
                                    "(...) at the front of a line), so that nothing would be sorted"
                                  : ": this has no COPY block and no INSERT with rows, so that nothing would be "
                                    "sorted: it is no dump of a database, or one without rows (--schema-only, "
                                    "--no-data)") +
                    "; --force-format leaves it as it is");
  }
  for (std::size_t key = 0; key < names_.size(); ++key) {
    if (key < dump.named.size() && dump.named[key]) continue;
    std::string seen;
    for (const std::string& table : dump.seen) seen += (seen.empty() ? "" : ", ") + table;
    FailKey(table_.keys[key], "the dump has no rows of such a table (" +
                                  (seen.empty() ? "it has no rows" : "it has those of: " + EscapeName(seen)) +
                                  (dump.seen.size() == kMostTables ? ", ..." : "") + ")");
  }
  return open.size();
}

}  // namespace gpusort
