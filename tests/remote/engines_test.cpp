// Mounts stores that behave as the engines in frame/remote/README.md, according to their documents.

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "tests/remote/fake_store.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/needs.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

MountSettings settings_of(const FakeStore& store, std::vector<std::string> options) {
  options.insert(options.end(),
                 {"endpoint=" + store.endpoint(), "anonymous", "chunk_size=16K", "revalidate=0"});
  MountSettings settings;
  settings.options = std::move(options);
  return settings;
}

class EngineMount : public Mount {
 public:
  explicit EngineMount(const FakeStore& store, std::vector<std::string> options = {"rw", "create"})
      : Mount("s3://bucket/in", settings_of(store, std::move(options))) {}
};

/// Returns the message with which the daemon refuses the store, or "mounted".
std::string refusal_of(const FakeStore& store) {
  try {
    EngineMount mount(store);
    // The daemon probes the store only after the kernel has mounted.
    return mount.wait(Seconds(60)) ? mount.log() : "mounted";
  } catch (const MountRefused& refused) {
    return refused.result.err;
  }
}

ProcessResult collect(const FakeStore& store, const Arguments& options) {
  Arguments arguments{b2frame_program(), "gc",      "--endpoint",    store.endpoint(),
                      "--anonymous",     "--force", "s3://bucket/in"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run(arguments);
}

/// Runs `b2frame gc`, and checks that it removes the superseded chunks that ended hosts have left.
void collect_leftovers(const FakeStore& store) {
  const std::size_t before = store.objects();
  const ProcessResult tried = collect(store, {"--dry-run"});
  BOOST_TEST(tried.ok(), tried.description());
  BOOST_TEST(store.objects() == before);
  const ProcessResult collected = collect(store, {});
  BOOST_TEST(collected.ok(), collected.description());
  BOOST_TEST(store.objects() == 0U, collected.out);
}

void create_append_rename_and_remove(const FakeStore& store) {
  const std::string text = noise(1, 40'000);
  EngineMount mount(store);
  BOOST_TEST(errno_of_writing(mount / "one", 0, text) == 0);
  BOOST_TEST(errno_of_writing(mount / "one", 40'000, "more") == 0);
  BOOST_TEST(::rename((mount / "one").c_str(), (mount / "two").c_str()) == 0, "errno " << errno);
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"two"}));
  BOOST_TEST((file_text(EngineMount(store) / "two") == text + "more"));
  BOOST_TEST(::unlink((mount / "two").c_str()) == 0);
  BOOST_TEST(errno_of_writing(mount / "two", 0, "new") == 0);
  BOOST_TEST(file_text(EngineMount(store) / "two") == "new");
  BOOST_TEST(::unlink((mount / "two").c_str()) == 0);
  BOOST_TEST(mount.unmount().ok());
}

void one_of_two_hosts_wins(const FakeStore& store) {
  EngineMount left(store), right(store);
  BOOST_TEST(errno_of_writing(left / "file", 0, "first") == 0);
  const Fd fd(::open((left / "file").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(::pwrite(fd.get(), "LEFT", 4, 0) == 4);
  BOOST_TEST(errno_of_writing(right / "file", 5, " second") == 0);
  errno = 0;
  BOOST_TEST(::fsync(fd.get()) == -1);
  BOOST_TEST(errno == ESTALE);
  BOOST_TEST(file_text(EngineMount(store) / "file") == "first second");
  const auto conflicts = conflicts_in(EngineMount(store).path());
  BOOST_TEST_REQUIRE(conflicts.size() == 1U);
  BOOST_TEST(file_text(right / conflicts.front()) == "LEFTt");
  BOOST_TEST(::unlink((right / conflicts.front()).c_str()) == 0);
  BOOST_TEST(::unlink((right / "file").c_str()) == 0);
}

void check_listing(FakeStore& store, const EngineMount& mount) {
  for (int number = 0; number < 1001; number++)
    store.add(fmt::format("many/key {:04}+\u00fc.txt", number), {'x'});
  const std::vector<std::string> names = names_in(mount / "many");
  BOOST_TEST(names.size() == 1001U);
  BOOST_TEST(names.front() == "key 0000+\u00fc.txt");
  BOOST_TEST(file_text(mount / "many" / names.back()) == "x");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(engines, *utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(that_keep_conditions_are_written_to) {
  for (const StoreTraits& traits :
       {kAws, kAwsUntil2025, kMinio, kR2, kCeph16, kCephTentacle, kWithoutMultiDelete}) {
    BOOST_TEST_CONTEXT(traits.name) {
      FakeStore store(traits);
      create_append_rename_and_remove(store);
      one_of_two_hosts_wins(store);
      collect_leftovers(store);
      check_listing(store, EngineMount(store));
    }
  }
}

BOOST_AUTO_TEST_CASE(that_keep_none_are_refused_for_writing) {
  for (const auto& [traits, check] : std::vector<std::pair<StoreTraits, std::string>>{
           {kGcs, "If-None-Match: * does not fail for a key that exists"},
           {kMinioUntil2025, "If-Match does not fail for a key that does not exist"}}) {
    BOOST_TEST_CONTEXT(traits.name) {
      FakeStore store(traits);
      const std::string said = refusal_of(store);
      BOOST_TEST(said.find("the store cannot be written to safely: " + check) != std::string::npos,
                 said);
      BOOST_TEST(std::count(said.begin(), said.end(), '\n') == 1, said);
      BOOST_TEST(store.objects() == 0U);
      store.add("x", {'x'});
      check_listing(store, EngineMount(store, {}));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
