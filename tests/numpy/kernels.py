"""Text of small kernels: one program per block of elements, or one program for a whole tile."""

BLOCK = 1024


def _load(name, element, shape, lines):
    flat = 1
    for extent in shape:
        flat *= extent
    dims = ", ".join(str(extent) for extent in shape)
    lines += [
        f"  %{name}_i = arange {{lo = 0, hi = {flat}}} : i32[{flat}]",
        f"  %{name}_p = broadcast %{name} : ptr<const {element}>[{flat}]",
        f"  %{name}_a = add_ptr %{name}_p, %{name}_i : ptr<const {element}>[{flat}]",
        f"  %{name}_f = load %{name}_a : {element}[{flat}]",
        f"  %{name}_t = reshape %{name}_f : {element}[{dims}]",
    ]
    return f"%{name}_t"


def elementwise(op, inputs, output, attributes=""):
    """output = op(inputs...), a block of BLOCK elements a program. inputs, output: element names."""
    parameters = [f"%x{i}: ptr<const {e}>" for i, e in enumerate(inputs)] + [f"%y: ptr<{output}>"]
    lines = [
        "  %pid = program_id {axis = 0} : i32",
        f"  %block = constant {{value = {BLOCK}}} : i32",
        "  %start = mul %pid, %block : i32",
        f"  %lane = arange {{lo = 0, hi = {BLOCK}}} : i32[{BLOCK}]",
        f"  %starts = broadcast %start : i32[{BLOCK}]",
        f"  %at = add %starts, %lane : i32[{BLOCK}]",
    ]
    for i, e in enumerate(inputs):
        lines += [
            f"  %p{i} = broadcast %x{i} : ptr<const {e}>[{BLOCK}]",
            f"  %a{i} = add_ptr %p{i}, %at : ptr<const {e}>[{BLOCK}]",
            f"  %v{i} = load %a{i} : {e}[{BLOCK}]",
        ]
    operands = ", ".join(f"%v{i}" for i in range(len(inputs)))
    lines += [
        f"  %r = {op} {operands}{attributes} : {output}[{BLOCK}]",
        f"  %py = broadcast %y : ptr<{output}>[{BLOCK}]",
        f"  %ay = add_ptr %py, %at : ptr<{output}>[{BLOCK}]",
        "  store %ay, %r",
    ]
    return f"kernel @test({', '.join(parameters)}) {{\n" + "\n".join(lines) + "\n}\n"


def whole_tile(inputs, outputs, body):
    """One program. inputs, outputs: (element, shape); body(names of the loaded tiles) gives lines that define %r0, %r1, ..."""
    parameters = [f"%x{i}: ptr<const {e}>" for i, (e, _) in enumerate(inputs)]
    parameters += [f"%y{i}: ptr<{e}>" for i, (e, _) in enumerate(outputs)]
    lines = []
    names = [_load(f"x{i}", e, shape, lines) for i, (e, shape) in enumerate(inputs)]
    lines += body(names)
    for i, (e, shape) in enumerate(outputs):
        flat = 1
        for extent in shape:
            flat *= extent
        lines += [
            f"  %o{i} = reshape %r{i} : {e}[{flat}]",
            f"  %oi{i} = arange {{lo = 0, hi = {flat}}} : i32[{flat}]",
            f"  %op{i} = broadcast %y{i} : ptr<{e}>[{flat}]",
            f"  %oa{i} = add_ptr %op{i}, %oi{i} : ptr<{e}>[{flat}]",
            f"  store %oa{i}, %o{i}",
        ]
    return f"kernel @test({', '.join(parameters)}) {{\n" + "\n".join(lines) + "\n}\n"


def text(element, shape):
    return f"{element}[{', '.join(str(extent) for extent in shape)}]" if shape else element
