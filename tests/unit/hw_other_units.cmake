# The units besides AESU, DEU and MDEU; intel-ipsec-mb is the second opinion on KASUMI and SNOW 3G.
find_library(IPSEC_MB_LIBRARY IPSec_MB REQUIRED)
find_path(IPSEC_MB_INCLUDE_DIR intel-ipsec-mb.h REQUIRED)
sec_test(hw_other_units_test LABEL unit TIMEOUT 60 SOURCES hw_other_units_test.cpp LIBS sec_core ${IPSEC_MB_LIBRARY})
target_include_directories(hw_other_units_test PRIVATE ${IPSEC_MB_INCLUDE_DIR})
sec_test(hw_other_descriptors_test LABEL unit TIMEOUT 60 SOURCES hw_other_descriptors_test.cpp LIBS sec_core)
