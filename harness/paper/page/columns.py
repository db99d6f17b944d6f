"""Style and templates of the page: our results beside what the paper says, or below it on narrow screens."""

from __future__ import annotations

from harness.report.html.templating import Templates

STYLE = """
.beside{display:grid;grid-template-columns:minmax(0,1fr) 17rem;gap:.4rem 1.6rem;align-items:start;margin:1.2rem 0 2rem}
.beside h3{grid-column:1/-1;margin:0}.beside aside{border-left:3px solid var(--line);padding-left:1rem;font-size:.94rem}
.beside aside p{margin:.3rem 0 .7rem}.beside .box,.claim .box{max-height:none}.beside td small{color:inherit}
.beside img{max-width:100%;height:auto;background:#fff;border-radius:6px}
.claim{margin:0 0 2.4rem}.claim .bar{min-width:9rem}.claim .counts{display:block;font-size:.8rem}
.claim td.said{white-space:normal;min-width:15rem;text-align:left}.claim td.verdicts{text-align:left;white-space:normal}
@media(max-width:62rem){.beside{grid-template-columns:1fr}}
@media print{.beside{grid-template-columns:minmax(0,1fr) 12rem;break-inside:avoid}.beside aside{font-size:8pt}}
"""
"""CSS rules of the columns and claims."""

TEMPLATES = Templates("harness.paper.page", "harness.report.html")
"""Templates of the page, which use those of the report."""
