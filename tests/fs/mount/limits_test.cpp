// Limits for what one user's requests may take from other users.

#include <cerrno>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include "fs/support/request.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

/// Limits the descriptors of this process. Mounts that are made while it lives share this limit
/// among their users.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now{limit, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

/// Opens a path as a directory. Returns false if the request gets no slot for that.
bool is_opened(InProcess& mount, std::string_view path, fs::Request& request) {
  fs::DirectoryHandles& directories = mount->directories();
  const Reference node = mount.find(path);
  try {
    directories.release(request, directories.open(request, *node, directories.listings_begun()));
    return true;
  } catch (const fs::NoSlot&) {
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(limits_in_process)

BOOST_AUTO_TEST_CASE(user_with_too_many_open_files_leaves_others_some) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  const DescriptorLimit limit(400);
  InProcess mount(source.path());
  const Reference node = mount.find("a");
  std::vector<std::uint64_t> handles;
  int error = 0;
  const auto open_as = [&](uid_t user) {
    fs::Request request(fs::Caller{user});
    return error_of([&] { handles.push_back(mount->open(request, *node, O_RDONLY).handle); });
  };
  while (error == 0 && handles.size() < 1000) error = open_as(1001);
  BOOST_TEST(error == EMFILE);
  BOOST_TEST(mount.log().find("user 1001 has too many files open: close some, or mount with a "
                              "higher limit of descriptors") != std::string::npos);
  BOOST_TEST(open_as(1002) == 0);
  for (const std::uint64_t handle : handles) mount->release(mount.request(), handle);
  BOOST_TEST(open_as(1001) == 0);
  mount->release(mount.request(), handles.back());
}

// The daemon commits closed files early, which gives back their descriptors.
BOOST_AUTO_TEST_CASE(closed_files_give_way_to_new_ones) {
  const TempDir source;
  fs_std::permissions(source.path(), fs_std::perms(0777));
  const DescriptorLimit limit(400);
  InProcess mount(source.path());
  mount.caller.user = 1001;
  for (int i = 0; i < 300; i++) mount.write("f" + std::to_string(i), bytes_of("text"));
  BOOST_TEST(mount->stats().commits > 0u);
  mount->commit_written();
  BOOST_TEST(stored_names(source.path()).size() == 300u);
}

BOOST_AUTO_TEST_CASE(large_directories_are_listed_in_a_slot) {
  const TempDir source;
  for (const char* name : {"small", "large"}) fs_std::create_directory(source / name);
  for (int i = 0; i < 12000; i++)
    fs_std::create_symlink("x", source / ("large/l" + std::to_string(i)));
  InProcess mount(source.path());
  fs::RequestSlots slots(1);
  for (const bool has_one : {true, false}) {
    if (!has_one) BOOST_TEST((slots.take(1001) && slots.take(1002)));
    fs::Request request(&slots, {1001});
    BOOST_TEST(is_opened(mount, "small", request));
    BOOST_TEST(!request.has_slot());
    BOOST_TEST(is_opened(mount, "large", request) == has_one);
    BOOST_TEST(request.has_slot() == has_one);
    if (has_one) slots.give_back(1001);
  }
}

BOOST_AUTO_TEST_CASE(listing_is_that_of_its_beginning) {
  const TempDir source;
  fs_std::create_directories(source / "d/a");
  InProcess mount(source.path());
  fs::DirectoryHandles& directories = mount->directories();
  const Reference node = mount.find("d");
  const auto number = directories.open(mount.request(), *node, directories.listings_begun());
  const auto entries = [&](bool from_start) {
    return directories.entries(mount.request(), number, from_start, directories.listings_begun())
        ->entries.size();
  };
  fs_std::create_directory(source / "d/b");
  BOOST_TEST(entries(true) == 1u);
  BOOST_TEST(entries(false) == 1u);
  BOOST_TEST(entries(true) == 2u);
  directories.release(mount.request(), number);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
