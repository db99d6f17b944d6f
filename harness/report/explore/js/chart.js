// Drawing, with Vega's interpreter: no text becomes code, and nothing is loaded.

const loadLibrary = async () => {
  const script = document.createElement("script");
  script.textContent = await unpack("explore-library");
  document.head.append(script);  // its hash is in the page's Content-Security-Policy
  return globalThis.ckrrVega;
};

const refuse = () => Promise.reject(new Error("the page loads nothing"));
const CLOSED = {load: refuse, sanitize: refuse, http: refuse, file: refuse};

// Vega-Lite makes a line of its own at every x, where colours stand beside each other: join these.
const joinLines = marks => {
  for (const mark of marks ?? []) {
    const facet = mark.from?.facet;
    if (mark.name?.endsWith("pathgroup")) facet.groupby = facet.groupby.filter(field => field !== "x");
    joinLines(mark.marks);
  }
};

const draw = async (library, spec, box) => {
  const compiled = library.compile(spec).spec;
  joinLines(compiled.marks);
  const runtime = library.parse(compiled, null, {ast: true});
  const view = new library.View(runtime, {
    expr: library.expressionInterpreter, renderer: "svg", loader: CLOSED, hover: false, tooltip: () => {},
  });
  box.replaceChildren();
  await view.initialize(box).runAsync();
  return view;
};

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    key in made && typeof value !== "string" ? made[key] = value : made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
};

// Colours, markers and dashes of the values of an axis.
const listStrokes = (library, data, axis) => {
  if (axis.name === "procedure") {
    return data.strokes.map(one => ({colour: one.colour, marker: MARKERS[one.marker] ?? MARKERS.o, dash: one.dash.length ? one.dash : [1, 0]}));
  }
  const shades = library.scheme("viridis"), last = Math.max(axis.values.length - 1, 1);
  return axis.values.map((_, place) => ({colour: shades(0.85 * place / last), marker: MARKERS.o, dash: [1, 0]}));
};

// With two axes of panels, a row has all values of the second one, if there is room.
const countColumns = (most, axis) => axis && axis.values.length <= most ? most - most % axis.values.length : most;

// Marks up to which lines and intervals are drawn, too; a redraw takes half a second for ten thousand marks alone.
const DENSE = 3000;

// What a drawing needs to know besides its rows.
const layOut = (library, data, chosen, rows, space) => {
  const measure = data.measures.get(chosen.measure);
  const x = data.axes.get(chosen.x), colour = data.axes.get(chosen.colour);
  const hidden = chosen.hidden.get(colour.name) ?? new Set();
  const shown = colour.values.map((_, place) => place).filter(place => !hidden.has(place));
  const strokes = listStrokes(library, data, colour);
  const panels = new Set(rows.map(row => row.place[0])).size;
  const columns = countColumns(clip(Math.floor((space - 70) / 230), 1, Math.max(panels, 1)), getPanelAxes(data, chosen)[1]);
  const width = Math.floor((space - 84 - 22 * (columns - 1)) / columns);
  const xNames = x.values.map((_, place) => nameValue(data, x, place, measure));
  const longest = Math.max(...xNames.map(text => text.length));
  return {
    rows, x, colour, xNames, shown, panels, columns, width,
    height: panels > columns ? 190 : panels > 1 ? 240 : clip(0.5 * width, 220, 340),
    step: width / xNames.length / (x === colour ? 1 : shown.length),
    angle: 7 * longest > width / xNames.length ? -40 : 0,
    panelNames: namePanels(data, chosen, rows),
    colours: shown.map(place => strokes[place]),
    isDense: rows.length > DENSE,
    isOrdered: x.name !== "procedure" && x !== colour && rows.length <= DENSE,
    isLog: chosen.isLog,
    hasTarget: rows.length <= DENSE && rows.some(row => isSet(row.target)),
    title: measure.label,
    description: `${measure.label} of ${rows.length} cells along ${x.letter}`,
  };
};
