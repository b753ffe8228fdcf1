// Changes of SOURCE on behalf of a user: they have the user's identity, and the daemon gets its own
// back afterwards.

#include "fs/source/local/files/on_behalf.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/source/local/files/source_directory.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::fs {
namespace {

using boost::unit_test::precondition;

/// A thread that has these supplementary groups as long as it lives.
class GroupedThread {
 public:
  explicit GroupedThread(std::vector<gid_t> groups)
      : thread_([this, groups = std::move(groups)] {
          ::syscall(SYS_setgroups, groups.size(), groups.data());
          std::unique_lock lock(mutex_);
          id_ = static_cast<pid_t>(::syscall(SYS_gettid));
          changed_.notify_all();
          changed_.wait(lock, [this] { return is_done_; });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return id_ != 0; });
  }
  ~GroupedThread() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  GroupedThread(const GroupedThread&) = delete;
  GroupedThread& operator=(const GroupedThread&) = delete;
  pid_t id() const { return id_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  pid_t id_ = 0;
  bool is_done_ = false;
  std::jthread thread_;
};

std::vector<gid_t> groups_here() {
  std::vector<gid_t> groups(64);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return groups;
}

struct stat made_by(const SourceDirectory& directory, const Caller& caller,
                    const std::string& name) {
  Request request(caller);
  directory.make_directory(Change(request), name, 0777);
  return *directory.stat(name);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(on_behalf)

BOOST_AUTO_TEST_CASE(identity_is_the_callers_and_the_daemons_again,
                     *precondition(test::needs_root)) {
  const test::TempDir place;
  BOOST_REQUIRE(::chmod(place.path().c_str(), 0777) == 0);
  const SourceDirectory directory(
      frame::UniqueFd(::open(place.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), {});
  const GroupedThread thread({70010, 70011});
  const std::vector<gid_t> own = groups_here();
  const struct {
    uid_t user;
    gid_t group;
  } cases[] = {{70002, 70003}, {0, 70003}, {70002, 0}, {0, 0}};
  for (const auto& [user, group] : cases) {
    const auto st =
        made_by(directory, {user, group, 027, thread.id()}, fmt::format("{}.{}", user, group));
    BOOST_TEST(st.st_uid == user);
    BOOST_TEST(st.st_gid == group);
    BOOST_TEST((st.st_mode & 07777) == 0750u);
    BOOST_CHECK(groups_here() == own);
    BOOST_TEST(::setfsuid(static_cast<uid_t>(-1)) == 0);
    BOOST_TEST(::setfsgid(static_cast<gid_t>(-1)) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
