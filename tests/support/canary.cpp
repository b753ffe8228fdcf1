// Makes a memory error or a data race on purpose. A test uses this to prove that the build's
// sanitizer is active and ends the program.

#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

int overflow_heap(int index) {
  // The pointer comes from a volatile, so that no compile-time check knows the object's size.
  volatile char* volatile hidden = new char[8];
  volatile char* const bytes = hidden;
  bytes[index] = 1;
  const int value = bytes[index];
  delete[] bytes;
  return value;
}

int race_on_counter() {
  volatile long counter = 0;
  const auto count = [&counter] {
    for (int i = 0; i < 100000; ++i) counter = counter + 1;
  };
  std::thread other(count);
  count();
  other.join();
  return counter == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "heap") == 0)
    return overflow_heap(std::atoi(argv[2])) == 1 ? 0 : 1;
  if (argc == 2 && std::strcmp(argv[1], "race") == 0) return race_on_counter();
  return 2;
}
