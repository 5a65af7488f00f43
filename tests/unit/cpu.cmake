find_package(OpenSSL REQUIRED)
sec_test(unit_cpu LABEL unit
         SOURCES ${CMAKE_CURRENT_LIST_DIR}/cpu_aead_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cpu_batch_test.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/cpu_cipher_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cpu_hash_test.cpp
         LIBS sec_cpu OpenSSL::Crypto)

# The generated vectors are what the script prints; exit 77: its libraries are not here.
add_test(NAME vectors_generated COMMAND sh -c "
  command -v /usr/bin/python3 >/dev/null && /usr/bin/python3 -c 'import ctypes, cryptography; ctypes.CDLL(\"libgcrypt.so.20\")' 2>/dev/null || exit 77
  /usr/bin/python3 tests/support/make_vectors.py | cmp - driver/crypto/vectors_generated.cpp"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(vectors_generated PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)
