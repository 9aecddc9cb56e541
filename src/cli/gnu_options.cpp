#include "cli/gnu_options.hpp"

#include <getopt.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/gnu_quote.hpp"
#include "cli/key_def.hpp"
#include "version.hpp"

namespace gpusort {
namespace {

[[noreturn]] void FailAsSort(const std::string& message) { throw GnuUsageError(message, false); }

/// A word that may be the value of an option. Its beginning is enough if no other word begins with the same letters.
struct Word {
  std::string_view text;
  char letter;
};

char ParseWord(std::string_view text, const std::string& option, std::span<const Word> words) {
  char found = 0;
  bool ambiguous = false;
  for (const Word& word : words) {
    if (word.text == text) return word.letter;
    if (!word.text.starts_with(text)) continue;
    ambiguous |= found != 0 && found != word.letter;
    found = word.letter;
  }
  if (found != 0 && !ambiguous) return found;
  std::string message = std::string(ambiguous ? "ambiguous" : "invalid") + " argument " + QuoteWord(text) + " for " +
                        QuoteWord(option) + "\nValid arguments are:";
  char last = 0;
  for (const Word& word : words) {
    message += (word.letter == last ? ", " : "\n  - ") + QuoteWord(word.text);
    last = word.letter;
  }
  // GNU sort ends with 1 after this mistake, and with 2 after all others.
  throw GnuUsageError(message, true, 1);
}

/// Returns the letter for the value `text` of --check, which is null if there is none.
char ParseCheck(const char* text) {
  if (text == nullptr) return 'c';
  constexpr Word kWords[] = {{"quiet", 'C'}, {"silent", 'C'}, {"diagnose-first", 'c'}};
  return ParseWord(text, "--check", kWords);
}

char ParseSortWord(const std::string& text) {
  constexpr Word kWords[] = {{"general-numeric", 'g'}, {"human-numeric", 'h'}, {"month", 'M'},
                             {"numeric", 'n'},         {"random", 'R'},        {"version", 'V'}};
  return ParseWord(text, "--sort", kWords);
}

/// A number, read as GNU's xstrtoumax reads it, and the text after it.
struct GnuNumber {
  std::uint64_t value = 0;
  bool overflow = false;
  bool digits = false;
  std::string_view suffix;
};

GnuNumber ParseNumber(std::string_view text) {
  GnuNumber number;
  std::size_t at = std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size());
  if (at < text.size() && text[at] == '+') ++at;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    number.digits = true;
    number.overflow |= __builtin_mul_overflow(number.value, std::uint64_t{10}, &number.value);
    number.overflow |= __builtin_add_overflow(number.value, static_cast<std::uint64_t>(text[at] - '0'), &number.value);
  }
  number.suffix = text.substr(at);
  return number;
}

enum class NumberFault { kInvalid, kSuffix, kTooLarge };
[[noreturn]] void FailNumber(NumberFault fault, const std::string& option, const std::string& text) {
  switch (fault) {
    case NumberFault::kSuffix:
      FailAsSort("invalid suffix in " + option + " argument '" + text + "'");
    case NumberFault::kTooLarge:
      FailAsSort(option + " argument '" + text + "' too large");
    case NumberFault::kInvalid:
      break;
  }
  FailAsSort("invalid " + option + " argument '" + text + "'");
}

/// Returns the value of -S in bytes. A number without a letter counts KiB. A letter is b, K, M, G ..., or % of the
/// memory.
std::uint64_t ParseMemory(const std::string& text, const std::string& option) {
  GnuNumber number = ParseNumber(text);
  if (!number.digits) {
    // GNU sort reads a unit without a number as one of that unit: -S K means 1K.
    if (number.suffix.empty() || std::strchr("EgGkKmMPQRtTYZ", number.suffix[0]) == nullptr) {
      FailNumber(NumberFault::kInvalid, option, text);
    }
    number.value = 1;
  }
  constexpr std::string_view kUnits = "KMGTPEZYRQ";
  std::string_view suffix = number.suffix;
  std::size_t power = 1;
  if (number.digits && suffix == "b") {
    power = 0;
  } else if (number.digits && suffix == "%") {
    const long double memory =
        static_cast<long double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<long double>(::sysconf(_SC_PAGESIZE));
    const long double bytes = memory * static_cast<long double>(number.value) / 100;
    if (number.overflow || bytes >= 0x1p64L) FailNumber(NumberFault::kTooLarge, option, text);
    return static_cast<std::uint64_t>(bytes);
  } else if (!suffix.empty()) {
    if (suffix.size() > 1 || std::strchr("EgGkKmMPQRtTYZ", suffix[0]) == nullptr) {
      FailNumber(NumberFault::kSuffix, option, text);
    }
    power = kUnits.find(static_cast<char>(suffix[0] & ~0x20)) + 1;
  }
  for (; power > 0; --power) {
    number.overflow |= __builtin_mul_overflow(number.value, std::uint64_t{1024}, &number.value);
  }
  if (number.overflow) FailNumber(NumberFault::kTooLarge, option, text);
  return number.value;
}

unsigned ParseThreads(const std::string& text) {
  const GnuNumber number = ParseNumber(text);
  if (!number.digits) FailNumber(NumberFault::kInvalid, "--parallel", text);
  if (!number.suffix.empty()) FailNumber(NumberFault::kSuffix, "--parallel", text);
  if (number.overflow) return std::numeric_limits<unsigned>::max();
  if (number.value == 0) FailAsSort("number in parallel must be nonzero");
  return static_cast<unsigned>(std::min<std::uint64_t>(number.value, std::numeric_limits<unsigned>::max()));
}

unsigned ParseBatchSize(const std::string& text) {
  rlimit limit{};
  const std::uint64_t files = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 20;
  const std::uint64_t most = files - 3;  // standard input, output and error
  const GnuNumber number = ParseNumber(text);
  if (!number.digits) FailNumber(NumberFault::kInvalid, "--batch-size", text);
  if (!number.suffix.empty()) FailNumber(NumberFault::kSuffix, "--batch-size", text);
  if (number.overflow || number.value > most) {
    FailAsSort("--batch-size argument " + QuoteWord(text) +
               " too large\nsort: maximum --batch-size argument with current " + "rlimit is " + std::to_string(most));
  }
  if (number.value < 2) {
    FailAsSort("invalid --batch-size argument " + QuoteWord(text) + "\nsort: minimum --batch-size argument is " +
               QuoteWord("2"));
  }
  return static_cast<unsigned>(number.value);
}

int ParseTab(const std::string& text) {
  if (text.empty()) FailAsSort("empty tab");
  if (text == "\\0") return 0;
  // Other programs take -t'\t'.
  if (text.size() > 1) FailAsSort("multi-character tab " + QuoteWord(text));
  return static_cast<unsigned char>(text[0]);
}

/// Returns the POSIX version that the user asks for. Before 2001 and since 2008, "+1" may be a key.
long PosixVersion() {
  const char* const text = std::getenv("_POSIX2_VERSION");
  if (text != nullptr && *text != '\0') {
    char* end = nullptr;
    const long version = std::strtol(text, &end, 10);
    if (*end == '\0') return version;
  }
  return 200809;
}

class Parser {
 public:
  Parser(int argc, char** argv)
      : argc_(argc), argv_(argv), posixly_correct_(std::getenv("POSIXLY_CORRECT") != nullptr) {
    const long version = PosixVersion();
    obsolete_usage_ = version < 200112;
    traditional_usage_ = obsolete_usage_ || version >= 200809;
  }

  GnuOptions Parse() {
    ::optind = 0;  // resets getopt after an earlier call
    // The leading '-' makes getopt return operands in their places, because obsolescent keys may be among them.
    std::string letters = "-y:";
    std::vector<option> names;
    for (const Row& row : Rows()) {
      if (row.letter != 0) letters += row.letter + std::string(row.argument == required_argument ? ":" : "");
      if (row.name != nullptr) names.push_back({row.name, row.argument, nullptr, CodeOf(row)});
    }
    names.emplace_back();
    while (options_.action != GnuOptions::Action::kHelp && options_.action != GnuOptions::Action::kVersion) {
      int option = -1;
      // Under POSIX rules options end at the first operand, except the obsolescent -o FILE.
      const bool operands_only =
          posixly_correct_ && !options_.inputs.empty() &&
          !(obsolete_usage_ && options_.check == 0 && ::optind != argc_ && argv_[::optind][0] == '-' &&
            argv_[::optind][1] == 'o' && (argv_[::optind][2] != '\0' || ::optind + 1 != argc_));
      if (ended_ || operands_only ||
          (option = ::getopt_long(argc_, argv_, letters.c_str(), names.data(), nullptr)) == -1) {
        ended_ = true;
        if (::optind >= argc_) break;
        options_.inputs.emplace_back(argv_[::optind++]);
        continue;
      }
      Take(option);
    }
    return std::move(options_);
  }

 private:
  /// An option of GNU sort. A letter without a name has no long form.
  struct Row {
    const char* name;
    char letter;   ///< 0: none
    int argument;  ///< no_argument, required_argument or optional_argument
    void (*take)(Parser& parser, const char* value);
  };
  static std::span<const Row> Rows();

  /// getopt returns the letter of an option, or this number plus the index of a row without a letter.
  static constexpr int kFirstLong = 256;
  static int CodeOf(const Row& row) {
    return row.letter != 0 ? row.letter : kFirstLong + static_cast<int>(&row - Rows().data());
  }

  void Take(int code) {
    if (code == 1) return TakeOperand(::optarg);
    if (code == 'y') return TakeSolaris(::optarg);
    for (const Row& row : Rows()) {
      if (CodeOf(row) == code) return row.take(*this, ::optarg);
    }
    throw GnuUsageError("", true);
  }

  template <char kLetter>
  static void AddLetter(Parser& parser, const char*) {
    const char letter = kLetter;
    AddOrderingLetters({&letter, 1}, KeyEnd::kBoth, parser.options_.ordering);
  }

  static void SetOnce(std::string& value, const std::string& argument, const std::string& otherwise) {
    if (!value.empty() && value != argument) FailAsSort(otherwise);
    value = argument;
  }

  void SetCheck(char check) {
    if (options_.check != 0 && options_.check != check) FailAsSort("options '-cC' are incompatible");
    options_.check = check;
  }

  void SetSeparator(int separator) {
    if (options_.separator >= 0 && options_.separator != separator) FailAsSort("incompatible tabs");
    options_.separator = separator;
  }

  void SetOutput(const std::string& output) {
    if (options_.output && *options_.output != output) FailAsSort("multiple output files specified");
    options_.output = output;
  }

  /// Implements the option -y of Solaris: -y, -y0 and -y 100. Only a number in the next word belongs to -y.
  void TakeSolaris(const std::string& argument) const {
    if (::optarg == argv_[::optind - 1] && argument.find_first_not_of("0123456789") != std::string::npos) --::optind;
  }

  /// "-S" or "--buffer-size", for messages.
  std::string OptionAsTyped() const {
    const char* const word = argv_[::optind - 1] == ::optarg ? argv_[::optind - 2] : argv_[::optind - 1];
    return word[0] == '-' && word[1] == '-' ? "--buffer-size" : "-S";
  }

  void AddKey(const std::string& text) {
    try {
      options_.keys.push_back(ParseKeyDef(text));
    } catch (const Error& error) {
      FailAsSort(error.what());
    }
  }

  void TakeOperand(const std::string& operand) {
    if (operand.starts_with('+')) {
      const bool has_end =
          ::optind != argc_ && argv_[::optind][0] == '-' && argv_[::optind][1] >= '0' && argv_[::optind][1] <= '9';
      traditional_usage_ |= has_end && !posixly_correct_;
      if (traditional_usage_) {
        std::optional<KeyDef> key;
        try {
          key = ParseObsolescentKey(operand, has_end ? std::optional<std::string>(argv_[::optind]) : std::nullopt);
        } catch (const Error& error) {
          FailAsSort(error.what());
        }
        if (key) {
          options_.keys.push_back(*key);
          if (has_end) ++::optind;
          return;
        }
      }
    }
    options_.inputs.push_back(operand);
  }

  int argc_;
  char** argv_;
  bool posixly_correct_;
  bool obsolete_usage_ = false;
  bool traditional_usage_ = false;
  bool ended_ = false;
  GnuOptions options_;
};

std::span<const Parser::Row> Parser::Rows() {
  using Value = const char*;
  static constexpr Row kRows[] = {
      {"ignore-leading-blanks", 'b', no_argument, AddLetter<'b'>},
      {"check", 0, optional_argument, [](Parser& to, Value value) { to.SetCheck(ParseCheck(value)); }},
      {nullptr, 'c', no_argument, [](Parser& to, Value) { to.SetCheck('c'); }},
      {nullptr, 'C', no_argument, [](Parser& to, Value) { to.SetCheck('C'); }},
      {"compress-program", 0, required_argument,
       [](Parser& to, Value value) {
         SetOnce(to.options_.compress_program, value, "multiple compress programs specified");
       }},
      {"debug", 0, no_argument, [](Parser& to, Value) { to.options_.debug = true; }},
      {"dictionary-order", 'd', no_argument, AddLetter<'d'>},
      {"ignore-case", 'f', no_argument, AddLetter<'f'>},
      {"files0-from", 0, required_argument, [](Parser& to, Value value) { to.options_.files0_from = value; }},
      {"general-numeric-sort", 'g', no_argument, AddLetter<'g'>},
      {"ignore-nonprinting", 'i', no_argument, AddLetter<'i'>},
      {"key", 'k', required_argument, [](Parser& to, Value value) { to.AddKey(value); }},
      {"merge", 'm', no_argument, [](Parser& to, Value) { to.options_.action = GnuOptions::Action::kMerge; }},
      {"month-sort", 'M', no_argument, AddLetter<'M'>},
      {"numeric-sort", 'n', no_argument, AddLetter<'n'>},
      {"human-numeric-sort", 'h', no_argument, AddLetter<'h'>},
      {"version-sort", 'V', no_argument, AddLetter<'V'>},
      {"random-sort", 'R', no_argument, AddLetter<'R'>},
      {"random-source", 0, required_argument,
       [](Parser& to, Value value) { SetOnce(to.options_.random_source, value, "multiple random sources specified"); }},
      {"sort", 0, required_argument,
       [](Parser& to, Value value) {
         const char letter = ParseSortWord(value);
         AddOrderingLetters({&letter, 1}, KeyEnd::kBoth, to.options_.ordering);
       }},
      {"output", 'o', required_argument, [](Parser& to, Value value) { to.SetOutput(value); }},
      {"reverse", 'r', no_argument, AddLetter<'r'>},
      {"stable", 's', no_argument, [](Parser& to, Value) { to.options_.stable = true; }},
      {"batch-size", 0, required_argument,
       [](Parser& to, Value value) { to.options_.batch_size = ParseBatchSize(value); }},
      {"buffer-size", 'S', required_argument,
       [](Parser& to, Value value) {  // if several sizes are given, the largest counts
         const std::uint64_t bytes = ParseMemory(value, to.OptionAsTyped());
         to.options_.memory_bytes = std::max({to.options_.memory_bytes, bytes, std::uint64_t{1}});
       }},
      {"field-separator", 't', required_argument, [](Parser& to, Value value) { to.SetSeparator(ParseTab(value)); }},
      {"temporary-directory", 'T', required_argument,
       [](Parser& to, Value value) { to.options_.temp_dirs.push_back(value); }},
      {"unique", 'u', no_argument, [](Parser& to, Value) { to.options_.unique = true; }},
      {"zero-terminated", 'z', no_argument, [](Parser& to, Value) { to.options_.zero_terminated = true; }},
      {"parallel", 0, required_argument, [](Parser& to, Value value) { to.options_.threads = ParseThreads(value); }},
      {"help", 0, no_argument, [](Parser& to, Value) { to.options_.action = GnuOptions::Action::kHelp; }},
      {"version", 0, no_argument, [](Parser& to, Value) { to.options_.action = GnuOptions::Action::kVersion; }},
  };
  return kRows;
}

}  // namespace

GnuOptions ParseGnuOptions(int argc, char** argv) { return Parser(argc, argv).Parse(); }

bool TakesObsolescentKey(bool has_end) {
  const long version = PosixVersion();
  return version < 200112 || version >= 200809 || (has_end && std::getenv("POSIXLY_CORRECT") == nullptr);
}

std::string GnuHelpText() {
  return R"(Usage: sort [OPTION]... [FILE]...
  or:  sort [OPTION]... --files0-from=F
Sorts the lines of all FILEs together. Without FILE, or where FILE is -, it reads standard input.

What lines are compared by:
  -b, --ignore-leading-blanks  skip blanks before keys
  -d, --dictionary-order       only blanks, letters and digits count
  -f, --ignore-case            lower case counts as upper case
  -g, --general-numeric-sort   by the value of floating-point numbers (1e3, 0x1p3, inf)
  -i, --ignore-nonprinting     only printable characters count
  -M, --month-sort             by names of months; what is none comes first
  -h, --human-numeric-sort     by numbers with a unit, as in 2K or 1G
  -n, --numeric-sort           by decimal numbers of any length
  -R, --random-sort            in random order, equal keys together
      --random-source=FILE     take the random bytes for -R from FILE
  -r, --reverse                the greatest first
      --sort=WORD              general-numeric -g, human-numeric -h, month -M, numeric -n, random -R, version -V
  -V, --version-sort           numbers within text by their value

Keys:
  -k, --key=KEYDEF             compare by this part of the line; several: the first that differs decides
  -t, --field-separator=SEP    fields are divided by SEP ('\0' is NUL) instead of the blanks before them
      --debug                  underline what each line is sorted by, and warn about doubtful options

KEYDEF is F[.C][OPTS][,F[.C][OPTS]]: the first and the last character of the key, as field F and character C of the
field, both counted from 1. Without an end the key goes to the end of the line. OPTS are letters out of bdfghiMnRrV,
which then stand in place of those of the command line. Without -t and without b a field begins with the blanks in
front of it, and these count as characters.

What is done:
  -c, --check, --check=diagnose-first  tell the first line that is out of order; do not sort
  -C, --check=quiet, --check=silent    the same, by the exit code alone
  -m, --merge                  merge FILEs that are sorted already
  -o, --output=FILE            write to FILE, which may be an input, instead of standard output
  -s, --stable                 lines with equal keys stay as they were, instead of being compared as a whole
  -u, --unique                 of lines with equal keys keep the first; with -c: find these, too
  -z, --zero-terminated        lines end with NUL instead of newline
      --files0-from=F          sort the files whose names F lists, each ended by NUL; - is standard input

How it is done:
      --batch-size=N           merge at most N inputs at once
      --compress-program=PROG  pass temporary files through PROG, and through PROG -d when they are read
      --parallel=N             use at most N threads
  -S, --buffer-size=SIZE       use SIZE of memory: KiB, or with b, K, M, G, T, P, E, Z, Y, R, Q, or % of the machine's
  -T, --temporary-directory=DIR  put temporary files there, not into $TMPDIR or /tmp; several are used in turn
      --help                   show this text
      --version                show the version

The environment's LC_ALL decides how text is compared; LC_ALL=C compares bytes.
This is gpusort under the name sort; under its own name it takes more options.
Exit codes: 0 done; 1 not in order (-c, -C); 2 trouble.
)";
}

std::string GnuVersionText() { return "sort (gpusort) " GPUSORT_VERSION "\n"; }

}  // namespace gpusort
