// Fuzzes the manifest of a job that continues with arbitrary text. Each text is read twice: unchanged, and as lines of
// JSON with correct hashes, so that the content of a forged manifest is read, too. The result must be the facts of the
// complete lines, or kIntegrity or kUsage with the name of the manifest. A manifest with one changed bit must never
// give other facts.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/text.hpp"
#include "kernels/error.hpp"
#include "require.hpp"
#include "runs/journal.hpp"
#include "runs/run_store.hpp"

namespace {

using namespace gpusort;

std::optional<Manifest> Read(const std::string& text) {
  try {
    return ReadManifest(text, "fuzz");
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kIntegrity || error.code() == ErrorCode::kUsage, error.what());
    Require(std::string_view(error.what()).starts_with("fuzz: "), error.what());
    return std::nullopt;
  }
}

/// Returns the facts of a manifest. The hash of the last line covers all lines.
auto Facts(const Manifest& manifest) {
  return std::tuple(manifest.bytes, manifest.hash, manifest.attempts.size(), manifest.runs.size(), manifest.formed,
                    manifest.merge.has_value(), manifest.publishing.has_value(), manifest.done);
}

/// Adds hashes in the form of FORMAT.md: each line's JSON without its last brace, then the hash of that text and of all
/// lines before.
std::string Sealed(std::string_view text) {
  std::string sealed;
  for (std::uint64_t hash = 0; !text.empty();) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view front = line.substr(0, line.size() - (line.ends_with('}') ? 1 : 0));
    hash = XXH3_64bits_withSeed(front.data(), front.size(), hash);
    sealed.append(front).append(R"(,"xxh3":")").append(Hex(hash)).append("\"}\n");
  }
  return sealed;
}

void Check(const std::string& text) {
  const std::optional<Manifest> manifest = Read(text);
  if (!manifest) return;
  Require(manifest->bytes <= text.size(), "more than there is");
  const std::optional<Manifest> whole = Read(text.substr(0, manifest->bytes));
  Require(whole && Facts(*whole) == Facts(*manifest), "a torn line counts");
  if (manifest->bytes < 2) return;
  Require(KeptRuns(*manifest).size() == manifest->runs.size(), "runs are lost");
  manifest->bytes_formed();

  // Changes one bit of the lines that count.
  std::string damaged = text.substr(0, manifest->bytes);
  const std::size_t last = damaged.rfind('\n', damaged.size() - 2) + 1;  // npos + 1 is 0
  const std::uint64_t random = manifest->hash;
  const std::size_t at = random / 8 % damaged.size();
  damaged[at] = static_cast<char>(damaged[at] ^ (1 << random % 8));
  const std::optional<Manifest> read = Read(damaged);
  if (!read) return;
  Require(read->bytes <= last && read->bytes <= at, "a damaged line counts");
  const std::optional<Manifest> front = Read(text.substr(0, read->bytes));
  Require(front && Facts(*front) == Facts(*read), "lines in front of a damaged one say something else");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string text(reinterpret_cast<const char*>(bytes), count);
  Check(text);
  Check(Sealed(text));
  return 0;
}
