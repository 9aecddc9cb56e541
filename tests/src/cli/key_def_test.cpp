// labels: no_tsan
// Tests KEYDEFs and ordering letters: tables of their meaning, GNU sort's complaints, and sorts of hostile lines
// compared with the system's sort. There are 100 cases of each kind; RC_PARAMS=max_success=5000 runs more.
#include "cli/key_def.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include "kernels/error.hpp"
#include "lines.hpp"
#include "records.hpp"

namespace gpusort {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint64_t kMax = ~std::uint64_t{0};

template <typename Call>
std::string Complaint(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage) << error.what();
    return error.what();
  }
  return "";
}

KeyOptions Letters(const std::string& letters, KeyEnd end = KeyEnd::kBoth) {
  KeyOptions options;
  EXPECT_EQ(AddOrderingLetters(letters, end, options), letters.size()) << letters;
  return options;
}

KeyDef Def(std::uint64_t begin_field, std::uint64_t begin_char, std::uint64_t end_field = LineKey::kToEnd,
           std::uint64_t end_char = 0, const KeyOptions& options = {}) {
  return {begin_field, begin_char, end_field, end_char, options, false};
}

TEST(ParseKeyDef, CountsFromZero) {
  EXPECT_EQ(ParseKeyDef("1"), Def(0, 0));
  EXPECT_EQ(ParseKeyDef("2.3"), Def(1, 2));
  EXPECT_EQ(ParseKeyDef("2,3"), Def(1, 0, 2));
  EXPECT_EQ(ParseKeyDef("2.1,3.0"), Def(1, 0, 2, 0));
  EXPECT_EQ(ParseKeyDef("2.4,3.5"), Def(1, 3, 2, 5));
  EXPECT_EQ(ParseKeyDef(" +2"), Def(1, 0));
  EXPECT_EQ(ParseKeyDef("18446744073709551615.18446744073709551616,99999999999999999999999.18446744073709551615"),
            Def(kMax - 1, kMax - 1, kMax - 1, kMax));
}

TEST(ParseKeyDef, TakesLettersAtBothEnds) {
  EXPECT_EQ(ParseKeyDef("1nr,2").options, Letters("nr"));
  EXPECT_EQ(ParseKeyDef("1n,2r").options, Letters("nr"));
  EXPECT_EQ(ParseKeyDef("1b,2").options, Letters("b", KeyEnd::kStart));
  EXPECT_EQ(ParseKeyDef("1,2b").options, Letters("b", KeyEnd::kEnd));
  EXPECT_EQ(ParseKeyDef("1b,2b").options, Letters("b"));
  EXPECT_EQ(ParseKeyDef("1bdfghiMnRrV").options, Letters("bdfghiMnRrV", KeyEnd::kStart));
}

TEST(ParseKeyDef, ComplainsInGnuWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "field number is zero: invalid field specification '0'"},
      {"1,0", "field number is zero: invalid field specification '1,0'"},
      {"1.0", "character offset is zero: invalid field specification '1.0'"},
      {"1x", "stray character in field spec: invalid field specification '1x'"},
      {"1,2 ", "stray character in field spec: invalid field specification '1,2 '"},
      {"1,2,3", "stray character in field spec: invalid field specification '1,2,3'"},
      {"", "invalid number at field start: invalid count at start of ''"},
      {"x", "invalid number at field start: invalid count at start of 'x'"},
      {"-1", "invalid number at field start: invalid count at start of '-1'"},
      {"1,", "invalid number after ',': invalid count at start of ''"},
      {"1.,2", "invalid number after '.': invalid count at start of ',2'"},
      {"1,2.x", "invalid number after '.': invalid count at start of 'x'"},
      {"a'\\\n\001\377", "invalid number at field start: invalid count at start of 'a\\'\\\\\\n\\001\\377'"},
  };
  for (const auto& [text, said] : cases) EXPECT_EQ(Complaint([&] { ParseKeyDef(text); }), said);
}

TEST(ParseObsolescentKey, IsAKeyOrAFile) {
  const auto key = [](const char* start, std::optional<std::string> end = {}) {
    return ParseObsolescentKey(start, end);
  };
  const auto def = [](KeyDef same) {
    same.obsolescent = true;
    return same;
  };
  EXPECT_EQ(key("+1"), def(Def(1, 0)));
  EXPECT_EQ(key("+1.2n", "-3"), def(Def(1, 2, 2, 0, Letters("n"))));
  EXPECT_EQ(key("+0", "-0"), def(Def(0, 0, 0, 0)));
  EXPECT_EQ(key("+0", "-3.1b"), def(Def(0, 0, 3, 1, Letters("b", KeyEnd::kEnd))));
  EXPECT_EQ(key("+18446744073709551615.3"), def(Def(0, 0)));
  for (const char* file : {"1", "+", "+x", "+1x", "+1.", "+1.x", ""}) EXPECT_EQ(key(file), std::nullopt) << file;
  EXPECT_EQ(Complaint([&] { key("+1", "-2x"); }), "stray character in field spec: invalid field specification '-2x'");
  EXPECT_EQ(Complaint([&] { key("+1", "-2.x"); }), "invalid number after '.': invalid count at start of 'x'");
}

TEST(ResolveKeys, LetsKeysWithoutLettersTakeOverTheGlobalOnes) {
  const KeyOptions global = Letters("nrb");
  const std::vector<KeyDef> keys = ResolveKeys({ParseKeyDef("1"), ParseKeyDef("2r"), ParseKeyDef("3f")}, global);
  EXPECT_EQ(keys[0].options, global);
  EXPECT_EQ(keys[1].options, Letters("r"));
  EXPECT_EQ(keys[2].options, Letters("f"));
  EXPECT_EQ(ResolveKeys({}, Letters("nr")), std::vector<KeyDef>{Def(0, 0, LineKey::kToEnd, 0, Letters("nr"))});
  EXPECT_TRUE(ResolveKeys({}, Letters("r")).empty());
  const LineOrder order = MakeLineOrder({}, Letters("r"), -1, true);
  EXPECT_TRUE(order.keys.empty());
  EXPECT_TRUE(order.last_resort_reverse);
}

TEST(ResolveKeys, RefusesWhatCannotBeTogether) {
  const auto said = [](const char* key, const char* global) {
    return Complaint([&] { ResolveKeys({ParseKeyDef(key)}, Letters(global)); });
  };
  EXPECT_EQ(said("1", "ng"), "options '-gn' are incompatible");
  EXPECT_EQ(said("1hrbfn", ""), "options '-fhn' are incompatible");
  EXPECT_EQ(said("1nid", ""), "options '-dn' are incompatible");
  EXPECT_EQ(said("1MVRi", ""), "options '-iMRV' are incompatible");
  EXPECT_EQ(said("1RVdif", ""), "");
  EXPECT_EQ(said("1n", "g"), "");
  EXPECT_EQ(Complaint([] { ResolveKeys({}, Letters("nM")); }), "options '-Mn' are incompatible");
}

/// Runs the system's sort in the C locale. Its output and its messages go to the files `out` and `err`.
int RunSort(const Words& arguments, const std::string& in, const std::string& out, const std::string& err) {
  Words words = {"sort"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string locale = "LC_ALL=C";
  std::string path = std::string("PATH=") + (std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  std::string posix = "_POSIX2_VERSION=199209";  // allows the old syntax +1 -2
  char* environment[] = {locale.data(), path.data(), posix.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "sort", &files, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Text(const std::string& path) {
  const testing::Bytes bytes = testing::ReadFile(path);
  return {bytes.begin(), bytes.end()};
}

class SystemSort : public ::testing::TestWithParam<LineOrdering> {
 protected:
  void SetUp() override {
    if (RunSort({"--version"}, "/dev/null", folder_ / "out", folder_ / "err") != 0 ||
        Text(folder_ / "out").find("GNU coreutils") == std::string::npos) {
      GTEST_SKIP() << "the system's sort is not GNU's";
    }
  }
  testing::TempFolder folder_;
};

std::string NameOf(const ::testing::TestParamInfo<LineOrdering>& test) {
  const char* const names[] = {"Bytes", "Numeric", "General", "Human", "Month", "Version", "Random"};
  return names[static_cast<int>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(Line, SystemSort, ::testing::ValuesIn(testing::kAllOrderings), NameOf);

char LetterOf(LineOrdering ordering) { return "?nghMVR"[static_cast<int>(ordering)]; }

/// Returns letters for a key or the command line that may be combined with `ordering`.
std::string SomeLetters(LineOrdering ordering) {
  std::string letters;
  if (ordering != LineOrdering::kBytes) letters += LetterOf(ordering);
  const bool ignores =
      ordering == LineOrdering::kBytes || ordering == LineOrdering::kVersion || ordering == LineOrdering::kRandom;
  for (const char letter : {'b', 'f', 'r'}) {
    if (*testing::Sometimes()) letters += letter;
  }
  for (const char letter : {'d', 'i'}) {
    if (ignores && *testing::Sometimes()) letters += letter;
  }
  return letters;
}

std::string SomePosition(bool end) {
  std::string text = std::to_string(*rc::gen::inRange(1, 5));
  // GNU sort 9.1 reads before its buffer for byte offsets near 2^64 (fixed in 9.8), so the test contains no such
  // offsets.
  if (*testing::Sometimes()) text += "." + std::to_string(*rc::gen::inRange(end ? 0 : 1, 6));
  if (*rc::gen::weightedElement<bool>({{30, false}, {1, true}})) text = "18446744073709551615";
  return text;
}

std::string SomeKeyDef(LineOrdering ordering) {
  std::string text = SomePosition(false);
  const std::string letters = *rc::gen::arbitrary<bool>() ? SomeLetters(ordering) : "";
  const bool split = *rc::gen::arbitrary<bool>();
  if (!split) text += letters;
  if (*rc::gen::arbitrary<bool>()) {
    text += "," + SomePosition(true);
    if (*testing::Sometimes()) text += "b";
    if (split) text += letters;
  }
  return text;
}

/// Returns true if `text` consists only of what -V takes for a suffix: (\.[A-Za-z~][A-Za-z0-9~]*)+
bool OnlySuffix(const std::string& text) {
  const auto letter = [&](std::size_t i) {
    return i < text.size() && (detail::IsAlpha(Byte(text[i])) || text[i] == '~');
  };
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] != '.' || !letter(++i)) return false;
    while (letter(i) || (i < text.size() && detail::IsDigit(Byte(text[i])))) ++i;
  }
  return !text.empty();
}

/// Returns true for lines that GNU sort 9.1 (Debian 12) orders differently from 9.2 and later, which gpusort follows.
/// This concerns names that are only a suffix (-V), and NaNs among each other (-g). Version 9.1 does not know the
/// suffixes R and Q (-h) either; no line contains them.
bool DiffersIn91(const std::string& line, const LineOrder& order) {
  return std::any_of(order.keys.begin(), order.keys.end(), [&](const LineKey& key) {
    std::string text = testing::KeyOf(line, key, order.separator);
    if (key.ordering == LineOrdering::kGeneral) {
      const int rank = detail::ReadGeneral({testing::Data(text), 0, text.size(), nullptr}).rank;
      return rank == 1 || rank == 2;
    }
    std::erase_if(text, [&](char c) { return detail::Ignores(key, Byte(c)); });
    return key.ordering == LineOrdering::kVersion && OnlySuffix(text);
  });
}

TEST_P(SystemSort, GivesTheSameBytes) {
  const std::string salt(16, 'S');
  testing::WriteFile(folder_ / "salt", testing::Bytes(salt.begin(), salt.end()));
  EXPECT_TRUE(rc::check([&] {
    Words arguments;
    std::vector<KeyDef> keys;
    const bool plain = GetParam() == LineOrdering::kBytes;
    const bool global = !plain && *rc::gen::arbitrary<bool>();
    const std::string letters = SomeLetters(global ? GetParam() : LineOrdering::kBytes);
    for (const char letter : letters) arguments.push_back(std::string("-") + letter);
    const int key_count = *rc::gen::inRange(global || plain ? 0 : 1, 4);
    for (int k = 0; k < key_count; ++k) {
      const LineOrdering ordering =
          k == 0 || *rc::gen::arbitrary<bool>() ? GetParam() : testing::kAllOrderings[*rc::gen::inRange(0, 7)];
      arguments.push_back("-k" + SomeKeyDef(ordering));
      keys.push_back(ParseKeyDef(arguments.back().substr(2)));
    }
    int separator = *testing::Separator();
    if (separator == 0) arguments.push_back("-t\\0");
    if (separator > 0) arguments.push_back(std::string("-t") + static_cast<char>(separator));
    const bool stable = *testing::Sometimes();
    const bool unique = *testing::Sometimes();
    const bool zero = *testing::Sometimes();
    if (stable) arguments.push_back("-s");
    if (unique) arguments.push_back("-u");
    if (zero) arguments.push_back("-z");

    const KeyOptions options = Letters(letters);
    std::vector<KeyDef> resolved;
    const std::string said = Complaint([&] { resolved = ResolveKeys(keys, options); });
    LineOrder order = MakeLineOrder(resolved, options, separator, !stable && !unique);
    std::memcpy(order.salt, salt.data(), sizeof order.salt);
    const LineOrderView view = order.view();

    Words lines = *testing::LinesOf(*rc::gen::inRange<std::size_t>(0, 40), GetParam(), zero);
    std::erase_if(lines, [&](const std::string& line) { return DiffersIn91(line, order); });
    std::string input;
    for (const std::string& line : lines) input += line + (zero ? '\0' : '\n');
    testing::WriteFile(folder_ / "in", testing::Bytes(input.begin(), input.end()));

    arguments.insert(arguments.end(), {"--parallel=1", "-S1M", "--random-source=" + folder_ / "salt"});
    const int exit = RunSort(arguments, folder_ / "in", folder_ / "out", folder_ / "err");
    RC_LOG() << ::testing::PrintToString(arguments) << std::endl;
    if (!said.empty()) {
      RC_ASSERT(exit == 2);
      RC_ASSERT(Text(folder_ / "err") == "sort: " + said + "\n");
      return;
    }
    RC_ASSERT(exit == 0);
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const std::string& a, const std::string& b) { return testing::Compare(a, b, view) < 0; });
    if (unique) {
      const auto equal = [&](const std::string& a, const std::string& b) { return testing::Compare(a, b, view) == 0; };
      lines.erase(std::unique(lines.begin(), lines.end(), equal), lines.end());
    }
    std::string expected;
    for (const std::string& line : lines) expected += line + (zero ? '\0' : '\n');
    RC_ASSERT(Text(folder_ / "out") == expected);
  }));
}

using SystemSortMessages = SystemSort;
INSTANTIATE_TEST_SUITE_P(Line, SystemSortMessages, ::testing::Values(LineOrdering::kBytes), NameOf);

TEST_P(SystemSortMessages, AreTheSame) {
  EXPECT_TRUE(rc::check([&] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element(
        '1', '0', '2', '.', ',', 'n', 'b', 'r', 'g', 'x', ' ', '-', '+', '\'', '\\', '\n', '\x01', '\xff'));
    std::vector<KeyDef> keys;
    const std::string said = Complaint([&] { ResolveKeys({ParseKeyDef(text)}, {}); });
    const int exit = RunSort({"-k", text}, "/dev/null", folder_ / "out", folder_ / "err");
    RC_ASSERT(exit == (said.empty() ? 0 : 2));
    RC_ASSERT(Text(folder_ / "err") == (said.empty() ? "" : "sort: " + said + "\n"));
  }));
}

TEST_P(SystemSortMessages, AndObsolescentKeysAreTheSame) {
  const std::string input = "b 3 x\na 2 y\nc 1 z\na 10 x\n  d 4\n";
  testing::WriteFile(folder_ / "in", testing::Bytes(input.begin(), input.end()));
  EXPECT_TRUE(rc::check([&] {
    const std::string start =
        "+" + std::to_string(*rc::gen::inRange(0, 4)) + *rc::gen::element<std::string>("", "n", ".1", ".2b", "r", ".0");
    std::optional<std::string> end;
    if (*rc::gen::arbitrary<bool>()) {
      end = "-" + std::to_string(*rc::gen::inRange(0, 4)) +
            *rc::gen::element<std::string>("", "b", ".0", ".1", ".2b", ".x");
    }
    Words arguments = {"-s", start};
    if (end) arguments.push_back(*end);
    const int exit = RunSort(arguments, folder_ / "in", folder_ / "out", folder_ / "err");
    std::optional<KeyDef> key;
    const std::string said = Complaint([&] { key = ParseObsolescentKey(start, end); });
    if (!said.empty()) {
      RC_ASSERT(exit == 2);
      RC_ASSERT(Text(folder_ / "err") == "sort: " + said + "\n");
      return;
    }
    RC_ASSERT(key.has_value());
    const LineOrder order = MakeLineOrder(ResolveKeys({*key}, {}), {}, -1, false);
    Words lines = {"b 3 x", "a 2 y", "c 1 z", "a 10 x", "  d 4"};
    std::stable_sort(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
      return testing::Compare(a, b, order.view()) < 0;
    });
    std::string expected;
    for (const std::string& line : lines) expected += line + '\n';
    RC_ASSERT(Text(folder_ / "out") == expected);
  }));
}

}  // namespace
}  // namespace gpusort
