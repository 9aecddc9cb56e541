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

namespace gpusort {
namespace {

enum LongOnly {
  kCheck = 256,
  kCompress,
  kDebug,
  kFiles0,
  kSortWord,
  kBatch,
  kParallel,
  kRandomSource,
  kHelp,
  kVersion
};

// The leading '-' makes getopt return operands in their places, for the obsolescent keys among them.
constexpr char kShort[] = "-bcCdfghik:mMno:rRsS:t:T:uVy:z";
constexpr option kLong[] = {
    {"ignore-leading-blanks", no_argument, nullptr, 'b'},
    {"check", optional_argument, nullptr, kCheck},
    {"compress-program", required_argument, nullptr, kCompress},
    {"debug", no_argument, nullptr, kDebug},
    {"dictionary-order", no_argument, nullptr, 'd'},
    {"ignore-case", no_argument, nullptr, 'f'},
    {"files0-from", required_argument, nullptr, kFiles0},
    {"general-numeric-sort", no_argument, nullptr, 'g'},
    {"ignore-nonprinting", no_argument, nullptr, 'i'},
    {"key", required_argument, nullptr, 'k'},
    {"merge", no_argument, nullptr, 'm'},
    {"month-sort", no_argument, nullptr, 'M'},
    {"numeric-sort", no_argument, nullptr, 'n'},
    {"human-numeric-sort", no_argument, nullptr, 'h'},
    {"version-sort", no_argument, nullptr, 'V'},
    {"random-sort", no_argument, nullptr, 'R'},
    {"random-source", required_argument, nullptr, kRandomSource},
    {"sort", required_argument, nullptr, kSortWord},
    {"output", required_argument, nullptr, 'o'},
    {"reverse", no_argument, nullptr, 'r'},
    {"stable", no_argument, nullptr, 's'},
    {"batch-size", required_argument, nullptr, kBatch},
    {"buffer-size", required_argument, nullptr, 'S'},
    {"field-separator", required_argument, nullptr, 't'},
    {"temporary-directory", required_argument, nullptr, 'T'},
    {"unique", no_argument, nullptr, 'u'},
    {"zero-terminated", no_argument, nullptr, 'z'},
    {"parallel", required_argument, nullptr, kParallel},
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {nullptr, 0, nullptr, 0},
};

[[noreturn]] void FailAsSort(const std::string& message) { throw GnuUsageError(message, false); }

/// One of several words, or a beginning of it that leaves no doubt.
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
  // The one mistake that GNU sort answers with 1.
  throw GnuUsageError(message, true, 1);
}

char ParseCheck(const char* text) {
  if (text == nullptr) return 'c';
  constexpr Word kWords[] = {{"quiet", 'C'}, {"silent", 'C'}, {"diagnose-first", 'c'}};
  return ParseWord(text, "--check", kWords);
}

char ParseSortWord(const char* text) {
  constexpr Word kWords[] = {{"general-numeric", 'g'}, {"human-numeric", 'h'}, {"month", 'M'},
                             {"numeric", 'n'},         {"random", 'R'},        {"version", 'V'}};
  return ParseWord(text, "--sort", kWords);
}

/// A number as GNU's xstrtoumax reads it, and what follows it.
struct Number {
  std::uint64_t value = 0;
  bool overflow = false;
  bool digits = false;
  std::string_view suffix;
};

Number ParseNumber(std::string_view text) {
  Number number;
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

/// -S: KiB without a letter, or b, or K M G ..., or % of the memory.
std::uint64_t ParseMemory(const std::string& text, const std::string& option) {
  Number number = ParseNumber(text);
  if (!number.digits) {
    // GNU takes a letter alone for one of it.
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
  const Number number = ParseNumber(text);
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
  const Number number = ParseNumber(text);
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
  // A mistake of those who know other programs' -t'\t'.
  if (text.size() > 1) FailAsSort("multi-character tab " + QuoteWord(text));
  return static_cast<unsigned char>(text[0]);
}

void AddLetter(char letter, KeyOptions& ordering) { AddOrderingLetters({&letter, 1}, KeyEnd::kBoth, ordering); }

/// The standard that the user asks for: before 2001 and since 2008 "+1" may be a key.
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
    ::optind = 0;  // starts over, also after an earlier call
    while (options_.action != GnuOptions::Action::kHelp && options_.action != GnuOptions::Action::kVersion) {
      int option = -1;
      // Under POSIX rules options end at the first operand, but for the -o FILE of old.
      const bool operands_only =
          posixly_correct_ && !options_.inputs.empty() &&
          !(obsolete_usage_ && options_.check == 0 && ::optind != argc_ && argv_[::optind][0] == '-' &&
            argv_[::optind][1] == 'o' && (argv_[::optind][2] != '\0' || ::optind + 1 != argc_));
      if (ended_ || operands_only || (option = ::getopt_long(argc_, argv_, kShort, kLong, nullptr)) == -1) {
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
  void Take(int option) {
    const std::string argument = ::optarg != nullptr ? ::optarg : "";
    switch (option) {
      case 1:
        TakeOperand(argument);
        break;
      case kSortWord:
        AddLetter(ParseSortWord(::optarg), options_.ordering);
        break;
      case 'b':
      case 'd':
      case 'f':
      case 'g':
      case 'h':
      case 'i':
      case 'M':
      case 'n':
      case 'r':
      case 'R':
      case 'V':
        AddLetter(static_cast<char>(option), options_.ordering);
        break;
      case 'c':
        SetCheck('c');
        break;
      case 'C':
        SetCheck('C');
        break;
      case kCheck:
        SetCheck(ParseCheck(::optarg));
        break;
      case kCompress:
        SetOnce(options_.compress_program, argument, "multiple compress programs specified");
        break;
      case kRandomSource:
        SetOnce(options_.random_source, argument, "multiple random sources specified");
        break;
      case kDebug:
        options_.debug = true;
        break;
      case kFiles0:
        options_.files0_from = argument;
        break;
      case 'k':
        AddKey([&] { return ParseKeyDef(argument); });
        break;
      case 'm':
        options_.action = GnuOptions::Action::kMerge;
        break;
      case kBatch:
        options_.batch_size = ParseBatchSize(argument);
        break;
      case 'o':
        if (options_.output && *options_.output != argument) FailAsSort("multiple output files specified");
        options_.output = argument;
        break;
      case 's':
        options_.stable = true;
        break;
      case 'S':
        // The largest of several counts.
        options_.memory_bytes =
            std::max({options_.memory_bytes, ParseMemory(argument, OptionAsTyped()), std::uint64_t{1}});
        break;
      case kParallel:
        options_.threads = ParseThreads(argument);
        break;
      case 't': {
        const int separator = ParseTab(argument);
        if (options_.separator >= 0 && options_.separator != separator) FailAsSort("incompatible tabs");
        options_.separator = separator;
        break;
      }
      case 'T':
        options_.temp_dirs.push_back(argument);
        break;
      case 'u':
        options_.unique = true;
        break;
      case 'y':
        // Solaris: -y, -y0, -y 100. A number in its own word belongs to it, anything else does not.
        if (::optarg == argv_[::optind - 1] && argument.find_first_not_of("0123456789") != std::string::npos) {
          --::optind;
        }
        break;
      case 'z':
        options_.zero_terminated = true;
        break;
      case kHelp:
        options_.action = GnuOptions::Action::kHelp;
        break;
      case kVersion:
        options_.action = GnuOptions::Action::kVersion;
        break;
      default:
        throw GnuUsageError("", true);
    }
  }

  static void SetOnce(std::string& value, const std::string& argument, const std::string& otherwise) {
    if (!value.empty() && value != argument) FailAsSort(otherwise);
    value = argument;
  }

  void SetCheck(char check) {
    if (options_.check != 0 && options_.check != check) FailAsSort("options '-cC' are incompatible");
    options_.check = check;
  }

  /// "-S" or "--buffer-size", for messages.
  std::string OptionAsTyped() const {
    const char* const word = argv_[::optind - 1] == ::optarg ? argv_[::optind - 2] : argv_[::optind - 1];
    return word[0] == '-' && word[1] == '-' ? "--buffer-size" : "-S";
  }

  template <typename ParseKey>
  void AddKey(const ParseKey& parse) {
    try {
      options_.keys.push_back(parse());
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
  -b, --ignore-leading-blanks  skip blanks in front of keys
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
  -t, --field-separator=SEP    fields are divided by SEP ('\0' is NUL) instead of the blanks in front of them
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

}  // namespace gpusort
