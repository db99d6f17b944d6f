// Specifications of Vega-Lite: fixed templates. Values of axes are numbers in them, since Vega-Lite writes what is in a
// domain into expressions; their names, which are a stranger's, are values of parameters and of data, and nothing else.

const FONT = "system-ui, sans-serif";
const CONFIG = {
  background: null,
  font: FONT,
  view: {stroke: null},
  axis: {labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", gridOpacity: 0.6, domain: false, tickSize: 4, labelLimit: 160},
  header: {labelFontSize: 12, labelFontWeight: "bold", labelAnchor: "start", labelLimit: 400},
};
// Paths of Matplotlib's markers within the square from −1 to 1: the figures of the report have the same.
const MARKERS = {
  o: "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
  s: "M-.85,-.85H.85V.85H-.85Z",
  D: "M0,-1.1L1.1,0L0,1.1L-1.1,0Z",
  d: "M0,-1.15L.7,0L0,1.15L-.7,0Z",
  "^": "M0,-1L1,.8H-1Z",
  v: "M0,1L1,-.8H-1Z",
  "<": "M-1,0L.8,-1V1Z",
  ">": "M1,0L-.8,-1V1Z",
  P: "M-.4,-1H.4V-.4H1V.4H.4V1H-.4V.4H-1V-.4H-.4Z",
  X: "M-1,-.5L-.5,-1L0,-.5L.5,-1L1,-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0Z",
  h: "M0,-1.05L.9,-.52V.52L0,1.05L-.9,.52V-.52Z",
  p: "M0,-1.05L1,-.32L.62,.85H-.62L-1,-.32Z",
};

const isSet = one => !Number.isNaN(one);
const clip = (one, low, high) => Math.min(Math.max(one, low), high);

// Ends of the axis: every finite value and end of an interval, with some room; infinite ones are drawn below the edge.
const findDomain = (rows, isLog) => {
  const scale = isLog ? Math.log : one => one, back = isLog ? Math.exp : one => one;
  const numbers = rows.flatMap(row => [row.value, row.low, row.high, row.target]).map(scale).filter(Number.isFinite);
  if (!numbers.length) return {domain: isLog ? [1, 10] : [0, 1], edge: isLog ? 9 : 0.95};
  let low = numbers[0], high = numbers[0];
  for (const one of numbers) { low = Math.min(low, one); high = Math.max(high, one); }
  const room = (high - low || Math.abs(high) || 1) * 0.06, above = room * (rows.some(row => row.value === Infinity) ? 2.5 : 1);
  const start = low >= 0 && !isLog ? Math.max(low - room, 0) : low - room;
  return {domain: [start, high + above].map(back), edge: back(high + above - room)};
};

// Numbers become places on the axis; null isn't drawn.
const placeRow = (row, {domain: [low, high], edge}) => {
  const place = one => one === Infinity ? edge : isSet(one) ? clip(one, low, high) : null;
  return {
    cell: row.cell, panel: row.place[0], colour: row.place[1], x: row.place[2], label: row.label,
    y: place(row.value), line: Number.isFinite(row.value) ? place(row.value) : null, low: place(row.low), high: place(row.high), target: place(row.target),
    fill: row.value === Infinity ? 0 : 1,
  };
};

const makeLayers = (view, domain) => {
  const isDodged = view.x.name !== view.colour.name && view.colours.length > 1;
  const axis = {title: view.x.letter, labelExpr: "xNames[datum.value]", labelAngle: view.angle, grid: false, labelOverlap: view.angle === 0};
  const x = {field: "x", type: "ordinal", scale: {domain: view.xNames.map((_, place) => place), type: "band", paddingInner: 0.2, paddingOuter: 0.1}, axis};
  const place = isDodged ? {x, xOffset: {field: "colour", type: "ordinal", scale: {domain: view.shown}}} : {x};
  const scale = {type: view.isLog ? "log" : "linear", domain, nice: false, zero: false};
  const y = {field: "y", type: "quantitative", scale, axis: {title: view.title, tickCount: 6}};
  const colour = {field: "colour", type: "nominal", legend: null, scale: {domain: view.shown, range: view.colours.map(one => one.colour)}};
  const shape = {field: "colour", type: "nominal", legend: null, scale: {domain: view.shown, range: view.colours.map(one => one.marker)}};
  const dash = {field: "colour", type: "nominal", legend: null, scale: {domain: view.shown, range: view.colours.map(one => one.dash)}};
  const silent = {aria: false, clip: true};
  return [
    ...(view.hasTarget ? [{
      mark: {type: "tick", thickness: 1.5, color: "#888", bandSize: Math.max(6, 0.8 * view.step), ...silent},
      encoding: {...place, y: {field: "target", type: "quantitative"}},
    }] : []),
    ...(view.isOrdered ? [{
      mark: {type: "line", strokeWidth: 1.2, opacity: 0.45, invalid: "break-paths-show-domains", ...silent},
      encoding: {...place, y: {...y, field: "line"}, color: colour, strokeDash: dash},
    }] : []),
    ...(view.isDense ? [] : [{
      mark: {type: "rule", strokeWidth: 1.6, ...silent},
      encoding: {...place, y: {field: "low", type: "quantitative"}, y2: {field: "high"}, color: colour},
    }]),
    {
      name: "cells",
      mark: {type: "point", filled: true, size: 58, opacity: 1, strokeWidth: 1.4, cursor: "pointer"},
      encoding: {
        ...place, y, color: colour, shape, stroke: colour,
        fillOpacity: {field: "fill", type: "quantitative", scale: null, legend: null},
        description: {field: "label", type: "nominal"},
      },
    },
  ];
};

const makeChart = view => {
  const ends = findDomain(view.rows, view.isLog);
  const inner = {width: view.width, height: view.height, layer: makeLayers(view, ends.domain)};
  const data = {values: view.rows.map(row => placeRow(row, ends))};
  const params = [{name: "xNames", value: view.xNames}, {name: "panelNames", value: view.panelNames}];
  const base = {description: view.description, data, params, config: CONFIG};
  if (view.panels < 2) return {...base, ...inner};
  return {
    ...base, columns: view.columns, spec: inner,
    facet: {field: "panel", type: "ordinal", header: {title: null, labelExpr: "panelNames[datum.value]"}},
    resolve: {axis: {x: "independent"}}, bounds: "flush", spacing: {row: view.angle ? 110 : 68, column: 22},
  };
};

// What a quantile is: the ends are the least and the largest value.
const nameShare = share => share === 0 ? "least" : share === 1 ? "largest" : `${formatNumber(Math.round(1000 * share) / 10)} % of the replications are at most`;

// The distribution of one cell: the share of the replications that are at most a value.
const makeQuantileChart = (quantiles, shares, title, target, colour, width) => {
  const values = quantiles.map((one, k) => ({
    value: one, share: 100 * shares[k], label: `${nameShare(shares[k])}: ${formatNumber(one)}`,
  })).filter(one => Number.isFinite(one.value));
  const x = {field: "value", type: "quantitative", scale: {zero: false, nice: true}, axis: {title, tickCount: 5, grid: false}};
  const y = {field: "share", type: "quantitative", scale: {domain: [0, 100]}, axis: {title: "% of the replications", tickCount: 5}};
  return {
    description: `${title}: quantiles over replications`, width, height: 170, config: CONFIG,
    layer: [
      ...(isSet(target) ? [{data: {values: [{value: target}]}, mark: {type: "rule", color: "#888", strokeDash: [4, 3], aria: false}, encoding: {x}}] : []),
      {data: {values}, mark: {type: "line", color: colour, strokeWidth: 1.5, aria: false}, encoding: {x, y, order: {field: "share", type: "quantitative"}}},
      {data: {values}, mark: {type: "point", filled: true, opacity: 1, color: colour, size: 34}, encoding: {x, y, description: {field: "label", type: "nominal"}}},
    ],
  };
};
