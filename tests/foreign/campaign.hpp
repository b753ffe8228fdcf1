#pragma once
// Random steps on a mount and on its SOURCE, in alternation, like two programs that do not know of
// each other.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/foreign/oracle.hpp"
#include "tests/support/mount.hpp"

namespace bloscfs::test {

class Campaign {
 public:
  Campaign(std::uint64_t seed, const std::string& option);
  /// Throws Violation, which lists the previous steps.
  void run(std::uint64_t steps);
  /// Returns how often each kind of step was done.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  std::uint64_t conflicts() const { return conflicts_; }

 private:
  struct StepKind {
    std::string name;
    int weight;
    bool (Campaign::*act)(FileOracle&);  ///< returns false if the step does not apply
  };
  static const std::vector<StepKind>& kinds();
  void step();

  // Steps on the mount.
  bool open_writer(FileOracle& file);
  bool write(FileOracle& file);
  bool resize(FileOracle& file);
  bool sync(FileOracle& file);
  bool close(FileOracle& file);
  bool rewrite(FileOracle& file);
  bool set_layer(FileOracle& file);
  bool set_times(FileOracle& file);
  bool look(FileOracle& file);
  bool remove(FileOracle& file);
  bool rename(FileOracle& file);
  bool rest(FileOracle& file);

  // Steps on SOURCE.
  bool replace(FileOracle& file);
  bool copy_over(FileOracle& file);
  bool edit(FileOracle& file);
  bool append_by_peer(FileOracle& file);
  bool remove_in_source(FileOracle& file);
  bool remove_what_it_replaces(FileOracle& file) const;

  /// Runs `change` while the daemon is stopped.
  void overtake(FileOracle& file, bool keeps_file,
                const std::function<void(const fs_std::path&)>& change);
  void write_to_overtaken(FileOracle& file, Writer& writer, std::size_t offset,
                          const ByteVector& bytes);
  int sync_overtaken(FileOracle& file, Writer& writer);
  void expect_stale_error(const FileOracle& file, Writer& writer, int error, const char* what);
  void notice(FileOracle& file, Writer* told);
  std::optional<ByteVector> take_conflict(const FileOracle& file);
  void check_contents(FileOracle& file);
  void check_layers(const FileOracle& file);
  void await_commit(const FileOracle& file) const;
  void check_stored(const FileOracle& file);
  std::string description_in_source(const FileOracle& file) const;
  bool is_in_source(const FileOracle& file) const;
  /// Adds a note to the current step in the trace.
  void note(const std::string& what);
  Writer* any_writer(FileOracle& file);
  ByteVector random_bytes(std::size_t most);
  void end();

  Random random_;
  const bool is_strict_;
  const TempDir source_;
  const TempDir fresh_;
  std::vector<FileOracle> files_;
  Mount mount_;
  std::deque<std::string> trace_;
  std::map<std::string, std::uint64_t> counts_;
  std::uint64_t conflicts_ = 0;
};

}  // namespace bloscfs::test
