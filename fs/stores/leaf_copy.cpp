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
#include "frame/pystore/store_names.hpp"
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

constexpr const char* kAccessList = "system.posix_acl_access";

frame::FileAttributes attributes_of_leaves(const SourceDirectory& root) {
  const auto embed = frame::make_local_file(root.open(std::string(frame::kEmbedName), O_RDONLY));
  frame::FileAttributes attributes = embed->attributes();
  attributes.mode &= 0666;
  std::erase_if(attributes.extended, [](const auto& one) { return one.name != kAccessList; });
  return attributes;
}

}  // namespace

LeafCopy::LeafCopy(const SourceDirectory& in, const SourceDirectory& root,
                   const MountedStore& store, const frame::Leaf& leaf, const Caller& caller)
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
  file->set_attributes(attributes_of_leaves(root));
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

void LeafCopy::take_name(const std::string& full_name) {
  const OnBehalfOf nobody(nullptr);
  in_.rename_to_free(temporary_, in_, full_name);
  has_name_ = true;
}

}  // namespace bloscfs::fs
