// Changes of fixed metalayers, which move everything that follows a frame's header.

#include <cerrno>
#include <system_error>

#include <boost/test/unit_test.hpp>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/writing.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

const ContainerKind kKinds[] = {ContainerKind::cframe, ContainerKind::sframe};

FrameSettings described() {
  FrameSettings settings = small_chunks();
  settings.metalayers = {{"first", {1, 2, 3}}, {"second", {4}}};
  return settings;
}

FrameSettings small_array() {
  FrameSettings settings;
  settings.typesize = 4;
  ArrayInfo array;
  array.shape = {16, 8};
  array.chunkshape = {8, 8};
  array.blockshape = {4, 8};
  array.dtype = "<f4";
  settings.array = array;
  settings.metalayers = {{"mine", {1}}};
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(metalayer_changes)

BOOST_AUTO_TEST_CASE(set_replace_and_remove_keep_everything_else) {
  for (const ContainerKind kind : kKinds) {
    const auto disk = MemoryDisk::make();
    const auto writer = make_frame(disk, "f", pattern(10000, 1), described(), {}, kind);
    FrameContents model = contents_of(*writer->snapshot());
    auto transaction = writer->begin();
    transaction->set_metalayer("first", pattern(5000, 2));
    transaction->set_metalayer("third", {});
    BOOST_TEST(transaction->remove_metalayer("second"));
    BOOST_TEST(!transaction->remove_metalayer("second"));
    transaction->set_vlmetalayer("v", pattern(70, 3));
    put_content(*transaction, 1, pattern(4096, 4));
    transaction->commit();
    transaction.reset();
    model.metalayers = {{"first", pattern(5000, 2)}, {"third", {}}};
    model.vlmetalayers["v"] = pattern(70, 3);
    const Buffer chunk = pattern(4096, 4);
    std::copy(chunk.begin(), chunk.end(), model.bytes.begin() + 4096);
    BOOST_TEST(contents_on(disk, "f") == model);
    // The next commit writes in place, after the new header.
    transaction = writer->begin();
    put_content(*transaction, 0, pattern(4096, 5));
    transaction->commit();
    const Buffer next = pattern(4096, 5);
    std::copy(next.begin(), next.end(), model.bytes.begin());
    BOOST_TEST(contents_on(disk, "f") == model);
  }
}

BOOST_AUTO_TEST_CASE(a_frame_without_contents_takes_metalayers) {
  for (const ContainerKind kind : kKinds) {
    const auto disk = MemoryDisk::make();
    const auto writer = make_frame(disk, "f", {}, small_chunks(), {}, kind);
    const auto transaction = writer->begin();
    transaction->set_metalayer("a", pattern(50, 1));
    transaction->commit();
    BOOST_TEST(contents_on(disk, "f").metalayers.at("a") == pattern(50, 1));
  }
}

BOOST_AUTO_TEST_CASE(an_array_gets_its_shape_where_its_metalayer_has_moved_to) {
  for (const ContainerKind kind : kKinds) {
    const auto disk = MemoryDisk::make();
    const auto root = disk->root();
    const auto writer = kind == ContainerKind::cframe ? create_cframe(root, "f", small_array(), {})
                                                      : create_sframe(root, "f", small_array(), {});
    writer->begin()->commit();
    const auto transaction = writer->begin();
    transaction->set_shape({24, 8});
    transaction->set_metalayer("mine", pattern(700, 1));
    transaction->set_metalayer("other", pattern(9, 1));
    transaction->commit();
    const FrameContents found = contents_on(disk, "f");
    BOOST_TEST(found.shape == (std::vector<std::int64_t>{24, 8}));
    BOOST_TEST(found.metalayers.at("mine") == pattern(700, 1));
    BOOST_TEST(found.metalayers.size() == 3u);
  }
}

BOOST_AUTO_TEST_CASE(what_a_header_cannot_hold_is_refused_at_once) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(100, 1));
  const auto transaction = writer->begin();
  const auto error_of_setting = [&](const std::string& name) {
    return errno_of([&] { transaction->set_metalayer(name, Buffer{1}); });
  };
  for (int i = 0; i < 16; i++) BOOST_TEST(error_of_setting("layer" + std::to_string(i)) == 0);
  BOOST_TEST(error_of_setting("layer16") == ENOSPC);
  BOOST_TEST(error_of_setting("layer3") == 0);
  BOOST_TEST(error_of_setting("") == EINVAL);
  BOOST_TEST(error_of_setting(std::string(32, 'n')) == EINVAL);
  for (const char* kind : {"b2nd", "caterva", "b2o", "vlarray"})
    BOOST_TEST(error_of_setting(kind) == EPERM);
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").metalayers.size() == 16u);
}

BOOST_AUTO_TEST_CASE(hard_links_forbid_another_header) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "f", pattern(100, 1));
  disk->nodes.at(disk->find(MemoryDisk::kRoot, "f")).links = 2;
  const auto writer = open_writer(disk, "f");
  const auto transaction = writer->begin();
  transaction->set_metalayer("a", Buffer{1});
  BOOST_TEST(errno_of([&] { transaction->commit(); }) == EOPNOTSUPP);
  BOOST_TEST(contents_on(disk, "f").metalayers.empty());
}

BOOST_AUTO_TEST_SUITE_END()
