pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)

add_library(sec_esp STATIC
  ${CMAKE_CURRENT_LIST_DIR}/esp.cpp
  ${CMAKE_CURRENT_LIST_DIR}/esp_ip.cpp
  ${CMAKE_CURRENT_LIST_DIR}/esp_pipeline.cpp
  ${CMAKE_CURRENT_LIST_DIR}/esp_run.cpp
  ${CMAKE_CURRENT_LIST_DIR}/packet_gen.cpp
  ${CMAKE_CURRENT_LIST_DIR}/pcap_io.cpp)
target_link_libraries(sec_esp PUBLIC sec_common sec_crypto sec_platform PRIVATE PkgConfig::PCAP fmt::fmt)
