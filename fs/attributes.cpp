#include "fs/attributes.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "codec/names.hpp"

namespace bloscfs::fs {
namespace {

using frame::FrameInfo;
using frame::MetalayerEntry;
using frame::Snapshot;

constexpr std::size_t kMaxName = 255;  ///< XATTR_NAME_MAX

bool is_frame(const FrameInfo& info) { return info.kind != frame::ContainerKind::bloscpack; }

std::string filters_text(const FrameInfo& info) {
  std::vector<std::string> steps;
  for (const codec::FilterStep& step : info.filters) {
    if (step.id == codec::FilterId::none) continue;
    const std::string name = codec::filter_name(step.id);
    steps.push_back(step.meta == 0 ? name : fmt::format("{}:{}", name, step.meta));
  }
  return fmt::format("{}", fmt::join(steps, ","));
}

std::optional<std::string> number_if(bool applies, std::int64_t value) {
  return applies ? std::optional<std::string>(std::to_string(value)) : std::nullopt;
}

template <typename T>
std::optional<std::string> list_if(bool applies, const std::vector<T>& values) {
  if (!applies) return std::nullopt;
  return fmt::format("{}", fmt::join(values, ","));
}

/// Values are one line of ASCII, which a stored dtype need not be.
std::optional<std::string> dtype_text(const FrameInfo& info) {
  if (!info.array || !info.array->dtype) return std::nullopt;
  const std::string& dtype = *info.array->dtype;
  const bool plain =
      std::all_of(dtype.begin(), dtype.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? std::optional<std::string>(dtype) : std::nullopt;
}

using Value = std::optional<std::string> (*)(const FrameInfo&);
struct Computed {
  std::string_view name;
  Value value;  ///< nullopt where the attribute does not apply
};

const Computed kComputed[] = {
    {"codec",
     [](const FrameInfo& i) {
       return i.codec ? std::optional<std::string>(codec::codec_name(*i.codec)) : std::nullopt;
     }},
    {"clevel", [](const FrameInfo& i) { return number_if(is_frame(i), i.clevel); }},
    {"filters",
     [](const FrameInfo& i) {
       return is_frame(i) ? std::optional<std::string>(filters_text(i)) : std::nullopt;
     }},
    {"typesize", [](const FrameInfo& i) { return number_if(true, i.typesize); }},
    {"chunksize", [](const FrameInfo& i) { return number_if(i.chunksize >= 0, i.chunksize); }},
    {"blocksize", [](const FrameInfo& i) { return number_if(is_frame(i), i.blocksize); }},
    {"nbytes", [](const FrameInfo& i) { return number_if(true, i.nbytes); }},
    {"cbytes", [](const FrameInfo& i) { return number_if(true, i.cbytes); }},
    {"nchunks", [](const FrameInfo& i) { return number_if(true, i.nchunks); }},
    {"shape",
     [](const FrameInfo& i) { return i.array ? list_if(true, i.array->shape) : std::nullopt; }},
    {"chunkshape",
     [](const FrameInfo& i) {
       return i.array ? list_if(is_frame(i), i.array->chunkshape) : std::nullopt;
     }},
    {"blockshape",
     [](const FrameInfo& i) {
       return i.array ? list_if(is_frame(i), i.array->blockshape) : std::nullopt;
     }},
    {"dtype", dtype_text},
};

bool can_be_listed(std::string_view prefix, const MetalayerEntry& entry) {
  return !entry.name.empty() && prefix.size() + entry.name.size() <= kMaxName;
}

/// Where the size cannot be told the metalayer is damaged: listed, and reading it says so.
bool is_small_vlmetalayer(const Snapshot& snapshot, const MetalayerEntry& entry) {
  try {
    return snapshot.vlmetalayer_size(entry) <= static_cast<std::int64_t>(kMaxAttributeSize);
  } catch (const codec::Error&) {
    return true;
  }
}

[[noreturn]] void throw_too_big(std::string_view name) {
  throw std::system_error(E2BIG, std::generic_category(), std::string(name));
}

std::optional<MetalayerEntry> find_entry(const std::vector<MetalayerEntry>& entries,
                                         std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const MetalayerEntry& entry) { return entry.name == name; });
  if (found == entries.end() || name.empty()) return std::nullopt;
  return *found;
}

/// Contents that were just read; they may be those of another state of the file.
std::vector<std::uint8_t> unless_changed(const Snapshot& snapshot,
                                         std::vector<std::uint8_t> contents) {
  if (!snapshot.unchanged())
    throw std::system_error(EIO, std::generic_category(), "source was changed while in use");
  return contents;
}

std::optional<std::string> computed_value(const FrameInfo& info, std::string_view name) {
  for (const Computed& computed : kComputed) {
    if (computed.name == name) return computed.value(info);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> list_attributes(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const Computed& computed : kComputed) {
    const std::optional<std::string> value = computed.value(snapshot.info());
    if (value && value->size() <= kMaxAttributeSize)
      names.push_back(std::string(kAttributePrefix) + std::string(computed.name));
  }
  for (const MetalayerEntry& entry : snapshot.metalayers()) {
    if (can_be_listed(kMetaPrefix, entry) && entry.stored_size <= kMaxAttributeSize)
      names.push_back(std::string(kMetaPrefix) + entry.name);
  }
  for (const MetalayerEntry& entry : snapshot.vlmetalayers()) {
    if (can_be_listed(kVlmetaPrefix, entry) && is_small_vlmetalayer(snapshot, entry))
      names.push_back(std::string(kVlmetaPrefix) + entry.name);
  }
  return names;
}

std::optional<std::vector<std::uint8_t>> read_attribute(const Snapshot& snapshot,
                                                        std::string_view name,
                                                        codec::BlockDecoder& decoder) {
  if (name.starts_with(kMetaPrefix)) {
    const auto entry = find_entry(snapshot.metalayers(), name.substr(kMetaPrefix.size()));
    if (!entry) return std::nullopt;
    if (entry->stored_size > kMaxAttributeSize) throw_too_big(name);
    return unless_changed(snapshot, snapshot.read_metalayer(*entry));
  }
  if (name.starts_with(kVlmetaPrefix)) {
    const auto entry = find_entry(snapshot.vlmetalayers(), name.substr(kVlmetaPrefix.size()));
    if (!entry) return std::nullopt;
    if (snapshot.vlmetalayer_size(*entry) > static_cast<std::int64_t>(kMaxAttributeSize))
      throw_too_big(name);
    return unless_changed(snapshot, snapshot.read_vlmetalayer(*entry, kMaxAttributeSize, decoder));
  }
  if (!name.starts_with(kAttributePrefix)) return std::nullopt;
  const std::optional<std::string> value =
      computed_value(snapshot.info(), name.substr(kAttributePrefix.size()));
  if (!value) return std::nullopt;
  if (value->size() > kMaxAttributeSize) throw_too_big(name);
  return std::vector<std::uint8_t>(value->begin(), value->end());
}

bool is_in_shown_space(std::string_view name) {
  return name.starts_with("user.") || name.starts_with("trusted.");
}

}  // namespace bloscfs::fs
