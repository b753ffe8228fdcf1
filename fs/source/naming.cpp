#include "fs/source/naming.hpp"

#include <array>
#include <climits>
#include <unordered_map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "frame/pystore/store_names.hpp"
#include "frame/store/peer_lock.hpp"
#include "frame/store/temporary_name.hpp"
#include "fs/options/container_suffixes.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::string_view kLockSuffix = frame::kSidecarSuffix;
constexpr std::string_view kLockFile = ".bloscfs-lock";

/// Finds the entry that is shown under a name by a few probes. The recursion ends: each step
/// removes a suffix, and only the last one may just add ".npy".
class Resolver {
 public:
  explicit Resolver(const EntryProbe& probe) : probe_(probe) {}

  std::optional<std::string> resolve(const std::string& shown) {
    if (const auto owner = probe_(shown)) {
      if (is_at_full_name(shown, *owner)) return shown;
    }
    std::vector<std::string> rivals = wanting(shown);
    if (rivals.size() != 1) return std::nullopt;
    return std::move(rivals.front());
  }

 private:
  /// Returns the full names of entries that would be shown as `name` but are stored under another
  /// name.
  std::vector<std::string> wanting(const std::string& name) {
    std::vector<std::string> found;
    for (std::string& full_name : possible_full_names(name)) {
      const auto shown = probe_(full_name);
      if (shown && preferred_name(full_name, *shown) == name) found.push_back(std::move(full_name));
    }
    return found;
  }

  /// True if the entry is shown under its full name: because it wants no other name, or because
  /// another entry wants or has the same shown name.
  bool is_at_full_name(const std::string& full_name, ShownAs shown) {
    const std::string preferred = preferred_name(full_name, shown);
    if (preferred == full_name || wanting(preferred).size() > 1) return true;
    const auto rival = probe_(preferred);
    return rival && is_at_full_name(preferred, *rival);
  }

  const EntryProbe& probe_;
};

}  // namespace

std::vector<std::string> possible_full_names(const std::string& shown_name) {
  std::vector<std::string> names;
  const auto add_all = [&names](const std::string& base) {
    for (const std::string_view suffix : kHiddenSuffixes)
      names.push_back(base + std::string(suffix));
  };
  add_all(shown_name);
  names.push_back(shown_name + std::string(kFrameStoreSuffix));
  if (shown_name.ends_with(kNpySuffix)) {
    const std::string base = shown_name.substr(0, shown_name.size() - kNpySuffix.size());
    if (!base.empty()) names.push_back(base);
    add_all(base);
  }
  return names;
}

std::string_view stem(std::string_view name, ShownAs shown) {
  const auto has = [&](std::string_view suffix) {
    return name.size() > suffix.size() && name.ends_with(suffix);
  };
  for (const std::string_view suffix : kHiddenSuffixes)
    if (has(suffix)) return name.substr(0, name.size() - suffix.size());
  if (shown == ShownAs::frame_store && has(kFrameStoreSuffix))
    return name.substr(0, name.size() - kFrameStoreSuffix.size());
  return name;
}

ShownAs promised_by(std::string_view full_name) {
  if (stem(full_name) == full_name) return ShownAs::itself;
  if (full_name.ends_with(frame::kZipStoreSuffix)) return ShownAs::store;
  if (full_name.ends_with(frame::kEmbedStoreSuffix)) return ShownAs::frame_store;
  return full_name.ends_with(kArraySuffix) ? ShownAs::array : ShownAs::flat;
}

bool promises_frame(std::string_view full_name) {
  const ShownAs promised = promised_by(full_name);
  return promised == ShownAs::flat || promised == ShownAs::array;
}

std::string no_header_message(std::int64_t size) {
  return std::string("has the suffix of a frame but no frame header; ") +
         (size == 0 ? "it is empty: restore it from a copy" : "b2frame repair may save it");
}

std::string creation_hint(const std::string& path) {
  constexpr std::string_view kStoreSuffix = ".b2z";
  constexpr std::pair<std::string_view, std::string_view> kFrames[] = {{kNpySuffix, kArraySuffix},
                                                                       {".npz", kStoreSuffix},
                                                                       {".csv", kStoreSuffix},
                                                                       {".tsv", kStoreSuffix}};
  for (const auto& [from, to] : kFrames)
    if (path.ends_with(from))
      return fmt::format("; make one: b2frame create {} -o {}{}", path,
                         std::string_view(path).substr(0, path.size() - from.size()), to);
  return "";
}

std::string preferred_name(std::string_view full_name, ShownAs shown) {
  if (shown == ShownAs::itself) return std::string(full_name);
  const std::string_view base = stem(full_name, shown);
  const bool adds_suffix = shown == ShownAs::array && !base.ends_with(kNpySuffix);
  std::string name;
  // A listing with many names has no memory for spare capacity.
  name.reserve(base.size() + (adds_suffix ? kNpySuffix.size() : 0));
  name = base;
  if (adds_suffix) name += kNpySuffix;
  // The kernel could not open a file with such a name, so the full name is shown.
  if (name.size() > NAME_MAX || name == "." || name == "..") return std::string(full_name);
  return name;
}

std::string dated_name(const std::string& name, const std::string& what, std::time_t time,
                       int number) {
  constexpr std::size_t kLongestSuffix = 16;
  std::string end = fmt::format(".{}-{:%Y%m%dT%H%M%S}", what, fmt::gmtime(time));
  if (number > 1) end += fmt::format("-{}", number);
  return name.substr(0, NAME_MAX - kLongestSuffix - end.size()) + end;
}

bool is_temporary(std::string_view full_name) { return frame::is_temporary_name(full_name); }

std::string lock_file_name(const std::optional<std::string>& single) {
  return (single ? "." + *single : std::string()) + std::string(kLockFile);
}

bool is_lock_file(std::string_view full_name) {
  return full_name.starts_with('.') && full_name.ends_with(kLockFile);
}

std::optional<std::string_view> locked_name(std::string_view full_name) {
  if (full_name.size() <= kLockSuffix.size() || !full_name.ends_with(kLockSuffix))
    return std::nullopt;
  return full_name.substr(0, full_name.size() - kLockSuffix.size());
}

std::vector<std::string> shown_names(const std::vector<NamedEntry>& entries) {
  std::vector<std::string> preferred;
  preferred.reserve(entries.size());
  for (const NamedEntry& entry : entries)
    preferred.push_back(preferred_name(entry.full_name, entry.shown));
  std::unordered_map<std::string_view, std::size_t> claims;
  std::vector<std::size_t> undecided;
  for (std::size_t i = 0; i < entries.size(); i++) {
    claims[preferred[i]]++;
    if (preferred[i] != entries[i].full_name) undecided.push_back(i);
  }
  std::vector<bool> fallen(entries.size(), false);
  for (bool changed = true; changed;) {
    // All entries that want the same name fall back to their full names at once. Those names are
    // new claims, and may collide with others.
    std::vector<std::size_t> holding;
    std::vector<std::size_t> falling;
    for (const std::size_t i : undecided)
      (claims[preferred[i]] > 1 ? falling : holding).push_back(i);
    for (const std::size_t i : falling) {
      fallen[i] = true;
      claims[entries[i].full_name]++;
    }
    changed = !falling.empty();
    undecided = std::move(holding);
  }
  for (std::size_t i = 0; i < entries.size(); i++)
    if (fallen[i]) preferred[i] = entries[i].full_name;
  return preferred;
}

std::optional<std::string> full_name_of(const std::string& shown_name, const EntryProbe& probe) {
  return Resolver(probe).resolve(shown_name);
}

}  // namespace bloscfs::fs
