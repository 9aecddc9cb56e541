#include "cli/header_of_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/registry.hpp"
#include "io/codec/codec.hpp"
#include "io/codec/row_module.hpp"
#include "io/system_calls.hpp"
#include "kernels/error.hpp"
#include "kernels/thread.hpp"

namespace gpusort {

std::vector<std::byte> HeaderOfInput(const JobSpec& spec, const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20, kStep = std::size_t{64} << 10;
  // Opening a pipe or a device may have an effect, so look at the file first.
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const detail::Fd file(detail::OpenPath(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  try {
    const std::unique_ptr<TableFormat> format = MakeTableFormat(spec);
    const auto read = [&](std::uint64_t offset, std::span<std::byte> out) {
      const ssize_t got =
          Uninterrupted([&] { return ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(offset)); });
      return static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
    };
    Decoder decoder(spec.source.codec.value_or(CodecOfPath(path)), path,
                    RowFile{static_cast<std::uint64_t>(facts.st_size), read});
    std::vector<std::byte> front(kMostBytes);
    for (std::size_t have = 0; have < kMostBytes;) {
      const std::size_t got = decoder.Read(std::span(front).subspan(have, std::min(kStep, kMostBytes - have)));
      have += got;
      if (const auto header = format->HeaderBytes(std::span(front).first(have), got == 0)) {
        front.resize(*header);
        return front;
      }
      if (got == 0) break;
    }
  } catch (const Error&) {
  }
  return {};
}

}  // namespace gpusort
