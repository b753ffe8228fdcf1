#pragma once
// A container that a commit writes next to the file's present one, to replace it.

#include <memory>
#include <string>
#include <utility>

#include "frame/container/frame_writer.hpp"
#include "fs/content/content_home.hpp"

namespace bloscfs::fs {

/// The destructor removes the container's temporary unless keep() was called. For one thread.
class NewContainer {
 public:
  enum class Where {
    new_temporary,  ///< under a new temporary's name
    own_temporary,  ///< in the temporary that the file has had since it was created, and that is
                    ///< empty
    unnamed,        ///< without a name, since the file has none any more
    by_name,        ///< under its final name, for StoredPlace::is_shared
  };
  /// `name` is only used for by_name. `shown` says how the container will be shown. Throws the
  /// errors of frame::create_cframe.
  NewContainer(const frame::FrameSettings& settings, ShownAs shown, const StoredPlace& place,
               Where where, const std::string& name, const frame::WriterSettings& writer_settings);
  ~NewContainer();
  NewContainer(const NewContainer&) = delete;
  NewContainer& operator=(const NewContainer&) = delete;

  ShownAs shown() const { return shown_; }
  frame::FrameWriter& writer() { return *writer_; }
  std::unique_ptr<frame::FrameWriter> take_writer() { return std::move(writer_); }
  const std::string& name() const { return name_; }
  /// True if a rename of the file does not move the container.
  bool is_in_new_temporary() const { return where_ == Where::new_temporary; }
  /// To be called when the container has become the file's container. The destructor then leaves it
  /// in place.
  void keep() { directory_ = nullptr; }
  /// Removes the container's name. The container may still be used.
  void remove_name() noexcept;

 private:
  const ShownAs shown_;
  const Where where_;
  std::string name_;
  std::shared_ptr<frame::StoreDirectory> directory_;  ///< the directory to remove it from; null: it
                                                      ///< is not removed
  std::unique_ptr<frame::FrameWriter> writer_;
};

}  // namespace bloscfs::fs
