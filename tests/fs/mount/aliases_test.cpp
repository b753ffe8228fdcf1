// A frame's own bytes in the mount, under the name that it has in SOURCE.

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

constexpr const char* kFrames = "frames";
constexpr mode_t kWriteBits = 0222;

ByteVector array_file() {
  const std::string header = npy_header("<f8", {500});
  return with_bytes(bytes_of(header), header.size(), make_contents("floats", 1, 4000, 8));
}

/// SOURCE with the flat frame `x`, the array `t.npy`, the sparse frame `s` and the plain file `p`.
class Shown {
 public:
  explicit Shown(const std::string& options = kFrames) {
    {
      InProcess first(path());
      first.write("x", bytes_of("flat"));
      first.write("t.npy", array_file());
      first.end();
    }
    write_sparse_frame(source_ / "s.b2frame", make_contents("noise", 1, 300000, 1));
    write_file(source_ / "p", bytes_of("plain"));
    mount_.emplace(path(), options);
  }

  InProcess* operator->() { return &*mount_; }
  fs::Filesystem& filesystem() { return *mount_->operator->(); }
  const fs_std::path& path() const { return source_.path(); }
  ByteVector stored(std::string_view name) const { return read_file(path() / name); }
  int error_of_removing(std::string_view name) {
    return error_of([&] { mount_->remove(name); });
  }

 private:
  const TempDir source_;
  std::optional<InProcess> mount_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(aliases)

BOOST_AUTO_TEST_CASE(stored_names_lead_to_the_stored_bytes_and_are_not_listed) {
  Shown mount;
  BOOST_TEST(mount->names() == (Names{"p", "s", "t.npy", "x"}), boost::test_tools::per_element());
  for (const auto& [alias, shown] : {std::pair{"x.b2frame", "x"}, {"t.b2nd", "t.npy"}})
    BOOST_TEST_CONTEXT(alias) {
      BOOST_CHECK(mount->read(alias) == mount.stored(alias));
      const struct stat st = mount->stat(alias), file = mount->stat(shown);
      BOOST_TEST(st.st_size == static_cast<off_t>(mount.stored(alias).size()));
      BOOST_TEST(st.st_ino != file.st_ino);
      BOOST_TEST(st.st_mode == (file.st_mode & ~kWriteBits));
      BOOST_TEST(*mount->find(alias) != *mount->find(shown));
    }
  BOOST_CHECK(mount->read("x") == bytes_of("flat"));
  for (const char* none : {"y.b2frame", "p.b2frame", "t.b2frame"}) BOOST_TEST(!mount->has(none));
  Shown without("");
  BOOST_TEST(!without->has("x.b2frame"));
  BOOST_TEST(!without->has("s.b2frame"));
}

BOOST_AUTO_TEST_CASE(nothing_of_them_can_be_changed) {
  Shown mount;
  const Reference alias = mount->find("x.b2frame");
  for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC})
    BOOST_TEST(error_of([&] { mount->open("x.b2frame", flags); }) == EROFS);
  fs::NewAttributes mode;
  mode.mode = 0600;
  BOOST_TEST(error_of([&] { mount->set("x.b2frame", mode); }) == EROFS);
  BOOST_TEST(error_of([&] { mount->resize("x.b2frame", 0); }) == EROFS);
  BOOST_TEST(error_of([&] { mount->set_attribute("x.b2frame", "user.a", "b"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount.filesystem().names().check_access(*alias, W_OK); }) == EROFS);
  BOOST_TEST(mount.error_of_removing("x.b2frame") == EROFS);
  BOOST_TEST(error_of([&] { mount->rename("x.b2frame", "y"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount->make_link("x.b2frame", "y"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount->remove_directory("s.b2frame"); }) == EROFS);
  BOOST_CHECK(mount->read("x") == bytes_of("flat"));
}

BOOST_AUTO_TEST_CASE(nothing_else_gets_their_names) {
  Shown mount;
  for (const char* alias : {"x.b2frame", "t.b2nd", "s.b2frame"}) BOOST_TEST_CONTEXT(alias) {
      BOOST_TEST(error_of([&] { mount->create(alias); }) == EEXIST);
      BOOST_TEST(error_of([&] { mount->make_directory(alias); }) == EEXIST);
      BOOST_TEST(error_of([&] { mount->make_symlink("p", alias); }) == EEXIST);
      BOOST_TEST(error_of([&] { mount->make_link("p", alias); }) == EEXIST);
      BOOST_TEST(error_of([&] { mount->rename("p", alias); }) == EEXIST);
      BOOST_TEST(error_of([&] { mount->rename("p", alias, RENAME_EXCHANGE); }) == EEXIST);
    }
  mount->remove("x");
  BOOST_TEST(!mount->has("x.b2frame"));
  mount->write("x.b2frame", bytes_of("a file"));
  BOOST_CHECK(mount->read("x.b2frame") == bytes_of("a file"));
}

BOOST_AUTO_TEST_CASE(shown_name_comes_before_an_alias) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(bytes_of("one")));
  write_file(source / "a", bytes_of("two"));
  InProcess mount(source.path(), kFrames);
  BOOST_CHECK(mount.read("a.b2frame") == bytes_of("one"));
  mount.remove("a");
  BOOST_CHECK(mount.read("a") == bytes_of("one"));
  BOOST_CHECK(mount.read("a.b2frame") == read_file(source / "a.b2frame"));
}

BOOST_AUTO_TEST_CASE(waiting_bytes_are_not_in_it_and_a_commit_makes_another_file_of_it) {
  Shown mount;
  const ByteVector before = mount.stored("x.b2frame");
  const InProcess::File file = mount->open("x");
  file.write(0, bytes_of("changed"));
  const InProcess::File old = mount->open("x.b2frame", O_RDONLY);
  BOOST_CHECK(old.contents() == before);
  file.sync();
  BOOST_CHECK(mount.stored("x.b2frame") != before);
  BOOST_TEST(error_of([&] { old.contents(); }) == EIO);
  BOOST_TEST(old.stat().st_size == static_cast<off_t>(before.size()));
  BOOST_CHECK(mount->read("x.b2frame") == mount.stored("x.b2frame"));
  BOOST_TEST(mount->open("x.b2frame", O_RDONLY).node() != old.node());
}

BOOST_AUTO_TEST_CASE(commit_between_lookup_and_open_is_what_is_opened) {
  Shown mount;
  const Reference found = mount->find("x.b2frame");
  const InProcess::File file = mount->open("x");
  file.write(0, bytes_of("changed"));
  file.sync();
  fs::Filesystem& filesystem = mount.filesystem();
  const auto opened = filesystem.open(*found, O_RDONLY);
  BOOST_TEST(opened.is_uncached);
  const auto size = static_cast<off_t>(mount.stored("x.b2frame").size());
  BOOST_TEST(filesystem.handle(opened.handle)->attributes().st_size == size);
  file.write(0, bytes_of("again"));
  file.sync();
  BOOST_TEST(filesystem.tree().attributes(*found).st_size == size);
  BOOST_TEST(error_of([&] { filesystem.open(*found, O_RDONLY); }) == ESTALE);
  filesystem.release(opened.handle);
}

BOOST_AUTO_TEST_CASE(open_one_outlives_its_name) {
  Shown mount;
  const ByteVector before = mount.stored("t.b2nd");
  const InProcess::File renamed = mount->open("t.b2nd", O_RDONLY);
  mount->rename("t.npy", "u.npy");
  BOOST_TEST(!mount->has("t.b2nd"));
  BOOST_CHECK(renamed.contents() == before);
  BOOST_CHECK(mount->read("u.b2nd") == before);
  const InProcess::File removed = mount->open("u.b2nd", O_RDONLY);
  mount->remove("u.npy");
  BOOST_TEST(!mount->has("u.b2nd"));
  BOOST_CHECK(removed.contents() == before);
}

BOOST_AUTO_TEST_CASE(frames_of_others_take_its_place) {
  Shown mount;
  const InProcess::File old = mount->open("x.b2frame", O_RDONLY);
  const ByteVector before = old.contents();
  write_file(mount.path() / "new", flat_frame(bytes_of("somebody else's")));
  fs_std::rename(mount.path() / "new", mount.path() / "x.b2frame");
  BOOST_CHECK(mount->read("x.b2frame") == mount.stored("x.b2frame"));
  BOOST_CHECK(old.contents() == before);
  write_file(mount.path() / "x.b2frame", bytes_of("no frame"));
  BOOST_CHECK(mount->read("x.b2frame") == bytes_of("no frame"));
  BOOST_TEST(!mount->has("x"));
}

BOOST_AUTO_TEST_CASE(sparse_frame_is_the_directory_that_it_is_stored_as) {
  Shown mount;
  write_file(mount.path() / "s.b2frame/note", bytes_of("somebody's"));
  BOOST_TEST(S_ISDIR(mount->stat("s.b2frame").st_mode));
  const Names inside = mount->names("s.b2frame");
  BOOST_TEST(inside.size() > 1u);
  BOOST_TEST(inside.back() == "chunks.b2frame");
  for (const std::string& name : inside) BOOST_TEST_CONTEXT(name) {
      const std::string path = "s.b2frame/" + name;
      BOOST_CHECK(mount->read(path) == mount.stored(path));
      BOOST_TEST(mount.error_of_removing(path) == EROFS);
      BOOST_TEST(error_of([&] { mount->open(path, O_WRONLY); }) == EROFS);
    }
  BOOST_TEST(!mount->has("s.b2frame/note"));
  BOOST_TEST(error_of([&] { mount->create("s.b2frame/new"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount->rename("p", "s.b2frame/p"); }) == EROFS);
  mount->remove("s");
  BOOST_TEST(!mount->has("s.b2frame"));
}

BOOST_AUTO_TEST_CASE(single_frame_has_one_beside_it) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(bytes_of("one")));
  write_file(source / "b.b2frame", flat_frame(bytes_of("two")));
  InProcess mount(source / "a.b2frame", kFrames);
  BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a.b2frame") == read_file(source / "a.b2frame"));
  BOOST_TEST(!mount.has("b.b2frame"));
  write_sparse_frame(source / "s.b2frame", bytes_of("three"));
  InProcess sparse(source / "s.b2frame", kFrames);
  BOOST_CHECK(sparse.read("s") == bytes_of("three"));
  BOOST_CHECK(sparse.read("s.b2frame/chunks.b2frame") ==
              read_file(source / "s.b2frame/chunks.b2frame"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
