#include "cli/completion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "cli/option_table.hpp"
#include "cli/parse_options.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Words = std::vector<std::string>;

/// Returns the candidates for the last word of the line.
Words Candidates(Words line) {
  line.insert(line.begin(), "gpusort");
  Words texts;
  for (const Completions::Word& word : Complete(line, line.size() - 1).words) texts.push_back(word.text);
  return texts;
}

bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Completions::Names NamesFor(Words line) {
  line.insert(line.begin(), "gpusort");
  return Complete(line, line.size() - 1).names;
}

Words Listed(std::string_view words) {
  std::istringstream list{std::string(words)};
  return {std::istream_iterator<std::string>(list), {}};
}

std::string Complaint(const Words& line) {
  try {
    ParseOptions(line);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Completion, HasEveryOptionOfTheTableAndTheirWords) {
  for (const OptionRow& row : kOptionRows) {
    const std::string name = std::string("--") + row.name;
    const bool value = row.argument[0] != '\0';
    if (row.letter != 0) {
      EXPECT_TRUE(Has(Candidates({"-"}), std::string("-") + row.letter)) << row.letter;
    }
    if (row.name[0] == '\0') continue;
    for (const std::string& typed : {std::string("-"), std::string("--"), name}) {
      EXPECT_TRUE(Has(Candidates({typed}), name + (value ? "=" : ""))) << typed;
    }
    for (const std::string& word : WordsOf(row)) {
      EXPECT_TRUE(Has(Candidates({name + "="}), name + "=" + word));
      if (value) {
        EXPECT_TRUE(Has(Candidates({name, ""}), word)) << name;
      }
      if (value && row.letter != 0) {
        EXPECT_TRUE(Has(Candidates({std::string("-") + row.letter, ""}), word)) << name;
      }
    }
    const std::string argument = row.argument;
    if (argument == "FILE") {
      EXPECT_EQ(NamesFor({name, "a"}), Completions::Names::kFiles) << name;
    }
    if (argument == "DIR") {
      EXPECT_EQ(NamesFor({name + "=a"}), Completions::Names::kFolders) << name;
    }
    if (argument == "SIZE") {
      EXPECT_TRUE(Has(Candidates({name + "=2"}), name + "=2G")) << name;
    }
    if (value) {
      EXPECT_FALSE(Has(Candidates({name, "--"}), "--version")) << "the value of " << name;
    }
  }
}

TEST(Completion, SaysOfEveryOptionWhatItMeans) {
  for (const Completions::Word& word : Complete({"gpusort", "-"}, 1).words) {
    EXPECT_LE(word.about.size(), 90u) << word.text;
    const Words said = Listed(word.about);
    ASSERT_GT(said.size(), 1u) << word.text << ": " << word.about;
    // Candidates are neither values of the option, nor words that only have a meaning after another option.
    const OptionRow* const row = FindOption(word.text.substr(0, word.text.find('=')));
    ASSERT_NE(row, nullptr) << word.text;
    EXPECT_FALSE(Has(WordsOf(*row), said[0])) << word.about;
    EXPECT_NE(word.about, "the same") << word.text;
  }
}

TEST(Completion, HasTheWordsThatTheParserTakes) {
  for (const OptionRow& row : kOptionRows) {
    const std::string option = std::string("--") + row.name + "=";
    const Words words = WordsOf(row);
    if (words.empty()) continue;
    for (const std::string& word : words) {
      const std::string refusal = Complaint({option + word + (word.ends_with(':') ? "0" : ""), "a.csv", "b"});
      EXPECT_EQ(refusal.find("is none of"), refusal.npos) << refusal;
      EXPECT_EQ(refusal.find("is not a type"), refusal.npos) << refusal;
    }
    const std::string refusal = Complaint({option + "nonesuch", "a", "b"}), none = " is none of: ";
    if (refusal.find(none) == refusal.npos) continue;
    std::string list = refusal.substr(refusal.find(none) + none.size());
    list.erase(std::remove(list.begin(), list.end(), ','), list.end());
    for (const std::string& word : Listed(list)) {
      if (word != "zstd") {
        EXPECT_TRUE(Has(words, word)) << option << ": " << word;  // zst has this second name
      }
    }
  }
  // Sizes that may be given as a share.
  for (const OptionRow& row : kOptionRows) {
    if (std::string_view(row.argument) != "SIZE") continue;
    const std::string refusal = Complaint({std::string("--") + row.name + "=50%", "a.csv", "b"});
    if (std::string_view(row.name) != "batch-size") {
      EXPECT_EQ(refusal.empty(), (row.traits & kShare) != 0) << row.name << refusal;
    }
  }
}

TEST(Completion, KnowsTheValueOfAnOptionAndTheEndOfOptions) {
  EXPECT_EQ(Candidates({"--progress", "al"}), Words{"always"});
  EXPECT_EQ(Candidates({"--progress", "always", "--log-form"}), Words{"--log-format="});
  EXPECT_EQ(Candidates({"-rukname:int:d", "a"}), Words{});
  EXPECT_EQ(Candidates({"a.csv", "-rukname:int:d"}), Words{"-rukname:int:desc"});
  EXPECT_EQ(Candidates({"-ru"}), Words{"-ru"});
  EXPECT_EQ(Candidates({"-rQ"}), Words{});
  EXPECT_EQ(Candidates({"--", "-"}), Words{});
  EXPECT_EQ(NamesFor({"--", "-"}), Completions::Names::kFiles);
  EXPECT_EQ(NamesFor({"--top", "1"}), Completions::Names::kNone);
  EXPECT_EQ(NamesFor({""}), Completions::Names::kFiles);
  EXPECT_EQ(NamesFor({"--status", "-T", ""}), Completions::Names::kFolders);
  EXPECT_EQ(Candidates({"--memory", "1.5"}), (Words{"1.5K", "1.5M", "1.5G", "1.5T", "1.5%"}));
  EXPECT_EQ(Candidates({"--type=u32"}), (Words{"--type=u32", "--type=u32be"}));
  EXPECT_EQ(Candidates({"--nonesuch="}), Words{});
}

TEST(Completion, HasTheTypesOfKeysBehindTheirColons) {
  EXPECT_EQ(Candidates({"--record-size", "8", "-k", "0:f32"}), (Words{"0:f32", "0:f32be"}));
  EXPECT_EQ(Candidates({"-k", "0:f32:"}), (Words{"0:f32:asc", "0:f32:desc"}));
  EXPECT_EQ(Candidates({"-k", "2,3:"}), Words{});
  EXPECT_EQ(Candidates({"a.csv", "-k", "x:de"}), (Words{"x:decimal", "x:desc"}));
  EXPECT_EQ(Candidates({"a.csv", "-k", "x:int:de"}), Words{"x:int:desc"});
  EXPECT_EQ(Candidates({"--format=csv", "-k", "\"x:de\":desc:n"}),
            (Words{"\"x:de\":desc:nocase", "\"x:de\":desc:natural", "\"x:de\":desc:number", "\"x:de\":desc:nulls-first",
                   "\"x:de\":desc:nulls-last"}));
  EXPECT_EQ(Candidates({"a.csv", "-k", "\"x:de"}), Words{});
}

TEST(Completion, CutsALineAsBashDoes) {
  const auto replies = [](std::string_view before, std::string_view behind) {
    Words texts;
    for (const Completions::Word& word : CompleteBash(Complete, before, behind, " \t\n\"'><=;|&(:").words)
      texts.push_back(word.text);
    return texts;
  };
  EXPECT_EQ(replies("gpusort --progress=al", " in out"), Words{"always"});
  EXPECT_EQ(replies("gpusort --progress='al", ""), Words{"always"});
  EXPECT_EQ(replies("gpusort '--progress=al", ""), Words{"--progress=always"});
  EXPECT_EQ(replies("gpusort \"--progress\" al", "wa in out"), Words{"always"});
  EXPECT_EQ(replies("gpusort --pro\\gress al", ""), Words{"always"});
  EXPECT_EQ(replies("gpusort -k \\\"a\\ b\\\":int:d", " x.csv"), Words{"desc"});
  EXPECT_EQ(replies("gpusort -k '\"a b\":int:d", "' x.csv"), Words{"\"a b\":int:desc"});
  EXPECT_EQ(replies("gpusort x.csv -k '\"a b\"':int:d", ""), Words{"desc"});
  EXPECT_EQ(replies("gpusort x.csv -k \"\\\"a b\\\":int:d", ""), Words{"\\\"a b\\\":int:desc"});
  EXPECT_EQ(replies("gpusort", ""), Words{});
  EXPECT_EQ(replies("", ""), Words{});
}

}  // namespace
}  // namespace gpusort
