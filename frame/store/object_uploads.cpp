#include "frame/store/object_uploads.hpp"

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "frame/store/object_index.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline store {

/// Limits the bytes of all uploads under way. An upload larger than the limit runs alone.
class ObjectUploads::Room {
 public:
  explicit Room(std::size_t most) : most_(most) {}

  void take(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    Interruption::wait(changed_, lock, [&] { return taken_ == 0 || taken_ + bytes <= most_; });
    taken_ += bytes;
  }
  void give_back(std::size_t bytes) {
    const std::lock_guard guard(mutex_);
    taken_ -= bytes;
    changed_.notify_all();
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_ = 0;
};

struct ObjectUploads::Upload::Sent {
  std::string path;
  std::vector<std::uint8_t> bytes;  ///< only put() changes them, before the call ends
  std::shared_ptr<void> memory;
  std::atomic<bool> taken{false};

  void put(ObjectTree& tree) {
    const std::string id = new_commit_id();
    try {
      tree.put(path, bytes, {ObjectCondition::Kind::absent, {}}, {{kMark, "chunk"}, {kCommit, id}});
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE)) {
        drop();
        throw;
      }
      // An earlier attempt of this PUT may have stored the object, and its answer was lost.
      if (!is_stored_as(tree, id)) {
        taken = true;
        throw_errno(EEXIST, path);
      }
    }
    drop();
  }
  bool is_stored_as(ObjectTree& tree, const std::string& id) const {
    try {
      return commit_of(tree.open(path, nullptr)->state()) == id;
    } catch (const std::system_error&) {
      return false;
    }
  }
  void drop() {
    bytes = {};
    memory.reset();
  }
};

bool ObjectUploads::Upload::is_taken() const { return sent_->taken; }

Bytes ObjectUploads::Upload::bytes() const { return is_taken() ? Bytes(sent_->bytes) : Bytes(); }

ObjectUploads::ObjectUploads(ObjectTree& tree, UploadSettings settings)
    : tree_(tree),
      settings_(std::move(settings)),
      room_(std::make_shared<Room>(settings_.bytes)),
      calls_(settings_.at_once) {}

std::unique_ptr<ObjectUploads::Upload> ObjectUploads::begin(const std::string& path, Bytes bytes) {
  room_->take(bytes.size());
  const std::shared_ptr<void> room(
      nullptr, [room = room_, size = bytes.size()](void*) { room->give_back(size); });
  auto sent = std::make_shared<Upload::Sent>();
  sent->path = path;
  if (settings_.take_memory) sent->memory = settings_.take_memory(bytes.size());
  sent->bytes.assign(bytes.begin(), bytes.end());
  auto upload = std::make_unique<Upload>();
  upload->sent_ = sent;
  upload->call_ = calls_.begin([&tree = tree_, sent, room] { sent->put(tree); });
  return upload;
}

}  // namespace bloscfs::frame::inline store
