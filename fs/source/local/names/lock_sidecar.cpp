#include "fs/source/local/names/lock_sidecar.hpp"

#include <system_error>

#include "frame/store/peer_lock.hpp"
#include "frame/store/refusal.hpp"

namespace bloscfs::fs {

bool may_have_sidecar(const SourceEntry& entry) {
  return entry.is_container() && !entry.is_sframe();
}

std::string sidecar_name(const std::string& full_name) { return full_name + frame::kSidecarSuffix; }

void change_sidecar(const std::function<void()>& change) {
  try {
    change();
  } catch (const std::system_error& error) {
    // The file has moved by now: a sidecar that may not be moved along is no reason to fail.
    if (!frame::is_denial(error.code())) throw;
  }
}

void carry_sidecar(const SourceDirectory& from, const std::string& full_name,
                   const SourceDirectory& to, const std::string& new_full_name) {
  if (&from == &to && full_name == new_full_name) return;
  if (from.stat(sidecar_name(full_name)))
    change_sidecar([&] { from.rename(sidecar_name(full_name), to, sidecar_name(new_full_name)); });
}

void remove_sidecar(const SourceDirectory& directory, const std::string& full_name) {
  if (directory.stat(sidecar_name(full_name)))
    change_sidecar([&] { directory.remove_file(sidecar_name(full_name)); });
}

}  // namespace bloscfs::fs
