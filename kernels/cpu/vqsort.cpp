// Compiles vqsort from the headers of Highway 1.0.3. Its shared library calibrates a timer whenever it is loaded, which
// takes 5 ms, more than everything else in sorting ten lines. Other versions of the library are linked.
#if !GPUSORT_OWN_VQSORT

#include "kernels/cpu/vqsort.hpp"

#include <hwy/contrib/sort/vqsort.h>

namespace gpusort::detail {

void VqSort(std::uint32_t* p, std::uint64_t n) { hwy::Sorter()(p, n, hwy::SortAscending()); }
void VqSort(std::uint64_t* p, std::uint64_t n) { hwy::Sorter()(p, n, hwy::SortAscending()); }
void VqSort(Entry* p, std::uint64_t n) {
  static_assert(sizeof(Entry) == sizeof(hwy::uint128_t) && alignof(Entry) == alignof(hwy::uint128_t));
  hwy::Sorter()(reinterpret_cast<hwy::uint128_t*>(p), n, hwy::SortAscending());
}

}  // namespace gpusort::detail

#else

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/vqsort.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>
// These headers must come after foreach_target.h.
#include <hwy/contrib/sort/traits-inl.h>
#include <hwy/contrib/sort/traits128-inl.h>
#include <hwy/contrib/sort/vqsort-inl.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/vqsort.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpusort::detail::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // a machine without AVX2, where vqsort would be a heapsort
template <typename T>
void Sort(T* p, std::uint64_t n) {
  std::sort(p, p + n);
}
void Sort(Entry* p, std::uint64_t n) { std::sort(p, p + n, ExactEntryLess()); }
#else
template <typename Traits, typename T>
void SortLanes(T* p, std::uint64_t lanes) {
  // Only RVV and SVE use the last argument, a buffer.
  hn::Sort(hn::SortTag<T>(), hn::detail::SharedTraits<Traits>(), p, lanes, p);
}
template <typename T>
void Sort(T* p, std::uint64_t n) {
  SortLanes<hn::detail::TraitsLane<hn::detail::OrderAscending<T>>>(p, n);
}
void Sort(Entry* p, std::uint64_t n) {
  SortLanes<hn::detail::Traits128<hn::detail::OrderAscending128>>(reinterpret_cast<std::uint64_t*>(p), 2 * n);
}
#endif

}  // namespace gpusort::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
/// Fills the seed for vqsort's choice of pivots, from an address that differs between processes. If an input leads to
/// bad pivots, vqsort becomes a heapsort.
void hwy::Sorter::Fill24Bytes(const void* keys, std::size_t n, void* seed) {
  const std::uint64_t words[3] = {reinterpret_cast<std::uintptr_t>(keys), n, 0x9E3779B97F4A7C15u};
  std::memcpy(seed, words, sizeof words);
}

namespace gpusort::detail {
namespace {

/// Chooses the vector instructions. Highway's own choice is in its shared library, which is not loaded.
template <typename T>
void Sort(T* p, std::uint64_t n) {
#if HWY_ARCH_X86
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd");
  if (v4) return N_AVX3::Sort(p, n);
  if (v3) return N_AVX2::Sort(p, n);
#endif
  HWY_STATIC_DISPATCH(Sort)(p, n);
}

}  // namespace

void VqSort(std::uint32_t* p, std::uint64_t n) { Sort(p, n); }
void VqSort(std::uint64_t* p, std::uint64_t n) { Sort(p, n); }
void VqSort(Entry* p, std::uint64_t n) { Sort(p, n); }

}  // namespace gpusort::detail
#endif  // HWY_ONCE
#endif
