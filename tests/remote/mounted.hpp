#pragma once
// Mounts URLs, and describes what the mounts show.

#include <map>
#include <string>
#include <vector>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {

/// needs_fuse and needs_nginx.
Precondition needs_fuse_and_nginx(boost::unit_test::test_unit_id);

/// Returns the settings of a mount that retries requests for two seconds only.
MountSettings impatient(std::vector<std::string> options = {});

/// Describes a path: "directory", "link TARGET", "SIZE bytes DIGEST", or the errno name if lstat()
/// or reading fails. The digest of a large file covers only its beginning and end.
std::string description_of(const fs_std::path& path);
/// Descriptions of everything below a directory, by relative paths. If a listing fails, its error
/// stands under the directory's path followed by "/".
using Shown = std::map<std::string, std::string>;
Shown shown_below(const fs_std::path& root);
/// Returns the sorted names in a directory, without calls to lstat().
std::vector<std::string> names_in(const fs_std::path& directory);

/// Returns what a program prints to stdout; if it fails, its stderr; if it still runs after
/// `limit`, "timed out".
std::string output_of(const Arguments& arguments, Seconds limit = Seconds(20));
/// Returns the text that `cat` prints, or its error message.
std::string cat(const fs_std::path& path, Seconds limit = Seconds(20));

std::string text_of(const ByteVector& bytes);

/// Sleeps until mounts with a `revalidate` of at most 2 s and the kernel no longer trust what they
/// know of objects and names.
void outlive_knowledge();

/// Returns a frame of small chunks that cannot be compressed, with `size` bytes of contents.
ByteVector large_object(std::size_t size);
/// Returns the contents of large_object(size).
ByteVector large_contents(std::size_t size);

}  // namespace bloscfs::test
