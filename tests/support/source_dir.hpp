#pragma once
// Directories that tests mount as SOURCE. BLOSCFS_TEST_SOURCE chooses their filesystem.

#include <string>
#include <string_view>

#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A fresh directory on a filesystem of the kind that BLOSCFS_TEST_SOURCE names (see
/// OtherFilesystem). The first SourceDir of a process mounts that filesystem. It is unmounted when
/// the process ends. Without BLOSCFS_TEST_SOURCE, a SourceDir is an ordinary TempDir.
class SourceDir : public TempDir {
 public:
  SourceDir();
};

/// Returns the value of BLOSCFS_TEST_SOURCE; empty for an ordinary filesystem.
std::string source_kind();
/// True if source_kind() is one of `kinds`, as in source_is("bindfs sshfs").
bool source_is(std::string_view kinds);

/// A precondition that skips a case on filesystems that lack what the case needs:
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

/// Features that some of these filesystems lack with their default settings. For users,
/// tools/pages/bloscfs-writing.7 describes them.
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

/// True for the name that libfuse gives to a removed file until the last program has closed it.
inline bool is_hidden_by_source(std::string_view name) {
  return source_is("bindfs sshfs") && name.starts_with(".fuse_hidden");
}

}  // namespace bloscfs::test
