// The text of /proc/crypto, field for field as the kernel prints it.
#include <cstdio>

#include "driver/crypto/registry.h"

namespace sec::crypto {
namespace {

void line(std::string& out, const char* key, const std::string& value) {
  char head[32];
  std::snprintf(head, sizeof head, "%-12s : ", key);
  out += head;
  out += value;
  out += '\n';
}

const char* selftest_name(SelfTest s) {
  switch (s) {
    case SelfTest::Passed:
      return "passed";
    case SelfTest::Failed:
      return "failed";
    case SelfTest::Unknown:
      break;
  }
  return "unknown";
}

}  // namespace

std::string format_proc(const AlgorithmInfo& a) {
  const auto yes_no = [](bool b) { return std::string(b ? "yes" : "no"); };
  std::string out;
  line(out, "name", a.name);
  line(out, "driver", a.driver);
  line(out, "module", a.module);
  line(out, "priority", std::to_string(a.priority));
  line(out, "refcnt", "1");
  line(out, "selftest", selftest_name(a.selftest));
  line(out, "internal", yes_no(a.internal));
  if (a.type == AlgorithmType::Skcipher) {
    const unsigned chunk = a.chunk_bytes ? a.chunk_bytes : a.block_bytes;
    line(out, "type", "skcipher");
    line(out, "async", yes_no(a.async));
    line(out, "blocksize", std::to_string(a.block_bytes));
    line(out, "min keysize", std::to_string(a.min_key_bytes));
    line(out, "max keysize", std::to_string(a.max_key_bytes));
    line(out, "ivsize", std::to_string(a.iv_bytes));
    line(out, "chunksize", std::to_string(chunk));
    line(out, "walksize", std::to_string(a.walk_bytes ? a.walk_bytes : chunk));
    line(out, "statesize", "0");
  } else if (a.type == AlgorithmType::Aead) {
    line(out, "type", "aead");
    line(out, "async", yes_no(a.async));
    line(out, "blocksize", std::to_string(a.block_bytes));
    line(out, "ivsize", std::to_string(a.iv_bytes));
    line(out, "maxauthsize", std::to_string(a.max_auth_bytes));
    line(out, "geniv", "<none>");
  } else {
    line(out, "type", a.async ? "ahash" : "shash");
    if (a.async) line(out, "async", "yes");  // the kernel prints it for ahash only
    line(out, "blocksize", std::to_string(a.block_bytes));
    line(out, "digestsize", std::to_string(a.digest_bytes));
  }
  out += '\n';
  return out;
}

std::string format_proc(const Registry& registry) {
  std::string out;
  const std::vector<AlgorithmInfo> all = registry.list();
  for (auto it = all.rbegin(); it != all.rend(); ++it) out += format_proc(*it);
  return out;
}

}  // namespace sec::crypto
