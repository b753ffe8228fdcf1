#include "fs/commit/new_container.hpp"

#include <system_error>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/temporary_name.hpp"

namespace bloscfs::fs {
namespace {

std::shared_ptr<frame::StoreFile> open_own_temporary(const StoredPlace& place) {
  if (!place.open_file) return place.directory->open(place.name);
  return frame::make_local_file(place.open_file());
}

std::string name_of(const StoredPlace& place, NewContainer::Where where, const std::string& name) {
  if (where == NewContainer::Where::by_name) return name;
  return where == NewContainer::Where::own_temporary ? place.name : frame::temporary_name();
}

}  // namespace

NewContainer::NewContainer(const frame::FrameSettings& settings, ShownAs shown,
                           const StoredPlace& place, Where where, const std::string& name,
                           const frame::WriterSettings& writer_settings)
    : shown_(shown), where_(where), name_(name_of(place, where, name)) {
  if (where == Where::by_name) {
    writer_ = frame::create_sframe(place.directory, name_, settings, writer_settings);
    return;
  }
  auto file = where == Where::own_temporary ? open_own_temporary(place) : nullptr;
  writer_ =
      frame::create_cframe(place.directory, name_, settings, writer_settings, std::move(file));
  // The file's own temporary represents the file until the first commit, so it stays even if that
  // fails. Only a temporary that this commit made is removed.
  if (where == Where::new_temporary) directory_ = place.directory;
  if (where == Where::unnamed) place.directory->unlink(name_);
}

NewContainer::~NewContainer() {
  writer_.reset();
  remove_name();
}

void NewContainer::remove_name() noexcept {
  if (!directory_) return;
  try {
    directory_->unlink(name_);
  } catch (const std::system_error&) {
    // The next writable mount removes it.
  }
  directory_ = nullptr;
}

}  // namespace bloscfs::fs
