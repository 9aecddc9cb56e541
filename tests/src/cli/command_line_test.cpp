// Tests how words become options, values and names, and that every row of the option table has what its readers need.
#include "cli/command_line.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "cli/task_options.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Words = std::vector<std::string>;

/// Writes each argument as "--name=value", "-letter", "?option" if it is unknown, or "name", with "!" after "--".
Words Read(const Words& words) {
  Words read;
  for (const Argument& argument : ReadCommandLine(words)) {
    std::string text = argument.row != nullptr ? LongName(*argument.row) : (argument.option ? "?" : "") + argument.text;
    if (argument.value && argument.row != nullptr) text += "=" + *argument.value;
    read.push_back(text + (argument.after_options ? "!" : ""));
  }
  return read;
}

TEST(ReadCommandLine, TakesValuesFromTheWordOrTheNextOne) {
  EXPECT_EQ(Read({"--memory", "1G", "--memory=2G", "-S", "3", "-S4", "-rukid:int", "a"}),
            (Words{"--memory=1G", "--memory=2G", "--buffer-size=3", "--buffer-size=4", "--reverse", "--unique",
                   "--key=id:int", "a"}));
  EXPECT_EQ(Read({"--reverse", "a", "-", "--check=quiet", "--memory=", "-C"}),
            (Words{"--reverse", "a", "-", "--check=quiet", "--memory=", "-C"}));
  EXPECT_EQ(Read({"-o", "--unique", "--", "-r", "--"}), (Words{"--output=--unique", "-r!", "--!"}));
}

TEST(ReadCommandLine, ReadsLinesThatAreRefused) {
  EXPECT_EQ(Read({"a", "--memory"}), (Words{"a", "--memory"}));
  EXPECT_EQ(Read({"--nonesuch=1", "b", "-rQ", "-T"}), (Words{"?--nonesuch=1", "b", "--reverse", "?-rQ", "--temp-dir"}));
  EXPECT_EQ(Read({}), Words{});
}

TEST(ReadCommandLine, KnowsTheWordsOfEachArgument) {
  const Words words{"-ruS", "1", "a"};
  const std::vector<Argument> arguments = ReadCommandLine(words);
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments[0].end, 1u);
  EXPECT_EQ(arguments[2].begin, 0u);
  EXPECT_EQ(arguments[2].end, 2u);
  EXPECT_EQ(arguments[3].begin, 2u);
  const SplitArguments split = SplitOptions(Words{"a", "-ruS", "1", "--top=3", "--", "-b"});
  EXPECT_EQ(split.options, (Words{"-ruS", "1", "--top=3"}));
  EXPECT_EQ(split.names, (Words{"a", "-b"}));
}

TEST(ReadCommandLine, ReadsObsolescentKeys) {
  ::unsetenv("_POSIX2_VERSION");
  ::unsetenv("POSIXLY_CORRECT");
  const std::vector<Argument> arguments = ReadCommandLine(Words{"+1", "-2", "a"});
  ASSERT_EQ(arguments.size(), 2u);
  EXPECT_TRUE(IsObsolescent(*arguments[0].value));
  EXPECT_EQ(KeyText(*arguments[0].value), "+1 -2");
  EXPECT_FALSE(IsObsolescent("+1"));
  EXPECT_EQ(Read({"+x", "--", "+1"}), (Words{"+x", "+1!"}));
}

TEST(AsksForJsonLog, LooksOnlyAtOptions) {
  EXPECT_TRUE(AsksForJsonLog(Words{"--nonsense", "--log-format=json"}));
  EXPECT_TRUE(AsksForJsonLog(Words{"--log-format", "json", "a"}));
  EXPECT_FALSE(AsksForJsonLog(Words{"--log-format=text", "a"}));
  EXPECT_FALSE(AsksForJsonLog(Words{"--", "--log-format=json"}));
  EXPECT_FALSE(AsksForJsonLog(Words{"-o", "--log-format=json"}));
}

TEST(OptionTable, HasASetterAndADistinctNameInEveryRow) {
  std::set<std::string> names;
  for (const OptionRow& row : kOptionRows) {
    EXPECT_NE(row.set, nullptr) << LongName(row);
    EXPECT_NE(row.help[0], '\0') << LongName(row);
    EXPECT_TRUE(names.insert(LongName(row)).second) << LongName(row);
    EXPECT_TRUE(row.letter == 0 || names.insert(ShortName(row)).second || row.name[0] == '\0') << LongName(row);
    EXPECT_EQ(FindOption(LongName(row)), &row);
    EXPECT_EQ(FindOption(ShortName(row)), &row);
    if (row.same_as[0] != '\0') {
      EXPECT_NE(FindOption(std::string("--") + row.same_as), nullptr) << row.same_as;
    }
  }
}

TEST(ParseTask, DividesItsOwnOptionsFromThoseOfGpusort) {
  const TaskArguments task =
      ParseTask(Words{"runs", "--slice", "0/2", "-k", "1,1", "--into=d", "a", "-rS", "1G", "--", "--slice"});
  EXPECT_EQ(task.slice, "0/2");
  EXPECT_EQ(task.into, "d");
  EXPECT_EQ(task.options, (Words{"-k", "1,1", "-rS", "1G"}));
  EXPECT_EQ(task.names, (Words{"a", "--slice"}));
  for (const Words& words : std::vector<Words>{{"bogus"},
                                               {"runs", "--slice"},
                                               {"runs", "--slice="},
                                               {"runs", "--slice", "0/1", "--slice", "0/1"},
                                               {"runs", "--parts", "2"},
                                               {"prove", "--trust=1"}}) {
    EXPECT_THROW(ParseTask(words), Error) << ::testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace gpusort
