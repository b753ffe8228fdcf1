#pragma once
// A SOURCE that is a tree of objects at a URL.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/options/options.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/objects/later_removal.hpp"
#include "fs/source/objects/object_home.hpp"
#include "fs/source/objects/object_nodes.hpp"
#include "fs/source/objects/objects.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"

namespace bloscfs::fs {

/// Shows the objects of a URL. A node stands for one state of an object. If the object store has
/// another state, the node's operations throw ESTALE.
class RemoteSource final : public Source {
 public:
  /// `services` outlives this object. Throws if SOURCE cannot be shown.
  RemoteSource(const SourceServices& services, const std::shared_ptr<frame::ObjectTree>& tree,
               const MountOptions& options);

  bool is_writable() const override { return writable_; }

  std::optional<FoundNode> lookup(Request& request, NodeId id, const std::string& name) override;
  FoundNode reference(Request& request, NodeId id) override;
  NodeId parent(NodeId node) override { return nodes_.get(node).parent; }
  std::optional<std::vector<DirectoryEntry>> list(Request& request, NodeId id,
                                                  const OnManyEntries& on_many_entries) override;
  /// Returns no attributes, because those of each entry cost a request.
  std::optional<FoundNode> enter(Request&, NodeId, const DirectoryEntry&) override {
    return FoundNode{};
  }
  void forget(NodeId node, std::uint64_t references) override { nodes_.forget(node, references); }
  std::string read_link(Request& request, NodeId id) override;
  void require_listed(Request& request, NodeId directory) override;

  struct stat attributes(Request& request, NodeId id) override;
  void check_access(Request& request, NodeId node, int mask) override;
  /// Reports no sizes, because a store does not tell how much it holds.
  struct statvfs stat_filesystem() override;
  /// Returns the owner as far as it is known, without a request.
  uid_t owner(NodeId node) override { return base_status(nodes_.get(node)).st_uid; }
  std::string display_path(NodeId id) override;
  StoredForm stored_form(Request& request, NodeId id) override;
  bool is_over_network(NodeId) override { return true; }

  AttributeFacts attribute_facts(Request& request, NodeId id) override;
  std::shared_ptr<const frame::Snapshot> frame_of(Request& request, NodeId id) override;
  std::optional<std::string> group_attribute(Request& request, NodeId id,
                                             const std::string& name) override;
  void set_stored_attribute(Request& request, NodeId node, const std::string& name,
                            const std::string* value, int flags) override;

  OpenedFile open(Request& request, NodeId node, int flags, FairShare::Part descriptors) override;
  std::shared_ptr<const OpenContainer> opened(NodeId node) override {
    return nodes_.get(node).open_file.lock();
  }
  std::shared_ptr<const OpenContainer> open_container(Request& request, NodeId node,
                                                      bool for_change) override;
  void set_opened(NodeId node, const std::shared_ptr<const OpenContainer>& file) override {
    nodes_.set_opened(node, file);
  }
  std::shared_ptr<ContentHome> home(NodeId node) override {
    return std::make_shared<ObjectHome>(homes_, node);
  }
  Committer::Services committing() override;

  FoundNode create_file(Request& request, NodeId directory, const std::string& name,
                        mode_t mode) override;
  FoundNode make_directory(Request& request, NodeId directory, const std::string& name,
                           mode_t mode) override;
  FoundNode make_symlink(Request& request, NodeId directory, const std::string& name,
                         const std::string& target) override;
  FoundNode make_special(Request& request, NodeId directory, const std::string& name, mode_t mode,
                         dev_t device) override;
  FoundNode make_link(Request& request, NodeId node, NodeId directory,
                      const std::string& name) override;
  void remove_file(Request& request, NodeId directory, const std::string& name) override;
  void remove_directory(Request& request, NodeId directory, const std::string& name) override;
  void rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
              const std::string& to_name, unsigned flags) override;
  void sync_directory(Request& request, NodeId) override;
  /// Objects have no set-user-ID or set-group-ID bits.
  void drop_privileges(Request&, NodeId) override {}
  void set_attributes(Request& request, NodeId id, NewAttributes wanted) override;
  void resize(Request& request, NodeId node, std::int64_t size) override;

  std::string statistics() override {
    return to_json(services_.content.stats, objects_.tree().numbers());
  }
  bool tidy() override { return later_.begin_due(); }

 private:
  using Node = ObjectNode;
  /// A node that is being changed. `reference` keeps it.
  struct Held {
    NodeId id;
    Node node;
    std::shared_ptr<void> reference;
  };
  /// The result of opening a file: a container, or an object whose bytes are shown as they are.
  struct Opened {
    std::shared_ptr<const OpenContainer> container;
    std::shared_ptr<const frame::ObjectSource> object;  ///< null if there is a container
    struct stat attributes {};
  };

  Node directory(NodeId id) const;
  void make_root_of_store(Request& request);
  void follow_root(Request& request, NodeId id);
  FoundNode referred(Request& request, NodeId id);
  std::optional<std::pair<NodeId, LookPointer>> leading(const std::string& path) const;
  std::optional<FoundNode> lookup_in_archive(Request& request, NodeId parent, const Node& in,
                                             const std::string& name);
  std::shared_ptr<const Archive> archive_of(Request& request, const Node& node);
  ino_t inode_of(const Node& archive, const ArchiveEntry& entry) const;
  ino_t inode_of(const Node& node) const;
  struct stat base_status(const Node& node) const;
  struct stat status(const Node& node) const;
  Opened open_state(Request& request, NodeId id);
  std::shared_ptr<const OpenContainer> open_to_change(Request& request, NodeId id);

  // fs/source/objects/remote_changes.cpp

  void require_writable(const std::string& name) const;
  bool is_changeable(const Node& node) const;
  Node require_changeable(NodeId id);
  void require_present(Request& request, const Node& node);
  frame::ObjectState base_of(NodeId id, const Node& node) const;
  template <typename Work>
  auto change_state(NodeId id, const Node& node, const Work& change);
  LookPointer look_of_change(const std::string& path, const Node& node,
                             const frame::ObjectState& base, const frame::ObjectState& state);
  Node writable_directory(Request& request, NodeId id, const std::string& name) const;
  void require_free(Request& request, NodeId directory, const std::string& name,
                    const std::string& full_name);
  std::optional<Held> find_held(Request& request, NodeId directory, const std::string& name);
  Held find_to_change(Request& request, NodeId directory, const std::string& name);
  void remove_sent(const Change& change, NodeId id);
  std::string full_name_for(const Node& node, const std::string& name) const;

  const SourceServices& services_;
  const bool writable_;
  const unsigned connections_;
  const OwnerOverride owner_;
  const timespec began_;  ///< start of the mount; shown as the time of objects without a time
  LaterRemoval later_;
  Objects objects_;
  ObjectNodes nodes_;
  RecentlyUsed<LookPointer, Archive> archives_;  ///< by the look, which stands for one state
  const ObjectHome::Services homes_;
};

}  // namespace bloscfs::fs
