// A request that gets no slot is served again from its beginning. The first try must have no
// effect.

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/support/request.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/set_clock.hpp"

namespace bloscfs::test {
namespace {

constexpr std::int64_t kUsedSize = 300'000;
constexpr const char* kUsedNote = "user.blosc2.vlmeta.note";

/// A request that gets no slot at the need number `refused`. At the other needs it goes on as if it
/// had a slot, but takes none.
class RefusedRequest final : public fs::Request {
 public:
  RefusedRequest(fs::RequestSlots& slots, const fs::Caller& caller, int refused)
      : Request(&slots, caller), refused_(refused) {}
  int needs() const { return needs_; }

 private:
  bool take_slot() override { return ++needs_ != refused_; }

  const int refused_;
  int needs_ = 0;
};

/// Serves requests like a session. Each request gets no slot at the need number `refused`; if that
/// is 0, it gets all slots.
class ServedRequests {
 public:
  ServedRequests(InProcess& mount, int refused) : mount_(mount), refused_(refused) {}

  /// The largest number of needs that one request had.
  int most_needs() const { return most_needs_; }
  int served_again() const { return served_again_; }

  using Body = std::function<void(fs::Request& request)>;
  /// Calls `body`, and calls it again if it got no slot. Records its error.
  void serve(const std::string& name, const Body& body) {
    int error = 0;
    try {
      error = error_of([&] { once(body); });
    } catch (const fs::NoSlot&) {
      served_again_++;
      error = error_of([&] { body(mount_.request()); });
    }
    told_ += fmt::format("{}: {}\n", name, error);
  }

  fs::Source& source() { return mount_.source(); }

  void look_up(const std::string& path) {
    std::optional<fs::FoundNode> found;
    const auto [directory, name] = parent(path);
    serve("lookup " + path, [&, &in = directory, &named = name](fs::Request& request) {
      found = source().lookup(request, in, named);
    });
    if (found) known(path, *found);
    told_ += found
                 ? fmt::format("  {:o} {}\n", found->attributes.st_mode, found->attributes.st_size)
                 : "  nothing\n";
  }
  void list(const std::string& path) {
    fs::DirectoryHandles& directories = mount_->directories();
    const fs::NodeId id = node(path);
    std::uint64_t number = 0;
    serve("opendir " + path, [&](fs::Request& request) {
      number = directories.open(request, id, directories.listings_begun());
    });
    std::vector<std::string> names;
    serve("readdir " + path, [&](fs::Request& request) {
      names.clear();
      const auto listed = directories.entries(request, number, true, directories.listings_begun());
      for (const auto& entry : listed->entries) names.push_back(entry.shown_name);
    });
    serve("releasedir " + path,
          [&](fs::Request& request) { directories.release(request, number); });
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) told_ += "  " + name + "\n";
  }
  void read_attributes(const std::string& path) {
    const fs::NodeId id = node(path);
    serve("getattr " + path, [&](fs::Request& request) { source().attributes(request, id); });
    std::vector<std::string> names;
    serve("listxattr " + path,
          [&](fs::Request& request) { names = mount_->extended_attributes().list(request, id); });
    for (const std::string& name : names)
      serve("getxattr " + name,
            [&](fs::Request& request) { mount_->attribute(request, id, name); });
  }
  void set_attribute(const std::string& path, const std::string* value) {
    serve("setxattr " + path, [&](fs::Request& request) {
      mount_->extended_attributes().set(request, node(path), kUsedNote, value, 0);
    });
  }
  std::uint64_t open(const std::string& path, int flags) {
    std::uint64_t handle = 0;
    const fs::NodeId id = node(path);
    serve("open " + path,
          [&](fs::Request& request) { handle = mount_->open(request, id, flags).handle; });
    return handle;
  }
  void read(std::uint64_t handle, std::int64_t offset, std::int64_t size) {
    ByteVector bytes;
    serve("read", [&](fs::Request& request) {
      bytes = bytes_of_reply(mount_->handle(handle)->read(request, offset, size));
    });
    std::size_t sum = 0;
    for (const std::uint8_t byte : bytes) sum = sum * 31 + byte;
    told_ += fmt::format("  {} bytes, {}\n", bytes.size(), sum);
  }
  /// A session serves a write without a slot, unless the write waits for another program.
  void write(std::uint64_t handle, std::int64_t offset, const std::string& text) {
    const ByteVector bytes = bytes_of(text);
    told_ += fmt::format("write: {}\n", error_of([&] {
                           mount_->handle(handle)->write(mount_.request(), {offset, false}, bytes);
                         }));
  }
  void sync(std::uint64_t handle) {
    serve("fsync", [&](fs::Request& request) { mount_->handle(handle)->sync(request); });
  }
  void close(std::uint64_t handle) {
    serve("flush", [&](fs::Request& request) { mount_->handle(handle)->flush(request); });
    if (handle != 0) mount_->release(mount_.request(), handle);
  }
  std::uint64_t create(const std::string& path) {
    const auto [directory, name] = parent(path);
    std::optional<fs::FoundNode> made;
    std::uint64_t handle = 0;
    serve("create " + path, [&, &in = directory, &named = name](fs::Request& request) {
      auto descriptors = source().take_descriptors(request);
      made = source().create_file(request, in, named, S_IFREG | 0644);
      handle = mount_->open(request, made->id, O_RDWR, std::move(descriptors)).handle;
    });
    if (made) known(path, *made);
    return handle;
  }
  void make_directory(const std::string& path) {
    const auto [directory, name] = parent(path);
    std::optional<fs::FoundNode> made;
    serve("mkdir " + path, [&, &in = directory, &named = name](fs::Request& request) {
      made = source().make_directory(request, in, named, 0755);
    });
    if (made) known(path, *made);
  }
  void make_link(const std::string& from, const std::string& path) {
    const auto [directory, name] = parent(path);
    std::optional<fs::FoundNode> made;
    serve("link " + path, [&, &in = directory, &named = name](fs::Request& request) {
      made = source().make_link(request, node(from), in, named);
    });
    if (made) known(path, *made);
  }
  void remove(const std::string& path) {
    const auto [directory, name] = parent(path);
    serve("unlink " + path, [&, &in = directory, &named = name](fs::Request& request) {
      source().remove_file(request, in, named);
    });
  }
  void remove_directory(const std::string& path) {
    const auto [directory, name] = parent(path);
    serve("rmdir " + path, [&, &in = directory, &named = name](fs::Request& request) {
      source().remove_directory(request, in, named);
    });
  }
  void rename(const std::string& from, const std::string& to, unsigned flags = 0) {
    const auto old = parent(from), wanted = parent(to);
    serve("rename " + from, [&](fs::Request& request) {
      source().rename(request, old.first, old.second, wanted.first, wanted.second, flags);
    });
  }
  void set(const std::string& path, const fs::NewAttributes& wanted) {
    serve("setattr " + path,
          [&](fs::Request& request) { source().set_attributes(request, node(path), wanted); });
  }
  void resize(const std::string& path, std::int64_t size) {
    serve("truncate " + path,
          [&](fs::Request& request) { source().resize(request, node(path), size); });
  }
  void sync_directory(const std::string& path) {
    serve("fsyncdir " + path,
          [&](fs::Request& request) { source().sync_directory(request, node(path)); });
  }

  /// Gives back each reference that replies have returned. Records nodes that the mount still
  /// knows.
  void forget_all() {
    for (const auto& [path, all] : nodes_)
      for (const auto& [id, references] : all) source().forget(id, references);
    for (const auto& [path, all] : nodes_)
      for (const auto& [id, references] : all)
        if (error_of([&, node = id] { source().attributes(mount_.request(), node); }) != ESTALE)
          told_ += "still known: " + path + "\n";
    nodes_.clear();
  }

  const std::string& told() const { return told_; }

 private:
  void once(const Body& body) {
    RefusedRequest request(slots_, mount_.caller, refused_);
    const std::shared_ptr<void> counted(
        nullptr, [&](void*) { most_needs_ = std::max(most_needs_, request.needs()); });
    body(request);
  }
  std::pair<fs::NodeId, std::string> parent(const std::string& path) const {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {fs::kRootId, path};
    return {node(path.substr(0, slash)), path.substr(slash + 1)};
  }
  fs::NodeId node(const std::string& path) const {
    return path.empty() ? fs::kRootId : nodes_.at(path).back().first;
  }
  void known(const std::string& path, const fs::FoundNode& found) {
    auto& all = nodes_[path];
    if (!all.empty() && all.back().first == found.id)
      all.back().second++;
    else
      all.emplace_back(found.id, 1);
  }
  static ByteVector bytes_of_reply(const fs::ReadBytes& reply) {
    if (const auto* const range = std::get_if<fs::DescriptorRange>(&reply)) {
      ByteVector bytes(range->size);
      const ssize_t count = ::pread(range->descriptor, bytes.data(), bytes.size(), range->offset);
      bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      return bytes;
    }
    const auto& data = std::get<fs::ReplyData>(reply);
    ByteVector bytes(data.size());
    data.copy_to(bytes);
    return bytes;
  }

  InProcess& mount_;
  const int refused_;
  fs::RequestSlots slots_{4};
  int most_needs_ = 0, served_again_ = 0;
  std::string told_;
  /// By path: the nodes in the order of replies, and how many replies returned each.
  std::map<std::string, std::vector<std::pair<fs::NodeId, std::uint64_t>>> nodes_;
};

/// Does what a user does with a tree that has these files: "c", a frame of 300,000 bytes; "s", a
/// sparse frame; "t.txt", a plain file; "d" with the frames "d/0" and "d/1"; the store "dict".
void use_files(ServedRequests& ask, bool has_links) {
  const std::string note = "x", longer = "longer text";
  for (const char* const path : {"c", "s", "t.txt", "d", "d/0", "d/1", "dict", "dict/a.npy", "no"})
    ask.look_up(path);
  for (const char* const path : {"", "d", "dict"}) ask.list(path);
  for (const char* const path : {"c", "s", "t.txt", "d", "dict", "dict/a.npy"})
    ask.read_attributes(path);
  for (const char* const path : {"c", "s", "t.txt", "dict/a.npy"}) {
    const auto file = ask.open(path, O_RDONLY);
    ask.read(file, 0, 1);
    ask.read(file, 250'000, 50'000);
    ask.close(file);
  }
  const auto made = ask.create("new");
  ask.write(made, 0, "text");
  ask.sync(made);
  ask.write(made, 2, longer);
  ask.close(made);
  ask.look_up("new");
  ask.set_attribute("new", &note);
  ask.read_attributes("new");
  fs::NewAttributes wanted;
  wanted.mode = 0600;
  ask.set("new", wanted);
  ask.resize("c", 200'000);
  ask.resize("s", 400'000);
  const auto changed = ask.open("c", O_RDWR);
  ask.write(changed, 100'000, longer);
  ask.rename("c", "moved");
  ask.look_up("moved");
  ask.sync(changed);
  ask.close(changed);
  ask.rename("new", "d/0");
  ask.look_up("d/0");
  if (has_links) {
    ask.make_link("moved", "linked");
    ask.rename("moved", "s", RENAME_EXCHANGE);
    ask.look_up("moved");
    ask.look_up("s");
  }
  ask.make_directory("e");
  const auto inside = ask.create("e/one");
  ask.write(inside, 0, "one");
  ask.close(inside);
  ask.remove_directory("e");
  ask.remove("e/one");
  ask.sync_directory("e");
  ask.remove_directory("e");
  ask.remove("t.txt");
  ask.remove("d/1");
  ask.set_attribute("s", &note);
  ask.set_attribute("s", nullptr);
  ask.sync_directory("");
}

/// Describes all that can be seen of a tree.
void describe_served(InProcess& mount, const std::string& path, std::string& text) {
  for (const std::string& name : mount.names(path)) {
    const std::string inside = path.empty() ? name : path + "/" + name;
    const struct stat st = mount.stat(inside);
    text += fmt::format("{} {:o} {} {}\n", inside, st.st_mode, st.st_size, st.st_nlink);
    if (S_ISDIR(st.st_mode)) {
      describe_served(mount, inside, text);
      continue;
    }
    const ByteVector bytes = mount.read(inside);
    std::size_t sum = 0;
    for (const std::uint8_t byte : bytes) sum = sum * 31 + byte;
    text += fmt::format("  {} {}\n", bytes.size(), sum);
    for (const std::string& attribute : mount.attributes(inside)) text += "  " + attribute + "\n";
  }
}

/// The result of all requests. `told` has the replies, the tree as this mount and a later one show
/// it, and counters of what was stored.
struct ServedOutcome {
  std::string told;
  int most_needs = 0, served_again = 0;
};

ServedOutcome served_outcome_of(InProcess& mount, int refused, bool has_links) {
  ServedRequests requests(mount, refused);
  use_files(requests, has_links);
  requests.forget_all();
  ServedOutcome outcome{requests.told(), requests.most_needs(), requests.served_again()};
  mount->commit_written();
  describe_served(mount, {}, outcome.told);
  const fs::Stats& stats = mount->stats();
  outcome.told +=
      fmt::format("{} commits, {} failed, {} dirty, {} errors\n", stats.commits.load(),
                  stats.commit_failures.load(), stats.dirty_bytes.load(), stats.io_errors.load());
  mount.end();
  return outcome;
}

std::map<std::string, ByteVector> files_to_use() {
  Cut cut;
  cut.chunksize = 32'768;
  cut.vlmetalayers = {{"note", bytes_of("value")}};
  const fs_std::path stores = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores";
  return {{"c.b2frame", flat_frame(make_contents("noise", 1, kUsedSize, 1), cut)},
          {"d/0.b2frame", flat_frame("zero")},
          {"d/1.b2frame", flat_frame("one")},
          {"dict.b2z", read_file(stores / "dict.b2z")},
          {"t.txt", bytes_of("text")}};
}

ServedOutcome outcome_for_files(int refused) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  for (const auto& [name, bytes] : files_to_use()) write_file(source / name, bytes);
  write_sparse_frame(source / "s.b2frame", make_contents("noise", 2, kUsedSize, 1));
  for (const auto& entry : fs_std::recursive_directory_iterator(source.path()))
    fs_std::permissions(entry.path(), fs_std::perms(entry.is_directory() ? 0755 : 0644));
  SetClock clock;
  InProcess mount(source.path(), "commit=3600", clock);
  ServedOutcome outcome = served_outcome_of(mount, refused, true);
  InProcess later(source.path());
  describe_served(later, {}, outcome.told);
  return outcome;
}

ServedOutcome outcome_for_objects(int refused) {
  FakeStore store;
  for (const auto& [name, bytes] : files_to_use()) store.add(name, bytes);
  SetClock clock;
  {
    InProcess other(store.tree(true), {}, clock);
    other.write("s", make_contents("noise", 2, kUsedSize, 1));
    other.end();
  }
  InProcess mount(store.tree(true), "commit=3600", clock);
  ServedOutcome outcome = served_outcome_of(mount, refused, false);
  InProcess later(store.tree(true));
  describe_served(later, {}, outcome.told);
  return outcome;
}

/// Returns the first line that differs, and the line before it.
std::string first_difference(const std::string& one, const std::string& other) {
  std::istringstream ones(one), others(other);
  std::string before, line, expected;
  for (;;) {
    const bool has_line = static_cast<bool>(std::getline(ones, line));
    const bool has_expected = static_cast<bool>(std::getline(others, expected));
    if (!has_line && !has_expected) return {};
    if (!has_line) line = "nothing more";
    if (!has_expected) expected = "nothing more";
    if (line != expected) return before + ": " + line + ", not " + expected;
    before = line;
  }
}

void check_each_need(const std::function<ServedOutcome(int refused)>& outcome_for) {
  const ServedOutcome undisturbed = outcome_for(0);
  BOOST_TEST(undisturbed.served_again == 0);
  BOOST_TEST_REQUIRE(undisturbed.most_needs > 2);
  // The first try of a request may have filled caches. So the second one, and later requests, may
  // need fewer slots.
  for (int refused = 1; refused <= undisturbed.most_needs; refused++)
    BOOST_TEST_CONTEXT("no turn at need " << refused) {
      const ServedOutcome outcome = outcome_for(refused);
      BOOST_TEST(outcome.served_again > 0);
      BOOST_TEST(first_difference(outcome.told, undisturbed.told) == "");
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(served_again)

BOOST_AUTO_TEST_CASE(requests_for_files_leave_no_trace) { check_each_need(outcome_for_files); }

BOOST_AUTO_TEST_CASE(requests_for_objects_leave_no_trace) { check_each_need(outcome_for_objects); }

// Two threads are reserved for quick requests. Two requests that waited for locks without a slot
// would take both.
BOOST_AUTO_TEST_CASE(requests_need_a_slot_before_they_wait_for_another_program) {
  const TempDir source;
  write_file(source / "known.b2frame", flat_frame("known"));
  write_file(source / "other.b2frame", flat_frame("other"));
  std::vector<fs_std::path> sidecars{source / "known.b2frame.b2lock",
                                     source / "other.b2frame.b2lock"};
  for (const char* const name : {"sparse.b2frame", "unseen.b2frame"}) {
    write_sparse_frame(source / name, make_contents("noise", 2, kUsedSize, 1));
    sidecars.push_back(source / name / frame::kSframeLockName);
  }
  for (const fs_std::path& sidecar : sidecars) write_file(sidecar, ByteVector());
  InProcess mount(source.path());
  const auto known = mount.open("known"), sparse = mount.open("sparse");
  known.contents();
  const auto other = mount.find("other");

  std::vector<frame::UniqueFd> locked;
  for (const fs_std::path& sidecar : sidecars) {
    locked.emplace_back(::open(sidecar.c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST_REQUIRE(::flock(locked.back().get(), LOCK_EX | LOCK_NB) == 0);
  }
  // Makes a request that would wait for a lock fail at once.
  const frame::LockTimeout none(std::chrono::seconds(0));
  fs::RequestSlots slots(4);
  const auto gets_no_slot = [&](const std::function<void(fs::Request&)>& body) {
    RefusedRequest request(slots, mount.caller, 1);
    try {
      body(request);
    } catch (const fs::NoSlot&) {
      return true;
    }
    return false;
  };
  BOOST_TEST(gets_no_slot([&](auto& request) { known.handle().read(request, 0, 1); }));
  BOOST_TEST(gets_no_slot([&](auto& request) { sparse.handle().read(request, 0, 1); }));
  BOOST_TEST(gets_no_slot([&](auto& request) { mount->open(request, *other, O_RDONLY); }));
  BOOST_TEST(
      gets_no_slot([&](auto& request) { mount.source().lookup(request, fs::kRootId, "unseen"); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
