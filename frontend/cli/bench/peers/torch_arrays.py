"""Arrays and times of PyTorch, for the peers torch and triton."""
import ctypes
import time


class TorchArrays:
    def open(self, device, threads, ieee):
        global torch, F
        import torch
        import torch.nn.functional as F

        self.device = torch.device("cpu" if device.startswith("cpu") else device)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        if self.device.type == "cuda":
            if not torch.cuda.is_available():
                raise RuntimeError("its PyTorch %s has no CUDA device" % torch.__version__)
            torch.backends.cuda.matmul.allow_tf32 = not ieee
            return "PyTorch %s, CUDA %s, %s" % (torch.__version__, torch.version.cuda, torch.cuda.get_device_name(self.device))
        return "PyTorch %s, %d threads" % (torch.__version__, torch.get_num_threads())

    @staticmethod
    def types():
        return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8,
                "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64, "i1": torch.bool}

    def load(self, path, element, shape):
        if element not in self.types():
            raise RuntimeError("it is not measured in " + element)
        with open(path, "rb") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=self.types()[element]).reshape(shape).to(self.device)

    def save(self, tensor, element, path):
        plain = torch.as_tensor(tensor).to(self.types()[element]).contiguous().cpu()
        with open(path, "wb") as file:
            file.write(ctypes.string_at(plain.data_ptr(), plain.numel() * plain.element_size()))

    def time(self, run, launches):
        if self.device.type == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(launches):
                run()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)
        start = time.perf_counter()
        for _ in range(launches):
            run()
        return (time.perf_counter() - start) * 1e3
