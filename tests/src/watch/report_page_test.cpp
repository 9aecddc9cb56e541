#include "watch/report_page.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace gpusort {
namespace {

std::size_t Occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

RC_GTEST_PROP(ReportPage, KeepsWhatOthersNamedAsText, ()) {
  const std::string evil =
      *rc::gen::element<std::string>("<", "</script>", "<script>", "<!--", "&lt;", "%DATA%", "\"", "'") +
      *rc::gen::string<std::string>() + "<b2>";
  ReportFacts facts;
  facts.files = {{"input", evil}, {"output", evil}};
  facts.stats.emplace().notes = {evil};
  facts.plan = facts.summary = evil;
  facts.about = {{evil, evil}};
  const JobEnding ending{*rc::gen::inRange(0, 10), evil, evil};
  const std::string page = ReportPage(facts, ending);
  RC_ASSERT(Occurrences(page, "<script") == 2u);
  RC_ASSERT(Occurrences(page, "</script") == 2u);
  RC_ASSERT(Occurrences(page, "<b2") == 0u);
  RC_ASSERT(Occurrences(page, "<!--") == 0u);
  const std::string mark = "id=\"data\">";
  const std::size_t begin = page.find(mark) + mark.size();
  const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  // Bytes that are not UTF-8 are replaced.
  const bool plain = std::all_of(evil.begin(), evil.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  if (plain) RC_ASSERT(data.at("notes").at(0) == evil && data.at("plan") == evil);
}

TEST(ReportPage, BeginsWithTheAnswer) {
  ReportFacts facts;
  facts.summary =
      "sorted 1.0 GiB (8 lines) in 2.00 s; 1 run, memory 1.0 MiB; limited by the cores\nfaster with: more cores\n";
  const std::string done = ReportPage(facts, {});
  EXPECT_NE(done.find("<b>Done</b>: sorted 1.0 GiB (8 lines) in 2.00 s</p>\n<p>1 run, memory 1.0 MiB; limited by the "
                      "cores</p>\n<p>faster with: more cores</p>\n<p class=\"muted\">exit code 0"),
            std::string::npos);
  facts.summary = "";
  const std::string failed = ReportPage(facts, {4, "", "the disk is gone"});
  EXPECT_NE(failed.find("<b>Failed</b></p>\n<p class=\"muted\">exit code 4"), std::string::npos);
  EXPECT_NE(failed.find("<p>the disk is gone</p>"), std::string::npos);
}

}  // namespace
}  // namespace gpusort
