#include "fs/source/local/names/leftovers.hpp"

#include <algorithm>

#include "fs/source/local/names/removed_sframes.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {

bool is_leftover_name(const std::string& name) {
  const auto locked = locked_name(name);
  return is_temporary(name) || (locked && is_temporary(*locked));
}

std::optional<Leftover> made_by(const TemporaryMakers& makers, const SourceDirectory& directory,
                                const std::string& name, const struct stat& st) {
  const bool is_file = S_ISREG(st.st_mode) && st.st_nlink == 1;
  if (!is_file && !S_ISDIR(st.st_mode)) return std::nullopt;
  const auto any = [&](const auto& is_maker) {
    return std::any_of(makers.begin(), makers.end(), is_maker);
  };
  const std::string_view temporary = locked_name(name).value_or(name);
  // By the name alone: it was drawn by a process that has ended, and whoever could give it to
  // another file could have removed that.
  if (is_file && any([&](const auto& maker) { return maker.has_made(temporary); }))
    return Leftover{name, std::nullopt};
  const auto identity = frame::identity_at(directory.descriptor(), name);
  // By name and object: the name says of which object it was made (frame/store/temporary_name.hpp).
  if (!identity || !any([&](const auto& maker) { return maker.has_set_aside(name, *identity); }))
    return std::nullopt;
  return Leftover{name, is_file ? std::nullopt : identity};
}

void remove_leftover(const SourceDirectory& directory, const Leftover& leftover) {
  if (leftover.directory)
    remove_frame_directory(directory, leftover.name, *leftover.directory);
  else
    directory.remove_file(leftover.name);
}

}  // namespace bloscfs::fs
