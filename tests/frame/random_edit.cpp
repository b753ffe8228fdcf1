#include "tests/frame/random_edit.hpp"

#include <algorithm>
#include <cstdlib>

#include <boost/test/unit_test.hpp>

namespace bloscfs::frame::test {
namespace {

constexpr std::int64_t kMostChunks = 12;

std::int64_t below(std::mt19937& random, std::int64_t limit) {
  return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
}

Buffer chunk_of(const FrameContents& model, std::int64_t chunk, std::int64_t chunksize) {
  const std::int64_t at = chunk * chunksize;
  const std::int64_t size = std::min<std::int64_t>(chunksize, std::ssize(model.bytes) - at);
  return {model.bytes.begin() + at, model.bytes.begin() + at + size};
}

void replace_chunks(Transaction& transaction, FrameContents& model, std::mt19937& random) {
  if (transaction.info().nchunks == 0) return;
  const std::int64_t chunksize = transaction.info().chunksize;
  std::map<std::int64_t, Buffer> contents;
  for (std::int64_t count = 1 + below(random, 3); count > 0; --count) {
    const std::int64_t chunk = below(random, transaction.info().nchunks);
    const std::int64_t size = std::ssize(chunk_of(model, chunk, chunksize));
    contents[chunk] = below(random, 5) == 0 ? Buffer(static_cast<std::size_t>(size))
                                            : random_content(random, size);
    std::copy(contents[chunk].begin(), contents[chunk].end(),
              model.bytes.begin() + chunk * chunksize);
  }
  put_contents(transaction, contents, below(random, transaction.info().nchunks));
}

void resize(Transaction& transaction, FrameContents& model, std::mt19937& random,
            bool whole_items) {
  const std::int64_t chunksize = transaction.info().chunksize;
  const std::int64_t before = std::ssize(model.bytes);
  std::int64_t after = below(random, kMostChunks * chunksize);
  if (below(random, 6) == 0) after = 0;
  if (below(random, 4) == 0) after -= after % chunksize;
  if (whole_items) after -= after % transaction.info().typesize;
  model.bytes.resize(static_cast<std::size_t>(after));
  transaction.resize(after);
  // Writes the chunks whose end has changed. A new last chunk may stay zeros.
  const bool put_last = after < before || below(random, 2) == 0;
  for (const std::int64_t size : {before, put_last ? after : before})
    if (size > 0 && (size - 1) / chunksize < transaction.info().nchunks)
      put_content(transaction, (size - 1) / chunksize,
                  chunk_of(model, (size - 1) / chunksize, chunksize));
}

void change_layer(Transaction& transaction, FrameContents& model, std::mt19937& random) {
  const std::string name(1, static_cast<char>('a' + below(random, 3)));
  if (below(random, 3) == 0) {
    transaction.remove_vlmetalayer(name);
    model.vlmetalayers.erase(name);
    return;
  }
  const Buffer content = random_content(random, below(random, 2000));
  transaction.set_vlmetalayer(name, content);
  model.vlmetalayers[name] = content;
}

/// Such a change makes the writer write the whole frame again.
void change_fixed_layer(Transaction& transaction, FrameContents& model, std::mt19937& random) {
  const std::string name(1, static_cast<char>('A' + below(random, 3)));
  if (below(random, 3) == 0) {
    transaction.remove_metalayer(name);
    model.metalayers.erase(name);
    return;
  }
  const Buffer content = random_content(random, below(random, 300));
  transaction.set_metalayer(name, content);
  model.metalayers[name] = content;
}

}  // namespace

Buffer random_content(std::mt19937& random, std::int64_t size) {
  Buffer out(static_cast<std::size_t>(size));
  for (std::size_t at = 0; at < out.size();) {
    const auto run = std::min<std::size_t>(out.size() - at, 1 + random() % 700);
    const auto kind = random() % 3;
    auto byte = static_cast<std::uint8_t>(random());
    for (std::size_t i = 0; i < run; ++i)
      out[at + i] = kind == 0 ? byte : kind == 1 ? byte++ : static_cast<std::uint8_t>(random());
    at += run;
  }
  return out;
}

void edit_at_random(Transaction& transaction, FrameContents& model, std::mt19937& random,
                    bool whole_items) {
  for (std::int64_t changes = 1 + below(random, 4); changes > 0; --changes) {
    switch (below(random, 8)) {
      case 0:
      case 1:
        resize(transaction, model, random, whole_items);
        break;
      case 2:
        if (transaction.info().frame_len > 0 && below(random, 4) == 0)
          change_fixed_layer(transaction, model, random);
        else
          change_layer(transaction, model, random);
        break;
      default:
        replace_chunks(transaction, model, random);
    }
  }
}

std::uint32_t random_seed() {
  const char* given = std::getenv("BLOSCFS_SEED");
  const std::uint32_t seed = given != nullptr
                                 ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 0))
                                 : std::random_device()();
  BOOST_TEST_MESSAGE("BLOSCFS_SEED=" << seed);
  std::printf("BLOSCFS_SEED=%u\n", seed);
  return seed;
}

}  // namespace bloscfs::frame::test
