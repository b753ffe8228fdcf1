#include "fs/source/local/names/lock_sidecar.hpp"

#include <system_error>

#include "frame/store/peer_lock.hpp"
#include "frame/store/refusal.hpp"

namespace bloscfs::fs {
namespace {

std::string sidecar_name(const std::string& full_name) { return full_name + frame::kSidecarSuffix; }

/// Ignores EACCES and EPERM: the sidecar then stays.
template <typename Work>
void try_to(const Work& work) {
  try {
    work();
  } catch (const std::system_error& error) {
    if (!frame::is_denial(error.code())) throw;
  }
}

}  // namespace

bool may_have_sidecar(const SourceEntry& entry) {
  return entry.kind == EntryKind::frame || entry.shown == ShownAs::frame_store;
}

bool carry_sidecar(const Change& change, const SourceDirectory& from, const std::string& full_name,
                   const SourceDirectory& to, const std::string& new_full_name) {
  if (&from == &to && full_name == new_full_name) return true;
  if (!from.stat(sidecar_name(full_name))) return false;
  try_to([&] { from.rename(change, sidecar_name(full_name), to, sidecar_name(new_full_name)); });
  return true;
}

void remove_sidecar(const Change& change, const SourceDirectory& directory,
                    const std::string& full_name) {
  if (directory.stat(sidecar_name(full_name)))
    try_to([&] { directory.remove_file(change, sidecar_name(full_name)); });
}

void exchange_sidecars(const Change& change, const SourceDirectory& from,
                       const std::string& full_name, const SourceEntry& entry,
                       const SourceDirectory& to, const std::string& other_full_name,
                       const SourceEntry& other) {
  const std::string name = sidecar_name(full_name), other_name = sidecar_name(other_full_name);
  const bool has_one = may_have_sidecar(entry) && from.stat(name);
  const bool has_other = may_have_sidecar(other) && to.stat(other_name);
  try_to([&] {
    if (has_one && has_other)
      from.exchange(change, name, to, other_name);
    else if (has_one)
      from.rename(change, name, to, other_name);
    else if (has_other)
      to.rename(change, other_name, from, name);
  });
}

}  // namespace bloscfs::fs
