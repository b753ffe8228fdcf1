#pragma once

/// Of Highway's targets those above HWY_AVX3, some of which its newer releases make unless they are
/// disabled: larger programs, and nothing faster here. Bits of HWY_DISABLED_TARGETS; not all
/// releases have names for them.
#define BLOSCFS_ABOVE_AVX3 0xF8
