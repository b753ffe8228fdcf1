// A FUSE filesystem that calls itself bloscfs: foreign_mount MOUNTPOINT ANSWERS. The directory
// ANSWERS holds one file for each answer:
// - a file with the name of an attribute holds the attribute's value;
// - `commit` holds the error number that ioctl(2) returns;
// - `source` holds the source that the mount table shows.
// If a file `lingers` exists, the process continues after its mount has ended. If an answer begins
// with "hang", the filesystem never answers that request.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

std::string folder;

std::optional<std::string> answer_of(const std::string& name) {
  std::ifstream file(folder + "/" + name);
  if (!file) return std::nullopt;
  std::string answer{std::istreambuf_iterator<char>(file), {}};
  while (answer.starts_with("hang")) ::pause();
  return answer;
}

int get_attributes(const char* path, struct stat* st, fuse_file_info*) {
  while (std::strcmp(path, "/hang") == 0) ::pause();
  if (std::strcmp(path, "/") != 0) return -ENOENT;
  st->st_mode = S_IFDIR | 0755;
  st->st_nlink = 2;
  return 0;
}

int get_xattr(const char*, const char* name, char* value, std::size_t size) {
  const auto answer = answer_of(name);
  if (!answer) return -ENODATA;
  if (size == 0) return static_cast<int>(answer->size());
  if (answer->size() > size) return -ERANGE;
  std::memcpy(value, answer->data(), answer->size());
  return static_cast<int>(answer->size());
}

int control(const char*, unsigned, void*, fuse_file_info*, unsigned, void*) {
  return -std::atoi(answer_of("commit").value_or("0").c_str());
}

}  // namespace

int main(int, char** argv) {
  folder = argv[2];
  fuse_operations operations{};
  operations.getattr = get_attributes;
  operations.getxattr = get_xattr;
  operations.ioctl = control;
  char foreground[] = "-f";
  std::string options = "-osubtype=bloscfs,fsname=" + answer_of("source").value_or("/nowhere");
  std::vector<char*> arguments{argv[0], foreground, options.data(), argv[1]};
  const int status =
      fuse_main(static_cast<int>(arguments.size()), arguments.data(), &operations, nullptr);
  while (answer_of("lingers")) ::pause();
  return status;
}
