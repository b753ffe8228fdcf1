// Replaces the two functions of Highway's library that its dispatch calls. When the library is
// loaded, it measures clocks for milliseconds. With these functions it is not loaded.

#include <cstdint>

#include <hwy/targets.h>

#if defined(__clang__)
#define _Bool bool  // the C library's header uses _Bool, which only g++ accepts in C++
#endif
#include <sys/platform/x86.h>

namespace hwy {

/// Each target requires these features, in addition to those of the target before. Targets above
/// HWY_AVX3 are not compiled (codec/filter/highest_target.hpp).
std::int64_t SupportedTargets() {
  std::int64_t targets = HWY_STATIC_TARGET | HWY_EMU128 | HWY_SCALAR;
  if (!CPU_FEATURE_ACTIVE(SSSE3)) return targets;
  targets |= HWY_SSSE3;
  if (!CPU_FEATURE_ACTIVE(SSE4_1) || !CPU_FEATURE_ACTIVE(SSE4_2) ||
      !CPU_FEATURE_ACTIVE(PCLMULQDQ) || !CPU_FEATURE_ACTIVE(AES))
    return targets;
  targets |= HWY_SSE4;
  if (!CPU_FEATURE_ACTIVE(AVX) || !CPU_FEATURE_ACTIVE(AVX2) || !CPU_FEATURE_ACTIVE(LZCNT) ||
      !CPU_FEATURE_ACTIVE(BMI1) || !CPU_FEATURE_ACTIVE(BMI2) || !CPU_FEATURE_ACTIVE(FMA) ||
      !CPU_FEATURE_ACTIVE(F16C))
    return targets;
  targets |= HWY_AVX2;
  if (!CPU_FEATURE_ACTIVE(AVX512F) || !CPU_FEATURE_ACTIVE(AVX512VL) ||
      !CPU_FEATURE_ACTIVE(AVX512CD) || !CPU_FEATURE_ACTIVE(AVX512DQ) ||
      !CPU_FEATURE_ACTIVE(AVX512BW))
    return targets;
  return targets | HWY_AVX3;
}

ChosenTarget& GetChosenTarget() {
  static constinit ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
