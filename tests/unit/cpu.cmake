find_package(OpenSSL REQUIRED)
sec_test(unit_cpu LABEL unit
         SOURCES ${CMAKE_CURRENT_LIST_DIR}/cpu_aead_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cpu_batch_test.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/cpu_cipher_test.cpp ${CMAKE_CURRENT_LIST_DIR}/cpu_hash_test.cpp
         LIBS sec_cpu OpenSSL::Crypto)
