// Mounts the stores of the reference files. Each leaf must match the manifests. A malformed part
// must affect only reads of itself.

#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/digest.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

struct ReferenceStore {
  fs_std::path file;
  json members;  ///< null for a malformed store
};

json read_manifest(const fs_std::path& root) {
  const json manifest = json::parse(std::ifstream(root / "manifest.json"));
  return manifest.is_object() ? manifest.at("entries") : manifest;
}

void add_stores(const fs_std::path& root, std::vector<ReferenceStore>& stores) {
  for (const json& entry : read_manifest(root)) {
    const fs_std::path path = entry.at("path").get<std::string>();
    const std::string kind = path.extension();
    if (kind != ".b2z" && kind != ".b2d" && kind != ".b2e") continue;
    if (!fs_std::exists(root / path)) continue;
    const bool is_ok = entry.value("expect", "ok") == "ok" && entry.contains("members");
    stores.push_back({root / path, is_ok ? entry.at("members") : json()});
  }
}

std::vector<ReferenceStore> reference_stores() {
  std::vector<ReferenceStore> stores;
  add_stores(fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores", stores);
  const fs_std::path corpus = corpus_root();
  if (corpus.empty()) return stores;
  add_stores(corpus, stores);
  const fs_std::path python = corpus.parent_path() / "corpus-python";
  if (fs_std::exists(python)) add_stores(python, stores);
  return stores;
}

/// Compares a leaf with the manifest, which has the SHA-256 of an array's NPY file or of its
/// elements, and of all bytes of other leaves.
void check_leaf(const fs_std::path& file, const json& member) {
  const ByteVector bytes = read_file(file);
  const auto expected = [&](const char* field) {
    return member.contains(field) && member.at(field).is_string() ? member.at(field) : json();
  };
  std::string digest = sha256(bytes);
  if (const json npy = expected("npy_sha256"); !npy.is_null()) {
    BOOST_TEST(digest == npy.get<std::string>(), file);
    return;
  }
  if (member.contains("raw_sha256") || (member.contains("shape") && !member.at("shape").is_null()))
    digest = sha256(codec::Bytes(bytes).subspan(10u + bytes.at(8) + 256u * bytes.at(9)));
  const json raw = expected("raw_sha256"), all = expected("sha256");
  if (!raw.is_null() || !all.is_null())
    BOOST_TEST(digest == (raw.is_null() ? all : raw).get<std::string>(), file);
}

void check_members(const fs_std::path& top, const json& members) {
  for (const auto& [key, member] : members.items()) {
    if (key.ends_with("/__vlmeta__")) continue;
    fs_std::path file = top.string() + key + ".npy";
    if (!fs_std::exists(file)) file = top.string() + key;
    check_leaf(file, member);
  }
}

/// Reads everything that can be listed and read. Errors are allowed.
void read_all(const fs_std::path& path) {
  std::error_code error;
  if (!fs_std::is_directory(path, error)) {
    errno_of_reading(path);
    return;
  }
  for (fs_std::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    read_all(entry->path());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_corpus)

BOOST_AUTO_TEST_CASE(each_leaf_is_what_the_manifests_say, *precondition(needs_fuse)) {
  const std::vector<ReferenceStore> stores = reference_stores();
  const TempDir source;
  for (std::size_t i = 0; i < stores.size(); i++) {
    fs_std::create_directory(source / std::to_string(i));
    fs_std::copy(stores[i].file, source / std::to_string(i) / stores[i].file.filename(),
                 fs_std::copy_options::recursive);
  }
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  int checked = 0;
  for (std::size_t i = 0; i < stores.size(); i++) BOOST_TEST_CONTEXT(stores[i].file) {
      const fs_std::path top = fs_std::directory_iterator(mount / std::to_string(i))->path();
      if (stores[i].members.is_null()) {
        read_all(top);
      } else {
        check_members(top, stores[i].members);
        checked++;
      }
    }
  BOOST_TEST(checked >= 6);
  BOOST_TEST(mount.running());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
