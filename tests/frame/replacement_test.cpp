#include <functional>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "frame/editing/replace_expected.hpp"
#include "frame/store/local_store.hpp"
#include "tests/frame/scratch_directory.hpp"

using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

struct TwoFiles {
  TwoFiles() {
    write("ours", 'o');
    write("name", 'n');
  }
  void write(const std::string& name, std::uint8_t byte) const {
    store->create(name, 0600)->write_at(0, Bytes(&byte, 1));
  }
  std::string bytes() const {
    std::string all;
    for (const char* name : {"ours", "name"}) {
      std::uint8_t byte = '-';
      if (const auto file = store->open_source(name)) file->read_at(0, {&byte, 1});
      all += static_cast<char>(byte);
    }
    return all;
  }
  bool replace(const std::function<bool(const FileStamp&)>& is_expected) const {
    return replace_expected(*store, "ours", "name", is_expected);
  }

  ScratchDirectory directory;
  std::shared_ptr<StoreDirectory> store = make_local_store(
      UniqueFd(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), nullptr);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(replacement)

BOOST_AUTO_TEST_CASE(takes_the_name_of_what_is_expected_there) {
  const TwoFiles files;
  const auto known = files.store->stamp("name");
  BOOST_TEST(files.replace([&](const FileStamp& stamp) { return stamp == known; }));
  BOOST_TEST(files.bytes() == "no");
}

BOOST_AUTO_TEST_CASE(leaves_what_is_something_else) {
  const TwoFiles files;
  BOOST_TEST(!files.replace([](const FileStamp&) { return false; }));
  BOOST_TEST(files.bytes() == "on");
}

BOOST_AUTO_TEST_CASE(leaves_the_name_to_who_took_it_last) {
  const TwoFiles files;
  BOOST_TEST(!files.replace([&](const FileStamp&) {
    files.write("another", 'a');
    files.store->rename("another", "name", RenameMode::replace);
    return false;
  }));
  BOOST_TEST(files.bytes() == "-a");
}

BOOST_AUTO_TEST_CASE(leaves_the_name_removed) {
  const TwoFiles files;
  BOOST_TEST(!files.replace([&](const FileStamp&) {
    files.store->unlink("name");
    return false;
  }));
  BOOST_TEST(files.bytes() == "--");
}

BOOST_AUTO_TEST_SUITE_END()
