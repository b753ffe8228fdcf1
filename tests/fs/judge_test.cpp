// How a container is judged by its bytes, its name and the settings. The verdict does not depend on
// the kind of SOURCE.

#include "fs/source/judge.hpp"

#include <algorithm>
#include <array>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "fs/options/options.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/stores/embedded_store.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

const fs_std::path kStores = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores";
constexpr std::size_t kSize = 4000;

/// A file in SOURCE and the expected verdict. If the file is in a directory, the verdict is about
/// the directory.
struct Row {
  const char* what;
  std::string path;
  ByteVector bytes;
  const char* options;
  std::string verdict;      ///< as returned by described()
  std::string reason = {};  ///< a part of it
};

std::string described(const fs::Verdict& verdict) {
  constexpr std::array kKinds{"itself", "frame", "sparse frame", "store", "store directory"};
  constexpr std::array kShown{"itself", "flat", "array", "store", "frame store"};
  constexpr std::array kHealth{"sound", "empty", "damaged", "unsupported", "left out"};
  std::string text = kKinds[static_cast<std::size_t>(verdict.kind)];
  if (verdict.is_container())
    text += fmt::format(", {}, {} bytes", kShown[static_cast<std::size_t>(verdict.shown)],
                        verdict.shown_size);
  if (verdict.health != fs::Verdict::Health::sound)
    text += fmt::format(", {}", kHealth[static_cast<std::size_t>(verdict.health)]);
  if (verdict.is_read_only) text += ", read-only";
  if (verdict.is_container() && verdict.has_metalayers) text += ", metalayers";
  if (verdict.is_container() && verdict.may_lack_contents) text += ", may lack contents";
  if (verdict.has_embedded) text += ", embedded leaves";
  return text;
}

ByteVector with_byte(ByteVector bytes, std::size_t at, std::uint8_t value) {
  bytes.at(at) = value;
  return bytes;
}

/// Makes a Bloscpack file that does not say how many chunks it has.
ByteVector without_count(ByteVector bytes) {
  std::fill_n(bytes.begin() + 12, 12, std::uint8_t{0xff});
  return bytes;
}

ByteVector first_half(ByteVector bytes) {
  bytes.resize(bytes.size() / 2);
  return bytes;
}

ByteVector sparse_index(const ByteVector& contents, const Cut& cut) {
  const TempDir made;
  write_sparse_frame(made / "frame", contents, cut);
  return read_file(made / "frame/chunks.b2frame");
}

std::vector<Row> rows() {
  using nlohmann::json;
  const ByteVector contents = make_contents("floats", 1, kSize, 8);
  const ByteVector flat = flat_frame(contents), array = array_frame(contents, {500}, "<f8", 8);
  const ByteVector packed = bloscpack_file(contents, 1000), zip = read_file(kStores / "dict.b2z");
  const ByteVector unknown = with_unknown_codec(flat);
  // These offsets count from the start of the header and from the end of the trailer
  // (frame/formats/cframe.md).
  const ByteVector later = with_byte(flat, 0x19, flat.at(0x19) | 0x0f);
  const ByteVector torn = with_byte(flat, flat.size() - 23, 0);
  Cut noted, lazy, embedded, later_store;
  noted.vlmetalayers = {{"note", json::to_msgpack("text")}};
  lazy.metalayers = {{"b2o", json::to_msgpack({{"kind", "lazyexpr"}})}};
  embedded.metalayers = {{"b2embed", json::to_msgpack({{"version", 1}})}};
  later_store.metalayers = {{"b2embed", json::to_msgpack({{"version", 2}})}};
  const ByteVector embed_store = flat_frame(contents, embedded);
  const ByteVector embed = embed_frame({{"/a", flat_frame("leaf")}});
  const std::string array_file =
      fmt::format("array, {} bytes", npy_header("<f8", {500}).size() + kSize);
  const std::string codec = "codec codec254 is not supported";
  return {
      {"flat frame", "x.b2frame", flat, "", "frame, flat, 4000 bytes"},
      {"frame without a suffix", "x", flat, "", "frame, flat, 4000 bytes"},
      {"frame called as a ZIP file", "x.b2z", flat, "", "frame, flat, 4000 bytes"},
      {"vlmetalayer", "x.b2frame", flat_frame(contents, noted), "",
       "frame, flat, 4000 bytes, metalayers"},
      {"lazy expression", "x.b2frame", flat_frame(contents, lazy), "",
       "frame, flat, 4000 bytes, may lack contents"},
      {"array", "x.b2nd", array, "", "frame, " + array_file},
      {"array, elements alone", "x.b2nd", array, "raw", "frame, flat, 4000 bytes"},
      {"Bloscpack", "x.blp", packed, "", "frame, flat, 4000 bytes, read-only"},
      {"more headers than a look reads", "x.blp",
       without_count(bloscpack_file(ByteVector(80'000), 1)), "", "itself, damaged",
       "needs more than 1048576 bytes"},
      {"sparse frame", "x.b2frame/chunks.b2frame", sparse_index(contents, {}), "",
       "sparse frame, flat, 4000 bytes"},
      {"sparse array", "x.b2nd/chunks.b2frame", sparse_index(contents, array_cut({500}, "<f8", 8)),
       "", "sparse frame, " + array_file},
      {"contiguous frame as an index", "x.b2frame/chunks.b2frame", flat, "", "itself"},
      {"index as a file", "x.b2frame", sparse_index(contents, {}), "", "itself, damaged",
       "frame header: frame type 1"},
      {"damaged index", "x.b2frame/chunks.b2frame", first_half(sparse_index(contents, {})), "",
       "itself, damaged", "frame header: "},

      {"no bytes", "x.b2frame", {}, "", "itself, empty"},
      {"text", "x.txt", bytes_of("text"), "", "itself"},
      {"text called as a frame", "x.b2frame", bytes_of("text"), "", "itself"},
      {"truncated frame", "x.b2frame", first_half(flat), "", "itself, damaged",
       "frame header: cut off"},
      {"damaged trailer", "x.b2frame", torn, "", "itself, damaged", "frame trailer: marker"},

      {"unknown codec", "x.b2frame", unknown, "", "frame, flat, 4000 bytes, unsupported"},
      {"unknown codec, hidden", "x.b2frame", unknown, "unsupported=hide",
       "frame, flat, 4000 bytes, left out", codec},
      {"unknown codec, raw", "x.b2frame", unknown, "unsupported=raw", "itself, unsupported", codec},
      {"later version", "x.b2frame", later, "", "itself, damaged", "frame header: format version"},
      {"later version, hidden", "x.b2frame", later, "unsupported=hide", "itself, left out",
       "frame header: format version"},
      {"unknown codec of embed.b2e, hidden", "x.b2d/embed.b2e", with_unknown_codec(embed),
       "unsupported=hide", "store directory, unsupported, embedded leaves"},
      {"unknown codec of embed.b2e, raw", "x.b2d/embed.b2e", with_unknown_codec(embed),
       "unsupported=raw", "itself, unsupported", codec},

      {"ZIP store", "x.b2z", zip, "", "store, read-only"},
      {"ZIP store without its suffix", "x.zip", zip, "", "itself"},
      {"ZIP store that is not shown as one", "x.b2z", zip, "nostores", "itself"},
      {"truncated ZIP store", "x.b2z", first_half(zip), "", "itself, damaged", "ZIP"},
      {"frame store", "x.b2e", embed_store, "", "store, read-only"},
      {"frame store called as a frame", "x.b2frame", embed_store, "", "store, read-only"},
      {"frame store called as an array", "x.b2nd", embed_store, "", "store, read-only"},
      {"frame store called as a ZIP file", "x.b2z", embed_store, "", "store, read-only"},
      {"frame store, called as it is in memory", "x.cframe", embed_store, "", "store, read-only"},
      {"frame store without a suffix", "x", embed_store, "", "store, read-only"},
      {"frame store, elements alone", "x.b2frame", embed_store, "raw", "store, read-only"},
      {"frame store that is not shown as one", "x.b2e", embed_store, "nostores",
       "frame, flat, 4000 bytes"},
      {"frame store with a map", "x.b2frame", read_file(kStores / "embed0.b2e"), "",
       "store, read-only"},
      {"later version of a frame store", "x.b2frame", flat_frame(contents, later_store), "",
       "frame, flat, 4000 bytes"},
      {"frame store, unknown codec", "x.b2frame", with_unknown_codec(embed_store), "",
       "store, unsupported, read-only"},
      {"frame store, unknown codec, hidden", "x.b2frame", with_unknown_codec(embed_store),
       "unsupported=hide", "store, left out, read-only", codec},
      {"frame store, unknown codec, raw", "x.b2frame", with_unknown_codec(embed_store),
       "unsupported=raw", "itself, unsupported", codec},
      {"index with the marker of a frame store", "x.b2frame/chunks.b2frame",
       sparse_index(contents, embedded), "", "sparse frame, flat, 4000 bytes"},
      {"embed.b2e outside a store", "x.b2frame", embed, "",
       fmt::format("frame, flat, {} bytes, metalayers", flat_frame("leaf").size())},
      {"frame called as a store", "x.b2e", flat, "", "frame, flat, 4000 bytes"},
      {"directory store", "x.b2d/embed.b2e", embed, "", "store directory, embedded leaves"},
      {"directory store without embedded leaves", "x.b2d/embed.b2e", embed_frame({}), "",
       "store directory"},
      {"embed.b2e without a marker", "x.b2d/embed.b2e", flat, "", "itself"},
  };
}

/// Stores the bytes of a row twice: in a file, and in an object of an object store.
struct Places {
  explicit Places(const Row& row) : path(row.path) {
    fs_std::create_directories((source / path).parent_path());
    write_file(source / path, row.bytes);
    store.tree(true)->put(path, row.bytes, {}, {});
  }

  std::shared_ptr<const frame::ByteSource> file() const {
    return std::make_shared<frame::FileSource>(
        frame::UniqueFd(::open((source / path).c_str(), O_RDONLY)), nullptr);
  }
  std::shared_ptr<const frame::ByteSource> object() {
    return store.tree(false)->open(path, nullptr);
  }

  const TempDir source;
  FakeStore store;
  const std::string path;
};

fs::JudgeSettings settings_of(const std::string& options) {
  const fs::MountOptions parsed =
      fs::parse_options(options.empty() ? std::vector<std::string>() : std::vector{options});
  return {parsed.raw, parsed.stores, parsed.unsupported};
}

fs::Candidate candidate(const Row& row, std::shared_ptr<const frame::ByteSource> bytes,
                        const fs::JudgeSettings& settings) {
  if (row.path.ends_with("/chunks.b2frame")) return {std::move(bytes), fs::Role::index};
  if (row.path.ends_with("/embed.b2e")) return {std::move(bytes), fs::Role::embed};
  return {std::move(bytes), fs::role_of(row.path, settings)};
}

/// Describes what a mount shows under a name.
std::string shown(InProcess& mount, const std::string& name) {
  const struct stat st = mount.stat(name);
  return S_ISDIR(st.st_mode) ? "directory" : fmt::format("{} bytes", st.st_size);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(judge)

BOOST_AUTO_TEST_CASE(bytes_are_the_same_in_a_file_and_in_an_object) {
  for (const Row& row : rows()) {
    BOOST_TEST_CONTEXT(row.what) {
      Places places(row);
      const fs::JudgeSettings settings = settings_of(row.options);
      for (const auto& bytes : {places.file(), places.object()}) {
        const fs::ReasonedVerdict verdict = fs::judge(candidate(row, bytes, settings), settings);
        BOOST_TEST(described(verdict) == row.verdict);
        BOOST_TEST(verdict.reason.find(row.reason) != std::string::npos, verdict.reason);
        BOOST_TEST(verdict.reason.empty() == row.reason.empty());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(mounts_of_files_and_of_objects_show_the_same) {
  for (const Row& row : rows()) {
    // A mount of objects refuses the option `unsupported`.
    if (std::string(row.options).starts_with("unsupported")) continue;
    BOOST_TEST_CONTEXT(row.what) {
      Places places(row);
      const fs::JudgeSettings settings = settings_of(row.options);
      const fs::Verdict verdict = fs::judge(candidate(row, places.file(), settings), settings);
      const std::string full_name = row.path.substr(0, row.path.find('/'));
      const std::string name = fs::preferred_name(full_name, verdict.shown);
      InProcess files(places.source.path(), row.options);
      InProcess objects(places.store.tree(false), row.options);
      const bool is_file = full_name == row.path && !verdict.is_store();
      const std::string expected = is_file || verdict.is_container()
                                       ? fmt::format("{} bytes", verdict.shown_size)
                                       : "directory";
      BOOST_TEST(shown(files, name) == expected);
      BOOST_TEST(shown(objects, name) == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(header_is_enough_for_a_frame_that_is_far_away) {
  const ByteVector contents = make_contents("noise", 1, 300'000, 1);
  Places places({"", "x.b2frame", flat_frame(contents), "", ""});
  const auto object = places.object();
  const int before = places.store.requests();
  const fs::Verdict verdict = fs::judge({object, fs::Role::file}, {});
  BOOST_TEST(places.store.requests() == before);
  BOOST_TEST(described(verdict) == "frame, flat, 300000 bytes, metalayers, may lack contents");
  BOOST_TEST(described(fs::judge({places.file(), fs::Role::file}, {})) ==
             "frame, flat, 300000 bytes");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
