"""The colours of pictures, tables and trees: those of the page's scheme, light or dark."""

from __future__ import annotations

_LIGHT = {"page": "#ffffff", "ink": "#1c2430", "soft": "#5d6877", "line": "#8b95a3", "frame": "#f5f7f9",
    "frame-line": "#c9d0d8", "operation": "#e3eefc", "operation-line": "#5b8fd6", "leaf": "#dcf3e1",
    "leaf-line": "#3f9e5b", "input": "#f0f1f3", "input-line": "#8b95a3", "result": "#fdeecb", "result-line": "#cf9421",
    "fold": "#ebe3f9", "fold-line": "#8464c4", "saved": "#a35200", "gradient": "#b3246f", "bad": "#d3202c"}
_DARK = {"page": "#14181e", "ink": "#e8ecf1", "soft": "#a3aebb", "line": "#75808e", "frame": "#1b2129",
    "frame-line": "#3a4450", "operation": "#1c3352", "operation-line": "#5b8fd6", "leaf": "#173c24",
    "leaf-line": "#4fae6d", "input": "#272d35", "input-line": "#75808e", "result": "#46350f", "result-line": "#d9a441",
    "fold": "#332750", "fold-line": "#9b80d8", "saved": "#f0a35e", "gradient": "#f07ab8", "bad": "#ff6b72"}
# pages of notebooks that say themselves whether they are dark
_DARK_PAGES = 'body[data-jp-theme-light="false"], body.vscode-dark, html[data-theme="dark"]'
_LIGHT_PAGES = 'body[data-jp-theme-light="true"], body.vscode-light, html[data-theme="light"]'


def colours() -> str:
    """The variables that all pictures take their colours from."""

    def block(table: dict[str, str]) -> str:
        return "{ " + " ".join(f"--wg-{name}: {value};" for name, value in table.items()) + " }"

    def pages(selectors: str) -> str:
        return ", ".join(f"{s} .wg" for s in selectors.split(", "))

    return (f".wg {block(_LIGHT)}\n@media (prefers-color-scheme: dark) {{ .wg {block(_DARK)} }}\n"
        f"{pages(_DARK_PAGES)} {block(_DARK)}\n{pages(_LIGHT_PAGES)} {block(_LIGHT)}\n"
        '.wg { font-family: Helvetica, Arial, "Liberation Sans", sans-serif; }\n'
        ".wg .page { fill: var(--wg-page); } .wg text { fill: var(--wg-ink); } .wg .soft { fill: var(--wg-soft); }\n")
