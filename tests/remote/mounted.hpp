#pragma once
// Mounts of URLs, and what is seen in them.

#include <map>
#include <string>
#include <vector>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {

/// needs_fuse, and a web server.
Precondition needs_fuse_and_nginx(boost::unit_test::test_unit_id);

/// Gives up what does not answer after two seconds.
MountSettings impatient(std::vector<std::string> options = {});

/// What a path is: "directory", "link TARGET", "SIZE bytes DIGEST", or the error that looking at or
/// reading it gives. Of large files the digest is that of their beginning and end.
std::string description_of(const fs_std::path& path);
/// The same of all that is listed below a directory, by relative paths. An error of a listing is
/// under the directory's path and "/".
using Shown = std::map<std::string, std::string>;
Shown shown_below(const fs_std::path& root);
/// Only the names, without looking at anything.
std::vector<std::string> names_in(const fs_std::path& directory);

/// What a program prints that is ended after `limit`; else how it ended.
std::string output_of(const Arguments& arguments, Seconds limit = Seconds(20));
/// The text that `cat` prints, or its message.
std::string cat(const fs_std::path& path, Seconds limit = Seconds(20));

std::string text_of(const ByteVector& bytes);

/// Until what was known of objects and names is asked for again: with `revalidate` of at most 2 s,
/// and what the kernel keeps.
void outlive_knowledge();

/// The larger of the objects that tests serve: small chunks, which cannot be compressed.
ByteVector large_object(std::size_t size);
/// What is in it.
ByteVector large_contents(std::size_t size);

}  // namespace bloscfs::test
