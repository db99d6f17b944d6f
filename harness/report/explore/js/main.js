// The section starts when it comes into view, or a while after the page, so that it is there in print: it doesn't hold up
// the page.

const start = async box => {
  if (!("DecompressionStream" in window)) {
    box.append(element("p", {class: "note"}, "This browser is too old for this part: it can't unpack its data."));
    return;
  }
  const [library, plain] = await Promise.all([loadLibrary(), unpack("explore-data")]);
  const data = decodeData(JSON.parse(plain)), chosen = chooseFirst(data);
  const state = {data};
  const axes = element("div", {class: "filters"}), fixed = element("div", {class: "filters"}), legend = element("fieldset", {class: "legend"});
  const note = element("p", {class: "note"}), chart = element("div", {class: "chart"});
  const tip = element("div", {class: "tip", hidden: true, "aria-hidden": "true"});
  const live = element("output", {class: "unseen", "aria-live": "polite"});
  const detail = element("div", {class: "detail", role: "region", "aria-label": "one cell", hidden: true});
  const form = element("form", {"aria-label": "what is drawn"}, axes, fixed, legend);
  box.replaceChildren(form, element("div", {class: "frame"}, chart, tip), note, live, detail);

  let last = Promise.resolve();
  const redraw = async () => {
    state.measure = data.measures.get(chosen.measure);
    state.rows = makeRows(data, chosen);
    tip.hidden = true;
    const view = layOut(library, data, chosen, state.rows, Math.max(box.clientWidth, 280));
    state.view?.finalize();
    state.view = await draw(library, makeChart(view), chart);
    prepareMarks(chart);
    note.textContent = describeDrawing(view, state, chosen);
    live.textContent = `${view.description} drawn`;
    box.dataset.drawn = String(Number(box.dataset.drawn ?? 0) + 1);
  };
  const update = () => { last = last.then(redraw); };
  const change = () => {
    const name = document.activeElement?.name;
    fixed.replaceChildren(...makeFixedControls(data, chosen, change));
    legend.replaceChildren(...makeLegend(library, data, chosen, change));
    form.elements.namedItem(name ?? "")?.focus?.();  // controls are made anew, and the one in use keeps the focus
    update();
  };
  axes.append(...makeAxisControls(data, chosen, change));
  listen(chart, tip, live, state, i => { showDetail(library, data, i, state.measure, detail, live); });
  let width = box.clientWidth;
  addEventListener("resize", () => {
    if (box.clientWidth === width || matchMedia("print").matches) return;
    width = box.clientWidth;
    update();
  });
  change();
};

const listFixed = (data, chosen) =>
  getFixedAxes(data, chosen).map(axis => `${axis.letter} = ${axis.values[chosen.fixed.get(axis.name)]}`).join(", ");

const listHidden = (data, chosen) => {
  const axis = data.axes.get(chosen.colour), measure = data.measures.get(chosen.measure);
  return [...chosen.hidden.get(axis.name) ?? []].map(place => nameValue(data, axis, place, measure)).join(", ");
};

const describeDrawing = (view, state, chosen) => {
  const fixed = listFixed(state.data, chosen), hidden = listHidden(state.data, chosen), rows = state.rows;
  return [
    `${upper(state.measure.what)}${fixed ? `; ${fixed}` : ""}.`,
    hidden ? `Not drawn: ${hidden}.` : "",
    view.isDense ? "Intervals are drawn where there are fewer marks." : "",
    view.hasTarget ? "Grey lines: the level of each cell." : "",
    rows.some(row => row.value === Infinity) ? "Hollow marks at the upper edge are infinite." : "",
    view.isLog && rows.some(row => row.value <= 0) ? "Values that aren't positive are at the lower edge." : "",
    rows.length ? "" : "No cell has a result here.",
  ].filter(Boolean).join(" ");
};

const explorer = document.getElementById("explorer");
const observer = new IntersectionObserver(seen => { if (seen.some(one => one.isIntersecting)) startOnce(); }, {rootMargin: "300px"});
let isStarted = false;
const startOnce = () => {
  if (isStarted) return;
  isStarted = true;
  observer.disconnect();
  start(explorer);
};
observer.observe(explorer);
addEventListener("load", () => setTimeout(() => (window.requestIdleCallback ?? setTimeout)(startOnce), 2000));
addEventListener("beforeprint", startOnce);
