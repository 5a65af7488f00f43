// Image files in and out. Reading is by offset, writing is in order into a temporary beside the target that takes the
// target's name at the end, so a run that fails leaves nothing half-written and a file may be its own input.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sec::host {

class ImageReader {
 public:
  /// SetupError when the file is absent, unreadable or not a regular file. `option` is how the user named it.
  ImageReader(std::string path, std::string option);
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_; }
  /// Fills `out`; SetupError when the file is shorter or cannot be read.
  void read(uint64_t offset, std::span<uint8_t> out) const;

 private:
  std::string path_, option_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

class ImageWriter {
 public:
  /// An empty path makes a temporary without a name: it can be read back, and vanishes.
  ImageWriter(std::string path, std::string option);
  /// Removes the temporary unless commit() was called.
  ~ImageWriter();
  ImageWriter(const ImageWriter&) = delete;
  ImageWriter& operator=(const ImageWriter&) = delete;

  void append(std::span<const uint8_t> bytes);
  uint64_t size_bytes() const { return size_; }
  void read_back(uint64_t offset, std::span<uint8_t> out) const;
  /// Gives the file its name, and the permissions of the file that it replaces.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_, option_, target_, temporary_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace sec::host
