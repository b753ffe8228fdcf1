// Several hosts write to one object store. Some hosts are killed while they write, and some stores
// fail.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <future>
#include <set>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/sframe/leftovers.hpp"
#include "tests/remote/failing_gateway.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/remote/store_chunks.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/pause.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

frame::Leftovers sweep(const StorePlace& place, std::chrono::seconds age) {
  return frame::remove_leftovers(
      std::shared_ptr<frame::ObjectTree>(&place.tree(), [](frame::ObjectTree*) {}), age);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(object_hosts, *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(of_two_commits_one_wins_and_the_other_is_kept_beside) {
  const StorePlace place;
  const std::string before = noise(1, 9'000'000);
  ObjectMount left(place);
  BOOST_TEST(errno_of_writing(left / "one", 0, before) == 0);
  ObjectMount right(place);
  const Fd one(::open((left / "one").c_str(), O_RDWR | O_CLOEXEC));
  const Fd other(::open((right / "one").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(::pwrite(one.get(), "left", 4, 4'500'000) == 4);
  BOOST_TEST(::pwrite(other.get(), "right", 5, 100) == 5);
  BOOST_TEST(::fsync(one.get()) == 0);
  BOOST_TEST(::fsync(other.get()) == -1);
  BOOST_TEST(errno == ESTALE);
  std::string of_left = before, of_right = before;
  of_left.replace(4'500'000, 4, "left");
  of_right.replace(100, 5, "right");
  const ObjectMount third(place);
  const auto conflicts = conflicts_in(third.path());
  BOOST_TEST_REQUIRE(conflicts.size() == 1U);
  BOOST_TEST((file_text(third / "one") == of_left));
  BOOST_TEST((file_text(third / conflicts.front()) == of_right));
  BOOST_TEST(comes_true([&] { return file_text(right / "one") == of_left; }));
  BOOST_TEST(left.complaints() == "");
  BOOST_TEST(right.log().find("changed by another program") != std::string::npos);
  BOOST_TEST(right.log().find(conflicts.front()) != std::string::npos, right.log());
  BOOST_TEST(right.log().find("with zeros") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_taken_back_keeps_its_contents) {
  const StorePlace place;
  ObjectMount mount(place);
  const std::string contents = noise(4, 5'000'000);
  BOOST_TEST(errno_of_writing(mount / "one", 0, contents) == 0);
  BOOST_TEST(::rename((mount / "one").c_str(), (mount / "two").c_str()) == 0);
  // The store has no old chunks any more, so no pending removal can hit chunks of the new index.
  BOOST_TEST(::rename((mount / "two").c_str(), (mount / "one").c_str()) == 0);
  BOOST_TEST((file_text(mount / "one") == contents));
  // If the store has a chunk with such a number, another host may still remove these numbers. The
  // mount then refuses the name.
  const std::string chunk =
      chunks_of(place).present.begin()->substr(std::string("one.b2frame").size());
  place.tree().put("two.b2frame" + chunk, ByteVector(1), {}, {});
  BOOST_TEST(::rename((mount / "one").c_str(), (mount / "two").c_str()) == -1);
  BOOST_TEST(errno == EXDEV);
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"one"}));
}

/// The lines that one host has appended to a file to which all hosts append.
struct Appended {
  std::vector<std::string> acknowledged, refused;
};

Appended append_until(const fs_std::path& path, const std::string& who,
                      std::chrono::steady_clock::time_point end) {
  Appended done;
  for (int number = 0; std::chrono::steady_clock::now() < end; number++) {
    const std::string line = fmt::format("{} {}\n", who, number);
    const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) continue;
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0) continue;
    const auto size = static_cast<ssize_t>(line.size());
    if (::pwrite(fd.get(), line.data(), line.size(), st.st_size) != size) continue;
    (::fsync(fd.get()) == 0 ? done.acknowledged : done.refused).push_back(line);
  }
  return done;
}

BOOST_AUTO_TEST_CASE(nothing_that_was_acknowledged_is_lost) {
  const char* const wanted = std::getenv("BLOSCFS_TEST_RACE_SECONDS");
  const std::chrono::seconds duration(wanted != nullptr ? std::atoi(wanted) : 2);
  const StorePlace place;
  std::vector<Appended> done;
  {
    ObjectMount left(place, {"revalidate=0"}), right(place, {"revalidate=0"});
    BOOST_TEST(errno_of_writing(left / "one", 0, "begin\n") == 0);
    const auto end = std::chrono::steady_clock::now() + duration;
    auto other = std::async(std::launch::async, append_until, right / "one", "right", end);
    done.push_back(append_until(left / "one", "left", end));
    done.push_back(other.get());
    BOOST_TEST(left.unmount().status == 0);
    BOOST_TEST(right.unmount().status == 0);
  }
  const ObjectMount reader(place);
  const std::string last = file_text(reader / "one");
  std::string conflicts;
  for (const std::string& name : conflicts_in(reader.path())) conflicts += file_text(reader / name);
  std::size_t acknowledged = 0;
  for (const Appended& host : done) {
    for (const std::string& line : host.acknowledged)
      BOOST_TEST(last.find("\n" + line) != std::string::npos, "acknowledged and lost: " << line);
    for (const std::string& line : host.refused)
      BOOST_TEST((last + conflicts).find(line) != std::string::npos, "thrown away: " << line);
    acknowledged += host.acknowledged.size();
  }
  BOOST_TEST(acknowledged > 0U);
  const Chunks chunks = chunks_of(place);
  for (const std::string& chunk : chunks.named) BOOST_TEST(chunks.present.count(chunk) == 1U);
}

BOOST_AUTO_TEST_CASE(a_host_that_is_killed_leaves_no_more_than_chunks_that_nobody_names) {
  const StorePlace place;
  std::map<std::string, std::string> acknowledged;
  for (int round = 0; round < 3; round++) {
    ObjectMount mount(place);
    std::atomic<bool> is_ended{false};
    std::atomic<int> written = 0;
    std::minstd_rand random{static_cast<unsigned>(round) + 1};
    const auto writing = std::async(std::launch::async, [&] {
      for (int i = 0; !is_ended; i++) {
        const std::string name = fmt::format("file-{}", i % 4);
        const std::string contents = noise(static_cast<std::uint64_t>(100 * round + i), 600'000);
        if (errno_of_writing(mount / name, 0, contents, O_TRUNC) != 0) return;
        // After the kill, the file may lie in the directory below the mount.
        if (!is_ended) acknowledged[name] = contents;
        written++;
      }
    });
    comes_true([&] { return written > round % 3; });
    pause_at_random(random, std::chrono::milliseconds(500));
    is_ended = true;
    mount.signal(SIGKILL);
    mount.wait(Seconds(10));
    force_unmount(mount.path());
    writing.wait();
  }
  ProcessSettings settings;
  settings.environment = place.environment();
  for (const auto& [path, state] : place.objects()) {
    if (!path.ends_with("/chunks.b2frame")) continue;
    const std::string frame = place.source() + "/" + path.substr(0, path.rfind('/'));
    const ProcessResult verified =
        run({b2frame_program(), "verify", "--endpoint", shared_rgw().endpoint(), frame}, settings);
    BOOST_TEST(verified.ok(), verified.out << verified.description());
  }
  Chunks chunks = chunks_of(place);
  for (const std::string& chunk : chunks.named) BOOST_TEST(chunks.present.count(chunk) == 1U);
  const ObjectMount reader(place);
  for (const auto& [name, contents] : acknowledged)
    BOOST_TEST(file_text(reader / name).size() == contents.size(), name);
  BOOST_TEST(collect(place, {"--force"}).ok());
  chunks = chunks_of(place);
  BOOST_TEST((chunks.present == chunks.named));
}

BOOST_AUTO_TEST_CASE(a_commit_whose_answer_is_lost_counts_once) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {}, gateway.endpoint());
  for (int round = 0; round < 4; round++) {
    gateway.lost_answers = 1 + round % 2;
    gateway.lost_chunk_answers = round / 2;
    const std::string contents = fmt::format("round {} of some text", round);
    BOOST_TEST(errno_of_writing(mount / "one", 0, contents) == 0);
    BOOST_TEST(gateway.lost_answers == 0);
    const ObjectMount other(place);
    BOOST_TEST(file_text(other / "one") == contents);
    BOOST_TEST((names_in(other.path()) == std::vector<std::string>{"one"}));
  }
  gateway.lost_answers = 1;
  BOOST_TEST(::chmod((mount / "one").c_str(), 0600) == 0);
  gateway.lost_answers = 1;
  BOOST_TEST(::rename((mount / "one").c_str(), (mount / "two").c_str()) == 0);
  gateway.lost_answers = 1;
  BOOST_TEST(::unlink((mount / "two").c_str()) == 0);
  BOOST_TEST(names_in(mount.path()).empty());
  const ObjectMount other(place);
  BOOST_TEST(names_in(other.path()).empty());
}

BOOST_AUTO_TEST_CASE(a_slow_and_busy_store_is_waited_for) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {}, gateway.endpoint());
  gateway.delay_ms = 50;
  for (int round = 0; round < 3; round++) {
    gateway.busy = 3;
    BOOST_TEST(errno_of_writing(mount / "one", 0, noise(5, 9'000'000)) == 0);
  }
  gateway.busy = 2;
  const ObjectMount other(place);
  BOOST_TEST((file_text(other / "one") == noise(5, 9'000'000)));
  BOOST_TEST((names_in(other.path()) == std::vector<std::string>{"one"}));
}

BOOST_AUTO_TEST_CASE(what_was_written_while_the_store_was_down_is_committed_when_it_is_back) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1"}, gateway.endpoint());
  const Fd fd(::open((mount / "one").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  gateway.is_down = true;
  BOOST_TEST(::pwrite(fd.get(), "behind", 6, 0) == 6);
  BOOST_TEST(::fsync(fd.get()) == -1);
  BOOST_TEST((errno == EIO || errno == ETIMEDOUT), "errno " << errno);
  std::string read(6, 0);
  BOOST_TEST(::pread(fd.get(), read.data(), 6, 0) == 6);
  BOOST_TEST(read == "behind");
  gateway.is_down = false;
  BOOST_TEST(::fsync(fd.get()) == 0);
  const ObjectMount other(place);
  BOOST_TEST(file_text(other / "one") == "behind");
  BOOST_TEST((names_in(other.path()) == std::vector<std::string>{"one"}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_sent_in_the_end_is_kept_as_a_frame) {
  const StorePlace place;
  const TempDir cache;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1", "disk_cache=" + (cache / "kept").string()},
                    gateway.endpoint());
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text", 0, false) == 0);
  gateway.is_down = true;
  mount.unmount();
  BOOST_TEST(mount.log().find("one.unsent-") != std::string::npos, mount.log());
  std::vector<std::string> kept;
  for (const std::string& name : names_in(cache / "kept"))
    if (name.starts_with("one.unsent-")) kept.push_back(name);
  BOOST_TEST_REQUIRE(kept.size() == 1U);
  const ProcessResult result =
      run({b2frame_program(), "cat", (cache / "kept" / kept.front()).string()});
  BOOST_TEST(result.out == "some text", result.description());
}

BOOST_AUTO_TEST_CASE(without_a_disk_cache_it_is_told_what_is_lost) {
  const StorePlace place;
  FailingGateway gateway(shared_rgw().port());
  ObjectMount mount(place, {"retry_time=1"}, gateway.endpoint());
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text", 0, false) == 0);
  gateway.is_down = true;
  BOOST_TEST(mount.unmount().status != 0);
  BOOST_TEST(mount.log().find("one") != std::string::npos, mount.log());
}

BOOST_AUTO_TEST_CASE(gc_removes_what_nobody_needs_and_nothing_else) {
  const StorePlace place;
  const std::string contents = noise(6, 9'000'000);
  {
    ObjectMount mount(place);
    BOOST_TEST(::mkdir((mount / "in").c_str(), 0755) == 0);
    for (const char* name : {"one", "in/two", "in/gone"})
      BOOST_TEST(errno_of_writing(mount / name, 0, contents) == 0);
    BOOST_TEST(errno_of_writing(mount / "one", 5'000'000, "changed") == 0);
    BOOST_TEST(::unlink((mount / "in/gone").c_str()) == 0);
  }
  const ByteVector some(10, 1);
  const std::map<std::string, std::string> own{{"bloscfs", "chunk"}}, tombstone{{"commit", "17"}};
  place.tree().put("in/unfinished.b2frame/0000000A.chunk", some, {}, own);
  place.tree().put("in/removed.b2frame/chunks.b2frame", {}, {}, tombstone);
  place.tree().put("in/others.b2frame/0000000A.chunk", some, {}, {});
  place.tree().put(".bloscfs-probe-0", some, {}, {});
  place.tree().put("in/plain", some, {}, {});
  place.tree().put("in/damaged.b2frame/chunks.b2frame", some, {}, {});
  place.tree().put("in/damaged.b2frame/0000000A.chunk", some, {}, {});
  // Without --force, gc removes no object that is younger than a day.
  const auto before = place.objects();
  const ProcessResult young = collect(place);
  BOOST_TEST(young.status == 1, young.description());
  BOOST_TEST(young.err.find("damaged.b2frame") != std::string::npos, young.err);
  BOOST_TEST(place.objects().size() == before.size());
  const ProcessResult dry = collect(place, {"--force", "--dry-run"});
  for (const char* path : {"in/unfinished.b2frame/0000000A.chunk\n", ".bloscfs-probe-0\n",
                           "in/removed.b2frame/chunks.b2frame\n", "removed files: 1\n"})
    BOOST_TEST(dry.out.find(path) != std::string::npos, path << " in " << dry.out);
  BOOST_TEST(place.objects().size() == before.size());
  const ProcessResult forced = collect(place, {"--force"});
  BOOST_TEST(forced.status == 1, forced.description());
  BOOST_TEST(forced.out.find("removed files: 1\n") != std::string::npos, forced.out);
  BOOST_TEST(forced.out.find("probes: 1\n") != std::string::npos, forced.out);
  place.tree().remove("in/damaged.b2frame/chunks.b2frame", {});
  BOOST_TEST(place.objects().count("in/damaged.b2frame/0000000A.chunk") == 1U);
  place.tree().remove("in/damaged.b2frame/0000000A.chunk", {});
  BOOST_TEST(place.objects().count("in/others.b2frame/0000000A.chunk") == 1U);
  place.tree().remove("in/others.b2frame/0000000A.chunk", {});
  const Chunks chunks = chunks_of(place);
  BOOST_TEST((chunks.present == chunks.named));
  for (const auto& [path, state] : place.objects())
    BOOST_TEST((path == "in/plain" || path.starts_with("one.b2frame/") ||
                path.starts_with("in/two.b2frame/")),
               path);
  const ObjectMount reader(place);
  BOOST_TEST((file_text(reader / "in/two") == contents));
  BOOST_TEST((names_in(reader / "in") == std::vector<std::string>{"plain", "two"}));
  BOOST_TEST(sweep(place, std::chrono::seconds(0)).chunks == 0U);
}

BOOST_AUTO_TEST_CASE(chunks_that_no_index_names_are_no_entry) {
  const StorePlace place;
  const ByteVector some(10, 1);
  place.tree().put("in/begun.b2frame/0000000A.chunk", some, {}, {});
  place.tree().put("in/begun.b2nd/0000000A.chunk", some, {}, {});
  place.tree().put("in/other.b2frame/text", some, {}, {});
  ObjectMount mount(place);
  for (const char* name : {"begun", "begun.b2frame", "begun.npy", "begun.b2nd"})
    BOOST_TEST(errno_of_reading(mount / "in" / name) == ENOENT, name);
  BOOST_TEST((names_in(mount / "in") == std::vector<std::string>{"other"}));
  BOOST_TEST(errno_of_writing(mount / "in/begun", 0, "some text") == 0);
  BOOST_TEST(file_text(ObjectMount(place) / "in/begun") == "some text");
}

BOOST_AUTO_TEST_CASE(gc_leaves_what_is_younger_than_its_age) {
  const StorePlace place;
  const std::string contents = noise(7, 5'000'000);
  const ByteVector some(10, 1);
  ObjectMount mount(place);
  const std::map<std::string, std::string> own{{"bloscfs", "chunk"}}, tombstone{{"commit", "17"}};
  BOOST_TEST(errno_of_writing(mount / "kept", 0, contents) == 0);
  place.tree().put("gone early.b2frame/chunks.b2frame", {}, {}, tombstone);
  for (const char* path : {"in/early.b2frame/0000000A.chunk", "kept.b2frame/0000000B.chunk"})
    place.tree().put(path, some, {}, own);
  std::this_thread::sleep_for(std::chrono::seconds(7));
  place.tree().put("gone late.b2frame/chunks.b2frame", {}, {}, tombstone);
  for (const char* path : {"in/late.b2frame/0000000A.chunk", "kept.b2frame/0000000C.chunk"})
    place.tree().put(path, some, {}, own);
  sweep(place, std::chrono::seconds(6));
  const auto left = place.objects();
  const auto has = [&](const char* path) { return left.count(path) != 0; };
  for (const char* path : {"in/early.b2frame/0000000A.chunk", "kept.b2frame/0000000B.chunk",
                           "gone early.b2frame/chunks.b2frame"})
    BOOST_TEST(!has(path), path);
  for (const char* path : {"in/late.b2frame/0000000A.chunk", "kept.b2frame/0000000C.chunk",
                           "gone late.b2frame/chunks.b2frame", "kept.b2frame/chunks.b2frame"})
    BOOST_TEST(has(path), path);
  BOOST_TEST(file_text(ObjectMount(place) / "kept") == contents);
}

BOOST_AUTO_TEST_CASE(b2frame_reads_sparse_frames) {
  const StorePlace place;
  {
    ObjectMount mount(place);
    BOOST_TEST(errno_of_writing(mount / "one", 0, "some text") == 0);
    BOOST_TEST(errno_of_writing(mount / "gone", 0, "some text") == 0);
    BOOST_TEST(::unlink((mount / "gone").c_str()) == 0);
  }
  const auto cat = [&](const std::string& name) {
    ProcessSettings settings;
    settings.environment = place.environment();
    return run({b2frame_program(), "cat", "--endpoint", shared_rgw().endpoint(),
                place.source() + "/" + name},
               settings);
  };
  BOOST_TEST(cat("one.b2frame").out == "some text");
  BOOST_TEST(cat("gone.b2frame").err.find("No such file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_was_removed_is_no_source) {
  const StorePlace place;
  {
    ObjectMount mount(place);
    BOOST_TEST(errno_of_writing(mount / "gone", 0, "some text") == 0);
    BOOST_TEST(::unlink((mount / "gone").c_str()) == 0);
  }
  const TempDir point;
  for (const char* access : {"ro", "rw"}) {
    MountSettings wanted = place.settings({access});
    std::erase(wanted.options, "create");
    Arguments command{bloscfs_program()};
    for (const std::string& option : wanted.options) command.insert(command.end(), {"-o", option});
    command.insert(command.end(), {place.source() + "/gone.b2frame", point.path().string()});
    ProcessSettings settings;
    settings.environment = wanted.environment;
    const ProcessResult refused = run(command, settings);
    BOOST_TEST(refused.status == 1, access << ": " << refused.description());
    BOOST_TEST(refused.err.find("No such file") != std::string::npos, refused.err);
    BOOST_TEST(!is_mounted(point.path()), access);
    force_unmount(point.path());
  }
}

BOOST_AUTO_TEST_CASE(gc_is_for_object_stores_only) {
  const TempDir local;
  BOOST_TEST(run({b2frame_program(), "gc", local.path()}).status == 2);
  BOOST_TEST(run({b2frame_program(), "gc", "http://127.0.0.1:1/"}).status == 2);
}

BOOST_AUTO_TEST_SUITE_END()
