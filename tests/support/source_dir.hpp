#pragma once
// Directories that tests mount as SOURCE, on whatever filesystem the tests are run for.

#include <string>
#include <string_view>

#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A fresh directory on the filesystem that BLOSCFS_TEST_SOURCE names, as OtherFilesystem has them.
/// The first one of a process mounts that filesystem, and the end of the process unmounts it.
/// Without BLOSCFS_TEST_SOURCE it is an ordinary TempDir.
class SourceDir : public TempDir {
 public:
  SourceDir();
};

/// The value of BLOSCFS_TEST_SOURCE; empty for an ordinary filesystem.
std::string source_kind();
/// Whether that is one of `kinds`, as in source_is("bindfs sshfs").
bool source_is(std::string_view kinds);

/// The tests do not run on one of these filesystems, which lack what the case needs:
/// precondition(source_is_not("sshfs", "files of users other than root")).
class source_is_not {
 public:
  source_is_not(std::string kinds, std::string lacking)
      : kinds_(std::move(kinds)), lacking_(std::move(lacking)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;
  bool holds() const { return !source_is(kinds_); }

 private:
  std::string kinds_, lacking_;
};

/// What some of these filesystems lack, in their default settings; tools/pages/bloscfs-writing.7
/// tells users.
inline const source_is_not kNeedsExchange("bindfs mergerfs sshfs", "exchange of two names");
inline const source_is_not kNeedsRemovalOfOpenFiles(
    "bindfs sshfs", "removal of an open file that leaves its directory empty");
inline const source_is_not kNeedsSingleTimes("bindfs", "setting a time of modification alone");
inline const source_is_not kNeedsFineTimes("sshfs", "times finer than a second");
inline const source_is_not kNeedsLinkCounts("sshfs", "the number of links of a file");
inline const source_is_not kNeedsNumbersOfLinks("mergerfs sshfs",
                                                "one inode number for all links of a file");
inline const source_is_not kNeedsSpecialFiles("sshfs", "FIFOs, and symlinks to other directories");
inline const source_is_not kNeedsOwners("sshfs", "files that belong to the user who makes them");
inline const source_is_not kNeedsAccessLists("bindfs gocryptfs mergerfs sshfs",
                                             "access control lists that the kernel knows");
inline const source_is_not kNeedsGroupsOfCallers("gocryptfs mergerfs",
                                                 "groups of a process as the kernel has them");
inline const source_is_not kNeedsPrivilegesDropped("mergerfs",
                                                   "writes of others to a set-user-ID file");
inline const source_is_not kNeedsUsersAtOnce("gocryptfs sshfs",
                                             "requests of several users at a time");
inline const source_is_not kNeedsAttributes("sshfs", "extended attributes");
inline const source_is_not kNeedsSpeed("bindfs gocryptfs mergerfs sshfs",
                                       "tens of thousands of files that are listed in a second");
inline const source_is_not kNeedsBirthTimes("bindfs gocryptfs mergerfs sshfs",
                                            "times of birth, which tell objects of one inode "
                                            "number apart");

/// libfuse gives such a name to an open file that is removed, until it is closed.
inline bool is_hidden_by_source(std::string_view name) {
  return source_is("bindfs sshfs") && name.starts_with(".fuse_hidden");
}

}  // namespace bloscfs::test
