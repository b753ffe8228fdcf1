// usage: encode_checker blosc1|blosc2 LIBRARY RECORDS
// Decodes the chunks of a file (see encode_record.hpp) with C-Blosc or C-Blosc2, whole and by
// items. Prints the chunks that are decoded wrongly, and then exits with status 1.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

#include "tests/peer/blosc2_peer.hpp"
#include "tests/peer/encode_record.hpp"

namespace bloscfs::test {
namespace {

/// Both functions return the number of decoded bytes. Errors are negative, or 0.
struct Decoder {
  std::function<int(const ByteVector& chunk, ByteVector& out)> decode;
  std::function<int(const ByteVector& chunk, int first, int count, ByteVector& out)> items;
};

template <typename Function>
Function* load(void* library, const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("no function ") + name);
  return function;
}

std::int32_t size_of(const ByteVector& bytes) { return static_cast<std::int32_t>(bytes.size()); }

Decoder blosc1(void* library) {
  load<void()>(library, "blosc_init")();
  auto* const decompress = load<int(const void*, void*, std::size_t)>(library, "blosc_decompress");
  auto* const getitem = load<int(const void*, int, int, void*)>(library, "blosc_getitem");
  return {[=](const ByteVector& chunk, ByteVector& out) {
            return decompress(chunk.data(), out.data(), out.size());
          },
          [=](const ByteVector& chunk, int first, int count, ByteVector& out) {
            return getitem(chunk.data(), first, count, out.data());
          }};
}

Decoder blosc2(void* library) {
  load<void()>(library, "blosc2_init")();
  void* const context = load<void*(PeerDecompression)>(library, "blosc2_create_dctx")({});
  auto* const decompress = load<int(void*, const void*, std::int32_t, void*, std::int32_t)>(
      library, "blosc2_decompress_ctx");
  auto* const getitem = load<int(void*, const void*, std::int32_t, int, int, void*, std::int32_t)>(
      library, "blosc2_getitem_ctx");
  return {[=](const ByteVector& chunk, ByteVector& out) {
            return decompress(context, chunk.data(), size_of(chunk), out.data(), size_of(out));
          },
          [=](const ByteVector& chunk, int first, int count, ByteVector& out) {
            return getitem(context, chunk.data(), size_of(chunk), first, count, out.data(),
                           size_of(out));
          }};
}

std::string check_whole(const Decoder& decoder, const EncodeRecord& record) {
  ByteVector out(record.contents.size());
  const int got = decoder.decode(record.chunk, out);
  if (got != size_of(out)) return "decoding gives " + std::to_string(got);
  return out == record.contents ? "" : "decodes to something else";
}

/// C-Blosc2 2.17 decodes a run wrongly that is as long as a block but does not start at one.
bool is_as_long_as_a_block(const EncodeRecord& record, int items) {
  const std::int64_t size = std::int64_t{items} * record.typesize;
  return size == record.blocksize || size == std::ssize(record.contents) % record.blocksize;
}

/// Decodes single items and runs of items from all parts of the chunk.
std::string check_items(const Decoder& decoder, const EncodeRecord& record) {
  const int count = size_of(record.contents) / record.typesize;
  for (int i = 0; i < 20 && count > 0; ++i) {
    const int first = static_cast<int>(i * 7919LL % count);
    int run = std::min(i % 3 == 0 ? 1 : 1 + i * 97, count - first);
    while (run > 1 && is_as_long_as_a_block(record, run)) --run;
    ByteVector out(static_cast<std::size_t>(run * record.typesize));
    const int got = decoder.items(record.chunk, first, run, out);
    const std::string which = std::to_string(run) + " items from " + std::to_string(first) + " on";
    if (got != size_of(out)) return which + " give " + std::to_string(got);
    if (!std::equal(out.begin(), out.end(),
                    record.contents.begin() + std::ptrdiff_t{first} * record.typesize)) {
      return which + " are something else";
    }
  }
  return {};
}

int check_all(const Decoder& decoder, const std::string& path) {
  int failures = 0;
  const auto records =
      nlohmann::json::from_msgpack(read_file(path)).get<std::vector<EncodeRecord>>();
  for (const EncodeRecord& record : records) {
    std::string problem = check_whole(decoder, record);
    if (problem.empty() && record.items) problem = check_items(decoder, record);
    if (problem.empty()) continue;
    std::printf("%s: %s\n", record.label.c_str(), problem.c_str());
    ++failures;
  }
  std::printf("%zu chunks, %d failed\n", records.size(), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bloscfs::test

int main(int argc, char** argv) {
  using namespace bloscfs::test;
  if (argc != 4) return 2;
  try {
    void* const library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return check_all(std::strcmp(argv[1], "blosc1") == 0 ? blosc1(library) : blosc2(library),
                     argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "encode_checker: %s\n", error.what());
    return 1;
  }
}
