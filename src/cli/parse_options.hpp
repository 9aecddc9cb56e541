// Turns the command line of gpusort into a checked JobSpec.
// ParseOptions answers or throws Error(kUsage) with one line that names the option and the value; it opens no file.
// The record type is decided here (--type, --record-size and --key, or the inputs' extensions). The small parsers are
// public for the tests. Start at ParseOptions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/stream.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// `argv[0]` is the program's name. Throws Error(kUsage). For kHelp, kVersion and kCompletion nothing else is filled in or
/// checked. `look` is called with each input before a format or a key is refused, and may throw what is wrong with the
/// input itself.
JobSpec ParseOptions(int argc, const char* const* argv, const std::function<void(const std::string&)>& look = nullptr);

/// Throws Error(kUsage) if the input is missing, a folder, or must not be read. Streams are not opened.
void RequireInput(const std::string& input);

/// The message for a command line without an OUTPUT where standard output cannot be meant.
std::string NoOutput(const JobSpec& spec);

/// A warning if options or keys of lines were given for an input whose name means columns; empty if not.
std::string TakenForLines(const JobSpec& spec);

/// A command line, divided into options with their values and into names.
struct SplitArguments {
  std::vector<std::string> options, names;
};
SplitArguments SplitOptions(const std::vector<std::string>& arguments);

/// The options of a command line that decide the output's bytes, as arguments that mean the same. Throws Error(kUsage).
std::vector<std::string> DecidingOptions(int argc, const char* const* argv);

/// Whether --log-format json is among the options, also of a command line that ParseOptions refuses.
bool AsksForJsonLog(int argc, const char* const* argv);

/// Reads the files that options name beside inputs: the inputs' names and the salt of random keys. Error(kUsage) if one
/// cannot be read or has not what is needed, Error(kCancelled). Call it once, before the options are used.
void ReadNamedFiles(JobSpec& spec, const CancelFlag& cancel);

/// `backends`: one line each, as from ListBackends().
std::string VersionText(const std::vector<std::string>& backends);

/// Takes auto, cpu, gpu, or gpu: and numbers with commas between them. Throws Error(kUsage).
void ParseDevice(const std::string& text, JobSpec& spec);

/// i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, each with an optional le (the default) or be; bytesN. At offset 0, ascending.
/// Throws Error(kUsage) quoting `text`.
KeyField ParseType(std::string_view text);

/// OFFSET:TYPE or OFFSET:TYPE:asc or OFFSET:TYPE:desc, TYPE as for ParseType. Throws Error(kUsage) quoting `text`.
KeyField ParseKey(std::string_view text);

/// The inverses of ParseType (ignores offset and direction) and ParseKey.
std::string FormatType(const KeyField& field);
std::string FormatKey(const KeyField& field);

}  // namespace gpusort
