// Sorting and filtering. Without this script every table is there, whole and in order.
"use strict";
(() => {
  const number = text => {
    const plain = text.replace("−", "-").trim();
    if (plain.startsWith("inf")) return Infinity;
    if (plain.startsWith("-inf")) return -Infinity;
    return /^[-+]?\d/.test(plain) ? parseFloat(plain) : NaN;
  };
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (!isNaN(x) && !isNaN(y)) return x === y ? 0 : x < y ? -1 : 1;
    if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;  // words after numbers
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const text = (row, i) => row.cells[i].textContent;

  const sort = (table, head, i) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map(row => [text(row, i), row]);
    const last = rows.filter(([key]) => key === "–"), known = rows.filter(([key]) => key !== "–");
    known.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
    body.append(...known.concat(last).map(([, row]) => row));
  };

  for (const table of document.querySelectorAll("table.sheet")) {
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head, i));
    });
  }

  // Values that are chosen hold for every table of the box.
  for (const box of document.querySelectorAll(".data")) {
    const tables = [...box.querySelectorAll("table.sheet")];
    const chosen = new Map();
    const bar = document.createElement("div"), count = document.createElement("output");
    bar.className = "filters";
    count.setAttribute("aria-live", "polite");

    const left = new Map();  // rows that are shown, by table
    const apply = () => {
      for (const table of tables) {
        const heads = [...table.tHead.rows[0].cells], rows = table.tBodies[0].rows;
        const places = [...chosen].filter(([, value]) => value !== "")
          .map(([axis, value]) => [heads.findIndex(head => head.dataset.axis === axis), value])
          .filter(([i]) => i >= 0);
        let shown = 0;
        for (const row of rows) {
          const hidden = places.some(([i, value]) => text(row, i) !== value);
          if (row.hidden !== hidden) row.hidden = hidden;
          shown += !hidden;
        }
        left.set(table, `${shown} of ${rows.length} rows`);
      }
    };
    const tell = () => {
      const seen = tables.filter(table => table.offsetParent).map(table => left.get(table));
      count.textContent = [...new Set(seen)].join(", ");
    };

    const values = new Map();
    for (const table of tables) {
      [...table.tHead.rows[0].cells].forEach((head, i) => {
        if (!head.dataset.axis) return;
        const found = values.get(head.dataset.axis) ?? [head.textContent, new Set()];
        for (const row of table.tBodies[0].rows) found[1].add(text(row, i));
        values.set(head.dataset.axis, found);
      });
    }
    for (const [axis, [name, found]] of values) {
      if (found.size < 2) continue;
      const label = document.createElement("label"), select = document.createElement("select");
      select.name = axis;
      select.append(new Option("all", ""));
      for (const value of axis === "procedure" ? found : [...found].sort(compare)) select.append(new Option(value, value));
      select.addEventListener("change", () => { chosen.set(axis, select.value); apply(); });  // the box then tells
      label.append(name, select);
      bar.append(label);
    }
    bar.append(count);
    const choices = box.querySelector(".choices");
    choices ? choices.after(bar) : box.prepend(bar);
    box.addEventListener("change", tell);
    apply();
    tell();
  }

  // Paper can't unfold anything.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
})();
