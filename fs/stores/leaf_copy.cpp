#include "fs/stores/leaf_copy.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/on_behalf.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kCopiedAtOnce = std::size_t{1} << 20;

/// Zeros become holes: a few bytes can stand for any number of them.
void copy_bytes(const frame::ByteSource& from, frame::StoreFile& to) {
  const auto size = static_cast<std::uint64_t>(from.stamp().size);
  std::vector<std::uint8_t> piece(std::min<std::uint64_t>(size, kCopiedAtOnce));
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    RequestLimits::check();
    piece.resize(std::min<std::uint64_t>(size - at, kCopiedAtOnce));
    if (from.read_at(at, piece) != piece.size()) codec::throw_malformed("ends early");
    if (std::any_of(piece.begin(), piece.end(), [](std::uint8_t byte) { return byte != 0; }))
      to.write_at(at, piece);
  }
  to.truncate(size);
}

/// Never with more rights than those had that it belonged to.
mode_t mode_for(const struct stat& had, const struct stat& has) {
  mode_t mode = had.st_mode & 0666;
  if (has.st_gid != had.st_gid) mode &= ~mode_t{060} | ((mode & 06) << 3);
  return mode;
}

void take_over(const SourceObject& file, const struct stat& had, const Caller& caller) {
  try {
    const OnBehalfOf behalf(&caller);
    file.set_owner(caller.user == 0 ? had.st_uid : static_cast<uid_t>(-1), had.st_gid);
  } catch (const std::system_error&) {
    // It belongs to its maker.
  }
  const OnBehalfOf nobody(nullptr);
  file.set_mode(mode_for(had, file.stat()));
  file.set_times(had.st_atim, had.st_mtim);
}

}  // namespace

LeafCopy::LeafCopy(const SourceDirectory& in, const MountedStore& store, const frame::Leaf& leaf,
                   const Caller& caller)
    : LeafCopy(in) {
  const auto snapshot = store.open(leaf);
  if (!snapshot) codec::throw_malformed("no frame");
  is_array_ = snapshot->info().array.has_value();
  frame::UniqueFd made;
  {
    const OnBehalfOf behalf(&caller);
    made = in.make_file(temporary_, 0600);
  }
  const auto file = frame::make_local_file(std::move(made));
  copy_bytes(*store.store().source(leaf), *file);
  take_over(in.object(temporary_), *store.embed(), caller);
  file->sync();
}

LeafCopy::LeafCopy(const SourceDirectory& in) : in_(in), temporary_(frame::temporary_name()) {}

LeafCopy::~LeafCopy() {
  if (has_name_) return;
  try {
    const OnBehalfOf nobody(nullptr);
    in_.remove_file(temporary_);
  } catch (const std::exception&) {
    // A temporary stays behind, as after a sudden end.
  }
}

std::string LeafCopy::suffix() const {
  return std::string(is_array_ ? kArraySuffix : kFlatLeafSuffix);
}

void LeafCopy::take_name(const std::string& full_name, const Caller& caller) {
  const OnBehalfOf behalf(&caller);
  in_.rename_to_free(temporary_, in_, full_name);
  has_name_ = true;
}

}  // namespace bloscfs::fs
