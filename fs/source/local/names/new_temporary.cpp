#include "fs/source/local/names/new_temporary.hpp"

#include <exception>

#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/files/source_path.hpp"

namespace bloscfs::fs {

NewTemporary::NewTemporary(const SourceDirectory& directory, mode_t mode, const Caller& caller)
    : directory_(directory), caller_(caller), name_(frame::temporary_name()) {
  const OnBehalfOf behalf(&caller);
  stat_ = frame::status_of(directory.make_file(name_, mode).get());
}

NewTemporary::~NewTemporary() {
  if (is_kept_) return;
  try {
    const OnBehalfOf behalf(&caller_);
    directory_.remove_file(name_);
  } catch (const std::exception&) {
    // Nobody sees it, and a later mount removes what this one has left.
  }
}

bool NewTemporary::is_in(const SourceDirectory& directory) const {
  const auto there = directory.stat(name_);
  return there && identity_of(*there) == identity_of(stat_);
}

}  // namespace bloscfs::fs
