#pragma once
// Takes keys out of the map of a directory's embed.b2e.

#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/source_directory.hpp"

namespace bloscfs::fs {

/// EACCES unless the caller may write to embed.b2e, or owns it: whose contents leaves are.
void require_changing_embed(const SourceDirectory& root, const Caller& caller);
/// EACCES or EPERM unless the caller may put another file in the place of embed.b2e.
void require_replacing_embed(const SourceDirectory& root, const Caller& caller);

struct EmbeddedKeys {
  std::vector<std::string> keys;
  frame::FileStamp state;  ///< that they were found in
};

/// Durable. The file is written anew, so that readers of other leaves go on with the old one, and
/// other names of it keep that; in place where there is no room for another one. Errors are those
/// of frame::Transaction, ESTALE in another state; codec::Error.
void remove_from_embed(const SourceDirectory& root, const EmbeddedKeys& what,
                       frame::SourceCounters* counters);

}  // namespace bloscfs::fs
