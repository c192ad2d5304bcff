"""PyTorch in eager mode on the cpu or a GPU: its own operation for a kernel where it has one, else what a user writes."""


class Library(TorchArrays):
    @property
    def kernels(self):
        return {
            "matmul": self.matmul,
            "matvec": lambda t, s: lambda: torch.mv(t["a"], t["x"], out=t["y"]),
            "gated_mlp": lambda t, s: lambda: (F.silu(t["x"] @ t["wg"]) * (t["x"] @ t["wu"])) @ t["wd"],
            "softmax": lambda t, s: lambda: torch.softmax(t["x"], -1),
            "log_softmax": lambda t, s: lambda: torch.log_softmax(t["x"], -1),
            "layer_norm": lambda t, s: lambda: F.layer_norm(t["x"], (s[1],), t["gamma"], t["beta"], 1e-5),
            "rms_norm": self.rms_norm,
            "cross_entropy": self.cross_entropy,
            "attention": lambda t, s: self.attention(t["q"], t["k"], t["v"], False),
            "attention_causal": lambda t, s: self.attention(t["q"], t["k"], t["v"], True),
            "decode_attention": self.decode_attention,
            "rotary": self.rotary,
            "transpose": lambda t, s: lambda: t["y"].copy_(t["x"].t()),
            "copy": lambda t, s: lambda: t["y"].copy_(t["x"]),
            "dropout": lambda t, s: lambda: F.dropout(t["x"], 0.25, training=True),
        }

    def matmul(self, t, shape):
        if t["a"].dtype == torch.int8:
            if self.device.type == "cuda":
                return lambda: torch._int_mm(t["a"], t["b"])
            raise RuntimeError("its products of int8 are int8")
        return lambda: torch.matmul(t["a"], t["b"], out=t["c"])

    def rms_norm(self, t, shape):
        x, gamma = t["x"], t["gamma"]
        if hasattr(F, "rms_norm"):
            return lambda: F.rms_norm(x, (shape[1],), gamma, 1e-5)
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        return lambda: (x * torch.rsqrt(x.to(wide).pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * gamma

    def cross_entropy(self, t, shape):
        targets = t["targets"].long()
        return lambda: F.cross_entropy(t["logits"], targets, reduction="none")

    def attention(self, q, k, v, causal):
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


Server(Library()).serve()
