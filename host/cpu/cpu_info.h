// What the measurements of this machine were made with: processor, libraries, features. Every report carries it.
#pragma once
#include <string>
#include <vector>

namespace sec::host {

struct CpuInfo {
  std::string model;                  // as the kernel names it
  std::vector<std::string> features;  // the ones that matter for crypto
  std::string openssl;                // "OpenSSL 3.0.x ..."
  std::string ipsec_mb;               // "ipsec-mb 1.3.0, AVX512 (type 2)"
};

CpuInfo cpu_info();

}  // namespace sec::host
