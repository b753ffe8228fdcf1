// Mounts the reference files.

#include <algorithm>
#include <future>

#include <boost/test/unit_test.hpp>

#include "tests/support/corpus_check.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCache = 64ULL << 20, kBesidesCache = 48ULL << 20;

MountSettings small_cache(std::vector<std::string> more = {}) {
  MountSettings settings;
  settings.options = std::move(more);
  settings.options.push_back("cache_size=64M");
  return settings;
}

void report(const Failures& failures) {
  for (const auto& failure : failures) BOOST_ERROR(failure);
}

void check_tree(const fs_std::path& corpus, bool raw) {
  const TempDir place;
  const CorpusTree tree(corpus, place.path());
  Mount mount(tree.root(),
              small_cache(raw ? std::vector<std::string>{"raw"} : std::vector<std::string>{}));
  for (std::size_t i = 0; i < tree.entries().size(); ++i) {
    const auto& entry = tree.entries()[i];
    if (raw && (!entry.is("ok") || !entry.facts.contains("shape"))) continue;
    report(check_entry(entry, mount / tree.slot(i), raw));
    BOOST_REQUIRE_MESSAGE(mount.running(), "the daemon died of " << entry.name());
  }
  if (!kSanitized) BOOST_TEST(process_memory(mount.pid(), "VmHWM") <= kCache + kBesidesCache);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

/// True if a directory is a sparse frame, which has an index file with a header of type 1. The
/// mount mirrors any other directory.
bool has_sparse_header(const fs_std::path& directory) {
  constexpr std::size_t kTypeAt = 0x1a;
  const auto start = fs_std::exists(directory / "chunks.b2frame")
                         ? read_range(directory / "chunks.b2frame", 0, kTypeAt + 1)
                         : ByteVector();
  return start.size() == kTypeAt + 1 && start[kTypeAt] == 1;
}

/// Mounts a damaged file as SOURCE. Either the mount is refused with one line that names the file,
/// or reading fails.
Failures check_refusal(const CorpusEntry& entry) {
  const auto begin = Clock::now();
  Failures failures;
  try {
    Mount mount(entry.file, small_cache());
    const auto path = only_entry(mount.path());
    if (!reading_fails(path)) failures.push_back("mounts and reads");
    if (!mount.unmount().ok()) failures.push_back("the daemon fails: " + mount.log());
  } catch (const MountRefused& refused) {
    const auto& result = refused.result;
    if (result.timed_out || result.signal != 0 || result.status == 0)
      failures.push_back(refused.what());
    if (result.err.find(entry.file.filename().string()) == std::string::npos)
      failures.push_back("the refusal does not name it: " + result.err);
    if (std::count(result.err.begin(), result.err.end(), '\n') != 1)
      failures.push_back("the refusal is not one line: " + result.err);
  } catch (const std::exception& error) {
    failures.push_back(error.what());
  }
  if (Clock::now() - begin > kEntryLimit) failures.push_back("took more than 5 s");
  for (auto& failure : failures) failure = entry.name() + " as SOURCE: " + failure;
  return failures;
}

/// Mounts a container as SOURCE, which must show one file with the right contents.
Failures check_single(const CorpusEntry& entry) {
  try {
    Mount mount(entry.file, small_cache());
    auto failures = check_entry(entry, mount.path(), false);
    if (!mount.unmount().ok()) failures.push_back(entry.name() + ": " + mount.log());
    return failures;
  } catch (const MountRefused& refused) {
    return {entry.name() + " as SOURCE: " + refused.what()};
  }
}

/// Checks every `step`th entry that `wanted` accepts, on two threads.
template <typename Wanted, typename CheckOne>
void check_sources(const fs_std::path& corpus, std::size_t step, Wanted wanted, CheckOne check) {
  std::vector<CorpusEntry> chosen;
  std::size_t seen = 0;
  for (const auto& entry : containers_in(corpus))
    if (wanted(entry) && seen++ % step == 0) chosen.push_back(entry);
  const auto every_second = [&chosen, &check](std::size_t first) {
    Failures all;
    for (std::size_t i = first; i < chosen.size(); i += 2)
      for (auto& failure : check(chosen[i])) all.push_back(std::move(failure));
    return all;
  };
  auto other = std::async(std::launch::async, every_second, 1);
  report(every_second(0));
  report(other.get());
}

void check_errors_as_source(const fs_std::path& corpus) {
  check_sources(
      corpus, 1,
      [](const CorpusEntry& entry) {
        return entry.is("error") &&
               (entry.text("container") != "sframe" || has_sparse_header(entry.file));
      },
      check_refusal);
}

void check_sound_as_source(const fs_std::path& corpus, std::size_t step) {
  check_sources(
      corpus, step,
      [](const CorpusEntry& entry) { return entry.is("ok") || entry.is("valid-lazy"); },
      check_single);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(corpus)

BOOST_AUTO_TEST_CASE(tree_of_shipped_files_shows_their_contents, *precondition(needs_fuse)) {
  BOOST_TEST(!data_roots().empty());
  for (const auto& root : data_roots()) check_tree(root, false);
}

BOOST_AUTO_TEST_CASE(raw_tree_of_shipped_files_shows_elements, *precondition(needs_fuse)) {
  for (const auto& root : data_roots()) check_tree(root, true);
}

BOOST_AUTO_TEST_CASE(damaged_shipped_files_are_refused_as_source, *precondition(needs_fuse)) {
  for (const auto& root : data_roots()) check_errors_as_source(root);
}

BOOST_AUTO_TEST_CASE(shipped_files_mount_as_source, *precondition(needs_fuse)) {
  for (const auto& root : data_roots()) check_sound_as_source(root, 4);
}

BOOST_AUTO_TEST_CASE(tree_of_corpus_shows_its_contents, *precondition(needs_corpus)) {
  check_tree(corpus_root(), false);
}

BOOST_AUTO_TEST_CASE(raw_tree_of_corpus_shows_elements, *precondition(needs_corpus)) {
  check_tree(corpus_root(), true);
}

BOOST_AUTO_TEST_CASE(damaged_files_of_corpus_are_refused_as_source, *precondition(needs_corpus)) {
  check_errors_as_source(corpus_root());
}

BOOST_AUTO_TEST_CASE(files_of_corpus_mount_as_source, *precondition(needs_corpus)) {
  check_sound_as_source(corpus_root(), 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
