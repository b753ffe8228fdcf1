// Random operations on mounts of servers that fail and lie. Each operation must give correct bytes,
// or fail in time.
//
// BLOSCFS_TORTURE_OPERATIONS is the number of operations, BLOSCFS_TORTURE_SEED the random seed.

#include "tests/remote/torture.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/remote/bad_proxy.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/xattr.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;
using std::chrono::milliseconds;

constexpr int kRetryTime = 3;
/// The time limit of an operation, which may need several requests one after the other.
constexpr milliseconds kLimit{10'000 * kRetryTime};
const std::set<int> kPassing{EIO, ETIMEDOUT};

/// Returns the contents of a state of the changing file.
ByteVector changing_contents(int state) {
  return make_contents("noise", 1000 + static_cast<std::uint64_t>(state),
                       400'000 + 1000 * static_cast<std::size_t>(state), 1);
}
constexpr int kStates = 8;

/// A folder of a web server, with constant files and one changing file.
class ServedFolder {
 public:
  ServedFolder() {
    fs_std::create_directory(folder());
    write("flat.b2frame", large_object(2 << 20));
    write("small.b2frame", flat_frame(make_contents("text", 3, 20'000, 1)));
    write("plain", make_contents("noise", 4, 1 << 20, 1));
    write("array.b2nd", array_frame(make_contents("ramp", 1, 480'000, 8), {200, 300}, "<f8", 8));
    write("packed.blp", bloscpack_file(make_contents("text", 6, 300'000, 1), 50'000));
    fs_std::create_directories(folder() / "deeper/still");
    write("deeper/still/one.b2frame", flat_frame(make_contents("text", 5, 200'000, 1)));
    write_sparse_frame(folder() / "sparse.b2frame", make_contents("islands", 7, 600'000, 1));
    for (int i = 0; i < kStates; i++)
      states_.push_back(flat_frame(changing_contents(i), {8192, 4096, 1, {}, {}}));
    change(0);
    for (const auto& entry : fs_std::recursive_directory_iterator(nginx_.www()))
      fs_std::permissions(entry.path(), fs_std::perms(entry.is_directory() ? 0755 : 0644));
    fs_std::permissions(folder(), fs_std::perms(0755));
  }

  fs_std::path folder() const { return nginx_.www() / "folder"; }
  int port() const { return nginx_.port(); }
  /// Replaces the changing file by another state. Each state has another modification time.
  void change(int state) {
    const fs_std::path fresh = nginx_.www() / "fresh";
    write_file(fresh, states_.at(static_cast<std::size_t>(state)));
    fs_std::permissions(fresh, fs_std::perms(0644));
    fs_std::last_write_time(fresh, fs_std::file_time_type::clock::now() - std::chrono::hours(10) +
                                       std::chrono::seconds(++changes_));
    fs_std::rename(fresh, folder() / "changing.b2frame");
  }

 private:
  void write(const std::string& name, const ByteVector& bytes) {
    write_file(folder() / name, bytes);
  }

  Nginx nginx_;
  std::vector<ByteVector> states_;
  int changes_ = 0;
};

/// The names and contents that a local mount of the folder shows.
struct Expected {
  explicit Expected(const fs_std::path& folder) {
    MountSettings settings;
    settings.options = {"ro"};
    const Mount local(folder, settings);
    for (const auto& entry : fs_std::recursive_directory_iterator(local.path())) {
      const std::string name = fs_std::relative(entry.path(), local.path()).string();
      if (entry.is_directory()) {
        directories.push_back(name);
        names[name];
      }
      const auto parent = fs_std::path(name).parent_path().string();
      names[parent].insert(fs_std::path(name).filename().string());
      if (!entry.is_directory() && name != "changing") {
        files.push_back(name);
        contents[name] = text_of(read_file(entry.path()));
      }
    }
    directories.emplace_back();
  }
  std::vector<std::string> files, directories;  ///< without the changing file
  std::map<std::string, std::string> contents;
  std::map<std::string, std::set<std::string>> names;
};

/// Lists a directory. Returns the errno, or 0.
int list_names(const fs_std::path& directory, std::set<std::string>& names) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  if (!listing) return errno;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr) return errno;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.insert(name);
  }
}

/// The random operations of readers.
class WebTorture {
 public:
  WebTorture(const Mount& mount, const Expected& expected, Verdicts& verdicts)
      : mount_(mount), expected_(expected), verdicts_(verdicts) {
    for (int i = 0; i < kStates; i++) states_.push_back(text_of(changing_contents(i)));
  }

  std::string operation(Random& random) {
    const std::string& name = pick(random, expected_.files);
    switch (between(random, 0, 19)) {
      case 0:
      case 1:
        return look(name);
      case 2:
      case 3:
        return list(pick(random, expected_.directories));
      case 4:
        return describe(name);
      case 5:
        kill_a_reader(mount_ / name, random, verdicts_);
        return "kill " + name;
      case 6:
        return read_all(name);
      case 7:
      case 8:
      case 9:
      case 10:
        return read_what_changes(random);
      default:
        return read_some(name, random);
    }
  }

 private:
  std::string look(const std::string& name) {
    struct stat st {};
    const int error = ::stat((mount_ / name).c_str(), &st) == 0 ? 0 : errno;
    verdicts_.add_error("stat " + name, error, kPassing);
    if (error == 0 && static_cast<std::size_t>(st.st_size) != expected_.contents.at(name).size())
      verdicts_.add_wrong(fmt::format("stat {}: {} bytes", name, st.st_size));
    return "stat " + name;
  }

  std::string list(const std::string& name) {
    std::set<std::string> names;
    const int error = list_names(mount_ / name, names);
    verdicts_.add_error("list " + name, error, kPassing);
    if (error == 0 && names != expected_.names.at(name))
      verdicts_.add_wrong(fmt::format("list {}: {} names", name, names.size()));
    return "list " + name;
  }

  std::string describe(const std::string& name) {
    const int error = errno_of_get_xattr(mount_ / name, "user.blosc2.nbytes");
    std::set<int> allowed = kPassing;
    if (name == "plain" || name == "packed") allowed.insert(ENODATA);
    verdicts_.add_error("getxattr " + name, error, allowed);
    return "getxattr " + name;
  }

  std::string read_all(const std::string& name) {
    const Fd file(::open((mount_ / name).c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    const int error = file && read_whole(file.get(), text) ? 0 : errno;
    verdicts_.add_error("read " + name, error, kPassing);
    if (error == 0 && text != expected_.contents.at(name))
      verdicts_.add_wrong(fmt::format("read {}: {} other bytes", name, text.size()));
    return "read " + name;
  }

  std::string read_some(const std::string& name, Random& random) {
    const std::string& contents = expected_.contents.at(name);
    const Fd file(::open((mount_ / name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      verdicts_.add_error("open " + name, errno, kPassing);
      return "open " + name;
    }
    for (int i = between(random, 1, 4); i > 0; i--) {
      const auto at = static_cast<std::size_t>(between(random, 0, std::ssize(contents)));
      const auto size = static_cast<std::size_t>(between(random, 1, 150'000));
      std::string text;
      const int error = read_fully(file.get(), at, size, text) ? 0 : errno;
      verdicts_.add_error("pread " + name, error, kPassing);
      if (error == 0 && text != contents.substr(at, size))
        verdicts_.add_wrong(fmt::format("pread {} at {}: {} other bytes", name, at, text.size()));
    }
    return "pread " + name;
  }

  /// Checks that all reads of one handle give bytes of the same state.
  std::string read_what_changes(Random& random) {
    const Fd file(::open((mount_ / "changing").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      // ESTALE: the file changed again while the kernel repeated the lookup.
      verdicts_.add_error("open changing", errno, {EIO, ETIMEDOUT, ESTALE});
      return "open changing";
    }
    std::set<std::size_t> fitting;
    for (std::size_t i = 0; i < states_.size(); i++) fitting.insert(i);
    for (int i = between(random, 2, 5); i > 0; i--) {
      const auto at = static_cast<std::size_t>(between(random, 0, 380'000));
      const auto size = static_cast<std::size_t>(between(random, 16, 20'000));
      std::string text;
      const int error = read_fully(file.get(), at, size, text) ? 0 : errno;
      verdicts_.add_error("pread changing", error, kPassing);
      if (error != 0) continue;
      std::erase_if(fitting, [&](std::size_t state) {
        return states_.at(state).compare(at, size, text) != 0;
      });
      pause_at_random(random, milliseconds(60));
    }
    if (fitting.empty()) verdicts_.add_wrong("pread changing: bytes of no state, or of two");
    return "pread changing";
  }

  const Mount& mount_;
  const Expected& expected_;
  Verdicts& verdicts_;
  std::vector<std::string> states_;
};

/// A thread that changes the file until the destructor ends it.
class Changer {
 public:
  explicit Changer(ServedFolder& served)
      : thread_([this, &served] {
          for (int i = 1; !ending_; i++) {
            served.change(i % kStates);
            simulate_delay(milliseconds(150));
          }
        }) {}
  ~Changer() {
    ending_ = true;
    thread_.join();
  }
  Changer(const Changer&) = delete;
  Changer& operator=(const Changer&) = delete;

 private:
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(torture, *utf::precondition(needs_fuse_and_nginx))

BOOST_AUTO_TEST_CASE(of_a_web_server_that_fails_and_lies_every_byte_is_right_or_an_error) {
  const TortureSize size = torture_size(300);
  ServedFolder served;
  const Expected expected(served.folder());
  BadProxy proxy(served.port(), size.seed);
  MountSettings settings;
  settings.options = {fmt::format("retry_time={}", kRetryTime), "revalidate=0", "cache_size=4M"};
  Mount mount(proxy.address("/folder/"), settings);
  Verdicts verdicts;
  {
    const Changer changer(served);
    proxy.be_bad(25);
    WebTorture torture(mount, expected, verdicts);
    run_operations(size, 8, verdicts, kLimit,
                   [&](unsigned, Random& random) { return torture.operation(random); });
  }
  BOOST_TEST_MESSAGE("seed " << size.seed << ": " << verdicts.summary() << "\n"
                             << proxy.requests() << " requests:" << proxy.counts());
  for (const std::string& what : verdicts.wrong()) BOOST_ERROR(what);
  BOOST_TEST(verdicts.succeeded() > verdicts.failed());
  // The mount does not remember failures.
  proxy.be_good();
  for (const auto& [name, contents] : expected.contents)
    BOOST_TEST((text_of(read_file(mount / name)) == contents), name);
  BOOST_TEST(mount.running());
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()
