"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const search = document.getElementById("search");
const NS = "http://www.w3.org/2000/svg";
const SHOWN = 100;

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) node.setAttribute(name, value);
  node.append(...children.map((child) => typeof child === "number" ? String(child) : child));
  return node;
}

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function section(id, title, note, ...content) {
  return make("section", { id }, make("h2", {}, title), make("p", { class: "note" }, note), ...content);
}

// Wide tables scroll by themselves, also with the keyboard.
function boxed(name, ...content) { return make("div", { class: "scroll", role: "group", tabindex: 0, "aria-label": name }, ...content); }

// Columns are [title, class, cell of a row].
function table(name, rows, columns, nothing) {
  if (!rows.length) return make("p", { class: "empty" }, nothing);
  const head = make("tr", {}, ...columns.map(([title, kind]) => make("th", { class: kind || null, scope: "col" }, title)));
  const body = rows.slice(0, SHOWN).map((row) => make("tr", {}, ...columns.map(([, kind, cell]) => make("td", { class: kind || null }, cell(row)))));
  const more = rows.length > SHOWN ? [make("p", { class: "note" }, "and " + (rows.length - SHOWN) + " more")] : [];
  return boxed(name, make("table", { class: "list" }, make("thead", {}, head), make("tbody", {}, ...body)), ...more);
}

// ---- the runs, oldest on the left: what failed, and what neither passed nor failed ------------------------------------

function chart() {
  const width = 1000, height = 180, ground = 160;
  const most = Math.max(1, ...data.runs.map((run) => run.failing));
  const step = width / Math.max(1, data.runs.length);
  const svg = shape("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "failing cases of each run" });
  data.runs.forEach((run, index) => {
    const tall = run.failing ? Math.max(2, (ground - 20) * run.failing / most) : 0;
    if (tall) svg.append(shape("rect", { class: "failing", x: index * step, y: ground - tall, width: Math.max(0.8, step * 0.85), height: tall }));
    const told = shape("title", {});
    told.textContent = `${run.at} ${run.vendor} ${run.version} (${run.library}): ${run.passed} of ${run.cases} passed, ${run.failing} failing`;
    svg.append(shape("rect", { class: "spot", x: index * step, y: 0, width: step, height: ground }, told));
  });
  svg.append(shape("rect", { class: "other", x: 0, y: ground, width, height: 1 }));
  return [make("p", { class: "note" }, `highest bar: ${most} failing cases; ${data.runs.length} runs`), svg];
}

function runsTable() {
  return table("Runs", [...data.runs].reverse().slice(0, 20), [
    ["run", "text", (run) => run.at], ["host", "text", (run) => run.host], ["version", "text", (run) => `${run.vendor} ${run.version}`],
    ["library", "text", (run) => run.library], ["cases", "", (run) => run.cases], ["passed", "", (run) => run.passed],
    ["failing", "", (run) => run.failing], ["nondeterministic", "", (run) => run.nondeterministic], ["not run", "", (run) => run.not_run],
    ["suspect cards", "text", (run) => run.suspects.join("; ")], ["seconds", "", (run) => run.seconds],
  ], "no runs");
}

// ---- functions ----------------------------------------------------------------------------------------------------------

// Points are [run, cases, passed, failing], where anything changed.
function spark(fn) {
  const last = Math.max(1, data.runs.length - 1);
  const level = ([, cases, , failing]) => cases ? 2 + 14 * failing / cases : 2;
  const line = [];
  fn.points.forEach((point, index) => {
    if (index) line.push(`${(150 * point[0] / last).toFixed(1)},${(18 - level(fn.points[index - 1])).toFixed(1)}`);
    line.push(`${(150 * point[0] / last).toFixed(1)},${(18 - level(point)).toFixed(1)}`);
  });
  line.push(`150,${(18 - level(fn.points[fn.points.length - 1])).toFixed(1)}`);
  const bad = fn.points[fn.points.length - 1][3] > 0;
  return shape("svg", { class: bad ? "spark bad" : "spark", viewBox: "0 0 150 18" }, shape("polyline", { points: line.join(" ") }));
}

function functionRows() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const now = (fn) => fn.points[fn.points.length - 1];
  return data.functions.filter((fn) => words.every((word) => fn.name.toLowerCase().includes(word)))
    .sort((a, b) => now(b)[3] - now(a)[3] || (b.ratio || 0) - (a.ratio || 0) || a.name.localeCompare(b.name))
    .map((fn) => {
      const [, cases, passed, failing] = now(fn);
      const ratio = make("td", { class: fn.ratio >= 1.5 ? "worse" : null }, fn.ratio === null ? "" : fn.ratio.toFixed(2));
      return make("tr", {}, make("td", { class: "text" }, fn.name), make("td", {}, cases), make("td", {}, passed), make("td", { class: failing ? "worse" : "zero" }, failing),
        make("td", { class: "text" }, spark(fn)), make("td", {}, fn.seconds === null ? "" : fn.seconds.toFixed(3)), ratio);
    });
}

const body = make("tbody", {}, ...functionRows());
const heads = ["function", "cases", "passed", "failing", "failing over time", "seconds", "times the usual"];
const functions = make("table", { class: "list" }, make("thead", {}, make("tr", {}, ...heads.map((title, index) =>
  make("th", { class: index === 0 || index === 4 ? "text" : null, scope: "col" }, title)))), body);
search.addEventListener("input", () => body.replaceChildren(...functionRows()));

const change = [["case", "text", (one) => one.case], ["before", "text", (one) => one.before || "new"], ["now", "text", (one) => one.outcome], ["message", "text free", (one) => one.message]];
page.append(
  section("runs", "Runs", "Failing cases of each run, the oldest on the left. The table has the latest 20.", ...chart(), runsTable()),
  section("broken", "Newly failing", "Cases that fail in the latest run, and did not in the one before.", table("Newly failing", data.broken, change, "nothing")),
  section("fixed", "Fixed", "Cases that failed in the run before the latest.", table("Fixed", data.fixed, change, "nothing")),
  section("failing", "Failing", "Cases that fail in the latest run.", table("Failing", data.failing, [["case", "text", (one) => one[0]], ["outcome", "text", (one) => one[1]]], "nothing")),
  section("unsteady", "Unsteady", "Cases whose outcome changed although library, spec, settings and seed did not: the kernel is not deterministic, or a card is faulty.",
    table("Unsteady", data.unsteady, [["case", "text", (one) => one[0]], ["changes", "", (one) => one[1]]], "nothing")),
  section("drift", "Larger errors", "Functions whose largest error has grown, although their cases may pass.",
    table("Larger errors", data.drift, [["function", "text", (one) => one[0]], ["dtype", "text", (one) => one[1]], ["smallest, ULP", "", (one) => one[2].toPrecision(3)], ["now, ULP", "", (one) => one[3].toPrecision(3)], ["since", "text", (one) => one[4]]], "nothing")),
  section("functions", "Functions", "Those with the most failing cases first. Times are those of the latest run, and their ratio to the median of the 20 runs before.",
    boxed("Functions", functions)),
);
