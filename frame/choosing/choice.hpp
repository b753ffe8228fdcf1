#pragma once
// Chooses settings for a new frame by its contents: selects the samples and the budget for the
// search.

#include <cstdint>
#include <functional>
#include <optional>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"
#include "frame/choosing/cost.hpp"
#include "frame/choosing/trial.hpp"

namespace bloscfs::frame::inline choosing {

/// Returns the best settings for contents of `size` bytes. `sample` is their beginning, up to
/// kChoiceSample bytes. Returns nullopt if the sample is empty or decides nothing, as zeros do.
/// `typesize` is the item size, or 0 if it is not known. Uses kLargeBudget if there is so much to
/// write that the search takes a small part of the time.
std::optional<codec::EncodeSettings> choose_settings(codec::Bytes sample, std::int64_t size,
                                                     std::int32_t typesize, Goal goal);

/// Reads the bytes of the contents from `offset` on. May throw.
using ReadContents = std::function<void(std::int64_t offset, codec::MutableBytes out)>;

/// Does what choose_settings() does, always with kSmallBudget. Reads 32 to 128 KiB of the first 8
/// MiB.
std::optional<codec::EncodeSettings> choose_quickly(const ReadContents& read, std::int64_t size,
                                                    std::int32_t typesize, Goal goal);
/// True if choose_quickly() takes at most about a tenth of the time of writing `size` bytes.
bool is_worth_choosing(std::int64_t size, Goal goal);

/// Returns settings for contents that were not examined.
codec::EncodeSettings usual_settings(Goal goal, std::int32_t typesize);

}  // namespace bloscfs::frame::inline choosing
