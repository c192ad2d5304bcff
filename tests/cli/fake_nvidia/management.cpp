// libnvidia-ml.so.1 that reports clocks of a GPU which is not there.
#include <cstring>

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  static int any;
  *device = &any;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) { return *mhz = type == 1 ? 1110 : 2220, 0; }
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) { return *mhz = 3330, 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return std::strncpy(text, "999.88", length), 0; }
}
