// Encoders and decoders for zlib, bzip2 and liblzma, whose stream structs have the same member names (next_in, avail_in
// and so on).
#pragma once

#include <algorithm>
#include <boost/iostreams/close.hpp>
#include <boost/iostreams/compose.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/symmetric.hpp>
#include <boost/iostreams/write.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "io/codec/codec_module.hpp"

namespace gpusort {

/// A stream struct of a compression library, such as z_stream. The destructor calls `kEnd`, which must do nothing if
/// the stream is not open.
template <class Stream, auto kEnd>
struct OwnStream : Stream {
  OwnStream() : Stream{} {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { kEnd(this); }
};

/// Calls a compression library once. Points `stream` to the two spans, calls `call`, and advances each span past the
/// bytes that the library has read or written. Returns the result of `call`.
template <class Stream, class Call>
auto Step(Stream& stream, std::span<const std::byte>& in, std::span<std::byte>& out, Call call) {
  const std::size_t in_bytes = std::min<std::size_t>(in.size(), kMaxStepBytes);
  const std::size_t out_bytes = std::min<std::size_t>(out.size(), kMaxStepBytes);
  // The libraries do not write to their input, but the pointers of bzip2 and zlib are not const.
  stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<std::byte*>(in.data()));
  stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
  stream.avail_in = static_cast<decltype(stream.avail_in)>(in_bytes);
  stream.avail_out = static_cast<decltype(stream.avail_out)>(out_bytes);
  const auto result = call();
  in = in.subspan(in_bytes - stream.avail_in);
  out = out.subspan(out_bytes - stream.avail_out);
  return result;
}

/// Adapts a compressor to the interface of Boost's SymmetricFilter. Compressor::Compress(in, out, finish) must advance
/// both spans past the bytes that it has read or written, and must return false once the compressed data is complete.
/// The ready-made filters of Boost 1.74 are not used, because their library depends on the libraries of all codecs.
template <class Compressor>
class CompressorFilter {
 public:
  using char_type = char;
  bool filter(const char*& in, const char* in_end, char*& out, char* out_end, bool finish) {
    std::span<const std::byte> from = std::as_bytes(std::span(in, in_end));
    std::span<std::byte> to = std::as_writable_bytes(std::span(out, out_end));
    const bool more = compressor_.Compress(from, to, finish);
    in = in_end - from.size();
    out = out_end - to.size();
    return more;
  }
  void close() {}

 private:
  Compressor compressor_;
};

template <class Compressor>
class StreamEncoder final : public MemberEncoder {
 public:
  void Encode(std::span<const std::byte> in, std::vector<char>& out) override {
    namespace bio = boost::iostreams;
    constexpr std::streamsize kBuffer = 64 * kKiB;
    out.clear();
    // Not a filtering_stream, because closing a filtering_stream ignores errors.
    auto stream = bio::compose(bio::symmetric_filter<CompressorFilter<Compressor>>(kBuffer), bio::back_inserter(out));
    bio::write(stream, reinterpret_cast<const char*>(in.data()), static_cast<std::streamsize>(in.size()));
    bio::close(stream);
  }
};

}  // namespace gpusort
