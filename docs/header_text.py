"""Reads the public headers: every function, type and constant of namespace tilewright with its doc comment and a signature for people."""
import collections
import re

import cpp_text
import pages

# names: of one doc comment; signatures: one for each overload; code: a definition to be shown as it stands; members: of a class.
Item = collections.namedtuple("Item", "names doc signatures code members")
Member = collections.namedtuple("Member", "signature doc")

HIDDEN_NAMESPACES = ("detail", "rt")


def angle_end(text, at):
    """The position behind the > that closes the < at `at`."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1000
        elif text[i] in ")]}":
            depth -= 1000
        elif text[i] == "<":
            depth += 1
        elif text[i] == ">" and text[i - 1] != "-":
            depth -= 1
            if depth == 0:
                return i + 1
    raise ValueError(text[at:at + 80])


def unwrapped(text, name, form):
    """Each name<X> as form.format(X)."""
    while (found := re.search(rf"\b{name}<", text)):
        end = angle_end(text, found.end() - 1)
        text = text[:found.start()] + form.format(text[found.end():end - 1]) + text[end:]
    return text


def without_template(declaration):
    """The declaration without template <...> and what it requires there."""
    rest = declaration
    if rest.startswith("template"):
        rest = rest[angle_end(rest, rest.index("<")):].strip()
    if rest.startswith("requires"):
        rest = rest[len("requires"):].strip()
        while True:
            if rest.startswith("("):
                rest = rest[cpp_text.closing(rest, 0) + 1:].strip()
            else:
                name = re.match(r"[\w:]+", rest)
                rest = rest[name.end():]
                if rest.startswith("<"):
                    rest = rest[angle_end(rest, 0):]
                rest = rest.strip()
            if not re.match(r"&&|\|\|", rest):
                break
            rest = rest[2:].strip()
    return rest


def signature(declaration):
    """What a reader needs of a declaration."""
    s = cpp_text.one_line(declaration)
    s = re.sub(r"(, )?(const )?Here&? at( = Here::current\(\))?", "", s)
    head = s[:len(s) - len(without_template(s))]
    rest = without_template(s)
    opening = re.search(r"operator\(\)\(|\(", rest)
    if opening:
        end = cpp_text.closing(rest, opening.end() - 1)
        rest = rest[:end + 1] + re.sub(r"\s*(?<!:):(?!:).*$", "", rest[end + 1:])  # no member initialisers
    s = re.sub(r"\b(inline|friend|constexpr|explicit) ", "", head + rest).replace("operator ", "operator")
    s = unwrapped(s, "detail::Fixed", "{}")
    for name in ("Other", "Optional", "Value", "Operand"):
        s = unwrapped(s, f"detail::{name}", "Tile<{}>")
    s = s.replace("detail::Text", "const char*").replace("detail::Mask", "Bool").replace("Tile<bool>", "Bool").replace("detail::", "")
    s = re.sub(r"\boperator(\w+ |[^\w(]+)\s*\(", lambda m: "operator" + m[1].strip() + "(", s)
    return re.sub(r"\(\s+", "(", s).strip().rstrip(";")


def name_of(declaration):
    rest = without_template(cpp_text.one_line(declaration))
    found = re.match(r"(?:struct|class|enum class)\s+(\w+)|using (\w+)|concept (\w+)"
                     r"|(?:inline |static )*constexpr [\w:<>]+ (\w+)\s*[{=]", rest)
    if found:
        return next(n for n in found.groups() if n)
    found = re.search(r"(operator\(\)|operator\s*[^\s\w(]+|operator \w+|~?\w+)\s*\(", rest)
    return found[1] if found else None


class Scope:
    """One pass over the declarations of a namespace or a class."""

    def __init__(self, text, macros, in_class=None):
        self.text, self.macros, self.in_class = text, dict(macros), in_class
        self.items, self.undocumented = [], []
        self.visible = in_class != "class"
        self.doc, self.previous_macro = None, None
        self.at = 0

    def read(self):
        while self.at < len(self.text):
            gap = re.match(r"\s*", self.text[self.at:])[0]
            self.at += len(gap)
            if gap.count("\n") > 1:
                self.doc, self.previous_macro = None, None
            if self.at < len(self.text) and not self.step():
                break
        return self

    def line(self):
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        while self.text[end - 1] == "\\":
            end = self.text.index("\n", end + 1)
        found, self.at = self.text[self.at:end], end
        return found

    def step(self):
        rest = self.text[self.at:]
        if rest.startswith("///"):
            comment = self.line()[3:].strip()
            self.doc = comment if self.doc is None else f"{self.doc}\n{comment}"
        elif rest.startswith("//"):
            return "For the library itself" not in self.line()
        elif rest.startswith("#"):
            self.directive(self.line())
        elif (label := re.match(r"(public|private|protected):", rest)) and self.in_class:
            self.visible, self.doc = label[1] == "public", None
            self.at += label.end()
        elif (inner := re.match(r"namespace (\w+) \{", rest)):
            end = cpp_text.closing(self.text, self.at + inner.end() - 1)
            if inner[1] not in HIDDEN_NAMESPACES:
                scope = Scope(self.text[self.at + inner.end():end], self.macros).read()
                self.items += [i._replace(names=[f"{inner[1]}::{n}" for n in i.names]) for i in scope.items]
                self.undocumented += scope.undocumented
            self.at = end + 1
        elif (call := re.match(r"(TW_\w+)\(", rest)):
            arguments = cpp_text.arguments(self.text, self.at + call.end() - 1)
            self.at = cpp_text.closing(self.text, self.at + call.end() - 1) + 1
            self.macro_call(call[1], arguments)
        elif rest.startswith(";"):
            self.at += 1
        else:
            self.declaration()
        return True

    def directive(self, line):
        found = re.match(r"#define (\w+)\(([^)]*)\)(.*)", line, re.S)
        if found:
            self.macros[found[1]] = ([p.strip() for p in found[2].split(",")], found[3].replace("\\\n", "\n"))
        self.previous_macro = None

    def macro_call(self, name, arguments):
        parameters, body = self.macros[name]
        for p, a in zip(parameters, arguments):
            body = re.sub(rf"\b{re.escape(p)}\b", lambda _, a=a: a, body)
        scope = Scope("/// x\n" + body, {}, self.in_class and "struct").read()
        found = scope.items[:1] if self.in_class else scope.items
        shared = self.doc is None and self.previous_macro == name
        for item in found:
            self.add(item.names, item.signatures, shared=shared)
            shared = True
        self.doc, self.previous_macro = None, name

    def declaration(self):
        start = end = self.at
        body = None
        head = without_template(self.text[start:start + 2000].lstrip())
        whole = re.match(r"(concept|using|static_assert|((inline|static) )*constexpr [\w:<>]+ \w+\s*[{=])", head)
        while self.text[end] != ";":
            if self.text[end] in "([{":
                is_body = self.text[end] == "{" and not whole
                close = cpp_text.closing(self.text, end)
                if is_body:
                    body = (end, close)
                    break
                end = close
            end += 1
        declaration = self.text[start:end].strip()
        self.at = (body[1] if body else end) + 1
        kind = re.match(r"(struct|class|enum class)\b", without_template(declaration))
        name = name_of(declaration)
        hidden = (re.search(r"\b(detail::)?(Made|RawBuffer|shared_ptr)\b|= delete|= default|\)\s*->", declaration)
                  or declaration.startswith("static_assert") or re.match(r"~|operator=$", name or "~"))
        is_type = bool(kind) and not self.in_class
        if hidden or not self.visible or (self.in_class and kind):
            self.doc = None
        elif kind and body:
            self.add_type(kind[1], name, declaration, self.text[body[0] + 1:body[1]])
        elif kind:
            self.doc = None  # a forward declaration
        elif re.match(r"concept|using", without_template(declaration)) or whole:
            self.add_named(name, declaration)
        elif self.in_class and "(" not in declaration:
            self.doc = None  # a field; structs of fields are shown as they stand
        else:
            self.add([name], [signature(declaration)])
        if not is_type:
            self.previous_macro = None

    def add_named(self, name, declaration):
        names = [name] + re.findall(r", (\w+)\{", declaration)
        code = re.sub(r"\s+", " ", declaration).replace("detail::", "")
        kind = without_template(declaration).split()[0]
        if self.doc is None and self.items and kind in ("using", "concept") and kind in (self.items[-1].code or "").split():
            last = self.items.pop()
            self.items.append(last._replace(names=last.names + names, code=f"{last.code};\n{code}"))
        else:
            self.add(names, [], code=code)
        self.doc = None

    def add_type(self, kind, name, declaration, body):
        if "SmallFloat" in declaration:
            self.add([name], [], code=f"struct {name}")
        elif kind == "enum class" or "(" not in re.sub(r"//[^\n]*", "", body):
            self.add([name], [], code=f"{declaration} {{{body}}}")
        else:
            scope = Scope(body, self.macros, kind).read()
            members = []
            for item in scope.items:
                members.append(Member(item.signatures, item.doc))
            self.add([name], [], code=cpp_text.one_line(re.sub(r"\s*: public detail::.*", "", declaration, flags=re.S)), members=members)

    def add(self, names, signatures, shared=False, code=None, members=None):
        if shared and self.items:
            last = self.items.pop()
            more = [n for n in names if n not in last.names]
            self.items.append(last._replace(names=last.names + more, signatures=last.signatures + signatures))
            return
        if self.doc is None and not self.in_class:
            self.undocumented += names
        self.items.append(Item(names, self.doc or "", signatures, code, members))
        self.doc = None


def read(header):
    """The items of a public header, and the names in it that have no doc comment."""
    text = (pages.ROOT / header).read_text()
    scope_items, undocumented = [], []
    for found in re.finditer(r"^namespace tilewright \{", text, re.M):
        end = cpp_text.closing(text, found.end() - 1)
        scope = Scope(text[found.end():end], {}).read()
        scope_items += scope.items
        undocumented += scope.undocumented
    return scope_items, undocumented
