// One cell: its distribution over replications, and the command that replays the worst of them.

const formatCommand = (data, i) => {
  const value = name => { const axis = data.axes.get(name); return (axis.words ?? axis.values)[axis.places[i]]; };
  const cell = ["theta", "lam", "gamma"].map(name => `--${name} ${value(name)}`).join(" ");
  return `ckrr replay ${data.store} --n ${value("n")} --path ${data.spread.path[i]} --draw ${data.spread.draw[i]} ${cell}`;
};

const makeQuantileTable = (data, coverage, width) => {
  const head = element("tr", {}, ...["% of the replications", `${data.spread.judged} at most`, "width at most"].map(text => element("th", {scope: "col"}, text)));
  const rows = data.spread.shares.map((share, k) => element("tr", {},
    element("th", {scope: "row"}, share === 0 ? "least" : share === 1 ? "largest" : formatNumber(Math.round(1000 * share) / 10)), element("td", {}, formatNumber(coverage[k])), element("td", {}, formatNumber(width[k]))));
  const table = element("table", {}, element("caption", {}, "Quantiles over replications"), element("thead", {}, head), element("tbody", {}, ...rows));
  return element("details", {}, element("summary", {}, "These quantiles as a table"), element("div", {class: "box"}, table));
};

const showDetail = async (library, data, i, measure, box, live) => {
  const coverage = takeQuantiles(data, "coverage", i), width = takeQuantiles(data, "width", i), count = data.replications[i];
  const stroke = data.strokes[data.axes.get("procedure").places[i]];
  const name = nameCell(data, i, measure, [...data.axes.values()]);
  const charts = [element("div", {}), element("div", {})];
  const worst = `The worst of ${count === 1 ? "1 replication" : `${count} replications`} has ${data.spread.judged} ${formatNumber(coverage[0])}`;
  box.replaceChildren(
    element("h3", {}, name),
    element("p", {}, `${describeCell(data, i, measure).slice(1).join(". ")}.`),
    element("div", {class: "spread"}, ...charts),
    element("p", {}, `${worst} (path ${data.spread.path[i]}, draw ${data.spread.draw[i]}). This command replays it:`),
    element("pre", {}, element("code", {}, formatCommand(data, i))),
    makeQuantileTable(data, coverage, width),
  );
  box.hidden = false;
  live.textContent = `Below the chart: the distribution of ${name} over replications. ${worst}.`;
  const space = Math.min(400, box.clientWidth - 110);
  const drawn = [[coverage, data.spread.judged, data.target[i]], [width, "width", NaN]];
  for (const [k, [quantiles, title, target]] of drawn.entries()) {
    const finite = quantiles.filter(Number.isFinite).length;
    if (finite < quantiles.length && new Set(quantiles).size > 1) {
      const first = data.spread.shares[quantiles.findIndex(one => !Number.isFinite(one))];
      charts[k].append(element("p", {class: "note"}, `${upper(title)}: infinite from the quantile of ${formatNumber(Math.round(1000 * first) / 10)} % on.`));
    }
    if (new Set(quantiles).size > 1 && finite < 2) continue;
    if (new Set(quantiles).size > 1) {
      const chart = element("div", {});
      charts[k].append(chart);
      await draw(library, makeQuantileChart(quantiles, data.spread.shares, title, target, stroke.colour, space), chart);
    } else charts[k].append(element("p", {class: "note"}, `${upper(title)}: ${formatNumber(quantiles[0])} in every replication.`));
  }
};
