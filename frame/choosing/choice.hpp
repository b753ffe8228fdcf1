#pragma once
// Settings for a new frame by its contents: which samples of them are looked at, with which budget.

#include <cstdint>
#include <functional>
#include <optional>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"
#include "frame/choosing/cost.hpp"
#include "frame/choosing/trial.hpp"

namespace bloscfs::frame::inline choosing {

/// What suits contents of `size` bytes best of which `sample` is the beginning, up to kChoiceSample
/// bytes; nothing where that says nothing, as zeros do, or next to nothing. `typesize` as for a
/// SettingsSearch. Has a large budget where there is more to write, so that the search is a small
/// part of the time for that.
std::optional<codec::EncodeSettings> choose_settings(codec::Bytes sample, std::int64_t size,
                                                     std::int32_t typesize, Goal goal);

/// Gives the bytes of contents from `offset` on. May throw.
using ReadContents = std::function<void(std::int64_t offset, codec::MutableBytes out)>;

/// The same with the small budget, by 32 to 128 KiB of the first 8 MiB.
std::optional<codec::EncodeSettings> choose_quickly(const ReadContents& read, std::int64_t size,
                                                    std::int32_t typesize, Goal goal);
/// Whether choose_quickly() takes but a small part of the time of writing so many bytes: at most
/// about a tenth.
bool is_worth_choosing(std::int64_t size, Goal goal);

/// For contents that were not looked at.
codec::EncodeSettings usual_settings(Goal goal, std::int32_t typesize);

}  // namespace bloscfs::frame::inline choosing
