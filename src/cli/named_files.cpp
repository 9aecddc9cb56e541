#include "cli/named_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/names_of_inputs.hpp"
#include "cli/option_values.hpp"
#include "formats/text_reader.hpp"
#include "io/file.hpp"
#include "io/path.hpp"

namespace gpusort {
namespace {

/// Returns the first `most` bytes of a file, or of standard input ("-").
std::string ReadFront(const std::string& path, std::size_t most, const CancelFlag& cancel) {
  // Opening /dev/stdin would read a file from its start again, and fails for sockets and other users' pipes.
  const detail::Fd opened(path == "-" ? -1 : detail::OpenPath(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (path != "-" && !opened.open()) FailUsage(InQuotes(path) + " cannot be read: " + detail::ErrnoText(errno));
  std::string text;
  try {
    PipeReader source(path == "-" ? STDIN_FILENO : opened.get(), path, cancel);
    std::byte block[4096];
    while (text.size() < most) {
      const std::size_t got = source.ReadSome(std::span(block).first(std::min(most - text.size(), sizeof block)));
      if (got == 0) break;
      text.append(reinterpret_cast<const char*>(block), got);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    FailUsage(InQuotes(path) + " cannot be read: " + error.what());
  }
  return text;
}

/// Appends the names in `text` to the inputs. A NUL ends each name.
void AddNames(const std::string& text, Source& source) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    if (end == at) {
      FailUsage("name " + std::to_string(source.inputs.size() + 1) + " in " + InQuotes(source.names_file) +
                " is empty");
    }
    source.inputs.push_back(text.substr(at, end - at));
    if (source.names_file == "-" && source.inputs.back() == "-") {
      FailUsage("standard input gives the names, so it cannot be one of the inputs");
    }
    at = end + 1;
  }
  if (source.inputs.empty()) FailUsage(InQuotes(source.names_file) + " names no input");
}

/// Returns the values in a file of the type order(FILE): the text of each line up to the first tab or blank. Leaves out
/// empty lines.
std::vector<std::string> ValuesOf(const std::string& file, std::string_view text) {
  constexpr std::size_t kMost = 1000000;
  std::vector<std::string> values;
  std::unordered_map<std::string_view, std::size_t> lines;
  if (text.find('\0') != text.npos) FailUsage(InQuotes(file) + " is no text; expand it first if it is compressed");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view value = line.substr(0, line.find_first_of("\t \r"));
    if (value.empty() && line.find_first_not_of("\t \r") == line.npos) continue;
    const auto place = [&] { return InQuotes(file) + ": line " + std::to_string(number); };
    if (value.empty()) FailUsage(place() + " begins with a tab or blank; a value is the text before the first of them");
    if (const auto [known, added] = lines.try_emplace(value, number); !added) {
      FailUsage(place() + " has the value " + InQuotes(std::string(value)) + " again, which is in line " +
                std::to_string(known->second) + "; a value is the text before the first tab or blank");
    }
    if (lines.size() > kMost) FailUsage(InQuotes(file) + ": it has more than " + std::to_string(kMost) + " values");
    values.emplace_back(value);
  }
  if (values.empty()) FailUsage(InQuotes(file) + " has no values");
  return values;
}

/// Throws an error if the extension of an input contradicts a decision that was made before the names were known.
void CheckName(const std::string& input, const Source& source) {
  if (source.format_guessed) {
    if (input != "-" && TypeOfName(ExpandedName(input, source))) {
      FailUsage("the name " + InQuotes(input) + " means numbers: give --format lines, or " + kTypeHelp);
    }
    RefuseTypeInDoubt(input, source);
    if (const FormatRow* const row = FormatOfFile(ExpandedName(input, source))) {
      FailUsage("the name " + InQuotes(input) + " means records with columns: give --format " + row->name +
                ", or --format lines");
    }
  }
  if (!source.codec) RefuseCodecInDoubt(input, "--decompress");
}

}  // namespace

void RequireInput(const std::string& input) {
  if (input != "-" && !IsStreamSource(input)) FileSystem().OpenInput(input, false);
}

void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel, const std::vector<std::string>& known) {
  auto content = [&, next = std::size_t{0}](const std::string& file, std::size_t most) mutable {
    return next < known.size() ? known[next++] : ReadFront(file, most, cancel);
  };
  if (!spec.source.names_file.empty()) {
    Named("--files0-from", [&] {
      AddNames(ReadFront(spec.source.names_file, std::string::npos, cancel), spec.source);
      for (const std::string& input : spec.source.inputs) CheckName(input, spec.source);
      if (std::count(spec.source.inputs.begin(), spec.source.inputs.end(), "-") > 1) {
        FailUsage("standard input (-) can be read only once");
      }
    });
  }
  for (std::size_t i = 0; spec.source.table && i < spec.source.table->keys.size(); ++i) {
    ColumnKey& key = spec.source.table->keys[i];
    if (key.rule.order_file.empty()) continue;
    Named("-k " + InQuotes(key.text), [&] {
      if (key.rule.order_file == "-") FailUsage("give a file, not standard input (-)");
      key.rule.labels = ValuesOf(key.rule.order_file, content(key.rule.order_file, std::string::npos));
    });
  }
  if (!spec.order.random) return;
  Named("--random-source", [&] {
    const std::string file = spec.order.random_source.empty() ? "/dev/urandom" : spec.order.random_source;
    const std::string salt = content(file, 16);
    if (salt.size() < 16) FailUsage(InQuotes(spec.order.random_source) + " has fewer than 16 bytes");
    LineOrder order = spec.order.lines->order;
    std::memcpy(order.salt, salt.data(), 16);
    spec.order.lines = std::make_shared<const LineOrdered>(std::move(order));
    spec.order.layout = MakeLineLayout(spec.order.layout.delimiter, spec.order.lines->view);
  });
}

}  // namespace gpusort
