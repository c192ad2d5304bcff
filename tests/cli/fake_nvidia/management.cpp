// libnvidia-ml.so.1 that reports the state of a GPU which is not there. It knows no reasons for lower clocks.
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
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return *milliwatts = 123456, 0; }
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) { return *celsius = 44, sensor; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return std::strncpy(text, "999.88", length), 0; }
}
