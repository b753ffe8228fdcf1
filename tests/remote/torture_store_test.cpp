// Random operations on a writable mount of a store that fails and lies (compare torture_test.cpp).
// The store must have all acknowledged writes, and a conflict file for each refused one.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/remote/bad_proxy.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/remote/torture.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/xattr.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;
using std::chrono::milliseconds;

constexpr int kStoreRetryTime = 3;
constexpr milliseconds kStoreLimit{20'000 * kStoreRetryTime};
const std::set<int> kPassingReads{EIO, ETIMEDOUT};
/// EBUSY: the DELETE of a removed file's tombstone was lost, so no host may overwrite the tombstone
/// for a while.
const std::set<int> kPassingWrites{EIO, ETIMEDOUT, ESTALE, EBUSY};
constexpr unsigned kWriters = 3, kReaders = 4;
constexpr int kNamesOfOne = 5;

/// The possible contents of a name; nullopt if the file may be absent. After an error there are
/// several possibilities.
using MayBe = std::set<std::optional<std::string>>;

std::string random_contents(Random& random, std::size_t most) {
  const ByteVector bytes =
      make_contents(pick<std::string>(random, {"noise", "text", "islands"}), random(),
                    static_cast<std::size_t>(between(random, 1, static_cast<int>(most))), 1);
  return {bytes.begin(), bytes.end()};
}

/// Remembers the hashes of all contents that any name ever had, and which write made each first.
class EverWritten {
 public:
  void add(const std::string& contents, const std::string& what) {
    const std::lock_guard guard(mutex_);
    first_.try_emplace(std::hash<std::string>()(contents), what);
  }
  std::string origin(const std::string& contents) {
    const std::lock_guard guard(mutex_);
    const auto found = first_.find(std::hash<std::string>()(contents));
    return found == first_.end() ? "which nobody wrote" : "an older state, " + found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::string> first_;
};

std::string in_short(const std::optional<std::string>& contents) {
  if (!contents) return "absent";
  return fmt::format("{}:{:04x}", contents->size(), std::hash<std::string>()(*contents) & 0xffff);
}

std::string in_short(const MayBe& may_be) {
  std::string text;
  for (const auto& contents : may_be) text += (text.empty() ? "" : " or ") + in_short(contents);
  return text;
}

/// Describes where `found` differs from those possible contents that have the same size.
std::string difference(const std::string& found, const MayBe& may_be) {
  std::string text;
  for (const auto& wanted : may_be) {
    if (!wanted || wanted->size() != found.size()) continue;
    std::size_t first = found.size(), last = 0, zeros = 0, different = 0;
    for (std::size_t i = 0; i < found.size(); i++) {
      if (found[i] == (*wanted)[i]) continue;
      first = std::min(first, i);
      last = i;
      different++;
      zeros += found[i] == 0 ? 1U : 0U;
    }
    text += fmt::format("\n      unlike {}: {} bytes, {} of them 0, of {} to {}", in_short(wanted),
                        different, zeros, first, last);
  }
  return text;
}

/// The latest operations on one name, for messages about wrong contents.
class History {
 public:
  void add(const std::string& what, int error, const MayBe& then) {
    lines_.push_back(fmt::format("{} ms: {}{}, then {}", Elapsed::milliseconds(), what,
                                 error == 0 ? "" : fmt::format(" ({})", std::strerror(error)),
                                 in_short(then)));
    if (lines_.size() > kKept) lines_.pop_front();
  }
  static std::string now() { return fmt::format(" at {} ms", Elapsed::milliseconds()); }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines_) all += "\n      " + line;
    return all;
  }

 private:
  struct Elapsed {
    static long milliseconds() {
      static const auto begin = std::chrono::steady_clock::now();
      return std::chrono::duration_cast<std::chrono::milliseconds>(
                 std::chrono::steady_clock::now() - begin)
          .count();
    }
  };
  static constexpr std::size_t kKept = 40;
  std::deque<std::string> lines_;
};

/// The names that one thread changes, and that the other threads read.
struct Owned {
  std::shared_mutex mutex;
  std::map<std::string, MayBe> names;
  std::map<std::string, History> histories;
};

class StoreTorture {
 public:
  StoreTorture(const Mount& mount, Verdicts& verdicts) : mount_(mount), verdicts_(verdicts) {
    for (unsigned owner = 0; owner < kWriters; owner++)
      for (int i = 0; i < kNamesOfOne; i++)
        owned_[owner].names[fmt::format("of-{}-{}", owner, i)] = {std::nullopt};
  }

  std::string operation(unsigned thread, Random& random) {
    return thread < kWriters ? change(owned_[thread], random)
                             : look_at(owned_[random() % kWriters], random);
  }

  /// Checks through another mount what the store has in the end.
  void check_all(const Mount& other) const {
    for (const Owned& owned : owned_)
      for (const auto& [name, may_be] : owned.names) {
        const auto found = contents_in(other, name);
        BOOST_TEST(
            may_be.contains(found),
            name << (found ? fmt::format(" has {} other bytes", found->size()) : " is absent"));
      }
    std::set<std::string> beside;
    // A conflict file that was not completed is listed until a program opens it.
    for (const std::string& name : conflicts_in(other.path()))
      if (const auto contents = contents_in(other, name)) beside.insert(*contents);
    for (const auto& [name, candidates] : refused_)
      BOOST_TEST(std::any_of(candidates.begin(), candidates.end(),
                             [&](const auto& text) { return text && beside.contains(*text); }),
                 name << ": " << in_short(candidates) << " was refused, and is not beside it");
    BOOST_TEST_MESSAGE(refused_.size() << " refused, " << beside.size() << " beside");
  }

 private:
  static std::optional<std::string> contents_in(const Mount& mount, const std::string& name) {
    if (!fs_std::exists(mount / name)) return std::nullopt;
    return file_text(mount / name);
  }

  std::string change(Owned& owned, Random& random) {
    const std::unique_lock lock(owned.mutex);
    const auto draw = [&] {
      return std::next(owned.names.begin(), between(random, 0, kNamesOfOne - 1));
    };
    auto& [name, may_be] = *draw();
    switch (between(random, 0, 9)) {
      case 0:
        return remove(owned, name, may_be);
      case 1: {
        auto& [other, other_may_be] = *draw();
        return other == name ? look(owned, name, may_be)
                             : rename(owned, name, may_be, other, other_may_be);
      }
      default:
        return write(owned, name, may_be, random);
    }
  }

  std::string remove(Owned& owned, const std::string& name, MayBe& may_be) {
    const int error = ::unlink((mount_ / name).c_str()) == 0 ? 0 : errno;
    std::set<int> allowed = kPassingWrites;
    if (may_be.contains(std::nullopt)) allowed.insert(ENOENT);
    verdicts_.add_error("unlink " + name, error, allowed);
    if (error == 0) may_be.clear();
    may_be.insert(std::nullopt);
    owned.histories[name].add("unlink", error, may_be);
    return "unlink " + name;
  }

  std::string rename(Owned& owned, const std::string& name, MayBe& may_be, const std::string& other,
                     MayBe& other_may_be) {
    const std::string what = "rename " + name + " " + other;
    const int error = ::rename((mount_ / name).c_str(), (mount_ / other).c_str()) == 0 ? 0 : errno;
    std::set<int> allowed = kPassingWrites;
    allowed.insert(EXDEV);
    if (may_be.contains(std::nullopt)) allowed.insert(ENOENT);
    verdicts_.add_error(what, error, allowed);
    if (error == ENOENT || error == EXDEV) {
      owned.histories[name].add(what, error, may_be);
      return what;
    }
    if (error == 0) other_may_be.clear();
    for (const auto& contents : may_be)
      if (contents) other_may_be.insert(contents);
    if (error == 0) may_be.clear();
    may_be.insert(std::nullopt);
    owned.histories[other].add(what, error, other_may_be);
    owned.histories[name].add(what, error, may_be);
    return what;
  }

  struct Patch {
    bool is_all = false;
    std::size_t at = 0;
    std::string bytes;

    std::string applied_to(std::string contents) const {
      if (is_all) return bytes;
      contents.resize(std::max(contents.size(), at + bytes.size()));
      contents.replace(at, bytes.size(), bytes);
      return contents;
    }
  };

  static Patch draw_patch(const std::string& before, bool is_all, Random& random) {
    Patch patch;
    patch.is_all = is_all || before.empty() || one_in(random, 3);
    patch.bytes = random_contents(random, patch.is_all ? 150'000 : 30'000);
    if (!patch.is_all) patch.at = static_cast<std::size_t>(between(random, 0, std::ssize(before)));
    return patch;
  }

  /// Returns the errno, or 0. `done` is the number of bytes that were written before the error.
  static int write_patch(int file, const Patch& patch, std::size_t& done) {
    if (patch.is_all && ::ftruncate(file, 0) != 0) return errno;
    while (done < patch.bytes.size()) {
      const ssize_t written = ::pwrite(file, patch.bytes.data() + done, patch.bytes.size() - done,
                                       static_cast<off_t>(patch.at + done));
      if (written <= 0) return errno;
      done += static_cast<std::size_t>(written);
    }
    return 0;
  }

  std::string write(Owned& owned, const std::string& name, MayBe& may_be, Random& random) {
    History& history = owned.histories[name];
    const std::string what = "write " + name;
    const Fd file(::open((mount_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) {
      verdicts_.add_error("create " + name, errno, kPassingWrites);
      const int error = errno;
      if (may_be.contains(std::nullopt)) may_be.insert("");
      history.add("create", error, may_be);
      return what;
    }
    if (may_be.contains(std::nullopt)) may_be.insert("");
    std::string before;
    const int read_error = read_whole(file.get(), before) ? 0 : errno;
    verdicts_.add_error("read " + name, read_error, kPassingReads);
    if (read_error != 0) return what;
    if (!may_be.contains(before))
      verdicts_.add_wrong(fmt::format("read {}: {}, {}{}{}", name, in_short(before),
                                      ever_written_.origin(before), difference(before, may_be),
                                      history_of(owned, name)));
    // If the file has many possible contents, replaces all of it. A patch would multiply them.
    const Patch patch = draw_patch(before, may_be.size() > 6, random);
    MayBe then;
    for (const auto& contents : may_be) then.insert(patch.applied_to(contents.value_or("")));
    for (const auto& contents : then)
      if (contents) ever_written_.add(*contents, what + History::now());
    std::size_t done = 0;
    int error = write_patch(file.get(), patch, done);
    verdicts_.add_error("pwrite " + name, error, kPassingWrites);
    if (error != 0) {
      Patch part = patch;
      part.bytes.resize(done);
      for (const auto& contents : may_be) then.insert(part.applied_to(contents.value_or("")));
    }
    if (error == 0 && ::fsync(file.get()) != 0) error = errno;
    verdicts_.add_error("fsync " + name, error, kPassingWrites);
    const std::string patched = patch.is_all ? "replaced"
                                             : fmt::format("{} at {} of {}", patch.bytes.size(),
                                                           patch.at, in_short(before));
    if (error == 0) {
      may_be = {patch.applied_to(before)};
      history.add(patched, error, may_be);
      return what;
    }
    if (patch.is_all) then.insert("");
    then.insert(may_be.begin(), may_be.end());
    may_be = then;
    history.add(patched, error, may_be);
    // If no write succeeded, the mount has nothing to save in a conflict file.
    if (error != ESTALE || (done == 0 && !patch.bytes.empty())) return what;
    const std::lock_guard guard(refused_mutex_);
    refused_.emplace_back(name, std::move(then));
    return what;
  }

  std::string look_at(Owned& owned, Random& random) {
    const std::shared_lock lock(owned.mutex);
    const auto& [name, may_be] =
        *std::next(owned.names.begin(), between(random, 0, kNamesOfOne - 1));
    switch (between(random, 0, 9)) {
      case 0:
        return look(owned, name, may_be);
      case 1:
        return list(owned);
      case 2:
        return describe(name, may_be);
      case 3:
        kill_a_reader(mount_ / name, random, verdicts_);
        return "kill " + name;
      default:
        return read(owned, name, may_be, random);
    }
  }

  /// Returns the histories of all names of the owner, since renames may have mixed them up.
  static std::string history_of(const Owned& owned, const std::string& name) {
    std::string text;
    for (const auto& [other, history] : owned.histories)
      text += "\n    " + other + (other == name ? ", this one:" : ":") + history.text();
    return text;
  }

  static std::set<int> errors_of(const MayBe& may_be, int absent = ENOENT) {
    std::set<int> allowed = kPassingReads;
    if (may_be.contains(std::nullopt)) allowed.insert(absent);
    return allowed;
  }

  std::string look(const Owned& owned, const std::string& name, const MayBe& may_be) {
    struct stat st {};
    const int error = ::stat((mount_ / name).c_str(), &st) == 0 ? 0 : errno;
    verdicts_.add_error("stat " + name, error, errors_of(may_be));
    const auto fits = [&](const auto& contents) {
      return contents && contents->size() == static_cast<std::size_t>(st.st_size);
    };
    if (error == 0 && std::none_of(may_be.begin(), may_be.end(), fits))
      verdicts_.add_wrong(
          fmt::format("stat {}: {} bytes{}", name, st.st_size, history_of(owned, name)));
    return "stat " + name;
  }

  std::string describe(const std::string& name, const MayBe& may_be) {
    const int error = errno_of_get_xattr(mount_ / name, "user.blosc2.nbytes");
    verdicts_.add_error("getxattr " + name, error, errors_of(may_be));
    return "getxattr " + name;
  }

  std::string list(const Owned& owned) {
    int error = 0;
    std::set<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(mount_.path().c_str()), ::closedir);
    errno = listing ? 0 : errno;
    while (listing) {
      errno = 0;
      const dirent* const entry = ::readdir(listing.get());
      if (entry == nullptr) break;
      names.insert(entry->d_name);
    }
    error = errno;
    verdicts_.add_error("list", error, kPassingReads);
    if (error != 0) return "list";
    for (const auto& [name, may_be] : owned.names) {
      if (names.contains(name) && may_be == MayBe{std::nullopt})
        verdicts_.add_wrong("list: " + name + " was removed" + history_of(owned, name));
      if (!names.contains(name) && !may_be.contains(std::nullopt))
        verdicts_.add_wrong("list: " + name + " is missing" + history_of(owned, name));
    }
    return "list";
  }

  std::string read(const Owned& owned, const std::string& name, const MayBe& may_be,
                   Random& random) {
    const Fd file(::open((mount_ / name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      verdicts_.add_error("open " + name, errno, errors_of(may_be));
      return "open " + name;
    }
    for (int i = between(random, 1, 3); i > 0; i--) {
      const auto at = static_cast<std::size_t>(between(random, 0, 120'000));
      const auto size = static_cast<std::size_t>(between(random, 1, 50'000));
      std::string text;
      const int error = read_fully(file.get(), at, size, text) ? 0 : errno;
      verdicts_.add_error("pread " + name, error, kPassingReads);
      const auto fits = [&](const auto& contents) {
        return contents && (at < contents->size() ? contents->substr(at, size) : "") == text;
      };
      if (error == 0 && std::none_of(may_be.begin(), may_be.end(), fits))
        verdicts_.add_wrong(fmt::format("pread {} at {}: {} other bytes{}", name, at, text.size(),
                                        history_of(owned, name)));
    }
    return "pread " + name;
  }

  const Mount& mount_;
  Verdicts& verdicts_;
  Owned owned_[kWriters];
  EverWritten ever_written_;
  std::mutex refused_mutex_;
  /// Names with refused writes. One conflict file must have one of the possible contents.
  std::vector<std::pair<std::string, MayBe>> refused_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(torture_store, *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(of_a_store_that_fails_and_lies_nothing_is_lost) {
  const TortureSize size = torture_size(250);
  const StorePlace place;
  BadProxy proxy(shared_rgw().port(), size.seed);
  ObjectMount mount(place,
                    {fmt::format("retry_time={}", kStoreRetryTime), "revalidate=0",
                     "chunk_size=64K", "cache_size=8M"},
                    proxy.address(""));
  Verdicts verdicts;
  StoreTorture torture(mount, verdicts);
  BOOST_TEST(names_in(mount.path()).empty());  // waits until the daemon has probed the store
  proxy.be_bad(25);
  run_operations(
      size, kWriters + kReaders, verdicts, kStoreLimit,
      [&](unsigned thread, Random& random) { return torture.operation(thread, random); });
  proxy.be_good();
  BOOST_TEST_MESSAGE("seed " << size.seed << ": " << verdicts.summary() << "\n"
                             << proxy.requests() << " requests:" << proxy.counts());
  for (const std::string& what : verdicts.wrong()) BOOST_ERROR(what);
  if (!verdicts.wrong().empty()) BOOST_TEST_MESSAGE(mount.log());
  BOOST_TEST(verdicts.succeeded() > verdicts.failed());
  BOOST_TEST(mount.running());
  const bool is_stored = mount.unmount().ok();
  // A new file may still wait for the removal of a tombstone.
  BOOST_TEST((is_stored || mount.log().find("its removal is under way") != std::string::npos),
             mount.log());
  const ObjectMount other(place);
  torture.check_all(other);
}

BOOST_AUTO_TEST_SUITE_END()
