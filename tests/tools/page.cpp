#include "tests/tools/page.hpp"

#include <cctype>
#include <fstream>
#include <sstream>

#include <boost/algorithm/string/replace.hpp>

namespace bloscfs::test {
namespace {

/// True for a macro that may follow another one on its line: a capital letter and a small one.
bool is_macro(const std::string& word) {
  return word.size() == 2 && std::isupper(static_cast<unsigned char>(word[0])) != 0 &&
         std::islower(static_cast<unsigned char>(word[1])) != 0;
}

bool is_delimiter(const std::string& word) {
  if (word.starts_with("\\&")) return is_delimiter(word.substr(2));
  return word == "," || word == "." || word == ":" || word == ";" || word == "|" || word == ")";
}

/// In mdoc, `Fl r` is -r. In a synopsis, `Fl df` is both -d and -f.
void add_flags(const std::string& word, bool in_synopsis, std::set<std::string>& flags) {
  if (word.starts_with('-') || !in_synopsis)
    flags.insert("-" + word);
  else
    for (const char letter : word) flags.insert(std::string("-") + letter);
}

class Reader {
 public:
  explicit Reader(Page& page) : page_(page) {}

  void take(const std::string& line) {
    if (line.starts_with(".Bd")) {
      is_literal_ = true;
      if (in_examples_) page_.examples.emplace_back();
    }
    if (line.starts_with(".Ed")) is_literal_ = false;
    if (line.starts_with('.'))
      take_macros(line.substr(1));
    else if (is_literal_)
      take_literal(line);
  }

 private:
  void take_literal(const std::string& written) {
    const std::string line = boost::replace_all_copy(written, "\\e", "\\");
    page_.literals.push_back(line);
    if (in_examples_) page_.examples.back().push_back(line);
  }

  void take_macros(const std::string& line) {
    std::istringstream words(line);
    std::string macro, word;
    words >> macro;
    if (macro == "Sh") {
      in_synopsis_ = line == "Sh SYNOPSIS";
      in_examples_ = line == "Sh EXAMPLES";
    }
    if (macro == "Xc") in_item_ = false;
    const bool was_in_item = in_item_;
    in_item_ |= macro == "It";
    for (std::string last = macro; words >> word; last = word) {
      if (is_macro(word)) {
        macro = word;
        if (word == "Xo") continues_ = true;
      } else if (!is_delimiter(word)) {
        take_argument(macro, word, last);
      }
    }
    in_item_ = continues_ || was_in_item;
    if (line.starts_with("Xc")) continues_ = in_item_ = false;
  }

  void take_argument(const std::string& macro, const std::string& word, const std::string& last) {
    if (macro == "Fl") {
      add_flags(word, in_synopsis_, page_.flags);
      if (in_item_) add_flags(word, false, page_.listed_flags);
    }
    if (macro == "Cm" && in_item_ && word != ":=" && word != "=") page_.listed_words.insert(word);
    if (macro == "Xr" && last == "Xr") page_.references.insert(word);
  }

  Page& page_;
  bool is_literal_ = false, in_synopsis_ = false, in_examples_ = false;
  bool in_item_ = false, continues_ = false;
};

}  // namespace

Page read_page(const fs_std::path& file) {
  Page page;
  page.name = file.stem().string();
  std::ifstream lines(file);
  Reader reader(page);
  for (std::string line; std::getline(lines, line);) reader.take(line);
  return page;
}

fs_std::path pages_folder() { return fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tools/pages"; }

}  // namespace bloscfs::test
