"""The frame that mlir-opt puts around its reports."""

_RULE = "===" + "-" * 73 + "==="


def report_header(title: str) -> str:
    """Returns the three lines above a report."""
    return f"{_RULE}\n{f'... {title} report ...':^79}".rstrip() + f"\n{_RULE}\n"
