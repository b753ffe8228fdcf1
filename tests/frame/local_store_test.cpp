// Files and directories of the local system, and writers that use them.

#include "frame/store/local_store.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/open/open.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/ofd_lock.hpp"
#include "frame/store/wait_context.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/support/proc.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

std::shared_ptr<StoreDirectory> store_at(const ScratchDirectory& directory) {
  return make_local_store(
      UniqueFd(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), nullptr);
}

boost::test_tools::assertion_result has_leases(boost::unit_test::test_unit_id) {
  const ScratchDirectory directory;
  boost::test_tools::assertion_result result(
      store_at(directory)->create("a", 0600)->is_sole_user());
  result.message() << "no leases here";
  return result;
}

boost::test_tools::assertion_result has_attributes(boost::unit_test::test_unit_id) {
  const ScratchDirectory directory;
  store_at(directory)->create("a", 0600);
  boost::test_tools::assertion_result result(
      ::setxattr((directory / "a").c_str(), "user.note", "text", 4, 0) == 0);
  result.message() << "no extended attributes here";
  return result;
}

struct stat stat_of(const std::string& path) {
  struct stat st {};
  BOOST_REQUIRE(::stat(path.c_str(), &st) == 0);
  return st;
}

std::unique_ptr<FrameWriter> make_local(const ScratchDirectory& directory, const Buffer& content,
                                        const WriterSettings& settings = {}) {
  auto writer = create_cframe(store_at(directory), "f", small_chunks(), settings);
  const auto transaction = writer->begin();
  put_all(*transaction, content);
  transaction->commit();
  return writer;
}

void replace_first(FrameWriter& writer, unsigned seed) {
  const auto transaction = writer.begin();
  put_content(*transaction, 0, pattern(4096, seed));
  transaction->commit();
}

std::uint64_t generation(const std::string& sidecar) {
  const auto lock = PeerLock::open(AT_FDCWD, sidecar);
  return lock ? lock->generation() : 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(local_store)

BOOST_AUTO_TEST_CASE(writes_reads_and_cuts_files) {
  const ScratchDirectory directory;
  const auto store = store_at(directory);
  const auto file = store->create("a", 0600);
  file->write_at(10, pattern(300000, 1));
  file->sync();
  Buffer read(300000);
  BOOST_TEST(file->read_at(10, read) == read.size());
  BOOST_TEST(read == pattern(300000, 1));
  file->truncate(100);
  BOOST_TEST(store->open("a")->stamp().size == 100);
  BOOST_TEST(errno_of([&] { store->create("a", 0600); }) == EEXIST);
  BOOST_TEST(errno_of([&] { store->open("b"); }) == ENOENT);
  BOOST_TEST(store->open_source("b") == nullptr);
  BOOST_CHECK(!store->stamp("b"));
}

BOOST_AUTO_TEST_CASE(gives_back_the_space_of_a_hole) {
  const ScratchDirectory directory;
  const auto file = store_at(directory)->create("a", 0600);
  file->write_at(0, pattern(1 << 20, 1));
  file->sync();
  const auto before = stat_of(directory / "a");
  file->punch(4096, 1 << 19);
  const auto after = stat_of(directory / "a");
  BOOST_TEST(after.st_size == before.st_size);
  BOOST_WARN(after.st_blocks < before.st_blocks);
  Buffer byte(1);
  file->read_at(5000, byte);
  BOOST_WARN(byte[0] == 0);
}

BOOST_AUTO_TEST_CASE(renames_within_a_directory) {
  const ScratchDirectory directory;
  const auto store = store_at(directory);
  store->create("a", 0600)->write_at(0, pattern(1, 1));
  store->create("b", 0600);
  BOOST_TEST(errno_of([&] { store->rename("a", "b", RenameMode::no_replace); }) == EEXIST);
  store->rename("a", "b", RenameMode::replace);
  BOOST_TEST(store->open("b")->stamp().size == 1);
  store->sync();
  store->unlink("b");
  BOOST_CHECK(!store->stamp("b"));
}

BOOST_AUTO_TEST_CASE(follows_no_symlinks_and_opens_no_fifos) {
  const ScratchDirectory directory;
  const auto store = store_at(directory);
  store->create("a", 0600);
  BOOST_REQUIRE(::symlink("a", (directory / "link").c_str()) == 0);
  BOOST_REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
  store->make_directory("d", 0700);
  for (const char* name : {"link", "fifo", "d"}) {
    BOOST_TEST(errno_of([&] { store->open(name); }) != 0);
    BOOST_TEST(store->open_source(name) == nullptr);
  }
  BOOST_TEST(errno_of([&] { store->open_directory("link"); }) != 0);
}

BOOST_AUTO_TEST_CASE(carries_attributes_over) {
  const ScratchDirectory directory;
  const auto store = store_at(directory);
  const auto from = store->create("a", 0600);
  BOOST_REQUIRE(::chmod((directory / "a").c_str(), 0751) == 0);
  from->set_times({1000, 5}, {2000, 7});
  const auto to = store->create("b", 0600);
  to->set_attributes(from->attributes());
  const auto st = stat_of(directory / "b");
  BOOST_TEST((st.st_mode & 07777) == 0751u);
  BOOST_TEST(st.st_mtim.tv_sec == 2000);
  BOOST_TEST(st.st_mtim.tv_nsec == 7);
  BOOST_TEST(st.st_atim.tv_sec == 1000);
}

BOOST_AUTO_TEST_CASE(carries_extended_attributes_over,
                     *boost::unit_test::precondition(has_attributes)) {
  const ScratchDirectory directory;
  const auto store = store_at(directory);
  const auto from = store->create("a", 0600), to = store->create("b", 0600);
  BOOST_REQUIRE(::setxattr((directory / "a").c_str(), "user.note", "text", 4, 0) == 0);
  BOOST_REQUIRE(::setxattr((directory / "b").c_str(), "user.other", "text", 4, 0) == 0);
  to->set_attributes(from->attributes());
  char value[8] = {};
  BOOST_TEST(::getxattr((directory / "b").c_str(), "user.note", value, sizeof(value)) == 4);
  BOOST_TEST(std::string(value) == "text");
  BOOST_TEST(::getxattr((directory / "b").c_str(), "user.other", value, sizeof(value)) == -1);
}

BOOST_AUTO_TEST_CASE(knows_when_nobody_else_has_a_file_open,
                     *boost::unit_test::precondition(has_leases)) {
  const ScratchDirectory directory;
  const auto file = store_at(directory)->create("a", 0600);
  {
    const UniqueFd reader(::open((directory / "a").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(!file->is_sole_user());
  }
  BOOST_TEST(file->is_sole_user());
}

// If a process opens a file with a lease, the kernel sends a signal to the holder of the lease.
BOOST_AUTO_TEST_CASE(survives_being_opened_while_it_asks,
                     *boost::unit_test::precondition(has_leases)) {
  const ScratchDirectory directory;
  const auto file = store_at(directory)->create("a", 0600);
  std::atomic<int> opened{0}, failed{0};
  std::jthread opener([&](const std::stop_token& end) {
    while (!end.stop_requested()) {
      const UniqueFd reader(::open((directory / "a").c_str(), O_RDONLY | O_CLOEXEC));
      ++(reader ? opened : failed);
    }
  });
  for (int i = 0; i < 2000 || opened == 0; ++i) file->is_sole_user();
  opener.request_stop();
  opener.join();
  BOOST_TEST(failed == 0);
  BOOST_TEST(file->is_sole_user());
}

BOOST_AUTO_TEST_CASE(lock_of_a_source_keeps_no_frame_locked) {
  const ScratchDirectory directory;
  const auto file = store_at(directory)->create("a", 0600);
  const UniqueFd mount(::open((directory / "a").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE((try_ofd_lock(mount.get(), OfdLocked::source) == OfdLock::taken));
  const LockTimeout none(std::chrono::seconds(0));
  BOOST_TEST((file->lock() != nullptr));
}

BOOST_AUTO_TEST_CASE(writers_of_a_file_exclude_each_other) {
  const ScratchDirectory directory;
  const auto store = store_at(directory);
  store->create("a", 0600);
  const auto one = store->open("a"), other = store->open("a");
  std::atomic<bool> is_released{false};
  auto held = one->lock();
  BOOST_REQUIRE(held);
  const pid_t waiting = ::gettid();
  std::jthread release([&] {
    BOOST_TEST(bloscfs::test::comes_to_call(waiting, SYS_clock_nanosleep));
    is_released = true;
    held.reset();
  });
  BOOST_CHECK(other->lock());
  BOOST_CHECK(is_released);
  release.join();
}

// Otherwise a user with read permission only could block all writers of the file.
BOOST_AUTO_TEST_CASE(lock_for_reading_is_not_waited_for) {
  const ScratchDirectory directory;
  const auto file = store_at(directory)->create("a", 0600);
  const UniqueFd reader(::open((directory / "a").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_RDLCK;
  BOOST_REQUIRE(::fcntl(reader.get(), F_OFD_SETLK, &whole) == 0);
  // If lock() waited for the lock, the wait would time out at once.
  const LockTimeout none(std::chrono::seconds(0));
  BOOST_CHECK(!file->lock());
}

BOOST_AUTO_TEST_CASE(holds_frames_through_random_commits) {
  std::mt19937 random(random_seed());
  for (const bool sparse : {false, true}) {
    const ScratchDirectory directory;
    auto writer = sparse ? create_sframe(store_at(directory), "f", small_chunks(), {})
                         : create_cframe(store_at(directory), "f", small_chunks(), {});
    FrameContents model;
    for (int commit = 0; commit < 25; ++commit) {
      const auto transaction = writer->begin();
      edit_at_random(*transaction, model, random);
      transaction->commit();
      BOOST_TEST(contents_of(*open_path(directory / "f", {})) == model);
      BOOST_TEST(writer->snapshot()->unchanged());
    }
    writer->tidy();
    writer->compact();
    BOOST_TEST(contents_of(*open_path(directory / "f", {})) == model);
  }
}

BOOST_AUTO_TEST_CASE(raises_the_generation_of_a_sidecar) {
  const ScratchDirectory directory;
  const auto writer = make_local(directory, pattern(8192, 1));
  directory.write("f.b2lock", {});
  const auto before = open_path(directory / "f", {});
  replace_first(*writer, 2);
  BOOST_TEST(generation(directory / "f.b2lock") == 1u);
  BOOST_TEST(!before->unchanged());
  replace_first(*writer, 3);
  BOOST_TEST(generation(directory / "f.b2lock") == 2u);
  BOOST_TEST(writer->snapshot()->unchanged());
}

BOOST_AUTO_TEST_CASE(follows_a_frame_to_a_name_with_another_sidecar) {
  const ScratchDirectory directory;
  const auto writer = make_local(directory, pattern(8192, 1));
  directory.write("f.b2lock", {});
  replace_first(*writer, 2);
  replace_first(*writer, 3);
  std::filesystem::create_hard_link(directory / "f", directory / "g");
  directory.write("g.b2lock", {});
  writer->moved(store_at(directory), "g");
  {
    const auto transaction = writer->begin();
    BOOST_TEST(writer->snapshot()->unchanged());
    put_content(*transaction, 0, pattern(4096, 4));
    transaction->commit();
  }
  BOOST_TEST(writer->snapshot()->unchanged());
  BOOST_TEST(generation(directory / "f.b2lock") == 2u);
  BOOST_TEST(generation(directory / "g.b2lock") == 1u);
}

BOOST_AUTO_TEST_CASE(makes_a_sidecar_when_asked_to) {
  const ScratchDirectory directory;
  const auto writer = make_local(directory, pattern(8192, 1), {.locking = true});
  replace_first(*writer, 2);
  BOOST_TEST(generation(directory / "f.b2lock") == 1u);
  const auto sparse = create_sframe(store_at(directory), "s", small_chunks(), {.locking = true});
  sparse->begin()->commit();
  sparse->begin()->commit();
  BOOST_TEST(generation(directory / "s/.b2lock") == 1u);
}

BOOST_AUTO_TEST_CASE(locks_other_programs_out_during_a_transaction) {
  const ScratchDirectory directory;
  const auto writer = make_local(directory, pattern(8192, 1));
  directory.write("f.b2lock", {});
  const UniqueFd peer(::open((directory / "f.b2lock").c_str(), O_RDWR | O_CLOEXEC));
  const auto can_lock = [&] {
    const bool locked = ::flock(peer.get(), LOCK_SH | LOCK_NB) == 0;
    ::flock(peer.get(), LOCK_UN);
    return locked;
  };
  {
    const auto transaction = writer->begin();
    BOOST_TEST(!can_lock());
    // Readers in this process can go on.
    BOOST_TEST(contents_of(*writer->snapshot()).bytes == pattern(8192, 1));
    transaction->commit();
    BOOST_TEST(can_lock());
  }
  { const auto abandoned = writer->begin(); }
  BOOST_TEST(can_lock());
}

BOOST_AUTO_TEST_CASE(notices_a_peer_that_counted_on) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const auto writer = make_local(directory, pattern(8192, 1));
  BOOST_TEST(writer->snapshot()->unchanged());
  Buffer sidecar(16);
  sidecar[8] = 9;
  directory.write("f.b2lock", sidecar);
  BOOST_TEST(errno_of([&] { writer->begin(); }) == ESTALE);
}

BOOST_AUTO_TEST_SUITE_END()
