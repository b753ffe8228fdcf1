#include "tests/frame/corpus.hpp"

#include <chrono>
#include <fstream>
#include <memory>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::frame::test {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLayer = std::size_t{16} << 20;
constexpr std::chrono::seconds kTimeout{20};

std::string hex(const std::uint8_t* bytes, std::size_t size) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}

std::string sha256(const Buffer& bytes) {
  std::uint8_t digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("EVP_Digest");
  return hex(digest, size);
}

void read_every_layer(const Snapshot& snapshot) {
  codec::BlockDecoder decoder;
  for (const MetalayerEntry& entry : snapshot.metalayers()) snapshot.read_metalayer(entry);
  for (const MetalayerEntry& entry : snapshot.vlmetalayers()) {
    try {
      snapshot.read_vlmetalayer(entry, kMaxLayer, decoder);
    } catch (const codec::Error&) {
      continue;  // only this one is unreadable
    }
  }
}

void check_layers(const json& entry, const Snapshot& snapshot) {
  codec::BlockDecoder decoder;
  json fixed = json::object(), variable = json::object();
  for (const MetalayerEntry& layer : snapshot.metalayers()) {
    const Buffer content = snapshot.read_metalayer(layer);
    fixed[layer.name] = hex(content.data(), content.size());
  }
  for (const MetalayerEntry& layer : snapshot.vlmetalayers()) {
    const Buffer content = snapshot.read_vlmetalayer(layer, kMaxLayer, decoder);
    BOOST_CHECK_EQUAL(snapshot.vlmetalayer_size(layer), std::ssize(content));
    variable[layer.name] = hex(content.data(), content.size());
  }
  if (entry.contains("metalayers")) BOOST_CHECK(fixed == entry["metalayers"]);
  if (entry.contains("vlmetalayers")) BOOST_CHECK(variable == entry["vlmetalayers"]);
}

void check_fields(const json& entry, const Snapshot& snapshot) {
  const FrameInfo& info = snapshot.info();
  const auto check = [&](const char* field, std::int64_t found) {
    if (entry.contains(field) && entry[field].is_number())
      BOOST_CHECK_MESSAGE(entry[field] == found, field << " is " << found);
  };
  check("typesize", info.typesize);
  check("chunksize", info.chunksize);
  check("blocksize", info.blocksize);
  check("nchunks", info.nchunks);
  if (!entry.contains("shape")) return;
  BOOST_REQUIRE(info.array);
  BOOST_CHECK(json(info.array->shape) == entry["shape"]);
  BOOST_CHECK(json(info.array->chunkshape) == entry["chunkshape"]);
  BOOST_CHECK(json(info.array->blockshape) == entry["blockshape"]);
  if (entry.contains("dtype") && entry["dtype"].is_string())
    BOOST_CHECK(info.array->dtype == entry["dtype"].get<std::string>());
}

void check_ok(const json& entry, const std::string& path) {
  const auto snapshot = open_path(path, {});
  BOOST_REQUIRE(snapshot);
  check_fields(entry, *snapshot);
  check_layers(entry, *snapshot);
  const Buffer content = read_all(*snapshot);
  if (entry["nbytes"].is_number()) BOOST_CHECK(entry["nbytes"] == content.size());
  if (entry["sha256"].is_string()) BOOST_CHECK(entry["sha256"] == sha256(content));
  BOOST_CHECK(snapshot->unchanged());
}

/// Returns true if the reader refuses the file.
bool is_refused(const std::string& path) {
  try {
    const auto snapshot = open_path(path, {});
    if (!snapshot) return true;
    read_every_layer(*snapshot);
    read_all(*snapshot);
    return false;
  } catch (const std::system_error&) {
    return true;
  }
}

void check_lazy(const json& entry, const std::string& path) {
  const auto snapshot = open_path(path, {});
  BOOST_REQUIRE(snapshot);
  ContentReader reader(*snapshot);
  BOOST_CHECK(entry["nbytes"] == reader.size());
  for (const json& probe : entry["probe"]) {
    Buffer out(probe["length"].get<std::size_t>());
    if (snapshot->info().array)
      reader.read_array(probe["offset"], out);
    else
      reader.read(probe["offset"], out);
    BOOST_CHECK(probe["sha256"] == sha256(out));
  }
}

void check_entry(const json& entry, const std::string& path) {
  const std::string expect = entry["expect"];
  const auto began = std::chrono::steady_clock::now();
  if (expect == "ok")
    check_ok(entry, path);
  else if (expect == "valid-lazy")
    check_lazy(entry, path);
  else if (expect == "error")
    BOOST_CHECK(is_refused(path));
  else
    is_refused(path);
  const auto limit = expect == "valid-lazy" ? std::chrono::seconds(2) : kTimeout;
  // This limit finds hangs only. Other programs on the machine may slow the test down.
  BOOST_CHECK(std::chrono::steady_clock::now() - began <
              (bloscfs::test::kSanitized ? 30 : 5) * limit);
}

}  // namespace

int check_corpus(const std::string& directory) {
  std::ifstream file(directory + "/manifest.json");
  const json manifest = json::parse(file);
  int checked = 0;
  for (const json& entry : manifest) {
    if (entry["container"] != "cframe" && entry["container"] != "sframe") continue;
    if (entry.value("needs", "") == "zfp" && !codec::can_compress(codec::CodecId::zfp_rate))
      continue;
    const std::string path = entry["path"];
    BOOST_TEST_CONTEXT(path) {
      try {
        check_entry(entry, directory + "/" + path);
      } catch (const std::exception& error) {
        BOOST_ERROR(error.what());
      }
    }
    ++checked;
  }
  return checked;
}

}  // namespace bloscfs::frame::test
