// Theme, language, menu and search. Everything else of the site works without a script.
(() => {
  "use strict";
  const root = document.documentElement;
  const base = document.currentScript.dataset.root;
  root.dataset.script = "yes";

  // A browser may refuse storage to pages that were opened from a file.
  const remembered = key => { try { return localStorage.getItem("diopi-" + key); } catch { return null; } };
  const remember = (key, value) => { try { localStorage.setItem("diopi-" + key, value); } catch { /* not kept */ } };

  if (remembered("theme")) root.dataset.theme = remembered("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  const chinese = window.DIOPI_LABELS;
  const english = new Map();
  const ATTRIBUTES = ["placeholder", "aria-label", "title"];
  let language = remembered("language") || (navigator.language.startsWith("zh") ? "zh" : "en");
  const word = name => language === "zh" ? chinese[name] : english.get(name) || name;

  function translate() {
    root.lang = language === "zh" ? "zh-CN" : "en";
    for (const one of document.querySelectorAll("[data-t]")) {
      if (!english.has(one.dataset.t)) english.set(one.dataset.t, one.textContent);
      one.textContent = word(one.dataset.t);
    }
    for (const attribute of ATTRIBUTES)
      for (const one of document.querySelectorAll(`[data-t-${attribute}]`)) {
        const name = one.getAttribute(`data-t-${attribute}`);
        if (!english.has(name)) english.set(name, one.getAttribute(attribute));
        one.setAttribute(attribute, word(name));
      }
    const button = document.getElementById("language");
    button.textContent = language === "zh" ? chinese.language : "中文";
    button.lang = language === "zh" ? "en" : "zh";
    // The text of the spec is English whatever the frame is.
    document.getElementById("content").lang = "en";
  }

  // ---- search ------------------------------------------------------------------------------------------------------

  let entries = null;
  let loading = null;
  function load() {
    loading ??= new Promise(done => {
      const script = document.createElement("script");
      script.src = base + "assets/search-index.js";
      script.onload = () => { entries = window.DIOPI_INDEX; done(); };
      document.head.append(script);
    });
    return loading;
  }

  /** How well an entry fits a word, 0 where it does not: its title first, then other names, then what is around it. */
  function fit([title, , , about, names, words], wanted) {
    const name = title.toLowerCase();
    if (name === wanted || ("diopi" + name) === wanted) return 100;
    if (names.split(" ").includes(wanted)) return 80;
    if (name.startsWith(wanted)) return 60 - Math.min(name.length - wanted.length, 20);
    if (names.includes(wanted)) return 30;
    if (words.split(" ").includes(wanted)) return 20;
    if (words.includes(wanted)) return 12;
    return about.toLowerCase().includes(wanted) ? 5 : 0;
  }

  function found(text) {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    const scored = [];
    for (const entry of entries) {
      const fits = wanted.map(one => fit(entry, one));
      if (wanted.length && fits.every(Boolean)) scored.push([fits.reduce((a, b) => a + b), entry]);
    }
    return scored.sort((a, b) => b[0] - a[0] || a[1][0].length - b[1][0].length).slice(0, 30).map(pair => pair[1]);
  }

  function show(list, query, rows) {
    list.replaceChildren();
    rows.forEach(([title, kind, href, about], number) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const more = document.createElement("small");
      item.id = "result-" + number;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(number === 0));
      link.href = base + href;
      link.tabIndex = -1;
      link.textContent = title + " ";
      more.textContent = (kind === "operator" ? "" : word(kind) + " · ") + about;
      link.append(more);
      item.append(link);
      list.append(item);
    });
    if (!rows.length) {
      const item = document.createElement("li");
      item.className = "nothing";
      item.textContent = language === "zh" ? chinese["no-result"] : "Nothing found";
      list.append(item);
    }
    list.hidden = false;
    query.setAttribute("aria-expanded", "true");
    select(list, query, 0);
  }

  function select(list, query, step) {
    const rows = [...list.querySelectorAll("[role=option]")];
    if (!rows.length) return;
    const now = rows.findIndex(row => row.getAttribute("aria-selected") === "true");
    const next = (now + step + rows.length) % rows.length;
    rows.forEach((row, number) => row.setAttribute("aria-selected", String(number === next)));
    rows[next].scrollIntoView({ block: "nearest" });
    query.setAttribute("aria-activedescendant", rows[next].id);
  }

  function start() {
    // Names are read before anything is translated.
    for (const one of document.querySelectorAll("[data-t]")) english.set(one.dataset.t, one.textContent);
    translate();
    const button = id => document.getElementById(id);
    button("language").addEventListener("click", () => {
      language = language === "zh" ? "en" : "zh";
      remember("language", language);
      translate();
    });
    button("theme").addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      remember("theme", root.dataset.theme);
    });
    button("menu").addEventListener("click", () => {
      const open = document.body.classList.toggle("open");
      button("menu").setAttribute("aria-expanded", String(open));
    });
    const here = document.querySelector("nav [aria-current=page]");
    const menu = document.querySelector("nav");
    if (here && menu.scrollHeight > menu.clientHeight) menu.scrollTop = here.offsetTop - menu.clientHeight / 2;

    const query = button("query");
    const list = button("results");
    const hide = () => { list.hidden = true; query.setAttribute("aria-expanded", "false"); };
    const search = () => load().then(() => query.value.trim() ? show(list, query, found(query.value)) : hide());
    query.addEventListener("focus", load);
    query.addEventListener("input", search);
    query.addEventListener("keydown", event => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        select(list, query, event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Escape") {
        hide();
        query.blur();
      }
    });
    button("search").addEventListener("submit", event => {
      event.preventDefault();
      const chosen = list.hidden ? null : list.querySelector("[aria-selected=true] a");
      if (chosen) location.href = chosen.href;
    });
    document.addEventListener("click", event => { if (!button("search").contains(event.target)) hide(); });
    document.addEventListener("keydown", event => {
      const typing = /^(input|textarea|select)$/i.test(event.target.tagName) || event.target.isContentEditable;
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        query.focus();
      }
    });
    // A constraint or a parameter of a variant is within details that are closed.
    const open = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
      if (target) target.scrollIntoView();
    };
    addEventListener("hashchange", open);
    if (location.hash) open();
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
