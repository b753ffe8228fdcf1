// Files that other programs wrote, compared with what their manifest says of them.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/frame/blp_builder.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/manifest.hpp"

using namespace bloscfs::frame;
using namespace bloscfs::frame::test;
using bloscfs::test::CorpusEntry;

namespace {

std::unique_ptr<Snapshot> open_entry(const CorpusEntry& entry) {
  return open_blp(bloscfs::test::read_file(entry.file));
}

void check_facts(const CorpusEntry& entry, const FrameInfo& info) {
  BOOST_TEST(info.nbytes == entry.facts.at("nbytes"));
  BOOST_TEST(info.chunksize == entry.facts.at("chunksize"));
  BOOST_TEST(info.format_version == entry.facts.at("format_version"));
  BOOST_TEST(info.typesize == std::max(1, entry.facts.at("typesize").get<int>()));
  const std::string checksum = entry.text("checksum");
  BOOST_TEST(info.checksum == (checksum == "None" ? "" : checksum));
  if (entry.facts.at("nchunks") >= 0) BOOST_TEST(info.nchunks == entry.facts.at("nchunks"));
  BOOST_TEST(info.array.has_value() == entry.facts.contains("shape"));
  if (!info.array) return;
  BOOST_TEST((info.array->shape == entry.facts.at("shape").get<std::vector<std::int64_t>>()));
  BOOST_TEST(info.array->dtype.value() == entry.text("dtype"));
}

void check_entry(const CorpusEntry& entry) {
  std::string sum;
  try {
    const auto snapshot = open_entry(entry);
    if (entry.is("ok")) check_facts(entry, snapshot->info());
    // Damaged files may promise any amount of contents. Reading 16 MiB of it is enough.
    Buffer content(
        static_cast<std::size_t>(std::min<std::int64_t>(snapshot->info().nbytes, 1 << 24)));
    ContentReader(*snapshot).read(0, content);
    sum = bloscfs::test::sha256(content);
  } catch (const bloscfs::codec::Error& e) {
    BOOST_TEST(!entry.is("ok"), e.what());
    return;
  }
  BOOST_TEST(!entry.is("error"), "opened and read");
  if (entry.is("ok")) BOOST_TEST(sum == entry.text("sha256"));
}

int check_all(const bloscfs::test::fs_std::path& root) {
  int count = 0;
  for (const CorpusEntry& entry : bloscfs::test::containers_in(root)) {
    if (entry.text("container") != "bloscpack") continue;
    BOOST_TEST_CONTEXT(entry.name()) check_entry(entry);
    ++count;
  }
  return count;
}

boost::test_tools::assertion_result has_corpus(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(!bloscfs::test::corpus_root().empty());
  result.message() << "no reference corpus (BLOSCFS_CORPUS)";
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bloscpack_files)

BOOST_AUTO_TEST_CASE(reads_every_file_of_the_test_data_as_its_manifest_says) {
  int count = 0;
  for (const auto& root : bloscfs::test::data_roots()) count += check_all(root);
  BOOST_TEST(count >= 30);
}

BOOST_AUTO_TEST_CASE(reads_every_file_of_the_corpus_as_its_manifest_says,
                     *boost::unit_test::precondition(has_corpus)) {
  BOOST_TEST(check_all(bloscfs::test::corpus_root()) >= 100);
}

BOOST_AUTO_TEST_SUITE_END()
