#include "cli/names_of_inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "cli/option_values.hpp"
#include "io/file.hpp"
#include "io/system_calls.hpp"

namespace gpusort {
namespace {

/// Returns the codec that the extension of a path seems to mean, if gpusort does not know the extension. Such an
/// extension is in upper case, is the name of a program, or belongs to a compressed tar file.
std::optional<Codec> CodecInDoubt(const std::string& path) {
  static constexpr std::pair<const char*, Codec> kOthers[] = {
      {".gzip", Codec::kGz},  {".tgz", Codec::kGz},   {".taz", Codec::kGz},    {".bzip2", Codec::kBz2},
      {".tbz", Codec::kBz2},  {".tbz2", Codec::kBz2}, {".txz", Codec::kXz},    {".zstd", Codec::kZst},
      {".tzst", Codec::kZst}, {".tlz4", Codec::kLz4}, {".bgzf", Codec::kBgzf}, {".bgzip", Codec::kBgzf}};
  if (CodecOfPath(path) != Codec::kNone) return std::nullopt;
  const std::string lower = LowerText(path);
  if (const Codec codec = CodecOfPath(lower); codec != Codec::kNone) return codec;
  for (const auto& [extension, codec] : kOthers) {
    if (lower.ends_with(extension)) return codec;
  }
  return std::nullopt;
}

}  // namespace

void RefuseCodecInDoubt(const std::string& path, const std::string& option) {
  const std::optional<Codec> codec = CodecInDoubt(path);
  if (!codec) return;
  FailUsage("the name " + InQuotes(path) + " looks compressed, but only .gz .bgz .bz2 .xz .zst .lz4 tell that: give " +
            option + " " + std::string(CodecName(*codec)) + ", or " + option + " none if its bytes are the records");
}

std::optional<NamedType> TypeOfName(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const std::string extension = name.substr(dot + 1);
  if (extension == "bin") return NamedType{ParseType("i32"), ".bin"};
  try {
    const KeyField field = ParseType(extension);
    if (field.type != KeyType::kBytes) return NamedType{field, "." + extension};
  } catch (const Error&) {
    // Any other extension.
  }
  return std::nullopt;
}

void RefuseTypeInDoubt(const std::string& input, const Source& source) {
  const std::string name = ExpandedName(input, source);
  if (TypeOfName(name)) return;
  if (const std::optional<NamedType> type = TypeOfName(LowerText(name))) {
    FailUsage("the name " + InQuotes(input) + " looks like numbers, but extensions are in lower case: give --type " +
              FormatType(type->field) + ", or --format lines");
  }
}

NamedType TypeOfInputs(const Source& source) {
  if (source.inputs.empty()) FailUsage("the names that --files0-from gives do not tell: " + std::string(kTypeHelp));
  std::optional<NamedType> first;
  for (const std::string& input : source.inputs) {
    const std::optional<NamedType> type = input == "-" ? std::nullopt : TypeOfName(ExpandedName(input, source));
    if (!type) {
      FailUsage((input == "-" ? "standard input has no extension that tells"
                              : "the name " + InQuotes(input) + " does not tell") +
                " the type of its records: " + kTypeHelp);
    }
    if (first && !(first->field == type->field)) {
      FailUsage("the inputs' extensions " + first->extension + " and " + type->extension +
                " name different types: " + kTypeHelp);
    }
    if (!first) first = type;
  }
  return *first;
}

void SetTable(const FormatRow& row, Source& source) {
  source.table = TableOptions{{}, row.name, row.delimiter, row.quote, row.escape, -1, row.header};
}

namespace {

/// Returns the format if `path` is a regular file that begins and ends as files of columns do. Returns null if not.
/// Throws Error if the file cannot be read.
const FormatRow* FindColumnFormat(const std::string& path) {
  constexpr std::size_t kBetween = 4;  // the least number of bytes between the beginning and the end
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) detail::FailOpen("", path, error.value());
  if (!std::filesystem::is_regular_file(status)) return nullptr;
  FileSystem files;
  const std::unique_ptr<File> file = files.OpenInput(path, false);
  const std::uint64_t size = file->Facts().size;
  for (const FormatRow& row : kFormatRows) {
    const ColumnFile* const columns = FindColumnFile(row.codec);
    if (columns == nullptr || columns->magic.empty()) continue;
    const std::string_view magic = columns->magic;
    if (size < 2 * magic.size() + kBetween) continue;
    std::string front(magic.size(), '\0'), back(magic.size(), '\0');
    file->ReadAt(0, std::as_writable_bytes(std::span(front)));
    file->ReadAt(size - back.size(), std::as_writable_bytes(std::span(back)));
    if (front == magic && back == magic) return &row;
  }
  return nullptr;
}

}  // namespace

const FormatRow* TableOfInput(const std::string& input, const Source& source) {
  if (input == "-") return nullptr;
  const std::string name = ExpandedName(input, source);
  if (const FormatRow* const row = FormatOfFile(name)) return row;
  const bool plain = name == input && !source.codec && !TypeOfName(name);
  return plain ? FindColumnFormat(input) : nullptr;
}

const FormatRow* TableOfInputs(const Source& source) {
  const FormatRow* first = nullptr;
  for (const std::string& input : source.inputs) {
    const FormatRow* const row = TableOfInput(input, source);
    if (row == nullptr || (first != nullptr && first != row)) return nullptr;
    first = row;
  }
  return first;
}

const FormatRow* OneTableOfInputs(const Source& source) {
  std::vector<const FormatRow*> rows;
  for (const std::string& input : source.inputs) rows.push_back(TableOfInput(input, source));
  const auto found = std::ranges::find_if(rows, [](const FormatRow* row) { return row != nullptr; });
  if (found == rows.end()) return nullptr;
  const FormatRow& first = **found;
  const auto differing = std::ranges::find_if(rows, [&](const FormatRow* row) { return row != &first; });
  if (differing == rows.end()) return &first;
  const auto name_of = [&](auto at) -> const std::string& {
    return source.inputs[static_cast<std::size_t>(at - rows.begin())];
  };
  const std::string& other = name_of(differing);
  FailUsage("the name " + InQuotes(name_of(found)) + " means " + first.name + ", and " +
            (other == "-" ? "standard input has no name that tells"
                          : InQuotes(other) + " means " + (*differing != nullptr ? (*differing)->name : "lines")) +
            ": give --format " + first.name + " or --format lines, or sort one format at a time");
}

}  // namespace gpusort
