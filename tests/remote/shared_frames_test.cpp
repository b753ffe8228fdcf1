// Tests sparse frames in an object store, without a mount.

#include "frame/sframe/shared_frames.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "frame/store/sframe_names.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// A tree that plays another host: it changes the index `from` when the host under test puts `to`.
class Intruder final : public frame::ObjectTree {
 public:
  Intruder(frame::ObjectTree& tree, std::string from, std::string to)
      : tree_(tree), from_(std::move(from)), to_(std::move(to)) {}

  const std::optional<std::string>& single() const override { return tree_.single(); }
  std::string url(const std::string& path) const override { return tree_.url(path); }
  using frame::ObjectTree::list;
  std::vector<frame::ObjectEntry> list(const std::string& path,
                                       frame::MemoryCharge& charge) override {
    return tree_.list(path, charge);
  }
  std::shared_ptr<const frame::ObjectSource> open(
      const std::string& path, const std::shared_ptr<const frame::ObjectSource>& known) override {
    return tree_.open(path, known);
  }
  bool is_writable() const override { return true; }
  frame::ObjectState put(const std::string& path, codec::Bytes bytes,
                         const frame::ObjectCondition& condition,
                         const std::map<std::string, std::string>& metadata) override {
    if (path == std::exchange(to_, path == to_ ? std::string() : to_)) {
      const auto source = tree_.open(from_, nullptr);
      ByteVector index(source->state().size);
      source->read_exactly_at(0, index, "index");
      index.back() ^= 1;  // the last byte belongs to the fingerprint
      tree_.put(from_, index, {}, source->state().metadata);
    }
    return tree_.put(path, bytes, condition, metadata);
  }
  void remove(const std::string& path, const frame::ObjectCondition& condition) override {
    tree_.remove(path, condition);
  }
  void copy(const std::string& from, const std::string& to) override { tree_.copy(from, to); }

 private:
  frame::ObjectTree& tree_;
  const std::string from_;
  std::string to_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(shared_frames, *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(a_rename_that_comes_too_late_loses_neither_file) {
  const StorePlace place;
  {
    ObjectMount mount(place);
    BOOST_TEST(errno_of_writing(mount / "from", 0, "new text") == 0);
    BOOST_TEST(errno_of_writing(mount / "to", 0, "old text") == 0);
  }
  const auto frames = std::make_shared<frame::ObjectFrames>(
      std::make_shared<Intruder>(place.tree(), "from.b2frame/chunks.b2frame",
                                 "to.b2frame/chunks.b2frame"),
      [](const std::string&) {});
  const frame::ObjectState base =
      place.tree().open("from.b2frame/chunks.b2frame", nullptr)->state();
  const frame::ObjectState old = place.tree().open("to.b2frame/chunks.b2frame", nullptr)->state();
  BOOST_CHECK_THROW(
      frame::rename_shared_frame(*frames, {"from.b2frame", base, nullptr}, "to.b2frame",
                                 frame::KnownFrame{"to.b2frame", old, nullptr}, true),
      std::system_error);
  const ObjectMount reader(place);
  BOOST_TEST(file_text(reader / "from") == "new text");
  BOOST_TEST(file_text(reader / "to") == "old text");
}

BOOST_AUTO_TEST_CASE(an_old_commit_makes_sure_of_its_chunks) {
  const StorePlace place;
  const auto frames = std::make_shared<frame::ObjectFrames>(
      std::shared_ptr<frame::ObjectTree>(&place.tree(), [](frame::ObjectTree*) {}),
      [](const std::string&) {}, std::chrono::seconds(0));
  const ByteVector bytes(100, 7);
  for (const bool is_swept : {false, true}) {
    const std::string name = is_swept ? "swept.b2frame" : "whole.b2frame";
    const auto frame = frames->directory("")->open_directory(name);
    const auto chunk = frame->create("00000001.chunk", 0644);
    chunk->write_at(0, bytes);
    chunk->sync();
    frame->create("chunks.b2frame", 0644)->write_at(0, bytes);
    if (is_swept) place.tree().remove(name + "/00000001.chunk", {});
    if (is_swept)
      BOOST_CHECK_THROW(frame->sync(), std::system_error);
    else
      BOOST_CHECK_NO_THROW(frame->sync());
    BOOST_TEST(place.objects().count(name + "/chunks.b2frame") == (is_swept ? 0U : 1U));
  }
}

BOOST_AUTO_TEST_SUITE_END()
