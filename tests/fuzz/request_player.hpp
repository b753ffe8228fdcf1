#pragma once
// Turns bytes into requests that a kernel could send. The kernel looks up names before it uses
// them, and checks the type of their files.

#include <cstdint>
#include <string>

#include "tests/fuzz/hostile_source.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/known_files.hpp"

namespace bloscfs::fuzz {

/// For one mount.
class RequestPlayer {
 public:
  RequestPlayer(FuseChannel& channel, HostileSource& source) : channel_(channel), source_(source) {}

  enum class End {
    input,    ///< all bytes are used, or there were very many requests
    unmount,  ///< another mount follows
    kill,     ///< another mount follows; uncommitted changes are lost
  };
  End play(InputReader& input);
  /// Closes all open files.
  void close_all();
  /// True if another program has changed SOURCE while it was mounted.
  bool source_has_changed() const { return source_has_changed_; }

 private:
  using Reply = FuseChannel::Reply;

  Reply ask(std::uint32_t opcode, std::uint64_t node, const FuseChannel::Parts& parts);
  void step(unsigned kind, InputReader& input);
  /// Adds the node of a reply. Returns true if the name exists.
  bool enter(const Reply& reply);
  KnownNode& directory(InputReader& input);
  static std::string name(InputReader& input);

  // names (name_requests.cpp)
  void look_up(InputReader& input);
  void make_file(InputReader& input);
  void make_other(InputReader& input);
  void remove(InputReader& input);
  void rename(InputReader& input);
  void link(InputReader& input);
  void list(InputReader& input);
  void forget(InputReader& input);
  void look_at(InputReader& input);

  // files (file_requests.cpp)
  void open(InputReader& input);
  void learn(KnownNode& node);
  void read(InputReader& input);
  void write(InputReader& input);
  void allocate(InputReader& input);
  void set_attributes(InputReader& input);
  void truncate(InputReader& input);
  void sync(InputReader& input);
  void seek(InputReader& input);
  void copy(InputReader& input);
  void close(InputReader& input);
  std::vector<std::uint8_t> bytes_to_write(InputReader& input) const;

  // extended attributes (attribute_requests.cpp)
  void get_attribute(InputReader& input);
  void set_attribute(InputReader& input);
  void list_attributes(InputReader& input);

  FuseChannel& channel_;
  HostileSource& source_;
  KnownFiles known_;
  uid_t user_ = 0;
  bool source_has_changed_ = false;
};

}  // namespace bloscfs::fuzz
