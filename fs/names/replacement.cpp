#include "fs/names/replacement.hpp"

#include <exception>

#include "fs/names/removal.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {

bool is_stored(const NamedObject& object) {
  return !object.is_pending || object.replaces.has_value();
}

const std::string& visible_name(const NamedObject& object) {
  return object.is_pending ? object.full_name : object.stored_name;
}

void take_name_of_replacement(TreeChanges& names, NamedObject& object,
                              const SourceDirectory& directory, const std::string& shown_name,
                              const std::string& full_name) {
  if (!is_stored(object) || visible_name(object) == full_name || directory.stat(full_name)) return;
  const auto stored = names.stored(object.directory, visible_name(object));
  if (!stored ||
      !names.fits(object.directory, shown_name, full_name, stored->entry.shown, {{&object}}))
    return;
  // What it replaced under its present name must not come back there.
  directory.sync();
  directory.rename_to_free(stored->stored_name, directory, full_name);
  if (stored->entry.is_container)
    carry_sidecar(directory, stored->stored_name, directory, full_name);
  if (!object.is_pending) {
    names.moved(object, object.directory, full_name);
    object.stored_name = full_name;
  }
  object.full_name = full_name;
  directory.sync();
}

bool can_be_replaced_there(TreeChanges& names, const NamedObject& object,
                           const std::string& shown_name, ShownAs replacement,
                           const TreeChanges::AfterChange& after_change) {
  return is_stored(object) &&
         names.fits(object.directory, shown_name, visible_name(object), replacement, after_change);
}

bool move_to_own_name(const SourceDirectory& directory, const std::string& meeting,
                      const std::string& full_name) noexcept {
  try {
    directory.sync();
    directory.rename_to_free(meeting, directory, full_name);
    return true;
  } catch (const std::exception& error) {
    log::warn(error.what());
    return false;
  }
}

}  // namespace bloscfs::fs
