#include "data/output_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/out_of_memory.hpp"
#include "kernels/error.hpp"

namespace gpusort {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostShown = 4096;

// Without a slash, npos + 1 is 0.
std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Returns the extension of the first input with its dot, but without an extension such as .gz. May be empty.
std::string Extension(const JobSpec& spec) {
  if (spec.source.inputs.empty() || spec.source.inputs[0] == "-") return "";
  const std::string name = BaseName(ExpandedName(spec.source.inputs[0], spec.source));
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? "" : name.substr(dot);
}

std::string FormatName(const JobSpec& spec) {
  if (spec.source.table) return spec.source.table->name;
  return spec.source.format == Format::kBinary ? "binary" : "lines";
}

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

bool IsUtf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

void PutText(Json& object, const std::string& key, const std::string& text) {
  if (IsUtf8(text)) {
    object[key] = text;
  } else {
    object[key + "_base64"] = Base64(text);
  }
}

/// Returns the beginning of a record, to be shown in the manifest. Text is not cut inside a character.
std::string Shown(RecordSpan record) {
  const auto continues = [](std::byte byte) { return (byte & std::byte{0xC0}) == std::byte{0x80}; };
  std::size_t size = std::min(record.size(), kMostShown);
  if (size < record.size()) {
    for (int i = 0; i < 3 && continues(record[size]); ++i) --size;
    if (continues(record[size])) size = kMostShown;
  }
  return {reinterpret_cast<const char*>(record.data()), size};
}

}  // namespace

std::string IndexName(const JobSpec& spec) { return spec.target.output + ".gzi"; }

std::vector<std::string> PartNames(const JobSpec& spec) {
  std::vector<std::string> names;
  if (spec.target.index) names.push_back(IndexName(spec));
  if (spec.target.split == 0) return names;
  const std::string extension = Extension(spec);
  for (unsigned i = 0; i < spec.target.split; ++i) {
    names.push_back(spec.target.output + "-" + std::to_string(i) + extension);
  }
  names.push_back(spec.target.output + ".manifest.json");
  return names;
}

std::string SplitIntoFolder(const std::string& output) {
  return "the names of parts begin with OUTPUT, and " + InQuotes(output) + " is a folder: give '" +
         EscapeName((std::filesystem::path(output) / "part").string()) + "'";
}

OutputParts::OutputParts(FileSystem& files, const JobSpec& spec) : format_(FormatName(spec)) {
  std::error_code none;
  if (std::filesystem::is_directory(spec.target.output, none)) {
    throw Error(ErrorCode::kUsage, "--split: " + SplitIntoFolder(spec.target.output));
  }
  for (const std::string& name : PartNames(spec)) {
    try {
      parts_.push_back(
          {name, files.CreateOutput(name, false, spec.target.no_clobber ? OldFile::kKeep : OldFile::kReplace)});
      if (!spec.target.no_fsync) parts_.back().file->WriteBackEarly();
    } catch (const SystemError& error) {
      if (error.number() != EMFILE) throw;
      throw Error(ErrorCode::kUsage, std::string(error.what()) + "; --split takes two file descriptors for each part " +
                                         "(see ulimit -n)");
    }
  }
  manifest_ = std::move(parts_.back().file);
  parts_.pop_back();
}

void OutputParts::Begin(RecordSpan header) {
  header_bytes_ = encoded() ? 0 : header.size();
  header_.assign(header.begin(), header.end());
  encoder_.reset();
  next_ = 0;
  for (Part& part : parts_) {
    part = {std::move(part.name), std::move(part.file)};
    if (encoded()) continue;
    part.file->WriteAt(0, header);
    part.bytes = header.size();
  }
}

std::uint64_t OutputParts::Add(unsigned number, std::uint64_t bytes, const RecordSum& sum, RecordSpan first,
                               RecordSpan last) {
  Part& part = parts_[number];
  if (part.sum.records == 0) part.first = Shown(first);
  part.last = Shown(last);
  part.sum += sum;
  part.file->AllocateToWrite(part.bytes + bytes);
  return std::exchange(part.bytes, part.bytes + bytes);
}

void OutputParts::BeginEncoded(std::size_t number) {
  while (next_ <= number) {
    if (encoder_) encoder_->Finish();
    encoder_.reset();
    if (next_ == parts_.size()) return;
    Part& part = parts_[next_++];
    encoder_ = std::make_unique<Encoder>(codec_, encoder_options_, [&part](std::span<const std::byte> bytes) {
      part.file->WriteAt(part.bytes, bytes);
      part.bytes += bytes.size();
    });
    encoder_->Write(header_);
  }
}

void OutputParts::Append(unsigned number, RecordSpan records, const RecordSum& sum) {
  BeginEncoded(number);
  parts_[number].sum += sum;
  encoder_->Write(records);
}

void OutputParts::End(RecordSpan trailer) {
  if (encoded()) return BeginEncoded(parts_.size());
  for (Part& part : parts_) {
    part.file->WriteAt(part.bytes, trailer);
    part.bytes += trailer.size();
  }
}

std::uint64_t OutputParts::bytes() const {
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes;
  return bytes;
}

std::string OutputParts::Manifest() const {
  std::uint64_t records = 0;
  Json parts = Json::array();
  for (const Part& part : parts_) {
    records += part.sum.records;
    Json entry = Json::object();
    PutText(entry, "file", BaseName(part.name));
    entry["records"] = part.sum.records;
    entry["bytes"] = part.bytes;
    if (part.sum.records > 0 && !encoded()) {
      PutText(entry, "first", part.first);
      PutText(entry, "last", part.last);
    } else {
      entry["first"] = entry["last"] = nullptr;
    }
    parts.push_back(std::move(entry));
  }
  const Json manifest{{"format", format_},
                      {"header_bytes", header_bytes_},
                      {"records", records},
                      {"bytes", bytes()},
                      {"parts", std::move(parts)}};
  return manifest.dump(2) + "\n";
}

void OutputParts::Complete(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync) {
  manifest.Complete(manifest_bytes, sync);
  for (Part& part : parts_) part.file->Complete(part.bytes, sync);
}

void OutputParts::Publish(OutputFile& manifest, std::uint64_t manifest_bytes, bool sync) {
  Complete(manifest, manifest_bytes, sync);
  const auto publish = [&](std::size_t number, OutputFile& file, std::uint64_t bytes, bool sync_directory) {
    try {
      file.Publish(bytes, sync_directory);
    } catch (const Error& error) {
      if (number == 0) throw;
      throw Error(error.code(), std::string(error.what()) + "; all parts before that are in place");
    }
    SetOutOfMemoryText("out of memory; some parts are in place");
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    OutputFile& file = *parts_[i].file;
    // A single sync of their directory is enough for all files in it.
    const bool last = i + 1 == parts_.size() || parts_[i + 1].file->directory() != file.directory();
    publish(i, file, parts_[i].bytes, sync && last);
  }
  publish(parts_.size(), manifest, manifest_bytes, sync);
}

}  // namespace gpusort
