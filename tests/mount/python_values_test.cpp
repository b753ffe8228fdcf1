// Metadata of python-blosc2 about values that change through a mount, and frames of python-blosc2
// without contents of their own.

#include <functional>
#include <optional>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/container/frame_writer.hpp"
#include "frame/open/open.hpp"
#include "frame/store/local_store.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tests/mount/errno_of.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

constexpr off_t kIndexedElements = 128;  ///< offset behind the NPY header

fs_std::path python_data() {
  for (const fs_std::path& root : data_roots())
    if (root.filename() == "frame") return root.parent_path() / "python";
  throw std::runtime_error("no tests/data/python");
}

/// A copy of the reference files that tests may change.
struct PythonFiles {
  PythonFiles() { fs_std::copy(python_data(), source.path(), fs_std::copy_options::recursive); }
  fs_std::path operator/(const std::string& name) const { return source / name; }
  SourceDir source;
};

std::optional<ByteVector> layer_of(const fs_std::path& frame, const std::string& name) {
  const auto snapshot = frame::open_path(frame.string(), {});
  for (const auto& entry : snapshot->vlmetalayers())
    if (entry.name == name) return snapshot->read_vlmetalayer(entry, 1 << 20, fs::thread_decoder());
  return std::nullopt;
}

void set_layer(const fs_std::path& frame, const std::string& name, const ByteVector& content) {
  auto directory = frame::make_local_store(
      frame::UniqueFd(open(frame.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      nullptr);
  const auto writer = frame::open_cframe_writer(directory, frame.filename().string(), {});
  const auto transaction = writer->begin();
  transaction->set_vlmetalayer(name, content);
  transaction->commit();
}

ByteVector text_layer(const std::string& text) { return json::to_msgpack(json(text)); }

/// Counts the bytes that are MessagePack's `false` before and `true` after. Returns -1 if any other
/// byte differs.
int flags_set(const ByteVector& before, const ByteVector& after) {
  if (before.size() != after.size()) return -1;
  int flags = 0;
  for (std::size_t i = 0; i < before.size(); i++) {
    if (before[i] == after[i]) continue;
    if (before[i] != 0xc2 || after[i] != 0xc3) return -1;
    flags++;
  }
  return flags;
}

json decoded(const std::optional<ByteVector>& layer) { return json::from_msgpack(layer.value()); }

/// Writes a byte, and syncs the file. Returns 0 or the errno.
int change(const fs_std::path& file, off_t at = kIndexedElements + 8) {
  const Fd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  if (pwrite(fd.get(), "\x05", 1, at) != 1) return errno;
  return errno_of(fsync(fd.get()));
}

int errno_of_open(const fs_std::path& file, int flags) {
  const Fd fd(open(file.c_str(), flags | O_CLOEXEC));
  return fd ? 0 : errno;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    count++;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_values)

BOOST_AUTO_TEST_CASE(other_values_make_the_indexes_of_an_array_stale, *precondition(needs_fuse)) {
  const PythonFiles files;
  const ByteVector before = layer_of(files / "idx.b2nd", "blosc2_indexes").value();
  write_file(files / "idx.__query_cache__.b2frame", "results");
  write_file(files / "other.__query_cache__.b2frame", "results");
  const Mount mount(files.source.path());
  BOOST_TEST(change(mount / "idx.npy") == 0);
  const ByteVector after = layer_of(files / "idx.b2nd", "blosc2_indexes").value();
  BOOST_TEST(flags_set(before, after) == 1);
  BOOST_TEST(decoded(after)["indexes"]["__self__"]["stale"] == true);
  BOOST_TEST(!fs_std::exists(files / "idx.__query_cache__.b2frame"));
  BOOST_TEST(fs_std::exists(files / "other.__query_cache__.b2frame"));
}

BOOST_AUTO_TEST_CASE(attributes_and_times_leave_indexes_as_they_are, *precondition(needs_fuse)) {
  const PythonFiles files;
  const ByteVector before = layer_of(files / "idx.b2nd", "blosc2_indexes").value();
  const auto epoch = layer_of(files / "table.b2d/_meta.b2f", "value_epoch");
  {
    Mount mount(files.source.path());
    for (const char* name : {"idx.npy", "table/_cols/x.npy"}) {
      BOOST_TEST(errno_of_set_xattr(mount / name, "user.blosc2.vlmeta.note", "1") == 0);
      const timespec times[2] = {{1, 0}, {2, 0}};
      BOOST_TEST(utimensat(AT_FDCWD, (mount / name).c_str(), times, 0) == 0);
    }
    BOOST_TEST(errno_of_open(mount / "idx.npy", O_RDWR) == 0);
    mount.unmount();
  }
  BOOST_TEST(layer_of(files / "idx.b2nd", "note").has_value());
  BOOST_TEST((layer_of(files / "idx.b2nd", "blosc2_indexes") == before));
  BOOST_TEST((layer_of(files / "table.b2d/_meta.b2f", "value_epoch") == epoch));
}

BOOST_AUTO_TEST_CASE(another_file_under_the_name_of_an_array_has_no_indexes,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  Mount mount(files.source.path());
  write_file(mount / "idx.npy", "no array");
  mount.unmount();
  BOOST_TEST(!layer_of(files / "idx.npy.b2frame", "blosc2_indexes"));
}

BOOST_AUTO_TEST_CASE(an_array_with_indexes_that_nobody_understands_is_read_only,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  const auto damage = [](const json& indexes) { return json::to_msgpack({{"indexes", indexes}}); };
  const ByteVector not_msgpack = {0xc1}, nested(100, 0x91);
  const ByteVector contents[] = {damage(1),
                                 damage({{"a", 1}}),
                                 damage({{"a", {{"kind", "full"}}}}),
                                 damage({{"a", {{"stale", "no"}}}}),
                                 not_msgpack,
                                 nested};
  for (const ByteVector& content : contents) {
    set_layer(files / "idx.b2nd", "blosc2_indexes", content);
    const ByteVector before = read_file(files / "idx.b2nd");
    Mount mount(files.source.path());
    const auto file = mount / "idx.npy";
    for (int i = 0; i < 2; i++) {
      BOOST_TEST(errno_of_open(file, O_WRONLY) == EROFS);
      BOOST_TEST(errno_of_open(file, O_RDWR | O_TRUNC) == EROFS);
      BOOST_TEST(errno_of(truncate(file.c_str(), 0)) == EROFS);
    }
    BOOST_TEST(errno_of_open(file, O_RDONLY) == 0);
    mount.unmount();
    BOOST_TEST(count_of(mount.log(), "idx.b2nd: read-only, since its indexes") == 1);
    BOOST_TEST((read_file(files / "idx.b2nd") == before));
  }
}

/// Checks that a column cannot be changed, and that the log gives the reason once.
void check_read_only(const fs_std::path& source, const fs_std::path& shown,
                     const std::string& reason) {
  Mount mount(source);
  for (int i = 0; i < 2; i++) BOOST_TEST(errno_of_open(mount / shown, O_WRONLY) == EROFS);
  BOOST_TEST(errno_of(truncate((mount / shown).c_str(), 0)) == EROFS);
  mount.unmount();
  BOOST_TEST(count_of(mount.log(), ": read-only, since ") == 1);
  BOOST_TEST(count_of(mount.log(), reason) == 1, mount.log());
}

BOOST_AUTO_TEST_CASE(columns_that_a_table_has_indexes_of_are_read_only, *precondition(needs_fuse)) {
  const PythonFiles files;
  const auto meta = files / "table.b2d/_meta.b2f";
  const ByteVector before = read_file(meta);
  check_read_only(files.source.path(), "table/_cols/x.npy",
                  "x.b2nd: read-only, since its table has an index of the column x");
  // The indexes of all columns depend on which rows are valid.
  check_read_only(files.source.path(), "table/_valid_rows.npy", "its table has an index");
  // The table's description is outside of these mounts. The daemon read it when it started.
  check_read_only(files / "table.b2d/_cols", "x.npy", "its table has an index of the column x");
  check_read_only(files / "table.b2d/_cols/x.b2nd", "x.npy", "its table has an index");
  {
    const Mount mount(files.source.path());
    BOOST_TEST(errno_of_open(mount / "table/_cols/x.npy", O_RDONLY) == 0);
    BOOST_TEST(fs_std::remove(mount / "table/_cols/x.npy"));
    BOOST_TEST(errno_of_open(mount / "table/_cols/x.npy", O_WRONLY | O_CREAT) == EROFS);
    BOOST_TEST(!fs_std::exists(mount / "table/_cols/x.npy"));
  }
  BOOST_TEST((read_file(meta) == before));
}

BOOST_AUTO_TEST_CASE(other_columns_of_a_table_are_changed, *precondition(needs_fuse)) {
  const PythonFiles files;
  const auto meta = files / "table.b2d/_meta.b2f";
  set_layer(meta, "index_catalog", json::to_msgpack({{"y", {{"stale", false}}}}));
  const ByteVector before = read_file(meta);
  const Mount mount(files.source.path());
  BOOST_TEST(change(mount / "table/_cols/x.npy") == 0);
  write_file(mount / "table/_cols/new.npy", npy_header("<f8", {1}) + "12345678");
  BOOST_TEST(change(mount / "table/_cols/new.npy") == 0);
  BOOST_TEST((read_file(meta) == before));
}

BOOST_AUTO_TEST_CASE(columns_that_others_are_generated_from_are_read_only,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  const auto meta = files / "table.b2d/_meta.b2f";
  const json schema = {
      {"materialized_columns", {{{"name", "d"}, {"col_deps", {"x"}}, {"stale", false}}}}};
  set_layer(meta, "index_catalog", json::to_msgpack(json::object()));
  set_layer(meta, "schema", text_layer(schema.dump()));
  check_read_only(files.source.path(), "table/_cols/x.npy",
                  "another column is generated from the column x");
}

BOOST_AUTO_TEST_CASE(columns_of_a_table_that_nobody_understands_are_read_only,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  set_layer(files / "table.b2d/_meta.b2f", "index_catalog", {0xc1});
  check_read_only(files.source.path(), "table/_cols/x.npy",
                  "the description of its table cannot be read");
  // Without `_meta.b2f`, the description may be embedded in the store.
  fs_std::remove(files / "table.b2d/_meta.b2f");
  check_read_only(files.source.path(), "table/_cols/x.npy", "described inside of a store");
  fs_std::remove(files / "table.b2d/embed.b2e");
  const Mount mount(files.source.path());
  BOOST_TEST(change(mount / "table.b2d/_cols/x.npy") == 0);
}

BOOST_AUTO_TEST_CASE(frames_without_their_contents_are_listed_but_not_read,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  Mount mount(files.source.path());
  for (const char* name : {"lazyexpr", "lazyudf", "proxy0"}) {
    const fs_std::path file = mount / (name + std::string(".npy"));
    const ByteVector stored = read_file(files / (name + std::string(".b2nd")));
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(fs_std::file_size(file) == 8128u);
      BOOST_TEST(get_xattr(file, "user.blosc2.shape").value() == "100,10");
      for (const off_t at : {0, 4000}) {
        const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
        char byte = 0;
        BOOST_REQUIRE(fd);
        BOOST_TEST(errno_of(static_cast<int>(pread(fd.get(), &byte, 1, at))) == EOPNOTSUPP);
        // An unreadable range must not be a hole: programs that skip holes would not notice the
        // error.
        BOOST_TEST(lseek(fd.get(), 0, SEEK_DATA) == 0);
        BOOST_TEST(lseek(fd.get(), 0, SEEK_HOLE) == 8128);
      }
      BOOST_TEST(errno_of_open(file, O_WRONLY) == EOPNOTSUPP);
      BOOST_TEST(errno_of(truncate(file.c_str(), 0)) == EOPNOTSUPP);
      BOOST_TEST((read_file(files / (name + std::string(".b2nd"))) == stored));
    }
  }
  BOOST_TEST(read_file(mount / "proxy1.npy").size() == 8128u);
  mount.unmount();
  BOOST_TEST(count_of(mount.log(), "lazyexpr.b2nd: a lazy expression") == 1);
  BOOST_TEST(count_of(mount.log(), "lazyudf.b2nd: a lazy user-defined function") == 1);
  BOOST_TEST(count_of(mount.log(), "proxy0.b2nd: a proxy that lacks 1 of 1 chunks") == 1);
}

BOOST_AUTO_TEST_CASE(frames_without_their_contents_are_renamed_as_arrays_only,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  const ByteVector stored = read_file(files / "lazyexpr.b2nd");
  Mount mount(files.source.path());
  const Fd reader(open((mount / "lazyexpr.npy").c_str(), O_RDONLY | O_CLOEXEC));
  const auto renames = [&](const char* from, const char* to) {
    return errno_of(rename((mount / from).c_str(), (mount / to).c_str()));
  };
  BOOST_TEST(renames("lazyexpr.npy", "flat") == EOPNOTSUPP);
  BOOST_TEST(renames("lazyexpr.npy", "other.npy") == 0);
  const Fd directory(open(mount.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  BOOST_TEST(fsync(directory.get()) == 0);
  BOOST_TEST((read_file(files / "other.b2nd") == stored));
}

BOOST_AUTO_TEST_CASE(a_proxy_that_notes_blocks_is_shown_once_it_has_all,
                     *precondition(needs_fuse)) {
  const PythonFiles files;
  const auto note = [&](const char* name, const ByteVector& bits) {
    set_layer(files / "proxy_blocks.b2nd", name, json::to_msgpack(json::binary(bits)));
  };
  const auto read = [&] {
    const Mount mount(files.source.path());
    const Fd fd(open((mount / "proxy_blocks.npy").c_str(), O_RDONLY | O_CLOEXEC));
    char byte = 0;
    return errno_of(static_cast<int>(pread(fd.get(), &byte, 1, 4000)));
  };
  const auto told = [&] {
    Mount mount(files.source.path());
    BOOST_TEST(errno_of_open(mount / "proxy_blocks.npy", O_WRONLY) == EOPNOTSUPP);
    mount.unmount();
    return mount.log();
  };
  BOOST_TEST(count_of(told(), "proxy_blocks.b2nd: a proxy that lacks 18 of 20 blocks") == 1);
  note("proxy-fetched-blocks", {0xff, 0xff, 0x07});
  BOOST_TEST(count_of(told(), "proxy_blocks.b2nd: a proxy that lacks 1 of 20 blocks") == 1);
  note("proxy-fetched-blocks", {0xff, 0xff, 0x0f});
  BOOST_TEST(read() == 0);
  // While `proxy-dirty` is set, the list of fetched blocks is unreliable. So is a list of the wrong
  // size.
  set_layer(files / "proxy_blocks.b2nd", "proxy-dirty", json::to_msgpack(json{{"version", 1}}));
  BOOST_TEST(read() == EOPNOTSUPP);
  note("proxy-fetched-blocks", {0xff});
  BOOST_TEST(read() == EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(an_array_that_is_being_filled_is_not_shown, *precondition(needs_fuse)) {
  const SourceDir source;
  // Chunks without a value, which otherwise read as zeros.
  frame::FrameSettings settings;
  settings.chunksize = 1000;
  settings.blocksize = 100;
  const auto directory = frame::make_local_store(
      frame::UniqueFd(open(source.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), nullptr);
  {
    const auto writer = frame::create_cframe(directory, "f.b2frame", settings, {});
    const auto transaction = writer->begin();
    transaction->resize(3000);
    transaction->put_special(0, codec::SpecialValue::uninit);
    transaction->commit();
  }
  const auto is_shown = [&] {
    const Mount mount(source.path());
    const Fd fd(open((mount / "f").c_str(), O_RDONLY | O_CLOEXEC));
    char byte = 0;
    return errno_of(static_cast<int>(pread(fd.get(), &byte, 1, 2000))) == 0;
  };
  BOOST_TEST(is_shown());
  set_layer(source / "f.b2frame", "fill_nonce", text_layer("0123"));
  BOOST_TEST(!is_shown());
  set_layer(source / "f.b2frame", "fill_state", text_layer("filling"));
  BOOST_TEST(!is_shown());
  set_layer(source / "f.b2frame", "fill_state", text_layer("complete"));
  BOOST_TEST(is_shown());
}

BOOST_AUTO_TEST_CASE(a_proxy_that_was_fetched_is_an_array_like_others, *precondition(needs_fuse)) {
  const PythonFiles files;
  const Mount mount(files.source.path());
  BOOST_TEST(change(mount / "proxy1.npy") == 0);
  BOOST_TEST(read_file(mount / "proxy1.npy").at(kIndexedElements + 8) == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
