// Steps of another program on SOURCE.

#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "tests/foreign/campaign.hpp"
#include "tests/peer/request.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/peer.hpp"

namespace bloscfs::test {
namespace {

constexpr int kPeerChunk = 16384;

/// Returns the state letter of a thread, "X" if it has ended.
char state_of(const fs_std::path& task) {
  std::ifstream in(task / "stat");
  std::string line;
  std::getline(in, line);
  const std::size_t at = line.rfind(')');
  return at == std::string::npos || at + 2 >= line.size() ? 'X' : line[at + 2];
}

/// Returns the number of the system call that a thread is in, or another text if it is in none.
std::string call_of(const fs_std::path& task) {
  std::ifstream in(task / "syscall");
  std::string number;
  in >> number;
  return number;
}

/// The threads of a daemon.
class Tasks {
 public:
  explicit Tasks(const Mount& mount) : tasks_("/proc/" + std::to_string(mount.pid()) + "/task") {}

  template <typename Is>
  bool every_task(const Is& is) const {
    for (const auto& task : fs_std::directory_iterator(tasks_))
      if (!is(task.path())) return false;
    return true;
  }

  static bool is_waiting(const fs_std::path& task) {
    static const std::set<std::string> waits = [] {
      std::set<std::string> numbers{""};  // empty for a thread that has ended
      for (const long call : {SYS_futex, SYS_restart_syscall, SYS_read, SYS_readv, SYS_splice,
                              SYS_poll, SYS_ppoll, SYS_epoll_wait, SYS_epoll_pwait,
                              SYS_clock_nanosleep, SYS_nanosleep, SYS_rt_sigtimedwait, SYS_wait4})
        numbers.insert(std::to_string(call));
      return numbers;
    }();
    return waits.count(call_of(task)) != 0;
  }

  /// Waits until no thread has run or waited for a disk during several looks.
  void await_rest() const {
    constexpr int kLooks = 5;
    int looks = 0;
    comes_true([&] {
      looks = every_task([](const auto& task) { return state_of(task) == 'S' && is_waiting(task); })
                  ? looks + 1
                  : 0;
      return looks == kLooks;
    });
  }

 private:
  const fs_std::path tasks_;
};

/// Stops all threads of a daemon while it lives. `any` stops them anywhere, `idle` only when all of
/// them wait for requests or for each other.
class Stopped {
 public:
  enum class When { any, idle };
  Stopped(const Mount& mount, When when) : mount_(mount), tasks_(mount) {
    for (int tries = 0;; tries++) {
      if (when == When::idle) tasks_.await_rest();
      mount_.signal(SIGSTOP);
      while (!tasks_.every_task([](const auto& task) {
        const char state = state_of(task);
        return state == 'T' || state == 'X' || state == 'Z';
      })) {
      }
      if (when == When::any || tasks_.every_task(Tasks::is_waiting)) return;
      mount_.signal(SIGCONT);
      if (tries == kTries) throw std::runtime_error("the daemon does not come to rest");
    }
  }
  ~Stopped() { mount_.signal(SIGCONT); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  static constexpr int kTries = 1000;

  const Mount& mount_;
  const Tasks tasks_;
};

}  // namespace

bool Campaign::is_in_source(const FileOracle& file) const {
  return fs_std::exists(file.path_in(source_.path()));
}

void Campaign::overtake(FileOracle& file, bool keeps_file,
                        const std::function<void(const fs_std::path&)>& change) {
  // A commit in the background may notice one change before the next. That would be two losses.
  const bool waits = !file.writers.empty() || file.conflict || !file.dirty_layers.empty();
  if (file.is_overtaken && waits) look(file);
  if (is_strict_) await_commit(file);
  // Two programs that write into one file at the same time without a lock would mix their bytes.
  const Stopped stopped(mount_, keeps_file ? Stopped::When::any : Stopped::When::idle);
  file.overtake(source_.path(), keeps_file, change);
}

/// Waits for the commit after the last close of a file, which must come soon.
void Campaign::await_commit(const FileOracle& file) const {
  if (!file.writers.empty() || !file.is_dirty || file.is_overtaken) return;
  const auto is_stored = [&] {
    const auto stored = read_frame(file.path_in(source_.path()));
    return stored && stored->contents == file.now->contents;
  };
  if (!comes_true(is_stored))
    throw Violation(file.shown + ": is not committed after its last close");
  // The commit ends a moment after its bytes are in SOURCE.
  Tasks(mount_).await_rest();
}

bool Campaign::replace(FileOracle& file) {
  // A second frame for the array's name would give both other shown names.
  if (file.kind == Kind::array && file.now && !is_in_source(file)) return false;
  const ByteVector bytes = random_frame(random_, file.kind);
  const fs_std::path fresh = source_ / ".fresh";
  overtake(file, true, [&](const fs_std::path& path) {
    write_file(fresh, bytes);
    fs_std::rename(fresh, path);
  });
  return true;
}

bool Campaign::copy_over(FileOracle& file) {
  if (!is_in_source(file)) return false;
  const ByteVector bytes = random_frame(random_, file.kind);
  overtake(file, false, [&](const fs_std::path& path) { write_file(path, bytes); });
  return true;
}

bool Campaign::edit(FileOracle& file) {
  if (!is_in_source(file)) return false;
  const Edit kind = pick(random_, std::vector<Edit>{Edit::chunk, Edit::layer, Edit::growth});
  overtake(file, false, [&](const fs_std::path& path) { edit_in_place(random_, path, kind); });
  return true;
}

/// The daemon runs on during this step: stopped, it might hold a lease that blocks the peer.
bool Campaign::append_by_peer(FileOracle& file) {
  const bool waits = file.is_dirty || !file.dirty_layers.empty() || !file.writers.empty();
  if (waits || file.kind == Kind::array || !is_in_source(file)) return false;
  const fs_std::path path = file.path_in(source_.path());
  const auto snapshot = frame::open_path(path, {});
  const frame::FrameInfo& info = snapshot->info();
  if (!peer().reason.empty() || info.chunksize != kPeerChunk || info.nbytes % kPeerChunk != 0 ||
      info.nbytes == 0)
    return false;
  PeerRequest request;
  request.action = "append";
  request.path = path;
  request.chunksize = kPeerChunk;
  request.nbytes = kPeerChunk;
  request.kind = "noise";
  request.seed = random_();
  file.overtake(source_.path(), false, [&](const fs_std::path&) {
    const auto result = run_peer(request);
    if (!result.ok()) throw Violation("C-Blosc2: " + result.description());
  });
  return true;
}

/// Removes the file that a waiting file is to replace. This takes nothing from the waiting file.
/// Returns false if the waiting file has the name already.
bool Campaign::remove_what_it_replaces(FileOracle& file) const {
  if (!file.waits_to_replace) return false;
  const fs_std::path path = file.path_in(source_.path());
  const Stopped stopped(mount_, Stopped::When::any);
  const auto there = read_frame(path);
  if (!there || there->contents == file.now->contents) return false;
  fs_std::remove(path);
  file.waits_to_replace = false;
  return true;
}

/// Removes the file, unless data waits to which no open descriptor refers. The mount would save
/// such data only after some seconds.
bool Campaign::remove_in_source(FileOracle& file) {
  const bool waits = file.is_dirty || (file.is_overtaken && file.conflict);
  if (!is_in_source(file) || (waits && any_writer(file) == nullptr)) return false;
  if (remove_what_it_replaces(file)) return true;
  overtake(file, true, [](const fs_std::path& path) { fs_std::remove(path); });
  return true;
}

/// Checks that everything is committed, and that no other files are left.
void Campaign::end() {
  for (FileOracle& file : files_) {
    while (!file.writers.empty()) close(file);
    look(file);
  }
  const auto& result = mount_.unmount();
  if (!result.ok()) throw Violation("the daemon: " + result.description());
  for (FileOracle& file : files_) {
    if (file.now)
      check_stored(file);
    else if (is_in_source(file))
      throw Violation(file.shown + ": is still in SOURCE");
  }
  for (const auto& entry : fs_std::directory_iterator(source_.path()))
    if (entry.path().filename().string().starts_with(".bloscfs-"))
      throw Violation("left behind: " + entry.path().string());
}

}  // namespace bloscfs::test
