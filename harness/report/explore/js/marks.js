// Marks: a hover tells one, arrow keys go from one to the next, a click or Enter chooses one.

const MARK = "path[aria-roledescription=point]";
const STEPS = {ArrowLeft: [2, -1], ArrowRight: [2, 1], ArrowUp: [1, -1], ArrowDown: [1, 1]};

const getCell = mark => mark.__data__?.datum?.cell;

// One mark of the drawing is in the order of Tab; arrow keys reach the others.
const prepareMarks = chart => { chart.querySelector(MARK)?.setAttribute("tabindex", "0"); };

const focusMark = mark => {
  mark.ownerSVGElement.querySelector(`${MARK}[tabindex="0"]`)?.setAttribute("tabindex", "-1");
  mark.setAttribute("tabindex", "0");
  mark.focus();
};

// Left and right go along the x axis, up and down through the colours; past an end, to the next panel.
const findNext = (marks, rows, at, key) => {
  if (key === "Home") return 0;
  if (key === "End") return marks.length - 1;
  const [axis, sign] = STEPS[key];
  const other = 3 - axis, here = rows[at].place;
  const fits = row => row.place[0] === here[0] && row.place[other] === here[other] && (row.place[axis] - here[axis]) * sign > 0;
  const found = rows.map((row, k) => [row, k]).filter(([row]) => fits(row));
  found.sort(([a], [b]) => (a.place[axis] - b.place[axis]) * sign);
  return found.length ? found[0][1] : clip(at + sign, 0, marks.length - 1);
};

const showTip = (tip, chart, mark, lines) => {
  tip.replaceChildren(element("b", {}, lines[0]), ...lines.slice(1).map(line => element("span", {}, line)));
  tip.hidden = false;
  const [outer, inner] = [chart.parentElement.getBoundingClientRect(), mark.getBoundingClientRect()];
  const left = clip(inner.left - outer.left + 14, 0, Math.max(outer.width - tip.offsetWidth - 2, 0));
  const above = inner.top - outer.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above >= 0 ? above : inner.bottom - outer.top + 8}px`;
};

// Listen once; `state` has what is drawn at the time.
const listen = (chart, tip, live, state, choose) => {
  const tell = mark => {
    const lines = describeCell(state.data, getCell(mark), state.measure);
    showTip(tip, chart, mark, lines);
    return lines;
  };
  const hide = () => { tip.hidden = true; };
  chart.addEventListener("pointerover", event => { event.target.matches(MARK) ? tell(event.target) : hide(); });
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("focusin", event => { if (event.target.matches(MARK)) live.textContent = tell(event.target).join(". "); });
  chart.addEventListener("focusout", hide);
  chart.addEventListener("click", event => { if (event.target.matches(MARK)) { focusMark(event.target); hide(); choose(getCell(event.target)); } });
  chart.addEventListener("keydown", event => {
    if (!event.target.matches(MARK)) return;
    const marks = [...chart.querySelectorAll(MARK)];
    if (event.key === "Escape") hide();
    else if (event.key === "Enter" || event.key === " ") choose(getCell(event.target));
    else if (event.key in STEPS || event.key === "Home" || event.key === "End") {
      const cells = new Map(state.rows.map(row => [row.cell, row]));
      const rows = marks.map(mark => cells.get(getCell(mark)));
      focusMark(marks[findNext(marks, rows, marks.indexOf(event.target), event.key)]);
    } else return;
    event.preventDefault();
  });
};
