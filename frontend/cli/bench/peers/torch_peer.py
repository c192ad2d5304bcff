"""PyTorch in eager mode on the cpu or a GPU: its own operation for a kernel where it has one, else what a user writes."""


class Library(TorchArrays):
    def open(self, device, threads, ieee):
        version = super().open(device, threads, ieee)
        if self.backend == "cudnn":
            version += ", cuDNN %s" % torch.backends.cudnn.version()
        return version

    @property
    def kernels(self):
        return {
            "matmul": self.matmul,
            "matmul_bias_relu": lambda t, s: lambda: torch.relu(torch.addmm(t["bias"], t["a"], t["b"])),
            "matmul_batched": self.matmul,
            "matmul_scaled": self.matmul_scaled,
            "grouped_matmul": self.grouped_matmul,
            "matvec": lambda t, s: lambda: torch.mv(t["a"], t["x"], out=t["y"]),
            "gated_mlp": lambda t, s: lambda: (F.silu(t["x"] @ t["wg"]) * (t["x"] @ t["wu"])) @ t["wd"],
            "softmax": lambda t, s: lambda: torch.softmax(t["x"], -1),
            "log_softmax": lambda t, s: lambda: torch.log_softmax(t["x"], -1),
            "layer_norm": lambda t, s: lambda: F.layer_norm(t["x"], (s[1],), t["gamma"], t["beta"], 1e-5),
            "rms_norm": self.rms_norm,
            "cross_entropy": self.cross_entropy,
            "top_k": lambda t, s: lambda: tuple(torch.topk(t["x"], s[2])),
            "attention": lambda t, s: self.attention(t["q"], t["k"], t["v"], False),
            "attention_causal": lambda t, s: self.attention(t["q"], t["k"], t["v"], True),
            "decode_attention": self.decode_attention,
            "rotary": self.rotary,
            "softmax_backward": lambda t, s: lambda: torch.ops.aten._softmax_backward_data(t["dy"], t["y"], -1, t["y"].dtype),
            "layer_norm_backward": self.layer_norm_backward,
            "rms_norm_backward": self.rms_norm_backward,
            "cross_entropy_backward": self.cross_entropy_backward,
            "attention_backward": self.attention_backward,
            "transpose": lambda t, s: lambda: t["y"].copy_(t["x"].t()),
            "copy": lambda t, s: lambda: t["y"].copy_(t["x"]),
            "fill": lambda t, s: lambda: t["y"].fill_(1.5),
            "random_uniform": lambda t, s: lambda: t["y"].uniform_(),
            "random_normal": lambda t, s: lambda: t["y"].normal_(),
            "dropout": lambda t, s: lambda: F.dropout(t["x"], 0.25, training=True),
            "stencil": self.stencil,
            "stencil_3d": self.stencil,
            "reduce": lambda t, s: lambda: torch.sum(t["x"]),
            "reduce_rows": lambda t, s: lambda: torch.sum(t["x"], 1),
            "reduce_columns": lambda t, s: lambda: torch.sum(t["x"], 0),
            "scan": lambda t, s: lambda: torch.cumsum(t["x"], 0, dtype=t["x"].dtype),
            "sort": self.sort,
            "sort_keys": lambda t, s: lambda: torch.sort(t["keys"])[0],
            "histogram": lambda t, s: lambda: torch.bincount(t["x"], minlength=s[1]),
            "group_by": self.group_by,
            "compact": self.compact,
            "gather": lambda t, s: lambda: torch.index_select(t["x"], 0, t["index"]),
            "scatter_add": lambda t, s: lambda: t["y"].index_add_(0, t["index"], t["x"]),
            "spmv": self.spmv,
            "fft": self.fft,
        }

    def matmul(self, t, shape):
        if t["a"].dtype == torch.int8:
            if self.device.type == "cuda":
                return lambda: torch._int_mm(t["a"], t["b"])
            raise RuntimeError("its products of int8 are int8")
        return lambda: torch.matmul(t["a"], t["b"], out=t["c"])

    def matmul_scaled(self, t, shape):
        if t["a"].dtype != torch.int8:
            raise RuntimeError("its products of fp8 are not measured")
        scales = t["a_scale"][:, None] * t["b_scale"]
        return lambda: torch._int_mm(t["a"], t["b"]) * scales

    def grouped_matmul(self, t, shape):
        if t["a"].dtype == torch.int8:
            raise RuntimeError("its products of int8 are int8")
        sizes = torch.diff(t["group_ends"], prepend=t["group_ends"].new_zeros(1)).tolist()
        parts = list(zip(t["a"].split(sizes), t["b"], t["c"].split(sizes)))

        def run():
            for a, b, c in parts:
                torch.matmul(a, b, out=c)
            return t["c"]

        return run

    def rms_norm(self, t, shape):
        x, gamma = t["x"], t["gamma"]
        if hasattr(F, "rms_norm"):
            return lambda: F.rms_norm(x, (shape[1],), gamma, 1e-5)
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        return lambda: (x * torch.rsqrt(x.to(wide).pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * gamma

    def cross_entropy(self, t, shape):
        targets = t["targets"].long()
        return lambda: F.cross_entropy(t["logits"], targets, reduction="none")

    def layer_norm_backward(self, t, shape):
        mean, rstd = t["mean"][:, None], t["rstd"][:, None]
        return lambda: torch.ops.aten.native_layer_norm_backward(t["dy"], t["x"], [shape[1]], mean, rstd, t["gamma"], t["gamma"],
                                                                 [True, True, True])

    def rms_norm_backward(self, t, shape):
        def run():
            x = t["x"] * t["rstd"][:, None]
            g = t["dy"] * t["gamma"]
            return (g - x * (g * x).mean(-1, keepdim=True)) * t["rstd"][:, None], (t["dy"] * x).sum(0)

        return run

    def cross_entropy_backward(self, t, shape):
        targets = t["targets"].long()[:, None]

        def run():
            d = torch.exp(t["logits"] - t["lse"][:, None])
            d.scatter_add_(1, targets, d.new_full(targets.shape, -1.0))
            return d * t["dlosses"][:, None]

        return run

    def attention_backward(self, t, shape):
        with torch.enable_grad():
            inputs = tuple(t[name].requires_grad_() for name in ("q", "k", "v"))
            out = self.attention(*inputs, False)()
        return lambda: torch.autograd.grad(out, inputs, t["dout"], retain_graph=True)

    def attention(self, q, k, v, causal):
        if self.backend:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            chosen = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}[self.backend]

            def run_chosen():
                with sdpa_kernel(chosen):
                    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            return run_chosen
        if hasattr(F, "scaled_dot_product_attention"):
            return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=self.device).triu(1) if causal else None

        def run():
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            if causal:
                scores = scores.masked_fill(hidden, float("-inf"))
            return torch.softmax(scores, -1) @ v

        return run

    def decode_attention(self, t, shape):
        run = self.attention(t["q"].unsqueeze(2), t["k_cache"], t["v_cache"], False)
        return lambda: run().squeeze(2)

    def rotary(self, t, shape):
        x, half = t["x"], shape[3] // 2
        angles = t["positions"].double()[:, None] * 10000.0 ** (-torch.arange(half, device=self.device).double() / half)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)

        def run():
            a, b = x[..., :half], x[..., half:]
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

        return run

    def stencil(self, t, shape):
        x, axes = t["x"], len(shape)
        part = 0.125 if axes == 2 else 0.0625

        def run():
            y = x * (1 - 2 * axes * part)
            for axis in range(axes):
                n = shape[axis] - 1
                y.narrow(axis, 0, n).add_(x.narrow(axis, 1, n), alpha=part)
                y.narrow(axis, 1, n).add_(x.narrow(axis, 0, n), alpha=part)
            return y

        return run

    def sort(self, t, shape):
        def run():
            keys, order = torch.sort(t["keys"], stable=True)
            return keys, t["values"][order]

        return run

    def group_by(self, t, shape):
        def run():
            keys, group = torch.unique(t["keys"], return_inverse=True)
            return keys, torch.zeros(len(keys), dtype=t["values"].dtype, device=self.device).index_add_(0, group, t["values"])

        return run

    def compact(self, t, shape):
        def run():
            y = t["x"][t["mask"]]
            return y, len(y)

        return run

    def spmv(self, t, shape):
        begins = torch.cat((t["row_ends"].new_zeros(1), t["row_ends"]))
        a = torch.sparse_csr_tensor(begins, t["columns"], t["values"], (shape[0], shape[0]))
        return lambda: torch.mv(a, t["x"])

    def fft(self, t, shape):
        x = torch.view_as_complex(t["x"])
        return lambda: torch.view_as_real(torch.fft.fft(x))


Server(Library()).serve()
