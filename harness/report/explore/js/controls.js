// The form in which readers choose measure, axes, colours and fixed values.

const makeSelect = (name, label, options, value, change) => {
  const select = element("select", {name}, ...options.map(([key, text]) => new Option(text, key, false, String(key) === String(value))));
  select.addEventListener("change", () => change(select.value));
  return element("label", {}, label, select);
};

const makeBox = (name, label, checked, change, ...before) => {
  const box = element("input", {type: "checkbox", name, checked});
  box.addEventListener("change", () => change(box.checked));
  return element("label", {}, box, ...before, label);
};

// A marker as it is drawn; a screen reader has the label beside it.
const makeSwatch = stroke => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "-1.3 -1.3 2.6 2.6");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", stroke.marker);
  path.setAttribute("fill", stroke.colour);
  svg.append(path);
  return svg;
};

const listAxes = data => data.varying.map(axis => [axis.name, axis.letter]);

const makeAxisControls = (data, chosen, change) => {
  const set = key => value => { chosen[key] = value; change(); };
  const axes = listAxes(data).length ? listAxes(data) : [["procedure", "procedure"]];
  const none = [["", "none"], ...axes];
  return [
    makeSelect("measure", "measure", [...data.measures.values()].map(one => [one.name, one.label]), chosen.measure, set("measure")),
    makeSelect("x", "x axis", axes, chosen.x, set("x")),
    makeSelect("colour", "colour", axes, chosen.colour, set("colour")),
    makeSelect("facet", "panels", none, chosen.facet, set("facet")),
    ...(axes.length > 3 ? [makeSelect("facet2", "and", none, chosen.facet2, set("facet2"))] : []),
    makeBox("log", "log scale", chosen.isLog, value => { chosen.isLog = value; change(); }),
  ];
};

// A select for every axis that is on none of these.
const makeFixedControls = (data, chosen, change) => getFixedAxes(data, chosen).map(axis => makeSelect(
  `fixed-${axis.name}`, `${axis.letter} =`, axis.values.map((text, place) => [place, text]), chosen.fixed.get(axis.name),
  value => { chosen.fixed.set(axis.name, Number(value)); change(); },
));

// The legend: every colour with a box that hides it.
const makeLegend = (library, data, chosen, change) => {
  const axis = data.axes.get(chosen.colour), strokes = listStrokes(library, data, axis), measure = data.measures.get(chosen.measure);
  const hidden = chosen.hidden.get(axis.name) ?? new Set();
  chosen.hidden.set(axis.name, hidden);
  return [element("legend", {}, axis.letter), ...axis.values.map((_, place) => makeBox(
    `shown-${place}`, nameValue(data, axis, place, measure), !hidden.has(place),
    value => { value ? hidden.delete(place) : hidden.add(place); change(); }, makeSwatch(strokes[place]),
  ))];
};

// Intervals for f(x*) aren't drawn at first: on y* they would set the axis.
const hideFirst = data => {
  const some = data.strokes.map((one, place) => one.function ? place : -1).filter(place => place >= 0);
  return new Map([["procedure", new Set(some.length < data.strokes.length ? some : [])]]);
};

const chooseFirst = data => {
  const names = data.varying.map(axis => axis.name);
  const x = ["n", "alpha", "theta", "lam", "gamma"].find(name => names.includes(name)) ?? "procedure";
  return {
    measure: data.measures.keys().next().value, x, colour: names.includes("procedure") ? "procedure" : names[0] ?? "procedure",
    facet: "", facet2: "", isLog: false,
    fixed: new Map([...data.axes.values()].map(axis => [axis.name, axis.first])), hidden: hideFirst(data),
  };
};
