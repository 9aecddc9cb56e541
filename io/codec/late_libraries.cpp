#include "io/codec/late_libraries.hpp"

#if GPUSORT_LATE_CODECS

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

namespace {

struct Library {
  const char* file;
  std::atomic<bool> ready{false};
};
Library libz{"libz.so.1"}, libbz2{"libbz2.so.1.0"}, liblzma{"liblzma.so.5"}, libzstd{"libzstd.so.1"},
    liblz4{"liblz4.so.1"};

bool Load(Library& library);

}  // namespace

extern "C" {
/// Where calls of a function go: at first to LateFind, which puts the function there.
struct LateFunction {
  std::atomic<void*> target;
  Library* library;
  const char* name;
};
void LateResolve();
/// Of who did not ask NeedLibrary.
__attribute__((used)) void LateFind(LateFunction* function) {
  if (Load(*function->library)) return;
  std::fprintf(stderr, "gpusort: error: %s\n", ::dlerror());
  std::abort();
}
}

// Calls LateFind with the function whose address is in r11, and goes on in what it found; arguments stay as they are
// (none is a floating-point number).
asm(R"(
    .pushsection .text
    .type LateResolve, @function
LateResolve:
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    push %r11
    mov %r11, %rdi
    call LateFind
    pop %r11
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    jmp *(%r11)
    .size LateResolve, . - LateResolve
    .popsection
)");

// clang-format off
#define LATE_FUNCTIONS(X) \
  X(libz, crc32) X(libz, deflate) X(libz, deflateEnd) X(libz, deflateInit2_) X(libz, deflateReset) X(libz, inflate) \
  X(libz, inflateEnd) X(libz, inflateInit2_) X(libz, inflateReset) \
  X(libbz2, BZ2_bzCompress) X(libbz2, BZ2_bzCompressEnd) X(libbz2, BZ2_bzCompressInit) X(libbz2, BZ2_bzDecompress) \
  X(libbz2, BZ2_bzDecompressEnd) X(libbz2, BZ2_bzDecompressInit) \
  X(liblzma, lzma_code) X(liblzma, lzma_cputhreads) X(liblzma, lzma_end) X(liblzma, lzma_memusage) X(liblzma, lzma_stream_decoder) \
  X(liblzma, lzma_stream_encoder_mt) X(liblzma, lzma_stream_encoder_mt_memusage) \
  X(libzstd, ZSTD_CCtx_setParameter) X(libzstd, ZSTD_DCtx_reset) X(libzstd, ZSTD_DCtx_setParameter) \
  X(libzstd, ZSTD_compress2) X(libzstd, ZSTD_compressBound) X(libzstd, ZSTD_compressCCtx) \
  X(libzstd, ZSTD_createCCtx) X(libzstd, ZSTD_createDCtx) X(libzstd, ZSTD_decompressDCtx) \
  X(libzstd, ZSTD_decompressStream) X(libzstd, ZSTD_freeCCtx) X(libzstd, ZSTD_freeDCtx) \
  X(libzstd, ZSTD_getErrorCode) X(libzstd, ZSTD_getErrorName) X(libzstd, ZSTD_isError) \
  X(liblz4, LZ4F_compressBegin) X(liblz4, LZ4F_compressBound) X(liblz4, LZ4F_compressEnd) \
  X(liblz4, LZ4F_compressUpdate) X(liblz4, LZ4F_createCompressionContext) X(liblz4, LZ4F_createDecompressionContext) \
  X(liblz4, LZ4F_decompress) X(liblz4, LZ4F_freeCompressionContext) X(liblz4, LZ4F_freeDecompressionContext) \
  X(liblz4, LZ4F_getErrorName) X(liblz4, LZ4F_isError) X(liblz4, LZ4F_resetDecompressionContext) \
  X(liblz4, LZ4_compress_fast_extState) X(liblz4, LZ4_decompress_safe) X(liblz4, LZ4_sizeofState)
// clang-format on

#define LATE(library, name)                                                                         \
  extern "C" LateFunction late_##name;                                                              \
  LateFunction late_##name{reinterpret_cast<void*>(LateResolve), &library, #name};                  \
  asm(".pushsection .text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name \
      ":\n"                                                                                         \
      "endbr64\nlea late_" #name "(%rip), %r11\njmp *(%r11)\n.size " #name ", . - " #name "\n.popsection\n");
LATE_FUNCTIONS(LATE)

namespace {

/// With all of its functions, so that none of them fails later. Twice it is the same; false with the reason in dlerror.
bool Load(Library& library) {
#define LATE_PLACE(library, name) &late_##name,
  static constexpr LateFunction* kFunctions[] = {LATE_FUNCTIONS(LATE_PLACE)};
  if (library.ready) return true;
  void* const handle = ::dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  for (LateFunction* const function : kFunctions) {
    if (function->library != &library) continue;
    void* const found = ::dlsym(handle, function->name);
    if (found == nullptr) return false;
    function->target = found;
  }
  library.ready = true;
  return true;
}

}  // namespace

namespace gpusort::detail {

void NeedLibrary(Codec codec) {
  Library* library = nullptr;
  switch (codec) {
    case Codec::kGz:
      library = &libz;
      break;
    case Codec::kBz2:
      library = &libbz2;
      break;
    case Codec::kXz:
      library = &liblzma;
      break;
    case Codec::kZst:
      library = &libzstd;
      break;
    case Codec::kLz4:
      library = &liblz4;
      break;
    case Codec::kNone:
    case Codec::kProgram:
      return;
  }
  if (Load(*library)) return;
  const char* const said = ::dlerror();
  const std::string why = said != nullptr ? said : library->file;
  // Nothing else tells that memory was refused, and where there is none for the whole text its end is missing.
  for (const char* const refused : {"memory", "cannot allocate", "cannot create", "cannot map"}) {
    if (why.find(refused) != std::string::npos) throw std::bad_alloc();
  }
  throw Error(ErrorCode::kIo, "the library of codec " + std::string(CodecName(codec)) + " cannot be loaded: " + why);
}

}  // namespace gpusort::detail

#endif
