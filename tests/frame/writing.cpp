#include "tests/frame/writing.hpp"

#include <algorithm>
#include <ostream>

#include "codec/chunk_encoder.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/sframe/sframe.hpp"
#include "frame/sframe/sframe_writer.hpp"

namespace bloscfs::frame::test {
namespace {

Buffer part(const Buffer& content, std::int64_t at, std::int64_t size) {
  const auto begin = content.begin() + at;
  return {begin, begin + std::min<std::int64_t>(size, std::ssize(content) - at)};
}

bool is_directory(const MemoryDisk& disk, const std::string& name) {
  const std::uint64_t node = disk.find(MemoryDisk::kRoot, name);
  return node != 0 && disk.nodes.at(node).is_directory;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const FrameContents& contents) {
  std::uint64_t sum = 14695981039346656037u;
  for (const std::uint8_t byte : contents.bytes) sum = (sum ^ byte) * 1099511628211u;
  out << contents.bytes.size() << " bytes (" << sum << "), vlmetalayers";
  for (const auto& layer : contents.vlmetalayers)
    out << ' ' << layer.first << ':' << layer.second.size();
  return out;
}

FrameContents contents_of(const Snapshot& snapshot) {
  FrameContents contents;
  contents.bytes = read_all(snapshot);
  if (snapshot.info().array) contents.shape = snapshot.info().array->shape;
  codec::BlockDecoder decoder;
  for (const MetalayerEntry& entry : snapshot.metalayers())
    contents.metalayers[entry.name] = snapshot.read_metalayer(entry);
  for (const MetalayerEntry& entry : snapshot.vlmetalayers())
    contents.vlmetalayers[entry.name] =
        snapshot.read_vlmetalayer(entry, std::size_t{64} << 20, decoder);
  return contents;
}

std::unique_ptr<Snapshot> open_on(const std::shared_ptr<MemoryDisk>& disk,
                                  const std::string& name) {
  if (!is_directory(*disk, name)) return open_cframe(disk->root()->open_source(name), {});
  auto files = open_sframe_files(disk->root()->open_directory(name));
  if (!files) throw std::runtime_error("no " + name + "/chunks.b2frame");
  return open_sframe(std::move(files));
}

std::unique_ptr<FrameWriter> open_writer(const std::shared_ptr<MemoryDisk>& disk,
                                         const std::string& name, const WriterSettings& settings) {
  return is_directory(*disk, name) ? open_sframe_writer(disk->root(), name, settings)
                                   : open_cframe_writer(disk->root(), name, settings);
}

FrameContents contents_on(const std::shared_ptr<MemoryDisk>& disk, const std::string& name) {
  return contents_of(*open_on(disk, name));
}

void put_content(Transaction& transaction, std::int64_t chunk, const Buffer& content) {
  put_contents(transaction, {{chunk, content}}, chunk);
}

void put_contents(Transaction& transaction, const std::map<std::int64_t, Buffer>& contents,
                  std::int64_t gap) {
  codec::EncodeSettings settings;
  settings.typesize = transaction.info().typesize;
  settings.blocksize = transaction.info().array ? transaction.info().blocksize : 512;
  settings.clevel = 1;
  codec::ChunkEncoder encoder(settings);
  std::size_t room = 1;
  for (const auto& [chunk, content] : contents)
    room += codec::ChunkEncoder::max_stored_size(content.size());
  Buffer stored(room);
  std::vector<NumberedChunk> chunks;
  codec::MutableBytes free = stored;
  for (const auto& [chunk, content] : contents) {
    if (chunk == gap) free = free.subspan(1);
    const codec::EncodedSize encoded = encoder.encode_into(
        content, free.first(codec::ChunkEncoder::max_stored_size(content.size())));
    if (encoded.special == codec::SpecialValue::none)
      chunks.push_back({chunk, free.first(encoded.stored)});
    else
      transaction.put_special(chunk, encoded.special);
    free = free.subspan(encoded.stored);
  }
  transaction.put_chunks(chunks);
}

FrameSettings small_chunks() {
  FrameSettings settings;
  settings.chunksize = 4096;
  settings.blocksize = 512;
  return settings;
}

void put_all(Transaction& transaction, const Buffer& content) {
  transaction.resize(std::ssize(content));
  const std::int64_t chunksize = transaction.info().chunksize;
  for (std::int64_t chunk = 0; chunk < transaction.info().nchunks; ++chunk)
    put_content(transaction, chunk, part(content, chunk * chunksize, chunksize));
}

std::unique_ptr<FrameWriter> make_frame(const std::shared_ptr<MemoryDisk>& disk,
                                        const std::string& name, const Buffer& content,
                                        const FrameSettings& settings, const WriterSettings& writer,
                                        ContainerKind kind) {
  auto frame = kind == ContainerKind::cframe ? create_cframe(disk->root(), name, settings, writer)
                                             : create_sframe(disk->root(), name, settings, writer);
  const auto transaction = frame->begin();
  put_all(*transaction, content);
  transaction->commit();
  return frame;
}

}  // namespace bloscfs::frame::test
