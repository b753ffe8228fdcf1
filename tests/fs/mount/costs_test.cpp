// What operations cost, in numbers that are the same on every machine: requests to an object store,
// reads and system calls of local files, and memory for each file that the kernel knows.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/fs/mount/call_counter.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/kernel_side.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/set_clock.hpp"
#include "tests/support/source_lock.hpp"

namespace {
std::atomic<int> seconds_ahead{0};
}

/// Moves the wall clock of the whole test program. The mount judges a file again as long as it
/// changed less than 2 s ago, and no program can set a file's time of change.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += seconds_ahead;
  return static_cast<int>(result);
}

namespace bloscfs::test {
namespace {

constexpr std::size_t kContentsSize = 300'000;

std::string frame_name(int i) { return fmt::format("d/{:02}", i); }

/// Returns the example files by their names in SOURCE.
std::map<std::string, ByteVector> example_files() {
  Cut cut;
  cut.chunksize = 32'768;
  cut.vlmetalayers = {{"note", bytes_of("value")}};
  const fs_std::path stores = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores";
  std::map<std::string, ByteVector> files{
      {"c.b2frame", flat_frame(make_contents("noise", 1, kContentsSize, 1), cut)},
      {"dict.b2z", read_file(stores / "dict.b2z")},
      {"t.txt", bytes_of("text")}};
  for (int i = 0; i < 20; i++) files[frame_name(i) + ".b2frame"] = flat_frame("text");
  return files;
}

struct Operation {
  const char* name;
  const char* requests;  ///< to an object store
  const char* reads;     ///< of local files of SOURCE
  int calls;             ///< most system calls for local files
  void (*work)(KernelSide&);
};

/// These operations follow each other in one mount. A comment says what its requests are for.
const std::vector<Operation> kOperations{
    // GET: the first 64 KiB, with the header that says what the file is; and the end, with the
    // index of its chunks. Both are needed, since a vlmetalayer may make it an array.
    {"first lookup of a frame", "2 GET", "2 of 8192 bytes", 13, [](KernelSide& k) { k.node("c"); }},
    {"second lookup", "none", "none", 4, [](KernelSide& k) { k.look_up("c"); }},
    // GET: asks whether the object is unchanged.
    {"lookup a minute later", "1 GET", "none", 4, [](KernelSide& k) { k.look_up_later("c"); }},
    {"stat", "none", "none", 2,
     [](KernelSide& k) { k.source.attributes(k.mount.request(), k.node("c")); }},
    // The byte is in the first 64 KiB. The mount reads the vlmetalayers to see whether they say
    // that contents are missing.
    {"open it, read 1 byte", "none", "7 of 24865 bytes", 16,
     [](KernelSide& k) { k.file.emplace(k.open("c")).read(0, 1); }},
    {"read that byte by another handle", "none", "none", 3,
     [](KernelSide& k) { k.open("c").read(0, 1); }},
    // GET: the bytes between the first 64 KiB and the end.
    {"read all of it", "1 GET", "27 of 284048 bytes", 57,
     [](KernelSide& k) { k.open("c").read(0, kContentsSize); }},
    {"read all of it again", "none", "none", 3,
     [](KernelSide& k) { k.open("c").read(0, kContentsSize); }},
    {"close it, open it, read 1 byte", "none", "7 of 24865 bytes", 18,
     [](KernelSide& k) { k.file.reset(), k.open("c").read(0, 1); }},
    {"list and read its extended attributes", "none", "7 of 8380 bytes", 19,
     [](KernelSide& k) { k.read_attributes("c"); }},
    {"list and read them again", "none", "none", 5, [](KernelSide& k) { k.read_attributes("c"); }},
    // GET: the chunks.b2frame of the frame.
    {"first lookup of a sparse frame", "1 GET", "2 of 224 bytes", 22,
     [](KernelSide& k) { k.node("s"); }},
    // GET: the block, and the blocks around it.
    {"open that, read 1 byte", "1 GET", "4 of 16660 bytes", 39,
     [](KernelSide& k) { k.open("s").read(0, 1); }},
    // GET: the whole file, up to 64 KiB.
    {"first lookup of a plain file", "1 GET", "1 of 4 bytes", 10,
     [](KernelSide& k) { k.node("t.txt"); }},
    {"open that, read 1 byte", "none", "none", 6,
     [](KernelSide& k) { k.open("t.txt").read(0, 1); }},
    // LIST: the directory.
    {"lookup of a missing name", "1 LIST", "none", 3,
     [](KernelSide& k) { k.mount.has("missing"); }},
    {"second lookup of it", "none", "none", 3, [](KernelSide& k) { k.mount.has("missing"); }},
    // LIST: the directory.
    {"list a directory of 20 frames", "1 LIST", "20 of 4160 bytes", 193,
     [](KernelSide& k) { k.mount.names("d"); }},
    {"list it again", "none", "none", 37, [](KernelSide& k) { k.mount.names("d"); }},
    {"list it with attributes", "none", "none", 77,
     [](KernelSide& k) { k.list_with_attributes("d"); }},
    // GET: each frame, as for the first lookup above.
    {"list it, look up each frame", "20 GET", "none", 157,
     [](KernelSide& k) { k.look_up_all("d"); }},
    // GET: the whole file, up to 64 KiB.
    {"list a .b2z store", "1 GET", "21 of 29853 bytes", 50,
     [](KernelSide& k) { k.mount.names("dict"); }},
    {"list it again", "none", "none", 6, [](KernelSide& k) { k.mount.names("dict"); }},
    {"read a leaf of the store", "none", "6 of 6566 bytes", 53,
     [](KernelSide& k) { k.open("dict/a.npy").read(0, 1000); }},
    {"read the leaf again", "none", "3 of 3283 bytes", 40,
     [](KernelSide& k) { k.open("dict/a.npy").read(0, 1000); }},
    // PUT: the object of the directory. LIST: then its parent and the new directory.
    {"mkdir", "2 LIST, 1 PUT", "none", 14, [](KernelSide& k) { k.make_directory("e"); }},
    // LIST: asks whether the directory is empty. DELETE: its object.
    {"rmdir", "1 DELETE, 1 LIST", "none", 35, [](KernelSide& k) { k.remove_directory("e"); }},
    // LIST: asks whether the name is free.
    {"create a file, write to it", "1 LIST", "none", 14, [](KernelSide& k) { k.create("new"); }},
    // PUT: the chunk and the index.
    {"commit that", "2 PUT", "none", 28, [](KernelSide& k) { k.commit(); }},
    // LIST: the directory, which has changed.
    {"look it up", "1 LIST", "none", 7, [](KernelSide& k) { k.look_up("new"); }},
    // GET: the chunk.
    {"read it", "1 GET", "2 of 340 bytes", 9, [](KernelSide& k) { k.open("new").contents(); }},
    // GET: the chunk. PUT: the chunk and the index.
    {"overwrite it, commit", "1 GET, 2 PUT", "7 of 825 bytes", 57,
     [](KernelSide& k) { k.overwrite("new"); }},
    // GET: asks whether the index is unchanged; and the chunk, twice. PUT: the chunk and the index.
    {"change a byte of a sparse frame, commit", "3 GET, 2 PUT", "4 of 65872 bytes", 169,
     [](KernelSide& k) { k.change("s"); }},
    {"set an extended attribute", "none", "2 of 459 bytes", 17,
     [](KernelSide& k) { k.set_attribute("new"); }},
    // PUT: the index.
    {"commit that", "1 PUT", "3 of 291 bytes", 137, [](KernelSide& k) { k.commit(); }},
    // GET: the index, twice. PUT: the index.
    {"chmod", "2 GET, 1 PUT", "1 of 298 bytes", 14, [](KernelSide& k) { k.chmod("new"); }},
    // GET: the index. PUT: a copy of the chunk, the index, and a tombstone for the old name.
    // DELETE: the tombstone.
    {"rename", "1 DELETE, 1 GET, 3 PUT", "2 of 596 bytes", 36,
     [](KernelSide& k) { k.rename("new", "other"); }},
    // LIST: the directory. PUT and DELETE: the tombstone.
    {"remove", "1 DELETE, 1 LIST, 1 PUT", "none", 9, [](KernelSide& k) { k.remove("other"); }},
};

/// `counted` returns the counts since its last call.
void check_each(InProcess& mount, SetClock& clock, const std::function<std::string()>& counted,
                const char* Operation::*expected) {
  KernelSide kernel{mount, clock};
  counted();
  for (const Operation& operation : kOperations) {
    operation.work(kernel);
    BOOST_TEST_CONTEXT(operation.name) BOOST_TEST(counted() == operation.*expected);
  }
}

bool removes_many(const HttpRequest& request) { return request.head.starts_with("POST "); }

/// Returns the number of requests of each kind, from the request number `begin` on. Leaves out
/// requests that remove many objects, which the daemon sends in the background.
std::string describe(const std::vector<HttpRequest>& requests, std::size_t begin) {
  std::map<std::string, int> counts;
  for (std::size_t i = begin; i < requests.size(); i++) {
    const std::string line = requests[i].head.substr(0, requests[i].head.find('\r'));
    if (removes_many(requests[i])) continue;
    const bool has_query = line.find('?') != std::string::npos;
    counts[has_query ? "LIST" : line.substr(0, line.find(' '))]++;
  }
  std::string text;
  for (const auto& [method, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, method);
  return text.empty() ? "none" : text;
}

/// A mount of local files. Its search for leftovers has ended, since that takes memory.
struct LocalMount : InProcess {
  LocalMount(const fs_std::path& source, const frame::Clock& clock) : InProcess(source, {}, clock) {
    BOOST_TEST_REQUIRE(comes_true([&] { return is_swept(lock_file_in(source)); }));
  }
};

/// A mount of the example files. The moved clock makes them older than 2 s.
struct LocalExamples {
  LocalExamples() {
    fs_std::create_directory(directory / "d");
    for (const auto& [name, bytes] : example_files()) write_file(directory / name, bytes);
    write_sparse_frame(directory / "s.b2frame", make_contents("noise", 2, kContentsSize, 1));
    seconds_ahead = 3600;
    mount.emplace(directory.path(), clock);
  }
  ~LocalExamples() { seconds_ahead = 0; }
  LocalExamples(const LocalExamples&) = delete;
  LocalExamples& operator=(const LocalExamples&) = delete;

  const TempDir directory;
  SetClock clock;
  std::optional<LocalMount> mount;
};

/// Small files, which are stored as "00000" and so on with `stored_end`, and shown with
/// `shown_end`.
struct ManyFiles {
  std::size_t count;
  std::string stored_end, shown_end;
  ByteVector bytes;

  static std::string number(std::size_t i) { return fmt::format("{:05}", i); }
  void make(const std::function<void(const std::string&, const ByteVector&)>& write) const {
    for (std::size_t i = 0; i < count; i++) write(number(i) + stored_end, bytes);
  }
  /// Returns the bytes of memory for each file after the kernel has looked up all of them, and
  /// nothing has used them for a while.
  std::size_t memory_of_each(InProcess& mount) const {
    const auto in_use = [] {
      const struct mallinfo2 info = ::mallinfo2();
      return info.uordblks + info.hblkhd;
    };
    mount.has("missing");
    const std::size_t before = in_use();
    for (std::size_t i = 0; i < count; i++)
      static_cast<void>(
          mount.source().lookup(mount.request(), fs::kRootId, number(i) + shown_end).value());
    while (mount.source().tidy()) continue;
    return (in_use() - before) / count;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(costs)

BOOST_AUTO_TEST_CASE(requests_to_an_object_store) {
  FakeStore store;
  SetClock clock;
  for (const auto& [name, bytes] : example_files()) store.add(name, bytes);
  {
    InProcess other(store.tree(true), {}, clock);
    other.write("s", make_contents("noise", 2, kContentsSize, 1));
    other.end();
  }
  InProcess mount(store.tree(true), {}, clock);
  std::size_t begin = 0;
  const auto counted = [&] {
    const auto requests = store.seen();
    return describe(requests, std::exchange(begin, requests.size()));
  };
  check_each(mount, clock, counted, &Operation::requests);
  // The daemon removes replaced chunks when readers on other hosts no longer need them.
  clock.move(std::chrono::minutes(11));
  mount.source().tidy();
  BOOST_TEST(comes_true([&] {
    const auto requests = store.seen();
    return requests.size() > begin && removes_many(requests.back());
  }));
  BOOST_TEST(describe(store.seen(), begin) == "none");
}

BOOST_AUTO_TEST_CASE(reads_of_local_files) {
  LocalExamples examples;
  const frame::SourceCounters& source = (*examples.mount)->stats().source;
  std::uint64_t reads = 0, bytes = 0;
  const auto counted = [&] {
    const std::uint64_t more = source.reads - reads, more_bytes = source.bytes - bytes;
    reads += more;
    bytes += more_bytes;
    return more == 0 ? std::string("none") : fmt::format("{} of {} bytes", more, more_bytes);
  };
  check_each(*examples.mount, examples.clock, counted, &Operation::reads);
}

BOOST_AUTO_TEST_CASE(system_calls_for_local_files,
                     *boost::unit_test::precondition(needs_call_counts)) {
  // Takes the fewest calls in three mounts, since a process makes some calls only once.
  std::vector<int> fewest(kOperations.size(), std::numeric_limits<int>::max());
  for (int round = 0; round < 3; round++) {
    LocalExamples examples;
    const CallCounter calls;
    KernelSide kernel{*examples.mount, examples.clock};
    for (std::size_t i = 0; i < kOperations.size(); i++) {
      const int before = calls.count();
      kOperations[i].work(kernel);
      fewest[i] = std::min(fewest[i], calls.count() - before);
    }
  }
  for (std::size_t i = 0; i < kOperations.size(); i++)
    BOOST_TEST_CONTEXT(kOperations[i].name) BOOST_TEST(fewest[i] <= kOperations[i].calls);
}

BOOST_AUTO_TEST_CASE(memory_for_each_file_that_the_kernel_knows,
                     *boost::unit_test::precondition(needs_plain_build)) {
  const SetClock clock;
  const auto of_local = [&](const ManyFiles& files) {
    const TempDir source;
    files.make([&](auto& name, auto& bytes) { write_file(source / name, bytes); });
    LocalMount mount(source.path(), clock);
    return files.memory_of_each(mount);
  };
  const auto of_objects = [&](const ManyFiles& files) {
    FakeStore store({}, false);
    files.make([&](auto& name, auto& bytes) { store.add(name, bytes); });
    InProcess mount(store.tree(true), {}, clock);
    return files.memory_of_each(mount);
  };
  // Limits are 10 % above the measured values. There are so many objects because their connections
  // take memory, too.
  BOOST_TEST(of_local({5'000, ".txt", ".txt", bytes_of("text")}) <= 277U);
  BOOST_TEST(of_local({2'000, ".b2frame", "", flat_frame("text")}) <= 265U);
  BOOST_TEST(of_objects({4'000, ".txt", ".txt", bytes_of("text")}) <= 869U);
  BOOST_TEST(of_objects({4'000, ".b2frame", "", flat_frame("text")}) <= 878U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
