// The reference files, through mounts.

#include <algorithm>
#include <future>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/digest.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using Clock = std::chrono::steady_clock;
using Failures = std::vector<std::string>;

constexpr Seconds kEntryLimit{5};
constexpr std::size_t kMostListed = 65536;       // longer metalayers give E2BIG
constexpr std::size_t kReadBound = 64ULL << 20;  // of contents that may be endless
constexpr std::uint64_t kCache = 64ULL << 20, kBesidesCache = 48ULL << 20;

/// A directory with each entry's container in a directory of its own, so that names never collide.
class CorpusTree {
 public:
  explicit CorpusTree(const fs_std::path& corpus) : entries_(containers_in(corpus)) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      fs_std::create_directory(directory(i));
      fs_std::copy(entries_[i].file, source(i), fs_std::copy_options::recursive);
    }
  }
  const fs_std::path& root() const { return root_.path(); }
  const std::vector<CorpusEntry>& entries() const { return entries_; }
  fs_std::path source(std::size_t i) const { return directory(i) / entries_[i].file.filename(); }
  std::string slot(std::size_t i) const { return std::to_string(i); }

 private:
  fs_std::path directory(std::size_t i) const { return root_ / slot(i); }
  TempDir root_;
  std::vector<CorpusEntry> entries_;
};

std::string stem_of(const std::string& name) {
  for (const std::string suffix : {".b2frame", ".b2f", ".b2", ".b2nd", ".blp"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  return name;
}

/// The only name in a directory of a mount.
fs_std::path only_entry(const fs_std::path& directory) {
  std::vector<fs_std::path> found;
  for (const auto& entry : fs_std::directory_iterator(directory)) found.push_back(entry.path());
  if (found.size() != 1) throw std::runtime_error(std::to_string(found.size()) + " entries, not 1");
  return found.front();
}

std::uint64_t size_of(const fs_std::path& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) throw_errno("lstat " + path.string());
  return static_cast<std::uint64_t>(st.st_size);
}

/// At most `size` bytes from `offset` on; shorter at the end of the file.
ByteVector read_range(const fs_std::path& path, std::uint64_t offset, std::size_t size) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw_errno("open");
  ByteVector bytes(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got =
        pread(fd.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0) throw_errno("pread");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

bool is_npy(const fs_std::path& path) { return path.extension() == ".npy"; }

std::uint64_t npy_header_size(const fs_std::path& path) {
  const auto start = read_range(path, 0, 10);
  return 10 + start.at(8) + 256u * start.at(9);
}

/// Gathers what is wrong with one entry; usable on any thread.
class Check {
 public:
  Check(const CorpusEntry& entry, bool raw) : entry_(entry), raw_(raw) {}

  Failures ok(const fs_std::path& path) {
    const std::string stem = stem_of(entry_.file.filename().string());
    const bool known_array = !entry_.text("npy_sha256").empty() && !raw_;
    const bool maybe_array = entry_.facts.contains("shape") && !raw_;
    const std::string name = path.filename().string();
    const std::string array_name = stem.ends_with(".npy") ? stem : stem + ".npy";
    expect(known_array ? name == array_name : name == stem || (maybe_array && name == array_name),
           "shown as " + name);
    check_contents(path);
    check_metalayers(path, "metalayers", "user.blosc2.meta.");
    check_metalayers(path, "vlmetalayers", "user.blosc2.vlmeta.");
    return std::move(failures_);
  }

  Failures lazy(const fs_std::path& path) {
    const std::uint64_t header = is_npy(path) ? npy_header_size(path) : 0;
    expect_equal(size_of(path), header + nbytes(), "size");
    for (const auto& probe : entry_.facts.at("probe")) {
      const auto offset = probe.at("offset").get<std::uint64_t>();
      const auto bytes = read_range(path, header + offset, probe.at("length"));
      expect(sha256(bytes) == probe.at("sha256"), "probe at " + std::to_string(offset));
    }
    return std::move(failures_);
  }

  /// Shown as it is stored, or reading it fails.
  Failures error_in_tree(const fs_std::path& path) {
    if (path.filename() == entry_.file.filename() && shown_untouched(path)) return {};
    expect(reading_fails(path), "reads without an error");
    return std::move(failures_);
  }

  Failures any(const fs_std::path& path) {
    if (!fs_std::is_directory(path)) reading_fails(path);
    return {};
  }

  bool reading_fails(const fs_std::path& path) {
    try {
      const auto size = size_of(path);
      read_range(path, 0, std::min<std::uint64_t>(size, kReadBound));
      if (size > kReadBound) read_range(path, size - kMostListed, kMostListed);
      list_xattrs(path);
      return size > kReadBound;
    } catch (const std::system_error& error) {
      const int number = error.code().value();
      return number == EIO || number == EOPNOTSUPP || number == EFBIG;
    }
  }

 private:
  void expect(bool condition, const std::string& what) {
    if (!condition) failures_.push_back(what);
  }
  void expect_equal(std::uint64_t got, std::uint64_t want, const std::string& what) {
    expect(got == want, what + " " + std::to_string(got) + ", not " + std::to_string(want));
  }
  std::uint64_t nbytes() const { return entry_.facts.at("nbytes").get<std::uint64_t>(); }

  void check_contents(const fs_std::path& path) {
    const auto bytes = read_file(path);
    expect_equal(size_of(path), bytes.size(), "st_size");
    const std::size_t header = is_npy(path) && !raw_ ? npy_header_size(path) : 0;
    expect_equal(bytes.size() - header, nbytes(), "contents size");
    const std::string whole = entry_.text("npy_sha256"), body = entry_.text("sha256");
    if (header != 0 && !whole.empty()) expect(sha256(bytes) == whole, "npy_sha256");
    if (!body.empty()) expect(sha256(codec::Bytes(bytes).subspan(header)) == body, "sha256");
  }

  void check_metalayers(const fs_std::path& path, const char* field, const std::string& prefix) {
    if (!entry_.facts.contains(field)) return;
    for (const auto& [name, hex] : entry_.facts.at(field).items()) {
      const auto content = from_hex(hex.get<std::string>());
      if (content.size() > kMostListed)
        expect(errno_of_get_xattr(path, prefix + name) == E2BIG, prefix + name + ": not E2BIG");
      else
        expect(get_xattr(path, prefix + name) == std::string(content.begin(), content.end()),
               prefix + name);
    }
  }

  bool shown_untouched(const fs_std::path& path) const {
    if (fs_std::is_directory(path)) return fs_std::is_directory(entry_.file);
    return read_file(path) == read_file(entry_.file);
  }

  const CorpusEntry& entry_;
  const bool raw_;
  Failures failures_;
};

/// Runs the check that the entry's expectation asks for; adds its name, time and exceptions.
Failures check_entry(const CorpusEntry& entry, const fs_std::path& directory, bool raw) {
  const auto begin = Clock::now();
  Failures failures;
  Check check(entry, raw);
  try {
    const auto path = only_entry(directory);
    if (entry.is("ok")) failures = check.ok(path);
    if (entry.is("valid-lazy")) failures = check.lazy(path);
    if (entry.is("error")) failures = check.error_in_tree(path);
    if (entry.is("any")) failures = check.any(path);
  } catch (const std::system_error& error) {
    const bool refusable = entry.is("any") || entry.name().starts_with("optional/");
    if (!refusable || (entry.is("ok") && error.code().value() != EOPNOTSUPP))
      failures.push_back(error.what());
  } catch (const std::exception& error) {
    failures.push_back(error.what());
  }
  if (Clock::now() - begin > kEntryLimit) failures.push_back("took more than 5 s");
  for (auto& failure : failures) failure = entry.name() + ": " + failure;
  return failures;
}

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
  const CorpusTree tree(corpus);
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

/// Whether a directory is a sparse frame by the rule: an index file with a header of type 1.
/// Without one it is a directory like any other, to be mirrored.
bool has_sparse_header(const fs_std::path& directory) {
  constexpr std::size_t kTypeAt = 0x1a;
  const auto start = fs_std::exists(directory / "chunks.b2frame")
                         ? read_range(directory / "chunks.b2frame", 0, kTypeAt + 1)
                         : ByteVector();
  return start.size() == kTypeAt + 1 && start[kTypeAt] == 1;
}

/// As SOURCE: refused with one line that names it, or reading fails.
Failures check_refusal(const CorpusEntry& entry) {
  const auto begin = Clock::now();
  Failures failures;
  try {
    Mount mount(entry.file, small_cache());
    const auto path = only_entry(mount.path());
    if (!Check(entry, false).reading_fails(path)) failures.push_back("mounts and reads");
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

/// As SOURCE: one file with the right contents.
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

/// Checks every `step`th entry that `wanted` accepts, two at a time.
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
