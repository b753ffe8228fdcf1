#pragma once
// Settings for a new frame by its contents.

#include <cstdint>
#include <optional>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"
#include "frame/choosing/cost.hpp"
#include "frame/choosing/trial.hpp"

namespace bloscfs::frame {

/// What suits contents of `size` bytes best of which `sample` is the beginning, up to kChoiceSample
/// bytes; nothing where that says nothing, as zeros do, or next to nothing. `typesize` as for a
/// SettingsSearch. Looks at more where there is more to write, so that the time for it is a small
/// part of that.
std::optional<codec::EncodeSettings> choose_settings(codec::Bytes sample, std::int64_t size,
                                                     std::int32_t typesize, Goal goal);

}  // namespace bloscfs::frame
