#include "data/output.hpp"

#include "error.hpp"
#include "support/log.hpp"

namespace gpusort {

std::optional<FileFacts> OutputTarget::overwritten() const {
  if (stream) return stream->file();
  return file && !file->in_place().empty() ? std::optional(file->Facts()) : std::nullopt;
}

OutputTarget OpenTarget(FileSystem& files, const Options& options, CancelFlag& cancel) {
  OutputTarget target;
  target.codec = options.output_codec;
  const std::string name = EscapeName(options.output);
  if (IsStreamTarget(options.output)) {
    if (options.verify_output) {
      throw Error(ErrorCode::kUsage, "--verify-output cannot read " + name + " back: it is a stream");
    }
    if (options.output != "-") LogWarn(name + " is streamed: it is not replaced atomically");
    target.stream = std::make_unique<PipeWriter>(options.output, cancel);
    return target;
  }
  const OldFile old = options.no_clobber ? OldFile::kKeep : OldFile::kReplaceOrRewrite;
  target.file = files.CreateOutput(options.output, false, old);
  if (options.verify_output && !target.file->readable()) {
    throw Error(ErrorCode::kUsage, "--verify-output cannot read " + name + " back: it may only be written");
  }
  if (!target.file->in_place().empty()) {
    LogWarn(name + " is written in place, so a job that fails while it writes leaves neither the old content nor the " +
            "new: it cannot be replaced (" + target.file->in_place() + ")");
  }
  return target;
}

}  // namespace gpusort
