"""The style sheet of a page, and the script that shows titles under the pointer."""

from __future__ import annotations

__all__ = ["ACTIVITIES", "POLICY", "SCRIPT", "STYLE"]

# Activities in the order of a stacked bar.
ACTIVITIES = {"compute": "computing", "send": "sending", "receive": "receiving", "wait": "waiting"}

# The page loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

# The colours have a contrast of 3:1 to the page, and differ by 14 in OKLab (x 100) also for colour-blind
# readers.
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #5b646e; --rule: #dfe3e8;
  --compute: #2a78d6; --send: #e0702a; --receive: #00563f; --wait: #c9ced4; --hover: #1b1f2414; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #15181c; --faint: #9aa5b0;
  --rule: #31373e; --compute: #4d9be8; --send: #e68a3c; --receive: #8fe0c4; --wait: #4a525b;
  --hover: #e6e9ec1f; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; -webkit-text-size-adjust: 100%; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.75rem 0 .25rem; } h3 { font-size: .9rem; margin: 1.1rem 0 .2rem; }
h3 span { font-weight: 400; color: var(--faint); }
p { margin: .3rem 0; max-width: 46rem; } p.faint, footer, summary { color: var(--faint); }
dl { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
dl div { flex: 1 0 auto; min-width: 7rem; border-top: 2px solid var(--rule); padding-top: .35rem; }
dt { color: var(--faint); font-size: .85rem; } dd { margin: 0; font-size: 1.2rem; font-weight: 600; }
dd { white-space: nowrap; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--compute); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { color: var(--faint); font-weight: 600; } .left { text-align: left; } td.long { white-space: normal; }
details { margin-top: .75rem; } summary { cursor: pointer; }
figure { margin: .75rem 0; } figure svg { display: block; overflow: visible; }
figure.scaled { display: grid; grid-template-columns: 3.4rem 1fr; column-gap: .5rem; }
svg text { font: 12px system-ui, sans-serif; fill: var(--faint); stroke: var(--paper); stroke-width: 3px;
  paint-order: stroke; } svg text.ink { fill: var(--ink); }
svg text.mid { text-anchor: middle; } svg text.end { text-anchor: end; }
svg .rule { stroke: var(--rule); } svg .curve { fill: none; stroke: var(--compute); stroke-width: 2;
  vector-effect: non-scaling-stroke; stroke-linejoin: round; } svg circle { fill: var(--compute); }
svg .hit { fill: transparent; } svg g:hover > .hit { fill: var(--hover); }
svg .hollow { fill: none; stroke: var(--faint); stroke-dasharray: 3 2; }
.compute { fill: var(--compute); } .send { fill: var(--send); } .receive { fill: var(--receive); }
.wait { fill: var(--wait); }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; }
.key svg { width: .8rem; height: .8rem; margin-right: .35rem; vertical-align: -.05rem; }
#tip { position: fixed; max-width: 20rem; padding: .3rem .6rem; border-radius: 4px; font-size: .85rem;
  color: var(--paper); background: var(--ink); pointer-events: none; }
footer { margin-top: 3rem; font-size: .85rem; }
"""

# The browser shows titles without the script; the script shows them at once and on touch screens.
SCRIPT = """
(function () {
  var tip = document.getElementById("tip");
  document.querySelectorAll("figure g > title").forEach(function (title) {
    title.parentNode.setAttribute("data-tip", title.textContent);
    title.remove();
  });
  function hide() { tip.hidden = true; }
  function show(event) {
    var mark = event.target.closest && event.target.closest("[data-tip]");
    if (!mark) { hide(); return; }
    tip.textContent = mark.getAttribute("data-tip");
    tip.hidden = false;
    var box = tip.getBoundingClientRect(), below = event.clientY + 18;
    tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = (below + box.height > innerHeight ? event.clientY - box.height - 12 : below) + "px";
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", hide, true);
})();
"""
