// A search box that answers as one types: a WAI-ARIA combobox over the server's API. Used by the page and by widget.js.

import { say } from "./language.js";

const RECENT = "structformer-recent";
const WORDS_AFTER = 60; // milliseconds after a key: beginnings of words
const MEANING_AFTER = 350; // after a pause: the whole search
let boxes = 0;

/** An element with these attributes, and what is in it. */
export function made(name, attributes, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

/** Text with its [start, end) spans in <mark>s. */
export function marked(text, spans) {
  const parts = document.createDocumentFragment();
  // The spans count characters as Python does; JavaScript counts those beyond the first plane twice.
  const characters = Array.from(text);
  let place = 0;
  for (const [start, end] of spans) {
    parts.append(characters.slice(place, start).join(""), made("mark", {}, characters.slice(start, end).join("")));
    place = end;
  }
  parts.append(characters.slice(place).join(""));
  return parts;
}

/** An address at the first words of a text, which a browser looks for on that page, goes to and marks. */
export function atWords(address, text) {
  const words = text.trim().split("…")[0].split("\n")[0].split(" ").slice(0, 6).join(" ").trim();
  const directive = `:~:text=${encodeURIComponent(words).replaceAll("-", "%2D")}`;
  return words ? address + (address.includes("#") ? "" : "#") + directive : address;
}

/** The same for a hit: at what is highlighted first. */
export const atHighlight = (address, { snippet, highlights: [first] }) =>
  first ? atWords(address, Array.from(snippet).slice(first[0]).join("")) : address;

function recent() {
  try {
    return JSON.parse(localStorage.getItem(RECENT) || "[]").slice(0, 5);
  } catch {
    return [];
  }
}

/** Remember a search on this machine. */
export function remember(query) {
  try {
    const others = recent().filter((each) => each !== query);
    localStorage.setItem(RECENT, JSON.stringify([query, ...others].slice(0, 5)));
  } catch {
    // a browser that keeps nothing
  }
}

/**
 * Make an <input> a search box. endpoint: where the server is; address(hit): where a hit leads; submit(query): what
 * Enter does where nothing is chosen; filters: [name, value] pairs that go with every search; token: for the server;
 * ask(query, typing): what answers in the place of a server.
 */
export function attach(input, { endpoint, address, submit, chosen = () => {}, filters = [], token = "", ask: answer = null }) {
  const number = ++boxes;
  const list = made("div", { class: "sf-list", id: `sf-list-${number}`, role: "listbox", "aria-label": say("results") });
  const keys = made("div", { class: "sf-keys", "aria-hidden": "true" }); // a combobox's own keys, which need not be said
  for (const [key, does] of [["↑ ↓", "choose"], ["Enter", "open"], ["Esc", "close"]]) {
    keys.append(made("span", {}, made("kbd", {}, key), ` ${say(does)}`));
  }
  const searched = made("div", { class: "sf-for", hidden: "" }); // what the results are for, where that is not what was typed
  const panel = made("div", { class: "sf-panel", hidden: "" }, searched, list, keys);
  const live = made("div", { class: "sf-live", role: "status" });
  input.after(panel, live);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id], ["aria-haspopup", "listbox"]]) {
    input.setAttribute(name, value);
  }
  let active = -1;
  let asking = null;
  let words = 0;
  let meaning = 0;

  const options = () => Array.from(list.querySelectorAll("[role=option]"));

  /** Forget what was asked and has not been answered: its answer must not open a list that was closed. */
  function giveUp() {
    clearTimeout(words);
    clearTimeout(meaning);
    asking?.abort();
  }

  function open(shown) {
    panel.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    if (shown) return;
    giveUp();
    activate(-1);
  }

  function activate(place) {
    active = place;
    options().forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    const option = options()[place];
    if (option) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  }

  function option(href, title, spans, snippet, marks, isCode) {
    const name = made("span", { class: "sf-title" }, marked(title, spans));
    const link = made("a", { class: "sf-option", href, dir: "auto", tabindex: -1, role: "option", "aria-selected": "false" }, name);
    if (snippet) link.append(made("span", { class: isCode ? "sf-snippet sf-code" : "sf-snippet" }, marked(snippet, marks)));
    return link;
  }

  /** A group of the list, so far with its heading alone. */
  function group(heading, id) {
    const one = made("div", { role: "group", "aria-labelledby": id }, made("div", { class: "sf-group", id, dir: "auto" }, heading));
    list.append(one);
    return one;
  }

  /** The address of all results. */
  const page = (query) => `${answer && !endpoint ? "" : `${endpoint}/`}?${new URLSearchParams([["q", query], ...filters])}`;

  /** The last row: to the page of all results. */
  function all(query, id) {
    const link = option(page(query), say("all_results", { query }), [], "", []);
    link.id = id;
    link.classList.add("sf-all");
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      remember(query);
      submit(query);
    });
    return link;
  }

  /** typing: a word may be unfinished, so that nothing is said of doubt yet. */
  function show(answer, typing) {
    const held = options()[active]?.getAttribute("href");
    list.replaceChildren();
    let found = 0;
    const ids = answer.hits.map((hit) => hit.document);
    for (const hit of answer.hits) {
      const its = group(hit.document_title, `${list.id}-g${found}`);
      for (const each of [hit, ...hit.sections.slice(0, 2)]) {
        const title = each.path.slice(1).join(" › ") || each.title;
        const link = option(atHighlight(address(each), each), title, [], each.snippet, each.highlights, each.is_code);
        link.id = `${list.id}-${found++}`;
        link.addEventListener("click", () => chosen({ query: answer.query, index: answer.index, shown: ids, document: each.document, section: each.section }));
        its.append(link);
      }
    }
    if (found) list.append(all(input.value.trim(), `${list.id}-${found}`));
    const meant = (found && answer.searched) || "";
    const notes = [meant && say("for", { query: meant }), !answer.confident && !typing && say("no_match", { query: input.value.trim() })];
    searched.textContent = found ? notes.filter(Boolean).join(" · ") : "";
    searched.hidden = !searched.textContent;
    live.textContent = found ? [say("found", { n: found }), meant && say("for", { query: meant }), !answer.confident && say("unsure")].filter(Boolean).join(", ") : say("no_results");
    if (!found) list.append(made("div", { class: "sf-group" }, say("no_results")));
    open(true);
    // What was chosen stays chosen where it is still there.
    activate(held ? options().findIndex((each) => each.getAttribute("href") === held) : -1);
  }

  function showRecent() {
    const queries = recent();
    if (!queries.length) return open(false);
    searched.hidden = true;
    list.replaceChildren();
    const its = group(say("recent"), `${list.id}-recent`);
    queries.forEach((query, at) => {
      const link = option(page(query), query, [], "", []);
      link.id = `${list.id}-${at}`;
      link.addEventListener("click", (event) => {
        event.preventDefault();
        input.value = query;
        ask(query, false);
        input.focus();
      });
      its.append(link);
    });
    open(true);
  }

  async function ask(query, typing) {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    if (answer) {
      const found = await answer(query, typing);
      if (!signal.aborted && input.value.trim() === query && input.matches(":focus")) show(found, typing);
      return;
    }
    const parameters = new URLSearchParams([["q", query], ["k", "6"], ["partial", "true"], ...filters]);
    if (typing) parameters.set("typing", "true");
    try {
      const headers = token ? { authorization: `Bearer ${token}` } : {};
      const response = await fetch(`${endpoint}/api/search?${parameters}`, { signal, headers });
      if (!response.ok) return;
      const found = await response.json();
      if (!signal.aborted && input.value.trim() === query) show(found, typing);
    } catch (error) {
      if (error.name !== "AbortError") open(false);
    }
  }

  input.addEventListener("input", () => {
    giveUp();
    const query = input.value.trim();
    if (query.length < 2 && !/[^\x00-\x7f]/.test(query)) {
      return query ? open(false) : showRecent();
    }
    words = setTimeout(() => ask(query, true), WORDS_AFTER);
    meaning = setTimeout(() => ask(query, false), MEANING_AFTER);
  });

  input.addEventListener("keydown", (event) => {
    const count = options().length;
    if (event.isComposing) return;
    if (event.key === "/" && !input.value) event.preventDefault(); // the key that opens this field is not typed into it
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (panel.hidden) return input.value.trim() ? ask(input.value.trim(), false) : showRecent();
      activate(event.key === "ArrowDown" ? (active + 1) % count : (active <= 0 ? count : active) - 1);
    } else if ((event.key === "Home" || event.key === "End") && !panel.hidden && active >= 0) {
      event.preventDefault();
      activate(event.key === "Home" ? 0 : count - 1);
    } else if (event.key === "Escape") {
      if (!panel.hidden) {
        event.preventDefault();
        event.stopPropagation();
        open(false);
      } else {
        input.value = "";
      }
    } else if (event.key === "Enter") {
      const option = options()[active];
      event.preventDefault();
      giveUp();
      if (option) return option.click();
      const query = input.value.trim();
      if (query) {
        remember(query);
        submit(query);
      }
    }
  });

  input.addEventListener("focus", () => !input.value && panel.hidden && recent().length && input.matches(":focus-visible") && input.dataset.used && showRecent());
  input.addEventListener("blur", () => setTimeout(() => input.matches(":focus") || open(false), 150));
  panel.addEventListener("mousedown", (event) => event.preventDefault()); // the input keeps the focus
  return { close: () => open(false) };
}

/** Call `found` for cmd-K and ctrl-K, and for single keys. None is taken from a field or an editor other than ours. */
export function onShortcut(found, { plain = () => ["/"] } = {}) {
  // Before the page's own listeners: a key that opens this search opens no other.
  addEventListener(
    "keydown",
    (event) => {
      const [from] = event.composedPath();
      const ours = from?.getAttribute?.("aria-controls")?.startsWith("sf-list");
      const inField = from?.isContentEditable || from?.closest?.("input, textarea, select, [role=textbox]");
      if ((inField && !ours) || event.altKey || event.isComposing) return;
      const command = (event.metaKey || event.ctrlKey) && !event.shiftKey && event.key.toLowerCase() === "k";
      const single = !inField && !event.metaKey && !event.ctrlKey && plain().includes(event.key);
      if (!command && !single) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      found();
    },
    { capture: true },
  );
}
