// The data of the page: columns of numbers and codes, which Python packed.

const MISSING = "–";

const unpack = async id => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), one => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

const readNumber = one => one === null ? NaN : one === "inf" ? Infinity : one === "-inf" ? -Infinity : one;

const decodeMeasure = one => ({
  ...one, text: one.text.split("|"), value: one.value.map(readNumber), low: one.low.map(readNumber), high: one.high.map(readNumber),
});

// Indices of every cell along every axis, from its place in the whole grid.
const decodePlaces = (axes, cells) => {
  const sizes = axes.map(axis => axis.values.length);
  const flat = cells ?? Array.from({length: sizes.reduce((a, b) => a * b, 1)}, (_, i) => i);
  const found = axes.map(() => new Uint16Array(flat.length));
  flat.forEach((place, i) => {
    for (let k = axes.length - 1; k >= 0; k--) {
      found[k][i] = place % sizes[k];
      place = Math.floor(place / sizes[k]);
    }
  });
  return found;
};

const decodeData = plain => {
  const places = decodePlaces(plain.axes, plain.cells);
  const axes = new Map(plain.axes.map((axis, k) => [axis.name, {...axis, places: places[k]}]));
  return {
    ...plain,
    axes,
    count: places[0].length,
    varying: [...axes.values()].filter(axis => axis.values.length > 1),
    measures: new Map(plain.measures.map(one => [one.name, decodeMeasure(one)])),
    target: plain.target.map(readNumber),
  };
};

// Quantiles of a cell over its replications, from the least value to the largest.
const takeQuantiles = (data, name, i) => {
  const count = data.spread.shares.length;
  return data.spread[name].slice(i * count, (i + 1) * count).map(readNumber);
};
