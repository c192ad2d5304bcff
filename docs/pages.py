"""Writes generated pages, or compares them with the files."""
import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def finish(pages, check):
    """pages: {path from the root: text}. Writes them, or with `check` shows how the files differ and exits with 1 if they do."""
    stale = []
    for path, text in pages.items():
        file = ROOT / path
        old = file.read_text() if file.exists() else ""
        if old == text:
            continue
        if check:
            stale.append(path)
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), path, f"{path} (as generated)", n=2))
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            print(f"wrote {path}")
    if stale:
        fail(f"{', '.join(stale)}: out of date; run ./dev docs --update and commit what it changes")


def fail(message):
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(1)
