#include "frame/bloscpack/bloscpack_metadata.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <zlib.h>

#include "codec/error.hpp"
#include "frame/bloscpack/bloscpack_array.hpp"
#include "frame/bloscpack/bloscpack_format.hpp"
#include "frame/bloscpack/digest.hpp"

namespace bloscfs::frame::inline bloscpack {
namespace {

using codec::throw_malformed;

constexpr std::uint32_t kMaxText = 64 << 20;
constexpr std::size_t kMetadataWindow = 64U << 10;

struct Section {
  std::uint64_t data_offset = 0;
  std::uint32_t size = 0, max_size = 0, comp_size = 0;
  bool zlib = false;
  DigestKind checksum = DigestKind::none;
};

Section read_section_header(const ByteSource& source, std::uint64_t offset,
                            std::uint64_t file_size) {
  RawBloscpackMetadata raw;
  source.read_exactly_at(offset, MutableBytes(reinterpret_cast<std::uint8_t*>(&raw), sizeof raw),
                         "Bloscpack metadata");
  // The documentation of the reference implementation pads the name with blanks; its files pad it
  // with NULs.
  if (std::memcmp(raw.magic_format, "JSON\0\0\0\0", 8) != 0 &&
      std::memcmp(raw.magic_format, "JSON    ", 8) != 0)
    throw_malformed("Bloscpack metadata: format is not JSON");
  if (raw.checksum > kMaxDigestId)
    throw_malformed(fmt::format("Bloscpack metadata checksum: unknown id {}", raw.checksum));
  if (raw.codec > kBloscpackMetadataZlib)
    throw_malformed(fmt::format("Bloscpack metadata codec: unknown id {}", raw.codec));
  Section section;
  section.data_offset = offset + sizeof raw;
  section.size = raw.size.value();
  section.max_size = raw.max_size.value();
  section.comp_size = raw.comp_size.value();
  section.zlib = raw.codec == kBloscpackMetadataZlib;
  section.checksum = static_cast<DigestKind>(raw.checksum);
  if (section.comp_size > section.max_size)
    throw_malformed(fmt::format("Bloscpack metadata: {} bytes in {} allocated ones",
                                section.comp_size, section.max_size));
  if (section.data_offset > file_size ||
      section.max_size + digest_size(section.checksum) > file_size - section.data_offset)
    throw_malformed(fmt::format("Bloscpack metadata: {} bytes at {}, file has {}", section.max_size,
                                section.data_offset, file_size));
  if (section.size > kMaxText || section.comp_size > kMaxText)
    throw_malformed(fmt::format("Bloscpack metadata: {} bytes in {} stored ones > {}", section.size,
                                section.comp_size, kMaxText));
  return section;
}

/// Collects the decoded text. Keeps it unless it is longer than `most`.
class TextSink {
 public:
  TextSink(std::uint32_t promised, std::uint32_t most)
      : promised_(promised), is_kept_(promised <= most) {}

  void append(Bytes bytes) {
    total_ += bytes.size();
    if (total_ > promised_) throw_wrong_size("more than ");
    if (is_kept_) text_.append(bytes.begin(), bytes.end());
  }
  std::string finish() {
    if (total_ != promised_) throw_wrong_size("");
    return std::move(text_);
  }

 private:
  [[noreturn]] void throw_wrong_size(const char* relation) const {
    throw_malformed(fmt::format("Bloscpack metadata: decodes to {}{} bytes, header says {}",
                                relation, total_, promised_));
  }

  std::uint64_t promised_;
  bool is_kept_;
  std::uint64_t total_ = 0;
  std::string text_;
};

class Inflater {
 public:
  Inflater() {
    if (inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Returns false once the stream is complete. Ignores bytes behind its end, as zlib.decompress
  /// does.
  bool feed(MutableBytes in, TextSink& sink) {
    stream_.next_in = in.data();
    stream_.avail_in = static_cast<uInt>(in.size());
    do {
      stream_.next_out = out_.data();
      stream_.avail_out = static_cast<uInt>(out_.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      sink.append(Bytes(out_.data(), out_.size() - stream_.avail_out));
      if (code == Z_STREAM_END) return false;
      if (code != Z_OK && code != Z_BUF_ERROR)
        throw_malformed(fmt::format("Bloscpack metadata: zlib error {}", code));
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return true;
  }

 private:
  z_stream stream_{};
  std::vector<std::uint8_t> out_ = std::vector<std::uint8_t>(kMetadataWindow);
};

/// Returns the text; empty if it is longer than `most`.
std::string read_text(const ByteSource& source, const Section& section, std::uint32_t most) {
  verify_stored_digest(source, section.checksum, section.data_offset, section.comp_size,
                       section.data_offset + section.max_size, "Bloscpack metadata");
  TextSink sink(section.size, most);
  Inflater inflater;
  std::vector<std::uint8_t> window(std::min<std::size_t>(section.comp_size, kMetadataWindow));
  bool more = true;
  for (std::uint32_t done = 0; more && done < section.comp_size;) {
    const std::size_t now = std::min<std::size_t>(section.comp_size - done, window.size());
    const MutableBytes part(window.data(), now);
    source.read_exactly_at(section.data_offset + done, part, "Bloscpack metadata");
    if (section.zlib) {
      more = inflater.feed(part, sink);
    } else {
      sink.append(part);
    }
    done += static_cast<std::uint32_t>(now);
  }
  if (section.zlib && more) throw_malformed("Bloscpack metadata: zlib stream is cut short");
  return sink.finish();
}

}  // namespace

BloscpackMetadata read_bloscpack_metadata(const ByteSource& source, std::uint64_t offset,
                                          std::uint64_t file_size) {
  const Section section = read_section_header(source, offset, file_size);
  BloscpackMetadata out;
  out.section_size =
      section.data_offset + section.max_size + digest_size(section.checksum) - offset;
  const std::string text = read_text(source, section, kMaxArrayText);
  if (section.size <= kMaxArrayText) out.array = parse_array_text(text);
  return out;
}

std::string read_bloscpack_text(const ByteSource& source, std::uint64_t offset,
                                std::uint64_t file_size) {
  return read_text(source, read_section_header(source, offset, file_size), kMaxText);
}

}  // namespace bloscfs::frame::inline bloscpack
