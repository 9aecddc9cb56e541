// The format of CSV and TSV: RFC 4180 with any one-byte delimiter and quote. TSV has no quotes unless --quote names
// one. A quote character in the middle of a field is ordinary text. Text after a closing quote belongs to the field.
// Comment lines before a record move with the record. Comments after the last record stay at the end of the output.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.hpp"
#include "formats/find_bytes.hpp"
#include "formats/formats.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define GPUSORT_AVX2 __attribute__((target("avx2,popcnt")))
#else
#define GPUSORT_AVX2
#endif

namespace gpusort {
namespace {

/// Finds the delimiters and newlines of CSV outside of quotes, 64 bytes at a time, as bit masks. A byte is in
/// quotes if the number of quotes before it is odd (Langdale and Lemire, "Parsing Gigabytes of JSON per Second"). This
/// holds if quotes open only at the beginning of a field and are escaped by doubling. Otherwise Next() returns false.
class CsvMarks {
 public:
  static constexpr std::uint64_t kBytes = 64;

  /// The state of the scan before a byte.
  struct State {
    std::uint64_t quoted = 0;  ///< all bits are set if the byte is inside quotes, otherwise none
    /// 1: a quote at this byte opens quotes, or doubles the quote before it. 0: a quote at this byte is text.
    std::uint64_t may_open = 1;
    std::uint64_t closed = 0;  ///< 1: the previous byte is a closing quote
  };

  /// A `quote` of -1 means that quotes are ordinary text.
  CsvMarks(int quote, unsigned char delimiter)
      : quote_(static_cast<unsigned char>(quote)), delimiter_(delimiter), quotes_(quote < 0 ? 0 : ~std::uint64_t{0}) {}

  static bool HasAvx2() {
#if defined(__x86_64__)
    static const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
    return avx2;
#else
    return false;
#endif
  }

  /// Scans the next `count` bytes, at most 64, and sets delimiters(), newlines() and after_quotes(). Returns false and
  /// changes nothing if one of the bytes is a quote in the middle of a field.
  bool Next(const Byte* bytes, std::uint64_t count, State& state) {
    return HasAvx2() ? NextBy<true>(bytes, count, state) : NextBy<false>(bytes, count, state);
  }
  /// Does the same as Next(). `kAvx2` must equal HasAvx2(). A GPUSORT_AVX2 function can inline NextBy<true>.
  template <bool kAvx2>
  __attribute__((always_inline)) bool NextBy(const Byte* bytes, std::uint64_t count, State& state) {
    Byte copy[kBytes];
    if (count < kBytes) {
      std::memcpy(copy, bytes, count);
      std::memset(copy + count, 0, kBytes - count);
      bytes = copy;
    }
    auto [quotes, delimiters, newlines] = Find<kAvx2>(bytes);
    const std::uint64_t last = count - 1, valid = ~std::uint64_t{0} >> (kBytes - count);
    quotes &= valid & quotes_;
    // In `quoted`, the bit of an opening quote is set, and that of a closing quote is not.
    const std::uint64_t quoted = quotes == 0 ? state.quoted : PrefixXor(quotes) ^ state.quoted;
    delimiters &= valid & ~quoted;
    newlines &= valid & ~quoted;
    const std::uint64_t closing = quotes & ~quoted;
    const std::uint64_t before_open = delimiters | newlines | closing;
    if ((quotes & quoted & ~(before_open << 1 | state.may_open)) != 0) return false;
    after_quotes_ = (closing << 1 | state.closed) & valid & ~(quotes | delimiters | newlines);
    state.closed = closing >> last & 1;
    state.quoted = 0 - (quoted >> last & 1);
    state.may_open = before_open >> last & 1;
    delimiters_ = delimiters;
    newlines_ = newlines;
    return true;
  }
  std::uint64_t delimiters() const { return delimiters_; }
  std::uint64_t newlines() const { return newlines_; }
  /// Returns a bit mask of the bytes that follow directly after a closing quote but do not end the field.
  std::uint64_t after_quotes() const { return after_quotes_; }

 private:
  static std::uint64_t PrefixXor(std::uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
  }

  struct Found {
    std::uint64_t quotes, delimiters, newlines;
  };
#if defined(__x86_64__)
  template <bool kAvx2>
  Found Find(const Byte* bytes) const {
    if (kAvx2) return FindByAvx2(bytes, quote_, delimiter_);
    return {Find(bytes, quote_), Find(bytes, delimiter_), Find(bytes, '\n')};
  }
  GPUSORT_AVX2 static inline Found FindByAvx2(const Byte* bytes, unsigned char quote, unsigned char delimiter) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32));
    const auto find = [&](unsigned char wanted) GPUSORT_AVX2 {
      const __m256i all = _mm256_set1_epi8(static_cast<char>(wanted));
      const auto bits = [](__m256i equal) GPUSORT_AVX2 {
        return static_cast<std::uint64_t>(static_cast<unsigned>(_mm256_movemask_epi8(equal)));
      };
      return bits(_mm256_cmpeq_epi8(low, all)) | bits(_mm256_cmpeq_epi8(high, all)) << 32;
    };
    return {find(quote), find(delimiter), find('\n')};
  }
  static std::uint64_t Find(const Byte* bytes, unsigned char wanted) {
    const __m128i all = _mm_set1_epi8(static_cast<char>(wanted));
    std::uint64_t found = 0;
    for (unsigned i = 0; i < kBytes; i += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
      found |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, all)))) << i;
    }
    return found;
  }
#else
  template <bool kAvx2>
  Found Find(const Byte* bytes) const {
    Found found{};
    for (unsigned i = 0; i < kBytes; ++i) {
      found.quotes |= std::uint64_t{bytes[i] == quote_} << i;
      found.delimiters |= std::uint64_t{bytes[i] == delimiter_} << i;
      found.newlines |= std::uint64_t{bytes[i] == '\n'} << i;
    }
    return found;
  }
#endif

  const unsigned char quote_, delimiter_;
  const std::uint64_t quotes_;  ///< all bits are set if the format has quotes, otherwise none
  std::uint64_t delimiters_ = 0, newlines_ = 0, after_quotes_ = 0;
};

/// The bytes of a column of a record, with its quotes. Null: the record lacks the column.
struct Column {
  const Byte *begin, *end;
};

/// Finds the column of each key in the record that begins at `p`. Sets `width` to the number of columns. Returns the
/// end of the record, or null if CsvMarks cannot handle the record. `kAvx2` is as for CsvMarks::NextBy.
template <bool kAvx2>
__attribute__((always_inline)) inline const Byte* SplitBy(int quote, unsigned char delimiter,
                                                          const std::vector<KeyColumns::Wanted>& wanted, const Byte* p,
                                                          const Byte* end, Column* columns, std::uint64_t& width) {
  CsvMarks next(quote, delimiter);
  CsvMarks::State state;
  const Byte* begin = p;
  std::uint64_t column = 0;
  width = 1;
  for (std::size_t found = 0; p != end;) {
    const std::uint64_t count = std::min<std::uint64_t>(CsvMarks::kBytes, end - p);
    if (!next.NextBy<kAvx2>(p, count, state)) return nullptr;
    const std::uint64_t newline = next.newlines() & (0 - next.newlines());  // the first newline
    // Here a closing quote may be followed only by a CR at the end of the record.
    for (std::uint64_t after = next.after_quotes() & (newline - 1); after != 0; after &= after - 1) {
      const Byte* const text = p + std::countr_zero(after);
      if (*text != '\r' || end - text < 2 || text[1] != '\n') return nullptr;
    }
    width += static_cast<unsigned>(std::popcount(next.delimiters() & (newline - 1)));
    for (std::uint64_t stops = (next.delimiters() & (newline - 1)) | newline; stops != 0 && found < wanted.size();
         stops &= stops - 1) {
      const Byte* const stop = p + std::countr_zero(stops);
      for (; found < wanted.size() && wanted[found].column == column; ++found) {
        columns[wanted[found].key] = {begin, stop};
      }
      begin = stop + 1;
      ++column;
    }
    if (newline != 0) return p + std::countr_zero(newline) + 1;
    p += count;
  }
  return nullptr;
}

GPUSORT_AVX2 const Byte* SplitByAvx2(int quote, unsigned char delimiter, const std::vector<KeyColumns::Wanted>& wanted,
                                     const Byte* p, const Byte* end, Column* columns, std::uint64_t& width) {
  return SplitBy<true>(quote, delimiter, wanted, p, end, columns, width);
}

/// Returns the end of a field that ends at `stop`. A CR before the newline at `stop` does not belong to the field.
/// Never returns less than `p`.
const Byte* BeforeReturn(const Byte* p, const Byte* stop, const Byte* end) {
  const bool returns = stop != end && *stop == '\n' && stop != p && stop[-1] == '\r';
  return stop - (returns ? 1 : 0);
}

class CsvFormat : public TableFormat {
 public:
  explicit CsvFormat(const JobSpec& spec)
      : TableFormat(spec),
        delimiter_(table_.delimiter),
        quote_(table_.quote),
        escape_(table_.escape),
        comment_(table_.comment) {
    prefixed_.prefixes = spec.source.header_prefixes;
  }

  std::uint64_t header_lines() const override {
    return table_.comment < 0 && prefixed_.prefixes.empty() ? table_.header : 0;
  }
  bool has_header() const override { return true; }  // an input may begin with a byte order mark
  std::optional<std::uint64_t> HeaderBytes(RecordSpan front, bool all) const override {
    const std::optional<std::uint64_t> mark = ByteOrderMark(front, all);
    if (!mark) return std::nullopt;
    const std::optional<std::uint64_t> prefixed = prefixed_.BytesOf(front.subspan(*mark), all);
    if (!prefixed) return std::nullopt;
    std::uint64_t at = *mark + *prefixed;
    for (std::uint64_t record = 0; record < table_.header && at < front.size(); ++record) {
      ScanState state;
      const std::uint64_t size = Scan(front.subspan(at), state).first;
      if (size == 0 && !all) return std::nullopt;
      if (size == 0 && !WhyOpen(state).empty()) throw BadRecord(at, WhyOpen(state));
      at = size == 0 ? front.size() : at + size;
    }
    if (at == front.size() && !all && table_.header > 0) return std::nullopt;  // the header may go on after these bytes
    return at;
  }
  void ReadHeader(RecordSpan header) override {
    const std::vector<std::string> names = NamesOf(header);
    if (names.empty()) return;  // without a header there are no records either
    width_ = names.size();
    Resolve(names);
  }
  /// Returns the line end that must be added to an input whose last line has none: CR LF if the header ends with CR LF,
  /// otherwise a newline. Returns an empty text if the last line is complete.
  std::string Ending(RecordSpan header, RecordSpan tail) const override {
    const std::string newline = TableFormat::Ending(header, tail);
    const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
    const bool returns = table_.header > 0 && text.size() > 2 && text.ends_with("\r\n");
    return returns && !newline.empty() && tail.back() != std::byte{'\r'} ? "\r\n" : newline;
  }
  std::vector<std::string> NamesOf(RecordSpan header) const override {
    if (table_.header == 0) return {};
    const Byte* const end = AsBytes(header.data()) + header.size();
    const Byte* record = end - HeaderText(header).size();
    for (const Byte* next = record; next != end;) {
      record = next;
      Mode mode = kRecord;
      bool ended = false;
      next = RecordEnd(record, end, mode, ended);
    }
    const Byte* p = SkipComments(record, end);
    if (p == end) return {};
    std::vector<std::string> names;
    std::string scratch;
    for (;; ++p) {
      Field field;
      Trailing trailing;
      p = ReadField(record, p, end, field, scratch, trailing);
      names.emplace_back(field.text);
      if (p == end || *p != delimiter_) return names;
    }
  }
  RecordFormat::Ends Scan(RecordSpan bytes, ScanState& state) const override {
    const Byte* const begin = AsBytes(bytes.data());
    const Byte* const end = begin + bytes.size();
    Ends ends;
    auto mode = static_cast<Mode>(state.mode);
    if (quote_ < 0 && comment_ < 0) {  // every newline ends a record
      const std::byte* const last = detail::FindLastDelimiter(bytes.data(), bytes.data() + bytes.size(), '\n');
      if (last != nullptr) {
        ends.Add(FindByte(begin, end, '\n') + 1 - begin);
        ends.Add(AsBytes(last) + 1 - begin);
      }
      if (begin != end) state.mode = end[-1] == '\n' ? kRecord : kPlain;
      return ends;
    }
    const Byte* p = begin;
    CsvMarks next(quote_, delimiter_);
    while (marks() && comment_ < 0 && p != end) {
      CsvMarks::State marked{mode == kQuoted ? ~std::uint64_t{0} : 0, mode != kQuoted && mode != kPlain};
      const Byte* const from = p;
      std::uint64_t count = 0;
      for (; p != end; p += count) {
        count = std::min<std::uint64_t>(CsvMarks::kBytes, end - p);
        if (!next.Next(p, count, marked)) break;
        const std::uint64_t newlines = next.newlines();
        if (newlines == 0) continue;
        if (ends.first == 0) ends.Add(p + std::countr_zero(newlines) + 1 - begin);
        ends.Add(p + std::bit_width(newlines) - begin);
      }
      if (p != from) {
        const Mode front = p[-1] == '\n' ? kRecord : p[-1] == delimiter_ ? kField : kQuote;
        mode = marked.quoted != 0 ? kQuoted : marked.may_open == 0 ? kPlain : front;
      }
      if (p == end) break;
      const Byte* const stop = p + count;
      while (p != stop) {
        bool ended = false;
        p = RecordEnd(p, stop, mode, ended);
        if (ended) ends.Add(p - begin);
      }
    }
    while (p != end) {
      bool ended = false;
      p = RecordEnd(p, end, mode, ended);
      if (ended) ends.Add(p - begin);
    }
    state.mode = mode;
    return ends;
  }
  RecordFormat::Guess LookAhead(RecordSpan block) const override {
    const std::byte* const newline = detail::FindDelimiter(block.data(), block.data() + block.size(), '\n');
    if (newline == nullptr) return {};
    Guess guess;
    guess.from = static_cast<std::uint64_t>(newline - block.data()) + 1;
    const Ends ends = Scan(block.subspan(guess.from), guess.state);
    if (ends.last > 0) guess.last = guess.from + ends.last;
    guess.at_last = ends.state;
    return guess;
  }
  std::uint64_t Finish(RecordSpan open, const ScanState& state) const override {
    const std::string why = WhyOpen(state);
    if (!why.empty()) throw BadRecord(0, why + " before the end of the input");
    return state.mode == kRecord ? 0 : open.size();  // comments after the last record
  }
  bool has_trailer() const override { return comment_ >= 0; }
  bool joins_trailers() const override { return true; }
  unsigned modes() const override { return quote_ < 0 && comment_ < 0 ? 1 : kComment + 1; }
  std::string WhyOpen(const ScanState& state) const override {
    return state.mode == kQuoted || state.mode == kEscape ? "a quote is opened in this record and not closed" : "";
  }

 protected:
  std::uint64_t PutKeys(RecordSpan records, ScanState&, Scratch& scratch, FieldWriter& out,
                        KeyTally& tally) const override {
    const Byte* const begin = AsBytes(records.data());
    const Byte* const end = begin + records.size();
    const Byte* p = SkipComments(begin, end);
    const auto& wanted = wanted_.by_column;
    const std::size_t keys = wanted.size();
    if (marks() && keys > 0) {
      Column columns[kMaxKeyFields];
      std::fill_n(columns, keys, Column{});
      std::uint64_t width = 0;
      const Byte* const stop = CsvMarks::HasAvx2() ? SplitByAvx2(quote_, delimiter_, wanted, p, end, columns, width)
                                                   : SplitBy<false>(quote_, delimiter_, wanted, p, end, columns, width);
      if (stop != nullptr) {
        CheckWidth(width, tally);
        for (std::size_t key = 0; key < keys; ++key) {
          Field field;
          const Column& column = columns[key];
          if (column.begin != column.end && *column.begin == quote_) {
            Trailing none;
            ReadField(begin, column.begin, stop, field, scratch.text, none);
          } else if (column.begin != nullptr) {
            SetPlain(begin, column.begin, column.end, stop, field);
          }
          PutKey(key, field, out, tally);
        }
        return static_cast<std::uint64_t>(stop - begin);
      }
    }
    std::size_t next = 0;  // the index in `wanted`
    std::vector<Field>& fields = scratch.fields;
    std::vector<std::string>& texts = scratch.texts;
    fields.assign(keys, {});
    texts.resize(std::max<std::size_t>(1, keys));
    bool ended = p == end, glued = false;
    std::uint64_t column = 0;
    for (; !ended; ++column) {
      const bool reads = keys == 0 || (next < keys && wanted[next].column == column);
      Field field;
      Trailing trailing;
      if (reads) {
        p = ReadField(begin, p, end, field, texts[keys == 0 ? 0 : next], trailing);
        if (keys == 0) PutWhole(field, out);
      } else {
        p = SkipField(p, end, trailing);
      }
      if (trailing.text != nullptr && table_.strict) {
        throw BadRecord(static_cast<std::uint64_t>(trailing.text - begin), "there is text after a closing quote");
      }
      glued |= trailing.newlines;
      for (; next < keys && wanted[next].column == column; ++next) fields[wanted[next].key] = field;
      ended = p == end || *p == '\n';
      if (p != end) ++p;
    }
    CheckWidth(column, tally);
    if (glued) tally.glued.Note(tally);
    for (std::size_t key = 0; key < keys; ++key) PutKey(key, fields[key], out, tally);
    return static_cast<std::uint64_t>(p - begin);
  }

 private:
  enum Mode : unsigned { kRecord, kField, kPlain, kQuoted, kQuote, kEscape, kComment };

  /// Finds the end of the record that contains the byte at `p`. `mode` is the parser's state at `p`, and is replaced by
  /// the state at the returned place. If the record ends in [p, end), sets `ended` to true and returns the end of the
  /// record. Otherwise returns `end`.
  const Byte* RecordEnd(const Byte* p, const Byte* end, Mode& mode, bool& ended) const {
    ended = false;
    const auto newline = static_cast<unsigned char>('\n');
    const unsigned char quote = quote_ < 0 ? newline : static_cast<unsigned char>(quote_);
    while (p != end) {
      switch (mode) {
        case kRecord:
          mode = *p == comment_ ? kComment : kField;
          break;
        case kComment:
          p = FindByte(p, end, newline);
          if (p == end) return end;
          ++p;
          mode = kRecord;
          break;
        case kField:
          if (*p != quote_) {
            mode = kPlain;
          } else {
            mode = kQuoted;
            ++p;
          }
          break;
        case kPlain: {
          const Byte* const found = FindAny(p, end, newline, quote);
          if (found == end) {
            if (end[-1] == delimiter_) mode = kField;
            return end;
          }
          if (*found == newline) {
            mode = kRecord;
            ended = true;
            return found + 1;
          }
          // The quote begins a field if a delimiter precedes it. A quote at `p` itself was handled before.
          if (found != p && found[-1] == delimiter_) mode = kQuoted;
          p = found + 1;
          break;
        }
        case kQuoted:
          p = FindQuote(p, end);
          if (p == end) return end;
          mode = *p == escape_ ? kEscape : kQuote;
          ++p;
          break;
        case kEscape:
          mode = kQuoted;
          ++p;
          break;
        case kQuote:
          if (*p == quote_) {
            mode = kQuoted;
            ++p;
          } else {
            mode = kPlain;
          }
          break;
      }
    }
    return end;
  }
  /// Returns true if the fast search by vector instructions (CsvMarks) can find the ends of fields and records. It
  /// cannot do this if the format has an escape byte.
  bool marks() const { return escape_ < 0; }
  /// Returns a pointer to the first quote or escape byte in [p, end), or `end` if there is none.
  const Byte* FindQuote(const Byte* p, const Byte* end) const {
    return escape_ < 0 ? FindByte(p, end, static_cast<Byte>(quote_)) : FindAny(p, end, quote_, escape_);
  }
  /// Returns the end of the comment lines that begin at `p`.
  const Byte* SkipComments(const Byte* p, const Byte* end) const {
    while (comment_ >= 0 && p != end && *p == comment_) {
      p = FindByte(p, end, '\n');
      if (p != end) ++p;
    }
    return p;
  }
  /// The text between the closing quote of a field and the next delimiter, as `xyz` in "abc"xyz.
  struct Trailing {
    const Byte* text = nullptr;  ///< null: there is no text after the closing quote
    bool newlines = false;       ///< true: the quoted part of the field contains newlines
  };
  /// Returns the end of the field that begins at `p`: a pointer to the delimiter, or to the end of the line. Sets
  /// `trailing` to the text after the closing quote of the field.
  const Byte* SkipField(const Byte* p, const Byte* end, Trailing& trailing) const {
    if (p == end || *p != quote_) return FindAny(p, end, delimiter_, '\n');
    const Byte* const opened = p + 1;
    Mode mode = kQuoted;
    for (++p; p != end && mode != kPlain;) {
      if (mode == kQuote) {
        mode = *p == quote_ ? kQuoted : kPlain;
        if (mode == kQuoted) ++p;
        continue;
      }
      p = FindQuote(p, end);
      if (p == end) break;
      const bool escape = *p == escape_;
      p += escape && end - p > 1 ? 2 : 1;
      if (!escape) mode = kQuote;
    }
    const Byte* const stop = FindAny(p, end, delimiter_, '\n');
    if (p != BeforeReturn(p, stop, end)) trailing = {p, FindByte(opened, p, '\n') != p};
    return stop;
  }
  /// Checks the number of columns of a record. If the record has more or fewer columns than the header, counts the
  /// record in `tally`; with --strict, throws BadRecord.
  void CheckWidth(std::uint64_t width, KeyTally& tally) const {
    if (width != width_ && width_ != 0) NoteWidth(width, tally);
  }
  void NoteWidth(std::uint64_t width, KeyTally& tally) const {
    if (table_.strict) {
      throw BadRecord(0, "it has " + std::to_string(width) + (width == 1 ? " column" : " columns") +
                             ", and the header has " + std::to_string(width_));
    }
    if (tally.other_width.count == 0) tally.first_width = width;
    tally.other_width.Note(tally);
  }
  /// Sets `field` to the text [p, stop), which is not quoted. The record begins at `begin`, from which error messages
  /// count the place of the field. The buffer ends at `end`.
  void SetPlain(const Byte* begin, const Byte* p, const Byte* stop, const Byte* end, Field& field) const {
    field.at = static_cast<std::uint64_t>(p - begin);
    field.text = Text(p, BeforeReturn(p, stop, end));
    field.is = IsNull(field.text) ? Field::kNull : Field::kValue;
  }
  /// Sets `field` to the value of the field that begins at `p`, in the record that begins at `begin`. Returns the end
  /// of the field: a pointer to the delimiter, or to the end of the line. If the text must be decoded, for example
  /// "a""b", `field` refers to the decoded text in `scratch`.
  const Byte* ReadField(const Byte* begin, const Byte* p, const Byte* end, Field& field, std::string& scratch,
                        Trailing& trailing) const {
    field.at = static_cast<std::uint64_t>(p - begin);
    field.is = Field::kValue;
    if (p == end || *p != quote_) {
      const Byte* const stop = FindAny(p, end, delimiter_, '\n');
      SetPlain(begin, p, stop, end, field);
      return stop;
    }
    // The field begins with a quote. Usually all of it is in quotes, and none of its bytes is escaped.
    scratch.clear();
    const auto quote = static_cast<unsigned char>(quote_);
    const Byte* from = ++p;
    const Byte* const opened = p;
    for (;;) {
      p = FindQuote(p, end);
      if (p == end) break;
      if (*p != quote || (p + 1 != end && p[1] == quote)) {
        scratch.append(Text(from, p));
        from = ++p;  // the byte after the escape byte
        if (p != end) ++p;
        continue;
      }
      break;
    }
    const Byte* const closing = p;
    if (p != end) ++p;
    const Byte* const stop = FindAny(p, end, delimiter_, '\n');
    const Byte* const rest = BeforeReturn(p, stop, end);
    if (p == rest && scratch.empty()) {
      field.text = Text(from, closing);
      return stop;
    }
    if (p != rest) trailing = {p, FindByte(opened, closing, '\n') != closing};
    scratch.append(Text(from, closing)).append(Text(p, rest));
    field.text = scratch;
    return stop;
  }

  const unsigned char delimiter_;
  const int quote_, escape_, comment_;
  std::uint64_t width_ = 0;  ///< number of columns in the header; 0: there is no header
};

}  // namespace

std::unique_ptr<TableFormat> MakeCsvFormat(const JobSpec& spec) { return std::make_unique<CsvFormat>(spec); }

}  // namespace gpusort
