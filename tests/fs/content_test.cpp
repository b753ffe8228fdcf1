// Contents of files in a real directory: reads return what was written, before and after each
// commit.

#include "fs/content/content.hpp"

#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/temporary_name.hpp"
#include "fs/commit/committer.hpp"
#include "fs/commit/content_commit.hpp"
#include "fs/numpy/npy.hpp"
#include "fs/support/timestamps.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::fs {
namespace {

using test::ByteVector;

/// A home in which a file keeps its name; only a temporary is renamed, to its full name.
class Home : public ContentHome, public Takeover {
 public:
  Home(const std::filesystem::path& directory, std::string name, bool is_new) {
    place_.directory = frame::make_local_store(
        frame::UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), nullptr);
    names_.flat = name + ".b2frame";
    if (name.ends_with(".npy")) names_.array = name.substr(0, name.size() - 4) + ".b2nd";
    place_.name = names_.flat;
    if (!is_new) return;
    place_.name = frame::temporary_name();
    place_.is_temporary = true;
    place_.directory->create(place_.name, 0644);
  }

  std::unique_ptr<NameLock> lock_name(Request&) override { return std::make_unique<Lock>(*this); }
  std::string path() override { return place_.name; }
  bool is_in_place() override { return !is_replaced; }
  std::unique_ptr<SavedCopy> saved_copy(Request&, SavedCopyKind, ShownAs, uid_t) override {
    return nullptr;
  }
  Takeover& takeover() override { return *this; }
  Following follow(Request&, const MakeReady& make_ready) override {
    BOOST_TEST(make_ready(nullptr));
    is_replaced = false;
    if (while_following) while_following();
    return {};
  }
  void forget_pages(std::function<void()>) override {}
  const StoredPlace& place() const { return place_; }

  bool is_replaced = false;  ///< by another program
  std::function<void()> while_following;

 private:
  class Lock : public NameLock {
   public:
    explicit Lock(Home& home) : home_(home) {}
    const StoredPlace& place() const override { return home_.place_; }
    const RepresentationNames& names() override { return home_.names_; }
    std::string give_name(const std::string& stored_name, const bloscfs::frame::FileId&,
                          const std::string& full_name, ShownAs,
                          const std::function<bool()>&) override {
      StoredPlace& place = home_.place_;
      place.directory->rename(stored_name, full_name, frame::RenameMode::replace);
      if (place.name != stored_name && place.name != full_name) place.directory->unlink(place.name);
      place.name = full_name;
      place.is_temporary = false;
      return full_name;
    }
    bool refresh(const frame::FileStamp&) override { return true; }

   private:
    Home& home_;
  };
  StoredPlace place_;
  RepresentationNames names_;
};

/// The services that a mount gives to its contents.
struct Parts {
  explicit Parts(bool raw_views = false) : raw(raw_views) {
    Committer::Services services;
    services.ended = [this](uid_t user, const std::error_code& error) {
      budget.commit_ended(user, error);
    };
    services.sync_all = [this] { syncs++; };
    services.threads = 4;
    committer.start(std::move(services));
  }
  ContentServices services() { return {cache, stats, {}, pool, budget, options, raw, next_id}; }
  void commit(const std::shared_ptr<Content>& content) { committer.commit({content}); }

  Request request;
  std::atomic<int> syncs{0};
  Stats stats;
  PagePool pages;
  BlockCache cache{32 << 20, pages, stats};
  WriteOptions options;
  bool raw;
  std::atomic<std::uint64_t> next_id{1};
  DirtyBudget budget{8 << 20, stats, [this](bool all) { committer.press(all); }};
  WorkerPool pool{2};
  Committer committer{stats};
};

ByteVector bytes_of(const Content& content) {
  ByteVector all(static_cast<std::size_t>(content.size()));
  Request request;
  PagePool pages;
  ReplyData data(pages);
  content.read(request, 0, content.size(), data);
  data.copy_to(all);
  return all;
}

ByteVector reopened(Parts& parts, const test::TempDir& directory, const std::string& name) {
  std::shared_ptr<const frame::Snapshot> snapshot =
      frame::open_path((directory / name).string(), {});
  BOOST_REQUIRE(snapshot != nullptr);
  return bytes_of(Content(parts.request, parts.services(), snapshot));
}

/// Applies each random change to a content and to a model of it.
class ContentPair {
 public:
  ContentPair(std::shared_ptr<Content> content, std::uint64_t seed)
      : content_(std::move(content)), random_(seed) {}

  void change(std::int64_t largest) {
    const std::int64_t size = static_cast<std::int64_t>(model.size());
    const std::int64_t offset = number(0, std::min(size + 5000, largest));
    const std::int64_t length = number(1, 20000);
    const int what = static_cast<int>(number(0, 9));
    if (what == 0) {
      content_->resize(request_, offset);
      model.resize(static_cast<std::size_t>(offset));
    } else if (what == 1) {
      content_->zero(request_, offset, length * 20);
      const std::int64_t end = std::min(size, offset + length * 20);
      if (offset < end) std::fill(model.begin() + offset, model.begin() + end, std::uint8_t{0});
    } else {
      ByteVector bytes(static_cast<std::size_t>(length));
      const auto base = static_cast<std::uint8_t>(number(0, 255));
      for (std::size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<std::uint8_t>(base + i / 7 + (i * i % 13 == 0 ? i : 0));
      content_->write(request_, offset, bytes);
      if (offset + length > size) model.resize(static_cast<std::size_t>(offset + length));
      std::copy(bytes.begin(), bytes.end(), model.begin() + offset);
    }
  }
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  ByteVector model;

 private:
  Request request_;
  std::shared_ptr<Content> content_;
  std::mt19937_64 random_;
};

ByteVector npy_file(std::size_t rows, std::size_t columns) {
  const auto header = build_npy_header(
      "'<f4'", false, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
  ByteVector bytes = header.value();
  for (std::size_t i = 0; i < rows * columns; i++) {
    const float value = static_cast<float>(i % 1000) / 8;
    const auto* raw = reinterpret_cast<const std::uint8_t*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(content)

BOOST_AUTO_TEST_CASE(agrees_with_a_model_through_commits_and_reopening) {
  for (std::uint64_t seed = 1; seed <= 12; seed++) {
    const test::TempDir directory;
    Parts parts;
    auto content = std::make_shared<Content>(parts.services(), timespec{});
    const auto home = std::make_shared<Home>(directory.path(), "f", true);
    content->make_writable(parts.request, home);
    ContentPair pair(content, seed);
    for (int step = 0; step < 120; step++) {
      pair.change(1'500'000);
      const bool same = bytes_of(*content) == pair.model;
      BOOST_REQUIRE_MESSAGE(same, "seed " << seed << " step " << step << " before the commit");
      if (pair.number(0, 5) != 0) continue;
      parts.commit(content);
      const bool still = bytes_of(*content) == pair.model;
      BOOST_REQUIRE_MESSAGE(still, "seed " << seed << " step " << step << " after the commit");
      const bool stored = reopened(parts, directory, "f.b2frame") == pair.model;
      BOOST_REQUIRE_MESSAGE(stored, "seed " << seed << " step " << step << " opened again");
    }
  }
}

BOOST_AUTO_TEST_CASE(complete_npy_file_becomes_an_array_and_back) {
  const test::TempDir directory;
  Parts parts;
  auto content = std::make_shared<Content>(parts.services(), timespec{});
  const auto home = std::make_shared<Home>(directory.path(), "t.npy", true);
  content->make_writable(parts.request, home);
  const ByteVector file = npy_file(500, 300);
  content->add_writer();
  content->write(parts.request, 0, file);
  content->remove_writer();
  parts.commit(content);
  BOOST_TEST(home->place().name == "t.b2nd");
  BOOST_TEST((bytes_of(*content) == file));
  BOOST_TEST((reopened(parts, directory, "t.b2nd") == file));
  BOOST_TEST(content->snapshot()->info().array.has_value());

  ByteVector changed = file;
  changed[changed.size() - 5] ^= 0xFF;
  content->write(parts.request, static_cast<std::int64_t>(changed.size()) - 5,
                 {&changed[changed.size() - 5], 1});
  parts.commit(content);
  BOOST_TEST(home->place().name == "t.b2nd");
  BOOST_TEST((reopened(parts, directory, "t.b2nd") == changed));

  // Bytes that are cut off and then added again are zeros.
  const auto whole = static_cast<std::int64_t>(changed.size());
  content->resize(parts.request, whole - 5000);
  content->resize(parts.request, whole);
  std::fill(changed.end() - 5000, changed.end(), std::uint8_t{0});
  parts.commit(content);
  BOOST_TEST(home->place().name == "t.b2nd");
  BOOST_TEST((reopened(parts, directory, "t.b2nd") == changed));

  // Replaces the array by another one, in the way that numpy.save() does.
  const ByteVector other = npy_file(300, 200);
  content->add_writer();
  content->resize(parts.request, 0);
  content->write(parts.request, 0, other);
  content->remove_writer();
  parts.commit(content);
  BOOST_TEST(home->place().name == "t.b2nd");
  BOOST_TEST((reopened(parts, directory, "t.b2nd") == other));
  BOOST_TEST(content->snapshot()->info().array.has_value());

  changed = other;
  content->resize(parts.request, 1000);
  changed.resize(1000);
  parts.commit(content);
  BOOST_TEST(home->place().name == "t.npy.b2frame");
  BOOST_TEST((reopened(parts, directory, "t.npy.b2frame") == changed));
}

BOOST_AUTO_TEST_CASE(failed_commit_keeps_what_was_written) {
  const test::TempDir directory;
  Parts parts;
  auto content = std::make_shared<Content>(parts.services(), timespec{});
  const auto home = std::make_shared<Home>(directory.path(), "f", true);
  content->make_writable(parts.request, home);
  const ByteVector first(100000, 7);
  content->write(parts.request, 0, first);
  // The commit cannot open the temporary, which has been moved away.
  std::filesystem::rename(directory / home->place().name, directory / "elsewhere");
  BOOST_CHECK_THROW(parts.commit(content), std::system_error);
  BOOST_TEST((bytes_of(*content) == first));
  BOOST_TEST(content->needs_commit());
  content->write(parts.request, 5, ByteVector(10, 9));
  std::filesystem::rename(directory / "elsewhere", directory / home->place().name);
  parts.commit(content);
  ByteVector expected = first;
  std::fill_n(expected.begin() + 5, 10, std::uint8_t{9});
  BOOST_TEST((reopened(parts, directory, "f.b2frame") == expected));
}

BOOST_AUTO_TEST_CASE(a_batch_of_several_threads_stores_all_but_what_fails) {
  constexpr std::size_t kFiles = 40, kFailing = 17;
  const test::TempDir directory;
  Parts parts;
  Committer::Contents contents;
  std::vector<std::shared_ptr<Home>> homes;
  const auto bytes_of_file = [](std::size_t number) {
    return ByteVector(1000 + 700 * number, static_cast<std::uint8_t>(number));
  };
  for (std::size_t i = 0; i < kFiles; i++) {
    homes.push_back(std::make_shared<Home>(directory.path(), "f" + std::to_string(i), true));
    contents.push_back(std::make_shared<Content>(parts.services(), timespec{}));
    contents.back()->make_writable(parts.request, homes.back());
    contents.back()->write(parts.request, 0, bytes_of_file(i));
  }
  std::filesystem::remove(directory / homes[kFailing]->place().name);
  BOOST_CHECK_THROW(parts.committer.commit(contents), std::system_error);
  BOOST_TEST(parts.syncs == 2);
  for (std::size_t i = 0; i < kFiles; i++) BOOST_TEST_CONTEXT(i) {
      BOOST_TEST(contents[i]->needs_commit() == (i == kFailing));
      BOOST_CHECK(bytes_of(*contents[i]) == bytes_of_file(i));
      const std::string name = "f" + std::to_string(i) + ".b2frame";
      if (i != kFailing) BOOST_CHECK(reopened(parts, directory, name) == bytes_of_file(i));
    }
}

BOOST_AUTO_TEST_CASE(steps_of_a_commit_have_one_order) {
  const test::TempDir directory;
  Parts parts;
  auto content = std::make_shared<Content>(parts.services(), timespec{});
  content->make_writable(parts.request, std::make_shared<Home>(directory.path(), "f", true));
  const ByteVector bytes(100000, 7);
  content->write(parts.request, 0, bytes);
  {
    ContentCommit commit(content, CommitKind::alone);
    BOOST_CHECK(commit.begun() == Next::proceed);
    BOOST_CHECK_THROW(static_cast<void>(commit.publish()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.flush()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.flushed()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.finish()), std::logic_error);
    BOOST_CHECK(commit.write() == Next::proceed);
    BOOST_CHECK_THROW(static_cast<void>(commit.write()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.publish()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.finish()), std::logic_error);
    BOOST_CHECK(commit.flush() == Next::proceed);
    BOOST_CHECK_THROW(static_cast<void>(commit.flush()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.finish()), std::logic_error);
    BOOST_CHECK(commit.publish() == Next::proceed);
    BOOST_CHECK_THROW(static_cast<void>(commit.publish()), std::logic_error);
    BOOST_CHECK_THROW(static_cast<void>(commit.finish()), std::logic_error);
    BOOST_CHECK(commit.flush() == Next::proceed);
    BOOST_CHECK(commit.finish() == Next::proceed);
    BOOST_CHECK_THROW(static_cast<void>(commit.finish()), std::logic_error);
  }
  BOOST_TEST((reopened(parts, directory, "f.b2frame") == bytes));
  BOOST_CHECK(ContentCommit(content, CommitKind::alone).begun() == Next::nothing);
}

BOOST_AUTO_TEST_CASE(commit_that_ends_early_leaves_nothing_behind) {
  const test::TempDir directory;
  Parts parts;
  auto content = std::make_shared<Content>(parts.services(), timespec{});
  const auto home = std::make_shared<Home>(directory.path(), "t.npy", true);
  content->make_writable(parts.request, home);
  content->write(parts.request, 0, ByteVector(1000, 7));
  parts.commit(content);
  const ByteVector array = npy_file(500, 300);
  content->write(parts.request, 0, array);
  const auto stored_files = [&] {
    const std::filesystem::directory_iterator files(directory.path());
    return std::distance(begin(files), end(files));
  };
  {
    ContentCommit commit(content, CommitKind::alone);
    BOOST_CHECK(commit.write() == Next::proceed);
    BOOST_TEST(content->is_committing());
    BOOST_TEST(stored_files() == 2);  // the new array has a temporary
    // A write during a commit lies over the bytes that the commit stores.
    content->write(parts.request, 5, ByteVector(10, 9));
  }
  BOOST_TEST(!content->is_committing());
  BOOST_TEST(content->needs_commit());
  BOOST_TEST(stored_files() == 1);
  ByteVector expected = array;
  std::fill_n(expected.begin() + 5, 10, std::uint8_t{9});
  BOOST_TEST((bytes_of(*content) == expected));
  parts.commit(content);
  BOOST_TEST((reopened(parts, directory, "t.npy.b2frame") == expected));
}

BOOST_AUTO_TEST_CASE(what_was_cut_off_does_not_come_back) {
  const test::TempDir directory;
  Parts parts;
  auto content = std::make_shared<Content>(parts.services(), timespec{});
  content->make_writable(parts.request, std::make_shared<Home>(directory.path(), "f", true));
  ByteVector expected(1 << 20, 7);
  content->write(parts.request, 0, expected);
  parts.commit(content);
  BOOST_TEST((bytes_of(*content) == expected));  // puts its blocks into the cache
  content->resize(parts.request, 1000);
  content->resize(parts.request, 1 << 20);
  parts.commit(content);
  std::fill(expected.begin() + 1000, expected.end(), std::uint8_t{0});
  BOOST_TEST((bytes_of(*content) == expected));
  BOOST_TEST((reopened(parts, directory, "f.b2frame") == expected));
}

BOOST_AUTO_TEST_CASE(small_files_cost_less_than_256_bytes) {
  for (const std::size_t size : {0U, 1U, 100U, 4096U}) {
    const test::TempDir directory;
    Parts parts;
    auto content = std::make_shared<Content>(parts.services(), timespec{});
    content->make_writable(parts.request, std::make_shared<Home>(directory.path(), "f", true));
    std::mt19937 random(1);
    ByteVector noise(size);
    for (auto& byte : noise) byte = static_cast<std::uint8_t>(random());
    content->write(parts.request, 0, noise);
    parts.commit(content);
    BOOST_TEST(std::filesystem::file_size(directory / "f.b2frame") < size + 256);
  }
}

// A reader that opens the file at that moment must wait for the new state.
BOOST_AUTO_TEST_CASE(is_overtaken_until_it_has_gone_on) {
  const test::TempDir directory;
  Parts parts;
  const auto home = std::make_shared<Home>(directory.path(), "f", true);
  const auto content = std::make_shared<Content>(parts.services(), now());
  content->make_writable(parts.request, home);
  content->resize(parts.request, 10);
  parts.commit(content);
  bool was_overtaken = false;
  home->while_following = [&] { was_overtaken = content->is_overtaken(); };
  home->is_replaced = true;
  BOOST_TEST(content->is_overtaken());
  BOOST_CHECK(content->follow_source(parts.request) == FollowResult::yes);
  BOOST_TEST(was_overtaken);
  BOOST_TEST(!content->is_overtaken());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
