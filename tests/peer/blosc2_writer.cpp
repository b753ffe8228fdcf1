// usage: blosc2_writer LIBRARY REQUEST
// Writes a frame with C-Blosc2 according to a request (see request.hpp), and reads it back.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "tests/peer/blosc2_peer.hpp"
#include "tests/peer/request.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

void check(std::int64_t result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": error " + std::to_string(result));
}

class Writer {
 public:
  Writer(const Blosc2& blosc2, PeerRequest request)
      : blosc2_(blosc2), request_(std::move(request)), path_(request_.path) {
    compression_.codec = static_cast<std::uint8_t>(request_.codec);
    compression_.level = static_cast<std::uint8_t>(request_.level);
    compression_.splitmode = request_.splitmode;
    compression_.typesize = request_.typesize;
    compression_.blocksize = request_.blocksize;
    std::size_t slot = 6 - request_.filters.size();
    for (const auto& [id, meta] : request_.filters) {
      compression_.filters[slot] = static_cast<std::uint8_t>(id);
      compression_.filters_meta[slot++] = static_cast<std::uint8_t>(meta);
    }
    storage_.contiguous = request_.contiguous;
    storage_.path = path_.data();
    storage_.compression = &compression_;
    storage_.decompression = &decompression_;
    contents_ =
        make_contents(request_.kind, request_.seed, static_cast<std::size_t>(request_.nbytes),
                      static_cast<std::size_t>(request_.typesize));
  }

  void work() {
    if (request_.action == "append")
      append(open());
    else if (request_.dtype.empty())
      write_flat();
    else
      write_array();
    if (!request_.readback.empty())
      write_file(request_.readback, request_.dtype.empty() ? read_flat() : read_array());
  }

 private:
  PeerSuperChunk* open() {
    PeerSuperChunk* const schunk = blosc2_.schunk_open(path_.c_str());
    if (schunk == nullptr) throw std::runtime_error("schunk_open");
    return schunk;
  }

  void append(PeerSuperChunk* schunk) {
    const auto chunksize = static_cast<std::size_t>(request_.chunksize);
    for (std::size_t at = 0; at < contents_.size(); at += chunksize) {
      const auto size = static_cast<std::int32_t>(std::min(chunksize, contents_.size() - at));
      check(blosc2_.append_buffer(schunk, contents_.data() + at, size), "append_buffer");
    }
    for (const auto& [name, content] : request_.vlmeta) {
      auto bytes = from_hex(content);
      check(blosc2_.vlmeta_add(schunk, name.c_str(), bytes.data(),
                               static_cast<std::int32_t>(bytes.size()), nullptr),
            "vlmeta_add");
    }
    blosc2_.schunk_free(schunk);
  }

  void write_flat() {
    PeerSuperChunk* const schunk = blosc2_.schunk_new(&storage_);
    if (schunk == nullptr) throw std::runtime_error("schunk_new");
    for (const auto& [name, content] : request_.meta) {
      auto bytes = from_hex(content);
      check(blosc2_.meta_add(schunk, name.c_str(), bytes.data(),
                             static_cast<std::int32_t>(bytes.size())),
            "meta_add");
    }
    append(schunk);
  }

  void write_array() {
    PeerArrayContext* const context =
        blosc2_.array_context(&storage_, static_cast<std::int8_t>(request_.shape.size()),
                              request_.shape.data(), request_.chunkshape.data(),
                              request_.blockshape.data(), request_.dtype.c_str(), 0, nullptr, 0);
    if (context == nullptr) throw std::runtime_error("create_ctx");
    PeerArray* array = nullptr;
    check(blosc2_.array_from_buffer(context, &array, contents_.data(), request_.nbytes),
          "from_cbuffer");
    blosc2_.array_free(array);
    blosc2_.array_free_context(context);
  }

  ByteVector read_flat() {
    PeerSuperChunk* const schunk = open();
    ByteVector read(contents_.size() + static_cast<std::size_t>(request_.chunksize));
    std::size_t at = 0;
    for (std::int64_t chunk = 0; at < contents_.size(); ++chunk) {
      const int got = blosc2_.decompress_chunk(schunk, chunk, read.data() + at,
                                               static_cast<std::int32_t>(read.size() - at));
      check(got <= 0 ? got - 1 : got, "decompress_chunk");
      at += static_cast<std::size_t>(got);
    }
    read.resize(at);
    blosc2_.schunk_free(schunk);
    return read;
  }

  ByteVector read_array() {
    PeerArray* array = nullptr;
    check(blosc2_.array_open(path_.c_str(), &array), "b2nd_open");
    ByteVector read(contents_.size());
    check(blosc2_.array_to_buffer(array, read.data(), request_.nbytes), "to_cbuffer");
    blosc2_.array_free(array);
    return read;
  }

  const Blosc2& blosc2_;
  const PeerRequest request_;
  std::string path_;
  PeerCompression compression_;
  PeerDecompression decompression_;
  PeerStorage storage_;
  ByteVector contents_;
};

}  // namespace
}  // namespace bloscfs::test

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const bloscfs::test::Blosc2 blosc2(argv[1]);
    const auto request = nlohmann::json::parse(argv[2]).get<bloscfs::test::PeerRequest>();
    bloscfs::test::Writer(blosc2, request).work();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "blosc2_writer: %s\n", error.what());
    return 1;
  }
}
