#pragma once
// The frame of an embedded leaf as a file of its own.

#include <string>

#include "frame/pystore/python_store.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/source_directory.hpp"
#include "fs/stores/mounted_store.hpp"

namespace bloscfs::fs {

/// A temporary, durable and complete, until it takes a name. Errors: std::system_error,
/// codec::Error where what is embedded is no frame; RequestEnded.
class LeafCopy {
 public:
  /// Made as the caller. Mode and times are those of embed.b2e, and its owner and group as far as
  /// the caller may give them: whom it does not belong to then may do no more with it than before.
  LeafCopy(const SourceDirectory& in, const MountedStore& store, const frame::Leaf& leaf,
           const Caller& caller);
  ~LeafCopy();
  LeafCopy(const LeafCopy&) = delete;
  LeafCopy& operator=(const LeafCopy&) = delete;

  /// ".b2nd" or ".b2f".
  std::string suffix() const;
  /// EEXIST where it is taken. The directory is not flushed.
  void take_name(const std::string& full_name, const Caller& caller);

 private:
  explicit LeafCopy(const SourceDirectory& in);

  const SourceDirectory& in_;
  const std::string temporary_;
  bool is_array_ = false;
  bool has_name_ = false;
};

}  // namespace bloscfs::fs
