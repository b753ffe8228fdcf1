// Objects change on the server while a mount shows them.

#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// A folder of a web server. Each file that put() writes has another modification time.
class Changing {
 public:
  Changing() {
    fs_std::create_directory(folder());
    fs_std::permissions(folder(), fs_std::perms(0755));
  }

  fs_std::path folder() const { return nginx_.www() / "folder"; }
  std::string url(const std::string& name = "") const { return nginx_.url("folder/" + name); }
  /// Returns a URL of the folder under which the server sends neither ETag nor date.
  std::string bare_url() const { return nginx_.url("bare/folder/"); }
  /// Makes or replaces a file in one step.
  void put(const std::string& name, const ByteVector& bytes) {
    const fs_std::path fresh = nginx_.www() / "fresh";
    write_file(fresh, bytes);
    fs_std::last_write_time(fresh,
                            fs_std::file_time_type::clock::now() + std::chrono::seconds(++states_));
    fs_std::rename(fresh, folder() / name);
  }

 private:
  Nginx nginx_;
  int states_ = 0;
};

const ByteVector kOld = make_contents("noise", 1, 3 << 20, 1);
const ByteVector kNew = make_contents("noise", 2, (3 << 20) + 5000, 1);

ByteVector finely_cut(const ByteVector& contents) {
  return flat_frame(contents, {4096, 4096, 1, {}, {}});
}

/// Reads 4 KiB and compares them with `wanted`. Returns the errno, or 0. The kernel answers from
/// its page cache if it has the page.
int error_at(const Fd& file, std::size_t offset, const ByteVector& wanted) {
  ByteVector bytes(4096);
  if (::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) < 0) return errno;
  BOOST_CHECK(
      std::equal(bytes.begin(), bytes.end(), wanted.begin() + static_cast<std::ptrdiff_t>(offset)));
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_changes, *utf::precondition(needs_fuse_and_nginx))

BOOST_AUTO_TEST_CASE(what_is_open_stays_one_state_and_what_is_opened_is_the_new_one) {
  Changing server;
  server.put("a.b2frame", finely_cut(kOld));
  server.put("plain", kOld);
  Mount mount(server.url(), impatient());
  for (const char* name : {"a", "plain"}) BOOST_TEST_CONTEXT(name) {
      const std::string stored = std::string(name) == "a" ? "a.b2frame" : "plain";
      const Fd old(::open((mount / name).c_str(), O_RDONLY | O_CLOEXEC));
      BOOST_TEST(error_at(old, 0, kOld) == 0);
      server.put(stored, stored == "plain" ? kNew : finely_cut(kNew));
      outlive_knowledge();
      BOOST_CHECK(cat(mount / name) == text_of(kNew));
      BOOST_TEST(fs_std::file_size(mount / name) == kNew.size());
      const int error = error_at(old, 2 << 20, kOld);
      BOOST_TEST((error == EIO || error == 0), error);
      BOOST_TEST(error_at(old, 0, kOld) == 0);
      const Fd fresh(::open((mount / name).c_str(), O_RDONLY | O_CLOEXEC));
      BOOST_TEST(error_at(fresh, 2 << 20, kNew) == 0);
    }
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_reader_meets_a_change_as_an_error) {
  Changing server;
  server.put("a.b2frame", finely_cut(kOld));
  Mount mount(server.url("a.b2frame"), impatient());
  const Fd file(::open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(error_at(file, 0, kOld) == 0);
  server.put("a.b2frame", finely_cut(kNew));
  BOOST_TEST(error_at(file, 1 << 20, kOld) == EIO);
  outlive_knowledge();
  BOOST_CHECK(cat(mount / "a") == text_of(kNew));
}

BOOST_AUTO_TEST_CASE(names_come_and_go) {
  Changing server;
  server.put("a.b2frame", finely_cut(kOld));
  server.put("b.b2frame", finely_cut(kOld));
  Mount mount(server.url(), impatient());
  BOOST_TEST(output_of({"ls", mount.path().string()}) == "a\nb\n");
  BOOST_TEST(description_of(mount / "c") == "ENOENT");
  BOOST_TEST(cat(mount / "a").size() == kOld.size());
  fs_std::remove(server.folder() / "a.b2frame");
  server.put("c", bytes_of("plain"));
  outlive_knowledge();
  BOOST_TEST(description_of(mount / "a") == "ENOENT");
  BOOST_TEST(cat(mount / "c") == "plain");
  BOOST_TEST(output_of({"ls", mount.path().string()}) == "b\nc\n");
  // The mount does not remember the absence of the file for long.
  server.put("a.b2frame", finely_cut(kNew));
  outlive_knowledge();
  BOOST_CHECK(cat(mount / "a") == text_of(kNew));
}

BOOST_AUTO_TEST_CASE(kinds_change) {
  Changing server;
  const ByteVector text = make_contents("text", 1, 50000, 1);
  server.put("x.b2frame", bytes_of("no frame yet"));
  server.put("y.b2frame", flat_frame(text));
  server.put("z", bytes_of("plain"));
  Mount mount(server.url(), impatient());
  BOOST_TEST(cat(mount / "x.b2frame") == "no frame yet");
  BOOST_CHECK(cat(mount / "y") == text_of(text));
  BOOST_TEST(cat(mount / "z") == "plain");
  server.put("x.b2frame", flat_frame(text));
  fs_std::remove(server.folder() / "y.b2frame");
  write_sparse_frame(server.folder() / "y.b2frame", kOld);
  fs_std::remove(server.folder() / "z");
  fs_std::create_directory(server.folder() / "z");
  write_file(server.folder() / "z/in", std::string_view("below"));
  for (const char* name : {"y.b2frame", "z"})
    fs_std::permissions(server.folder() / name, fs_std::perms(0755));
  outlive_knowledge();
  BOOST_CHECK(cat(mount / "x") == text_of(text));
  BOOST_CHECK(cat(mount / "y") == text_of(kOld));
  BOOST_TEST(cat(mount / "z/in") == "below");
  fs_std::remove_all(server.folder() / "y.b2frame");
  fs_std::remove_all(server.folder() / "z");
  server.put("y.b2frame", bytes_of("no frame any more"));
  server.put("z", flat_frame(text));
  outlive_knowledge();
  BOOST_TEST(cat(mount / "y.b2frame") == "no frame any more");
  BOOST_CHECK(cat(mount / "z") == text_of(text));
  server.put("y.b2frame",
             read_file(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data/stores/embed0.b2e"));
  outlive_knowledge();
  BOOST_TEST(description_of(mount / "y") == "directory");
  BOOST_TEST(cat(mount / "y/deep2/leaf4.npy").starts_with("\x93NUMPY"));
  server.put("y.b2frame", flat_frame(text));
  outlive_knowledge();
  BOOST_CHECK(cat(mount / "y") == text_of(text));
}

/// Returns the sorted names in a directory, or the error of opening or reading it.
std::string names_in(const fs_std::path& directory) {
  std::error_code error;
  std::set<std::string> names;
  for (fs_std::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    names.insert(at->path().filename());
  if (error) return error.message();
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

BOOST_AUTO_TEST_CASE(a_store_is_the_root_in_the_state_that_it_has) {
  const fs_std::path data = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data";
  const ByteVector tree = read_file(data / "stores/tree0.b2z");
  Changing server;
  server.put("s.b2z", tree);
  Mount mount(server.url("s.b2z"), impatient());
  BOOST_TEST(names_in(mount.path()) == "deep0 h0 temp0 ");
  BOOST_TEST(cat(mount / "temp0/leaf1.npy").starts_with("\x93NUMPY"));
  std::array<char, 16> kind{};
  BOOST_TEST(::getxattr(mount.path().c_str(), "user.blosc2.store", kind.data(), kind.size()) == 6);
  BOOST_TEST(kind.data() == std::string("b2tree"));
  server.put("s.b2z", read_file(data / "tables/utf8.b2z"));
  outlive_knowledge();
  BOOST_TEST(description_of(mount / "_valid_rows.npy") != "No such file or directory");
  BOOST_TEST(names_in(mount.path()).starts_with("_cols "));
  server.put("s.b2z", bytes_of("no store"));
  outlive_knowledge();
  BOOST_TEST(names_in(mount.path()) == std::strerror(ESTALE));
  fs_std::remove(server.folder() / "s.b2z");
  outlive_knowledge();
  BOOST_TEST(names_in(mount.path()) == std::strerror(ESTALE));
  server.put("s.b2z", tree);
  outlive_knowledge();
  BOOST_TEST(names_in(mount.path()) == "deep0 h0 temp0 ");
  fs_std::remove(server.folder() / "s.b2z");
  outlive_knowledge();
  const ProcessResult unmounted = run({bloscfs_program(), "--unmount", mount.path()});
  BOOST_TEST(unmounted.ok(), unmounted.description());
}

BOOST_AUTO_TEST_CASE(a_sparse_frame_changes_with_its_index) {
  Changing server;
  const fs_std::path frame = server.folder() / "s.b2frame";
  write_sparse_frame(frame, kOld);
  fs_std::permissions(frame, fs_std::perms(0755));
  Mount mount(server.url(), impatient());
  const Fd old(::open((mount / "s").c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(error_at(old, 0, kOld) == 0);
  // Replaces the frame's files one by one. The new chunks have the numbers of the old ones.
  const TempDir place;
  write_sparse_frame(place / "s", kNew);
  for (const auto& entry : fs_std::directory_iterator(place / "s"))
    server.put("s.b2frame/" + entry.path().filename().string(), read_file(entry.path()));
  outlive_knowledge();
  BOOST_CHECK(cat(mount / "s") == text_of(kNew));
  fs_std::remove_all(frame);
  outlive_knowledge();
  BOOST_TEST(description_of(mount / "s") == "ENOENT");
}

BOOST_AUTO_TEST_CASE(what_has_neither_tag_nor_date_is_told_apart_by_what_is_seen) {
  Changing server;
  server.put("file.b2frame", finely_cut(kOld));
  Mount mount(server.bare_url(), impatient({"revalidate=0"}));
  BOOST_CHECK(cat(mount / "file") == text_of(kOld));
  BOOST_CHECK(cat(mount / "file") == text_of(kOld));
  server.put("file.b2frame", finely_cut(kNew));
  outlive_knowledge();
  BOOST_CHECK(cat(mount / "file") == text_of(kNew));
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()
