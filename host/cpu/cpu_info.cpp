#include "host/cpu/cpu_info.h"

#include <openssl/crypto.h>

#include <fstream>
#include <sstream>

#ifndef LINUX
#define LINUX
#endif
#include <intel-ipsec-mb.h>

namespace sec::host {

CpuInfo cpu_info() {
  CpuInfo info;
  std::ifstream f("/proc/cpuinfo");
  for (std::string line; std::getline(f, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      if (!info.model.empty()) break;  // the first processor is enough
      continue;
    }
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (line.starts_with("model name")) info.model = value;
    if (line.starts_with("flags")) {
      std::istringstream words(value);
      for (std::string w; words >> w;)
        for (const char* k :
             {"aes", "vaes", "pclmulqdq", "vpclmulqdq", "sha_ni", "gfni", "avx2", "avx512f", "avx512ifma"})
          if (w == k) info.features.push_back(w);
    }
  }
  if (info.model.empty()) info.model = "unknown processor";
  info.openssl = OpenSSL_version(OPENSSL_VERSION);
  info.ipsec_mb = std::string("ipsec-mb ") + imb_get_version_str();
  if (IMB_MGR* m = alloc_mb_mgr(0)) {
    IMB_ARCH arch = IMB_ARCH_NONE;
    init_mb_mgr_auto(m, &arch);
    static const char* const names[] = {"none", "no AES-NI", "SSE", "AVX", "AVX2", "AVX512"};
    info.ipsec_mb += std::string(", ") + (arch < sizeof names / sizeof *names ? names[arch] : "?");
    free_mb_mgr(m);
  }
  return info;
}

}  // namespace sec::host
