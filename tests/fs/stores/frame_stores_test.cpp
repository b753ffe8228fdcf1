// Stores of python-blosc2 that are one frame, under any name.

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/stores/embedded_store.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

ByteVector store() { return read_file(kEmbedded); }

/// Makes an EmbedStore without a map, and so without leaves.
ByteVector empty_store() {
  Cut cut;
  cut.metalayers = {{"b2embed", nlohmann::json::to_msgpack({{"version", 1}})}};
  return flat_frame("", cut);
}

bool is_directory(InProcess& mount, const std::string& path) {
  return S_ISDIR(mount.stat(path).st_mode);
}

/// Returns the leaves of embed0.b2e, by their paths in the store.
Leaves expected_leaves() {
  const TempDir source;
  write_file(source / "s.b2e", store());
  InProcess mount(source.path());
  Leaves below;
  for (auto& [path, bytes] : leaves_of(mount)) below[path.substr(2)] = std::move(bytes);
  return below;
}

void check_leaves(InProcess& mount, const std::string& root) {
  static const Leaves expected = expected_leaves();
  Leaves found;
  for (auto& [path, bytes] : leaves_of(mount, root))
    found[path.substr(root.size() + 1)] = std::move(bytes);
  BOOST_TEST(expected.size() == 11u);
  BOOST_CHECK(found == expected);
}

const Names kFiles{"a.b2frame", "b.cframe", "c.b2nd", "d", "e.dat", "f.b2z", "g.b2e"};
const Names kShown{"a", "b", "c", "d", "e.dat", "f", "g"};

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_stores)

BOOST_AUTO_TEST_CASE(a_frame_of_any_name_is_a_store) {
  const TempDir source;
  for (const std::string& name : kFiles) write_file(source / name, store());
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == kShown, boost::test_tools::per_element());
  for (const std::string& name : kShown) {
    check_leaves(mount, name);
    BOOST_TEST(mount.attribute(name, "user.blosc2.store") == "b2embed");
  }
  for (const std::string& name : kFiles) {
    const bool is_shown = std::find(kShown.begin(), kShown.end(), name) != kShown.end();
    BOOST_TEST(mount.has(name) == is_shown, name);
  }
}

BOOST_AUTO_TEST_CASE(a_frame_of_any_name_is_mounted_as_a_store) {
  const TempDir source;
  for (const std::string& name : kFiles) {
    write_file(source / name, store());
    InProcess mount(source / name);
    BOOST_TEST(mount.has("deep2/leaf4.npy"));
    BOOST_TEST(mount.attribute("", "user.blosc2.store") == "b2embed");
  }
}

BOOST_AUTO_TEST_CASE(nostores_shows_frames) {
  const TempDir source;
  for (const std::string& name : kFiles) write_file(source / name, store());
  InProcess mount(source.path(), "nostores");
  const Names shown{"a", "b.cframe", "c", "d", "e.dat", "f", "g"};
  BOOST_TEST(mount.names() == shown, boost::test_tools::per_element());
  for (const std::string& name : shown) BOOST_TEST(S_ISREG(mount.stat(name).st_mode), name);
  InProcess alone(source / "a.b2frame", "nostores");
  BOOST_TEST(alone.names() == Names{"a"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cframe_is_a_suffix_of_frame_stores_alone) {
  const TempDir source;
  write_file(source / "store.cframe", store());
  write_file(source / "flat.cframe", flat_frame("contents"));
  write_file(source / "array.cframe", array_frame(ByteVector(32), {4}, "<f8", 8));
  write_file(source / "text.cframe", std::string("text"));
  fs_std::create_directory(source / "directory.cframe");
  write_file(source / "directory.cframe/embed.b2e", embed_frame({{"/x", flat_frame("leaf")}}));
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == (Names{"array.cframe.npy", "directory.cframe", "flat.cframe", "store",
                                     "text.cframe"}),
             boost::test_tools::per_element());
  BOOST_TEST(mount.has("directory.cframe/x"));
  BOOST_TEST(!mount.has("flat"));
  BOOST_TEST(!mount.has("store.cframe"));
}

BOOST_AUTO_TEST_CASE(names_that_coincide_are_full_names) {
  const TempDir source;
  write_file(source / "x.cframe", store());
  write_file(source / "x.b2e", store());
  write_file(source / "y.cframe", store());
  write_file(source / "y", std::string("text"));
  write_file(source / "z.cframe", store());
  write_file(source / "z.cframe.b2frame", flat_frame("contents"));
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == (Names{"x.b2e", "x.cframe", "y", "y.cframe", "z", "z.cframe"}),
             boost::test_tools::per_element());
  for (const char* const name : {"x.b2e", "x.cframe", "y.cframe", "z"}) check_leaves(mount, name);
  BOOST_TEST(S_ISREG(mount.stat("y").st_mode));
  BOOST_TEST((mount.read("z.cframe") == bytes_of("contents")));
  BOOST_TEST(!mount.has("x"));
  fs_std::remove(source / "x.b2e");
  BOOST_TEST(mount.has("x/deep2"));
  BOOST_TEST(!mount.has("x.cframe"));
}

BOOST_AUTO_TEST_CASE(another_program_makes_a_frame_a_store_and_back) {
  const TempDir source;
  const fs_std::path file = source / "x.b2frame";
  write_file(file, flat_frame("contents"));
  InProcess mount(source.path());
  const auto replace = [&](const ByteVector& bytes) {
    write_file(source / ".bloscfs-0123456789abcdef.tmp", bytes);
    fs_std::rename(source / ".bloscfs-0123456789abcdef.tmp", file);
  };
  const InProcess::File old = mount.open("x", O_RDONLY);
  BOOST_TEST((old.contents() == bytes_of("contents")));
  for (int i = 0; i < 2; i++) {
    replace(store());
    check_leaves(mount, "x");
    replace(flat_frame("contents"));
    BOOST_TEST((mount.read("x") == bytes_of("contents")));
    // Writes in place, so the inode stays.
    write_file(file, store());
    check_leaves(mount, "x");
    write_file(file, flat_frame("changed"));
    BOOST_TEST((mount.read("x") == bytes_of("changed")));
    write_file(file, std::string("text"));
    BOOST_TEST((mount.read("x.b2frame") == bytes_of("text")));
  }
  BOOST_TEST((old.contents() == bytes_of("contents")));
}

BOOST_AUTO_TEST_CASE(one_that_is_source_follows_what_its_file_becomes) {
  const TempDir source;
  write_file(source / "x.b2frame", store());
  InProcess mount(source / "x.b2frame");
  BOOST_TEST(mount.has("deep2/leaf4.npy"));
  write_file(source / "new", flat_frame("contents"));
  fs_std::rename(source / "new", source / "x.b2frame");
  BOOST_TEST((mount.read("x") == bytes_of("contents")));
  write_file(source / "new", store());
  fs_std::rename(source / "new", source / "x.b2frame");
  BOOST_TEST(mount.has("deep2/leaf4.npy"));
}

BOOST_AUTO_TEST_CASE(changes_that_wait_for_a_commit_are_kept_beside_a_store) {
  const TempDir source;
  write_file(source / "x.b2frame", flat_frame("contents"));
  InProcess mount(source.path(), "commit=30");
  {
    const InProcess::File file = mount.open("x");
    file.write(0, bytes_of("mine"));
    write_file(source / "new", store());
    fs_std::rename(source / "new", source / "x.b2frame");
    BOOST_TEST(error_of([&] { file.sync(); }) == ESTALE);
  }
  check_leaves(mount, "x");
  BOOST_TEST(mount.names().size() == 2u);
}

BOOST_AUTO_TEST_CASE(one_is_read_only_and_keeps_its_suffix) {
  const TempDir source;
  write_file(source / "x.cframe", store());
  write_file(source / "x.cframe.b2lock", std::string());
  write_file(source / "other", std::string("text"));
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == (Names{"other", "x"}), boost::test_tools::per_element());
  const auto refused = [&](const std::function<void()>& change) {
    BOOST_TEST(error_of(change) == EROFS);
  };
  refused([&] { mount.create("x/new"); });
  refused([&] { mount.make_directory("x/new"); });
  refused([&] { mount.open("x/deep2/leaf4.npy", O_RDWR); });
  refused([&] { mount.remove("x/deep2/leaf4.npy"); });
  refused([&] { mount.rename("other", "x/deep2/other"); });
  BOOST_TEST(error_of([&] { mount.remove("x"); }) == EISDIR);
  mount.rename("x", "y");
  BOOST_TEST(stored_names(source.path()) == (Names{"other", "y.cframe", "y.cframe.b2lock"}),
             boost::test_tools::per_element());
  mount.rename("y", "z.b2e");
  BOOST_TEST(mount.names() == (Names{"other", "z.b2e"}), boost::test_tools::per_element());
  check_leaves(mount, "z.b2e");
  mount.remove_directory("z.b2e");
  BOOST_TEST(stored_names(source.path()) == Names{"other"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_plain_file_that_gets_the_bytes_of_one_stays_a_file) {
  const TempDir source;
  write_file(source / "p", std::string("text"));
  InProcess mount(source.path());
  {
    const InProcess::File file = mount.open("p", O_WRONLY);
    file.truncate(0);
    file.write(0, store());
    BOOST_TEST(!is_directory(mount, "p"));
  }
  BOOST_TEST((mount.read("p") == store()));
  mount.create("q").write(0, store());
  mount.end();
  InProcess again(source.path());
  BOOST_TEST((again.read("p") == store()));
  BOOST_TEST((again.read("q") == store()));
}

BOOST_AUTO_TEST_CASE(a_link_to_one_has_the_shown_name) {
  const TempDir source;
  write_file(source / "run.cframe", store());
  fs_std::create_symlink("run.cframe", source / "latest");
  InProcess mount(source.path());
  BOOST_TEST(mount.read_link("latest") == "run");
}

BOOST_AUTO_TEST_CASE(a_frame_store_in_a_directory_store_hides_the_leaf_of_its_key) {
  const EmbeddedStore directory;
  write_file(directory.path / "embed.b2e", embed_frame({{"/x", flat_frame("one")},
                                                        {"/y", flat_frame("other")},
                                                        {"/z", flat_frame("third")}}));
  write_file(directory.path / "x.cframe", empty_store());
  write_file(directory.path / "y.b2f", empty_store());
  InProcess mount(directory.source.path());
  BOOST_TEST(mount.names("s") == (Names{"x", "y", "z"}), boost::test_tools::per_element());
  BOOST_TEST(mount.names("s/x").empty());
  BOOST_TEST(mount.names("s/y").empty());
  BOOST_TEST((mount.read("s/z") == bytes_of("third")));
}

BOOST_AUTO_TEST_CASE(one_without_a_map_has_no_leaves) {
  const TempDir source;
  write_file(source / "x.b2frame", empty_store());
  FakeStore objects;
  objects.tree(true)->put("x.b2frame", empty_store(), {}, {});
  InProcess files(source.path()), url(objects.tree(false));
  BOOST_TEST(files.names("x").empty());
  BOOST_TEST(url.names("x").empty());
}

BOOST_AUTO_TEST_CASE(an_object_of_any_name_is_a_store_once_it_is_looked_at) {
  FakeStore objects;
  const auto tree = objects.tree(true);
  for (const std::string& name : kFiles) tree->put(name, store(), {}, {});
  InProcess mount(objects.tree(false));
  // A listing looks only at suffixes, not into objects.
  BOOST_TEST(mount.names() == (Names{"a", "b.cframe", "c.npy", "d", "e.dat", "f", "g"}),
             boost::test_tools::per_element());
  for (const std::string& name : kShown) check_leaves(mount, name);
}

BOOST_AUTO_TEST_CASE(an_object_becomes_a_store_and_back) {
  FakeStore objects;
  const auto tree = objects.tree(true);
  tree->put("x.b2frame", flat_frame("contents"), {}, {});
  InProcess mount(objects.tree(false), "revalidate=0");
  BOOST_TEST((mount.read("x") == bytes_of("contents")));
  tree->put("x.b2frame", store(), {}, {});
  check_leaves(mount, "x");
  tree->put("x.b2frame", flat_frame("changed"), {}, {});
  BOOST_TEST((mount.read("x") == bytes_of("changed")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
