#pragma once
// Helpers for tests of the commands that act on existing mounts, as a user runs them.

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {

inline ProcessResult bloscfs(Arguments words, const ProcessSettings& settings = {}) {
  words.insert(words.begin(), bloscfs_program());
  return run(words, settings);
}

/// A copy of the program that every user may run, and a directory that every user may write to.
struct ForOthers {
  ForOthers() {
    fs_std::permissions(home.path(), fs_std::perms(0755));
    fs_std::copy_file(bloscfs_program(), program());
    fs_std::create_directory(home / "source");
    fs_std::permissions(home / "source", fs_std::perms(0777));
  }
  std::string program() const { return home / "bloscfs"; }
  fs_std::path source() const { return home / "source"; }
  ProcessResult as_nobody(Arguments words) const {
    ProcessSettings settings;
    settings.uid = nobody();
    words.insert(words.begin(), program());
    return run(words, settings);
  }
  MountSettings of_nobody() const {
    MountSettings settings;
    settings.uid = nobody();
    settings.program = program();
    return settings;
  }
  TempDir home;
};

inline MountSettings with_options(std::vector<std::string> options) {
  MountSettings settings;
  settings.options = std::move(options);
  return settings;
}

/// Returns the line for that mountpoint in the output of `--list --json`, or null if there is none.
inline nlohmann::json listed(const fs_std::path& point, const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (const nlohmann::json found = nlohmann::json::parse(line);
        found.at("mountpoint") == point.string())
      return found;
  return nullptr;
}

inline nlohmann::json listed(const fs_std::path& point) {
  const auto result = bloscfs({"--list", "--json"});
  BOOST_TEST(result.ok(), result.description());
  return listed(point, result.out);
}

inline nlohmann::json stats_of(const Mount& mount) {
  const auto result = bloscfs({"--stats", mount.path().string(), "--json"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  return nlohmann::json::parse(result.out);
}

}  // namespace bloscfs::test
