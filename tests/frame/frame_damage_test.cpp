// Damage to each field of a frame, and frames that end at any byte.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using bloscfs::frame::test::Buffer;
using bloscfs::frame::test::FrameBuilder;

namespace {

FrameBuilder sample() {
  auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(5500, 5), 1000, 256);
  frame.metalayers = {{"m1", {1, 2, 3}}, {"m2", {4}}};
  frame.vlmetalayers = {{"v1", bloscfs::frame::test::make_memcpy_chunk({5, 6}, 1)}};
  return frame;
}

Buffer with(Buffer bytes, std::size_t at, std::uint64_t value, int size) {
  Buffer field;
  bloscfs::frame::test::put_big(field, value, size);
  std::copy(field.begin(), field.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return bytes;
}

/// Opens a frame and reads everything. Returns true if neither fails.
bool readable(const Buffer& bytes) {
  try {
    const auto snapshot = bloscfs::frame::test::open_bytes(bytes);
    for (const MetalayerEntry& entry : snapshot->metalayers()) snapshot->read_metalayer(entry);
    bloscfs::frame::test::read_all(*snapshot);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void check_refused_at_open(const Buffer& bytes) {
  BOOST_CHECK_THROW(bloscfs::frame::test::open_bytes(bytes), Error);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_damage)

BOOST_AUTO_TEST_CASE(refuses_wrong_lengths) {
  const Buffer bytes = sample().build();
  const std::uint64_t size = bytes.size();
  for (const std::uint64_t header_len :
       {std::uint64_t{0}, std::uint64_t{96}, std::uint64_t{98}, size, size + 1,
        std::uint64_t{0x7fffffff}, std::uint64_t{0x80000000}, std::uint64_t{0xffffffff}})
    BOOST_CHECK(!readable(with(bytes, 0x0b, header_len, 4)));
  for (const std::uint64_t frame_len :
       {std::uint64_t{0}, std::uint64_t{111}, size - 1, size + 1, std::uint64_t{1} << 63,
        UINT64_MAX, std::uint64_t{INT64_MAX}})
    check_refused_at_open(with(bytes, 0x10, frame_len, 8));
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{24}, std::uint64_t{34}, size, std::uint64_t{0xffffffff}})
    check_refused_at_open(with(bytes, bytes.size() - 22, length, 4));
}

BOOST_AUTO_TEST_CASE(refuses_wrong_sizes_of_contents) {
  const Buffer bytes = sample().build();
  for (const std::uint64_t nbytes : {std::uint64_t{4000}, std::uint64_t{5499}, std::uint64_t{6001},
                                     UINT64_MAX, std::uint64_t{INT64_MAX}})
    BOOST_CHECK(!readable(with(bytes, 0x1e, nbytes, 8)));
  for (const std::uint64_t cbytes :
       {std::uint64_t{0}, std::uint64_t{5499}, UINT64_MAX, std::uint64_t{INT64_MAX},
        static_cast<std::uint64_t>(sample().chunk_area.size() + 1)})
    BOOST_CHECK(!readable(with(bytes, 0x27, cbytes, 8)));
  for (const std::uint64_t chunksize : {0xffffffffu, 0x80000000u, 1u, 999u, 0x7fffffffu})
    BOOST_CHECK(!readable(with(bytes, 0x3a, chunksize, 4)));
}

BOOST_AUTO_TEST_CASE(refuses_wrong_item_sizes_types_and_versions) {
  const Buffer bytes = sample().build();
  check_refused_at_open(with(bytes, 0x30, 0, 4));
  check_refused_at_open(with(bytes, 0x30, 0xffffffff, 4));
  check_refused_at_open(with(bytes, 0x35, 0xffffffff, 4));
  check_refused_at_open(with(bytes, 0x19, 0x14, 1));
  check_refused_at_open(with(bytes, 0x1a, 1, 1));
  check_refused_at_open(with(bytes, 0x1a, 9, 1));
  check_refused_at_open(with(bytes, 0x46, 7, 1));
  check_refused_at_open(with(bytes, 0x00, 0x9f, 1));
  for (const std::size_t marker :
       {0x01U, 0x05U, 0x0aU, 0x0fU, 0x18U, 0x1dU, 0x26U, 0x2fU, 0x34U, 0x39U})
    check_refused_at_open(with(bytes, marker, 0xc0, 1));
}

BOOST_AUTO_TEST_CASE(refuses_damaged_metalayer_maps) {
  const Buffer bytes = sample().build();
  constexpr std::size_t kMap = 0x57;
  check_refused_at_open(with(bytes, kMap, 0x94, 1));
  check_refused_at_open(with(bytes, kMap + 4, 0xdf, 1));
  check_refused_at_open(with(bytes, kMap + 5, 17, 2));
  check_refused_at_open(with(bytes, kMap + 5, 0xffff, 2));
  check_refused_at_open(with(bytes, kMap + 7, 0xd9, 1));   // not a fixstr
  check_refused_at_open(with(bytes, kMap + 8, 0, 1));      // NUL in a name
  check_refused_at_open(with(bytes, kMap + 10, 0xd3, 1));  // not an int32
  for (const std::uint64_t offset : {0xffffffffu, 0x7fffffffu, 0u, 0x80u, 0x2000u})
    check_refused_at_open(with(bytes, kMap + 11, offset, 4));
  const std::size_t content = kMap + 7 + 16 + 3;
  BOOST_REQUIRE_EQUAL(bytes[content], 0xc6);
  for (const std::uint64_t length : {0xffffffffu, 0x7fffffffu, 10u})
    check_refused_at_open(with(bytes, content + 1, length, 4));
}

BOOST_AUTO_TEST_CASE(refuses_a_damaged_trailer) {
  const FrameBuilder frame = sample();
  const Buffer bytes = frame.build();
  const std::size_t trailer = bytes.size() - frame.trailer().size();
  check_refused_at_open(with(bytes, trailer, 0x93, 1));
  check_refused_at_open(with(bytes, trailer + 2, 0x92, 1));
  check_refused_at_open(with(bytes, trailer + 7, 8193, 2));
  check_refused_at_open(with(bytes, trailer + 9, 0xc0, 1));
  check_refused_at_open(with(bytes, bytes.size() - 23, 0xcd, 1));
}

BOOST_AUTO_TEST_CASE(refuses_a_frame_cut_short_at_any_byte) {
  const Buffer bytes = sample().build();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    check_refused_at_open({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
}

BOOST_AUTO_TEST_CASE(survives_a_file_that_shrinks_after_open) {
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  // The contents are too large to be kept in memory as a whole.
  const Buffer content = bloscfs::frame::test::pattern(40'000, 1);
  const auto snapshot = bloscfs::frame::test::open_bytes(
      bloscfs::frame::test::simple_frame(content, 10'000, 2500).build(), &source);
  for (std::size_t size = source->bytes.size(); size-- > 0;) {
    source->bytes.resize(size);
    if (size % 61 != 0) continue;
    try {
      bloscfs::frame::test::read_all(*snapshot);
    } catch (const Error&) {
      continue;
    }
    BOOST_CHECK_GE(
        size, static_cast<std::size_t>(snapshot->info().frame_len - snapshot->info().trailer_len));
  }
}

BOOST_AUTO_TEST_CASE(survives_every_flipped_byte) {
  const Buffer bytes = sample().build();
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Buffer damaged = bytes;
    damaged[at] ^= static_cast<std::uint8_t>(1 + at % 255);
    refused += readable(damaged) ? 0 : 1;
  }
  BOOST_CHECK_GT(refused, 80);
}

BOOST_AUTO_TEST_CASE(allocates_nothing_by_a_claimed_length) {
  // The header claims 2 GiB. The sparse file is large enough, but all other bytes are zero.
  class Zeros final : public ByteSource {
   public:
    explicit Zeros(Buffer start) : start_(std::move(start)) {}
    std::size_t read_at(std::uint64_t offset, MutableBytes out) const override {
      BOOST_REQUIRE_LE(out.size(), std::size_t{1} << 20);
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = offset + i < start_.size() ? start_[offset + i] : 0;
      return out.size();
    }
    FileStamp stamp() const override { return {1, 1, std::int64_t{1} << 40, 0}; }

   private:
    Buffer start_;
  };
  Buffer bytes = with(sample().build(), 0x0b, 0x7fffffff, 4);
  bytes = with(bytes, 0x10, std::uint64_t{1} << 40, 8);
  const auto source = std::make_shared<Zeros>(bytes);
  BOOST_CHECK_THROW(open_cframe(source, {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
