#include "frame/pystore/zip_member_reader.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <zlib.h>

#include "codec/error.hpp"
#include "frame/pystore/zip_format.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

constexpr std::uint16_t kDeflated = 8;
constexpr std::uint64_t kReadAtOnce = std::uint64_t{64} << 10;
/// Most bytes of one call, because zlib counts them in 32 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

}  // namespace

struct ZipMemberReader::Inflater {
  Inflater() {
    // Members have no zlib header.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }

  z_stream stream{};
  std::vector<std::uint8_t> input;
  bool is_at_end = false;
};

ZipMemberReader::ZipMemberReader(std::shared_ptr<const ByteSource> archive, ZipMember member)
    : archive_(std::move(archive)),
      member_(std::move(member)),
      position_(find_zip_data(*archive_, member_)),
      remaining_(member_.size) {
  if (member_.is_stored) return;
  if (member_.method != kDeflated) codec::throw_unsupported("neither stored nor deflated");
  inflater_ = std::make_unique<Inflater>();
}

ZipMemberReader::~ZipMemberReader() = default;

std::size_t ZipMemberReader::read(MutableBytes out) {
  out = out.first(std::min(out.size(), kMostAtOnce));
  const std::size_t got = inflater_ ? inflate(out) : read_stored(out);
  crc_ = static_cast<std::uint32_t>(::crc32(crc_, out.data(), static_cast<uInt>(got)));
  given_ += got;
  if (given_ > member_.full_size) codec::throw_malformed("has more bytes than the directory says");
  if (got > 0) return got;
  if (given_ != member_.full_size)
    codec::throw_malformed("has fewer bytes than the directory says");
  if (crc_ != member_.crc) codec::throw_malformed("its CRC-32 is not that of the directory");
  return 0;
}

std::size_t ZipMemberReader::read_stored(MutableBytes out) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), remaining_));
  archive_->read_exactly_at(position_, out.first(size), "member");
  position_ += size;
  remaining_ -= size;
  return size;
}

std::size_t ZipMemberReader::inflate(MutableBytes out) {
  z_stream& stream = inflater_->stream;
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  while (stream.avail_out > 0 && !inflater_->is_at_end) {
    if (stream.avail_in == 0) {
      const auto size = static_cast<std::size_t>(std::min(kReadAtOnce, remaining_));
      if (size == 0) codec::throw_malformed("its deflated bytes are cut off");
      inflater_->input.resize(size);
      archive_->read_exactly_at(position_, inflater_->input, "member");
      position_ += size;
      remaining_ -= size;
      stream.next_in = inflater_->input.data();
      stream.avail_in = static_cast<uInt>(size);
    }
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    inflater_->is_at_end = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      codec::throw_malformed("its deflated bytes are damaged");
  }
  return out.size() - stream.avail_out;
}

}  // namespace bloscfs::frame::inline pystore
