#pragma once
// Computes the names that source entries are shown under. Reads no files: callers pass entries as
// values.

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/shown_as.hpp"

namespace bloscfs::fs {

/// Suffix of arrays that the mount creates, and the usual suffix of other arrays.
inline constexpr std::string_view kArraySuffix = ".b2nd";
/// Default suffix of flat files that the mount creates.
inline constexpr std::string_view kFlatSuffix = ".b2frame";
/// Suffix of flat leaves in stores of python-blosc2.
inline constexpr std::string_view kFlatLeafSuffix = ".b2f";
/// Suffix under which the mount shows arrays.
inline constexpr std::string_view kNpySuffix = ".npy";

/// Returns the name without one suffix of containers or stores: one of kHiddenSuffixes, or for a
/// frame store kFrameStoreSuffix. Returns the name itself if it has no such suffix, or if nothing
/// would be left.
std::string_view stem(std::string_view name, ShownAs shown = ShownAs::flat);

/// Returns what a file is by its suffix alone, for files that cannot be read.
ShownAs promised_by(std::string_view full_name);

/// True if the suffix is that of a frame, flat or array.
bool promises_frame(std::string_view full_name);

/// Returns the message for a file of `size` bytes that promises a frame, but has no frame header.
std::string no_header_message(std::int64_t size);

/// Returns "; make one: b2frame create a.npy -o a.b2nd" for the path of a NPY file, and the same
/// for a NPZ, CSV or TSV file. Empty for other names. Ends the message about a file that is no
/// frame.
std::string creation_hint(const std::string& path);

/// Returns the name that an entry is shown under, unless another entry in its directory wants the
/// same name.
std::string preferred_name(std::string_view full_name, ShownAs shown);

/// Returns a name for data that could not be stored under `name`: "NAME.WHAT-YYYYMMDDThhmmss"
/// (UTC), with "-NUMBER" appended if `number` is at least 2. NAME is cut so that a suffix still
/// fits.
std::string dated_name(const std::string& name, const std::string& what, std::time_t time,
                       int number);
/// How many dated names one name can have within a second.
inline constexpr int kMostDatedNames = 1000;

/// True for names of the form of our temporaries. No mount shows such names, even if another
/// program made the file.
bool is_temporary(std::string_view full_name);

/// Returns the name of the hidden file that the mounts of a SOURCE lock. It lies in the directory
/// or, if SOURCE is a single frame called `single`, next to the frame. is_lock_file() recognises
/// such names.
std::string lock_file_name(const std::optional<std::string>& single);
bool is_lock_file(std::string_view full_name);

/// Returns F for the lock sidecar name "F.b2lock"; nullopt for other names.
std::optional<std::string_view> locked_name(std::string_view full_name);

struct NamedEntry {
  std::string full_name;
  ShownAs shown = ShownAs::itself;
};

/// Returns the shown names of a whole directory, in the order of `entries`, with collisions
/// resolved. `entries` must hold everything that the directory shows, and no hidden entries.
std::vector<std::string> shown_names(const std::vector<NamedEntry>& entries);

/// Looks up one entry of the directory by its full name. nullopt if the directory has no such
/// entry, or hides it.
using EntryProbe = std::function<std::optional<ShownAs>(const std::string& full_name)>;

/// Returns the full names, other than `shown_name` itself, of containers and stores that may be
/// shown as `shown_name`.
std::vector<std::string> possible_full_names(const std::string& shown_name);

/// Returns the full name of the entry shown as `shown_name`. Probes only the few entries that could
/// want that name. Agrees with shown_names() of the whole directory.
std::optional<std::string> full_name_of(const std::string& shown_name, const EntryProbe& probe);

}  // namespace bloscfs::fs
