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
  /// Made as the caller, in the directory `in` of the store's directory `root`. Owner, group, mode,
  /// access list and times are those of embed.b2e: who may do what with it stays as it was. Where
  /// the daemon cannot give them, nobody gets more.
  LeafCopy(const SourceDirectory& in, const SourceDirectory& root, const MountedStore& store,
           const frame::Leaf& leaf, const Caller& caller);
  ~LeafCopy();
  LeafCopy(const LeafCopy&) = delete;
  LeafCopy& operator=(const LeafCopy&) = delete;

  /// ".b2nd" or ".b2f".
  std::string suffix() const;
  /// As the daemon: who may make the copy may name it. EEXIST where the name is taken. The
  /// directory is not flushed.
  void take_name(const std::string& full_name);

 private:
  explicit LeafCopy(const SourceDirectory& in);

  const SourceDirectory& in_;
  const std::string temporary_;
  bool is_array_ = false;
  bool has_name_ = false;
};

}  // namespace bloscfs::fs
