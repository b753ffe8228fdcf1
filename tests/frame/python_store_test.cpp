// Stores of python-blosc2: what the reader finds in intact and in damaged ones.

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

/// Lists and looks up all leaves, and reads their frames. Errors of leaves are ignored. Returns the
/// keys.
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

/// Offset of the first central directory entry in dict2.b2z. The last entry is that of embed.b2e.
constexpr std::size_t kDirectoryAt = 1333;

std::uint64_t little(const Buffer& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i > 0; --i) value = value << 8 | bytes[at + i - 1];
  return value;
}

void put_little(Buffer& out, std::uint64_t value, std::size_t size) {
  for (; size > 0; --size, value >>= 8) out.push_back(static_cast<std::uint8_t>(value));
}

/// Returns a copy of a central directory entry that has its sizes and its offset in the extra field
/// of ZIP64.
Buffer zip64_entry(const Buffer& bytes, std::size_t at) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  Buffer entry(begin, begin + 46 + static_cast<std::ptrdiff_t>(little(bytes, at + 28, 2)));
  std::fill_n(entry.begin() + 20, 8, std::uint8_t{0xff});
  std::fill_n(entry.begin() + 42, 4, std::uint8_t{0xff});
  entry[30] = 4 + 5 + 4 + 24;
  put_little(entry, 0x5455, 2);  // another field, which the reader must skip
  put_little(entry, 5, 2);
  put_little(entry, 0, 5);
  put_little(entry, 1, 2);
  put_little(entry, 24, 2);
  put_little(entry, little(bytes, at + 24, 4), 8);
  put_little(entry, little(bytes, at + 20, 4), 8);
  put_little(entry, little(bytes, at + 42, 4), 8);
  return entry;
}

/// Returns dict2.b2z with all structures of ZIP64.
Buffer zip64_of(const Buffer& bytes) {
  Buffer out(bytes.begin(), bytes.begin() + kDirectoryAt);
  std::size_t at = kDirectoryAt;
  for (int entry = 0; entry < 4; ++entry, at += 46 + little(bytes, at + 28, 2))
    append(out, zip64_entry(bytes, at));
  const std::size_t end = out.size();
  put_little(out, 0x06064b50, 4);
  put_little(out, 44, 8);
  put_little(out, 0, 12);
  for (const std::uint64_t value : {std::uint64_t{4}, std::uint64_t{4},
                                    std::uint64_t{end - kDirectoryAt}, std::uint64_t{kDirectoryAt}})
    put_little(out, value, 8);
  put_little(out, 0x07064b50, 4);
  put_little(out, 0, 4);
  put_little(out, end, 8);
  put_little(out, 1, 4);
  put_little(out, 0x06054b50, 4);
  put_little(out, 0, 4);
  put_little(out, ~std::uint64_t{0}, 8);
  put_little(out, ~std::uint64_t{0}, 4);
  put_little(out, 0, 2);
  return out;
}

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

BOOST_AUTO_TEST_CASE(markers_determine_the_kind) {
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
  for (std::size_t at = 0; at < store->embed_map().size(); at++) {
    const auto leaf = std::get<EmbeddedLeaf>(store->embed_map().leaf(at));
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
  BOOST_TEST(source->bytes_read() < 20000U);  // of 55524 bytes
}

BOOST_AUTO_TEST_CASE(paths_out_of_the_store_are_skipped_and_reported) {
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
  const Buffer bytes = bytes_of_file(kStores + "dict2.b2z");
  // The local header of the second member begins here.
  constexpr std::size_t kLocal = 407;
  const auto error_with = [&](std::size_t at, unsigned value) {
    Buffer changed = bytes;
    changed[kLocal + at] = static_cast<std::uint8_t>(value);
    const auto store = open_zip_store(std::make_shared<MemorySource>(changed), {});
    BOOST_TEST(walk(*store).size() == 3U);
    return message_of([&] { store->open(*store->find("/g1/leaf0")->leaf); });
  };
  const std::string begin = "member g1/leaf0.b2nd: ";
  BOOST_TEST(error_with(0, 'Q') == begin + "it has no local header");
  BOOST_TEST(error_with(6, 1) == begin + "its local header has another method");
  BOOST_TEST(error_with(8, 8) == begin + "its local header has another method");
  BOOST_TEST(error_with(14, bytes[kLocal + 14] ^ 1u) ==
             begin + "its local header has another size or CRC-32");
  BOOST_TEST(error_with(18, bytes[kLocal + 18] ^ 1u) ==
             begin + "its local header has another size or CRC-32");
  BOOST_TEST(error_with(26, 12) == begin + "its local header has another name");
  BOOST_TEST(error_with(30, 'y') == begin + "its local header has another name");
  BOOST_TEST(error_with(6, 8).empty());  // the sizes follow the data
}

BOOST_AUTO_TEST_CASE(numbers_of_64_bits_are_read) {
  const Buffer bytes = bytes_of_file(kStores + "dict2.b2z");
  const Buffer large = zip64_of(bytes);
  const auto store = open_zip_store(std::make_shared<MemorySource>(large), {});
  BOOST_TEST_REQUIRE(store);
  BOOST_TEST(store->messages().empty());
  const auto plain = open_zip_store(std::make_shared<MemorySource>(bytes), {});
  BOOST_TEST(walk(*store) == walk(*plain));
  for (const std::string& key : walk(*store))
    BOOST_TEST((contents_of(*store->open(*store->find(key)->leaf)) ==
                contents_of(*plain->open(*plain->find(key)->leaf))));
  for (std::size_t at = kDirectoryAt; at < large.size(); ++at) {
    Buffer changed = large;
    changed[at] = static_cast<std::uint8_t>(changed[at] ^ 0x81u);
    errno_of([&] {
      if (const auto damaged = open_zip_store(std::make_shared<MemorySource>(changed), {}))
        BOOST_TEST(walk(*damaged).size() <= 3U);
    });
  }
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
  // The last two bytes are the size of a comment. The reader does not need them.
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
