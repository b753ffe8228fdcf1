// Tables of integers: written, read again, and edited block by block.

#include "frame/stored/table_writer.hpp"

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/frame/errno_of.hpp"
#include "tests/frame/memory_store.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

constexpr std::int64_t kPerBlock = 2048;

/// Writes tables to files of a disk in memory.
class Tables {
 public:
  std::shared_ptr<const PagedTable> write(const std::string& name, TableContent& content,
                                          const codec::EncodeSettings& settings) {
    const auto file = disk_->root()->create(name, 0600);
    const std::int64_t size = TableWriter(settings).write(content, file.get(), 100);
    BOOST_TEST(size == file->stamp().size - 100);
    BOOST_TEST(size == TableWriter(settings).write(content, nullptr, 100));
    BOOST_TEST(size <= TableWriter::max_stored_size(content.count()));
    return std::make_shared<const PagedTable>(file, StoredAt{100, static_cast<std::uint64_t>(size)},
                                              8);
  }

  std::shared_ptr<const PagedTable> write(
      const std::string& name, const std::vector<std::int64_t>& entries,
      const codec::EncodeSettings& settings = index_settings()) {
    EditedTable::Changes changes;
    for (const std::int64_t entry : entries) changes.emplace(std::ssize(changes), entry);
    EditedTable content(nullptr, 0, std::ssize(entries), 0, changes, decoder);
    return write(name, content, settings);
  }

  std::vector<std::int64_t> read(const PagedTable& table) {
    std::vector<std::int64_t> entries;
    for (std::int64_t page = 0; page < table.page_count(); ++page) {
      const TablePage read = table.read_page(page, decoder);
      entries.insert(entries.end(), read.entries.begin(), read.entries.end());
    }
    return entries;
  }

  codec::BlockDecoder decoder;

 private:
  std::shared_ptr<MemoryDisk> disk_ = MemoryDisk::make();
};

std::vector<std::int64_t> offsets(std::int64_t count) {
  std::vector<std::int64_t> entries;
  for (std::int64_t i = 0, at = 0; i < count; ++i, at += 1000 + i * 7919 % 500)
    entries.push_back(at);
  return entries;
}

/// Counts the blocks that are copied and those that are read.
class CountingTable final : public TableContent {
 public:
  explicit CountingTable(EditedTable& table) : table_(table) {}
  std::int64_t count() const override { return table_.count(); }
  std::optional<std::int64_t> uniform_entry() const override { return table_.uniform_entry(); }
  void read(std::int64_t first, std::span<std::int64_t> out) override {
    ++read_blocks;
    table_.read(first, out);
  }
  std::optional<std::vector<std::uint8_t>> stored_block(const codec::ChunkHeader& header,
                                                        std::int64_t first,
                                                        std::int64_t last) override {
    return table_.stored_block(header, first, last);
  }
  int read_blocks = 0;

 private:
  EditedTable& table_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(table_writer)

BOOST_AUTO_TEST_CASE(writes_tables_of_every_size) {
  Tables tables;
  for (const std::int64_t count : {1, 3, 4, 5, 100, 2047, 2048, 2049, 4096, 10000}) {
    const auto entries = offsets(count);
    for (const bool plain : {false, true}) {
      const auto table = tables.write(std::to_string(count) + (plain ? "p" : ""), entries,
                                      plain ? plain_settings() : index_settings());
      BOOST_TEST(tables.read(*table) == entries, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(writes_a_repeated_entry_once) {
  Tables tables;
  const auto zero = special_entry(0x81);
  const auto table = tables.write("t", std::vector<std::int64_t>(5000, zero));
  BOOST_TEST(table->stored_size() == 40);
  BOOST_TEST(*table->uniform_entry() == zero);
  const EditedTable::Changes none;
  EditedTable longer(table, 5000, 100000, zero, none, tables.decoder);
  BOOST_TEST(tables.write("u", longer, index_settings())->stored_size() == 40);
  EditedTable other(table, 5000, 100000, special_entry(0x82), none, tables.decoder);
  const auto mixed = tables.read(*tables.write("v", other, index_settings()));
  BOOST_TEST(mixed[4999] == zero);
  BOOST_TEST(mixed[5000] == special_entry(0x82));
}

BOOST_AUTO_TEST_CASE(copies_the_blocks_that_stay) {
  Tables tables;
  std::vector<std::int64_t> entries = offsets(10 * kPerBlock + 5);
  const auto old = tables.write("t", entries);
  const EditedTable::Changes changes{{3 * kPerBlock, 77}, {3 * kPerBlock + 9, 78}};
  EditedTable edited(old, old->entry_count(), old->entry_count() + 10, 5, changes, tables.decoder);
  CountingTable counted(edited);
  const auto table = tables.write("u", counted, index_settings());
  entries.resize(entries.size() + 10, 5);
  entries[3 * kPerBlock] = 77;
  entries[3 * kPerBlock + 9] = 78;
  BOOST_TEST(tables.read(*table) == entries, boost::test_tools::per_element());
  BOOST_TEST(counted.read_blocks == 2 * 2);  // once to write the table, and once to measure it
}

BOOST_AUTO_TEST_CASE(drops_entries_from_the_end) {
  Tables tables;
  std::vector<std::int64_t> entries = offsets(3 * kPerBlock);
  const auto old = tables.write("t", entries);
  const EditedTable::Changes none;
  EditedTable edited(old, kPerBlock + 3, kPerBlock + 20, 9, none, tables.decoder);
  entries.resize(kPerBlock + 3);
  entries.resize(kPerBlock + 20, 9);
  BOOST_TEST(tables.read(*tables.write("u", edited, index_settings())) == entries,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(encodes_blocks_of_other_settings_again) {
  Tables tables;
  codec::EncodeSettings other = index_settings();
  other.codec = codec::CodecId::zstd;
  other.blocksize = 4096;
  const auto entries = offsets(5 * kPerBlock);
  const auto old = tables.write("t", entries, other);
  const EditedTable::Changes none;
  EditedTable edited(old, old->entry_count(), old->entry_count(), 0, none, tables.decoder);
  const auto table = tables.write("u", edited, index_settings());
  BOOST_TEST(tables.read(*table) == entries, boost::test_tools::per_element());
  BOOST_CHECK(table->header().codec == codec::CodecId::blosclz);
}

BOOST_AUTO_TEST_CASE(is_random_access_for_random_edits) {
  Tables tables;
  std::mt19937 random(7);
  std::vector<std::int64_t> entries = offsets(3000);
  auto table = tables.write("0", entries);
  for (int round = 1; round < 60; ++round) {
    const auto kept = static_cast<std::int64_t>(random() % (entries.size() + 1));
    const auto count = static_cast<std::int64_t>(1 + random() % 9000);
    EditedTable::Changes changes;
    for (auto i = random() % 5; i > 0; --i)
      changes[static_cast<std::int64_t>(random()) % count] = static_cast<std::int64_t>(random());
    EditedTable edited(table, kept, count, round, changes, tables.decoder);
    entries.resize(static_cast<std::size_t>(std::min(kept, count)));
    entries.resize(static_cast<std::size_t>(count), round);
    for (const auto& [number, entry] : changes) entries[static_cast<std::size_t>(number)] = entry;
    table = tables.write(std::to_string(round), edited,
                         round % 2 == 0 ? index_settings() : plain_settings());
    BOOST_CHECK(tables.read(*table) == entries);
  }
}

BOOST_AUTO_TEST_CASE(refuses_more_entries_than_a_chunk_holds) {
  BOOST_TEST(errno_of([] { TableWriter::max_stored_size(268435452); }) == EFBIG);
  BOOST_TEST(errno_of([] { TableWriter::max_stored_size(268435451); }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
