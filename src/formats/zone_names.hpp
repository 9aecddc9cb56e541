// Abbreviations of time zones with their offsets, as in PostgreSQL's set `Default`: IST is Israel's, BST is Britain's,
// and CST and EST are North America's. Names whose offset changed over the years are left out (MSK is +3). WEST, CAT,
// HDT, ChST, SST (Samoa), WIB, WITA and WIT are added, because programs write them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "formats/text_reader.hpp"

namespace gpusort {
namespace detail {

struct ZoneName {
  std::string_view name;  ///< in lower case
  std::int16_t minutes;   ///< offset from UTC in minutes; positive: east
};

inline constexpr ZoneName kZoneNames[] = {
    {"acdt", 630}, {"acsst", 630}, {"acst", 570}, {"act", -300}, {"acwst", 525}, {"adt", -180}, {"aedt", 660},
    {"aesst", 660}, {"aest", 600}, {"aft", 270}, {"akdt", -480}, {"akst", -540}, {"almst", 420}, {"almt", 360},
    {"amt", -240}, {"ast", -240}, {"awsst", 540}, {"awst", 480}, {"azost", 0}, {"azot", -60}, {"bdst", 120},
    {"bdt", 360}, {"bnt", 480}, {"bort", 480}, {"bot", -240}, {"bra", -180}, {"brst", -120}, {"brt", -180},
    {"bst", 60}, {"btt", 360}, {"cadt", 630}, {"cast", 570}, {"cat", 120}, {"cct", 480}, {"cdt", -300},
    {"cest", 120}, {"cet", 60}, {"cetdst", 120}, {"chadt", 825}, {"chast", 765}, {"chst", 600}, {"chut", 600}, {"clst", -180},
    {"cot", -300}, {"cst", -360}, {"cxt", 420}, {"ddut", 600}, {"eat", 180}, {"edt", -240}, {"eest", 180},
    {"eet", 120}, {"eetdst", 180}, {"egst", 0}, {"egt", -60}, {"est", -300}, {"fet", 180}, {"fjst", 780},
    {"fjt", 720}, {"fnst", -60}, {"fnt", -120}, {"galt", -360}, {"gamt", -540}, {"gft", -180}, {"gilt", 720},
    {"gmt", 0}, {"hdt", -540}, {"hkt", 480}, {"hst", -600}, {"ict", 420}, {"idt", 180}, {"irt", 210}, {"ist", 120},
    {"jayt", 540}, {"jst", 540}, {"kdt", 600}, {"kgst", 360}, {"kst", 540}, {"lhst", 630}, {"ligt", 600},
    {"mart", -570}, {"mdt", -360}, {"mest", 120}, {"mesz", 120}, {"met", 60}, {"metdst", 120}, {"mez", 60},
    {"mht", 720}, {"mmt", 390}, {"mpt", 600}, {"msd", 240}, {"msk", 180}, {"mst", -420}, {"must", 300},
    {"mut", 240}, {"mvt", 300}, {"myt", 480}, {"ndt", -150}, {"nft", -210}, {"npt", 345}, {"nst", -210},
    {"nzdt", 780}, {"nzst", 720}, {"nzt", 720}, {"pdt", -420}, {"pet", -300}, {"pgt", 600}, {"pht", 480},
    {"pkst", 360}, {"pkt", 300}, {"pmdt", -120}, {"pmst", -180}, {"pont", 660}, {"pst", -480}, {"pwt", 540},
    {"pyst", -180}, {"ret", 240}, {"sadt", 630}, {"sast", 120}, {"sct", 240}, {"sst", -660}, {"taht", -600}, {"tft", 300},
    {"tjt", 300}, {"tot", 780}, {"trut", 600}, {"tvt", 720}, {"uct", 0}, {"ulast", 540}, {"ut", 0}, {"utc", 0},
    {"uyst", -120}, {"uyt", -180}, {"uzst", 360}, {"uzt", 300}, {"vut", 660}, {"wadt", 480}, {"wakt", 720},
    {"wast", 420}, {"wat", 60}, {"wdt", 540}, {"west", 60}, {"wet", 0}, {"wetdst", 60}, {"wft", 720},
    {"wgst", -120}, {"wgt", -180}, {"wib", 420}, {"wit", 540}, {"wita", 480}, {"xjt", 360}, {"yapt", 600},
    {"yekst", 360}, {"z", 0}, {"zulu", 0},
};

}  // namespace detail

/// Skips the letters at the front of `reader` if they are the name of a time zone, in any case. Returns the zone's
/// seconds east of UTC, or std::nullopt if they are no name.
inline std::optional<std::int64_t> TakeZoneName(TextReader& reader) {
  char lower[6];
  std::size_t size = 0;
  for (const char* at = reader.at; at != reader.end && Lower(*at) >= 'a' && Lower(*at) <= 'z'; ++at) {
    if (size == sizeof(lower)) return std::nullopt;
    lower[size++] = Lower(*at);
  }
  const std::string_view name(lower, size);
  const auto* const found = std::lower_bound(std::begin(detail::kZoneNames), std::end(detail::kZoneNames), name,
                                             [](const detail::ZoneName& zone, std::string_view wanted) { return zone.name < wanted; });
  if (found == std::end(detail::kZoneNames) || found->name != name) return std::nullopt;
  reader.at += size;
  return std::int64_t{found->minutes} * 60;
}

}  // namespace gpusort
