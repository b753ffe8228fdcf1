#include "tests/support/corpus_check.hpp"

#include <algorithm>
#include <chrono>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/digest.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

constexpr std::size_t kMostListed = 65536;       // longer metalayers give E2BIG
constexpr std::size_t kReadBound = 64ULL << 20;  // most that it reads of contents that may be huge

std::string stem_of(const std::string& name) {
  for (const std::string suffix : {".b2frame", ".b2f", ".b2", ".b2nd", ".blp"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  return name;
}

std::uint64_t size_of(const fs_std::path& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) throw_errno("lstat " + path.string());
  return static_cast<std::uint64_t>(st.st_size);
}

bool is_npy(const fs_std::path& path) { return path.extension() == ".npy"; }

std::uint64_t npy_header_size(const fs_std::path& path) {
  const auto start = read_range(path, 0, 10);
  return 10 + start.at(8) + 256u * start.at(9);
}

/// Collects the failures of one entry. Uses no Boost.Test macros, so any thread may run it.
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
      expect(sha256(bytes) == probe.at("sha256").get<std::string>(),
             "probe at " + std::to_string(offset));
    }
    return std::move(failures_);
  }

  /// Expects that the mount shows the stored file unchanged, or that reading fails.
  Failures error_in_tree(const fs_std::path& path) {
    if (path.filename() == entry_.file.filename() && shown_untouched(path)) return {};
    expect(reading_fails(path), "reads without an error");
    return std::move(failures_);
  }

  Failures any(const fs_std::path& path) {
    if (!fs_std::is_directory(path)) reading_fails(path);
    return {};
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

}  // namespace

CorpusTree::CorpusTree(const fs_std::path& corpus, fs_std::path root)
    : root_(std::move(root)), entries_(containers_in(corpus)) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const fs_std::path& file = entries_[i].file;
    fs_std::create_directory(root_ / slot(i));
    fs_std::copy(file, root_ / slot(i) / file.filename(), fs_std::copy_options::recursive);
  }
}

fs_std::path only_entry(const fs_std::path& directory) {
  std::vector<fs_std::path> found;
  for (const auto& entry : fs_std::directory_iterator(directory)) found.push_back(entry.path());
  if (found.size() != 1) throw std::runtime_error(std::to_string(found.size()) + " entries, not 1");
  return found.front();
}

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

Failures check_entry(const CorpusEntry& entry, const fs_std::path& directory, bool raw,
                     Seconds limit) {
  const auto begin = std::chrono::steady_clock::now();
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
  if (std::chrono::steady_clock::now() - begin > limit)
    failures.push_back("took more than " + std::to_string(limit.count()) + " s");
  for (auto& failure : failures) failure = entry.name() + ": " + failure;
  return failures;
}

}  // namespace bloscfs::test
