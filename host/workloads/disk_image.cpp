#include "host/workloads/disk_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "common/diag.h"

namespace sec::host {
namespace fs = std::filesystem;

ImageReader::ImageReader(std::string path, std::string option) : path_(std::move(path)), option_(std::move(option)) {
  // Checked before opening: opening a pipe without a writer would wait for ever.
  struct stat st {};
  if (::stat(path_.c_str(), &st) != 0)
    throw SetupError(
        fmt::format("{}: \"{}\" cannot be read ({}): name an existing image", option_, path_, std::strerror(errno)));
  if (!S_ISREG(st.st_mode))
    throw SetupError(fmt::format("{}: \"{}\" is not a regular file: name an image file", option_, path_));
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0)
    throw SetupError(
        fmt::format("{}: \"{}\" cannot be read ({}): check its permissions", option_, path_, std::strerror(errno)));
  size_ = static_cast<uint64_t>(st.st_size);
}

ImageReader::~ImageReader() {
  if (fd_ >= 0) ::close(fd_);
}

void ImageReader::read(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw SetupError(fmt::format("{}: \"{}\" cannot be read ({})", option_, path_, std::strerror(errno)));
    if (n == 0)
      throw SetupError(
          fmt::format("{}: \"{}\" ends at byte {}, before what its size or header announces: is it truncated?", option_,
                      path_, offset));
    out = out.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

ImageWriter::ImageWriter(std::string path, std::string option) : path_(std::move(path)), option_(std::move(option)) {
  if (path_.empty()) {
    std::string name = (fs::temp_directory_path() / "secsim-disk-XXXXXX").string();
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) fail("create a temporary file");
    ::unlink(name.c_str());
    return;
  }
  // A symbolic link stays one: the file behind it is replaced.
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path_, error);
  target_ = error ? path_ : real.string();
  if (fs::is_directory(target_, error))
    throw SetupError(fmt::format("{}: \"{}\" is a directory: name a file", option_, path_));
  if (fs::exists(target_, error) && !fs::is_regular_file(target_, error))
    throw SetupError(fmt::format("{}: \"{}\" is not a regular file: name a file", option_, path_));
  temporary_ = target_ + ".part-XXXXXX";
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) {
    temporary_.clear();
    fail("be written");
  }
}

ImageWriter::~ImageWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ImageWriter::fail(const char* what) const {
  throw SetupError(fmt::format("{}: \"{}\" cannot {} ({}): choose a place with room and write permission", option_,
                               path_.empty() ? "temporary folder" : path_, what, std::strerror(errno)));
}

void ImageWriter::append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("be written");
    bytes = bytes.subspan(static_cast<size_t>(n));
    size_ += static_cast<uint64_t>(n);
  }
}

void ImageWriter::read_back(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("be read back");
    out = out.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

void ImageWriter::commit() {
  if (temporary_.empty()) return;
  struct stat st {};
  mode_t mode = 0;
  if (::stat(target_.c_str(), &st) == 0) {
    mode = st.st_mode & 07777;
  } else {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode = 0666 & ~mask;
  }
  if (::fchmod(fd_, mode) != 0) fail("be given its permissions");
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail("be written");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("be written");
  temporary_.clear();
}

}  // namespace sec::host
