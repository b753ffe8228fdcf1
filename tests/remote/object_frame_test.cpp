// Tests what a host knows of a sparse frame in a store: the states of frame::ObjectFrame.

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "frame/store/object_frames.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/remote/fake_store.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/needs.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
using frame::test::errno_of;

constexpr const char* kFrame = "f.b2frame";

/// A tree whose next PUT may fail: either it is done but the answer is lost, or it is refused.
class FailingTree final : public frame::ObjectTree {
 public:
  enum class Put { answered, done, refused };

  explicit FailingTree(std::shared_ptr<frame::ObjectTree> tree) : tree_(std::move(tree)) {}

  Put next = Put::answered;

  const std::optional<std::string>& single() const override { return tree_->single(); }
  std::string url(const std::string& path) const override { return tree_->url(path); }
  using frame::ObjectTree::list;
  std::vector<frame::ObjectEntry> list(const std::string& path,
                                       frame::MemoryCharge& charge) override {
    return tree_->list(path, charge);
  }
  std::shared_ptr<const frame::ObjectSource> open(
      const std::string& path, const std::shared_ptr<const frame::ObjectSource>& known) override {
    return tree_->open(path, known);
  }
  bool is_writable() const override { return true; }
  frame::ObjectState put(const std::string& path, codec::Bytes bytes,
                         const frame::ObjectCondition& condition,
                         const std::map<std::string, std::string>& metadata) override {
    const Put now = std::exchange(next, Put::answered);
    if (now == Put::refused) frame::throw_errno(EIO, path);
    frame::ObjectState state = tree_->put(path, bytes, condition, metadata);
    if (now == Put::done) frame::throw_errno(EIO, path);
    return state;
  }
  void remove(const std::string& path, const frame::ObjectCondition& condition) override {
    tree_->remove(path, condition);
  }

 private:
  const std::shared_ptr<frame::ObjectTree> tree_;
};

/// A host that uses the frame.
struct Host {
  explicit Host(FakeStore& store)
      : tree(std::make_shared<FailingTree>(store.tree(true))),
        frames(std::make_shared<frame::ObjectFrames>(tree, [](const std::string&) {})),
        frame(frames->directory("")->open_directory(kFrame)) {}

  /// Writes an index of `size` bytes. Like sync() and remove(), returns the errno or 0.
  int commit(std::size_t size) {
    return errno_of([&] {
      const bool is_found = !has_tried && frame->stamp(frame::kSframeIndexName);
      const bool is_new = !is_found && !frames->own_state(kFrame);
      has_tried = true;
      const std::string name = is_new ? frame::kSframeIndexName : "new";
      frame->create(name, 0644)->write_at(0, ByteVector(size, 7));
      if (!is_new) frame->rename(name, frame::kSframeIndexName, frame::RenameMode::replace);
      frame->sync();
    });
  }
  int sync() {
    return errno_of([&] { frame->sync(); });
  }
  int remove() {
    return errno_of([&] {
      const auto own = frames->confirmed_own_state(kFrame);
      const std::string index = std::string(kFrame) + "/" + frame::kSframeIndexName;
      tree->remove_all(frames->remove(kFrame, own ? *own : tree->open(index, nullptr)->state()));
    });
  }
  /// Makes the host ask the store whether its last PUT was done.
  void ask() const { frames->directory("")->open_directory(kFrame); }
  /// Returns the size of the index that the host believes to be stored, or -1 if it is not sure.
  std::int64_t stored() const {
    const auto state = frames->own_state(kFrame);
    return state ? static_cast<std::int64_t>(state->size) : -1;
  }
  bool is_overtaken() const { return frames->is_overtaken(kFrame); }
  bool is_removed() const { return frames->is_removed(kFrame); }

  bool has_tried = false;
  std::shared_ptr<FailingTree> tree;
  std::shared_ptr<frame::ObjectFrames> frames;
  std::shared_ptr<frame::StoreDirectory> frame;
};

using Put = FailingTree::Put;

}  // namespace

BOOST_AUTO_TEST_SUITE(object_frame)

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_for) {
  FakeStore store;
  Host host(store);
  BOOST_TEST(host.commit(100) == 0);
  BOOST_TEST(host.stored() == 100);
  for (const Put put : {Put::done, Put::refused}) {
    host.tree->next = put;
    BOOST_TEST(host.commit(200) == EIO);
    BOOST_TEST(host.stored() == -1);
    BOOST_TEST(!host.is_overtaken());
    host.ask();
    BOOST_TEST(host.stored() == (put == Put::done ? 200 : 100));
    BOOST_TEST(host.commit(100) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_first_commit_that_was_not_stored_is_put_again) {
  FakeStore store;
  Host host(store);
  host.tree->next = Put::refused;
  BOOST_TEST(host.commit(100) == EIO);
  BOOST_TEST(host.stored() == -1);
  BOOST_TEST(host.sync() == 0);
  BOOST_TEST(host.stored() == 100);
}

BOOST_AUTO_TEST_CASE(whoever_is_overtaken_puts_nothing_any_more) {
  FakeStore store;
  Host host(store);
  BOOST_TEST(host.commit(100) == 0);
  Host other(store);
  BOOST_TEST(other.commit(200) == 0);
  BOOST_TEST(!host.is_overtaken());  // the host has not asked the store yet
  BOOST_TEST(host.commit(300) == ESTALE);
  BOOST_TEST(host.is_overtaken());
  BOOST_TEST(!host.is_removed());
  BOOST_TEST(host.stored() == -1);
  BOOST_TEST(host.commit(300) == ESTALE);
  BOOST_TEST(host.remove() == ESTALE);
  BOOST_TEST(other.commit(300) == 0);
}

BOOST_AUTO_TEST_CASE(another_host_may_put_what_an_unknown_put_did_not) {
  FakeStore store;
  Host host(store);
  BOOST_TEST(host.commit(100) == 0);
  host.tree->next = Put::refused;
  BOOST_TEST(host.commit(200) == EIO);
  Host other(store);
  BOOST_TEST(other.commit(300) == 0);
  host.ask();
  BOOST_TEST(host.is_overtaken());
}

BOOST_AUTO_TEST_CASE(a_removed_frame_is_not_put_again) {
  for (const Put put : {Put::answered, Put::done}) {
    FakeStore store;
    Host host(store);
    BOOST_TEST(host.commit(100) == 0);
    host.tree->next = put;
    BOOST_TEST(host.remove() == (put == Put::answered ? 0 : EIO));
    BOOST_TEST(host.sync() == ESTALE);  // asks the store whether the removal was done
    BOOST_TEST(host.commit(200) == ESTALE);
    BOOST_TEST(host.is_removed());
    BOOST_TEST(!host.is_overtaken());
    BOOST_TEST(host.stored() == (put == Put::answered ? 0 : -1));
    BOOST_TEST(store.objects() == 0U);
    // Another host makes a new frame, and a reader of the old frame does not find a chunk.
    Host other(store);
    BOOST_TEST(other.commit(300) == 0);
    BOOST_TEST(host.frame->open_source("00000001.chunk") == nullptr);
    BOOST_TEST(host.is_removed());
    BOOST_TEST(host.is_overtaken());
    BOOST_TEST(host.commit(200) == ESTALE);
  }
}

BOOST_AUTO_TEST_SUITE_END()
