// The cells that are drawn, and what is said of each.

// The name of a value as the rest of the report has it: an interval for f(x*) that is judged on y* says so.
const nameValue = (data, axis, place, measure) => {
  const text = axis.values[place];
  return axis.name === "procedure" && data.strokes[place].function && measure.covers === "y*" ? `${text} (y*)` : text;
};

const nameCell = (data, i, measure, axes = data.varying) => axes
  .map(axis => axis.name === "procedure"
    ? nameValue(data, axis, axis.places[i], measure)
    : `${axis.letter} = ${axis.values[axis.places[i]]}`)
  .join(", ");

const upper = text => text[0].toUpperCase() + text.slice(1);

const formatNumber = one => one === Infinity ? "∞" : one === -Infinity ? "−∞" : Number.isNaN(one) ? MISSING : String(one);

const describeVerdict = (data, i, measure) => {
  const of = measure.covers === "f(x*)" && data.verdicts["f(x*)"] ? "f(x*)" : "y*";
  const word = data.verdicts.words[data.verdicts[of][i]] || data.verdicts.words[data.verdicts["y*"][i]];
  if (!word) return "No verdict";
  return of === "y*" && data.target[i] < Infinity ? `Verdict on ${of}: ${word}, level ${data.target[i]}` : `Verdict on ${of}: ${word}`;
};

// Ends of an interval, with the decimals that half of it allows: one significant digit, or two if the first is 1.
const formatInterval = (low, high) => {
  const half = (high - low) / 2;
  if (!(half > 0 && half < Infinity)) return `${formatNumber(low)} to ${formatNumber(high)}`;
  const place = Math.floor(Math.log10(half)), first = Math.round(half / 10 ** place);
  const decimals = clip(first === 10 ? -place - 1 : first === 1 ? 1 - place : -place, 0, 12);
  return [low, high].map(end => end.toFixed(decimals)).join(" to ");
};

// Three lines: the cell, its value with error and interval, and its verdict.
const describeCell = (data, i, measure) => {
  const interval = !Number.isFinite(measure.low[i])
    ? "no interval" : `95 % interval ${formatInterval(measure.low[i], measure.high[i])}`;
  return [
    nameCell(data, i, measure) || data.axes.get("procedure").values[0],
    `${upper(measure.label)}: ${measure.text[i]}; ${interval}`,
    describeVerdict(data, i, measure),
  ];
};

const getPanelAxes = (data, chosen) => [...new Set([chosen.facet, chosen.facet2])].filter(Boolean).map(name => data.axes.get(name));

// Axes with several values that are on no axis of the drawing.
const getFixedAxes = (data, chosen) => {
  const used = new Set([chosen.x, chosen.colour, chosen.facet, chosen.facet2]);
  return data.varying.filter(axis => !used.has(axis.name));
};

// Cells that agree with every fixed value, and whose colour is shown.
const selectCells = (data, chosen) => {
  const fixed = getFixedAxes(data, chosen).map(axis => [axis.places, chosen.fixed.get(axis.name)]);
  const colours = data.axes.get(chosen.colour);
  const hidden = chosen.hidden.get(chosen.colour) ?? new Set();
  const found = [];
  for (let i = 0; i < data.count; i++) {
    if (fixed.every(([places, place]) => places[i] === place) && !hidden.has(colours.places[i])) found.push(i);
  }
  return found;
};

// What is drawn, in the order of panels, colours and x.
const makeRows = (data, chosen) => {
  const measure = data.measures.get(chosen.measure);
  const x = data.axes.get(chosen.x), colour = data.axes.get(chosen.colour), panels = getPanelAxes(data, chosen);
  const findPanel = i => panels.reduce((found, axis) => found * axis.values.length + axis.places[i], 0);
  const rows = selectCells(data, chosen).filter(i => !Number.isNaN(measure.value[i])).map(i => ({
    cell: i,
    place: [findPanel(i), colour.places[i], x.places[i]],
    value: measure.value[i],
    low: measure.low[i],
    high: measure.high[i],
    target: measure.covers === "y*" ? data.target[i] : NaN,
    label: describeCell(data, i, measure).join(". "),
  }));
  return rows.sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1] || a.place[2] - b.place[2]);
};

// Names of the panels that have rows, by their numbers.
const namePanels = (data, chosen, rows) => {
  const panels = getPanelAxes(data, chosen), measure = data.measures.get(chosen.measure), found = [];
  for (const row of rows) found[row.place[0]] ??= nameCell(data, row.cell, measure, panels);
  return Array.from(found, text => text ?? "");
};
