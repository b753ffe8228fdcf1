// Commits to contiguous frames: the resulting frame, for every kind of change.

#include "frame/cframe/cframe_writer.hpp"

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "frame/reading/frame_snapshot.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/writing.hpp"
#include "tests/support/needs.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

Buffer joined(const std::vector<Buffer>& parts) {
  Buffer all;
  for (const Buffer& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cframe_writer)

BOOST_AUTO_TEST_CASE(makes_a_frame_of_given_contents) {
  const auto disk = MemoryDisk::make();
  const Buffer content = pattern(10000, 1);
  const auto writer = make_frame(disk, "f", content);
  BOOST_TEST(contents_of(*writer->snapshot()).bytes == content);
  BOOST_TEST(contents_on(disk, "f").bytes == content);
  BOOST_TEST(writer->snapshot()->info().nchunks == 3);
  BOOST_TEST(writer->snapshot()->info().frame_len == std::ssize(disk->bytes("f")));
}

BOOST_AUTO_TEST_CASE(makes_an_empty_frame) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", {});
  BOOST_TEST(contents_on(disk, "f").bytes.empty());
  BOOST_TEST(disk->bytes("f").size() == 132u);
}

BOOST_AUTO_TEST_CASE(adds_little_to_a_small_file) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(100, 1));
  BOOST_TEST(disk->bytes("f").size() < 100u + 256u);
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(100, 1));
}

BOOST_AUTO_TEST_CASE(replaces_a_chunk) {
  const auto disk = MemoryDisk::make();
  const Buffer one = pattern(4096, 1), two = pattern(4096, 2), three = pattern(100, 3);
  const auto writer = make_frame(disk, "f", joined({one, two, three}));
  const auto before = writer->snapshot();
  const auto transaction = writer->begin();
  put_content(*transaction, 1, pattern(4096, 9));
  BOOST_TEST(contents_on(disk, "f").bytes == joined({one, two, three}));
  const auto after = transaction->commit();
  BOOST_TEST(contents_of(*after).bytes == joined({one, pattern(4096, 9), three}));
  BOOST_TEST(contents_on(disk, "f").bytes == joined({one, pattern(4096, 9), three}));
  BOOST_TEST(contents_of(*before).bytes == joined({one, two, three}));
  BOOST_TEST(before->unchanged());
  BOOST_TEST(after->unchanged());
}

BOOST_AUTO_TEST_CASE(grows_and_shrinks) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  auto transaction = writer->begin();
  transaction->resize(20000);
  Buffer second = pattern(5000, 1);
  second.resize(20000);
  second.resize(8192);
  put_content(*transaction, 1, Buffer(second.begin() + 4096, second.end()));
  transaction->commit();
  transaction.reset();
  second.resize(20000);
  BOOST_TEST(contents_on(disk, "f").bytes == second);
  transaction = writer->begin();
  transaction->resize(4096);
  transaction->commit();
  second.resize(4096);
  BOOST_TEST(contents_on(disk, "f").bytes == second);
}

BOOST_AUTO_TEST_CASE(refuses_a_last_chunk_of_the_wrong_size) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  {
    const auto transaction = writer->begin();
    transaction->resize(6000);
    BOOST_TEST(errno_of([&] { transaction->write(); }) == EINVAL);
    put_content(*transaction, 1, pattern(1904, 1));
    transaction->commit();
  }
  BOOST_TEST(contents_on(disk, "f").bytes.size() == 6000u);
  const auto transaction = writer->begin();
  put_content(*transaction, 0, pattern(1904, 1));
  BOOST_TEST(errno_of([&] { transaction->write(); }) == EINVAL);
}

BOOST_AUTO_TEST_CASE(empties_a_frame_and_fills_it_again) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(10000, 1));
  for (unsigned i = 0; i < 4; ++i) {
    auto transaction = writer->begin();
    transaction->resize(0);
    transaction->commit();
    transaction.reset();
    BOOST_TEST(contents_on(disk, "f").bytes.empty());
    transaction = writer->begin();
    put_all(*transaction, pattern(9000, i));
    transaction->commit();
    BOOST_TEST(contents_on(disk, "f").bytes == pattern(9000, i));
  }
  BOOST_TEST(disk->names().size() == 1u);
}

BOOST_AUTO_TEST_CASE(keeps_vlmetalayers) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  auto transaction = writer->begin();
  transaction->set_vlmetalayer("a", pattern(3000, 1));
  transaction->set_vlmetalayer("empty", {});
  transaction->set_vlmetalayer("zeros", Buffer(500));
  transaction->commit();
  transaction = writer->begin();
  BOOST_TEST(!transaction->remove_vlmetalayer("b"));
  BOOST_TEST(transaction->remove_vlmetalayer("empty"));
  transaction->set_vlmetalayer("a", pattern(20, 2));
  transaction->set_vlmetalayer("c", pattern(30, 3));
  transaction->commit();
  const std::map<std::string, Buffer> expected{
      {"a", pattern(20, 2)}, {"zeros", Buffer(500)}, {"c", pattern(30, 3)}};
  BOOST_CHECK(contents_on(disk, "f").vlmetalayers == expected);
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(5000, 1));
}

BOOST_AUTO_TEST_CASE(fills_a_frame_that_was_emptied_more_than_once_and_opened_again) {
  const auto disk = MemoryDisk::make();
  auto writer = make_frame(disk, "f", pattern(9000, 1));
  for (unsigned i = 0; i < 3; ++i) {
    auto transaction = writer->begin();
    transaction->set_vlmetalayer("a", pattern(700, i));
    transaction->resize(0);
    transaction->commit();
    if (i > 0) writer = open_writer(disk, "f");
    transaction = writer->begin();
    put_all(*transaction, pattern(9000, i));
    transaction->commit();
    BOOST_TEST(contents_on(disk, "f").bytes == pattern(9000, i));
    BOOST_CHECK(contents_on(disk, "f").vlmetalayers.at("a") == pattern(700, i));
  }
}

BOOST_AUTO_TEST_CASE(refuses_vlmetalayers_that_the_format_cannot_hold,
                     *boost::unit_test::precondition(bloscfs::test::needs_plain_build)) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(100, 1));
  const auto transaction = writer->begin();
  BOOST_TEST(errno_of([&] { transaction->set_vlmetalayer("", {}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->set_vlmetalayer(std::string(32, 'a'), {}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->set_vlmetalayer(std::string(1, '\0'), {}); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->set_vlmetalayer("bloscfs.xxh3", {}); }) == EPERM);
  int set = 0;
  const auto fill = [&] {
    for (; set < 10000; ++set) transaction->set_vlmetalayer("layer" + std::to_string(set), {});
  };
  BOOST_TEST(errno_of(fill) == ENOSPC);
  BOOST_TEST(set > 4000);
}

BOOST_AUTO_TEST_CASE(stores_special_chunks_as_index_entries_alone) {
  const auto disk = MemoryDisk::make();
  FrameSettings settings = small_chunks();
  settings.typesize = 4;
  const auto writer = make_frame(disk, "f", pattern(8192, 1), settings);
  auto transaction = writer->begin();
  transaction->resize(std::int64_t{1} << 34);
  transaction->put_special(0, codec::SpecialValue::nan);
  transaction->put_special(1, codec::SpecialValue::uninit);
  disk->log.clear();
  transaction->commit();
  BOOST_TEST(disk->bytes_written() < std::uint64_t{1} << 20);
  transaction = writer->begin();
  transaction->resize(8192);
  transaction->commit();
  Buffer expected(8192);
  for (std::size_t i = 0; i < 4096; i += 4) {
    expected[i + 2] = 0xc0;
    expected[i + 3] = 0x7f;
  }
  BOOST_TEST(contents_on(disk, "f").bytes == expected);
}

BOOST_AUTO_TEST_CASE(refuses_nans_of_other_items) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  const auto transaction = writer->begin();
  BOOST_TEST(errno_of([&] { transaction->put_special(0, codec::SpecialValue::nan); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->put_special(0, codec::SpecialValue::value); }) == EINVAL);
  BOOST_TEST(errno_of([&] { transaction->put_special(2, codec::SpecialValue::zero); }) == EINVAL);
}

BOOST_AUTO_TEST_CASE(refuses_chunks_that_frames_cannot_hold) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  const auto transaction = writer->begin();
  const auto refused = [&](const Buffer& chunk) {
    return errno_of([&] { transaction->put_chunk(0, chunk); });
  };
  Buffer longer = make_memcpy_chunk(pattern(4096, 1), 1);
  longer.push_back(0);
  BOOST_TEST(refused(longer) == EINVAL);
  Buffer zeros = make_memcpy_chunk({}, 1);
  zeros[2] = 0x05;
  zeros[4] = 100;
  zeros[0x1f] = 0x10;
  BOOST_TEST(refused(zeros) == EINVAL);
  BOOST_TEST(refused(make_vl_chunk({pattern(4000, 1), pattern(96, 1)})) == EINVAL);
  BOOST_TEST(refused({}) == EIO);
  BOOST_TEST(refused(make_memcpy_chunk(pattern(4096, 1), 1)) == 0);
}

BOOST_AUTO_TEST_CASE(sets_the_size_of_chunks_of_an_empty_frame) {
  const auto disk = MemoryDisk::make();
  FrameSettings settings;
  const auto writer = make_frame(disk, "f", {}, settings);
  BOOST_TEST(writer->snapshot()->info().chunksize == -1);
  auto transaction = writer->begin();
  BOOST_TEST(errno_of([&] { transaction->resize(100); }) == EINVAL);
  transaction->set_chunksize(8192, 1024);
  put_all(*transaction, pattern(10000, 1));
  BOOST_TEST(errno_of([&] { transaction->set_chunksize(100, 0); }) == EINVAL);
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(10000, 1));
  BOOST_TEST(writer->snapshot()->info().chunksize == 8192);
  BOOST_TEST(writer->snapshot()->info().blocksize == 1024);
}

BOOST_AUTO_TEST_CASE(replaces_a_chunk_that_cannot_be_read) {
  const auto disk = MemoryDisk::make();
  FrameBuilder frame = simple_frame(pattern(12288, 1), 4096, 512);
  frame.chunk_area[4] ^= 0xff;
  disk->put("f", frame.build());
  const auto writer = open_writer(disk, "f");
  const auto transaction = writer->begin();
  put_content(*transaction, 0, pattern(4096, 2));
  transaction->commit();
  Buffer expected = pattern(12288, 1);
  const Buffer first = pattern(4096, 2);
  std::copy(first.begin(), first.end(), expected.begin());
  BOOST_TEST(contents_on(disk, "f").bytes == expected);
}

BOOST_AUTO_TEST_CASE(replaces_chunks_of_a_variable_size_frame) {
  const auto disk = MemoryDisk::make();
  FrameBuilder frame;
  frame.chunksize = 0;
  frame.general_flags = 0x53;
  for (const std::size_t size : {1000u, 300u, 2000u})
    frame.add(make_block_chunk(pattern(size, 1), 1, 256), size);
  disk->put("f", frame.build());
  const auto writer = open_writer(disk, "f");
  auto transaction = writer->begin();
  put_content(*transaction, 1, pattern(300, 2));
  transaction->put_special(2, codec::SpecialValue::zero);
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").bytes ==
             joined({pattern(1000, 1), pattern(300, 2), Buffer(2000)}));
  transaction = writer->begin();
  BOOST_TEST(errno_of([&] { transaction->resize(100); }) == EOPNOTSUPP);
  put_content(*transaction, 1, pattern(301, 2));
  BOOST_TEST(errno_of([&] { transaction->commit(); }) == EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(leaves_chunks_of_vl_blocks_alone) {
  const auto disk = MemoryDisk::make();
  FrameBuilder frame;
  frame.chunksize = 1000;
  frame.general_flags = 0x93;
  frame.add(make_vl_chunk({pattern(400, 1), pattern(600, 2)}), 1000);
  disk->put("f", frame.build());
  const auto writer = open_writer(disk, "f");
  const auto transaction = writer->begin();
  BOOST_TEST(errno_of([&] { put_content(*transaction, 0, pattern(1000, 1)); }) == EOPNOTSUPP);
  BOOST_TEST(errno_of([&] { transaction->resize(0); }) == EOPNOTSUPP);
  transaction->set_vlmetalayer("a", pattern(10, 1));
  transaction->commit();
  BOOST_TEST(contents_on(disk, "f").bytes == joined({pattern(400, 1), pattern(600, 2)}));
  BOOST_CHECK(contents_on(disk, "f").vlmetalayers.at("a") == pattern(10, 1));
}

BOOST_AUTO_TEST_CASE(refuses_the_early_layout) {
  const auto disk = MemoryDisk::make();
  disk->put("f", early_frame(pattern(3000, 1), 1000, 4, {}, {}));
  BOOST_TEST(errno_of([&] { open_writer(disk, "f"); }) == EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(refuses_to_write_over_what_somebody_else_did) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  {
    const auto other = open_writer(disk, "f");
    const auto transaction = other->begin();
    put_content(*transaction, 0, pattern(4096, 2));
    transaction->commit();
  }
  const Buffer now = disk->bytes("f");
  BOOST_TEST(errno_of([&] { writer->begin(); }) == ESTALE);
  BOOST_TEST(disk->bytes("f") == now);
}

BOOST_AUTO_TEST_CASE(refuses_to_publish_over_what_somebody_else_did_meanwhile) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  const auto transaction = writer->begin();
  put_content(*transaction, 0, pattern(4096, 2));
  transaction->write();
  transaction->flush();
  Buffer header(disk->bytes("f").begin(), disk->bytes("f").begin() + 97);
  header[0x17] ^= 1;
  disk->root()->open("f")->write_at(0, header);
  BOOST_TEST(errno_of([&] { transaction->publish(); }) == ESTALE);
  BOOST_TEST(std::equal(header.begin(), header.end(), disk->bytes("f").begin()));
}

BOOST_AUTO_TEST_CASE(takes_back_nothing_that_somebody_else_did_after_it_was_published) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  const Buffer before = disk->bytes("f");
  for (const bool is_changed : {false, true}) {
    auto transaction = writer->begin();
    put_content(*transaction, 0, pattern(4096, 2));
    transaction->write();
    transaction->flush();
    transaction->publish();
    Buffer header(disk->bytes("f").begin(), disk->bytes("f").begin() + 97);
    if (is_changed) {
      header[0x17] ^= 1;
      disk->root()->open("f")->write_at(0, header);
    }
    transaction.reset();
    const Buffer& expected = is_changed ? header : before;
    BOOST_TEST(std::equal(header.begin(), header.end(), disk->bytes("f").begin()) == is_changed);
    BOOST_TEST(std::equal(expected.begin(), expected.begin() + 97, disk->bytes("f").begin()));
  }
  BOOST_TEST(errno_of([&] { writer->begin(); }) == ESTALE);
}

BOOST_AUTO_TEST_CASE(refuses_to_write_to_a_file_that_lost_its_name) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  const auto other = make_frame(disk, "g", pattern(100, 2));
  disk->root()->rename("g", "f", RenameMode::replace);
  BOOST_TEST(errno_of([&] { writer->begin(); }) == ESTALE);
  other->moved(disk->root(), "f");
  BOOST_TEST(errno_of([&] { other->begin(); }) == 0);
}

BOOST_AUTO_TEST_CASE(keeps_the_space_of_a_given_snapshot) {
  const auto disk = MemoryDisk::make();
  make_frame(disk, "f", pattern(8192, 1));
  std::shared_ptr<const Snapshot> known = open_on(disk, "f");
  const auto writer = open_cframe_writer(disk->root(), "f", {}, known);
  for (unsigned i = 0; i < 10; ++i) {
    const auto transaction = writer->begin();
    put_content(*transaction, 0, pattern(4096, 2 + i));
    BOOST_TEST(known->unchanged());
    transaction->commit();
    BOOST_TEST(known->unchanged());
  }
  BOOST_TEST(contents_of(*known).bytes == pattern(8192, 1));
}

BOOST_AUTO_TEST_CASE(notices_other_writers_in_snapshots_of_its_own) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  const auto snapshot = writer->snapshot();
  BOOST_TEST(snapshot->unchanged());
  disk->root()->open("f")->write_at(120, pattern(1, 1));
  BOOST_TEST(!snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(sets_times_without_disturbing_snapshots) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(8192, 1));
  writer->set_times({1000, 0}, {2000, 0});
  BOOST_TEST(writer->attributes().accessed.tv_sec == 1000);
  BOOST_TEST(writer->attributes().modified.tv_sec == 2000);
  BOOST_TEST(writer->snapshot()->unchanged());
  BOOST_TEST(errno_of([&] { writer->begin(); }) == 0);
}

BOOST_AUTO_TEST_CASE(writes_the_same_bytes_for_the_same_input) {
  const auto one = MemoryDisk::make(), two = MemoryDisk::make();
  for (const auto& disk : {one, two}) {
    const auto writer = make_frame(disk, "f", pattern(30000, 1));
    const auto transaction = writer->begin();
    put_content(*transaction, 3, pattern(4096, 2));
    transaction->set_vlmetalayer("a", pattern(100, 1));
    transaction->commit();
  }
  BOOST_TEST(one->bytes("f") == two->bytes("f"));
}

BOOST_AUTO_TEST_CASE(takes_back_what_is_not_committed) {
  const auto disk = MemoryDisk::make();
  const auto writer = make_frame(disk, "f", pattern(5000, 1));
  for (int i = 0; i < 20; ++i) {
    const auto transaction = writer->begin();
    put_content(*transaction, 0, pattern(4096, 2));
    transaction->set_vlmetalayer("a", pattern(3000, 1));
    transaction->write();
    transaction->flush();
  }
  BOOST_TEST(contents_on(disk, "f").bytes == pattern(5000, 1));
  BOOST_TEST(writer->snapshot()->unchanged());
  writer->tidy();
  BOOST_TEST(writer->snapshot()->info().frame_len == std::ssize(disk->bytes("f")));
}

BOOST_AUTO_TEST_SUITE_END()
