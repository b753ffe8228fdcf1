#pragma once
// What a sequence starts from, and what it may do.

#include <string>
#include <vector>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"

namespace bloscfs::test {

struct Variant {
  const char* name;
  NamePool names;
  OperationKinds kinds;
  /// Makes SOURCE, and the files of `model` that its mount must show. Returns what to mount.
  fs_std::path (*prepare)(const fs_std::path& source, const fs_std::path& model);
};

/// SOURCE is one contiguous frame; only its contents and attributes change.
Variant one_contiguous_frame();
Variant one_sparse_frame();
/// A tree of all kinds of files.
Variant tree_of_plain_names();
/// The same with names that ask for arrays.
Variant tree_with_npy_names();

/// Options of the mount of sequence `number`: each of them has its turn.
std::vector<std::string> mount_options(std::uint64_t number);

}  // namespace bloscfs::test
