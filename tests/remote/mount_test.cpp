// Compares what a mount of a URL shows with what a local mount of the same files shows.

#include <future>
#include <random>

#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/corpus_check.hpp"
#include "tests/support/frame_writer.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

const fs_std::path kData = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data";

void open_to_all(const fs_std::path& root) {
  for (const auto& entry : fs_std::recursive_directory_iterator(root))
    fs_std::permissions(entry.path(), fs_std::perms(entry.is_directory() ? 0755 : 0644));
}

/// Makes files of kinds that the reference files lack.
void make_more(const fs_std::path& place) {
  fs_std::create_directories(place / "odd #1%" / "sub folder");
  fs_std::create_directories(place / "empty folder");
  const ByteVector text = make_contents("text", 1, 200000, 1);
  const ByteVector frame = flat_frame(text);
  for (const char* name : {"a b.b2frame", "no suffix", "hash#&.b2f", "r\xC3\xA9sum\xC3\xA9.b2",
                           "x.b2frame.b2frame", "sub folder/100%.b2frame"})
    write_file(place / "odd #1%" / name, frame);
  // Both would have the shown name "same", so both are shown by their full names.
  write_file(place / "same.b2frame", frame);
  write_file(place / "same.b2nd", frame);
  write_file(place / "array.b2frame",
             array_frame(make_contents("ramp", 1, 4800, 8), {20, 30}, "<f8", 8));
  write_file(place / "plain", std::string_view("no frame"));
  write_file(place / "empty", ByteVector());
  write_file(place / "large plain", make_contents("noise", 2, 3 << 20, 1));
  write_file(place / "large.b2frame", large_object(2 << 20));
  ByteVector damaged = large_object(300000);
  for (std::size_t at = 100000; at < 100100; at++) damaged.at(at) ^= 0x55;
  write_file(place / "damaged.b2frame", damaged);
  damaged.resize(damaged.size() / 2);
  write_file(place / "cut.b2frame", damaged);
  write_file(place / "not.b2nd", std::string_view("a name that promises too much"));
  write_sparse_frame(place / "sparse.b2frame", text);
  write_sparse_frame(place / "sparse without suffix", text);
}

/// The server for all cases, since making certificates takes time.
struct MountServer {
  MountServer() {
    fs_std::copy(kData, nginx.www() / "data", fs_std::copy_options::recursive);
    // An empty index stands for a removed sparse frame in object stores, but not on a local disk.
    fs_std::remove_all(nginx.www() / "data/frame/malformed/sframe/empty-index.b2frame");
    make_more(nginx.www() / "data");
    open_to_all(nginx.www());
  }
  Nginx nginx;
};

Nginx& mount_server() {
  static MountServer one;
  return one.nginx;
}

void check_alike(const Shown& found, const Shown& wanted) {
  for (const auto& [name, what] : wanted) {
    const auto at = found.find(name);
    if (at == found.end())
      BOOST_ERROR(name + " is missing");
    else
      BOOST_TEST(at->second == what, name + ": " + at->second + ", not " + what);
  }
  for (const auto& [name, what] : found)
    if (!wanted.contains(name)) BOOST_ERROR(name + " is too much: " + what);
}

/// Checks all readable reference files in a mount that shows the tree at `root`. Returns their
/// number. The caller has listed the tree, so that the mount judges each file by its bytes and not
/// by its name.
std::size_t check_reference_files(const CorpusTree& tree, Mount& mount, const fs_std::path& root) {
  std::size_t checked = 0;
  for (std::size_t i = 0; i < tree.entries().size(); i++) {
    const CorpusEntry& entry = tree.entries()[i];
    if (!entry.is("ok") && !entry.is("valid-lazy")) continue;
    for (const std::string& failure : check_entry(entry, root / tree.slot(i), false, Seconds(60)))
      BOOST_ERROR(failure);
    BOOST_REQUIRE_MESSAGE(mount.running(), "the daemon died of " << entry.name());
    checked++;
  }
  return checked;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mounted, *utf::precondition(needs_fuse_and_nginx))

BOOST_AUTO_TEST_CASE(a_folder_is_shown_as_the_local_one) {
  Nginx& nginx = mount_server();
  MountSettings settings;
  settings.options = {"ro"};
  Mount local(nginx.www() / "data", settings);
  const Shown wanted = shown_below(local.path());
  BOOST_TEST(wanted.size() > 300U);
  for (const char* root : {"data/", "json/data/", "moved/data/"}) BOOST_TEST_CONTEXT(root) {
      Mount remote(nginx.url(root), impatient());
      // Looks up names before any listing. Without a listing, the mount cannot know that two files
      // would have the same shown name.
      Shown found;
      for (const auto& [name, what] : wanted) {
        const bool is_known = name.ends_with('/') || name.starts_with("same.");
        if (is_known) run({"stat", (remote / name).string()});
        found.emplace(name, is_known ? what : description_of(remote / name));
      }
      check_alike(found, wanted);
      // A listing shows the files that were looked up by their contents.
      outlive_knowledge();
      check_alike(shown_below(remote.path()), wanted);
      BOOST_TEST(remote.unmount().ok(), remote.log());
    }
}

BOOST_AUTO_TEST_CASE(what_is_mounted_already_is_not_mounted_again) {
  const std::string url = mount_server().url("data/");
  const Mount remote(url, impatient());
  const std::string point = remote.path();
  const ProcessResult again = run({bloscfs_program(), url, point});
  BOOST_TEST(again.status == 1);
  const std::string message = "bloscfs: " + url + ": already mounted at " + point + ";";
  BOOST_TEST(again.err.find(message) != std::string::npos, again.err);
}

BOOST_AUTO_TEST_CASE(many_read_at_once) {
  constexpr std::size_t kSize = 6 << 20;
  Nginx& nginx = mount_server();
  nginx.serve("data/shared.b2frame", large_object(kSize));
  const ByteVector contents = large_contents(kSize);
  Mount mount(nginx.url("data/"), impatient({"cache_size=4M", "revalidate=0"}));
  std::vector<std::future<int>> readers;
  for (unsigned seed = 0; seed < 24; seed++)
    readers.push_back(std::async(std::launch::async, [&, seed] {
      std::mt19937 random(seed);
      int wrong = 0;
      for (int i = 0; i < 20; i++) {
        const std::size_t at = random() % kSize;
        const std::size_t size = std::min<std::size_t>(random() % 300000, kSize - at);
        const ByteVector bytes = read_range(mount / "shared", at, size);
        const auto begin = contents.begin() + static_cast<std::ptrdiff_t>(at);
        if (bytes.size() != size || !std::equal(bytes.begin(), bytes.end(), begin)) wrong++;
        names_in(mount / "samples");
        if (fs_std::file_size(mount / "large") != 2U << 20) wrong++;
      }
      return wrong;
    }));
  for (auto& reader : readers) BOOST_TEST(reader.get() == 0);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(reference_files_have_their_contents,
                     *utf::precondition(needs_nginx) * utf::precondition(needs_corpus)) {
  Nginx& nginx = mount_server();
  fs_std::create_directory(nginx.www() / "corpus");
  const CorpusTree tree(corpus_root(), nginx.www() / "corpus");
  open_to_all(nginx.www() / "corpus");
  fs_std::permissions(nginx.www() / "corpus", fs_std::perms(0755));
  Mount mount(nginx.url("corpus/"), impatient({"cache_size=64M"}));
  run({"ls", "-lR", mount.path()});
  outlive_knowledge();
  BOOST_TEST(check_reference_files(tree, mount, mount.path()) > 100U);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(reference_files_have_their_contents_in_a_store,
                     *utf::precondition(needs_ceph)) {
  std::vector<fs_std::path> roots = data_roots();
  if (!corpus_root().empty()) roots.push_back(corpus_root());
  const TempDir files;
  std::vector<CorpusTree> trees;
  for (const fs_std::path& root : roots) {
    const std::string name = std::to_string(trees.size());
    fs_std::create_directory(files / name);
    trees.emplace_back(root, files / name);
  }
  const StorePlace place;
  place.upload(files.path());
  Mount mount(place.source(), place.settings({"ro", "cache_size=64M"}));
  ProcessSettings patient;
  patient.limit = Seconds(300);
  BOOST_TEST(run({"ls", "-lR", mount.path()}, patient).status >= 0);
  outlive_knowledge();
  std::size_t checked = 0;
  for (std::size_t i = 0; i < trees.size(); i++)
    checked += check_reference_files(trees[i], mount, mount / std::to_string(i));
  BOOST_TEST(checked > (corpus_root().empty() ? 20U : 100U));
  BOOST_TEST_MESSAGE(checked << " files");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()
