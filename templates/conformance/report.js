"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const search = document.getElementById("search");
const family = document.getElementById("family");
const outcome = document.getElementById("outcome");
// What is worst comes first: a cell of the map has the colour of the worst that happened in it.
const worst = ["crashed", "hung", "failed", "nondeterministic", "missing", "unimplemented", "uncovered", "excepted", "converted", "declared", "passed"];
const failing = ["failed", "crashed", "hung", "nondeterministic"];
const sorting = { column: "name", rising: true };
let mapAxis = "dtype";

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null).map((child) => typeof child === "number" ? String(child) : child));
  return node;
}

function link(fn) { return make("a", { href: "#" + fn.name }, fn.name); }

function bar(counts) {
  const parts = data.outcomes.filter((name) => counts[name]);
  return make("div", { class: "bar", title: told(counts) },
    ...parts.map((name) => make("i", { class: name, style: "flex-grow:" + counts[name] })));
}

function told(counts) {
  return data.outcomes.filter((name) => counts[name]).map((name) => counts[name] + " " + name).join(", ");
}

function chosen() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return data.functions.filter((fn) =>
    (!family.value || fn.family === family.value) &&
    (!outcome.value || fn.counts[outcome.value]) &&
    words.every((word) => fn.haystack.includes(word)));
}

// Wide tables scroll by themselves, also with the keyboard.
function boxed(name, kind, node) { return make("div", { class: kind, role: "group", tabindex: 0, "aria-label": name }, node); }

function nothing(text) { return make("p", { class: "empty" }, text); }

// ---- the table of functions -----------------------------------------------------------------------------------------

function functionsPage() {
  const used = data.outcomes.filter((name) => data.functions.some((fn) => fn.counts[name]));
  const columns = ["name", "family", "cases", ...used, "seconds"];
  const value = (fn, column) => used.includes(column) ? fn.counts[column] || 0 : fn[column];
  const rows = chosen().sort((a, b) => {
    const [x, y] = [value(a, sorting.column), value(b, sorting.column)];
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return (sorting.rising ? order : -order) || a.name.localeCompare(b.name);
  });
  const head = columns.map((column) => make("th", {
    class: "sortable" + (column === "name" || column === "family" ? " text" : ""), tabindex: 0, scope: "col",
    "aria-sort": column === sorting.column ? (sorting.rising ? "ascending" : "descending") : null,
    onclick: () => sortBy(column), onkeydown: (event) => { if (event.key === "Enter") sortBy(column); },
  }, column === "name" ? "function" : column));
  head.splice(3, 0, make("th", { class: "text", scope: "col" }, "outcomes"));
  const numbers = (of) => used.map((name) => count(of(name), name));
  const sum = (pick) => rows.reduce((total, fn) => total + pick(fn), 0);
  const total = make("tr", { class: "total" }, make("td", { class: "text" }, rows.length + " functions"), make("td"),
    make("td", {}, sum((fn) => fn.cases)), make("td"), ...numbers((name) => sum((fn) => fn.counts[name] || 0)),
    make("td", {}, sum((fn) => fn.seconds).toFixed(2)));
  const body = rows.map((fn) => make("tr", {}, make("td", { class: "text" }, link(fn)),
    make("td", { class: "text" }, fn.family), make("td", {}, fn.cases), make("td", {}, bar(fn.counts)),
    ...numbers((name) => fn.counts[name] || 0), make("td", {}, fn.seconds.toFixed(2))));
  page.replaceChildren(rows.length
    ? boxed("Functions", "scroll tall", make("table", { class: "list wide" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, total, ...body)))
    : nothing("No function matches."));
}

function count(number, name) {
  if (!number) return make("td", { class: "zero" }, "·");
  return make("td", {}, failing.includes(name) ? make("b", { class: name }, number) : number);
}

function sortBy(column) {
  const text = column === "name" || column === "family";
  sorting.rising = sorting.column === column ? !sorting.rising : text;
  sorting.column = column;
  show();
}

// ---- the coverage map -----------------------------------------------------------------------------------------------

function mapPage() {
  const rows = chosen();
  const columns = mapAxis === "dtype" ? data.dtypes : data.axes;
  const choice = make("span", { class: "choice" }, ...["dtype", "axis"].map((name) =>
    make("button", { class: name === mapAxis ? "on" : "", onclick: () => { mapAxis = name; show(); } }, "by " + name)));
  const holes = rows.reduce((total, fn) => total + fn.holes.length, 0);
  const note = make("p", { class: "note" }, "A cell has the number of cases and the colour of the worst that came of them. ",
    make("i", { class: "key" }), " marks a dtype that the spec lists and no case of this run reaches: ",
    make("b", {}, holes + (holes === 1 ? " hole." : " holes.")), " An empty cell is no part of the function.");
  const body = rows.map((fn) => make("tr", {}, make("td", { class: "text" }, link(fn)),
    ...columns.map((name) => cell(cellsOf(fn, mapAxis, name), mapAxis === "dtype" && fn.holes.includes(name)))));
  page.replaceChildren(make("h2", {}, "Coverage map ", choice), note,
    rows.length ? boxed("Coverage map", "scroll tall", grid("function", columns, body)) : nothing("No function matches."));
}

function grid(corner, columns, body) {
  return make("table", { class: "map" }, make("thead", {}, make("tr", {}, make("th", { class: "text" }, corner),
    ...columns.map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...body));
}

function cellsOf(fn, what, name, second) {
  const counts = {};
  for (const [dtype, axis, result, number] of fn.cells) {
    const here = what === "dtype" ? data.dtypes[dtype] : data.axes[axis];
    if (here !== name || (second !== undefined && data.axes[axis] !== second)) continue;
    const key = data.outcomes[result];
    counts[key] = (counts[key] || 0) + number;
  }
  return counts;
}

function cell(counts, hole) {
  const name = worst.find((word) => counts[word]);
  if (!name) return hole ? make("td", { class: "hole", title: "listed by the spec, reached by no case" }, "0") : make("td");
  const number = Object.values(counts).reduce((a, b) => a + b, 0);
  return make("td", { class: name + (failing.includes(name) ? " bad" : ""), title: told(counts) }, number);
}

// ---- failures and the page of one function --------------------------------------------------------------------------

function failure(found) {
  const faults = found.faults.map((fault) => {
    const lines = [make("p", {}, make("b", {}, fault.kind), fault.parameter ? " of " : "", fault.parameter ? make("code", {}, fault.parameter) : "", ": " + fault.message)];
    if (fault.expected || fault.actual) {
      lines.push(make("div", { class: "values" }, make("span", {}, "expected"), make("code", {}, fault.expected),
        make("span", {}, "actual"), make("code", {}, fault.actual)));
    }
    return make("div", {}, ...lines);
  });
  const copy = make("button", { onclick: () => navigator.clipboard.writeText(found.repeat).then(() => { copy.textContent = "copied"; }) }, "copy");
  return make("article", { class: "failure " + found.outcome },
    make("h4", {}, found.id, make("small", {}, found.outcome)), ...faults,
    found.operands.length ? make("pre", {}, found.operands.join("\n")) : null,
    make("div", { class: "repeat" }, make("code", {}, found.repeat), copy));
}

function failuresPage() {
  const rows = chosen().filter((fn) => fn.failures.length);
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const parts = [];
  for (const fn of rows) {
    const found = fn.failures.filter((one) => (!failing.includes(outcome.value) || one.outcome === outcome.value) &&
      words.every((word) => one.id.toLowerCase().includes(word) || fn.haystack.includes(word)));
    if (!found.length) continue;
    const all = failing.reduce((total, name) => total + (fn.counts[name] || 0), 0);
    parts.push(make("h3", {}, link(fn), " " + all + " of " + fn.cases + " cases"), ...found.slice(0, 3).map(failure));
    if (all > 3) parts.push(make("p", {}, make("a", { href: "#" + fn.name }, "all failures of " + fn.name)));
  }
  page.replaceChildren(make("h2", {}, "Failures"), ...(parts.length ? parts : [nothing(data.failures ? "No failure matches." : "No case failed.")]));
}

function functionPage(fn) {
  const axes = data.axes.filter((name) => fn.cells.some((entry) => data.axes[entry[1]] === name));
  const dtypes = data.dtypes.filter((name) => fn.holes.includes(name) || fn.cells.some((entry) => data.dtypes[entry[0]] === name));
  const body = dtypes.map((dtype) => make("tr", {}, make("td", { class: "text" }, dtype),
    ...axes.map((axis) => cell(cellsOf(fn, "dtype", dtype, axis), false)),
    fn.holes.includes(dtype) ? make("td", { class: "hole", title: "listed by the spec, reached by no case" }, "0") : make("td", {})));
  const hidden = fn.more ? make("p", { class: "note" }, fn.more + " more failures are in the JSON form of these results.") : null;
  page.replaceChildren(...[make("h2", {}, fn.name), make("p", { class: "note" }, fn.family + " · " + fn.cases + " cases: " + told(fn.counts) + " · " + fn.seconds.toFixed(2) + " s"),
    boxed("Cases by dtype and axis", "scroll", grid("dtype", axes, body)),
    fn.failures.length ? make("h3", {}, "Failures") : null, ...fn.failures.map(failure), hidden].filter(Boolean));
}

function exceptionsPage() {
  const rows = data.exceptions.map((entry) => make("tr", {}, make("td", { class: "text" }, entry.where),
    make("td", { class: "text" }, entry.kind), make("td", {}, entry.cases), make("td", {}, entry.excepted),
    make("td", {}, (100 * entry.excepted / data.total).toFixed(2) + " %"), make("td", { class: "text free" }, entry.reason)));
  const head = [["entry", "text"], ["kind", "text"], ["cases"], ["excepted"], ["of the total"], ["reason", "text"]];
  page.replaceChildren(make("h2", {}, "Known exceptions"),
    make("p", { class: "note" }, "What the vendor knows not to be right. Cases that need an exception are counted as excepted, not as passed."),
    rows.length ? table("Known exceptions", head, rows) : nothing("The run has none."));
}

// ---- accuracy, and what the vendor's side declares and converts --------------------------------------------------------

function table(name, head, rows) {
  return boxed(name, "scroll tall", make("table", { class: "list wide" }, make("thead", {}, make("tr", {},
    ...head.map(([title, kind]) => make("th", { class: kind || "", scope: "col" }, title)))), make("tbody", {}, ...rows)));
}

function ulp(value) {
  return make("td", value === undefined ? { class: "zero" } : {},
    value === undefined ? "·" : value < 10000 ? value.toFixed(2) : value.toExponential(1));
}

function accuracyPage() {
  const shown = new Set(chosen().map((fn) => fn.name));
  const rows = data.accuracy.filter((row) => shown.has(row.function)).map((row) => make("tr", {},
    make("td", { class: "text" }, link({ name: row.function })), make("td", { class: "text" }, row.dtype),
    ulp(row.worst), ulp(row.mean), ...data.recorded.flatMap(([name]) => (row.others[name] || [undefined, undefined]).map(ulp)),
    make("td", {}, row.elements), make("td", { class: "text free" }, row.case)));
  const head = [["function", "text"], ["dtype", "text"], ["worst"], ["mean"],
    ...data.recorded.flatMap(([name]) => [[name + " worst"], [name + " mean"]]), ["elements"], ["worst in", "text"]];
  page.replaceChildren(make("h2", {}, "Accuracy"),
    make("p", { class: "note" }, "Errors in units in the last place of the result's dtype, against the suite's oracles. Compared with: " +
      (data.recorded.map(([name, version]) => name + " " + version).join(" and ") || "nothing") +
      ", recorded over all cases. Sums whose terms cancel have large errors in every library."),
    rows.length ? table("Accuracy", head, rows) : nothing("No result was measured."));
}

function vendorPage() {
  const declared = data.declared.map((use) => make("tr", {}, make("td", { class: "text" }, use.where),
    make("td", { class: "text free" }, use.text), make("td", {}, use.cases), make("td", {}, use.alone),
    use.worse.length ? make("td", {}, make("b", { class: "failed" }, use.worse.length)) : make("td", { class: "zero" }, "·"),
    make("td", { class: "text free" }, use.worse.slice(0, 3).join(", "))));
  const converted = data.converted.map(([name, casts, ran, alone]) => make("tr", {},
    make("td", { class: "text" }, link({ name })), make("td", { class: "text" }, casts), make("td", {}, ran), make("td", {}, alone)));
  page.replaceChildren(make("h2", {}, "Declared accuracy"),
    make("p", { class: "note" }, "What the chip's file declares of results, the cases that pass by it alone, and those that are worse."),
    declared.length ? table("Declared accuracy", [["entry", "text"], ["declares", "text"], ["cases"], ["by it alone"], ["worse"], ["such as", "text"]], declared)
      : nothing("Nothing is declared."),
    make("h2", {}, "Converted calls"),
    make("p", { class: "note" }, "Calls that the vendor's shims convert, and those that are right only for the dtypes that they are converted to."),
    converted.length ? table("Converted calls", [["function", "text"], ["casts", "text"], ["calls"], ["only converted"]], converted)
      : nothing("Nothing is converted."));
}

// ---- which page is shown --------------------------------------------------------------------------------------------

function show() {
  const place = decodeURIComponent(location.hash.slice(1)) || (data.failures ? "failures" : "functions");
  const pages = { functions: functionsPage, map: mapPage, failures: failuresPage, exceptions: exceptionsPage,
    accuracy: accuracyPage, vendor: vendorPage };
  const fn = data.functions.find((one) => one.name === place);
  for (const anchor of document.querySelectorAll("nav a")) {
    anchor.classList.toggle("here", anchor.getAttribute("href") === "#" + place);
  }
  if (fn) functionPage(fn); else (pages[place] || functionsPage)();
}

for (const fn of data.functions) {
  fn.haystack = (fn.name + " " + fn.family + " " + fn.failures.map((one) => one.id).join(" ")).toLowerCase();
}
for (const name of new Set(data.functions.map((fn) => fn.family))) family.append(make("option", { value: name }, name));
for (const name of data.outcomes) {
  if (data.functions.some((fn) => fn.counts[name])) outcome.append(make("option", { value: name }, name));
}
for (const control of [search, family, outcome]) control.addEventListener("input", show);
addEventListener("hashchange", () => { show(); if (page.getBoundingClientRect().top < 0) page.scrollIntoView(); });
show();
