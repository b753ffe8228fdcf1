// Stores of python-blosc2: what is found in real ones, and what of damaged ones.

#include "frame/pystore/python_store.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/pystore/window_source.hpp"
#include "frame/store/byte_source.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/frame/writing.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

const std::string kStores = std::string(BLOSCFS_SOURCE_ROOT) + "/tests/data/stores/";

Buffer bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Everything that listings, look-ups and the leaves' frames say; a leaf that throws is nothing.
std::vector<std::string> walk(const PythonStore& store) {
  std::vector<std::string> keys;
  store.for_each_leaf("/", [&](const std::string& key, const Leaf& leaf) {
    keys.push_back(key);
    BOOST_TEST(store.find(key).has_value());
    errno_of([&] {
      if (const auto snapshot = store.open(leaf)) static_cast<void>(snapshot->vlmetalayers());
    });
  });
  return keys;
}

std::vector<std::string> names_of(const std::vector<StoreEntry>& entries) {
  std::vector<std::string> names;
  for (const StoreEntry& entry : entries) names.push_back(entry.name + (entry.is_group ? "/" : ""));
  return names;
}

using Names = std::vector<std::string>;

/// The last central directory entry of dict2.b2z is that of embed.b2e; the first begins here.
constexpr std::size_t kDirectoryAt = 1333;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const std::system_error& error) {
    return error.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_store)

BOOST_AUTO_TEST_CASE(kinds_are_told_by_markers) {
  BOOST_TEST((open_store(kStores + "tree0.b2z", {})->kind() == StoreKind::tree));
  BOOST_TEST((open_store(kStores + "dict0.b2d", {})->kind() == StoreKind::dict));
  BOOST_TEST((open_store(kStores + "embed0.b2e", {})->kind() == StoreKind::embed));
  BOOST_TEST(store_kind_name(StoreKind::embed) == std::string("b2embed"));
  BOOST_TEST(!open_store(kStores + "damaged", {}));
  BOOST_TEST(!open_store(kStores + "dict0.b2d/embed.b2e", {}));
  BOOST_TEST(!open_store(kStores + "manifest.json", {}));
  BOOST_TEST(!open_store(kStores + "damaged/deflated.b2z", {}));
  BOOST_TEST(errno_of([] { open_store(kStores + "damaged/trunc-half.b2z", {}); }) == EIO);
  BOOST_TEST(errno_of([] { open_store(kStores + "nothing.b2z", {}); }) == ENOENT);
}

BOOST_AUTO_TEST_CASE(groups_have_leaves_and_groups) {
  const auto store = open_store(kStores + "dict.b2z", {});
  BOOST_TEST(names_of(store->list("/")) == (Names{"a", "dir1/", "small1"}));
  BOOST_TEST(names_of(store->list("/dir1")) == (Names{"b", "small2", "sub/"}));
  BOOST_TEST(errno_of([&] { store->list("/dir2"); }) == ENOENT);
  BOOST_TEST(errno_of([&] { store->list("/dir1/b"); }) == ENOENT);
  BOOST_TEST((store->find("/small1")->leaf == Leaf(EmbeddedLeaf{0, 2697})));
  BOOST_TEST((store->find("/dir1/b")->leaf == Leaf(ExternalLeaf{"dir1/b.b2f", LeafForm::flat})));
  BOOST_TEST(store->find("/dir1")->is_group);
  BOOST_TEST(!store->find("/dir1/../a"));
  BOOST_TEST(!store->find("/dir"));
}

BOOST_AUTO_TEST_CASE(attributes_and_kinds_of_groups_are_found) {
  const auto tree = open_store(kStores + "tree0.b2z", {});
  BOOST_TEST_REQUIRE(tree->attributes("/"));
  BOOST_TEST(tree->attributes("/")->vlmetalayers().front().name == "title");
  BOOST_TEST(!tree->attributes("/h0"));
  BOOST_TEST(!tree->group_kind("/"));
  BOOST_TEST((open_store(kStores + "ct1.b2d", {})->group_kind("/") == "ctable"));
  BOOST_TEST((open_store(kStores + "ctz1.b2z", {})->group_kind("/") == "ctable"));
}

BOOST_AUTO_TEST_CASE(embedded_leaves_are_read_through_the_heap) {
  const auto store = open_store(kStores + "embed0.b2e", {});
  const Buffer heap = contents_of(*store->embed()).bytes;
  for (const EmbedMap::Entry& entry : store->embed_map().entries()) {
    const auto& leaf = std::get<EmbeddedLeaf>(entry.leaf);
    const auto source = store->source(leaf);
    BOOST_TEST(source->stamp().size == static_cast<std::int64_t>(leaf.length));
    Buffer whole(leaf.length + 9);
    BOOST_TEST(source->read_at(0, whole) == leaf.length);
    whole.resize(leaf.length);
    BOOST_TEST(std::equal(whole.begin(), whole.end(),
                          heap.begin() + static_cast<std::ptrdiff_t>(leaf.offset)));
    Buffer part(5);
    BOOST_TEST(source->read_at(leaf.length - 3, part) == 3U);
    BOOST_TEST(std::equal(part.begin(), part.begin() + 3, whole.end() - 3));
    BOOST_TEST(source->read_at(leaf.length, part) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(an_embedded_leaf_ends_with_the_state_of_the_frame_around_it) {
  auto source = std::make_shared<MemorySource>(bytes_of_file(kStores + "embed0.b2e"));
  const auto store = open_embed_store(open_cframe(source, {}));
  const auto leaf = store->source(*store->find("/deep2/leaf4")->leaf);
  const auto snapshot = open_cframe(leaf, {});
  BOOST_TEST(snapshot->unchanged());
  source->file_stamp.mtime_s += 1;
  BOOST_TEST(!snapshot->unchanged());
  Buffer byte(1);
  BOOST_TEST(errno_of([&] { leaf->read_at(0, byte); }) == EIO);
}

BOOST_AUTO_TEST_CASE(a_window_ends_with_the_state_of_its_file) {
  auto below = std::make_shared<MemorySource>(pattern(100, 1));
  const WindowSource window(below, 40, 60);
  Buffer bytes(100);
  BOOST_TEST(window.read_at(10, bytes) == 50U);
  BOOST_TEST(std::equal(bytes.begin(), bytes.begin() + 50, below->bytes.begin() + 50));
  BOOST_TEST(window.stamp().size == 60);
  const FileStamp before = window.stamp();
  below->file_stamp.size = 101;
  BOOST_TEST((window.stamp() != before));
  BOOST_TEST(errno_of([&] { WindowSource(below, 50, 52); }) == EIO);
  BOOST_TEST(errno_of([&] { WindowSource(below, ~std::uint64_t{0}, 2); }) == EIO);
}

BOOST_AUTO_TEST_CASE(listing_opens_no_leaf) {
  auto source = std::make_shared<MemorySource>(bytes_of_file(kStores + "tree0.b2z"));
  const auto store = open_zip_store(source, {});
  source->reads.clear();
  store->for_each_leaf("/", [](const std::string&, const Leaf&) {});
  BOOST_TEST(store->find("/temp0/leaf1").has_value());
  BOOST_TEST(source->reads.empty());
  store->open(*store->find("/h0/x11/leaf2")->leaf);
  BOOST_TEST(source->bytes_read() < 20000U);  // of 55524
}

BOOST_AUTO_TEST_CASE(what_leads_out_of_the_store_is_left_out_and_told) {
  const auto store = open_store(kStores + "damaged/dotdot.b2z", {});
  BOOST_TEST(walk(*store) == Names{"/k"});
  BOOST_TEST(store->messages() ==
             (Names{"member ../../evil.b2nd: leads out of the store, or nowhere",
                    "member /abs.b2nd: is absolute"}));
  BOOST_TEST(open_store(kStores + "damaged/dup-names.b2z", {})->messages().size() == 1U);
  const auto overflow = open_store(kStores + "damaged/embed-overflow.b2z", {});
  BOOST_TEST(walk(*overflow).empty());
  BOOST_TEST(overflow->messages().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_local_header_must_agree) {
  Buffer bytes = bytes_of_file(kStores + "dict2.b2z");
  const auto error_with = [&](std::size_t at, unsigned value, const char* key = "/x11/leaf1") {
    Buffer changed = bytes;
    changed[at] = static_cast<std::uint8_t>(value);
    const auto store = open_zip_store(std::make_shared<MemorySource>(changed), {});
    BOOST_TEST(walk(*store).size() == 3U);
    return message_of([&] { store->open(*store->find(key)->leaf); });
  };
  const std::string disagrees =
      "member x11/leaf1.b2nd: its local header does not agree with the central directory";
  constexpr std::size_t kSecond = 407;
  BOOST_TEST(error_with(kSecond, 'Q', "/g1/leaf0") ==
             "member g1/leaf0.b2nd: its local header does not agree with the central directory");
  BOOST_TEST(error_with(8, 8) == disagrees);                // method
  BOOST_TEST(error_with(14, bytes[14] ^ 1u) == disagrees);  // CRC-32
  BOOST_TEST(error_with(18, bytes[18] ^ 1u) == disagrees);  // size
  BOOST_TEST(error_with(26, 13) == disagrees);              // length of the name
  BOOST_TEST(error_with(30, 'y') == "member x11/leaf1.b2nd: its local header has another name");
}

BOOST_AUTO_TEST_CASE(damaged_central_directories_show_what_can_be_trusted) {
  const Buffer bytes = bytes_of_file(kStores + "dict2.b2z");
  for (std::size_t at = kDirectoryAt; at < bytes.size(); ++at)
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      Buffer changed = bytes;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ flip);
      errno_of([&] {
        if (const auto store = open_zip_store(std::make_shared<MemorySource>(changed), {}))
          BOOST_TEST(walk(*store).size() <= 3U);
      });
    }
  // The last two bytes are the size of a comment, and are not missed.
  for (std::size_t size = 0; size < bytes.size() - 3; ++size)
    errno_of([&] {
      const Buffer cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      BOOST_TEST(!open_zip_store(std::make_shared<MemorySource>(cut), {}));
    });
}

BOOST_AUTO_TEST_CASE(of_files_with_one_key_the_best_known_form_counts) {
  const ScratchDirectory scratch;
  const Buffer frame = bytes_of_file(kStores + "dict0.b2d/embed.b2e");
  const std::string root = scratch / "s.b2d";
  std::filesystem::create_directories(root + "/x.b2nd");
  for (const char* name : {"embed.b2e", "a.b2f", "a.b2nd", "b.frame", "b.b2b", "c.txt", ".d",
                           "e.1.tmp", "f.b2nd.b2lock", "__vlmeta__.b2f"})
    scratch.write(std::string("s.b2d/") + name, frame);
  std::filesystem::create_symlink("a.b2f", root + "/g.b2f");
  const auto store = open_store(root, {});
  BOOST_TEST(names_of(store->list("/")) == (Names{".d", "a", "b", "c", "x.b2nd/"}));
  BOOST_TEST((store->find("/a")->leaf == Leaf(ExternalLeaf{"a.b2nd", LeafForm::array})));
  BOOST_TEST((store->find("/b")->leaf == Leaf(ExternalLeaf{"b.b2b", LeafForm::batch})));
  BOOST_TEST((store->find("/c")->leaf == Leaf(ExternalLeaf{"c.txt", LeafForm::other})));
  BOOST_TEST(store->attributes("/"));
  scratch.write("s.b2d/c.txt", {'t'});
  BOOST_TEST(!store->open(*store->find("/c")->leaf));
}

BOOST_AUTO_TEST_SUITE_END()
