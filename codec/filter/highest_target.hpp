#pragma once

/// Bits of HWY_DISABLED_TARGETS for all targets above HWY_AVX3. Newer releases of Highway compile
/// some of them by default, which makes programs larger, but no filter here faster. Older releases
/// have no names for them.
#define BLOSCFS_ABOVE_AVX3 0xF8
