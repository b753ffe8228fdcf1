#include "fs/content/at_place.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>

#include "frame/store/wait_context.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {
namespace {

/// How many times at_place() calls the work while other threads keep renaming the file.
constexpr int kPlaceTries = 5;

}  // namespace

void at_place(Request& request, ContentHome& home,
              const std::function<void(const StoredPlace&)>& work) {
  for (int tries = 1;; tries++) {
    const std::string path = home.path();
    const StoredPlace place = home.place_now(request);
    try {
      return work(place);
    } catch (const std::system_error& error) {
      // Between place_now() and the open, another thread may rename the file. Then the old name is
      // gone (ENOENT), or another file has it (ESTALE). If the place is unchanged, another program
      // caused the error, and the error stands.
      const bool is_gone =
          error.code() == std::errc::no_such_file_or_directory || error.code() == std::errc(ESTALE);
      if (!is_gone || tries == kPlaceTries) throw;
      const StoredPlace now = home.place_now(request);
      if (home.path() == path && now.name == place.name && now.is_unlinked == place.is_unlinked)
        throw;
    }
  }
}

frame::WriterSettings writer_settings(const StoredPlace& place, const ContentServices& services) {
  frame::WriterSettings settings{services.options.locking};
  settings.recent_writers = services.recent_writers;
  settings.shared = place.is_shared;
  settings.grace.clock = &services.clock;
  // The directory of a shared container itself keeps superseded files until readers on other hosts
  // have had time to finish. So the writer need not.
  if (place.is_shared) settings.grace.time = std::chrono::milliseconds::zero();
  return settings;
}

void wait_for_peers(Request& request, const frame::Snapshot& snapshot) {
  try {
    // The first try does not wait, so it needs no slot. The sidecar is almost always free.
    const frame::LockTimeout none(std::chrono::seconds(0));
    snapshot.wait_for_peers();
    return;
  } catch (const frame::LockedByOthers&) {
    // `none` does not exist here any more, so this asks for the lock timeout of the caller.
    if (frame::LockTimeout::has_ended()) throw;
  }
  request.need_slot();
  snapshot.wait_for_peers();
}

}  // namespace bloscfs::fs
