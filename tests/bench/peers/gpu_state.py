"""Clocks, power and temperature of a GPU at one moment, by NVML."""
import ctypes

_CLOCK_SM, _CLOCK_MEMORY, _TEMPERATURE_GPU = 1, 2, 0


class GpuState:
    """What cannot be asked is left out: where there is no NVML, now() is empty."""

    def __init__(self, index=0):
        self.device = None
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        device = ctypes.c_void_p()
        if self.lib.nvmlInit_v2() == 0 and self.lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0:
            self.device = device

    def _ask(self, function, *arguments, type=ctypes.c_uint):
        value = type()
        return value.value if getattr(self.lib, function)(self.device, *arguments, ctypes.byref(value)) == 0 else None

    def now(self):
        """{sm_mhz, memory_mhz, watts, celsius, throttled: bits of nvmlClocksEventReasons}"""
        if self.device is None:
            return {}
        milliwatts = self._ask("nvmlDeviceGetPowerUsage")
        state = dict(sm_mhz=self._ask("nvmlDeviceGetClockInfo", _CLOCK_SM), memory_mhz=self._ask("nvmlDeviceGetClockInfo", _CLOCK_MEMORY),
                     watts=milliwatts and milliwatts / 1000, celsius=self._ask("nvmlDeviceGetTemperature", _TEMPERATURE_GPU),
                     throttled=self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", type=ctypes.c_ulonglong))
        return {name: value for name, value in state.items() if value is not None}
