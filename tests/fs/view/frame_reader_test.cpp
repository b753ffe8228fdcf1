// What reading costs, with files that make it expensive.

#include "fs/view/frame_reader.hpp"

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "frame/store/throw_errno.hpp"
#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

namespace {

/// A source whose reads a test can make fail.
class FailingSource final : public frame::ByteSource {
 public:
  explicit FailingSource(Buffer bytes) : bytes_(std::move(bytes)) {}

  std::size_t read_at(std::uint64_t offset, frame::MutableBytes out) const override {
    if (error != 0) frame::throw_errno(error, "source");
    return bytes_.read_at(offset, out);
  }
  frame::FileStamp stamp() const override { return bytes_.stamp(); }

  int error = 0;

 private:
  MemorySource bytes_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(frame_reader, ReaderFixture)

BOOST_AUTO_TEST_CASE(keeps_no_tiny_chunks) {
  const FileView file = view(repeated(make_memcpy_chunk({9}, 1), 1, 100'000));
  BOOST_TEST((read(file, 0, 100'000) == Buffer(100'000, 9)));
  file.prefetch(request, 0, 100'000, not_reached);
  BOOST_TEST(stats.cache_misses.load() <= 100'000u / 2048 + 2);
}

BOOST_AUTO_TEST_CASE(refuses_requests_that_need_endless_decoding) {
  // Each byte of the array is the only one in its block of 8 MiB.
  constexpr std::int32_t kBlock = 8 << 20;
  constexpr std::int64_t kRows = 4096;
  Buffer chunk = make_value_chunk({7}, kBlock);
  chunk[0x1f] = 0;  // not a special chunk: one block that is a run
  chunk[2] = 0x35;
  std::fill_n(chunk.begin() + 8, 4, std::uint8_t{0});
  chunk[10] = kBlock >> 16;
  chunk.resize(32);
  for (const int byte : {36, 0, 0, 0, 0xf9, 0xff, 0xff, 0xff, 1})
    chunk.push_back(static_cast<std::uint8_t>(byte));
  chunk[12] = static_cast<std::uint8_t>(chunk.size());
  FrameBuilder frame = repeated(chunk, kBlock, kRows);
  frame.metalayers = {{"b2nd", array_layer({kRows, 1}, {1, kBlock}, {1, kBlock})}};
  const FileView file = view(frame);
  BOOST_TEST((read(file, 0, 10) == Buffer(10, 7)));
  BOOST_CHECK_EXCEPTION(read(file, 0, kRows), codec::Error, is_too_large);
  BOOST_TEST(stats.blocks_decoded.load() < 100);
}

BOOST_AUTO_TEST_CASE(adds_nothing_that_it_could_not_read) {
  FrameBuilder frame = repeated(Buffer(40, 0xff), 1000, 1);
  frame.metalayers = {{"b2nd", array_layer({1000}, {1000}, {1000})}};
  const FileView file = view(frame);
  ReplyData reply(pages);
  BOOST_CHECK_THROW(file.read(request, 0, 1000, reply), codec::Error);
  BOOST_TEST(reply.size() == 0);
}

// If it is not known how many blocks a chunk has, some of them may stay in the cache.
BOOST_AUTO_TEST_CASE(tells_where_a_chunk_cannot_be_forgotten) {
  const Buffer content = pattern(40'000, 1);
  const auto source = std::make_shared<FailingSource>(simple_frame(content, 20'000, 5000).build());
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, cache, stats);
  reader.open_chunk(request, 0);
  BOOST_TEST(reader.forget_chunk(request, 0));
  for (const int error : {EIO, EMFILE, ETIMEDOUT}) {
    source->error = error;
    BOOST_TEST(!reader.forget_chunk(request, 0), "errno " << error);
    source->error = 0;
    BOOST_TEST(reader.forget_chunk(request, 0));
  }
}

BOOST_AUTO_TEST_CASE(refuses_to_hold_large_headers_of_too_many_open_files) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 1);
  Buffer layer = array_layer({1}, {1}, {1});
  layer.resize(layer.size() - 7);
  put_big(layer, 100'000, 4);
  layer.resize(layer.size() + 100'000, 'x');
  frame.metalayers = {{"b2nd", layer}};
  const SharedSnapshot snapshot(open_bytes(frame.build()));
  std::vector<FileView> files;
  BOOST_CHECK_THROW(for (int i = 0; i < 1000; ++i) files.push_back(view(snapshot)),
                    std::system_error);
  BOOST_TEST(files.size() > 100);
  files.clear();
  BOOST_CHECK_NO_THROW(view(snapshot));
}

BOOST_AUTO_TEST_SUITE_END()
