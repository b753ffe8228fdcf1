// Tests the uploads of chunks of sparse frames to a store.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/sframe/shared_frames.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/wait_context.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/needs.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;

constexpr std::size_t kChunk = 4096;

/// A new frame in a store. `removed` collects the paths that the store is to remove later.
struct NewFrame {
  explicit NewFrame(FakeStore& from, frame::UploadSettings uploads = {})
      : store(from),
        frames(std::make_shared<frame::ObjectFrames>(
            from.tree(true), [this](const std::string& path) { removed.push_back(path); },
            frame::ObjectFrames::kSafeAge, std::move(uploads))) {
    frame::FrameSettings settings;
    settings.chunksize = kChunk;
    frame::WriterSettings shared;
    shared.shared = true;
    writer = frame::create_sframe(frames->directory(""), "new.b2frame", settings, shared);
  }

  void put(frame::Transaction& transaction, std::int64_t number) const {
    codec::ChunkEncoder encoder({});
    transaction.put_chunk(number, encoder.encode_stored(make_contents(
                                      "noise", static_cast<std::uint64_t>(number), kChunk, 1)));
  }
  void commit(std::int64_t chunks) const {
    const auto transaction = writer->begin();
    transaction->resize(chunks * std::int64_t{kChunk});
    for (std::int64_t i = 0; i < chunks; i++) put(*transaction, i);
    transaction->commit();
  }
  /// Returns the paths of the chunks that the index names.
  std::set<std::string> named() const {
    const auto paths = frame::chunks_of_shared_frame(*frames, "new.b2frame");
    return {paths.begin(), paths.end()};
  }
  void check_all_there(std::int64_t chunks) const {
    BOOST_TEST(named().size() == static_cast<std::size_t>(chunks));
    for (const std::string& path : named())
      BOOST_TEST(frames->tree().open(path, nullptr)->state().size > kChunk / 2, path);
  }

  FakeStore& store;
  std::vector<std::string> removed;
  std::shared_ptr<frame::ObjectFrames> frames;
  std::unique_ptr<frame::FrameWriter> writer;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(uploads)

BOOST_AUTO_TEST_CASE(several_chunks_are_under_way_at_once_and_the_index_comes_last) {
  FakeStore store;
  const NewFrame made(store);
  StoreFaults faults;
  faults.chunks_together = 4;
  store.set_faults(faults);
  made.commit(20);
  BOOST_TEST(store.most_chunks_together() >= 4);
  BOOST_TEST(store.most_chunks_together() <= 8);
  BOOST_TEST(!store.put_chunk_behind_index());
  made.check_all_there(20);
}

BOOST_AUTO_TEST_CASE(what_is_under_way_is_bounded) {
  FakeStore store;
  frame::UploadSettings uploads;
  uploads.bytes = 3 * kChunk;
  std::size_t taken = 0, most = 0;
  std::mutex mutex;
  uploads.take_memory = [&](std::size_t bytes) {
    const std::lock_guard guard(mutex);
    most = std::max(most, taken += bytes);
    return std::shared_ptr<void>(nullptr, [&, bytes](void*) {
      const std::lock_guard lock(mutex);
      taken -= bytes;
    });
  };
  {
    const NewFrame made(store, uploads);
    made.commit(20);
    BOOST_TEST(taken == 0U);
    made.check_all_there(20);
  }
  BOOST_TEST(most > kChunk);
  BOOST_TEST(most <= 3 * kChunk);
}

BOOST_AUTO_TEST_CASE(a_number_that_is_taken_is_left_to_who_has_it) {
  FakeStore store;
  const NewFrame made(store);
  StoreFaults faults;
  faults.taken_chunks = 5;
  store.set_faults(faults);
  made.commit(60);
  made.check_all_there(60);
  BOOST_TEST(store.objects_of_others() == 5U);
  BOOST_TEST(made.removed.empty());
}

BOOST_AUTO_TEST_CASE(a_chunk_whose_answer_was_lost_is_not_stored_again) {
  FakeStore store;
  const NewFrame made(store);
  StoreFaults faults;
  faults.lost_answers = 3;
  store.set_faults(faults);
  made.commit(10);
  made.check_all_there(10);
  BOOST_TEST(made.frames->tree().list("new.b2frame").size() == 10U + 1U);
}

BOOST_AUTO_TEST_CASE(no_index_names_a_chunk_that_was_refused) {
  FakeStore store;
  const NewFrame made(store);
  StoreFaults faults;
  faults.refused_chunks = 1;
  for (const std::int64_t chunks : {1, 60}) {
    store.set_faults(faults);
    BOOST_CHECK_EXCEPTION(made.commit(chunks), std::system_error,
                          [](const auto& error) { return error.code() == std::errc(EACCES); });
    BOOST_CHECK_THROW(made.named(), std::system_error);
  }
  made.commit(60);
  made.check_all_there(60);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_is_put_again_leaves_none_behind) {
  FakeStore store;
  NewFrame made(store);
  const auto transaction = made.writer->begin();
  transaction->resize(2 * std::int64_t{kChunk});
  for (const std::int64_t number : {0, 1, 0}) made.put(*transaction, number);
  transaction->commit();
  made.check_all_there(2);
  BOOST_TEST(made.removed.size() == 1U);
  BOOST_TEST(!made.named().contains(made.removed.front()));
}

BOOST_AUTO_TEST_CASE(who_looks_while_an_index_is_under_way_may_give_up) {
  FakeStore store;
  const NewFrame made(store);
  made.commit(2);
  const auto index = made.frames->tree().open("new.b2frame/chunks.b2frame", nullptr);
  StoreFaults faults;
  faults.index_delay = std::chrono::seconds(3);
  store.set_faults(faults);
  const int before = store.indexes_begun();
  std::atomic<bool> is_committed{false};
  std::thread committing([&] {
    made.commit(3);
    is_committed = true;
  });
  BOOST_TEST(comes_true([&] { return store.indexes_begun() > before; }));
  int asked = 0;
  const frame::Interruption interruption([&] {
    if (++asked > 2) throw std::runtime_error("killed");
  });
  BOOST_CHECK_THROW(made.frames->frame("new.b2frame", index), std::runtime_error);
  BOOST_TEST(!is_committed);
  committing.join();
}

BOOST_AUTO_TEST_SUITE_END()
