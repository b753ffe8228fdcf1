#pragma once
// Which name a source entry is shown under. Pure: entries come in as values.

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/shown_as.hpp"

namespace bloscfs::fs {

/// What arrays that the mount makes are called, and others are likely to be.
inline constexpr std::string_view kArraySuffix = ".b2nd";
/// What flat files that the mount makes are called, unless said otherwise.
inline constexpr std::string_view kFlatSuffix = ".b2frame";
/// What flat leaves of stores of python-blosc2 are called.
inline constexpr std::string_view kFlatLeafSuffix = ".b2f";
/// Suffix of arrays as they are shown.
inline constexpr std::string_view kNpySuffix = ".npy";

/// The name minus one suffix of containers or stores (kHiddenSuffixes, and kFrameStoreSuffix of a
/// frame store); the name itself if it has none or nothing would be left.
std::string_view stem(std::string_view name, ShownAs shown = ShownAs::flat);

/// What a file that cannot be looked at is by its suffix.
ShownAs promised_by(std::string_view full_name);

/// True if the suffix is one of frames: arrays and flat ones.
bool promises_frame(std::string_view full_name);

/// The name that an entry is shown under unless others in its directory want the same.
std::string preferred_name(std::string_view full_name, ShownAs shown);

/// For what could not be stored under `name`: "NAME.WHAT-YYYYMMDDThhmmss" (UTC), and "-NUMBER" from
/// the second on. NAME is cut so that a suffix has room.
std::string dated_name(const std::string& name, const std::string& what, std::time_t time,
                       int number);
/// Of one name within a second.
inline constexpr int kMostDatedNames = 1000;

/// True for names like those of our temporaries, which no mount shows, whoever made them.
bool is_temporary(std::string_view full_name);

/// Name of the hidden file that stands for a SOURCE among bloscfs programs, in the directory or, of
/// a single frame, beside it; and whether a name is such a one.
std::string lock_file_name(const std::optional<std::string>& single);
bool is_lock_file(std::string_view full_name);

/// F of the lock sidecar "F.b2lock"; nullopt for other names.
std::optional<std::string_view> locked_name(std::string_view full_name);

struct NamedEntry {
  std::string full_name;
  ShownAs shown = ShownAs::itself;
};

/// Shown names of a whole directory, in the order of `entries`, collisions resolved. `entries`
/// holds what the directory shows at all (hidden entries left out).
std::vector<std::string> shown_names(const std::vector<NamedEntry>& entries);

/// Looks up one entry of the directory by its full name; nullopt if there is none or it is hidden.
using EntryProbe = std::function<std::optional<ShownAs>(const std::string& full_name)>;

/// Full names, but this one, of containers that may be shown by a name.
std::vector<std::string> possible_full_names(const std::string& shown_name);

/// The full name of the entry shown as `shown_name`, asking only for the few entries that could
/// want that name. Agrees with shown_names() of the whole directory.
std::optional<std::string> full_name_of(const std::string& shown_name, const EntryProbe& probe);

}  // namespace bloscfs::fs
