add_library(sec_disk STATIC
  ${CMAKE_CURRENT_LIST_DIR}/disk_image.cpp
  ${CMAKE_CURRENT_LIST_DIR}/disk_pipeline.cpp
  ${CMAKE_CURRENT_LIST_DIR}/disk_run.cpp
  ${CMAKE_CURRENT_LIST_DIR}/iv_modes.cpp
  ${CMAKE_CURRENT_LIST_DIR}/luks1.cpp)
target_link_libraries(sec_disk PUBLIC sec_common sec_crypto sec_platform PRIVATE OpenSSL::Crypto fmt::fmt)
